"""The HTML page as text: what stands in it, that nothing in it can act, and that it stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
import sample_results as samples
from page_data import block, data_of

from matching import matched
from tollbench.analysis.results import Memory, PublishedValue
from tollbench.errors import TollError
from tollbench.report import embedded, html
from tollbench.report.anchors import Anchors
from tollbench.report.sentences import published_notes

ROOT = Path(__file__).resolve().parents[3]
MEGABYTE = 1_000_000


class Document(HTMLParser):
    """Tags, attributes and the text of the page, as a browser's parser sees them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="module")
def page() -> str:
    return html.render(samples.full_results())


@pytest.fixture(scope="module")
def document(page: str) -> Document:
    return Document(page)


def test_the_chart_library_is_the_one_that_was_vendored():
    folder = ROOT / "third_party" / "echarts"
    readme = (folder / "README.md").read_text()
    stated = matched(r"sha256\s+([0-9a-f]{64})\s+echarts\.min\.js", readme).group(1)
    assert hashlib.sha256((folder / "echarts.min.js").read_bytes()).hexdigest() == stated
    assert 'version="6.1.0"' in (folder / "echarts.min.js").read_text()
    assert (folder / "LICENSE").read_text().lstrip().startswith("Apache License") or "Apache License" in (
        folder / "LICENSE"
    ).read_text()
    assert "Apache ECharts" in (folder / "NOTICE").read_text()


def test_a_checkout_without_the_library_is_told_how_to_mend_it(monkeypatch, tmp_path):
    monkeypatch.setattr(embedded, "ECHARTS", tmp_path / "none.js")
    embedded.chart_library.cache_clear()
    embedded.packed_chart_library.cache_clear()
    with pytest.raises(TollError) as caught:
        html.render(samples.empty_results())
    assert "git checkout" in caught.value.next_step
    embedded.chart_library.cache_clear()
    embedded.packed_chart_library.cache_clear()


def test_the_policy_forbids_everything_but_the_two_embedded_scripts(page, document):
    policy = next(meta["content"] for meta in document.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "script-src 'sha256-" in policy
    assert "'unsafe-inline'" not in policy.split("style-src")[0]
    own = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(own) == 1
    charts = embedded.unpacked(block(page, "charts"))
    assert charts == embedded.ECHARTS.read_text().strip()
    for script in (*own, charts):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_nothing_is_loaded_from_anywhere(document):
    assert not {tag for tag, _ in document.tags} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
    }
    assert not [attributes for _, attributes in document.tags if "src" in attributes]
    assert len(document.all("script")) == 3


def test_attack_strings_are_text(page, document):
    handlers = [name for _, attributes in document.tags for name in attributes if name.startswith("on")]
    assert handlers == []
    assert samples.SCRIPT in document.text
    assert samples.IMAGE in document.text
    assert "{{ 7*7 }}" in document.text
    assert "\u202e" not in page
    assert "\x1b" not in page
    for anchor in document.all("a"):
        assert (anchor["href"] or "").startswith(("#", "https://", "http://"))


def test_the_data_block_cannot_end_early(page):
    for name in ("data", "charts"):
        assert re.fullmatch("[A-Za-z0-9+/]+=*", block(page, name))
    names = [row["name"] for row in data_of(page)["workloads"][-1]["rows"]]
    assert samples.BREAKOUT in names


@pytest.mark.parametrize("attack", ["</script>", "<!--", "]]>", "\u2028", "&lt;", "<script"])
def test_json_for_a_script_element_cannot_end_it_and_is_equal(attack):
    written = embedded.packed_json({attack: attack})
    assert re.fullmatch("[A-Za-z0-9+/]+=*", written)
    assert json.loads(embedded.unpacked(written)) == {attack: attack}


def test_the_page_says_first_what_the_reader_must_know(document):
    text = document.text
    order = [
        "2 CPUs",
        "What the documents claim",
        "What does it cost to create, run and join",
        "Skipped or failed",
        "The floor",
        "What makes this machine noisy",
        "How to read this",
    ]
    places = [text.rindex(words) for words in order]
    assert places == sorted(places)
    assert "Floor 1.2 %" in text
    assert "apt install libfolly-dev" in text
    assert "seastar/core/app.hh: No such file" in text


def test_a_row_holds_value_interval_ratio_ties_and_cost(page):
    body = matched(
        r'<tbody[^>]*id="tasks-skynet--boost_fiber_work_stealing".*?</tbody>', page, re.DOTALL
    ).group(0)
    text = Document(body).text
    for piece in (
        "402",
        "[398, 407]",
        "4.17",
        "[4.11, 4.25]",
        "a",
        "556",
        "57.6 MiB",
        "412 MiB",
        "Boost.Fiber 1.74",
        ["stack", "bytes", "16384"][0],
    ):
        assert piece in text, piece
    assert 'data-v="402"' in body


def test_intervals_of_rows_that_are_like_their_neighbours_bear_a_mark_with_its_reason(page, document):
    marks = re.findall(r'<abbr title="([^"]*)">≈</abbr>', page)
    assert [mark.split(",")[0] for mark in marks] == [
        "wider",
        "holds within this run&#39;s conditions: rounds beside each other are alike",
    ]
    assert "16 launches count as 11" in marks[0]
    assert "1 of 2 holds within this run's conditions alone" in document.text


def test_that_rounds_are_few_stands_with_the_floor_and_the_head_leads_there(document):
    few = {"counts_as": None, "within_run": "12 rounds are few", "few_rounds": True}
    results = samples.full_results()
    first, *others = results.workloads
    rows = [row.model_copy(update=few) for row in first.rows]
    changed = results.model_copy(update={"workloads": [first.model_copy(update={"rows": rows}), *others]})
    told = html.render(changed)
    (section,) = re.findall(r'<section id="floor".*?</section>', told, re.DOTALL)
    assert "fewer than 50 rounds do not tell" in section
    assert '<a href="#floor">those of values within this run' in told
    assert "fewer than 50 rounds" not in document.text


def heads(page: str, workload: str) -> dict[str, tuple[str, ...]]:
    """A table's head by column: the words of each line in a cell."""
    section = matched(
        rf'<section class="workload" data-workload="{workload}".*?</section>', page, re.DOTALL
    ).group(0)
    table = matched(r'<table class="values".*?</thead>', section, re.DOTALL).group(0)
    cells = re.findall(r'data-key="(\w+)"[^>]*>(.*?)</th>', table, re.DOTALL)
    return {
        key: tuple(re.sub("<[^>]+>", "|", text).replace("||", "|").strip("|").split("|"))
        for key, text in cells
    }


def test_where_operations_are_timed_alone_costs_of_the_whole_request_say_so(page):
    alone, grouped = heads(page, "latency-wakeup"), heads(page, "tasks-skynet")
    for key in ("cpu", "voluntary", "faults"):
        assert "harness included" in alone[key]
        assert "harness included" not in grouped[key]
    assert "harness included" not in alone["value"] + alone["cold"] + alone["calls"]
    assert '.k-cpu{--label:"CPU time, harness included"' in page


def test_the_head_says_ns_and_the_caption_and_the_hints_what_it_is_per(page):
    found = heads(page, "latency-wakeup")
    assert found["value"] == ("Time", "ns")
    assert found["cold"] == ("First batch", "ns")
    assert found["calls"] == ("Allocations", "bytes")
    assert not any("wake-up" in line for lines in found.values() for line in lines)
    assert "ns per wake-up, median over launches with 95 % interval; counts are per wake-up too" in page
    assert 'title="ns per wake-up; median over launches, with its' in page
    assert '[id="latency-wakeup"] .k-value{--label:"Time";--unit:"ns per wake-up"}' in page


def test_what_a_unit_costs_is_a_column_where_units_were_counted(page):
    assert heads(page, "tasks-skynet")["created"] == ("Per unit created", "ns", "memory")
    assert "created" not in heads(page, "latency-wakeup")
    cells = re.findall(r"<td[^>]*k-created.*?(?=<td|</tr)", page, re.DOTALL)
    boost = next(cell for cell in cells if 'data-v="361.8"' in cell)
    assert Document(boost).text == "362memory 1.50 KiB"
    assert any('data-v=""' in cell and "1.50 KiB" not in cell for cell in cells)


def test_details_are_columns_with_their_meaning_as_hint(document, page):
    heads = {each["data-key"]: each for each in document.all("th") if each.get("data-key")}
    assert heads["detail-smallest_share"]["title"] == "%; of the thread that got least"
    assert heads["detail-longest_wait_ns"]["data-copy"] == "Longest wait, µs"
    cells = [each for each in document.all("td") if "k-detail-kept_bytes" in (each.get("class") or "")]
    told = [each["data-v"] for each in cells]
    assert sum(value == "" for value in told) == 4  # the contender that does not tell it
    assert "40960" in told


def test_names_may_be_cut_after_an_underscore_and_stay_text(page):
    assert '<bdi class="name">boost_<wbr>fiber_<wbr>work_<wbr>stealing</bdi>' in page
    assert html.breakable("<b>_&") == "&lt;b&gt;_<wbr>&amp;"


def test_bytes_are_counted_per_as_many_units_of_work_as_the_calls_above_them():
    rng = random.Random(1)
    memory = Memory(calls=0.01, bytes=0.31)
    rows = [samples.make_row(rng, "", "a", 5.0, 0.01, memory=memory)]
    page = html.render(samples.make_results([samples.nothing().model_copy(update={"rows": rows})]))
    assert heads(page, "async-echo")["calls"] == ("Allocations", "per\u00a01,000", "bytes")
    cell = matched(r"<td[^>]*k-calls.*?(?=<td|</tr)", page, re.DOTALL).group(0)
    assert Document(cell).text == "10.0bytes 310 B"


def test_rows_that_were_not_measured_stand_in_the_table_with_their_reason(page):
    body = matched(r'<tbody[^>]*id="tasks-skynet--libtask".*?</tbody>', page, re.DOTALL).group(0)
    assert "signal 11" in Document(body).text
    assert "failed" in Document(body).text


def test_headers_are_scoped_and_charts_have_a_text(document):
    assert all(head.get("scope") in ("row", "rowgroup", "col") for head in document.all("th"))
    charts = [div for div in document.all("div") if "chart" in (div.get("class") or "").split()]
    assert len(charts) >= 6
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


@pytest.mark.parametrize("name", ["data", "charts", "filter", "machine", "floor"])
def test_no_strangers_workload_takes_the_place_of_a_part_of_the_page(name):
    """The page looked for its numbers by id and found the workload: no chart, no sorting, no filter."""
    strange = samples.nothing().model_copy(update={"workload": name})
    document = Document(html.render(samples.make_results([strange])))
    assert Anchors.of(samples.make_results([strange])).workload(strange) == f"{name}-2"
    ids = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_anchors_are_unique_and_links_lead_somewhere(document):
    ids = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for anchor in document.all("a"):
        if (anchor["href"] or "").startswith("#"):
            assert anchor["href"][1:] in ids


def test_each_topic_is_a_section_that_the_contents_lead_to(page):
    results = samples.full_results()
    topics: dict[str, list[str]] = {}
    for workload in results.workloads[:8]:  # behind them stand those whose names are attacks
        topics.setdefault(workload.workload.partition("/")[0], []).append(workload.workload)
    sections = re.split(r'<section data-topic aria-labelledby="([^"]*)">', page)[1:]
    told = dict(zip(sections[::2], sections[1::2], strict=True))
    for topic, members in topics.items():
        section = told[f"topic-{topic}"]
        count = f"{len(members)} workload{'s' * (len(members) > 1)}"
        assert f'<h2 id="topic-{topic}">{topic} <small>{count}</small></h2>' in section
        assert f'<p class="side-title"><a href="#topic-{topic}">{topic}</a></p>' in page
        shown = re.findall(r'data-workload="([^"]*)"', section)
        assert shown == [name.replace("/", "-") for name in members]
    assert len(topics["latency"]) == 3


def test_workloads_of_a_topic_stand_together_whatever_their_order_in_the_run():
    wakeup, skynet, contention = (
        make(random.Random(1)) for make in (samples.wakeup, samples.skynet, samples.contention)
    )
    page = html.render(samples.make_results([wakeup, skynet, contention]))
    order = re.findall(r'<h2 id="topic-([^"]*)|data-workload="([^"]*)"', page)
    assert [topic or workload for topic, workload in order] == [
        "latency", "latency-wakeup", "latency-contention", "tasks", "tasks-skynet",
    ]  # fmt: skip


def test_headings_of_a_page_leave_out_no_level(page):
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert levels.count(3) >= 9


def test_a_workload_without_a_topic_stands_below_the_heading_of_all():
    alone = samples.skynet(random.Random(1)).model_copy(update={"workload": "skynet"})
    page = html.render(samples.make_results([alone]))
    assert "<section data-topic>" in page
    assert 'id="topic-' not in page
    assert '<p class="side-title">Workloads</p>' in page


def test_rows_of_one_library_have_one_number_whatever_its_version_and_language():
    rows = [
        samples.make_row(
            random.Random(1), "", name, 5.0, 0.01, library=library, library_version=version, language=language
        )
        for name, library, version, language in (
            ("a", "std", "libstdc++ 12", "C++"),
            ("b", "none", "", "C++"),
            ("c", "std", "libc++ 19", "C++"),
            ("d", "none", "", "Rust"),
        )
    ]
    rows.append(samples.broken_row("e", "skipped", "no std", library="std"))
    page = html.render(samples.make_results([samples.nothing().model_copy(update={"rows": rows})]))
    assert data_of(page)["workloads"][0]["libraries"] == [0, 1, 0, 1, 0]


def test_charts_get_the_same_numbers_as_the_tables(page):
    results = samples.full_results()
    told = {workload["id"]: workload for workload in data_of(page)["workloads"]}["tasks-skynet"]
    rows = [row for row in results.workloads[0].rows if row.status == "ok"]
    assert [row["name"] for row in told["rows"]] == [row.contender for row in rows]
    assert [row["value"] for row in told["rows"]] == [pytest.approx(row.value, rel=1e-4) for row in rows]
    go = next(row for row in told["rows"] if row["name"] == "goroutines")
    assert (go["published"][0]["low"], go["published"][0]["high"]) == (700, 980)


@pytest.fixture(scope="module")
def swept() -> str:
    return html.render(samples.make_results([samples.waits(random.Random(5))]))


def test_rows_stand_below_the_heading_of_their_setting(swept):
    table = swept[swept.index('<table class="values">') :]
    table = table[: table.index("</table>")]
    told = re.findall(r'<tbody class="setting"[^>]*><tr><th[^>]*><span>([^< ]*)|data-name="([^"]*)"', table)
    assert [heading or name for heading, name in told] == [
        "wait_us=0", "computation_only (wait_us=0)",
        "wait_us=8", "sleep (wait_us=8)", "std_mutex (wait_us=8)", "boost_asio (wait_us=8)",
        "folly_fibers (wait_us=8)",
        "wait_us=1,000", "sleep (wait_us=1000)", "std_mutex (wait_us=1000)", "boost_asio (wait_us=1000)",
    ]  # fmt: skip
    assert table.count('<span class="badge">fastest</span>') == 2
    assert table.count('<span class="badge">baseline</span>') == 2
    assert 'class="chip"' not in table  # the heading says it


def test_each_setting_has_a_chart_and_a_fastest_at_a_glance(swept):
    charts = re.findall(r'data-chart="values" data-group="(\d)"', swept)
    assert charts == ["0", "1", "2"]
    rows = data_of(swept)["workloads"][0]["rows"]
    assert [(row["group"], row["name"], row["fastest"]) for row in rows] == [
        (0, "computation_only", False),
        (1, "sleep", False), (1, "std_mutex", True), (1, "boost_asio", False),
        (2, "sleep", False), (2, "std_mutex", True), (2, "boost_asio", False),
    ]  # fmt: skip
    assert [row["tied"] for row in rows] == [False, False, False, True, False, False, True]
    glance = swept[swept.index('<table class="glance">') :]
    glance = Document(glance[: glance.index("</table>")]).text
    assert re.findall(r"(wait_us=[\d,]+)\s*std_mutex", glance) == ["wait_us=8", "wait_us=1,000"]


def summaries(page: str) -> list[str]:
    """The line of each workload, as text."""
    return [
        Document(each).text for each in re.findall(r'<details class="fold".*?</summary>', page, re.DOTALL)
    ]


def test_a_folded_line_tells_workload_question_fastest_and_runner_up(page, swept):
    told = summaries(page)[0]
    assert told.startswith("tasks/skynet What does it cost to create, run and join")
    assert "std_async_deferred 96.40 ns, then tbb_task_group 1.224× [1.206, 1.249] 10 of 14 measured" in told
    (line,) = summaries(swept)
    assert "wait_us=8 std_mutex 9.00 µs, then boost_asio 1.011× [0.996, 1.031], tied (+ 1 setting)" in line


def test_a_folded_line_says_that_a_warning_stands_below_it():
    workload = samples.wakeup(random.Random(1))
    told = ["latency/wakeup: 2 of 4 ratios are not known (mutex)."]
    (line,) = summaries(html.render(samples.make_results([workload], warnings=told)))
    assert " 1 warning " in line


def unfolded(page: str) -> list[bool]:
    return [bool(opened) for opened in re.findall(r'<details class="fold"( open)?>', page)]


def test_one_workload_or_two_begin_unfolded_and_more_folded():
    made = samples.quick_results().workloads
    for count in (1, 2, 3):
        page = html.render(samples.make_results(made[:count]))
        assert unfolded(page) == [count < 3] * count


def published_marks(results) -> list[tuple[str, list[float]]]:
    told = data_of(html.render(results))["workloads"][0]["rows"]
    return [(row["name"], [band["low"] for band in row["published"]]) for row in told if row["published"]]


@pytest.mark.parametrize("statistic", ["p90", "p99", "p999", "max"])
def test_the_interval_chart_shows_published_medians_and_no_tails(statistic):
    workload = samples.wakeup(random.Random(1))
    parameters = workload.rows[0].parameters
    entries = [samples.wakeup_published(name, parameters) for name in ("value", "p50", statistic)]
    results = samples.make_results([workload.model_copy(update={"published": entries})])
    assert published_marks(results) == [("spinlock", [500, 200])]


def test_a_published_value_is_drawn_on_the_row_that_it_was_matched_with():
    rng = random.Random(1)
    workload = samples.locks(rng)
    entry = samples.wakeup_published("value", {"threads": 2}).model_copy(
        update={"contender": "ticket_lock", "environment": "clang-19", "per": "increment"}
    )
    for update, drawn in (
        ({}, [("ticket_lock (clang-19, threads=2)", [500])]),
        ({"environment": "host"}, [("ticket_lock (threads=2)", [500])]),
        ({"parameters": {"threads": 1}}, [("ticket_lock (clang-19, threads=1)", [500])]),
        ({"environment": None, "parameters": None}, []),
        ({"per": "lock"}, []),
    ):
        published = [entry.model_copy(update=update)]
        results = samples.make_results([workload.model_copy(update={"published": published})])
        assert published_marks(results) == drawn
        named = (
            drawn[0][0]
            if drawn
            else "ticket_lock (clang-19, threads=2)"
            if "per" in update
            else "ticket_lock"
        )
        assert f'here: <bdi class="name">{named}</bdi>' in html.render(results)


def published_tables(entries: list[PublishedValue]) -> tuple[list[str], list[str], list[str]]:
    """Tables that stand open, tables that are folded, and what the folds say."""
    workload = samples.skynet(random.Random(1)).model_copy(update={"published": entries})
    page = html.render(samples.make_results([workload]))
    folds = re.findall(r'<details class="rest untold">.*?</details>', page, re.DOTALL)
    summaries = re.findall(r'<details class="rest untold"><summary>(.*?)</summary>', page)
    open_part = re.sub(r'<details class="rest untold">.*?</details>', "", page, flags=re.DOTALL)
    tables = re.compile(r'<table class="published">.*?</table>', re.DOTALL)
    return tables.findall(open_part), tables.findall("".join(folds)), summaries


def test_machine_source_unit_and_a_shared_note_of_published_values_are_said_once():
    one, other, third = samples.skynet_published()
    third = third.model_copy(update={"today": one.today})
    same = [each.model_copy(update={"source": one.source, "note": "n0te"}) for each in (one, other, third)]
    (table,), folded, summaries = published_tables(same)
    assert (folded, summaries) == ([], [])
    assert [table.count(said) for said in ("i7-4770S", f">{one.source}</a>", "n0te")] == [1, 1, 1]
    caption, head, rows = re.split("<thead>|<tbody>", table)
    assert "n0te" in caption
    assert "i7-4770S" in caption
    assert head.count("<small>µs per task</small>") == 2
    assert "µs" not in rows
    assert rows.count("<tr>") == 3


def test_published_values_of_another_source_have_a_table_and_a_lone_note_its_row():
    one, other, third = samples.skynet_published()
    (first, second), _, _ = published_tables([one, other, third.model_copy(update={"today": one.today})])
    assert "the same page</caption>" in second
    assert "the same page" not in first
    assert "promise 16 cores" in first.split("<tbody>")[1]
    assert "promise 16 cores" not in first.split("<tbody>")[0]


def test_published_rows_beside_a_row_come_first_and_the_rest_is_counted_and_folded():
    """Whatever their order in the file, in the same table of then or another one."""
    one, other, third = samples.skynet_published()
    lone = one.model_copy(update={"label": "Go 1.5", "today": None})
    (measured,), folded, summaries = published_tables([third, lone, one, third, other])
    assert measured.count('<th scope="row">') == 2
    assert measured.index(one.label) < measured.index(other.label)
    assert "Today, on this machine" in measured
    assert summaries == ["3 rows were not measured in this run"]
    assert [table.count('<th scope="row">') for table in folded] == [2, 1]
    assert "Haskell" in folded[0]
    assert "Go 1.5" in folded[1]
    assert not any("Today" in table for table in folded)  # a column of dashes says nothing


def test_where_no_published_row_was_measured_all_are_folded():
    _, _, third = samples.skynet_published()
    measured, folded, summaries = published_tables([third])
    assert measured == []
    assert len(folded) == 1
    assert summaries == ["1 row was not measured in this run"]


def test_what_sets_a_row_apart_stands_behind_the_note():
    one, other, third = samples.skynet_published()
    apart = one.model_copy(update={"note": "n0te", "differs": "n0 channel"})
    lone = third.model_copy(
        update={"note": "", "differs": "n0 stack", "source": one.source, "today": one.today}
    )
    (table,), _, _ = published_tables([apart, other, lone])
    assert "n0te; the row differs: n0 channel<" in table
    assert ">the row differs: n0 stack<" in table


def test_what_is_true_of_all_rows_of_a_table_stands_once_above_them():
    one, other, third = samples.skynet_published()
    shared = {"source": one.source, "machine": one.machine, "today": one.today}
    notes = (
        ("sh4red (a; b); 0nly (a; c)", "c0mmon; f1rst"),
        ("sh4red (a; b)", "c0mmon; sec0nd"),
        ("sh4red (a; b)", "c0mmon"),
    )
    rows = [
        entry.model_copy(update={**shared, "note": note, "differs": differs})
        for entry, (note, differs) in zip((one, other, third), notes, strict=True)
    ]
    (table,), _, _ = published_tables(rows)
    caption, body = table.split("<thead>")
    assert "sh4red (a; b); each row differs: c0mmon<" in caption
    assert "sh4red" not in body
    assert "c0mmon" not in body
    assert "0nly (a; c); the row differs: f1rst<" in body
    assert ">the row differs: sec0nd<" in body


def test_notes_of_a_stranger_take_no_time():
    """Each of 40,000 clauses was looked up in a list: a minute, and a run file may hold ten times as many."""
    note = "; ".join(f"{number:x}" for number in range(20_000))
    entries = [entry.model_copy(update={"note": note, "differs": ""}) for entry in samples.skynet_published()]
    began = time.process_time()
    shared, own = published_notes(entries)
    assert (shared, set(own)) == (note, {""})
    one_pass = time.process_time() - began
    began = time.process_time()
    assert note.split("; ")
    assert one_pass < 500 * (time.process_time() - began)


def test_an_empty_run_makes_a_page():
    text = Document(html.render(samples.empty_results())).text
    assert "Nothing was measured" in text
    assert "Not finished." in text
    assert "no canary was launched" in text


def test_numbers_that_are_not_finite_do_not_break_the_page():
    workload = samples.nothing()
    row = samples.make_row(random.Random(1), "", "odd", 5.0, 0.1).model_copy(
        update={"value": float("inf"), "cpu_time": float("nan"), "launch_values": [float("nan"), 3.0]}
    )
    assert html.render(samples.make_results([workload.model_copy(update={"rows": [row]})]))


def test_a_label_cannot_leave_its_style():
    attack = '"}</style><script>alert(1)</script>\\'
    written = html.css_string(attack)
    assert not set(written[1:-1]) & set('<>"{};')
    assert html.css_string("ns per µ-task (a, b)") == '"ns per µ-task (a, b)"'


def test_what_all_rows_stand_on_is_said_once_below_the_table():
    page = html.render(samples.make_results([samples.many(random.Random(2))]))
    assert page.count("<dt>pinning<dd>none") == 0
    assert page.count("Footing of all rows: ") == 1
    assert "pinning none" in page
    alone = samples.many(random.Random(2), 1)
    assert "<dt>pinning<dd>none" in html.render(samples.make_results([alone]))


@pytest.mark.parametrize(
    "workloads",
    [
        lambda: [samples.compilers(random.Random(1), 40, 12, (100, 1000, 10_000))],
        lambda: samples.big_results(100, 11).workloads,
    ],
    ids=["one workload in 12 environments", "100 workloads timed one by one"],
)
def test_more_than_a_thousand_rows_fit_in_five_megabytes(workloads):
    made = workloads()
    assert sum(len(workload.rows) for workload in made) > 1000
    assert len(html.render(samples.make_results(made)).encode()) <= 5 * MEGABYTE


def test_fifty_workloads_of_ten_rows_fit_in_five_megabytes():
    results = samples.big_results()
    page = html.render(results)
    assert len(page.encode()) <= 5 * MEGABYTE
    curve = data_of(page)["workloads"][0]["latencies"][0]
    assert len(curve["points"]) > 50
    assert curve["points"][-1][1] == 1.0  # thinning keeps the maximum


def test_a_warning_of_one_table_stands_below_it_and_not_at_the_top():
    workload = samples.wakeup(random.Random(1))
    told = ["The host took 0.3 % of CPU time.", "latency/wakeup: 2 of 4 ratios are not known (mutex)."]
    page = html.render(samples.make_results([workload], warnings=told))
    hero, _, rest = page.partition("</header>")
    table, _, below = rest.partition('<table class="values">')[2].partition("</table>")
    assert re.findall(r'callout warn"><b>Warning.</b> (.*?)</p>', hero) == [
        "The host took 0.3 % of CPU time."
    ]
    assert re.findall(r'callout warn"><b>Warning.</b> (.*?)</p>', below) == [
        "2 of 4 ratios are not known (mutex)."
    ]
    assert "not known" not in table


def test_a_contender_is_named_once_among_the_problems_with_its_parameters():
    rows = [
        samples.broken_row("asio", "skipped", "no Boost", parameters={"threads": threads})
        for threads in (1, 2, 4)
    ]
    rows[0] = samples.make_row(random.Random(1), "", "asio", 5.0, 0.01, parameters={"threads": 1})
    page = html.render(samples.make_results([samples.nothing().model_copy(update={"rows": rows})]))
    listed = matched(r'<ul class="problems">.*?</ul>', page, re.DOTALL).group(0)
    assert Document(listed).text.count("asio") == 1
    assert "async/echo asio (threads=2, 4)" in Document(listed).text


def test_every_class_of_a_status_has_a_look():
    style = html.FILES.text("page.css")
    for kind in ("skip", "fail"):
        assert f".status.{kind} {{" in style
