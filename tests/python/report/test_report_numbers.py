"""Digits, units and words: what every format shares."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
import sample_results as samples
from hypothesis import given
from hypothesis import strategies as st

from tollbench import numbers, text
from tollbench.report.cases import shared_ties
from tollbench.report.columns import columns, created


@pytest.mark.parametrize(
    ("value", "low", "high", "shown", "between"),
    [
        (123.456, 121.0, 126.2, "123.5", "[121.0, 126.2]"),
        (96.4, 96.207, 96.631, "96.40", "[96.21, 96.63]"),
        (11_823.4, 11_600.0, 12_010.0, "11,820", "[11,600, 12,010]"),
        (0.012341, 0.0121, 0.0126, "0.01234", "[0.01210, 0.01260]"),
        (132.4, None, None, "132", "–"),
        (5.5, 5.5, 5.5, "5.5000", "[5.5000, 5.5000]"),
        (5.0, 5.0, 5.0, "5", "[5, 5]"),
        (7_504.0, 7_504.0, 7_504.0, "7,504", "[7,504, 7,504]"),
        (120.0, 0.4, 3000.0, "120", "[0.4, 3,000]"),
        (None, None, None, "–", "–"),
        (math.nan, 1.0, 2.0, "–", "–"),
    ],
)
def test_a_value_shows_the_digits_that_its_interval_supports(value, low, high, shown, between):
    assert numbers.quantity(value, low, high) == shown
    assert numbers.interval(value, low, high) == between


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [(1.0, None, None, "1.00×"), (1.0, 1.0, 1.0, "1.00×"), (12.345, 12.0, 12.9, "12.3×"),
     (1.0123, 1.009, 1.015, "1.012×"), (1234.0, None, None, "1,234×"), (None, None, None, "–")],
)  # fmt: skip
def test_ratios_have_three_digits_and_a_fourth_where_it_is_supported(value, low, high, shown):
    assert numbers.ratio(value, low, high) == shown


@pytest.mark.parametrize(
    ("values", "stored", "unit", "first"),
    [([30.0, 900.0], "ns", "ns", 30.0), ([1500.0, 9e5], "ns", "µs", 1.5), ([2e6, 3e8], "ns", "ms", 2.0),
     ([30.0, 4e7], "ns", "µs", 0.03), ([0.5], "us", "ns", 500.0), ([None, math.nan], "ns", "ns", None),
     ([3.0], "requests", "requests", 3.0), ([2.0, 5000.0], "s", "s", 2.0)],
)  # fmt: skip
def test_a_column_has_one_unit(values, stored, unit, first):
    scale = numbers.time_scale(values, stored)
    assert scale.unit == unit
    assert first is None or scale.of(values[0]) == pytest.approx(first)


@pytest.mark.parametrize(
    ("values", "unit", "first"),
    [([512.0, 900.0], "B", 512.0), ([2048.0, None], "KiB", 2.0), ([3 << 20, 5 << 30], "MiB", 3.0),
     ([100.0, 4 << 20], "KiB", 0.09765625), ([None, math.nan], "B", None), ([0.0, 2048.0], "KiB", 0.0)],
)  # fmt: skip
def test_sizes_of_a_chart_have_one_binary_unit(values, unit, first):
    scale = numbers.size_scale(values)
    assert scale.unit == unit
    assert scale.of(values[0]) == first


@given(st.lists(st.floats(1e-3, 1e12), min_size=1))
def test_a_scaled_column_never_needs_more_than_seven_digits_unless_it_spans_that_much(values):
    scale = numbers.time_scale(values, "ns")
    largest, smallest = max(values) * scale.factor, min(values) * scale.factor
    assert largest < 1e6 or smallest < 1 or scale.unit == "s"


@given(st.floats(1e-9, 1e12), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_the_written_value_lies_within_its_interval_or_rounds_to_an_end(value, below, above):
    low, high = value * (1 - min(below, 0.99)), value * (1 + above)
    shown = float(numbers.quantity(value, low, high).replace(",", ""))
    assert abs(shown - value) <= max((high - low) / 2, value * 0.06) + 1e-9


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(-12, 12))
def test_any_float_can_be_written(value, places):
    for write in (
        lambda v: numbers.fixed(v, places),
        numbers.plain,
        numbers.size,
        numbers.duration,
        numbers.ratio,
    ):
        assert isinstance(write(value), str)
        assert write(value) != "-0"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.42, "0.42 s"), (12.4, "12 s"), (171.2, "2 min 51 s"), (11100, "3 h 05 min")]
)
def test_durations_read_as_people_say_them(seconds, shown):
    assert numbers.duration(seconds) == shown


def test_rare_events_are_counted_per_thousand_or_million():
    assert numbers.count_scale([0.02, None], "task") == numbers.Scale("per\u00a01,000 tasks", 1e3)
    assert numbers.count_scale([2e-6], "entry") == numbers.Scale("per\u00a0million entries", 1e6)
    assert numbers.count_scale([2.0, 1e-6], "switch") == numbers.Scale("per switch", 1.0)
    assert numbers.count_scale([None, 0.0], "task").factor == 1.0


def test_bytes_and_reported_values_get_no_false_digits():
    assert [numbers.size(count) for count in (512, 32_768, 8_330_010_624)] == ["512 B", "32 KiB", "7.76 GiB"]
    assert [numbers.reported(value) for value in (0.7, 14.4, 1210.0)] == ["0.7", "14.4", "1,210"]


def test_published_values_convert_between_times_only():
    assert numbers.convert(0.7, "µs", "ns") == pytest.approx(700)
    assert numbers.convert(0.7, "µs", "requests") is None


def test_what_cannot_be_seen_is_replaced():
    assert text.clean("a\x1b[31m\x07b") == "a�[31m�b"
    assert text.clean("evil\u202egpj.exe") == "evil�gpj.exe"
    assert text.clean("zero\u200bwidth \ufeff") == "zero�width �"
    assert text.clean("two\nlines\r\n\tand tabs") == "two lines and tabs"
    assert text.clean("two\nlines", lines=True) == "two\nlines"
    assert text.clean("zażółć 線程 🧵") == "zażółć 線程 🧵"
    assert text.clean("a\ud800b") == "a�b"
    assert (
        text.clean("soft\xadhyphen \u061cmark \x9bcsi \U000e0041tag \u3164")
        == "soft�hyphen �mark �csi �tag �"
    )
    assert text.visible("a\x9b\u202e\n\tb") == "a\\x9b\\u202e\n\tb"
    assert text.escaped('{"a": "\x9b\U000e0041"}\n') == '{"a": "\\u009b\\udb40\\udc41"}\n'
    assert text.shown("a\u3164b") == "a\\u3164b"


def test_instants_are_written_to_the_second():
    assert text.instant("2026-03-14T09:26:53.881+00:00") == "2026-03-14 09:26:53 UTC"
    assert text.instant("2026-03-14T09:26:53Z") == "2026-03-14 09:26:53 UTC"
    assert text.instant("yester\x1bday") == "yester�day"


def test_commands_are_told_from_prose():
    pieces = text.commands(
        "libfolly was not found; `apt install x` or sudo apt-get install libfoo-dev bar, then go on"
    )
    assert [piece for piece, command in pieces if command] == [
        "apt install x",
        "sudo apt-get install libfoo-dev bar",
    ]
    assert "".join(piece for piece, _ in pieces).startswith("libfolly was not found; apt install x or sudo")


def test_a_letter_that_no_other_row_carries_is_not_shown():
    assert shared_ties([["a"], ["a", "b"], ["c"], []]) == [["a"], ["a"], [], []]


def test_time_per_unit_created_has_the_interval_of_the_value_in_its_own_units():
    row = samples.make_row(random.Random(1), "", "a", 400.0, 0.01)
    row = row.model_copy(update={"low": 396.0, "high": 408.0, "created_value": 100.0})
    assert created(row) == (100.0, 99.0, 102.0)
    column = next(one for one in columns(samples.nothing(), 0.95) if one.key == "created")
    in_us = replace(column, scale=numbers.Scale("µs", 1e-3))
    assert list(in_us.triple(row)) == pytest.approx([0.1, 0.099, 0.102])
    assert created(row.model_copy(update={"created_value": None})) == (None, None, None)
    assert created(row.model_copy(update={"low": None})) == (100.0, None, 102.0)


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.95, "95 %"), (0.99, "99 %"), (0.991, "99.1 %"), (0.995, "99.5 %"), (0.999, "99.9 %"),
        (0.9995, "99.95 %"), (0.9999, "99.99 %"), (0.9999996, "99.99996 %"), (1.0, "100 %"), (0.5, "50 %"),
    ],
)  # fmt: skip
def test_a_level_reads_100_percent_only_where_it_is(share: float, told: str) -> None:
    assert numbers.probability(share) == told


@pytest.mark.parametrize(
    ("share", "percentage", "difference"),
    [
        (0.0123, "1.2 %", "1.2 %"),
        (0.0997, "10 %", "10 %"),
        (1.4936, "149 %", "149 %"),
        (0.0004, "0.040 %", "0.04 %"),
        (0.000021, "0.0021 %", "0.00 %"),
        (0.0, "0 %", "0 %"),
        (math.inf, "any amount", "any amount"),
    ],
)
def test_percentages(share: float, percentage: str, difference: str) -> None:
    assert numbers.percent(share) == percentage
    assert numbers.difference(share) == difference


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [(1.0002, 1.00003, 1.0008, "[1.00003, 1.001]"), (1.05, 1.003, 1.1, "[1.003, 1.10]"),
     (0.95, 0.9, 0.9997, "[0.900, 0.9997]"), (1.05, 1.0, 1.1, "[1.00, 1.10]"),
     (3.0, 0.9996, 300.0, "[0.9996, 300.00]"), (1.05, 1.0 + 1e-13, 1.1, "[1.00, 1.10]")],
)  # fmt: skip
def test_an_end_beside_one_is_not_written_as_one(value, low, high, shown):
    """Letters and verdicts say that it is not."""
    assert numbers.ratio_interval(value, low, high) == shown


@pytest.mark.parametrize(
    ("values", "shown"),
    [((0.98, 1.0, 1.2), ["0.980", "1.00", "1.20"]), ((0.9996, 1.0, 1.2), ["0.9996", "1.000", "1.200"]),
     ((2.2219, 2.2222, 3.0), ["2.2219", "2.2222", "3.0000"]), ((1.0, 1.0, 2.0), ["1.00", "1.00", "2.00"]),
     ((1.0, 1.0 + 1e-13, 2.0), ["1.00", "1.00", "2.00"])],
)  # fmt: skip
def test_numbers_that_are_apart_do_not_read_alike(values, shown):
    assert numbers.apart(*values) == shown
