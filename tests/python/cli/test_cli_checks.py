"""`toll test`: every step is run, one failure fails the whole, closing lines are shown."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tollbench.cli
from toll_test import steps as checks
from toll_test.outcomes import NOT_RUN, Step, summary
from toll_test.pace import Pace
from toll_test.runner import LAST_IN_LINE, run, run_all
from tollbench.catalog import packages
from tollbench.cli.console import Progress
from tollbench.errors import Exit
from tollbench.interpreters import interpreter, interpreter_with_path, toll_itself

ROOT = Path(__file__).resolve().parents[3]


def shell(text: str) -> Step:
    return Step("a step", ("sh", "-c", text))


def test_the_runners_own_closing_line_is_kept(capsys):
    outcome = run(shell("echo working; printf '\\033[32m3 passed\\033[0m in 1.2s\\n'"), ROOT)
    assert outcome.status == 0
    assert outcome.closing == ("3 passed in 1.2s",)
    assert "working" in capsys.readouterr().out
    text = summary([outcome])
    assert "ok" in text
    assert "3 passed in 1.2s" in text
    assert "1 of 1 steps passed" in text


def test_a_failed_step_is_called_failed():
    outcomes = [run(shell("exit 3"), ROOT), run(shell("true"), ROOT)]
    assert [outcome.status for outcome in outcomes] == [3, 0]
    text = summary(outcomes)
    assert "FAILED" in text
    assert "1 of 2 steps passed" in text


def test_what_follows_a_failed_step_is_not_run_and_not_passed(capsys):
    steps = [
        Step("build", ("false",)),
        Step("tests", ("sh", "-c", "echo 9 passed"), "build"),
        Step("report", ("true",), "tests"),
        Step("lint", ("true",)),
    ]
    outcomes = run_all(steps, ROOT)
    assert [outcome.status for outcome in outcomes] == [1, NOT_RUN, NOT_RUN, 0]
    assert "9 passed" not in capsys.readouterr().out
    assert "not run, because build failed" in summary(outcomes)
    assert "1 of 4 steps passed" in summary(outcomes)


def test_a_tool_that_is_missing_fails_loudly(capsys):
    outcome = run(Step("a step", ("no-such-tool",)), ROOT)
    assert outcome.status == 127
    assert "no-such-tool is not installed" in summary([outcome])
    assert "cannot start no-such-tool" in capsys.readouterr().out


def names(**options: bool) -> list[str]:
    return [step.name for step in checks.steps(ROOT, **options)]


def test_all_kinds_of_tests_are_there():
    full = names(fast=False, bench=False)
    wanted = {"ruff", "ruff format", "mypy", "clang-format", "clang-tidy", "contenders", "pytest"}
    wanted |= {f"{name}: ctest" for name in ("release", "asan", "tsan")}
    assert wanted <= set(full)
    fast = names(fast=True, bench=False)
    assert set(full) - set(fast) >= {"clang-tidy", "release: ctest", "asan: ctest", "tsan: ctest"}
    assert {"ruff", "mypy", "dev: ctest", "pytest"} <= set(fast)
    assert set(names(fast=False, bench=True)) - set(full) == {"bench"}


def test_every_cxx_file_is_looked_at():
    steps = {step.name: step for step in checks.steps(ROOT, fast=False, bench=False, everything=True)}
    looked_at = set(steps["clang-format"].command)
    for path in (ROOT / "suites").rglob("*.cpp"):
        assert str(path.relative_to(ROOT)) in looked_at
        assert path.stem in steps["clang-tidy"].command[-1]


def test_clang_tidy_sees_one_contender_of_every_workload():
    steps = {step.name: step for step in checks.steps(ROOT, fast=False, bench=False)}
    pattern = re.compile(steps["clang-tidy"].command[-1])
    for suite in (ROOT / "suites").glob("*/*/suite.toml"):
        folders = [suite.parent, *(path for path in suite.parent.parent.iterdir() if path.is_dir())]
        seen = [path for folder in folders for path in folder.glob("*.cpp") if pattern.match(str(path))]
        assert seen, suite


def test_all_contenders_are_compiled_everywhere_only_where_that_is_asked_for():
    def suites(**options: bool) -> dict[str, str]:
        chosen = {step.name: " ".join(step.command) for step in checks.steps(ROOT, **options)}
        return {
            name: chosen[configure].rpartition("TOLL_SUITES=")[2]
            for name in ("dev", "release", "clang")
            if (configure := f"{name}: configure") in chosen
        }

    assert suites(fast=True, bench=False) == {"dev": "headline"}
    assert suites(fast=False, bench=False) == {"release": "headline"}
    assert suites(fast=False, bench=False, everything=True) == {
        "dev": "ON", "release": "OFF", "clang": "ON",
    }  # fmt: skip


def test_slow_proofs_are_run_where_they_are_named_or_everything_is(tmp_path: Path) -> None:
    """Those of others' frameworks take a minute each."""

    def collected(*words: str) -> str:
        file = ROOT / "tests/python/cli/test_cli_own_framework.py"
        command = interpreter("-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *words, str(file))
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout

    everything = next(
        step for step in checks.steps(ROOT, fast=False, bench=False, everything=True) if step.name == "pytest"
    )
    asked = everything.command[everything.command.index("pytest") + 1 :]
    assert "test_cli_own_framework.py::" not in collected()
    assert "test_cli_own_framework.py::" in collected("-m", "proof")
    assert "test_cli_own_framework.py::" in collected("-m", asked[asked.index("-m") + 1])


@pytest.mark.parametrize(("everything", "named"), [(False, []), (True, ["*"])])
def test_what_is_built_of_the_contenders_is_what_is_launched(everything, named):
    steps = {step.name: step for step in checks.steps(ROOT, fast=False, bench=False, everything=everything)}
    built, launched = (steps[name].command for name in ("contenders: build", "contenders"))
    assert list(built) == interpreter("tests/toll_test/contenders.py", *named)
    assert list(launched[3:]) == toll_itself("run", *named)


def test_roots_are_made_only_where_everything_is_asked_for_and_before_what_needs_them():
    roots = {"root debian13", "root debian-testing"}
    everything = names(fast=False, bench=False, everything=True)
    every_way = {f"{name}: {step}" for name in ("dev", "clang") for step in ("configure", "build", "ctest")}
    full = set(names(fast=False, bench=False))
    assert set(everything) - full == {*roots, "audit"} | every_way
    assert full <= set(everything)
    first = min(everything.index("contenders"), everything.index("pytest"))
    assert max(map(everything.index, roots)) < first


def test_a_step_aside_runs_beside_the_others_and_is_printed_when_they_are_quiet(tmp_path, capsys):
    # Each of the two waits for the other one's file: neither ends unless both run.
    meets = "touch {0}; until [ -e {1} ]; do sleep 0.01; done; echo {0} met"
    steps = [
        Step("build", ("sh", "-c", meets.format(tmp_path / "a", tmp_path / "b")), aside=True),
        Step("tests", ("sh", "-c", meets.format(tmp_path / "b", tmp_path / "a"))),
        Step("ctest", ("sh", "-c", "echo it runs"), "build"),
    ]
    outcomes = run_all(steps, ROOT)
    assert [outcome.step.name for outcome in outcomes] == ["build", "tests", "ctest"]
    assert [outcome.status for outcome in outcomes] == [0, 0, 0]
    said = capsys.readouterr().out
    places = [
        said.index(text) for text in ("=== tests", "b met", "=== build", "a met", "=== ctest", "it runs")
    ]
    assert places == sorted(places)
    assert "build, beside the others" in summary(outcomes)


def test_steps_aside_wait_for_what_they_need_and_fail_the_whole(capsys):
    steps = [
        Step("unrelated", ("false",), aside=True),
        Step("pytest", ("false",)),
        Step("build", ("true",), behind="pytest", aside=True),
        Step("test", ("true",), "build"),
        Step("tidy", ("true",), "pytest", aside=True),
        Step("bench", ("true",), alone=True),
    ]
    outcomes = run_all(steps, ROOT)
    assert [outcome.status for outcome in outcomes] == [1, 1, 0, 0, NOT_RUN, 0]
    assert "3 of 6 steps passed" in summary(outcomes)
    assert "=== tidy: not run, because pytest failed" in capsys.readouterr().out


def test_what_is_alone_begins_when_nothing_runs_beside_it(tmp_path):
    ended = tmp_path / "ended"
    steps = [
        Step("build", ("sh", "-c", f"sleep 0.3; touch '{ended}'"), aside=True),
        Step("bench", ("test", "-e", str(ended)), alone=True),
    ]
    assert [outcome.status for outcome in run_all(steps, ROOT)] == [0, 0]


def test_a_step_aside_takes_the_cpu_time_that_tests_leave(tmp_path):
    if os.getpriority(os.PRIO_PROCESS, 0) >= LAST_IN_LINE:
        pytest.skip("started with the least priority that there is")
    # nice(1) without a command prints the niceness, which is set right after the start.
    seen = tmp_path / "nice"
    steps = [
        Step("build", ("sh", "-c", f'until [ "$(nice)" = {LAST_IN_LINE} ]; do sleep 0.01; done'), aside=True),
        Step("tests", ("sh", "-c", f"nice > '{seen}'"), "build"),
    ]
    assert [outcome.status for outcome in run_all(steps, ROOT)] == [0, 0]
    assert int(seen.read_text()) == os.getpriority(os.PRIO_PROCESS, 0) < LAST_IN_LINE


INTERRUPTED = """
import signal
from pathlib import Path
from toll_test.outcomes import Step
from toll_test.runner import run_all
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests were started with it ignored
endless = Step("build", ("sh", "-c", "echo $$ > pid; exec sleep 3600"), aside=True)
waits = Step("tests", ("sh", "-c", "until [ -s pid ]; do sleep 0.01; done; kill -INT $PPID; sleep 2"))
run_all([endless, Step("next", ("touch", "next"), "build", aside=True), waits], Path.cwd())
"""


def test_an_interrupt_ends_what_runs_aside(tmp_path):
    done = subprocess.run(
        interpreter_with_path("-c", INTERRUPTED),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'tests'}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "KeyboardInterrupt" in done.stderr
    assert not (tmp_path / "next").exists()
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    for _ in range(600):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":  # ended; nobody has asked how
                return
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail("the step aside goes on")


def test_every_step_stands_behind_what_it_waits_for():
    for options in ({"fast": True}, {"fast": False}, {"fast": False, "everything": True}):
        planned = list(checks.steps(ROOT, bench=True, **options))
        known: set[str] = set()
        for step in planned:
            assert known.issuperset(step.awaited()), step
            assert step.name not in known
            known.add(step.name)


@pytest.mark.parametrize(("statuses", "code"), [(["true", "true"], 0), (["true", "false", "true"], 1)])
def test_one_failure_fails_the_whole(monkeypatch, capsys, statuses, code):
    monkeypatch.setattr(packages, "missing", lambda needs: ())
    monkeypatch.setattr(checks, "steps", lambda root, **options: [shell(status) for status in statuses])
    monkeypatch.setattr(Pace, "remember", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["toll", "test"])
    assert tollbench.cli.main() == code
    assert f"{statuses.count('true')} of {len(statuses)} steps passed" in capsys.readouterr().out


def test_what_is_missing_is_installed_first(monkeypatch, capsys):
    installed: list[str] = []
    monkeypatch.setattr(packages, "missing", tuple)  # a machine with nothing on it
    monkeypatch.setattr(packages, "install", lambda needs, say: installed.extend(need.name for need in needs))
    monkeypatch.setattr(checks, "steps", lambda root, **options: [])
    monkeypatch.setattr(Pace, "remember", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["toll", "test"])
    assert tollbench.cli.main() == 0
    # What Debian 12 does not have (a JDK of 21 or later, Seastar) would fail the whole apt call.
    later = {need.name for group in ("language", "root", "extra") for need in packages.group(group)}
    assert set(installed) == packages.table().keys() - later


class Bar(Progress):
    """Keeps what it was told."""

    def __init__(self) -> None:
        super().__init__("")
        self.told: list[tuple[float, float, str, float | None]] = []

    def step(self, done: float, total: float, what: str = "", left_s: float | None = None) -> None:
        self.told.append((done, total, what, left_s))


def test_the_time_left_follows_from_the_last_times(tmp_path, capsys):
    times = tmp_path / "build/times.json"
    planned = [Step("quick", ("echo", "3 passed")), Step("slow", ("echo", "working"))]
    first = Pace(times, planned, Bar())
    assert (first.place(planned[0]), first.left_s(planned[0])) == ("1 of 2", None)  # nothing is known yet
    first.remember(run_all(planned, ROOT, None, first))
    assert set(json.loads(times.read_text())) == {"quick", "slow"}
    times.write_text(json.dumps({"quick": 10.0, "slow": 90.0, "gone": 1.0}))
    bar = Bar()
    again = Pace(times, planned, bar)
    assert again.left_s(planned[0], 4.0) == 96.0
    assert again.left_s(planned[0], 40.0) == 90.0  # it takes longer than last time: never negative
    run_all(planned, ROOT, None, again)
    assert "=== quick (1 of 2, about 1:40 left): echo" in capsys.readouterr().out
    ((done, total, what, left),) = [told for told in bar.told if told[2] == "slow"]
    assert (total, what) == (100.0, "slow")
    assert 10.0 <= done < 100.0
    assert left == pytest.approx(100.0 - done)


@pytest.mark.parametrize("text", ["", "[1]", '{"a": "soon"}', '{"a": null}'])
def test_times_that_make_no_sense_are_forgotten(tmp_path, text):
    (tmp_path / "times.json").write_text(text)
    step = Step("a", ("false",))
    pace = Pace(tmp_path / "times.json", [step], Bar())
    assert pace.left_s(step) is None
    pace.remember(run_all([step], ROOT, None, pace))
    assert json.loads((tmp_path / "times.json").read_text()) == {}  # a failure's time says nothing


def test_programs_get_every_step_and_people_the_output(monkeypatch, capsys):
    planned = [Step("good", ("echo", "3 passed")), Step("bad", ("sh", "-c", "echo 1 failed; exit 2"))]
    monkeypatch.setattr(packages, "missing", lambda needs: ())
    monkeypatch.setattr(checks, "steps", lambda root, **options: planned)
    monkeypatch.setattr(Pace, "remember", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["toll", "test", "--json"])
    assert tollbench.cli.main() == 1
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["passed"] is False
    assert [(step["name"], step["passed"], step["closing"]) for step in found["steps"]] == [
        ("good", True, ["3 passed"]),
        ("bad", False, ["1 failed"]),
    ]
    assert all(step["seconds"] > 0 for step in found["steps"])
    assert "=== good (1 of 2" in captured.err
    assert "1 failed" in captured.err


def test_where_toll_is_installed_without_a_checkout_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tollbench.cli.test.ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["toll", "test", "--fast"])
    assert tollbench.cli.main() == Exit.USAGE
    said = capsys.readouterr().err
    assert f"{tmp_path} is no checkout" in said
    assert "next: clone" in said
