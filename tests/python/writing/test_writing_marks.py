"""Each kind of file that toll writes bears the mark that a later writing of it looks for, and no other."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tollbench.compare import Comparisons
from tollbench.compare.explanations import Explanations
from tollbench.report.comparisons import comparison_formats, why_formats
from tollbench.writing import Mark
from tollbench.writing.marks import (
    BASELINE,
    CONTENDER,
    OF_COMPARISON,
    OF_EXPLANATION,
    OF_EXPORT,
    OF_HISTORY,
    OF_RUN,
    OF_SEARCH,
    RAW_FILE,
    RUN_FILE,
    csv_of,
    parquet_of,
)

ALL = (
    *OF_RUN.values(), *OF_COMPARISON.values(), *OF_EXPLANATION.values(), *OF_EXPORT.values(), BASELINE,
    *OF_SEARCH.values(), *OF_HISTORY.values(),
    parquet_of("cases"), parquet_of("samples"), csv_of("cases", ["workload", "kind"]),
)  # fmt: skip


def bears(path: Path, mark: Mark) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return mark.on(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"PAR1", b"PAR1" * 4, b"\xff" * 20, b"<!doctype html>\n<html>", b"{"]
)
@pytest.mark.parametrize("mark", [*ALL, RAW_FILE, RUN_FILE, CONTENDER], ids=lambda mark: mark.what)
def test_what_bears_no_mark_is_of_nobody(tmp_path: Path, mark: Mark, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert not bears(path, mark)


@pytest.mark.parametrize("mark", [mark for mark in ALL if mark.begins], ids=lambda mark: mark.what)
def test_a_file_that_quotes_a_mark_is_not_taken_for_its_own(tmp_path: Path, mark: Mark) -> None:
    plain = {rb"\s*": b"\n", rb"\r?\n": b"\n", rb"\n": b"\n", b" ?": b""}
    quoted = mark.begins
    for pattern, text in plain.items():
        quoted = quoted.replace(pattern, text)
    quoted = re.sub(rb"\\(.)", rb"\1", quoted)
    path = tmp_path / "x"
    path.write_bytes(quoted + b" and more")
    assert bears(path, mark)
    path.write_bytes(b"As toll writes it: " + quoted)
    assert not bears(path, mark)


def test_a_table_is_known_by_its_foot_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    foot = b"..toll_export\x18\x05cases.."
    end = len(foot).to_bytes(4, "little") + b"PAR1"
    path.write_bytes(b"PAR1" + foot + end)
    assert bears(path, parquet_of("cases"))
    assert not bears(path, parquet_of("launches"))
    for broken in (b"PAR1" + foot, foot + end, b"PAR1" + foot + b"\xff\xff\xff\xffPAR1", b"PAR1" + end):
        path.write_bytes(broken)
        assert not bears(path, parquet_of("cases"))
    path.write_bytes(b"PAR1" + foot + b"data" + (4).to_bytes(4, "little") + b"PAR1")
    assert not bears(path, parquet_of("cases")), "data that quotes it"


SIDES = ("./a", "./b")
NOTHING_FOUND = Comparisons(
    comparisons=(), kind="command", sides=SIDES, level=0.95, threshold=0.01, seconds=0.0
)
NOTHING_EXPLAINED = Explanations(kind="command", sides=SIDES, explanations=())
WRITTEN = {
    **{mark: comparison_formats.RENDERERS[form](NOTHING_FOUND) for form, mark in OF_COMPARISON.items()},
    **{mark: why_formats.RENDERERS[form](NOTHING_EXPLAINED) for form, mark in OF_EXPLANATION.items()},
}


@pytest.mark.parametrize("mark", WRITTEN, ids=lambda mark: mark.what)
def test_comparisons_and_explanations_bear_their_marks(tmp_path: Path, mark: Mark) -> None:
    path = tmp_path / "x"
    path.write_text(WRITTEN[mark])
    assert [each for each in ALL if bears(path, each)] == [mark]
