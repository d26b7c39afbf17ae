"""What `toll trust` found, in a terminal or a pipe, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tollbench import numbers
from tollbench.compare.trials import NOTHING, Counted, Line, Trust
from tollbench.report.comparisons.answer_table import AnswerTable
from tollbench.report.comparisons.early_ends import early_end

ALL = "*"
_CONDITIONS = {
    "load": "Meanwhile a second process kept one CPU busy at random moments.",
    "drift": "Meanwhile both sides became up to 10 % slower and faster again.",
}


def show(found: Trust, console: Console | None = None) -> None:
    """Prints the table and the answers below it."""
    _answers(found).show(console)


def markdown(found: Trust) -> str:
    """The same as a Markdown table with its sentences, for documents."""
    return _answers(found).markdown()


def _answers(found: Trust) -> AnswerTable:
    heads, rows = _table(found)
    return AnswerTable(heads, rows, -2, sentences(found))


def sentences(found: Trust) -> list[str]:
    """The answers: false alarms, what is found, how long it took."""
    alarms = found.false_alarms
    told: list[str] = []
    beyond = next(
        line.regression for line in found.lines if (line.operation, line.slowdown) == (ALL, NOTHING)
    )
    if alarms.trials:
        told += [
            f"False alarms: {count_of(alarms)} comparisons of a program with itself{interval_of(alarms)}.",
            f"Beyond the threshold of {_asked(found.threshold)}: {count_of(beyond)}{interval_of(beyond)}.",
        ]
    told += [*_finds(found), *(_CONDITIONS[word] for word in found.disturbed)]
    failed = sum(line.failed for line in found.lines if line.operation == ALL)
    if failed:
        reason = next(trial.reason for trial in found.trials if trial.verdict == "failed")
        told.append(f"{times(failed, 'trial')} failed; the first: {reason}.")
    undecided = sum(
        line.undecided for line in found.lines if (line.operation, line.slowdown) == (ALL, NOTHING)
    )
    if undecided:
        told.append(
            f"{times(undecided, 'comparison')} of a program with itself had too few pairs of launches in"
            f" {found.trial_budget_s:g} s for any interval, and counted as neither: --trial-budget."
        )
    told.append(
        f"{times(len(found.trials), 'comparison')} in {found.seconds:.0f} s;"
        " intervals at 95 % (exact binomial)."
    )
    if ended := early_end(found):
        told.append(ended)
    return told


def _finds(found: Trust) -> list[str]:
    """What was found of what was injected; nothing where nothing was."""
    if all(line.slowdown == NOTHING for line in found.lines):
        return []
    told = ["+x %: how often a slow-down of x % was called slower."]
    if found.smallest_found is None:
        return [*told, "No slow-down that was tried was found in 95 % of its trials."]
    key = (ALL, found.smallest_found)
    slower = next(line.slower for line in found.lines if (line.operation, line.slowdown) == key)
    return [
        *told,
        f"Found in at least 95 % of its trials: a slow-down of {_asked(found.smallest_found)} and more"
        f" ({count_of(slower)}{interval_of(slower)}), within {found.trial_budget_s:g} s a comparison.",
    ]


def _table(found: Trust) -> tuple[list[str], list[list[str]]]:
    slowdowns = sorted({line.slowdown for line in found.lines})
    heads = ["operation", "false alarms", *(f"+{_asked(slowdown)}" for slowdown in slowdowns[1:])]
    names = list(dict.fromkeys(line.operation for line in found.lines))
    by = {(line.operation, line.slowdown): line for line in found.lines}
    rows = [_row(name, [by[name, slowdown] for slowdown in slowdowns]) for name in names]
    return heads, [*rows, ["median time", *(_time(by[ALL, slowdown]) for slowdown in slowdowns)]]


def _row(name: str, lines: Sequence[Line]) -> list[str]:
    same, *slowed = lines
    cells = [
        _cell(same.slower.count + same.faster.count, same),
        *(_cell(line.slower.count, line) for line in slowed),
    ]
    return ["all" if name == ALL else name, *cells]


def _cell(count: int, line: Line) -> str:
    """ "3 of 4"; nothing without trials."""
    return f"{count} of {line.slower.trials}" if line.slower.trials else ""


def _time(line: Line) -> str:
    return "" if line.seconds is None else f"{line.seconds:.1f} s"


def _asked(share: float) -> str:
    """A share as somebody wrote it: 0.005 -> "0.5 %"."""
    return f"{numbers.reported(100.0 * share)} %"


def count_of(counted: Counted) -> str:
    """ "3 of 40"."""
    return f"{counted.count} of {counted.trials}"


def times(count: int, what: str) -> str:
    """ "1 row", "3 rows"."""
    return f"{count} {what}" + ("s" if count != 1 else "")


def interval_of(counted: Counted) -> str:
    """ ", 5 %, between 1 % and 12 %"; nothing without trials."""
    if counted.share is None:
        return ""
    share, low, high = (numbers.percent(number, 3) for number in (counted.share, counted.low, counted.high))
    return f", {share}, between {low} and {high}"
