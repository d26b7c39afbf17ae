"""Changes of a link that change nothing of what its program does: what users' edits do to code besides.

Each makes an executable of its own, in which not one instruction of the user's code differs, and which can be
put in layouts as if a build had made it. What a comparison calls different between them is a false alarm.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.linking.layouts import linked_alike
from tollbench.linking.recorded import RecordedLink
from tollbench.linking.relinking import Linkable, cannot, is_of_system, understood

UNMOVED = "linked again"
NOP_BYTES = (16, 32, 48)
_DEAD_FUNCTIONS = 5
_DEAD_BYTES = (20, 400)  # of each, from and to
_ASSEMBLE_LIMIT_S = 30.0
_FIRST_NAME = 1


def moved(
    program: Linkable,
    seed: int,
    *,
    interrupt: Interrupt | None = None,
    on_link: Callable[[str], None] = lambda _move: None,
) -> dict[str, Linkable]:
    """The program by the name of the move that it went through; the first, UNMOVED, went through none.

    The files lie beside the program, with names of equal length: bench.move-03. A move that a link does not
    allow is left out, such as another order of its only object. Raises LaunchFailed, Interrupted.
    """
    link = program.link
    links: dict[str, RecordedLink | None] = {UNMOVED: link}
    for size in NOP_BYTES:
        code = _assembled(program, f"nops-{size}", _nops(size), interrupt)
        links[f"{size} bytes of nops"] = _with_first(link, code)
    code = _assembled(program, "dead", _dead_functions(random.Random(f"{seed} dead functions")), interrupt)
    links["functions that nobody calls"] = _with_first(link, code)
    links["objects in another order"] = _reordered(link, random.Random(f"{seed} order of objects"))
    made = {}
    for number, (move, changed) in enumerate(links.items(), _FIRST_NAME):
        if changed is not None:
            made[move] = _made(program, changed, number, interrupt)
            on_link(move)
    made["functions in another order"] = _in_a_layout(program, seed, len(links) + _FIRST_NAME, interrupt)
    on_link("functions in another order")
    return made


def _made(program: Linkable, link: RecordedLink, number: int, interrupt: Interrupt | None) -> Linkable:
    output = _named(program, number)
    scratch = program.scratch / output.name
    scratch.mkdir(parents=True, exist_ok=True)
    ended = link.run(output, [], scratch, interrupt)
    if ended.exit_code != 0:
        raise cannot(f"its linker {ended.how()}")
    return understood(output, link, scratch, interrupt)


def _in_a_layout(program: Linkable, seed: int, number: int, interrupt: Interrupt | None) -> Linkable:
    """One layout, under the name of a move; in layouts of its own it is what the program is."""
    output = _named(program, number)
    (paths,) = linked_alike([replace(program, executable=output)], 1, seed, interrupt)
    paths[0].replace(output)
    return replace(program, executable=output)


def _named(program: Linkable, number: int) -> Path:
    return program.executable.with_name(f"{program.executable.name}.move-{number:02d}")


def _nops(size: int) -> Sequence[str]:
    return [f".skip {size}, 0x90"]


def _dead_functions(rng: random.Random) -> Sequence[str]:
    sizes = [rng.randint(*_DEAD_BYTES) for _ in range(_DEAD_FUNCTIONS)]
    return [
        line
        for number, size in enumerate(sizes)
        for line in (
            ".balign 16",
            f".type toll_dead_{number}, %function",
            f"toll_dead_{number}:",
            f".skip {size}, 0x90",
            f".size toll_dead_{number}, {size}",
        )
    ]


def _assembled(program: Linkable, name: str, lines: Sequence[str], interrupt: Interrupt | None) -> str:
    """An object with code that the linker keeps, though nobody refers to it."""
    folder = program.scratch / "moves"
    folder.mkdir(exist_ok=True)
    source, made = folder / f"{name}.s", folder / f"{name}.o"
    head = ['.section .text,"axR",%progbits', ".balign 16"]  # R: --gc-sections leaves it
    tail = ['.section .note.GNU-stack,"",%progbits', ""]
    source.write_text("\n".join([*head, *lines, *tail]), encoding="utf-8")
    search = program.link.environment.get("PATH", os.defpath)
    found = (shutil.which(tool, path=search) for tool in ("as", "gcc", "clang", "cc"))
    assembler = next(filter(None, found), None)
    if assembler is None:
        raise cannot("there is no assembler (as) in PATH; install binutils")
    more = [] if Path(assembler).name == "as" else ["-c"]
    command = [assembler, *more, str(source), "-o", str(made)]
    ended = run_command(command, program.link.environment, folder, _ASSEMBLE_LIMIT_S, interrupt)
    if ended.exit_code != 0:
        raise LaunchFailed(f"cannot be moved: {assembler} {ended.how()}")
    return str(made)


def _objects(link: RecordedLink) -> list[int]:
    """Where the user's own objects stand among the arguments."""
    return [
        place
        for place, word in enumerate(link.arguments)
        if word in link.inputs and word.endswith(".o") and not is_of_system(str(Path(link.folder, word)))
    ]


def _with_first(link: RecordedLink, code: str) -> RecordedLink | None:
    """The link with one object more, before the user's first."""
    places = _objects(link)
    if not places:
        return None
    arguments = list(link.arguments)
    arguments.insert(places[0], code)
    return replace(link, arguments=arguments)


def _reordered(link: RecordedLink, rng: random.Random) -> RecordedLink | None:
    """The same objects at each other's places; archives stay, whose order says who may need whom."""
    places = _objects(link)
    if len(places) < 2:
        return None
    words = [link.arguments[place] for place in places]
    shuffled = rng.sample(words, len(words))
    if shuffled == words:
        shuffled.reverse()
    arguments = list(link.arguments)
    for place, word in zip(places, shuffled, strict=True):
        arguments[place] = word
    return replace(link, arguments=arguments)
