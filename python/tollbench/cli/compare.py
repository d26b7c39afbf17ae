"""`toll compare`: is B slower than A, and how do you know?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tollbench.cli.named_files import Force, file_path
from tollbench.compare.adapters import AUTO, adapters
from tollbench.compare.around import Around
from tollbench.compare.subject import Until
from tollbench.words import CountBy

EXAMPLE = "toll compare ./bench_old ./bench_new --budget 20s"


Kind = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join([AUTO, *adapters()])}]", help="What the sides are, where it cannot be seen."
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Where the sides run. Without it: command lines here, executables in a fresh folder.",
        file_okay=False,
        exists=True,
    ),
]
Total = Annotated[
    str,
    typer.Option(
        "--total-budget",
        metavar="TIME",
        help="Most time for all benchmarks together, --confirm included.",
    ),
]
Until_ = Annotated[
    Until,
    typer.Option(
        "--until",
        help="What ends a benchmark within its budget. estimate: how large a difference is, to a tenth of it"
        " or to --threshold. direction: its sign, or that it does not matter, which is known sooner."
        " threshold: whether it lies beyond --threshold or within, which takes long near it.",
    ),
]
Threshold = Annotated[float, typer.Option(help="Exit code 1 only for what is slower by more: 0.01 is 1 %.")]
Pattern = Annotated[
    str, typer.Option("--filter", metavar="REGEX", help="Compare only benchmarks that match.")
]
ShareOf = Annotated[
    str,
    typer.Option(
        "--share",
        metavar="I/N",
        help="Compare only the I-th of N equal parts of the benchmarks: N machines share them. Intervals are"
        " those of a table of this part: --level 0.99 for five parts of a table at 0.95.",
    ),
]
Confirm = Annotated[
    bool,
    typer.Option(
        "--confirm",
        help="Measure again, 20 s later, what two thirds of the total budget found to differ. Where"
        " that is short, what was found in 98 % is found in half of all comparisons.",
    ),
]
Layouts = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="With --build: link each side N times, its functions elsewhere each time, so that the answer is"
        " about the change and not about where the linker put things; 16 is a good start. Of C++ contenders"
        " likewise.",
    ),
]
Raw = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", parser=file_path, help="Keeps every launch; runs/compare-DATE.jsonl if not given."
    ),
]


Count = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Count too, exactly: instructions,allocations,bytes,peak,syscalls,size.",
    ),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="RULE",
        help="Exit code 1 where a count breaks it: 'instructions>+1%', 'allocations>+0'. Several times.",
    ),
]
CountOnly = Annotated[
    bool, typer.Option("--count-only", help="Count and time nothing; everything, without --count.")
]
CountedBy = Annotated[
    CountBy,
    typer.Option(
        "--count-by", help="Who counts instructions; auto: the hardware where it is granted, else Valgrind."
    ),
]
SaveBaseline = Annotated[
    Path | None,
    typer.Option(
        "--save-baseline",
        metavar="FILE",
        parser=file_path,
        help="Keep the last side's counts; one side is enough.",
    ),
]
Baseline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Compare the one side's counts with those kept there.")
]
MeasureAll = Annotated[
    bool, typer.Option("--measure-all", help="Time also what executes the same code on both sides.")
]
Turns = Annotated[
    bool,
    typer.Option(
        "--turns", help="Google Benchmark: both sides alive, in turns of 4 ms, where that tells more."
    ),
]
AnyExitCode = Annotated[
    bool,
    typer.Option(
        "--any-exit-code", help="Command lines, --read and Catch2 may end with a code other than 0."
    ),
]
Envs = Annotated[str, typer.Option("--env", metavar="A,B", help="Compare one thing in these environments.")]
Values = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of contenders (toll list); several times."),
]
AllPairs = Annotated[
    bool, typer.Option("--all-pairs", help="Judge each side against each other one, not only the first.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for another run on this machine to end.")]
Read = Annotated[
    str,
    typer.Option(
        metavar="FORM:NAME,TIME,UNIT",
        help="Compare times that the sides print as JSON or CSV: 'json:name,stats.median,us', csv:name,ns.",
    ),
]
Setup = Annotated[
    list[str] | None,
    typer.Option(metavar="COMMAND", help="Before the first launch; once for all sides, or once a side."),
]
Prepare = Annotated[
    list[str] | None, typer.Option(metavar="COMMAND", help="Before each launch; once, or once a side.")
]
Conclude = Annotated[
    list[str] | None, typer.Option(metavar="COMMAND", help="After each launch; once, or once a side.")
]
Cleanup = Annotated[
    list[str] | None, typer.Option(metavar="COMMAND", help="After all launches; once, or once a side.")
]
Why = Annotated[
    bool, typer.Option("--why", help="Name the functions that differences beyond the threshold began in.")
]
Html = Annotated[Path | None, typer.Option(metavar="FILE", parser=file_path, help="Write a page.")]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", parser=file_path, help="For a pull-request comment.")
]
Junit = Annotated[
    Path | None, typer.Option(metavar="FILE", parser=file_path, help="JUnit XML for CI systems.")
]
Build = Annotated[
    str, typer.Option(metavar="COMMAND", help="The sides are git revisions, each built by this command.")
]
Program = Annotated[
    str, typer.Option(metavar="PATH", help="With --build: what is compared, relative to the checkout.")
]

InSandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        help="Programs and --build run in a sandbox (bubblewrap): files read-only, home hidden, no network.",
    ),
]
SandboxShow = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PATH",
        help="With --sandbox: a folder of a hidden place that programs may read; several times.",
        exists=True,
    ),
]

Sides = Annotated[
    list[str],
    typer.Argument(
        metavar="A B [C ...]",
        help="Executables, command lines in quotes, contenders of the catalogue (toll list), or with --build"
        " git revisions; one with --env A,B.",
    ),
]


def command(
    sides: Sides,
    kind: Kind = AUTO,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Most time for one benchmark.")] = "60s",
    total: Total = "10m",
    threshold: Threshold = 0.01,
    level: Annotated[float, typer.Option(help="With which all intervals of the table hold together.")] = 0.95,
    pattern: Pattern = "",
    share: ShareOf = "",
    until: Until_ = Until.ESTIMATE,
    confirm: Confirm = False,
    all_pairs: AllPairs = False,
    build: Build = "",
    program: Program = "",
    layouts: Layouts = 0,
    envs: Envs = "",
    values: Values = None,
    folder: Folder = None,
    sandbox: InSandbox = False,
    sandbox_show: SandboxShow = None,
    measure_all: MeasureAll = False,
    turns: Turns = False,
    any_exit_code: AnyExitCode = False,
    read: Read = "",
    setup: Setup = None,
    prepare: Prepare = None,
    conclude: Conclude = None,
    cleanup: Cleanup = None,
    seed: Annotated[int | None, typer.Option(help="Of every random choice; drawn anew if not given.")] = None,
    why: Why = False,
    count: Count = "",
    count_only: CountOnly = False,
    count_by: CountedBy = CountBy.AUTO,
    fail_on: FailOn = None,
    save_baseline: SaveBaseline = None,
    baseline: Baseline = None,
    raw: Raw = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    html: Html = None,
    markdown: Markdown = None,
    junit: Junit = None,
    wait: Wait = False,
) -> None:
    """Compare two sides or more, launched in alternation: slower, faster, or no difference larger than x %.

    Exit code: 1 for a regression beyond --threshold or a count that breaks --fail-on, else 2 where something
    failed, else 3 where something is inconclusive, else 0. 130 after Ctrl-C; what is known is printed.
    """
    from tollbench.cli import comparing, comparing_sides

    files = comparing.reports(force=force, html=html, markdown=markdown, junit=junit)
    request = comparing_sides.ComparisonRequest(
        sides=tuple(sides), kind=kind, folder=folder, build=build, program=program, layouts=layouts,
        threshold=threshold, level=level, pattern=pattern, until=until, confirm=confirm, all_pairs=all_pairs,
        any_exit_code=any_exit_code, seed=seed, measure_all=measure_all, turns=turns, why=why, read=read,
        budget_s=comparing.seconds("--budget", budget),
        total_s=comparing.seconds("--total-budget", total),
        environments=tuple(filter(None, envs.split(","))),
        raw=comparing.raw_path(raw, "compare"),
        values=tuple(values or ()),
        share=comparing.share_of(share),
        sandbox=comparing.sandbox_asked(sandbox, sandbox_show, sides, folder),
        around=Around(*map(tuple, (setup or (), prepare or (), conclude or (), cleanup or ()))),
        counts=comparing.count_request(
            count, count_by, fail_on, only=count_only, save=save_baseline, baseline=baseline, force=force
        ),
    )  # fmt: skip
    raise typer.Exit(comparing.measured_and_shown(request, files, wait=wait, as_json=as_json))
