"""Callgrind's profiles: costs by instruction, calls, stacks, and what one iteration takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tollbench.counting.call_graphs import Function, graph_of
from tollbench.counting.changed_functions import ChangedFunctions
from tollbench.counting.image import Image
from tollbench.counting.profiles import Call, per_iteration, read
from tollbench.counting.source_frames import Frame, frames_of

PROFILE = """# callgrind format
events: Ir Dr D1mr
summary: 0
ob=(1) /bin/program
fl=(1) ???
fn=(1) main
cob=(2) /lib/libc.so
cfi=(1)
cfn=(2) malloc@@GLIBC'main
calls=3 0x90
0x10 0 60 6
fi=(2) /src/main.cpp
0x12 7 5
0x12 7 2 1 1
cfn=(3) work'main
calls=2 0x40
0x14 8 20

ob=(2)
fn=(2)
0x90 0 60 6
"""


def test_costs_and_calls_are_told_apart_and_names_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "cost.1.2"
    file.write_text(PROFILE)
    profile = read(file)
    main, site = ("main",), ("/bin/program", 0x12)
    assert profile.costs == {
        (main, site): [7.0, 1.0, 1.0],
        (("malloc", "main"), ("/lib/libc.so", 0x90)): [60.0, 6.0, 0.0],
    }
    assert profile.calls == {
        Call(("/bin/program", 0x10), main, ("malloc", "main"), "/lib/libc.so"): [3.0, 60.0, 6.0, 0.0],
        Call(("/bin/program", 0x14), main, ("work", "main"), "/bin/program"): [2.0, 20.0, 0.0, 0.0],
    }
    assert profile.lines == {site: ("/src/main.cpp", 7)}
    assert set(profile.without("/lib/libc.so").costs) == {(main, site)}
    assert [call.callee[0] for call in profile.without("/lib/libc.so").calls] == ["work"]


def test_who_calls_what_a_preloaded_library_stands_before_calls_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "cost"
    file.write_text(
        "events: Ir\nob=(1) p\nfn=(1) f\n0x1 0 10\ncob=(2) l\ncfn=(2) malloc\ncalls=4 0x9\n0x2 0 60\n"
        "cob=(2)\ncfn=(3) toll_allocations_start\ncalls=1 0x19\n0x3 0 7\n"
        "ob=(2)\nfn=(2)\n0x9 0 20\ncob=(4) libc\ncfn=(5) malloc\ncalls=4 0x20\n0xa 0 40\n"
        "ob=(4)\nfn=(5)\n0x20 0 40\n"
    )
    graph = graph_of(read(file).without("l"), Function, {})
    (part,) = graph.bodies[Function("p", "f")].parts.values()
    assert part.calls == {Function("libc", "malloc"): [4.0, 60.0]}
    assert part.allocations == 4.0
    assert {name.name for name in graph.bodies} == {"f", "malloc"}


def test_what_both_runs_took_is_in_no_iteration(tmp_path: Path) -> None:
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_text("events: Ir\nob=(1) p\nfn=(1) f\n0x1 0 10\n0x2 0 5\n")
    long.write_text("events: Ir\nob=(1) p\nfn=(1) f\n0x1 0 10\n0x2 0 95\n")
    found = per_iteration(read(long), read(short), 9)
    assert found.costs == {(("f",), ("p", 2)): [10.0]}


def test_allocations_are_those_of_who_asks_first(tmp_path: Path) -> None:
    file = tmp_path / "cost"
    file.write_text(
        "events: Ir\nob=(1) p\nfn=(1) f\n0x1 0 10\ncob=(2) l\ncfn=(2) _Znwm\ncalls=4 0x9\n0x2 0 80\n"
        "ob=(2)\nfn=(2)\n0x9 0 40\ncfn=(3) malloc\ncalls=4 0x20\n0xa 0 40\nfn=(3)\n0x20 0 40\n"
    )
    graph = graph_of(read(file), Function, {})
    asked = {
        name.name: sum(part.allocations for part in body.parts.values())
        for name, body in graph.bodies.items()
    }
    assert asked == {"f": 4.0, "_Znwm": 0.0, "malloc": 0.0}
    assert graph.bodies[Function("l", "malloc")].taken == [40.0]
    assert graph.total() == [90.0]


def _built(folder: Path, name: str, text: str) -> Path:
    source, program = folder / f"{name}.cpp", folder / name
    source.write_text(text)
    command = ["g++", "-O2", "-g", "-fno-inline-small-functions", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


INLINED = """
static inline __attribute__((always_inline)) int thrice(int x) { return x * x * THREE; }
__attribute__((noinline)) int outer(int x) { return thrice(x) + 5; }
__attribute__((noinline)) int other(int x) { return x / 9; }
extern const int table[4];
__attribute__((noinline)) int looked_up(int x) { return table[x & 3]; }
const int table[4] = {1, 2, FOURTH, 4};
int main(int count, char**) { return outer(count) + other(count) + looked_up(count); }
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_what_differs_is_told_of_each_function_and_of_what_was_inlined(tmp_path: Path) -> None:
    before = _built(tmp_path, "before", INLINED.replace("THREE", "1237").replace("FOURTH", "3"))
    after = _built(tmp_path, "after", INLINED.replace("THREE", "1239").replace("FOURTH", "9"))
    changed = ChangedFunctions(Image(before), Image(after))
    assert changed.difference("outer(int)", "outer(int)") == "other instructions"
    assert changed.difference("other(int)", "other(int)") == ""
    assert changed.difference("looked_up(int)", "looked_up(int)") == "reads table (other content)"
    assert changed.difference("nobody()", "nobody()") is None
    places = changed.addresses("outer(int)", "outer(int)")
    frames = frames_of(before, places[0]), frames_of(after, places[1])
    parts = changed.changed_parts("outer(int)", Function("", "outer(int)"), frames)
    assert parts[Function("", "thrice")] == 2
    assert parts[Function("", "outer(int)")] == 0


def test_headers_of_libraries_are_of_others() -> None:
    assert Frame("f", "/usr/include/c++/12/bits/stl_vector.h", 3).is_of_others
    assert Frame("f", "/srv/gcc/lib/gcc/x86_64/12/include/x.h", 3).is_of_others
    assert not Frame("f", "/srv/project/parse.cpp", 3).is_of_others
