"""Drives CMake; a failed build is a row, not the end of a run."""

from toll.build.cmake import Build, programs

__all__ = ["Build", "programs"]
