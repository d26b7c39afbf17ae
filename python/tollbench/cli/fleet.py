"""`toll fleet`: one question over many machines. ReFrame reaches them; toll answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tollbench.cli.given import given
from tollbench.cli.run import Profile

EXAMPLE = "toll fleet run latency/wakeup --profile quick --hosts lab.toml"

app = typer.Typer(
    help="Measure many machines, over ssh or a queue, and tell what each one answers.", no_args_is_help=True
)

Hosts = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The hosts of a file with \\[hosts.NAME] and ssh = 'ALIAS' in it (docs/fleet.md).",
    ),
]
Slurm = Annotated[
    str, typer.Option(metavar="PARTITION", help="Instead: every node of a Slurm partition, one job each.")
]
SshConfig = Annotated[
    Path | None,
    typer.Option(
        "--ssh-config", metavar="FILE", exists=True, dir_okay=False, help="ssh's configuration; else yours."
    ),
]
Limit = Annotated[
    str, typer.Option("--limit", metavar="TIME", help="Most time on a host: to build, and to measure.")
]
WaitFor = Annotated[
    str,
    typer.Option(
        "--wait",
        metavar="TIME",
        help="Wait so long for a host on which another run measures; else it is busy.",
    ),
]
SetUp = Annotated[
    str,
    typer.Option(
        "--setup",
        metavar="TIME",
        help="Most time besides --limit: to bring toll there and its result back.",
    ),
]
Wheel = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", exists=True, dir_okay=False, help="The wheel of toll to send; else this toll's own."
    ),
]
RemotePython = Annotated[
    str, typer.Option("--python", metavar="NAME", help="With --slurm: Python on the nodes, 3.11 or later.")
]
RemoteToll = Annotated[
    str,
    typer.Option("--toll", metavar="PATH", help="With --slurm: a toll that the nodes have, of this version."),
]
Into = Annotated[
    str,
    typer.Option("--output", "-o", metavar="NAME", help="Folder of the results: a name in runs/, or a path."),
]
Resume = Annotated[
    str, typer.Option(metavar="FOLDER", help="Ask again, only the hosts whose results are missing.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the rows: schemas/fleet.schema.json.")]
Folder = Annotated[
    str, typer.Argument(metavar="FOLDER", help="What toll fleet run made: runs/NAME, or NAME.")
]


# Parameters that say something to a run that is gone on with: the folder has all others.
_RESUMING = frozenset({"resume", "wheel", "as_json"})


@app.command("run", epilog=f"Example: {EXAMPLE}")
def run(
    context: typer.Context,
    selection: Annotated[
        list[str] | None, typer.Argument(help="As toll run has it: topic, topic/workload, '*'.")
    ] = None,
    profile: Annotated[Profile, typer.Option(help="As toll run has it.")] = Profile.QUICK,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=V,V", help="As toll run has it.")
    ] = None,
    envs: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME,NAME", help="As toll run has it.")
    ] = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="As toll run has it.")] = "",
    precision: Annotated[str, typer.Option(metavar="SHARE", help="As toll run has it.")] = "",
    layouts: Annotated[int | None, typer.Option(metavar="N", help="As toll run has it.")] = None,
    hosts: Hosts = None,
    slurm: Slurm = "",
    ssh_config: SshConfig = None,
    limit: Limit = "2h",
    wait: WaitFor = "",
    setup: SetUp = "20m",
    wheel: Wheel = None,
    python: RemotePython = "python3",
    toll: RemoteToll = "",
    output: Into = "",
    resume: Resume = "",
    as_json: AsJson = False,
) -> None:
    """Measure every host as `toll run` measures this machine.

    Exit code: 0 where each host has a result, 3 where one has none: its row says why. 130 after Ctrl-C;
    what has arrived is kept.
    """
    from tollbench.cli import fleet_asking, fleet_running

    if resume:
        fleet_asking.refuse_new_plan(resume, "run", given(context, besides=_RESUMING))
        raise typer.Exit(fleet_running.resumed(resume, wheel, as_json=as_json))
    words = fleet_asking.run_words(selection, profile, values, envs, budget, precision, layouts)
    asked = fleet_asking.FleetAsked(
        kind="run", words=words, hosts=fleet_asking.hosts(hosts, slurm, python, toll),
        ssh_config=ssh_config, limit=limit, wait=wait, setup=setup, output=output,
    )  # fmt: skip
    raise typer.Exit(fleet_running.measured(asked, wheel, as_json=as_json))


@app.command(
    "compare", epilog="Example: toll fleet compare --build make --program ./bench main HEAD --hosts lab.toml"
)
def compare(
    context: typer.Context,
    revisions: Annotated[
        list[str] | None, typer.Argument(metavar="A B [C ...]", help="git revisions of where you stand.")
    ] = None,
    build: Annotated[str, typer.Option(metavar="COMMAND", help="Builds each revision, on each host.")] = "",
    program: Annotated[
        str, typer.Option(metavar="PATH", help="What is compared, relative to the checkout.")
    ] = "",
    budget: Annotated[str, typer.Option(metavar="TIME", help="As toll compare has it.")] = "60s",
    total: Annotated[
        str, typer.Option("--total-budget", metavar="TIME", help="As toll compare has it.")
    ] = "10m",
    threshold: Annotated[float, typer.Option(help="As toll compare has it.")] = 0.01,
    pattern: Annotated[
        str, typer.Option("--filter", metavar="REGEX", help="Compare only benchmarks that match.")
    ] = "",
    spread: Annotated[
        bool,
        typer.Option(
            "--spread",
            help="Equal hosts share the benchmarks: each is compared on one host of each `kind` of the hosts"
            " file (all are equal where it names none).",
        ),
    ] = False,
    kind: Annotated[str, typer.Option(metavar="KIND", help="As toll compare has it.")] = "auto",
    layouts: Annotated[
        int, typer.Option(metavar="N", help="As toll compare has it; each host draws layouts of its own.")
    ] = 0,
    hosts: Hosts = None,
    slurm: Slurm = "",
    ssh_config: SshConfig = None,
    limit: Limit = "2h",
    wait: WaitFor = "",
    setup: SetUp = "20m",
    wheel: Wheel = None,
    python: RemotePython = "python3",
    toll: RemoteToll = "",
    output: Into = "",
    resume: Resume = "",
    as_json: AsJson = False,
) -> None:
    """Compare git revisions on every host, and over all of them: did it get slower, and do hosts agree?

    Exit code: 1 for a regression beyond --threshold over the fleet, else 3 where something is inconclusive
    or a host has no result, else 0. 130 after Ctrl-C; what has arrived is kept.
    """
    from tollbench.cli import fleet_asking, fleet_running

    if resume:
        fleet_asking.refuse_new_plan(resume, "compare", given(context, besides=_RESUMING))
        raise typer.Exit(fleet_running.resumed(resume, wheel, as_json=as_json))
    words, commits = fleet_asking.compare_words(
        revisions, build, program, {"--budget": budget, "--total-budget": total}, threshold, pattern, kind,
        layouts,
    )  # fmt: skip
    asked = fleet_asking.FleetAsked(
        kind="compare", words=words, hosts=fleet_asking.hosts(hosts, slurm, python, toll),
        ssh_config=ssh_config, limit=limit, wait=wait, setup=setup, output=output, revisions=commits,
        spread=spread,
    )  # fmt: skip
    raise typer.Exit(fleet_running.measured(asked, wheel, as_json=as_json))


@app.command("status", epilog="Example: toll fleet status runs/fleet-2026-07-01-120000")
def status(folder: Folder, as_json: AsJson = False) -> None:
    """What is known of each host by now, from the fleet's folder; asks nobody."""
    from tollbench.cli import fleet_running

    raise typer.Exit(fleet_running.told(folder, as_json=as_json))


@app.command("fetch", epilog="Example: toll fleet fetch runs/fleet-2026-07-01-120000")
def fetch(folder: Folder, as_json: AsJson = False) -> None:
    """Ask the hosts for what did not arrive, measure nothing, and remove what was left there."""
    from tollbench.cli import fleet_running

    raise typer.Exit(fleet_running.fetched(folder, as_json=as_json))
