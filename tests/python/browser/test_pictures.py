"""The README shows the report as it is drawn now."""

from pictures import COMMAND, DRAWN_BY, PICTURE, ROOT, page_digest


def test_the_picture_is_newer_than_the_page() -> None:
    assert DRAWN_BY.read_text().strip() == page_digest(), (
        f"the page is drawn otherwise than when {PICTURE.relative_to(ROOT)} was taken: `{COMMAND}` takes it"
        " anew, with --as-it-is it says that somebody has looked and it shows the same"
    )


def test_the_readme_shows_it() -> None:
    assert f"({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
