"""The JSON schemas of what is found: `python -m tollbench.compare.schema schemas/NAME.schema.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from tollbench.compare.trials import Trust
from tollbench.compare.verdicts import Comparisons

MODELS: dict[str, type[BaseModel]] = {"compare": Comparisons, "trust": Trust}


def schema_text(name: str = "compare") -> str:
    """schemas/NAME.schema.json as it must be for the current model."""
    schema = MODELS[name].model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        path = Path(sys.argv[1])
        path.write_text(schema_text(path.name.removesuffix(".schema.json")), encoding="utf-8")
    else:
        sys.stdout.write(schema_text())
