"""False alarms as users meet them: one program, linked again with an edit that changes none of its code.

A comparison of a file with itself cannot show what the place of code does to time; a user never has the same
file twice. Each trial is a table of `toll compare`: a program's benchmarks against those of a moved one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field

from tollbench.compare.printed import ComparisonRecord, Finite
from tollbench.compare.trials import Counted, counted
from tollbench.compare.verdicts import Comparison, Comparisons, NotNegative, Verdict
from tollbench.launching.failure import Interrupted, lacking_room

EVERY = "*"  # the line of all moves together


class MovedRow(ComparisonRecord):
    """One benchmark of a program against itself, moved."""

    move: str
    found: Comparison

    @property
    def differs(self) -> bool:
        """Whether it says that the sides differ, which they do not."""
        return self.found.verdict in (Verdict.SLOWER, Verdict.FASTER)

    @property
    def judged(self) -> bool:
        """Whether it could have been wrong: rows that failed, or have no interval, could not."""
        if self.found.verdict is Verdict.UNCHANGED_CODE:
            return True
        return self.found.verdict is not Verdict.FAILED and self.found.low is not None


class MoveLine(ComparisonRecord):
    """All rows of one move, or of all moves."""

    move: str
    differing: Counted = Field(description="slower or faster: false alarms")
    regressions: Counted = Field(description="slower by more than the threshold")
    unchanged: Counted = Field(description="unchanged code, of all rows")
    inconclusive: int
    failed: int
    no_interval: int = Field(description="too few layouts or pairs; counted nowhere else")


class RebuildTerms(ComparisonRecord):
    """What all tables share."""

    program: str
    level: Finite
    threshold: Finite
    layouts: int = Field(description="of each side; 0: the files as the linker made them")
    measured_all: bool = Field(description="whether what is proved to be unchanged was timed all the same")
    trial_budget_s: NotNegative = Field(description="most time for one benchmark")
    seed: int


class Rebuilds(RebuildTerms):
    """All that one `toll trust --rebuild` found."""

    seconds: NotNegative
    interrupted: bool
    no_room: str = Field(
        default="", description="of an interrupted one: which disk was full, where that is what ended it"
    )
    alarming_tables: Counted = Field(description="tables with at least one false alarm")
    lines: tuple[MoveLine, ...]
    rows: tuple[MovedRow, ...]
    raw: str = ""
    toll_version: str = ""
    machine: str = ""

    @property
    def everything(self) -> MoveLine:
        """The line of all moves."""
        return self.lines[-1]


def tried(
    terms: RebuildTerms,
    moves: Iterable[str],
    table_of: Callable[[str], Comparisons],
    *,
    seconds: Callable[[], float],
    keep: Callable[[Mapping[str, object]], None],
) -> Rebuilds:
    """A table for each move, until one is interrupted; `seconds` tells how long it took so far.

    An interrupt, `keep`'s too, ends it, and what is known by then is told.
    """
    rows: list[MovedRow] = []
    tables: dict[str, bool] = {}
    lines: list[str] = []
    interrupted, no_room = False, ""
    for move in moves:
        try:
            found = table_of(move)
        except Interrupted as ended:
            interrupted, no_room = True, lacking_room(ended)
            break
        own = [MovedRow(move=move, found=item) for item in found.comparisons]
        interrupted, no_room = found.interrupted, found.no_room
        if interrupted:
            break  # a table that was cut short is not what its user would have met
        rows += own
        lines.append(move)
        if any(row.judged for row in own):  # a table that failed could not cry wolf
            tables[move] = any(row.differs for row in own)
        try:
            keep({"move": move, "found": found.model_dump(mode="json")})
        except Interrupted as ended:
            interrupted, no_room = True, lacking_room(ended)
            break
    return Rebuilds(
        **terms.model_dump(),
        seconds=round(seconds(), 3),
        interrupted=interrupted,
        no_room=no_room,
        alarming_tables=counted(sum(tables.values()), len(tables)),
        lines=tuple(
            _line(move, [row for row in rows if move in (EVERY, row.move)]) for move in (*lines, EVERY)
        ),
        rows=tuple(rows),
    )


def _line(move: str, rows: Sequence[MovedRow]) -> MoveLine:
    judged = [row for row in rows if row.judged]
    verdicts = [row.found.verdict for row in rows]
    return MoveLine(
        move=move,
        differing=counted(sum(row.differs for row in judged), len(judged)),
        regressions=counted(sum(row.found.regression for row in judged), len(judged)),
        unchanged=counted(verdicts.count(Verdict.UNCHANGED_CODE), len(rows)),
        inconclusive=sum(row.found.verdict is Verdict.INCONCLUSIVE for row in judged),
        failed=verdicts.count(Verdict.FAILED),
        no_interval=len(rows) - len(judged) - verdicts.count(Verdict.FAILED),
    )
