"""The small drawing of a workload: every line where its numbers are, and none that is no row."""

from __future__ import annotations

import math
import random

import pytest
import sample_results as samples

from tollbench.report.interval_strip import MOST_BARS, interval_strip, log_place


def test_places_are_on_a_logarithmic_axis_and_stay_on_it():
    assert [log_place(value, 1.0, 100.0) for value in (1.0, 10.0, 100.0, 1e9, -1.0)] == [0, 50, 100, 100, 0]


def test_bars_lie_as_their_rows_do_and_say_who_is_fastest():
    workload = samples.waits(random.Random(5))
    strip = interval_strip(workload)
    assert strip is not None
    assert [(bar.kind, bar.begins) for bar in strip.bars] == [
        ("", False),
        ("aside", True), ("fastest", False), ("tied", False),
        ("aside", True), ("fastest", False), ("tied", False),
    ]  # fmt: skip
    rows = {f"{row.contender}{row.parameters['wait_us']}": row for row in workload.rows}
    shown = ("computation_only0", "sleep8", "std_mutex8", "boost_asio8", "sleep1000", "std_mutex1000",
             "boost_asio1000")  # fmt: skip
    places = [bar.place for bar in strip.bars]
    logs = [math.log(rows[name].value or 0.0) for name in shown]
    scale = (places[-1] - places[0]) / (logs[-1] - logs[0])
    assert places == pytest.approx([places[0] + scale * (log - logs[0]) for log in logs], abs=0.1)
    assert all(0 <= bar.low < bar.place < bar.high <= 100 for bar in strip.bars)
    assert (strip.least, strip.most, strip.more) == ("240.0 ns", "910 µs", "")
    assert strip.told.splitlines()[1] == "sleep (wait_us=8) 8.10 µs"


def test_values_beside_each_other_do_not_fill_the_drawing():
    rng = random.Random(1)
    rows = [samples.make_row(rng, "", name, value, 0.0001) for name, value in (("a", 100.0), ("b", 100.5))]
    strip = interval_strip(samples.nothing().model_copy(update={"rows": samples.ranked(rows)}))
    assert strip is not None
    assert strip.bars[1].place - strip.bars[0].place < 10


def test_what_has_no_time_is_not_drawn_and_one_row_is_no_drawing():
    rng = random.Random(1)
    rows = [samples.make_row(rng, "", "a", 5.0, 0.01), samples.broken_row("b", "failed", "signal 11")]
    odd = [samples.make_row(rng, "", "c", 5.0, 0.01).model_copy(update={"value": v}) for v in (math.inf, 0.0)]
    nothing = samples.nothing()
    assert interval_strip(nothing.model_copy(update={"rows": rows + odd})) is None
    two = [*rows, samples.make_row(rng, "", "d", 6.0, 0.01, intervals=False)]
    strip = interval_strip(nothing.model_copy(update={"rows": two + odd}))
    assert strip is not None
    assert [bar.told.split()[0] for bar in strip.bars] == ["a", "d"]
    assert strip.bars[1].low == strip.bars[1].place == strip.bars[1].high


def test_of_very_many_rows_the_rest_is_counted():
    strip = interval_strip(samples.many(random.Random(2), 40))
    assert strip is not None
    assert len(strip.bars) == MOST_BARS
    assert strip.more == f"{40 - MOST_BARS} more rows"
