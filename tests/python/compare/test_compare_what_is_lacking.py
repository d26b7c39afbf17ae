"""Every inconclusive verdict says how long it takes to know more, or that time does not help."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import pytest

from tollbench.compare.engine import _confirmed, unconfirmed
from tollbench.compare.evidence import Evidence, Needed, TimeAllowed, evidence_of
from tollbench.compare.judging import Judge
from tollbench.compare.subject import LAYOUTS, Two
from tollbench.compare.tracks import Track, sequence_for
from tollbench.compare.verdict_sentences import of_shapes, sentence
from tollbench.compare.verdicts import Comparison, Verdict
from tollbench.stats.sequential import Bounds
from tollbench.stats.shapes import Shapes

A_TIME = re.compile(r"(about|more than) [\d,]+ (s|min|h)\b")
DEFINITE = (
    "needs days more",
    "its turn did not come",
    "too few; at least",  # layouts, and how many
    f"takes more than {LAYOUTS[-1]:,} layouts",
    "takes about --layouts",
    "the time is too short for one",
    "more time gives no other verdict",
    "is not known, as nobody noted",
)
TWO = Two(0, 1)
WIDE, ENDLESS = Bounds(-0.05, 0.03), Bounds(-math.inf, math.inf)
LIMITS = TimeAllowed(10.0, 40.0)


def says_what_it_takes(reason: str) -> bool:
    return bool(A_TIME.search(reason)) or any(words in reason for words in DEFINITE)


@pytest.mark.parametrize("bounds", [WIDE, ENDLESS], ids=["wide", "endless"])
@pytest.mark.parametrize("limits", [None, LIMITS], ids=["an old file", "limits"])
@pytest.mark.parametrize("offered", [0, 4, 16])
def test_every_inconclusive_sentence_says_what_it_takes(bounds, limits, offered) -> None:
    needs = (None, Needed(0, 0.0), Needed(0, 0.3), Needed(0, 1e7), Needed(32, 40.0), Needed(99_999, 40.0))
    for pairs, needed, seconds in itertools.product((0, 1, 6, 7, 100), needs, (0.0, 0.2, 30.0)):
        if needed is not None and not seconds:
            continue  # what is needed is reckoned from what it had
        evidence = Evidence(
            0.0, pairs, 7, min(pairs, offered), offered, needed=needed, limits=limits, seconds=seconds
        )
        reason = sentence(Verdict.INCONCLUSIVE, bounds, 0.01, evidence)
        assert says_what_it_takes(reason), (reason, evidence)


def track(values: list[list[float]], seconds: float, layouts: int = 0) -> Track:
    made = Track("sum", {TWO: sequence_for(layouts, 0.05)})
    for number, row in enumerate(values):
        made.take(row, [number % 2, 1 - number % 2], number if layouts else None)
    made.seconds = seconds
    made.look(last=True)
    return made


@pytest.mark.parametrize("count", [0, 1, 3, 7, 60])
@pytest.mark.parametrize("layouts", [0, 64])
@pytest.mark.parametrize("limits", [None, LIMITS], ids=["an old file", "limits"])
def test_every_inconclusive_verdict_of_few_or_noisy_pairs_says_what_it_takes(count, layouts, limits) -> None:
    noisy = [[100.0, 100.0 * (1.0 + 0.2 * math.sin(7.0 * number))] for number in range(count)]
    judge = Judge(("old", "new"), 0.01, 0.05, layouts, limits)
    for seconds in (0.0, 2.5):
        (row,) = judge.verdicts(track(noisy, seconds, layouts), lambda _: ())
        assert row.verdict is Verdict.INCONCLUSIVE
        assert says_what_it_takes(row.reason), row.reason


def test_a_pair_that_did_not_end_takes_longer_than_the_time_there_was() -> None:
    judge = Judge(("old", "new"), 0.01, 0.05, 0, LIMITS)
    evidence = evidence_of(track([], 10.0), TWO, judge)
    assert evidence.needed is not None
    assert evidence.needed.seconds == 10.0 * (evidence.fewest - 1)
    (row,) = judge.verdicts(track([], 10.0), lambda _: ())
    assert "which takes more than" in row.reason
    assert "--budget" in row.reason
    (row,) = judge.verdicts(track([], 0.0), lambda _: ())
    assert row.reason.endswith("pairs of launches are needed: `--total-budget 80s`")


def test_equal_medians_and_other_tails_are_no_question_of_time() -> None:
    told = of_shapes(Verdict.NO_DIFFERENCE, Shapes(1.05, 0.001, 1.4, 0.001), "the first side's")
    assert says_what_it_takes(told)


def row(verdict: Verdict, reason: str = "so it is", **more: Any) -> Comparison:
    return Comparison(
        benchmark="sum", a="old", b="new", ratio=1.0, low=0.9, high=1.1, level=0.95, verdict=verdict,
        launches=20, seconds=12.0, reason=reason, regression=False, **more,
    )  # fmt: skip


@pytest.mark.parametrize("second", [Verdict.FASTER, Verdict.NO_DIFFERENCE])
def test_two_measurements_that_do_not_agree_say_what_another_takes(second) -> None:
    found = _confirmed(row(Verdict.SLOWER), row(second), interrupted=False)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "comparing once more takes about 24 s" in found.reason


def test_a_second_measurement_that_was_too_short_keeps_its_own_time() -> None:
    short = row(Verdict.INCONCLUSIVE, "± 1.0 % needs about 45 s more")
    found = _confirmed(row(Verdict.SLOWER), short, interrupted=False)
    assert found.reason.endswith("about 45 s more")


def test_an_interrupted_verdict_says_what_its_confirmation_takes() -> None:
    assert says_what_it_takes(unconfirmed(row(Verdict.SLOWER)).reason)
    nothing = row(Verdict.SLOWER).model_copy(update={"launches": 0})
    assert says_what_it_takes(_confirmed(row(Verdict.SLOWER), nothing, interrupted=True).reason)
