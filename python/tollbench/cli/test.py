"""`toll test`: every test of a checkout, and the tools that hold its rules. Only a checkout can run them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tollbench.cli.places import ROOT
from tollbench.errors import Exit, TollError

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
    if not (ROOT / "tests/toll_test").is_dir():
        raise TollError(
            f"there is nothing to test: {ROOT} is no checkout of toll",
            "clone its repository and start ./toll test in it",
        )
    sys.path.insert(0, str(ROOT / "tests"))
    from toll_test import verb

    if not verb.test(fast=fast, everything=everything, bench=bench, as_json=as_json):
        raise typer.Exit(Exit.REGRESSION_OR_FAILED_CHECK)
