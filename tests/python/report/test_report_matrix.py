"""Contenders by environments: which columns there are, and in which order."""

from __future__ import annotations

import random

from sample_results import ENVIRONMENTS, compilers

from tollbench.report import matrix
from tollbench.report.cases import Naming


def test_environments_stand_in_the_order_of_the_plan() -> None:
    workload = compilers(random.Random(1), environments=7)
    found = matrix.matrices(workload, Naming.of(workload))
    # By their names, clang would come before GCC.
    assert [each.environments for each in found] == [ENVIRONMENTS[:7]] * 2


def test_where_no_plan_tells_the_order_the_host_comes_first_and_then_names() -> None:
    workload = compilers(random.Random(1), environments=4).model_copy(update={"environments": []})
    found = matrix.matrices(workload, Naming.of(workload))
    assert [each.environments for each in found] == [("host", "clang-14", "gcc-11", "gcc-12")] * 2
