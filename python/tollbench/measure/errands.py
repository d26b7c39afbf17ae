"""What each case's program is started for in a run: environment, answer and details in one errand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.launching.conversation import Errand
from tollbench.launching.environment import OWN_PROGRAMS, preloading, with_malloc_of
from tollbench.measure.state import CaseState
from tollbench.plan import Plan
from tollbench.words import Environment, Kind, Program, Workload

# Hardware events and concurrency units are counted in the pilot alone: inherited counters make each thread
# creation dearer, and counting units costs what some units cost.
_COUNTING = {"TOLL_COUNTERS": "1", "TOLL_UNITS": "1"}


@dataclass(frozen=True, slots=True)
class Canary:
    """The program whose speed tells how the machine fares; `answer` of one iteration, None: not checked."""

    program: Program
    answer: int | None = None


class Errands:
    """`variables` is all that programs find in their environment, `counter` the library that counts."""

    def __init__(self, plan: Plan, variables: Mapping[str, str], counter: Path | None) -> None:
        self._environments: dict[str, Environment] = {item.name: item for item in plan.environments}
        self._workloads: dict[str, Workload] = {item.name: item for item in plan.workloads}
        self._variables = variables
        self._counter = counter

    def measuring(self, state: CaseState, code_layout: int = 0) -> Errand:
        """A launch of the case as it is measured, its program in that layout."""
        case = state.case
        environment = self._environments[case.environment]
        return Errand(
            command=Errand.command_of(
                state.program.command_of(code_layout), case.workload, case.contender, case.parameters
            ),
            kind=case.kind,
            environment=with_malloc_of(self._variables, environment.preload, environment.glibc_tunables),
            folder=OWN_PROGRAMS,
            answer=case.answer,
            details=frozenset(detail.name for detail in self._workloads[case.workload].details),
            malloc=environment.malloc,
            entered=bool(environment.enter),
        )

    def piloting(self, state: CaseState) -> Errand:
        """The same with hardware events and units counted."""
        errand = self.measuring(state)
        return replace(errand, environment={**_COUNTING, **errand.environment})

    def counting(self, state: CaseState) -> Errand | None:
        """A launch that counts allocations; None where nothing can.

        C and C++ programs count only under the counting library; others know by themselves. The library is
        that of the case's own environment: programs of 32 bits cannot load another one.
        """
        own = self._environments[state.case.environment].counter
        counter = Path(own) if own else self._counter
        errand = self.measuring(state)
        if state.case.language not in ("C", "C++"):
            return errand
        if counter is None:
            return None
        return replace(errand, environment=preloading(errand.environment, [str(counter)]))

    def beating(self, canary: Canary) -> Errand:
        """A launch of the canary."""
        program = canary.program
        return Errand(
            command=Errand.command_of(program.command, program.workload, program.contender, {}),
            kind=Kind.BATCH,
            environment=self._variables,
            folder=OWN_PROGRAMS,
            answer=canary.answer,
            details=frozenset(),
        )
