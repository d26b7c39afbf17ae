"""Builds every contender as `toll run '*' --profile check` does: `python -m toll.cli.every_contender`.

That run holds the machine while it builds, because a build disturbs what others measure; the step of
`toll test` before it builds beside tests. What does not build is a row of that run.
"""

from toll.catalog import environments, machine, suites
from toll.cli.building import build_plan
from toll.cli.places import ROOT
from toll.plan import PROFILES, Selection, make


def main() -> None:
    """Builds; a build that CMake cannot configure raises TollError."""
    cpus = len(machine.usable_cpus())
    build_plan(
        make(suites.load(ROOT), Selection.parse(["*"], [], []), environments.OFFERED, PROFILES["check"], cpus)
    )


if __name__ == "__main__":
    main()
