"""`toll why`: which functions a change of a benchmark began in."""

from __future__ import annotations

from typing import Annotated

import typer

from tollbench.cli.compare import (
    AnyExitCode,
    Build,
    Folder,
    Html,
    InSandbox,
    Kind,
    Markdown,
    Program,
    SandboxShow,
)
from tollbench.cli.named_files import Force
from tollbench.compare.adapters import AUTO

EXAMPLE = "toll why ./bench_old ./bench_new --filter sort"


def command(
    sides: Annotated[
        list[str],
        typer.Argument(
            metavar="A B",
            help="Executables, command lines in quotes, or with --build git revisions.",
        ),
    ],
    kind: Kind = AUTO,
    pattern: Annotated[
        str, typer.Option("--filter", metavar="REGEX", help="Explain only benchmarks that match.")
    ] = "",
    limit: Annotated[
        str, typer.Option(metavar="TIME", help="Most time for one launch, which Valgrind makes slow.")
    ] = "60s",
    build: Build = "",
    program: Program = "",
    folder: Folder = None,
    sandbox: InSandbox = False,
    sandbox_show: SandboxShow = None,
    any_exit_code: AnyExitCode = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    html: Html = None,
    markdown: Markdown = None,
    force: Force = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for another run on this machine to end.")
    ] = False,
) -> None:
    """Name the functions that a benchmark's change began in: instructions, calls, allocations, misses.

    Nothing is timed: counts and misses are Valgrind's. Exit code: 2 where a benchmark could not be explained,
    else 0.
    """
    from tollbench.cli import comparing, comparing_sides, reasons
    from tollbench.writing.marks import OF_EXPLANATION

    files = comparing.reports(OF_EXPLANATION, force=force, html=html, markdown=markdown)
    request = comparing_sides.ComparisonRequest(
        sides=tuple(sides),
        kind=kind,
        budget_s=(limit_s := comparing.seconds("--limit", limit)),
        total_s=max(600.0, limit_s),
        threshold=0.01,
        level=0.95,
        pattern=pattern,
        confirm=False,
        build=build,
        program=program,
        layouts=0,
        environments=(),
        folder=folder,
        any_exit_code=any_exit_code,
        seed=1,
        raw=None,
        measure_all=False,
        sandbox=comparing.sandbox_asked(sandbox, sandbox_show, sides, folder),
    )
    comparing.check_places(request, files.values())
    found, refused = reasons.explained(request, wait=wait)
    reasons.show(found, files, as_json=as_json, error=refused)
    raise typer.Exit(reasons.exit_code(found))
