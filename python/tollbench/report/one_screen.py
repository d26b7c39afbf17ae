"""The answer of a run on one screen: who is fastest, what holds, what to beware of, where the rest is.

A quick run of all workloads takes at most `LINES` lines of 100 columns, with what toll said while it ran;
the tables are terminal.py's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console

from tollbench import numbers
from tollbench.analysis.results import IMPRECISE, PublishedValue, Results, Row, WorkloadResult
from tollbench.home import COMMAND
from tollbench.report import environment_lines
from tollbench.report.answer_lines import answer, why_not, without_answer
from tollbench.report.cases import groups
from tollbench.report.claim_lines import (
    TITLE,
    VERDICTS,
    ClaimLine,
    claim_lines,
    count_sentence,
    of_verdict,
    open_sentence,
)
from tollbench.report.console_writer import Writer
from tollbench.report.problems import troubles
from tollbench.report.published_tables import beside_rows
from tollbench.report.sentences import floor_sentence, published_range
from tollbench.text import clean, headline, said, several
from tollbench.words import Ruling

LINES = 59  # 60 with what the start script says where it makes its environment
MOST_WARNINGS = 3
_FEWEST_OF_CLAIMS = 3  # lines: how many hold, then by name what does not hold and what does
_QUICK, _TELLS_MORE = "quick", f"{COMMAND} run '*' --profile standard --budget 1h"
_FEWEST_OF_LABEL = 12  # columns of what a published value is called
# The path as shlex.quote writes it: words with spaces in quotes, a quote of its own in double ones.
_REMEDY = re.compile(r"""`([^`]+)`|((?:\./)?toll run --resume (?:'[^']*'|"'"|[^\s'])+)""")
_IMPRECISE = re.compile(rf"\d+ of \d+ ratios {IMPRECISE} (±\S+ %)")
_CLAUSE = re.compile(r"[:;,](?= )| (?=\(|for )")
_UNITS = {"us": "µs"}
_DECIDED = {Ruling.DOES_NOT_HOLD: "yellow", Ruling.HOLDS: "green"}


@dataclass(frozen=True, slots=True)
class ScreenLine:
    """One line before it is folded to the console's width."""

    text: str = ""
    style: str = ""
    indent: int = 0
    wanted: bool = True  # False: left out where there is no room


def render(
    results: Results, console: Console, page: str = "", run: str = "RUN", *, said_lines: int = 0
) -> None:
    """Prints the screen; `page` is where the HTML file is, `run` what `toll report` calls the run.

    `said_lines` stand above it already, of the run's progress.
    """
    writer = Writer(console)
    head = [*_head(results)]
    answers = [line for one in results.workloads for line in _workload(one, console.width)]
    claims = claim_lines(results)
    room = LINES - said_lines - (_FEWEST_OF_CLAIMS if claims else 0) - _height(head, writer)
    foot = _foot(results, page, run, room - _height(filter(_is_wanted, answers), writer), writer)
    answers = _that_fit(answers, room - _height(foot, writer), writer)
    left = LINES - said_lines - _height([*head, *answers, *foot], writer)
    concluded = _claims(claims, left, writer, quick=results.run.profile == _QUICK)
    for line in (*head, *answers, *concluded, *foot):
        writer.line(line.text, line.style, line.indent)


def _height(lines: Iterable[ScreenLine], writer: Writer) -> int:
    return sum(writer.height(line.text, line.indent) for line in lines)


def _is_wanted(line: ScreenLine) -> bool:
    return line.wanted


def _foot(results: Results, page: str, run: str, room: int, writer: Writer) -> list[ScreenLine]:
    """What to beware of, fewer of it where there is no room, and where the rest is."""
    for most in range(MOST_WARNINGS, 0, -1):
        warnings = _warnings(results, run, writer.console.width, most)
        for between in ([ScreenLine()] if warnings else [], []):
            told = [*between, *warnings, *_further(page, run)]
            if _height(told, writer) <= room:
                return told
    return told


def _that_fit(lines: Sequence[ScreenLine], room: int, writer: Writer) -> list[ScreenLine]:
    """All that are wanted, and of the others the first ones that there is room for."""
    left = room - _height(filter(_is_wanted, lines), writer)
    kept = []
    for line in lines:
        if not line.wanted:
            left -= _height([line], writer)
        if line.wanted or left >= 0:
            kept.append(line)
    return kept


def _head(results: Results) -> Iterator[ScreenLine]:
    run, machine = results.run, results.machine
    cpus = machine.get("cpus")
    took = f" in {numbers.duration(run.seconds)}" if run.seconds is not None else ""
    facts = [
        f"toll · {clean(run.name)}",
        said(machine.get("cpu")),
        several(cpus, "CPU") if isinstance(cpus, int) else "",
        f"{clean(run.profile)} profile{took}",
    ]
    yield ScreenLine(" · ".join(filter(None, facts)), "bold")
    yield ScreenLine(floor_sentence(results.floor).split(" (", maxsplit=1)[0], "cyan")


def _workload(workload: WorkloadResult, width: int) -> Iterator[ScreenLine]:
    """The question; the answer; what each environment brings."""
    yield ScreenLine(_clipped(f"{clean(workload.workload)}: {clean(workload.question)}", width), "bold")
    yield from _answer(workload, width)
    if brought := environment_lines.sentence(workload):
        yield ScreenLine(brought, "", 2, wanted=False)


def _answer(workload: WorkloadResult, width: int) -> Iterator[ScreenLine]:
    """The fastest and the next of one setting; what was published then."""
    told = answer(workload)
    answered = told.sentence if told else without_answer(workload, briefly=True)
    rows = next((group.rows for group in groups(workload) if group.best), workload.rows)
    entry = _published(workload, rows)
    if entry is None:
        yield ScreenLine(answered, "", 2)
        return
    beside = _then_and_now(entry, width - 2 - cell_len(f"{answered} · "))
    yield ScreenLine(f"{answered} · {beside}" if beside else answered, "", 2)
    if not beside:
        yield ScreenLine(_then_and_now(entry, width - 2) or _then_and_now(entry), "dim", 2, wanted=False)


def _published(workload: WorkloadResult, rows: Sequence[Row]) -> PublishedValue | None:
    """One that stands beside a row: the fastest's if there is one, else the first. None that says "1 then, 1
    here" of a ratio to that very row."""
    names = [(row.contender, row.environment, row.parameters) for row in rows]

    def place(entry: PublishedValue) -> int:
        name = entry.contender, entry.environment, entry.parameters
        return names.index(name) if name in names else len(names)

    told = [entry for entry in beside_rows(workload) if not _of_itself(entry)]
    return min(told, key=place, default=None)


def _of_itself(entry: PublishedValue) -> bool:
    """Whether it is the ratio of the row that others' ratios are to."""
    today = entry.today
    return today is not None and entry.statistic == "ratio" and today.low == today.high == 1.0


def _then_and_now(entry: PublishedValue, room: int | None = None) -> str:
    """As "2016, the label: 25 ns then, 5.98 here"; its label is cut to the room, "" where next to nothing of
    it would be left."""
    assert entry.today is not None
    today = numbers.quantity(entry.today.value, entry.today.low, entry.today.high)
    label = clean(entry.label)
    values = f"{published_range(entry)} {clean(_UNITS.get(entry.unit, entry.unit))} then, {today} here"
    left = cell_len(label) if room is None else room - cell_len(f"{entry.year}, : {values}")
    if left < min(_FEWEST_OF_LABEL, cell_len(label)):
        return ""
    return f"{entry.year}, {_clipped(label, left)}: {values}"


def _claims(lines: Sequence[ClaimLine], room: int, writer: Writer, *, quick: bool) -> list[ScreenLine]:
    """The claims that hold or fail, in as many words as there is room for."""
    if not lines:
        return []
    more = _TELLS_MORE if quick else ""
    counted = open_sentence(lines, more) or f"{TITLE}: {count_sentence(lines)}"
    head = [ScreenLine(), ScreenLine(counted, "bold")]
    decided = {ruling: found for ruling in _DECIDED if (found := of_verdict(lines, ruling))}
    for in_words in ((*_DECIDED,), (Ruling.DOES_NOT_HOLD,), ()):
        told = list(head)
        for ruling, found in decided.items():
            if ruling in in_words:
                told += [_sentence(line, ruling) for line in found]
            else:
                told.append(_names(found, ruling, len(found)))
        if _height(told, writer) <= room:
            return told
    del head[0]  # an empty line is the first thing to go
    each = max(1, (room - _height(head, writer)) // max(1, len(decided)))
    return [*head, *(_fewer_names(found, ruling, each, writer) for ruling, found in decided.items())]


def _names(found: Sequence[ClaimLine], ruling: Ruling, count: int) -> ScreenLine:
    names = ", ".join(line.name.replace("_", " ") for line in found[:count])
    rest = f" and {len(found) - count} more" if count < len(found) else ""
    return ScreenLine(f"{VERDICTS[ruling]}: {names}{rest}", _DECIDED[ruling], 2)


def _fewer_names(found: Sequence[ClaimLine], ruling: Ruling, height: int, writer: Writer) -> ScreenLine:
    """As many names as stand in `height` lines, one at least."""
    shortened = (_names(found, ruling, count) for count in range(len(found), 0, -1))
    return next((line for line in shortened if _height([line], writer) <= height), _names(found, ruling, 1))


def _sentence(line: ClaimLine, ruling: Ruling) -> ScreenLine:
    where = f"{line.ratio} {line.interval}, {line.wanted} wanted"
    return ScreenLine(f"{VERDICTS[ruling]}: {line.claim} ({where})", _DECIDED[ruling], 2)


def _warnings(results: Results, run: str, width: int, most: int) -> list[ScreenLine]:
    """What failed first, each cut to a line that ends with its remedy."""
    whole, apart = results.warnings_by_workload()
    own = [
        warning if name in warning else f"{name}: {warning}"  # its command names the workload mostly
        for name, warnings in apart.items()
        for warning in warnings
    ]
    told = [*_failures(results), *whole, *_imprecise_together(own)]
    lines = [ScreenLine("! " + in_a_line(warning, width - 2), "yellow") for warning in told[:most]]
    if len(told) > most:
        rest = several(len(told) - most, "more warning")
        lines.append(ScreenLine(f"! {rest}: {COMMAND} report {shlex.quote(run)}", "yellow"))
    return lines


def _imprecise_together(own: Sequence[str]) -> list[str]:
    """Those of several workloads on how well ratios are known as one, which is the least of what is told."""
    found = [match for match in map(_IMPRECISE.search, own) if match]
    if len(found) < 2:
        return list(own)
    longer = f"`{COMMAND} run WORKLOAD --profile thorough`"
    together = f"Ratios of {len(found)} workloads {IMPRECISE} {found[0][1]}: {longer}"
    return [*(warning for warning in own if not _IMPRECISE.search(warning)), together]


def _failures(results: Results) -> list[str]:
    found = troubles(results)
    if not found:
        return []
    count = several(sum(len(trouble.affected) for trouble in found), "contender")
    first = found[0]
    who = f"{first.affected[0].workload} {first.affected[0].contender}"
    why = headline(first.reason)[0]
    return [f"{count} without numbers, {who} first: {why_not(first.status)}, {why}"]


def in_a_line(warning: str, room: int) -> str:
    """The warning's first sentence as far as it fits, cut where a clause ends, and its first command."""
    text = clean(warning)
    found = _REMEDY.search(text)
    remedy = (found[1] or found[2]) if found else ""
    sentence = re.split(r"\.(?: |$)", text, maxsplit=1)[0]
    if cell_len(sentence) <= room and remedy in sentence:
        return sentence.replace("`", "")
    before = (sentence[: found.start()] if found else sentence).replace("`", "").rstrip(" (,;:")
    end = f": {remedy}" if remedy else ""
    clauses = [cut.start() for cut in _CLAUSE.finditer(before)]
    cuts = [len(before), *(cut for cut in reversed(clauses) if not _within_brackets(before[:cut]))]
    # A cut that leaves next to nothing, or a workload's name alone, says less than one inside a word.
    told = [before[:cut] for cut in cuts if cut > 20 and " " in before[:cut]]
    fits = (begun + end for begun in told if cell_len(begun + end) <= room)
    return next(fits, _clipped(before, max(20, room - cell_len(end))) + end)


def _within_brackets(begun: str) -> bool:
    return begun.count("(") > begun.count(")")


def _clipped(text: str, room: int) -> str:
    if cell_len(text) <= room:
        return text
    kept = text
    while kept and cell_len(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def _further(page: str, run: str) -> Iterator[ScreenLine]:
    told = [f"page: {page}"] if page else []
    told.append(f"tables: {COMMAND} report {shlex.quote(run)} [WORKLOAD]")
    yield ScreenLine("; ".join(told), "bold")
