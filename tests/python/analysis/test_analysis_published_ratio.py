"""Published ratios and details: numbers that are no times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_runs import Made, make_run, published

from tollbench.analysis import results
from tollbench.analysis.results import PublishedValue
from tollbench.store import RunFile
from tollbench.words import DeclaredDetail, Published


def beside(folder: Path, cases: list[Made], *values: Published) -> list[PublishedValue]:
    """What a run of `cases` puts beside published values."""
    file = make_run(folder / "run.toll", cases, published=list(values))
    with RunFile.open(file) as run:
        return results(run).workloads[0].published


def ratio(contender: str, times: float, label: str = "then", **changes: object) -> Published:
    """A published ratio, in a unit that nobody knows."""
    fields: dict[str, Any] = {
        "statistic": "ratio",
        "unit": "times the fastest",
        "low": times,
        "high": times,
    }
    return published(label, contender=contender, per="pass", **fields | changes)


def shown(found: PublishedValue) -> tuple[float, float | None, float | None] | None:
    today = found.today
    return None if today is None else (today.value, today.low, today.high)


def about(value: float) -> tuple[object, ...]:
    return tuple(pytest.approx(value) for _ in range(3))


def test_ratios_of_a_table_are_to_the_row_that_was_the_fastest_then_whatever_its_setting(
    tmp_path: Path,
) -> None:
    cases = [
        Made("a", [20.0] * 12, parameters={"group": 100}),
        Made("b", [10.0] * 12, parameters={"group": 100}),
        Made("a", [40.0] * 12, parameters={"group": 500}),
        Made("b", [30.0] * 12, parameters={"group": 500}),
    ]
    found = beside(
        tmp_path,
        cases,
        ratio("a", 1.0, "group=100"),
        ratio("b", 1.45, "group=100"),
        ratio("a", 1.28, "group=500"),
        ratio("b", 1.65, "group=500"),
    )
    assert [shown(one) for one in found] == [about(1), about(0.5), about(2), about(1.5)]


def test_where_the_fastest_of_then_was_not_measured_the_next_one_gives_the_scale(tmp_path: Path) -> None:
    cases = [Made("b", [10.0] * 6), Made("c", [30.0] * 6)]
    found = beside(tmp_path, cases, ratio("a", 1.0), ratio("b", 1.5), ratio("c", 4.0))
    assert [shown(one) for one in found] == [None, about(1.5), about(4.5)]


def test_tables_are_told_apart_by_source_and_unit(tmp_path: Path) -> None:
    cases = [Made("a", [10.0] * 6), Made("b", [20.0] * 6), Made("c", [60.0] * 6), Made("d", [30.0] * 6)]
    boost = "times the fastest of Boost's"
    found = beside(
        tmp_path,
        cases,
        ratio("a", 1.0),
        ratio("b", 3.0),
        ratio("c", 2.0, unit=boost),
        ratio("d", 1.0, unit=boost),
    )
    assert [shown(one) for one in found] == [about(1), about(2), about(2), about(1)]


def test_a_row_that_is_alone_in_its_table_has_no_ratio(tmp_path: Path) -> None:
    found = beside(
        tmp_path, [Made("a", [10.0] * 6), Made("b", [20.0] * 6)], ratio("a", 2.0), ratio("nobody", 1.0)
    )
    assert [shown(one) for one in found] == [None, None]


def test_several_values_may_stand_beside_one_row(tmp_path: Path) -> None:
    cases = [Made("a", [10.0] * 6), Made("b", [20.0] * 6)]
    found = beside(tmp_path, cases, ratio("a", 8.2, "old compiler"), ratio("a", 1.0), ratio("b", 3.0))
    assert [shown(one) for one in found] == [about(1), about(1), about(2)]


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


def test_a_published_cpu_time_stands_beside_the_cpu_time_of_today(tmp_path: Path) -> None:
    value = published("CPU", contender="a", statistic="cpu_time", unit="us", low=0.02, high=0.02)
    (found,) = beside(tmp_path, [Made("a", [10.0] * 6)], value)
    with RunFile.open(tmp_path / "run.toll") as run:
        (row,) = results(run).workloads[0].rows
    assert row.cpu_time is not None
    assert row.cpu_time != row.value
    assert found.today is not None
    assert found.today.value == pytest.approx(row.cpu_time / 1000)


@pytest.mark.parametrize(
    ("label", "threads"),
    [
        ("Go 1.6.1 (GOMAXPROCS 8)", 8),
        ("Haskell, stack-1.0.4", 4),
        ("BM_cachecalc/8, CPU 1.32", 8),
        ("fiber (4C/8T, work sharing)", 8),
        ("VS2013/x32", 4),
        ("99th percentile of 1", 1),
        ("8 threads, then 32", 4),
        ("8, 16 and 24", 8),
        ("32.", 32),
        ("1,000 iterations", 4),
    ],
)
def test_which_row_a_label_means_is_told_by_numbers_that_stand_alone(tmp_path, label, threads) -> None:
    """The plan's first row, of 4 threads, is the one that is meant where nothing else is said."""
    cases = [Made("a", [float(n)] * 5, parameters={"threads": n}) for n in (4, 1, 8, 32)]
    (found,) = beside(tmp_path, cases, published(label, contender="a"))
    assert found.parameters == {"threads": threads}
