"""Verdicts that contradict each other: of many tables, in some A is faster than B and in others slower.

Where the truth is the same everywhere, a few of many tables say the contrary by chance. How many, is bounded
by the level of their intervals alone.
"""

from __future__ import annotations


def contrary_by_chance(above: int, below: int, tables: int, level: float) -> float:
    """Probability that so many tables contradict the others where in truth none does.

    Of `tables` independent ones `above` tell the first to be slower and `below` to be faster, each by an
    interval at `level` (0.5 to 1). If the true ratio is on the same side, or 1, in all of them, each tells
    the other side with a probability of (1 - level) / 2 at most, so that the smaller of both counts is at
    most binomial. An exact bound; 1 where one count is 0. A qualitative interaction in the sense of Gail and
    Simon 1985, tested by counts alone.
    """
    from scipy.special import bdtrc

    fewer = min(above, below)
    return 1.0 if fewer == 0 else float(bdtrc(fewer - 1, tables, (1.0 - level) / 2.0))
