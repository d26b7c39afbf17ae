"""nanobench executables: a stand-in for everything that one may print, and a real one with TOLL_NANOBENCH."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from foreign_kinds import compared_as, executable, rows

from tollbench.compare import (
    Verdict,
)

# Its bytes hold what tells a nanobench executable. Versions 1, 3 and 4 print their tables with these columns.
FAKE = r"""#!/usr/bin/env -S python3 -ES
# NANOBENCH_ENDLESS
import random, sys
# SEEDED
words = dict(word.partition("=")[::2] for word in sys.argv[1:])
noise = lambda: float(words.get("slow", 1)) * random.gauss(1.0, 0.004)
def row(lead, ns, told, units=1.0):
    return f"|{lead}{ns * units:>20,.2f} |{1e9 / ns:>20,.2f} |    0.1% |      0.01 | {told}"
version = words.get("version", "4")
print("Warning, results might be unstable:\n* Turbo is enabled, CPU frequency will fluctuate\n")
if version == "1":
    print("\n| relative |               ns/op |                op/s |   MdAPE | RNG")
    print("|---------:|--------------------:|--------------------:|--------:|:-----------")
    for name, ns in (("sum", 100.0), ("tick``s", 0.31)):
        ns *= noise()
        print(f"|          |{ns:>20,.2f} |{1e9 / ns:>20,.2f} |    7.2% | :wavy_dash: `{name}`"
              " Unstable with ~9.9 iters. Increase `minEpochIterations` to e.g. 99")
    sys.exit()
print("\n|               ns/op |                op/s |    err% |     total | benchmark")
print("|--------------------:|--------------------:|--------:|----------:|:----------")
if version == "3":
    print(row("", 100.0 * noise(), "sum"))
    sys.exit()
print("some words of the program itself, with a | in them")
print("\n|               ns/op |                op/s |    err% |     total | benchmark")
print("|--------------------:|--------------------:|--------:|----------:|:----------")
print(row("", 100.0 * noise(), "`sum`"))
print("a line that it prints between two rows, | which have no other header")
print(row("", 0.31 * noise(), "`fast`"))
print(row("", 5e9 * noise(), "`long`"))
print(row("", 7.0 * noise(), "`sum`"))
print("|                   - |                   - |       - |         - | :boom: `gone` (iterations over)")
if "crash" in words:
    print("assertion failed", file=sys.stderr)
    sys.exit(3)
print("\n| relative |              MB/byte |              byte/s |    err% |     total | a|b")
print("|---------:|--------------------:|--------------------:|--------:|----------:|:----")
advice = " (Unstable with ~1,234.5 iters. Increase `minEpochIterations` to e.g. 12345)"
print(row("   100.0% |", 3.5 * noise(), ":wavy_dash: `sum | total`" + advice, units=1e-9))
"""


compared = partial(compared_as, "nanobench", most_rounds=14)


@pytest.fixture
def fake(tmp_path: Path) -> str:
    return executable(tmp_path / "bench", FAKE)


def test_a_slow_down_is_found_in_every_table_and_to_all_digits(fake: str) -> None:
    found = rows(compared(fake, f"{fake} slow=1.05"))
    assert found.pop("gone").verdict is Verdict.FAILED
    truth = {"sum": 100.0, "fast": 0.31, "long": 5e9, "sum (2)": 7.0, "a|b / sum | total": 3.5}
    assert {name: item.a_ns for name, item in found.items()} == pytest.approx(truth, rel=0.01)
    for name, item in found.items():
        # The two digits of "0.31" would make it 1.03 or 1.06, and a time in an unknown unit none at all.
        assert item.ratio == pytest.approx(1.05, abs=0.006), name
    assert {item.verdict for item in found.values()} == {Verdict.SLOWER}


def test_what_the_program_has_no_time_for_tells_why(fake: str) -> None:
    assert "has no time for it: iterations over" in rows(compared(fake, fake))["gone"].reason


@pytest.mark.parametrize(
    ("version", "names"), [("1", ["RNG / sum", "RNG / tick`s"]), ("3", ["sum"])], ids=["1", "3"]
)
def test_older_tables(fake: str, version: str, names: list[str]) -> None:
    found = rows(compared(f"{fake} version={version}", f"{fake} version={version} slow=1.05"))
    assert sorted(found) == names
    assert {item.verdict for item in found.values()} == {Verdict.SLOWER}


def test_only_what_matches_is_compared(fake: str) -> None:
    assert list(rows(compared(fake, fake, pattern="^fast", most_rounds=2))) == ["fast"]


def test_a_side_that_crashes_has_its_last_words_in_the_row(fake: str) -> None:
    (item,) = compared(fake, f"{fake} crash").comparisons
    assert (item.benchmark, item.verdict) == ("*", Verdict.FAILED)
    assert "exited with code 3; its last words: assertion failed" in item.reason


def test_around_it_may_be_a_framework_that_has_benchmarks_of_its_own(fake: str) -> None:
    with Path(fake).open("a") as file:
        file.write("# benchmark-no-analysis\n")
    assert "sum" in rows(compared(fake, fake, most_rounds=2))


def test_who_prints_no_table_is_told_what_to_do(tmp_path: Path) -> None:
    silent = executable(tmp_path / "silent", "#!/bin/sh\n# NANOBENCH_ENDLESS\n")
    (item,) = compared(silent, silent).comparisons
    assert "silent offers no benchmark: it prints no table of nanobench's; next: " in item.reason
    (item,) = compared(silent, silent, pattern="sum").comparisons
    assert item.reason.endswith("offers no benchmark that matches 'sum'")


REAL = """#define ANKERL_NANOBENCH_IMPLEMENT
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <nanobench.h>
int main() {
    ankerl::nanobench::Rng random;
    uint64_t sum = 0;
    ankerl::nanobench::Bench().run("sum", [&] {
        for (int i = 0; i < SUMS; ++i) ankerl::nanobench::doNotOptimizeAway(sum += random());
    });
}
"""
WITHIN = {  # test frameworks: an executable's test cases run benchmarks, some of which are not asked for
    "doctest": """#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>""",
    "catch2": """#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>""",
}
CASES = """
TEST_CASE("plain") { CHECK(SUMS > 0); }
TEST_CASE("bench sum") { sums("sum"); }
TEST_CASE("bench other") { sums("other"); }
"""
HEADER = Path(os.environ.get("TOLL_NANOBENCH", "/usr/include"), "nanobench.h")


needs_header = pytest.mark.skipif(
    shutil.which("g++") is None or not HEADER.exists(),
    reason="no g++, or no nanobench.h: TOLL_NANOBENCH=FOLDER",
)


def build(folder: Path, text: str) -> tuple[str, str]:
    """Two sides, of which the second does three times as much."""
    (folder / "b.cpp").write_text(text)
    for name, size in (("old", 1000), ("new", 3000)):
        options = ["-O1", "-std=c++17", f"-DSUMS={size}", "-isystem", str(HEADER.parent)]
        subprocess.run(["g++", *options, "b.cpp", "-o", name], cwd=folder, check=True)
    return f"{folder}/old", f"{folder}/new"


@pytest.mark.slow
@needs_header
def test_a_real_executable(tmp_path: Path) -> None:
    (item,) = compared(*build(tmp_path, REAL), most_rounds=40).comparisons
    assert (item.benchmark, item.verdict) == ("sum", Verdict.SLOWER)
    assert item.ratio == pytest.approx(3.0, rel=0.3)


@pytest.mark.slow
@needs_header
@pytest.mark.parametrize(("framework", "words"), [("doctest", "-tc='bench sum'"), ("catch2", "'bench sum'")])
def test_a_real_executable_of_a_test_framework(framework: str, words: str, tmp_path: Path) -> None:
    include = WITHIN[framework].partition("<")[2].rstrip(">")
    if not Path("/usr/include", include).exists():
        pytest.skip(f"no {include}")
    benchmark = REAL.replace("int main()", "static void sums(const char* name)").replace('"sum"', "name")
    sides = build(tmp_path, f"{WITHIN[framework]}\n{benchmark}{CASES}")
    (item,) = compared(*(f"{side} {words}" for side in sides), most_rounds=40).comparisons
    assert (item.benchmark, item.verdict) == ("sum", Verdict.SLOWER)
    assert item.ratio == pytest.approx(3.0, rel=0.3)
