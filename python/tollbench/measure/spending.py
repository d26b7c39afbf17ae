"""What launches cost, and what that makes worth while: who is launched rarely, and how long a launch is.

By pilots and by how values scatter, never by which is larger: intervals keep their level whatever is decided
here. A resumed run has the same pilots and rounds, and decides alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median

import numpy as np

from tollbench.analysis.values import LaunchValue
from tollbench.launching.piloting import CaseWork
from tollbench.measure.company import launch_ns
from tollbench.plan import Settings
from tollbench.stats.order_statistics import Floats
from tollbench.words import LONGEST_GAUGED_NS

_RAREST = 4  # rounds between launches of one that is dear: it may be a near runner-up all the same
SCATTER_KNOWN = 6  # rounds: launches with several batches, whose deviation says anything
_OF_MEDIAN = 0.45  # the variance of the median of three, in that of one


def rounds_between(companies: Iterable[Mapping[int, CaseWork]], settings: Settings) -> dict[int, int]:
    """How many rounds lie from one launch of a case to its next, by id: 1, or more where it is dear.

    Intervals of a table are narrowest for a given time where the rounds of each row are in proportion to the
    root of (1 / cost of a launch) (Cochran, Sampling Techniques, section 5.5). `companies` has the works of
    those that are launched together, by id.
    """
    costs_ns = {
        case: launch_ns(list(company.values()), settings) for company in companies for case in company
    }
    usual_ns = median(costs_ns.values()) if costs_ns else 1.0
    return {
        case: min(_RAREST, max(1, round(math.sqrt(cost_ns / usual_ns)))) for case, cost_ns in costs_ns.items()
    }


def batches_alone(cases: Iterable[tuple[CaseWork, Iterable[LaunchValue]]]) -> int:
    """How many batches a launch shall have of those that are launched alone; 0: nothing is known.

    Programs that wait, or have threads, often run as fast as their launch lets them: batches of a launch
    differ by 1 to 3 %, launches by 5 to 30 %, and another batch tells less than another launch. What narrows
    most for a given time is the root of (what a launch costs over what a batch costs) times (scatter of
    batches over scatter of launches) (Cochran, section 10.6). All of a workload have what its median case
    wants, as a launch's first batch may take another time than its third. Those whose batches are short have
    as many as who takes turns: of theirs some are looked for that nobody disturbs.
    """
    wanted = [
        math.sqrt(work.begin_ns / work.batch_ns) * share
        for work, launches in cases
        if has_long_batches(work) and (share := _scatter_of_batches(launches)) is not None
    ]
    middle = median(wanted) if wanted else 0.0
    return 0 if not wanted or math.isinf(middle) else max(1, round(middle))


def has_long_batches(work: CaseWork) -> bool:
    """Too long for gauges to tell whether others worked on the core meanwhile."""
    return work.batch_ns > LONGEST_GAUGED_NS


def _scatter_of_batches(launches: Iterable[LaunchValue]) -> float | None:
    """How much the batches of a launch scatter over how much launches do; None where too few say it."""
    logs = [np.log(value.blocks) for value in launches if value.blocks.size > 1 and (value.blocks > 0).all()]
    if len(logs) < SCATTER_KNOWN:
        return None
    # Of neighbours: how far three lie from their own median says too little, as one of them is it.
    batches = _deviation(np.concatenate([np.diff(one) for one in logs])) / math.sqrt(2.0)
    squared = _deviation(np.array([np.median(one) for one in logs])) ** 2 - _OF_MEDIAN * batches**2
    return batches / math.sqrt(squared) if squared > 0 else math.inf


def _deviation(values: Floats) -> float:
    """Robust: 1.4826 times the median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))
