"""The HTML report: one file that needs no network, no server and, for its tables, no JavaScript.

Every text goes through jinja2's escaping or into a JSON block that cannot end early; scripts write text with
`textContent` only. A Content-Security-Policy forbids every connection and every script but the two embedded
ones, which it names by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from tollbench import numbers, text
from tollbench.analysis.results import Results
from tollbench.errors import TollError
from tollbench.home import PACKAGE, SOURCES
from tollbench.report.drawing import drawing
from tollbench.report.page_files import PageFiles
from tollbench.report.sections import page

FILES = PageFiles(
    PACKAGE / "report" / "page",
    # Without its indentation, which would be a fifth of the page.
    lambda template: "\n".join(line.lstrip() for line in template.splitlines()),
)
STYLES = ("page.css", "claims.css")
ECHARTS = SOURCES / "third_party" / "echarts" / "echarts.min.js"


def render(results: Results) -> str:
    """The whole page as one text.

    Raises TollError where the checkout lacks the chart library.
    """
    style, behaviour, charts = "".join(map(FILES.text, STYLES)), FILES.text("page.js"), chart_library()
    sections = page(results)
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            policy=_policy(charts, behaviour),
            style=Markup(style),
            behaviour=Markup(behaviour),
            charts=Markup(charts),
            data=Markup(script_json(drawing(results))),
            labels=Markup(labels(sections["workloads"])),
            **sections,
        )
    )


def script_json(value: Any) -> str:
    """JSON that stays data inside <script>: no "<", ">", "&" or line separator survives unescaped."""
    written = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def labels(sections: Iterable[Mapping[str, Any]]) -> str:
    """What each column's cells are called on a phone, as custom properties: once a table, not a cell."""
    rules = "".join(
        f'\n[id="{section["id"]}"] .percentiles td:nth-of-type({place}){{--label:{css_string(title)}}}'
        for section in sections
        if section["percentiles"]
        for place, title in enumerate([*section["percentiles"]["titles"], "Operations"], 1)
    )
    return rules + "".join(
        f'\n[id="{section["id"]}"] .k-{key}{{--label:{css_string(label)};--unit:{css_string(unit)}}}'
        for section in sections
        for key, label, unit in section["table"]["labels"]
    )


def css_string(text: str) -> str:
    """A string that stays one inside <style>: only letters, digits and harmless marks stand unescaped."""
    return '"' + "".join(c if c.isalnum() or c in " ,.%()/:-" else f"\\{ord(c):x} " for c in text) + '"'


def breakable(name: str) -> Markup:
    """A name, escaped, that a narrow column cuts after "_" rather than inside a word."""
    return Markup("_<wbr>").join(name.split("_"))


def _policy(*scripts: str) -> str:
    """Nothing may be loaded or connected to; only these scripts may run. Charts need inline styles."""
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def chart_library() -> str:
    """ECharts, as it is embedded. Raises TollError where it is not there."""
    try:
        return ECHARTS.read_text(encoding="utf-8").replace("\r\n", "\n").strip()
    except OSError as error:
        raise TollError(
            f"the chart library is not there: {ECHARTS} ({error.strerror})",
            "in a checkout: git checkout -- third_party/echarts; elsewhere install tollbench again",
        ) from error


@cache
def _templates() -> Environment:
    found = FILES.templates
    found.filters |= {"commands": text.commands, "duration": numbers.duration, "breakable": breakable}
    return found
