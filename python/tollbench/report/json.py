"""JSON: `Results` as it is, the contract that scripts rely on (schemas/report.schema.json)."""

from __future__ import annotations

from tollbench.analysis.results import Results
from tollbench.text import escaped


def render(results: Results) -> str:
    """One JSON object and a line break. Numbers are unrounded, in the row's `unit` per `per`."""
    return escaped(results.model_dump_json(by_alias=True)) + "\n"
