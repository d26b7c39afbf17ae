"""`toll export`: a run's raw replicates for other tools."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tollbench.cli.console import Progress, progress, tell, tell_as_json
from tollbench.cli.named_files import Force, any_path, file_path, files_of_run
from tollbench.cli.places import run_path
from tollbench.errors import TollError
from tollbench.writing import Output, alone, check_outputs
from tollbench.writing.marks import OF_EXPORT

if TYPE_CHECKING:
    from tollbench.export.files import WrittenFile

EXAMPLE = "toll export runs/monday.toll --format parquet"


class ExportFormat(StrEnum):
    """What to write."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    GOOGLE_BENCHMARK = "google-benchmark"


_IN_A_FOLDER = (ExportFormat.PARQUET, ExportFormat.CSV)


def command(
    run: Annotated[str, typer.Argument(help="A run file, or its name in runs/.")],
    form: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="parquet and csv write a folder of tables.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            help="A file, or for parquet and csv a folder, which is added to; beside the run if not given.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: {written: [{table, path, rows}]}.")
    ] = False,
    force: Force = False,
) -> None:
    """Export a run: Parquet for DuckDB, Polars or pandas; CSV; JSON; Google Benchmark's JSON."""
    path = run_path(run)
    target = path.with_name(f"{path.stem}{_ending(form)}")
    if output is not None:
        target = (any_path if form in _IN_A_FOLDER else file_path)(output)
    new = not os.path.lexists(target)
    outputs = _outputs(target, form, force=force)
    try:
        check_outputs(outputs, files_of_run(path))
        with progress("exporting", after_s=1.0) as bar, ExitStack() as stack:
            if form in _IN_A_FOLDER:
                with suppress(OSError):  # a folder that is not to be read: then without
                    stack.enter_context(alone(target.resolve()))  # the tables of one export, not of two
            written = _write(path, form, outputs, bar)
    except BaseException:
        if new:
            with suppress(OSError):  # only where it is a folder, and empty
                target.rmdir()
        raise
    if as_json:
        rows = [{"table": one.table, "path": str(one.path), "rows": one.rows} for one in written]
        tell_as_json({"written": rows})
    else:
        tell(f"wrote {target}")


def _outputs(target: Path, form: ExportFormat, *, force: bool) -> list[Output]:
    """The one file, or the tables of a folder, which is made where it is not there. Raises TollError."""
    from tollbench.export import files

    if form not in _IN_A_FOLDER:
        return [Output(target, OF_EXPORT[form], force=force)]
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        what = (
            "something else has that name"
            if isinstance(error, FileExistsError)
            else error.strerror or str(error)
        )
        raise TollError(
            f"--output {target} cannot be a folder: {what}", "name another place: --output FOLDER"
        ) from None
    return files.table_outputs(target, form, force=force)


def _ending(form: ExportFormat) -> str:
    return {
        ExportFormat.PARQUET: "-parquet",
        ExportFormat.CSV: "-csv",
        ExportFormat.JSON: "-data.json",
        ExportFormat.GOOGLE_BENCHMARK: "-google-benchmark.json",
    }[form]


def _write(path: Path, form: ExportFormat, outputs: Sequence[Output], bar: Progress) -> list[WrittenFile]:
    """Raises TollError; what stood there stands then."""
    from tollbench.export import as_google_benchmark as google_benchmark
    from tollbench.export import files
    from tollbench.store import RunFile

    with RunFile.open(path) as run_file:
        done, total = itertools.count(1), files.record_batches(run_file)

        def on_batch(table: str) -> None:
            bar.step(next(done), total, table)

        if form in _IN_A_FOLDER:
            return (files.parquet if form is ExportFormat.PARQUET else files.csv)(run_file, outputs, on_batch)
        (output,) = outputs
        if form is ExportFormat.JSON:
            with output.opened() as file:
                return files.json_document(run_file, file, output.path, on_batch)
        document = google_benchmark.document(run_file, bar.step)
        output.write(json.dumps(document, indent=1), "the same command makes it again")
        return [files.WrittenFile("benchmarks", output.path, len(document["benchmarks"]))]
