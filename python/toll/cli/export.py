"""`toll export`: a run's raw replicates for other tools."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toll.cli.places import behind_links, is_special, run_path
from toll.errors import TollError

EXAMPLE = "toll export runs/monday.toll --format parquet"


class Format(StrEnum):
    """What to write."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    GOOGLE_BENCHMARK = "google-benchmark"


def command(
    run: Annotated[str, typer.Argument(help="A run file, or its name in runs/.")],
    form: Annotated[Format, typer.Option("--format", "-f", help="parquet and csv write a folder of tables.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to; beside the run file if not given.")
    ] = None,
) -> None:
    """Export a run: Parquet for DuckDB, Polars or pandas; CSV; JSON; Google Benchmark's JSON."""
    path = run_path(run)
    target = output or path.with_name(f"{path.stem}{_ending(form)}")
    try:
        _complete_or_nothing(behind_links(target), lambda partial: _write(path, form, partial))
    except OSError as error:
        raise TollError(
            f"cannot write {target}: {error.strerror or error}", "name a writable place: --output /tmp/run"
        ) from None
    typer.echo(f"wrote {target}")


def _ending(form: Format) -> str:
    return {
        Format.PARQUET: "-parquet",
        Format.CSV: "-csv",
        Format.JSON: "-data.json",
        Format.GOOGLE_BENCHMARK: "-google-benchmark.json",
    }[form]


def _complete_or_nothing(target: Path, write: Callable[[Path], None]) -> None:
    """Writes beside the target and moves it there at the end; an older export is replaced, a device used."""
    import shutil

    if is_special(target):
        write(target)
        return
    partial = target.with_name(f".{target.name}.partial")
    if target.is_dir() and not all(file.suffix in (".parquet", ".csv") for file in target.iterdir()):
        raise TollError(
            f"{target} is a folder that holds more than an export", "name another: --output FOLDER"
        )
    try:
        write(partial)
        if target.is_dir():
            shutil.rmtree(target)
        partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        partial.unlink(missing_ok=True)


def _write(path: Path, form: Format, target: Path) -> None:
    from toll.store import RunFile

    with RunFile.open(path) as run_file:
        if form in (Format.PARQUET, Format.CSV):
            from toll.export import files

            target.mkdir()
            (files.parquet if form is Format.PARQUET else files.csv)(run_file, target)
        elif form is Format.JSON:
            from toll.export import files

            with target.open("w", encoding="utf-8") as file:
                files.json_document(run_file, file)
        else:
            import json

            from toll.export import google_benchmark

            text = json.dumps(google_benchmark.document(run_file), indent=1)
            target.write_text(text, encoding="utf-8")
