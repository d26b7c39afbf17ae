"""What launches cost, and what that makes worth while: who is launched rarely."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import median

from tollbench.launching.piloting import CaseWork
from tollbench.measure.company import launch_ns
from tollbench.plan import Settings

STEADY_ROUNDS = 20  # an interval of theirs, in a table of ten rows, leaves out the two farthest at each end
# Of each case before others have what intervals need: their median is no single launch.
ROUNDS_OF_EACH = 3
# Rounds between launches of one that is dear: powers of two, so that rare ones meet each other, and few, as
# it may be a near runner-up all the same.
_RARE = (4, 2, 1)
# Rounds between launches of one that is known well enough: seen now and then for what changes.
KNOWN_EVERY = 4


def rounds_between(companies: Iterable[Mapping[int, CaseWork]], settings: Settings) -> dict[int, int]:
    """How many rounds lie from one launch of a case of one table to its next, by id: 1, or more where it is
    dear among them.

    By pilots alone, never by a value: intervals keep their level whatever is decided here.
    The sum of a table's intervals is least for a given time where the rounds of each row are in proportion to
    the root of (1 / cost of a launch) (Cochran, Sampling Techniques, section 5.5). `companies` has the works
    of those that are launched together, by id.
    """
    costs_ns = {
        case: launch_ns(list(company.values()), settings) for company in companies for case in company
    }
    usual_ns = median(costs_ns.values()) if costs_ns else 1.0
    return {
        case: next(rare for rare in _RARE if rare <= max(1, round(math.sqrt(cost_ns / usual_ns))))
        for case, cost_ns in costs_ns.items()
    }
