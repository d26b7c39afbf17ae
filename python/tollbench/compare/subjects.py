"""The adapter for what the sides are."""

from __future__ import annotations

from collections.abc import Sequence

from tollbench.compare.catch2 import Catch2
from tollbench.compare.commands import Commands
from tollbench.compare.google_benchmark import GoogleBenchmark
from tollbench.compare.programs import ProgramFiles
from tollbench.compare.sides import Kind
from tollbench.compare.words import Side, Subject
from tollbench.measure.interrupt import Interrupt


def subject_of(
    kind: Kind,
    sides: Sequence[Side],
    *,
    limit_s: float,
    interrupt: Interrupt | None = None,
    pattern: str = "",
    any_exit_code: bool = False,
) -> Subject:
    """What the engine measures. `limit_s` is the longest that one launch may take."""
    if kind is Kind.GOOGLE_BENCHMARK:
        return GoogleBenchmark(sides, limit_s=limit_s, interrupt=interrupt, pattern=pattern)
    if kind is Kind.CATCH2:
        return Catch2(sides, limit_s=limit_s, interrupt=interrupt, pattern=pattern)
    if kind is Kind.TOLL:
        return ProgramFiles(sides, limit_s=limit_s, interrupt=interrupt, pattern=pattern)
    return Commands(sides, limit_s=limit_s, interrupt=interrupt, any_exit_code=any_exit_code)
