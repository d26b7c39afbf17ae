"""Explanations in every format; names come from other people's executables and are trusted nowhere."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tollbench.compare.explanations import (
    Amounts,
    Explanation,
    Explanations,
    FlameNode,
    FunctionChange,
    Hunk,
)
from tollbench.report.comparisons import why_terminal
from tollbench.report.comparisons.flame import flame
from tollbench.report.comparisons.why_formats import RENDERERS

HOSTILE = "<script>alert(1)</script> | `x` @you \x1b[31m\u202e"
NONE = Amounts(a=0, b=0)


def function(name: str, **more: Any) -> FunctionChange:
    values: dict[str, Any] = {
        "function": f"{name}(int)",
        "called": f"{name}()",
        "file": "",
        "changed": True,
        "code": "other instructions",
        "doing": 56.0,
        "share": 0.92,
        "instructions": Amounts(a=1234, b=1290),
        "inclusive": Amounts(a=2000, b=2061),
        "calls": Amounts(a=1, b=1),
        "source": f"/src/{name}.cpp:12-20",
    }
    values |= dict.fromkeys(
        ("allocations", "data_misses", "memory_misses", "mispredicted", "system_calls"), NONE
    )
    return FunctionChange(**values | more)


def explanation(name: str, *functions: FunctionChange, **more: Any) -> Explanation:
    values: dict[str, Any] = {"benchmark": name, "a": "old", "b": "new", "per": "iteration"}
    return Explanation(**values | {"sentence": f"sentence of {name}", "functions": functions} | more)


def found(*explanations: Explanation) -> Explanations:
    return Explanations(kind="google-benchmark", sides=("old", "new"), explanations=explanations)


def as_terminal(explanations: Explanations) -> str:
    text = StringIO()
    why_terminal.show(explanations, Console(file=text, width=140))
    return text.getvalue()


def test_the_likeliest_function_is_the_first_line_everywhere() -> None:
    hunk = Hunk(file="src/parse.cpp", line_a=12, line_b=13, text="-  f();\n+  g();")
    item = explanation("bench", function("parse", diff=(hunk,)), function("copy", changed=False, code=""))
    for text in (as_terminal(found(item)), *(render(found(item)) for render in RENDERERS.values())):
        assert "sentence of bench" in text
        assert text.index("parse") < text.index("copy")
    assert re.search(r"parse\(\) +\+56 \(92 %\) +1,234 → 1,290 ", as_terminal(found(item)))
    assert "<del>-  f();</del>\n<ins>+  g();</ins>" in RENDERERS["html"](found(item)).replace(
        "</del><", "</del>\n<"
    )
    assert "\n    -  f();\n    +  g();\n" in RENDERERS["markdown"](found(item))


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
def test_nothing_from_outside_is_taken_for_markup(form: str) -> None:
    tree = FlameNode(name=HOSTILE, a=1, b=2, below=(FlameNode(name=HOSTILE, a=1, b=2),))
    hunk = Hunk(file=HOSTILE, line_a=1, line_b=1, text=f"-{HOSTILE}\n+{HOSTILE}")
    item = explanation(
        HOSTILE,
        function(HOSTILE, diff=(hunk,), inlined_into=(HOSTILE,), code=HOSTILE, file=HOSTILE),
        sentence=HOSTILE,
        flame=tree,
        code=HOSTILE,
        notes=(HOSTILE,),
    )
    text = as_terminal(found(item)) if form == "terminal" else RENDERERS[form](found(item))
    assert "\x1b" not in text
    assert "\u202e" not in text
    if form == "html":
        assert "<script" not in text
    if form == "markdown":
        outside_of_code = [line for line in text.splitlines() if not line.startswith("    ")]
        assert not re.search(r"(?<!\\)(<script|@you|`x`)", "\n".join(outside_of_code))


def test_boxes_are_as_wide_as_what_runs_and_lie_below_their_callers() -> None:
    grown, gone = FlameNode(name="grown", a=10, b=60), FlameNode(name="gone", a=30, b=0)
    same = FlameNode(name="same", a=40, b=40)
    drawn = flame(FlameNode(name="bench", a=80, b=100, below=(same, gone, grown)))
    assert drawn is not None
    assert [(box.name, box.row, box.left, box.width, box.kind) for box in drawn.boxes] == [
        ("bench", 0, 0.0, 100.0, "more"),
        ("grown", 1, 0.0, 60.0, "more"),
        ("same", 1, 60.0, 40.0, "same"),
    ]
    assert drawn.gone == ("gone (−30)",)
    assert drawn.rows == 2
    assert flame(None) is None
    assert flame(FlameNode(name="bench", a=8, b=8)) is None
