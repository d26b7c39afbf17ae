"""What `toll test` does; its options stand in python/tollbench/cli/test.py."""

from __future__ import annotations

import sys
from contextlib import nullcontext

from toll_test import steps
from toll_test.outcomes import described, summary
from toll_test.pace import Pace
from toll_test.runner import run_all
from tollbench.catalog import packages
from tollbench.cli.console import Progress, progress, say, tell, tell_as_json
from tollbench.cli.places import ROOT


def test(*, fast: bool, everything: bool, bench: bool, as_json: bool) -> bool:
    """Installs what is missing, runs the steps and prints what they came to. Whether all have passed."""
    # Not the toolchains of other languages, which are large, and one of which Debian 12 does not have: those
    # that are there are tested.
    needed = [need for need in packages.table().values() if need.group not in ("language", "root", "extra")]
    if missing := packages.missing(needed):
        packages.install(missing, say)
    planned = list(steps.steps(ROOT, fast=fast, bench=bench, everything=everything))
    # Where there is no terminal, each step's first line says what a bar would.
    with progress("toll test") if sys.stderr.isatty() else nullcontext(Progress("")) as bar:
        pace = Pace(ROOT / "build/test-times.json", planned, bar)
        outcomes = run_all(planned, ROOT, sys.stderr if as_json else sys.stdout, pace)
        pace.remember(outcomes)
    if as_json:
        tell_as_json(described(outcomes))
    else:
        tell(summary(outcomes))
    return all(outcome.status == 0 for outcome in outcomes)
