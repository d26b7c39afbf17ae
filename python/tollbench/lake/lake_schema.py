"""The tables of a lake, and their versions.

A version only adds columns. What is renamed is a new column with a line in `RENAMED`, by which files of
older versions are read under the new name. The version stands in each file's name and in each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

VERSION: Final = 2
# Of each version the columns that it brought: table -> names. Those of version 1 are all that are not here.
ADDED: Final[Mapping[int, Mapping[str, tuple[str, ...]]]] = {2: {"summary": ("layouts",)}}
# The version that brought the new name -> table -> new name: the older one.
RENAMED: Final[Mapping[int, Mapping[str, Mapping[str, str]]]] = {}

_UTC = pa.timestamp("ms")  # in UTC, as the names of these columns say


def _texts(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.string()) for name in names]


def _wholes(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.int64()) for name in names]


def _numbers(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.float64()) for name in names]


def _switches(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.bool_()) for name in names]


# In every row of every table.
EVERYWHERE: Final = [
    *_texts("run", "machine", "commit", "toll_version"),
    pa.field("schema_version", pa.int32()),
    pa.field("started_utc", _UTC),  # when the run began
]
_CASE = _texts("workload", "contender", "environment", "parameters")  # parameters: canonical JSON
_LAUNCH = _wholes("launch", "round")
# By which tables name a machine; table `machine` has all that it states.
LABEL: Final = [*_texts("host", "cpu", "product"), *_wholes("cpus", "memory_bytes"), *_texts("kernel")]
QUANTILES: Final = ("p50", "p90", "p99", "p999")

TABLES: Final[Mapping[str, pa.Schema]] = {
    # What a report says of each case, and the values that its ratios are made of.
    "summary": pa.schema(
        [
            *EVERYWHERE,
            *LABEL,
            *_CASE,
            # work: parameters but for what the machine decides by default; setting: those that the run swept
            *_texts(
                "work", "setting", "kind", "unit", "per", "language", "library", "library_version", "role"
            ),
            *_texts("status", "reason"),
            *_numbers("value", "low", "high", "below_step", "ratio", "ratio_low", "ratio_high"),
            *_switches("fastest"),
            *_texts("within_run"),
            *_numbers("level", "cpu_time", "spread"),
            *_wholes("launches", "failed_launches", "peak_bytes"),
            *_numbers(*(f"{key}{end}" for key in QUANTILES for end in ("", "_low", "_high"))),
            pa.field("rounds", pa.list_(pa.int32())),
            # log(ns) of each of these rounds; of rows of one setting their differences are what ratios are of
            pa.field("log_ns", pa.list_(pa.float64())),
            # which layout of its code the programs of each had; 0: as they were linked, or not known
            pa.field("layouts", pa.list_(pa.int32())),
        ]
    ),
    "run": pa.schema(
        [
            *EVERYWHERE,
            *LABEL,
            *_texts("name", "profile"),
            *_wholes("seed"),
            *_numbers("level", "precision", "budget_s"),
            pa.field("finished_utc", _UTC),
            *_texts("stopped_by"),
            *_numbers("seconds", "seconds_in_programs"),
            *_wholes("cases", "launches", "looks"),
            pa.field("workloads", pa.list_(pa.string())),
            *_numbers("floor_ratio"),
            *_texts("floor", "conditions", "warnings"),  # JSON
        ]
    ),
    "machine": pa.schema(
        [
            *EVERYWHERE,
            *_texts("host", "cpu", "architecture", "product"),
            *_wholes("cpus", "usable_cpus", "packages", "cores", "threads_per_core", "numa_nodes"),
            *_wholes("memory_bytes", "page_bytes"),
            *_texts("caches", "frequency_mhz"),  # JSON
            *_texts("microcode", "firmware", "kernel"),
            *_texts("mitigations"),  # JSON
            *_texts("virtualization", "os", "libc"),
            *_texts("stated"),  # JSON: all of which the identity is made
            *_texts("described"),  # JSON: all that the run said of the machine
        ]
    ),
    "environment": pa.schema(
        [
            *EVERYWHERE,
            *_texts("environment", "compiler", "compiler_version", "standard_library", "flags", "allocator"),
        ]
    ),
    "case": pa.schema(
        [
            *EVERYWHERE,
            *_CASE,
            *_texts("question", "kind", "unit", "per", "language", "library", "library_version", "footing"),
            *_wholes("iterations"),
            *_texts("status", "reason"),
        ]
    ),
    "launch": pa.schema(
        [
            *EVERYWHERE,
            *_CASE,
            *_LAUNCH,
            *_texts("purpose"),
            *_wholes("position", "seed"),
            *_texts("status", "reason"),
            pa.field("launched_utc", _UTC),
            *_wholes("started_ns", "wall_ns", "setup_ns", "overhead_ns", "steal_ns", "pressure_ns"),
            *_texts("clock", "footing"),
        ]
    ),
    "batch": pa.schema(
        [
            *EVERYWHERE,
            *_CASE,
            *_LAUNCH,
            *_wholes("ordinal"),
            *_switches("warmup"),
            *_wholes("iterations", "units"),
            *_numbers("wall_ns", "cpu_ns"),
            *_wholes("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"),
            *_wholes("peak_bytes"),
            *_texts("counters", "details"),
        ]
    ),
    # Verdicts: of a run's rows beside the fastest of their setting, and of `toll compare`.
    "comparison": pa.schema(
        [
            *EVERYWHERE,
            *_texts("source"),  # "run" or "compare"
            *_texts("workload", "setting", "environment", "a", "b"),
            *_numbers("ratio", "low", "high", "level", "threshold"),  # b over a
            *_wholes("rounds"),
            *_texts("verdict", "reason"),
        ]
    ),
    # Operations timed one by one: each value of a launch once, with how often it occurred. Only when asked.
    "sample": pa.schema([*EVERYWHERE, *_CASE, *_LAUNCH, *_numbers("nanoseconds"), *_wholes("count")]),
}
# Columns whose text is JSON.
JSON: Final = frozenset(
    {
        "parameters", "work", "setting", "floor", "conditions", "warnings", "caches", "frequency_mhz",
        "mitigations", "stated", "described", "footing", "clock", "counters", "details",
    }
)  # fmt: skip
BRIEF: Final = ("summary", "run", "machine")  # all that questions with names read
MARKER: Final = "summary"  # written last: a run is in the lake once this table of it is
KEY: Final = b"toll_lake"  # of the Parquet metadata: table and version


def schema_of(table: str) -> pa.Schema:
    """With which a file of the table is written."""
    return TABLES[table].with_metadata({KEY: f"{table}/{VERSION}".encode()})


def columns_in(table: str, version: int) -> dict[str, str | None]:
    """Of each column of today the name that it has in files of that version; None: they have none."""
    found: dict[str, str | None] = {name: name for name in TABLES[table].names}
    for newer in range(VERSION, version, -1):
        found |= dict.fromkeys(ADDED.get(newer, {}).get(table, ()))
        found |= RENAMED.get(newer, {}).get(table, {})
    return found
