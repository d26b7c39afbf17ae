"""What one iteration takes, from the runs of an unchanged Google Benchmark executable."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import compiled, google_benchmarks

from tollbench.compare import MeasuringOptions, WrittenSide, resolve, subject_of
from tollbench.compare.counters import BY_MALLOC, UNDER_VALGRIND, Amount, Reading
from tollbench.compare.counting_sides import counter_for
from tollbench.counting.instructions import CALLGRIND, Cost, cost_in, how_it_ended
from tollbench.counting.runs import Launching, launched
from tollbench.launching.environment import own_environment

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
BENCHMARKS = """
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>
#ifndef LAST_RUN
#define LAST_RUN 1000
#endif
static void loop(benchmark::State& state) {
  std::vector<int> filled(state.range(0), 3);  // once a run: no part of an iteration
  for (auto _ : state) {
    long x = 0;
    asm volatile(".rept 98\\n\\t nop\\n\\t .endr" ADDED : "+r"(x));
    benchmark::DoNotOptimize(x);
  }
}
BENCHMARK(loop)->Arg(1000);
static void strings(benchmark::State& state) {
  for (auto _ : state) {
    std::string text(99, 'x');
    std::vector<char> more(28);
    benchmark::DoNotOptimize(text.data());
    benchmark::DoNotOptimize(more.data());
  }
}
BENCHMARK(strings);
static void asks(benchmark::State& state) {
  for (auto _ : state) { std::fprintf(stderr, "Running %s for %d\\n", "asks", 7); getppid(); getppid(); }
}
BENCHMARK(asks);
static void fixed(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(new int);
}
BENCHMARK(fixed)->Iterations(5);
static void slow(benchmark::State& state) {
  for (auto _ : state) usleep(30000);
}
BENCHMARK(slow);
BENCHMARK(fixed)->Name("often")->Iterations(5)->Repetitions(3);
BENCHMARK(strings)->Name("named")->ArgName("threads")->Arg(4);
BENCHMARK(strings)->Name("truly")->Threads(2);
static void skips(benchmark::State& state) {
  int made = 0;
  for (auto _ : state) {
    if (++made > LAST_RUN / 2) { state.SkipWithError("enough of it"); break; }
  }
}
BENCHMARK(skips);
static void crashes(benchmark::State& state) {
  for (auto _ : state) if (state.max_iterations == LAST_RUN) std::abort();
}
BENCHMARK(crashes);
static void leaves(benchmark::State& state) {
  for (auto _ : state) if (state.max_iterations == LAST_RUN) std::exit(0);
}
BENCHMARK(leaves);
BENCHMARK_MAIN();
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def program(folder: Path, added: str = '""', *options: str) -> Path:
    return google_benchmarks(folder, "benchmarks", f"#define ADDED {added}\n{BENCHMARKS}", *options)


def read(executable: Path, cache: Path, name: str, metrics: frozenset[str]) -> dict[str, Any]:
    kind, sides = resolve([WrittenSide(str(executable)), WrittenSide(str(executable))])
    counter = counter_for(subject_of(kind, sides, MeasuringOptions(60.0)), cache)
    assert counter is not None
    found: Reading = counter.read(1, name, metrics)
    return {
        metric: amount.value if isinstance(amount, Amount) else amount for metric, amount in found.items()
    }


@needs_valgrind
def test_one_instruction_of_a_hundred_is_seen(tmp_path: Path, cache: Path) -> None:
    before = read(program(tmp_path / "a"), cache, "loop/1000", UNDER_VALGRIND)
    after = read(program(tmp_path / "b", r'"\n\tnop"'), cache, "loop/1000", UNDER_VALGRIND)
    assert before["syscalls"] == after["syscalls"] == 0
    assert 98 < before["instructions"] < 110
    assert after["instructions"] - before["instructions"] == 1


@needs_valgrind
def test_instructions_are_those_that_callgrind_tells_of_the_function(tmp_path: Path, cache: Path) -> None:
    """By hand: all that happens within the function, of which a run of one iteration is taken off."""
    executable = program(tmp_path)
    counted = read(executable, cache, "strings", UNDER_VALGRIND)["instructions"]
    out = tmp_path / "by-hand"
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=strings*", "--collect-atstart=no"]
    command += [f"--callgrind-out-file={out}", str(executable), "--benchmark_filter=^strings$", "--v=2"]
    total, runs = [], []
    for seconds in ("1e-9", "0.02"):
        ended = subprocess.run(
            [*command, f"--benchmark_min_time={seconds}"],
            capture_output=True,
            text=True,
            check=True,
            env={"LD_BIND_NOW": "1"},
        )
        runs.append([int(each) for each in re.findall(r"Running strings for (\d+)", ended.stderr)])
        total.append(int(re.findall(r"^totals: (\d+)", out.read_text(), re.MULTILINE)[0]))
    assert runs[0] == [1]
    assert sum(runs[1]) > 1
    # Every run costs the same beside its iterations; a run of one iteration is once that and an iteration.
    beside = total[0] - counted
    assert total[1] == counted * sum(runs[1]) + beside * len(runs[1])


def test_allocations_are_those_that_the_source_makes(tmp_path: Path, cache: Path) -> None:
    executable = program(tmp_path)
    found = read(executable, cache, "strings", BY_MALLOC)
    assert (found["allocations"], found["bytes"]) == (2, 128)
    assert found["peak"] >= 128
    assert read(executable, cache, "loop/1000", BY_MALLOC)["allocations"] == 0
    for name in ("fixed/iterations:5", "often/iterations:5/repeats:3"):  # with what surrounds their loop
        assert 1 <= read(executable, cache, name, BY_MALLOC)["allocations"] < 2, name


def test_an_argument_that_is_called_threads_is_none(tmp_path: Path, cache: Path) -> None:
    executable = program(tmp_path)
    for name in ("named/threads:4", "truly/threads:2"):
        assert read(executable, cache, name, BY_MALLOC)["allocations"] == 2, name


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("skips", "reports an error: enough of it"),
        ("crashes", "crashed with SIGABRT"),
        ("leaves", "ended well, but wrote no results"),
    ],
)
def test_a_benchmark_that_fails_in_its_last_run_has_no_count(
    tmp_path: Path, cache: Path, name: str, told: str
) -> None:
    assert told in read(program(tmp_path), cache, name, frozenset(("allocations",)))["allocations"]


def test_a_side_that_fails_costs_the_others_nothing(tmp_path: Path, cache: Path) -> None:
    names = ("first", "failing", "third")
    paths = [
        program(tmp_path / name, '""', f"-DLAST_RUN={1000 if name == 'failing' else 7}") for name in names
    ]
    kind, sides = resolve([WrittenSide(str(path)) for path in paths])
    counter = counter_for(subject_of(kind, sides, MeasuringOptions(60.0)), cache)
    assert counter is not None
    found = [counter.read(side, "crashes", frozenset(("allocations",)))["allocations"] for side in range(3)]
    assert "crashed with SIGABRT" in str(found[1])
    assert [each.value for each in (found[0], found[2]) if isinstance(each, Amount)] == [0, 0]


@needs_valgrind
def test_what_a_benchmark_prints_is_no_mark_and_its_system_calls_are_counted(
    tmp_path: Path, cache: Path
) -> None:
    assert read(program(tmp_path), cache, "asks", UNDER_VALGRIND)["syscalls"] == 3


@needs_valgrind
def test_a_long_iteration_makes_fewer_runs(tmp_path: Path, cache: Path) -> None:
    assert read(program(tmp_path), cache, "slow", UNDER_VALGRIND)["syscalls"] >= 1


OWN_MALLOC = """
#include <cstddef>
alignas(16) static char pool[1 << 24];
static std::size_t used;
extern "C" void* malloc(std::size_t bytes) noexcept {
  void* block = pool + used;
  used += (bytes + 15) / 16 * 16;
  return block;
}
extern "C" void free(void*) noexcept {}
extern "C" void* calloc(std::size_t count, std::size_t each) noexcept { return malloc(count * each); }
"""


@needs_valgrind
def test_allocations_of_a_malloc_of_ones_own_are_not_told(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "own.cpp").write_text(OWN_MALLOC)
    executable = program(tmp_path, '""', str(tmp_path / "own.cpp"))
    assert "brings a malloc of its own" in str(read(executable, cache, "strings", BY_MALLOC)["bytes"])
    assert read(executable, cache, "strings", UNDER_VALGRIND)["syscalls"] == 0


@needs_valgrind
@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("int main() { return 0; }", ("-static",), "takes no preloaded library"),
        ("int main() { return 0; }", (), "does not say where its runs begin"),
        ("int main() { return 3; }", (), "exited with code 3"),
    ],
)
def test_a_program_that_cannot_be_counted_says_why(
    tmp_path: Path, cache: Path, text: str, options: tuple[str, ...], told: str
) -> None:
    executable = compiled(tmp_path, "p", text, *options)
    kind, sides = resolve([WrittenSide(str(executable))] * 2, "google-benchmark")
    counter = counter_for(subject_of(kind, sides, MeasuringOptions(60.0)), cache)
    assert counter is not None
    found = counter.read(0, "any", UNDER_VALGRIND)
    assert told in str(found["instructions"])


@needs_valgrind
def test_an_instruction_that_valgrind_does_not_know_is_the_reason(tmp_path: Path) -> None:
    text = 'int main() { asm volatile(".byte 0x62,0xf1,0x7d,0x48,0xef,0xc0"); }'  # vpxord zmm0, zmm0, zmm0
    asked = Launching([str(compiled(tmp_path, "p", text))], own_environment(), None, 60.0)
    with launched(asked, [], {}, CALLGRIND) as made:
        assert "an instruction that Valgrind does not know" in how_it_ended(made.ended, made.scratch)


@needs_valgrind
def test_a_stripped_executable_is_counted_as_well(tmp_path: Path, cache: Path) -> None:
    whole = read(program(tmp_path / "a"), cache, "strings", UNDER_VALGRIND)
    assert read(program(tmp_path / "b", '""', "-s"), cache, "strings", UNDER_VALGRIND) == whole


def test_what_a_called_function_took_is_not_added_a_second_time(tmp_path: Path) -> None:
    profile = tmp_path / "cost.1.1"
    profile.write_text(
        "# callgrind format\nversion: 1\npositions: line\nevents: Ir sysCount sysTime\nsummary: 17 1\n\n"
        "ob=(1) /bin/program\nfl=(1) a.c\nfn=(1) main\n1 5\n+1 2\ncfn=(2) f\ncalls=1 4\n* 10 1\n"
        "ob=(2) /cache/libtoll_counts.so\nfn=(3) fwrite\n9 100 2\nob=(1)\nfn=(2)\n4 9\n-1 1 1\n"
    )
    assert cost_in(profile) == Cost(117, 3)
    text = profile.read_text()
    named_by_a_call = text.replace("cfn=(2) f", "cob=(2) /cache/libtoll_counts.so\ncfn=(2) f", 1)
    named_by_a_call = named_by_a_call.replace("\nob=(2) /cache/libtoll_counts.so", "\nob=(2)")
    profile.write_text(named_by_a_call)
    assert cost_in(profile, Path("/cache/libtoll_counts.so")) == Cost(17, 1)
    profile.write_text(text)
    assert cost_in(profile, Path("/cache/libtoll_counts.so")) == Cost(17, 1)
