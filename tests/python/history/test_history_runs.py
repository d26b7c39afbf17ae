"""Runs of `toll run` laid beside each other in order of time."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import NormalDist
from typing import Any

import jsonschema
import numpy as np
import pytest
from made_histories import MACHINE
from made_runs import Made, make_run
from page_data import data_of
from test_history_reading import SCHEMA

from tollbench import cli
from tollbench.analysis.several import in_time
from tollbench.estimates import Estimate
from tollbench.history import run_history
from tollbench.history.histories import Histories
from tollbench.history.run_history import read_runs
from tollbench.report.histories import history_lines, history_terminal
from tollbench.store import RunFile

NIGHTS = 16
CHANGED = "night-08"


def night(
    folder: Path,
    number: int,
    values: Mapping[str, float],
    machine: Mapping[str, Any] = MACHINE,
    *,
    launches: int = 12,
    **changes: str,
) -> Path:
    """One run: rows whose launches scatter by 1 %, and a machine that is slower by up to 10 % that night."""
    rng = np.random.default_rng(number)
    of_night = float(rng.uniform(1.0, 1.1))
    cases = [
        Made(name, list(of_night * value * np.exp(rng.normal(0.0, 0.01, launches))))
        for name, value in values.items()
    ]
    header: dict[str, Any] = {
        "name": f"night-{number:02}",
        "machine": machine,
        "uuid": f"0000{number:04}-0000-4000-8000-000000000000",
        "toll_version": f"1.{number}",
        "started_utc": f"2026-03-{number + 1:02}T01:00:00.000+00:00",
    }
    return make_run(folder / f"night-{number:02}.toll", cases, **(header | changes))


def told_of(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["toll", "history", "--runs", *words])
    return cli.main()


def test_a_row_that_became_slower_is_told_with_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the ninth night on, by 6 %: in the ratio, which nights do not move as they move times."""
    paths = [
        night(tmp_path, number, {"a": 10.0, "b": 20.0 * (1.06 if number >= 8 else 1.0)})
        for number in range(NIGHTS)
    ]
    page = tmp_path / "page.html"
    words = [*map(str, reversed(paths)), "--filter", " / "]
    assert told_of([*words, "--json", "--html", str(page)], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert [one["commit"] for one in found["commits"]] == [path.stem for path in paths], "by their dates"
    (change,) = found["changes"]
    assert (change["benchmark"], change["commit"]) == ("tasks/made: b / a", CHANGED)
    assert change["low"] < 1.06 < change["high"]
    (line,) = found["lines"]
    assert line["ratio"][0] == pytest.approx(2.0, rel=0.02)
    assert line["ratio"][-1] == pytest.approx(2.12, rel=0.02)
    text = page.read_text()
    assert "over 16 runs" in text
    assert CHANGED in text
    assert data_of(text)["noun"] == "run"
    told = "\n".join(history_terminal.lines(Histories.model_validate(found)))
    assert f"{CHANGED}: toll 1.8, a processor\n  tasks/made: b / a is slower by " in told
    assert "runs scatter by" in told
    assert "commit" not in told


@pytest.mark.parametrize("nights", [2, 3])
def test_what_two_runs_scatter_by_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nights: int
) -> None:
    """It was told as 0.01 %, which is the least that is ever taken."""
    paths = [night(tmp_path, number, {"a": 10.0, "b": 20.0}) for number in range(nights)]
    page = tmp_path / "page.html"
    words = [*map(str, paths), "--filter", " / "]
    assert told_of([*words, "--json", "--html", str(page)], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    (line,) = found["lines"]
    assert (line["scatter"] is None) == (nights == 2)
    told = "\n".join(history_terminal.lines(Histories.model_validate(found)))
    assert ("runs scatter by" in told) == (nights == 3)
    assert "None" not in told + page.read_text()
    line = Histories.model_validate(found).lines[0]
    assert history_lines.scatter(line.model_copy(update={"scatter": 1e-4})) == "less than is seen"
    assert history_lines.scatter(line.model_copy(update={"scatter": 0.012})) == "1.2 %"
    assert history_lines.now(line.model_copy(update={"ratio": (1.0,) * nights})) == "0 %"


def test_times_stand_beside_those_of_one_machine_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other half of the nights is another machine's, on which all takes twice as long."""
    other = {**MACHINE, "cpu": "another one"}
    paths = [
        night(
            tmp_path,
            number,
            {"a": 10.0 * (1 + number % 2), "b": 20.0 * (1 + number % 2)},
            other if number % 2 else MACHINE,
        )
        for number in range(6)
    ]
    assert told_of([*map(str, paths), "--json"], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    assert found["changes"] == []
    (only,) = found["breaks"]
    assert (only["place"], only["reason"]) == (0, "another machine or compiler: cpu")
    lines = {line["benchmark"]: line for line in found["lines"]}
    assert list(lines) == ["tasks/made: a, time", "tasks/made: b / a", "tasks/made: b, time"]
    time = lines["tasks/made: b, time"]
    assert (time["place"], time["part"]) == ([0, 2, 4, 1, 3, 5], [0, 0, 0, 1, 1, 1])
    assert all(0.85 < ratio < 1.15 for ratio in time["ratio"]), "each against the first on its machine"
    assert (time["latest"], time["ratio"][3]) == (1, 1.0)
    assert time["reference_ns"] == pytest.approx(40.0, rel=0.12)
    assert "changes are looked for from 8 runs on one machine on, and there are 3 runs" in found["notes"]


def told_by(
    paths: Sequence[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    assert told_of([*map(str, paths), "--json"], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    return found


def test_a_new_kernel_ends_lines_of_times_and_not_of_ratios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the ninth night on all takes half as long again: that is the kernel's, not the rows'."""
    paths = [
        night(
            tmp_path,
            number,
            {"a": 10.0 * (1.5 if number > 8 else 1.0), "b": 20.0 * (1.5 if number > 8 else 1.0)},
            {**MACHINE, "kernel": "Linux 6.8" if number > 8 else "Linux 6.1", "mitigations": {"x": "Off"}},
        )
        for number in range(18)
    ]
    found = told_by(paths, capsys, monkeypatch)
    assert found["changes"] == []
    (only,) = found["breaks"]
    assert (only["place"], only["of"], only["reason"]) == (8, "times", "another machine for times: kernel")
    parts = {line["benchmark"]: set(line["part"]) for line in found["lines"]}
    assert parts["tasks/made: b / a"] == {0}
    assert parts["tasks/made: b, time"] == {0, 1}
    told = "\n".join(history_terminal.lines(Histories.model_validate(found)))
    assert "its times are compared with each other alone, ratios with those of the runs before" in told
    assert "to the first run on its machine, runs scatter by" in told
    assert "to the reference, runs scatter by" in told


def test_a_machine_is_known_by_all_that_its_runs_stated(tmp_path: Path) -> None:
    """A run in a container states no microcode, and one of an older toll no memory."""
    told: list[dict[str, Any]] = [
        {"kernel": "6.1", "microcode": "0x1"},
        {
            "kernel": "6.1",
            "memory_bytes": 2**33,
            "product": "box",
            "frequency_mhz": {"min": None, "max": None},
        },
        {"kernel": "6.1", "microcode": "0x2"},
        {"kernel": "6.1", "microcode": "0x2", "frequency_mhz": {"min": 400.0, "max": 5000.0}},
        {},
        {"microcode": "0x1"},
    ]
    paths = [night(tmp_path, number, {"a": 10.0}, {**MACHINE, **each}) for number, each in enumerate(told)]
    with ExitStack() as stack:
        results, rows = in_time([stack.enter_context(RunFile.open(path)) for path in paths], 0.95)
    found = read_runs(results, rows, threshold=0.01)
    assert [(one.place, one.reason, one.of) for one in found.breaks] == [
        (1, "another machine for times: microcode", "times")
    ]
    (line,) = found.lines
    assert dict(zip(line.place, line.part, strict=True)) == {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 0}


def test_what_a_machine_does_not_have_is_the_same_on_it_each_night(tmp_path: Path) -> None:
    """On bare metal nothing virtualizes, which is stated as an empty text."""
    bare = {**MACHINE, "virtualization": "", "libc": None, "product": ""}
    paths = [night(tmp_path, number, {"a": 10.0, "b": 20.0}, bare) for number in range(4)]
    with ExitStack() as stack:
        results, rows = in_time([stack.enter_context(RunFile.open(path)) for path in paths], 0.95)
    found = read_runs(results, rows, threshold=0.01)
    assert found.breaks == ()
    assert {line.part for line in found.lines} == {(0, 0, 0, 0)}


def test_equal_hosts_of_a_fleet_are_two_machines(tmp_path: Path) -> None:
    paths = [night(tmp_path, number, {"a": 10.0, "b": 20.0}) for number in range(4)]
    with ExitStack() as stack:
        results, rows = in_time([stack.enter_context(RunFile.open(path)) for path in paths], 0.95)
    found = read_runs(results, rows, threshold=0.01, hosts=["one", "two", "one", "two"])
    assert [(one.place, one.reason, one.of) for one in found.breaks] == [
        (0, "another machine or compiler: host", "all")
    ]
    assert {line.part for line in found.lines} == {(0, 0, 1, 1)}
    assert read_runs(results, rows, threshold=0.01).breaks == ()


def test_a_run_of_few_launches_has_no_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its own report shows none; the page draws no bar."""
    paths = [
        night(tmp_path, number, {"a": 10.0, "b": 20.0}, launches=3 if number else 12) for number in range(2)
    ]
    page = tmp_path / "page.html"
    assert told_of([*map(str, paths), "--html", str(page)], monkeypatch) == 0
    capsys.readouterr()
    found = told_by(paths, capsys, monkeypatch)
    for line in found["lines"]:
        assert [low is None for low in line["low"]] == [False, True], line["benchmark"]
        assert [high is None for high in line["high"]] == [False, True]
    (points, *_) = data_of(page.read_text())["lines"][0]["parts"]
    assert points[0][2] is not None
    assert points[1][2:4] == [None, None]


def test_a_copy_of_a_run_is_no_second_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four runs and their copies are not the eight that a change is looked for in."""
    paths = [night(tmp_path, number, {"a": 10.0}, uuid=f"{number:08}-0000") for number in range(4)]
    copies = [path.with_name(f"copy-of-{path.name}") for path in paths]
    for path, copy in zip(paths, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    assert told_of([*map(str, [*paths, *copies]), "--json"], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sessions"] == 4
    assert "copy-of-night-03.toll is the run of night-03.toll again, and left out" in found["notes"]
    assert told_of([str(paths[0]), str(copies[0])], monkeypatch) == 2
    assert "these files are of one run" in capsys.readouterr().err


def test_order_of_time_is_that_of_instants_and_not_of_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = ("2026-03-01T23:00:00+00:00", "2026-03-02T00:30:00+02:00", "2026-03-01T20:00:00-05:00")
    paths = [
        night(tmp_path, number, {"a": 10.0}, uuid=f"{number:08}-0000", started_utc=utc)
        for number, utc in enumerate(hours)
    ]
    assert told_of([*map(str, paths), "--json"], monkeypatch) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["commit"] for one in found["commits"]] == ["night-01", "night-00", "night-02"]


def test_more_runs_than_a_process_may_have_files_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [night(tmp_path, number, {"a": 10.0}, uuid=f"{number:08}-0000") for number in range(16)]
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    there = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (there + 12, before[1]))
    try:
        assert told_of([*map(str, paths), "--json"], monkeypatch) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert json.loads(capsys.readouterr().out)["sessions"] == 16


@pytest.mark.parametrize("level", [0.8, 0.999])
def test_a_standard_error_is_that_of_the_runs_own_level(level: float) -> None:
    half = 0.01 * NormalDist().inv_cdf(0.5 + level / 2)
    told = Estimate(value=1.0, low=math.exp(-half), high=math.exp(half))
    assert run_history._error(told, level) == pytest.approx(0.01)
    assert math.isnan(run_history._error(Estimate(value=1.0), level))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["night-00.toll"], "--runs needs two run files, and 1 was named"),
        ([], "--runs needs two run files, and 0 were named"),
        (["night-00.toll", "night-00.toll"], "--runs needs two run files, and 1 was named"),
        (["night-00.toll", "gone.toll"], "there is no run file gone.toll"),
        (["night-00.toll", "night-01.toll", "--build", "make"], "--build is of commits"),
        (["night-00.toll", "night-01.toll", "--threshold", "0"], "the threshold has a value"),
        (["night-00.toll", "night-01.toll", "--html", "night-00.toll"], "night-00.toll"),
    ],
)
def test_what_is_no_row_of_runs_is_a_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: str,
) -> None:
    for number in range(2):
        night(tmp_path, number, {"a": 10.0})
    before = (tmp_path / "night-00.toll").read_bytes()
    monkeypatch.chdir(tmp_path)
    assert told_of(words, monkeypatch) == 2
    assert told in capsys.readouterr().err
    assert (tmp_path / "night-00.toll").read_bytes() == before


def test_the_page_of_runs_has_no_word_of_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    paths = [night(tmp_path, number, {"a": 10.0, "b": 20.0}) for number in range(2)]
    assert told_of([*map(str, paths), "--html", str(page)], monkeypatch) == 0
    head, _, _ = page.read_text().partition('<script type="text/plain" id="data"')
    assert "commit" not in head.partition("<body>")[2]
