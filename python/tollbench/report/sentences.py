"""Sentences that every format says in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tollbench import numbers
from tollbench.analysis.results import TELLING_ROUNDS, Floor, PublishedValue, Results, Row, WorkloadResult
from tollbench.analysis.several_results import SeveralCell
from tollbench.report.cases import Naming, groups, is_split
from tollbench.report.showing import ALIKE
from tollbench.text import clean, several


def floor_sentence(floor: Floor) -> str:
    """What the canary says about this machine during this run."""
    if floor.ratio is None:
        return f"Floor unknown: {clean(floor.reason) or 'too few canary launches'}"
    drift = f"; drift over the run {numbers.ratio(floor.drift)}" if floor.drift is not None else ""
    seen = several(floor.launches, "canary launch", "canary launches")
    table = f"in a table of {floor.rows} rows, " if floor.rows and floor.rows > 1 else ""
    return (
        f"Floor {numbers.percent(floor.ratio - 1)}: the smallest difference that this run could find between"
        f" programs like the canary ({table}{seen}, 0.5 MiB{drift})"
    )


def bare_work_sentence(names: Iterable[str]) -> str:
    """Which rows are the floor that ratios leave out; "" for none."""
    floors = list(dict.fromkeys(names))
    if not floors:
        return ""
    verb, who = ("is", "it") if len(floors) == 1 else ("are", "them")
    return f"{' and '.join(floors)} {verb} the floor: the bare work, no ratio is to {who}."


def below_table(workload: WorkloadResult, naming: Naming) -> list[str]:
    """What a reader of the table must know: of ties, of other settings, of rows that stand aside."""
    told = []
    if is_split(workload):
        names = [clean(name) for name in workload.swept]
        swept = names[0] if len(names) == 1 else f"setting of {' and '.join(names)}"
        alone = any(len(group.measured) == 1 for group in groups(workload))
        told.append(
            f"Ratios and letters are within one {swept}"
            + ("; a row alone there has nothing to be compared with." if alone else ".")
        )
    if any(letters for group in groups(workload) for letters in group.ties):
        told.append("Rows that share a letter could not be told apart by this run.")
    told.append(below_step_sentence(workload))
    told.append(alike_sentence(workload))
    told.append(bare_work_sentence(naming.label(row) for row in workload.rows if row.floor))
    told.append(baseline_sentence(naming.label(row) for row in workload.rows if row.baseline))
    return [sentence for sentence in told if sentence]


def alike_launches(row: Row) -> str:
    """Why the interval of the row's value bears a mark, in the words of its tooltip; "" where it has none."""
    if row.within_run and not row.few_rounds:  # few_rounds_sentence() says that once for all rows
        return f"holds within this run's conditions: {clean(row.within_run)}"
    if row.counts_as is None:
        return ""
    return (
        f"wider, as rounds beside each other are alike: {row.launches} launches count as"
        f" {numbers.plain(row.counts_as, 2)}"
    )


def few_rounds_sentence(results: Results) -> str:
    """Why the intervals of a short run say nothing of other runs, once a report; "" where none is so."""
    return few_rounds_told([row for workload in results.workloads for row in workload.rows])


def few_rounds_told(rows: Iterable[Row | SeveralCell]) -> str:
    """The same of any rows."""
    measured = [row for row in rows if row.value is not None]
    few = sum(row.few_rounds for row in measured)
    if not few:
        return ""
    which = "values" if few == len(measured) else f"{few} of {len(measured)} values"
    return (
        f"Intervals of {which} hold within this run's conditions alone: fewer than {TELLING_ROUNDS} rounds do"
        " not tell whether those beside each other are alike. They reach at least as far as the floor;"
        " another run may lie outside. Ratios are paired by round."
    )


def alike_sentence(workload: WorkloadResult) -> str:
    """What the mark behind an interval says; "" where no row has one."""
    marked = [row for row in workload.rows if alike_launches(row)]
    if not marked:
        return ""
    within = sum(bool(row.within_run) for row in marked)  # none of them for its few rounds alone
    counted = any(row.counts_as is not None for row in marked)
    either = (["is wider"] if counted else []) + (
        ["holds within this run's conditions alone"] if within else []
    )
    told = (
        f"An interval with {ALIKE.strip()} {', or '.join(either)}, as this row's rounds are like those beside"
        f" them{': they count as fewer launches' if counted else ''}."
    )
    if within and counted:
        told += (
            f" {within} of {len(marked)} {'holds' if within == 1 else 'hold'} within this run's conditions"
            " alone, where too few rounds or too long spells do not tell how much wider."
        )
    return told


def below_step_sentence(workload: WorkloadResult, *, briefly: bool = False) -> str:
    """Why rows say "< 10.0" and nothing else, and where many operations are timed together; "" for none.

    `briefly` is for one line.
    """
    steps = [row.below_step for row in workload.rows if row.below_step is not None]
    if not steps:
        return ""
    step = f"{numbers.plain(max(steps))} {clean(workload.unit)}"
    where = f"; {clean(workload.in_batches)} times many at once" if workload.in_batches else ""
    if briefly:
        which = several(len(workload.rows), "row")
        return f"{len(steps)} of {which} are shorter than the clock's step, {step}{where}"
    return (
        f"Where a row says less than {step}, the clock's step, one {clean(workload.per)} is shorter than the"
        f" clock can see: it has no value, no ratio and no rank of its own{where}."
    )


def baseline_sentence(names: Iterable[str]) -> str:
    """Which rows leave out what the contenders compete in, so that ratios leave them out; "" for none."""
    baselines = list(dict.fromkeys(names))
    if not baselines:
        return ""
    verb, noun, who = ("is", "a baseline", "it") if len(baselines) == 1 else ("are", "baselines", "them")
    return f"{' and '.join(baselines)} {verb} {noun} beside the contenders: no ratio is to {who}."


def harness_note(workload: WorkloadResult) -> str:
    """What CPU time, waits and faults hold besides the operation, where each operation is timed alone."""
    return "harness included" if workload.kind == "samples" else ""


def status_words(status: str) -> str:
    """A status as words: "build_failed" -> "build failed"."""
    return clean(status).replace("_", " ")


def published_notes(entries: Sequence[PublishedValue]) -> tuple[str, list[str]]:
    """How the source measured them, and what sets their rows apart from the source's programs.

    First what is true of all, then each one's own: a sentence under every row of twenty hides the rows.
    """
    one = "the row differs: "
    shared, own = [], [list[str]() for _ in entries]
    for of_all, of_one, texts in (
        ("", "", [entry.note for entry in entries]),
        (one if len(entries) == 1 else "each row differs: ", one, [entry.differs for entry in entries]),
    ):
        told = [_parts(text) for text in texts]
        common = set(told[0]).intersection(*told[1:])
        shared.append(_clauses(of_all, [part for part in told[0] if part in common]))
        for mine, each in zip(own, told, strict=True):
            mine.append(_clauses(of_one, [part for part in each if part not in common]))
    return "; ".join(filter(None, shared)), ["; ".join(filter(None, mine)) for mine in own]


def _parts(text: str) -> list[str]:
    """What stands between semicolons, but for those within brackets."""
    parts, opened = list[str](), 0
    for piece in text.split("; ") if text else ():
        if opened > 0:
            parts[-1] += f"; {piece}"
        else:
            parts.append(piece)
        opened += piece.count("(") - piece.count(")")
    return parts


def _clauses(start: str, parts: Sequence[str]) -> str:
    return f"{start}{'; '.join(parts)}" if parts else ""


def published_range(entry: PublishedValue) -> str:
    """What the source reported: "0.64 to 1.21", or one number."""
    low, high = numbers.reported(entry.low), numbers.reported(entry.high)
    return low if low == high else f"{low} to {high}"
