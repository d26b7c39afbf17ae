"""`toll trust`: how often comparisons cry wolf on this machine, and how small a slow-down they find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tollbench.cli.named_files import file_path
from tollbench.compare.subject import Until
from tollbench.errors import TollError

EXAMPLE = "toll trust --budget 5m"
SLOWDOWNS = "0.5,1,2,5"
EQUAL = 2


Until_ = Annotated[Until, typer.Option("--until", help="As of toll compare.")]
Operations = Annotated[
    list[str] | None,
    typer.Argument(help="Contenders of reference/operations, with * and ?; all if not given."),
]
Trials = Annotated[int, typer.Option(help="End after so many comparisons; 0: when the time is spent.")]
Slowdowns = Annotated[
    str,
    typer.Option(
        metavar="PERCENT,...", help="Injected on the second side, in per cent; none: equal sides alone."
    ),
]
Build = Annotated[
    str, typer.Option(metavar="COMMAND", help="With --rebuild: builds the commit that is checked out.")
]
Program = Annotated[
    str, typer.Option(metavar="PATH", help="With --rebuild: what is compared, relative to the checkout.")
]
Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Count false alarms over a program of yours that is linked again with edits that change none of"
        " its code: nops, functions that nobody calls, another order.",
    ),
]
Raw = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", parser=file_path, help="Keeps every trial; runs/trust-DATE.jsonl if not given."
    ),
]
Disturb = Annotated[
    str,
    typer.Option(
        metavar="WHAT,...",
        help="load: a second process keeps one CPU busy at random; drift: both sides become up to 10 %"
        " slower and faster again.",
    ),
]
MeasureAll = Annotated[
    bool, typer.Option("--measure-all", help="With --rebuild: time also what is proved to be unchanged.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for another run on this machine to end.")]
Layouts = Annotated[int, typer.Option(metavar="N", help="With --rebuild: as of toll compare.")]


def command(
    operations: Operations = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Wall time for all trials.")] = "280s",
    trial_budget: Annotated[str, typer.Option(metavar="TIME", help="Most time for one comparison.")] = "10s",
    trials: Trials = 0,
    slowdowns: Slowdowns = SLOWDOWNS,
    equal: Annotated[
        int, typer.Option(help="Comparisons of equal sides for one of each slow-down; 0: slow-downs alone.")
    ] = EQUAL,
    threshold: Annotated[float, typer.Option(help="As of toll compare: 0.01 is 1 %.")] = 0.01,
    until: Until_ = Until.ESTIMATE,
    seed: Annotated[int | None, typer.Option(help="Of every random choice; drawn anew if not given.")] = None,
    raw: Raw = None,
    disturb: Disturb = "",
    rebuild: Rebuild = False,
    build: Build = "",
    program: Program = "",
    layouts: Layouts = 0,
    measure_all: MeasureAll = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print it as a Markdown table.")] = False,
    wait: Wait = False,
) -> None:
    """Compare programs with themselves and with slow-downs of known size: false alarms, and what is found.

    Exit code: 1 where false alarms are certainly more frequent than the 5 % that the level promises, 3 where
    nothing could be judged, 130 after Ctrl-C, else 0.
    """
    from tollbench.cli import rebuilding, trusting
    from tollbench.cli.comparing import raw_output, raw_path, seconds

    if as_json and as_markdown:
        raise TollError("--json and --markdown are two forms of one answer", "leave out one of the two")
    rebuilding.check_options(
        rebuild=rebuild,
        with_it={"--build": build, "--program": program, "--layouts": layouts, "--measure-all": measure_all},
        without_it={
            "OPERATIONS": operations,
            "--trials": trials,
            "--slowdowns": slowdowns != SLOWDOWNS,
            "--equal": equal != EQUAL,
            "--disturb": disturb,
        },
    )
    raw = raw_path(raw, "trust-rebuild" if rebuild else "trust")
    raw_output(raw).check()
    if rebuild:
        again = rebuilding.RebuildRequest(
            build=build,
            program=program,
            layouts=layouts,
            measure_all=measure_all,
            budget_s=seconds("--budget", budget),
            trial_budget_s=seconds("--trial-budget", trial_budget),
            threshold=threshold,
            until=until,
            seed=seed,
            raw=raw,
        )
        raise typer.Exit(
            rebuilding.measured_and_shown(again, wait=wait, as_json=as_json, as_markdown=as_markdown)
        )
    request = trusting.TrustRequest(
        operations=tuple(operations or ["*"]),
        budget_s=seconds("--budget", budget),
        trial_budget_s=seconds("--trial-budget", trial_budget),
        trials=trials,
        slowdowns=trusting.shares(slowdowns),
        equal=equal,
        threshold=threshold,
        until=until,
        seed=seed,
        raw=raw,
        disturbances=trusting.disturbances(disturb),
    )
    raise typer.Exit(
        trusting.measured_and_shown(request, wait=wait, as_json=as_json, as_markdown=as_markdown)
    )
