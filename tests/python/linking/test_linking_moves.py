"""Moves that change nothing: their files differ, their layouts do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from wrapped_builds import NAMES, addresses, build, printed, section_of, sections, write_sources

from tollbench.linking.layouts import linked_alike
from tollbench.linking.no_op_moves import UNMOVED, moved
from tollbench.linking.programs import read_program
from tollbench.linking.relinking import Linkable, linkable

SEED = 3


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Linkable:
    folder = tmp_path_factory.mktemp("moves") / "c"
    write_sources(folder)
    return linkable(build(folder, "g++ -O2 main.cpp work.cpp -o bench -Wl,--gc-sections"), folder / "bench")


@pytest.fixture(scope="module")
def moves(program: Linkable) -> dict[str, Linkable]:
    return moved(program, SEED)


def test_each_move_makes_another_file_of_the_same_program(
    program: Linkable, moves: dict[str, Linkable]
) -> None:
    assert len(moves) == 7
    assert read_program(moves[UNMOVED].executable).content == read_program(program.executable).content
    files = {read_program(made.executable).content for made in moves.values()}
    assert len(files) == len(moves)
    assert {printed(made.executable) for made in moves.values()} == {printed(program.executable)}
    assert {made.executable.parent for made in moves.values()} == {program.executable.parent}
    assert len({len(made.executable.name) for made in moves.values()}) == 1


def test_each_move_moves_functions(moves: dict[str, Linkable]) -> None:
    def order_and_start(made: Linkable) -> tuple[list[str], int]:
        where = {section.name: section.address for section in sections(made, Path("base"))}
        functions = [section_of(name) for name in NAMES]
        return sorted(functions, key=where.__getitem__), where[functions[0]]

    seen = {move: order_and_start(made) for move, made in moves.items()}
    start = seen[UNMOVED][1]
    assert seen["16 bytes of nops"][1] == start + 16
    assert seen["48 bytes of nops"][1] == start + 48
    assert seen["functions that nobody calls"][1] > start + 100
    assert seen["objects in another order"][1] != start


def test_in_layouts_they_are_one_program_again(moves: dict[str, Linkable]) -> None:
    sides = list(moves.values())
    made = linked_alike(sides, 2, SEED)
    for layout in zip(*made, strict=True):
        places = [addresses(side, path) for side, path in zip(sides, layout, strict=True)]
        for place in places:
            assert {key: place[key] for key in places[0]} == places[0]


def test_a_link_of_one_object_has_no_other_order(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int f(int x) { return x; }\nint main(int c, char **v) { return f(c); }")
    program = linkable(build(tmp_path, "gcc main.c -o bench"), tmp_path / "bench")
    assert "objects in another order" not in moved(program, SEED)
