"""Initialisers in another order of files: all one, unless they touch or ask for something in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import compiled, differences, match

SHAPES = """
struct Shape { virtual int area() { return 3; } virtual ~Shape() = default; };
struct Square : Shape { int area() override { return 4; } };
Shape* shape = new Square;
"""
TREE = """
#include <map>
std::map<int, int> numbers{{3, 1}, {1, 2}, {2, 3}};
"""
RANDOM = TREE + "#include <cstdlib>\nint drawn = std::rand();\n"  # nobody knows what that touches
# Each calls a virtual function, or one by its address: of their own, or with the same variable in it.
VIRTUAL = """
extern int COUNT;
namespace {
struct Counting { virtual int next() { return COUNT++; } };
Counting* volatile counting = new Counting;
int drawn = counting->next();
}
int NAME() { return drawn; }
"""
BY_ADDRESS = """
extern int COUNT;
namespace {
int next() { return COUNT++; }
int (*volatile counting)() = next;
int drawn = counting();
}
int NAME() { return drawn; }
"""
# With variables that have no place in the executable: a library's, copied to it, or one for each thread.
OF_A_LIBRARY = """
#include <unistd.h>
namespace { int drawn = VARIABLE = VARIABLE * 10 + NUMBER; }
int NAME() { return drawn; }
"""
OF_A_THREAD = """
extern __thread int first_of_thread, second_of_thread;
namespace { int drawn = VARIABLE = VARIABLE * 10 + NUMBER; }
int NAME() { return drawn; }
"""
MAIN = "int first_count, second_count;\n__thread int first_of_thread, second_of_thread;\nint main() {}\n"


def in_order(folder: Path, *files: tuple[str, str]) -> Path:
    """A program of these files, each with its name, in this order."""
    folder.mkdir(parents=True)
    for name, text in files:
        (folder / name).write_text(text)
    return compiled(folder, "p", MAIN, first=[str(folder / name) for name, _ in files])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (SHAPES, TREE, True),
        (SHAPES, RANDOM, False),
        *(
            (text.replace("NAME", "one").replace("COUNT", "first_count"), text.replace("NAME", "other"), same)
            for text in (VIRTUAL, BY_ADDRESS)
            for same in (True, False)
        ),
    ],
    ids=[
        "types and a tree",
        "a library",
        *(f"{how}, {whose}" for how in ("virtual", "by address") for whose in ("own", "common")),
    ],
)
def test_initialisers_may_change_places_that_have_nothing_in_common(
    tmp_path: Path, one: str, other: str, same: bool
) -> None:
    other = other.replace("COUNT", "second_count" if same else "first_count")
    files = ("one.cpp", one), ("other.cpp", other)
    found = differences(match(in_order(tmp_path / "a", *files), in_order(tmp_path / "b", *reversed(files))))
    assert found == ({} if same else {"initialisers": "initialisers in another order"})


@pytest.mark.parametrize(
    ("text", "variables"),
    [(OF_A_LIBRARY, ("optind", "opterr")), (OF_A_THREAD, ("first_of_thread", "second_of_thread"))],
    ids=["a library's", "a thread's"],
)
@pytest.mark.parametrize("same", [True, False])
def test_a_variable_without_a_place_in_the_executable_is_one_in_common(
    tmp_path: Path, text: str, variables: tuple[str, str], *, same: bool
) -> None:
    one = text.replace("VARIABLE", variables[0]).replace("NUMBER", "3").replace("NAME", "one")
    other = text.replace("VARIABLE", variables[same]).replace("NUMBER", "4").replace("NAME", "other")
    files = ("one.cpp", one), ("other.cpp", other)
    found = differences(match(in_order(tmp_path / "a", *files), in_order(tmp_path / "b", *reversed(files))))
    assert found == ({} if same else {"initialisers": "initialisers in another order"})
