"""`toll env`: where programs can be built and run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

EXAMPLE = "toll env list --json"

app = typer.Typer(help="Where programs can be run: the host, and allocators preloaded.", no_args_is_help=True)


@app.command("list", epilog=f"Example: {EXAMPLE}")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="For programs: schemas/env.schema.json.")] = False,
) -> None:
    """Every environment, what it is made of, and why one cannot be used here. Choose with toll run --env."""
    rows = _rows()
    if as_json:
        import json

        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        _print(rows)


def _rows() -> list[dict[str, Any]]:
    from toll import build
    from toll.catalog import environments
    from toll.cli.places import build_folder

    rows = []
    for offered in environments.OFFERED:
        # One build serves them all: they differ in what is preloaded.
        found = build.described(build_folder("host"), environments.located(offered))
        rows.append(
            {
                "name": found.name,
                "compiler": found.compiler,
                "compiler_version": found.compiler_version,
                "standard_library": found.standard_library,
                "flags": found.flags,
                "allocator": found.allocator,
                "preload": list(found.preload),
                "languages": list(found.languages),
                "available": not found.unavailable,
                "reason": found.unavailable,
            }
        )
    return rows


def _print(rows: list[dict[str, Any]]) -> None:
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        mark = " " if row["available"] else "-"
        for_whom = f" (for {' and '.join(row['languages'])})" if row["languages"] else ""
        typer.echo(f"{mark} {row['name']:{width}}  {row['reason'] or row['allocator'] + for_whom}")
    host = rows[0]
    built = " ".join(filter(None, (host["compiler"], host["compiler_version"])))
    if built:
        typer.echo(f"\nBuilt with {built}, {host['standard_library']}, {host['flags']}")
    else:
        typer.echo("\nNothing is built yet; the first toll run finds the compiler.")
