"""One entry is a column of every format that it names."""

from __future__ import annotations

import csv as reader
import io
import random
import re
from itertools import product
from typing import Any

import pytest
import sample_results as samples
from page_data import data_of
from rich.console import Console

from tollbench import numbers
from tollbench.analysis.results import Results
from tollbench.report import columns, csv, html, markdown, terminal
from tollbench.report.anchors import Anchors
from tollbench.report.cases import Naming
from tollbench.report.footings import differing, of_row
from tollbench.report.footings import footings as footings_of
from tollbench.report.showing import Column, Shown

PLACES: dict[str, dict[str, Any]] = {
    "page": {},
    "terminal": {"page": False, "terminal": Shown("wobbling", 9)},
    "markdown": {"page": False, "markdown": Shown("wobbles", 9)},
    "chart": {"page": False, "chart": Shown("Wobbled", 9)},
    "csv": {"page": False, "csv": ("wobble", "wobble_low", "wobble_high")},
}


@pytest.fixture(scope="module")
def results() -> Results:
    """Launches spread by 1.2 to 5 %; one workload has details and a chart, the other rows without numbers."""
    return samples.make_results([samples.contention(random.Random(11)), samples.skynet(random.Random(7))])


def add(monkeypatch: pytest.MonkeyPatch, **places: Any) -> None:
    """The spread of launches, which `Row` has, as one more entry of the list, with an interval."""
    entry = Column(
        "wobble", "Wobble", "%", "between launches",
        lambda row: (row.spread, row.spread / 2, row.spread * 2) if row.spread else (None, None, None),
        numbers.Scale("%", 100.0), numbers.quantity, numbers.interval, head="%", **places,
    )  # fmt: skip
    listed = columns._launches
    monkeypatch.setattr(columns, "_launches", lambda: [*listed(), entry])


def printed(results: Results) -> str:
    out = io.StringIO()
    terminal.render(results, Console(file=out, width=300))
    return out.getvalue()


def test_an_entry_of_every_format_is_a_column_of_each_with_its_interval(monkeypatch, results):
    add(
        monkeypatch, csv=("wobble", "wobble_low", "wobble_high"), chart=Shown("Wobbled", 9),
        terminal=Shown("wobbling", 9, interval=Shown("from, to", 9)),
        markdown=Shown("wobbles", 9, interval=Shown("between")),
    )  # fmt: skip
    page = html.render(results)
    assert re.search(r'<th [^>]*data-key="wobble"[^>]*>Wobble<small>%</small></th>', page)
    assert re.search(r'class="num k-wobble" data-v="0.02"><b>2[^–]*?\[1.0, 4.0\]', page)
    (line,) = (one for one in printed(results).splitlines() if one.startswith("tbb_task_group "))
    assert line.split()[-3:] == ["1.2", "[0.6,", "2.4]"]
    (line,) = (one for one in markdown.render(results).splitlines() if one.startswith("| `tbb_task_group`"))
    assert line.endswith(" | 1.2 | [0.6, 2.4] |")
    told = list(reader.DictReader(io.StringIO(csv.render(results))))
    assert [told[0][f"wobble{end}"] for end in ("", "_low", "_high")] == ["0.02", "0.01", "0.04"]
    slope = data_of(page)["workloads"][0]["slopes"][0]
    assert slope["metrics"][-1] == {"title": "Wobbled", "unit": "%"}
    assert slope["charts"][0]["lines"][0]["points"][0][-1] == [2.0, 1.0, 4.0, "2.0 % [1.0, 4.0]"]


@pytest.mark.parametrize("named", PLACES)
def test_a_column_shows_where_its_entry_says_and_nowhere_else(monkeypatch, results, named):
    add(monkeypatch, **PLACES[named])
    page = html.render(results)
    shown = {
        "page": 'data-key="wobble"' in page,
        "terminal": "wobbling" in printed(results),
        "markdown": "| wobbles |" in markdown.render(results),
        "chart": {"title": "Wobbled", "unit": "%"} in data_of(page)["workloads"][0]["slopes"][0]["metrics"],
        "csv": "wobble" in csv.render(results).splitlines()[0].split(","),
    }
    assert [place for place, there in shown.items() if there] == [named]


def test_a_column_without_any_number_is_left_out_of_all_but_csv(monkeypatch, results):
    add(monkeypatch, terminal=Shown("wobbling", 9), markdown=Shown("wobbles", 9), csv=("wobble",))
    bare = [
        each.model_copy(update={"rows": [row.model_copy(update={"spread": None}) for row in each.rows]})
        for each in results.workloads
    ]
    without = results.model_copy(update={"workloads": bare})
    told = html.render(without) + printed(without) + markdown.render(without)
    assert "wobbl" not in told.lower()
    assert {row["wobble"] for row in reader.DictReader(io.StringIO(csv.render(without)))} == {""}


@pytest.mark.parametrize("measured", [True, False])
def test_a_new_column_of_csv_stands_behind_those_that_scripts_know(monkeypatch, results, measured):
    add(monkeypatch, csv=("wobble",))
    head = csv.render(results if measured else samples.empty_results()).splitlines()[0].split(",")
    assert head[: len(csv.COLUMNS) + 1] == [*csv.COLUMNS, "wobble"]
    assert all(name.startswith("detail_") for name in head[len(csv.COLUMNS) + 1 :])


def test_every_column_of_csv_is_filled_by_an_entry():
    told = list(reader.DictReader(io.StringIO(csv.render(samples.full_results()))))
    assert [name for name in csv.COLUMNS if not any(row[name] for row in told)] == []


def on(results: Results, *footings: dict[str, Any]) -> Results:
    """Skynet's first rows on these footings, its other rows left out: one table."""
    workload = next(each for each in results.workloads if each.workload == "tasks/skynet")
    rows = [row for row in workload.rows if row.status == "ok"][: len(footings)]
    assert len(rows) == len(footings)
    rows = [row.model_copy(update={"footing": one}) for row, one in zip(rows, footings, strict=True)]
    return results.model_copy(update={"workloads": [workload.model_copy(update={"rows": rows})]})


@pytest.mark.parametrize(
    ("footings", "told"),
    [
        ([{"threads": 8}, {"threads": 8}, {"threads": 1}], ["", "", "threads 1"]),
        ([{"threads": 8, "flags": "-O2"}, {"threads": 2, "flags": "cargo build --release"}],
         ["threads 8; flags -O2", "threads 2; flags cargo build --release"]),
        ([{"threads": 8}, {"threads": 8}, {}], ["", "", ""]),  # nothing told is nothing else
        ([{"waits": "blocks"}, {"waits": "blocks"}, {"waits": "polls"}], ["", "", "waits polls"]),
        ([{"results": "join"}, {"results": "channel"}], ["", ""]),  # what the work is, no footing to share
        ([{"stack_bytes": 65_536}, {"stack_bytes": 65_536}, {"stack_bytes": 16_384}],
         ["", "", "stack 16 KiB"]),
    ],
)  # fmt: skip
def test_a_row_says_where_its_footing_is_not_that_of_its_table(results, footings, told):
    there = on(results, *footings)
    found = differing(there.workloads[0])
    assert [of_row(row, found) for row in there.workloads[0].rows] == told
    page, text, marked = html.render(there), printed(there), markdown.render(there)
    assert ('data-key="footing"' in page, "footing differs" in marked) == (any(told),) * 2
    for one in filter(None, told):
        assert one in page
        assert one in text
        assert one in marked


@pytest.mark.parametrize(
    ("footings", "told"),
    [  # threads of a and b on the host and by clang, each with n=1 and n=2
        ([8, 8, 8, 8, 4, 4, 4, 4], [("a", [], "8"), ("b", [], "4")]),
        ([8, 4, 8, 8, 4, 4, 4, 4], [("a", ["n=1"], "8"), ("a", ["n=2"], "4"), ("a", ["clang", "n=1"], "8"),
                                    ("a", ["clang", "n=2"], "8"), ("b", [], "4")]),
    ],
)  # fmt: skip
def test_a_contender_on_one_footing_is_one_line_of_their_table(footings, told):
    rng = random.Random(1)
    rows = [
        samples.make_row(rng, "w", name, 10.0, 0.01).model_copy(
            update={"environment": environment, "parameters": {"n": n}, "footing": {"threads": threads}}
        )
        for (name, environment, n), threads in zip(
            product("ab", ("host", "clang"), (1, 2)), footings, strict=True
        )
    ]
    workload = samples.nothing().model_copy(update={"rows": rows})
    there = samples.make_results([workload])
    found = footings_of(workload, Naming.of(workload), Anchors.of(there))["rows"]
    assert [(line["name"], list(line["qualifiers"]), *line["cells"]) for line in found] == told


def test_words_of_a_program_in_its_footing_are_no_markup(results):
    hostile = "<b>1</b> | [x](http://y) \x1b[31m"
    there = on(results, {"threads": 8}, {"threads": 8}, {"threads": hostile})
    page, text, marked = html.render(there), printed(there), markdown.render(there)
    assert "<b>1</b>" not in page + marked
    assert "threads &lt;b&gt;1" in page
    (line,) = (one for one in marked.splitlines() if "threads" in one and "y)" in one)
    (other, *_) = (one for one in marked.splitlines() if one.startswith("| contender"))
    assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", other))
    assert r"\[x\](http" in marked
    assert "\x1b" not in page + text + marked
