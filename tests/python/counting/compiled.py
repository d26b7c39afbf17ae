"""Small C++ programs, compiled for a test with the options that it is about."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tollbench.counting.image import Image
from tollbench.counting.matching import Match

PROGRAM = """
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Shape { virtual int area(int) = 0; virtual ~Shape() = default; };
struct Square : Shape { int area(int x) override { return x * x; } };
struct Strip : Shape { int area(int x) override { return x + 3; } };
static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
static int first_counter = 0, second_counter = 0;
static std::vector<int> made{3, 1, 4, 1, 5};
thread_local int per_thread = 7;
extern "C" int twice(int x) { return 2 * x; }
extern "C" int thrice(int x) { return 3 * x; }
static int (*const steps[])(int) = {twice, thrice};
__attribute__((noinline)) int choose(int kind, int x) {
  switch (kind) {
    case 0: return x + 11;
    case 1: return x * 7;
    case 2: return x ^ 5;
    case 3: return x - 11;
    case 4: return x << 2;
    case 5: return x / 3;
    case 6: return std::puts("six");
    default: return 0;
  }
}
__attribute__((noinline)) int in_month(int month) { return days[month - 1]; }
__attribute__((noinline)) int counted() { return ++first_counter + second_counter; }
__attribute__((noinline)) int caught(int x) {
  try {
    if (x > 100) throw std::runtime_error("too much");
  } catch (const std::runtime_error& error) {
    return std::strlen(error.what());
  }
  return x;
}
int main(int count, char**) {
  Shape* shape = count > 1 ? static_cast<Shape*>(new Square) : new Strip;
  int sum = shape->area(count) + in_month(count) + counted() + caught(count) + per_thread + made[1];
  for (int i = 0; i < 9; i++) sum += choose(i % 7, i) + steps[i & 1](i);
  double third = 1.0 / 3.0 * count;
  std::printf("%d %f\\n", sum, third);
}
"""

# Each body is reached by its address alone, as benchmarks are.
REGISTERED_PROGRAM = """
#include <cstdio>
#include <cstdlib>
using Body = int (*)(int);
__attribute__((noinline)) int rare(int x) { return x * 3; }
static int one(int x) { return x == 12345 ? rare(x) : x + 1; }
static int two(int x) { return x + 2; }
static int three(int x) { return x + 3; }
static Body bodies[3];
struct Register { Register(int at, Body body) { bodies[at] = body; } };
static Register first(0, one), second(1, two), third(2, three);
int main(int, char** words) { std::printf("%d\\n", bodies[std::atoi(words[1])](4)); }
"""

# Nothing of it runs. The data and the text go where the program's own are.
NOTHING = """
.text
.fill 48, 1, 0x90
.section .rodata
.asciz "nobody reads this"
.balign 8
.quad 1234567
.data
.quad 42
.section .note.GNU-stack,"",@progbits
"""


def compiled(folder: Path, name: str, text: str, *options: str, first: Sequence[str] = ()) -> Path:
    """The executable `folder/name`; `first` are files that are linked before the program."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}.cpp"
    source.write_text(text)
    command = [compiler, "-O2", *options, *first, str(source), "-o", str(folder / name)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder / name


def google_benchmarks(folder: Path, name: str, text: str, *options: str, first: Sequence[str] = ()) -> Path:
    """An executable of Google Benchmark; skips the test where the library is not installed."""
    if not Path("/usr/include/benchmark/benchmark.h").exists():
        pytest.skip("Google Benchmark is not installed")
    return compiled(
        folder, name, text, *options, "-Wl,--no-as-needed", "-lbenchmark", "-lpthread", first=first
    )


def catch2_objects(folder: Path, text: str) -> list[str]:
    """Benchmarks of Catch2 2 and the part that all its programs share, to link first.

    Its header takes 10 s, its own part half a minute (from ccache where another test had it): so
    programs are linked from these and from what differs between two sides.
    """
    if not Path("/usr/include/catch2/catch.hpp").exists():
        pytest.skip("Catch2 2 is not installed")
    begin = "#define CATCH_CONFIG_ENABLE_BENCHMARKING\n"
    end = "#include <catch2/catch.hpp>\n"
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in (
        ("main", f"{begin}#define CATCH_CONFIG_MAIN\n{end}"),
        ("cases", f"{begin}{end}{text}"),
    ):
        (folder / f"{name}.cpp").write_text(source)
        cached = [word for word in (shutil.which("ccache"), shutil.which("g++")) if word]
        command = [*cached, "-O0", "-c", f"{name}.cpp", "-o", f"{name}.o"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return [str(folder / "main.o"), str(folder / "cases.o")]


def nothing(folder: Path) -> str:
    """A file to link first that moves everything and changes nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nothing.s").write_text(NOTHING)
    return str(folder / "nothing.s")


def match(a: Path, b: Path) -> Match:
    return Match([(Image(a), Image(b))])


def differences(found: Match) -> dict[str, str]:
    """By name what differs."""
    return {found.name(place): item.difference for place, item in found.places.items() if item.difference}
