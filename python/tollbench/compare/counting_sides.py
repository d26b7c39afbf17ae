"""Who counts which kind of side."""

from __future__ import annotations

from pathlib import Path

from tollbench.compare.adapters.catch2 import Catch2
from tollbench.compare.adapters.command_line import Commands
from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.adapters.nanobench import Nanobench
from tollbench.compare.adapters.toll_program import Programs
from tollbench.compare.counters import Counter, Ladder, WholeProcess
from tollbench.compare.doubling_counter import Doublings
from tollbench.compare.program_counter import ProgramPasses
from tollbench.compare.subject import Subject
from tollbench.compare.tenfold_counter import Tenfolds
from tollbench.counting.hardware import instruction_counter
from tollbench.counting.preloaded import SOURCES, compiled
from tollbench.words import CountBy


def counter_for(subject: Subject, cache: Path, by: CountBy = CountBy.VALGRIND) -> Counter | None:
    """None for a kind of side that is not counted; `by` is who counts instructions.

    What is preloaded is kept below `cache`. Raises LaunchFailed where that fails.
    """
    if not isinstance(subject, GoogleBenchmark | Catch2 | Nanobench | Commands | Programs):
        return None
    preloaded = compiled(SOURCES, cache)
    who = instruction_counter(by, preloaded)
    if isinstance(subject, GoogleBenchmark):
        return Ladder(subject, preloaded, who)
    if isinstance(subject, Catch2):
        return Doublings(subject, preloaded, who)
    if isinstance(subject, Nanobench):
        return Tenfolds(subject, preloaded, who)
    if isinstance(subject, Commands):
        return WholeProcess(subject, preloaded, who)
    return ProgramPasses(subject, preloaded, who)
