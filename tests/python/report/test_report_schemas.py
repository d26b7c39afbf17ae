"""The committed JSON schemas are those that the code defines."""

from __future__ import annotations

from pathlib import Path

import pytest
from schemas import MODELS, main, schema_text

COMMITTED = Path(__file__).parents[3] / "schemas"


@pytest.mark.parametrize("name", MODELS)
def test_the_committed_schema_is_current(name: str) -> None:
    committed = (COMMITTED / f"{name}.schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(name), (
        "run: PYTHONPATH=python .venv/bin/python tests/python/report/schemas.py"
    )


def test_all_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schemas").mkdir()
    main()
    written = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "schemas").iterdir()}
    assert written == {f"{name}.schema.json": schema_text(name) for name in MODELS}


def test_one_is_written_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main("trust", str(tmp_path / "x.json"))
    main("trust")
    written = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert capsys.readouterr().out == written == schema_text("trust")
