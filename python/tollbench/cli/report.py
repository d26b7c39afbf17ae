"""`toll report`: shows a run again, in any of five formats, or a comparison, or several runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tollbench.cli.console import progress, said_lines, say, tell_document
from tollbench.cli.named_files import Force, file_path, files_of_run, lake_place
from tollbench.cli.places import ROOT, found_run, run_path
from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.store.comparison_file import is_comparison
from tollbench.writing import Output, check_outputs
from tollbench.writing.marks import OF_COMPARISON, OF_RUN, OF_SEVERAL

if TYPE_CHECKING:
    from rich.console import Console

    from tollbench.analysis.results import Results
    from tollbench.analysis.several_results import SeveralRuns
    from tollbench.compare import Comparisons
    from tollbench.words import Workload

_PIPE_WIDTH = 100  # of the one screen, where nobody says how wide it is
EXAMPLE = "toll report runs/monday.toll --format html --output monday.html"


class ReportFormat(StrEnum):
    """How a run is shown."""

    TERMINAL = "terminal"
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"
    JUNIT = "junit"


def command(
    run: Annotated[
        str, typer.Argument(help="A run file or a comparison's raw file, or its name in runs/.")
    ] = "",
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="More run files, to stand beside the first; and which tables: topic or topic/workload, * and"
            " ? for anything."
        ),
    ] = None,
    form: Annotated[
        ReportFormat, typer.Option("--format", "-f", help="How to show it; csv: runs, junit: comparisons.")
    ] = ReportFormat.TERMINAL,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", parser=file_path, metavar="FILE", help="Write to this file."),
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option(
            "--lake",
            parser=lake_place,
            metavar="PLACE",
            help="Machines of a lake as columns; names are tables.",
        ),
    ] = None,
    machine: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="With --lake: this machine, by host or identity.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: short for --format json.")] = False,
    force: Force = False,
) -> None:
    """Show a run: tables in the terminal, or HTML, Markdown, JSON (schemas/report.schema.json), CSV.

    Several runs, of machines, compilers or dates, stand beside each other: their ratios, then their times.
    A comparison (the raw file of toll compare) is shown as it was when it was made; exit code 0 all the same.
    """
    form = _asked_for(form, as_json=as_json)
    if lake is not None:
        _report_lake(lake, [*filter(None, [run]), *(names or [])], machine or [], form, output, force=force)
        return
    if not run:
        raise TollError(
            "no run is named", f"name one: {COMMAND} report runs/NAME.toll; or a lake: --lake FOLDER"
        )
    if machine:
        raise TollError("--machine chooses columns of a lake", "add --lake FOLDER")
    paths, tables = _runs_and_tables(run, names or [])
    path = paths[0]
    compared = is_comparison(path)
    what, marks = ("a comparison", OF_COMPARISON) if compared else ("a run", OF_RUN)
    if len(paths) > 1:
        what, marks = "a report of several runs", OF_SEVERAL
        if other := next(filter(is_comparison, paths), None):
            raise TollError(f"{other} is a comparison, and only runs stand beside each other", "leave it out")
    if str(form) not in marks:
        raise TollError(f"{what} is not shown as {form}", f"choose one of: {', '.join(marks)}")
    target = Output(output, marks[form], force=force) if output is not None else None
    if target is not None:
        check_outputs([target], [file for one in paths for file in files_of_run(one)])
    if len(paths) > 1:
        _report_several(paths, tables, form, target)
        return
    if compared:
        if tables:
            raise TollError(f"{run} is a comparison, which has no workloads", "leave the names behind it out")
        from tollbench.compare.stored import StoredComparison

        _report_comparison(StoredComparison.read(path).comparisons, form, target)
        return
    results = analyse(path)
    if tables:
        results = only(results, tables)
    if form is ReportFormat.TERMINAL and target is None:
        show(results)
        return
    _put(_rendered(results, form), target)


def _asked_for(form: ReportFormat, *, as_json: bool) -> ReportFormat:
    if as_json and form not in (ReportFormat.TERMINAL, ReportFormat.JSON):
        raise TollError(f"--json and --format {form} exclude each other", "leave one of them out")
    return ReportFormat.JSON if as_json else form


def _runs_and_tables(run: str, names: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Which further names are run files; the rest name tables."""
    paths, tables = [run_path(run)], []
    for name in names:
        if found_run(name) is not None or Path(name).suffix in (".toll", ".jsonl"):
            paths.append(run_path(name))
        else:
            tables.append(name)
    return paths, tables


def _report_several(
    paths: Sequence[Path], tables: Sequence[str], form: ReportFormat, output: Output | None
) -> None:
    from tollbench.analysis.several import several
    from tollbench.store import RunFile

    with ExitStack() as stack:
        run_files = [stack.enter_context(RunFile.open(path)) for path in paths]
        bar = stack.enter_context(progress("reading", after_s=1.0))
        found = several(run_files, lambda done, total: bar.step(done, total, "launches"))
    if tables:
        wanted = set(_named([table.workload for table in found.tables], tables, "no two of the runs have"))
        kept = [table for table in found.tables if table.workload in wanted]
        found = found.model_copy(update={"tables": kept})
    _put_several(found, form, output)


def _report_lake(
    place: str,
    tables: Sequence[str],
    machines: Sequence[str],
    form: ReportFormat,
    output: Path | None,
    *,
    force: bool,
) -> None:
    from tollbench.lake import lake_report
    from tollbench.lake.lakes import lake_at
    from tollbench.lake.opened_lake import OpenedLake

    if str(form) not in OF_SEVERAL:
        raise TollError(f"a lake is not shown as {form}", f"choose one of: {', '.join(OF_SEVERAL)}")
    target = Output(output, OF_SEVERAL[form], force=force) if output is not None else None
    if target is not None:
        check_outputs([target], [])
    wanted = lake_report.TABLES
    with lake_at(place, say).reading(wanted) as folder, OpenedLake(folder, wanted) as opened:
        found = lake_report.machines_beside(opened, tables, machines)
        for note in opened.notes:
            say(f"note: {note}")
    _put_several(found, form, target)


def _put_several(found: SeveralRuns, form: ReportFormat, output: Output | None) -> None:
    if form is ReportFormat.TERMINAL:
        from tollbench.report.several import several_terminal

        if output is None:
            several_terminal.render(found, console())
        else:
            _put(
                _in_text("toll report: several runs\n", lambda into: several_terminal.render(found, into)),
                output,
            )
        return
    module = importlib.import_module(f"tollbench.report.several.several_{form}")
    _put(module.render(found), output)


def _put(text: str, output: Output | None) -> None:
    if output is None:
        tell_document(text)
    else:
        output.write(text, "the same command makes it again")


def _report_comparison(found: Comparisons, form: ReportFormat, output: Output | None) -> None:
    from tollbench.report.comparisons import comparison_terminal
    from tollbench.report.comparisons.comparison_formats import RENDERERS

    if form is ReportFormat.TERMINAL and output is None:
        comparison_terminal.show(found)
    else:
        _put(RENDERERS[form](found), output)


def analyse(path: Path) -> Results:
    """What the run file at `path` says. Raises TollError for a file that is not a sound run."""
    from tollbench.analysis import results
    from tollbench.store import RunFile

    with RunFile.open(path) as run_file, progress("reading", after_s=1.0) as bar:
        catalogue = _catalogue()
        return results(
            run_file,
            lambda done, total: bar.step(done, total, "launches"),
            [claim for workload in catalogue for claim in workload.claims],
            {workload.name: workload.in_batches for workload in catalogue},
        )


def _catalogue() -> Sequence[Workload]:
    """For what documents conclude, as this checkout has it; a report needs no sound catalogue besides."""
    from tollbench.catalog import suites

    try:
        return suites.load(ROOT)
    except TollError as error:
        say(f"no claims are judged: {error.what}")
        return []


def only(results: Results, names: Sequence[str]) -> Results:
    """The results of the workloads that `names` name. Raises TollError where one names none."""
    from tollbench.analysis.results import about

    wanted = _named([workload.workload for workload in results.workloads], names, "the run has no")
    whole, apart = results.warnings_by_workload()
    changes = {
        "workloads": [one for one in results.workloads if one.workload in wanted],
        "problems": [one for one in results.problems if one.workload in wanted],
        "claims": [one for one in results.claims if one.workload in wanted],
        "warnings": [*whole, *(about(name, each) for name in wanted for each in apart[name])],
    }
    return results.model_copy(update=changes)


def _named(there: Sequence[str], names: Sequence[str], lacking: str) -> set[str]:
    """The workloads that `names` name. Raises TollError where one names none."""
    from tollbench.catalog.toml_files import nearest

    wanted: set[str] = set()
    for name in names:
        found = {one for one in there if fnmatchcase(one, name) or fnmatchcase(one, f"{name}/*")}
        if not found:
            close = nearest(name, there, 1)
            step = (
                f"did you mean {close[0]}?"
                if close
                else f"there are: {', '.join(dict.fromkeys(there)) or '-'}"
            )
            raise TollError(f"{lacking} workload {name}", step)
        wanted |= found
    return wanted


def show(results: Results) -> None:
    """Prints the tables to standard output."""
    from tollbench.report import terminal

    terminal.render(results, console())


def show_answers(results: Results, page: str, run: str) -> None:
    """Prints the one screen that a run ends with; `page` is "" where none was written."""
    from tollbench.report import one_screen

    shown_on = console(None if sys.stdout.isatty() else _PIPE_WIDTH)
    one_screen.render(results, shown_on, page, run, said_lines=said_lines())


def console(width: int | None = None) -> Console:
    """Of standard output."""
    from rich.console import Console

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich itself would exit with 1, which says: a failed check

    return PipedConsole(width=width)


def _rendered(results: Results, form: ReportFormat) -> str:
    if form is ReportFormat.TERMINAL:
        return _as_text(results)
    # Each other format is the module of its name; only this one is imported.
    text: str = importlib.import_module(f"tollbench.report.{form}").render(results)
    return text


def _as_text(results: Results) -> str:
    """The terminal's tables for a file."""
    from tollbench.report import terminal

    return _in_text("toll report: a run\n", lambda into: terminal.render(results, into))


def _in_text(first: str, render: Callable[[Console], None]) -> str:
    """What `render` prints, for a file: no colours, a fixed width, and a first line that says who made it."""
    from io import SEEK_END, StringIO

    from rich.console import Console

    text = StringIO(first)
    text.seek(0, SEEK_END)
    render(Console(file=text, width=110))
    return text.getvalue()
