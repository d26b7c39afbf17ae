"""How `toll compare` writes a change: as a percentage as long as one can be read."""

from __future__ import annotations

import math

import pytest

from tollbench.report.comparisons.comparison_lines import between, change


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (9.9, "+890 %"),
        (10.0, "10.0 times as long"),
        (2270.1, "2,270 times as long"),
        (0.11, "−89 %"),
        (0.004, "250 times as fast"),  # not "−100 %"
        (0.0, "countless times as fast"),
        (math.inf, "countless times as long"),
    ],
)
def test_beyond_a_factor_of_ten_a_change_is_a_factor(ratio: float, text: str) -> None:
    assert change(ratio) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.01, 1.03, "+1.0 % to +3.0 %"),
        (0.97, 1.03, "−3.0 % to +3.0 %"),
        (2255.0, 2290.0, "2,255 to 2,290 times as long"),
        (9.5, 10.5, "9.50 to 10.5 times as long"),
        (0.004, 0.005, "200 to 250 times as fast"),
        (0.9, 20.0, "−10 % to 20.0 times as long"),
        (1.0, 20.0, "+0 % to 20.0 times as long"),
        (None, 12.0, "? to 12.0 times as long"),
        (None, None, "? to ?"),
    ],
)
def test_both_ends_of_an_interval_are_written_alike(low: float | None, high: float | None, text: str) -> None:
    assert between(low, high) == text
