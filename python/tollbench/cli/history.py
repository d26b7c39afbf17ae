"""`toll history`: since when, over all commits of a branch?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tollbench.cli.compare import (
    AnyExitCode,
    Folder,
    Html,
    InSandbox,
    Kind,
    Markdown,
    Read,
    SandboxShow,
    Wait,
)
from tollbench.cli.given import given
from tollbench.cli.named_files import Force, any_path, file_path
from tollbench.compare.adapters import AUTO

EXAMPLE = "toll history --build 'make bench' --program ./bench --last 50"


Range = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[A..B]", help="A range of commits; or --last, or --tags. With --runs: run files."
    ),
]
Runs = Annotated[
    bool, typer.Option("--runs", help="Lay run files of toll run beside each other in order of time.")
]
Build = Annotated[
    str,
    typer.Option(
        metavar="COMMAND",
        help="Builds each commit, in its own checkout; @FILE: by commit. Without it nothing is measured.",
    ),
]
Program = Annotated[
    str, typer.Option(metavar="PATH", help="What is measured, relative to the checkout, with its words.")
]
Last = Annotated[int | None, typer.Option(metavar="N", help="The last N commits of HEAD (50).", min=2)]
Tags = Annotated[
    str, typer.Option(metavar="PATTERN", help="The commits of tags whose names match, such as 'v*'.")
]
Merged = Annotated[
    bool, typer.Option("--merged", help="Commits of merged branches too, not first parents alone.")
]
ReferenceRevision = Annotated[
    str,
    typer.Option(
        metavar="REVISION",
        help="What all are measured against: at first the newest commit, then that one.",
    ),
]
Into = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", parser=any_path, help="Where the history is kept: runs/history."),
]
Feed = Annotated[
    Path | None,
    typer.Option(metavar="FILE", parser=file_path, help="Write the changes as an Atom feed."),
]


# Parameters that say something to --runs.
_OF_RUNS = frozenset(
    {"commits", "runs", "pattern", "threshold", "as_json", "html", "markdown", "feed", "force"}
)
# Those that say something where nothing is measured: all but these are of building and launching.
_OF_SHOWING = (_OF_RUNS - {"runs"}) | {"build", "program", "last", "tags", "merged", "into"}


def command(
    context: typer.Context,
    commits: Range = None,
    runs: Runs = False,
    build: Build = "",
    program: Program = "",
    last: Last = None,
    tags: Tags = "",
    merged: Merged = False,
    reference: ReferenceRevision = "",
    into: Into = None,
    pattern: Annotated[
        str, typer.Option("--filter", metavar="REGEX", help="Measure only benchmarks that match.")
    ] = "",
    threshold: Annotated[float, typer.Option(help="A smaller change is not told: 0.01 is 1 %.")] = 0.01,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Most time for launches, this time; 0s: only show.")
    ] = "20m",
    commit_budget: Annotated[
        str, typer.Option("--commit-budget", metavar="TIME", help="Most time for launches of one commit.")
    ] = "30s",
    kind: Kind = AUTO,
    read: Read = "",
    folder: Folder = None,
    sandbox: InSandbox = False,
    sandbox_show: SandboxShow = None,
    any_exit_code: AnyExitCode = False,
    seed: Annotated[int | None, typer.Option(help="Of every random choice; drawn anew if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all that is known as JSON.")] = False,
    html: Html = None,
    markdown: Markdown = None,
    feed: Feed = None,
    force: Force = False,
    wait: Wait = False,
) -> None:
    """Measure commits beside one reference, night after night, and tell since when a benchmark changed.

    Exit code: 0, whatever changed; 2 where nothing can be built or shown; 3 where the disk is full meanwhile;
    130 after Ctrl-C, and what was measured is kept and shown.
    """
    from tollbench.cli import comparing, keeping_history

    outputs = keeping_history.outputs(html, markdown, feed, force=force)
    if runs:
        others = given(context, besides=_OF_RUNS)
        found = keeping_history.of_runs(commits or [], others, outputs, threshold=threshold, pattern=pattern)
        keeping_history.show(found, outputs, as_json=as_json)
        raise typer.Exit(keeping_history.exit_code(found))
    if not build:
        only_shown = {"budget"} if keeping_history.budget_seconds(budget) == 0.0 else set()
        keeping_history.refuse_what_only_measuring_heeds(given(context, besides=_OF_SHOWING | only_shown))
    request = keeping_history.HistoryRequest(
        commits=" ".join(commits or []),
        last=last,
        tags=tags,
        merged=merged,
        build=build,
        program=program,
        reference=reference,
        into=into,
        pattern=pattern,
        threshold=threshold,
        budget_s=keeping_history.budget_seconds(budget) if build else 0.0,
        commit_s=comparing.seconds("--commit-budget", commit_budget),
        kind=kind,
        read=read,
        folder=folder,
        any_exit_code=any_exit_code,
        seed=seed,
        sandbox=comparing.sandbox_asked(sandbox, sandbox_show, (), folder),
    )
    found, error = keeping_history.kept(request, outputs, wait=wait)
    keeping_history.show(found, outputs, as_json=as_json, error=error)
    raise typer.Exit(keeping_history.exit_code(found))
