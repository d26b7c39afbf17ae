"""What tests do with a report that a browser shows: wait for it, open it, look where things stand."""

from __future__ import annotations

from playwright.sync_api import FloatRect, Locator, Page

DRAWN = "html[data-drawn=yes]"


def pause(page: Page, milliseconds: int) -> None:
    """By the page's own timers, which fire in order: those that it has set before are through, however busy
    the machine is. A resize is told with the next frame."""
    page.evaluate(
        "ms => new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
        "() => setTimeout(done, ms))))",
        milliseconds,
    )


def settled(page: Page) -> None:
    pause(page, 200)  # the filter waits for a pause in typing, a resize for its end
    page.wait_for_selector(DRAWN, state="attached")


def open_all(page: Page) -> Page:
    """Unfolds all workloads, as a reader does who wants to see everything."""
    page.get_by_role("button", name="Open all").click()
    page.get_by_role("button", name="Close all").wait_for()
    settled(page)
    return page


def box_of(element: Locator) -> FloatRect:
    """Where an element that is shown stands on the page."""
    box = element.bounding_box()
    assert box is not None, f"{element} is not shown"
    return box
