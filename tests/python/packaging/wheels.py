"""The wheel, built and installed: what tests of it share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from checkouts import ROOT
from tollbench.interpreters import interpreter

SHIPPED = "tollbench/shipped/"
SHIPPED_FOLDERS = ("cmake", "include", "languages", "schemas", "src", "suites", "third_party")


def built(target: Path, sources: Path = ROOT, kind: str = "wheel") -> Path:
    """The wheel or sdist of `sources`, in the folder `target`."""
    command = interpreter("-m", "hatchling", "build", "-t", kind, "-d", str(target))
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


def installed(wheel: Path, folder: Path) -> Path:
    """A fresh environment in `folder` with the wheel; what it needs it takes from the tests' environment."""
    made = subprocess.run(
        interpreter("-m", "venv", "--without-pip", str(folder)), cwd="/", capture_output=True, check=False
    )
    assert made.returncode == 0, made.stderr
    (packages,) = folder.glob("lib/python3*/site-packages")
    needed = [entry for entry in sys.path if Path(entry).name == "site-packages"]
    (packages / "needed.pth").write_text("\n".join(needed) + "\n")
    words = (
        "-m",
        "pip",
        "--python",
        str(folder),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    )
    done = subprocess.run(interpreter(*words), cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def toll(environment: Path, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The installed command, by its name, without this checkout anywhere on Python's path."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(environment / "bin/toll"), *arguments],
        cwd=cwd,
        env={**around, "COLUMNS": "120", "XDG_CACHE_HOME": str(cwd / "cache"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def shipped_files() -> Iterator[Path]:
    """What a wheel has of the checkout besides the package, relative to the checkout."""
    yield from map(Path, ("CMakeLists.txt", "CMakePresets.json"))
    for folder in SHIPPED_FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)
