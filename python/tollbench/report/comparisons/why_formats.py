"""The formats in which explanations are written to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tollbench.compare.explanations import Explanations
from tollbench.report.comparisons import why_html, why_markdown
from tollbench.text import escaped

RENDERERS: Mapping[str, Callable[[Explanations], str]] = {
    "html": why_html.render,
    "json": lambda found: escaped(found.model_dump_json(indent=2)),
    "markdown": why_markdown.render,
}
