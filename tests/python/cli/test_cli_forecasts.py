"""What `toll run` says of its own future."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tollbench.cli import asking
from tollbench.cli.forecasts import rough, sentences
from tollbench.measure.events import Expected, Shortage, TimePlanned
from tollbench.plan import PROFILES

QUICK = PROFILES["quick"]
ROWS = Expected("b/wide", 30, 0.12), Expected("a/alone", 30, None), Expected("a/narrow", 90, 0.0042)


def said(plan: TimePlanned, *, each: bool = True, precision: float | None = None, **changed: float) -> str:
    settings = replace(QUICK, precision=precision or QUICK.precision, **changed)  # type: ignore[arg-type]
    told = sentences(plan, settings, each=each, asked=precision is not None)
    assert all(len(line) <= 100 for text in told for line in text.splitlines())
    return "\n".join(" ".join(text.split()) for text in told)


def planned(rows=ROWS, left_s: float = 66.4, after: int = 12, needed_s: float | None = 250.0) -> TimePlanned:
    return TimePlanned(tuple(rows), left_s, after, needed_s)


def test_it_is_said_best_known_first() -> None:
    assert said(planned()) == (
        "expected of the next 66 s, each workload's median ratio: a/narrow ±0.42 %, b/wide ±12 %;"
        " no ratios: a/alone"
    )
    assert "what is left" in said(planned(left_s=math.inf))
    assert said(planned(ROWS[1:2], 5.0)) == "no ratio will be known after the next 5 s"


def test_of_many_workloads_the_middle_and_the_worst_are_told_in_two_lines() -> None:
    many = [Expected(f"latency/workload_{number}", 30, 0.01 * number) for number in range(1, 16)]
    assert "workload_7" in said(planned(many))
    long = [Expected("containers/allocate_throughput", 120, 0.8), *many, Expected("a/alone", 30, None)]
    for after in (0, 12):
        (short,) = sentences(planned(long, 145.0, after=after), QUICK, each=False, asked=False)
        assert len(short.splitlines()) == 2
        assert " ".join(short.split()).endswith(
            "half of 16 workloads within ±8.5 %, the widest containers/allocate_throughput ±80 %;"
            " no ratios of 1 workload"
        )


def test_before_measuring_it_is_called_a_guess() -> None:
    text = said(planned(after=0, needed_s=None), precision=0.02)
    assert text.startswith("a guess beforehand: the next 66 s buy about 30 to 90 rounds each;")
    assert "about a/narrow ±0.42 %" in text
    assert "--precision" not in text  # how long that takes, nobody knows yet


def test_a_budget_that_is_too_small_is_told_with_one_that_is_enough() -> None:
    """Five cases of which one launch each takes 9 s, and 29 s are left."""
    alone = [Expected("tasks/skynet", 3, None)]
    short = Shortage(round_s=9.0, rounds=12, without_turn=0, needed_s=171.0)
    text = said(TimePlanned(tuple(alone), 29.0, 0, None, short), budget_s=60.0)
    assert text == (
        "the budget of 60 s is too small for all of this: after the pilots 29 s are left, one launch of each"
        " takes about 9.0 s, and intervals want 12 launches of each; what fits is measured, the headline"
        " first, with fewer intervals. --budget 3m is about what all of it takes"
    )
    assert asking.seconds(text.split("--budget ")[1].split()[0]) >= 171.0
    without = replace(short, without_turn=1, needed_s=61.0)
    more = said(TimePlanned(ROWS, 29.0, 0, None, without), budget_s=60.0)
    assert "each; 1 case will have no turn; what fits" in more
    assert "--budget 65s is about" in more
    assert more.splitlines()[1].startswith("a guess beforehand")  # some of it will be known


def test_a_precision_that_was_asked_for_says_how_long_it_takes() -> None:
    assert "--precision" not in said(planned())
    fits = said(planned(needed_s=123.0), precision=0.02)
    assert fits.endswith("\n--precision 2% takes about 2 min in all")
    ends = said(planned(needed_s=250.0), precision=0.025)
    assert ends.endswith(
        "\n--precision 2.5% takes about 4 min in all; the budget of 165 s ends before: --budget 6m"
    )
    assert "budget" not in said(planned(needed_s=250.0), precision=0.02, budget_s=0.0).splitlines()[1]
    never = said(planned(needed_s=math.inf), precision=0.001)
    assert "more than 400 launches" in never
    assert never.endswith("--profile thorough")


def test_the_budget_that_is_named_is_enough_and_is_read_by_the_command() -> None:
    for needed_s in (200.0, 239.0, 3599.0, 7300.0):
        offered = said(planned(needed_s=needed_s), precision=0.02).split("--budget ")[1]
        assert asking.seconds(offered) >= 1.2 * needed_s


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (2.0, "5 s"),
        (47.0, "45 s"),
        (91.0, "2 min"),
        (5340.0, "89 min"),
        (7200.0, "2 h"),
        (9000.0, "2 h 30 min"),
    ],
)
def test_times_are_no_finer_than_forecasts_are(seconds: float, words: str) -> None:
    assert rough(seconds) == words
