"""A machine without processes: a clock that moves when programs work, and programs that are functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from tollbench.launching.census import Census
from tollbench.launching.child import End, Limits
from tollbench.launching.disturbance import Disturbance
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.measure import Canary, plan_json, run
from tollbench.measure.events import Event
from tollbench.plan import Plan, Selection, Settings, make
from tollbench.store import RunFile, RunHeader
from tollbench.words import HOST, Contender, Kind, Parameter, Program, Status, Workload

Told = TypeVar("Told")
SETUP_NS = 2_000_000
CANARY = Canary(Program("toll/canary", "canary", "host", ("canary",)), answer=3)


class FakeClock:
    """Stands still until somebody works."""

    def __init__(self) -> None:
        self.ns = 1_000_000

    def now_ns(self) -> int:
        return self.ns

    def utc(self) -> str:
        return f"2026-01-01T00:00:{self.ns / 1e9 % 60:09.6f}+00:00"

    def sleep(self, seconds: float) -> None:
        self.ns += int(seconds * 1e9)


@dataclass
class Started:
    """What one launch was started with."""

    contender: str
    arguments: dict[str, str]
    environment: Mapping[str, str]
    limits: Limits
    folder: Path | None = None
    requests: list[dict[str, object]] = field(default_factory=list)
    program: str = ""


class FakeLauncher:
    """`cost_ns`: what an iteration of a contender costs in its n-th launch, or in each of its requests.

    It may raise LaunchFailed.
    """

    def __init__(
        self, clock: FakeClock, cost_ns: Callable[[str, int], float | list[float]], answer: int = 7
    ) -> None:
        self.clock = clock
        self.cost_ns = cost_ns
        self.answer = answer
        self.setup_ns = SETUP_NS
        self.boast_ns = 0.0  # what programs add to the time that passed
        self.malloc: str | None = None  # what programs say of themselves; None: nothing
        self.started: list[Started] = []
        self.on_start: Callable[[], None] = lambda: None
        self.running = 0
        self.gauges_ns: Callable[[str, int], float] = lambda *_: 0.0  # of a contender's n-th request; 0: none
        self.waits = 0  # times that programs give their processor back in a batch

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        folder: Path | None = None,
    ) -> FakeChild:
        self.on_start()
        program, serve, _, contender, *parameters = command
        assert serve == "serve"
        words = dict(item.split("=", 1) for item in parameters)
        started = Started(contender, words, environment, limits, folder, program=program)
        self.started.append(started)
        cost = self.cost_ns(contender, sum(item.contender == contender for item in self.started))
        self.running += 1
        return FakeChild(self, started, cost)


class FakeChild:
    pid = 2**22 + 1  # above the kernel's highest: nobody's

    def __init__(self, launcher: FakeLauncher, started: Started, cost_ns: float | list[float]) -> None:
        self.launcher, self.started, self.cost_ns = launcher, started, cost_ns
        self.lines = [
            {"type": "ready", "protocol": 1, "setup_ns": launcher.setup_ns, "clock": {"frequency_hz": 2e9}}
        ]
        if launcher.malloc is not None:
            self.lines[0]["footing"] = {"malloc": launcher.malloc}
        self.raw = b""
        self.alive = True
        launcher.clock.ns += launcher.setup_ns

    def write_line(self, line: bytes) -> None:
        for request in map(json.loads, line.split(b"\n")):
            self.started.requests.append(request)
            self.lines.append(getattr(self, f"_{request['type']}")(request))

    def read_line(self) -> bytes:
        return json.dumps(self.lines.pop(0)).encode()

    def read_exactly(self, count: int) -> bytes:
        data, self.raw = self.raw[:count], self.raw[count:]
        return data

    def rested(self, seconds: float) -> None:
        pass

    def unread(self) -> bytes:
        return self.raw

    def finish(self) -> End:
        self.kill()
        return End(0, False)

    def kill(self) -> None:
        self.launcher.running -= self.alive
        self.alive = False

    def _answer(self, count: int) -> str:
        return str((3 if self.started.contender == "canary" else self.launcher.answer) * count)

    def _timed(self, kind: str, count: int) -> dict[str, object]:
        cost_ns = self.cost_ns.pop(0) if isinstance(self.cost_ns, list) else self.cost_ns
        wall_ns = cost_ns * count
        if wall_ns > 1e9 * self.started.limits.time_s:
            self.launcher.clock.ns += int(1e9 * self.started.limits.time_s)
            raise LaunchFailed("did not end", Status.TIMED_OUT)
        self.launcher.clock.ns += int(wall_ns)
        numbers = dict.fromkeys(("involuntary_switches", "minor_faults", "major_faults", "peak_bytes"), 1)
        numbers["voluntary_switches"] = self.launcher.waits
        gauge_ns = self.launcher.gauges_ns(self.started.contender, len(self.started.requests))
        return {
            "type": kind, "iterations": count, "units": 2 * count, "cpu_ns": wall_ns,
            "wall_ns": wall_ns + self.launcher.boast_ns, "checksum": self._answer(count),
            "gauge_ns": gauge_ns, **numbers,
        }  # fmt: skip

    def _batch(self, request: Mapping[str, int]) -> dict[str, object]:
        return self._timed("batch", request["iterations"])

    def _samples(self, request: Mapping[str, int]) -> dict[str, object]:
        count = request["count"]
        self.raw += np.full(count, self.cost_ns, "<f4").tobytes()  # two requests may be asked together
        return {
            **self._timed("samples", count),
            "count": count,
            "format": "<f4",
            "unit": "ns",
            "bytes": 4 * count,
            "units": count,
        }

    def _allocations(self, request: Mapping[str, int]) -> dict[str, object]:
        count = request["iterations"]
        numbers = {
            "iterations": count,
            "units": 2 * count,
            "calls": 10 * count,
            "bytes": 80,
            "peak_bytes": 40,
        }
        return {"type": "allocations", "checksum": self._answer(count), **numbers}

    def _stop(self, request: Mapping[str, int]) -> dict[str, object]:
        return {"type": "stopped"}


def workload(*contenders: str, name: str = "a/b", kind: Kind = Kind.BATCH) -> Workload:
    parameters = (Parameter("size", (4,), "", ""),)
    offered = tuple(Contender(name, each, "C++", "std", Path("x.cpp")) for each in contenders)
    return Workload(name, "?", kind, "ns", "task", "7", Path(), parameters, offered)


def plan_for(*workloads: Workload, **settings: object) -> Plan:
    wanted = Settings(**{"budget_s": 60.0, "launch_s": 0.1, "batches": 4} | settings)  # type: ignore[arg-type]
    return make(workloads, Selection(), [HOST], wanted, cpus=2)


def programs_for(plan: Plan, **statuses: Status) -> list[Program]:
    return [
        Program(
            case.workload,
            case.contender,
            case.environment,
            ("program",),
            statuses.get(case.contender, Status.OK),
            "why not",
        )
        for case in plan.cases
    ]


def header_for(plan: Plan) -> RunHeader:
    settings = plan.settings
    return RunHeader(
        "r", "u", "0", "toll run", settings.profile, settings.seed, settings.level, settings.precision,
        settings.budget_s, plan_json(plan), {}, {}, "2026-01-01T00:00:00+00:00",
    )  # fmt: skip


@dataclass
class Bench:
    """Everything that one measuring test needs."""

    path: Path
    plan: Plan
    launcher: FakeLauncher
    events: list[Event] = field(default_factory=list)
    canary: Canary | None = None
    library: Path | None = None
    began_ns: int = 0
    moments: int = 0  # that have passed: runs and launches begun, and what was told
    interrupt_after: int = 0  # moments; 0: never
    statuses: dict[str, Status] = field(default_factory=dict)
    flags: str = ""  # of all programs
    layouts: int = 0  # of the code of each
    one_layout: str = ""
    made_from: dict[str, str] = field(default_factory=dict)  # of a contender's program
    runnable: Callable[[], int] = lambda: 1  # tasks of the machine: toll alone
    cpus: int = 2
    interrupt: Interrupt = field(default_factory=Interrupt)  # of the latest run

    def run(self) -> str:
        """A new run, or the resumed one where the file exists."""
        opened = (
            RunFile.resume(self.path)
            if self.path.exists()
            else RunFile.create(self.path, header_for(self.plan))
        )
        interrupt = self.interrupt = Interrupt()

        def moment() -> None:
            self.moments += 1
            if self.moments == self.interrupt_after:
                interrupt.request()

        def on_event(event: Event) -> None:
            self.events.append(event)
            moment()

        self.launcher.on_start, self.began_ns = moment, self.launcher.clock.ns
        moment()
        with opened as run_file:
            return run(
                self.plan,
                [
                    replace(
                        one,
                        flags=self.flags,
                        layouts=tuple(f"program.layout-{at:02d}" for at in range(1, self.layouts + 1)),
                        one_layout=self.one_layout,
                        made_from=self.made_from.get(one.contender, ""),
                    )
                    for one in programs_for(self.plan, **self.statuses)
                ],
                run_file,
                clock=self.launcher.clock,
                launcher=self.launcher,
                canary=self.canary,
                allocations_library=self.library,
                on_event=on_event,
                interrupt=interrupt,
                disturbance=lambda: Disturbance(self.launcher.clock.ns // 100, None),
                census=Census(self.launcher.clock, lambda: self.runnable(), self.cpus),
                environment={"HOME": "/nowhere"},
            )

    def told(self, kind: type[Told]) -> list[Told]:
        return [event for event in self.events if isinstance(event, kind)]

    def elapsed_s(self) -> float:
        """How long the latest run took."""
        return (self.launcher.clock.ns - self.began_ns) / 1e9
