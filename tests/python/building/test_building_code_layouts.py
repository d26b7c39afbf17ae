"""Programs linked again with their functions elsewhere, by the linkers that are here."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_projects import small_project

from tollbench import building
from tollbench.building import code_layouts
from tollbench.building.code_layouts import MovedFunction, file_of, script_of
from tollbench.words import HOST, Contender, Kind, Program, Status, Toolset, Workload

LAYOUTS = 4
FUNCTIONS = ("first", "second", "third", "fourth")
SOURCE = "\n".join(
    [
        "#include <vector>",
        *(
            f'extern "C" [[gnu::noinline]] int {name}(int n) {{ return n * {at + 3}; }}'
            for at, name in enumerate(FUNCTIONS)
        ),
        "int main(int argc, char**) {",
        "  std::vector<int> all(argc, 1);",
        "  all.resize(100);",
        f"  return ({' + '.join(f'{name}(all[0])' for name in FUNCTIONS)}) != 3 + 4 + 5 + 6;",
        "}",
        "",
    ]
)
CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_library(toll_allocations SHARED other.cpp)
add_executable(toll_canary other.cpp)
foreach(name good plain)
  add_executable(t-${name} ${name}.cpp)
  set_target_properties(t-${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/programs/t)
endforeach()
target_compile_options(t-good PRIVATE -O2 -ffunction-sections)
add_custom_command(TARGET t-good POST_BUILD
  COMMAND sh -c "nm \\"$1\\" | grep first > \\"$1\\".told" - $<TARGET_FILE:t-good> VERBATIM)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/contenders.json CONTENT "[
 {\\"workload\\": \\"t/w\\", \\"contender\\": \\"good\\", \\"target\\": \\"t-good\\",
  \\"executable\\": \\"$<TARGET_FILE:t-good>\\", \\"reason\\": \\"\\", \\"library_version\\": \\"\\"},
 {\\"workload\\": \\"t/w\\", \\"contender\\": \\"plain\\", \\"target\\": \\"t-plain\\",
  \\"executable\\": \\"$<TARGET_FILE:t-plain>\\", \\"reason\\": \\"\\", \\"library_version\\": \\"\\"}]")
"""
MAIN = "int main() {}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small_project(tmp_path, CMAKE, {"other.cpp": MAIN, "good.cpp": SOURCE, "plain.cpp": MAIN})


def built(root: Path, toolset: Toolset = HOST.toolset, layouts: int = LAYOUTS) -> dict[str, Program]:
    contenders = tuple(
        Contender("t/w", name, "C++", "std", Path(f"{name}.cpp")) for name in ("good", "plain")
    )
    workload = Workload("t/w", "?", Kind.BATCH, "ns", "task", "1", Path(), (), contenders)
    made = building.programs(
        [workload],
        replace(HOST, toolset=toolset),
        build_dir=root / "build/host",
        root=root,
        layouts=layouts,
    )
    return {program.contender: program for program in made}


def with_lld() -> Toolset:
    compilers = (shutil.which(f"clang++-{number}") for number in range(22, 13, -1))
    linkers = (shutil.which(f"ld.lld-{number}") for number in range(22, 13, -1))
    compiler, linker = next(filter(None, compilers), None), next(filter(None, linkers), None)
    if compiler is None or linker is None:
        pytest.skip("no Clang, or no lld")
    return Toolset(compiler=compiler, link_flags=(f"--ld-path={linker}",))


def addresses(program: str) -> dict[str, int]:
    told = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+) [Tt] (\w+)$", told, re.MULTILINE)
    return {name: int(address, 16) for address, name in found}


def test_functions_stand_elsewhere_in_each_layout_of_the_same_program(project: Path) -> None:
    program = built(project)["good"]
    assert program.status is Status.OK
    assert program.one_layout == ""
    assert [program.command_of(layout)[-1] for layout in range(1, LAYOUTS + 1)] == list(program.layouts)
    assert program.command_of(0) == program.command
    places = [addresses(file) for file in program.layouts]
    orders = {tuple(sorted(FUNCTIONS, key=lambda name: place[name])) for place in places}
    offsets = {tuple(place[name] % 64 for name in FUNCTIONS) for place in places}
    assert len(orders) > 1
    assert len(offsets) == LAYOUTS
    for file in program.layouts:
        assert subprocess.run([file], check=False).returncode == 0
    # What does not move keeps its place within a page: toll's own library is measured by its gauge.
    assert len({place["_start"] % 4096 for place in places}) == 1
    # What the build does after a link is done for each of them, with its own addresses.
    for file, place in zip(program.layouts, places, strict=True):
        assert int(Path(f"{file}.told").read_text().split()[0], 16) == place["first"]


def test_layouts_are_kept_until_the_program_is_another(project: Path) -> None:
    first = built(project)["good"]
    before = [Path(file).stat().st_mtime_ns for file in first.layouts]
    again = built(project)["good"]
    assert again.layouts == first.layouts
    assert [Path(file).stat().st_mtime_ns for file in again.layouts] == before
    (project / "good.cpp").write_text(SOURCE.replace("!= 3", "== 3"))
    other = built(project)["good"]
    assert all(subprocess.run([file], check=False).returncode == 1 for file in other.layouts)
    assert built(project, layouts=2)["good"].layouts == first.layouts[:2]
    # Fewer of another program: those that were not asked for then are made once they are, and not kept.
    (project / "good.cpp").write_text(SOURCE)
    built(project, layouts=2)
    whole = built(project)["good"]
    assert all(subprocess.run([file], check=False).returncode == 0 for file in whole.layouts)
    Path(first.layouts[1]).unlink()
    assert Path(built(project)["good"].layouts[1]).is_file()
    # Another program of the same age, as a copied folder has: its layouts are made anew.
    executable = Path(first.command[-1])
    told = executable.stat()
    executable.write_bytes(executable.read_bytes() + b"x")
    os.utime(executable, ns=(told.st_atime_ns, told.st_mtime_ns))
    stamp = project / "build/host/layouts/t-good.made"
    told_before = stamp.read_text()
    assert built(project)["good"].layouts
    assert stamp.read_text() != told_before


def test_layouts_that_were_being_made_anew_are_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is killed while twenty become sixty-four has not twenty, of which one is half written."""
    first = built(project)["good"]
    link = code_layouts._link

    def killed(*words: Any) -> None:
        if words[4] == 3:
            Path(first.layouts[2]).write_bytes(b"half of it")
            raise KeyboardInterrupt
        link(*words)

    monkeypatch.setattr(code_layouts, "_link", killed)
    with pytest.raises(KeyboardInterrupt):
        built(project, layouts=LAYOUTS + 1)
    monkeypatch.undo()
    again = built(project)["good"]
    assert all(subprocess.run([file], check=False).returncode == 0 for file in again.layouts)


def test_a_ninja_that_does_not_tell_its_links_is_a_reason(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(project, layouts=1)
    tools = project / "tools"
    tools.mkdir()
    ninja = tools / "ninja"
    ninja.write_text(
        f'#!/bin/sh\n[ "$1" = -t ] && echo "no such tool" >&2 && exit 1\nexec {shutil.which("ninja")} "$@"\n'
    )
    ninja.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    program = built(project)["good"]
    assert program.status is Status.OK
    assert "no such tool" in program.one_layout


def test_without_layouts_nothing_is_linked_again(project: Path) -> None:
    program = built(project, layouts=1)["good"]
    assert (program.layouts, program.one_layout) == ((), "")
    assert program.command_of(3) == program.command
    assert not file_of(Path(program.command[-1]), 1).exists()


@pytest.mark.parametrize("lld", [False, True])
def test_a_linker_that_puts_functions_elsewhere_leaves_the_program_as_it_was_linked(
    project: Path, lld: bool
) -> None:
    """It is measured all the same, and says why it has one layout."""
    unused = "\n".join(f"  n = n * {at} ^ (n >> {at % 7 + 1});" for at in range(3, 300))
    (project / "good.cpp").write_text(
        SOURCE + f'extern "C" unsigned unused(unsigned n) {{\n{unused}\n  return n;\n}}\n'
    )
    toolset = with_lld() if lld else HOST.toolset
    assert built(project, toolset)["good"].layouts
    cmake = (project / "CMakeLists.txt").read_text()
    (project / "CMakeLists.txt").write_text(cmake + "target_link_options(t-good PRIVATE -Wl,--gc-sections)\n")
    program = built(project, toolset)["good"]
    assert program.status is Status.OK
    assert program.layouts == ()
    assert "functions are not where the layout has them" in program.one_layout


def test_code_that_is_made_when_it_is_linked_has_one_layout(project: Path) -> None:
    cmake = (project / "CMakeLists.txt").read_text()
    (project / "CMakeLists.txt").write_text(
        cmake + "target_compile_options(t-good PRIVATE -flto)\ntarget_link_options(t-good PRIVATE -flto)\n"
    )
    program = built(project)["good"]
    assert program.status is Status.OK
    assert program.layouts == ()
    assert "when it is linked" in program.one_layout


def test_lld_heeds_layouts_too(project: Path) -> None:
    toolset = with_lld()
    program = built(project, toolset)["good"]
    assert program.one_layout == ""
    places = [addresses(file) for file in program.layouts]
    assert len({tuple(place[name] % 64 for name in FUNCTIONS) for place in places}) == LAYOUTS


def test_two_copies_of_one_source_have_no_layout_in_common() -> None:
    functions = [MovedFunction("", f".text.{name}", 16) for name in FUNCTIONS]
    scripts = {
        script_of(functions, random.Random(f"code/{target}/{layout}"))
        for target in ("one", "two")
        for layout in range(1, 5)
    }
    assert len(scripts) == 8


def test_a_script_names_each_function_once_and_checks_that_it_is_there() -> None:
    functions = [MovedFunction("", ".text._Z1av", 48), MovedFunction("x y.o", ".text", 32)]
    script = script_of(functions, random.Random(1))
    gaps = sum(int(gap) for gap in re.findall(r"\. \+= (\d+);", script))
    assert script.count("*(.text._Z1av)") == 1
    assert script.count('"x y.o"(.text)') == 1
    assert f"ASSERT(. - toll_layout_begins >= {80 + gaps}," in script
