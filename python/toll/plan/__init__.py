"""Pure planning: selection x environments x settings -> ordered cases. Touches no file, process or clock."""

from toll.plan.arithmetic import evaluate
from toll.plan.making import Plan, make
from toll.plan.order import layout_seed, round_order
from toll.plan.selection import Selection
from toll.plan.settings import PROFILES, Settings

__all__ = ["PROFILES", "Plan", "Selection", "Settings", "evaluate", "layout_seed", "make", "round_order"]
