"""How cases are called: short where most rows agree, and never two rows of a workload alike."""

from __future__ import annotations

from typing import Any

import pytest
import sample_results as samples
from hypothesis import given
from hypothesis import strategies as st

from tollbench.analysis.results import Row, WorkloadResult
from tollbench.report import markdown
from tollbench.report.cases import Group, Naming


def workload_of(*rows: Row) -> WorkloadResult:
    return samples.nothing().model_copy(update={"rows": list(rows)})


def row(contender: str, environment: str = "host", **parameters: Any) -> Row:
    return samples.broken_row(contender, "planned", "", environment=environment, parameters=parameters)


def labels(workload: WorkloadResult) -> list[str]:
    return [Naming.of(workload).label(each) for each in workload.rows]


def test_what_most_rows_share_is_said_once():
    rows = [row(name, tasks=100, threads=2) for name in "abc"]
    workload = workload_of(*rows, row("d", tasks=100, threads=1), row("e", tasks=10, threads=2))
    assert labels(workload) == ["a", "b", "c", "d (threads=1)", "e (tasks=10)"]
    assert Naming.of(workload).common() == ["host", "tasks=100, threads=2 unless a row says otherwise"]
    assert "`host` · `tasks=100, threads=2 unless a row says otherwise`" in markdown.render(
        samples.make_results([workload])
    )


def test_rows_of_one_contender_that_differ_in_one_parameter_alone_both_show_it():
    workload = workload_of(*(row(name, threads=2) for name in "abc"), row("a", threads=1))
    assert labels(workload) == ["a (threads=2)", "b", "c", "a (threads=1)"]


def test_without_a_majority_every_row_shows_the_parameter():
    workload = workload_of(*(row(name, mode=mode) for name in "ab" for mode in ("hot", "parked")))
    assert labels(workload) == ["a (mode=hot)", "a (mode=parked)", "b (mode=hot)", "b (mode=parked)"]
    assert Naming.of(workload).common() == ["host"]


def test_host_goes_without_saying_and_other_environments_do_not():
    workload = workload_of(row("a"), row("a", "tcmalloc"), row("b", "clang-19"))
    assert labels(workload) == ["a", "a (tcmalloc)", "b (clang-19)"]
    assert Naming.of(workload).common() == ["host unless a row says otherwise"]
    assert Naming.of(workload_of(row("a", "clang-19"))).common() == ["clang-19"]


def test_a_row_without_the_usual_parameter_says_so():
    workload = workload_of(*(row(name, threads=2) for name in "abc"), row("d"))
    assert labels(workload)[-1] == "d (no threads)"


@pytest.mark.parametrize("workload", samples.friendly_results().workloads, ids=lambda each: each.workload)
def test_labels_of_the_sample_are_distinct(workload):
    assert len(set(labels(workload))) == len(workload.rows)


CASES = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(("host", "tcmalloc")),
    st.dictionaries(st.sampled_from(("tasks", "threads")), st.integers(0, 1), min_size=2),
)


def key(case: tuple[str, str, dict[str, int]]) -> str:
    return repr((case[0], case[1], sorted(case[2].items())))


@given(st.lists(CASES, min_size=4, unique_by=key))
def test_no_two_rows_of_a_workload_are_called_alike(cases):
    workload = workload_of(*(row(name, where, **parameters) for name, where, parameters in cases))
    told = labels(workload)
    assert len(set(told)) == len(told)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([["a"], ["a", "b"], ["b"]], ["a", "ab", "b"]),
        # Beyond z: without the space, who is in a and c reads like who is in ac.
        ([["a", "c"], ["a", "c", "ac"], ["ac"]], ["a c", "a c ac", "ac"]),
    ],
)
def test_groups_of_ties_are_told_apart(names, words):
    rows = [row(str(at)).model_copy(update={"tie_groups": own}) for at, own in enumerate(names)]
    assert Group("", tuple(rows)).tie_words == words
