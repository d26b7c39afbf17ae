"""The page of a comparison, as a browser shows and prints it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from playwright.sync_api import Browser

from tollbench.compare.counters import Amount
from tollbench.compare.counts import change
from tollbench.compare.verdicts import Comparison, Comparisons, Verdict
from tollbench.report.comparisons import comparison_html

AMOUNT = 987_654


def page_with_equal_counts() -> str:
    amounts = [[Amount(Fraction(AMOUNT))]] * 2
    row = Comparison(
        benchmark="sort", a="old", b="new", ratio=1.0, low=0.99, high=1.01, level=0.95,
        verdict=Verdict.NO_DIFFERENCE, launches=30, seconds=2.5, reason="", regression=False, a_ns=1500.0,
        b_ns=1500.0, counts=(change("instructions", *amounts, labels=("old", "new"), level=0.95),),
    )  # fmt: skip
    found = Comparisons(
        comparisons=(row,), kind="command", sides=("old", "new"), level=0.95, threshold=0.01, seconds=9.0
    )
    return comparison_html.render(found)


def test_what_is_folded_is_on_paper_too(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "comparison.html"
    file.write_text(page_with_equal_counts())
    page = chromium.new_page()
    page.goto(file.as_uri())
    inside = page.locator("details.equal table")
    assert "987,654" in inside.text_content()  # type: ignore[operator]
    seen = "e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height"
    assert not inside.evaluate(seen)
    page.emulate_media(media="print")
    assert inside.evaluate(seen) > 10
    page.close()
