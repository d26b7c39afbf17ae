"""How --precision is written."""

from __future__ import annotations

import pytest

from tollbench.cli import asking
from tollbench.errors import TollError


@pytest.mark.parametrize("text", ["2%", "2 %", " 2.0% ", "0.02", "2e-2"])
def test_a_precision_is_a_percentage_or_a_share(text: str) -> None:
    assert asking.precision(text) == pytest.approx(0.02)


@pytest.mark.parametrize(
    "text", ["2", "0", "0%", "100%", "-1%", "nan", "nan%", "inf", "%", "2%%", "two", "2 pc"]
)
def test_what_is_no_precision_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(TollError) as refused:
        asking.precision(text)
    assert repr(text) in refused.value.what
    assert "1%" in refused.value.next_step
