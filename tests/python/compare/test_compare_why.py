"""`toll why`: whose doing a change is, what comes first, and the whole way through the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import compiled

from tollbench.compare.blame import doings
from tollbench.compare.explanations import Amounts
from tollbench.compare.ranking import Suspect, ranked
from tollbench.compare.source_diffs import parsed, touching
from tollbench.compare.stored import StoredComparison
from tollbench.counting.call_graphs import Body, CallGraph, Function, Part
from tollbench.counting.demangling import short
from tollbench.interpreters import interpreter_with_path
from tollbench.report.comparisons.comparison_formats import RENDERERS

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import sys
from tollbench.cli import machine_use, main
machine_use.LOCK_FILES = ()
sys.argv[0] = "toll"
sys.exit(main())
"""
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
    ],
)
def test_names_are_shortened_to_what_one_says(name: str, expected: str) -> None:
    assert short(name) == expected


def toll(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = interpreter_with_path("-c", SCRIPT, *arguments)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def benchmarks(folder: Path, name: str, kind: str) -> str:
    try:
        text = BENCHMARKS.replace("KIND", kind)
        return str(compiled(folder, name, text, "-g", "-Wl,--no-as-needed", "-lbenchmark"))
    except subprocess.CalledProcessError:
        pytest.skip("Google Benchmark is not installed")


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
BENCHMARK_MAIN();
"""


@needs_valgrind
def test_an_error_is_told_of_the_side_that_reports_it(tmp_path: Path) -> None:
    library = ("-Wl,--no-as-needed", "-lbenchmark")
    try:
        for name, kind in (("good", "false"), ("bad", "true")):
            compiled(tmp_path, name, SKIPS.replace("KIND", kind), *library)
    except subprocess.CalledProcessError:
        pytest.skip("Google Benchmark is not installed")
    ended = toll("why", "./good", "./bad", "--json", folder=tmp_path)
    (found,) = json.loads(ended.stdout)["explanations"]
    assert found["failed"]
    assert found["sentence"] == (
        "./good has nothing to be compared with: ./bad reports an error: no such file"
    )


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


def test_hunks_belong_to_functions_whose_lines_they_touch() -> None:
    first, second = parsed(DIFF)
    assert (first.a, first.b) == (range(10, 12), range(10, 11))
    assert (second.a, second.b) == (range(30, 31), range(28, 28))
    near = {"/tmp/clone/a.cpp": (11, 20)}
    assert [each.line_a for each in touching([first, second], near, {})] == [10]
    assert touching([first, second], {"/tmp/clone/ba.cpp": (11, 20)}, {}) == ()
    # The line that went stood right before the first one that still runs.
    assert [each.line_a for each in touching([first, second], {}, {"a.cpp": (29, 33)})] == [30]
