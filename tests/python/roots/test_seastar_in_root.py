"""Seastar for real: built and run inside the root debian13, in the same run as a row of the host."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checkouts import copy_checkout, toll_in
from tollbench.catalog import environments

UNAVAILABLE = environments.located(environments.named("debian13")).unavailable
LIMIT_S = 1000.0  # what it takes to compile it, beside other work
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(UNAVAILABLE), reason=f"{UNAVAILABLE}; with the root: ./toll env add debian13"),
]

CACHECALC = "frameworks/cachecalc"
NAMES = (
    "seastar_shard_zero_polling",
    "seastar_sharded_polling",
    "seastar_sharded_overprovisioned",
    "seastar_one_too_many",
    "computation_only",
)
ROOTED = 'environments = ["debian13"], parameters = { threads = "cpus" }'
# Computes once more than its tasks do, from outside of all shards.
ONE_TOO_MANY = """\
#include "seastar.hpp"

struct OneTooMany : toll::cachecalc::SeastarSharded<toll::Idle::sleeps> {
    using SeastarSharded::SeastarSharded;
    void run(toll::cachecalc::Load& load) {
        SeastarSharded::run(load);
        load.compute();
    }
};

TOLL_CONTENDER(cachecalc, seastar_one_too_many, OneTooMany);
"""


Rows = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Rows by contender and wait_us, of a copy whose path has a space: it is mounted inside."""
    checkout = copy_checkout(tmp_path_factory.mktemp("a root") / "toll")
    folder = checkout / "suites" / CACHECALC
    (folder / "seastar_one_too_many.cpp").write_text(ONE_TOO_MANY)
    with (folder / "suite.toml").open("a") as suite:
        suite.write(f'seastar_one_too_many = {{ library = "Seastar", needs = ["seastar"], {ROOTED} }}\n')
    done = toll_in(checkout, LIMIT_S)(
        "run", *(f"{CACHECALC}/{name}" for name in NAMES),
        "--set", "tasks=100", "--set", "wait_us=8,1000", "--profile", "check",
        "--output", "seastar", "--no-html", "--no-install", "--wait",
    )  # fmt: skip
    shown = toll_in(checkout, LIMIT_S)("report", "seastar", "--format", "json")
    assert shown.returncode == 0, (done.stdout, done.stderr, shown.stderr)
    (workload,) = json.loads(shown.stdout)["workloads"]
    return {(row["contender"], row["parameters"]["wait_us"]): row for row in workload["rows"]}


@pytest.mark.parametrize("wait_us", [8, 1000])
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("seastar_s")])
def test_seastar_answers_rightly_and_waits_as_long_as_asked(rows: Rows, name: str, wait_us: int) -> None:
    row = rows[name, wait_us]
    assert row["status"] == "ok", row["reason"]
    assert row["environment"] == "debian13"
    assert row["parameters"]["threads"] == len(os.sched_getaffinity(0))
    assert row["value"] > 0
    assert row["details"]["wait_median_us"]["value"] >= 0.98 * wait_us


def test_the_hosts_row_stands_beside_them_and_is_their_floor(rows: Rows) -> None:
    floor = rows["computation_only", 8]
    assert (floor["status"], floor["environment"]) == ("ok", "host")
    assert rows["seastar_shard_zero_polling", 8]["efficiency"]["value"] > 0


def test_a_wrong_answer_inside_the_root_has_no_time(rows: Rows) -> None:
    row = rows["seastar_one_too_many", 8]
    assert row["status"] != "ok"
    assert "a key of the map does not hold" in row["reason"]
    assert row["value"] is None


def test_polling_shards_burn_what_overprovisioned_ones_leave(rows: Rows) -> None:
    polling, sleeping = (rows[f"seastar_sharded_{idle}", 1000] for idle in ("polling", "overprovisioned"))
    assert polling["cpu_time"] > 2 * sleeping["cpu_time"]


def test_a_tree_of_coroutines_is_added_up_by_all_shards(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "toll")
    done = toll_in(checkout, LIMIT_S)(
        "run", "tasks/skynet/seastar_sharded",
        "--set", "tasks=10000,1000000", "--profile", "check",
        "--output", "tree", "--no-html", "--no-install", "--wait",
    )  # fmt: skip
    shown = toll_in(checkout, LIMIT_S)("report", "tree", "--format", "json")
    assert shown.returncode == 0, (done.stdout, done.stderr, shown.stderr)
    (workload,) = json.loads(shown.stdout)["workloads"]
    units = {}
    for row in workload["rows"]:
        assert (row["status"], row["environment"]) == ("ok", "debian13"), row["reason"]
        assert row["parameters"]["threads"] == len(os.sched_getaffinity(0))
        footing = row["footing"]
        assert footing["units_alive_peak"] < 1000  # a shard goes down one branch after the other
        units[row["parameters"]["tasks"]] = footing["units_created"]
    assert units == {10_000: 11_110, 1_000_000: 1_111_110}
