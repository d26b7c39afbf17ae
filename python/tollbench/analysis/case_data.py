"""From launches to one value a launch: what is replicated is the launch, so it counts once."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median as median_of  # of a few numbers, where NumPy's takes longer

import numpy as np

from tollbench.analysis.grid import CellValues
from tollbench.analysis.grouping import by_setting, swept_parameters
from tollbench.analysis.own_core import on_own_core
from tollbench.analysis.units import DAMAGED, checked_json, checked_ns
from tollbench.analysis.values import (
    PLAINLY,
    ByRound,
    LaunchValue,
    Timed,
    below_step_ns,
    launch_value,
    median,
    nobody_waits,
    resolution_ns,
)
from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.stats import GoneOn, LaunchCounts, Pooled, count_samples
from tollbench.stats.order_statistics import Floats
from tollbench.store import BatchSamples, CaseRecord, Launch, RunFile, RunHeader, SampleCounts
from tollbench.text import as_text
from tollbench.words import Allocations, Batch, Kind, Purpose, Status

FEWEST_OF_PARTLY_FAILED = 6
MOST_FAILED_SHARE = 0.2
SETTLED = {Status.SKIPPED, Status.BUILD_FAILED, Status.UNSUPPORTED, Status.WRONG_ANSWER}
LOWEST_SAMPLE_NS = -1000.0  # the clock's overhead may be overestimated by some nanoseconds, not by more


@dataclass(frozen=True, slots=True)
class CaseData:
    """A case and what its launches say; `values` belong to `launches`, one each."""

    record: CaseRecord
    status: Status
    reason: str
    launches: tuple[Launch, ...]  # measured and OK, in the order of rounds
    values: tuple[LaunchValue, ...]
    tried_rounds: frozenset[int]  # in which it was launched, failures included
    failures: tuple[Launch, ...]
    counts: tuple[LaunchCounts, ...] = ()  # kind "samples" only
    cold_ns: float | None = None
    allocations: Allocations | None = None
    allocations_reason: str = ""
    passes: tuple[Allocations, ...] = ()  # of all counting launches that succeeded
    others: tuple[Launch, ...] = field(default=())  # pilot, rehearsal, counting pass; good ones of no number
    cells: CellValues = field(default_factory=CellValues)  # of samples that belong to pairs of CPUs

    @property
    def by_round(self) -> ByRound:
        """The last value of each round: a stranger's file may have two launches of one."""
        return {launch.round: value for launch, value in zip(self.launches, self.values, strict=True)}

    @property
    def values_ns(self) -> Floats:
        """Nanoseconds a unit of work, of each launch that counts."""
        return np.array([value.ns for value in self.values if value.counts], dtype=np.float64)

    @property
    def layouts(self) -> tuple[int, ...]:
        """Of its program's code, of each launch that counts; 0: as it was linked."""
        return tuple(value.code_layout for value in self.values if value.counts)

    @property
    def wall_ns(self) -> Floats:
        """The same by the wall clock, whichever counts."""
        found = [
            value.timed_by(on_cpu=False, own_core=value.own_core).ns for value in self.values if value.counts
        ]
        return np.array(found, dtype=np.float64)

    @property
    def on_cpu(self) -> bool:
        """Whether these are times on the processor, not of the wall clock."""
        return any(value.on_cpu for value in self.values)

    @property
    def timed(self) -> Timed:
        """How its values were taken."""
        return self.values[0].timed if self.values else PLAINLY

    @property
    def tick_ns(self) -> float:
        """The step of the clock that its operations were read with; 0 where those are finer, as means are."""
        return 0.0 if self.cells.launches or not self.launches else resolution_ns(self.launches[-1].clock)

    @property
    def pooled(self) -> Pooled:
        """The samples of all its launches; there is one at least."""
        return Pooled(self.counts, self.tick_ns, [value.code_layout for value in self.values])

    def timed_less_strictly(self) -> list[CaseData]:
        """Itself, and with the wall clock, all batches, or both, where it leaves any of that."""
        on_cpu, own_core = self.timed
        return [
            replace(
                self,
                values=tuple(
                    value.timed_by(on_cpu=cpu, own_core=value.own_core if own else None)
                    for value in self.values
                ),
            )
            for cpu in {on_cpu, False}
            for own in {own_core, False}
        ]

    @property
    def left_out(self) -> float | None:
        """Share of its timed batches that do not count, as others worked beside it; None: all count."""
        flags = [value.own_core for value in self.values if value.own_core is not None]
        return 1.0 - float(np.concatenate(flags).mean()) if flags else None

    @property
    def counting(self) -> tuple[Launch, ...]:
        """Its launches, each with the batches that count, and warm-up."""
        found = []
        for launch, value in zip(self.launches, self.values, strict=True):
            if value.own_core is None:
                found.append(launch)
            elif value.counts:
                flags = iter(value.own_core.tolist())
                batches = tuple(batch for batch in launch.batches if batch.warmup or next(flags))
                found.append(launch._replace(batches=batches))
        return tuple(found)

    @property
    def below_step_ns(self) -> float:
        """The step of the clock that a single operation is shorter than; 0 where the clock can see it."""
        return below_step_ns(self.values)

    @property
    def measured(self) -> bool:
        """Whether the case has numbers."""
        return self.status is Status.OK

    @property
    def everything(self) -> tuple[Launch, ...]:
        """Every launch of the case, of whatever purpose and status."""
        return (*self.others, *self.launches, *self.failures)


def read_case(
    run_file: RunFile, record: CaseRecord, header: RunHeader, on_launch: Callable[[], None] = lambda: None
) -> CaseData:
    """Reads all launches of one case, the samples one launch at a time (bounded memory).

    `on_launch` is called after each launch that was measured and read.
    """
    by_purpose = run_file.launches_by_purpose(record.id)
    tried, counting = by_purpose[Purpose.MEASURE], by_purpose[Purpose.ALLOCATIONS]
    others = (*by_purpose[Purpose.PILOT], *by_purpose[Purpose.REHEARSAL], *counting)
    ok = tuple(launch for launch in tried if launch.status is Status.OK and _timed(launch))
    failed = [launch for launch in tried if launch.status is not Status.OK]
    status, reason = judge(record, len(ok), failed, others, header, run_file.path)
    values: list[LaunchValue] = []
    counts: list[LaunchCounts] = []
    cold: list[float] = []
    cells = CellValues()
    for launch in ok if status is Status.OK else ():
        place = f"launch {launch.id} of {record.contender}"
        if record.kind is Kind.SAMPLES:
            warm_up, timed = _samples(run_file, launch, place)
            together = SampleCounts.together([part for batch in timed for part in batch.parts])
            counts.append(count_samples(together.values, together.counts))
            cells.take(timed)
            values.append(launch_value(launch, timed))
            cold += [max(0.0, float(median(warm_up)))] if warm_up.values.size else []
        else:
            _check_batches(launch, place)
            values.append(launch_value(launch, None))
            cold += [_per_unit(batch, place) for batch in launch.batches[:1] if batch.warmup]
        on_launch()
    counted = [launch for launch in counting if launch.allocations is not None and launch.status is Status.OK]
    return CaseData(
        record=record,
        status=status,
        reason=reason,
        launches=ok if status is Status.OK else (),
        values=tuple(values),
        tried_rounds=frozenset(launch.round for launch in tried),
        failures=tuple(failed),
        counts=tuple(counts),
        cold_ns=float(np.median(cold)) if cold else None,
        allocations=counted[-1].allocations if counted else None,
        passes=tuple(launch.allocations for launch in counted if launch.allocations is not None),
        allocations_reason="" if counted else _why_not_counted(counting),
        others=others if status is Status.OK else (*others, *ok),
        cells=cells,
    )


def read_alike(
    run_file: RunFile,
    records: Sequence[CaseRecord],
    header: RunHeader,
    on_launch: Callable[[], None] = lambda: None,
) -> list[CaseData]:
    """The cases of a workload, all by one clock and the same kind of batches."""
    gone_on = GoneOn(run_file.looks(), header.finished_utc is not None)
    data = [read_case(run_file, record, header, on_launch) for record in records]
    return timed_alike(data, header.level, gone_on)


def timed_alike(data: Sequence[CaseData], level: float, gone_on: GoneOn) -> list[CaseData]:
    """The cases of a workload, all by one clock and the same kind of batches (`tollbench.analysis.values`,
    `tollbench.analysis.own_core`).

    Settings too, of programs with one thread: a curve over sizes would else tell what a neighbour took for
    what a size costs.
    `level` is the run's.
    """
    on_cpu = nobody_waits([case.by_round for case in data if case.measured])
    found = [
        replace(
            case,
            values=tuple(value.timed_by(on_cpu=on_cpu, own_core=value.own_core) for value in case.values),
        )
        for case in data
    ]
    measured = [at for at, case in enumerate(data) if case.measured]
    if any(len(data[at].by_round) < len(data[at].launches) for at in measured):
        return found  # a stranger's file with two launches of one round
    records = [data[at].record for at in measured]
    tables = by_setting(records, swept_parameters([case.record for case in data]))
    chosen = on_own_core(
        [found[at].by_round for at in measured],
        [record.environment for record in records],
        tables,
        level,
        gone_on,
    )
    for at, values in zip(measured, chosen, strict=True):
        in_order = tuple(values[launch.round] for launch in found[at].launches)
        found[at] = replace(found[at], values=in_order)
    return found


def judge(
    record: CaseRecord,
    ok: int,
    failed: Sequence[Launch],
    others: Iterable[Launch],
    header: RunHeader,
    path: Path,
) -> tuple[Status, str]:
    """What the case's row says. One wrong answer voids a case: no time is shown for a wrong answer."""
    for launch in (*failed, *others):
        if launch.status is Status.WRONG_ANSWER:
            return Status.WRONG_ANSWER, launch.reason
    if record.status in SETTLED:
        return record.status, record.reason
    if failed:
        return _partly_failed(ok, failed)
    if record.status not in (Status.OK, Status.PLANNED):
        return record.status, record.reason
    if ok:
        return Status.OK, record.reason
    if header.finished_utc is None:
        goes_on = f"{COMMAND} run --resume {shlex.quote(as_text(str(path)))} goes on"
        return Status.PLANNED, f"interrupted before it was measured; {goes_on}"
    return Status.PLANNED, record.reason or "the run ended before it was measured; give it a larger budget"


def beat(launch: Launch) -> LaunchValue | None:
    """What one launch of the canary took for a unit of its work; None for a failed launch."""
    if launch.status is not Status.OK or not _timed(launch):
        return None
    _check_batches(launch, f"launch {launch.id}")
    return launch_value(launch, None)


def _partly_failed(ok: int, failed: Sequence[Launch]) -> tuple[Status, str]:
    total = ok + len(failed)
    status = Counter(launch.status for launch in failed).most_common(1)[0][0]
    reason = next(launch.reason for launch in reversed(failed) if launch.status is status)
    if ok >= FEWEST_OF_PARTLY_FAILED and len(failed) <= MOST_FAILED_SHARE * total:
        return Status.OK, f"{len(failed)} of {total} launches failed ({status}): {reason}"
    if ok:
        return Status.FAILED, f"{len(failed)} of {total} launches failed ({status}): {reason}"
    return status, reason


def _timed(launch: Launch) -> list[Batch]:
    return [batch for batch in launch.batches if not batch.warmup]


def _per_unit(batch: Batch, place: str) -> float:
    return checked_ns(batch.wall_ns, f"a batch in {place}") / batch.units


def _check_batches(launch: Launch, place: str) -> None:
    """A stranger may have written their times."""
    for batch in _timed(launch):
        checked_ns(batch.wall_ns, f"a batch in {place}")
        checked_ns(batch.cpu_ns, f"the CPU time of a batch in {place}")


def _samples(run_file: RunFile, launch: Launch, place: str) -> tuple[SampleCounts, tuple[BatchSamples, ...]]:
    """Samples of the warm-up batches together, and of each of the others that has some."""
    warm_up, timed = run_file.counted_samples(launch.id)
    timed = tuple(batch for batch in timed if batch.total)
    if not timed:
        raise _nothing_timed(place)
    for batch in (*warm_up, *timed):
        for part in batch.parts:
            _check_samples(part, place)
    return SampleCounts.together([part for batch in warm_up for part in batch.parts]), timed


def _check_samples(samples: SampleCounts, place: str) -> None:
    if samples.values.size:
        lowest = float(samples.values[0])
        if not lowest >= LOWEST_SAMPLE_NS:
            checked_ns(lowest, f"a sample in {place}")
        checked_ns(max(0.0, float(samples.values[-1])), f"a sample in {place}")


def _nothing_timed(place: str) -> TollError:
    return TollError(
        f"The run file says that {place} succeeded, but holds no samples of it.",
        DAMAGED,
    )


def _why_not_counted(counting: Sequence[Launch]) -> str:
    if not counting:
        return "not counted in this run"
    return counting[-1].reason or "the counting pass gave no answer"


def counters_per_unit(case: CaseData) -> dict[str, float | str]:
    """Hardware counts per unit of work, from the pilot's last request (its largest and warmest).

    Only the pilot counts events. Where there are none: the program's reason.
    """
    pilots = [launch for launch in case.others if launch.purpose is Purpose.PILOT and launch.batches]
    if not pilots:
        return {}
    last = pilots[-1].batches[-1]
    counters = checked_json(dict(last.counters), "the hardware counters")
    counts: dict[str, float | str] = {
        name: float(value) / last.units for name, value in counters.items() if _is_count(value)
    }
    return counts or {name: str(value) for name, value in counters.items() if name == "reason"}


def _is_count(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def timed_totals(launches: Sequence[Launch], what: Callable[[Batch], float]) -> float | None:
    """Sum of `what` over all timed batches divided by their units of work; None without batches."""
    batches = [batch for launch in launches for batch in _timed(launch)]
    return sum(what(batch) for batch in batches) / sum(batch.units for batch in batches) if batches else None


def told_by(launch: Launch) -> dict[str, float]:
    """The details that a launch told: of each the median over its timed batches."""
    told: dict[str, list[float]] = {}
    for batch in _timed(launch):
        for name, value in batch.details.items():
            told.setdefault(name, []).append(value)
    return {name: median_of(values) for name, values in sorted(told.items())}


def median_cpu_ns(launches: Sequence[Launch], place: str) -> float | None:
    """CPU time of all threads, or of one beside a load, per unit: over launches the median of each one's."""
    values = [
        median_of([checked_ns(batch.cpu_ns, place) / batch.units for batch in _timed(launch)])
        for launch in launches
    ]
    return float(np.median(values)) if values else None
