"""How well changes are found by what a history measures over some nights; docs/history.md has the figures.

    PYTHONPATH=python .venv/bin/python tests/python/history/history_trials.py [HISTORIES] [--two]

A first night measures 200 commits, each once; later ones measure again what the history asks for, by the same
code as `toll history` (`read_history`, `order_of_measuring`), until it asks for nothing or five nights are
over. A build keeps its layout's part of the noise for ever; the rest is drawn anew at each visit. `--two`:
all steps are of 2 %.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "stats"))

from change_point_trials import APART, COMMITS, GROUP, KINDS, LEAST, SIZES, WITHIN, matched  # noqa: E402
from made_histories import MACHINE, commit_hash, row  # noqa: E402

from tollbench.history.choosing_commits import order_of_measuring  # noqa: E402
from tollbench.history.group_rounds import USUAL_SHARE  # noqa: E402
from tollbench.history.history_folder import HistorySession, MeasuredCommit, SessionHeader  # noqa: E402
from tollbench.history.reading_history import ReadHistory, read_history  # noqa: E402

NIGHTS = 5
BAD_DAYS = 0.02  # of visits begin one, and half of these have the next commit of the group as well
ROUNDS = 15  # of a group
Floats = NDArray[np.float64]


@dataclass(slots=True)
class World:
    """What is true of 200 commits, log scale, and how it is measured."""

    rng: np.random.Generator
    noise: float  # standard deviation of a commit's value, visited once: half of its variance is the build's
    builds: Floats
    steps: dict[int, float]
    plain: bool
    nights: list[HistorySession] = field(default_factory=list)

    def measured(self, places: Sequence[int], number: int) -> list[MeasuredCommit]:
        """One group beside the reference, which moves all of them alike."""
        error = self.noise * math.sqrt(0.5) * float(self.rng.uniform(0.7, 1.3))
        shared = error * math.sqrt(USUAL_SHARE)
        of_all = float(self.rng.normal()) * shared
        # Of some rounds the errors are known as well as their scatter is.
        told = error * math.sqrt(float(self.rng.chisquare(ROUNDS - 1)) / (ROUNDS - 1))
        bad = self._bad_days(len(places))
        found = []
        for place, off in zip(places, bad, strict=True):
            log = self.builds[place] + of_all
            log += float(self.rng.normal()) * math.sqrt(error**2 - shared**2) + off
            name = commit_hash(place)
            point = (math.exp(log), None, None, ROUNDS, told, 100.0, 100.0 * math.exp(log))
            found.append(
                MeasuredCommit(
                    commit=name,
                    tree=name,
                    points={"sum": point},
                    group=number,
                    shared={"sum": told * math.sqrt(USUAL_SHARE)},
                )
            )
        return found

    def _bad_days(self, visits: int) -> Floats:
        """By how much each visit of a group is off, log scale."""
        off = np.zeros(visits)
        for day in np.nonzero(self.rng.random(visits) < (0.0 if self.plain else BAD_DAYS))[0]:
            size = float(self.rng.choice((-1.0, 1.0)) * self.rng.uniform(0.03, 0.1))
            off[day : day + int(self.rng.integers(1, 3))] += size
        return off

    def read(self, tonight: Sequence[MeasuredCommit] = ()) -> ReadHistory:
        sessions = [*self.nights, self._session(tonight)] if tonight else self.nights
        return read_history(row(COMMITS), sessions, threshold=LEAST)

    def night(self) -> bool:
        """As `toll history` measures: group after group, each chosen from all that is known by then.

        False where there was nothing to measure. The first night's groups are all chosen at once, as nothing
        that is found in it changes what is left for it but the order.
        """
        tonight: list[MeasuredCommit] = []
        tried: set[int] = set()
        group = 0
        found = self.read()
        while asked := [place for place in _order(found) if place not in tried]:
            chosen = asked if not self.nights and not tried else asked[:GROUP]
            tried.update(chosen)
            for begin in range(0, len(chosen), GROUP):
                group += 1
                tonight += self.measured(chosen[begin : begin + GROUP], group)
            if not self.nights:
                break
            found = self.read(tonight)
        if tonight:
            self.nights.append(self._session(tonight))
        return bool(tonight)

    def _session(self, measured: Sequence[MeasuredCommit]) -> HistorySession:
        began = f"2026-03-{1 + len(self.nights):02}T01:00:00Z"
        header = SessionHeader(
            toll_history=1,
            started_utc=began,
            reference=commit_hash(0),
            reference_digest="d",
            machine=MACHINE,
        )
        return HistorySession(Path(), header, tuple(measured), (), ())


def _order(found: ReadHistory) -> list[int]:
    return order_of_measuring(
        len(found.visits), found.visits, found.runs, found.doubted, found.failed, found.suspected
    )


def world(
    rng: np.random.Generator, noise: float, steps: int, *, sizes: Sequence[float] = SIZES, plain: bool = False
) -> World:
    """Steps 15 commits apart at least; the level drifts by 0.2 % up and down, not where `plain`."""
    builds = rng.normal(0.0, noise * math.sqrt(0.5), COMMITS)
    if not plain:
        builds += 0.002 * np.sin(2.0 * math.pi * (np.arange(COMMITS) / COMMITS * 1.5 + rng.uniform()))
    true: dict[int, float] = {}
    while len(true) < steps:
        place = int(rng.integers(APART, COMMITS - APART))
        if all(abs(place - other) >= APART for other in true):
            true[place] = float(rng.choice(sizes)) * float(rng.choice((-1.0, 1.0)))
            builds[place:] += math.log1p(true[place])
    return World(rng, noise, builds, true, plain)


class Counts(NamedTuple):
    """After one night, over many histories."""

    found: dict[float, list[bool]]  # by size of the step: within two commits
    false: list[int]  # of a history
    visits: list[int]


def counts_of(worlds: Sequence[World], nights: int = NIGHTS) -> list[Counts]:
    """After each night."""
    counted = [Counts({}, [], []) for _ in range(nights)]
    for one in worlds:
        for count in counted:
            one.night()
            places = [change.place for change in one.read().told.changes]
            pairs, false = matched(one.steps, places)
            count.false.append(false)
            count.visits.append(sum(len(session.commits) for session in one.nights))
            for place, size in one.steps.items():
                hit = place in pairs and abs(pairs[place] - place) <= WITHIN
                count.found.setdefault(abs(size), []).append(hit)
    return counted


def main(*words: str) -> None:
    count = int(next((word for word in words if word.isdecimal()), "200"))
    sizes = (0.02,) if "--two" in words else SIZES
    print(
        f"| noise | nights | {' | '.join(f'{one:.0%}' for one in sizes)} | false in 1,000 commits | visits |"
    )
    print("| --- | --- |" + " ---: |" * (len(sizes) + 2))
    for told, (noises, steps, plain) in KINDS.items():
        rng = np.random.default_rng(20)
        worlds = [
            world(
                rng,
                float(rng.uniform(*noises)),
                int(rng.integers(steps[0], steps[1] + 1)),
                sizes=sizes,
                plain=plain,
            )
            for _ in range(count)
        ]
        for number, night in enumerate(counts_of(worlds), 1):
            shares = [
                f"{100 * np.mean(night.found[size]):.1f} % of {len(night.found[size])}"
                if size in night.found
                else ""
                for size in sizes
            ]
            false = 1000.0 * sum(night.false) / (COMMITS * count)
            visits = np.mean(night.visits) / COMMITS
            print(f"| {told} | {number} | {' | '.join(shares)} | {false:.2f} | {visits:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
