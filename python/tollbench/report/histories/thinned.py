"""Fewer points than were measured, for a drawing: neighbours in one, and none across a change or a break."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.history.histories import BenchmarkLine, HistoryChange

MOST_DRAWN = 40_000  # points of all lines together: a page stays below 5 MB
FEWEST_OF_A_LINE, MOST_OF_A_LINE = 40, 2_000
_TAIL = 10.0  # percent of the commits in one point that lie outside of its bar, on either side


class DrawnPoint(NamedTuple):
    """One commit, or several neighbours: their median, and between which most of them lie."""

    place: int
    ratio: float
    low: float | None  # no bar where nobody knows it
    high: float | None
    commits: int


def drawn_points(line: BenchmarkLine, changes: list[HistoryChange], most: int) -> list[list[DrawnPoint]]:
    """Of each part of a line; about `most` points in all."""
    part = np.array(line.part)
    places = np.array(line.place)
    columns = [np.array(column, dtype=np.float64) for column in (line.ratio, line.low, line.high)]
    size = max(1, -(-len(places) // most))
    found = []
    for number in dict.fromkeys(line.part):
        chosen = np.nonzero(part == number)[0]
        steps = sorted({change.place for change in changes if change.part == number})
        cuts = np.searchsorted(places[chosen], steps)
        points: list[DrawnPoint] = []
        for piece in np.split(chosen, cuts):
            points += _piece(places[piece], [column[piece] for column in columns], size)
        found.append(points)
    return found


def latest_points(line: BenchmarkLine, changes: list[HistoryChange], most: int) -> list[DrawnPoint]:
    """Of the part that is the present."""
    parts = list(dict.fromkeys(line.part))
    return drawn_points(line, changes, most)[parts.index(line.latest)]


def _piece(places: NDArray[np.int_], columns: list[NDArray[np.float64]], size: int) -> list[DrawnPoint]:
    """What lies between two changes, `size` commits a point."""
    if size == 1:
        return [
            DrawnPoint(int(place), float(ratio), _known(low), _known(high), 1)
            for place, ratio, low, high in zip(places, *columns, strict=True)
        ]
    whole = len(places) // size * size
    points: list[DrawnPoint] = []
    for begin, end, width in ((0, whole, size), (whole, len(places), len(places) - whole)):
        if begin < end:
            ratios = columns[0][begin:end].reshape(-1, width)
            low, middle, high = np.percentile(ratios, (_TAIL, 50.0, 100.0 - _TAIL), axis=1)
            at = places[begin:end].reshape(-1, width)[:, width // 2]
            points += [
                DrawnPoint(int(place), float(m), float(lo), float(hi), width)
                for place, m, lo, hi in zip(at, middle, low, high, strict=True)
            ]
    return points


def _known(end: np.float64) -> float | None:
    return None if np.isnan(end) else float(end)


def most_of_a_line(lines: int) -> int:
    """How many points each of so many lines may have."""
    return max(FEWEST_OF_A_LINE, min(MOST_OF_A_LINE, MOST_DRAWN // max(1, lines)))
