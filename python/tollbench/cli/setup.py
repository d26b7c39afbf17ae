"""`toll setup`: brings libraries, compilers and the toolchains of other languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tollbench.cli.console import say, tell, tell_as_json
from tollbench.errors import TollError

if TYPE_CHECKING:
    from tollbench.catalog.packages import Need

EXAMPLE = "toll setup --languages"
GROUPS = ("build", "library", "language")  # what contenders may need; `toll test` brings its own


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="What to bring, as toll doctor names it; all where none is named."),
    ] = None,
    languages: Annotated[
        bool, typer.Option("--languages", help="Only the toolchains of other languages than C++.")
    ] = False,
    compilers: Annotated[
        bool,
        typer.Option("--compilers", help="Every GCC and Clang on offer here, and what their options take."),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="For programs: [{name, group, purpose, found}]; found is '' where missing or too old.",
        ),
    ] = False,
) -> None:
    """Bring what contenders need from the system: as root or by sudo, else the command to type is printed."""
    from tollbench.building.languages import too_old
    from tollbench.catalog import packages

    asked: set[str] = set()
    for _ in range(2):  # apt may know more once its index is up to date, and a new compiler has wishes too
        needs = _wanted(names or [], languages=languages, compilers=compilers)
        wanted = [need for name, need in _lacking(needs).items() if name not in asked]
        offered, _others = packages.by_offer(wanted)
        if not offered:
            break
        asked |= {need.name for need in offered}
        packages.install(offered, say)
    lacking = _lacking(needs)
    if as_json:
        tell_as_json([_described(need, lacking) for need in needs])
    for need in needs if not as_json else ():
        told = too_old(need) or need.found() or "missing"
        tell(f"  {'-' if need.name in lacking else ' '} {need.name:17} {told}")
    hidden = [place for name, need in lacking.items() if name in asked and (place := need.found())]
    if hidden:
        raise TollError(
            f"installed, but an older one comes first on PATH: {', '.join(hidden)}",
            "bring that one up to date, or take its folder off PATH",
        )
    if lacking:
        what = ", ".join(f"{need.name} ({need.purpose})" for need in lacking.values())
        step = packages.command_for(lacking.values())
        raise TollError(f"no package on offer here brings: {what}", step)


def _lacking(needs: Sequence[Need]) -> dict[str, Need]:
    """Those that are not here, or in a version that will not do, each by its name as what brings it."""
    from tollbench.building.languages import too_old
    from tollbench.catalog.packages import newer

    absent = {need.name: need for need in needs if need.found() is None}
    return absent | {need.name: newer(need) for need in needs if need.name not in absent and too_old(need)}


def _wanted(names: Sequence[str], *, languages: bool, compilers: bool) -> list[Need]:
    from tollbench.catalog.environments import compilers as catalogue

    if languages + compilers + bool(names) > 1:
        raise TollError(
            "--languages, --compilers and names are each a choice of their own", "give one of them"
        )
    if compilers:
        catalogue.installed.cache_clear()
        return list(catalogue.needs())
    return _chosen(names, ("language",) if languages else GROUPS)


def _described(need: Need, lacking: Mapping[str, Need]) -> dict[str, str]:
    found = "" if need.name in lacking else need.found() or ""
    return {"name": need.name, "group": need.group, "purpose": need.purpose, "found": found}


def _chosen(names: Sequence[str], groups: Sequence[str]) -> list[Need]:
    """The needs of these names, or of these groups where none is given. Raises TollError with the nearest."""
    from tollbench.catalog import packages
    from tollbench.catalog.toml_files import nearest

    table = packages.table()
    if not all(name in table for name in names):
        from tollbench.catalog.environments import compilers

        table = table | {need.name: need for need in compilers.needs()}
    for name in names:
        if name not in table:
            close = nearest(name, table)
            step = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(table)}"
            raise TollError(f"toll knows nothing called {name!r} that could be set up", step)
    if names:
        return [table[name] for name in dict.fromkeys(names)]
    return [need for need in table.values() if need.group in groups]
