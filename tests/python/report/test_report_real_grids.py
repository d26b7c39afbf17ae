"""Grids of real machines through the whole report, where TOLL_TEST_DATA names them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sample_results import friendly_results

from tollbench.analysis.grid import make_grid
from tollbench.analysis.results import Results
from tollbench.report import html, markdown

FOLDER = Path(os.environ.get("TOLL_TEST_DATA", "")) / "core-to-core"
FILES = sorted(FOLDER.glob("*.csv")) if os.environ.get("TOLL_TEST_DATA") else []


def with_grid(file: Path) -> Results:
    """A report whose first workload has the file's grid."""
    values = np.genfromtxt(file, delimiter=",")
    cells = {(int(a), int(b)): float(values[a, b]) for a, b in np.argwhere(np.isfinite(values))}
    grid = make_grid(
        range(len(values)), cells, title=file.stem, unit="ns", contender="load_store", launches=1
    )
    results = friendly_results()
    first = results.workloads[0].model_copy(update={"grids": [grid]})
    return results.model_copy(update={"workloads": [first, *results.workloads[1:]]})


@pytest.mark.skipif(not FILES, reason="TOLL_TEST_DATA names no folder with core-to-core/*.csv")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_real_grid_is_drawn_with_its_sentence(file: Path) -> None:
    results = with_grid(file)
    said = results.workloads[0].grids[0].sentence
    assert said
    page = html.render(results)
    assert said in page
    assert file.stem in page
    assert len(page) < 5_000_000
    assert said in markdown.render(results)
