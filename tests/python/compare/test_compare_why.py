"""`toll why`: whose doing a change is, what comes first, and the whole way through the command."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import catch2_objects, compiled, google_benchmarks
from counted_program import counted_program

from forked_toll import forked_toll
from tollbench.cli.explainers import explainer_for
from tollbench.compare import explaining, resolve, subject_of
from tollbench.compare.blame import doings
from tollbench.compare.explanations import Amounts
from tollbench.compare.ranking import Suspect, ranked
from tollbench.compare.sides import WrittenSide
from tollbench.compare.source_diffs import parsed, touching
from tollbench.compare.stored import StoredComparison
from tollbench.compare.subject import MeasuringOptions
from tollbench.counting.call_graphs import Body, CallGraph, Function, Part
from tollbench.counting.changed_functions import plain
from tollbench.counting.demangling import short
from tollbench.counting.instructions import how_it_ended
from tollbench.errors import TollError
from tollbench.launching.command import Ended
from tollbench.report.comparisons.comparison_formats import RENDERERS

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = """
#include <benchmark/benchmark.h>
#include <numeric>
#include <vector>
[[gnu::noinline]] long weigh(const std::vector<int>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0L);
}
[[gnu::noinline]] long careful(const std::vector<int>& numbers) {
  std::vector<int> KIND = numbers;
  benchmark::DoNotOptimize(own.data());
  return weigh(own);
}
static void sums(benchmark::State& state) {
  std::vector<int> numbers(500, 3);
  for (auto _ : state) benchmark::DoNotOptimize(careful(numbers));
}
BENCHMARK(sums);
static void add(benchmark::State& state) {
  int sum = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sum += 3);
}
BENCHMARK(add);
BENCHMARK_MAIN();
"""


def graph(own: dict[str, float], calls: dict[tuple[str, str], float]) -> CallGraph:
    """Of functions by what a call of each takes itself, and how often a call of one calls another."""
    named = {name: Function("", name) for name in own}
    entered = dict.fromkeys(own, 0.0)
    entered["loop"] = 1.0
    taken: dict[str, float] = {}

    def enter(name: str, times: float) -> float:
        total = own[name]
        for (caller, callee), count in calls.items():
            if caller == name:
                entered[callee] += times * count
                total += count * enter(callee, times * count)
        taken[name] = total
        return total

    enter("loop", 1.0)
    bodies = {}
    for name, function in named.items():
        part = Part([own[name] * entered[name]])
        for (caller, callee), count in calls.items():
            if caller == name:
                times = count * entered[name]
                part.calls[named[callee]] = [times, times * taken[callee]]
        bodies[function] = Body({function: part}, entered[name], [taken[name] * entered[name]])
    return CallGraph(("Ir",), bodies)


def shares(a: CallGraph, b: CallGraph) -> dict[str, float]:
    return {name.name: doing.amount[0] for name, doing in doings(a, b).items() if abs(doing.amount[0]) > 1e-9}


def test_who_calls_more_often_is_at_fault_and_not_who_is_called() -> None:
    own = {"loop": 2.0, "f": 10.0, "g": 7.0, "copy": 50.0}
    before = graph(own, {("loop", "f"): 1, ("f", "g"): 2, ("g", "copy"): 1})
    after = graph(own, {("loop", "f"): 1, ("f", "g"): 5, ("g", "copy"): 1})
    assert shares(before, after) == {"f": pytest.approx(3 * 57)}


def test_a_function_that_takes_more_itself_is_at_fault_however_deep_it_lies() -> None:
    calls: dict[tuple[str, str], float] = {("loop", "f"): 3, ("f", "g"): 2}
    before = graph({"loop": 2.0, "f": 10.0, "g": 7.0}, calls)
    after = graph({"loop": 2.0, "f": 10.0, "g": 9.0}, calls)
    assert shares(before, after) == {"g": pytest.approx(12)}


def test_a_new_function_is_the_doing_of_who_calls_it() -> None:
    before = graph({"loop": 2.0, "f": 10.0}, {("loop", "f"): 3})
    after = graph({"loop": 2.0, "f": 10.0, "new": 40.0}, {("loop", "f"): 3, ("f", "new"): 1})
    assert shares(before, after) == {"f": pytest.approx(120)}


def test_what_is_inlined_on_one_side_cancels() -> None:
    before = graph({"loop": 2.0, "f": 10.0, "g": 7.0}, {("loop", "f"): 1, ("f", "g"): 2})
    f, g = Function("", "f"), Function("", "g")
    after = graph({"loop": 2.0, "f": 10.0}, {("loop", "f"): 1})
    after.bodies[f].parts[g] = Part([14.0])
    after.bodies[f].taken = [24.0]
    assert shares(before, after) == {}


def test_what_no_call_is_left_of_is_told_by_what_it_takes_and_no_more() -> None:
    """Threads meet at another moment in each launch: a call in a thousand iterations, and then none."""
    own = {"loop": 2.0, "lock": 20.0}
    before = graph(own, {("loop", "lock"): 0.001})
    after = graph({"loop": 2.0}, {})
    lock = Function("", "lock")
    after.bodies[lock] = Body({lock: Part([0.004])}, 1.0, [0.004], around=True)
    assert shares(before, after) == {"loop": pytest.approx(-0.02), "lock": pytest.approx(0.004)}


def test_what_runs_around_the_loop_on_one_side_only_is_its_own_doing() -> None:
    before = graph({"loop": 2.0}, {})
    after = graph({"loop": 2.0}, {})
    after.bodies[Function("", "thread")] = Body(
        {Function("", "thread"): Part([70.0], calls={Function("", "helper"): [2.0, 10.0]})},
        1.0,
        [80.0],
        around=True,
    )
    after.bodies[Function("", "helper")] = Body({Function("", "helper"): Part([10.0])}, 2.0, [10.0])
    assert shares(before, after) == {"thread": pytest.approx(80.0)}


def suspect(name: str, instructions: float, *, changed: bool | None, own: float = 10.0) -> Suspect:
    amounts = Amounts(a=own, b=own + instructions)
    return Suspect(Function("", name), instructions, instructions, amounts, changed, in_loop=True)


def test_a_changed_function_follows_the_unchanged_one_that_gained() -> None:
    found = ranked(
        [
            suspect("search", 90.0, changed=False),
            suspect("other", 5.0, changed=False),
            suspect("hash", -4.0, changed=True),
        ],
        Amounts(a=100, b=191),
        same=False,
    )
    assert [each.function.name for each in found] == ["search", "hash", "other"]


def test_where_instructions_are_equal_what_changed_comes_first() -> None:
    found = ranked(
        [suspect("same", 0.001, changed=False), suspect("moved", 0.0, changed=True)],
        Amounts(a=9, b=9),
        same=True,
    )
    assert [each.function.name for each in found] == ["moved"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f(int)", "f"),
        ("(anonymous namespace)::f(std::vector<int>)", "f"),
        ("(anonymous namespace)::Hash::operator()(Key const&) const", "Hash::operator()"),
        ("std::map<int, void (*)(int)>::find(int)", "std::map<int, void (*)(int)>::find"),
        ("main", "main"),
        ("bytes.(*Buffer).Write", "bytes.(*Buffer).Write"),
    ],
)
def test_names_are_shortened_to_what_one_says(name: str, expected: str) -> None:
    assert short(name) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_ZL4workl.part.0", "work(long)"),
        ("work.constprop.0.isra.0", "work"),
        ("work.cold", "work"),
        ("work.avx2", "work"),
        ("work.arch_haswell.1", "work"),
        ("main.careful", "main.careful"),
        ("bytes.(*Buffer).Write", "bytes.(*Buffer).Write"),
        (".cold", ".cold"),
    ],
)
def test_pieces_of_a_function_are_the_function_and_functions_of_a_package_are_not(
    symbol: str, expected: str
) -> None:
    assert plain(symbol) == expected


def toll(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return forked_toll(ROOT)(*arguments, cwd=folder, locks=False)


def benchmarks(folder: Path, name: str, kind: str) -> str:
    return str(google_benchmarks(folder, name, BENCHMARKS.replace("KIND", kind), "-g"))


@needs_valgrind
def test_a_copy_is_the_doing_of_who_copies(tmp_path: Path) -> None:
    before, after = benchmarks(tmp_path, "before", "const& own"), benchmarks(tmp_path, "after", "own")
    ended = toll("why", before, after, "--json", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    rows: dict[str, dict[str, Any]] = {
        each["benchmark"]: each for each in json.loads(ended.stdout)["explanations"]
    }
    assert rows["add"]["unchanged_code"]
    assert "code unchanged" in rows["add"]["sentence"]
    first = rows["sums"]["functions"][0]
    assert short(first["function"]) == "careful"
    assert first["changed"]
    assert first["share"] > 0.95
    assert first["allocations"] == {"a": 0.0, "b": 1.0}
    assert first["calls"] == {"a": 1.0, "b": 1.0}
    assert "before.cpp" in first["source"] or "after.cpp" in first["source"]
    assert "of it in careful(), which changed" in rows["sums"]["sentence"]
    gained = {short(each["function"]) for each in rows["sums"]["functions"]}
    assert "malloc" in gained


def commit(repository: Path, kind: str) -> None:
    (repository / "src").mkdir(exist_ok=True)
    (repository / "src/bench.cpp").write_text(BENCHMARKS.replace("KIND", kind))
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", kind], check=True)


@needs_valgrind
def test_revisions_show_the_lines_of_the_diff_that_touch_a_function(tmp_path: Path) -> None:
    benchmarks(tmp_path, "probe", "own")  # skips where nothing can be built
    repository = tmp_path / "project"
    repository.mkdir()
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    commit(repository, "const& own")
    commit(repository, "own")
    build = "g++ -O2 -g src/bench.cpp -o bench -lbenchmark"
    words = ("why", "--build", build, "--program", "./bench", "HEAD~1", "HEAD", "--filter", "sums")
    ended = toll(*words, "--json", "--html", str(tmp_path / "why.html"), folder=repository)
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["explanations"]
    first = found["functions"][0]
    assert first["called"] == "careful()"
    assert first["source"] == "src/bench.cpp:8-12"
    (hunk,) = first["diff"]
    assert hunk["file"] == "src/bench.cpp"
    assert hunk["text"] == "-  std::vector<int> const& own = numbers;\n+  std::vector<int> own = numbers;"
    assert not any(each["diff"] for each in found["functions"] if each["called"] == "weigh()")
    page = (tmp_path / "why.html").read_text()
    assert "<ins>+  std::vector&lt;int&gt; own = numbers;</ins>" in page
    assert 'class="flame"' in page


@needs_valgrind
def test_a_comparison_explains_what_it_found_slower(tmp_path: Path) -> None:
    before, after = benchmarks(tmp_path, "before", "const& own"), benchmarks(tmp_path, "after", "own")
    page, raw = tmp_path / "page.html", tmp_path / "raw.jsonl"
    words = ("compare", before, after, "--why", "--filter", "sums", "--threshold", "0.05", "--json")
    ended = toll(*words, "--budget", "20s", "--html", str(page), "--raw", str(raw), folder=tmp_path)
    found = json.loads(ended.stdout)
    assert found["comparisons"][0]["verdict"] == "slower", ended.stderr
    (why,) = found["why"]
    assert why["sentence"].startswith("time +")
    assert why["functions"][0]["called"] == "careful()"
    assert "careful()" in page.read_text()
    stored = StoredComparison.read(raw).comparisons
    assert stored.why[0].functions[0].called == "careful()"
    for form in ("terminal", "markdown"):
        assert "careful" in RENDERERS[form](stored)


@needs_valgrind
def test_in_all_pairs_a_row_of_two_others_is_explained(tmp_path: Path) -> None:
    before, after = benchmarks(tmp_path, "before", "const& own"), benchmarks(tmp_path, "after", "own")
    page, sides = tmp_path / "page.html", (after, before, str(shutil.copy(after, tmp_path / "again")))
    words = ("compare", *sides, "--all-pairs", "--why", "--filter", "sums", "--threshold", "0.05", "--json")
    ended = toll(*words, "--budget", "20s", "--html", str(page), folder=tmp_path)
    found = json.loads(ended.stdout)
    verdicts = {(item["a"], item["b"]): item["verdict"] for item in found["comparisons"]}
    assert verdicts == {
        (after, before): "faster", (before, sides[2]): "slower", (after, sides[2]): "unchanged_code",
    }, ended.stderr  # fmt: skip
    why = {(each["a"], each["b"]): each for each in found["why"]}
    assert why.keys() == {(after, before), (before, sides[2])}
    (first, *_) = why[before, sides[2]]["functions"]
    assert first["called"] == "careful()"
    assert first["instructions"]["b"] > first["instructions"]["a"]
    assert f"{sides[2]} against {before}" in page.read_text()


@needs_valgrind
def test_what_cannot_be_explained_says_why(tmp_path: Path) -> None:
    text = "int main() { __builtin_trap(); }"
    one, other = (str(compiled(tmp_path, name, text)) for name in ("one", "other"))
    ended = toll("why", "--kind", "command", f"{one} 1", f"{other} 2", folder=tmp_path)
    assert ended.returncode == 2
    assert "crashed with SIGILL" in ended.stderr
    assert "Traceback" not in ended.stderr


SKIPS = """
#include <benchmark/benchmark.h>
static void stops(benchmark::State& state) {
  if (KIND) state.SkipWithError("no such file");
  for (auto _ : state) {}
}
BENCHMARK(stops);
static void works(benchmark::State& state) {
  for (auto _ : state) {
    for (int i = 0; i < (KIND ? 200 : 100); ++i) benchmark::DoNotOptimize(i);
  }
}
BENCHMARK(works);
BENCHMARK_MAIN();
"""


@needs_valgrind
def test_an_error_is_told_of_the_side_that_reports_it_and_of_no_other_benchmark(tmp_path: Path) -> None:
    for name, kind in (("good", "false"), ("bad", "true")):
        google_benchmarks(tmp_path, name, SKIPS.replace("KIND", kind))
    ended = toll("why", "./good", "./bad", "--json", folder=tmp_path)
    rows = {each["benchmark"]: each for each in json.loads(ended.stdout)["explanations"]}
    assert ended.returncode == 2
    assert rows["stops"]["failed"]
    assert rows["stops"]["sentence"] == "./bad reports an error: no such file"
    assert rows["works"]["functions"]
    assert "instructions +" in rows["works"]["sentence"]


SAME_NAMES = """
#include <benchmark/benchmark.h>
#include <cstdlib>
template <int TIMES> static void allocates(benchmark::State& state) {
  for (auto _ : state)
    for (int i = 0; i < TIMES; ++i) {
      void* block = std::malloc(10);
      benchmark::DoNotOptimize(block);
      std::free(block);
    }
}
BENCHMARK(allocates<1>)->Name("same");
BENCHMARK(allocates<KIND>)->Name("same");
BENCHMARK(allocates<2>)->Name("alone");
BENCHMARK_MAIN();
"""


@needs_valgrind
def test_benchmarks_of_one_name_are_neither_counted_nor_explained(tmp_path: Path) -> None:
    """Whichever of them is looked at says nothing of the other."""
    for name, kind in (("few", "3"), ("many", "30")):
        google_benchmarks(tmp_path, name, SAME_NAMES.replace("KIND", kind))
    told = "has several benchmarks called same: which one is which cannot be told"
    counting = ("--count", "allocations", "--count-only", "--fail-on", "allocations>+1%", "--json")
    ended = toll("compare", "./few", "./many", *counting, "--raw", "raw.jsonl", folder=tmp_path)
    counts = {row["benchmark"]: row["counts"][0] for row in json.loads(ended.stdout)["comparisons"]}
    assert ended.returncode == 2, ended.stderr
    assert counts["same"]["reason"] == f"./few {told}"
    assert counts["same"]["a"] is None
    assert counts["alone"]["verdict"] == "equal"
    ended = toll("why", "./few", "./many", "--filter", "same", folder=tmp_path)
    assert ended.returncode == 2
    assert told in " ".join((ended.stdout + ended.stderr).split())
    assert "equal" not in ended.stdout


@needs_valgrind
def test_what_a_side_lacks_is_told(tmp_path: Path) -> None:
    before, after = benchmarks(tmp_path, "before", "const& own"), benchmarks(tmp_path, "after", "own")
    text = BENCHMARKS.replace("KIND", "own").replace("BENCHMARK(add);", "[[maybe_unused]] auto unused = add;")
    after = str(google_benchmarks(tmp_path, "after", text))
    ended = toll("why", before, after, "--markdown", "why.md", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = f"add is missing in {after} and was not explained there"
    assert told in " ".join(ended.stdout.split())
    assert "add is missing in " in (tmp_path / "why.md").read_text()


@needs_valgrind
def test_stripped_sides_are_explained_without_names(tmp_path: Path) -> None:
    before, after = benchmarks(tmp_path, "before", "const& own"), benchmarks(tmp_path, "after", "own")
    for program in (before, after):
        subprocess.run(["strip", program], check=True)
    ended = toll("why", before, after, "--filter", "sums", "--json", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["explanations"]
    assert found["instructions"]["b"] > found["instructions"]["a"]
    assert any("no debug information" in note for note in found["notes"])
    assert found["functions"]


DIFF = """diff --git a.cpp a.cpp
--- a.cpp
+++ a.cpp
@@ -10,2 +10 @@ void f() {
-  one();
-  two();
+  three();
@@ -30 +28,0 @@
-  reserve();
"""


@pytest.mark.parametrize("kind", ["a script", "Go"])
def test_of_two_files_the_one_that_cannot_be_compared_is_named(tmp_path: Path, kind: str) -> None:
    """It was the second one in any case."""
    program = compiled(tmp_path, "program", "int main() {}")
    marked = '[[gnu::used, gnu::section(".go.buildinfo")]] const char made_by[] = "go";\nint main() {}'
    other = tmp_path / "script"
    if kind == "Go":
        other = compiled(tmp_path, "other", marked)
    else:
        other.write_text("#!/bin/sh\n")
    for files in ((str(other), str(program)), (str(program), str(other))):
        told = explaining._changed_functions(files)
        assert isinstance(told, str)
        assert told.startswith(f"functions were not compared: {other.name} is ")


def test_hunks_belong_to_functions_whose_lines_they_touch() -> None:
    first, second = parsed(DIFF)
    assert (first.a, first.b) == (range(10, 12), range(10, 11))
    assert (second.a, second.b) == (range(30, 31), range(28, 28))
    near = {"/tmp/clone/a.cpp": (11, 20)}
    assert [each.line_a for each in touching([first, second], near, {})] == [10]
    assert touching([first, second], {"/tmp/clone/ba.cpp": (11, 20)}, {}) == ()
    # The line that went stood right before the first one that still runs.
    assert [each.line_a for each in touching([first, second], {}, {"a.cpp": (29, 33)})] == [30]


CATCH2 = """
#include <vector>
long weigh(const std::vector<int>& n);
long careful(const std::vector<int>& n);
TEST_CASE("sums") {
  std::vector<int> n(500, 3);
  BENCHMARK("alone") { return weigh(n); };
  BENCHMARK("careful") { return careful(n); };
}
"""
CATCH2_SIDE = """
#include <numeric>
#include <vector>
[[gnu::noinline]] long weigh(const std::vector<int>& n) { return std::accumulate(n.begin(), n.end(), 0L); }
[[gnu::noinline]] long careful(const std::vector<int>& n) {
  std::vector<int> KIND = n;
  asm volatile("" : : "r"(own.data()) : "memory");
  return weigh(own);
}
"""


@needs_valgrind
@pytest.mark.proof
@pytest.mark.slow
@pytest.mark.skipif(not Path("/usr/include/catch2/catch.hpp").exists(), reason="Catch2 is not installed")
def test_a_sample_of_catch2_is_explained_by_iteration(tmp_path: Path) -> None:
    shared = catch2_objects(tmp_path, CATCH2)
    for name, kind in (("before", "const& own"), ("after", "own")):
        compiled(tmp_path, name, CATCH2_SIDE.replace("KIND", kind), "-O1", "-g", first=shared)
    ended = toll("why", "./before", "./after", "--filter", "careful", "--json", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["explanations"]
    assert found["per"] == "iteration"
    first = found["functions"][0]
    assert first["called"] == "careful()"
    assert first["share"] == pytest.approx(1.0, abs=0.2)  # a sample's own part of an iteration differs
    assert first["allocations"]["b"] - first["allocations"]["a"] == pytest.approx(1.0)


def test_a_kind_that_is_not_explained_says_what_helps(tmp_path: Path) -> None:
    text = 'int main() { const char* volatile mark = "test.benchtime"; return !mark; }'
    program = WrittenSide(str(compiled(tmp_path, "old.test", text)))
    for kind, help_told in (("go-test", "GODEBUG=asyncpreemptoff=1"), ("folly", "--kind command")):
        _, sides = resolve([program] * 2, kind)
        with pytest.raises(TollError, match="cannot be explained") as refused:
            explainer_for(subject_of(kind, sides, MeasuringOptions(60.0)), {}, {})
        assert help_told in refused.value.next_step


def test_a_fault_of_valgrind_is_told_as_one(tmp_path: Path) -> None:
    ended = Ended(1, 1, 1, b"", b"")
    assert how_it_ended(ended, tmp_path) == "under Valgrind exited with code 1"
    (tmp_path / "log.7").write_text(
        "==7== Command: ./p\n\nCallgrind: threads.c:247 (f): Assertion 'sigNum == g.sig' failed.\n\nhost:\n"
    )
    told = how_it_ended(ended, tmp_path)
    assert "cannot be run by this version of Valgrind" in told
    assert told.endswith("(f): Assertion 'sigNum == g.sig' failed.")


@needs_valgrind
def test_a_toll_program_is_explained_by_its_passes(tmp_path: Path) -> None:
    for name, steps in (("before", 100), ("after", 150)):
        counted_program(tmp_path, name, steps)
    ended = toll("why", "--kind", "toll", "./before", "./after", "--json", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["explanations"]
    assert found["per"] == "iteration"
    assert found["instructions"]["b"] - found["instructions"]["a"] == 50
    assert found["allocations"] == {"a": 2.0, "b": 2.0}
    first = found["functions"][0]
    assert (first["called"], first["doing"], first["share"]) == ("work()", 50.0, 1.0)
    assert first["calls"] == {"a": 1.0, "b": 1.0}
    assert first["source"].startswith(("before.cpp", "after.cpp", str(tmp_path)))


@needs_valgrind
def test_commands_with_other_arguments_say_so_where_instructions_are_equal(tmp_path: Path) -> None:
    text = "#include <time.h>\nint main(int, char** v) { timespec t{0, v[1][0]}; return nanosleep(&t, 0); }"
    program = str(compiled(tmp_path, "p", text))
    ended = toll("why", f"{program} 1", f"{program} 2", "--json", folder=tmp_path)
    assert ended.returncode == 0, ended.stderr
    (found,) = json.loads(ended.stdout)["explanations"]
    assert "instructions equal" in found["sentence"]
    assert "changed: other arguments; what it waits for is in no count" in found["sentence"]
    assert "loop" not in found["sentence"]
