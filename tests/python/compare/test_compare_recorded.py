"""The same seeds give the same launches and verdicts as before both engines stood on one trunk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_comparisons import everything

RECORDED = json.loads(Path(__file__).with_name("recorded_comparisons.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return everything()


@pytest.mark.parametrize("part", sorted(RECORDED))
def test_the_same_seeds_give_the_same_verdicts(part: str, found: dict[str, object]) -> None:
    assert json.loads(json.dumps(found[part])) == RECORDED[part]
