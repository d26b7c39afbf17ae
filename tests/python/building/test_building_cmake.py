"""The build driver on a small project of its own: what builds, what does not, and what is left out."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from small_projects import small_project

from tollbench import building
from tollbench.building.known import reason_on_host, why_not
from tollbench.building.log import first_error, split_failures
from tollbench.catalog import packages
from tollbench.catalog.managers import MANAGERS
from tollbench.errors import TollError
from tollbench.words import HOST, Contender, Environment, Kind, Program, Status, Toolset, Workload

CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.cpp)
foreach(name good bad)
  add_executable(t-${name} ${name}.cpp)
endforeach()
add_executable(toll_canary canary.cpp)
add_library(toll_allocations SHARED canary.cpp)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/contenders.json CONTENT "[
 {\\"workload\\": \\"t/w\\", \\"contender\\": \\"good\\", \\"target\\": \\"t-good\\",
  \\"executable\\": \\"$<TARGET_FILE:t-good>\\", \\"reason\\": \\"\\", \\"library_version\\": \\"lib 3\\"},
 {\\"workload\\": \\"t/w\\", \\"contender\\": \\"bad\\", \\"target\\": \\"t-bad\\",
  \\"executable\\": \\"$<TARGET_FILE:t-bad>\\", \\"reason\\": \\"\\", \\"library_version\\": \\"\\"},
 {\\"workload\\": \\"t/w\\", \\"contender\\": \\"left\\", \\"target\\": \\"\\", \\"executable\\": \\"\\",
  \\"reason\\": \\"unheard not found\\", \\"missing\\": \\"onetbb\\", \\"library_version\\": \\"\\"}]")
"""
MAIN = "int main() {}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small_project(tmp_path, CMAKE, {f"{name}.cpp": MAIN for name in ("good", "bad", "canary")})


def contender(name: str) -> Contender:
    return Contender("t/w", name, "C++", "std", Path(f"{name}.cpp"))


WORKLOAD = Workload(
    "t/w",
    "?",
    Kind.BATCH,
    "ns",
    "task",
    "1",
    Path(),
    (),
    tuple(map(contender, ("good", "bad", "left", "new"))),
)


def build_it(root: Path, steps: list[str] | None = None, workload: Workload = WORKLOAD):
    heard = steps if steps is not None else []
    made = building.programs(
        [workload],
        HOST,
        build_dir=root / "build/host",
        root=root,
        on_progress=lambda done, total, what: heard.append(what),
    )
    return {program.contender: program for program in made}


def test_every_contender_gets_its_program_or_a_reason(project):
    built: list[str] = []
    programs = build_it(project, built)
    assert any("Building" in step for step in built)
    assert list(programs) == ["good", "bad", "left", "new"]
    assert programs["good"].status is Status.OK
    assert programs["good"].library_version == "lib 3"
    assert Path(programs["good"].command[0]).is_file()
    assert programs["left"].status is Status.SKIPPED
    told = programs["left"].reason
    assert re.fullmatch(r"unheard not found; next: (sudo )?apt-get install -y libtbb-dev", told)
    assert programs["new"].status is Status.SKIPPED

    described = building.described(project / "build/host", HOST)
    assert described.compiler in ("GNU", "Clang")
    assert described.compiler_version[0].isdigit()
    for other_cmake in ("0.1", "99.1"):  # of a CMake that was here before
        old = project / f"build/host/CMakeFiles/{other_cmake}/CMakeCXXCompiler.cmake"
        old.parent.mkdir()
        old.write_text('set(CMAKE_CXX_COMPILER_ID "Old")\nset(CMAKE_CXX_COMPILER_VERSION "1")\n')
        os.utime(old, ns=(1, 1))
    assert building.described(project / "build/host", HOST) == described

    steps: list[str] = []
    assert build_it(project, steps)["good"].status is Status.OK
    assert not any("Building" in step or "Linking" in step for step in steps)  # nothing changed


def test_a_source_that_no_longer_compiles_is_never_timed(project, monkeypatch):
    assert build_it(project)["bad"].status is Status.OK
    # The log tells which: ninja need not be asked again.
    monkeypatch.setattr("tollbench.building.cmake.run_tool", pytest.fail)
    (project / "bad.cpp").write_text("int main() { return unheard_of; }\n")
    programs = build_it(project)
    bad = programs["bad"]
    assert (bad.status, bad.command) == (Status.BUILD_FAILED, ())
    assert "bad.cpp:1" in bad.reason
    assert "unheard_of" in bad.reason
    log = Path(bad.reason.partition("(all of it: ")[2].removesuffix(")"))
    assert "unheard_of" in log.read_text()
    assert programs["good"].status is Status.OK

    told = why_not(project / "build/host")
    assert told(contender("good")) == ""
    assert "unheard_of" in told(contender("bad"))
    assert told(contender("left")) == reason_on_host({"reason": "unheard not found", "missing": "onetbb"})

    (project / "bad.cpp").write_text(MAIN)
    assert build_it(project)["bad"].status is Status.OK
    assert why_not(project / "build/host")(contender("bad")) == ""


def test_a_program_that_does_not_link_is_named(project):
    (project / "bad.cpp").write_text("int bar();\nint main() { return bar(); }\n")
    programs = build_it(project)
    assert programs["bad"].status is Status.BUILD_FAILED
    assert "bar" in programs["bad"].reason
    assert programs["good"].status is Status.OK


def test_what_all_share_fails_all_that_need_it(project):
    cmake = project / "CMakeLists.txt"
    cmake.write_text(
        cmake.read_text() + "add_library(shared shared.cpp)\ntarget_link_libraries(t-good shared)\n"
    )
    (project / "shared.cpp").write_text("")
    assert build_it(project)["good"].status is Status.OK
    (project / "shared.cpp").write_text("nonsense;\n")
    programs = build_it(project)
    assert programs["good"].status is Status.BUILD_FAILED
    assert "shared.cpp:1" in programs["good"].reason
    assert programs["bad"].status is Status.OK


def test_where_ninja_itself_gives_up_no_old_program_is_timed(project):
    """A library that is gone, as after `apt remove`, is no failed step: ninja builds nothing at all then."""
    library = project / "libgone.a"
    subprocess.run(["ar", "rc", library], check=True)
    cmake = project / "CMakeLists.txt"
    cmake.write_text(cmake.read_text() + f'target_link_libraries(t-bad PRIVATE "{library}")\n')
    assert build_it(project)["bad"].status is Status.OK
    library.unlink()
    (project / "good.cpp").write_text("int main() { return 7; }\n")
    programs = build_it(project)
    assert (programs["bad"].status, programs["bad"].command) == (Status.BUILD_FAILED, ())
    assert "libgone.a" in programs["bad"].reason
    assert programs["good"].status is Status.OK
    assert subprocess.run(programs["good"].command, check=False).returncode == 7
    (project / "good.cpp").write_text("nonsense\n")
    assert build_it(project)["good"].status is Status.BUILD_FAILED


def test_what_was_not_asked_for_is_not_built(project):
    (project / "bad.cpp").write_text("nonsense\n")
    only = replace(WORKLOAD, contenders=(contender("good"),))
    assert [p.status for p in build_it(project, workload=only).values()] == [Status.OK]


def test_a_configuration_that_fails_is_an_error_with_its_log(project):
    (project / "CMakeLists.txt").write_text('project(small NONE)\nmessage(FATAL_ERROR "no such luck")\n')
    with pytest.raises(TollError, match="could not configure the build: no such luck") as raised:
        build_it(project)
    assert "configure.log" in raised.value.next_step
    assert "no such luck" in (project / "build/host/configure.log").read_text()


def test_a_folder_that_takes_nothing_is_named(project):
    with pytest.raises(TollError, match="cannot build in /proc/nothing"):
        building.programs([WORKLOAD], HOST, build_dir=Path("/proc/nothing"), root=project)


LOG = """\
[1/4] Building a.o
FAILED: [code=1] x/a.dir/a.cpp.o
/usr/bin/c++ -c a.cpp
In file included from a.cpp:1:
a.hpp:3:5: error: 'foo' does not name a type
[2/4] Building b.o
b.cpp:9: warning: unused
FAILED: b
c++ b.o
/usr/bin/ld: b.o: undefined reference to `bar'
ninja: build stopped: subcommand failed.
"""


def test_failures_are_cut_out_of_a_log():
    (outputs_a, text_a), (outputs_b, text_b) = split_failures(LOG)
    assert (outputs_a, outputs_b) == ("x/a.dir/a.cpp.o", "b")
    assert first_error(text_a) == "a.hpp:3:5: error: 'foo' does not name a type"
    assert first_error(text_b) == "/usr/bin/ld: b.o: undefined reference to `bar'"
    assert "warning" not in text_a


def test_a_log_that_says_nothing():
    assert first_error("") == "the build said nothing"
    assert first_error("odd\nend") == "end"


def test_environments_share_the_programs_of_one_build():
    good = Program("t/w", "good", "host", ("/x",), library_version="3")
    bad = Program("t/w", "bad", "host", (), Status.BUILD_FAILED, "no")
    there = building.in_environment([good, bad], Environment("tcmalloc"))
    assert there == (replace(good, environment="tcmalloc"), replace(bad, environment="tcmalloc"))
    missing, failed = building.in_environment([good, bad], Environment("tcmalloc", unavailable="not found"))
    assert (missing.status, missing.reason, missing.command) == (Status.SKIPPED, "not found", ())
    assert (failed.status, failed.reason) == (Status.BUILD_FAILED, "no")  # says more


def test_a_library_that_is_missing_elsewhere_is_not_told_to_be_brought_here(project):
    there = replace(HOST, root="/cache/roots/debian13", name="debian13")
    small = replace(HOST, toolset=Toolset(flags=("-m32",)))
    for environment, told in (
        (there, "unheard not found; the root debian13 does not bring it"),
        (small, "unheard not found for 32-bit programs"),
    ):
        made = building.cmake._program(
            building.cmake.Build(project, project / "build/host"),
            environment,
            ("t/w", "left"),
            {"target": "", "reason": "unheard not found", "missing": "onetbb"},
            {},
            {},
            {},
        )
        assert (made.status, made.reason) == (Status.SKIPPED, told)


@pytest.mark.parametrize(
    ("name", "missing", "told"),
    [
        ("dnf", "boost_asio", "dnf install -y boost-devel"),
        ("apt", "boost_asio", "apt-get install -y libboost-dev"),  # as on Debian 13, which has no 1.81
        ("apt", "libomp-19", "apt-get install -y libomp-19-dev"),
        ("pacman", "libomp-19", "pacman -S --needed openmp"),
        ("apt", "", "Boost was not found"),
    ],
)
def test_what_is_missing_is_told_with_a_package_that_is_on_offer(monkeypatch, name, missing, told) -> None:
    monkeypatch.setattr(packages, "manager", lambda: next(one for one in MANAGERS if one.name == name))
    monkeypatch.setattr(packages, "_apt_knows", lambda package: "1.81" not in package)
    assert reason_on_host({"reason": "Boost was not found", "missing": missing}).endswith(told)


def test_a_programs_flags_are_those_that_ninja_compiles_it_with(project):
    """Each target's own; what decides no code is left out."""
    (project / "build/host").mkdir(parents=True, exist_ok=True)
    (project / "build/host/build.ninja").write_text(
        """build CMakeFiles/a-b-one.dir/suites/a/b/one.cpp.o: CXX_COMPILER one.cpp
  DEFINES = -DX="FLAGS = -O9"
  DEP_FILE = one.d
  FLAGS = -O2 -g1 -DNDEBUG -fPIE -Wall -Wno-shadow -Wl,-z,now -Wa,-O2 -Wpedantic -fopenmp -std=c++20
  INCLUDES = -Iinclude

build one: CXX_EXECUTABLE_LINKER CMakeFiles/a-b-one.dir/suites/a/b/one.cpp.o
  FLAGS = -O3

build CMakeFiles/toll_canary.dir/src/canary.cpp.o: CXX_COMPILER canary.cpp
  FLAGS = -O1 -g1
"""
    )
    found = building.cmake._flags_by_target(project / "build/host")
    assert list(found) == ["a-b-one", "toll_canary"]
    assert building.cmake.deciding(found["a-b-one"]) == "-O2 -DNDEBUG -Wl,-z,now -Wa,-O2 -fopenmp"
    assert building.cmake.deciding("-Wp,-D_FORTIFY_SOURCE=3 -Wpadded") == "-Wp,-D_FORTIFY_SOURCE=3"
    (project / "build/host/CMakeCache.txt").write_text("X:STRING=1")
    assert building.described(project / "build/host", HOST).flags == "-O1 -g1"
