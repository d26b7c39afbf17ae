"""Several runs in each format: what stands there, and that nothing in it can act."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from made_runs import Made, make_run
from rich.console import Console
from test_report_html import Document

from tollbench.analysis.several import several
from tollbench.analysis.several_results import SeveralRuns
from tollbench.report.several import several_html, several_json, several_markdown, several_terminal
from tollbench.report.several.several_html import RatioAxis
from tollbench.store import RunFile
from tollbench.words import Status

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"
HOSTILE = '</td><script>alert(1)</script>"\x1b[31m\u202e'


def made(folder: Path, name: str, factor: float) -> Path:
    rng = np.random.default_rng(int(100 * factor))
    cases = [
        Made(contender, list(value * np.exp(rng.normal(0.0, 0.01, 30))))
        for contender, value in (("a", 10.0), ("b", 20.0 * factor), (HOSTILE, 40.0))
    ]
    return make_run(folder / f"{name}.toll", cases, name=name, machine={"cpu": HOSTILE, "cpus": 2})


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SeveralRuns:
    folder = tmp_path_factory.mktemp("several")
    with (
        RunFile.open(made(folder, "monday", 1.0)) as one,
        RunFile.open(made(folder, "tuesday", 2.0)) as other,
    ):
        return several([one, other])


def test_the_page_has_every_ratio_and_nothing_that_acts(found: SeveralRuns) -> None:
    page = Document(several_html.render(found))
    assert not page.all("script")
    assert [meta["content"] for meta in page.all("meta") if meta.get("http-equiv")] == [
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    ]
    assert "1 ratio differs between them" in page.text
    assert "monday" in page.text
    assert "tuesday" in page.text
    assert "2.0" in page.text
    assert "<script>alert(1)</script>" in page.text  # as text
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    dots = [tag for tag in page.all("i") if tag.get("class") == "dot"]
    assert len(dots) == 3 * 2


def test_dots_lie_where_the_axis_says() -> None:
    axis = RatioAxis(0.5, 2.0)
    assert [axis.at(ratio) for ratio in (0.5, 1.0, 2.0, 5.0)] == [0.0, 50.0, 100.0, 100.0]
    for low, high in ((0.9, 1.1), (0.01, 1.03), (0.97, 4000.0), (1e-4, 1e5)):
        ticks = RatioAxis(low, high).ticks()
        assert "1×" in [text for _, text in ticks]
        assert 1 <= len(ticks) <= 6


@pytest.mark.parametrize("width", [60, 100, 200])
def test_the_terminal_shows_ratios_and_times(found: SeveralRuns, width: int) -> None:
    text = io.StringIO()
    several_terminal.render(found, Console(file=text, width=width))
    told = text.getvalue()
    assert "Ratios are to a of the same run." in told
    assert "differ" in told
    assert "\x1b[31m" not in told
    assert max(map(len, told.splitlines())) <= max(width, 75)


def test_markdown_escapes_names(found: SeveralRuns) -> None:
    told = several_markdown.render(found)
    assert told.startswith("<!-- toll report of several runs -->\n")
    assert "<script>" not in told
    assert told.count("**(differ)**") == 1


def test_what_has_no_number_says_why_in_every_format(tmp_path: Path) -> None:
    runs = []
    for name in ("monday", "tuesday"):
        lacking = Made("b", [], status=Status.SKIPPED, reason=f"no library <b>\x1b {name}")
        runs.append(make_run(tmp_path / f"{name}.toll", [Made("a", [10.0] * 8), lacking], name=name))
    with RunFile.open(runs[0]) as one, RunFile.open(runs[1]) as other:
        found = several([one, other])
    shown = io.StringIO()
    several_terminal.render(found, Console(file=shown, width=120))
    assert "B: b: skipped. no library <b>\ufffd tuesday" in shown.getvalue()
    assert "A: b: skipped. no library <b>\ufffd monday" in Document(several_html.render(found)).text
    assert "> A: b: skipped. no library \\<b\\>\ufffd monday" in several_markdown.render(found)


def test_json_is_what_the_schema_says(found: SeveralRuns) -> None:
    told = json.loads(several_json.render(found))
    jsonschema.validate(told, json.loads((SCHEMAS / "report-several.schema.json").read_text()))
    assert told["schema"] == "toll-report-several/1"
    assert [one["letter"] for one in told["runs"]] == ["A", "B"]
