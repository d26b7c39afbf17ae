"""What all forms of a history say in words."""

from __future__ import annotations

from dataclasses import dataclass

from tollbench import numbers
from tollbench.history.histories import (
    LEAST_SCATTER,
    MOST_CERTAIN,
    BenchmarkLine,
    Histories,
    HistoryChange,
    HistoryCommit,
)
from tollbench.text import clean, instant, several


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change in words, harmless."""

    benchmark: str
    word: str  # slower, faster
    size: str  # "2.1 %"
    span: str  # "1.7 to 2.4 %"
    commit: str  # ten digits
    author: str
    subject: str
    date: str
    what: str  # who made it, and what it was
    where: str  # of the commits that it may have come with; "" for one
    certainty: str
    range: str


def change_lines(found: Histories) -> list[ChangeLine]:
    """Newest first."""
    return [change_line(found, change) for change in found.changes]


def change_line(found: Histories, change: HistoryChange) -> ChangeLine:
    """One of them."""
    commit = found.commits[change.place]
    # Both lie on one side of 1: a step of whose size not even the sign is known is not told.
    ends = sorted((abs(change.low - 1.0), abs(change.high - 1.0)))
    count = change.last - change.first + 1
    where = "" if count == 1 else f"with one of {several(count, noun(found))}"
    if change.unmeasured:
        where += f", {change.unmeasured} of them not measured yet"
    if change.unbuilt:
        where += f", {change.unbuilt} of them could not be measured"
    return ChangeLine(
        clean(change.benchmark),
        "slower" if change.ratio > 1.0 else "faster",
        numbers.difference(abs(change.ratio - 1.0)),
        f"{numbers.difference(ends[0])} to {numbers.difference(ends[1])}",
        short(found, commit.commit),
        commit.author,
        commit.subject,
        commit.utc[:10],
        f"{commit.subject}, {commit.author}",
        where,
        f"above {numbers.percent(MOST_CERTAIN)}"
        if change.certainty >= MOST_CERTAIN
        else numbers.percent(change.certainty, 3, most_decimals=1),
        "..".join(short(found, end) for end in change.range.split("..")),
    )


def noun(found: Histories) -> str:
    """What stands in order of time."""
    return "commit" if found.rows_are == "commits" else "run"


def short(found: Histories, commit: str) -> str:
    """Ten digits of a commit's hash; a run's name."""
    return commit[:10] if found.rows_are == "commits" else clean(commit)


def headline(found: Histories) -> str:
    """One sentence."""
    if not found.lines:
        return "Nothing is measured yet"
    slower = sum(change.ratio > 1.0 for change in found.changes)
    faster = len(found.changes) - slower
    told = [f"{slower} slower"] * bool(slower) + [f"{faster} faster"] * bool(faster)
    what = f"{several(len(found.changes), 'change')} ({', '.join(told)})" if told else "No change"
    return (
        f"{what} in {several(len(found.lines), 'benchmark')} over {several(len(found.commits), noun(found))}"
    )


def footing(found: Histories) -> str:
    """What all of it rests on."""
    if found.rows_are == "runs":
        return (
            f"{found.measured:,} of {several(len(found.commits), 'run')} have values; changes below"
            f" {numbers.difference(found.threshold)} are not told"
        )
    if not found.sessions:
        return f"none of {several(len(found.commits), 'commit')} has a value"
    return (
        f"{found.measured:,} of {several(len(found.commits), 'commit')} have values, measured in"
        f" {several(found.sessions, 'session')} beside {found.reference[:10]}; changes below"
        f" {numbers.difference(found.threshold)} are not told"
    )


def break_lines(found: Histories) -> list[str]:
    """Sentences on breaks: no change is looked for across one."""
    if found.rows_are == "commits":
        then = {"all": "values before and after are not comparable"}
    else:  # which may take turns: of two hosts, say, each with a run a night
        then = {
            "all": "its runs are compared with each other alone",
            "times": "its times are compared with each other alone, ratios with those of the runs before",
        }
    return [f"{instant(one.utc)}: {clean(one.reason)}; {then[one.of]}" for one in found.breaks]


def unbuilt(found: Histories) -> list[HistoryCommit]:
    """Commits that could not be measured."""
    return [commit for commit in found.commits if commit.reason]


def now(line: BenchmarkLine) -> str:
    """The newest commit's value against the reference, in the part that goes on."""
    newest = max(at for at, part in enumerate(line.part) if part == line.latest)
    return _against(line.ratio[newest])


def scatter(line: BenchmarkLine) -> str:
    """What commits or runs scatter by, besides what measuring them does; nothing where too few tell it."""
    if line.scatter is None:
        return ""
    return "less than is seen" if line.scatter <= LEAST_SCATTER else numbers.difference(line.scatter)


def against(line: BenchmarkLine) -> str:
    """What a value of the line is held against."""
    return "the first run on its machine" if line.is_time else "the reference"


def _against(ratio: float) -> str:
    sign = "+" if ratio > 1.0 else "−" if ratio < 1.0 else ""
    return f"{sign}{numbers.difference(abs(ratio - 1.0))}"


def states(found: Histories, line: BenchmarkLine) -> list[str]:
    """What else is to be said of one benchmark."""
    told = []
    if line.since:
        told.append(f"since {line.since[:10]}")
    if line.until:
        told.append(f"gone since {line.until[:10]}")
    if line.recent:
        told.append(
            f"the last {several(line.recent, noun(found))} off: too few for a change"
            + ", measured again first" * (found.rows_are == "commits")
        )
    if line.outliers:
        told.append(f"{several(len(line.outliers), noun(found))} far off alone")
    return told
