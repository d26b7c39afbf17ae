"""`toll new` and `toll run` with real programs: a stranger's first ten minutes, in a copy of the checkout."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tollbench as toll
from checkouts import ROOT, Toll, copy_checkout, toll_in
from tollbench.interpreters import interpreter_with_path
from tollbench.words import Purpose

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TIES_ITS_CALLER = """
    explicit Tied(const toll::skynet::Inputs& inputs) : pins_(inputs) { pins_.tie_caller(); }
    const toll::skynet::Pins& pins() const { return pins_; }
    toll::skynet::Pins pins_;
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with two new contenders from the templates, one that does not compile and one that lies."""
    root = copy_checkout(tmp_path_factory.mktemp("a first run") / "toll")
    call = toll_in(root)
    for workload in ("tasks/skynet", "latency/wakeup"):
        done = call("new", workload, "my_own")
        assert done.returncode == 0, done.stderr
        assert f"toll run {workload}/my_own" in done.stdout
    assert call("new", "tasks/skynet", "broken").returncode == 0
    source = root / "suites/tasks/skynet/broken.cpp"
    source.write_text(source.read_text().replace("return node.ordinal;", "return unheard_of;"))
    assert call("new", "tasks/skynet", "liar").returncode == 0
    source = root / "suites/tasks/skynet/liar.cpp"
    text = source.read_text()
    assert "return node.ordinal;" in text
    source.write_text(text.replace("return node.ordinal;", "return node.ordinal + 1;"))
    assert call("new", "tasks/skynet", "tied").returncode == 0
    source = root / "suites/tasks/skynet/tied.cpp"
    text = source.read_text().replace('#include "workload.hpp"', '#include "pins.hpp"')
    made = "explicit Tied(const toll::skynet::Inputs&) {}"
    assert made in text
    source.write_text(text.replace(made, TIES_ITS_CALLER))
    return root


@pytest.fixture(scope="module")
def toll_here(checkout: Path) -> Toll:
    return toll_in(checkout)


@pytest.fixture(scope="module")
def first(checkout: Path, toll_here: Toll) -> subprocess.CompletedProcess[str]:
    """One short run of the four new contenders. It waits, because other tests may be measuring."""
    return toll_here(
        "run", "*/*/my_own", "tasks/skynet/broken", "tasks/skynet/liar",
        "--set", "tasks=1000", "--budget", "16s", "--seed", "7", "--output", "first", "--wait",
    )  # fmt: skip


def report(toll_here: Toll, name: str) -> dict[str, Any]:
    return json.loads(toll_here("report", name, "--format", "json").stdout)


def rows(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{w['workload']}/{row['contender']}": row for w in found["workloads"] for row in w["rows"]}


def test_a_new_contender_builds_and_runs_at_once(first, toll_here, checkout):
    found = report(toll_here, "first")
    jsonschema.validate(found, json.loads((ROOT / "schemas/report.schema.json").read_text()))
    for workload in ("tasks/skynet", "latency/wakeup"):
        row = rows(found)[f"{workload}/my_own"]
        assert row["status"] == "ok", row["reason"]
        assert row["value"] > 0
        assert row["launches"] > 0
    assert found["run"]["seed"] == 7
    assert "my_own" in first.stdout
    page = (checkout / "runs/first.html").read_text()
    assert "my_own" in page
    assert "unheard_of" in page


def test_a_contender_that_does_not_compile_is_a_row_with_its_error(first, toll_here):
    row = rows(report(toll_here, "first"))["tasks/skynet/broken"]
    assert row["status"] == "build_failed"
    assert "unheard_of" in row["reason"]
    assert row["value"] is None
    assert "unheard_of" in first.stderr


def test_a_wrong_answer_shows_no_time_and_fails_the_run(first, toll_here):
    row = rows(report(toll_here, "first"))["tasks/skynet/liar"]
    assert row["status"] == "wrong_answer"
    assert row["value"] is None
    assert first.returncode == 1, first.stderr


@pytest.mark.parametrize(("contender", "code"), [("my_own", 0), ("broken", 1)])
def test_a_check_launches_once_and_fails_for_what_does_not_work(first, toll_here, checkout, contender, code):
    name = f"check_{contender}"
    chosen = (f"tasks/skynet/{contender}", "tasks/skynet/my_own")
    done = toll_here("run", *chosen, "--profile", "check", "--no-html", "--output", name, "--wait")
    assert done.returncode == code, done.stdout + done.stderr
    with toll.open(checkout / f"runs/{name}.toll") as run:
        assert run.file.launch_count(Purpose.MEASURE) == 1


def test_where_threads_were_tied_is_in_the_footing_and_who_ties_none_is_a_row_with_a_reason(first, toll_here):
    done = toll_here(
        "run", "tasks/skynet/tied", "tasks/skynet/my_own", "--set", "tasks=1000", "--set", "threads=1",
        "--set", "pinning=each_cpu,none", "--profile", "check", "--no-html", "--output", "pinned", "--wait",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (workload,) = report(toll_here, "pinned")["workloads"]
    found = {(row["contender"], row["parameters"]["pinning"]): row for row in workload["rows"]}
    each, none = found["tied", "each_cpu"], found["tied", "none"]
    assert each["footing"]["pinning"] == "each_cpu"
    assert each["footing"]["pinned_cpus"] == str(min(os.sched_getaffinity(0)))
    assert each["value"] > 0
    assert (none["footing"]["pinning"], "pinned_cpus" in none["footing"]) == ("none", False)
    refused = found["my_own", "each_cpu"]
    assert (refused["status"], refused["value"]) == ("unsupported", None)
    assert "no worker threads here that could be tied" in refused["reason"]
    assert found["my_own", "none"]["status"] == "ok"


def test_the_run_file_says_how_the_programs_were_built(first, checkout):
    with toll.open(checkout / "runs/first.toll") as run:
        (environment,) = run.file.environments()
        assert environment.compiler in ("GNU", "Clang")
        assert "-O2" in environment.flags
        assert "libstdc++" in environment.standard_library
        assert run.file.launch_count(Purpose.CANARY) > 0
        assert run.file.launch_count(Purpose.ALLOCATIONS) > 0
        assert len(run.samples("latency/wakeup", "my_own", mode="hot")) > 0


def test_the_list_knows_what_was_built(first, toll_here):
    found = {row["contender"]: row for row in json.loads(toll_here("list", "tasks/skynet", "--json").stdout)}
    assert found["my_own"]["available"] is True
    assert "unheard_of" in found["broken"]["reason"]


def test_a_finished_run_is_neither_overwritten_nor_resumed(first, toll_here):
    again = toll_here("run", "tasks/skynet/my_own", "--output", "first", "--budget", "5s")
    assert again.returncode == 2
    assert "first.toll exists already" in again.stderr
    more = toll_here("run", "--resume", "first", "--wait")  # other tests may measure
    assert more.returncode == 2
    assert "is complete" in more.stderr


def test_nothing_measured_is_inconclusive(first, toll_here):
    done = toll_here(
        "run", "tasks/skynet/broken", "--budget", "5s", "--output", "none", "--wait", "--no-html"
    )
    assert done.returncode == 3, done.stderr


def start(checkout: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        interpreter_with_path("-m", "tollbench", "run", *arguments),
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "python"), "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_launches(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    for _ in range(1800):
        if process.poll() is not None:
            raise AssertionError(f"the run ended too early: {process.communicate()}")
        if path.exists():
            try:
                with toll.open(path) as run:
                    if run.file.launch_count(Purpose.MEASURE) >= count:
                        return
            except toll.errors.TollError:
                pass  # its first transaction is under way
        time.sleep(0.1)
    raise AssertionError(f"{path} never had {count} launches")


def test_ctrl_c_keeps_and_shows_what_is_measured_and_resume_goes_on(first, checkout, toll_here):
    path = checkout / "runs/stopped.toll"
    process = start(
        checkout, "tasks/skynet/my_own", "--set", "tasks=1000", "--budget", "60s", "--precision", "0.0001",
        "--output", "stopped", "--wait",
    )  # fmt: skip
    wait_for_launches(path, 3, process)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "my_own" in shown
    command = re.search(r"toll run --resume (\S+)", said)
    assert command, said
    before = report(toll_here, "stopped")["run"]
    assert before["finished_utc"] is None
    assert (checkout / "runs/stopped.html").exists()

    resumed = start(checkout, "--resume", command.group(1), "--wait")
    with toll.open(path) as run:
        had = run.file.launch_count(Purpose.MEASURE)
    wait_for_launches(path, had + 3, resumed)
    resumed.send_signal(signal.SIGINT)
    resumed.communicate(timeout=60)
    after = report(toll_here, "stopped")["run"]
    assert after["uuid"] == before["uuid"]
    assert after["launches"] > before["launches"]


def test_a_second_run_says_that_one_is_measuring(first, checkout, toll_here):
    process = start(
        checkout, "tasks/skynet/my_own", "--set", "tasks=1000", "--budget", "60s", "--precision", "0.0001",
        "--output", "holder", "--wait",
    )  # fmt: skip
    try:
        wait_for_launches(checkout / "runs/holder.toll", 1, process)
        second = toll_here("run", "tasks/skynet/my_own", "--output", "second", "--budget", "5s")
        assert second.returncode == 2
        assert "Another run is measuring" in second.stderr
        assert "--wait" in second.stderr
        assert not (checkout / "runs/second.toll").exists()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
