"""Pure planning: selection x environments x settings -> ordered cases. Touches no file, process or clock."""

from tollbench.plan.arithmetic import evaluate
from tollbench.plan.launch_order import code_layout, layout_seed, round_order
from tollbench.plan.making import Plan, headline_cases, make, quick_cases
from tollbench.plan.selection import Selection, by_name
from tollbench.plan.settings import PROFILES, Settings

__all__ = [
    "PROFILES",
    "Plan",
    "Selection",
    "Settings",
    "by_name",
    "code_layout",
    "evaluate",
    "headline_cases",
    "layout_seed",
    "make",
    "quick_cases",
    "round_order",
]
