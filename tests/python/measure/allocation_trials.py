"""Whether intervals keep their level though their own values decide where a run's time goes, by simulation:

    PYTHONPATH=python .venv/bin/python tests/python/measure/allocation_trials.py [TRIALS]

prints the tables of docs/method-record.md. Launches are simulated; who is launched, what a look sees and when
a workload has had enough is decided by the code of runs. All rows are launched alone, so that each of them is
thinned as soon as it is known well enough, and precision is asked for so that most become so, some by chance.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tollbench.analysis.grouping import fastest
from tollbench.analysis.values import LaunchValue
from tollbench.measure import estimate
from tollbench.measure.spending import STEADY_ROUNDS
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Settings
from tollbench.stats import FIRST_LOOK, RatioTable, bonferroni, level_shown, median_interval, next_look
from tollbench.words import Case, Kind, Status

Floats = np.ndarray
LEVEL = 0.95
MOST = 300  # rounds
BUDGET_ROUNDS = 60  # of all workloads, were all rows launched in each
LAUNCH_NS = 10_000_000
# Each workload's rows: all alike; two near each other, others about 2 and beyond; two and others far away.
WORKLOADS = ((1.0, 1.0, 1.0), (1.0, 1.05, 1.9, 2.3, 3.0), (1.0, 1.02, 4.0, 12.0, 47.0))
SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "skewed": lambda rng, shape: rng.exponential(1, shape),
    "tails": lambda rng, shape: rng.standard_t(3, shape),
    "bimodal": lambda rng, shape: 4.0 * (rng.random(shape) < 0.3) + rng.normal(0, 0.3, shape),
}


@dataclass(slots=True)
class Allocated(WorkloadState):
    """A workload whose launches to come are known already; those that are due are taken."""

    true_logs: Floats = field(default_factory=lambda: np.empty(0))
    to_come: Floats = field(default_factory=lambda: np.empty((0, 0)))  # shape (rounds, rows)
    logs: Floats = field(default_factory=lambda: np.empty((0, 0)))  # NaN where a row had no turn

    def tables_of_cases(self) -> list[tuple[list[CaseState], RatioTable]]:
        logs = self.logs[: self.round]
        return [(self.cases, RatioTable(logs, fastest([{}] * len(self.cases), logs)))]

    def go_on(self, settings: Settings) -> int:
        """One round; returns how many launches it had."""
        self.round += 1
        due = self.due(self.round)
        for case in due:
            case.values[self.round] = LaunchValue(1.0)
            self.logs[self.round - 1, case.id] = self.to_come[self.round - 1, case.id]
        self.judge(settings)
        if self.round == self.fewest or next_look(self.round - 1) == self.round:
            estimate.look_at(self, settings)
        return len(due)


def launched(
    rng: np.random.Generator, name: str, ratios: tuple[float, ...], shape: str, size: float
) -> Allocated:
    """Noise of one shape on all sides: the median of a log ratio is the true one."""
    true_logs = np.log(np.array(ratios))
    made = Allocated(name, [], level=LEVEL, fewest=FIRST_LOOK, true_logs=true_logs)
    for row in range(len(ratios)):
        case = Case(name, f"row{row}", "host", {}, Kind.BATCH, "ns", "task", "C++", "std", 7, {})
        state = CaseState(row, case, None, Status.OK, "")  # type: ignore[arg-type]
        state.cost_ns = LAUNCH_NS
        made.cases.append(state)
    made.to_come = true_logs + size * SHAPES[shape](rng, (MOST, len(ratios)))
    made.logs = np.full_like(made.to_come, math.nan)
    return made


def spend(workloads: list[Allocated], settings: Settings, rng: random.Random, rounds: int) -> int:
    """A run until its budget is spent, of so many rounds of all, or all have had enough.

    Returns how many rounds went where they narrow most while others lacked steady ones.
    """
    left, narrowing = rounds * sum(len(one.cases) for one in workloads), 0
    while going := [one for one in workloads if not one.stopped_by]:
        left_s = left * LAUNCH_NS / 1e9
        estimate.steady_rows(going, left_s)
        chosen = estimate.next_of(rng.sample(going, len(going)), settings, left_s)
        made = next(one for one in going if one is chosen)
        behind = [one.round for one in going if one.round < STEADY_ROUNDS]
        narrowing += bool(behind) and made.round > min(behind) >= FIRST_LOOK
        if left < len(made.due(made.round + 1)):
            made.stopped_by = "budget"
        else:
            left -= made.go_on(settings)
    return narrowing


def wrong(made: Allocated, settings: Settings) -> bool:
    """Whether any interval of any two rows, as a report has them, misses the truth."""
    logs = made.logs[: made.round]
    level = level_shown(made.tables(), made.round, settings.precision, LEVEL)
    rows = logs.shape[1]
    corrected = bonferroni(level, rows * (rows - 1) // 2)
    for one in range(rows):
        for other in range(one):
            differences = logs[:, one] - logs[:, other]
            found = median_interval(differences[np.isfinite(differences)], corrected)
            true = made.true_logs[one] - made.true_logs[other]
            if found is not None and not found.low <= true <= found.high:
                return True
    return False


@dataclass
class TablesRight:
    """Over all trials."""

    tables: int = 0
    wrong: int = 0
    fixed_wrong: int = 0  # of tables with the same noise and as many rounds for all, whatever it says
    launches: int = 0
    in_full: int = 0  # launches, had each row had all turns
    narrowing: int = 0  # rounds that others lacked for being steady

    @property
    def covered(self) -> float:
        return 1.0 - self.wrong / self.tables


def trials(
    shape: str, size: float, precision: float, count: int, seed: int = 1, rounds: int = BUDGET_ROUNDS
) -> TablesRight:
    """Runs of three workloads that share a budget, of so many rounds of all."""
    settings = Settings(
        level=LEVEL, precision=precision, budget_s=1e9, min_launches=FIRST_LOOK, max_launches=MOST,
        canary_share=0.0,
    )  # fmt: skip
    rng, found = np.random.default_rng([seed, len(shape), int(1000 * size)]), TablesRight()
    rounds_wanted, estimate.rounds_wanted = estimate.rounds_wanted, lambda *_: MOST  # it decides nothing
    try:
        for number in range(count):
            made = [launched(rng, f"a/w{at}", ratios, shape, size) for at, ratios in enumerate(WORKLOADS)]
            found.narrowing += spend(made, settings, random.Random(number), rounds)
            for one in made:
                found.tables += 1
                found.wrong += wrong(one, settings)
                found.launches += int(np.isfinite(one.logs).sum())
                found.in_full += one.round * len(one.cases)
                one.logs, one.round = one.to_come, rounds
                found.fixed_wrong += wrong(one, settings)
    finally:
        estimate.rounds_wanted = rounds_wanted
    return found


CASES = [
    ("normal", 0.05, 0.02), ("normal", 0.05, 0.05), ("normal", 0.2, 0.1), ("normal", 0.3, 0.3),
    ("skewed", 0.1, 0.05), ("skewed", 0.3, 0.2), ("tails", 0.05, 0.03), ("tails", 0.1, 0.1),
    ("bimodal", 0.05, 0.05), ("bimodal", 0.1, 0.2),
]  # fmt: skip


SHORT_CASES = [
    ("normal", 0.05, 0.02),
    ("normal", 0.3, 0.3),
    ("skewed", 0.3, 0.2),
    ("tails", 0.1, 0.1),
    ("bimodal", 0.1, 0.2),
]
SHORT_ROUNDS = (15, 18, 21)


def short_table(count: int) -> str:
    """Of runs whose budget ends about where all are steady, in Markdown."""
    lines = [
        "| noise | size | precision asked | rounds | of these where they narrow most"
        " | all intervals of a table right | with as many rounds for all |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for shape, size, precision in SHORT_CASES:
        for rounds in SHORT_ROUNDS:
            found = trials(shape, size, precision, count, rounds=rounds)
            narrowing = found.narrowing / (count * len(WORKLOADS))
            lines.append(
                f"| {shape} | {size:g} | {precision:.0%} | {rounds} | {narrowing:.1f}"
                f" | {found.covered:.1%} | {1 - found.fixed_wrong / found.tables:.1%} |"
            )
    return "\n".join(lines).replace("%", " %")


def table(count: int) -> str:
    """In Markdown."""
    lines = [
        "| noise | size | precision asked | launches left out | all intervals of a table right"
        " | with 60 rounds for all |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for shape, size, precision in CASES:
        found = trials(shape, size, precision, count)
        lines.append(
            f"| {shape} | {size:g} | {precision:.0%} | {1 - found.launches / found.in_full:.0%}"
            f" | {found.covered:.1%} | {1 - found.fixed_wrong / found.tables:.1%} |"
        )
    return "\n".join(lines).replace("%", " %")


if __name__ == "__main__":
    trials_asked = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(table(trials_asked), short_table(trials_asked), sep="\n\n")
