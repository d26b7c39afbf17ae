"""Sessions laid together: each belongs to the part of a history whose machine, reference and commands it has.

A night on another machine, or a slow one, is a part of its own, and the night after it goes on with the part
that it fits. Reads no file and launches nothing.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from tollbench.history.choosing_commits import MOST_VISITS
from tollbench.history.commit_range import Commit
from tollbench.history.history_folder import (
    HistorySession,
    MeasuredCommit,
    MeasuredPoint,
    SessionHeader,
    log_median,
    machine_difference,
)
from tollbench.numbers import percent
from tollbench.text import shown

REFERENCE_MOVED = 0.10  # the reference itself takes so much longer or shorter: it is another machine
_COMMANDS = ("program", "build", "kind", "read", "folder", "sandbox")  # another one measures something else
_SHOWN = 80  # letters of a command
_LEAST_ERROR = 1e-5


class Visit(NamedTuple):
    """One commit's value of one benchmark in one session; log scale."""

    point: MeasuredPoint
    error: float  # standard error
    shared: float  # a part of it: what all commits of the group have alike
    group: tuple[str, int]


Visits = dict[str, list[Visit]]  # by tree


@dataclass(slots=True)
class HistoryPart:
    """Sessions whose values can be compared."""

    reason: str  # why it is another part than the one before; "" of the first
    header: SessionHeader  # of its first session
    # benchmark -> its reference (hash and digest; "" for the session's) -> values
    points: dict[str, dict[tuple[str, str], Visits]] = field(default_factory=lambda: defaultdict(dict))
    beside: dict[str, tuple[str, str]] = field(default_factory=dict)  # benchmark -> its newest reference
    reference_ns: dict[str, list[float]] = field(default_factory=dict)
    sessions: dict[str, list[str]] = field(default_factory=dict)  # tree -> when they began
    filters: dict[str, str] = field(default_factory=dict)  # when it began -> which benchmarks it asked for
    unbuilt: dict[str, dict[str, str]] = field(default_factory=dict)  # tree -> session -> reason
    failed: dict[tuple[str, str], dict[str, str]] = field(
        default_factory=dict
    )  # (tree, benchmark) -> likewise
    commands: dict[str, str] = field(default_factory=dict)  # tree -> that built it, of --build @FILE
    lacks: dict[str, frozenset[str]] = field(default_factory=dict)  # of the reference's benchmarks
    new: dict[str, frozenset[str]] = field(default_factory=dict)  # that the reference does not have

    def values(self, name: str) -> Visits:
        """Of one benchmark, beside its newest reference."""
        return self.points[name][self.beside[name]] if name in self.beside else {}

    def reason_of(self, tree: str) -> str:
        """Why a commit could not be measured, as last seen; "" where it was measured once."""
        if tree not in self.sessions:
            return list(self.unbuilt.get(tree, {"": ""}).values())[-1]
        if any(tree in visits for besides in self.points.values() for visits in besides.values()):
            return ""
        reasons = [list(told.values())[-1] for (failed, _), told in self.failed.items() if failed == tree]
        return reasons[0] if reasons else ""

    def failure_of(self, tree: str, name: str) -> str:
        """The same of one benchmark."""
        if (tree, name) not in self.failed or tree in self.values(name):
            return ""
        return list(self.failed[tree, name].values())[-1]

    def visits(self, tree: str, names: Sequence[str], pattern: str = "") -> int:
        """Sessions that measured a commit: of the benchmark, of those named, that has fewest.

        `names` are those that `pattern` asks for and that have values of some commit.
        """
        seen = self.sessions.get(tree)
        if not seen:
            return len(self.unbuilt.get(tree, ()))
        asked = sum(self.filters[began] in {"", pattern} for began in seen)
        if not names:
            return asked
        # Some benchmarks never get a value, and are not waited for night after night.
        least = asked if asked >= MOST_VISITS else 0
        fewest = (
            max(least, len(self.values(name).get(tree, ())) + len(self.failed.get((tree, name), ())))
            for name in names
            if self._expected(tree, name)
        )
        return min(fewest, default=len(seen))

    def _expected(self, tree: str, name: str) -> bool:
        if self.beside[name][0]:
            return name in self.new.get(tree, frozenset())
        return name not in self.lacks.get(tree, frozenset())

    def take(self, session: HistorySession) -> None:
        """Adds what it measured."""
        began = session.header.started_utc
        self.filters[began] = session.header.filter
        for name, values in _reference_ns(session).items():
            self.reference_ns.setdefault(name, []).extend(values)
        off: dict[tuple[str, str], float] = {}
        for control in session.controls:
            logs = {name: _beyond_chance(*values) for name, values in control.control.items()}
            off |= {(name, commit): log for name, log in logs.items() for commit in control.commits}
        newest: set[str] = set()
        for commit in session.commits:
            if self.commands.setdefault(commit.tree, commit.build) != commit.build:
                self.forget(commit.tree)
                self.commands[commit.tree] = commit.build
            if commit.unbuilt:
                self.unbuilt.setdefault(commit.tree, {})[began] = commit.unbuilt
                continue
            seen = self.sessions.setdefault(commit.tree, [])
            if began not in seen:
                seen.append(began)
            if not commit.beside:
                self.lacks[commit.tree] = frozenset(commit.lacks)
                self.new[commit.tree] = frozenset(commit.new)
            for name, reason in commit.failed.items():
                self.failed.setdefault((commit.tree, name), {})[began] = reason
            for name in commit.points:
                if name not in newest:
                    newest.add(name)
                    self.beside[name] = (commit.beside, commit.beside_digest)
                self._add(commit, name, off.get((name, commit.commit), 0.0), began)

    def forget(self, tree: str) -> None:
        """What was measured of another build of the same files."""
        self.sessions.pop(tree, None)
        self.unbuilt.pop(tree, None)
        self.lacks.pop(tree, None)
        self.new.pop(tree, None)
        for key in [key for key in self.failed if key[0] == tree]:
            del self.failed[key]
        for visits in (visits for besides in self.points.values() for visits in besides.values()):
            visits.pop(tree, None)

    def _add(self, commit: MeasuredCommit, name: str, off: float, began: str) -> None:
        point = commit.points[name]
        visit = Visit(
            point,
            math.hypot(max(point[4], _LEAST_ERROR), off),
            math.hypot(min(commit.shared.get(name, 0.0), point[4]), off),
            (began, commit.group),
        )
        beside = (commit.beside, commit.beside_digest)
        self.points[name].setdefault(beside, {}).setdefault(commit.tree, []).append(visit)


@dataclass(slots=True)
class HistoryParts:
    """All sessions."""

    parts: list[HistoryPart] = field(default_factory=list)  # by their first session
    used: list[int] = field(default_factory=list)  # numbers of parts, that of the newest session last

    @property
    def latest(self) -> int:
        """To which the newest session belongs; -1 before the first one."""
        return self.used[-1] if self.used else -1

    @property
    def now(self) -> HistoryPart | None:
        """The part that goes on; None before the first session."""
        return self.parts[self.latest] if self.parts else None

    def forget_builds_of_others(self, commits: Sequence[Commit], commands: Mapping[str, str]) -> int:
        """Leaves out what another command of `--build @FILE` built than `commands` say now, by commit.

        Values of two commands in one line are a change that no commit made. Returns of how many commits.
        """
        wanted: dict[str, set[str]] = {}
        for commit in commits:
            wanted.setdefault(commit.tree, set()).add(commands.get(commit.commit, ""))
        forgotten = set()
        for part in self.parts:
            for tree, asked in wanted.items():
                if part.commands.get(tree) and part.commands[tree] not in asked:
                    part.forget(tree)
                    forgotten.add(tree)
        return len(forgotten)

    def names(self) -> list[str]:
        """Benchmarks with values."""
        return list(dict.fromkeys(name for part in self.parts for name in part.points))


def parts_of(sessions: Sequence[HistorySession]) -> HistoryParts:
    """Each session, in order of time, with the newest part that it fits, or as the first of another one."""
    found = HistoryParts()
    used = found.used
    for session in sessions:
        if not session.commits:  # it was ended before it had measured any: what it was about to is none
            continue
        fitting = next(
            (number for number in reversed(used) if not _difference(found.parts[number], session)), None
        )
        if fitting is None:
            reason = _difference(found.parts[used[-1]], session) if used else ""
            found.parts.append(HistoryPart(reason, session.header))
            fitting = len(found.parts) - 1
        else:
            used.remove(fitting)
        used.append(fitting)
        found.parts[fitting].take(session)
    return found


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """Those that `--filter` measures."""
    wanted = re.compile(pattern)
    return [name for name in names if wanted.search(name)]


def _difference(part: HistoryPart, session: HistorySession) -> str:
    """Why a session cannot go on with a part; "" where it can."""
    old, new = part.header, session.header
    if old.reference != new.reference:
        return f"another reference: {new.reference[:10]} instead of {old.reference[:10]}"
    for word in _COMMANDS:
        before, now = getattr(old, word), getattr(new, word)
        if before != now:
            return f"another --{word}: {_instead(now, before)}"
    for name in sorted({*old.environment, *new.environment}):
        before, now = old.environment.get(name, ""), new.environment.get(name, "")
        if before != now:
            return f"another {shown(name, _SHOWN)}: {_instead(now, before)}"
    if old.reference_digest != new.reference_digest:
        return "the reference was built anew, and its program is another file"
    if told := machine_difference(old.machine, new.machine):
        return f"another machine or compiler: {told}"
    ours = _reference_ns(session)
    moved = log_median(
        [median(ours[name]) / median(part.reference_ns[name]) for name in ours if name in part.reference_ns]
    )
    if abs(moved) > math.log1p(REFERENCE_MOVED):
        longer = "longer" if moved > 0 else "shorter"
        return f"the reference itself takes {percent(abs(math.expm1(moved)))} {longer} than before"
    return ""


def _instead(now: str, before: str) -> str:
    return " instead of ".join(shown(one, _SHOWN) or "none" for one in (now, before))


def _reference_ns(session: HistorySession) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for commit in session.commits:
        for name, point in commit.points.items():
            found.setdefault(name, []).append(point[5])
    return found


def _beyond_chance(ratio: float, low: float | None, high: float | None) -> float:
    """By how much the reference differed from itself, log scale; 0 where its interval has 1."""
    if low is None or high is None or low <= 1.0 <= high:
        return 0.0
    return abs(math.log(ratio))
