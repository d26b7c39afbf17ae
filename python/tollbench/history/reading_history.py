"""From what sessions measured to lines, changes and breaks. Reads no file and launches nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np

from tollbench.history.choosing_commits import CommitRun
from tollbench.history.commit_range import Commit, CommitRange
from tollbench.history.histories import (
    BenchmarkLine,
    Histories,
    HistoryBreak,
    HistoryChange,
    HistoryCommit,
)
from tollbench.history.history_folder import HistorySession
from tollbench.history.history_parts import HistoryPart, HistoryParts, Visit, matching, parts_of
from tollbench.stats.change_points import FALSE_ALARM, FEWEST, LevelSteps, Together, find_steps
from tollbench.text import clean, several

_LEVEL = 0.95
_Z = NormalDist().inv_cdf(0.5 + _LEVEL / 2.0)
_NEAR = 25  # commits on either side of a change, by which it was found
_AGAIN = 8  # measured commits on either side of a change that is suspected, which are measured once more
_FAR = 3.0  # standard errors from the mean of a commit's other visits: a bad day
_MOST_NAMED = 4
_LAST_SECOND = 253_402_300_799  # of the year 9999


@dataclass(frozen=True, slots=True)
class ReadHistory:
    """What is told, and what the choice of the next commits needs."""

    told: Histories
    visits: tuple[int, ...]  # sessions of each commit of the row; one that does not build counts as one
    runs: tuple[CommitRun, ...]  # in which changes lie
    suspected: tuple[CommitRun, ...]  # around which a change may lie that is not told yet
    doubted: frozenset[int]  # places of outliers, and of the last commits where they are off
    failed: frozenset[int]  # places of what did not build or run, though its time may come
    others: Mapping[str, str]  # benchmark -> hash of its reference, where that is not the session's


def read_history(
    row: CommitRange,
    sessions: Sequence[HistorySession],
    *,
    threshold: float,
    level: float = _LEVEL,
    pattern: str = "",
    notes: Sequence[str] = (),
    commands: Mapping[str, str] | None = None,
) -> ReadHistory:
    """All of it, for the commits of a row, each by its files: another commit with the same counts.

    `pattern` says which benchmarks are measured; `notes` are told besides. `commands` are by commit what
    builds it now: what another one built has to be measured anew.
    """
    known = parts_of(sessions)
    anew = known.forget_builds_of_others(row.commits, commands) if commands else 0
    if anew:
        notes = (
            *notes,
            f"{several(anew, 'commit')} had another command of the file before, and"
            f" {'is' if anew == 1 else 'are'} measured anew",
        )
    now = known.now
    places = _places(row.commits)
    names = known.names()
    asked = _LineTerms(row, places, threshold, level, FALSE_ALARM / max(1, len(names)))
    lines: list[BenchmarkLine] = []
    changes: list[HistoryChange] = []
    doubted: set[int] = set()
    suspected: list[CommitRun] = []
    changed: list[CommitRun] = []
    measured = set(matching(names, pattern))
    for name in names:
        line, own, again = _line(name, known, asked)
        if line is not None:
            lines.append(line)
            changes += own
            if name in measured:
                doubted |= again.doubted
                suspected += again.suspected
                changed += again.changed
    reasons = [now.reason_of(commit.tree) if now is not None else "" for commit in row.commits]
    told = Histories(
        reference=(now or sessions[-1]).header.reference if sessions else "",
        first_session=f"{sessions[0].header.started_utc} {sessions[0].header.reference}" if sessions else "",
        threshold=threshold,
        level=level,
        commits=tuple(_commit(commit, reason) for commit, reason in zip(row.commits, reasons, strict=True)),
        measured=len({place for line in lines for place in line.place}),
        lines=tuple(lines),
        changes=tuple(sorted(changes, key=lambda change: (-change.place, change.benchmark))),
        breaks=_breaks(known.parts, places),
        notes=(*notes, *_notes(known, row, lines, places)),
        sessions=len(sessions),
    )
    wanted = matching(list(now.beside), pattern) if now is not None else []
    visits = tuple(
        now.visits(commit.tree, wanted, pattern)
        if now is not None and (not commands or now.commands.get(commit.tree) == commands[commit.commit])
        else 0
        for commit in row.commits
    )
    return ReadHistory(
        told,
        visits,
        tuple(changed),
        tuple(suspected),
        frozenset(doubted | _failed_at(now, row, measured)),
        frozenset(place for place, reason in enumerate(reasons) if reason),
        {name: other for name, (other, _) in now.beside.items() if other} if now is not None else {},
    )


def _failed_at(now: HistoryPart | None, row: CommitRange, measured: Set[str]) -> set[int]:
    """Places of commits that have no value of some benchmark because it failed there."""
    if now is None:
        return set()
    failed = {tree for tree, name in now.failed if name in measured and now.failure_of(tree, name)}
    return {place for place, commit in enumerate(row.commits) if commit.tree in failed}


def _places(commits: Sequence[Commit]) -> dict[str, list[int]]:
    """Tree -> the commits of the row that brought it: one that follows its like has no value of its own.

    A commit that takes another one back has the files of what was before, and so its value.
    """
    places: dict[str, list[int]] = {}
    before = ""
    for place, commit in enumerate(commits):
        if commit.tree != before:
            places.setdefault(commit.tree, []).append(place)
        before = commit.tree
    return places


@dataclass(frozen=True, slots=True)
class _LineTerms:
    """What all lines are read by."""

    row: CommitRange
    places: Mapping[str, Sequence[int]]
    threshold: float
    level: float
    alarm: float


class _CommitValue(NamedTuple):
    """Of one commit in one part; log scale."""

    log: float
    error: float
    shared: float
    group: int
    visits: int


def _series(name: str, part: HistoryPart, places: Mapping[str, Sequence[int]]) -> dict[int, _CommitValue]:
    """By place, in order."""
    groups: dict[tuple[str, int], int] = {}
    found = {
        place: _combined(visits, groups)
        for tree, visits in part.values(name).items()
        for place in places.get(tree, ())
    }
    return dict(sorted(found.items()))


def _combined(visits: Sequence[Visit], groups: dict[tuple[str, int], int]) -> _CommitValue:
    """Several visits of one commit: their weighted mean, of three or more without a bad day; its error.

    The error is what the visits' own errors say, or what the visits scatter by, where that is more (Birge
    1932, "The calculation of errors by the method of least squares"). It counts to the group of its last such
    visit, as commits that are visited again are so together.
    """
    kept = _without_bad_day([_LoggedVisit(math.log(visit.point[0]), visit) for visit in visits])
    group = groups.setdefault(kept[-1].visit.group, len(groups))
    mean, own = _weighted(kept)
    weights = [one.visit.error**-2 * own**2 for one in kept]
    scatter = sum(weight * (one.log - mean) ** 2 for weight, one in zip(weights, kept, strict=True))
    # By two visits alone a scatter is hardly known, and is taken for half as much (of its variance).
    spread = math.sqrt(scatter / max(len(kept) - 1, 2))
    shared = math.hypot(*(weight * one.visit.shared for weight, one in zip(weights, kept, strict=True)))
    return _CommitValue(mean, max(own, spread), shared, group, len(visits))


class _LoggedVisit(NamedTuple):
    """A visit with its value."""

    log: float  # of the ratio to the reference
    visit: Visit


def _weighted(visits: Sequence[_LoggedVisit]) -> tuple[float, float]:
    """Their mean, and its error by their own errors."""
    weights = [one.visit.error**-2 for one in visits]
    whole = sum(weights)
    logs = (weight * one.log for weight, one in zip(weights, visits, strict=True))
    return sum(logs) / whole, math.sqrt(1.0 / whole)


def _without_bad_day(visits: Sequence[_LoggedVisit]) -> Sequence[_LoggedVisit]:
    """Without the one that is far from all others, where these agree with each other."""

    def off(one: int, others: Sequence[_LoggedVisit]) -> float:
        rest = [visit for number, visit in enumerate(others) if number != one]
        mean, error = _weighted(rest)
        return abs(others[one].log - mean) / math.hypot(error, others[one].visit.error)

    if len(visits) < 3:
        return visits
    worst = max(range(len(visits)), key=lambda one: off(one, visits))
    rest = [visit for number, visit in enumerate(visits) if number != worst]
    if off(worst, visits) <= _FAR or any(off(one, rest) > _FAR for one in range(len(rest))):
        return visits
    return rest


def _steps(series: Mapping[int, _CommitValue], asked: _LineTerms) -> LevelSteps:
    """Without steps where neighbours of the row may be on different branches, and so on different levels."""
    columns = list(zip(*series.values(), strict=True))
    found = find_steps(
        columns[0],
        columns[1],
        asked.level,
        math.log1p(asked.threshold),
        together=Together(columns[3], columns[2]),
        alarm=asked.alarm,
    )
    return found if asked.row.first_parent else replace(found, steps=(), outliers=(), recent=0, suspected=())


class _LookAgain(NamedTuple):
    """What another night would make surer, of the part that goes on."""

    doubted: set[int]
    suspected: list[CommitRun]
    changed: Sequence[CommitRun] = ()


def _look_again(places: Sequence[int], steps: LevelSteps) -> _LookAgain:
    doubted = {places[place] for place in steps.outliers}
    doubted |= set(places[len(places) - steps.recent :])
    last = len(places) - 1
    suspected = [
        CommitRun(places[max(0, place - _AGAIN)], places[min(last, place + _AGAIN - 1)])
        for place in steps.suspected
    ]
    return _LookAgain(doubted, suspected)


def _line(
    name: str, known: HistoryParts, asked: _LineTerms
) -> tuple[BenchmarkLine | None, list[HistoryChange], _LookAgain]:
    columns: dict[str, list[float]] = {key: [] for key in ("place", "part", "ratio", "low", "high", "visits")}
    outliers: list[int] = []
    changes: list[HistoryChange] = []
    again = _LookAgain(set(), [])
    steps_of: dict[int, LevelSteps] = {}  # by number of the part
    for number, part in enumerate(known.parts):
        series = _series(name, part, asked.places)
        if not series:
            continue
        steps = steps_of[number] = _steps(series, asked)
        begin = len(columns["place"])
        outliers += [begin + place for place in steps.outliers]
        logs = np.array([value.log for value in series.values()])
        reach = _Z * np.array([value.error for value in series.values()])
        places = list(series)
        for key, values in (
            ("place", places),
            ("part", [number] * len(places)),
            ("ratio", np.exp(logs).tolist()),
            ("low", np.exp(logs - reach).tolist()),
            ("high", np.exp(logs + reach).tolist()),
            ("visits", [value.visits for value in series.values()]),
        ):
            columns[key] += values
        changes += _changes(name, number, part, places, steps, asked)
        if number == known.latest:
            again = _look_again(places, steps)
    if not columns["place"]:
        return None, [], again
    since, until = _lifetime(name, known, asked.row, columns["place"])
    latest = next(number for number in reversed(known.used) if number in steps_of)
    line = BenchmarkLine(
        benchmark=name,
        **{key: tuple(values) for key, values in columns.items()},  # type: ignore[arg-type]
        outliers=tuple(outliers),
        latest=latest,
        reference_ns=median(known.parts[latest].reference_ns[name]),
        scatter=steps_of[latest].scatter,
        recent=steps_of[latest].recent,
        since=since,
        until=until,
    )
    runs = [CommitRun(one.first, one.last) for one in changes if one.part == known.latest]
    return line, _apart(changes, known.used), again._replace(changed=runs)


def _changes(
    name: str, number: int, part: HistoryPart, places: Sequence[int], steps: LevelSteps, asked: _LineTerms
) -> list[HistoryChange]:
    """Steps of a series as changes between commits, of which some may not be measured."""
    found = []
    row = asked.row
    measured = set(places)
    for step in steps.steps:
        first, last = places[step.first - 1] + 1, places[step.last]
        place = places[step.place]
        trees = [commit.tree for commit in row.commits[first : last + 1]]
        left = [
            tree
            for at, tree in enumerate(trees, first)
            if at not in measured and at in asked.places.get(tree, ())
        ]
        unbuilt = sum(bool(part.reason_of(tree)) for tree in left)
        found.append(
            HistoryChange(
                benchmark=name,
                commit=row.commits[place].commit,
                place=place,
                first=first,
                last=last,
                range=f"{row.commits[first - 1].commit}..{row.commits[last].commit}",
                unmeasured=len(left) - unbuilt,
                unbuilt=unbuilt,
                ratio=math.exp(step.size),
                low=math.exp(step.low),
                high=math.exp(step.high),
                certainty=step.certainty,
                part=number,
                found_utc=_known_since(part, row, places, step.place),
            )
        )
    return found


def _known_since(part: HistoryPart, row: CommitRange, places: Sequence[int], begin: int) -> str:
    """When the session began by which both levels had the fewest values that make a step."""

    def reached(near: Sequence[int]) -> str:
        began = sorted(part.sessions[row.commits[place].tree][0] for place in near)
        return began[min(FEWEST, len(began)) - 1]

    before, behind = places[max(0, begin - _NEAR) : begin], places[begin : begin + _NEAR]
    return max(reached(before), reached(behind))


def _apart(changes: Sequence[HistoryChange], used: Sequence[int]) -> list[HistoryChange]:
    """Of one change that several parts of the history show, the most certain one.

    Most are as certain as one can be here: of these the one of the part that was measured last, `used` has
    them in that order, and of one part the one with the fewest commits.
    """
    kept: list[HistoryChange] = []

    def rank(change: HistoryChange) -> tuple[float, int, int]:
        return -change.certainty, -used.index(change.part), change.last - change.first

    for change in sorted(changes, key=rank):
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


def _lifetime(name: str, known: HistoryParts, row: CommitRange, places: Iterable[float]) -> tuple[str, str]:
    """The first commit with a benchmark where earlier ones lack it, and the first one that lacks it again."""
    has = [int(place) for place in places]
    first, last = min(has), max(has)
    lacking = []
    for part in known.parts:
        if name not in part.beside:
            continue
        own = not part.beside[name][0]
        lacking += [
            place
            for place, commit in enumerate(row.commits)
            if commit.tree in part.lacks
            and (name in part.lacks[commit.tree] if own else name not in part.new[commit.tree])
        ]
    lacking.sort()
    since = row.commits[first].commit if any(place < first for place in lacking) else ""
    gone = [place for place in lacking if place > last]
    return since, row.commits[gone[0]].commit if gone else ""


def _commit(commit: Commit, reason: str) -> HistoryCommit:
    # A commit may bear any number as its date: those that no calendar has are its first or its last day.
    utc = datetime.fromtimestamp(min(max(commit.committed_s, 0), _LAST_SECOND), UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    return HistoryCommit(
        commit=commit.commit,
        author=commit.author,
        subject=commit.subject,
        utc=utc,
        name=commit.name,
        reason=reason,
    )


def _breaks(parts: Sequence[HistoryPart], places: Mapping[str, Sequence[int]]) -> tuple[HistoryBreak, ...]:
    found = []
    newest = 0
    for before, part in pairwise(parts):
        newest = max([newest, *(place for tree in before.sessions for place in places.get(tree, ()))])
        found.append(HistoryBreak(utc=part.header.started_utc, place=newest, reason=part.reason))
    return tuple(found)


def _notes(
    known: HistoryParts,
    row: CommitRange,
    lines: Sequence[BenchmarkLine],
    places: Mapping[str, Sequence[int]],
) -> list[str]:
    """Sentences on what a reader would miss in the lines."""
    part = known.now
    if part is None:
        return []
    told: list[str] = []
    if not row.first_parent:
        told.append(
            "changes are not looked for with --merged: neighbours of the row are on different branches,"
            " and the one need not come from the other"
        )
    gone = [tree for tree in part.sessions if tree not in places]
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
        for name in sorted(name for name, besides in part.points.items() if len(besides) > 1)[:_MOST_NAMED]
    ]
    has = {line.benchmark for line in lines}
    new = {name for commit in row.commits for name in part.new.get(commit.tree, frozenset())} - has
    if new:
        named = [clean(name) for name in sorted(new)]
        more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
        told.append(
            f"not measured yet, as the reference does not have {'it' if len(new) == 1 else 'them'}:"
            f" {', '.join(named[:_MOST_NAMED])}{more}"
        )
    trees = {commit.tree: commit for commit in row.commits}
    failures = [
        (trees[tree].short, clean(name), clean(reason))
        for tree, name in part.failed
        if tree in trees and (reason := part.failure_of(tree, name))
    ]
    told += [f"{commit} {name}: {reason}" for commit, name, reason in failures[:_MOST_NAMED]]
    if len(failures) > _MOST_NAMED:
        told.append(f"{len(failures) - _MOST_NAMED} more such failures")
    return told
