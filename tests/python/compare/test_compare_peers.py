"""tests/peers/run.py counts verdicts as the tools would give them."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest
from scipy.stats import mannwhitneyu, ttest_ind

from peers import programs, tolls
from tollbench.compare import ComparisonSettings
from tollbench.interpreters import interpreter
from tollbench.measure import Interrupt

SCRIPT = Path(__file__).parents[2] / "peers/run.py"
HEADERS = Path(os.environ.get("TOLL_NANOBENCH", "/usr/include"))
SLOWDOWNS = (0.005, 0.01, 0.02, 0.05)


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers_run", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers_run"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def runs(tmp_path: Path):
    """Writes what Google Benchmark writes of ten repetitions around some ns."""
    number = itertools.count()

    def write(ns: float, spread: float = 0.01) -> Path:
        times = [ns * (1 + spread * (index - 4.5) / 4.5) for index in range(10)]
        common = {"name": "sum", "run_name": "sum", "cpu_time": 1.0, "time_unit": "ns", "label": ""}
        rows = [common | {"run_type": "iteration", "real_time": t, "cpu_time": t} for t in times]
        mean = common | {"run_type": "aggregate", "aggregate_name": "mean", "real_time": 9e9}
        path = tmp_path / f"{next(number)}.json"
        path.write_text(json.dumps({"context": {}, "benchmarks": [*rows, mean]}))
        return path

    return write


def test_the_u_test_judges_repetitions(peers, runs) -> None:
    assert peers.u_test(runs(100.0), runs(105.0)) == 1
    assert peers.u_test(runs(105.0), runs(100.0)) == -1
    assert peers.u_test(runs(100.0, 0.1), runs(100.5, 0.1)) == 0
    assert peers.real_times(runs(100.0))[0] == pytest.approx(99.0)
    assert len(peers.real_times(runs(100.0))) == 10


@pytest.mark.skipif(
    not Path("/usr/share/benchmark/compare.py").exists(), reason="libbenchmark-tools is missing"
)
def test_the_script_itself_says_the_same(peers, runs, monkeypatch) -> None:
    pairs = [(runs(100.0), runs(105.0)), (runs(100.0, 0.1), runs(100.5, 0.1))]
    by_script = [peers.u_test(*pair) for pair in pairs]
    monkeypatch.setattr(peers, "SCRIPT", Path("/nowhere"))
    assert by_script == [peers.u_test(*pair) for pair in pairs] == [1, 0]


def test_any_two_of_eight_are_28_pairs_an_operation(peers, runs, monkeypatch) -> None:
    monkeypatch.setattr(peers, "SCRIPT", Path("/nowhere"))  # which takes a second a pair
    tool = peers.GoogleBenchmark.__new__(peers.GoogleBenchmark)
    tool.unslowed = {
        "sum": [runs(100.0) for _ in range(7)] + [runs(120.0)] + [runs(500.0)] * 3,
        "add": [runs(1.0)],
    }
    assert peers.any_two(tool) == (7, 28)


class Scripted:
    """Says slower of everything that is, and of each third that is not."""

    name = "scripted"
    operations = programs.OPERATIONS

    def __init__(self) -> None:
        self.asked: list[tuple[str, float]] = []

    def judge(self, operation: str, slowdown: float) -> programs.Judgement:
        self.asked.append((operation, slowdown))
        return programs.Judgement(1 if slowdown or len(self.asked) % 3 == 0 else 0)


def test_every_tool_gets_equal_time_and_all_trials(peers, monkeypatch) -> None:
    clock = itertools.count(0.0, 0.5)
    monkeypatch.setattr(peers.time, "monotonic", lambda: next(clock))
    rng = peers.random.Random(1)
    trials = partial(peers.in_passes, rng, programs.OPERATIONS, SLOWDOWNS, 2)
    rows = [peers.Row(f"tool {index}", Scripted(), trials=trials()) for index in range(2)]
    rows.append(peers.Row("gone", None, "not installed"))
    kept: list[dict[str, object]] = []
    with Interrupt() as interrupt:
        peers.measure(rows, 600.0, kept.append, interrupt)
    first, second, gone = (row.verdicts for row in rows)
    assert abs(len(first) - len(second)) <= 1
    assert len(kept) == len(first) + len(second) > 120
    assert not gone
    one_pass = sorted(verdict[:2] for verdict in first[:60])
    assert one_pass == sorted(itertools.product(programs.OPERATIONS, (0.0, 0.0, *SLOWDOWNS)))


def test_the_table_counts(peers) -> None:
    row = peers.Row("tool", None)
    verdicts = [(0.0, 0)] * 3 + [(0.0, -1), (0.01, -1), (0.01, 1)]
    row.verdicts = [("a", share, programs.Judgement(judged), 2.0) for share, judged in verdicts]
    gone = peers.Row("gone", None, "not installed")
    lines = peers.table([row, gone], SLOWDOWNS).splitlines()
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells == ["tool", "1/4 = 25.0% (0.6% to 80.6%)", "–", "1/2 = 50.0%", "–", "–", "2.0 s"]
    assert lines[3].startswith("| gone: not installed |")
    assert {line.count("|") for line in lines} == {8}


def test_what_is_beyond_the_threshold_is_told_of_who_has_one(peers) -> None:
    judged = [programs.Judgement(1, {"beyond": beyond}) for beyond in (True, False)] + [programs.Judgement(0)]
    assert peers.alarms(judged).endswith("%), beyond the threshold 1")
    assert peers.alarms(judged).startswith("2/3 = ")


@pytest.mark.parametrize("words", ["-1", "100", "2,x", "0.05", "0.25"])
def test_a_slow_down_that_is_none_is_refused(peers, words: str, monkeypatch, capsys) -> None:
    assert peers.shares("5,0.5") == (0.005, 0.05)
    monkeypatch.setattr(sys, "argv", ["run.py", f"--slowdowns={words}"])
    with pytest.raises(SystemExit):
        peers.parsed()
    assert "--slowdowns" in capsys.readouterr().err


def test_nothing_to_try_is_refused(peers, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "--slowdowns=", "--equal=0"])
    with pytest.raises(SystemExit):
        peers.parsed()
    assert "nothing to try" in capsys.readouterr().err


def test_programs_without_drift_take_no_part_in_it() -> None:
    with pytest.raises(programs.Missing, match="no drift"):
        tolls.toll_on("Go", tolls.frameworks(None)["Go"], ComparisonSettings(), 0.1)


def test_a_tool_that_fails_is_left_out_with_the_reason(peers) -> None:
    class Broken(Scripted):
        def judge(self, operation: str, slowdown: float) -> programs.Judgement:
            raise peers.Missing("crashed")

    trials = peers.in_passes(peers.random.Random(1), programs.OPERATIONS, SLOWDOWNS, 2)
    row = peers.Row("broken", Broken(), trials=trials)
    with Interrupt() as interrupt:
        peers.measure([row], 5.0, lambda _: None, interrupt)
    assert row.reason == "failed: crashed"


def test_nanobench_needs_its_header(peers, tmp_path: Path) -> None:
    with pytest.raises(peers.Missing, match="--nanobench FOLDER"):
        peers.Nanobench(None)
    (tmp_path / "nanobench.h").write_text("class Bench {};")
    with pytest.raises(peers.Missing, match=r"has no compare\(\)"):
        peers.Nanobench(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is missing")
def test_the_slowed_operations_answer_right_and_are_slower(peers, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    lines = peers.CommandLines()
    for operation in programs.OPERATIONS:
        program, _, _, _ = lines.words(operation, 0.0)
        assert subprocess.run([program, operation, "3", "1000"], check=False).returncode == 0
    assert subprocess.run([program, "nothing", "3", "0"], check=False).returncode == 2


HYPERFINE = """#!{python}
import json, sys
words = sys.argv[1:]
sides = words[words.index("--export-json") + 2 :]
slower = {{line: 1.0 + 0.001 * int(line.split()[-1]) for line in sides}}
results = [{{"times": [slower[line] * (1.0 + 0.001 * turn) for turn in range(10)]}} for line in sides]
open(words[words.index("--export-json") + 1], "w").write(json.dumps({{"results": results}}))
"""


def test_hyperfines_two_sides_are_the_operation_as_it_is_and_slowed(peers, tmp_path, monkeypatch) -> None:
    # The real one found no difference in a doubled time once, beside other work.
    fake = tmp_path / "hyperfine"
    fake.write_text(HYPERFINE.format(python=" ".join(interpreter())))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(programs, "compiled", lambda name: tmp_path / name)
    monkeypatch.setattr(
        programs.CommandLines,
        "words",
        lambda _, *side: ("command", side[0], str(programs.per_mille(side[1]))),
    )
    assert peers.Hyperfine().judge("sum_4096", 0.05).direction == 1
    assert peers.Hyperfine().judge("sum_4096", 0.0).direction == 0


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("hyperfine")), reason="g++ or hyperfine missing"
)
def test_hyperfine_itself_takes_the_lines(peers, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    given: list[list[float]] = []

    def taken(*sides: list[float]) -> int:
        given.extend(sides)
        return 0

    monkeypatch.setattr(peers, "welch", taken)
    peers.Hyperfine().judge("sum_4096", 1.0)
    assert [len(times) >= 10 and min(times) > 0.0 for times in given] == [True, True]


def test_welch_as_hyperfines_script_does(peers) -> None:
    first, second = [1.0, 1.1, 0.9, 1.0], [1.3, 1.2, 1.4, 1.3]
    assert ttest_ind(first, second, equal_var=False).pvalue < 0.05
    assert (peers.welch(first, second), peers.welch(second, first)) == (1, -1)
    assert peers.welch(first, first) == 0
    assert peers.direction(0.05, 1.0) == peers.direction(float("nan"), 1.0) == peers.direction(0.0, 0.0) == 0


def test_the_sign_is_that_of_the_means_where_the_means_are_tested(peers) -> None:
    first = [1.0] * 7 + [1.2] * 6
    second = [0.99] * 7 + [9.0, 9.1, 9.2, 9.3, 9.4, 9.5]
    assert ttest_ind(first, second, equal_var=False).pvalue < 0.05
    assert median(second) < median(first)
    assert peers.welch(first, second) == 1


def test_the_sign_of_the_u_test_needs_no_different_medians(peers, monkeypatch) -> None:
    first, second = [1.0] * 6 + [0.5] * 5, [1.0] * 6 + [1.5] * 5
    assert mannwhitneyu(first, second).pvalue < 0.05
    assert median(first) == median(second)
    monkeypatch.setattr(peers, "SCRIPT", Path("/nowhere"))
    monkeypatch.setattr(peers, "real_times", {"first": first, "second": second}.get)
    assert (peers.u_test("first", "second"), peers.u_test("second", "first")) == (1, -1)
    assert peers.more_often_above(first, second) == -peers.more_often_above(second, first) == 85


def test_pairs_that_cannot_be_judged_cost_no_other_row(peers, runs, monkeypatch) -> None:
    tool = peers.GoogleBenchmark.__new__(peers.GoogleBenchmark)
    tool.unslowed = {"sum": [runs(100.0), runs(100.0)]}
    row = peers.Row("tool", tool, verdicts=[("sum", 0.0, programs.Judgement(0), 2.0)])

    def broken(*_runs: Path) -> int:
        raise peers.Missing("compare.py ended with 1")

    monkeypatch.setattr(peers, "u_test", broken)
    lines = peers.table([row], SLOWDOWNS).splitlines()
    assert lines[2].startswith("| tool | 0/1 = 0.0%")
    assert lines[3].startswith(
        "| Google Benchmark, U test, any two of eight | failed: compare.py ended with 1 |"
    )
    assert {line.count("|") for line in lines} == {8}


def test_every_verdict_is_kept_without_being_asked(peers, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py"])
    raw = peers.parsed().raw
    assert raw.parent == programs.BUILD
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d{6}\.jsonl", raw.name)
    with peers.Kept(tmp_path / "new/x.jsonl") as keep:
        keep({"verdict": 1})
        keep({"verdict": 0})
    assert (tmp_path / "new/x.jsonl").read_text() == '{"verdict": 1}\n{"verdict": 0}\n'
    with pytest.raises(SystemExit, match=r"File exists; give another --raw"):
        peers.Kept(tmp_path / "new/x.jsonl")


def test_what_the_disk_does_not_take_is_printed(peers, monkeypatch, tmp_path: Path, capsys) -> None:
    with peers.Kept(tmp_path / "x.jsonl") as keep, Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(keep, "_file", full)
        keep({"verdict": 1})
    assert capsys.readouterr().out == 'not kept (No space left on device): {"verdict": 1}\n'


NEEDS = {
    "the same executable": ("g++", "/usr/include/benchmark/benchmark.h"),
    "the same by --read": ("g++", "/usr/include/benchmark/benchmark.h"),
    "nanobench": ("g++", f"{HEADERS / 'nanobench.h'}"),
    "Go": ("go", "/"),
    "Catch2": ("g++", "/usr/include/catch2"),
    "Criterion.rs": ("cargo", "/"),
}
QUICK = "the same executable"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NEEDS)
def test_toll_reads_the_operations_in_each_framework(name: str, tmp_path: Path, monkeypatch) -> None:
    """Each is offered under the name that is asked for; one half slower is called slower."""
    tool, file = NEEDS[name]
    if shutil.which(tool) is None or not Path(file).exists():
        pytest.skip(f"needs {tool} and {file}")
    if name != QUICK and "TOLL_TEST_PEERS" not in os.environ:
        pytest.skip("three minutes all together, after a change to tests/peers: TOLL_TEST_PEERS=1")
    monkeypatch.setattr(programs, "BUILD", tmp_path)
    framework = tolls.frameworks(HEADERS)[name]
    program = framework.build()
    for operation in framework.operations:
        survey = framework.subject(program, operation, 0.0).survey()
        assert (len(survey.common), survey.unusable) == (1, {}), operation
    toll = tolls.Toll(name, partial(framework.subject, program), ComparisonSettings(budget_s=60.0))
    assert toll.judge("sum_4096", 0.5).direction == 1
