"""Does living together move a value? Each case of a price list alone and in turns with others, alternately.

    PYTHONPATH=python .venv/bin/python tests/bench/together.py RUN.toll [NAME ...] [--seconds 120]

RUN.toll is a run of this checkout: its cases and their pilots say what is launched, from the programs that
are built. For each case: the median over pairs of (value in turns / value alone), its 95 % interval, and a
mark where all of that lies beyond 3 %. Alone: the same batches after the same warm-up, with nobody beside.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from itertools import chain
from pathlib import Path

import numpy as np

from tollbench import measure
from tollbench.analysis.values import launch_value
from tollbench.catalog import environments, suites
from tollbench.cli.builds import build_plan
from tollbench.cli.places import ROOT
from tollbench.launching.child import Limits
from tollbench.launching.clock import SystemClock
from tollbench.launching.disturbance import read_disturbance
from tollbench.launching.environment import own_environment
from tollbench.launching.piloting import alike
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.starting import Starter
from tollbench.measure.company import Member, blocks_of
from tollbench.measure.conversing import LaunchPlace
from tollbench.measure.errands import Errands
from tollbench.measure.recording import Recorder
from tollbench.measure.state import CaseState, WorkloadState
from tollbench.plan import Plan
from tollbench.stats import median_interval
from tollbench.store import RunFile
from tollbench.words import Purpose, Status

MEMORY_BYTES = 2**33
MOVED = 0.03


def main() -> None:
    """Alternates until the time is up, then prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("names", nargs="*", help="workloads; all of the run if not given")
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    with RunFile.open(asked.run) as run_file:
        known = environments.including(item.name for item in run_file.environments())
        plan = measure.plan_of(run_file, suites.load(ROOT), known)
        workloads = [
            WorkloadState(one.name, _cases(run_file, plan, one.name))
            for one in plan.workloads
            if one.name in (asked.names or [one.name])
        ]
    bench = _Bench(plan)
    ends = time.monotonic() + asked.seconds
    while time.monotonic() < ends:
        for workload in workloads:
            bench.round(workload)
    bench.show()


def _cases(run_file: RunFile, plan: Plan, workload: str) -> list[CaseState]:
    """Those that a pilot went well of, as the run saw them."""
    programs = {
        (one.contender, one.environment): one for one in build_plan(plan).programs if one.workload == workload
    }
    cases = {case.key: case for case in plan.cases}
    found = []
    for record in run_file.cases(workload):
        pilots = run_file.launches(record.id, Purpose.PILOT, ok_only=True)
        program = programs[record.contender, record.environment]
        if pilots and program.status is Status.OK:
            state = CaseState(record.id, cases[record.key], program, Status.OK, "")
            state.take_pilot(pilots[-1], plan.settings)
            for launch in run_file.launches(record.id, Purpose.REHEARSAL, ok_only=True):
                state.take_rehearsal(launch)
            found.append(state)
    return found


class _Bench:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._errands = Errands(plan, own_environment(), None)
        self._recorder = Recorder(Starter(ProcessLauncher(), SystemClock()), read_disturbance)
        self._rng = random.Random(1)
        self._found: defaultdict[str, list[float]] = defaultdict(list)  # log (in turns / alone), by case

    def round(self, workload: WorkloadState) -> None:
        """Each company once together and once one by one, the order by the toss of a coin."""
        for company in chain.from_iterable(workload.companies(MEMORY_BYTES)):
            if len(company) < 2:
                continue
            blocks = blocks_of([state.work for state in company if state.work], self._plan.settings)
            for state, work in zip(
                company, alike([one.work for one in company if one.work], company[0].case.kind), strict=True
            ):
                state.work = work
            ways = [[company], [[state] for state in company]]
            values: list[dict[str, float]] = [{}, {}]
            for way in self._rng.sample((0, 1), 2):
                for group in ways[way]:
                    values[way] |= self._values(group, blocks)
            for key in values[0].keys() & values[1].keys():
                self._found[key].append(float(np.log(values[0][key] / values[1][key])))

    def _values(self, states: list[CaseState], blocks: int) -> dict[str, float]:
        members = [
            Member(
                LaunchPlace(state.id, Purpose.MEASURE, 1, position, self._rng.randrange(2**31)),
                self._errands.measuring(state),
                state.work,
            )
            for position, state in enumerate(states)
            if state.work
        ]
        outcomes = self._recorder.together(members, blocks, Limits(60.0, 0), self._rng)
        return {
            state.case.key: launch_value(outcome.launch, outcome.timed_samples()).ns
            for state, outcome in zip(states, outcomes, strict=True)
            if outcome.launch.status is Status.OK
        }

    def show(self) -> None:
        """A line a case, those that moved most first."""
        moved, within = 0, 0
        for key, logs in sorted(self._found.items(), key=lambda item: -abs(float(np.median(item[1])))):
            usual, interval = float(np.median(logs)), median_interval(logs, 0.95)
            low, high = (interval.low, interval.high) if interval else (-np.inf, np.inf)
            beyond = low > np.log1p(MOVED) or high < -np.log1p(MOVED)
            moved, within = moved + beyond, within + (abs(usual) <= np.log1p(MOVED))
            told = f"{np.expm1(usual):+.1%} [{np.expm1(low):+.1%}, {np.expm1(high):+.1%}]"
            print(f"{'!' if beyond else ' '} {told:28} {len(logs):3} pairs  {key[:100]}")
        print(f"{within} of {len(self._found)} medians within {MOVED:.0%}; {moved} moved for certain")
        sys.exit(bool(moved))


if __name__ == "__main__":
    main()
