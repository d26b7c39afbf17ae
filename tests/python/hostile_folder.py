"""A stranger's folder: all in it that could be run instead of the real thing tells that it was run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

# What the interpreter's first start imports by name, what toll and its libraries import, and what pip does.
INSTALLED = (
    *(
        "tollbench",
        "typer",
        "click",
        "rich",
        "numpy",
        "scipy",
        "pydantic",
        "pydantic_core",
        "pyarrow",
        "jinja2",
    ),
    *(
        "elftools",
        "iced_x86",
        "shellingham",
        "typing_extensions",
        "annotated_types",
        "markupsafe",
        "pygments",
    ),
    *("pip", "setuptools", "pkg_resources", "wheel", "sitecustomize", "usercustomize", "pytest", "toll_test"),
)
PROGRAMS = (
    *("readlink", "dirname", "sha256sum", "flock", "cut", "rm", "mv", "cp", "mkdir", "id", "sudo", "apt-get"),
    *(
        "python3",
        "python",
        "python3.11",
        "cmake",
        "ninja",
        "git",
        "uname",
        "ldd",
        "ldconfig",
        "cc",
        "c++",
        "gcc",
    ),
    *(
        "g++",
        "clang++",
        "as",
        "ld",
        "ld.bfd",
        "collect2",
        "cargo",
        "rustc",
        "go",
        "javac",
        "java",
        "erl",
        "erlc",
    ),
    *(
        "ghc",
        "valgrind",
        "strace",
        "setarch",
        "env",
        "true",
        "apt-cache",
        "apt-config",
        "mmdebstrap",
        "unshare",
    ),
    *("objdump", "addr2line", "perf", "uv", "sh"),
)
FIRST_ON_PATH = ("apt-get", "sudo", "mmdebstrap")  # whoever reaches these changes the machine


class HostileFolder:
    """`folder` is where somebody stands; `ran` is what has been run of it."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "a stranger's"
        self._log = place / "log"
        self.folder.mkdir(parents=True)
        self.refusing = place / "refusing"
        self.refusing.mkdir()
        for name in FIRST_ON_PATH:
            self.program(self.refusing / name)

    def ran(self) -> list[str]:
        """Files that have been run, in order."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    def module(self, path: Path) -> None:
        """Python that tells of its import."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(self._log)!r}, 'a').write(__file__ + '\\n')\nprint('PWNED')\n")

    def program(self, path: Path) -> None:
        """A script that tells of its start, and fails."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self._log}'\necho PWNED\nexit 97\n")
        path.chmod(0o755)

    def with_modules(self, names: Iterable[str] = (*sorted(sys.stdlib_module_names), *INSTALLED)) -> None:
        """A module, and for the first letters of the alphabet a package, of each name."""
        for name in names:
            self.module(
                self.folder / (f"{name}/__init__.py" if name in ("tollbench", "numpy") else f"{name}.py")
            )
        for room in ("cli", "interpreters"):
            self.module(self.folder / "tollbench" / f"{room}.py")
        self.module(self.folder / "tollbench/__main__.py")
        user_site = f"base/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        for name in ("usercustomize", "typer", "pip"):
            self.module(self.folder / user_site / f"{name}.py")
        told = f"import sys; open({str(self._log)!r}, 'a').write('a .pth\\n')\n"
        (self.folder / user_site / "x.pth").write_text(told)
        for name in ("pyproject.toml", "setup.cfg", "pyvenv.cfg", "pip.conf", ".python-version"):
            (self.folder / name).write_text("home = .\n")

    def with_programs(self) -> None:
        """Programs that a relative entry of PATH would lead to."""
        for name in PROGRAMS:
            self.program(self.folder / name)

    def environment(self, **more: str) -> dict[str, str]:
        """Of somebody whose variables lead here by every way that Python and shells know."""
        path = os.pathsep.join(["", ".", str(self.refusing), os.environ["PATH"], ""])
        return {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": os.pathsep.join(["", ".", str(self.folder)]),
            "PYTHONHOME": str(self.folder / "base"),
            "PYTHONSTARTUP": str(self.folder / "typer.py"),
            "PYTHONUSERBASE": str(self.folder / "base"),
            "XDG_CACHE_HOME": str(self.folder.parent / "cache"),
            **more,
        }
