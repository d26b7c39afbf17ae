"""The JSON schemas of what toll prints for programs, which the models define.

`PYTHONPATH=python .venv/bin/python tests/python/report/schemas.py` writes them all into the folder schemas/
of the checkout it is run in; with NAME FILE behind it, it writes one to a file, and NAME alone prints it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from tollbench.analysis.results import Results
from tollbench.analysis.several_results import SeveralRuns
from tollbench.compare.explanations import Explanations
from tollbench.compare.rebuilds import Rebuilds
from tollbench.compare.trials import Trust
from tollbench.compare.verdicts import Comparisons
from tollbench.fleet.agreement import FleetComparison
from tollbench.fleet.fleets import FleetRun
from tollbench.history.bisections import Bisections
from tollbench.history.histories import Histories
from tollbench.lake.lake_answers import LakeAnswers

MODELS: Mapping[str, type[BaseModel]] = {
    "report": Results,
    "report-several": SeveralRuns,
    "compare": Comparisons,
    "trust": Trust,
    "trust-rebuild": Rebuilds,
    "why": Explanations,
    "bisect": Bisections,
    "history": Histories,
    "lake": LakeAnswers,
    "fleet": FleetRun,
    "fleet-compare": FleetComparison,
}


def schema_text(name: str) -> str:
    """schemas/NAME.schema.json as it must be for the current model."""
    schema = MODELS[name].model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(head | schema, indent=2, ensure_ascii=False) + "\n"


def main(name: str = "", file: str = "") -> None:
    """Writes one schema, or all that are made from models."""
    if not name:
        for each in MODELS:
            Path(f"schemas/{each}.schema.json").write_text(schema_text(each), encoding="utf-8")
    elif file:
        Path(file).write_text(schema_text(name), encoding="utf-8")
    else:
        sys.stdout.write(schema_text(name))


if __name__ == "__main__":
    main(*sys.argv[1:])
