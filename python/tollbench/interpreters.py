"""How toll starts Python: here and nowhere else, so that no interpreter looks into the current folder.

`python -c` and `python -m` put the current folder first on Python's path, and PYTHONPATH and the user's
site-packages may hold anything: a `random.py` there is imported for the standard library's.
tests/python/test_lint.py finds interpreters that are started in another way.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PYTHON = sys.executable  # for those who are told which one to use and start it themselves, such as CMake
_TOLL = Path(__file__).with_name("__main__.py")


def interpreter(*words: str) -> list[str]:
    """The command that starts Python with these words, without the folders and variables of whoever calls.

    What needs the standard library alone says "-S" first: that starts sooner, and runs nothing that is
    installed.
    """
    return [PYTHON, "-I", *words]


def toll_itself(*words: str) -> list[str]:
    """The command that starts this toll."""
    return interpreter(str(_TOLL), *words)


_LAUNCHERS = ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")


def environment_of_tools(*, entered: bool = False) -> dict[str, str]:
    """The user's variables but for Python's: for tools that start it in their own way, as CMake does.

    Where a root is `entered` for it, without compiler launchers and CXX too: a user's are not in there. Flags
    are told to CMake itself.
    """
    left_out = ("PYTHON", *((*_LAUNCHERS, "CXX") if entered else ()))
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def interpreter_with_path(*words: str) -> list[str]:
    """The same with PYTHONPATH: for tests and benchmarks, which say by it what is imported."""
    return [PYTHON, "-P", "-s", *words]
