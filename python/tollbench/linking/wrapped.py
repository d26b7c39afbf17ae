"""Wrappers around compiler and linker, put under the user's own build command by its environment.

GCC and Clang look for the programs that they start in the folders of COMPILER_PATH first. GCC's compilers are
wrapped to make a section of each function; Clang is told by CCC_OVERRIDE_OPTIONS, rustc does so by itself.
The linker is wrapped to have its last link repeated later. Nothing else of the build changes.

Sources: "Environment Variables Affecting GCC" in GCC's manual; clang/lib/Driver/Driver.cpp (GetProgramPath,
CCC_OVERRIDE_OPTIONS).
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from tollbench.interpreters import interpreter
from tollbench.launching.failure import LaunchFailed
from tollbench.linking import recorder

COMPILERS = ("cc1", "cc1plus", "cc1obj", "cc1objplus", "f951", "d21", "lto1")
LINKERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")

# Started once a source: one process more, and another the first time that a driver is seen.
_COMPILER = """#!/bin/sh
here=${0%/*} name=${0##*/}
driver=$(readlink "/proc/$PPID/exe") || driver=$COLLECT_GCC
known=$here/../known$driver/$name
if [ -r "$known" ]; then
    IFS= read -r real < "$known"
else
    case $COMPILER_PATH in
        "$here:"*) others=${COMPILER_PATH#"$here:"} ;;
        *) others= ;;
    esac
    real=$(COMPILER_PATH=$others "$driver" "-print-prog-name=$name")
    case $real in
        /*) ;;
        *) echo "$name: not found by $driver" >&2; exit 127 ;;
    esac
    mkdir -p "${known%/*}" && printf '%s\\n' "$real" > "$known.$$" && mv -f "$known.$$" "$known"
fi
exec "$real" "$@" -ffunction-sections
"""
# GCC's own wrapper of the linker. A folder of the command line (-B) comes before COMPILER_PATH, but holds a
# linker and no collect2: here ours is put before it.
_COLLECT = """#!/bin/sh
here=${0%/*} name=${0##*/} before=$IFS
set -f
IFS=:
for place in $COMPILER_PATH; do
    place=${place%/}
    if [ "$place" != "$here" ] && [ -x "$place/$name" ]; then
        IFS=$before
        COMPILER_PATH=$here/:$COMPILER_PATH exec "$place/$name" "$@"
    fi
done
echo "$name: not found in $COMPILER_PATH" >&2
exit 127
"""
_LINKER = """#!/bin/sh
exec {recorder} "${{0%/*}}" "${{0##*/}}" "$@"
"""


class WrappedBuild:
    """A folder of wrappers for one build, and what they kept of it.

    `program` is the path of the executable in the checkout. Raises LaunchFailed where `scratch` cannot hold
    the wrappers.
    """

    def __init__(self, scratch: Path, program: str) -> None:
        self.folder = scratch.resolve() / "wrapped"
        self.program = program
        if ":" in str(self.folder):
            raise LaunchFailed(
                f"cannot be linked in other layouts: compilers find no wrapper in {self.folder}, as a colon "
                "divides the folders of COMPILER_PATH; let TMPDIR name a folder without one"
            )
        try:
            self._write()
        except OSError as error:
            raise LaunchFailed(
                f"cannot be linked in other layouts: wrappers cannot be written to {self.folder}: "
                f"{error.strerror or error}"
            ) from None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """What the build command runs with."""
        wrappers = str(self.folder / "bin")
        edits = base.get("CCC_OVERRIDE_OPTIONS", "#")
        return {
            **base,
            "COMPILER_PATH": ":".join([wrappers, *filter(None, [base.get("COMPILER_PATH")])]),
            "CCC_OVERRIDE_OPTIONS": f"{edits} +-ffunction-sections",
            # Objects of before have no function sections, and those of now are not for other builds.
            "CCACHE_DISABLE": "1",
            "SCCACHE_C_CUSTOM_CACHE_BUSTER": "toll --layouts",  # else its key knows nothing of the wrapper
            "DISTCC_HOSTS": "localhost",  # other machines have no wrapper
            "ICECC": "no",
        }

    def _write(self) -> None:
        (self.folder / "links").mkdir(parents=True)
        wrappers = self.folder / "bin"
        wrappers.mkdir()
        program = json.dumps(self.program)  # a name with bytes that are no text survives
        (self.folder / "program").write_text(program, encoding="utf-8")
        recording = shlex.join(interpreter("-S", os.path.realpath(recorder.__file__)))
        scripts = {
            "compiler": (_COMPILER, COMPILERS),
            "collect": (_COLLECT, ("collect2",)),
            "linker": (_LINKER.format(recorder=recording), LINKERS),
        }
        for name, (text, links) in scripts.items():
            path = self.folder / name
            path.write_bytes(os.fsencode(text))
            path.chmod(0o755)
            for link in links:
                (wrappers / link).symlink_to(path)
