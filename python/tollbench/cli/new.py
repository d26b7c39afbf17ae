"""`toll new`: the file and the line that a new contender needs, so that it builds and runs at once."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from tollbench import home
from tollbench.cli.console import tell, tell_as_json
from tollbench.errors import TollError

EXAMPLE = "toll new tasks/skynet my_contender"
_WRITABLE = "make the checkout writable, its suites files and folders of its own"
_AGAIN = "the same command writes it again"
# Words that C++ or toll keep for themselves: a file, a target or a type of that name would not build.
RESERVED = frozenset(
    """
    alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const consteval
    constexpr constinit continue decltype default delete do double else enum explicit export extern false
    float for friend goto if inline int long main mutable namespace new noexcept not nullptr operator or
    private protected public register requires return short signed sizeof static std struct switch template
    this throw toll true try typedef typeid typename union unsigned using virtual void volatile while xor
    """.split()  # noqa: SIM905
)


def command(
    workload: Annotated[str, typer.Argument(help="The question to answer: topic/workload.")],
    name: Annotated[str, typer.Argument(help="The new contender: a-z, 0-9 and _.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: {written: [files], next: command}.")
    ] = False,
) -> None:
    """Write a new contender from its workload's template: one file and one line in suite.toml."""
    from tollbench.catalog import suites, toml_files
    from tollbench.cli.places import ROOT, shown_path

    if home.CHECKOUT is None:
        raise TollError(
            f"a contender is written into a checkout of toll, and this toll is installed: {home.PACKAGE}",
            "clone toll's repository and run there: ./toll new " + f"{workload} {name}",
        )
    workloads = {found.name: found for found in suites.load(ROOT)}
    if workload not in workloads:
        close = toml_files.nearest(workload, workloads)
        step = f"did you mean {' or '.join(close)}?" if close else f"workloads: {', '.join(workloads)}"
        raise TollError(f"there is no workload {workload}", step)
    directory = workloads[workload].directory
    taken = {contender.name for contender in workloads[workload].contenders}
    _check(name, taken, directory)
    source = write(directory, name)
    suite, measure = directory / "suite.toml", f"{home.COMMAND} run {workload}/{name}"
    if as_json:
        tell_as_json({"written": [str(source), str(suite)], "next": measure})
        return
    tell(f"wrote {shown_path(source)} and a line in {shown_path(suite)}")
    tell(f"  next: edit the file, then: {measure}")


def write(directory: Path, name: str) -> Path:
    """Writes NAME.cpp from the template and its line into suite.toml's [contenders]; returns the file."""
    from tollbench.writing import Output
    from tollbench.writing.marks import CONTENDER, SUITE

    template = directory / "contender.cpp.template"
    source, suite = directory / f"{name}.cpp", directory / "suite.toml"
    kind = "".join(word.capitalize() for word in name.split("_"))
    if not template.is_file():
        raise TollError(f"{directory} has no {template.name}", "copy a contender beside it, and add its line")
    if os.path.lexists(source):
        raise TollError(f"{source} is there already", "choose another name")
    try:
        text = template.read_text(encoding="utf-8").replace("{{name}}", name).replace("{{Type}}", kind)
        declared = with_line(suite.read_text(encoding="utf-8"), f'{name} = {{ library = "own" }}')
    except OSError as error:
        raise TollError(
            f"cannot read {error.filename}: {error.strerror}", "make the checkout readable"
        ) from None
    Output(source, CONTENDER, "new:", instead=_WRITABLE).write(text, _AGAIN)
    try:
        Output(suite, SUITE, "new:", instead=_WRITABLE).write(declared, _AGAIN)
    except TollError:
        source.unlink(missing_ok=True)  # without its line it would only lie about
        raise
    return source


def with_line(suite: str, line: str) -> str:
    """The text of a suite.toml with `line` as the last entry of its [contenders] table."""
    lines = suite.rstrip("\n").split("\n")
    start = next((i for i, text in enumerate(lines) if re.match(r"\s*\[contenders\]", text)), None)
    if start is None:
        return "\n".join([*lines, "", "[contenders]", line, ""])
    end = next((i for i in range(start + 1, len(lines)) if re.match(r"\s*\[", lines[i])), len(lines))
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], line, *lines[end:], ""])


def _check(name: str, taken: set[str], directory: Path) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > 60:
        raise TollError(
            f"{name!r} cannot name a contender", "use a-z, 0-9 and single _, a letter first: my_contender"
        )
    if name in RESERVED:
        raise TollError(f"{name} is a word of C++ or of toll", f"choose another name: my_{name}")
    if name in taken:
        raise TollError(f"{directory.name} has a contender {name} already", "choose another name")
