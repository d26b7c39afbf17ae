"""One session of a history: commits in groups, each group beside the reference, launched in turns.

A group is one comparison: the reference, the reference once more, and some commits, all launched in every
round in random order. So each ratio is one of launches that are close in time, whatever night it is; and what
the reference shows against itself says how far the others can be trusted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tollbench.compare import (
    Comparison,
    Comparisons,
    ComparisonSettings,
    MeasuringOptions,
    Verdict,
    WrittenSide,
    compare,
    resolve,
    subject_of,
)
from tollbench.compare.adapters import AUTO
from tollbench.compare.adapters.read_output import KIND as READ
from tollbench.compare.raw_file import RawFile
from tollbench.compare.subject import Keep
from tollbench.errors import TollError
from tollbench.history.commit_range import Commit
from tollbench.history.history_folder import MeasuredPoint
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.meanwhile import Meanwhile
from tollbench.text import several

TOGETHER = 8  # commits of a group: more, and launches of one round are no longer close in time
_AGAIN = "the reference again"
_MEDIAN_ERROR = 1.2533  # of a median over the standard error of a mean, of normal values
_MAD = 1.4826  # to a normal distribution's standard deviation
_FEW_PAIRS = 4  # of fewer the scatter of one commit alone says nothing
_UNKNOWN_ERROR = 0.05  # log scale, where there are too few pairs to say
_USUAL_SHARE = 0.5  # of a ratio's variance that is the reference's, where there are too few pairs to say


_New = dict[str, list[str]]  # commit -> benchmarks that it has and the reference has not


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How commits are measured; seconds, shares."""

    threshold: float = (
        0.01  # the least change that is of interest; a value is known to half of it, if time is
    )
    measuring_s: float = 1200.0  # the most for launches
    commit_s: float = 30.0  # the most for a commit
    together: int = TOGETHER
    seed: int = 1
    kind: str = AUTO
    measuring: MeasuringOptions = field(default_factory=lambda: MeasuringOptions(1200.0))

    def check(self) -> None:
        """Raises TollError for numbers that nothing can be measured with."""
        if not 1 <= self.together <= 64:
            raise TollError("the commits of a group are 1 to 64", "write for example --together 8")
        self.comparison(self.commit_s, 1).check()

    def comparison(self, seconds: float, seed: int) -> ComparisonSettings:
        """Of one group; each interval holds by itself, as the statistics over commits come afterwards."""
        seconds = max(seconds, 0.001)
        return ComparisonSettings(
            threshold=self.threshold / 2.0,
            budget_s=seconds,
            total_s=seconds,
            seed=seed,
            corrected=False,
        )


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """Where a session stands."""

    spent_s: float
    budget_s: float
    told: str


@dataclass(slots=True)
class CommitSession:
    """Builds and measures commits that it is given, until its time is spent."""

    reference: WrittenSide
    builds: Callable[[], TreeBuilds]  # a place for the builds of one group
    settings: SessionSettings
    session: RawFile  # of the history
    keep: Keep = lambda _record: None  # every launch
    hear: Callable[[SessionProgress], None] = lambda _progress: None
    note: Callable[[str], None] = lambda _sentence: None
    check_builds: Callable[[], None] = lambda: None  # raises TollError where nothing builds any more
    # Another reference by its hash, with its digest, for benchmarks that the first one does not have.
    other_reference: Callable[[str], tuple[WrittenSide, str]] | None = None
    others: dict[str, str] = field(default_factory=dict)  # benchmark -> the hash of its reference
    commands: Mapping[str, str] = field(default_factory=dict)  # of --build @FILE, by commit
    meanwhile: Meanwhile = field(default_factory=Meanwhile)
    clock: Clock = field(default_factory=SystemClock)
    spent_s: float = 0.0
    _random: random.Random = field(init=False)
    _group: int = 0
    _side_s: float = 0.0  # of one side in one round, as last seen
    _lost: set[str] = field(default_factory=set)  # other references that are not to be had

    def __post_init__(self) -> None:
        self.settings.check()
        self._random = random.Random(self.settings.seed)

    @property
    def left_s(self) -> float:
        """Of the time for launches."""
        return self.settings.measuring_s - self.spent_s

    def round_s(self, commits: int) -> float:
        """What one round of so many commits takes, as was seen; 0 before that."""
        return self._side_s * (commits + 2)

    def measure(self, commits: Sequence[Commit]) -> None:
        """One group. Raises Interrupted, and TollError where it is no commit's fault.

        What was judged by the time of an interrupt is stored before.
        """
        builds = self.builds()
        sides: dict[str, WrittenSide] = {}
        broken: dict[str, str] = {}
        for commit in commits:
            try:
                sides[commit.commit] = builds.of(commit)
            except LaunchFailed as failure:
                broken[commit.commit] = failure.reason
        if broken:
            self.check_builds()  # before any of them is put down as the commit's fault
        for commit in commits:
            if commit.commit in broken:
                self._store(commit, {"unbuilt": broken[commit.commit]})
        built = [commit for commit in commits if commit.commit in sides]
        new = self._measured(built, sides)
        if new is None and len(built) > 1:
            new = {}
            for commit in built:  # one of them spoils it for all
                if self.left_s > 0.0:
                    new |= self._measured([commit], sides) or {}
        self._measure_new([commit for commit in built if commit.commit in (new or {})], sides, new or {})

    def _measured(self, commits: Sequence[Commit], sides: Mapping[str, WrittenSide]) -> _New | None:
        """A group beside the reference: what each has that the reference has not; None where it failed.

        Of one commit alone the reason is stored then. Raises TollError where it is the reference's.
        """
        if not commits:
            return {}
        found, logs, failed = self._compared(self.reference, commits, sides)
        self._end_if_interrupted(commits, found, logs)
        if failed:
            if len(commits) == 1 and self.left_s > 0.0:  # else it may be the time that ended it
                if failed.startswith(self.reference.label):
                    raise TollError(failed, "the reference has to run: name another one with --reference")
                self._store(commits[0], {"unbuilt": failed.replace(commits[0].commit, commits[0].short)})
            return None
        assert found is not None
        return self._keep_group(commits, found, logs)

    def _measure_new(self, commits: Sequence[Commit], sides: Mapping[str, WrittenSide], new: _New) -> None:
        """Benchmarks that the reference does not have, beside the first commit that was seen to have them."""
        if self.other_reference is None:
            return
        for commit in commits:
            for name in new[commit.commit]:
                if self.others.get(name, "") in {"", *self._lost}:
                    self.others[name] = commit.commit
        for other in dict.fromkeys(self.others[name] for names in new.values() for name in names):
            names = {name for name, reference in self.others.items() if reference == other}
            having = [commit for commit in commits if names & set(new[commit.commit])]
            if self.left_s <= self.round_s(len(having)):
                return
            try:
                side, digest = self.other_reference(other)
            except TollError as error:
                self._lost.add(other)
                self.note(f"{several(len(names), 'benchmark')} not measured with this group: {error.what}")
                continue
            asked = sorted(names & {name for commit in having for name in new[commit.commit]})
            found, logs, failed = self._compared(side, having, sides, asked)
            beside = {"beside": other, "beside_digest": digest}
            self._end_if_interrupted(having, found, logs, beside)
            if found is not None and not failed:
                self._keep_group(having, found, logs, beside)

    def _compared(
        self,
        reference: WrittenSide,
        commits: Sequence[Commit],
        sides: Mapping[str, WrittenSide],
        names: Sequence[str] | None = None,
    ) -> tuple[Comparisons | None, _Logs, str]:
        """What was found, also until it was interrupted, and why nothing was."""
        written = [
            reference,
            replace(reference, label=_AGAIN),
            *(replace(sides[commit.commit], label=commit.commit) for commit in commits),
        ]
        logs = _Logs(self.keep)
        failed = ""
        found: Comparisons | None = None
        before_s = self.spent_s
        with self._spending():
            try:
                measuring = self.settings.measuring
                kind, resolved = resolve(written, READ if measuring.read else self.settings.kind)
                found = compare(
                    subject_of(kind, resolved, measuring),
                    self.settings.comparison(
                        min(self.left_s, len(commits) * self.settings.commit_s), self._random.randrange(2**31)
                    ),
                    clock=self.clock,
                    keep=logs,
                    on_step=lambda at: self._tell(f"{len(commits)} commits  {at.benchmark}", at.elapsed_s),
                    names=names,
                    meanwhile=self.meanwhile,
                )
            except TollError as error:  # the sides do not fit together
                failed = error.what
        if logs.rounds:
            self._side_s = (self.spent_s - before_s) / logs.rounds / len(written)
        if found is not None:
            failed = _nothing_of(found)
        return found, logs, failed

    def _end_if_interrupted(
        self,
        commits: Sequence[Commit],
        found: Comparisons | None,
        logs: _Logs,
        beside: Mapping[str, str] | None = None,
    ) -> None:
        """Raises Interrupted where the comparison was, with what it had judged stored."""
        if found is None or not found.interrupted:
            return
        judged = tuple(row for row in found.comparisons if row.low is not None and row.high is not None)
        having = {row.b for row in judged}
        whole = [commit for commit in commits if commit.commit in having]
        if whole:
            found = found.model_copy(update={"comparisons": judged})
            self._keep_group(whole, found, logs, beside)
        raise Interrupted

    def _keep_group(
        self,
        commits: Sequence[Commit],
        found: Comparisons,
        logs: _Logs,
        beside: Mapping[str, str] | None = None,
    ) -> _New:
        """Stores it; `beside` names a reference that is not the session's."""
        rows = {(row.b, row.benchmark): row for row in found.comparisons}
        control = {
            name: (row.ratio, row.low, row.high)
            for (side, name), row in rows.items()
            if side == _AGAIN and row.ratio is not None
        }
        self._group += 1
        self.session({"control": control, "commits": [commit.commit for commit in commits]})
        reference = found.sides[0]
        new_of: dict[str, list[str]] = {}
        for commit in commits:
            number = found.sides.index(commit.commit)
            own = {name: row for (side, name), row in rows.items() if side == commit.commit}
            points = {
                name: point
                for name, row in own.items()
                if (point := _point(row, logs.error(name, number))) is not None
            }
            shared = {name: point[4] * math.sqrt(logs.shared(name)) for name, point in points.items()}
            failed = {name: row.reason for name, row in own.items() if row.verdict is Verdict.FAILED}
            if self.left_s <= 0.0:
                failed = {}  # it may be the time that ended it
            told = {"group": self._group, "points": points, "shared": shared, "failed": failed}
            if beside is not None:
                self._store(commit, {**beside, **told})
                continue
            lacks = [one.benchmark for one in found.lacking if commit.commit in one.missing_in]
            new = [
                one.benchmark
                for one in found.lacking
                if reference in one.missing_in and commit.commit not in one.missing_in
            ]
            self._store(commit, {**told, "lacks": lacks, "new": new})
            if new:
                new_of[commit.commit] = new
        return new_of

    def _store(self, commit: Commit, told: Mapping[str, Any]) -> None:
        by = {"build": self.commands[commit.commit]} if self.commands else {}
        self.session({"commit": commit.commit, "tree": commit.tree, "utc": self.clock.utc(), **by, **told})

    @contextmanager
    def _spending(self) -> Iterator[None]:
        before_ns = self.clock.now_ns()
        try:
            yield
        finally:
            self.spent_s += (self.clock.now_ns() - before_ns) / 1e9

    def _tell(self, told: str, more_s: float) -> None:
        self.hear(SessionProgress(self.spent_s + more_s, self.settings.measuring_s, told))


def _nothing_of(found: Comparisons) -> str:
    """Why nothing of a group could be measured; "" where something was."""
    if any(row.ratio is not None for row in found.comparisons):
        return ""
    if not found.comparisons:
        return "it has no benchmark of the reference"
    return found.comparisons[0].reason


def _point(row: Comparison, error: float) -> MeasuredPoint | None:
    if row.ratio is None or row.a_ns is None or row.b_ns is None or not row.launches:
        return None
    return (row.ratio, row.low, row.high, row.launches, error, row.a_ns, row.b_ns)


class _Logs:
    """Hears what a comparison keeps, and knows from it how pairs scatter."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._values: dict[str, list[Sequence[float]]] = {}
        self._shared: dict[str, float] = {}

    def __call__(self, record: Mapping[str, Any]) -> None:
        self._keep(record)
        values = record.get("values")
        if isinstance(values, Mapping):
            for name, row in values.items():
                self._values.setdefault(name, []).append(row)

    @property
    def rounds(self) -> int:
        """Of the benchmark that has most of them."""
        return max(map(len, self._values.values()), default=0)

    def shared(self, name: str) -> float:
        """The share of the variance of log ratios that is common to all sides: that of the first one.

        By covariances of the sides' rounds, each from median absolute deviations of sums and differences
        (Gnanadesikan and Kettenring 1972, "Robust estimates, residuals, and outlier detection").
        """
        if name not in self._shared:
            rows = np.array(self._values.get(name, []), dtype=np.float64)
            self._shared[name] = _common(np.log(rows[:, 1:] / rows[:, :1])) if rows.size else _USUAL_SHARE
        return self._shared[name]

    def error(self, name: str, side: int) -> float:
        """Standard error of the median log ratio of a side to the first one.

        The scatter is that of all sides together, where a side has few pairs.
        """
        rows = np.array(self._values.get(name, []), dtype=np.float64)
        if rows.size == 0:
            return _UNKNOWN_ERROR
        logs = np.log(rows[:, 1:] / rows[:, :1])
        off = [_off_middle(column) for column in logs.T]
        own, pool = off[side - 1], np.concatenate(off)
        chosen = own if own.size >= 4 * _FEW_PAIRS else pool
        if not own.size or chosen.size < _FEW_PAIRS:
            return _UNKNOWN_ERROR
        scatter = _MAD * float(np.median(np.abs(chosen)))
        rounds = max(2, rows.shape[0])
        return _MEDIAN_ERROR * scatter / math.sqrt(own.size) * math.sqrt(rounds / (rounds - 1))


def _off_middle(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the rounds that a side has: by how much each is off its median."""
    known = logs[np.isfinite(logs)]
    return known - np.median(known) if known.size else known


def _common(logs: NDArray[np.float64]) -> float:
    """Of rounds (rows) and sides: the middle correlation of two sides; half where too few rounds tell."""
    found = []
    for first, second in combinations(logs.T, 2):
        both = np.isfinite(first) & np.isfinite(second)
        if both.sum() >= 2 * _FEW_PAIRS:
            one, other = _off_middle(first[both]), _off_middle(second[both])
            together, apart = (float(np.median(np.abs(one + sign * other))) ** 2 for sign in (1.0, -1.0))
            if together + apart > 0.0:
                found.append((together - apart) / (together + apart))
    return min(max(float(np.median(found)), 0.0), 1.0) if found else _USUAL_SHARE


def group_folder(scratch: Path, number: int) -> Path:
    """Where the builds of one group lie; they go when it is measured."""
    folder = scratch / f"group-{number}"
    folder.mkdir()
    return folder
