"""Published ratios and details: numbers that are no times."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_runs import Made, make_run, published

from tollbench.analysis import results
from tollbench.analysis.results import PublishedValue
from tollbench.store import RunFile
from tollbench.words import DeclaredDetail


def beside(folder: Path, cases: list[Made], contender: str) -> PublishedValue:
    """What a run of `cases` puts beside a published ratio of `contender`, in a unit that nobody knows."""
    value = published("then", contender=contender, statistic="ratio", unit="times the fastest", per="pass")
    file = make_run(folder / "run.toll", cases, published=[value])
    with RunFile.open(file) as run:
        return results(run).workloads[0].published[0]


def test_a_published_ratio_stands_beside_the_ratio_of_today(tmp_path: Path) -> None:
    cases = [Made("a", [10.0] * 6), Made("b", [25.0] * 6)]
    found = beside(tmp_path, cases, "b")
    assert found.today is not None
    assert found.today.value == pytest.approx(2.5)
    assert found.today.low == pytest.approx(2.5)  # every launch says the same
    assert found.today.high == pytest.approx(2.5)


def test_the_fastest_of_today_has_the_ratio_one(tmp_path: Path) -> None:
    found = beside(tmp_path, [Made("a", [10.0] * 6), Made("b", [25.0] * 6)], "a")
    assert found.today is not None
    assert found.today.value == 1


def test_a_contender_that_was_not_measured_has_no_ratio(tmp_path: Path) -> None:
    assert beside(tmp_path, [Made("a", [10.0] * 6)], "nobody").today is None


def test_a_published_detail_stands_beside_the_detail_of_today(tmp_path: Path) -> None:
    calls = DeclaredDetail("container_calls", "allocations", "calls", "calls of the allocator in one pass")
    value = published(
        "then", contender="a", statistic="container_calls", unit="calls", per="pass", low=6.0, high=6.0
    )
    cases = [Made("a", [10.0] * 6, details=[{"container_calls": 5.0}] * 6), Made("b", [25.0] * 6)]
    with RunFile.open(make_run(tmp_path / "run.toll", cases, published=[value], details=[calls])) as run:
        found = results(run).workloads[0].published[0]
    assert found.today is not None
    assert (found.low, found.today.value) == (6, 5)
