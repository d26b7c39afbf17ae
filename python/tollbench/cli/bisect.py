"""`toll bisect`: which commit changed a benchmark?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tollbench.cli.compare import AnyExitCode, Folder, Html, InSandbox, Kind, Read, SandboxShow, Wait
from tollbench.cli.named_files import Force
from tollbench.compare.adapters import AUTO

EXAMPLE = "toll bisect v1.0 HEAD --build 'make bench' --program ./bench --filter sort"

Pattern = Annotated[
    str,
    typer.Option(
        "--filter", metavar="REGEX", help="Only benchmarks that match; the one that changed most is searched."
    ),
]
BuildEach = Annotated[
    str,
    typer.Option(metavar="COMMAND", help="Builds each commit, in its own checkout; @FILE: by commit."),
]
ProgramEach = Annotated[
    str, typer.Option(metavar="PATH", help="What is measured, relative to the checkout, with its words.")
]
Threshold = Annotated[
    float, typer.Option(help="A smaller change from GOOD to BAD is not searched: 0.01 is 1 %.")
]
Probability = Annotated[
    float, typer.Option(help="With which the commit has to be known: the search's posterior.")
]
Budget = Annotated[str, typer.Option(metavar="TIME", help="Most time for launches.")]
TotalBudget = Annotated[
    str,
    typer.Option(
        "--total-budget", metavar="TIME", help="Most time for everything, builds included; else no limit."
    ),
]
FirstParent = Annotated[
    bool,
    typer.Option("--first-parent", help="Search BAD's first parents alone: merges, not what they merged."),
]
Every = Annotated[bool, typer.Option("--all", help="Find every commit that changed it, not one.")]
Count = Annotated[
    str,
    typer.Option(
        "--count", metavar="instructions", help="Search by counted instructions: exact, nothing is timed."
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Go on with a search that was stopped: its file in runs/."),
]


def command(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A revision before the change.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A later revision, with the change.")],
    build: BuildEach,
    program: ProgramEach,
    pattern: Pattern = "",
    threshold: Threshold = 0.01,
    probability: Probability = 0.95,
    budget: Budget = "20m",
    total: TotalBudget = "",
    first_parent: FirstParent = False,
    kind: Kind = AUTO,
    read: Read = "",
    folder: Folder = None,
    sandbox: InSandbox = False,
    sandbox_show: SandboxShow = None,
    any_exit_code: AnyExitCode = False,
    every: Every = False,
    count: Count = "",
    html: Html = None,
    force: Force = False,
    resume: Resume = None,
    seed: Annotated[int | None, typer.Option(help="Of every random choice; drawn anew if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    wait: Wait = False,
) -> None:
    """Find the commit that changed a benchmark, by launches that may err, with a stated probability.

    Exit code: 0 where the commit was found, or GOOD and BAD do not differ; 3 where that is undecided; 2 where
    GOOD or BAD could not be built or measured. 130 after Ctrl-C; what is known is printed.
    """
    from tollbench.cli import comparing, searching
    from tollbench.writing.marks import OF_SEARCH

    pages = comparing.reports(OF_SEARCH, force=force, html=html)
    request = searching.BisectRequest(
        good=good,
        bad=bad,
        build=build,
        program=program,
        pattern=pattern,
        threshold=threshold,
        probability=probability,
        budget_s=comparing.seconds("--budget", budget),
        total_s=comparing.seconds("--total-budget", total) if total else None,
        first_parent=first_parent,
        kind=kind,
        read=read,
        folder=folder,
        any_exit_code=any_exit_code,
        seed=seed,
        resume=resume,
        pages=pages,
        every=every,
        counted=searching.counted(count),
        sandbox=comparing.sandbox_asked(sandbox, sandbox_show, (), folder),
    )
    outcome, error = searching.searched(request, wait=wait)
    searching.show(outcome, pages, as_json=as_json, error=error)
    raise typer.Exit(searching.exit_code(outcome))
