"""`toll env`: where programs can be built and run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tollbench.cli.console import tell, tell_as_json
from tollbench.text import enumerated

if TYPE_CHECKING:
    from collections.abc import Callable

    from tollbench.catalog.environments.roots import Root
    from tollbench.words import Environment

EXAMPLE = "toll env list --json"
NAMING = """
A compiler's name takes options, in any order, and an allocator: gcc-12-O3-native, clang-19-libc++-lto,
gcc-12+tcmalloc. Bring compilers with: toll setup --compilers; newer ones with: toll env add debian-testing,
whose names are like debian-testing:gcc-16. Measure with: toll run NAME --env NAME,NAME"""

app = typer.Typer(
    help="Where programs are built and run: the host, compilers and flags, allocators preloaded, roots.",
    no_args_is_help=True,
)


@app.command("list", epilog=f"Example: {EXAMPLE}")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="For programs: schemas/env.schema.json.")] = False,
) -> None:
    """Every environment, what it is made of, and why one cannot be used here. Choose with toll run --env."""
    from tollbench.catalog import environments
    from tollbench.catalog.environments import compilers
    from tollbench.cli.console import progress

    named = [_described(environments.located(item)) for item in environments.OFFERED]
    with progress("trying compilers", after_s=1.0) as bar:
        compiled = list(compilers.listed(bar.step))
        inside = [environments.located(environments.named(name)) for name in compilers.in_all_roots()]
    if as_json:
        rows = [_row(item) for item in (*named, *compiled, *inside)]
        tell_as_json(rows)
    else:
        _print(named)
        _print_compilers(compiled)
        _print_in_roots(inside)
        tell(NAMING)


@app.command("add", epilog="Example: toll env add debian13")
def add(
    name: Annotated[str, typer.Argument(help="The root to make: debian13 or debian-testing.")],
    mirror: Annotated[
        str, typer.Option(metavar="URI", help="Debian mirror; the one that apt uses here if not given.")
    ] = "",
    versions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="made.json of a root: the same packages in the same versions."),
    ] = None,
) -> None:
    """Make a root: a small Debian in your cache, for what this release lacks. Takes some minutes."""
    from tollbench.building import making_roots as making
    from tollbench.catalog import packages
    from tollbench.catalog.environments import roots
    from tollbench.cli.console import progress, say

    root = _root(name)
    these = making.versions_of(versions, root) if versions else None
    if wanted := packages.missing([packages.table()["mmdebstrap"]]):
        packages.install(wanted, say)
    with progress(f"making {root.title}") as bar:
        steps = _Steps(bar.step)
        made = making.make(root, mirror=mirror, versions=these, on_line=steps.heard)
    what = "made" if made else "is there already"
    tell(f"{name} {what}: {making.size_bytes(name) / 1e9:.1f} GB in {_place(name)}")
    tell(f"its packages and their versions: {_place(name) / roots.MADE}")


@app.command("remove", epilog="Example: toll env remove debian13")
def remove(name: Annotated[str, typer.Argument(help="The root to remove.")]) -> None:
    """Remove a root, and nothing else."""
    from tollbench.building import making_roots as making

    gone = making.remove(_root(name).name)
    tell(f"{name} removed" if gone else f"{name} was not there: {_place(name)}")


class _Steps:
    """How far mmdebstrap is, by its own words."""

    LINES = ("apt-get update", "downloading", "extracting", "essential", "remaining", "cleaning", "creating")

    def __init__(self, step: Callable[[float, float, str], None]) -> None:
        self._step = step

    def heard(self, line: str) -> None:
        """A line that it printed."""
        for number, words in enumerate(self.LINES):
            if line.startswith("I: ") and words in line:
                self._step(number + 1, len(self.LINES) + 1, line.removeprefix("I: "))


def _root(name: str) -> Root:
    from tollbench.catalog.environments import roots
    from tollbench.errors import TollError

    if name not in roots.NAMES:
        raise TollError(
            f"there is no root {name!r}",
            f"there are: {', '.join(roots.NAMES)}; compilers come with: toll setup --compilers",
        )
    return roots.recipe(name)


def _place(name: str) -> Path:
    from tollbench.catalog.environments import roots

    return roots.place(name)


def _described(environment: Environment) -> Environment:
    """What CMake found, once there is a build."""
    from tollbench import building
    from tollbench.cli.places import build_folder

    return building.described(build_folder(environment.toolset.folder), environment)


def _row(environment: Environment) -> dict[str, Any]:
    return {
        "name": environment.name,
        "compiler": environment.compiler,
        "compiler_version": environment.compiler_version,
        "standard_library": environment.standard_library,
        "flags": environment.flags,
        "allocator": environment.allocator,
        "preload": list(environment.preload),
        "glibc_tunables": list(environment.glibc_tunables),
        "root": environment.root,
        "languages": list(environment.languages),
        "available": not environment.unavailable,
        "reason": environment.unavailable,
    }


def _print(rows: list[Environment]) -> None:
    """Those with a name of their own: one build serves them all."""
    width = max(len(row.name) for row in rows)
    for row in rows:
        for_whom = f" (for {enumerated(row.languages)})" if row.languages else ""
        _line(row, width, (row.flags if row.toolset.tuned else row.allocator) + for_whom)
    host = rows[0]
    built = " ".join(filter(None, (host.compiler, host.compiler_version)))
    if built:
        tell(f"Built with {built}, {host.standard_library}, {host.flags}")
    else:
        tell("Nothing is built yet; the first toll run finds the compiler.")


def _print_compilers(rows: list[Environment]) -> None:
    """A line a compiler with the options that work with it, then the options that do not."""
    from tollbench.catalog.environments.names import LIBCXX, taken_apart

    def is_plain(row: Environment) -> bool:
        return all(option.name == LIBCXX for option in taken_apart(row.name).options)

    tell("\nCompilers, -O2 where nothing else is said")
    plain = [row for row in rows if is_plain(row) and row.name != "host"]
    width = max((len(row.name) for row in rows), default=0)
    for row in plain:
        options = [option[len(row.name) :] for option in _with_options(row.name, rows)]
        made_of = f"{row.compiler} {row.compiler_version}, {row.standard_library}"
        _line(row, width, f"{made_of}; also {' '.join(options)}" if options else made_of)
    options = [option[len("host") :] for option in _with_options("host", rows)]
    tell(f"  {'host':{width}}  its compiler; also {' '.join(options)}")
    for row in rows:
        if row not in plain and row.unavailable:
            _line(row, width, "")


def _print_in_roots(rows: list[Environment]) -> None:
    """A line a compiler."""
    width = max((len(row.name) for row in rows), default=0)
    if rows:
        tell("\nCompilers in roots; their options as above, without -lto and -m32")
    for row in rows:
        _line(row, width, f"{row.compiler} {row.compiler_version}, {row.standard_library}")


def _with_options(plain: str, rows: list[Environment]) -> list[str]:
    """The names of those that work and add options to `plain`, but not another standard library."""
    return [
        row.name
        for row in rows
        if row.name.startswith(f"{plain}-")
        and not row.unavailable
        and ("-libc++" in row.name) == ("-libc++" in plain)
    ]


def _line(row: Environment, width: int, what: str) -> None:
    mark = "-" if row.unavailable else " "
    tell(f"{mark} {row.name:{width}}  {row.unavailable or what}".rstrip())
