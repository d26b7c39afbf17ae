"""A comparison that goes on: rounds that were measured before come first, and take the time they took."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tollbench.compare import Round, Subject, Survey
from tollbench.compare.stored import RoundRecord
from tollbench.compare.subject import Two
from tollbench.launching.clock import Clock


class ForwardClock:
    """A clock that is put forward by what was spent before."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_ns = 0

    def now_ns(self) -> int:
        """Later than the clock's own time."""
        return self._clock.now_ns() + self._ahead_ns

    def utc(self) -> str:
        """The date, as it is."""
        return self._clock.utc()

    def sleep(self, seconds: float) -> None:
        """For so long."""
        self._clock.sleep(seconds)

    def forward(self, seconds: float) -> None:
        """By so much."""
        self._ahead_ns += round(seconds * 1e9)


class Replayed:
    """A subject some of whose rounds are known. One that was asked for otherwise ends what is known."""

    def __init__(self, subject: Subject, known: deque[RoundRecord], clock: ForwardClock) -> None:
        self._subject = subject
        self._known = known
        self._clock = clock
        self.kind = subject.kind
        self.labels = subject.labels
        self.again = False  # the round that was asked for last was known

    def survey(self) -> Survey:
        """As the subject's. Raises LaunchFailed."""
        return self._subject.survey()

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """As the subject's, but for what was measured together before."""
        if self._known and set(self._known[0].seconds) <= set(waiting):
            return [name for name in waiting if name in self._known[0].seconds]
        return self._subject.group(waiting)

    def round(self, names: Sequence[str], seed: int) -> Round:
        """One that is known, or a new one."""
        if self._known and set(self._known[0].seconds) == set(names):
            record = self._known.popleft()
            self._clock.forward(sum(record.seconds.values()))
            self.again = True
            return _round_of(record)
        self._known.clear()
        self.again = False
        return self._subject.round(names, seed)

    def notes(self, name: str, side: int, against: int = 0) -> Sequence[str]:
        """As the subject's."""
        return self._subject.notes(name, side, against)


def _round_of(record: RoundRecord) -> Round:
    return Round(
        values={
            name: [math.nan if value is None else value for value in values]
            for name, values in record.values.items()
        },
        order={name: list(order) for name, order in record.order.items()},
        layouts=dict(record.layouts),
        ratios={name: {Two(a, b): ratio for a, b, ratio in ratios} for name, ratios in record.ratios.items()},
        failures={name: dict(failures) for name, failures in record.failures.items()},
    )
