"""`toll test`: every test of the project, and the tools that hold its rules."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from tollbench.cli.console import Progress, progress, say
from tollbench.errors import Exit

EXAMPLE = "toll test --fast"


def command(
    fast: Annotated[
        bool, typer.Option("--fast", help="Leave out sanitizers, clang-tidy and slow tests.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Debug, Clang and clang-tidy for every contender, not headlines alone."),
    ] = False,
    bench: Annotated[bool, typer.Option("--bench", help="Also run the benchmarks of toll itself.")] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="For programs: {passed, steps: [{name, passed, seconds, closing}]}."),
    ] = False,
) -> None:
    """Run all tests: formatters, linters, C++ with sanitizers, Python, browser. Installs what they need."""
    from tollbench.catalog import packages
    from tollbench.cli.places import ROOT
    from tollbench.cli.testing.outcomes import described, summary
    from tollbench.cli.testing.pace import Pace
    from tollbench.cli.testing.runner import run_all
    from tollbench.cli.testing.steps import steps

    # Not the toolchains of other languages, which are large, and one of which Debian 12 does not have: those
    # that are there are tested.
    needed = [need for need in packages.table().values() if need.group not in ("language", "root")]
    if missing := packages.missing(needed):
        packages.install(missing, say)
    planned = list(steps(ROOT, fast=fast, bench=bench, everything=everything))
    # Where there is no terminal, each step's first line says what a bar would.
    with progress("toll test") if sys.stderr.isatty() else nullcontext(Progress("")) as bar:
        pace = Pace(ROOT / "build/test-times.json", planned, bar)
        outcomes = run_all(planned, ROOT, sys.stderr if as_json else sys.stdout, pace)
        pace.remember(outcomes)
    if as_json:
        typer.echo(json.dumps(described(outcomes), indent=2, ensure_ascii=False))
    else:
        typer.echo(summary(outcomes))
    if any(outcome.status != 0 for outcome in outcomes):
        raise typer.Exit(Exit.REGRESSION_OR_FAILED_CHECK)
