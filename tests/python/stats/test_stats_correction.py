"""Corrections and the letters of groups that could not be told apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollbench.stats import bonferroni, holm, letters


def matrix(rows: int, pairs: set[tuple[int, int]]) -> np.ndarray:
    apart = np.zeros((rows, rows), dtype=bool)
    for i, j in pairs:
        apart[i, j] = apart[j, i] = True
    return apart


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    rows = draw(st.integers(0, 7))
    pairs = list(itertools.combinations(range(rows), 2))
    return matrix(rows, {pair for pair in pairs if draw(st.booleans())})


@given(matrices())
def test_rows_share_a_letter_exactly_where_they_are_not_told_apart(apart: np.ndarray) -> None:
    found = letters(apart)
    for i, j in itertools.combinations(range(len(found)), 2):
        assert bool(set(found[i]) & set(found[j])) == (not apart[i, j])
    assert all(found)


@given(matrices())
def test_no_group_lies_within_another(apart: np.ndarray) -> None:
    found = letters(apart)
    names = {name for row in found for name in row}
    groups = {name: {row for row, own in enumerate(found) if name in own} for name in names}
    for one, other in itertools.permutations(names, 2):
        assert not groups[one] <= groups[other]


@pytest.mark.parametrize(
    ("rows", "apart", "expected"),
    [
        (0, set(), []),
        (1, set(), [["a"]]),
        (3, set(), [["a"], ["a"], ["a"]]),
        (3, {(0, 2)}, [["a"], ["a", "b"], ["b"]]),
        (3, {(0, 1), (0, 2), (1, 2)}, [["a"], ["b"], ["c"]]),
        (4, {(0, 3), (0, 2), (1, 3)}, [["a"], ["a", "b"], ["b", "c"], ["c"]]),
        # A separated neighbour between two ties: what letters by ranges alone get wrong.
        (3, {(0, 1)}, [["a"], ["b"], ["a", "b"]]),
    ],
)
def test_hand_worked_letters(rows: int, apart: set[tuple[int, int]], expected: list[list[str]]) -> None:
    assert letters(matrix(rows, apart)) == expected


def test_letters_go_on_after_z() -> None:
    everything = set(itertools.combinations(range(28), 2))
    assert [row[0] for row in letters(matrix(28, everything))][24:] == ["y", "z", "aa", "ab"]


def test_holm_matches_the_hand_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


def test_holm_holds_its_level_for_dependent_comparisons() -> None:
    rng = np.random.default_rng(2)
    shared = rng.random((4000, 1))
    p = np.where(rng.random((4000, 10)) < 0.5, shared, rng.random((4000, 10)))
    alarms = np.mean([holm(row).min() <= 0.05 for row in p])
    assert alarms < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 4000)


def test_bonferroni_shares_the_error_out() -> None:
    assert bonferroni(0.95, 10) == pytest.approx(0.995)
    assert bonferroni(0.95, 0) == bonferroni(0.95, 1) == pytest.approx(0.95)
