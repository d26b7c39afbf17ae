"""`toll env list` and `toll run --env` with real programs and the allocators that this machine has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

import toll
from checkouts import ROOT, Toll, copy_checkout, toll_in
from toll.catalog import environments
from toll.words import Purpose

PRELOADED = [item for item in map(environments.located, environments.OFFERED) if item.preload]


def test_the_list_of_environments_keeps_its_contract(toll: Toll) -> None:
    found = json.loads(toll("env", "list", "--json").stdout)
    jsonschema.validate(found, json.loads((ROOT / "schemas/env.schema.json").read_text()))
    assert [row["name"] for row in found] == list(environments.names())
    assert found[0]["available"]
    assert {row["name"] for row in found if row["preload"]} == {item.name for item in PRELOADED}
    text = toll("env", "list").stdout
    assert all(name in text for name in environments.names())
    assert "Nothing is built yet" in text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--env", "tcmaloc"], "Did you mean tcmalloc?"),
        (["--env", ""], "--env all"),
        (["--env", "zz"], "env list"),
    ],
)
def test_a_mistyped_environment_is_named_before_anything_is_built(toll, checkout, asked, words):
    done = toll("run", "tasks/skynet", *asked)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_resumed_run_takes_no_new_environments(toll):
    done = toll("run", "--resume", "x", "--env", "host")
    assert done.returncode == 2
    assert "takes no new one" in done.stderr


def test_a_missing_allocator_is_a_row_that_says_what_brings_it(monkeypatch):
    from toll.catalog import packages
    from toll.cli import measuring
    from toll.plan import PROFILES, Selection, make

    monkeypatch.setattr(packages, "_linker_cache", lambda: ())
    monkeypatch.setattr(packages, "_library_folders", lambda: ())
    asked = Selection.parse(["tasks/skynet/std_thread"], (), ["host,tcmalloc"])
    plan = make(measuring.suites.load(ROOT), asked, environments.OFFERED, PROFILES["quick"], 2)
    session = measuring.Session(plan, Path("/nowhere/x.toll"), resume=False)
    session._share([measuring.Program("tasks/skynet", "std_thread", "host", ("/x",))])
    host, missing = session.programs
    assert (host.status, host.command) == ("ok", ("/x",))
    assert (missing.environment, missing.status, missing.command) == ("tcmalloc", "skipped", ())
    assert "libtcmalloc_minimal.so.4 not found; next: " in missing.reason
    assert "apt-get install -y libtcmalloc-minimal4" in missing.reason


@pytest.fixture(scope="module")
def checkout_here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("environments") / "toll")


@pytest.fixture(scope="module")
def measured(checkout_here: Path) -> subprocess.CompletedProcess[str]:
    """One contender that allocates, everywhere it can run here."""
    names = ",".join(["host", *(item.name for item in PRELOADED)])
    done = toll_in(checkout_here)(
        "run", "tasks/skynet/std_async", "--env", names, "--set", "tasks=100",
        "--budget", "10s", "--output", "all", "--wait", "--no-html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not PRELOADED, reason="no allocator to preload: toll env list names the packages")
class TestOneProgramUnderSeveralAllocators:
    def test_each_launch_proves_its_allocator(self, measured, checkout_here):
        with toll.open(checkout_here / "runs/all.toll") as run:
            expected = {item.name: Path(item.preload[0]).name for item in PRELOADED} | {"host": "glibc"}
            seen: dict[str, set[str]] = {}
            for case in run.file.cases():
                for purpose in (Purpose.PILOT, Purpose.ALLOCATIONS, Purpose.MEASURE):
                    launches = run.file.launches(case.id, purpose)
                    assert launches, (case.environment, purpose)
                    assert {launch.status for launch in launches} == {"ok"}, launches[0].reason
                    seen.setdefault(case.environment, set()).update(
                        launch.footing["malloc"] for launch in launches
                    )
        assert seen == {name: {file} for name, file in expected.items()}

    def test_one_build_is_shared_and_described(self, measured, checkout_here):
        assert [path.name for path in (checkout_here / "build").iterdir()] == ["host"]
        with toll.open(checkout_here / "runs/all.toll") as run:
            stored = {item.name: item for item in run.file.environments()}
        for item in stored.values():
            assert item.compiler in ("GNU", "Clang")
            assert "-O2" in item.flags
            assert item.standard_library
        assert len({(item.compiler_version, item.flags) for item in stored.values()}) == 1
        assert {name: stored[name].allocator for name in stored if name != "host"} == {
            item.name: item.allocator for item in PRELOADED
        }
        assert stored["host"].allocator.endswith("malloc")

    def test_rows_stand_side_by_side_with_their_ratio(self, measured, checkout_here):
        told = toll_in(checkout_here)("report", "all", "--format", "json").stdout
        (workload,) = json.loads(told)["workloads"]
        rows = {row["environment"]: row for row in workload["rows"]}
        assert set(rows) == {"host", *(item.name for item in PRELOADED)}
        assert all(row["ratio"] is not None for row in rows.values())
        assert sum(row["fastest"] for row in rows.values()) == 1
        # The program asks for the same memory whoever serves it; a thread's own start may add a few calls.
        calls = [row["memory"]["calls"] for row in rows.values()]
        assert min(calls) > 1
        assert max(calls) <= 1.1 * min(calls), rows

    def test_the_run_can_be_interleaved_because_it_is_one(self, measured, checkout_here):
        with toll.open(checkout_here / "runs/all.toll") as run:
            names = {case.id: case.environment for case in run.file.cases()}
            first_round = [
                names[launch.case_id]
                for launch in run.file.all_launches()
                if launch.purpose is Purpose.MEASURE and launch.round == 1
            ]
        assert sorted(first_round) == sorted(names.values())
