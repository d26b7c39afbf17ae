"""A confidence sequence for paired log ratios that come in clusters: what is alike within each is no news.

Each cluster is one draw of something that stays the same in all of its pairs, such as the place of functions
in memory. More pairs of a cluster say more about that cluster alone, so clusters are the unit of replication.
What is estimated is the mean over all clusters that might have been drawn of the median log ratio in each.

At a look the interval is Student's of the clusters' medians. The looks share alpha (Bonferroni's inequality,
whatever the looks have in common, which is much): they come when the pairs have doubled, each uses 19 % of
what the ones before it have left, and the last one all of that. As of `tollbench.stats.sequential`, how long
the measuring might go on plays no part.

Assumption: clusters are drawn independently of one another and alike, and their medians are near enough to a
normal distribution, or differ from it alike on both sides of the truth, as they do where both sides of a pair
draw from one distribution. A rare mode of one side alone that no drawn cluster shows cannot be known of.
docs/layouts.md has the coverage that was found by simulation.

Sources: Student (1908); clusters as the unit, Kish, Survey Sampling (1965); alpha spending, Lan and DeMets
(1983). Layouts as a random effect: Curtsinger and Berger, Stabilizer (ASPLOS 2013); Kalibera and Jones,
Rigorous benchmarking in reasonable time (ISMM 2013).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tollbench.stats.order_statistics import Floats
from tollbench.stats.sequential import Bounds, kept, spent

FEWEST_CLUSTERS = 8  # of fewer, all may show the commoner of two modes too often
LOOK_GROWTH = 2.0
REDEALT = 499  # dealings, with the one that was seen 500
UNLIKELY = 0.05  # a share of dealings: what fewer of them show is the clusters' doing


def fewest_clusters(alpha: float) -> int:
    """Clusters without which no interval is told: fewer would be alike by chance more often than alpha.

    With two modes of equal weight, n clusters are all in one of them with a probability of 2 ** (1 - n).
    """
    return max(FEWEST_CLUSTERS, math.ceil(1.0 - math.log2(alpha * (1.0 + 1e-12))))


def look_due(pairs: int, looked_at: int, clusters: int) -> bool:
    """Whether there are pairs for each of `clusters`, twice at least and twice as many as at the last look.

    Twice at least, as one value a cluster cannot tell what clusters are from the noise of values.
    """
    return pairs % clusters == 0 and pairs >= max(2 * clusters, looked_at * LOOK_GROWTH)


class ClusterSequence:
    """The sequence itself: looks narrow what the looks before them have left (`kept`)."""

    def __init__(self, alpha: float) -> None:
        if not 0.0 < alpha < 1.0:
            raise ValueError("alpha lies between 0 and 1")
        self._alpha = alpha
        self._spent = 0.0
        self.bounds = Bounds(-math.inf, math.inf)

    def look(self, logs: ArrayLike, clusters: ArrayLike, *, last: bool = False) -> Bounds:
        """The interval after all `logs`, shape (pairs,), each of the cluster that `clusters` names.

        `last`: nothing is measured after this look. As of MedianSequence, what the looks have in common is
        kept, or this one alone (`kept`).
        """
        centres = centres_of(logs, clusters)
        visits = np.size(clusters) / max(1, centres.size)
        usable = self._alpha * (1.0 if last else spent(visits)) - self._spent
        if centres.size < fewest_clusters(self._alpha) or usable <= 0.0:
            return self.bounds
        self._spent += usable
        half = _quantile(usable, centres.size) * float(centres.std(ddof=1)) / math.sqrt(centres.size)
        middle = float(centres.mean())
        self.bounds = kept(self.bounds, Bounds(middle - half, middle + half), middle)
        return self.bounds


def mean_over_clusters(logs: ArrayLike, clusters: ArrayLike) -> float:
    """What a ClusterSequence has its interval for; NaN without pairs."""
    centres = centres_of(logs, clusters)
    return float(centres.mean()) if centres.size else math.nan


def centres_of(logs: ArrayLike, clusters: ArrayLike) -> Floats:
    """The median of each cluster, in the order of their numbers; shape (clusters,)."""
    values, numbers = np.asarray(logs, dtype=np.float64), np.asarray(clusters)
    return np.array([np.median(values[numbers == number]) for number in np.unique(numbers)])


def spread(logs: ArrayLike, clusters: ArrayLike, unlikely: float = UNLIKELY) -> float | None:
    """The standard deviation of what clusters are, without the noise of their values; log scale.

    0 where it cannot be told from that noise, None where no cluster has two values. `logs` come in the order
    of their time: what the n-th value of each cluster shares, such as a slow minute, is no part of it.

    Values are dealt to the clusters anew, the n-th ones among themselves, 499 times. Of these, fewer than a
    share of `unlikely` must have medians that lie as far apart. What the medians' variance has beyond those
    is the clusters': a median of m values of mixed clusters still has `factor / m` of it. The noise needs no
    shape, and launches that are far off count on both sides of the difference.
    """
    values, numbers = np.asarray(logs, dtype=np.float64), np.asarray(clusters)
    groups = [values[numbers == number] for number in np.unique(numbers)]
    visits = min((group.size for group in groups), default=0)
    if visits < 2 or len(groups) < 2:
        return None
    table = np.array([group[:visits] for group in groups])  # (clusters, visits)
    seen = float(np.median(table, axis=1).var(ddof=1))
    rng = np.random.default_rng(table.size)  # the same answer for the same values
    dealt = np.array([np.median(rng.permuted(table, axis=0), axis=1).var(ddof=1) for _ in range(REDEALT)])
    if np.count_nonzero(dealt >= seen) + 1 > (REDEALT + 1) * unlikely:
        return 0.0
    own_share = 1.0 - _median_factor(visits) / visits
    return math.sqrt(max(0.0, seen - float(dealt.mean())) / own_share)


def clusters_needed(logs: ArrayLike, clusters: ArrayLike, alpha: float, margin: float) -> int:
    """Clusters, each with as many pairs as it has now, for an interval of at most +-`margin` (log scale).

    With what of alpha is left for a last look after one at half of the pairs.
    """
    centres = centres_of(logs, clusters)
    alpha *= 1.0 - spent(np.size(clusters) / max(1, centres.size) / LOOK_GROWTH)
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
    from scipy.special import stdtrit

    return float(-stdtrit(clusters - 1, alpha / 2.0))


def _median_factor(count: int) -> float:
    """Variance of a median of normal values over that of their mean; exact for 1 and 2."""
    return 1.0 if count <= 2 else math.pi / 2.0 * count / (count - 1 + math.pi / 2.0)
