"""The formats in which a comparison is written to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import SEEK_END, StringIO

from rich.console import Console

from tollbench.compare.verdicts import Comparisons
from tollbench.report.comparisons import comparison_html, comparison_markdown, comparison_terminal, junit
from tollbench.text import escaped


def _as_text(found: Comparisons) -> str:
    """The terminal's table for a file: no colours, a fixed width, and a first line that says who made it."""
    text = StringIO("toll report: a comparison\n")
    text.seek(0, SEEK_END)
    comparison_terminal.show(found, Console(file=text, width=110))
    return text.getvalue()


RENDERERS: Mapping[str, Callable[[Comparisons], str]] = {
    "html": comparison_html.render,
    "json": lambda found: escaped(found.model_dump_json(indent=2)),
    "junit": junit.render,
    "markdown": comparison_markdown.render,
    "terminal": _as_text,
}
