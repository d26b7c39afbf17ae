"""Takes a picture of a report: `python screenshot.py FILE.html OUT.png [--width N] [--dark]`.

Drives Debian's chromium through Playwright. Nothing is loaded from anywhere but the file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
MARGIN = 16  # CSS pixels around an element that is taken alone
INSTALL = "sudo apt-get install --no-install-recommends chromium"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's chromium, headless. Raises RuntimeError with the command that installs it."""
    if not CHROMIUM.exists():
        raise RuntimeError(f"{CHROMIUM} is missing; install it with: {INSTALL}")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        try:
            yield opened
        finally:
            opened.close()


def open_report(opened: Browser, file: Path, width: int = 1280, height: int = 900, **context: Any) -> Page:
    """A page on which every chart has been drawn."""
    page = opened.new_context(viewport={"width": width, "height": height}, **context).new_page()
    page.goto(file.resolve().as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    return page


def unfold(page: Page, selector: str) -> None:
    """Opens what the element lies in, and the workload that it is, and waits for the charts there."""
    page.locator(selector).first.evaluate(
        "e => { e.style.visibility = 'visible';"
        " for (let at = e; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;"
        " e.querySelectorAll(':scope > .fold').forEach(fold => { fold.open = true; });"
        " return new Promise(done => requestAnimationFrame(() => setTimeout(done, 0))); }"
    )
    page.wait_for_selector("html[data-drawn=yes]", state="attached")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1280, help="of the window, in CSS pixels")
    parser.add_argument(
        "--height", type=int, help="cut the picture here; all of the page or element where it is left out"
    )
    parser.add_argument("--dark", action="store_true", help="as a reader sees it whose system is dark")
    parser.add_argument("--scale", type=float, default=1.0, help="device pixels per CSS pixel")
    parser.add_argument("--at", help="CSS selector of the element to take alone")
    chosen = parser.parse_args(arguments)
    with browser() as opened:
        page = open_report(
            opened, chosen.report, chosen.width, chosen.height or 900, device_scale_factor=chosen.scale,
            color_scheme="dark" if chosen.dark else "light",
        )  # fmt: skip
        if chosen.at:
            # The toolbar would lie over the element, and its neighbours would look into the picture's margin.
            page.add_style_tag(content=".toolbar, .workload, [data-topic] > h2 { visibility: hidden }")
            unfold(page, chosen.at)
            box = page.locator(chosen.at).first.bounding_box()
            if box is None:
                parser.error(f"nothing visible in {chosen.report} is {chosen.at}")
            height = min(chosen.height or box["height"], box["height"])
            clip = {"x": box["x"] - MARGIN, "y": max(0, box["y"] - MARGIN),
                    "width": box["width"] + 2 * MARGIN, "height": height + 2 * MARGIN}  # fmt: skip
            page.screenshot(path=str(chosen.picture), full_page=True, clip=clip)  # type: ignore[arg-type]
        else:
            page.screenshot(path=str(chosen.picture), full_page=chosen.height is None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
