"""`toll run`: the stages in order: plan, packages, build, measure, analyse, show."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from tollbench.cli.console import say
from tollbench.cli.given import given
from tollbench.cli.named_files import Force
from tollbench.errors import TollError
from tollbench.home import COMMAND

EXAMPLE = "toll run latency/lock --budget 60s"


class Profile(StrEnum):
    """How much measuring a run may do."""

    CHECK = "check"
    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


AskedProfile = Annotated[
    Profile,
    typer.Option(
        help="quick: 3 minutes at most; standard: 20; thorough: as long as it takes;"
        " check: one launch each, to see that all work."
    ),
]
Layouts = Annotated[
    int | None,
    typer.Option(metavar="N", help="Links of each C++ program, its code elsewhere in each; 1: one."),
]


# Parameters that say something to a run that is gone on with: its file has all others.
_RESUMING = frozenset({"resume", "wait", "no_html", "full", "force", "no_install", "as_json"})


def command(
    context: typer.Context,
    selection: Annotated[
        list[str] | None,
        typer.Argument(
            help="topic, topic/workload or topic/workload/contender; * and ? stand for anything, '*' for all."
            " Without a name: the headline of every workload.",
        ),
    ] = None,
    profile: AskedProfile = Profile.QUICK,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=V,V", help="Parameter values; each is a case.")
    ] = None,
    input_file: Annotated[
        str, typer.Option("--input", metavar="FILE", help="A text for the workloads that read one.")
    ] = "",
    envs: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME,NAME", help="Environments (toll env list), or all."),
    ] = None,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Wall time for measuring: 60s, 5m, 1h.")] = "",
    precision: Annotated[
        str, typer.Option(metavar="SHARE", help="Stop when ratios are known to within this: 1%, or 0.01.")
    ] = "",
    layouts: Layouts = None,
    seed: Annotated[int | None, typer.Option(help="Of every random choice; drawn anew if not given.")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="NAME", help="Run file: a name in runs/, or a path.")
    ] = "",
    resume: Annotated[str, typer.Option(metavar="FILE", help="Go on with a run that was interrupted.")] = "",
    identity: Annotated[
        str, typer.Option(metavar="UUID", help="The run's identity, of whoever asks for it; else a new one.")
    ] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for another run on this machine to end.")
    ] = False,
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no HTML report.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print all tables at the end, not one screen.")
    ] = False,
    force: Force = False,
    no_install: Annotated[bool, typer.Option("--no-install", help="Install no system packages.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as `toll report --format json` does.")
    ] = False,
) -> None:
    """Measure this machine: set up, build, launch, print the answers, and write one HTML file."""
    from tollbench.cli import asking, measuring
    from tollbench.plan import Selection

    form = _form(as_json=as_json, full=full)
    if resume:
        _refuse_new_plan(resume, given(context, besides=_RESUMING))
        session = measuring.resumed(resume, force=force)
    else:
        wishes = asking.Wishes(
            profile=str(profile),
            budget_s=asking.seconds(budget) if budget else None,
            precision=asking.precision(precision) if precision else None,
            seed=seed,
            layouts=layouts,
        )
        wanted = Selection.parse(selection or [], values or [], envs or [])
        if input_file:
            wanted = wanted.with_value("input", asking.text_file(input_file))
        session = measuring.planned(wanted, wishes, output, force=force)
        session.identity = asking.identity(identity) if identity else session.identity
    if not no_html:
        session.check_page(*([Path(input_file).expanduser()] if input_file else []))
    if not (selection or resume):
        _say_what_is_chosen(session.left_out)
    with session:
        session.take_machine(wait=wait)
        session.prepare(install=not no_install)
        session.measure(names_each=full)
    raise typer.Exit(session.show(html=not no_html, form=form))


def _refuse_new_plan(resume: str, named: Sequence[str]) -> None:
    if named:
        raise TollError(
            f"--resume goes on with the plan of its run file and takes no new one: {', '.join(named)}",
            f"leave the rest out: {COMMAND} run --resume {shlex.quote(resume)}",
        )


def _say_what_is_chosen(left_out: tuple[str, ...]) -> None:
    """Of a run that names nothing; `left_out` are topics and workloads."""
    everything = f"{COMMAND} run '*' --profile standard --budget 1h"
    say(f"measuring the headline of every workload; all contenders: {everything}")
    if left_out:
        say(f"measured where it is named: {', '.join(f'{COMMAND} run {topic}' for topic in left_out)}")


def _form(*, as_json: bool, full: bool) -> Literal["screen", "tables", "json"]:
    """What is printed at the end."""
    if as_json and full:
        raise TollError("--json and --full exclude each other", "leave one of them out")
    return "json" if as_json else "tables" if full else "screen"
