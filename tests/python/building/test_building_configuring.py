"""Configuring a build folder: with which flags, and when CMake is not asked again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checkouts import ROOT
from tollbench.building import configuring
from tollbench.building.compiler_identity import compiler_identity
from tollbench.building.configuring import configure
from tollbench.catalog import environments, managers
from tollbench.errors import TollError
from tollbench.words import Toolset

PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/never"}],
}
COMPILER = shutil.which("g++") or shutil.which("c++") or ""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that takes its flags as toll does, from the same file."""
    shutil.copytree(ROOT / "cmake", tmp_path / "cmake")
    (tmp_path / "CMakePresets.json").write_text(json.dumps(PRESETS))
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(small LANGUAGES CXX)\n"
        "include(cmake/TollSettings.cmake)\nadd_executable(main main.cpp)\n"
    )
    return tmp_path


def configured(project: Path, toolset: Toolset) -> list[str]:
    """What CMake said, line by line; nothing where it was not asked."""
    said: list[str] = []
    (project / "build").mkdir(exist_ok=True)
    configure(project, project / "build", toolset, said.append)
    return said


def commands(project: Path) -> list[str]:
    """(of compiling, of linking) as ninja would run them."""
    done = subprocess.run(
        ["ninja", "-C", str(project / "build"), "-t", "commands", "main"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        ("host", ["-O2"], ["-O3", "-march"]),
        ("host-O3", ["-O3"], ["-O2", "-march"]),
        ("host-O2", ["-O2"], ["-O3"]),
        ("host-O3-native", ["-O3", "-march=native"], ["-O2"]),
        ("host-debug", ["-O2", "-D_GLIBCXX_DEBUG"], ["-O3"]),
    ],
)
def test_what_a_name_says_is_what_the_compiler_is_told(project, name, there, absent) -> None:
    configured(project, environments.named(name).toolset)
    compile_, _link = commands(project)
    assert all(flag in compile_.split() for flag in [*there, "-DNDEBUG"])
    assert not any(flag in compile_ for flag in absent)


def test_linker_flags_and_the_archiver_arrive(project) -> None:
    toolset = Toolset("x", flags=("-flto=auto",), link_flags=("-Wl,-O1",), archiver="/usr/bin/true")
    configured(project, toolset)
    compile_, link = commands(project)
    assert "-flto=auto" in compile_
    assert "-flto=auto" in link
    assert "-Wl,-O1" in link
    assert "CMAKE_AR:" in (project / "build/CMakeCache.txt").read_text()
    assert "/usr/bin/true" in (project / "build/CMakeCache.txt").read_text()


def test_cmake_is_asked_again_only_where_something_changed(project, monkeypatch) -> None:
    watched = project / "packages"
    watched.write_text("one")
    monkeypatch.setattr(configuring, "WATCHED", (str(watched),))
    toolset = Toolset()
    assert configured(project, toolset)
    assert configured(project, toolset) == []
    os.utime(watched, ns=(1, 1))  # a package came
    assert configured(project, toolset)
    assert configured(project, toolset) == []
    monkeypatch.setenv("CMAKE_PREFIX_PATH", "/opt/other")
    assert configured(project, toolset)
    assert configured(project, Toolset(optimization="-O1"))
    (project / "build/build.ninja").unlink()
    assert configured(project, Toolset(optimization="-O1"))


def test_cmakes_own_files_are_followed_without_asking_it_here(project) -> None:
    configured(project, Toolset())
    listing = project / "CMakeLists.txt"
    listing.write_text(listing.read_text() + "add_executable(second main.cpp)\n")
    assert configured(project, Toolset()) == []
    assert "second" in (project / "build/build.ninja").read_text()


def test_a_project_that_breaks_later_is_an_error_again(project) -> None:
    configured(project, Toolset())
    listing = project / "CMakeLists.txt"
    good = listing.read_text()
    listing.write_text(good + "message(FATAL_ERROR broken)\n")
    for _ in range(2):
        with pytest.raises(TollError, match="broken") as caught:
            configured(project, Toolset())
        assert caught.value.code == 2, "1 says that something became slower"
    kept = project / "build/CMakeFiles/main.dir/main.cpp.o"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("compiled")
    listing.write_text(good)
    configured(project, Toolset())
    assert commands(project)
    assert kept.read_text() == "compiled", "nothing changed that it was compiled by"


def test_another_compiler_in_the_same_place_is_not_mixed_with_the_old_one(
    project, tmp_path, monkeypatch
) -> None:
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)  # `toll test` sets it
    for name in ("g++-1", "g++-2"):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {COMPILER} "$@"\n')
        (tmp_path / name).chmod(0o755)
        said = configured(project, Toolset(compiler=str(tmp_path / name), optimization="-O3"))
        assert commands(project)[0].startswith(str(tmp_path / name))
        assert "-O3" in commands(project)[0]
        assert not any("changed variables" in line for line in said)


@pytest.mark.parametrize("named", ["by the environment", "by CXX"])
def test_a_compiler_that_was_replaced_in_its_place_compiles_all_anew(
    project, tmp_path, monkeypatch, named
) -> None:
    """As by update-alternatives; CMake and ninja see the same name and newer objects than sources."""
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
    (project / "main.cpp").write_text("int main() { return OF; }\n")
    compiler = tmp_path / "g++-1"
    toolset = Toolset(compiler=str(compiler)) if named == "by the environment" else Toolset()
    if not toolset.compiler:
        monkeypatch.setenv("CXX", str(compiler))

    def compiled_by(value: int) -> None:
        compiler.write_text(f'#!/bin/sh\nexec {COMPILER} -DOF={value} "$@"\n')
        compiler.chmod(0o755)
        assert configured(project, toolset)
        assert configured(project, toolset) == []
        subprocess.run(["ninja", "-C", str(project / "build"), "main"], check=True)
        assert subprocess.run([project / "build/main"], check=False).returncode == value

    compiled_by(1)
    compiled_by(2)
    objects = project / "build/CMakeFiles/main.dir/main.cpp.o"
    before = objects.stat().st_mtime_ns
    for again in (True, False):  # away as on a disk that is not mounted, and another one after it was
        compiler.rename(tmp_path / "away")
        with pytest.raises(TollError):
            configured(project, toolset)
        if again:
            (tmp_path / "away").rename(compiler)
            configured(project, toolset)
            assert objects.stat().st_mtime_ns == before
    compiled_by(3)


def built_again(project: Path, toolset: Toolset) -> bool:
    """Whether what has been compiled is compiled once more, after configuring."""
    made = project / "build/CMakeFiles/main.dir/main.cpp.o"
    before = made.stat().st_mtime_ns if made.exists() else 0
    configured(project, toolset)
    subprocess.run(["ninja", "-C", str(project / "build"), "main"], check=True)
    return made.stat().st_mtime_ns > before


@pytest.mark.parametrize("named", ["by the environment", "by CXXFLAGS"])
def test_native_code_is_compiled_anew_on_another_processor(project, monkeypatch, named) -> None:
    """Resized machines and shared homes: the command is the same, and the old code ends with SIGILL."""
    flags = ("-march=native",) if named == "by the environment" else ()
    if not flags:
        monkeypatch.setenv("CXXFLAGS", "-mtune=native")
    monkeypatch.setattr(configuring, "processor_mark", lambda: "one")
    assert built_again(project, Toolset(flags=flags))
    assert not built_again(project, Toolset(flags=flags))
    monkeypatch.setattr(configuring, "processor_mark", lambda: "another")
    assert built_again(project, Toolset(flags=flags))
    monkeypatch.delenv("CXXFLAGS", raising=False)
    assert built_again(project, Toolset())
    monkeypatch.setattr(configuring, "processor_mark", lambda: "a third")
    assert not built_again(project, Toolset()), "plain code runs on each"


def test_a_compiler_behind_ccaches_link_is_the_one_that_it_starts(project, tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
    links, real = tmp_path / "links", tmp_path / "real"
    for folder in (links, real):
        folder.mkdir()
    script = f'[ "${{0##*/}}" = ccache ] && shift\nexec "{real}/c++" "$@"'
    (tmp_path / "ccache").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "ccache").chmod(0o755)
    (links / "c++").symlink_to(tmp_path / "ccache")
    monkeypatch.setenv("PATH", f"{links}:{real}:{os.environ['PATH']}")
    monkeypatch.setenv("CXX", f"{links}/c++")
    for value in (1, 2):
        (real / "c++").write_text(f'#!/bin/sh\nexec {COMPILER} -DOF={value} "$@"\n')
        (real / "c++").chmod(0o755)
        assert built_again(project, Toolset())
    assert not built_again(project, Toolset())
    monkeypatch.setenv("CXX", f"{tmp_path / 'ccache'} c++")
    assert compiler_of(project)[1] == str(real / "c++")


def compiler_of(project: Path) -> list[str]:
    configured(project, Toolset())
    return compiler_identity(project / "build", entered=False)


def test_clang_with_another_gcc_beside_it_is_another_compiler(project, tmp_path, monkeypatch) -> None:
    """Its libstdc++ is that GCC's: objects were mixed, and rows named the version that was found first."""
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
    gcc = tmp_path / "gcc"
    script = f"""[ "$*" = -v ] && {{ echo "Selected GCC installation: $(cat {gcc})" >&2; exit; }}"""
    clang = tmp_path / "clang++-99"
    clang.write_text(f'#!/bin/sh\n{script}\nexec {COMPILER} "$@"\n')
    clang.chmod(0o755)
    for version in ("/usr/lib/gcc/13", "/usr/lib/gcc/14"):
        gcc.write_text(version)
        assert built_again(project, Toolset(compiler=str(clang)))
    assert not built_again(project, Toolset(compiler=str(clang)))


def test_what_comes_into_a_folder_of_the_users_own_is_looked_for(project, tmp_path, monkeypatch) -> None:
    with (project / "CMakeLists.txt").open("a") as listing:
        listing.write("find_path(NUMBER_FOLDER number.hpp)\nmessage(STATUS found=${NUMBER_FOLDER})\n")
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first / "include", second / "include"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("CMAKE_PREFIX_PATH", f"{first}:{second}")
    for folder in (second, first):  # the first one's comes before what was found already
        (folder / "include/number.hpp").write_text("")
        assert f"-- found={folder}/include" in configured(project, Toolset())
    assert configured(project, Toolset()) == []


def test_what_was_not_found_is_looked_for_again_where_nobody_tells_of_packages(project, monkeypatch) -> None:
    monkeypatch.setattr(configuring, "WATCHED", ())
    configured(project, Toolset())
    index = project / "build/contenders.json"
    index.write_text(json.dumps([{"workload": "a/b", "contender": "c", "reason": "X was not found"}]))
    for databases, asked in ((("/nowhere",), True), ((str(project),), False)):
        monkeypatch.setattr(managers, "DATABASES", databases)
        assert bool(configured(project, Toolset())) == asked
    monkeypatch.setattr(managers, "DATABASES", ("/nowhere",))
    index.write_text(json.dumps([{"workload": "a/b", "contender": "c", "reason": ""}]))
    assert configured(project, Toolset()) == []


def test_a_users_variables_count_each_time(project, tmp_path, monkeypatch) -> None:
    """CMake reads them in an empty folder alone."""
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
    for name in ("g++-1", "g++-2"):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {COMPILER} "$@"\n')
        (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("CXX", str(tmp_path / name))
        monkeypatch.setenv("CXXFLAGS", f"-DOF_{name[-1]}")
        monkeypatch.setenv("LDFLAGS", f"-Wl,-O{name[-1]}")
        configured(project, Toolset())
        compile_, link = commands(project)
        assert compile_.startswith(str(tmp_path / name))
        assert re.findall(r"-DOF_\d", compile_) == [f"-DOF_{name[-1]}"]
        assert re.findall(r"-Wl,-O\d", link) == [f"-Wl,-O{name[-1]}"]
    cache = (project / "build/CMakeCache.txt").read_text()
    (project / "build/CMakeCache.txt").write_text(f"{cache}\nFOUND_WITH:STRING=old flags\n")
    monkeypatch.setenv("CXXFLAGS", "-DOF_2 -DMORE")  # what was found out with other flags goes
    configured(project, Toolset())
    assert "FOUND_WITH" not in (project / "build/CMakeCache.txt").read_text()
    monkeypatch.setenv("CXXFLAGS", "-DOF_2")
    configured(project, Toolset(flags=("-flto=auto",)))  # an environment's own come behind the user's
    assert "-DOF_2 -flto=auto" in commands(project)[0]
    for name in ("CXX", "CXXFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name)
    configured(project, Toolset())
    assert not any(str(tmp_path / "g++") in line or "OF_" in line for line in commands(project))


def test_what_compilers_read_besides_their_command_line_compiles_all_anew(
    project, tmp_path, monkeypatch
) -> None:
    """Nothing in a command says that another folder's header is meant."""
    (project / "main.cpp").write_text('#include "number.hpp"\nint main() { return NUMBER; }\n')
    for variable in ("CPATH", "CPLUS_INCLUDE_PATH"):
        for number in (1, 2):
            there = tmp_path / f"{variable}-{number}"
            there.mkdir()
            header = there / "number.hpp"
            header.write_text(f"#define NUMBER {number}\n")
            os.utime(header, (1, 1))  # as of a package: older than any object
            monkeypatch.setenv(variable, str(there))
            configured(project, Toolset())
            subprocess.run(["ninja", "-C", str(project / "build"), "main"], check=True)
            assert subprocess.run([project / "build/main"], check=False).returncode == number
        monkeypatch.delenv(variable)


def test_libraries_are_looked_for_again_where_they_are_said_to_lie_elsewhere(
    project, tmp_path, monkeypatch
) -> None:
    """The one that was found first stayed, for all that CMAKE_PREFIX_PATH named another version of it."""
    with (project / "CMakeLists.txt").open("a") as listing:
        listing.write(
            "find_path(NUMBER_FOLDER number.hpp)\n"
            "target_include_directories(main PRIVATE ${NUMBER_FOLDER})\n"
            "add_executable(other other.cpp)\n"
        )
    (project / "main.cpp").write_text('#include "number.hpp"\nint main() { return NUMBER; }\n')
    (project / "other.cpp").write_text("int main() {}\n")
    kept = project / "build/CMakeFiles/other.dir/other.cpp.o"
    compiled_at = 0
    for number in (1, 2):
        header = tmp_path / f"prefix-{number}/include/number.hpp"
        header.parent.mkdir(parents=True)
        header.write_text(f"#define NUMBER {number}\n")
        os.utime(header, (1, 1))
        monkeypatch.setenv("CMAKE_PREFIX_PATH", str(tmp_path / f"prefix-{number}"))
        configured(project, Toolset())
        subprocess.run(["ninja", "-C", str(project / "build")], check=True)
        assert subprocess.run([project / "build/main"], check=False).returncode == number
        compiled_at = compiled_at or kept.stat().st_mtime_ns
    assert kept.stat().st_mtime_ns == compiled_at, "what uses no library need not be compiled again"


def test_a_checkout_with_a_quote_in_its_path_is_told_so(tmp_path):
    checkout = tmp_path / 'a "$x" b'
    (checkout / "build").mkdir(parents=True)
    with pytest.raises(TollError, match="with a quote in its name"):
        configuring.configure(checkout, checkout / "build", Toolset("host"), lambda _line: None)


def test_a_users_ccache_is_asked_here_and_not_in_a_root_that_has_none(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`env` stands for what enters a root; the launcher is a program that is not there."""
    monkeypatch.setenv("CMAKE_CXX_COMPILER_LAUNCHER", "no-such-ccache")
    with pytest.raises(TollError, match="CMake could not configure the build"):
        configured(project, Toolset("host"))
    said: list[str] = []
    configure(project, project / "build", Toolset("host"), said.append, enter=("/usr/bin/env",))
    assert not any("no-such-ccache" in line for line in commands(project))
