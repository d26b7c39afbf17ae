"""The committed JSON schema is the one that the code defines."""

from __future__ import annotations

from pathlib import Path

from tollbench.analysis.schema import schema_text

COMMITTED = Path(__file__).parents[3] / "schemas/report.schema.json"


def test_the_committed_schema_is_current() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == schema_text(), (
        "run: python -m tollbench.analysis.schema schemas/report.schema.json"
    )
