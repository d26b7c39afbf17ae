"""Tiny programs, built under the wrappers as a user would build them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tollbench.linking.link_maps import MappedSection, text_sections_of_gnu, text_sections_of_lld
from tollbench.linking.relinking import Linkable
from tollbench.linking.wrapped import WrappedBuild

NAMES = [f"work_{letter}" for letter in "abcdefgh"]
MAIN = (
    "#include <cstdio>\n"
    + "".join(f'extern "C" int {name}(int);\n' for name in NAMES)
    # Both sources have a function of this name.
    + "static __attribute__((noinline)) int local(int x) { volatile int y = x; return y; }\n"
    + 'extern "C" __attribute__((noinline)) int of_main(int x) { return local(x) + local(x + 1); }\n'
    + 'int main(int count, char **) { std::printf("%d\\n", '
    + " + ".join(f"{name}(of_main(count))" for name in NAMES)
    + "); }\n"
)


def functions(lengths: Mapping[str, int] | None = None) -> str:
    """A source with a function for each of NAMES, each as long as `lengths` has it, in multiplications."""
    made = "static __attribute__((noinline)) int local(int x) { volatile int y = x; return y + 1; }\n"
    for number, name in enumerate(NAMES):
        steps = "x = x * 5 + 1; y = y + x; " * ((lengths or {}).get(name, number % 3 + 1))
        made += (
            f'extern "C" int {name}(int x) {{ volatile int y = local(x); {steps} return y + {number}; }}\n'
        )
    return made


def write_sources(folder: Path, lengths: Mapping[str, int] | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.cpp").write_text(MAIN)
    (folder / "work.cpp").write_text(functions(lengths))


def build(folder: Path, command: str, program: str = "bench") -> WrappedBuild:
    """Runs a build command in a folder with sources, under wrappers that lie beside it."""
    scratch = folder.with_name(f"{folder.name} wrappers")
    wrapped = WrappedBuild(scratch, program)
    environment = wrapped.environment(os.environ)
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not (wrapped.folder / "trouble").exists()
    return wrapped


def printed(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def sections(program: Linkable, layout: Path) -> list[MappedSection]:
    """What stands where in a layout, by the map that its link left."""
    text = (program.scratch / f"{layout.name}.map").read_text(errors="surrogateescape")
    found = text_sections_of_lld(text) if program.is_lld else text_sections_of_gnu(text)
    return sorted(found, key=lambda section: section.address)


def section_of(name: str) -> str:
    """What the compiler calls the section of a function that has a C name."""
    return f".text.{name}"


def addresses(program: Linkable, layout: Path) -> dict[str, int]:
    return {program.key_of(section): section.address for section in sections(program, layout)}
