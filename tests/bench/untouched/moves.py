"""Moves: builds of a program that differ in where code and data lie, and in nothing that runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace

from catalogue import Program
from compiling import Added, Build


@dataclass(frozen=True, slots=True)
class Move:
    """Both builds of it; where there is none for a program, why."""

    name: str
    base: Build
    moved: Build
    why_not: str = ""


def _nops(count: int) -> Callable[[Build], Move]:
    def move(plain: Build) -> Move:
        added = Added("nops.S", (f"-DCOUNT={count}",))
        return Move(f"nops_{count}", plain, replace(plain, added=(added,)))

    return move


def _dead(plain: Build) -> Move:
    return Move("dead_functions", plain, replace(plain, added=(Added("dead.cpp"),)))


def _order(plain: Build) -> Move:
    return Move("order_of_files", plain, replace(plain, backwards=True))


def _path(plain: Build) -> Move:
    """With debug information: without it, the path is in few files."""
    base = replace(plain, flags=("-g",))
    return Move("build_path", base, replace(base, where="elsewhere/in/a/folder/of/another/length"))


def _debug(plain: Build) -> Move:
    return Move("debug_information", plain, replace(plain, flags=("-g",)))


def _sorted(plain: Build) -> Move:
    """GNU's linker sorts sections by name: functions, tables and variables."""
    base = replace(plain, flags=("-ffunction-sections", "-fdata-sections"))
    return Move("sorted_sections", base, replace(base, link=("-Wl,--sort-section=name",)))


def _shuffled(plain: Build) -> Move:
    """Functions, constants and variables, not the table of initialisers: their order is part of a program."""
    base = replace(plain, flags=("-ffunction-sections", "-fdata-sections"), link=("-fuse-ld=lld",))
    shuffled = tuple(f"-Wl,--shuffle-sections={one}*=7" for one in (".text", ".rodata", ".data", ".bss"))
    lacking = "" if shutil.which("ld.lld") else "no ld.lld here"
    own = "the program has a linker of its own" if plain.program.own_linker else ""
    return Move("shuffled_functions", base, replace(base, link=(*base.link, *shuffled)), own or lacking)


MOVES = (_nops(16), _nops(32), _nops(48), _dead, _order, _path, _debug, _sorted, _shuffled)


def moves(program: Program) -> list[Move]:
    return [move(Build(program)) for move in MOVES]
