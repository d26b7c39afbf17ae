"""What the libraries of two programs may do for them, and take from them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from compiled import compiled, nothing

from tollbench.counting.image import Image, Unreadable
from tollbench.counting.loaded import Pairing, bound_of_opened, paired
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


PUTS_TOGETHER = """
#include <cstdio>
#include <dlfcn.h>
extern "C" int own_answer(int x) {
  char name[20];
  std::snprintf(name, sizeof name, "test_%d", x);
  return dlsym(RTLD_DEFAULT, name) != nullptr;
}
"""


@pytest.mark.parametrize(
    "more", ['extern "C" int test_1() { return 7; }', "namespace test { int one() { return 7; } }"]
)
def test_a_name_of_c_may_be_put_together(tmp_path: Path, more: str) -> None:
    base = with_library(tmp_path / "a", PUTS_TOGETHER)
    other = with_library(tmp_path / "b", PUTS_TOGETHER + more, first=(nothing(tmp_path),))
    found = pairing(base, other)
    assert Match(found.images, found.bound).same() is ("namespace" in more)


NUMBER = """
#include <cstdio>
int main(int count, char**) { std::printf("%d\\n", count * 7); }
"""


@pytest.mark.parametrize("options", [("-fno-pie", "-no-pie"), ("-static",), ()], ids=str)
def test_what_is_loaded_alike_is_the_same_wherever_it_stands(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    base = compiled(tmp_path / "a", "p", NUMBER, *options)
    debug = compiled(tmp_path / "elsewhere", "p", NUMBER, *options, "-g")
    assert base.read_bytes() != debug.read_bytes()
    assert pairing(base, debug).alike


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-fno-pie", "-no-pie"), NUMBER.replace("7", "8")),
        (("-fno-pie", "-no-pie"), NUMBER.replace("%d", "%u")),
        (("-static",), NUMBER.replace("7", "8")),
        (("-fno-pie", "-no-pie"), NUMBER + "int many[64];"),
    ],
    ids=["code", "text", "static", "zeros"],
)
def test_with_fixed_addresses_nothing_that_is_loaded_may_differ(
    tmp_path: Path, options: tuple[str, ...], text: str
) -> None:
    base = compiled(tmp_path / "a", "p", NUMBER, *options)
    other = compiled(tmp_path / "b", "p", text, *options)
    with pytest.raises(Unreadable, match="p has fixed addresses"):
        pairing(base, other)


def test_with_fixed_addresses_no_library_may_differ(tmp_path: Path) -> None:
    fixed = ("-fno-pie", "-no-pie")
    for side, text in (("a", PLAIN), ("b", PLAIN.replace("3", "4"))):
        folder = tmp_path / side
        compiled(folder, "own.so", text, "-shared", "-fPIC")
        found = ("-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", f"-L{folder}", "-l:own.so")
        compiled(folder, "caller", CALLER, *fixed, *found)
    assert pairing(tmp_path / "a/caller", tmp_path / "a/caller").alike
    with pytest.raises(Unreadable, match="fixed addresses"):
        pairing(tmp_path / "a/caller", tmp_path / "b/caller")


PLUGIN = 'extern "C" int plugged(int x) { return x * 3; }\n'
MORE_CPP = "namespace more { int added(int x) { return x + 1; } }\n"
MORE_C = 'extern "C" int test_2(int x) { return x + 1; }\n'


@pytest.mark.parametrize(
    ("more", "texts", "same"),
    [
        (MORE_CPP, [], True),
        (MORE_CPP, [b"call _ZN4more5addedEi first"], False),  # somebody's configuration
        (MORE_C, [], False),  # "test_" and a number
        (PLUGIN.replace("plugged", "other"), [], False),
    ],
    ids=["nobody asks", "a text asks", "a name that may be put together", "a name of C"],
)
def test_a_plugin_may_define_more_where_nobody_can_ask_for_it(
    tmp_path: Path, more: str, texts: list[bytes], *, same: bool
) -> None:
    around = [Image(compiled(tmp_path, "p", NUMBER))]
    base = Image(compiled(tmp_path / "a", "plugin.so", PLUGIN, "-shared", "-fPIC"))
    other = Image(compiled(tmp_path / "b", "plugin.so", more + PLUGIN, "-shared", "-fPIC"))
    assert Match([(base, other)], bound_of_opened(base, other, around, texts)).same() is same


def test_what_a_program_takes_from_any_library_is_asked_for(tmp_path: Path) -> None:
    weak = "namespace more { [[gnu::weak]] int added(int x); }\nint main() { return more::added ? 1 : 0; }\n"
    around = [Image(compiled(tmp_path, "p", weak))]
    base = Image(compiled(tmp_path / "a", "plugin.so", PLUGIN, "-shared", "-fPIC"))
    other = Image(compiled(tmp_path / "b", "plugin.so", MORE_CPP + PLUGIN, "-shared", "-fPIC"))
    assert not Match([(base, other)], bound_of_opened(base, other, around, [])).same()


def test_what_runs_with_other_rights_is_not_compared(tmp_path: Path) -> None:
    """Its libraries are not those that the dynamic linker tells us: LD_LIBRARY_PATH does not count for it."""
    one, other = (compiled(tmp_path, name, "int main() {}") for name in ("one", "other"))
    assert pairing(one, other)
    other.chmod(0o4755)
    with pytest.raises(Unreadable, match="other is set-uid or set-gid"):
        pairing(one, other)


WRITABLE_CODE = 'asm(".section .own,\\"awx\\",@progbits\\n nop\\n .text");\nint main() {}'


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [("int main() {}", (), ""), ("int main() {}", ("-z", "execstack"), "p"), (WRITABLE_CODE, (), "p")],
    ids=["plain", "stack", "section"],
)
def test_a_file_that_may_run_what_it_writes_is_told(
    tmp_path: Path, text: str, options: tuple[str, ...], told: str
) -> None:
    program = compiled(tmp_path, "p", text, *options)
    assert pairing(program, program).makes_code == told


UNTYPED = """
asm(".section .rodata\\n.globl own_numbers\\nown_numbers: .long NUMBERS\\n.text\\n"
    ".globl own_size\\n.set own_size, SIZE\\n");
__thread int own_count = COUNT;
"""
TAKES = """
extern int own_numbers[];
extern char own_size[];
extern __thread int own_count;
extern "C" int own_answer(int x) {
  return own_numbers[x & 1] + own_count + static_cast<int>(reinterpret_cast<long>(own_size));
}
"""
UNTYPED_VALUES = {"NUMBERS": "1, 2", "SIZE": "8", "COUNT": "3"}


@pytest.mark.parametrize("changed", [{}, {"NUMBERS": "1, 3"}, {"SIZE": "9"}, {"COUNT": "4"}], ids=str)
def test_data_without_a_type_and_thread_local_ones_may_be_taken_from_a_library(
    tmp_path: Path, changed: dict[str, str]
) -> None:
    """Nobody but another library, which both sides share, asks for them."""
    compiled(tmp_path, "takes.so", TAKES, "-shared", "-fPIC", "-Wl,--unresolved-symbols=ignore-all")
    programs = []
    for side, values, first in (("a", {}, ()), ("b", changed, (nothing(tmp_path),))):
        text = UNTYPED
        for name, value in (UNTYPED_VALUES | values).items():
            text = text.replace(name, value)
        folder = tmp_path / side
        compiled(folder, "own.so", text, "-shared", "-fPIC", first=first)
        linked = (f"-Wl,-rpath,$ORIGIN:{tmp_path}", "-Wl,--no-as-needed", f"-L{folder}", f"-L{tmp_path}")
        compiled(folder, "caller", CALLER, *linked, "-l:own.so", "-l:takes.so")
        programs.append(folder / "caller")
    found = pairing(*programs)
    assert Match(found.images, found.bound).same() is not bool(changed)
