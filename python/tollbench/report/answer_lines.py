"""What a workload answers, in a line: the fastest and the next of one setting."""

from __future__ import annotations

from dataclasses import dataclass

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report.cases import Group, Naming, groups
from tollbench.report.sentences import below_step_sentence, status_words
from tollbench.text import several


@dataclass(frozen=True, slots=True)
class Answer:
    """As texts. `others` counts the settings that have a fastest of their own."""

    setting: str
    fastest: str
    unseen: str  # behind the name: of rows that may be faster
    value: str
    second: str  # "" where nothing is compared with the fastest
    ratio: str
    interval: str
    tied: bool
    others: int

    @property
    def sentence(self) -> str:
        setting = f"{self.setting}: " if self.setting else ""
        told = f"{setting}{self.fastest}{self.unseen} {self.value}"
        then = f", then {self.second} {self.ratio} {self.interval}".rstrip() if self.second else ", alone"
        return told + then + (", tied" if self.tied else "") + self.more

    @property
    def more(self) -> str:
        """Behind the answer: that other settings have one too."""
        return f" (+ {several(self.others, 'setting')})" if self.others else ""


def answer(workload: WorkloadResult) -> Answer | None:
    """Of the first setting that has a fastest; None where nothing is compared."""
    told = [group for group in groups(workload) if group.best]
    return _answer(told[0], workload, len(told) - 1) if told else None


def _answer(group: Group, workload: WorkloadResult, others: int) -> Answer:
    naming, best = Naming.of(workload).within(workload), group.best
    assert best is not None
    rivals = [row for row in group.rows if row.ratio is not None and not (row.fastest or aside(row))]
    second = min(rivals, key=lambda row: row.ratio or 0.0, default=None)
    ends = (second.ratio, second.ratio_low, second.ratio_high) if second else (None, None, None)
    interval = numbers.ratio_interval(*ends)
    return Answer(
        setting=group.setting,
        fastest=naming.label(best),
        unseen=group.unseen,
        value=value_text(best, workload),
        second=naming.label(second) if second else "",
        ratio=numbers.ratio(*ends) if second else "",
        interval=interval if interval != numbers.MISSING else "",
        tied=bool(second and {*best.tie_groups} & {*second.tie_groups}),
        others=others,
    )


def aside(row: Row) -> bool:
    """Whether the row is no contender: the bare work, or what leaves out what the others compete in."""
    return row.floor or row.baseline


def value_text(row: Row, workload: WorkloadResult) -> str:
    """A time in the unit that suits it."""
    scale = numbers.time_scale([row.value], workload.unit)
    value = numbers.quantity(scale.of(row.value), scale.of(row.low), scale.of(row.high))
    return f"{value} {scale.unit}"


def without_answer(workload: WorkloadResult, *, briefly: bool = False) -> str:
    """Of a workload in which nothing is compared; `briefly` where a line is all there is."""
    naming = Naming.of(workload)
    measured = [row for row in workload.rows if row.value is not None]
    if below := below_step_sentence(workload, briefly=briefly):
        return below
    if measured:
        rest = f" and {several(len(measured) - 1, 'more row')}" if len(measured) > 1 else ""
        told = f"{naming.label(measured[0])} {value_text(measured[0], workload)}"
        return f"{told}{rest}, nothing to compare with"
    first = next(iter(workload.rows), None)
    return f"nothing measured ({why_not(first.status)})" if first else "nothing measured"


def why_not(status: str) -> str:
    """Of a row without numbers; a run that ended first leaves rows that nobody has tried."""
    return "its turn did not come: give a larger --budget" if status == "planned" else status_words(status)
