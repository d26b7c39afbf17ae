"""How well steps are found, on drawn series whose steps are known; docs/history.md has the figures.

`PYTHONPATH=python .venv/bin/python tests/python/stats/change_point_trials.py [SERIES] [--otava --ruptures]`:
the last two give the same series to those, where they are installed (apache-otava 0.8.0, ruptures 1.1.10).
`--alone`: no two commits share anything of their errors.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollbench.history.group_rounds import USUAL_SHARE
from tollbench.stats.change_points import FALSE_ALARM, MOST_CERTAIN, LevelStep, Together, find_steps

COMMITS = 200
GROUP = 8  # commits that are measured together
WITHIN = 2  # commits: as close a step counts as found
APART = 15  # commits at least between two steps, and to the ends
LEAST = 0.005  # smaller steps are not told, by any of them
SIZES = (0.01, 0.02, 0.03, 0.04, 0.05)
# Told -> noise of a commit, number of steps, each from and to; whether neither outliers nor drift are there.
KINDS = {
    "0.3 to 1 %": ((0.003, 0.01), (1, 4), False),
    "1 %": ((0.01, 0.01), (1, 4), False),
    "1 %, no outliers, no drift": ((0.01, 0.01), (1, 4), True),
    "0.3 to 1 %, no step": ((0.003, 0.01), (0, 0), False),
    "1 %, no step": ((0.01, 0.01), (0, 0), False),
}
Floats = NDArray[np.float64]


class Drawn(NamedTuple):
    """A series of log ratios, the errors of its measuring, and where its steps are: place -> size."""

    values: Floats
    errors: Floats
    steps: dict[int, float]
    together: Together


def drawn(
    rng: np.random.Generator,
    noise: float,
    steps: int,
    *,
    size: float = 0.0,
    plain: bool = False,
    group: int = GROUP,
    layout: float | None = None,
) -> Drawn:
    """200 commits. `noise` is the standard deviation of a commit's value, half of its variance measuring.

    `group` neighbours are measured beside the same two launches of the reference: a third of the variance of
    their measuring is one and the same for all of them. `layout`: the rest, where it is not the other half.
    Besides, one day in fifty is off by 3 to 10 % (one or two commits), and the level drifts by 0.2 % up and
    down; not where `plain`.
    """
    level = np.zeros(COMMITS)
    places: list[int] = []
    while len(places) < steps:
        place = int(rng.integers(APART, COMMITS - APART))
        if all(abs(place - other) >= APART for other in places):
            places.append(place)
    sizes = {}
    for place in places:
        step = float(size or rng.choice(SIZES)) * float(rng.choice((-1.0, 1.0)))
        sizes[place] = step
        level[place:] += math.log1p(step)
    groups = np.arange(COMMITS) // group
    errors = noise * math.sqrt(0.5) * rng.uniform(0.7, 1.3, groups[-1] + 1)[groups]
    shared = errors * math.sqrt(USUAL_SHARE)
    values = level + rng.normal(0.0, noise * math.sqrt(0.5) if layout is None else layout, COMMITS)
    values += rng.normal(0.0, 1.0, COMMITS) * np.sqrt(errors**2 - shared**2)
    values += rng.normal(0.0, 1.0, groups[-1] + 1)[groups] * shared
    if not plain:
        values += 0.002 * np.sin(2.0 * math.pi * (np.arange(COMMITS) / COMMITS * 1.5 + rng.uniform()))
        for day in np.nonzero(rng.random(COMMITS) < 0.02)[0]:
            off = float(rng.choice((-1.0, 1.0)) * rng.uniform(0.03, 0.1))
            values[day : day + int(rng.integers(1, 3))] += off
    return Drawn(values, errors, sizes, Together(groups, shared))


class Counted(NamedTuple):
    """Over many series."""

    found: dict[float, list[bool]]  # by size of the step
    false: int
    commits: int


def steps_of(series: Drawn, least: float = LEAST, alarm: float = FALSE_ALARM) -> tuple[LevelStep, ...]:
    return find_steps(series.values, series.errors, least=least, together=series.together, alarm=alarm).steps


def own(series: Drawn) -> list[int]:
    return [step.place for step in steps_of(series)]


def of_hundred(series: Drawn) -> list[int]:
    """As one of a hundred benchmarks of a page."""
    return [step.place for step in steps_of(series, alarm=FALSE_ALARM / 100)]


def calibrated(series: Sequence[Drawn]) -> list[tuple[float, bool]]:
    """Of each step that is told: its certainty, and whether there is one within five commits."""
    return [
        (step.certainty, any(abs(step.place - place) <= 5 for place in one.steps))
        for one in series
        for step in steps_of(one)
    ]


def matched(steps: dict[int, float], places: Sequence[int]) -> tuple[dict[int, int], int]:
    """Of each true step the nearest place that was found, none twice; and how many belong to none."""
    left = sorted(places)
    pairs: dict[int, int] = {}
    for step in sorted(steps):
        near = min(left, key=lambda place: abs(place - step), default=None)
        if near is not None and abs(near - step) <= APART // 2:
            pairs[step] = near
            left.remove(near)
    return pairs, len(left)


def counted(find: Callable[[Drawn], Sequence[int]], series: Sequence[Drawn]) -> Counted:
    result = Counted({size: [] for size in SIZES}, 0, 0)
    false = 0
    for one in series:
        pairs, more = matched(one.steps, find(one))
        false += more
        for place, size in one.steps.items():
            hit = place in pairs and abs(pairs[place] - place) <= WITHIN
            result.found.setdefault(abs(size), []).append(hit)
    return result._replace(false=false, commits=COMMITS * len(series))


def intervals(series: Sequence[Drawn]) -> tuple[list[bool], list[bool]]:
    """Of the steps that were found: whether the intervals of place and size hold the truth."""
    inside, covered = [], []
    for one in series:
        steps = steps_of(one)
        pairs, _ = matched(one.steps, [step.place for step in steps])
        for place, near in pairs.items():
            step = next(step for step in steps if step.place == near)
            inside.append(step.first <= place <= step.last)
            covered.append(step.low <= math.log1p(one.steps[place]) <= step.high)
    return inside, covered


def otava() -> Callable[[Drawn], Sequence[int]]:
    """Apache Otava with its own settings (window 50, p 0.001)."""
    from otava.analysis import compute_change_points  # type: ignore[import-not-found]

    failed: list[Drawn] = []

    def find(series: Drawn) -> list[int]:
        values = np.exp(series.values).tolist()
        try:
            points, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=LEAST)
        except ValueError:  # of some series it makes an empty part, and fails
            failed.append(series)
            return []
        return [int(point.index) for point in points]

    find.failed = failed  # type: ignore[attr-defined]
    return find


def ruptures() -> Callable[[Drawn], Sequence[int]]:
    """ruptures, means, a penalty of 3 log n in units of the scatter of neighbours; steps below LEAST go."""
    import ruptures as rpt  # type: ignore[import-not-found]

    def find(series: Drawn) -> list[int]:
        differences = np.diff(series.values)
        sd = 1.4826 * np.median(np.abs(differences - np.median(differences))) / math.sqrt(2.0)
        penalty = 3.0 * math.log(series.values.size)
        found = (
            rpt.KernelCPD(kernel="linear", min_size=4).fit(series.values[:, None] / sd).predict(pen=penalty)
        )
        means = [float(part.mean()) for part in np.split(series.values, found[:-1])]
        steps = zip(found[:-1], np.diff(means), strict=True)
        return [int(place) for place, size in steps if abs(size) >= LEAST]

    return find


def row(name: str, noise: str, result: Counted, seconds: float) -> str:
    shares = []
    for size in SIZES:
        hits = result.found.get(size, [])
        shares.append(f"{100 * sum(hits) / len(hits):.1f} %" if hits else "-")
    per = 1000.0 * result.false / result.commits
    return f"| {name} | {noise} | {' | '.join(shares)} | {per:.2f} | {1e3 * seconds:.1f} |"


def main(*words: str) -> None:
    count = int(next((word for word in words if word.isdecimal()), "400"))
    finders: dict[str, Callable[[Drawn], Sequence[int]]] = {"toll": own, "toll, of 100": of_hundred}
    if "--otava" in words:
        finders["Otava"] = otava()
    if "--ruptures" in words:
        finders["ruptures"] = ruptures()
    print("| | noise | 1 % | 2 % | 3 % | 4 % | 5 % | false in 1,000 commits | ms a series |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for told, (noises, steps, plain) in KINDS.items():
        rng = np.random.default_rng(20)
        series = [
            drawn(
                rng,
                float(rng.uniform(*noises)),
                int(rng.integers(steps[0], steps[1] + 1)),
                plain=plain,
                group=1 if "--alone" in words else GROUP,
            )
            for _ in range(count)
        ]
        for name, find in finders.items():
            began = time.perf_counter()
            result = counted(find, series)
            print(row(name, told, result, (time.perf_counter() - began) / count), flush=True)
            if failed := getattr(find, "failed", None):
                print(f"({name} failed on {len(failed)} of {count})")
                failed.clear()
        told_so = calibrated(series)
        sure = [true for certainty, true in told_so if certainty >= MOST_CERTAIN]
        if sure:
            print(f"(toll's of the highest certainty: {100 * np.mean(sure):.1f} % of {len(sure)} are true)")
        inside, covered = intervals(series)
        if inside:
            print(
                f"(toll's intervals: the place in {100 * np.mean(inside):.1f} %,"
                f" the size in {100 * np.mean(covered):.1f} % of {len(inside)})"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
