"""A run of the whole catalogue as if it had been measured: its own plan, with launches that were drawn.

Every case has a value: a machine that has every library and language, whose page is the largest one.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from made_runs import batch, header, launch

from tollbench.analysis import results
from tollbench.analysis.results import Results
from tollbench.catalog import environments, machine, suites
from tollbench.home import SOURCES
from tollbench.plan import PROFILES, Plan, Selection, make
from tollbench.store import RunFile
from tollbench.words import CODE_LAYOUT, Allocations, Batch, Case, Kind, Purpose, Status, Workload

SAMPLES = 400  # a launch: its curve has no more points with more
# Of a machine whose kernel lets them be read: as many lines in each row's footing.
COUNTERS = {"instructions": 7_351_204_118.0, "cycles": 5_120_442_907.0, "branch_misses": 41_207.0,
            "cache_misses": 913_344.0}  # fmt: skip
BETWEEN_CPUS = "latency/core_to_core"  # whose samples belong to pairs of CPUs


def catalogue_plan(cpus: int, profile: str = "standard") -> Plan:
    """What `toll run '*' --profile standard` plans on a machine of `cpus` CPUs."""
    everything = Selection.parse(("*",))
    return make(suites.load(SOURCES), everything, environments.OFFERED, PROFILES[profile], cpus)


def make_catalogue_run(path: Path, plan: Plan, cpus: int, launches: int) -> Path:
    """The run file of that plan, each case launched so often, round by round."""
    told = header(
        profile=plan.settings.profile, command_line="toll run '*' --profile standard",
        machine=machine.describe(), plan={"settings": plan.settings.to_json()},
    )  # fmt: skip
    details = {workload.name: workload for workload in plan.workloads}
    rng = random.Random(1)
    centres = {case.key: rng.lognormvariate(4.0, 2.0) for case in plan.cases}
    with RunFile.create(path, told) as run_file:
        planned = [(case, Status.OK, "", "1.0.0") for case in plan.cases]
        ids = run_file.add_plan(plan.workloads, plan.environments, planned)
        for case in plan.cases:
            drawn = _Drawn(case, details[case.workload], centres[case.key], cpus, rng)
            drawn.add_to(run_file, ids[case.key], launches)
        for number in range(launches * 20):
            timed = (batch(100 * rng.lognormvariate(4.0, 0.02)),)
            run_file.append(launch(None, Purpose.CANARY, number, batches=timed))
    return path


def results_of(path: Path) -> Results:
    """As `toll report` reads them: what documents conclude is judged by the run."""
    catalogue = suites.load(SOURCES)
    with RunFile.open(path) as run_file:
        return results(
            run_file,
            claims=[claim for workload in catalogue for claim in workload.claims],
            in_batches={workload.name: workload.in_batches for workload in catalogue},
        )


class _Drawn:
    """The launches of one case."""

    def __init__(self, case: Case, workload: Workload, centre: float, cpus: int, rng: random.Random) -> None:
        self.case, self.workload, self.centre, self.cpus, self.rng = case, workload, centre, cpus, rng
        self.samples_rng = np.random.default_rng(rng.randrange(1 << 30))

    def add_to(self, run_file: RunFile, case_id: int, launches: int) -> None:
        """A pilot, the measured launches, and two that count allocations."""
        pilot = (self._batch(self.centre), self._batch(self.centre)._replace(counters=COUNTERS))
        run_file.append(
            launch(case_id, Purpose.PILOT, 0, batches=pilot, footing=self._footing(0) | self._units())
        )
        for number in range(launches):
            value = self.centre * self.rng.lognormvariate(0.0, 0.03)
            batches: tuple[Batch, ...] = (self._batch(1.3 * value)._replace(warmup=True),)
            samples: list[np.ndarray | None] = []
            if self.case.kind is Kind.SAMPLES:
                timed, array = self._samples(value)
                batches, samples = (*batches, timed), [array[:5], array]
            else:
                batches = (*batches, *(self._batch(value * factor) for factor in (1.0, 0.99, 1.02)))
            run_file.append(
                launch(case_id, Purpose.MEASURE, number, batches=batches, footing=self._footing(number)),
                samples,
            )
        calls = self.rng.randrange(400)
        counted = Allocations(1, 100, calls, calls * 72, calls * 72 + 4096)
        for number in range(2):
            run_file.append(launch(case_id, Purpose.ALLOCATIONS, number, allocations=counted))

    def _batch(self, value: float) -> Batch:
        return batch(
            100 * value, peak_bytes=self.rng.randrange(4 << 20, 400 << 20), counters=COUNTERS,
            voluntary_switches=self.rng.randrange(50), minor_faults=self.rng.randrange(90),
            cpu_ns=100 * value * self.rng.uniform(0.9, 2.0),
            details={one.name: self._detail(one.unit) for one in self.workload.details},
        )  # fmt: skip

    def _detail(self, unit: str) -> float:
        return self.rng.random() if unit == "share" else self.rng.lognormvariate(8.0, 1.0)

    def _samples(self, value: float) -> tuple[Batch, np.ndarray]:
        """Of pairs of CPUs as many a pair, where the workload asks between which CPUs."""
        pairs = [(a, b) for a in range(self.cpus) for b in range(self.cpus) if a != b]
        of_pairs = pairs if self.case.workload == BETWEEN_CPUS else []
        count = 40 * len(of_pairs) or SAMPLES
        array = self.samples_rng.lognormal(np.log(value), 0.5, count).astype(np.float32)
        timed = self._batch(value)._replace(
            iterations=count, units=count, cells=tuple((f"{a}>{b}", 40) for a, b in of_pairs)
        )
        return timed, array

    def _footing(self, number: int) -> dict[str, Any]:
        threads = self.case.parameters.get("threads", 1)
        layout = {CODE_LAYOUT: number + 1} if self.case.language == "C++" else {}
        return {"threads": threads, "pinning": "none", **layout, **self.case.footing}

    def _units(self) -> dict[str, int]:
        """What programs of tasks/skynet count: the others make no units that toll asks for."""
        counts = {"units_created": 110, "units_alive_peak": 64}
        return counts if self.case.workload == "tasks/skynet" else {}
