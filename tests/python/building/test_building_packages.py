"""Packages of libraries whose own CMake files would end the whole configuration, quiet or not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROJECT = f"""cmake_minimum_required(VERSION 3.20)
project(asks CXX)
include("{ROOT}/cmake/TollContender.cmake")
toll_package_is_whole(whole why Sample)
message(STATUS "whole: <${{whole}}> why: <${{why}}>")
"""
NEEDS = """find_package(Unheard 1.81 CONFIG REQUIRED)
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_a_package_that_lacks_a_library_of_its_own_ends_nothing_but_its_own_rows(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    package = tmp_path / "prefix/lib/cmake/Sample/SampleConfig.cmake"
    package.parent.mkdir(parents=True)

    def told() -> str:
        words = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")]
        variables = os.environ | {"CMAKE_PREFIX_PATH": str(tmp_path / "prefix")}
        done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
        return next(line for line in done.stdout.splitlines() if "whole: " in line)

    package.write_text(NEEDS)
    assert '<FALSE> why: <Could not find a package configuration file provided by "Unheard"' in told()
    package.write_text("")  # what it lacked was installed
    assert told().endswith("whole: <TRUE> why: <>")
    package.write_text(NEEDS)  # and is gone again
    assert "whole: <FALSE>" in told()
