"""What `toll trust --rebuild` found, in a terminal or a pipe, and as Markdown."""

from __future__ import annotations

from rich.console import Console

from tollbench import numbers
from tollbench.compare.rebuilds import EVERY, MoveLine, Rebuilds
from tollbench.report.comparisons.answer_table import AnswerTable
from tollbench.report.comparisons.early_ends import early_end
from tollbench.report.comparisons.trust_tables import count_of, interval_of, times
from tollbench.text import clean

_HEADS = ("what was edited", "unchanged code", "slower or faster", "inconclusive", "failed")


def show(found: Rebuilds, console: Console | None = None) -> None:
    """Prints the table and the answers below it."""
    _answers(found).show(console)


def markdown(found: Rebuilds) -> str:
    """The same as a Markdown table with its sentences, for documents."""
    return _answers(found).markdown()


def _answers(found: Rebuilds) -> AnswerTable:
    heads, *rows = _table(found)
    return AnswerTable(heads, rows, -1, sentences(found))


def sentences(found: Rebuilds) -> list[str]:
    """The answers: how often it cried wolf, by rows and by tables, and what the terms were."""
    every = found.everything
    told = []
    if every.differing.trials:
        told += [
            f"False alarms: {count_of(every.differing)} rows about edits that change no code"
            f"{interval_of(every.differing)}; regressions among them: {every.regressions.count}.",
            f"Tables with a false alarm: {count_of(found.alarming_tables)}.",
            "Unchanged code was timed all the same."
            if found.measured_all
            else f"Proved to be unchanged code, and not timed: {count_of(every.unchanged)} rows.",
        ]
    if every.failed:
        reason = next(row.found.reason for row in found.rows if row.found.verdict == "failed")
        told.append(f"{times(every.failed, 'row')} failed; the first: {clean(reason)}.")
    if every.no_interval:
        told.append(f"{times(every.no_interval, 'row')} had no interval, and counted as neither.")
    sides = f"{found.layouts} layouts a side" if found.layouts else "files as the linker made them"
    told.append(
        f"{times(len(found.rows), 'row')} in {found.seconds:.0f} s; {sides}; at most"
        f" {found.trial_budget_s:g} s a row; each table at a level of {numbers.probability(found.level)}."
    )
    if ended := early_end(found):
        told.append(ended)
    return told


def _table(found: Rebuilds) -> list[list[str]]:
    """Without the column of what was not timed, where everything was."""
    rows = [list(_HEADS), *map(_row, found.lines)]
    return [row[:1] + row[2:] for row in rows] if found.measured_all else rows


def _row(line: MoveLine) -> list[str]:
    return [
        "all" if line.move == EVERY else clean(line.move),
        count_of(line.unchanged),
        count_of(line.differing) if line.differing.trials else "",
        str(line.inconclusive) if line.inconclusive else "",
        str(line.failed) if line.failed else "",
    ]
