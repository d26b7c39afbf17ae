"""Which commits execute the same code for a benchmark, as `toll compare` proves it: none is launched."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from tollbench.compare import MeasuringOptions, WrittenSide, resolve, subject_of
from tollbench.compare.adapters import adapters
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.adapters.read_output import KIND as READ
from tollbench.compare.subject import LookAtCode, Standing
from tollbench.compare.untouched import Untouched
from tollbench.errors import TollError
from tollbench.home import cache_folder

MOST_IN_VAIN = 3  # commits whose code could not be compared: others could not either
_NOT_COMPARED = "the code was not compared"


class SameCode:
    """Looks at the code of builds for as long as that is worth it: for `looking_s`, and not in vain."""

    def __init__(
        self, kind: str, measuring: MeasuringOptions, looking_s: float, spent_s: float = 0.0
    ) -> None:
        """`spent_s` of `looking_s` were spent in earlier starts."""
        self._kind = READ if measuring.read else kind
        self._measuring = measuring
        self._looking_s = looking_s
        self.spent_s = spent_s
        self._in_vain = 0

    @property
    def _left_s(self) -> float:
        return self._looking_s - self.spent_s

    def between(self, written: Sequence[WrittenSide]) -> LookAtCode:
        """What looks at the code of sides against the first one."""

        def look(sides_of: Mapping[str, Sequence[int]]) -> Mapping[tuple[str, int], Standing]:
            began = time.monotonic()
            try:
                return self._untouched(written).standings(sides_of)
            finally:
                self.spent_s += time.monotonic() - began

        return look

    def among(self, name: str, written: Sequence[WrittenSide]) -> int | None:
        """Which of the builds after the first executes for this benchmark what the first one does."""
        if self._left_s <= 0.0 or self._in_vain >= MOST_IN_VAIN:
            return None
        others = range(1, len(written))
        try:
            found = self.between(written)({name: list(others)})
        except TollError:  # a program of another kind, which is told where it is launched
            return None
        for side in others:
            if (standing := found.get((name, side))) is not None and standing.unchanged:
                self._in_vain = 0
                return side - 1
        if all(standing.told.startswith(_NOT_COMPARED) for standing in found.values()):
            self._in_vain += 1
        return None

    def _untouched(self, written: Sequence[WrittenSide]) -> Untouched:
        kind, sides = resolve(written, self._kind)
        subject = subject_of(kind, sides, self._measuring)
        alone = subject.alone if isinstance(subject, OneAfterAnother) else lambda _side, _name: None
        return Untouched(
            sides,
            alone,
            adapters()[kind].is_command_line,
            cache_folder() / "executed",
            self._measuring.interrupt,
            looking_s=max(self._left_s, 0.0),
        )
