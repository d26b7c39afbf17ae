"""`toll lake`: one question over what many machines found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tollbench.cli.console import progress, say, tell, tell_as_json, tell_json
from tollbench.cli.named_files import file_path, lake_place
from tollbench.cli.places import run_path
from tollbench.errors import TollError
from tollbench.text import several

if TYPE_CHECKING:
    from tollbench.lake.lake_answers import LakeAnswer
    from tollbench.lake.opened_lake import OpenedLake

EXAMPLE = "toll lake add runs/*.toll --lake lab"

app = typer.Typer(
    help="Add runs of many machines to a folder of Parquet, and ask over all of them.",
    no_args_is_help=True,
)

Place = Annotated[
    str,
    typer.Option(
        "--lake",
        parser=lake_place,
        metavar="PLACE",
        envvar="TOLL_LAKE",
        help="The lake: a folder, or s3://BUCKET/NAME; or TOLL_LAKE.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs: schemas/lake.schema.json.")]
Case = Annotated[
    str, typer.Argument(metavar="WORKLOAD/CONTENDER", help="For example tasks/skynet/std_async.")
]
Workload = Annotated[str, typer.Argument(metavar="WORKLOAD", help="For example tasks/skynet.")]
Environment = Annotated[
    str, typer.Option("--environment", metavar="NAME", help="Where it was built and run.")
]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Which one, where there are several rows."),
]
Against = Annotated[
    str,
    typer.Option(
        "--against", metavar="CONTENDER", help="What ratios are to; most machines' fastest if not given."
    ),
]


@app.command("add", epilog=f"Example: {EXAMPLE}")
def add(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Run files, their names in runs/, or a fleet's folder."),
    ],
    place: Place,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The machine's name, which makes it another than its twins; a fleet's runs have it already,"
            " and '' is none.",
        ),
    ] = None,
    commit: Annotated[
        str, typer.Option(metavar="NAME", help="What was measured, stored with every row.")
    ] = "",
    samples: Annotated[
        bool, typer.Option("--samples", help="Also operations that were timed one by one: much larger.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: {added: [{file, run, machine, outcome}]}.")
    ] = False,
) -> None:
    """Add runs to a lake, which is made where there is none. A run that is there already stays as it is."""
    from tollbench.lake.lake_folder import Added
    from tollbench.lake.lakes import lake_made_at
    from tollbench.lake.tables_of_run import tables_of_run
    from tollbench.store import RunFile

    paths = _named_runs(runs, host)
    lake, done, failed = lake_made_at(place, say), [], []
    with progress("adding", after_s=1.0) as bar:
        for number, (path, of_host) in enumerate(paths.items()):
            bar.step(number, len(paths), path.name)
            try:
                with RunFile.open(path) as run_file:
                    run = tables_of_run(run_file, host=of_host, commit=commit, samples=samples)
                done.append((path, run, lake.add(run)))
            except TollError as error:  # the others are added all the same
                failed.append(error)
                say(f"toll: {error.what}\n  next: {error.next_step}")
        try:
            lake.tidy(lambda read, total: bar.step(read, total, "files put together"))
        except TollError as error:  # the runs are there
            say(f"what questions read stays in many files: {error.what}\n  next: {error.next_step}")
    if as_json:
        rows = [{"file": str(p), "run": r.run, "machine": r.machine, "outcome": str(o)} for p, r, o in done]
        tell_as_json({"added": rows})
    else:
        for path, run, outcome in done:
            words = {
                Added.ADDED: "added",
                Added.GROWN: "added again, with what it lacked",
                Added.ALREADY: "is there",
            }
            tell(f"{path}: {words[outcome]} (machine {run.machine})")
    if failed:
        what = f"{several(len(failed), 'run')} of {len(paths)} could not be added"
        raise TollError(what, "the reasons stand above; the others are in the lake")


@app.command("runs", epilog="Example: toll lake runs --lake lab")
def runs(place: Place, as_json: AsJson = False) -> None:
    """What the lake holds: its runs, the newest first, and its workloads."""
    from tollbench.lake.held_runs import held_runs

    _ask(place, ("run",), held_runs, as_json=as_json)


@app.command("cases", epilog="Example: toll lake cases tasks/skynet --lake lab")
def cases(workload: Workload, place: Place, as_json: AsJson = False) -> None:
    """Which rows of a workload the lake has, and on how many machines."""
    from tollbench.lake.held_runs import held_cases
    from tollbench.lake.lake_rows import Asked

    asked = Asked.of(workload)
    _ask(place, ("summary",), lambda opened: held_cases(opened, asked), as_json=as_json)


@app.command("machines", epilog="Example: toll lake machines tasks/skynet/std_async --lake lab")
def machines(
    case: Case,
    place: Place,
    against: Against = "",
    environment: Environment = "host",
    parameter: Parameter = None,
    as_json: AsJson = False,
) -> None:
    """The same contender over machines: its ratio to one reference within each, then its times."""
    from tollbench.lake.across_machines import across_machines
    from tollbench.lake.lake_rows import Asked

    asked = Asked.of(case, environment=environment, parameters=parameter or ())
    _named(asked.contender, case)
    _ask(place, ("summary",), lambda opened: across_machines(opened, asked, against), as_json=as_json)


@app.command("cheapest", epilog="Example: toll lake cheapest tasks/skynet --prices prices.csv --lake lab")
def cheapest(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD[/CONTENDER]", help="With each machine's fastest contender, or this one."
        ),
    ],
    place: Place,
    prices: Annotated[
        Path,
        typer.Option(
            parser=file_path,
            metavar="FILE",
            help="CSV: machine,price_per_hour[,currency]; a machine by host, identity or product.",
        ),
    ],
    environment: Environment = "host",
    parameter: Parameter = None,
    as_json: AsJson = False,
) -> None:
    """The cheapest machine for a workload, at the prices of your file."""
    from tollbench.lake import cheapest as asking
    from tollbench.lake.lake_rows import Asked

    asked, told = (
        Asked.of(workload, environment=environment, parameters=parameter or ()),
        asking.Prices.read(prices),
    )
    _ask(place, ("summary",), lambda opened: asking.cheapest(opened, asked, told), as_json=as_json)


@app.command("differ", epilog="Example: toll lake differ latency/lock --lake lab")
def differ(
    workload: Workload,
    place: Place,
    contenders: Annotated[
        list[str] | None, typer.Argument(metavar="[CONTENDER]...", help="These alone; two or more.")
    ] = None,
    parameter: Parameter = None,
    as_json: AsJson = False,
) -> None:
    """Which verdicts differ between machines: of two rows, some call one faster and others the other."""
    from tollbench.lake.differing import differing
    from tollbench.lake.lake_rows import Asked

    asked, named = Asked.of(workload, parameters=parameter or ()), contenders or []
    if len(named) == 1:
        raise TollError("one contender has no verdict by itself", "name two or more, or none for all")
    _ask(place, ("summary",), lambda opened: differing(opened, asked, named), as_json=as_json)


@app.command("trend", epilog="Example: toll lake trend latency/lock/std_mutex --machine build-7 --lake lab")
def trend(
    case: Case,
    place: Place,
    machine: Annotated[
        str, typer.Option(metavar="NAME", help="A host's name, or the beginning of a machine's identity.")
    ] = "",
    against: Against = "",
    environment: Environment = "host",
    parameter: Parameter = None,
    as_json: AsJson = False,
) -> None:
    """One machine over months: every run of it, and since when the ratio or the time changed."""
    from tollbench.lake.lake_rows import Asked
    from tollbench.lake.trends import trend as over_months

    asked = Asked.of(case, environment=environment, parameters=parameter or ())
    _named(asked.contender, case)
    _ask(
        place,
        ("summary", "machine"),
        lambda opened: over_months(opened, asked, machine, against),
        as_json=as_json,
    )


@app.command(
    "query", epilog="Example: toll lake query 'SELECT machine, count(*) FROM launch GROUP BY 1' --lake lab"
)
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the tables of docs/lake.md.")],
    place: Place,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Rows that are shown.")
    ] = 1000,
    memory: Annotated[int, typer.Option(metavar="MB", min=50, help="Most that DuckDB may use.")] = 600,
    as_json: AsJson = False,
) -> None:
    """Ask in DuckDB's SQL. Only the lake's files can be read, and nothing written."""
    from tollbench.lake.held_runs import queried
    from tollbench.lake.lakes import tables_named

    _ask(
        place,
        tables_named(sql),
        lambda opened: queried(opened, sql, limit),
        as_json=as_json,
        memory_mb=memory,
    )


@app.command("compact", epilog="Example: toll lake compact --lake lab")
def compact(
    place: Place,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: {runs, files_before, files_after}.")
    ] = False,
) -> None:
    """Make one file a table and month of the many small ones. What is read stays the same."""
    from dataclasses import asdict

    from tollbench.lake.lakes import lake_at

    lake = lake_at(place, say)
    with progress("compacting", after_s=1.0) as bar:
        done = lake.compact(lambda read, total: bar.step(read, total, "files"))
    if as_json:
        tell_as_json(asdict(done))
    else:
        tell(
            f"{several(done.runs, 'run')} compacted: {done.files_before:,} files became {done.files_after:,}"
        )


@app.command("serve", epilog="Example: toll lake serve --lake lab")
def serve(
    place: Place,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: any that is free.")] = 8765,
) -> None:
    """Show the lake to a browser on this machine, until Ctrl-C. Nothing can be changed there."""
    from tollbench.cli.serving_lake import server

    with server(place, port) as listening:
        tell(f"open {listening.address} (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):  # which is how it ends
            listening.serve_forever()


def _named_runs(names: Sequence[str], host: str | None) -> dict[Path, str]:
    """Run files by their names or by their fleet's; the host of each is that of `--host`, or the fleet's."""
    from tollbench.fleet.fleet_results import host_of, is_fleet, runs_of_fleet

    found: dict[Path, str] = {}
    for name in names:
        if not is_fleet(Path(name)):
            path = run_path(name)
            found[path] = host_of(path) if host is None else host
        elif host == "":
            found |= {path: "" for path, _ in runs_of_fleet(Path(name))}
        elif host is not None:
            raise TollError(f"--host names one machine, and {name} is a fleet", "leave --host out")
        else:
            found |= runs_of_fleet(Path(name))
    return found


def _named(contender: str, case: str) -> None:
    if not contender:
        raise TollError(
            f"{case} names no contender", f"name one: {case}/CONTENDER; toll lake cases {case} has them"
        )


def _ask(
    place: str,
    tables: Sequence[str],
    question: Callable[[OpenedLake], LakeAnswer],
    *,
    as_json: bool,
    **options: Any,
) -> None:
    from tollbench.lake.lakes import lake_at
    from tollbench.lake.opened_lake import OpenedLake

    with lake_at(place, say).reading(tables) as folder, OpenedLake(folder, tables, **options) as opened:
        answer = question(opened)
    if as_json:
        tell_json(answer.model_dump_json(by_alias=True, indent=2))
        return
    from tollbench.cli.report import console
    from tollbench.report.lakes import lake_terminal

    lake_terminal.render(answer, console())
