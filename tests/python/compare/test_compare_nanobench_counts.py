"""nanobench's benchmarks counted and explained: of a stand-in, and of the real one with TOLL_NANOBENCH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import compiled

from forked_toll import forked_toll

ROOT = Path(__file__).resolve().parents[3]
STAND_IN = ROOT / "tests/python/counting/planned_like_nanobench.hpp"
REAL = Path(os.environ.get("TOLL_NANOBENCH", "/usr/include"), "nanobench.h")
BEGIN = """#define ANKERL_NANOBENCH_IMPLEMENT
#include <cstdint>
#include <limits>
#include <nanobench.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define NOPS asm volatile(".rept " TEXT(LENGTH) "\\n\\tnop\\n\\t.endr")
using ankerl::nanobench::Bench;
using Clock = std::chrono::steady_clock;
"""
COUNTED = """int main() {
  const auto begin = Clock::now();
  while (Clock::now() - begin < std::chrono::milliseconds(2)) {}
  Bench().run("loop", [] { NOPS; });
  std::cout << "a line between two rows" << std::endl;
  const auto looked = Clock::now();
  Bench().run("text", [] {
    const std::string text(LENGTH, 'x');
    ankerl::nanobench::doNotOptimizeAway(text.data());
    getppid();
  });
  ankerl::nanobench::doNotOptimizeAway(Clock::now() - looked);
  Bench().minEpochIterations(7).epochs(3).run("seven", [] { NOPS; });
  Bench().warmup(3).run("warm", [] { NOPS; });
  Bench().epochIterations(50).epochs(2).run("fixed", [] { NOPS; });
  Bench().run("prints", [] { if (static int n = 0; n++ % 100 == 0) std::cout << "x" << std::endl; NOPS; });
  Bench().run("loop", [] { NOPS; NOPS; });
}
"""
REFUSED = """int main() {
  std::mutex mutex;
  std::condition_variable moved;
  Bench().run("looks", [] { ankerl::nanobench::doNotOptimizeAway(Clock::now()); });
  Bench().run("waits", [&] {
    std::unique_lock lock(mutex);
    moved.wait_for(lock, std::chrono::microseconds(50));
  });
  Bench().epochs(1).run("once", [] { NOPS; });
  std::thread([] { Bench().run("elsewhere", [] { NOPS; }); }).join();
  Bench().run("fine", [] { NOPS; });
}
"""
SEVERAL = """int main(int count, char** words) {
  Bench first;
  first.title("first").batch(64).epochs(5).warmup(20).minEpochIterations(13);
  first.run("bytes", [] { ankerl::nanobench::doNotOptimizeAway(std::string(LENGTH, 'x').data()); });
  std::atomic<bool> done{false};
  std::thread beside([&] { while (!done) ankerl::nanobench::doNotOptimizeAway(Clock::now()); });
  first.run("beside a thread", [] { ankerl::nanobench::doNotOptimizeAway(std::string(LENGTH, 'x').data()); });
  done = true;
  beside.join();
  std::cout << "| a line of the program's own\\n{a template, rendered}" << std::endl;
  Bench second;
  second.title("second");
  second.run("unstable", [] {
    static std::uint64_t n = 7;
    n = n * 6364136223846793005 + 1442695040888963407;
    ankerl::nanobench::doNotOptimizeAway(std::string(LENGTH + (n >> 58), 'x').data());
  });
  second.run("long", [] {
    std::vector<int> many(3000000, LENGTH);
    for (int i = 0; i < 10; i++) {
      ankerl::nanobench::doNotOptimizeAway(std::accumulate(many.begin(), many.end(), i));
    }
  });
  if (count > 1) throw std::runtime_error(words[1]);
  Bench().run("last", [] { ankerl::nanobench::doNotOptimizeAway(std::string(LENGTH, 'x').data()); });
}
"""
BESIDE = """int main() {
  const auto tell = [] { std::cout << "| of another thread" << std::endl; };
  Bench().run("told", [&] { if (static int n = 0; n++ % 100 == 0) std::thread(tell).join(); NOPS; });
  Bench().run("text", [] { ankerl::nanobench::doNotOptimizeAway(std::string(LENGTH, 'x').data()); });
}
"""
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
Counts = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(params=["stand-in", "real"])
def header(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An option that finds nanobench.h."""
    if request.param == "real":
        if not REAL.exists():
            pytest.skip("no nanobench.h: TOLL_NANOBENCH=FOLDER")
        return f"-I{REAL.parent}"
    (tmp_path / "include").mkdir()
    shutil.copy(STAND_IN, tmp_path / "include" / "nanobench.h")
    return f"-I{tmp_path}/include"


def toll(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked_toll(ROOT)(*arguments, cwd=folder, locks=False)


def counts(ended: subprocess.CompletedProcess[str], side: str) -> Counts:
    return {
        (row["benchmark"], each["metric"]): each
        for row in json.loads(ended.stdout)["comparisons"]
        for each in row["counts"]
        if row["b"] == side
    }


@needs_valgrind
@pytest.mark.proof
@pytest.mark.slow
def test_benchmarks_are_counted_an_iteration_however_their_author_chose_how_many(
    tmp_path: Path, header: str
) -> None:
    options = ("-std=c++17", "-O1", header, "-pthread")
    for n in (100, 101):
        compiled(tmp_path, f"n{n}", BEGIN + COUNTED, f"-DLENGTH={n}", *options)
    (tmp_path / "in_another_folder").mkdir()
    same = "./in_another_folder/with_a_longer_name"
    shutil.copy(tmp_path / "n100", tmp_path / same)
    asked = ("--count-only", "--count", "instructions,bytes,syscalls", "--json")
    ended = toll(tmp_path, "compare", "./n100", same, "./n101", *asked)
    assert ended.returncode == 0, ended.stderr
    alike, changed = counts(ended, same), counts(ended, "./n101")
    assert len(alike) == 7 * 3
    assert {each["verdict"] for each in alike.values()} == {"equal"}, alike
    assert all(each["exact"] for each in alike.values())
    more = {
        name: changed[name, "instructions"]["b"] - changed[name, "instructions"]["a"]
        for name, metric in changed
        if metric == "instructions" and name != "text"
    }
    assert more == {"loop": 1, "seven": 1, "warm": 1, "fixed": 1, "prints": 1, "loop (2)": 2}
    assert 100 <= changed["loop", "instructions"]["a"] <= 110
    text = [changed["text", metric] for metric in ("bytes", "syscalls")]
    assert [(each["a"], each["b"]) for each in text] == [(101, 102), (1, 1)]
    notes = {name: changed[name, "bytes"]["reason"] for name in ("seven", "warm", "fixed")}
    assert notes["seven"] == "by runs of 700 and 7,000 iterations"
    assert notes["warm"] == "by runs of 300 and 3,000 iterations"
    assert notes["fixed"] == "by one run of 50 iterations, with what surrounds its loop"


@pytest.mark.slow
def test_of_several_benches_each_is_counted_and_a_side_that_fails_has_its_last_words(
    tmp_path: Path, header: str
) -> None:
    for n in (100, 101):
        compiled(tmp_path, f"n{n}", BEGIN + SEVERAL, f"-DLENGTH={n}", "-std=c++17", "-O1", header, "-pthread")
    asked = ("--count-only", "--count", "allocations,bytes", "--json")
    ended = toll(tmp_path, "compare", "./n100", "./n101", *asked)
    found = counts(ended, "./n101")
    more = {name: found[name, "bytes"]["b"] - found[name, "bytes"]["a"] for name, _ in found}
    names = ("first / bytes", "first / beside a thread", "second / unstable", "last")
    assert more == {**dict.fromkeys(names, 1), "second / long": 0}, found
    assert all(each["exact"] for each in found.values())
    assert {found[name, "allocations"]["verdict"] for name in more} == {"equal"}
    # A thread beside looks at the clock, which is the machine's for it.
    assert found[names[1], "bytes"]["reason"] == "by runs of 2,000 and 20,000 iterations"
    assert found["second / long", "bytes"]["a"] == 12_000_000
    assert "by one run of" in found["second / long", "bytes"]["reason"]
    ended = toll(tmp_path, "compare", "./n100", "./n101 gives-up", *asked)
    (row,) = json.loads(ended.stdout)["comparisons"]
    assert (ended.returncode, row["counts"]) == (2, [])
    assert "crashed with SIGABRT" in row["reason"]
    assert "gives-up" in row["reason"]


@pytest.mark.slow
def test_whose_iterations_are_not_known_has_a_reason_and_no_number(tmp_path: Path, header: str) -> None:
    compiled(tmp_path, "refused", BEGIN + REFUSED, "-DLENGTH=9", "-std=c++17", header, "-pthread")
    ended = toll(tmp_path, "compare", "./refused", "./refused", "--count-only", "--count", "bytes", "--json")
    (side,) = {row["b"] for row in json.loads(ended.stdout)["comparisons"]}
    found = {name: each for (name, _), each in counts(ended, side).items()}
    reasons = {name: each["reason"] for name, each in found.items() if each["a"] is None}
    assert found["fine"]["verdict"] == "equal"
    assert reasons.keys() == {"looks", "waits", "once", "elsewhere"}
    for name in ("looks", "waits"):
        assert "looks at the clock" in reasons[name]
    assert "of two epochs and more" in reasons["once"]
    assert "another thread than the first" in reasons["elsewhere"]
    assert all("--kind command counts the whole run" in reason for reason in reasons.values())


def test_what_another_thread_prints_is_no_row_of_a_table(tmp_path: Path, header: str) -> None:
    compiled(tmp_path, "beside", BEGIN + BESIDE, "-DLENGTH=99", "-std=c++17", header, "-pthread")
    ended = toll(tmp_path, "compare", "./beside", "./beside", "--count-only", "--count", "bytes", "--json")
    (side,) = {row["b"] for row in json.loads(ended.stdout)["comparisons"]}
    found = {name: each for (name, _), each in counts(ended, side).items()}
    assert {name: each.get("reason") for name, each in found.items() if each["a"] is None} == {}
    assert found["text"]["a"] == pytest.approx(100, abs=1)


@pytest.mark.parametrize("otherwise", ["-DFACTOR=11", "-DROTATED"])
def test_who_plans_otherwise_is_not_taken_for_nanobench(tmp_path: Path, otherwise: str) -> None:
    """Runs that grow elevenfold, as deterministic as its own; looks whose beginnings are taken for ends."""
    shutil.copy(STAND_IN, tmp_path / "nanobench.h")
    text = BEGIN + 'int main() { Bench().run("otherwise", [] { NOPS; }); }'
    compiled(tmp_path, "other", text, "-DLENGTH=9", otherwise, "-std=c++17", f"-I{tmp_path}")
    ended = toll(tmp_path, "compare", "./other", "./other", "--count-only", "--count", "bytes", "--json")
    (row,) = json.loads(ended.stdout)["comparisons"]
    (count,) = row["counts"]
    assert count["a"] is None
    assert "plans its runs as no known nanobench does" in count["reason"]


@needs_valgrind
def test_who_makes_other_runs_under_valgrind_is_not_counted_by_it(tmp_path: Path) -> None:
    shutil.copy(STAND_IN, tmp_path / "nanobench.h")
    text = """#include <cstring>
    int main() {
      const char* const loaded = std::getenv("LD_PRELOAD");
      const bool slow = loaded != nullptr && std::strstr(loaded, "vgpreload") != nullptr;
      Bench().minEpochIterations(slow ? 1 : 2).run("adapts", [] { NOPS; });
    }"""
    compiled(tmp_path, "adapts", BEGIN + text, "-DLENGTH=9", "-std=c++17", f"-I{tmp_path}")
    asked = ("--count-only", "--count", "bytes,instructions", "--json")
    ended = toll(tmp_path, "compare", "./adapts", "./adapts", *asked)
    (row,) = json.loads(ended.stdout)["comparisons"]
    found = {each["metric"]: each for each in row["counts"]}
    assert (found["bytes"]["verdict"], found["instructions"]["a"]) == ("equal", None)
    assert "what an iteration takes cannot be told" in found["instructions"]["reason"]


WHY = """[[gnu::noinline]] long weigh(const std::vector<int>& n) {
  return std::accumulate(n.begin(), n.end(), 0L);
}
[[gnu::noinline]] long careful(const std::vector<int>& n) {
  std::vector<int> KIND = n;
  asm volatile("" : : "r"(own.data()) : "memory");
  return weigh(own);
}
int main() {
  const std::vector<int> n(500, 3);
  Bench().run("alone", [&] { ankerl::nanobench::doNotOptimizeAway(weigh(n)); });
  Bench().run("careful", [&] { ankerl::nanobench::doNotOptimizeAway(careful(n)); });
}
"""


@needs_valgrind
@pytest.mark.proof
@pytest.mark.slow
def test_a_change_is_explained_by_iteration(tmp_path: Path, header: str) -> None:
    for name, kind in (("before", "const& own"), ("after", "own")):
        text = BEGIN + WHY.replace("KIND", kind)
        compiled(tmp_path, name, text, "-DLENGTH=1", "-std=c++17", "-O1", "-g", header)
    ended = toll(tmp_path, "why", "./before", "./after", "--filter", "careful", "--json")
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["explanations"]
    assert found["per"] == "iteration"
    first = found["functions"][0]
    assert (first["called"], first["share"]) == ("careful()", pytest.approx(1.0, abs=0.01))
    assert first["allocations"] == {"a": 0.0, "b": 1.0}
    assert first["calls"] == {"a": 1.0, "b": 1.0}
