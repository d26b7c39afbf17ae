"""What the libraries of two programs may do for them, and take from them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from compiled import compiled, nothing

from tollbench.counting.loaded import Pairing, paired
from tollbench.counting.matching import Match

CALLER = """
#include <cstdio>
extern "C" int own_answer(int);
#ifdef OWN
extern "C" int own_part(int x) { return x + OWN; }
#endif
int main(int count, char**) { std::printf("%d\\n", own_answer(count)); }
"""
PLAIN = 'extern "C" int own_answer(int x) { return x * 3; }\n'
FINDS_ITSELF = """
#include <unistd.h>
extern "C" int own_answer(int x) { char place[99]; return x + readlink("/proc/self/exe", place, 99); }
"""
LOOKS_UP = """
#include <dlfcn.h>
extern "C" int own_answer(int x) {
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "own_part"))(x);
}
"""
REPLACED = """
extern "C" int own_part(int x) { return x + 1; }
extern "C" int own_answer(int x) { return own_part(x) * 3; }
"""


def pairing(a: Path, b: Path) -> Pairing:
    return paired(a, b, dict(os.environ))


def with_library(folder: Path, library: str, *options: str, first: tuple[str, ...] = ()) -> Path:
    """A program with a library of its own beside it."""
    compiled(folder, "own.so", library, "-shared", "-fPIC", first=first)
    found = ("-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", f"-L{folder}", "-l:own.so")
    return compiled(folder, "caller", CALLER, *options, *found)


@pytest.mark.parametrize(("library", "around"), [(PLAIN, False), (FINDS_ITSELF, True)])
def test_a_library_that_both_sides_share_may_look_around(tmp_path: Path, library: str, around: bool) -> None:
    sides = [with_library(tmp_path / side, library) for side in "ab"]
    found = pairing(*sides)
    assert len(found.images) == 1
    assert found.looks_around is around


@pytest.mark.parametrize(
    ("body", "options", "around"),
    [
        ('std::filesystem::exists("input")', (), False),
        ('std::filesystem::canonical("/proc/self/exe").empty()', (), True),
        ("0", ("-static-pie",), True),  # nothing tells what a program asks of a library in its own file
    ],
)
def test_what_the_language_does_for_a_program_is_seen_by_name(
    tmp_path: Path, body: str, options: tuple[str, ...], around: bool
) -> None:
    text = f"#include <filesystem>\nint main() {{ return {body}; }}\n"
    program = compiled(tmp_path, "p", text, "-std=c++17", *options)
    assert pairing(program, program).looks_around is around


@pytest.mark.parametrize("library", [LOOKS_UP, REPLACED], ids=["by a text", "instead of its own"])
def test_what_a_library_takes_from_a_program_is_walked(tmp_path: Path, library: str) -> None:
    base = with_library(tmp_path / "a", library, "-DOWN=5", "-rdynamic")
    changed = with_library(tmp_path / "b", library, "-DOWN=6", "-rdynamic", first=(nothing(tmp_path),))
    if library == LOOKS_UP:
        shutil.copy(tmp_path / "a" / "own.so", tmp_path / "b" / "own.so")
    found = pairing(base, changed)
    assert len(found.images) == (1 if library == LOOKS_UP else 2)
    assert not Match(found.images, found.bound).same()
    assert Match((found.images[0][:1] * 2, *found.images[1:]), found.bound).same()
