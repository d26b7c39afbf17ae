"""Which cases a reason holds for, in words that say neither more nor less."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import sample_results as samples
from hypothesis import given
from hypothesis import strategies as st

from tollbench.analysis.results import Row
from tollbench.report.problems import troubles, troubles_in, where


def row(environment: str = "host", status: str = "skipped", reason: str = "", **parameters: Any) -> Row:
    return samples.broken_row("a", status, reason, environment=environment, parameters=parameters)


GRID = [row(threads=threads, mode=mode) for threads in (1, 2, 4) for mode in ("hot", "parked")]


@pytest.mark.parametrize(
    ("held", "own", "words"),
    [
        ([0], [0], ""),
        (range(6), range(6), "all 6 cases"),
        ([0, 1], range(6), "threads=1; mode=hot, parked"),
        ([0, 2, 4], range(6), "threads=1, 2, 4; mode=hot"),
        ([3], range(6), "threads=2; mode=parked"),
        ([0, 3], range(6), "threads=1, mode=hot or threads=2, mode=parked"),
        ([2], [0, 2, 4], "threads=2"),  # one mode alone: it tells nothing apart
        ([0, 1, 2, 4, 5], range(6), "threads=1, mode=hot or threads=1, mode=parked or threads=2, mode=hot"
                                    " or threads=4, mode=hot or 1 more"),
    ],
)  # fmt: skip
def test_cases_are_named_by_what_tells_them_from_the_contenders_others(held, own, words):
    assert where([GRID[at] for at in held], [GRID[at] for at in own]) == words


def test_environments_and_missing_parameters_tell_cases_apart_too():
    own = [row(), row("clang-19"), row("clang-19", threads=2)]
    assert where([own[1]], own) == "clang-19; threads=none"
    assert where([own[0], own[2]], own) == "host, threads=none or clang-19, threads=2"


def test_of_many_values_the_first_are_named():
    own = [row(size=size) for size in range(20)]
    assert where(own[:10], own) == "size=0, 1, 2, 3, 4 and 5 more"
    assert where(own[:6], own) == "size=0, 1, 2, 3, 4, 5"


@given(st.sets(st.integers(0, 5), min_size=1, max_size=5))
def test_two_different_sets_of_cases_are_never_called_alike(held):
    said = where([GRID[at] for at in sorted(held)], GRID)
    for size in range(1, 5):
        for other in itertools.combinations(range(6), size):
            if set(other) != held and len(held) <= 4:
                assert where([GRID[at] for at in other], GRID) != said


def test_reasons_keep_the_order_of_their_first_case_and_stay_apart_by_status():
    rows = [
        row(reason="x", size=1),
        row(reason="y", size=2),
        row(reason="x", size=3),
        row(status="failed", reason="x"),
    ]
    workload = samples.nothing().model_copy(update={"rows": rows})
    found = troubles_in(workload)
    assert [(one.status, one.reason, [each.where for each in one.affected]) for one in found] == [
        ("skipped", "x", ["size=1, 3"]), ("skipped", "y", ["size=2"]), ("failed", "x", ["size=none"]),
    ]  # fmt: skip
    assert troubles(samples.make_results([workload])) == found
    assert found[0].affected[0].name == "a (size=1, 3)"


def test_a_problem_of_a_workload_without_a_table_is_told_all_the_same():
    results = samples.make_results([], problems=samples.problems([samples.nothing()]))
    assert [(one.reason, one.affected[0].name) for one in troubles(results)][1] == (
        "not measured yet",
        "uring",
    )
