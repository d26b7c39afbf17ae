"""One session of a history: commits in groups, each group beside the reference, launched in turns.

A group is one comparison: the reference, the reference once more, and some commits, all launched in every
round in random order. So each ratio is one of launches that are close in time, whatever night it is. It is to
both launches of the reference; what these show against each other says how far the others can be trusted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

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
from tollbench.history.group_rounds import GroupRounds
from tollbench.history.history_folder import MeasuredPoint
from tollbench.history.tree_builds import TreeBuilds
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.failure import LaunchFailed, interruption
from tollbench.launching.meanwhile import Meanwhile
from tollbench.text import several

TOGETHER = 8  # commits of a group: more, and launches of one round are no longer close in time
_AGAIN = "the reference again"


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
            raise TollError("the commits of a group are 1 to 64", "pass for example together=8")
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
                if self._is_of_the_reference(failed):
                    raise TollError(
                        failed,
                        "the reference has to run: name another one with --reference; where its launches take"
                        " long, give a commit more time: --commit-budget",
                    )
                self._store(commits[0], {"unbuilt": failed.replace(commits[0].commit, commits[0].short)})
            return None
        assert found is not None
        return self._keep_group(commits, found, logs)

    def _is_of_the_reference(self, reason: str) -> bool:
        """Of the session's or another one, which are no commit's fault."""
        return reason.startswith(("reference ", _AGAIN))

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
    ) -> tuple[Comparisons | None, GroupRounds, str]:
        """What was found, also until it was interrupted, and why nothing was."""
        written = [
            reference,
            replace(reference, label=_AGAIN),
            *(replace(sides[commit.commit], label=commit.commit) for commit in commits),
        ]
        logs = GroupRounds(self.keep)
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
        logs: GroupRounds,
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
        raise interruption(found.no_room)

    def _keep_group(
        self,
        commits: Sequence[Commit],
        found: Comparisons,
        logs: GroupRounds,
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
                name: point for name, row in own.items() if (point := _point(row, logs, number)) is not None
            }
            shared = {name: point[4] * math.sqrt(logs.shared(name)) for name, point in points.items()}
            failed = {
                name: row.reason
                for name, row in own.items()
                if row.verdict is Verdict.FAILED and not self._is_of_the_reference(row.reason)
            }
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


def _point(row: Comparison, rounds: GroupRounds, side: int) -> MeasuredPoint | None:
    if row.ratio is None or row.a_ns is None or row.b_ns is None or not row.launches:
        return None
    ratio = rounds.ratio(row.benchmark, side)
    if ratio is None:
        return None
    # The interval is of the ratio to the first launch alone: moved to this ratio, and too wide for it.
    low, high = (end and end * ratio / row.ratio for end in (row.low, row.high))
    return (ratio, low, high, row.launches, rounds.error(row.benchmark, side), row.a_ns, row.b_ns)


def group_folder(scratch: Path, number: int) -> Path:
    """Where the builds of one group lie; they go when it is measured."""
    folder = scratch / f"group-{number}"
    folder.mkdir()
    return folder
