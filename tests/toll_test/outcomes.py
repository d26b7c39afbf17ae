"""One step of `toll test`, what it came to, and what is told of all of them at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

NOT_RUN = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One command; `name` is what the summary calls it, `after` the step without which it means nothing.

    `behind` is one whose end it waits for, however that ends. Steps that go `aside` run beside the others, in
    their own order; one that is `alone` begins when none of them is left.
    """

    name: str
    command: tuple[str, ...]
    after: str = ""
    behind: str = ""
    aside: bool = False
    alone: bool = False

    def awaited(self) -> Iterator[str]:
        """The names of the steps that it waits for."""
        return filter(None, (self.after, self.behind))


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What a step came to: its exit status, wall time in seconds, and the runner's own closing lines.

    `waited` is what it waited for steps aside before it began.
    """

    step: Step
    status: int
    seconds: float
    closing: tuple[str, ...]
    waited: float = 0.0


def described(outcomes: Sequence[StepOutcome]) -> dict[str, Any]:
    """For programs; `closing` holds the runner's own last lines."""
    steps = [
        {
            "name": outcome.step.name,
            "passed": outcome.status == 0,
            "seconds": round(outcome.seconds, 3),
            "closing": list(outcome.closing),
        }
        for outcome in outcomes
    ]
    return {"passed": all(step["passed"] for step in steps), "steps": steps}


def summary(outcomes: Sequence[StepOutcome]) -> str:
    """One line a step with its time, and below it what its runner said last."""
    lines = ["", "=== summary"]
    for outcome in outcomes:
        verdict = "ok    " if outcome.status == 0 else "FAILED"
        lines.append(f"{verdict} {outcome.seconds:6.1f} s  {outcome.step.name}{_beside(outcome)}")
        lines += [f"                  {line}" for line in outcome.closing]
    failed = sum(outcome.status != 0 for outcome in outcomes)
    total = sum(outcome.waited + outcome.seconds for outcome in outcomes if not outcome.step.aside)
    lines.append(f"{len(outcomes) - failed} of {len(outcomes)} steps passed in {total:.0f} s")
    return "\n".join(lines)


def _beside(outcome: StepOutcome) -> str:
    if outcome.step.aside:
        return ", beside the others"
    return (
        f", after {outcome.waited:.0f} s of waiting for {outcome.step.after}" if outcome.waited >= 1 else ""
    )
