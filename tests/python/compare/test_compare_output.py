"""What was found, in every format; names come from other people's executables and are trusted nowhere."""

from __future__ import annotations

import math
import random
import re
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tollbench.compare import Comparison, Comparisons, Lacking, Verdict
from tollbench.report.comparisons import comparison_html as html
from tollbench.report.comparisons import comparison_markdown as markdown
from tollbench.report.comparisons import comparison_terminal as terminal
from tollbench.report.comparisons import junit
from tollbench.report.comparisons.comparison_lines import change, headline, lines, time

HOSTILE = "<script>alert(1)</script> | `x` @you \x1b[31m\u202e"


def item(benchmark: str, verdict: Verdict, ratio: float | None = 1.02, **more: Any) -> Comparison:
    values: dict[str, Any] = {
        "benchmark": benchmark,
        "a": "old",
        "b": "new",
        "ratio": ratio,
        "low": ratio and ratio * 0.99,
        "high": ratio and ratio * 1.01,
        "level": 0.95,
        "verdict": verdict,
        "launches": 30,
        "seconds": 2.5,
        "reason": f"reason of {benchmark}",
        "regression": False,
        "a_ns": ratio and 1500.0,
        "b_ns": ratio and 1500.0 * ratio,
    }
    return Comparison(**values | more)


def found(*items: Comparison, sides: tuple[str, ...] = ("old", "new"), **more: Any) -> Comparisons:
    return Comparisons(
        comparisons=items, kind="command", sides=sides, level=0.95, threshold=0.01, seconds=9.0, **more
    )


ALL = found(
    item("same", Verdict.NO_DIFFERENCE, 1.0),
    item("quick", Verdict.FASTER, 0.5),
    item("open", Verdict.INCONCLUSIVE, 1.001, low=None, high=None),
    item("broken", Verdict.FAILED, None),
    item("a bit", Verdict.SLOWER, 1.004),
    item("bad", Verdict.SLOWER, 1.2, regression=True),
    lacking=(Lacking(benchmark="gone", missing_in=("new",)),),
)


def as_terminal(comparisons: Comparisons, width: int = 120) -> str:
    text = StringIO()
    terminal.show(comparisons, Console(file=text, width=width))
    return text.getvalue()


def test_regressions_stand_first_and_equal_rows_last() -> None:
    assert [line.benchmark for line in lines(ALL)] == ["bad", "a bit", "broken", "open", "quick", "same"]


def test_the_headline_counts() -> None:
    assert headline(ALL) == (
        "1 regression beyond 1.0 % (2 slower, 1 failed, 1 inconclusive, 1 faster, 1 no difference)"
    )
    assert headline(found(item("x", Verdict.NO_DIFFERENCE))) == (
        "no regression beyond 1.0 % found (1 no difference)"
    )
    assert headline(found()) == "nothing was compared"
    assert headline(found(item("x", Verdict.FAILED))) == "nothing was compared (1 failed)"


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.0213, "+2.1 %"), (0.5, "−50 %"), (1.0004, "+0.04 %"), (None, "?"), (3.0, "+200 %")]
)
def test_changes(ratio: float | None, text: str) -> None:
    assert change(ratio) == text


def test_times_have_a_unit_that_fits() -> None:
    assert (time(3.21), time(1500.0), time(2.5e9), time(None)) == ("3.210 ns", "1.500 µs", "2.500 s", "–")


@pytest.mark.parametrize(
    ("ratio", "half", "a_ns", "told"),
    [
        (1.0914, 0.01, 3573.0, ("3.57 µs", "3.90 µs")),
        (1.0914, 0.1, 3573.0, ("3.57 µs", "3.90 µs")),
        (1.0004, 0.0001, 3573.0, ("3.5730 µs", "3.5744 µs")),
        (1.1, 0.01, 950.0, ("950 ns", "1.045 µs")),  # in two units, to the same place
        (2270.0, 40.0, 3.573, ("3.57 ns", "8.11 µs")),
        (0.0004, 0.00001, 8e6, ("8.00 ms", "3.20 µs")),
        (1.02, None, 3573.0, ("3.57 µs", "3.64 µs")),
        (None, None, 3573.0, ("3.57 µs", "–")),
        (1.02, 0.001, 1e-10, ("1e-10 ns", "1.02e-10 ns")),
    ],
)
def test_both_times_have_the_digits_that_the_interval_supports(
    ratio: float | None, half: float | None, a_ns: float, told: tuple[str, str]
) -> None:
    low, high = (None, None) if ratio is None or half is None else (ratio - half, ratio + half)
    row = item("x", Verdict.SLOWER, ratio, low=low, high=high, a_ns=a_ns, b_ns=ratio and a_ns * ratio)
    (line,) = lines(found(row))
    assert (line.a_time, line.b_time) == told
    comment = markdown.render(found(row)).replace("\\", "")
    for text in (as_terminal(found(row)), comment, html.render(found(row))):
        assert all(each in text for each in told)


def test_times_tell_the_change_that_stands_beside_them() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        ratio, a_ns = math.exp(draw.gauss(0, 0.3)), 10 ** draw.uniform(0, 9)
        width = 10 ** draw.uniform(-4, -1)
        low, high = ratio * (1 - width), ratio * (1 + width)
        row = item("x", Verdict.SLOWER, ratio, low=low, high=high, a_ns=a_ns, b_ns=a_ns * ratio)
        (line,) = lines(found(row))
        a, b = (in_ns(text) for text in (line.a_time, line.b_time))
        assert abs(b / a - ratio) < 0.5 * (high - low)
        assert not (low > 1.0 and b <= a)
        assert not (high < 1.0 and b >= a)


def in_ns(text: str) -> float:
    number, unit = text.split()
    return float(number.replace(",", "")) * {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


@pytest.mark.parametrize("width", [70, 120])
def test_the_terminal_has_every_row_and_reason(width: int) -> None:
    text = as_terminal(ALL, width)
    for row in ALL.comparisons:
        assert f"{row.benchmark}: {row.reason}" in text
    assert "REGRESSION" in text
    assert "gone is missing in new and was not compared." in text
    assert text.rstrip().endswith("no difference)")


def test_an_interrupted_comparison_says_so() -> None:
    for text in (as_terminal(found(interrupted=True)), markdown.render(found(interrupted=True))):
        assert "interrupted" in text


def test_three_sides_have_a_column() -> None:
    rows = (item("x", Verdict.SLOWER), item("x", Verdict.FASTER, 0.9, b="third"))
    text = as_terminal(found(*rows, sides=("old", "new", "third")))
    assert "x: third: reason of x" in text
    assert "third" in html.render(found(*rows, sides=("old", "new", "third")))


def test_junit_counts_what_ci_systems_count() -> None:
    root = ElementTree.fromstring(junit.render(ALL))
    suite = root[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    inside = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert inside["bad"] == ["failure"]
    assert inside["broken"] == ["error"]
    assert inside["open"] == ["skipped"]
    assert inside["a bit"] == inside["quick"] == ["system-out"]


def test_markdown_folds_away_what_is_equal() -> None:
    text = markdown.render(ALL)
    above, _, below = text.partition("<details>")
    assert "| bad | new | 1.500 µs | 1.800 µs | \\+20 % |" in above
    assert "**REGRESSION**" in above
    assert "| same |" not in above
    assert "| same |" in below


def test_nothing_in_a_comment_is_linked() -> None:
    name = "@octocat #12 GH-12 https://example.org www.example.org a@example.org"
    comment = markdown.render(found(item(name, Verdict.SLOWER), sides=(name, "new")))
    told = re.sub(r"\\([^\w\s])", r"\1", comment)  # as GitHub reads it, before it looks for links
    assert told.count("octocat") == 4
    assert not re.search(r"[@#]\w|GH-\d|://|www\.", told, re.IGNORECASE)


def test_hostile_names_do_nothing() -> None:
    hostile = found(item(HOSTILE, Verdict.SLOWER, reason=HOSTILE), sides=(HOSTILE, "new"))
    page = html.render(hostile)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    comment = markdown.render(hostile).removeprefix("<!-- toll compare -->\n")
    assert not re.search(r"(?<!\\)[<`@]", comment.replace("<details>", "").replace("<summary>", ""))
    assert all(row.count(" | ") == 6 for row in comment.splitlines() if row.startswith("| \\<"))
    assert ElementTree.fromstring(junit.render(hostile))[0].get("tests") == "1"
    for text in (page, comment, junit.render(hostile), as_terminal(hostile)):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_the_page_draws_every_interval_and_needs_no_network() -> None:
    page = html.render(ALL)
    assert page.count('class="bar"') == 5  # the failed one has none
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("ratio", "low", "high", "arrows", "dots"),
    [
        (1.9, 1.8, 1.95, [], 1),
        (3.0, 2.9, 3.1, ["right"], 0),
        (1.9, 1.8, 2.5, ["right"], 1),
        (0.1, 0.09, 0.11, ["left"], 0),
        (1.0, None, None, ["left", "right"], 1),
    ],
)
def test_what_lies_beyond_the_axis_has_an_arrow(
    ratio: float, low: float | None, high: float | None, arrows: list[str], dots: int
) -> None:
    page = html.render(found(item("x", Verdict.SLOWER, ratio, low=low, high=high)))
    assert re.findall(r'class="beyond (\w+)"', page) == arrows
    assert page.count('class="dot"') == dots
    assert ("An arrow at an edge" in page) is bool(arrows)


@pytest.mark.parametrize("ratio", [1e-9, 0.5, 1.0, 1.001, 7e12])
def test_the_drawing_holds_any_ratio(ratio: float) -> None:
    shown = found(item("x", Verdict.SLOWER, ratio))
    axis = html.axis_for(shown)
    assert all(0.0 <= axis.at(end) <= 100.0 for end in (ratio, ratio * 0.99, ratio * 1.01))
    assert axis.at(1.0) == 50.0
    assert [place for place, _ in axis.ticks()] == sorted(place for place, _ in axis.ticks())
