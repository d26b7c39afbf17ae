"""Two sides, measured in alternation, with an interval on their ratio that survives looking early.

    kind, sides = resolve([WrittenSide("./bench_old"), WrittenSide("./bench_new")])
    subject = subject_of(kind, sides, MeasuringOptions(limit_s=60.0))
    found = compare(subject, ComparisonSettings(budget_s=10.0))

docs/compare.md tells what the verdicts mean; nothing in here prints.
"""

from tollbench.compare.adapters import subject_of
from tollbench.compare.engine import before_confirming, compare, confirm
from tollbench.compare.sides import WrittenSide, resolve
from tollbench.compare.subject import (
    ComparisonSettings,
    ComparisonStep,
    MeasuringOptions,
    Round,
    Side,
    Subject,
    Survey,
)
from tollbench.compare.verdicts import Comparison, Comparisons, Lacking, Verdict

__all__ = [
    "Comparison",
    "ComparisonSettings",
    "ComparisonStep",
    "Comparisons",
    "Lacking",
    "MeasuringOptions",
    "Round",
    "Side",
    "Subject",
    "Survey",
    "Verdict",
    "WrittenSide",
    "before_confirming",
    "compare",
    "confirm",
    "resolve",
    "subject_of",
]
