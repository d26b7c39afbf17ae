"""A copy of the checkout for tests to work in, and toll as a process of its own.

Not in conftest.py: where several folders have one, which of them `import conftest` finds depends on the order
of collection.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tollbench.interpreters import interpreter_with_path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("cmake", "include", "languages", "src", "suites", "schemas", "python", "third_party")
COPIED_FILES = ("CMakeLists.txt", "CMakePresets.json", "toll", "requirements.lock", "requirements-test.lock")

Toll = Callable[..., "subprocess.CompletedProcess[str]"]


def copy_checkout(target: Path) -> Path:
    """The parts of the checkout that toll needs, without what was built or measured."""
    target.mkdir(parents=True)
    for name in COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in COPIED_FILES:
        shutil.copy2(ROOT / name, target / name)
    return target


def toll_in(checkout: Path, limit_s: float = 540.0) -> Toll:
    """A function that runs the command line of `checkout` in a process of its own, for at most `limit_s`.

    The usual limit is for builds beside whatever else the machine has to do.
    """

    def call(
        *arguments: str, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            interpreter_with_path("-m", "tollbench", *arguments),
            cwd=cwd or checkout,
            env={**os.environ, "PYTHONPATH": str(checkout / "python"), "COLUMNS": "120", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    return call
