"""What a launch says: its one value, and those of its blocks.

Reports, the rule that ends a run and comparisons all ask here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median as median_of  # of a few numbers, where NumPy's takes longer
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tollbench.stats import tick_median, without_block_effects
from tollbench.stats.order_statistics import Floats
from tollbench.store import BatchSamples, Launch, SampleCounts, Samples
from tollbench.words import CODE_LAYOUT, MOST_CODE_LAYOUTS, Batch, one_thread, times_own_thread

MOST_WAITING = 0.1  # of a case's batches: one that waited for a page of its program makes nobody wait
_ALONE = 1.05  # times its wall time: one thread cannot have more CPU time, but for the clocks' steps
_NONE = np.empty(0)
Flags = npt.NDArray[np.bool_]
Timed = tuple[bool, bool]  # whether on the processor, and only where nobody shared the core or was in the way
PLAINLY: Timed = (False, False)  # by the wall clock, all batches


class LaunchValue(NamedTuple):
    """Nanoseconds a unit of work. Blocks of one number, of launches of one company, are neighbours.

    Not a dataclass: thousands are made and changed, each in a fifth of the time.
    """

    wall_ns: float
    wall_blocks: Floats = _NONE  # of each timed batch; none where they mix pairs
    company: int = 0  # the same for launches that took turns; 0: alone
    # `Batch.on_cpu_ns`; None: of several threads, of single operations, or where no CPU time was told.
    on_cpu_ns: float | None = None
    on_cpu_blocks: Floats = _NONE
    waited: float = 0.0  # share of the timed batches in which it gave its processor back
    on_cpu: bool = False  # which of the two counts
    gauges: Floats = _NONE  # ns, of each timed batch; none of threads
    batch_ns: float = 0.0  # wall time of its shortest timed batch
    # Of each timed batch: whether it counts, as nobody shared its core or was in its way; None: all do.
    own_core: Flags | None = None
    step_ns: float = 0.0  # of the clock that read single operations; 0: it read many at once
    code_layout: int = 0  # of its program's; 0: as it was linked
    others: Floats = _NONE  # tasks in the way of each timed batch; none where not all have a census

    @property
    def ns(self) -> float:
        """By the clock that counts, of the batches that count; NaN where none does."""
        if self.own_core is not None:
            return float(median_of(self.blocks.tolist())) if self.counts else math.nan
        return self.on_cpu_ns if self.on_cpu and self.on_cpu_ns is not None else self.wall_ns

    @property
    def blocks(self) -> Floats:
        """By the clock that counts, of the batches that count."""
        blocks = self.on_cpu_blocks if self.on_cpu else self.wall_blocks
        return blocks if self.own_core is None else blocks[self.own_core]

    @property
    def timed(self) -> Timed:
        """What was done so that others disturb less."""
        return self.on_cpu, self.own_core is not None

    @property
    def counts(self) -> bool:
        """Whether any batch of the launch does."""
        return self.own_core is None or bool(self.own_core.any())

    def timed_by(self, *, on_cpu: bool, own_core: Flags | None) -> LaunchValue:
        """By that clock and with those batches; asked for thousands of times, mostly for what it is."""
        if on_cpu == self.on_cpu and own_core is self.own_core:
            return self
        return self._replace(on_cpu=on_cpu, own_core=own_core)


ByRound = Mapping[int, LaunchValue]


def launch_value(launch: Launch, samples: Sequence[BatchSamples] | None) -> LaunchValue:
    """Of a launch that succeeded; `samples` has those of each timed batch, None for kind "batch"."""
    timed = [batch for batch in launch.batches if not batch.warmup]
    layout = _code_layout(launch)
    others, batch_ns = _others(timed), min((batch.wall_ns for batch in timed), default=0.0)
    # A gauge tells of one core, where a census tells of all that the program wants.
    gauges = _NONE if others.size else _gauges(launch, timed)
    if samples is None:
        wall, on_cpu = [batch.wall_ns / batch.units for batch in timed], _on_cpu_ns(launch, timed)
        return LaunchValue(
            median_of(wall),
            np.array(wall, dtype=np.float64),
            launch.company,
            median_of(on_cpu) if on_cpu else None,
            np.array(on_cpu, dtype=np.float64),
            _waited(launch, timed),
            gauges=gauges,
            batch_ns=batch_ns,
            code_layout=layout,
            others=others,
        )
    ns = value_of_samples(samples, launch.clock)
    if any(batch.keys for batch in samples):
        return LaunchValue(ns, code_layout=layout)
    whole = len(samples) == len(timed)  # a batch may have no samples
    kept, others = (gauges, others) if whole else (_NONE, _NONE)
    # Asked for only beside others who took turns, or where some batches do not count.
    needed = launch.company or kept.size or others.size
    medians = [value_of_samples([batch], launch.clock) for batch in samples] if needed else []
    return LaunchValue(
        ns,
        np.array(medians, dtype=np.float64),
        launch.company,
        gauges=kept,
        batch_ns=batch_ns,
        step_ns=resolution_ns(launch.clock),
        code_layout=layout,
        others=others,
    )


def _code_layout(launch: Launch) -> int:
    """0 where a stranger's file says anything but a number of one."""
    told = launch.footing.get(CODE_LAYOUT, 0)
    number = told if isinstance(told, int) and not isinstance(told, bool) else 0
    return number if 0 < number <= MOST_CODE_LAYOUTS else 0


def _has_load(launch: Launch, timed: Sequence[Batch]) -> bool:
    """Whether its CPU time is that of the timed thread beside a load, as it says: no thread has more than
    the wall clock."""
    return times_own_thread(launch.footing) and all(batch.cpu_ns <= _ALONE * batch.wall_ns for batch in timed)


def _on_cpu_ns(launch: Launch, timed: Sequence[Batch]) -> list[float]:
    """Time on the processor for a unit of work, of each batch; none of several threads, or without CPU times.

    By the timed thread's own clock where others are a load.

    With more threads than processors those say when the timed one has its turn: of fifteen word counters
    beside four busy threads on two processors, ratios scattered by 14 to 41 % from round to round on the wall
    clock, and by 5 to 17 % on the timed thread's.
    """
    if not one_thread(launch.footing) or not all(batch.cpu_ns > 0 for batch in timed):
        return []
    if _has_load(launch, timed):
        return [batch.cpu_ns / batch.units for batch in timed]
    return [batch.on_cpu_ns / batch.units for batch in timed]


def _waited(launch: Launch, timed: Sequence[Batch]) -> float:
    """Share of the batches in which it gave its processor back; none where others are a load: for those."""
    if _has_load(launch, timed):
        return 0.0
    return sum(batch.voluntary_switches > 0 for batch in timed) / max(1, len(timed))


def _gauges(launch: Launch, timed: Sequence[Batch]) -> Floats:
    """Those of the timed batches, ns; none of a program with several threads, told of or seen at work."""
    alone = one_thread(launch.footing) and not times_own_thread(launch.footing)
    if not timed or not alone or not all(batch.gauge_ns > 0 for batch in timed):
        return _NONE
    # Of all batches: a hypervisor's clocks told 1.1 times as much CPU time as wall time of one in 5,000.
    if median_of([batch.cpu_ns - _ALONE * batch.wall_ns for batch in timed]) > 0:
        return _NONE
    return np.array([batch.gauge_ns for batch in timed], dtype=np.float64)


def _others(timed: Sequence[Batch]) -> Floats:
    """In the way of each of the timed batches, where a census was taken around all of them."""
    found = [batch.others for batch in timed if batch.others is not None]
    return np.array(found, dtype=np.float64) if found and len(found) == len(timed) else _NONE


def nobody_waits(cases: Sequence[ByRound]) -> bool:
    """Whether the launches of cases that are compared count by their time on the processor.

    That is where none of the cases waits or has several threads: beside a process that took a processor for a
    third of the time, launches of five locks scattered by 17 to 25 % on the wall clock and by 2 to 4 % on the
    processor. Where one does, all keep the wall clock: what it loses to neighbours the others lose as well.
    """
    return all(
        sum(value.waited for value in case.values()) <= MOST_WAITING * len(case)
        and all(value.on_cpu_ns is not None for value in case.values())
        for case in cases
    )


def by_one_clock(cases: Sequence[ByRound]) -> list[dict[int, LaunchValue]]:
    """The launches of cases that are compared, all by the same clock, with all their batches."""
    on_cpu = nobody_waits(cases)
    return [
        {number: value.timed_by(on_cpu=on_cpu, own_core=None) for number, value in case.items()}
        for case in cases
    ]


def timed_in_one_way(cases: Sequence[ByRound]) -> list[dict[int, LaunchValue]]:
    """Cases of different tables, as they are where all were timed in the same way, else by one clock."""
    if len({value.timed for case in cases for value in case.values()}) == 1:
        return [dict(case) for case in cases]
    return by_one_clock(cases)


def below_step_ns(values: Iterable[LaunchValue]) -> float:
    """The step of the clock that a case's single operation is shorter than; 0 where the clock can see it.

    Such a case is compared with nobody: neither in a report nor by the rule that ends a run.
    """
    counting = [value for value in values if value.counts]
    step = max((value.step_ns for value in counting), default=0.0)
    return step if step and float(np.median([value.ns for value in counting])) < step else 0.0


def log_rounds(cases: Sequence[ByRound], last: int | None = None) -> Floats:
    """Log of each case's value in each round, shape (rounds, cases), NaN where a round has none.

    `cases` has each one's values by round, of which those after `last` are left out. Where launches of a
    round took turns, what befell single blocks is taken out of all of them, so that the differences between
    columns are those of neighbours in time.
    """
    rounds = sorted({number for case in cases for number in case if last is None or number <= last})
    logs = np.full((len(rounds), len(cases)), np.nan)
    alike: dict[tuple[int, tuple[int, ...]], list[tuple[int, list[Floats]]]] = {}  # rounds of one shape
    for row, number in enumerate(rounds):
        found = {column: case[number] for column, case in enumerate(cases) if number in case}
        for column, value in found.items():
            if value.ns > 0:
                logs[row, column] = np.log(value.ns)
        for columns in _companies(found):
            blocks = [found[column].blocks for column in columns]
            alike.setdefault((blocks[0].size, tuple(columns)), []).append((row, blocks))
    for (_, shared), together in alike.items():  # all at once: a thousand rounds take a minute by themselves
        times = np.array([blocks for _, blocks in together])
        rows = np.array([row for row, _ in together])
        logs[rows[:, None], list(shared)] = without_block_effects(np.log(times).swapaxes(-1, -2))
    return logs


def _companies(found: Mapping[int, LaunchValue]) -> list[list[int]]:
    """Columns of those that took turns and did as many blocks, a list for each company."""
    groups: dict[tuple[int, int], list[int]] = {}
    for column, value in found.items():
        if value.company and value.blocks.size and (value.blocks > 0).all():
            groups.setdefault((value.company, value.blocks.size), []).append(column)
    return [columns for columns in groups.values() if len(columns) > 1]


def launch_value_ns(batches: Sequence[Batch], samples: Samples | None, clock: Mapping[str, Any]) -> float:
    """Nanoseconds a unit of work: that of the launch's samples, or the median over its timed batches.

    `samples` are those of the one timed batch, None where operations are timed in batches.
    """
    if samples is not None:
        timed = [batch for batch in batches if not batch.warmup]
        return value_of_samples([BatchSamples.of(samples, timed[0].cells)], clock)
    return median_of([batch.wall_ns / batch.units for batch in batches if not batch.warmup])


def value_of_samples(batches: Sequence[BatchSamples], clock: Mapping[str, Any]) -> float:
    """Nanoseconds, not below zero: the median of all samples of `batches`, of which there is at least one.

    Where they belong to cells, such as pairs of CPUs, it is the mean over cells of each one's median: what an
    operation costs between two CPUs taken at random. The median of all together would be that of a mixture,
    which lies between its humps or jumps from one to the other when the shares change a little. Such samples
    are means of several operations already, finer than the clock's ticks.
    """
    parts = by_cell(batches)
    if parts:
        return max(0.0, float(np.mean([median(part) for part in parts.values()])))
    everything = SampleCounts.together([part for batch in batches for part in batch.parts])
    return max(0.0, tick_median(everything.values, resolution_ns(clock), everything.counts))


def resolution_ns(clock: Mapping[str, Any]) -> float:
    """What the launch's clock can tell apart; 0 where the file does not say, or nothing sensible."""
    step = clock.get("resolution_ns", 0.0)
    return float(step) if isinstance(step, int | float) and 0 <= step <= 1e9 else 0.0


def by_cell(batches: Sequence[BatchSamples]) -> dict[str, SampleCounts]:
    """The samples of all `batches` by what they belong to, where they belong to anything."""
    parts: dict[str, list[SampleCounts]] = {}
    for batch in batches:
        for key, part in zip(batch.keys, batch.parts, strict=bool(batch.keys)):
            if part.values.size:
                parts.setdefault(key, []).append(part)
    return {key: SampleCounts.together(pieces) for key, pieces in parts.items()}


def median(part: SampleCounts) -> np.float32:
    """That of the samples, which are at least one, rounded to their own precision."""
    last = np.cumsum(part.counts)
    middle = np.searchsorted(last, [(last[-1] - 1) // 2, last[-1] // 2], side="right")
    return np.float32(np.mean(part.values[middle]))


def quantile(part: SampleCounts, p: float) -> float:
    """The smallest of the samples, which are at least one, that a share `p` of them does not exceed."""
    last = np.cumsum(part.counts)
    place = max(0, int(np.ceil(last[-1] * p - 1)))
    return float(part.values[np.searchsorted(last, place, side="right")])
