"""How far `toll test` is, and how long the rest will take."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from toll_test.outcomes import Step, StepOutcome
from tollbench.cli.console import Progress, clock_time
from tollbench.writing import write_own


class Pace:
    """How far the steps are and how long the rest will take, by what each took when it last passed."""

    def __init__(self, path: Path, steps: Sequence[Step], bar: Progress) -> None:
        """`path` holds {step: seconds}; where it cannot be read nothing is known yet."""
        self._path, self._bar = path, bar
        self._steps = [step for step in steps if not step.aside]  # the others take no time of their own
        self._last_s: dict[str, float] = {}
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            stored = json.loads(path.read_text(encoding="utf-8"))
            self._last_s = {str(name): float(seconds) for name, seconds in stored.items()}

    def left_s(self, step: Step, spent_s: float = 0.0) -> float | None:
        """Seconds from `spent_s` after the start of `step` to the end; None where any is not known."""
        rest = [item.name for item in self._steps[self._steps.index(step) :]]
        if any(name not in self._last_s for name in rest):
            return None
        return max(0.0, self._last_s[step.name] - spent_s) + sum(self._last_s[name] for name in rest[1:])

    def place(self, step: Step) -> str:
        """ "3 of 20, about 4:05 left"."""
        left = self.left_s(step)
        about = "" if left is None else f", about {clock_time(left)} left"
        return f"{self._steps.index(step) + 1} of {len(self._steps)}{about}"

    def tell(self, step: Step, spent_s: float) -> None:
        """Moves the bar."""
        left = self.left_s(step, spent_s)
        if left is None:
            self._bar.step(self._steps.index(step), len(self._steps), step.name)
        else:
            total = sum(self._last_s[item.name] for item in self._steps if item.name in self._last_s)
            self._bar.step(max(0.0, total - left), total, step.name, left)

    def remember(self, outcomes: Iterable[StepOutcome]) -> None:
        """Keeps the times of the steps that passed; a folder that takes no file is no reason to fail."""
        passed = {
            outcome.step.name: round(outcome.waited + outcome.seconds, 1)
            for outcome in outcomes
            if not outcome.status
        }
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_own(self._path, json.dumps(self._last_s | passed, indent=1))
