"""`python tests/toll_test/contenders.py` builds them as `toll run [NAME ...] --profile check` does.

That run holds the machine while it builds, because a build disturbs what others measure; the step of
`toll test` before it builds beside tests. What does not build is a row of that run.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "python")]

from tollbench.catalog import environments, machine, suites  # noqa: E402
from tollbench.cli.builds import build_plan  # noqa: E402
from tollbench.cli.places import ROOT  # noqa: E402
from tollbench.plan import PROFILES, Selection, make  # noqa: E402


def main(names: Sequence[str]) -> None:
    """Builds what is named, or every workload's headline; what CMake cannot configure raises TollError."""
    cpus = len(machine.usable_cpus())
    selection = Selection.parse(list(names), [], [])
    build_plan(make(suites.load(ROOT), selection, environments.OFFERED, PROFILES["check"], cpus))


if __name__ == "__main__":
    main(sys.argv[1:])
