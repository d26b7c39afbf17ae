"""What pages run: their own scripts, the chart library, and the data that both draw.

A page is one file. Its largest parts, the chart library and what is drawn, stand in it as packed text (zlib,
base64), which a browser unpacks while it loads: a report of the whole catalogue is a quarter smaller.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from typing import Any

from tollbench.errors import TollError
from tollbench.home import PACKAGE, SOURCES
from tollbench.report.page_files import PageFiles

ECHARTS = SOURCES / "third_party" / "echarts" / "echarts.min.js"
_OWN = PageFiles(PACKAGE / "report" / "page")


def behaviour(files: PageFiles, name: str) -> str:
    """A page's own script, after what it shares with others: how to unpack, wait, and say what failed."""
    return _OWN.text("unpack.js") + files.text(name)


def packed(text: str) -> str:
    """As a `<script type="text/plain">` holds it: base64 alone, so it cannot end early."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpacked(text: str) -> str:
    """What `packed` was given."""
    return zlib.decompress(base64.b64decode(text)).decode()


def packed_json(value: Any) -> str:
    """What a page draws, as it stands in it. Raises ValueError for numbers that are not finite."""
    return packed(json.dumps(value, separators=(",", ":"), allow_nan=False))


def policy(own: str) -> str:
    """Nothing may be loaded or connected to; only the page's own script and the chart library may run.

    The library's hash is that of what is unpacked. Charts need inline styles.
    """
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in (chart_library(), own))
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def chart_library() -> str:
    """ECharts, as it runs. Raises TollError where it is not there."""
    try:
        return ECHARTS.read_text(encoding="utf-8").replace("\r\n", "\n").strip()
    except OSError as error:
        raise TollError(
            f"the chart library is not there: {ECHARTS} ({error.strerror})",
            "in a checkout: git checkout -- third_party/echarts; elsewhere install tollbench again",
        ) from error


@cache
def packed_chart_library() -> str:
    """ECharts, as it stands in a page. Raises TollError where it is not there."""
    return packed(chart_library())
