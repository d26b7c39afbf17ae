"""Where the level of a series changed: steps in what scatters, with single values that are far off.

A value has a known error of its own measuring, and all scatter besides by something that is found from the
series: what a build's layout does, what a day does. Steps are looked for in windows of all lengths, the
narrowest that shows one first (Baranowski, Chen and Fryzlewicz 2019, "Narrowest-over-threshold detection of
multiple change points"; windows as of Kovács, Bühlmann, Li and Munk 2023, "Seeded binary segmentation"). A
value that is far off counts as much as one at three standard deviations. Where a step lies, and how probable
it is, is told by a likelihood in which one value in fifty is an outlier.

Values that were measured together share a part of their error: it moves all of them alike, so that any number
of them know a level no better than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FEWEST = 4  # values on either side of a step: fewer may be one bad day
# Of one place in one window, of all series of a page together; docs/history.md has what comes of it.
FALSE_ALARM = 1e-4
SUSPICION = 40.0  # times as likely as a false alarm: what is not told, and worth another look
_MAD = 1.4826  # from a median absolute deviation to a normal distribution's standard deviation
_CLIP = 3.0  # standard deviations: what is further off counts as this
_MEDIAN_REACH = 5  # values to either side that a running median looks at
_OUTLIERS, _OUTLIER_WIDTH = 0.02, 10.0  # their share, and how much wider they scatter
_FAR = 4.0  # standard deviations from its level: an outlier is called one
_UNKNOWN_ERROR = 0.05  # at least, log scale, of a value whose error is not known beside others whose is
LEAST_SCATTER = 1e-4  # of a series: no two builds are known to be closer
_CHANCE = 0.01  # of a commit to bring a step, before anything is known
_USUAL_SIZE = 0.03  # of a step, likewise: a standard deviation, log scale
_SHRINK = math.sqrt(0.5)  # from the windows of one length to those of the next
_SMALLEST_WINDOW = 3 * FEWEST
_ROUNDS = 4  # of moving steps to where they fit best
_NEAR = 25  # values on either side that tell a step's size: those further off may have drifted
_INFORMATIVE = 0.4  # of a series' differences, as much as their median absolute deviation tells
_LOCAL = 50  # differences that tell the scatter at one place
_LOUDER = 1.4  # times the scatter of the whole series: less may be chance, of so few differences
MOST_CERTAIN = 0.90  # what trials bear out, with two bad days in a hundred: the model alone says more


class LevelStep(NamedTuple):
    """One step of the level, log scale; places count from 0."""

    place: int  # the first value of the new level, as is most probable
    first: int  # the new level begins at `first` at the earliest and at `last` at the latest, with the level
    last: int
    size: float  # level behind it less level before it
    low: float
    high: float
    certainty: float  # posterior probability that there is a step and not only scatter, 0.9 at most


@dataclass(frozen=True, slots=True)
class LevelSteps:
    """What is known of one series."""

    steps: tuple[LevelStep, ...]
    scatter: float | None  # standard deviation of a value around its level, its own error left out;
    # None where fewer than three values tell none, `LEAST_SCATTER` where none is seen besides that error
    levels: tuple[float, ...]  # before the first step, behind it and so on; one more than steps
    outliers: tuple[int, ...]  # places of values that are far off, log scale
    recent: int  # how many of the last values are off to one side, too few for a step yet; else 0
    suspected: tuple[int, ...] = ()  # places where a step may be, and values that are known better would tell


class Together(NamedTuple):
    """Which values were measured together, and the standard error that those of a group share."""

    groups: ArrayLike  # a number for each value: the same for the same group
    shared: ArrayLike  # of each value, a part of its whole standard error


def find_steps(
    values: ArrayLike,
    errors: ArrayLike,
    level: float = 0.95,
    least: float = 0.0,
    *,
    together: Together | None = None,
    alarm: float = FALSE_ALARM,
) -> LevelSteps:
    """The steps of a series.

    `values` are logarithms, one a commit in order; `errors` the standard errors of their measuring, NaN where
    that is not known (it is taken for as bad as any other), of which `together` says what is shared. `level`
    is that of all intervals; steps smaller than `least` are left out, and those whose size may as well be 0.
    `alarm` is the share of windows without a step that show one: who looks at several series divides it by
    their number.
    """
    series = _Series(values, errors, together, alarm)
    if series.count < 2 * FEWEST:
        middle = (float(np.median(series.values)),) if series.count else ()
        return LevelSteps((), series.scatter, middle, (), 0)
    first, suspected = _found(series)
    places = _supported(series, _moved(series, first))
    places = _supported(series, _moved(series, _missed(series, places)))
    steps = [_step(series, *around, level) for around in _around(series, places)]
    while untold := [step for step in steps if abs(step.size) < least or step.low <= 0.0 <= step.high]:
        gone = min(untold, key=lambda step: abs(step.size)).place
        places = _moved(series, [place for place in places if place != gone])
        steps = [_step(series, *around, level) for around in _around(series, places)]
    levels = [_level(series, begin, end)[0] for begin, end in _spans(series, places)]
    far = series.far_from(levels, _spans(series, places))
    return LevelSteps(
        tuple(steps),
        series.scatter,
        tuple(levels),
        tuple(np.nonzero(np.abs(far) > _FAR)[0].tolist()),
        _recent(far[places[-1] if places else 0 :]),
        _untold(series, suspected, places, least),
    )


class _Series:
    """Values with what they scatter by, and sums from which the mean of any part is known at once."""

    def __init__(self, values: ArrayLike, errors: ArrayLike, together: Together | None, alarm: float) -> None:
        self.values: Floats = np.asarray(values, dtype=np.float64)
        whole = _guessed(np.asarray(errors, dtype=np.float64))
        self.count = self.values.size
        given = together if together is not None else Together(np.arange(self.count), np.zeros(self.count))
        self.groups: NDArray[np.int_] = np.unique(np.asarray(given.groups), return_inverse=True)[1]
        self.shared: Floats = np.minimum(np.asarray(given.shared, dtype=np.float64), whole)
        self.grouped = bool(np.any(self.shared > 0.0))
        # What is shared scatters neighbours of other groups, and moves those of the same one together.
        lone = _lone(self.groups) if self.grouped else np.zeros(self.count)
        own = whole**2 - self.shared**2
        seen = own + lone * self.shared**2
        self.scatter, around = _scatter(self.values, np.sqrt(seen))
        self.own: Floats = np.sqrt(around**2 + own)
        self.sd: Floats = np.sqrt(around**2 + seen)
        self.freedom = max(2.0, _INFORMATIVE * (self.count - 1))  # of the scatter, in Student's sense
        weights = 1.0 / self.sd**2
        self.weight_sums = np.concatenate(([0.0], np.cumsum(weights)))
        self.sums = np.concatenate(([0.0], np.cumsum(weights * _clipped(self.values, self.sd))))
        self.least_z = _student(alarm / 2.0, self.freedom)
        self.suspect_z = _student(min(SUSPICION * alarm, 0.5) / 2.0, self.freedom)

    def far_from(self, levels: Sequence[float], spans: Sequence[tuple[int, int]]) -> Floats:
        """Of each value its distance from its level, in standard deviations."""
        expected = np.repeat(np.array(levels), [end - begin for begin, end in spans])
        told: Floats = (self.values - expected) / self.sd
        return told


def _guessed(errors: Floats) -> Floats:
    """A value whose error nobody knows is taken for as bad as any; where none is known, scatter tells it all.

    With 0 in its place a value of few launches had weights that no measured one comes near, where measuring
    explains all scatter: 23 of 200 series of 60 values without a step, every fifth one of them, showed one.
    """
    unknown = np.isnan(errors)
    if unknown.all():
        return np.zeros(errors.size)
    return np.where(unknown, max(_UNKNOWN_ERROR, float(np.max(errors, where=~unknown, initial=0.0))), errors)


def _student(tail: float, freedom: float) -> float:
    """The quantile above which `tail` of Student's distribution lies."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, tail))


def _lone(groups: NDArray[np.int_]) -> Floats:
    """Of each value the share of its neighbours that are of another group."""
    if groups.size <= 2 * _MEDIAN_REACH:
        return np.asarray((groups[:, None] != groups[None, :]).mean(axis=1))
    padded = np.pad(groups, _MEDIAN_REACH, mode="symmetric")
    others = sliding_window_view(padded, 2 * _MEDIAN_REACH + 1) != groups[:, None]
    told: Floats = others.sum(axis=1) / (2.0 * _MEDIAN_REACH)
    return told


def _scatter(values: Floats, errors: Floats) -> tuple[float | None, Floats]:
    """Of neighbours, whose level mostly is the same; without what their measuring explains.

    Of the whole series, None of one with too few, and at each value: more than that where its surroundings
    scatter more.
    """
    if values.size < 3:
        return None, np.full(values.size, LEAST_SCATTER)
    differences = np.diff(values)
    off = np.abs(differences - np.median(differences))
    measuring = float(np.median(errors)) ** 2
    whole = _MAD * float(np.median(off)) / math.sqrt(2.0)
    scatter = math.sqrt(max(whole**2 - measuring, LEAST_SCATTER**2))
    around = np.full(values.size, scatter)
    if off.size > _LOCAL:
        near = _MAD * np.median(sliding_window_view(off, _LOCAL), axis=1) / math.sqrt(2.0)
        near = np.pad(near, (_LOCAL // 2, values.size - near.size - _LOCAL // 2), mode="edge")
        louder = np.sqrt(np.maximum(near**2 - measuring, 0.0))
        around = np.where(near > _LOUDER * whole, np.maximum(louder, scatter), scatter)
    return scatter, around


def _clipped(values: Floats, sd: Floats) -> Floats:
    """Values no further from a running median than three standard deviations: a median keeps steps."""
    if values.size < 2:
        return values
    if values.size <= 2 * _MEDIAN_REACH:
        least, most = _bounds_of_halves(values, sd)
        return np.minimum(np.maximum(values, least), most)
    padded = np.pad(values, _MEDIAN_REACH, mode="symmetric")
    middle = np.median(sliding_window_view(padded, 2 * _MEDIAN_REACH + 1), axis=1)
    clipped: Floats = np.clip(values, middle - _CLIP * sd, middle + _CLIP * sd)
    return clipped


def _bounds_of_halves(values: Floats, sd: Floats) -> tuple[float, float]:
    """For few values: beyond the medians of both halves."""
    half = values.size // 2
    middles = (float(np.median(values[:half])), float(np.median(values[half:])))
    reach = _CLIP * float(np.median(sd))
    return min(middles) - reach, max(middles) + reach


class _Suspicion(NamedTuple):
    """A window that scatter alone seldom makes."""

    z: float
    place: int
    begin: int
    end: int


def _found(series: _Series) -> tuple[list[int], list[_Suspicion]]:
    """Places of steps, from the narrowest window that shows one to the widest; all that looks like one."""
    places: list[int] = []
    suspected: list[_Suspicion] = []
    length = _SMALLEST_WINDOW
    lengths = []
    while length < series.count:
        lengths.append(length)
        length = math.ceil(length / _SHRINK)
    for size in [*lengths, series.count]:
        begins = np.arange(0, series.count - size + 1, max(1, size // 4))
        if begins[-1] != series.count - size:
            begins = np.append(begins, series.count - size)
        z, best = _best_split(series, begins, size)
        for index in np.argsort(-z):
            if z[index] <= series.suspect_z:
                break
            begin, place = int(begins[index]), int(best[index])
            if any(begin < other < begin + size for other in places):
                continue
            suspected.append(_Suspicion(float(z[index]), place, begin, begin + size))
            if z[index] > series.least_z:
                places.append(place)
    return sorted(places), suspected


def _untold(
    series: _Series, suspected: Sequence[_Suspicion], places: Sequence[int], least: float
) -> tuple[int, ...]:
    """Of suspicions the strongest ones, large enough, in whose windows is neither a step nor another one."""
    kept: list[int] = []
    for one in sorted(suspected, key=lambda one: -one.z):
        if not any(one.begin < place < one.end for place in (*places, *kept)):
            size, _ = _size(series, one.begin, one.place, one.end)
            if abs(size) >= least:
                kept.append(one.place)
    return tuple(sorted(kept))


def _best_split(series: _Series, begins: NDArray[np.int_], size: int) -> tuple[Floats, NDArray[np.int_]]:
    """Of each window, which all are `size` long: the largest difference of means and its place."""
    inner = np.arange(FEWEST, size - FEWEST + 1)
    at = begins[:, None] + inner[None, :]
    ends = begins + size
    left = series.weight_sums[at] - series.weight_sums[begins][:, None]
    right = series.weight_sums[ends][:, None] - series.weight_sums[at]
    means_left = (series.sums[at] - series.sums[begins][:, None]) / left
    means_right = (series.sums[ends][:, None] - series.sums[at]) / right
    z = np.abs(means_right - means_left) / np.sqrt(1.0 / left + 1.0 / right)
    best = np.argmax(z, axis=1)
    return z[np.arange(len(begins)), best], begins + inner[best]


def _missed(series: _Series, places: Sequence[int]) -> list[int]:
    """With a step in the middle of what lies between two others, where there is one."""
    found = list(places)
    for begin, end in _spans(series, places):
        if end - begin >= 2 * FEWEST:
            z, best = _best_split(series, np.array([begin]), end - begin)
            if z[0] > series.least_z:
                found.append(int(best[0]))
    return sorted(found)


def _spans(series: _Series, places: Sequence[int]) -> list[tuple[int, int]]:
    ends = [0, *places, series.count]
    return list(pairwise(ends))


def _around(series: _Series, places: Sequence[int]) -> list[tuple[int, int, int]]:
    """Each place with where the level before it begins and the one behind it ends."""
    ends = [0, *places, series.count]
    return [(ends[index - 1], ends[index], ends[index + 1]) for index in range(1, len(ends) - 1)]


def _moved(series: _Series, places: Sequence[int]) -> list[int]:
    """Each step to where it fits best between its neighbours, until none moves."""
    found = list(places)
    for _ in range(_ROUNDS):
        before = list(found)
        for index in range(len(found)):
            begin = found[index - 1] if index else 0
            end = found[index + 1] if index + 1 < len(found) else series.count
            if end - begin >= 2:
                logs = _fits(series, begin, found[index], end)
                found[index] = begin + 1 + int(np.argmax(logs))
        found = sorted(set(found))
        if found == before:
            break
    return found


def _supported(series: _Series, places: Sequence[int]) -> list[int]:
    """Without those that their neighbours' values do not show, the weakest first."""
    found = list(places)
    while found:
        strengths = [_strength(series, *around) for around in _around(series, found)]
        weakest = int(np.argmin(strengths))
        if strengths[weakest] > series.least_z:
            break
        del found[weakest]
        found = _moved(series, found)
    return found


def _strength(series: _Series, begin: int, place: int, end: int) -> float:
    """How far apart both levels are, in standard errors; 0 where one side has too few values."""
    if min(place - begin, end - place) < FEWEST:
        return 0.0
    size, error = _size(series, begin, place, end)
    return abs(size) / error


def _level(series: _Series, begin: int, end: int) -> tuple[float, float]:
    """Mean of a part, in which outliers count next to nothing, and its standard error."""
    values, sd = series.values[begin:end], series.sd[begin:end]
    middle = float(np.median(values))
    weights = 1.0 / series.own[begin:end] ** 2
    for _ in range(3):
        own = weights * _belongs((values - middle) / sd)
        if own.sum() <= 0.0:
            break
        middle = float(np.sum(own * values) / own.sum())
    own = weights * _belongs((values - middle) / sd)
    kept = max(float(own.sum()), float(weights.min()))
    if not series.grouped or own.sum() <= 0.0:
        return middle, 1.0 / math.sqrt(kept)
    # What a group shares does not average out over its values, only over groups.
    of_groups = np.bincount(series.groups[begin:end], own * series.shared[begin:end]) / own.sum()
    return middle, math.hypot(1.0 / math.sqrt(kept), float(np.sqrt(np.sum(of_groups**2))))


def _belongs(z: Floats) -> Floats:
    """The probability of a value so many standard deviations off to be no outlier."""
    usual = (1.0 - _OUTLIERS) * np.exp(-0.5 * np.minimum(z**2, 1400.0))
    outlier = _OUTLIERS / _OUTLIER_WIDTH / (1.0 + (z / _OUTLIER_WIDTH) ** 2)
    told: Floats = usual / (usual + outlier)
    return told


def _log_likelihood(z: Floats) -> Floats:
    """Of values so many standard deviations off, up to a constant; one in fifty is an outlier."""
    told: Floats = np.logaddexp(
        math.log1p(-_OUTLIERS) - 0.5 * z**2,
        math.log(_OUTLIERS / _OUTLIER_WIDTH) - np.log1p((z / _OUTLIER_WIDTH) ** 2),
    )
    return told


def _fits(series: _Series, begin: int, place: int, end: int) -> Floats:
    """Log likelihood of the step at begin + 1, begin + 2 ... end - 1, with the levels that `place` makes."""
    place = min(max(place, begin + 1), end - 1)
    before, before_sd = _level(series, begin, place)
    after, after_sd = _level(series, place, end)
    values, sd = series.values[begin:end], series.sd[begin:end]
    left = np.cumsum(_log_likelihood((values - before) / np.hypot(sd, before_sd)))
    right = np.cumsum(_log_likelihood((values - after) / np.hypot(sd, after_sd))[::-1])[::-1]
    told: Floats = left[:-1] + right[1:]
    return told


def _step(series: _Series, begin: int, place: int, end: int, level: float) -> LevelStep:
    logs = _fits(series, begin, place, end)
    share = np.exp(logs - logs.max())
    reached = np.cumsum(share) / share.sum()
    tail = (1.0 - level) / 2.0
    first = begin + 1 + int(np.searchsorted(reached, tail))
    last = begin + 1 + min(int(np.searchsorted(reached, 1.0 - tail)), share.size - 1)
    size, error = _size(series, max(begin, place - _NEAR), place, min(end, place + _NEAR))
    reach = _student(tail, series.freedom)
    if abs(size) <= reach * error:  # it scatters so much that only the whole levels show it
        size, error = _size(series, begin, place, end)
    return LevelStep(
        place,
        min(first, place),
        max(last, place),
        size,
        size - reach * error,
        size + reach * error,
        _certainty(series, (begin, end), logs, _strength(series, begin, place, end), error),
    )


def _size(series: _Series, begin: int, place: int, end: int) -> tuple[float, float]:
    """Of a step between two levels, and its standard error."""
    before, before_sd = _level(series, begin, place)
    after, after_sd = _level(series, place, end)
    return after - before, math.hypot(before_sd, after_sd)


def _certainty(series: _Series, span: tuple[int, int], logs: Floats, strength: float, error: float) -> float:
    """By Bayes' rule, over all places of the step and sizes of some percent; as much as trials bear out."""
    values, sd = series.values[slice(*span)], series.sd[slice(*span)]
    middle, _ = _level(series, *span)
    none = float(_log_likelihood((values - middle) / sd).sum())
    # No more than the levels' own errors allow, which know of groups.
    gain = min(max(0.0, float(logs.max()) - none), 0.5 * strength**2)
    # The scatter itself is only estimated: Student's likelihood instead of the normal one.
    told = 0.5 * (series.freedom + 1.0) * math.log1p(2.0 * gain / series.freedom)
    places = float(np.exp(logs - logs.max()).sum())
    size_known = error / math.hypot(error, _USUAL_SIZE)
    odds = math.log(_CHANCE / (1.0 - _CHANCE)) + told + math.log(places) + math.log(size_known)
    return min(MOST_CERTAIN, 1.0 / (1.0 + math.exp(-min(max(odds, -700.0), 700.0))))


def _recent(far: Floats) -> int:
    """How many of the last values lie off to one side, all beyond two standard deviations and one far."""
    best = 0
    for count in range(1, min(FEWEST, far.size)):
        last = far[-count:]
        if (np.all(last > 2.0) or np.all(last < -2.0)) and np.max(np.abs(last)) > _FAR:
            best = count
    return best
