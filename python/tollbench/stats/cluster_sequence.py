"""A confidence sequence for paired log ratios that come in clusters: what is alike within each is no news.

Each cluster is one draw of something that stays the same in all of its pairs, such as the place of functions
in memory. More pairs of a cluster say more about that cluster alone, so clusters are the unit of replication.
What is estimated is the mean over all clusters that might have been drawn of the median log ratio in each.

At a look the interval is Student's of the clusters' medians. The looks share alpha: a look at a share of the
planned measuring may use what `share ** 3` of alpha leaves after the looks before it (Bonferroni's
inequality, whatever the looks have in common, which is much). Looks come when the pairs have doubled.

Assumption: clusters are drawn independently of one another and alike, and their medians are near enough to a
normal distribution, or differ from it alike on both sides of the truth, as they do where both sides of a pair
draw from one distribution. A rare mode of one side alone that no drawn cluster shows cannot be known of.
docs/compare.md has the coverage that was found by simulation.

Sources: Student (1908); clusters as the unit, Kish, Survey Sampling (1965); alpha spending, Lan and DeMets
(1983). Layouts as a random effect: Curtsinger and Berger, Stabilizer (ASPLOS 2013); Kalibera and Jones,
Rigorous benchmarking in reasonable time (ISMM 2013).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from tollbench.stats.order_statistics import Floats
from tollbench.stats.sequential import Bounds

SPENDING_POWER = 3.0  # most of alpha is for the last look, which has all pairs
FEWEST_CLUSTERS = 8  # of fewer, all may show the commoner of two modes too often
LOOK_GROWTH = 2.0


class Spread(NamedTuple):
    """Standard deviations on the log scale."""

    between: float  # of what clusters are without the noise of their pairs
    within: float  # of single values of one cluster


def fewest_clusters(alpha: float) -> int:
    """Clusters without which no interval is told: fewer would be alike by chance more often than alpha.

    With two modes of equal weight, n clusters are all in one of them with a probability of 2 ** (1 - n).
    """
    return max(FEWEST_CLUSTERS, math.ceil(1.0 - math.log2(alpha * (1.0 + 1e-12))))


def look_due(pairs: int, looked_at: int, clusters: int) -> bool:
    """Whether all `clusters` have been visited equally often, twice at least and twice as often as before.

    Twice at least, as one value a cluster cannot tell what clusters are from the noise of values.
    """
    return pairs % clusters == 0 and pairs >= max(2 * clusters, looked_at * LOOK_GROWTH)


class ClusterSequence:
    """The sequence itself: each look narrows what the looks before it have left."""

    def __init__(self, alpha: float, power: float = SPENDING_POWER) -> None:
        if not 0.0 < alpha < 1.0:
            raise ValueError("alpha lies between 0 and 1")
        self._alpha = alpha
        self._power = power
        self._spent = 0.0
        self.bounds = Bounds(-math.inf, math.inf)

    def look(self, logs: ArrayLike, clusters: ArrayLike, share: float) -> Bounds:
        """The interval after all `logs`, shape (pairs,), each of the cluster that `clusters` names.

        `share` in [0, 1] is how much of the planned measuring is done. As of MedianSequence, what the looks
        have in common is kept, or this one alone where they have nothing in common.
        """
        centres = centres_of(logs, clusters)
        usable = self._alpha * min(1.0, share) ** self._power - self._spent
        if centres.size < fewest_clusters(self._alpha) or usable <= 0.0:
            return self.bounds
        self._spent += usable
        half = _quantile(usable, centres.size) * float(centres.std(ddof=1)) / math.sqrt(centres.size)
        middle = float(centres.mean())
        common = Bounds(max(middle - half, self.bounds.low), min(middle + half, self.bounds.high))
        self.bounds = common if common.low <= common.high else Bounds(middle - half, middle + half)
        return self.bounds


def mean_over_clusters(logs: ArrayLike, clusters: ArrayLike) -> float:
    """What a ClusterSequence has its interval for; NaN without pairs."""
    centres = centres_of(logs, clusters)
    return float(centres.mean()) if centres.size else math.nan


def centres_of(logs: ArrayLike, clusters: ArrayLike) -> Floats:
    """The median of each cluster, in the order of their numbers; shape (clusters,)."""
    values, numbers = np.asarray(logs, dtype=np.float64), np.asarray(clusters)
    return np.array([np.median(values[numbers == number]) for number in np.unique(numbers)])


def spread(logs: ArrayLike, clusters: ArrayLike) -> Spread | None:
    """How far clusters lie apart, and values within one; None where no cluster has two values.

    By moments: the variance of the clusters' medians is that of the clusters and that of a median of so many
    values. The noise within is taken from median deviations, as single launches may be far off.
    """
    values, numbers = np.asarray(logs, dtype=np.float64), np.asarray(clusters)
    groups = [values[numbers == number] for number in np.unique(numbers)]
    repeated = [group for group in groups if group.size > 1]
    if not repeated or len(groups) < 2:
        return None
    within = _noise_of(repeated)
    medians = np.array([np.median(group) for group in groups])
    noise = within**2 * float(np.mean([_median_factor(group.size) / group.size for group in groups]))
    return Spread(math.sqrt(max(0.0, float(medians.var(ddof=1)) - noise)), within)


def clusters_needed(logs: ArrayLike, clusters: ArrayLike, alpha: float, margin: float) -> int:
    """Clusters, each with as many pairs as it has now, for an interval of at most +-`margin` (log scale).

    With what of alpha is left for a last look at twice the pairs of the one before it.
    """
    alpha *= 1.0 - (1.0 / LOOK_GROWTH) ** SPENDING_POWER
    centres = centres_of(logs, clusters)
    deviation = float(centres.std(ddof=1)) if centres.size > 1 else math.nan
    if not math.isfinite(deviation):
        return fewest_clusters(alpha)
    needed = fewest_clusters(alpha)
    for _ in range(50):  # the quantile depends on the number; a few steps settle it
        wanted = math.ceil((_quantile(alpha, needed) * deviation / margin) ** 2)
        if wanted <= needed:
            break
        needed = wanted if wanted <= needed * 1.5 else math.ceil(needed * 1.5)
    return needed


def _quantile(alpha: float, clusters: int) -> float:
    return float(-stdtrit(clusters - 1, alpha / 2.0))


def _noise_of(groups: list[NDArray[np.float64]]) -> float:
    """The standard deviation of a value about its cluster, from half the distances of pairs within it."""
    distances = np.concatenate([np.abs(np.diff(group)) for group in groups])
    return float(np.median(distances)) / (0.6744897501960817 * math.sqrt(2.0))


def _median_factor(count: int) -> float:
    """Variance of a median of normal values over that of their mean; exact for 1 and 2."""
    return 1.0 if count <= 2 else math.pi / 2.0 * count / (count - 1 + math.pi / 2.0)
