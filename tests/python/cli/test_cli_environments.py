"""`toll env list` and `toll run --env` with real programs and the allocators that this machine has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

import tollbench as toll
from checkouts import ROOT, Toll, copy_checkout, toll_in
from tollbench import building
from tollbench.catalog import environments, packages, suites
from tollbench.cli import builds
from tollbench.errors import TollError
from tollbench.plan import PROFILES, Selection, make
from tollbench.words import Environment, Program, Purpose, Workload

LOCATED = [environments.located(item) for item in environments.OFFERED]
PRELOADED = [item for item in LOCATED if item.preload]
# Whose programs have to name what serves their malloc.
WITH_MALLOC = [item for item in LOCATED if item.malloc and not item.unavailable]


def few_compilers(folder: Path) -> dict[str, str]:
    """What makes a process find one compiler that works and one that does not, with an empty cache."""
    tools = folder / "bin"
    tools.mkdir()
    real = shutil.which("g++") or shutil.which("c++") or ""
    for name, script in (("g++-60", f"PATH={os.defpath} exec {real}"), ("g++-61", "exit 1; true")):
        (tools / name).write_text(f'#!/bin/sh\n{script} "$@"\n')
        (tools / name).chmod(0o755)
    return {"PATH": f"{tools}", "XDG_CACHE_HOME": str(folder / "cache")}


def test_the_list_of_environments_keeps_its_contract(toll: Toll, tmp_path: Path) -> None:
    # A PATH with one compiler: what each finds here is tested in tests/python/catalog.
    few = few_compilers(tmp_path)
    found = json.loads(toll("env", "list", "--json", **few).stdout)
    jsonschema.validate(found, json.loads((ROOT / "schemas/env.schema.json").read_text()))
    assert [row["name"] for row in found][: len(environments.names())] == list(environments.names())
    assert found[0]["available"]
    compiled = {row["name"]: row for row in found[len(environments.names()) :]}
    assert compiled["gcc-60"]["standard_library"]
    assert compiled["gcc-60-O3-native"]["flags"] == "-O3 -march=native"
    assert not compiled["gcc-61"]["available"]
    assert {row["name"] for row in found if row["preload"]} == {item.name for item in PRELOADED}
    text = toll("env", "list", **few).stdout
    assert all(name in text for name in [*environments.names(), "gcc-60", "- gcc-61"])
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


def pretended(
    workloads: Sequence[Workload], environment: Environment, **_options: object
) -> tuple[Program, ...]:
    """A build that leaves a program for each contender."""
    return tuple(
        Program(workload.name, contender.name, environment.name, ("/x",))
        for workload in workloads
        for contender in workload.contenders
    )


def test_a_missing_allocator_is_a_row_that_says_what_brings_it(monkeypatch):
    monkeypatch.setattr(packages, "_linker_cache", lambda: ())
    monkeypatch.setattr(packages, "_library_folders", lambda: ())
    asked = Selection.parse(["tasks/skynet/std_thread"], (), ["host,tcmalloc"])
    plan = make(suites.load(ROOT), asked, environments.OFFERED, PROFILES["quick"], 2)
    monkeypatch.setattr(building, "programs", pretended)
    host, missing = builds.build_plan(plan).programs
    assert (host.status, host.command) == ("ok", ("/x",))
    assert (missing.environment, missing.status, missing.command) == ("tcmalloc", "skipped", ())
    assert "libtcmalloc_minimal.so.4 not found; next: " in missing.reason
    assert "apt-get install -y libtcmalloc-minimal4" in missing.reason


def test_each_folder_is_built_once_with_what_its_own_cases_ask_for(monkeypatch, capsys):
    folders: list[tuple[str, str, list[str]]] = []

    def build(workloads, environment, *, build_dir, **_options):
        made = pretended(workloads, environment)
        folders.append((environment.name, build_dir.name, [program.contender for program in made]))
        return made

    monkeypatch.setattr(building, "programs", build)
    monkeypatch.setattr(environments, "located", lambda environment: environment)
    asked = Selection.parse(
        ["tasks/skynet/std_thread", "tasks/skynet/go_goroutines"],
        (),
        ["host,tcmalloc,gcc-60,gcc-60-O2,gcc-60-O3"],
    )
    plan = make(suites.load(ROOT), asked, environments.OFFERED, PROFILES["quick"], 2)
    built = builds.build_plan(plan)
    assert folders == [
        ("host", "host", ["std_thread", "go_goroutines"]),
        ("gcc-60", "gcc-60", ["std_thread"]),  # other languages have nothing to do with a C++ compiler
        ("gcc-60-O3", "gcc-60-O3", ["std_thread"]),
    ]
    rows = [(program.environment, program.contender) for program in built.programs]
    assert [name for name, contender in rows if contender == "std_thread"] == [
        "host", "tcmalloc", "gcc-60", "gcc-60-O2", "gcc-60-O3",
    ]  # fmt: skip
    assert built.folder.name == "host"


def test_a_fresh_machine_is_told_what_its_build_lacks(monkeypatch):
    """`toll trust` as the first command ended with CMake's words and a hint at another compiler's folder."""

    def refuse(*_arguments, **_options):
        raise TollError("CMake could not configure the build: no json", "read the log")

    monkeypatch.setattr(building, "programs", refuse)
    asked = Selection.parse(["tasks/skynet/std_thread"])
    plan = make(suites.load(ROOT), asked, environments.OFFERED, PROFILES["quick"], 2)
    monkeypatch.setattr(packages, "missing", lambda _needs: (packages.table()["json"],))
    with pytest.raises(TollError) as raised:
        builds.build_plan(plan)
    assert raised.value.what.startswith("missing on this machine: json (")
    assert raised.value.next_step.endswith("toll setup json")
    monkeypatch.setattr(packages, "missing", lambda _needs: ())
    with pytest.raises(TollError, match="no json"):
        builds.build_plan(plan)


def test_an_environment_that_cannot_be_configured_is_rows_and_the_host_is_an_error(monkeypatch, capsys):
    def refuse(workloads, environment, **_options):
        if environment.name == "gcc-60":
            raise TollError("CMake could not configure the build: no such luck", "read the log")
        return pretended(workloads, environment)

    monkeypatch.setattr(building, "programs", refuse)
    monkeypatch.setattr(environments, "located", lambda environment: environment)
    catalogue = suites.load(ROOT)
    asked = Selection.parse(["tasks/skynet/std_thread"], (), ["gcc-60,gcc-61"])
    built = builds.build_plan(make(catalogue, asked, environments.OFFERED, PROFILES["quick"], 2))
    failed, fine = built.programs
    assert (failed.environment, failed.status, failed.command) == ("gcc-60", "build_failed", ())
    assert failed.reason == "CMake could not configure the build: no such luck; next: read the log"
    assert (fine.environment, fine.status) == ("gcc-61", "ok")
    assert "gcc-60" in capsys.readouterr().err

    monkeypatch.setattr(building, "programs", lambda *_a, **_o: refuse((), environments.named("gcc-60")))
    asked = Selection.parse(["tasks/skynet/std_thread"])
    with pytest.raises(TollError, match="no such luck"):
        builds.build_plan(make(catalogue, asked, environments.OFFERED, PROFILES["quick"], 2))


@pytest.fixture(scope="module")
def checkout_here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("environments") / "toll")


@pytest.fixture(scope="module")
def measured(checkout_here: Path) -> subprocess.CompletedProcess[str]:
    """One contender that allocates, everywhere it can run here.

    Without threads: how often std::async's tree of 111 tasks asks for memory depends on how many stacks glibc
    can use again, which is how many threads end before others start (3.98 to 4.40 calls a task in one run).
    """
    names = ",".join(["host", *(item.name for item in WITH_MALLOC)])
    done = toll_in(checkout_here)(
        "run", "reference/operations/new_delete", "--env", names,
        "--budget", "10s", "--output", "all", "--wait", "--no-html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not WITH_MALLOC, reason="no allocator to preload: toll env list names the packages")
class TestOneProgramUnderSeveralAllocators:
    def test_each_launch_proves_its_allocator(self, measured, checkout_here):
        with toll.open(checkout_here / "runs/all.toll") as run:
            expected = {item.name: item.malloc for item in WITH_MALLOC} | {"host": "glibc"}
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
            item.name: item.allocator for item in WITH_MALLOC
        }
        assert stored["host"].allocator.endswith("malloc")

    def test_rows_stand_side_by_side_with_their_ratio(self, measured, checkout_here):
        told = toll_in(checkout_here)("report", "all", "--format", "json").stdout
        (workload,) = json.loads(told)["workloads"]
        rows = {row["environment"]: row for row in workload["rows"]}
        assert set(rows) == {"host", *(item.name for item in WITH_MALLOC)}
        assert all(row["ratio"] is not None for row in rows.values())
        assert sum(row["fastest"] for row in rows.values()) == 1
        # One call an operation, whoever serves it.
        assert {row["memory"]["calls"] for row in rows.values()} == {1}, rows

    def test_the_run_can_be_interleaved_because_it_is_one(self, measured, checkout_here):
        with toll.open(checkout_here / "runs/all.toll") as run:
            names: dict[int | None, str] = {case.id: case.environment for case in run.file.cases()}
            first_round = [
                names[launch.case_id]
                for launch in run.file.all_launches()
                if launch.purpose is Purpose.MEASURE and launch.round == 1
            ]
        assert sorted(first_round) == sorted(names.values())
