"""toll compare on the operations: as toll programs, as command lines, in frameworks that it reads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from peers.programs import (
    IN_GO,
    IN_RUST,
    OPERATIONS,
    CommandLines,
    Judgement,
    Missing,
    compiled,
    criterion_benchmarks,
    go_benchmarks,
    per_mille,
)
from tollbench.cli import trusting
from tollbench.compare import (
    ComparisonSettings,
    MeasuringOptions,
    Side,
    Subject,
    Verdict,
    compare,
    subject_of,
)
from tollbench.launching.environment import own_environment

LIMIT_S = 30.0  # of a launch


@dataclass
class Toll:
    """toll compare's engine on whatever `subject` makes of an operation and a slow-down."""

    name: str
    subject: Callable[[str, float], Subject]
    settings: ComparisonSettings
    operations: tuple[str, ...] = OPERATIONS
    seeds: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def judge(self, operation: str, slowdown: float) -> Judgement:
        settings = replace(self.settings, total_s=self.settings.budget_s, seed=next(self.seeds))
        found = compare(self.subject(operation, slowdown), settings).comparisons[0]
        if found.verdict is Verdict.FAILED:
            raise Missing(found.reason)
        direction = {Verdict.SLOWER: 1, Verdict.FASTER: -1}.get(found.verdict, 0)
        faster_beyond = direction == -1 and (found.high or 1.0) < 1 / (1 + settings.threshold)
        more = {"told": found.verdict, "ratio": found.ratio, "low": found.low, "high": found.high}
        return Judgement(direction, {**more, "beyond": found.regression or faster_beyond})


@dataclass(frozen=True)
class Framework:
    """A framework whose executables toll compares as they are, unchanged."""

    kind: str  # as --kind has it
    build: Callable[[], Path]
    operations: tuple[str, ...] = OPERATIONS
    words: tuple[str, ...] = ()  # of the executable, with {operation}
    pattern: str = "^{operation}$"
    read: str = ""

    def subject(self, program: Path, operation: str, slowdown: float) -> Subject:
        """One executable on both sides; PEERS_SLOWDOWN differs."""
        words = [word.format(operation=operation) for word in self.words]
        sides = [
            Side(
                label,
                (str(program), *words),
                environment=own_environment() | {"PEERS_SLOWDOWN": str(per_mille(share))},
            )
            for label, share in (("first", 0.0), ("second", slowdown))
        ]
        pattern = self.pattern.format(operation=operation)
        return subject_of(self.kind, sides, MeasuringOptions(LIMIT_S, pattern=pattern, read=self.read))


def frameworks(nanobench: Path | None) -> dict[str, Framework]:
    """By what their rows are called. `nanobench` is the folder of its header."""
    header = (f"-I{nanobench}",) if nanobench else ()
    google = partial(compiled, "google_benchmark", "-lbenchmark")
    csv = ("--benchmark_filter=^{operation}$", "--benchmark_min_time=0.01", "--benchmark_format=csv")
    return {
        "the same executable": Framework("google-benchmark", google),
        "the same by --read": Framework("read", google, words=csv, pattern="", read="csv:name,cpu_time"),
        "nanobench": Framework(
            "nanobench", partial(compiled, "nanobench_executable", *header), words=("{operation}",)
        ),
        "Catch2": Framework("catch2", partial(compiled, "catch2"), pattern="/ {operation}$"),
        "Go": Framework("go-test", go_benchmarks, IN_GO, pattern="/{operation}$"),
        "Criterion.rs": Framework("criterion", criterion_benchmarks, IN_RUST),
    }


def toll_on(name: str, framework: Framework, settings: ComparisonSettings, drift: float) -> Toll:
    """Its program is built here. Raises Missing, also where its programs do not drift and are to."""
    if drift and framework.operations is not OPERATIONS:
        raise Missing("its programs know no drift")
    subject = partial(framework.subject, framework.build())
    of_all = "" if framework.operations is OPERATIONS else f" ({len(framework.operations)} operations)"
    return Toll(f"toll compare, {name}{of_all}", subject, settings, framework.operations)


def toll_on_commands(settings: ComparisonSettings) -> Toll:
    """Processes of 50 ms."""
    lines = CommandLines()

    def subject(operation: str, slowdown: float) -> Subject:
        sides = [
            Side(label, lines.words(operation, share), Path.cwd())
            for label, share in (("first", 0.0), ("second", slowdown))
        ]
        return subject_of("command", sides, MeasuringOptions(LIMIT_S))

    return Toll("toll compare, the same command lines", subject, settings)


def toll_on_programs(settings: ComparisonSettings, drift: float) -> Toll:
    """What `toll trust` compares."""
    programs = trusting.built(["*"])

    def subject(operation: str, slowdown: float) -> Subject:
        return trusting.sides(programs[operation], slowdown, MeasuringOptions(LIMIT_S), drift=drift)

    return Toll("toll compare, toll programs", subject, settings)
