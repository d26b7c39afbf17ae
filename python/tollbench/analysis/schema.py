"""The JSON schema of `Results`: `python -m tollbench.analysis.schema FILE` writes it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tollbench.analysis.results import Results


def schema_text() -> str:
    """schemas/report.schema.json as it must be for the current `Results`."""
    schema = Results.model_json_schema(by_alias=True, mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
    else:
        sys.stdout.write(schema_text())
