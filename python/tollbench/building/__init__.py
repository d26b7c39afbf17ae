"""Drives CMake; a failed build is a row, not the end of a run."""

from tollbench.building.cmake import allocation_counter, canary, described, failed, in_environment, programs

__all__ = ["allocation_counter", "canary", "described", "failed", "in_environment", "programs"]
