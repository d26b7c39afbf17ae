"""What a column is: how a number is read from a case, how it is written, and where it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from tollbench import numbers
from tollbench.analysis.results import Latency, Row
from tollbench.estimates import Estimate

C = TypeVar("C", Row, Latency)
Triple = tuple[float | None, float | None, float | None]  # a value and the ends of its interval
Write = Callable[[float | None, float | None, float | None], str]


def alone(write: Callable[[float | None], str]) -> Write:
    """Writes the value as if it had no interval."""
    return lambda value, _low, _high: write(value)


PLAIN = alone(numbers.plain)
IN_FULL = alone(lambda count: numbers.fixed(count, 0))
ALIKE = "\u00a0≈"  # behind an interval that is as of fewer launches than there were
AS_READ = numbers.Scale("")


def below(step: float | None, scale: numbers.Scale) -> str:
    """What stands where a number would that is below the clock's `step`; "" without a step."""
    return "" if step is None else f"< {numbers.plain(scale.of(step))}"


def triple_of(found: Estimate | None) -> Triple:
    """An estimate as a column reads it."""
    return (found.value, found.low, found.high) if found else (None, None, None)


@dataclass(frozen=True, slots=True)
class Shown(Generic[C]):
    """How the terminal, Markdown or the charts show a column.

    `rank`: in the terminal the highest goes first where there is no room; in Markdown and in the list of
    charts columns stand by it. 0 stands always, any other only where some case has the number.
    """

    title: str
    rank: int = 0
    interval: Shown[C] | None = None  # in a column of its own, after the value's
    joined: bool = False  # the interval stands in the value's cell
    caption: str = ""  # below a chart, of what is no median with an interval: what it is
    text: Callable[[C], str] | None = None  # where this format writes it otherwise than the page


@dataclass(frozen=True, slots=True)
class Column(Generic[C]):
    """One number a case. The page shows it unless `page` says no, each other format where it is named."""

    key: str
    title: str
    unit: str
    hint: str
    read: Callable[[C], Triple]  # in the case's own unit
    scale: numbers.Scale = AS_READ  # from that to what is written and drawn
    write: Write = PLAIN
    write_interval: Write | None = None
    head: str = ""  # the unit as the table's head says it, under a caption that says what it is per
    note: str = ""  # what a reader must know before comparing this number
    always: bool = False  # stands on the page even where no row has a number
    aligned: bool = True  # every row in the same unit, so that decimal points stand below each other
    below: Column[C] | None = None  # a second number in the same cell of the page, in small
    page: bool = True
    terminal: Shown[C] | None = None
    markdown: Shown[C] | None = None
    chart: Shown[C] | None = None  # over a parameter
    instead: Callable[[C], str] | None = None  # what stands where the number would, "" where that stands
    aside: Callable[[C], str] | None = None  # what its interval bears a mark for, "" for no mark
    words: bool = False  # `instead` tells words of a program's own, which each format has to disarm
    csv: tuple[str, ...] = ()  # names of the value and, with three, of the ends: unrounded, as read

    def value(self, case: C) -> float | None:
        """As the case has it, for sorting."""
        return self.read(case)[0]

    def triple(self, case: C) -> Triple:
        """In the scale's unit."""
        value, low, high = map(self.scale.of, self.read(case))
        return value, low, high

    def text(self, case: C, shown: Shown[C] | None = None) -> str:
        """The value as the page, or the format that `shown` is of, writes it."""
        if self.instead and (told := self.instead(case)):
            return told
        return shown.text(case) if shown and shown.text else self.write(*self.triple(case))

    def interval(self, case: C) -> str:
        """MISSING where there is none, or where the column does not show it."""
        if self.write_interval is None or (self.instead and self.instead(case)):
            return numbers.MISSING
        told = self.write_interval(*self.triple(case))
        return told + ALIKE if told != numbers.MISSING and self.aside and self.aside(case) else told

    def with_unit(self, case: C) -> str:
        """The text with its unit and interval, where both are there."""
        told = f"{self.text(case)} {self.head}".rstrip()
        spread = self.interval(case)
        return told if spread == numbers.MISSING else f"{told} {spread}"

    def known(self, cases: Iterable[C]) -> bool:
        """Whether some case has the number."""
        return any(self.value(case) is not None for case in cases)


def each(columns: Iterable[Column[C]]) -> Iterator[Column[C]]:
    """The columns, and after each the one below it."""
    for column in columns:
        yield column
        if column.below:
            yield column.below
