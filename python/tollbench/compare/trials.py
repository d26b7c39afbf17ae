"""What comparisons find on this machine: the same program on both sides, and with a slow-down of known size.

Each trial is a comparison as `toll compare` makes it, alone in its table. Operations and slow-downs come in
random order, so that a bad minute of the machine meets all of them alike.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from pydantic import Field

from tollbench.compare.engine import compare
from tollbench.compare.printed import ComparisonRecord, Finite
from tollbench.compare.subject import ComparisonSettings, Keep, Subject
from tollbench.compare.verdicts import NotNegative, Verdict
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.failure import Interrupted, lacking_room
from tollbench.stats.proportion import exact_share

NOTHING = 0.0  # the slow-down of a program that is compared with itself
SLOWDOWNS = (0.005, 0.01, 0.02, 0.05)
EQUAL_A_PASS = 2  # a false alarm is rare: its share needs more trials than those of what is found
FOUND = 0.95  # of the trials: the effect counts as one that is found here


class Trial(ComparisonRecord):
    """One comparison whose truth is known."""

    operation: str
    slowdown: NotNegative = Field(description="true share by which the second side is slower; 0: the same")
    verdict: Verdict
    regression: bool = Field(description="slower, with the whole interval beyond the threshold")
    ratio: Finite | None
    low: Finite | None
    high: Finite | None
    launches: int
    seconds: NotNegative
    reason: str

    @property
    def differs(self) -> bool:
        """Whether it says that the sides differ."""
        return self.verdict in (Verdict.SLOWER, Verdict.FASTER)

    @property
    def undecided(self) -> bool:
        """Whether too few pairs fitted into the time for any interval: such a trial could raise no alarm."""
        return self.verdict is Verdict.INCONCLUSIVE and self.low is None and self.high is None

    @property
    def covers(self) -> bool:
        """Whether its interval holds the true ratio; one without an end does."""
        low, high = self.low or 0.0, self.high or math.inf
        return low <= 1.0 + self.slowdown <= high


class Counted(ComparisonRecord):
    """How many of some trials, with the exact binomial interval of the share at 95 %."""

    trials: int
    count: int
    share: Finite | None = Field(description="null without trials")
    low: Finite
    high: Finite


class Line(ComparisonRecord):
    """All trials of one operation (or of all, "*") with one slow-down."""

    operation: str
    slowdown: NotNegative
    slower: Counted = Field(description="verdict slower: right for a slow-down, else a false alarm")
    faster: Counted = Field(description="verdict faster: wrong in any case")
    regression: Counted = Field(description="slower beyond the threshold")
    covered: Counted = Field(description="intervals that hold the true ratio")
    failed: int
    undecided: int = Field(
        default=0,
        description="too few pairs for an interval: of a program with itself, counted nowhere else",
    )
    seconds: NotNegative | None = Field(description="median of the trials")


class Trust(ComparisonRecord):
    """All that one `toll trust` found."""

    level: Finite
    threshold: Finite
    trial_budget_s: NotNegative
    until: str = Field(default="", description="which question ended a comparison: estimate, direction")
    seconds: NotNegative
    seed: int
    interrupted: bool
    no_room: str = Field(
        default="", description="of an interrupted one: which disk was full, where that is what ended it"
    )
    disturbed: tuple[str, ...] = Field(default=(), description="what was done to the machine: load, drift")
    false_alarms: Counted = Field(description="of the same program on both sides: slower or faster")
    smallest_found: NotNegative | None = Field(
        description="the smallest slow-down found in 95 % of trials, as are all larger ones; null: none was"
    )
    lines: tuple[Line, ...]
    trials: tuple[Trial, ...]
    raw: str = ""
    toll_version: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """What to try, and for how long; seconds."""

    operations: tuple[str, ...]
    slowdowns: tuple[float, ...] = SLOWDOWNS
    equal_a_pass: int = EQUAL_A_PASS  # comparisons of an operation with itself, beside one of each slow-down
    budget_s: float = 280.0
    most_trials: int = 0  # 0: as many as the budget has time for
    trial: ComparisonSettings = field(default_factory=lambda: ComparisonSettings(budget_s=10.0, total_s=10.0))


SubjectOf = Callable[[str, float], Subject]  # operation, slow-down -> the two sides
OnTrial = Callable[[Trial, float], None]  # the trial, seconds left


def prove(
    plan: TrialPlan,
    subject_of: SubjectOf,
    *,
    clock: Clock | None = None,
    keep: Keep = lambda _record: None,
    on_trial: OnTrial = lambda _trial, _left: None,
) -> Trust:
    """Trials until the budget is spent or an interrupt, `keep`'s too, ends it; then what is known is told."""
    clock = clock or SystemClock()
    started_ns = clock.now_ns()
    done: list[Trial] = []
    dearest_s = 0.0
    interrupted, no_room = False, ""

    def left_s() -> float:
        return plan.budget_s - (clock.now_ns() - started_ns) / 1e9

    for number, (operation, slowdown) in enumerate(_trials(plan)):
        # Never a trial that the budget would cut short: its verdict would be of another kind.
        if (number and left_s() < dearest_s) or (plan.most_trials and number >= plan.most_trials):
            break
        began_ns = clock.now_ns()
        settings = replace(plan.trial, seed=plan.trial.seed + number)
        found = compare(subject_of(operation, slowdown), settings, clock=clock)
        trial = _trial(operation, slowdown, found.comparisons[0].model_dump())
        dearest_s = max(dearest_s, (clock.now_ns() - began_ns) / 1e9)
        if found.interrupted:
            interrupted, no_room = True, found.no_room
            break
        done.append(trial)
        try:
            keep(trial.model_dump(mode="json"))
        except Interrupted as ended:
            interrupted, no_room = True, lacking_room(ended)
            break
        on_trial(trial, max(0.0, left_s()))
    told = summary(plan, done, seconds=(clock.now_ns() - started_ns) / 1e9, interrupted=interrupted)
    return told.model_copy(update={"no_room": no_room})


def summary(plan: TrialPlan, trials: Sequence[Trial], *, seconds: float, interrupted: bool = False) -> Trust:
    """What the trials say: a line for each operation and slow-down, and for all operations together."""
    everything = (NOTHING, *plan.slowdowns)
    lines = [
        _line(name, slowdown, [t for t in trials if name in ("*", t.operation) and t.slowdown == slowdown])
        for name in (*plan.operations, "*")
        for slowdown in everything
    ]
    same = [trial for trial in trials if trial.slowdown == NOTHING and _counts(trial)]
    return Trust(
        level=plan.trial.level,
        threshold=plan.trial.threshold,
        trial_budget_s=plan.trial.budget_s,
        until=plan.trial.until,
        seconds=round(seconds, 3),
        seed=plan.trial.seed,
        interrupted=interrupted,
        false_alarms=counted(sum(trial.differs for trial in same), len(same)),
        smallest_found=_smallest_found([line for line in lines if line.operation == "*"]),
        lines=tuple(lines),
        trials=tuple(trials),
    )


def _trials(plan: TrialPlan) -> Iterator[tuple[str, float]]:
    """Operations and slow-downs, pass after pass, each pass in a random order of its own."""
    rng = random.Random(f"trust/{plan.trial.seed}")
    one_pass = [
        (operation, slowdown)
        for operation in plan.operations
        for slowdown in (*(NOTHING,) * plan.equal_a_pass, *plan.slowdowns)
    ]
    while one_pass:
        rng.shuffle(one_pass)
        yield from one_pass


def _trial(operation: str, slowdown: float, comparison: Mapping[str, object]) -> Trial:
    return Trial.model_validate({**comparison, "operation": operation, "slowdown": slowdown})


def _counts(trial: Trial) -> bool:
    """Whether a trial could have been wrong: one that could raise no alarm must not make alarms look rarer.

    A slow-down that was not found because the time was too short was not found.
    """
    return trial.verdict is not Verdict.FAILED and not (trial.slowdown == NOTHING and trial.undecided)


def _line(operation: str, slowdown: float, trials: Sequence[Trial]) -> Line:
    judged = [trial for trial in trials if _counts(trial)]
    count = len(judged)
    told = [trial for trial in judged if not trial.undecided]  # the others have no interval that could miss
    return Line(
        operation=operation,
        slowdown=slowdown,
        slower=counted(sum(trial.verdict is Verdict.SLOWER for trial in judged), count),
        faster=counted(sum(trial.verdict is Verdict.FASTER for trial in judged), count),
        regression=counted(sum(trial.regression for trial in judged), count),
        covered=counted(sum(trial.covers for trial in told), len(told)),
        failed=sum(trial.verdict is Verdict.FAILED for trial in trials),
        undecided=sum(trial.undecided for trial in trials),
        seconds=round(median(trial.seconds for trial in judged), 3) if judged else None,
    )


def counted(count: int, trials: int) -> Counted:
    """A share of trials with its exact interval."""
    share = exact_share(count, trials)
    return Counted(
        trials=trials, count=count, share=share.value if trials else None, low=share.low, high=share.high
    )


def _smallest_found(lines: Sequence[Line]) -> float | None:
    """Of the lines about all operations together; from the largest slow-down down to the first one missed."""
    smallest = None
    for line in sorted(lines, key=lambda line: -line.slowdown):
        if line.slowdown == NOTHING or line.slower.share is None or line.slower.share < FOUND:
            break
        smallest = line.slowdown
    return smallest
