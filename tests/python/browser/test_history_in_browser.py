"""The page of a history, as a browser shows it."""

from __future__ import annotations

from pathlib import Path

from made_histories import line, read, scattered, session
from playwright.sync_api import Browser

from tollbench.report.histories import history_html


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
