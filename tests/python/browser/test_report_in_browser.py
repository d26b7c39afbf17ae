"""The report in a real browser: drawn, silent, filtered, sorted, printed, and deaf to attacks."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_results as samples
from opened_pages import DRAWN, box_of, open_all, pause, settled
from playwright.sync_api import Browser, Page
from screenshot import open_report, unfold

from tollbench import numbers
from tollbench.report import html


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(html.render(samples.full_results()), encoding="utf-8")
    return file


@pytest.fixture
def page(chromium: Browser, report: Path) -> Iterator[Page]:
    opened = open_all(open_report(chromium, report))
    yield opened
    opened.context.close()


def names(page: Page, workload: str, table: str = ".values") -> list[str]:
    return page.locator(f"#{workload} {table} > tbody:visible").evaluate_all(
        "all => all.map(b => b.dataset.name)"
    )


def drawn_names(page: Page, workload: str) -> list[str]:
    """Contenders in the chart from top to bottom, read from its SVG text."""
    texts = page.locator(f"#{workload} [data-chart=values] svg text").evaluate_all(
        "all => all.map(t => [t.textContent, t.getBoundingClientRect().top])"
    )
    known = set(names(page, workload))
    return [text for text, _ in sorted(texts, key=lambda pair: pair[1]) if text in known]


def marks(page: Page, chart: str) -> int:
    """SVG shapes that are data: paths with a fill or a stroke inside the chart."""
    return page.locator(f"{chart} svg path").count()


def test_no_console_message_and_no_request_but_the_page_itself(chromium, report):
    page = chromium.new_context().new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.context.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_selector(DRAWN, state="attached")
    page.fill("#filter", "boost")
    settled(page)
    page.locator("#tasks-skynet th[data-key=ratio] button").click()
    page.pdf()
    assert said == []
    assert asked == [report.as_uri()]


def test_a_browser_that_cannot_unpack_has_the_tables_and_is_told_what_it_lacks(chromium, report):
    page = chromium.new_context().new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report.as_uri())
    assert "DecompressionStream" in page.locator("#no-charts:visible").inner_text()
    page.locator("#tasks-skynet").evaluate("inside => { inside.closest('details').open = true; }")
    assert page.locator("#tasks-skynet .values > tbody:visible").count() > 3
    assert page.locator(".chart:visible").count() == page.locator("#canary:visible").count()


@pytest.mark.parametrize(
    "broken", [("sha256-", "sha256-A"), ('id="charts">', 'id="charts">AAAA')], ids=["policy", "library"]
)
def test_a_chart_library_that_does_not_run_is_told_and_not_waited_for(chromium, report, tmp_path, broken):
    file = tmp_path / "broken.html"
    whole = report.read_text()
    before, after = broken
    at = whole.index(before)  # of the policy's two hashes the first one is the library's
    file.write_text(whole[:at] + after + whole[at + len(before) :])
    page = chromium.new_context().new_page()
    page.add_init_script(
        "window.idled = 0; const idle = requestIdleCallback;"
        "window.requestIdleCallback = (...all) => { window.idled++; return idle(...all); };"
    )
    page.goto(file.as_uri())
    told = page.locator("#no-charts:visible").inner_text()
    assert "Error: " in told
    assert "DecompressionStream" not in told
    page.fill("#filter", "boost")
    pause(page, 300)
    assert page.evaluate("window.idled") == 0


def test_who_prints_when_the_page_has_loaded_has_every_chart(chromium, report):
    """As `chromium --print-to-pdf` does."""
    page = chromium.new_context().new_page()
    page.goto(report.as_uri(), wait_until="load")
    at_once = page.pdf()
    page.wait_for_selector(DRAWN, state="attached")
    drawn = page.pdf()
    assert abs(len(at_once) - len(drawn)) < 0.02 * len(drawn)


def test_the_policy_stops_what_a_script_would_fetch(page):
    refused = page.evaluate(
        "() => fetch('https://example.invalid/').then(() => 'went out', error => 'refused: ' + error.name)"
    )
    assert refused.startswith("refused")
    blocked = page.evaluate(
        """() => new Promise(done => {
            const told = event => done(event.violatedDirective);
            document.addEventListener('securitypolicyviolation', told, {once: true});
            const picture = document.createElement('img');
            picture.src = 'https://example.invalid/x.png';
            document.body.append(picture);
        })"""
    )
    assert blocked.startswith("img-src")


def test_attack_strings_do_nothing(page):
    page.hover("#latency-wakeup [data-chart=cdf]")
    assert page.evaluate("window.attacked") is None
    assert page.locator("main img").count() == 0
    assert page.locator("script").count() == 3
    hostile = page.locator("section.workload").last
    assert samples.SCRIPT in (hostile.locator("bdi.name").first.text_content() or "")
    assert hostile.locator("svg text", has_text="onerror=window.attacked=2").count() >= 1


def test_every_chart_is_drawn(page):
    results = samples.full_results()
    kinds = page.locator(".chart:visible").evaluate_all("all => all.map(e => e.dataset.chart ?? 'canary')")
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "canary": 1, "values": 9, "cdf": 3, "both": 3, "slope": 3, "busy": 6, "grid": 1,
    }  # fmt: skip
    for index in range(len(kinds)):
        drawn = page.locator(".chart:visible").nth(index)
        assert drawn.locator("canvas").count() or drawn.locator("svg path").count() > 3
    assert drawn_names(page, "tasks-skynet") == [
        row.contender for row in results.workloads[0].rows if row.value
    ]
    assert marks(page, "#canary") >= len(results.floor.canary_ns)


def test_a_row_of_the_chart_tells_its_numbers_under_the_pointer(page):
    label = page.locator("#tasks-skynet [data-chart=values] svg text", has_text="goroutines")
    page.locator("#tasks-skynet").evaluate("section => section.scrollIntoView()")
    settled(page)
    box = box_of(label)
    page.mouse.move(box["x"] + box["width"] + 200, box["y"] + box["height"] / 2)
    tooltip = page.locator("#tasks-skynet .tooltip")
    tooltip.wait_for()
    assert tooltip.locator("b").inner_text() == "goroutines"
    for piece in ("254.0 ns", "[251.5, 257.0]", "2.63×", "2016: 700 to 980 ns"):
        assert piece in tooltip.inner_text()


def test_a_canary_that_varies_tenfold_is_drawn_on_a_logarithmic_axis(chromium, tmp_path):
    floor = samples.floor(random.Random(1))
    wild = floor.model_copy(
        update={"canary_ns": [value * 10 ** (i % 3) for i, value in enumerate(floor.canary_ns)]}
    )
    file = tmp_path / "wild.html"
    file.write_text(html.render(samples.make_results([], floor=wild)), encoding="utf-8")
    page = open_report(chromium, file)
    frame = box_of(page.locator("#canary"))
    tops = page.locator("#canary svg path[fill^='#']").evaluate_all(
        "all => all.map(p => p.getBoundingClientRect().top)"
    )
    inside = [top for top in tops if frame["y"] <= top <= frame["y"] + frame["height"]]
    assert len(inside) >= len(floor.canary_ns)
    assert max(inside) - min(inside) > 80
    assert page.locator("#canary svg text", has_text="(logarithmic)").count() == 1
    page.context.close()


def test_the_canary_says_where_its_axis_does_not_start_at_zero(page):
    label = box_of(page.locator("#canary svg text", has_text="(the axis does not start at zero)"))
    frame = box_of(page.locator("#canary"))
    assert frame["x"] <= label["x"]
    assert label["x"] + label["width"] <= frame["x"] + frame["width"]
    assert frame["y"] <= label["y"]
    assert label["y"] + label["height"] <= frame["y"] + frame["height"]


def test_a_curve_a_contender_and_a_legend_that_hides_it(page):
    legend = page.locator("#latency-wakeup .legend button")
    assert legend.count() == 5
    lines = page.locator("#latency-wakeup [data-chart=cdf] svg path[fill=none]")
    before = lines.count()
    legend.first.click()
    assert legend.first.get_attribute("aria-pressed") == "false"
    assert lines.count() < before


def line_marks(page: Page, chart: str) -> int:
    """Small shapes in a curve's colour: the points' symbols and the ends of their intervals."""
    colours = page.evaluate(
        """() => [1, 2, 3, 4, 5, 6, 7, 8].map(n =>
            getComputedStyle(document.documentElement).getPropertyValue('--c' + n).trim())"""
    )
    shapes = page.locator(f"{chart} svg path").evaluate_all(
        "all => all.map(p => [p.getAttribute('fill'), p.getAttribute('stroke'),"
        " p.getBoundingClientRect().width])"
    )
    return sum(bool({fill, stroke} & set(colours)) and 5 < width < 14 for fill, stroke, width in shapes)


def test_time_over_a_parameter_is_drawn_line_by_line_and_follows_filter_and_legend(page):
    chart = "#locks-contended [data-chart=slope]"
    figure = page.locator("#locks-contended figure:has([data-chart=slope])")
    page.locator(chart).scroll_into_view_if_needed()
    legend = figure.locator(".legend button")
    settled(page)
    assert legend.all_text_contents()[:2] == ["std_mutex", "std_mutex (clang-19)"]
    assert legend.count() == 6
    whole = line_marks(page, chart)
    assert whole == 6 * 2 * 3  # lines, points, and for each a symbol and the two ends of its interval
    texts = page.locator(f"{chart} svg text").all_text_contents()
    assert {"1", "2", "threads"} <= set(texts)
    legend.first.click()
    page.mouse.move(5, 5)  # what the pointer is on is drawn larger, the rest paler
    page.locator("#filter").focus()
    settled(page)
    assert line_marks(page, chart) == whole - 6
    page.fill("#filter", "shared_mutex")
    settled(page)
    assert legend.all_text_contents() == ["shared_mutex", "shared_mutex (clang-19)"]
    page.fill("#filter", "spinlock")
    settled(page)
    assert not figure.is_visible()


def test_a_parameter_over_decades_has_a_logarithmic_axis_with_its_own_values(chromium, tmp_path):
    rng = random.Random(1)
    rows = [
        samples.make_row(rng, "", "a", 50.0, 0.01, parameters={"tasks": tasks})
        for tasks in (1_000, 10_000, 1_000_000)
    ]
    file = tmp_path / "tasks.html"
    workload = samples.nothing().model_copy(update={"rows": samples.ranked(rows)})
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file)
    ticks = page.locator("[data-chart=slope] svg text").evaluate_all(
        "all => Object.fromEntries(all.map(t => [t.textContent, t.getBoundingClientRect().left]))"
    )
    assert "tasks (logarithmic)" in ticks
    first, second, last = (ticks[text] for text in ("1,000", "10,000", "1,000,000"))
    assert (last - first) / (second - first) == pytest.approx(3, rel=0.1)
    page.context.close()


@pytest.mark.parametrize(
    ("least", "most"),
    [
        (30.0, 45.0),
        (3.1, 4.7),
        (700.0, 980.0),
        (1000.1, 1000.9),
        (123456.1, 123456.9),
        (2.2, 19.0),
        (50.0, 50.0),
    ],
)
def test_time_over_a_parameter_has_numbers_on_its_axis_however_close_it_stays(
    chromium, tmp_path, least, most
):
    rng = random.Random(1)
    rows = [
        samples.make_row(rng, "", "a", value, 0.0, parameters={"tasks": tasks}, low=value, high=value)
        for tasks, value in ((1_000, least), (2_000, most))
    ]
    file = tmp_path / "close.html"
    workload = samples.nothing().model_copy(update={"rows": samples.ranked(rows)})
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file)
    axis = "e => { const { min, max, name, axisLabel } = echarts.getInstanceByDom(e).getOption().yAxis[0];"
    axis += " const ticks = axisLabel.customValues;"
    axis += " return [min, max, name, ticks, ticks.map(axisLabel.formatter)]; }"
    low, high, name, places, labels = page.locator("[data-chart=slope]").first.evaluate(axis)
    assert "(logarithmic)" in name
    assert len(set(labels)) == len(labels) >= 3
    assert low <= min(places) < max(places) <= high
    for place, label in zip(places, labels, strict=True):
        assert float(label.replace(",", "")) == pytest.approx(10**place)
    shown = page.locator("[data-chart=slope] svg text").all_text_contents()
    assert set(labels) <= set(shown)
    page.context.close()


def test_curves_differ_by_dash_not_by_colour_alone(page):
    dashes = page.locator("#latency-wakeup .legend svg line").evaluate_all(
        "all => all.map(line => line.getAttribute('stroke-dasharray'))"
    )
    assert len(set(dashes)) == 4


def test_the_filter_narrows_tables_and_charts(page):
    page.fill("#filter", "boost fiber")
    settled(page)
    assert (
        page.inner_text("#filter-count") == f"3 of {page.locator('.values > tbody[data-name]').count()} cases"
    )
    boost = ["boost_fiber_work_stealing", "boost_fiber_round_robin", "boost_fiber_shared_work"]
    assert names(page, "tasks-skynet") == boost
    assert drawn_names(page, "tasks-skynet") == boost
    assert page.locator("section.workload:visible").count() == 1
    page.fill("#filter", "go 1.19")
    settled(page)
    assert names(page, "tasks-skynet") == ["goroutines"]
    page.fill("#filter", "spinlock")
    settled(page)
    assert names(page, "latency-wakeup", ".percentiles") == ["spinlock"]
    assert page.locator("#latency-wakeup .legend button").count() == 1
    page.fill("#filter", "nothing is called this")
    settled(page)
    assert page.locator("#no-match").is_visible()
    page.press("#filter", "Escape")
    settled(page)
    assert page.locator("section.workload:visible").count() == 9
    assert len(drawn_names(page, "tasks-skynet")) == 10


def test_sorting_orders_table_and_chart_and_keeps_the_unmeasured_last(page):
    heading = page.locator("#tasks-skynet .values th[data-key=value]")
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    order = names(page, "tasks-skynet")
    assert order[:2] == ["std_thread", "boost_fiber_shared_work"]
    assert order[-4:] == ["folly_fibers", "seastar_async", "libtask", "hand_rolled"]
    assert drawn_names(page, "tasks-skynet") == order[:-4]
    page.locator("#tasks-skynet .values th[data-key=name] button").click()
    assert names(page, "tasks-skynet") == sorted(order)
    assert page.locator("#tasks-skynet [aria-sort]").count() == 1
    heading.locator("button").click()
    assert names(page, "tasks-skynet")[-4:] == ["folly_fibers", "hand_rolled", "libtask", "seastar_async"]


RANKED = [
    "std_async_deferred", "tbb_task_group", "rayon_join", "goroutines", "cppcoro_static_pool",
    "boost_fiber_work_stealing", "boost_fiber_round_robin", "erlang_processes", "boost_fiber_shared_work",
    "std_thread",
]  # fmt: skip
BOOST = ["boost_fiber_work_stealing", "boost_fiber_round_robin", "boost_fiber_shared_work"]


def begins_a_library(page: Page, name: str) -> bool:
    row = page.locator(f"#tasks-skynet--{name}")
    return bool(row.evaluate("e => parseFloat(getComputedStyle(e.rows[0].cells[0]).borderTopWidth) > 1"))


def test_rows_stand_by_library_the_fastest_rows_first_and_ranked_again_after_another_click(page):
    button = page.get_by_role("button", name="By library")
    before = names(page, "tasks-skynet")
    percentiles = names(page, "latency-wakeup", ".percentiles")
    assert before[: len(RANKED)] == RANKED
    button.click()
    settled(page)
    assert button.get_attribute("aria-pressed") == "true"
    together = ["std_async_deferred", "std_thread", *RANKED[1:5], *BOOST, "erlang_processes"]
    assert names(page, "tasks-skynet")[: len(together)] == together
    assert drawn_names(page, "tasks-skynet") == together
    assert set(names(page, "tasks-skynet")) == set(before)
    assert begins_a_library(page, "tbb_task_group")
    assert begins_a_library(page, "boost_fiber_work_stealing")
    assert not begins_a_library(page, "std_async_deferred")
    assert not begins_a_library(page, "std_thread")
    assert not begins_a_library(page, "boost_fiber_round_robin")
    button.click()
    settled(page)
    assert button.get_attribute("aria-pressed") == "false"
    assert names(page, "tasks-skynet") == before
    assert names(page, "latency-wakeup", ".percentiles") == percentiles
    assert drawn_names(page, "tasks-skynet") == RANKED
    assert page.locator(".next-library").count() == 0


def test_a_table_by_library_is_sorted_by_any_column_and_keeps_that_order_without(page):
    button = page.get_by_role("button", name="By library")
    heading = "#tasks-skynet .values th[data-key=value]"
    button.click()
    page.locator(f"{heading} button").click()
    assert page.locator(heading).get_attribute("aria-sort") == "descending"
    slowest_first = ["std_thread", "std_async_deferred", *reversed(BOOST), "erlang_processes"]
    order = names(page, "tasks-skynet")
    assert order[: len(slowest_first)] == slowest_first
    assert set(order[-4:]) == {"folly_fibers", "seastar_async", "libtask", "hand_rolled"}
    button.click()
    settled(page)
    assert names(page, "tasks-skynet")[: len(RANKED)] == RANKED[::-1]
    assert page.locator(heading).get_attribute("aria-sort") == "descending"


def test_the_line_between_libraries_follows_the_filter(page):
    page.get_by_role("button", name="By library").click()
    page.fill("#filter", "fiber")
    settled(page)
    assert names(page, "tasks-skynet")[:3] == BOOST
    assert not begins_a_library(page, BOOST[0])  # nothing is above it now
    page.fill("#filter", "_r")  # the first of Boost's three is not among them
    settled(page)
    assert not begins_a_library(page, "boost_fiber_round_robin")
    assert begins_a_library(page, "hand_rolled")
    page.fill("#filter", "")
    settled(page)
    assert begins_a_library(page, BOOST[0])


def test_percentiles_stand_by_library_each_table_in_its_own_order(chromium, tmp_path):
    workload = samples.wakeup(random.Random(1))
    rows = [
        row.model_copy(update={"library": ("std", "toll")[number % 2]})
        for number, row in enumerate(workload.rows)
    ]
    workload = workload.model_copy(update={"rows": rows})
    file = tmp_path / "libraries.html"
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file)
    page.get_by_role("button", name="By library").click()
    assert names(page, "latency-wakeup") == [
        "spinlock", "counting_semaphore", "condition_variable", "atomic_flag", "mutex",
    ]  # fmt: skip
    assert names(page, "latency-wakeup", ".percentiles") == [
        "atomic_flag", "mutex", "counting_semaphore", "condition_variable", "spinlock",
    ]  # fmt: skip
    page.context.close()


def test_a_topic_of_which_the_filter_left_nothing_is_hidden_with_its_heading(page):
    page.fill("#filter", "boost fiber")
    settled(page)
    assert page.locator("[data-topic] > h2:visible").evaluate_all("all => all.map(h => h.id)") == [
        "topic-tasks"
    ]
    page.fill("#filter", "")
    settled(page)
    assert page.locator("[data-topic] > h2:visible").count() == 6


@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_to_a_topic_leads_to_its_heading(chromium, report, width):
    page = open_report(chromium, report, width)
    page.evaluate("location.hash = 'topic-containers'")
    settled(page)
    heading = box_of(page.locator("#topic-containers"))
    toolbar = box_of(page.locator(".toolbar"))
    assert toolbar["y"] + toolbar["height"] <= heading["y"] < 300
    page.context.close()


def test_by_library_works_on_a_phone_and_stays_so_on_paper(chromium, report, tmp_path):
    page = open_report(chromium, report, 390, 844)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.get_by_role("button", name="By library").click()
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert box_of(page.locator(".toolbar"))["height"] < 70
    tops = [box_of(page.locator(f"#tasks-skynet--{name} tr")) for name in (*BOOST[:2], "erlang_processes")]
    within = tops[1]["y"] - tops[0]["y"] - tops[0]["height"]
    last = box_of(page.locator(f"#tasks-skynet--{BOOST[2]} tr"))
    assert tops[2]["y"] - last["y"] - last["height"] > within
    order = names(page, "tasks-skynet")
    page.evaluate(
        "addEventListener('beforeprint', () => {"
        " window.lines = document.querySelectorAll('.next-library').length; })"
    )
    page.pdf(path=tmp_path / "libraries.pdf", format="A4", print_background=True)
    assert page.evaluate("window.lines") > 10
    settled(page)
    assert names(page, "tasks-skynet") == order
    assert said == []
    page.context.close()


@pytest.fixture
def swept(chromium, tmp_path) -> Iterator[Page]:
    file = tmp_path / "swept.html"
    results = samples.make_results([samples.waits(random.Random(5))])
    file.write_text(html.render(results), encoding="utf-8")
    opened = open_report(chromium, file)
    yield opened
    opened.context.close()


def test_rows_are_sorted_and_filtered_below_the_heading_of_their_setting(swept):
    def shown() -> list[str]:
        texts = swept.locator(".values > tbody:visible").evaluate_all(
            "all => all.map(b => b.dataset.name ?? b.querySelector('span').firstChild.textContent)"
        )
        return [text.split()[0] for text in texts]

    swept.locator(".values th[data-key=value] button").click()
    first = ["wait_us=8", "boost_asio", "std_mutex", "sleep"]
    assert shown() == [
        "wait_us=0", "computation_only", *first, "folly_fibers", "wait_us=1,000", *first[1:],
    ]  # fmt: skip
    swept.fill("#filter", "asio")
    settled(swept)
    assert shown() == ["wait_us=8", "boost_asio", "wait_us=1,000", "boost_asio"]
    assert swept.locator("[data-chart=values]:visible").count() == 2
    assert swept.locator(".percentiles > tbody.setting:visible").count() == 2


def test_rows_stand_by_library_within_their_setting(chromium, tmp_path):
    workload = samples.waits(random.Random(5))
    rows = [
        row.model_copy(update={"library": "own" if row.contender in ("sleep", "boost_asio") else "std"})
        for row in workload.rows
    ]
    workload = workload.model_copy(update={"rows": rows})
    file = tmp_path / "settings.html"
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file)
    page.get_by_role("button", name="By library").click()
    told = page.locator(".values > tbody").evaluate_all(
        "all => all.map(b => (b.matches('.next-library') ? '| ' : '')"
        " + (b.dataset.name ?? b.querySelector('span').firstChild.textContent).split(' ')[0])"
    )
    assert told == [
        "wait_us=0", "computation_only",
        "wait_us=8", "sleep", "boost_asio", "| std_mutex", "folly_fibers",
        "wait_us=1,000", "sleep", "boost_asio", "| std_mutex",
    ]  # fmt: skip
    page.context.close()


def test_each_setting_is_drawn_on_an_axis_of_its_own(swept):
    for number, rows in enumerate((1, 3, 3)):
        texts = swept.locator(f"[data-chart=values][data-group='{number}'] svg text").all_text_contents()
        assert sum(text in ("computation_only", "sleep", "std_mutex", "boost_asio") for text in texts) == rows


def test_curves_of_single_operations_are_compared_within_one_setting(swept):
    figure = swept.locator("figure", has=swept.locator("[data-chart=cdf]"))
    choice, legend = figure.locator("select[data-for=setting]"), figure.locator(".legend button")
    lines = figure.locator("svg path[fill=none]")
    colours = "all => all.map(b => [b.textContent, b.querySelector('line').getAttribute('stroke')])"
    assert choice.locator("option").all_text_contents() == ["wait_us=0", "wait_us=8", "wait_us=1,000"]
    assert legend.all_text_contents() == ["computation_only"]
    choice.select_option(label="wait_us=8")
    assert legend.all_text_contents() == ["sleep", "std_mutex", "boost_asio"]
    assert figure.locator("figcaption").text_content().startswith("At wait_us=8. Share of operations")
    drawn, looks = lines.count(), dict(legend.evaluate_all(colours))
    legend.last.click()
    assert lines.count() < drawn
    choice.select_option(label="wait_us=1,000")
    assert legend.last.get_attribute("aria-pressed") == "false"  # what was hidden stays hidden
    assert dict(legend.evaluate_all(colours)) == looks
    swept.fill("#filter", "computation")
    settled(swept)
    assert legend.all_text_contents() == ["computation_only"]  # the chosen setting has none left
    swept.fill("#filter", "")
    settled(swept)
    assert choice.locator("option").count() == 3


def test_time_over_a_parameter_is_compared_within_one_setting_of_another(chromium, tmp_path):
    rng = random.Random(1)
    rows = [
        samples.make_row(
            rng, "", name, value * threads * factor, 0.02, parameters={"threads": threads, "mode": mode}
        )
        for name, value in (("mutex", 10.0), ("ticket", 12.0))
        for threads in (1, 2, 4)
        for mode, factor in (("hot", 1.0), ("parked", 1000.0))
    ]
    modes = [{"threads": threads, "mode": mode} for mode in ("hot", "parked") for threads in (1, 2, 4)]
    workload = samples.nothing().model_copy(
        update={"rows": rows, "swept": ["threads", "mode"], "settings": modes}
    )
    file = tmp_path / "modes.html"
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file)
    figure = page.locator("figure", has=page.locator("[data-chart=slope]"))
    option = "e => echarts.getInstanceByDom(e).getOption().yAxis[0]"
    hot = figure.locator(".chart").evaluate(option)
    assert hot["max"] - hot["min"] < 2  # decades: the thousandfold of the other mode is not on this axis
    assert figure.locator(".legend button").all_text_contents() == ["mutex", "ticket"]
    figure.locator("select[data-for=setting]").select_option(label="mode=parked")
    assert figure.locator(".chart").evaluate(option)["min"] > hot["max"]
    assert figure.locator("h4").text_content() == "Time over threads"
    page.context.close()


def test_sorting_works_from_the_keyboard(page):
    page.locator("#latency-wakeup .percentiles th[data-key=p99] button").focus()
    page.keyboard.press("Enter")
    assert names(page, "latency-wakeup", ".percentiles")[0] == "spinlock"
    page.keyboard.press("Enter")
    assert names(page, "latency-wakeup", ".percentiles")[0] == "condition_variable"


def test_slash_leads_to_the_filter(page):
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"
    assert page.input_value("#filter") == ""


def test_a_table_is_copied_as_markdown(chromium, report):
    page = open_all(open_report(chromium, report, permissions=["clipboard-read", "clipboard-write"]))
    page.locator("#tasks-skynet button.copy").click()
    page.locator("#tasks-skynet button.copy", has_text="Copied").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").strip().splitlines()
    assert lines[2].startswith("| `std_async_deferred` | 96.40 \\[96.21, 96.63\\] | 1.00× |")
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert len(lines) == 2 + 14
    page.context.close()


def test_what_is_copied_links_nothing(chromium, tmp_path):
    told = "as https://example.org, www.example.org, @octocat, #12 and GH-12 have it"
    rows = [
        samples.make_row(random.Random(1), "", "a", 50.0, 0.01),
        samples.broken_row("b", "failed", told),
    ]
    file = tmp_path / "links.html"
    workload = samples.nothing().model_copy(update={"rows": samples.ranked(rows)})
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file, permissions=["clipboard-read", "clipboard-write"])
    page.locator("button.copy").click()
    page.locator("button.copy", has_text="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "octocat" in copied
    assert not re.search(r"://|www\.|@\w|#\w|GH-\d", copied)
    page.context.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440])
def test_no_width_scrolls_sideways(chromium, report, width):
    page = open_report(chromium, report, width, 844)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    open_all(page)
    page.locator("section.workload").last.scroll_into_view_if_needed()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


@pytest.mark.parametrize("width", [320, 390])
def test_long_footings_are_read_on_a_phone_without_scrolling_sideways(chromium, tmp_path, width):
    """What did not wrap, "threads one for each task; stack default", made the page 506 pixels wide."""
    workload = samples.skynet(random.Random(1))
    rows = [
        one.model_copy(update={"footing": {"threads": "one for each task", "stack_bytes": f"size {at} " * 6}})
        for at, one in enumerate(workload.rows)
    ]
    file = tmp_path / "report.html"
    results = samples.make_results([workload.model_copy(update={"rows": rows})])
    file.write_text(html.render(results), encoding="utf-8")
    page = open_report(chromium, file, width, 844)
    page.locator("td.k-footing").first.scroll_into_view_if_needed()
    settled(page)
    assert page.locator("td.k-footing", has_text="size 3 size 3").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def test_on_a_phone_rows_are_cards_with_labels(chromium, report):
    page = open_all(open_report(chromium, report, 390, 844))
    cell = page.locator("#tasks-skynet tbody").first.locator("td.k-cpu")
    assert cell.evaluate("e => getComputedStyle(e, '::before').content") == '"CPU time"'
    card = box_of(page.locator("#tasks-skynet tbody tr").first)
    assert card["width"] < 390
    assert card["height"] > 150
    assert drawn_names(page, "tasks-skynet")[0] == "std_async_deferred"
    page.context.close()


def test_on_a_phone_percentiles_are_cards_with_the_name_above_the_numbers(chromium, report):
    page = open_all(open_report(chromium, report, 390, 844))
    card = page.locator("#latency-wakeup .percentiles tbody", has_text="condition_variable")
    name = box_of(card.locator(".name"))
    assert name["height"] < 30  # one line
    cells = card.locator("td")
    labels = cells.evaluate_all("all => all.map(e => getComputedStyle(e, '::before').content)")
    assert labels == ['"p50"', '"p90"', '"p99"', '"p99.9"', '"p99.99"', '"max"', '"Operations"']
    for index in range(cells.count()):
        box = box_of(cells.nth(index))
        assert box["y"] >= name["y"] + name["height"]
        assert box["x"] + box["width"] <= 390
    page.context.close()


def test_no_chart_label_is_cut_or_lies_on_another(chromium, report):
    for width in (390, 1280):
        page = open_all(open_report(chromium, report, width, 844))
        page.locator("#containers-find").scroll_into_view_if_needed()
        hostile = page.locator("section.workload").last.get_attribute("data-workload")
        for workload in ("tasks-skynet", "containers-find", "locks-contended", hostile):
            page.locator(f"#{workload}").scroll_into_view_if_needed()
            boxes = page.locator(f"#{workload} [data-chart=values] svg text").evaluate_all(
                "all => all.map(t => { const b = t.getBoundingClientRect();"
                " return [b.left, b.top, b.right, b.bottom, t.textContent]; })"
            )
            frame = box_of(page.locator(f"#{workload} [data-chart=values]"))
            assert len(boxes) > 15
            for left, top, right, bottom, text in boxes:
                assert left >= frame["x"] - 1, text
                assert right <= frame["x"] + frame["width"] + 1, text
                assert bottom <= frame["y"] + frame["height"] + 1, text
                for other in boxes:
                    overlaps = (
                        left < other[2] - 1
                        and other[0] < right - 1
                        and top < other[3] - 2
                        and other[1] < bottom - 2
                    )
                    assert not overlaps or other[4] == text, (width, text, other[4])
        page.context.close()


def channel_sum(page: Page, colour: str) -> int:
    return sum(int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])


def test_dark_mode_darkens_page_and_charts_and_follows_a_change(chromium, report):
    page = open_all(open_report(chromium, report, color_scheme="dark"))
    background = "getComputedStyle(document.body).backgroundColor"
    label = "#tasks-skynet [data-chart=values] svg text"
    assert channel_sum(page, page.evaluate(background)) < 150
    dark = page.locator(label).nth(2).get_attribute("fill")
    page.emulate_media(color_scheme="light")
    settled(page)
    assert channel_sum(page, page.evaluate(background)) > 600
    assert page.locator(label).nth(2).get_attribute("fill") != dark
    page.context.close()


def test_text_keeps_its_contrast_in_both_themes(chromium, report):
    measure = """() => {
        const level = text => { const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const probe = document.createElement('i'); document.body.append(probe);
        const read = name => {
            probe.style.color = `var(--${name})`; return level(getComputedStyle(probe).color); };
        const pairs = ['ink', 'soft', 'faint', 'accent', 'warn'].map(name => [read(name), read('paper')]);
        return Math.min(...pairs.map(([a, b]) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)));
    }"""
    for scheme in ("light", "dark"):
        page = open_report(chromium, report, color_scheme=scheme)
        assert page.evaluate(measure) >= 4.5, scheme
        page.context.close()


def test_print_is_light_whole_and_expanded_and_leaves_the_page_as_it_was(chromium, report, tmp_path):
    """All but the published rows and conclusions that this run has nothing to say of."""
    page = open_report(chromium, report, color_scheme="dark")
    page.evaluate(
        """() => { window.printed = {}; window.addEventListener('beforeprint', () => {
            const closed = [...document.querySelectorAll('details:not([open])')];
            printed.closed = closed.filter(e => !e.closest('.untold')).length;
            printed.untold = closed.filter(e => e.matches('.untold')).length;
            printed.theme = document.documentElement.dataset.theme;
            printed.undrawn = [...document.querySelectorAll('figure:not([hidden]) .chart')]
                .filter(chart => !chart.querySelector('svg path, canvas')).length;
        }); }"""
    )
    written = page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    assert written.startswith(b"%PDF")
    untold = page.locator(".untold").count()
    assert untold > 0
    printed = {"closed": 0, "untold": untold, "theme": "light", "undrawn": 0}
    assert page.evaluate("window.printed") == printed
    settled(page)
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert page.locator(".inside details[open]").count() == 0
    assert page.locator(".fold[open]").count() == 0
    page.context.close()


def test_without_javascript_the_tables_are_all_there(chromium, report):
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(report.as_uri())
    table = page.locator("#tasks-skynet .values")
    assert not table.is_visible()
    page.locator("summary", has_text="tasks/skynet").click()
    assert table.is_visible()
    assert "std_async_deferred" in table.inner_text()
    assert page.locator(".values > tbody[data-name]").count() == sum(
        len(w.rows) for w in samples.full_results().workloads
    )
    assert page.locator("noscript").first.text_content().startswith("Large charts, sorting")
    assert not page.locator(".toolbar").is_visible()
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("anchor", ["latency-wakeup--mutex", "containers-find--node_map_37", "async-echo"])
def test_a_permalink_leads_to_its_row(chromium, report, width, anchor):
    page = chromium.new_context(viewport={"width": width, "height": 900}).new_page()
    page.goto(f"{report.as_uri()}#{anchor}")
    page.wait_for_selector(DRAWN, state="attached")
    assert page.locator(f"#{anchor}").is_visible()
    pause(page, 300)
    top = box_of(page.locator(f"#{anchor}"))["y"]
    assert 0 <= top < 900
    page.context.close()


def test_a_run_that_measured_nothing_shows_a_page(chromium, tmp_path):
    file = tmp_path / "empty.html"
    file.write_text(html.render(samples.empty_results()), encoding="utf-8")
    page = open_report(chromium, file)
    assert page.locator("h1").inner_text() == "Unknown machine"
    page.context.close()


def heat_map(page: Page):
    return page.locator("#latency-core_to_core [data-chart=grid]")


def test_a_cell_of_the_heat_map_tells_its_pair_and_time(page):
    page.locator("#latency-core_to_core").evaluate("section => section.scrollIntoView()")
    settled(page)
    grid = samples.cores(random.Random(12)).grids[0]
    box = box_of(heat_map(page))
    left, size = heat_map(page).evaluate(
        "e => { const { grid } = echarts.getInstanceByDom(e).getOption();"
        " return [grid[0].left, grid[0].width]; }"
    )
    cell = size / 16
    for start, end in ((0, 1), (3, 12)):
        page.mouse.move(box["x"] + left + cell * (end + 0.5), box["y"] + 40 + cell * (start + 0.5))
        tooltip = page.locator("#latency-core_to_core .tooltip", has_text=f"{start} to {end}")
        tooltip.wait_for()
        assert f"{grid.values[start][end]:.1f} ns" in tooltip.inner_text()


def test_the_heat_map_frames_the_groups_and_shows_another_grid_when_asked(page):
    option = "e => echarts.getInstanceByDom(e).getOption()"
    shown = heat_map(page).evaluate(option)
    assert [each["type"] for each in shown["series"]] == ["heatmap", "custom"]
    assert shown["series"][1]["data"] == [[0, 7], [8, 15]]
    assert len(shown["series"][0]["data"]) == 16 * 15
    assert shown["series"][0]["label"]["show"] is True
    page.locator("#latency-core_to_core select[data-for=grid]").select_option(
        label="load_store, 99th percentile"
    )
    other = heat_map(page).evaluate(option)
    assert other["visualMap"][0]["max"] > shown["visualMap"][0]["max"] + 1  # tails, ten times as long


def test_256_cpus_are_drawn_without_values_in_cells(chromium, tmp_path):
    """By a browser whose calls take fewer arguments than there are cells, as 384 CPUs have for any."""
    file = tmp_path / "large.html"
    made = samples.make_results([samples.cores(random.Random(4), cpus=256)])
    file.write_text(html.render(made), encoding="utf-8")
    assert file.stat().st_size < 5_000_000
    context = chromium.new_context()
    context.add_init_script(
        """for (const name of ["min", "max"]) {
            const whole = Math[name];
            Math[name] = (...all) => {
                if (all.length > 60000) throw new RangeError("Maximum call stack size exceeded");
                return whole(...all);
            };
        }"""
    )
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    shown = heat_map(page).evaluate("e => echarts.getInstanceByDom(e).getOption()")
    assert len(shown["series"][0]["data"]) == 256 * 255
    assert shown["series"][0]["label"]["show"] is False
    found = page.locator("#latency-core_to_core .found").first.text_content()
    assert found is not None
    assert found.startswith("load_store, median: two groups of 128")
    page.context.close()


def test_a_chart_that_cannot_be_drawn_leaves_the_others_theirs(chromium, tmp_path):
    file = tmp_path / "broken.html"
    file.write_text(html.render(samples.full_results()), encoding="utf-8")
    page = chromium.new_context().new_page()
    page.add_init_script(
        """const log10 = Math.log10;
        Math.log10 = x => {
            if (new Error().stack.includes('gridOption')) throw new Error('a fault of the page');
            return log10(x);
        };"""
    )
    page.goto(file.as_uri())
    unfold(page, "#latency-core_to_core")
    unfold(page, "#tasks-skynet")
    page.wait_for_selector("#some-charts:not([hidden])")
    assert heat_map(page).locator("canvas").count() == 0
    assert page.locator("#tasks-skynet [data-chart=values] svg").count() > 0
    page.context.close()


def test_a_link_to_what_the_filter_hides_takes_the_filter_away(chromium, tmp_path):
    file = tmp_path / "filtered.html"
    file.write_text(html.render(samples.full_results()), encoding="utf-8")
    page = open_report(chromium, file)
    page.fill("#filter", "no contender is called so")
    page.wait_for_selector("#no-match:not([hidden])")
    page.evaluate("location.hash = '#latency-core_to_core'")
    page.wait_for_selector("#latency-core_to_core", state="visible")
    assert page.locator("#filter").input_value() == ""
    assert page.locator("tbody[data-name][hidden]").count() == 0
    page.context.close()


def test_one_chart_over_threads_shows_any_metric(page):
    figure = page.locator("#latency-contention figure", has=page.locator("[data-chart=slope]"))
    assert figure.locator("h4").text_content() == "Time over threads"
    choice = figure.locator("select")
    offered = choice.locator("option").all_text_contents()
    assert offered[:5] == ["Time", "Smallest share", "Longest wait", "Hand-offs", "Kept"]
    choice.select_option(label="Smallest share")
    settled(page)
    assert figure.locator("h4").text_content() == "Smallest share over threads"
    assert figure.locator("svg text", has_text="Smallest share, %").count() == 1
    choice.select_option(label="Kept")
    settled(page)
    assert figure.locator(".legend button").count() == 2  # the third contender does not tell it
    caption = figure.locator("figcaption")
    assert caption.text_content().startswith("Median and interval of each row; a line")
    choice.select_option(label="Peak memory")
    settled(page)
    assert figure.locator("svg text", has_text="Peak memory, MiB").count() == 1
    assert caption.text_content().startswith("The highest resident set of the process in any launch")
    choice.select_option(label="Time")
    settled(page)
    assert caption.text_content().startswith("Median and interval of each row; a line")


def test_one_data_set_is_a_histogram_and_a_distribution_function(page):
    figure = page.locator("#latency-wakeup figure", has=page.locator("[data-chart=both]"))
    option = (
        "e => echarts.getInstanceByDom(e).getOption().series.map(s => [s.type, s.data.map(d => d.value)])"
    )
    (bars, shares), (line, points) = figure.locator(".chart").evaluate(option)
    assert (bars, line) == ("custom", "line")
    assert 99 < sum(share for _, share, _ in shares) <= 100.001
    assert points[-1][1] == pytest.approx(99.9, abs=0.2)
    assert shares[0][0] == pytest.approx(points[0][0])  # both begin at the same place of the same axis
    figure.locator("select").select_option(label="spinlock")
    settled(page)
    _, (_, others) = figure.locator(".chart").evaluate(option)
    assert others != points


def test_wall_and_cpu_time_stand_together(page):
    figure = page.locator("#tasks-skynet figure", has=page.locator("[data-chart=busy]"))
    told = {row.contender: row.cpus_busy for row in samples.full_results().workloads[0].rows if row.cpus_busy}
    texts = figure.locator("svg text").all_text_contents()
    assert f"{told['cppcoro_static_pool']:.1f} CPUs" in texts
    assert [name for name in told if name in texts] == list(told)
    assert page.locator("#latency-wakeup [data-chart=busy]").count() == 0  # CPU time with the harness in it


def test_wall_and_cpu_time_have_the_digits_of_the_tables_under_the_pointer(page):
    chart = page.locator("#tasks-skynet [data-chart=busy]").first
    chart.scroll_into_view_if_needed()
    settled(page)
    label = chart.locator("svg text", has_text="goroutines")
    box = box_of(label)
    page.mouse.move(box["x"] + box["width"] + 200, box["y"] + box["height"] / 2)
    tooltip = chart.locator(".tooltip")
    tooltip.wait_for()
    (row,) = (row for row in samples.full_results().workloads[0].rows if row.contender == "goroutines")
    told = tooltip.inner_text()
    assert "254.0 ns per task, wall clock" in told
    assert f"{numbers.quantity(row.cpu_time, None, None)} ns per task, CPU time of all threads" in told


def test_wall_and_cpu_time_that_agree_lie_together(chromium, tmp_path):
    rng = random.Random(1)
    rows = [
        samples.make_row(rng, "", name, 1639.0, 0.01, parameters={"wait": wait}, cpu_time=1639.0 * busy,
                         cpus_busy=busy)
        for wait, name, busy in ((0, "alone", 1.0003), (8, "a", 1.9), (8, "b", 1.5))
    ]  # fmt: skip
    workload = samples.nothing().model_copy(update={"rows": rows, "swept": ["wait"]})
    file = tmp_path / "busy.html"
    file.write_text(html.render(samples.make_results([workload])), encoding="utf-8")
    page = open_report(chromium, file)
    axis = "e => { const { min, max, axisLabel } = echarts.getInstanceByDom(e).getOption().xAxis[0];"
    axis += " return [min, max, axisLabel.customValues.map(axisLabel.formatter)]; }"
    low, high, labels = page.locator("[data-chart=busy]").first.evaluate(axis)
    assert low == 0
    assert high > 1
    assert len(set(labels)) == len(labels)
    page.context.close()


def test_contenders_by_environments_fit_a_phone_by_scrolling_inside_their_frame(chromium, report):
    page = open_all(open_report(chromium, report, 390, 844))
    frame = page.locator("#containers-count_words .scroll.wide").first
    frame.scroll_into_view_if_needed()
    assert frame.evaluate("e => e.scrollWidth > e.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    frame.evaluate("e => { e.scrollLeft = 400; }")
    name = box_of(frame.locator("tbody th").first)
    assert 0 <= name["x"] < 40  # names stay in sight
    page.context.close()


def test_the_fastest_of_an_environment_leads_to_its_row(page):
    link = page.locator("#containers-count_words .matrix td.fastest a").nth(5)
    anchor = link.get_attribute("href")
    assert anchor is not None
    assert page.locator(f"{anchor} .chip", has_text="clang-19").count() == 1
