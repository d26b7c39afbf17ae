"""From what sessions measured to lines, changes and breaks. Reads no file and launches nothing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from statistics import NormalDist, median

import numpy as np

from tollbench.history.choosing_commits import MOST_VISITS, CommitRun
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.histories import (
    BenchmarkLine,
    Histories,
    HistoryBreak,
    HistoryChange,
    HistoryCommit,
)
from tollbench.history.history_folder import HistorySession, MeasuredPoint, log_median, machine_difference
from tollbench.numbers import percent
from tollbench.stats.change_points import LevelSteps, find_steps
from tollbench.text import clean, several

_LEVEL = 0.95
_Z = NormalDist().inv_cdf(0.5 + _LEVEL / 2.0)
REFERENCE_MOVED = 0.10  # the reference itself takes so much longer or shorter: it is another machine
_LEAST_ERROR = 1e-5
_MOST_NAMED = 4


@dataclass(slots=True)
class _Part:
    """What lies between two breaks."""

    reason: str
    utc: str
    reference: str
    # benchmark -> tree -> visits
    points: dict[str, dict[str, list[MeasuredPoint]]] = field(default_factory=lambda: defaultdict(dict))
    extra: dict[tuple[str, str], float] = field(default_factory=dict)  # (benchmark, tree) -> control's log
    reference_ns: dict[str, list[float]] = field(default_factory=dict)
    seen_utc: dict[str, str] = field(default_factory=dict)  # tree -> session
    # benchmark -> hash and digest of its reference; "" for that of the session
    beside: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class _Known:
    """Of all sessions together."""

    parts: list[_Part] = field(default_factory=list)
    visits: dict[str, int] = field(default_factory=dict)  # tree -> sessions
    unbuilt: dict[str, str] = field(default_factory=dict)  # tree -> reason
    lacks: dict[str, frozenset[str]] = field(default_factory=dict)
    new: dict[str, frozenset[str]] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)  # (tree, benchmark) -> reason
    elsewhere: set[str] = field(default_factory=set)  # benchmarks with values beside another reference
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """What is told, and what the choice of the next commits needs."""

    told: Histories
    visits: tuple[int, ...]  # sessions of each commit of the row; one that does not build counts as one
    runs: tuple[CommitRun, ...]  # in which changes lie
    doubted: frozenset[int]  # places of outliers, and of the last commits where they are off
    others: Mapping[str, str]  # benchmark -> hash of its reference, where that is not the session's


def read_history(
    row: CommitRange, sessions: Sequence[HistorySession], *, threshold: float, level: float = _LEVEL
) -> ReadHistory:
    """All of it, for the commits of a row, each by its files: another commit with the same counts."""
    known = _known(sessions)
    places = _places(row.commits)
    lines: list[BenchmarkLine] = []
    changes: list[HistoryChange] = []
    doubted: set[int] = set()
    for name in dict.fromkeys(name for part in known.parts for name in part.points):
        line, own, far = _line(name, known, places, row, threshold, level)
        if line is not None:
            lines.append(line)
            changes += own
            doubted |= far
    measured = {place for line in lines for place in line.place}
    told = Histories(
        reference=known.parts[-1].reference if known.parts else "",
        threshold=threshold,
        level=level,
        commits=tuple(_commit(commit, known.unbuilt.get(commit.tree, "")) for commit in row.commits),
        measured=len(measured),
        lines=tuple(lines),
        changes=tuple(sorted(changes, key=lambda change: (-change.place, change.benchmark))),
        breaks=_breaks(known.parts, places),
        notes=(*known.notes, *_notes(known, row, lines, places)),
        sessions=len(sessions),
    )
    runs = [
        CommitRun(change.first, change.last) for change in told.changes if change.part == len(known.parts) - 1
    ]
    visits = tuple(_visits(known, commit.tree) for commit in row.commits)
    others = (
        {name: hash_ for name, (hash_, _) in known.parts[-1].beside.items() if hash_} if known.parts else {}
    )
    return ReadHistory(told, visits, tuple(runs), frozenset(doubted), others)


def _visits(known: _Known, tree: str) -> int:
    """Sessions; none where a benchmark that got a reference later has no value yet."""
    if tree in known.unbuilt:
        return 1
    count = known.visits.get(tree, 0)
    if 0 < count < MOST_VISITS and known.new.get(tree):
        part = known.parts[-1]
        if any(name in part.points and tree not in part.points[name] for name in known.new[tree]):
            return 0
    return count


def _known(sessions: Sequence[HistorySession]) -> _Known:
    known = _Known()
    before: HistorySession | None = None
    for session in sessions:
        reason = _why_another_part(known, before, session)
        if before is None or reason:
            header = session.header
            known.parts.append(_Part(reason, header.started_utc, header.reference))
            known.visits.clear()  # what was measured there has to be measured here
        before = session
        _take(known, session)
        if session.unreadable > 1:
            known.notes.append(f"{session.path.name}: {session.unreadable} lines cannot be read")
    return known


def _why_another_part(known: _Known, before: HistorySession | None, session: HistorySession) -> str:
    """Why a session cannot be gone on with from the one before it; "" where it can."""
    if before is None:
        return ""
    old, new = before.header, session.header
    if old.reference != new.reference:
        return f"another reference: {new.reference[:10]} instead of {old.reference[:10]}"
    if old.reference_digest != new.reference_digest:
        return "the reference was built anew, and its program is another file"
    if told := machine_difference(old.machine, new.machine):
        return f"another machine or compiler: {told}"
    part = known.parts[-1]
    now = _reference_ns(session)
    moved = log_median(
        [median(now[name]) / median(part.reference_ns[name]) for name in now if name in part.reference_ns]
    )
    if abs(moved) > math.log1p(REFERENCE_MOVED):
        word = "longer" if moved > 0 else "shorter"
        return f"the reference itself takes {percent(abs(math.expm1(moved)))} {word} than before"
    return ""


def _reference_ns(session: HistorySession) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for commit in session.commits:
        for name, point in commit.points.items():
            found.setdefault(name, []).append(point[5])
    return found


def _take(known: _Known, session: HistorySession) -> None:
    part = known.parts[-1]
    for name, values in _reference_ns(session).items():
        part.reference_ns.setdefault(name, []).extend(values)
    off: dict[tuple[str, str], float] = {}
    for control in session.controls:
        logs = {name: _beyond_chance(*values) for name, values in control.control.items()}
        off |= {(name, commit): log for name, log in logs.items() for commit in control.commits}
    visited = set()
    for commit in session.commits:
        if commit.unbuilt:
            known.unbuilt.setdefault(commit.tree, commit.unbuilt)
            continue
        visited.add(commit.tree)
        beside = (commit.beside, commit.beside_digest)
        if not commit.beside:
            known.lacks[commit.tree] = frozenset(commit.lacks)
            known.new[commit.tree] = frozenset(commit.new)
        part.seen_utc.setdefault(commit.tree, session.header.started_utc)
        known.failed |= {(commit.tree, name): reason for name, reason in commit.failed.items()}
        for name, point in commit.points.items():
            if part.beside.setdefault(name, beside) != beside:
                known.elsewhere.add(name)
                continue
            part.points[name].setdefault(commit.tree, []).append(point)
            if (own := off.get((name, commit.commit), 0.0)) > 0.0:
                part.extra[name, commit.tree] = min(own, part.extra.get((name, commit.tree), own))
    for tree in visited:
        known.visits[tree] = known.visits.get(tree, 0) + 1


def _beyond_chance(ratio: float, low: float | None, high: float | None) -> float:
    """By how much the reference differed from itself, log scale; 0 where its interval has 1."""
    if low is None or high is None or low <= 1.0 <= high:
        return 0.0
    return abs(math.log(ratio))


def _places(commits: Sequence[Commit]) -> dict[str, int]:
    """Tree -> the first commit of the row with it: those behind it have no value of their own."""
    places: dict[str, int] = {}
    for place, commit in enumerate(commits):
        places.setdefault(commit.tree, place)
    return places


@dataclass(frozen=True, slots=True)
class _CommitSeries:
    """One benchmark in one part."""

    places: list[int]
    logs: list[float]
    errors: list[float]
    visits: list[int]


def _series(name: str, part: _Part, places: Mapping[str, int]) -> _CommitSeries:
    found: dict[int, tuple[float, float, int]] = {}
    for tree, points in part.points.get(name, {}).items():
        if tree in places:
            log, error = _combined(points)
            found[places[tree]] = (log, math.hypot(error, part.extra.get((name, tree), 0.0)), len(points))
    order = sorted(found)
    return _CommitSeries(order, *([found[place][column] for place in order] for column in range(3)))  # type: ignore[arg-type]


def _combined(points: Sequence[MeasuredPoint]) -> tuple[float, float]:
    """Several visits of one commit: the weighted mean of two, the median of more; and its error."""
    if len(points) == 1:
        return math.log(points[0][0]), max(points[0][4], _LEAST_ERROR)
    logs = [math.log(point[0]) for point in points]
    errors = [max(point[4], _LEAST_ERROR) for point in points]
    weights = [error**-2 for error in errors]
    own = math.sqrt(1.0 / sum(weights))
    mean = sum(weight * log for weight, log in zip(weights, logs, strict=True)) / sum(weights)
    middle = median(logs) if len(logs) > 2 else mean
    spread = median(abs(log - middle) for log in logs) / math.sqrt(len(logs))
    return middle, max(own, spread)


def _line(
    name: str,
    known: _Known,
    places: Mapping[str, int],
    row: CommitRange,
    threshold: float,
    level: float,
) -> tuple[BenchmarkLine | None, list[HistoryChange], set[int]]:
    columns: dict[str, list[float]] = {key: [] for key in ("place", "part", "ratio", "low", "high", "visits")}
    outliers: list[int] = []
    changes: list[HistoryChange] = []
    doubted: set[int] = set()
    steps = LevelSteps((), 0.0, (), (), 0)
    for number, part in enumerate(known.parts):
        series = _series(name, part, places)
        if not series.places:
            continue
        steps = find_steps(series.logs, series.errors, level, math.log1p(threshold))
        begin = len(columns["place"])
        outliers += [begin + place for place in steps.outliers]
        logs, reach = np.array(series.logs), _Z * np.array(series.errors)
        for key, values in (
            ("place", series.places),
            ("part", [number] * len(series.places)),
            ("ratio", np.exp(logs).tolist()),
            ("low", np.exp(logs - reach).tolist()),
            ("high", np.exp(logs + reach).tolist()),
            ("visits", series.visits),
        ):
            columns[key] += values
        changes += _changes(name, number, part, series, steps, row)
        if number == len(known.parts) - 1:
            doubted = {series.places[place] for place in steps.outliers}
            doubted |= set(series.places[len(series.places) - steps.recent :]) if steps.recent else set()
    if not columns["place"]:
        return None, [], set()
    since, until = _lifetime(name, known, row, columns["place"])
    latest = next(part for part in reversed(known.parts) if name in part.reference_ns)
    line = BenchmarkLine(
        benchmark=name,
        **{key: tuple(values) for key, values in columns.items()},  # type: ignore[arg-type]
        outliers=tuple(outliers),
        reference_ns=median(latest.reference_ns[name]),
        scatter=steps.scatter,
        recent=steps.recent,
        since=since,
        until=until,
    )
    return line, _apart(changes), doubted


def _changes(
    name: str, number: int, part: _Part, series: _CommitSeries, steps: LevelSteps, row: CommitRange
) -> list[HistoryChange]:
    """Steps of a series as changes between commits, of which some may not be measured."""
    found = []
    for step in steps.steps:
        first, last = series.places[step.first - 1] + 1, series.places[step.last]
        place = series.places[step.place]
        seen = sum(first <= other <= last for other in series.places)
        behind = [row.commits[at].tree for at in series.places[step.place :]]
        found.append(
            HistoryChange(
                benchmark=name,
                commit=row.commits[place].commit,
                place=place,
                first=first,
                last=last,
                range=f"{row.commits[first - 1].commit}..{row.commits[last].commit}",
                unmeasured=last - first + 1 - seen,
                ratio=math.exp(step.size),
                low=math.exp(step.low),
                high=math.exp(step.high),
                certainty=step.certainty,
                part=number,
                found_utc=min(part.seen_utc[tree] for tree in behind if tree in part.seen_utc),
            )
        )
    return found


def _apart(changes: Sequence[HistoryChange]) -> list[HistoryChange]:
    """Of one change that several parts of the history show, the most certain one."""
    kept: list[HistoryChange] = []
    for change in sorted(changes, key=lambda change: -change.certainty):
        same = (
            other
            for other in kept
            if other.part != change.part
            and (other.ratio > 1.0) == (change.ratio > 1.0)
            and other.first <= change.last
            and change.first <= other.last
        )
        if next(same, None) is None:
            kept.append(change)
    return kept


def _lifetime(name: str, known: _Known, row: CommitRange, places: Iterable[float]) -> tuple[str, str]:
    """The first commit with a benchmark where earlier ones lack it, and the first one that lacks it again."""
    has = [int(place) for place in places]
    first, last = min(has), max(has)
    own = any(part.beside.get(name, ("", ""))[0] == "" for part in known.parts if name in part.beside)
    lacking = [
        place
        for place, commit in enumerate(row.commits)
        if commit.tree in known.lacks
        and (name in known.lacks[commit.tree] if own else name not in known.new[commit.tree])
    ]
    since = row.commits[first].commit if any(place < first for place in lacking) else ""
    gone = [place for place in lacking if place > last]
    return since, row.commits[gone[0]].commit if gone else ""


def _commit(commit: Commit, reason: str) -> HistoryCommit:
    utc = datetime.fromtimestamp(commit.committed_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return HistoryCommit(
        commit=commit.commit,
        author=commit.author,
        subject=commit.subject,
        utc=utc,
        name=commit.name,
        reason=reason,
    )


def _breaks(parts: Sequence[_Part], places: Mapping[str, int]) -> tuple[HistoryBreak, ...]:
    found = []
    newest = 0
    for before, part in pairwise(parts):
        there = [places[tree] for tree in before.seen_utc if tree in places]
        newest = max([newest, *there])
        found.append(HistoryBreak(utc=part.utc, place=newest, reason=part.reason))
    return tuple(found)


def _notes(
    known: _Known, row: CommitRange, lines: Sequence[BenchmarkLine], places: Mapping[str, int]
) -> list[str]:
    """Sentences on what a reader would miss in the lines."""
    told: list[str] = []
    if known.parts:
        gone = [tree for tree in known.parts[-1].seen_utc if tree not in places]
        if gone:
            told.append(
                f"{several(len(gone), 'measured commit')} of the folder not in this"
                " row: outside of the range, or rewritten; nothing of them is lost"
            )
    by_since: dict[str, list[str]] = {}
    for line in lines:
        if line.since:
            by_since.setdefault(line.since, []).append(line.benchmark)
    told += [
        f"{clean(line.benchmark)} is gone since {line.until[:10]}, where {clean(other)} came: they may be one"
        " that was renamed"
        for line in lines
        if line.until
        for other in by_since.get(line.until, ())
    ]
    told += [
        f"{clean(name)}: some values are beside another reference, or another file of it, and not in its line"
        for name in sorted(known.elsewhere)[:_MOST_NAMED]
    ]
    has = {line.benchmark for line in lines}
    new = {name for commit in row.commits for name in known.new.get(commit.tree, frozenset())} - has
    if new:
        named = [clean(name) for name in sorted(new)]
        more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
        told.append(
            f"not measured yet, as the reference does not have {'it' if len(new) == 1 else 'them'}:"
            f" {', '.join(named[:_MOST_NAMED])}{more}"
        )
    trees = {commit.tree: commit for commit in row.commits}
    failures = [(tree, name) for tree, name in known.failed if tree in trees]
    for tree, name in failures[:_MOST_NAMED]:
        told.append(f"{trees[tree].short} {clean(name)}: {clean(known.failed[tree, name])}")
    if len(failures) > _MOST_NAMED:
        told.append(f"{len(failures) - _MOST_NAMED} more such failures")
    return told
