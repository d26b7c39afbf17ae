"""What `toll fleet` was asked for, checked before anybody is sent anything."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tollbench.cli.asking import Wishes, seconds, settings_of
from tollbench.cli.asking import precision as share
from tollbench.cli.comparing import check_pattern
from tollbench.cli.places import ROOT, in_runs, make_folder
from tollbench.compare import ComparisonSettings
from tollbench.compare.adapters import check_kind
from tollbench.errors import TollError
from tollbench.fleet import hosts as fleet_hosts
from tollbench.fleet.commits import resolved
from tollbench.fleet.hosts import Host

if TYPE_CHECKING:
    from tollbench.cli.run import Profile


@dataclass(frozen=True, slots=True)
class FleetAsked:
    """A new run of a fleet."""

    kind: Literal["run", "compare"]
    words: tuple[str, ...]  # of the toll on each host
    hosts: tuple[Host, ...]
    ssh_config: Path | None
    limit: str
    wait: str
    setup: str
    output: str
    revisions: tuple[str, ...] = ()
    spread: bool = False  # hosts of one kind share the benchmarks

    @property
    def limit_s(self) -> float:
        """Raises TollError."""
        return _seconds("--limit", self.limit)

    @property
    def wait_s(self) -> float:
        """Raises TollError."""
        return _seconds("--wait", self.wait) if self.wait else 0.0

    @property
    def setup_s(self) -> float:
        """Raises TollError."""
        return _seconds("--setup", self.setup)

    def folder(self) -> Path:
        """Where the results go; its parent is made. Raises TollError."""
        name = self.output or f"fleet-{datetime.now().astimezone():%Y-%m-%d-%H%M%S}"
        path = Path(name) if "/" in name else in_runs(name)
        make_folder(path.parent, "--output /tmp/x")
        return path


def _seconds(option: str, text: str) -> float:
    try:
        return seconds(text)
    except TollError as error:
        raise TollError(error.what, f"write for example {option} 60s, 5m or 2h") from None


def hosts(file: Path | None, slurm: str, python: str, toll: str) -> tuple[Host, ...]:
    """Of a file or of Slurm. Raises TollError where it is neither or both."""
    if (file is None) == (not slurm):
        raise TollError(
            "a fleet is either the hosts of a file or the nodes of a partition",
            "name one: --hosts FILE, or --slurm PARTITION",
        )
    if file is None:
        return fleet_hosts.of_slurm(slurm, python, toll)
    if toll or python != "python3":
        raise TollError("--python and --toll are for --slurm", "a file has them for each host: python = ...")
    return fleet_hosts.of_file(file)


def run_words(
    selection: Sequence[str] | None,
    profile: Profile,
    values: Sequence[str] | None,
    envs: Sequence[str] | None,
    budget: str,
    precision: str,
    layouts: int | None,
) -> tuple[str, ...]:
    """`toll run` as each host is told it. Raises TollError for what every host would refuse."""
    from tollbench.catalog import environments, suites
    from tollbench.plan import Selection, make

    named = [name.strip() for several in envs or () for name in several.split(",")]
    local = [name for name in named if name != environments.COMPILERS]  # each host has compilers of its own
    wanted = Selection.parse(list(selection or ()), list(values or ()), local)
    wishes = Wishes(
        profile=str(profile),
        budget_s=seconds(budget) if budget else None,
        precision=share(precision) if precision else None,
        seed=None,
        layouts=layouts,
    )
    make(suites.load(ROOT), wanted, environments.OFFERED, settings_of(wishes), 1)
    options = [("--set", value) for value in values or ()] + [("--env", env) for env in envs or ()]
    options += [(name, said) for name, said in (("--budget", budget), ("--precision", precision)) if said]
    options += [("--layouts", str(layouts))] if layouts is not None else []
    return (
        "run", *(selection or ()), "--profile", str(profile), *(word for pair in options for word in pair),
        "--output", "{result}", "--identity", "{identity}", "--no-html", "--no-install",
    )  # fmt: skip


def compare_words(
    revisions: Sequence[str] | None,
    build: str,
    program: str,
    budgets: Mapping[str, str],
    threshold: float,
    pattern: str,
    kind: str,
    layouts: int,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(`toll compare` as each host is told it, the commits). Raises TollError.

    No seed is among the words, so that each host draws layouts of its own: over hosts that all had the same
    ones, what these do to the change would be taken for the change.
    """
    for option, said in (("--build", build), ("--program", program)):
        if not said:
            raise TollError(
                f"toll fleet compare needs {option}",
                "--build COMMAND builds each revision, --program names what",
            )
    if len(revisions or ()) < 2:
        raise TollError(
            "a comparison has two revisions or more", "name them: toll fleet compare ... main HEAD"
        )
    check_pattern(pattern)
    check_kind(kind)
    lengths = [_seconds(option, said) for option, said in budgets.items()]
    ComparisonSettings(threshold=threshold, budget_s=min(lengths, default=1.0), layouts=layouts).check()
    commits = resolved(Path.cwd(), revisions or ())
    options = [*budgets.items(), ("--threshold", str(threshold)), ("--kind", kind)]
    options += [("--filter", pattern)] if pattern else []
    options += [("--layouts", str(layouts))] if layouts else []
    words = (
        "compare", "--build", build, "--program", program, *(word for pair in options for word in pair),
        "--raw", "{result}", *(commit[:12] for commit in commits),
    )  # fmt: skip
    return words, commits


def refuse_new_plan(resume: str, verb: str, given: Sequence[str]) -> None:
    """Raises TollError where --resume comes with what its folder has already."""
    if given:
        raise TollError(
            "--resume goes on with the plan and the hosts of its folder and takes no new ones:"
            f" {', '.join(given)}",
            f"leave the rest out: toll fleet {verb} --resume {shlex.quote(resume)}",
        )
