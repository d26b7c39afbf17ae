"""Charts over a numeric parameter: which rows make a line, and which parameters a chart."""

from __future__ import annotations

import random
import re
from typing import Any

import sample_results as samples
from page_data import data_of

from tollbench.analysis.results import Memory, Row, WorkloadResult
from tollbench.report import html
from tollbench.report.cases import Naming
from tollbench.report.slopes import slopes


def row(name: str, value: float | None, environment: str = "host", **parameters: Any) -> Row:
    made = samples.make_row(random.Random(1), "", name, value or 1.0, 0.01)
    changes = {"parameters": parameters, "environment": environment}
    broken = {"value": None, "status": "failed"} if value is None else {}
    return made.model_copy(update=changes | broken)


def found(*rows: Row) -> dict[str, dict[str, list[tuple[int, float | None]]]]:
    workload = samples.nothing().model_copy(update={"rows": list(rows)})
    return {
        slope.parameter: {line.name: [(x, point.value) for x, point in line.points] for line in slope.lines}
        for slope in slopes(workload, Naming.of(workload))
    }


def test_a_line_joins_rows_that_differ_in_one_parameter_alone():
    rows = [row(name, 10.0 * tasks + threads, tasks=tasks, threads=threads)
            for name in "ab" for tasks in (100, 10) for threads in (2, 1)]  # fmt: skip
    charts = found(*rows)
    assert list(charts) == ["tasks", "threads"]
    assert list(charts["tasks"]) == ["a (threads=2)", "a (threads=1)", "b (threads=2)", "b (threads=1)"]
    assert charts["tasks"]["a (threads=2)"] == [(10, 102.0), (100, 1002.0)]
    assert charts["threads"]["b (tasks=10)"] == [(1, 101.0), (2, 102.0)]


def test_environments_are_lines_of_their_own():
    rows = [row("a", 5.0, environment, threads=threads)
            for environment in ("host", "clang-19") for threads in (1, 2)]  # fmt: skip
    assert list(found(*rows)["threads"]) == ["a", "a (clang-19)"]


def test_what_is_not_measured_or_stands_alone_makes_no_line():
    alone = row("alone", 5.0, threads=0)
    assert found(alone, row("b", 4.0, threads=1)) == {}
    charts = found(alone, row("b", 4.0, threads=1), row("b", None, threads=2), row("b", 6.0, threads=3))
    assert charts == {"threads": {"b": [(1, 4.0), (3, 6.0)]}}


def test_a_parameter_that_is_no_number_gets_no_chart():
    assert found(row("a", 5.0, mode="hot"), row("a", 6.0, mode="parked")) == {}


def swept(*rows: Row) -> WorkloadResult:
    return samples.nothing().model_copy(update={"rows": list(rows), "swept": ["threads", "mode"]})


def charts_of(workload: WorkloadResult) -> dict[str, dict[str, list[str]]]:
    return {
        slope.parameter: {chart.setting: [line.name for line in chart.lines] for chart in slope.charts}
        for slope in slopes(workload, Naming.of(workload))
    }


def test_a_chart_compares_lines_within_one_setting_of_what_else_is_swept():
    rows = [row(name, 10.0 * threads, threads=threads, mode=mode)
            for name in "ab" for threads in (1, 2) for mode in ("hot", "parked")]  # fmt: skip
    lone = [row("c", 5.0, threads=threads, mode="hot") for threads in (1, 2)]
    assert charts_of(swept(*rows, *lone)) == {
        "threads": {"mode=hot": ["a", "b", "c"], "mode=parked": ["a", "b"]}
    }


def test_where_no_setting_has_two_lines_one_chart_shows_them_all():
    rows = [row("a", 10.0 * threads, threads=threads, mode=mode)
            for threads in (1, 2) for mode in ("hot", "parked")]  # fmt: skip
    assert charts_of(swept(*rows)) == {"threads": {"": ["a (mode=hot)", "a (mode=parked)"]}}


def test_a_line_looks_the_same_in_every_setting():
    rows = [row(name, 10.0, threads=threads, mode=mode)
            for mode, names in (("hot", "abc"), ("parked", "cb"))
            for name in names for threads in (1, 2)]  # fmt: skip
    page = html.render(samples.make_results([swept(*rows)]))
    told = data_of(page)["workloads"][0]
    hot, parked = (
        {line["name"]: line["line"] for line in chart["lines"]} for chart in told["slopes"][0]["charts"]
    )
    assert hot == {"a": 0, "b": 1, "c": 2}
    assert parked == {"c": 2, "b": 1}


def test_the_page_has_a_chart_for_each_such_parameter_and_its_points_are_rows_of_the_table():
    page = html.render(samples.make_results([samples.locks(random.Random(1))]))
    assert len(re.findall('data-chart="slope"', page)) == 1
    assert "<h4>Time over threads</h4>" in page
    assert 'aria-label="locks/contended: ns per increment over threads, 6 lines. The table above' in page
    told = data_of(page)["workloads"][0]
    rows = {each["id"]: each for each in told["rows"]}
    lines = {line["name"]: line["points"] for line in told["slopes"][0]["charts"][0]["lines"]}
    assert len(lines) == 6
    for name, points in lines.items():
        contender, _, environment = name.rstrip(")").partition(" (")
        assert [x for x, *_ in points] == [1, 2]
        for x, anchor, *_ in points:
            where = f"{environment}, " if environment else ""
            assert rows[anchor]["name"] == f"{contender} ({where}threads={x})"


def charted(*rows: Row) -> dict[str, Any]:
    page = html.render(samples.make_results([swept(*rows)]))
    slope: dict[str, Any] = data_of(page)["workloads"][0]["slopes"][0]
    return slope


def test_peak_memory_is_drawn_over_a_parameter_with_what_it_is_of():
    """Process and heap, each in one unit for all lines; a runtime without malloc has the first alone."""
    rows = [
        row(name, 10.0, threads=threads).model_copy(
            update={"memory": Memory(peak_bytes=(3 << 20) * threads, heap_peak_bytes=heap)}
        )
        for name, heap in (("malloc", 5_120), ("go", None))
        for threads in (1, 2)
    ]
    told = charted(*rows)
    shown = {metric["title"]: at for at, metric in enumerate(told["metrics"])}
    peak, heap = (told["metrics"][shown[title]] for title in ("Peak memory", "Heap peak"))
    assert (peak["unit"], heap["unit"]) == ("MiB", "KiB")
    assert "resident set of the process in any launch" in peak["caption"]
    assert "in one iteration" in heap["caption"]
    points = {line["name"]: line["points"] for line in told["charts"][0]["lines"]}
    of = {
        name: [[point[2 + shown[title]] for point in points[name]] for title in ("Peak memory", "Heap peak")]
        for name in points
    }
    resident = [[3.0, None, None, "3 MiB"], [6.0, None, None, "6 MiB"]]
    assert of == {"malloc": [resident, [[5.0, None, None, "5 KiB"]] * 2], "go": [resident, [None, None]]}


def test_peak_memory_that_one_row_of_a_line_alone_has_is_not_offered():
    rows = [row("a", 10.0, threads=threads) for threads in (1, 2)]
    rows[0] = rows[0].model_copy(update={"memory": Memory()})
    assert not {metric["title"] for metric in charted(*rows)["metrics"]} & {"Peak memory", "Heap peak"}
