"""Several runs for programs: exactly schemas/report-several.schema.json."""

from __future__ import annotations

from tollbench.analysis.several_results import SeveralRuns


def render(found: SeveralRuns) -> str:
    """One line of JSON."""
    return found.model_dump_json(by_alias=True)
