"""The HTML report: one file that needs no network, no server and, for its tables, no JavaScript.

Every text goes through jinja2's escaping or into a packed block that cannot end early; scripts write text
with `textContent` only. A Content-Security-Policy forbids every connection and every script but the two
embedded ones, which it names by their hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from tollbench import numbers, text
from tollbench.analysis.results import Results
from tollbench.home import PACKAGE
from tollbench.report import embedded
from tollbench.report.drawing import drawing
from tollbench.report.page_files import PageFiles
from tollbench.report.sections import page

FILES = PageFiles(
    PACKAGE / "report" / "page",
    # Without its indentation, which would be a fifth of the page.
    lambda template: "\n".join(line.lstrip() for line in template.splitlines()),
)
STYLES = ("page.css", "claims.css")


def render(results: Results) -> str:
    """The whole page as one text.

    Raises TollError where the checkout lacks the chart library.
    """
    style, behaviour = "".join(map(FILES.text, STYLES)), embedded.behaviour(FILES, "page.js")
    sections = page(results)
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
            policy=embedded.policy(behaviour),
            style=Markup(style),
            behaviour=Markup(behaviour),
            charts=Markup(embedded.packed_chart_library()),
            data=Markup(embedded.packed_json(drawing(results))),
            labels=Markup(labels(sections["workloads"])),
            **sections,
        )
    )


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


@cache
def _templates() -> Environment:
    found = FILES.templates
    found.filters |= {"commands": text.commands, "duration": numbers.duration, "breakable": breakable}
    return found
