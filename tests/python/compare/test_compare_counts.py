"""`toll compare --count`: verdicts on counts, rules, and the whole way through the command."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
from collections.abc import Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from compiled import catch2_objects, compiled, google_benchmarks
from counted_program import counted_program
from rich.console import Console

from forked_toll import forked_toll
from tollbench.compare import baselines
from tollbench.compare.baselines import AgainstBaseline
from tollbench.compare.count_rules import held_against, rule
from tollbench.compare.counters import Amount, Reading, shorter_run
from tollbench.compare.counts import Counts, change, counted_rows
from tollbench.compare.stored import StoredComparison
from tollbench.compare.subject import Two
from tollbench.compare.verdicts import Comparison, CountChange, CountVerdict, Verdict
from tollbench.counting.fixed import fixed
from tollbench.counting.hardware import VALGRIND_COUNTS, InstructionCounter
from tollbench.counting.runs import MarkedRun
from tollbench.errors import TollError
from tollbench.report.comparisons.comparison_formats import RENDERERS
from tollbench.report.comparisons.comparison_terminal import show

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = """
#include <benchmark/benchmark.h>
#include <string>
static void text(benchmark::State& state) {
  for (auto _ : state) {
    std::string text(LENGTH, 'x');
    benchmark::DoNotOptimize(text.data());
  }
}
BENCHMARK(text);
static void add(benchmark::State& state) {
  int sum = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sum += 3);
}
BENCHMARK(add);
BENCHMARK_MAIN();
"""


@dataclass
class FakeCounter:
    """Gives what it was told for each side, over and over."""

    amounts: dict[int, list[int | str]]
    asked: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    who: InstructionCounter = VALGRIND_COUNTS

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        made = sum(each == side for each, _ in self.asked)
        self.asked.append((side, frozenset(metrics)))
        amount = self.amounts[side][made % len(self.amounts[side])]
        told = amount if isinstance(amount, str) else Amount(Fraction(amount), "iteration")
        return {metric: told if metric == "instructions" else Amount(Fraction(1)) for metric in metrics}


def counted(a: list[int | str], b: list[int | str]) -> tuple[CountChange, FakeCounter]:
    counter = FakeCounter({0: a, 1: b})
    counts = Counts(("A", "B"), counter, frozenset(("instructions", "bytes")), 0.95)
    (row,) = counts.added(counted_rows({"sort": [Two(0, 1)]}, ("A", "B"), 0.95))
    assert row.verdict is Verdict.COUNTED
    return row.counts[0], counter


def test_two_sides_after_the_first_are_counted_against_each_other() -> None:
    """A side's launches serve all rows that it is in."""
    counter = FakeCounter({0: [100], 1: [107], 2: [105]})
    kept: list[Any] = []
    counts = Counts(("A", "B", "C"), counter, frozenset(("instructions",)), 0.95, keep=kept.append)
    wanted = {"sort": [Two(0, 1), Two(0, 2), Two(1, 2)]}
    rows = list(counts.added(counted_rows(wanted, ("A", "B", "C"), 0.95)))
    assert [(row.a, row.b, row.counts[0].a, row.counts[0].b, row.counts[0].verdict) for row in rows] == [
        ("A", "B", 100.0, 107.0, CountVerdict.MORE),
        ("A", "C", 100.0, 105.0, CountVerdict.MORE),
        ("B", "C", 107.0, 105.0, CountVerdict.FEWER),
    ]
    assert len(counter.asked) == 12  # four of each
    assert [each["counts"].get("a") for each in kept if "counts" in each] == [None, None, "B"]


@pytest.mark.parametrize(
    ("b", "verdict"),
    [(100, CountVerdict.EQUAL), (101, CountVerdict.MORE), (99, CountVerdict.FEWER)],
)
def test_few_launches_of_each_side_decide_what_does_not_scatter(b: int, verdict: CountVerdict) -> None:
    found, counter = counted([100], [b])
    assert (found.verdict, found.exact, found.a, found.b) == (verdict, True, 100.0, float(b))
    assert [side for side, _ in counter.asked] == [0, 0, 1, 1] + [0, 1, 0, 1] * (b != 100)


def test_sides_that_agreed_with_themselves_by_luck_are_found_to_scatter() -> None:
    """A coin tossed once a launch: two and two alike, and different from each other."""
    found, _ = counted([14, 14, 16], [16, 16, 14])
    assert (found.verdict, found.exact) == (CountVerdict.OPEN, False)


def test_what_scatters_is_launched_more_often_and_gets_an_interval() -> None:
    found, counter = counted([100, 103, 101], [100, 101, 104])
    assert (found.verdict, found.exact) == (CountVerdict.OPEN, False)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high
    assert "scatters" in found.reason
    assert found.launches == 8
    # Only what scatters is launched again.
    assert {metrics for _, metrics in counter.asked[4:]} == {frozenset(("instructions",))}


def test_of_many_rows_that_scatter_none_breaks_a_rule_by_chance() -> None:
    """What counts hardware seldom agrees to the last instruction: 30 tables of 40 equal benchmarks."""
    broken = 0
    for seed in range(30):
        rng = random.Random(seed)
        counter = FakeCounter({side: [10**6 + rng.randrange(1000) for _ in range(997)] for side in (0, 1)})
        metrics = frozenset(("instructions",))
        counts = Counts(("A", "B"), counter, metrics, 0.95, [rule("instructions>+0")])
        wanted = {f"sort/{number}": [Two(0, 1)] for number in range(40)}
        rows = list(counts.added(counted_rows(wanted, ("A", "B"), 0.95)))
        broken += any(row.counts[0].fails for row in rows)
    assert broken <= 3, "5 in 100 at the level of the table"


class ByValgrind(FakeCounter):
    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        told = super().read(side, name, metrics)
        return {
            metric: replace(each, by="valgrind") if isinstance(each, Amount) else each
            for metric, each in told.items()
        }


def test_what_was_stored_counts_once(tmp_path: Path) -> None:
    """Four launches that scatter are no eight: the same value again would be a pair that is none."""
    stored = baselines.KeptCount(per="iteration", values=("100", "103", "101", "102"))
    kept = baselines.Baseline(
        kind="google-benchmark",
        circumstances=baselines.Circumstances(),
        counts={"sort": {"instructions": stored}},
    )
    metrics = frozenset(("instructions",))
    scattering: list[list[int | str]] = [[200, 203, 201, 202], [100, 103, 101, 102]]
    for fresh in scattering:
        counter = AgainstBaseline(kept, ByValgrind({1: fresh}))
        counts = Counts(("kept.json", "B"), counter, metrics, 0.95, [rule("instructions>+0")])
        (row,) = counts.added(counted_rows({"sort": [Two(0, 1)]}, ("kept.json", "B"), 0.95))
        (found,) = row.counts
        assert (found.verdict, found.fails, found.low) == (CountVerdict.OPEN, "", None)
        assert "4 pairs of launches are too few for an interval: save the baseline again" in found.reason
    steady = kept.model_copy(
        update={"counts": {"sort": {"instructions": stored.model_copy(update={"values": ("100", "100")})}}}
    )
    counts = Counts(("kept.json", "B"), AgainstBaseline(steady, ByValgrind({1: [200, 203]})), metrics, 0.95)
    (row,) = counts.added(counted_rows({"sort": [Two(0, 1)]}, ("kept.json", "B"), 0.95))
    assert row.counts[0].verdict is CountVerdict.MORE, "what never scattered is the same however often"


@pytest.mark.parametrize(
    ("iterations", "place"),
    [([1], 0), ([1, 10], 0), ([1, 10, 100], 1), ([5, 5, 5], 0), ([1, 10, 100, 100], 1), ([1, 100, 100], 0)],
)
def test_a_process_first_run_is_in_no_difference(iterations: list[int], place: int) -> None:
    """It also does what is done once, of which a profile of --why had all."""
    assert shorter_run([MarkedRun(each, told=None) for each in iterations]) == place  # type: ignore[arg-type]


def test_a_difference_far_beyond_the_scatter_is_told() -> None:
    found, _ = counted([100, 103, 101], [200, 201, 204])
    assert (found.verdict, found.exact) == (CountVerdict.MORE, False)
    assert found.low is not None
    assert found.low > 90


def test_a_side_that_cannot_be_counted_says_so_and_has_no_number() -> None:
    found, _ = counted([100], ["brings a malloc of its own"])
    assert (found.verdict, found.a, found.b) == (CountVerdict.FAILED, None, None)
    assert found.reason == "B brings a malloc of its own"


def test_a_count_below_zero_is_told_of_what_scatters_alone() -> None:
    found, _ = counted([-2], [-2])
    assert (found.verdict, found.a) == (CountVerdict.FAILED, None)
    assert "takes less for more iterations" in found.reason
    found, _ = counted([-2, -2, 3, 0], [-2, 4, 0])
    assert (found.verdict, found.exact, found.a) == (CountVerdict.OPEN, False, 0.0)


def count_of(a: float, b: float, **more: Any) -> CountChange:
    amounts = [[Amount(Fraction(value))] for value in (a, b)]
    return change("instructions", *amounts, labels=("A", "B"), level=0.95).model_copy(update=more)


@pytest.mark.parametrize(
    ("text", "a", "b", "broken"),
    [
        ("instructions>+1%", 1000, 1010, False),
        ("instructions>+1%", 1000, 1011, True),
        ("instructions>=+1%", 1000, 1010, True),
        ("instructions>+1.1%", 1000, 1011, False),
        ("instructions>=+7%", 100, 107, True),
        ("instructions > +0", 1000, 1000, False),
        ("instructions>+0", 1000, 1001, True),
        ("instructions>+0", 0, 1, True),
        ("instructions>+5%", 0, 1, True),
        ("instructions<-10%", 1000, 899, True),
        ("instructions<-10%", 1000, 900, False),
        ("instructions>500", 1000, 501, True),
        ("instructions>500", 1000, 500, False),
        ("allocations>+0", 1000, 2000, False),
    ],
)
def test_a_sign_means_a_change(text: str, a: float, b: float, broken: bool) -> None:
    (found,) = held_against([count_of(a, b)], [rule(text)])
    assert found.fails == (text if broken else "")


def test_a_rule_is_broken_by_a_whole_interval_only() -> None:
    rules = [rule("instructions>+1%")]
    for low, high, broken in ((-5.0, 40.0, False), (9.0, 40.0, False), (11.0, 40.0, True)):
        (found,) = held_against([count_of(1000, 1020, exact=False, low=low, high=high)], rules)
        assert bool(found.fails) == broken


@pytest.mark.parametrize("text", ["instructions", "instructions>1%", ">+1", "instructions>+x", "a b>+1"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a rule|without a sign"):
        rule(text)


def toll(folder: Path, *words: str, path: str | None = None) -> tuple[int, str, str]:
    environment = {"XDG_CACHE_HOME": str(folder / "cache")} | ({} if path is None else {"PATH": path})
    raw = folder / f"raw-{len(list(folder.glob('raw-*')))}.jsonl"
    done = forked_toll(ROOT)("compare", *words, "--raw", str(raw), cwd=folder, locks=False, **environment)
    return done.returncode, done.stdout, done.stderr


def built(folder: Path, name: str, length: int) -> str:
    return str(google_benchmarks(folder, name, BENCHMARKS, f"-DLENGTH={length}"))


def counts_of(found: dict[str, Any]) -> dict[tuple[str, str], tuple[float, float, str]]:
    return {
        (row["benchmark"], each["metric"]): (each["a"], each["b"], each["verdict"])
        for row in found["comparisons"]
        for each in row["counts"]
    }


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_an_unchanged_executable_is_counted_from_end_to_end(tmp_path: Path) -> None:
    a, b = built(tmp_path, "short", 40), built(tmp_path, "a_much_longer_name", 50)
    asked = ("--count", "instructions,allocations,bytes,peak,syscalls", "--count-only")
    reports = ("--html", "p.html", "--markdown", "p.md", "--junit", "p.xml")
    code, out, err = toll(tmp_path, a, b, *asked, "--json", "--fail-on", "bytes>+20%", *reports)
    assert code == 1, err
    found = json.loads(out)
    counts = counts_of(found)
    assert counts["text", "allocations"] == (1.0, 1.0, "equal")
    assert counts["text", "bytes"] == (41.0, 51.0, "more")
    assert counts["add", "bytes"] == (0.0, 0.0, "equal")
    assert counts["add", "instructions"][2] == "equal"
    assert counts["add", "instructions"][0] >= 2
    assert all(each["exact"] for row in found["comparisons"] for each in row["counts"])
    for name in ("p.html", "p.md", "p.xml"):
        assert "51 B" in (tmp_path / name).read_text(), name
    assert 'failures="1"' in (tmp_path / "p.xml").read_text()
    stored = StoredComparison.read(tmp_path / "raw-0.jsonl").comparisons
    assert stored.model_dump(mode="json") == found
    assert "BREAKS bytes>+20%" in RENDERERS["terminal"](stored)


def test_a_launch_is_as_large_whatever_its_words_are_made_of() -> None:
    """A name of a file, or a variable, may be no UTF-8."""
    for word in ("latin\udce4", "s\u00f6rt", "plain"):
        launch = fixed([word, "1"], {"OF": word})
        words = [word, *launch.command[launch.command.index(word) :]]
        told = [*words, *(f"{name}={value}" for name, value in launch.environment.items())]
        assert sum(len(os.fsencode(text)) + 1 for text in told) % 4096 == 0


ALIKE = """
#include <benchmark/benchmark.h>
#include <cstdlib>
static void allocates(benchmark::State& state) {
  for (auto _ : state)
    for (int i = 0; i < 1; ++i) { void* volatile block = std::malloc(10); std::free(block); }
}
BENCHMARK(allocates)->Name("s\u00f6rt<int*>");
BENCHMARK(allocates)->Name("soort<int&>");
BENCHMARK(allocates)->Name("s\u00f6rt<int&>");
BENCHMARK_MAIN();
"""


def test_names_that_differ_in_a_sign_are_counted_each_by_itself(tmp_path: Path) -> None:
    side = str(google_benchmarks(tmp_path, "alike", ALIKE))
    code, out, err = toll(tmp_path, side, side, "--count", "allocations", "--count-only", "--json")
    assert code == 0, err
    assert set(counts_of(json.loads(out)).values()) == {(1.0, 1.0, "equal")}
    assert len(counts_of(json.loads(out))) == 3


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_what_was_counted_before_a_kill_is_told(tmp_path: Path) -> None:
    a = built(tmp_path, "a", 40)
    code, out, err = toll(tmp_path, a, a, "--count", "allocations", "--count-only", "--fail-on", "bytes>+0")
    assert code == 0, err
    assert "counts: 4 equal" in out
    lines = (tmp_path / "raw-0.jsonl").read_text().splitlines(keepends=True)
    last = next(at for at, line in enumerate(lines) if line.startswith('{"counts"'))
    (tmp_path / "cut.jsonl").write_text("".join(lines[: last + 1]))
    found = StoredComparison.read(tmp_path / "cut.jsonl").comparisons
    assert found.interrupted
    assert [len(row.counts) for row in found.comparisons] == [2, 0]
    assert {row.verdict for row in found.comparisons} == {Verdict.COUNTED}


def test_counts_stand_beside_times_and_do_not_change_the_exit_code(tmp_path: Path) -> None:
    a, b = built(tmp_path, "a", 40), built(tmp_path, "b", 50)
    words = (a, b, "--count", "bytes", "--threshold", "9", "--budget", "2s", "--filter", "text", "--json")
    code, out, err = toll(tmp_path, *words)
    (row,) = json.loads(out)["comparisons"]
    assert row["ratio"] is not None
    assert row["counts"][0]["verdict"] == "more"
    assert code in (0, 3), err


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_toll_programs_are_counted_by_their_counting_pass(tmp_path: Path) -> None:
    paths = [str(counted_program(tmp_path, name, steps)) for name, steps in (("a", 100), ("b", 101))]
    code, out, err = toll(tmp_path, *paths, "--kind", "toll", "--count-only", "--json")
    assert code == 0, err
    counts = counts_of(json.loads(out))
    name = "test/own/steps"
    assert counts[name, "allocations"] == (2.0, 2.0, "equal")
    assert counts[name, "bytes"] == (20.0, 20.0, "equal")
    assert counts[name, "syscalls"] == (0.0, 0.0, "equal")
    a, b, verdict = counts[name, "instructions"]
    assert (b - a, verdict) == (1.0, "more")


CATCH2 = """
#include <chrono>
#include <cstdlib>
#include <string>
#include <unistd.h>
void instructions();
std::size_t length();
TEST_CASE("texts, two [of] them") {
  BENCHMARK("nothing") { return 3; };
  BENCHMARK("loop") { instructions(); return 1; };
  BENCHMARK("heap") {  // what malloc does depends on what lies there, such as the program's own name
    void* blocks[20];
    for (int i = 0; i < 20; i++) blocks[i] = std::malloc(100 + i * 50);
    for (void* block : blocks) std::free(block);
    return 1;
  };
  SECTION("deep") {
    BENCHMARK_ADVANCED("text")(Catch::Benchmark::Chronometer meter) {
      const std::string once(1000, 'x');  // once a run: no part of an iteration
      meter.measure([&] { return std::string(length(), once[0]).size() + getppid(); });
    };
    BENCHMARK("sleep") { return usleep(20000); };
  }
  for (std::size_t size = 100; size <= 200; size += 100) {
    BENCHMARK("sizes") { return std::string(length() + size, 'x').size(); };
  }
  BENCHMARK("clock") { return std::chrono::steady_clock::now().time_since_epoch().count(); };
}
"""

# What differs between two sides.
CATCH2_SIDE = """
#include <cstddef>
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
void instructions() { asm volatile(".rept " TEXT(LENGTH) "\\n\\tnop\\n\\t.endr"); }
std::size_t length() { return LENGTH; }
"""


@pytest.mark.proof
@pytest.mark.slow  # its header takes 15 s to compile
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_catch2_benchmarks_are_counted_by_the_runs_that_plan_them(tmp_path: Path) -> None:
    shared = catch2_objects(tmp_path, CATCH2)
    paths = [compiled(tmp_path, f"c{n}", CATCH2_SIDE, f"-DLENGTH={n}", first=shared) for n in (100, 101)]
    same = tmp_path / "in_another_folder" / "with_a_longer_name"
    same.parent.mkdir()
    shutil.copy(paths[0], same)
    asked = ("--count-only", "--count", "instructions,allocations,bytes,syscalls", "--json")
    code, out, err = toll(tmp_path, str(paths[0]), str(same), str(paths[1]), *asked)
    assert code == 0, err
    found = json.loads(out)
    alike, changed = (
        {
            (row["benchmark"].removeprefix("texts, two [of] them / "), each["metric"]): each
            for row in found["comparisons"]
            for each in row["counts"]
            if row["b"] == str(side)
        }
        for side in (same, paths[1])
    )
    assert {each["verdict"] for key, each in alike.items() if key[0] != "clock"} == {"equal"}
    assert all(each["exact"] for key, each in alike.items() if key[0] != "clock")
    assert changed["loop", "instructions"]["b"] - changed["loop", "instructions"]["a"] == 1
    assert changed["nothing", "instructions"]["verdict"] == "equal"
    text = [changed["deep / text", metric] for metric in ("allocations", "bytes", "syscalls")]
    assert [(each["a"], each["b"]) for each in text] == [(1, 1), (101, 102), (1, 1)]
    sizes = [changed[f"sizes{number}", "bytes"] for number in ("", " (2)")]
    assert [(each["a"], each["b"]) for each in sizes] == [(201, 202), (301, 302)]
    assert changed["deep / sleep", "syscalls"]["a"] == 1
    assert "looks at the clock within its iterations" in changed["clock", "instructions"]["reason"]


TALKATIVE = """
#include <cstdlib>
#include <unistd.h>
#include <sys/wait.h>
int main(int count, char** words) {
  for (int i = 0; i < TIMES; i++) {
    getppid();
    *static_cast<volatile char*>(std::malloc(1000)) = 1;
  }
  if (fork() == 0) {
    for (int i = 0; i < 5; i++) *static_cast<volatile char*>(std::malloc(10)) = 1;
    _exit(0);
  }
  wait(nullptr);
}
"""


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_command_is_counted_with_all_its_processes(tmp_path: Path) -> None:
    a = compiled(tmp_path, "a", TALKATIVE, "-DTIMES=10")
    b = compiled(tmp_path, "b_with_a_longer_name", TALKATIVE, "-DTIMES=13")
    code, out, err = toll(tmp_path, str(a), str(b), "--count-only", "--json")
    assert code == 0, err
    counts = counts_of(json.loads(out))
    assert counts["command", "allocations"] == (15.0, 18.0, "more")
    assert counts["command", "bytes"] == (10050.0, 13050.0, "more")
    assert counts["command", "peak"][1] - counts["command", "peak"][0] >= 3000
    assert counts["command", "syscalls"][1] - counts["command", "syscalls"][0] == 3
    assert counts["command", "instructions"][2] == "more"


@pytest.mark.parametrize(
    ("side", "told"),
    [
        ("STATIC", "takes no preloaded library"),
        ("KILLED", "has a process that did not tell what it allocated"),
        ("false", "exited with code 1"),
    ],
)
def test_a_command_that_cannot_be_counted_says_why(tmp_path: Path, side: str, told: str) -> None:
    text = "#include <cstdlib>\n"
    text += "#include <csignal>\n#include <sys/wait.h>\n#include <unistd.h>\nint main() { BODY }"
    static = compiled(tmp_path, "static", text, "-DBODY=return 0;", "-static")
    killed = compiled(tmp_path, "killed", text, "-DBODY=if (fork() == 0) std::raise(9); wait(nullptr);")
    words = side.replace("STATIC", str(static)).replace("KILLED", str(killed))
    code, out, err = toll(tmp_path, words, words, "--count", "bytes", "--count-only")
    assert told in " ".join(out.split()), err
    assert code == 2


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_baseline_is_compared_with_later(tmp_path: Path) -> None:
    a, b = built(tmp_path, "a", 40), built(tmp_path, "b", 50)
    asked = ("--count", "instructions,bytes,size")
    code, out, err = toll(tmp_path, a, *asked, "--save-baseline", "kept.json")
    assert code == 0, err
    assert "are kept in kept.json" in out
    code, out, err = toll(tmp_path, a, *asked, "--baseline", "kept.json", "--fail-on", "bytes>+0")
    assert code == 0, err
    assert "Times are not compared with a stored baseline" in out
    assert "another one" not in out
    assert "other ones" not in out
    code, out, err = toll(tmp_path, f"{a} --benchmark_min_warmup_time=0", *asked, "--baseline", "kept.json")
    assert "The arguments are other ones than the baseline's" in " ".join(out.split())
    other = json.loads((tmp_path / "kept.json").read_text()) | {"kind": "catch2"}
    (tmp_path / "catch2.json").write_text(json.dumps(other))
    code, out, err = toll(tmp_path, a, *asked, "--baseline", "catch2.json", "--fail-on", "bytes>+0")
    assert code == 2, "what was asked for could not be judged"
    assert "the baseline counts catch2, and these sides are google-benchmark" in " ".join(out.split())
    code, out, _ = toll(tmp_path, b, *asked, "--baseline", "kept.json", "--fail-on", "bytes>+0", "--json")
    assert code == 1
    found = json.loads(out)
    assert counts_of(found)["text", "bytes"] == (41.0, 51.0, "more")
    assert counts_of(found)["add", "instructions"][2] == "equal"
    assert found["files"][0]["count"]["metric"] == "size"
    kept = json.loads((tmp_path / "kept.json").read_text())
    kept["circumstances"]["cpu"] = "Z80"
    kept["circumstances"]["libraries"]["libc.so.6"] = "abc"
    kept["counts"]["gone"] = kept["counts"].pop("add")
    (tmp_path / "other.json").write_text(json.dumps(kept))
    code, out, _ = toll(tmp_path, a, *asked, "--baseline", "other.json")
    told = " ".join(out.split())
    assert "The processor is another one than the baseline's (Z80" in told
    assert "Libraries are other ones than the baseline's (libc.so.6)" in told
    assert "gone is missing in" in told
    assert "add is missing in baseline other.json" in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is no baseline"),
        ("[]", "is no baseline"),
        (
            '{"toll_baseline":1,"kind":"command","circumstances":{},"counts":{"x":{"bytes":{"values":["1/0"]}}}}',
            "values",
        ),
        (
            '{"toll_baseline":1,"kind":"command","circumstances":{},"counts":{},"parts":{"code":1%s}}'
            % ("0" * 400),
            "parts.code",
        ),
        (None, "cannot read the baseline"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / "kept.json").write_text(content)
    code, _, err = toll(tmp_path, "true", "--baseline", "kept.json")
    assert code == 2
    assert told in err


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after a while"])
def test_a_baseline_may_come_out_of_a_pipe(tmp_path: Path, *, late: bool) -> None:
    pipe, content = tmp_path / "pipe", '{"toll_baseline":1,"kind":"command","circumstances":{},"counts":{}}'
    os.mkfifo(pipe)
    writing = f"sleep {0.3 if late else 0}; printf %s '{content}' > '{pipe}'"
    with subprocess.Popen(["/bin/sh", "-c", writing]):
        assert baselines.read(pipe).kind == "command"


@pytest.mark.parametrize("kind", ["no writer", "no content", "no end"])
def test_a_baseline_that_never_comes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(baselines, "_PATIENCE_S", 0.2)
    monkeypatch.setattr(baselines, "MOST_BYTES", 1 << 20)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = None if kind == "no writer" else os.open(pipe, os.O_RDWR)
    try:
        with pytest.raises(TollError, match="is larger than" if kind == "no end" else "nothing more came"):
            baselines.read(Path("/dev/zero") if kind == "no end" else pipe)
    finally:
        if writer is not None:
            os.close(writer)


def test_a_baseline_is_saved_only_where_nothing_is_lost(tmp_path: Path) -> None:
    program = "#include <cstdlib>\nint main() { return std::malloc(BYTES) == nullptr; }"
    a, b = (str(compiled(tmp_path, f"p{n}", program, f"-DBYTES={n}", "-O0")) for n in (10, 20))
    bytes_of = ("--count", "bytes", "--save-baseline")
    precious = tmp_path / "precious.txt"
    precious.write_text("mine\n")
    code, _, err = toll(tmp_path, a, *bytes_of, str(precious))
    assert (code, precious.read_text()) == (2, "mine\n")
    assert "it is there already, and toll did not make it as a baseline" in err
    kept = tmp_path / "kept.json"
    assert toll(tmp_path, a, *bytes_of, str(kept))[0] == 0
    before = kept.read_text()
    code, out, _ = toll(tmp_path, "false", *bytes_of, str(kept))
    assert (code, kept.read_text()) == (2, before)
    assert "nothing was counted" in " ".join(out.split())
    ratchet = (*bytes_of, str(kept), "--baseline", str(kept), "--fail-on", "bytes>+0")
    code, out, _ = toll(tmp_path, b, *ratchet)
    assert (code, kept.read_text()) == (1, before)
    assert "stays as it was" in " ".join(out.split())
    code, out, err = toll(tmp_path, a, *bytes_of, "/dev/full")
    assert code == 2
    assert "bytes a process" in out  # what was counted is told all the same
    assert "No space left on device" in err
    other = json.loads(before)
    other["counts"]["command"]["bytes"]["per"] = "iteration"
    kept.write_text(json.dumps(other))
    code, out, _ = toll(tmp_path, a, "--count", "bytes", "--baseline", str(kept))
    assert "counts by the iteration" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--baseline", "/dev/null"), "is no baseline"),
        (("--count", "cycles"), "--count cycles: nothing of that name is counted"),
        (("--fail-on", "instructions"), "--fail-on 'instructions' is not a rule"),
        (("--count-by", "hardware"), "--count-by hardware: nothing is counted"),
        (("--count-by", "perf"), "Invalid value"),
        (("--fail-on", "cycles>+1%"), "cycles is not counted"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    code, _, err = toll(tmp_path, "true", "true", *words)
    assert code == 2
    assert told in err


def test_without_valgrind_the_command_that_brings_it_is_told(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("env", "setarch", "c++", "g++", "as", "ld", "true", "git"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    a = built(tmp_path, "a", 40)
    words = (a, a, "--count", "instructions,bytes", "--count-only")
    code, out, err = toll(tmp_path, *words, path=str(tools))
    told = " ".join(out.split())
    assert "apt-get install valgrind" in told, err
    assert "bytes an iteration 41 B" in told
    assert code == 0
    code, _, _ = toll(tmp_path, *words, "--fail-on", "instructions>+0", path=str(tools))
    assert code == 2


def test_every_format_tells_what_was_not_counted() -> None:
    rows = counted_rows({"sort": [Two(0, 1)]}, ("A", "B"), 0.95)
    row: Comparison = rows[0].model_copy(update={"counts": (count_of(5, 5, verdict=CountVerdict.FAILED),)})
    from tollbench.compare.verdicts import Comparisons

    found = Comparisons(
        comparisons=(row,), kind="command", sides=("A", "B"), level=0.95, threshold=0.01, seconds=1.0
    )
    for form, render in RENDERERS.items():
        assert "not counted" in render(found) or form == "json", form


SIDES = ("./before", "./after", "./afterwards")


def test_a_narrow_terminal_shows_every_verdict_of_three_sides_in_full() -> None:
    name = "BM_of_a_length/that_is/usual:1000"
    counts = (count_of(234.125, 233.875, per="iteration", exact=False, low=-0.25, high=-0.125),)
    rows = [
        row.model_copy(update={"counts": counts})
        for row in counted_rows({name: [Two(0, 1), Two(0, 2)]}, SIDES, 0.95)
    ]
    from tollbench.compare.verdicts import Comparisons

    found = Comparisons(
        comparisons=tuple(rows), kind="command", sides=SIDES, level=0.95, threshold=0.01, seconds=1.0
    )
    console = Console(width=80, record=True, file=io.StringIO())
    show(found, console)
    table = [line for line in console.export_text().splitlines() if line.startswith("BM_")]
    assert [line.split()[-1] for line in table[:2]] == ["fewer", "fewer"]
    assert all("234.125" in line and "233.875" in line for line in table[:2])
