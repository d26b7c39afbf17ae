"""`toll test`: every test of the project, and the tools that hold its rules."""

from __future__ import annotations

from typing import Annotated

import typer

from toll.cli.console import say
from toll.errors import Exit

EXAMPLE = "toll test --fast"


def command(
    fast: Annotated[
        bool, typer.Option("--fast", help="Leave out sanitizers, clang-tidy and slow tests.")
    ] = False,
    bench: Annotated[bool, typer.Option("--bench", help="Also run the benchmarks of toll itself.")] = False,
) -> None:
    """Run all tests: formatters, linters, C++ with sanitizers, Python, browser. Installs what they need."""
    from toll.catalog import packages
    from toll.cli import checks
    from toll.cli.places import ROOT

    if missing := packages.missing(packages.table().values()):
        packages.install(missing, say)
    outcomes = checks.run_all(checks.steps(ROOT, fast=fast, bench=bench), ROOT)
    typer.echo(checks.summary(outcomes))
    if any(outcome.status != 0 for outcome in outcomes):
        raise typer.Exit(Exit.REGRESSION_OR_FAILED_CHECK)
