"""The formats in which an explanation is written to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tollbench.compare.explanations import Explanations

RENDERERS: Mapping[str, Callable[[Explanations], str]] = {
    "json": lambda found: found.model_dump_json(indent=2),
}
