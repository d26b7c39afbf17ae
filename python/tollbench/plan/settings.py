"""How much measuring a run may do: the profiles check, quick, standard and thorough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.words import MOST_CODE_LAYOUTS

# Measuring has to end before the profile's promise does: finishing the file and the tables take time too.
_QUICK_BUDGET_S = 165.0
_STANDARD_BUDGET_S = 1140.0
_PILOT_AND_CANARY_LAUNCHES = 2.0  # what a case costs besides its measuring launches, counted in launches


@dataclass(frozen=True, slots=True)
class Settings:
    """One profile's numbers; seconds, bytes, and counts."""

    profile: str = "quick"
    seed: int = 1
    level: float = 0.95  # confidence level of every interval
    precision: float = 0.01  # asked half-width of a ratio's interval
    budget_s: float = _QUICK_BUDGET_S  # of the whole run; 0: none
    launch_s: float = 0.15  # asked time in the timed part of one launch
    batches: int = 10  # timed batches a launch, besides the warm-up
    # A case, as far as the budget allows. The ratios of a table of 10 rows have intervals from 12 rounds on:
    # the smallest sign interval of n launches misses in 2**(1-n) of cases, and 45 pairs share 5 %.
    min_launches: int = 12
    max_launches: int = 400  # a case
    time_limit_s: float = 20.0  # a launch
    memory_limit_bytes: int = 0  # a launch, resident; 0: 80 % of what the machine has to spare
    canary_share: float = 0.04  # of the run's time spent on the canary
    # Of each C++ program's code, which its launches go through: as many as rounds that leave out the farthest
    # launches (`measure.spending.STEADY_ROUNDS`), so that none of them is a second one of its layout.
    layouts: int = 20

    @property
    def layouts_used(self) -> int:
        """Those that launches come to."""
        return min(self.layouts, self.max_launches)

    @property
    def is_short(self) -> bool:
        """Whether it measures one value of a parameter whose others can wait (`quick` in suite.toml)."""
        return self.profile in ("check", "quick")

    def for_cases(self, count: int) -> Self:
        """Shorter launches where `count` cases would otherwise not get their launches within the budget."""
        if not self.budget_s or not count:
            return self
        affordable_s = 0.8 * self.budget_s / (count * (self.min_launches + _PILOT_AND_CANARY_LAUNCHES))
        return replace(self, launch_s=min(self.launch_s, max(affordable_s, 0.015)))

    def to_json(self) -> dict[str, Any]:
        """For the run file; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """From a run file, which may come from a stranger: every field is checked. Raises TollError."""
        values: dict[str, Any] = {}
        for item in fields(cls):
            default: str | int | float = getattr(PROFILES["quick"], item.name)
            # Runs of before there were layouts go on without: their launches have none.
            value = stored.get(item.name, 1 if item.name == "layouts" else default)
            wanted = type(default)
            if isinstance(value, bool) or not isinstance(value, (int, float) if wanted is float else wanted):
                raise _bad(item.name)
            if not isinstance(value, str) and (not math.isfinite(value) or value < 0):
                raise _bad(item.name)
            values[item.name] = wanted(value)
        settings = cls(**values)
        settings.check()
        return settings

    def check(self) -> None:
        """Raises TollError for numbers that no run can be made with."""
        rules = {
            "level": 0.5 <= self.level < 1,
            "precision": 0 < self.precision < 1,
            "launch_s": 0 < self.launch_s <= 3600,
            "batches": 1 <= self.batches <= 10_000,
            "min_launches": 1 <= self.min_launches <= self.max_launches,
            "max_launches": self.max_launches <= 1_000_000,
            "time_limit_s": 0 < self.time_limit_s <= 86_400,
            "canary_share": self.canary_share <= 0.5,
            "seed": 0 <= self.seed < 2**63,
            "layouts": 1 <= self.layouts <= MOST_CODE_LAYOUTS,
        }
        for name, holds in rules.items():
            if not holds:
                raise _bad(name)


def _bad(name: str) -> TollError:
    return TollError(
        f"The setting {name} has a value that no run can use.", f"Start a new run with `{COMMAND} run`."
    )


PROFILES: Mapping[str, Settings] = {
    # Whether every contender works here; one launch says nothing about time.
    "check": Settings(
        profile="check",
        budget_s=0.0,
        launch_s=0.015,
        batches=1,
        min_launches=1,
        max_launches=1,
        time_limit_s=60.0,
        canary_share=0.0,
    ),
    "quick": Settings(),
    "standard": Settings(
        profile="standard",
        budget_s=_STANDARD_BUDGET_S,
        launch_s=0.4,
        batches=20,
        min_launches=12,
        time_limit_s=120.0,
    ),
    "thorough": Settings(
        profile="thorough",
        budget_s=0.0,
        launch_s=0.5,
        batches=20,
        min_launches=16,
        max_launches=1_000,
        time_limit_s=600.0,
    ),
}
