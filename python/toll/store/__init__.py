"""The run file: one run is one SQLite file. Import `RunFile` and its records from here."""

from toll.store.records import CaseRecord, Launch, RunHeader, Samples, WorkloadRecord
from toll.store.runfile import RunFile, now_utc
from toll.store.untrusted import as_text, shown

__all__ = [
    "CaseRecord",
    "Launch",
    "RunFile",
    "RunHeader",
    "Samples",
    "WorkloadRecord",
    "as_text",
    "now_utc",
    "shown",
]
