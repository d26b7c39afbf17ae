"""The README shows the report as it is drawn now."""

import pytest
from pictures import COMMAND, DRAWN_BY, PICTURE, ROOT, page_digest

from tollbench import numbers
from tollbench.report import html, sections
from tollbench.report.page_files import PageFiles


def test_the_picture_is_newer_than_the_page() -> None:
    assert DRAWN_BY.read_text().strip() == page_digest(), (
        f"the page is drawn otherwise than when {PICTURE.relative_to(ROOT)} was taken: `{COMMAND}` takes it"
        " anew, with --as-it-is it says that somebody has looked and it shows the same"
    )


def test_the_readme_shows_it() -> None:
    assert f"({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
    assert PICTURE.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("where", ["the Python that words it", "the Python that fills it", "the style"])
def test_whatever_draws_the_page_counts(monkeypatch, where) -> None:
    before = page_digest()
    assert page_digest() == before
    if where == "the Python that words it":
        monkeypatch.setattr(numbers, "interval", lambda *_: "[0, 1]")
    elif where == "the Python that fills it":
        made = sections.page
        monkeypatch.setattr(html, "page", lambda results: made(results) | {"machine_name": "Another"})
    else:
        read = PageFiles.text
        monkeypatch.setattr(PageFiles, "text", lambda self, name: read(self, name).replace("13px", "14px"))
    assert page_digest() != before
