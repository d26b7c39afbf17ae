"""Two sides, measured in alternation, with an interval on their ratio that survives looking early.

    kind, sides = resolve([Written("./bench_old"), Written("./bench_new")])
    found = compare(subject_of(kind, sides, limit_s=60.0), Settings(budget_s=10.0))

docs/compare.md tells what the verdicts mean; nothing in here prints.
"""

from tollbench.compare.engine import before_confirming, compare, confirm
from tollbench.compare.results import Comparison, Comparisons, Lacking, Verdict
from tollbench.compare.sides import Kind, Written, resolve
from tollbench.compare.subjects import subject_of
from tollbench.compare.words import Round, Settings, Side, SideFailed, Step, Subject, Survey

__all__ = [
    "Comparison",
    "Comparisons",
    "Kind",
    "Lacking",
    "Round",
    "Settings",
    "Side",
    "SideFailed",
    "Step",
    "Subject",
    "Survey",
    "Verdict",
    "Written",
    "before_confirming",
    "compare",
    "confirm",
    "resolve",
    "subject_of",
]
