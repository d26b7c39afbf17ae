"""What only younger libraries and compilers have, built and run inside the root debian-testing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkouts import copy_checkout, toll_in
from tollbench.catalog import environments
from tollbench.catalog.environments import compilers

UNAVAILABLE = environments.located(environments.named("debian-testing")).unavailable
LIMIT_S = 1700.0  # what it takes to compile it all, beside other work
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        bool(UNAVAILABLE), reason=f"{UNAVAILABLE}; with the root: ./toll env add debian-testing"
    ),
]

# Of GCC as the suite had it when the root was made; the newest has the standard's containers of below.
GCC = [name for name in compilers.in_root("debian-testing") if ":gcc-" in name]
# Boost.Cobalt and Taskflow are libraries of it, the next ones containers of the newest standard library, and
# the last ones those of its packages.
ONLY_THERE = (
    "tasks/channel/boost_cobalt",
    "tasks/socket/boost_cobalt",
    "frameworks/cachecalc/boost_cobalt",
    "tasks/fib/taskflow",
    "tasks/nqueens/taskflow",
    "tasks/matmul/taskflow",
    "tasks/skynet/taskflow",
    "frameworks/cachecalc/taskflow",
    "containers/count_words/std_flat_map",
    "containers/map_lookup/std_flat_map",
    "containers/map_insert/std_flat_map",
    "containers/map_erase/std_flat_map",
    "containers/map_iterate/std_flat_map",
    "containers/array_read/std_inplace_vector_index",
    "containers/array_update/std_inplace_vector",
    "containers/array_update/plf_colony",
    "containers/map_lookup/absl_flat_hash_map",
    "containers/map_lookup/tsl_robin_map",
    "containers/map_lookup/tsl_hopscotch_map",
    "containers/map_lookup/phmap_flat_hash_map",
)


def report(checkout: Path, name: str, *words: str) -> dict[str, Any]:
    """Of a short run of these, which has this name and ends well."""
    done = toll_in(checkout, LIMIT_S)(
        "run", *words, "--profile", "check", "--layouts", "1",
        "--output", name, "--no-html", "--no-install", "--wait",
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    shown = toll_in(checkout, LIMIT_S)("report", name, "--format", "json")
    assert shown.returncode == 0, (done.stdout, done.stderr, shown.stderr)
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("newest") / "toll")


def test_what_the_root_alone_has_is_built_and_answers_rightly_there(checkout: Path) -> None:
    found = report(checkout, "newest", *ONLY_THERE, "--env", GCC[-1])
    rows = [(workload["workload"], row) for workload in found["workloads"] for row in workload["rows"]]
    for workload, row in rows:
        assert row["status"] == "ok", (workload, row["contender"], row["reason"])
        assert row["environment"] == GCC[-1]
        assert row["value"] > 0
    assert {f"{workload}/{row['contender']}" for workload, row in rows} == set(ONLY_THERE)


def test_compilers_of_the_root_and_of_the_host_are_compared_in_one_run(checkout: Path) -> None:
    count_words = "containers/count_words"
    names = ("map", "unordered_map", "absl_flat_hash_map", "tsl_robin_map")
    found = report(
        checkout, "compilers", *(f"{count_words}/{name}" for name in names), "--set", "group=1000",
        "--env", f"gcc,{GCC[0]},{GCC[-1]}",
    )  # fmt: skip
    (workload,) = found["workloads"]
    changes = workload["environment_changes"]
    assert [change["environment"] for change in changes] == [GCC[0], GCC[-1]]
    for change in changes:
        rows = {row["contender"] for row in change["rows"]}
        assert rows >= {"map", "unordered_map"}  # the others where the host has them too
        assert all(row["ratio"]["value"] > 0 for row in change["rows"])
    newest = [row for row in workload["rows"] if row["environment"] == GCC[-1]]
    assert {row["contender"] for row in newest} == set(names)
    assert all(row["status"] == "ok" for row in newest)
