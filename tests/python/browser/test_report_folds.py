"""A quick run's page: the answer at once, the rest folded, nothing of it lost to links, paper or phones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sample_results as samples
from opened_pages import DRAWN, box_of, open_all, settled
from playwright.sync_api import Browser, Page
from screenshot import open_report

from tollbench.report import html

HIGHEST = 12_000  # pixels, 1280 wide, before anything is unfolded
WORKLOADS = 15
ROW = "latency-single_1--a_contender_of_boost_fiber_8"
CLAIM = "claim-holds_9"


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = samples.quick_results()
    assert len(results.workloads) == WORKLOADS
    assert sum(len(workload.rows) for workload in results.workloads) == 106
    file = tmp_path_factory.mktemp("quick") / "quick.html"
    file.write_text(html.render(results), encoding="utf-8")
    return file


@pytest.fixture
def folded(chromium: Browser, quick: Path) -> Iterator[Page]:
    opened = open_report(chromium, quick)
    yield opened
    opened.context.close()


def height(page: Page) -> int:
    found = page.evaluate("document.documentElement.scrollHeight")
    assert isinstance(found, int)
    return found


def test_a_quick_run_is_at_most_12_000_pixels_high_and_its_whole_several_times_that(folded):
    assert height(folded) <= HIGHEST
    assert folded.locator(".fold:not([open])").count() == WORKLOADS
    assert height(open_all(folded)) > 2 * HIGHEST  # else the bar would say nothing


def test_the_first_screen_has_what_the_documents_conclude_an_answer_and_its_drawing(folded):
    shown = (
        folded.locator("#claims .lead"), folded.locator(".claim.no .said").last,
        folded.locator(".fold .answer").first, folded.locator(".fold .strip").first,
    )  # fmt: skip
    for element in shown:
        box = box_of(element)
        assert box["height"] > 10
        assert box["y"] + box["height"] <= 900
    dots = folded.locator(".fold").first.locator(".strip i")
    assert dots.count() == 5
    painted = "e => getComputedStyle(e, '::after').backgroundColor"
    accent, ink = dots.nth(0).evaluate(painted), dots.nth(4).evaluate(painted)
    assert accent != ink


def undrawn(page: Page) -> int:
    return page.locator(".chart").evaluate_all(
        "all => all.filter(c => !c.querySelector('svg, canvas')).length"
    )


def test_charts_do_not_wait_for_an_idle_moment_that_never_comes(chromium, quick):
    """A browser may put idle callbacks off for as long as there is work, and calls them by their timeout."""
    page = chromium.new_context().new_page()
    page.add_init_script(
        "window.requestIdleCallback = (work, options) => options?.timeout &&"
        " setTimeout(() => work({ timeRemaining: () => 0, didTimeout: true }), options.timeout / 50)"
    )
    page.goto(quick.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    open_all(page)
    assert undrawn(page) == 0
    page.context.close()


def test_published_rows_that_were_not_measured_are_folded_until_asked_for(folded):
    fold = folded.locator(".fold", has=folded.locator("#latency-single_1"))
    fold.locator("summary").first.click()
    rest = fold.locator("details.rest")
    assert rest.locator("summary").inner_text() == "1 row was not measured in this run"
    unmeasured = rest.locator("table.published tbody tr")
    measured = fold.locator(".inside > .scroll > table.published tbody tr")
    assert measured.count() == 2
    assert measured.first.is_visible()
    assert not unmeasured.first.is_visible()
    assert box_of(measured.last)["y"] < box_of(rest)["y"]
    rest.locator("summary").click()
    assert unmeasured.first.is_visible()


def test_charts_are_drawn_when_their_workload_is_opened(folded):
    charts = folded.locator(".fold .chart").count()
    assert charts > WORKLOADS
    assert undrawn(folded) == charts
    fold = folded.locator(".fold").nth(2)
    fold.locator("summary").first.click()
    assert fold.evaluate("e => e.open")
    fold.locator(".chart svg path").first.wait_for(state="attached")
    settled(folded)
    assert undrawn(folded) == charts - fold.locator(".chart").count()
    open_all(folded)
    assert undrawn(folded) == 0


def test_tables_tell_screen_readers_what_their_parts_are_when_they_are_opened(folded):
    """A phone shows rows as blocks, which are no cells any more; 20,000 cells at once would take a second."""
    unnamed = folded.locator(".values td:not([role=cell])")
    assert unnamed.count() == folded.locator(".values td").count() > 0
    open_all(folded)
    assert unnamed.count() == 0


def test_a_picture_of_the_whole_page_holds_every_chart_that_is_unfolded(folded):
    open_all(folded)
    assert undrawn(folded) == 0
    hidden = "all => all.filter(e => getComputedStyle(e).contentVisibility !== 'visible').length"
    assert folded.locator("main *").evaluate_all(hidden) == 0  # what is out of sight would not be painted


def leads_to(page: Page, anchor: str) -> None:
    """The element is shown, not below the toolbar; a workload is shown with its line."""
    settled(page)
    element = page.locator(f"#{anchor}")
    page.wait_for_function("e => e.getBoundingClientRect().top < innerHeight", arg=element.element_handle())
    assert element.is_visible()
    line = page.locator(f'.workload[data-workload="{anchor}"] > details > summary')
    top = box_of(line if line.count() else element)["y"]
    assert 40 <= top < 900
    inside = page.locator(".fold", has=element)
    assert inside.count() == 0 or undrawn_in(page, anchor) == 0


def undrawn_in(page: Page, anchor: str) -> int:
    return page.locator(f"#{anchor}").evaluate(
        "e => [...e.closest('.fold').querySelectorAll('figure:not([hidden]) .chart')]"
        ".filter(chart => !chart.querySelector('svg, canvas')).length"
    )


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("anchor", ["latency-single_1", ROW, CLAIM])
def test_a_link_from_elsewhere_opens_what_it_leads_to(chromium, quick, anchor, width):
    page = chromium.new_context(viewport={"width": width, "height": 900}).new_page()
    page.goto(f"{quick.as_uri()}#{anchor}")
    page.wait_for_selector(DRAWN, state="attached")
    leads_to(page, anchor)
    assert page.locator(".fold[open]").count() == (0 if anchor == CLAIM else 1)
    page.context.close()


@pytest.mark.parametrize("anchor", ["latency-single_1", ROW, CLAIM])
def test_another_hash_opens_what_it_leads_to(folded, anchor):
    folded.evaluate("hash => { location.hash = hash; }", anchor)
    leads_to(folded, anchor)


def test_the_page_opens_folds_itself_where_a_browser_does_not(folded, quick):
    """Chromium opens them without a script: an address that is only replaced leads it nowhere."""
    folded.evaluate("hash => history.replaceState(null, '', '#' + hash)", ROW)
    settled(folded)
    assert not folded.locator(f"#{ROW}").is_visible()
    folded.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))")
    leads_to(folded, ROW)


def test_a_claim_leads_to_its_row_again_and_again(folded):
    claim = folded.locator(".claim.no").first
    claim.locator("summary").click()
    row = folded.locator(claim.locator(".decided a").get_attribute("href"))
    for _ in range(2):  # the second time, the hash stays as it is
        claim.locator(".decided a").click()
        leads_to(folded, row.get_attribute("id"))
        folded.locator("summary", has_text="plain_0").click()
        assert not row.is_visible()


def test_contents_lead_to_lines_and_open_them(folded):
    folded.locator(".side a", has_text="swept_3").click()
    leads_to(folded, "frameworks-swept_3")


def test_a_hash_of_nobody_does_no_harm(chromium, quick):
    page = chromium.new_context().new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    for anchor in ("", "nobody", "%", "%E0%A4%A"):
        page.goto("about:blank")
        page.goto(f"{quick.as_uri()}#{anchor}")
        page.wait_for_selector(DRAWN, state="attached")
    assert said == []
    assert page.locator(".fold[open]").count() == 0
    page.context.close()


def test_open_all_is_remembered_by_nothing(folded):
    open_all(folded)
    assert folded.locator(".fold[open]").count() == WORKLOADS
    folded.get_by_role("button", name="Close all").click()
    folded.get_by_role("button", name="Open all").wait_for()
    assert folded.locator(".fold[open]").count() == 0
    open_all(folded)
    folded.reload()
    folded.wait_for_selector(DRAWN, state="attached")
    assert folded.locator(".fold[open]").count() == 0


def test_the_filter_opens_what_it_finds_and_folds_it_again(folded):
    folded.locator("summary", has_text="plain_2").click()
    folded.fill("#filter", "fiber_8")
    settled(folded)
    assert folded.locator("section.workload:visible").count() == 2
    assert folded.locator(f"#{ROW}").is_visible()
    folded.fill("#filter", "")
    settled(folded)
    assert folded.locator(".fold[open]").count() == 1
    assert folded.locator("#containers-plain_2").is_visible()


def test_folds_open_and_close_from_the_keyboard_and_show_where_the_focus_is(folded):
    folded.locator("#fold-all").focus()
    folded.keyboard.press("Tab")
    summary = folded.locator(".fold > summary").first
    assert summary.evaluate("e => e === document.activeElement")
    assert summary.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    for opened in (1, 0):
        folded.keyboard.press("Enter")
        assert folded.locator(".fold[open]").count() == opened


def test_paper_has_every_table_and_chart_and_the_screen_its_folds_again(folded, tmp_path):
    folded.evaluate(
        """() => { window.printed = {}; window.addEventListener('beforeprint', () => {
            const closed = [...document.querySelectorAll('details:not([open])')];
            printed.closed = closed.filter(e => !e.closest('.untold')).length;
            const tables = [...document.querySelectorAll('table')].filter(t => !t.closest('.untold'));
            printed.tables = tables.filter(t => t.offsetHeight < 20).length;
            printed.wide = tables.filter(t => t.getBoundingClientRect().right >
                t.parentElement.getBoundingClientRect().right + 1).length;
            printed.undrawn = [...document.querySelectorAll('figure:not([hidden]) .chart')]
                .filter(chart => !chart.querySelector('svg path, canvas')).length; }); }"""
    )
    folded.pdf(path=tmp_path / "quick.pdf", format="A4", print_background=True)
    assert folded.evaluate("window.printed") == {"closed": 0, "tables": 0, "wide": 0, "undrawn": 0}
    settled(folded)
    assert folded.locator("table[style*=zoom]").count() == 0
    assert folded.locator(".fold[open]").count() == 0
    assert height(folded) <= HIGHEST


@pytest.fixture
def unscripted(chromium: Browser, quick: Path) -> Iterator[Page]:
    opened = chromium.new_context(java_script_enabled=False).new_page()
    opened.goto(quick.as_uri())
    yield opened
    opened.context.close()


def test_without_javascript_lines_answer_and_tables_open_by_hand_and_by_a_link(unscripted, quick):
    assert box_of(unscripted.locator(".fold .strip").first)["height"] > 10
    table = unscripted.locator("#containers-plain_1 .values")
    assert not table.is_visible()
    unscripted.locator("summary", has_text="plain_1").click()
    assert "a_contender_of_boost_fiber_4" in table.inner_text()
    assert not unscripted.locator("#fold-all").is_visible()
    for anchor in ("latency-single_1", ROW):
        unscripted.goto("about:blank")
        unscripted.goto(f"{quick.as_uri()}#{anchor}")
        unscripted.locator(f"#{anchor}").wait_for()


def test_without_javascript_paper_has_every_table(unscripted):
    unscripted.emulate_media(media="print")
    tables = unscripted.locator(".fold table.values, .fold table.percentiles")
    assert tables.count() == WORKLOADS + 3
    for number in range(tables.count()):
        assert box_of(tables.nth(number))["height"] > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_scrolls_sideways_folded_or_not(chromium, quick, scheme):
    page = open_report(chromium, quick, 390, 844, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    strip, answer = page.locator(".fold .strip").first, page.locator(".fold .answer").first
    assert box_of(strip)["y"] >= box_of(answer)["y"] + box_of(answer)["height"]
    assert box_of(page.locator(".toolbar"))["height"] < 70  # one line: it stays in sight
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.context.close()
