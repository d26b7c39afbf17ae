"""The files of cmake/contenders: what they find, and when they look again."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkouts import ROOT

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(asks CXX)
set(CMAKE_CXX_STANDARD 20)
include(cmake/TollContender.cmake)
foreach(name IN LISTS ASKED)
  toll_find_need(${name})
  get_property(reason GLOBAL PROPERTY TOLL_NEED_${name}_REASON)
  get_property(version GLOBAL PROPERTY TOLL_NEED_${name}_VERSION)
  file(APPEND "${CMAKE_BINARY_DIR}/found" "${name}|${version}|${reason}\\n")
endforeach()
"""
OLD_BOOST = """if(NOT TARGET Boost::headers)
  add_library(Boost::headers INTERFACE IMPORTED)
endif()
set(Boost_VERSION_STRING 1.70.0)
set(Boost_VERSION 107000)
"""
OLD_BOOST_VERSION = """set(PACKAGE_VERSION 1.70.0)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "cmake", tmp_path / "cmake")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    monkeypatch.setenv("CMAKE_PREFIX_PATH", str(tmp_path / "prefix"))
    return tmp_path


def found(project: Path, names: Sequence[str], *words: str, by_ninja: bool = False) -> dict[str, list[str]]:
    """(version, reason) of each need."""
    build = project / "build"
    build.mkdir(exist_ok=True)
    (build / "found").unlink(missing_ok=True)
    asks = [
        "cmake",
        "-S",
        str(project),
        "-B",
        str(build),
        "-G",
        "Ninja",
        f"-DASKED={';'.join(names)}",
        *words,
    ]
    command = ["ninja", "-C", str(build), "build.ninja"] if by_ninja else asks
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    lines = (build / "found").read_text().splitlines()
    return {name: [version, reason] for name, version, reason in (line.split("|") for line in lines)}


def put(project: Path, name: str, text: str) -> None:
    path = project / "prefix" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "there", "told_by", "line"),
    [
        ("citor", "include/citor/thread_pool.h", "include/citor/version.h",
         '#define CITOR_VERSION_STRING "{}.0.0"'),
        ("taskflow", "include/x", "include/taskflow/taskflow.hpp", "#define TF_VERSION {}00000"),
        ("libfork", "include/libfork/core.hpp", "include/libfork/core/macro.hpp",
         "#define LF_VERSION_MAJOR {}\n#define LF_VERSION_MINOR 0\n#define LF_VERSION_PATCH 0"),
    ],
)  # fmt: skip
def test_another_version_of_a_librarys_headers_is_told(project, name, there, told_by, line) -> None:
    put(project, there, "")
    put(project, told_by, line.format(3))
    assert found(project, [name])[name] == ["3.0.0", ""]
    time.sleep(0.05)  # files of one tick of the clock are equally old
    put(project, told_by, line.format(4))
    assert found(project, [name], by_ninja=True)[name] == ["4.0.0", ""]


def test_an_older_boost_that_another_search_has_found_is_not_enough(project) -> None:
    """Once the target is there, it is there for all; a search that names a version may end either way."""
    place = "lib/cmake/Boost-1.70.0"
    put(project, f"{place}/BoostConfig.cmake", OLD_BOOST)
    put(project, f"{place}/BoostConfigVersion.cmake", OLD_BOOST_VERSION)
    names = [path.stem for path in (ROOT / "cmake/contenders").glob("boost_*.cmake")]
    wanted = [
        name for name in names if "Boost::headers" in (ROOT / f"cmake/contenders/{name}.cmake").read_text()
    ]
    assert len(wanted) >= 8
    told = found(project, ["boost_fiber", *wanted])
    assert {name: bool(told[name][1]) for name in wanted} == dict.fromkeys(wanted, True)


def test_an_atomic_library_that_was_installed_meanwhile_is_found(project) -> None:
    name = "atomic_16_bytes"
    denied = ["-DTOLL_ATOMIC_16_BYTES_BUILT_IN=", "-DTOLL_ATOMIC_16_BYTES_IN_LIBATOMIC="]
    assert found(project, [name], *denied)[name][1] == ""
