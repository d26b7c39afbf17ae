"""What `toll run` does before and after measuring: nothing is disturbed, nothing is lost."""

from __future__ import annotations

import random
import sqlite3
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))
import sample_results as samples

import tollbench.cli
from tollbench import building
from tollbench.analysis.results import Results
from tollbench.catalog import suites
from tollbench.cli import console, machine_use, measuring, report
from tollbench.cli.asking import Wishes
from tollbench.cli.measuring import Session
from tollbench.cli.places import ROOT
from tollbench.errors import TollError
from tollbench.launching.machine_lock import machine_lock
from tollbench.measure import Interrupt, SystemClock
from tollbench.measure.events import Expected, LaunchDone, TimePlanned
from tollbench.plan import Selection
from tollbench.report import one_screen
from tollbench.store import RunFile
from tollbench.words import Program, Status

WISHES = Wishes("quick", 5.0, None, 1)


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "toll.lock"
    monkeypatch.setattr(machine_use, "LOCK_FILES", (path,))
    return path


def session(path: Path) -> Session:
    name = next(f"{w.name}/{c.name}" for w in suites.load(ROOT) for c in w.contenders)
    return measuring.planned(Selection.parse([name]), WISHES, str(path))


def test_a_second_run_is_refused_before_its_build_disturbs_the_first(tmp_path, lock) -> None:
    with (
        machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]),
        session(tmp_path / "second.toll") as second,
        pytest.raises(TollError, match="Another run is measuring"),
    ):
        second.take_machine(wait=False)
    with session(tmp_path / "third.toll") as third:
        third.take_machine(wait=False)  # free again


def test_the_machine_is_held_until_the_session_ends(tmp_path, lock) -> None:
    with session(tmp_path / "first.toll") as first:
        first.take_machine(wait=False)
        with session(tmp_path / "second.toll") as second, pytest.raises(TollError):
            second.take_machine(wait=False)
    with session(tmp_path / "third.toll") as third:
        third.take_machine(wait=False)


def test_the_verb_takes_the_machine_before_it_builds(tmp_path, lock, monkeypatch, capsys) -> None:
    import tollbench.cli

    monkeypatch.setattr(building, "programs", lambda *_, **__: pytest.fail("it built beside another run"))
    monkeypatch.setattr("sys.argv", ["toll", "run", "--no-install", "-o", str(tmp_path / "second.toll")])
    with machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]):
        assert tollbench.cli.main() == 2
    assert "Another run is measuring" in capsys.readouterr().err
    assert not (tmp_path / "second.toll").exists()


def test_a_machine_without_a_place_for_locks_is_warned_of(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(machine_use, "LOCK_FILES", (tmp_path / "absent/toll.lock",))
    with session(tmp_path / "first.toll") as first:
        first.take_machine(wait=False)
    assert "warning: no lock file can be used here" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["goes on", "completes"])
def test_a_resume_that_waited_reads_its_file_again(tmp_path, lock, monkeypatch, other) -> None:
    """The run that held the machine was of the same file."""
    path = tmp_path / "shared.toll"
    with session(path) as first, RunFile.create(path, first._header()) as run_file:
        planned = [(case, Status.PLANNED, "", "") for case in first.plan.cases]
        run_file.add_plan(first.plan.workloads, first.plan.environments, planned)
    holder = ExitStack()
    holder.enter_context(machine_lock(SystemClock(), interrupt=Interrupt(), files=[lock]))

    def meanwhile(*_: object) -> None:
        change = "seed = 99" if other == "goes on" else "finished_utc = '2026-01-01T00:00:00.000+00:00'"
        with sqlite3.connect(path) as connection:
            connection.execute(f"UPDATE run SET {change}, plan = json_set(plan, '$.settings.batches', 77)")
        connection.close()
        holder.close()

    with measuring.resumed(str(path)) as second:
        assert second.plan.settings.batches != 77
        monkeypatch.setattr(machine_use, "_say_waiting", meanwhile)
        if other == "completes":
            with pytest.raises(TollError, match="is complete"):
                second.take_machine(wait=True)
        else:
            second.take_machine(wait=True)
            assert second.plan.settings.batches == 77


def test_a_name_that_is_taken_is_refused_before_anything_is_built(tmp_path) -> None:
    (tmp_path / "first.toll").write_text("precious")
    with pytest.raises(TollError, match="exists already"):
        session(tmp_path / "first.toll")
    assert (tmp_path / "first.toll").read_text() == "precious"


def test_who_is_interrupted_after_measuring_is_told_where_all_of_it_is(tmp_path, monkeypatch) -> None:
    def interrupted(_: Path) -> Results:
        raise KeyboardInterrupt("SIGTERM")

    monkeypatch.setattr(report, "analyse", interrupted)
    path = tmp_path / "a run.toll"
    with session(path) as ended, pytest.raises(TollError) as told:
        ended.show(html=True, form="screen")
    assert str(told.value.what) == "interrupted by SIGTERM; all that was measured is kept"
    assert told.value.next_step == f"./toll report '{path}'"
    assert told.value.code == 130


@pytest.mark.parametrize(("stopped_by", "verb"), [("budget", "report"), ("interrupt", "run --resume")])
def test_so_is_who_interrupts_while_the_file_is_closed(tmp_path, monkeypatch, stopped_by, verb) -> None:
    def interrupted(self: RunFile) -> None:
        self._connection.close()
        raise KeyboardInterrupt("SIGTERM")

    monkeypatch.setattr(RunFile, "close", interrupted)
    monkeypatch.setattr(Session, "_launch", lambda *_: stopped_by)
    path = tmp_path / "a.toll"
    with session(path) as ended, pytest.raises(TollError) as told:
        ended.measure()
    assert str(told.value.what) == "interrupted by SIGTERM; all that was measured is kept"
    assert told.value.next_step == f"./toll {verb} {path}"
    assert told.value.code == 130


def test_a_disk_that_is_full_to_the_end_is_told_once(tmp_path, monkeypatch) -> None:
    """Closing the file fails too then; the message about the launch, with what is saved, must survive it."""

    def refuse(self: RunFile) -> None:
        self._connection.close()
        raise TollError("Could not save the last part of the write-ahead log", "")

    def launch(*_: object) -> str:
        raise TollError("Could not save the last launch: 7 launches are saved", "Make room")

    monkeypatch.setattr(RunFile, "close", refuse)
    monkeypatch.setattr(Session, "_launch", launch)
    with (
        pytest.raises(TollError, match="7 launches are saved"),
        session(tmp_path / "full.toll") as full,
    ):
        full.measure()


QUICK_S, BUILD_S = 165, 150
MISSING = 7  # contenders that this machine has no library for


def many_words() -> Results:
    """A quick run with all that may stand on its screen: published values, claims, failures, warnings."""
    quick = samples.quick_results()
    with_published = samples.skynet_published()
    workloads = [one.model_copy(update={"published": with_published}) for one in quick.workloads]
    failed = samples.skynet(random.Random(3)).model_copy(update={"workload": workloads[0].workload})
    rows = [row for row in failed.rows if row.status != "wrong_answer"]  # that would be exit code 1
    failed = failed.model_copy(update={"rows": rows})
    warnings = [f"{one.workload}: ratios are wide, `./toll run {one.workload}` helps." for one in workloads]
    return quick.model_copy(
        update={
            "workloads": [failed, *workloads[1:]],
            "warnings": warnings,
            "problems": samples.friendly_results().problems,
        }
    )


def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of `BUILD_S` and a measurement of `QUICK_S`, of everything, on a clock that does not wait."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def build(chosen, environment, on_progress, **_):
        for second in range(BUILD_S):
            now[0] += 1.0
            on_progress(second, BUILD_S, "skynet")
        built = [(w.name, c.name) for w in chosen for c in w.contenders]
        return tuple(
            Program(*names, environment.name, ("true",), *((Status.SKIPPED, "not found") if bad else ()))
            for at, names in enumerate(built)
            for bad in [at < MISSING]
        )

    def launch(self: Session, _run_file: RunFile, bar: console.Progress) -> str:
        names = list(dict.fromkeys(case.workload for case in self.plan.cases))
        assert len(names) == 15
        expected = tuple(Expected(name, 30, 0.01 * at) for at, name in enumerate(names))
        self._tell(bar, TimePlanned(expected, 120.0, 0, None))
        for second in range(QUICK_S):
            now[0] += 1.0
            for case in self.plan.cases[:10]:
                done = LaunchDone(case, None, second, second, QUICK_S - second, 0.02)  # type: ignore[arg-type]
                self._tell(bar, done)
            if second == 80:
                self._tell(bar, TimePlanned(expected, 165.0 - second, 14, 900.0))
        return "budget"

    monkeypatch.setattr(building, "programs", build)
    monkeypatch.setattr(building, "described", lambda _, environment: environment)
    monkeypatch.setattr(measuring, "_system_packages", lambda *_, **__: None)
    monkeypatch.setattr(Session, "_launch", launch)
    results = many_words()
    monkeypatch.setattr(report, "analyse", lambda _: results)


def test_a_quick_run_of_everything_says_sixty_lines_at_most_in_all(
    tmp_path, lock, monkeypatch, capsys
) -> None:
    """What is said while building and measuring, and the screen at the end, as a pipe has them."""
    pretend(monkeypatch)
    monkeypatch.setattr(console, "_said_lines", 0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["toll", "run", "--no-install"])
    assert tollbench.cli.main() == 0
    told = capsys.readouterr()
    said, shown = told.err.splitlines(), told.out.splitlines()
    assert console.said_lines() == len(said)
    assert sum(line.startswith(("building", "measuring ")) and " s left" in line for line in said) == 6
    assert len(said) + len(shown) <= one_screen.LINES == 59, "\n".join([*said, *shown])
    answered = [line for line in shown if line.startswith(("containers/", "frameworks/", "latency/"))]
    assert len(answered) == 15
    assert "65 published claims: 13 hold here" in told.out
    assert "toll report" in shown[-1]
