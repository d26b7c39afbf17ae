"""The numbers of a row: each stands here once, with what it means and where it shows.

The page and the terminal show them in this order. A number that `Row` has becomes a column by one entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tollbench import numbers
from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report import details
from tollbench.report.footings import differing, of_row
from tollbench.report.sentences import alike_launches, harness_note
from tollbench.report.showing import IN_FULL, Column, Shown, Triple, Write, alone, below, triple_of
from tollbench.text import clean


def columns(workload: WorkloadResult, level: float) -> list[Column[Row]]:
    """All of them, whether some row has the number or none."""
    rows, per, note = workload.rows, clean(workload.per), harness_note(workload)
    time = numbers.time_scale((row.value for row in rows), workload.unit)
    return [
        *_compared(time, per, numbers.probability(level)),
        _footing(workload),
        *_times(time, per, note),
        *details.columns(workload),
        *_switches(rows, per, note),
        *_memory(rows, per),
        *_launches(),
    ]


def _footing(workload: WorkloadResult) -> Column[Row]:
    """A text: sorted by how much differs."""
    found = differing(workload)

    def count(row: Row) -> Triple:
        told = of_row(row, found)
        return (told.count(";") + 1.0 if told else None), None, None

    return Column(
        "footing", "Footing", "", "what this row stands on otherwise than most rows of its table: threads, "
        "pinning, stacks, flags of its build, how it waits", count,
        instead=lambda row: of_row(row, found), words=True, aligned=False,
        terminal=Shown("footing\ndiffers", 6), markdown=Shown("footing differs", 7),
    )  # fmt: skip


def _compared(time: numbers.Scale, per: str, level: str) -> list[Column[Row]]:
    return [
        Column(
            "value", "Time", f"{time.unit} per {per}",
            f"median over launches, with its {level} interval; by the wall clock, or by CPU time where the"
            " row's footing says so",
            lambda row: (row.value, row.low, row.high), time, numbers.quantity, numbers.interval,
            head=time.unit, always=True, instead=lambda row: below(row.below_step, time),
            aside=alike_launches, csv=("value", "low", "high"),
            terminal=Shown("median", interval=Shown(f"{level} interval", 1)),
            markdown=Shown(f"{time.unit} per {per}", interval=Shown(f"{level} interval")),
        ),
        Column(
            "ratio", "Ratio", "to fastest", f"to the fastest row, paired by round; {level} interval",
            lambda row: (row.ratio, row.ratio_low, row.ratio_high),
            write=numbers.ratio, write_interval=numbers.ratio_interval,
            head="to fastest", always=True, csv=("ratio", "ratio_low", "ratio_high"),
            terminal=Shown("ratio", interval=Shown("of ratio", 3)),
            markdown=Shown("ratio", interval=Shown("interval of ratio")),
        ),
        Column(
            "environment_ratio", "Ratio within the environment", "to fastest",
            "to the fastest row of the same environment, paired by round",
            lambda row: triple_of(row.environment_ratio), write=numbers.ratio, page=False,
            csv=("environment_ratio", "environment_ratio_low", "environment_ratio_high"),
        ),
        Column(
            "efficiency", "Efficiency", "%", "the floor's time over this row's, paired by round: which "
            "part of it the bare work would take; several threads may do better than 100 %",
            lambda row: triple_of(row.efficiency), numbers.Scale("%", 100.0),
            numbers.quantity, numbers.interval,
            head="% floor", csv=("efficiency", "efficiency_low", "efficiency_high"),
            terminal=Shown("efficiency\n% floor", 3), markdown=Shown("efficiency, % floor", 2),
        ),
    ]  # fmt: skip


def _times(time: numbers.Scale, per: str, note: str) -> list[Column[Row]]:
    full = replace(time, unit=f"{time.unit} per {per}")
    memory: Column[Row] = Column(
        "unit_memory", "memory", "", "the highest resident set, shared out",
        lambda row: (row.memory_per_unit_bytes, None, None), details.KIB, details.size, aligned=False,
        csv=("memory_per_unit_bytes",), terminal=Shown("memory/unit", 4),
        markdown=Shown("memory per unit created", 1),
        chart=Shown("Memory per unit", 3, caption="The highest resident set of the process in any launch, "
        "shared out among the units alive at the peak, or all created where nobody counted the living"),
    )  # fmt: skip
    return [
        Column(
            "cpu", "CPU time", full.unit, "of all threads; beside a load of the timed one",
            lambda row: (row.cpu_time, None, None), full,
            head=time.unit, note=note, csv=("cpu_time",),
            terminal=Shown("\n".join(("CPU", *note.split())), 2),
            markdown=Shown(", ".join(filter(None, (f"CPU {time.unit}", note)))),
            chart=Shown("CPU time of all threads", 4),
        ),
        Column(
            "busy", "CPUs busy", "CPUs", "how many CPUs worked while the wall clock ran",
            lambda row: (row.cpus_busy, None, None), numbers.Scale("CPUs"), head="CPUs", page=False,
            csv=("cpus_busy",), chart=Shown("CPUs busy", 5),
        ),
        Column(
            "cold", "First batch", full.unit, "the first batch of a launch, before anything is warm",
            lambda row: (row.cold, None, None), full, head=time.unit, csv=("cold",),
        ),
        Column(
            "created", "Per unit created", f"{time.unit} per unit created", "per thread, fiber or task that "
            "was made; in small, the highest resident set shared out among those alive at the peak, or among "
            "all created where nobody counted the living",
            created, time, numbers.quantity, head=time.unit, below=memory, csv=("created_value",),
            terminal=Shown("created", 3), markdown=Shown(f"{time.unit} per unit created", 1),
            chart=Shown("Time per unit created", 2),
        ),
    ]  # fmt: skip


def created(row: Row) -> Triple:
    """Time per unit created; its interval is the value's own in other units."""
    if row.created_value is None or not row.value:
        return row.created_value, None, None
    shares = numbers.Scale("", row.created_value / row.value)
    return row.created_value, shares.of(row.low), shares.of(row.high)


def _switches(rows: Sequence[Row], per: str, note: str) -> list[Column[Row]]:
    """Context switches of both kinds share a scale, so that they can be compared; faults have their own."""
    both = [count for row in rows for count in (row.voluntary_switches, row.involuntary_switches)]
    scale, faults = numbers.count_scale(both, per), numbers.count_scale((row.faults for row in rows), per)
    waits = "waits" + numbers.rate(scale).replace("per\u00a0", "/")
    preempted: Column[Row] = Column(
        "involuntary", "preempted", scale.unit, "involuntary context switches",
        lambda row: (row.involuntary_switches, None, None), scale, head=numbers.rate(scale),
        csv=("involuntary_switches",),
    )  # fmt: skip
    return [
        Column(
            "voluntary", "Waits", scale.unit, "voluntary context switches: the thread blocked; in small, "
            "involuntary ones: the kernel took the CPU",
            lambda row: (row.voluntary_switches, None, None), scale, head=numbers.rate(scale), note=note,
            below=preempted, csv=("voluntary_switches",),
            terminal=Shown("\n".join((waits, *note.split())), 5),
        ),
        Column(
            "faults", "Page faults", faults.unit, "minor and major",
            lambda row: (row.faults, None, None), faults, head=numbers.rate(faults), note=note,
            csv=("faults",),
        ),
    ]  # fmt: skip


def _memory(rows: Sequence[Row], per: str) -> list[Column[Row]]:
    scale = numbers.count_scale((row.memory.calls for row in rows), per)
    highest = numbers.size_scale(row.memory.peak_bytes for row in rows)
    at_once = numbers.size_scale(row.memory.heap_peak_bytes for row in rows)
    asked: Column[Row] = Column(
        "bytes", "bytes", scale.unit, "asked of malloc and its family",
        lambda row: (row.memory.bytes, None, None), scale, alone(numbers.size), aligned=False,
        csv=("memory_bytes",),
    )  # fmt: skip
    resident: Column[Row] = Column(
        "rss", "resident", "", "highest resident set of any launch",
        lambda row: (row.memory.peak_bytes, None, None), highest, _sizes(highest), aligned=False,
        csv=("memory_peak_bytes",), chart=Shown("Peak memory", 6, caption="The highest resident set of the "
        "process in any launch: what it held before its first batch is in it, other processes are not"),
    )  # fmt: skip
    return [
        Column(
            "calls", "Allocations", scale.unit, "calls of malloc and its family, in the first iteration of a "
            "launch of their own, with what is filled once; in small, the bytes that they asked for",
            lambda row: (row.memory.calls, None, None), scale, head=numbers.rate(scale), below=asked,
            csv=("memory_calls",),
            terminal=Shown("allocations", 4, text=lambda row: numbers.plain(row.memory.calls)),
        ),
        Column(
            "exact_calls", "Calls", "per iteration", "allocation calls of one iteration: the same whole "
            "number in several launches with different layouts; a range where they differed",
            _exact_calls, write=_exactly, head="per iteration", aligned=False, csv=("memory_exact_calls",),
            terminal=Shown("calls/\niteration", 5), markdown=Shown("calls per iteration", 2),
        ),
        Column(
            "heap", "Heap peak", "", "most bytes allocated at once in one iteration; in small, the highest "
            "resident set of any launch",
            lambda row: (row.memory.heap_peak_bytes, None, None), at_once, _sizes(at_once), aligned=False,
            below=resident, csv=("memory_heap_peak_bytes",),
            chart=Shown("Heap peak", 7, caption="The most bytes allocated at once in one iteration, beyond "
            "what lived when it began; counted in a launch of its own"),
        ),
    ]  # fmt: skip


def _sizes(scale: numbers.Scale) -> Write:
    """Each in the unit that fits it, whatever the one of their chart."""
    return alone(lambda value: numbers.size(None if value is None else value / scale.factor))


def _exact_calls(row: Row) -> Triple:
    """The number where all launches agree, else the fewest and the most that one of them saw."""
    counted = row.memory.calls_in_passes
    return row.memory.exact_calls, min(counted, default=None), max(counted, default=None)


def _exactly(value: float | None, fewest: float | None, most: float | None) -> str:
    if value is not None:
        return numbers.fixed(value, 0)
    if fewest == most:
        return numbers.MISSING
    return f"{numbers.plain(fewest, 4)} to {numbers.plain(most, 4)}"


def _launches() -> list[Column[Row]]:
    return [
        Column(
            "launches", "Launches", "", "fresh processes that measured this row",
            lambda row: (row.launches, None, None), write=IN_FULL, always=True,
            csv=("launches",), markdown=Shown("launches", text=_and_failed),
        ),
        Column(
            "failed_launches", "Failed launches", "", "launches without an answer",
            lambda row: (row.failed_launches, None, None), page=False, csv=("failed_launches",),
        ),
        Column(
            "counts_as", "Counts as", "launches", "how many independent launches they count for",
            lambda row: (row.counts_as, None, None), page=False, csv=("counts_as",),
        ),
        Column(
            "spread", "Spread", "", "standard deviation of the logarithm of the launches' values",
            lambda row: (row.spread, None, None), page=False, csv=("spread",),
        ),
        Column(
            "layout_spread", "Layout", "", "standard deviation of that logarithm between layouts of the code",
            lambda row: (row.layout_spread, None, None), page=False, csv=("layout_spread",),
        ),
    ]  # fmt: skip


def _and_failed(row: Row) -> str:
    return f"{row.launches}" + (f" ({row.failed_launches} failed)" if row.failed_launches else "")
