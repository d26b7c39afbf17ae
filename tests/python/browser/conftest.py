"""One browser for all tests here; without Debian's chromium they fail and say how to install it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "report")]

import screenshot  # noqa: E402
from playwright.sync_api import Browser  # noqa: E402


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not screenshot.CHROMIUM.exists():
        pytest.fail(f"{screenshot.CHROMIUM} is missing; install it with: {screenshot.INSTALL}")
    with screenshot.browser() as opened:
        yield opened
