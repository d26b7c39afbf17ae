"""Which file of the package imports which, and where that goes round in a circle.

Imports count wherever they stand: also inside functions and for type checkers alone. A file is written as its
path below python/tollbench.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path, PurePosixPath

PACKAGE = Path(__file__).resolve().parents[2] / "python/tollbench"


def sources() -> dict[str, str]:
    """Every file of the package, with its text."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def imported(file: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, module below tollbench) of every import of the package; "" is the package itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [absolute(file, node) + "." + alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name == "tollbench" or name.startswith("tollbench."):
                yield node.lineno, name.removeprefix("tollbench").removeprefix(".")


def absolute(file: str, node: ast.ImportFrom) -> str:
    """The module that `from ... import` names, without leading dots."""
    if not node.level:
        return node.module or ""
    package = ["tollbench", *PurePosixPath(file).parent.parts]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def cycles(files: Mapping[str, str]) -> list[str]:
    """Each circle that files of a package form by their imports: "a.py:3 -> b.py:1 -> a.py"."""
    imports = {file: _files_imported(file, files) for file in sorted(files)}
    found = []
    while circle := _a_circle(imports):
        steps = [f"{file}:{imports[file][after]}" for file, after in pairwise(circle)]
        found.append(" -> ".join([*steps, circle[-1]]))
        del imports[circle[0]][circle[1]]  # the next one is another
    return found


def _a_circle(imports: Mapping[str, Mapping[str, int]]) -> list[str]:
    """One that is left, from a file back to itself; empty without any."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))  # there, each is imported by the next
    return []


def _files_imported(file: str, files: Mapping[str, str]) -> dict[str, int]:
    """The other files that importing this one brings in, with the line."""
    found: dict[str, int] = {}
    for line, name in imported(file, ast.parse(files[file])):
        target = _file_of(name, files)
        for other in [target, *_packages_entered(file, target, files)]:
            if other != file:
                found.setdefault(other, line)
    return found


def _file_of(name: str, files: Mapping[str, str]) -> str:
    """Where a module stands, or whatever is taken from it: "stats.paired.ratio" is in stats/paired.py."""
    path = PurePosixPath(*filter(None, name.split(".")))
    while str(path) != ".":
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if file in files:
                return file
        path = path.parent
    return "__init__.py"


def _packages_entered(file: str, target: str, files: Mapping[str, str]) -> list[str]:
    """The __init__.py that run first when a file is imported from outside their folders.

    Those around both files run before either. They may import what is in them: that is what they are for.
    """
    around = set(PurePosixPath(file).parents)
    entered = [f"{folder}/__init__.py" for folder in PurePosixPath(target).parents if folder not in around]
    return [name for name in entered if name in files]
