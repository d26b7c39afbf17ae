"""How often forecasts of `toll run` are right, by simulation:

    PYTHONPATH=python .venv/bin/python tests/python/measure/forecast_trials.py [TRIALS]

prints the table of docs/method-record.md. Launches are simulated, all from their values on is what runs do.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace

import numpy as np

from tollbench.analysis.grouping import fastest
from tollbench.analysis.values import LaunchValue
from tollbench.measure.estimate import next_of, scatter
from tollbench.measure.forecast import forecast
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import RatioTable, bonferroni, final_level, median_interval, next_look
from tollbench.words import Case, Kind, Status

Floats = np.ndarray
MOST = 400
PREPARING = 2.0  # rounds that pilots and the like take the time of: `Settings.for_cases` counts with as many
SETTINGS = Settings(budget_s=1e9, precision=0.03, max_launches=MOST, canary_share=0.0)
LAUNCH_NS = 10_000_000
UNLIMITED = replace(SETTINGS, max_launches=100 * MOST)  # what is said of less than the most is not cut there
UNASKED = replace(SETTINGS, precision=1e-9)  # nobody stops before the budget ends
CHECKED = (12, 24, 48)  # rounds after which a forecast is held against what came
END = 120  # rounds that the budget has, about, where half-widths are forecast
RIGHT = 1.5


@dataclass(frozen=True)
class Noise:
    """Of launches, log units: normal with each row's own size, outliers, and what lasts over rounds."""

    name: str
    outliers: float = 0.0  # share of the launches that take 1.3 times as long
    lasting: float = 0.0  # correlation of neighbouring rounds
    rows_differ: float = 0.4  # standard deviation of the logarithm of the rows' sizes

    def draw(self, rng: np.random.Generator, rows: int, rounds: int = MOST) -> Floats:
        """Shape (rounds, rows)."""
        sizes = 0.02 * math.exp(rng.normal(0, 0.5)) * np.exp(rng.normal(0, self.rows_differ, rows))
        steps = rng.normal(0, 1, (rounds, rows))
        for now in range(1, rounds):
            steps[now] = self.lasting * steps[now - 1] + math.sqrt(1 - self.lasting**2) * steps[now]
        slow = math.log(1.3) * (rng.random((rounds, rows)) < self.outliers)
        return sizes * steps + slow + rng.normal(0, 0.05, (rounds, 1))


NORMAL = Noise("normal")
TAILS = Noise("5 % outliers x 1.3", outliers=0.05)
LASTING = Noise("the same, correlation 0.5", outliers=0.05, lasting=0.5)


@dataclass(slots=True)
class Simulated(WorkloadState):
    """A workload whose launches to come are known already; `round` says how many have been."""

    logs: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def tables_of_cases(self) -> list[tuple[list[CaseState], RatioTable]]:
        logs = self.logs[: self.round]
        return [(self.cases, RatioTable(logs, fastest([case.case.footing for case in self.cases], logs)))]

    def go_to(self, rounds: int) -> None:
        self.round = rounds
        self.scatter = scatter(self, UNASKED)  # as forecasts of widths have it


def simulated(rng: np.random.Generator, rows: int, noise: Noise, rare: tuple[int, ...] = ()) -> Simulated:
    """`rare`: between how many rounds some rows have their turns, of each number one row in six at least.

    Each row takes 1.5 times as long as the one before; rare ones, drawn at random, are dear.
    """
    logs = noise.draw(rng, rows) + math.log(1.5) * np.arange(rows)
    every = np.ones(rows, dtype=int)
    drawn = rng.permutation(rows)
    for at, between in enumerate(rare):
        each = max(1, rows // 6)
        every[drawn[at * each : (at + 1) * each]] = between
    fewest = SETTINGS.min_launches
    made = Simulated("a/b", [], level=SETTINGS.level, fewest=fewest)
    for row in range(rows):
        case = Case("a/b", f"row{row}", "host", {}, Kind.BATCH, "ns", "task", "C++", "std", 7, {})
        state = CaseState(row, case, None, Status.OK, "")  # type: ignore[arg-type]
        for number in range(1, MOST + 1):
            if number > fewest and (number - fewest) % every[row]:
                logs[number - 1, row] = math.nan
            else:
                state.values[number] = LaunchValue(1.0)
        state.cost_ns = LAUNCH_NS * int(every[row]) ** 2
        made.every[row] = int(every[row])
        made.cases.append(state)
    made.logs = logs
    return made


def seconds(made: Simulated, rounds: float) -> float:
    """Until so many rounds are over, from the start of the run."""
    fewest = SETTINGS.min_launches
    first = made.round_cost_ns() * (PREPARING + min(rounds, fewest))
    return (first + made.later_round_cost_ns() * max(0.0, rounds - fewest)) / 1e9


def half_width(made: Simulated, rounds: int) -> float:
    """Of the median ratio of a run that ends after so many rounds, log units, as reports have it."""
    made.round = rounds
    ((cases, (logs, column, _)),) = made.tables_of_cases()
    level = bonferroni(final_level(rounds, SETTINGS.level), len(cases) * (len(cases) - 1) // 2)
    found = []
    for row in range(len(cases)):
        differences = logs[:, row] - logs[:, column]
        interval = median_interval(differences[np.isfinite(differences)], level)
        if row != column and interval is not None:
            found.append((interval.high - interval.low) / 2)
    return float(np.median(found))


def stops_at(made: Simulated) -> int | None:
    """The look at which the rule ends it; None: not within the most rounds."""
    look = next_look(0)
    while look <= MOST:
        made.round, made.stopped_by = look, ""
        made.judge(SETTINGS)
        if made.stopped_by == "precision":
            made.stopped_by = ""
            return look
        look = next_look(look)
    made.stopped_by = ""
    return None


@dataclass
class Score:
    """Forecasts that came true within the factor, of how many."""

    right: int = 0
    of: int = 0

    def add(self, said: float, came: float) -> None:
        self.of += 1
        self.right += 1 / RIGHT <= said / came <= RIGHT

    @property
    def share(self) -> float:
        return self.right / max(1, self.of)

    def __str__(self) -> str:
        return f"{100 * self.share:.0f} %"


def trials(
    rows: int, noise: Noise, rare: tuple[int, ...] = (), count: int = 200, seed: int = 1
) -> dict[int, tuple[Score, Score]]:
    """By rounds at which it was made: forecasts of the half-width at the end of a budget of 120 rounds, and
    of the time of the whole run until all ratios are known to 3 %, where that came within 400 rounds and
    after the forecast."""
    rng = np.random.default_rng([seed, rows, len(rare), len(noise.name)])
    found = {at: (Score(), Score()) for at in CHECKED}
    for _ in range(count):
        made = simulated(rng, rows, noise, rare)
        stop = stops_at(made)
        for at, (widths, times) in found.items():
            made.go_to(at)
            (expected,), _ = forecast([made], UNASKED, seconds(made, END) - seconds(made, at))
            assert expected.half_width is not None
            widths.add(math.log1p(expected.half_width), half_width(made, END))
            made.go_to(at)
            if stop is not None and stop > at:
                needed_s = forecast([made], UNLIMITED, math.inf).needed_s
                times.add(seconds(made, at) + needed_s, seconds(made, stop))
    return found


def several(noise: Noise, count: int = 100, seed: int = 1) -> dict[int, tuple[Score, Score]]:
    """The same for runs of five workloads of 2 to 15 rows, which share the budget: widths of all of them, and
    the time of the run as a whole until all are known."""
    rng = np.random.default_rng([seed, 5])
    found = {at: (Score(), Score()) for at in CHECKED}
    for _ in range(count):
        made = [simulated(rng, rows, noise, rare) for rows, rare in FIVE]
        stops = [stop for one in made if (stop := stops_at(one)) is not None]
        for at, (widths, times) in found.items():
            if len(stops) == len(made) and max(stops) > at:
                for one, stop in zip(made, stops, strict=True):
                    one.go_to(min(at, stop))
                    one.stopped_by = "precision" if stop <= at else ""
                had_s = sum(seconds(one, one.round) for one in made)
                came_s = sum(seconds(one, stop) for one, stop in zip(made, stops, strict=True))
                times.add(had_s + forecast(made, UNLIMITED, math.inf).needed_s, came_s)
            for one in made:
                one.go_to(at)
                one.stopped_by = ""
            left_s = sum(seconds(one, END) - seconds(one, at) for one in made)
            said = forecast(made, UNASKED, left_s).workloads
            spend(made, left_s)
            for expected, one in zip(said, made, strict=True):
                assert expected.half_width is not None
                widths.add(math.log1p(expected.half_width), half_width(one, one.round))
    return found


FIVE: tuple[tuple[int, tuple[int, ...]], ...] = ((2, ()), (3, (4,)), (6, ()), (6, (2,)), (15, (2, 4)))


def spend(made: list[Simulated], left_s: float) -> None:
    """Rounds as a run has them, until the time is over."""
    going = list(made)
    while going:
        next_one = next_of(going, SETTINGS, left_s)
        one = next(each for each in going if each is next_one)
        cost_s = seconds(one, one.round + 1) - seconds(one, one.round)
        if cost_s > left_s or one.round >= MOST:
            going.remove(one)
            continue
        left_s -= cost_s
        one.round += 1
        if next_look(one.round - 1) == one.round:
            one.go_to(one.round)


def table(count: int) -> str:
    """Both questions, by rows, noise and rounds, in Markdown."""
    lines = [
        "| launches | rows | rare turns | " + " | ".join(f"width, at {at}" for at in CHECKED) + " | "
        + " | ".join(f"time, at {at}" for at in CHECKED) + " |",
        "| --- | --- | --- |" + " --- |" * 2 * len(CHECKED),
    ]  # fmt: skip
    for noise in (NORMAL, TAILS, LASTING):
        for rows in (2, 6, 15):
            for rare, words in (((), "none"), ((2, 4) if rows > 2 else (4,), "some")):
                found = trials(rows, noise, rare, count)
                lines.append(_line(noise.name, str(rows), words, found))
        found = several(noise, max(1, count // 2))
        lines.append(_line(noise.name, "2 to 15, five workloads", "some", found))
    return "\n".join(lines)


def _line(noise: str, rows: str, rare: str, found: dict[int, tuple[Score, Score]]) -> str:
    scores = [str(found[at][which]) for which in (0, 1) for at in CHECKED]
    return f"| {noise} | {rows} | {rare} | " + " | ".join(scores) + " |"


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
