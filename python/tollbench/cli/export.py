"""`toll export`: a run's raw replicates for other tools."""

from __future__ import annotations

import itertools
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tollbench.cli.console import Progress, progress
from tollbench.cli.places import run_path
from tollbench.errors import TollError

if TYPE_CHECKING:
    from tollbench.export.files import WrittenFile

EXAMPLE = "toll export runs/monday.toll --format parquet"


class ExportFormat(StrEnum):
    """What to write."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    GOOGLE_BENCHMARK = "google-benchmark"


def command(
    run: Annotated[str, typer.Argument(help="A run file, or its name in runs/.")],
    form: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="parquet and csv write a folder of tables.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to; beside the run file if not given.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: {written: [{table, path, rows}]}.")
    ] = False,
) -> None:
    """Export a run: Parquet for DuckDB, Polars or pandas; CSV; JSON; Google Benchmark's JSON."""
    from tollbench.store.writing import replacing

    path = run_path(run)
    target = output or path.with_name(f"{path.stem}{_ending(form)}")
    try:
        if target.is_dir() and not all(file.suffix in (".parquet", ".csv") for file in target.iterdir()):
            raise TollError(
                f"{target} is a folder that holds more than an export", "name another: --output FOLDER"
            )
        with replacing(target, or_folder=True) as place, progress("exporting", after_s=1.0) as bar:
            written = _write(path, form, place, bar)
    except OSError as error:
        raise TollError(
            f"cannot write {target}: {error.strerror or error}", "name a writable place: --output /tmp/run"
        ) from None
    if as_json:
        folder = form in (
            ExportFormat.PARQUET,
            ExportFormat.CSV,
        )  # they were written beside it, and moved there
        rows = [
            {"table": one.table, "path": str(target / one.path.name if folder else target), "rows": one.rows}
            for one in written
        ]
        typer.echo(json.dumps({"written": rows}, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"wrote {target}")


def _ending(form: ExportFormat) -> str:
    return {
        ExportFormat.PARQUET: "-parquet",
        ExportFormat.CSV: "-csv",
        ExportFormat.JSON: "-data.json",
        ExportFormat.GOOGLE_BENCHMARK: "-google-benchmark.json",
    }[form]


def _write(path: Path, form: ExportFormat, target: Path, bar: Progress) -> list[WrittenFile]:
    from tollbench.export import as_google_benchmark as google_benchmark
    from tollbench.export import files
    from tollbench.store import RunFile

    with RunFile.open(path) as run_file:
        if form is ExportFormat.GOOGLE_BENCHMARK:
            document = google_benchmark.document(run_file, bar.step)
            target.write_text(json.dumps(document, indent=1), encoding="utf-8")
            return [files.WrittenFile("benchmarks", target, len(document["benchmarks"]))]
        done, total = itertools.count(1), files.record_batches(run_file)

        def on_batch(table: str) -> None:
            bar.step(next(done), total, table)

        if form is ExportFormat.JSON:
            with target.open("w", encoding="utf-8") as file:
                return files.json_document(run_file, file, target, on_batch)
        target.mkdir()
        return (files.parquet if form is ExportFormat.PARQUET else files.csv)(run_file, target, on_batch)
