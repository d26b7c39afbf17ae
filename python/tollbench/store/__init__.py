"""The run file: one run is one SQLite file. Import `RunFile` and its records from here."""

from tollbench.store.records import (
    BatchSamples,
    CaseRecord,
    Launch,
    RunHeader,
    SampleCounts,
    Samples,
    WorkloadRecord,
)
from tollbench.store.runfile import RunFile, now_utc

__all__ = [
    "BatchSamples",
    "CaseRecord",
    "Launch",
    "RunFile",
    "RunHeader",
    "SampleCounts",
    "Samples",
    "WorkloadRecord",
    "now_utc",
]
