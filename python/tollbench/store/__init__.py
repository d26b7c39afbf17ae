"""The run file: one run is one SQLite file. Import `RunFile` and its records from here."""

from tollbench.store.records import CaseRecord, Launch, RunHeader, Samples, WorkloadRecord
from tollbench.store.runfile import RunFile, now_utc

__all__ = [
    "CaseRecord",
    "Launch",
    "RunFile",
    "RunHeader",
    "Samples",
    "WorkloadRecord",
    "now_utc",
]
