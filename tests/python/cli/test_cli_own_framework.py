"""A framework of one's own in frameworks/cachecalc: `toll new`, one file, one run beside the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkouts import copy_checkout, toll_in

pytestmark = [pytest.mark.proof, pytest.mark.slow, pytest.mark.timeout(600)]

# An event loop of twenty lines: tasks whose wait is over run in the order in which it ended.
TOY = """\
#include "workload.hpp"

#include <functional>
#include <queue>
#include <thread>

class Toy {
    using Time = std::chrono::steady_clock::time_point;
    using Due = std::pair<Time, std::uint64_t>;

public:
    explicit Toy(const toll::cachecalc::Inputs&) {}

    void run(toll::cachecalc::Load& load) {
        std::priority_queue<Due, std::vector<Due>, std::greater<>> waiting;
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            load.compute();
            load.wait_begins(task);
            waiting.emplace(std::chrono::steady_clock::now() + load.wait(), task);
        }
        for (; !waiting.empty(); waiting.pop()) {
            const auto [due, task] = waiting.top();
            std::this_thread::sleep_until(due);
            load.wait_ended(task);
            load.compute();
        }
    }
    static toll::Footing footing() { return {{"waits", "toy loop sleeps until the next task is due"}}; }
};

TOLL_CONTENDER(cachecalc, toy, Toy);
"""


def test_a_toy_framework_stands_beside_the_others_with_one_file(tmp_path: Path) -> None:
    root = copy_checkout(tmp_path / "toll")
    toll = toll_in(root)
    assert toll("new", "frameworks/cachecalc", "toy").returncode == 0
    assert toll("new", "frameworks/cachecalc", "as_written").returncode == 0
    assert toll("new", "frameworks/cachecalc", "forgetful").returncode == 0
    sources = root / "suites/frameworks/cachecalc"
    (sources / "toy.cpp").write_text(TOY)
    forgetful = TOY.replace("Toy", "Forgetful").replace(" toy,", " forgetful,")
    forgetful = forgetful.replace("load.tasks(); ++task", "load.tasks() - 1; ++task")
    (sources / "forgetful.cpp").write_text(forgetful)
    names = [f"frameworks/cachecalc/{name}" for name in ("toy", "as_written", "forgetful", "std_mutex_sleep")]
    done = toll(
        "run", *names,
        "--set", "tasks=100", "--budget", "8s", "--output", "own", "--no-html", "--wait",
    )  # fmt: skip
    report = json.loads(toll("report", "own", "--format", "json").stdout)
    rows = {(row["contender"], row["parameters"]["wait_us"]): row for row in report["workloads"][0]["rows"]}
    for name in ("toy", "as_written", "std_mutex_sleep"):
        for wait_us in (8, 64):
            row = rows[name, wait_us]
            assert row["status"] == "ok", (row, done.stdout, done.stderr)
            assert row["value"] > 0
            assert row["details"]["wait_median_us"]["value"] >= 0.98 * wait_us
    assert rows["forgetful", 8]["status"] != "ok"
    assert "a key of the map does not hold" in rows["forgetful", 8]["reason"]
    assert rows["forgetful", 8]["value"] is None
