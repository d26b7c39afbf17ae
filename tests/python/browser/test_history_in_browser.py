"""The page of a history, as a browser shows it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from made_histories import MACHINE, line, read, scattered, session
from playwright.sync_api import Browser
from test_history_runs import night

from tollbench.analysis.several import in_time
from tollbench.history.run_history import read_runs
from tollbench.report.histories import history_html
from tollbench.store import RunFile


def test_lines_open_and_are_filtered_and_shown_over_dates(chromium: Browser, tmp_path: Path) -> None:
    slow, same = scattered(60, {40: 0.03}), scattered(60, seed=2)
    session(tmp_path, 1, [line(n, {"a<b>sum": slow[n], "map": same[n]}) for n in range(60)])
    file = tmp_path / "history.html"
    file.write_text(history_html.render(read(tmp_path, 60).told), encoding="utf-8")
    page = chromium.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    assert page.locator(".chart svg").count() == 1  # the line that changed is open
    assert "slower by" in (page.locator(".chart svg").text_content() or "")
    page.get_by_role("button", name="map").click()
    assert page.locator(".chart svg").count() == 2
    page.get_by_label("over dates").check()
    assert "date of the commit" in (page.locator(".chart svg").first.text_content() or "")
    page.get_by_placeholder("filter benchmarks").fill("sum")
    assert page.locator("tr[data-line]:visible").count() == 1
    assert page.locator(".chart:visible").count() == 1
    assert problems == []
    page.close()


def test_over_dates_runs_of_one_day_have_an_order_wherever_the_reader_is(
    chromium: Browser, tmp_path: Path
) -> None:
    """And two machines in turn are two lines, each with its own sign; no bar where there is no interval."""
    paths = [
        night(
            tmp_path,
            number,
            {"a": 10.0, "b": 20.0},
            {**MACHINE, "cpu": f"cpu {number % 2}"},
            launches=3 if number == 2 else 12,
            started_utc=f"2026-03-02T0{number}:30:00.000+00:00",
        )
        for number in range(4)
    ]
    with ExitStack() as stack:
        opened = [stack.enter_context(RunFile.open(path)) for path in paths]
        found = read_runs(*in_time(opened, 0.95), threshold=0.01, pattern="b / a")
    file = tmp_path / "history.html"
    file.write_text(history_html.render(found), encoding="utf-8")
    context = chromium.new_context(timezone_id="America/New_York")
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    page.get_by_label("over dates").check()
    told = page.evaluate(
        """() => {
            const option = echarts.getInstanceByDom(document.querySelector(".chart")).getOption();
            return { utc: option.useUTC, series: option.series.map((each) => ({
                type: each.type, symbol: each.symbol, colour: each.itemStyle && each.itemStyle.color,
                at: each.data.map((one) => (one.value || one)[0]) })) };
        }"""
    )
    assert told["utc"] is True, "else the night of the 2nd stands on the 1st"
    lines = [each for each in told["series"] if each["type"] == "line"]
    hours = [[(at / 3_600_000) % 24 for at in each["at"]] for each in lines]
    assert hours == [[0.5, 2.5], [1.5, 3.5]]
    assert len({each["symbol"] for each in lines}) == len({each["colour"] for each in lines}) == 2
    assert [len(each["at"]) for each in told["series"] if each["type"] == "custom"] == [1, 2]
    page.locator(".chart svg").hover()
    context.close()


def test_a_browser_that_cannot_unpack_is_told_so_and_filters_all_the_same(
    chromium: Browser, tmp_path: Path
) -> None:
    slow, same = scattered(60, {40: 0.03}), scattered(60, seed=2)
    session(tmp_path, 1, [line(n, {"sum": slow[n], "map": same[n]}) for n in range(60)])
    file = tmp_path / "history.html"
    file.write_text(history_html.render(read(tmp_path, 60).told), encoding="utf-8")
    page = chromium.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(file.as_uri())
    assert "DecompressionStream" in page.locator("#no-charts:visible").inner_text()
    assert not page.get_by_label("over dates").is_visible()
    page.get_by_placeholder("filter benchmarks").fill("sum")
    assert page.locator("tr[data-line]:visible").count() == 1
    assert page.locator(".chart").count() == 0
    page.close()


def test_without_scripts_lines_and_changes_are_there(chromium: Browser, tmp_path: Path) -> None:
    slow = scattered(60, {40: 0.03})
    session(tmp_path, 1, [line(n, {"sum": slow[n]}) for n in range(60)])
    file = tmp_path / "history.html"
    file.write_text(history_html.render(read(tmp_path, 60).told), encoding="utf-8")
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("table.changes tbody tr").count() == 1
    assert page.locator(".spark path").first.is_visible()
    assert not page.locator(".axes").is_visible()
    context.close()
