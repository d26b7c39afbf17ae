"""One launch: a fresh process, its set-up, its requests, its end."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tollbench.measure.clock import Clock
from tollbench.measure.launcher import Child, Launcher, LaunchFailed, Limits
from tollbench.measure.machine import Disturbance
from tollbench.measure.process import quoted, signal_name
from tollbench.measure.protocol import Ready, Timed, ask_allocations, ask_timed, read_ready, send_stop
from tollbench.measure.warming import MOST_WARMUP_BATCHES, steady
from tollbench.store import Launch, Samples
from tollbench.words import Allocations, Kind, Purpose, Status

MAX_PADDING_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Errand:
    """What one launch is for."""

    case_id: int | None
    purpose: Purpose
    round: int
    position: int
    seed: int
    command: tuple[str, ...]
    environment: Mapping[str, str]
    kind: Kind
    answer: int | None  # of one iteration; None: not checked
    details: frozenset[str] = frozenset()  # names that the program may tell numbers under
    entered: bool = False  # the command enters a root first, whose tools preload nothing
    malloc: str = ""  # the file that must serve malloc in the program; "": not checked


@dataclass(frozen=True, slots=True)
class Work:
    """What every measuring launch of a case does: a warm-up, then `batches` requests of `iterations` each."""

    iterations: int
    batches: int
    warmup: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """A launch to be stored, with the samples of each of its batches."""

    launch: Launch
    samples: tuple[Samples | None, ...] = ()  # of each batch; None for kind "batch"

    def timed_samples(self) -> Samples | None:
        """All samples besides the warm-up's, in one array; None for kind "batch" and failed launches."""
        pairs = zip(self.launch.batches, self.samples, strict=True)
        parts = [values for batch, values in pairs if values is not None and not batch.warmup]
        return np.concatenate(parts) if parts else None

    def timed_cells(self) -> tuple[tuple[str, int], ...]:
        """What consecutive ones of `timed_samples` belong to."""
        return tuple(cell for batch in self.launch.batches if not batch.warmup for cell in batch.cells)


class Talk:
    """The runner's side of one conversation; keeps what was heard and how long the program took to answer."""

    def __init__(self, child: Child, errand: Errand, clock: Clock) -> None:
        self._child = child
        self._errand = errand
        self._clock = clock
        self._layouts = random.Random(errand.seed)
        self.ready: Ready | None = None
        self.timed: list[Timed] = []
        self.allocations: Allocations | None = None
        self.request_ns = 0  # from request to answer, all together
        self.observed: dict[str, object] = {}  # what the runner adds to the launch's footing

    def start(self) -> None:
        """Waits for `ready`."""
        self.ready = read_ready(self._child)

    def time(self, count: int, *, warmup: bool = False) -> Timed:
        """One timed request. The first brings the launch's layout; the others find the state that it left.

        A layout makes the state anew: with one in each request every batch would time cold pools and caches
        (Boost.Fiber's pooled stacks: 1,890 instead of 700 ns a task), and no warm-up would warm anything.
        """
        started = self._clock.now_ns()
        layout = None if self.timed else self._layouts.randrange(2**31)
        errand = self._errand
        answer = ask_timed(
            self._child, errand.kind, count, layout, errand.answer, self._clock, errand.details
        )
        self.request_ns += self._clock.now_ns() - started
        self.timed.append(Timed(replace(answer.batch, warmup=warmup), answer.samples))
        return answer

    def warm(self, count: int, limit_ns: int) -> None:
        """Timed requests that do not count, until the program is steady or the time is up; at least one.

        The first is the cold one. A batch of samples is a single measurement too: its wall time.
        """
        ends_ns = self._clock.now_ns() + limit_ns
        costs: list[float] = []
        while not steady(costs) and len(costs) < MOST_WARMUP_BATCHES:
            if costs and self._clock.now_ns() >= ends_ns:
                break
            batch = self.time(count, warmup=True).batch
            costs.append(batch.wall_ns / batch.iterations)
        ended = "steady" if steady(costs) else f"not steady after {limit_ns / 1e9:g} s"
        self.observed |= {"warmup_batches": len(costs), "warmup": ended}

    def count_allocations(self, iterations: int) -> None:
        """The counting pass."""
        started = self._clock.now_ns()
        self.allocations = ask_allocations(self._child, iterations, self._errand.answer)
        self.request_ns += self._clock.now_ns() - started


Conversation = Callable[[Talk], None]


def measuring(work: Work) -> Conversation:
    """The same work in every launch of a case, after the warming that the program asks for."""

    def talk(talk: Talk) -> None:
        limit_ns = talk.ready.warmup_limit_ns if talk.ready else 0
        if limit_ns:
            talk.warm(work.iterations, limit_ns)
        elif work.warmup:
            talk.time(work.iterations, warmup=True)
        for _ in range(work.batches):
            talk.time(work.iterations)

    return talk


def counting(iterations: int) -> Conversation:
    """The allocation-counting pass."""
    return lambda talk: talk.count_allocations(iterations)


@dataclass(frozen=True, slots=True)
class LaunchRoom:
    """What all launches share: who starts programs, the clock, the limits, the view of the machine."""

    launcher: Launcher
    clock: Clock
    limits: Limits
    disturbance: Callable[[], Disturbance]

    def launch(self, errand: Errand, conversation: Conversation) -> Outcome:
        """Runs one launch to its end, whatever it is. Raises only Interrupted, with nothing left running."""
        before, started_utc = self.disturbance(), self.clock.utc()
        started_ns = self.clock.now_ns()
        status, reason, talk = self._talk(errand, conversation)
        wall_ns = self.clock.now_ns() - started_ns
        disturbance = self.disturbance().since(before)
        ready = talk.ready if talk else None
        launch = Launch(
            case_id=errand.case_id,
            purpose=errand.purpose,
            round=errand.round,
            position=errand.position,
            seed=errand.seed,
            status=status,
            reason=reason,
            started_utc=started_utc,
            started_ns=started_ns,
            wall_ns=wall_ns,
            setup_ns=ready.setup_ns if ready else None,
            overhead_ns=max(0, wall_ns - ready.setup_ns - talk.request_ns) if ready and talk else None,
            steal_ns=disturbance.steal_ns,
            pressure_ns=disturbance.pressure_ns,
            clock=ready.clock if ready else {},
            footing={**ready.footing, **talk.observed} if ready and talk else {},
        )
        if status is not Status.OK or talk is None:
            return Outcome(launch)  # no number of a failed launch is kept
        batches = tuple(timed.batch for timed in talk.timed)
        samples = tuple(timed.samples for timed in talk.timed)
        return Outcome(replace(launch, batches=batches, allocations=talk.allocations), samples)

    def _talk(self, errand: Errand, conversation: Conversation) -> tuple[Status, str, Talk | None]:
        talk = None
        try:
            child = self.launcher.start(errand.command, _environment(errand), self.limits)
            try:
                talk = Talk(child, errand, self.clock)
                talk.start()
                _check_malloc(errand.malloc, talk.ready)
                conversation(talk)
                send_stop(child)
                return Status.OK, end_of(child), talk
            finally:
                child.kill()
        except LaunchFailed as failure:
            return failure.status, failure.reason, talk


def _check_malloc(wanted: str, ready: Ready | None) -> None:
    """A program that does not take the preloaded allocator would be timed under a false name."""
    served_by = (ready.footing if ready else {}).get("malloc")
    if wanted and served_by != wanted:
        told = f"takes malloc from {served_by}" if served_by else "does not say what serves its malloc"
        raise LaunchFailed(
            Status.FAILED,
            f"was started with {wanted} preloaded and {told}; next: see footing.malloc in docs/protocol.md,"
            " or measure it with --env host",
        )


def end_of(child: Child) -> str:
    """How the program ended after its last answer; "" for well. A late end spoils nothing.

    Raises LaunchFailed for a bad one: what crashes, or exits as sanitizers do, may have been wrong before.
    """
    end = child.finish()
    if end.trailing:
        raise LaunchFailed(Status.FAILED, f"printed {quoted(end.trailing)} after its last answer")
    if end.killed:
        return "ignored the request to stop and was killed; its numbers had all come before"
    if end.exit_code < 0:
        raise LaunchFailed(
            Status.FAILED,
            _last_words(f"crashed with {signal_name(-end.exit_code)} while stopping", end.stderr),
        )
    if end.exit_code > 0:
        raise LaunchFailed(
            Status.FAILED, _last_words(f"exited with code {end.exit_code} after stopping", end.stderr)
        )
    return ""


def _last_words(reason: str, stderr: str) -> str:
    return f"{reason}; its last words: {stderr}" if stderr else reason


def _environment(errand: Errand) -> Mapping[str, str]:
    """The environment with padding of random length, which shifts the stack from launch to launch."""
    length = random.Random(f"padding/{errand.seed}").randrange(MAX_PADDING_BYTES)
    made = {**errand.environment, "TOLL_PADDING": "x" * length}
    if errand.entered and "LD_PRELOAD" in made:
        made["TOLL_PRELOAD"] = made.pop("LD_PRELOAD")
    return made


def preloading(environment: Mapping[str, str], libraries: Sequence[str]) -> dict[str, str]:
    """`environment` with libraries loaded before all others, in front of what it preloads already."""
    if not libraries:
        return dict(environment)
    already = environment.get("LD_PRELOAD", "")
    return {**environment, "LD_PRELOAD": ":".join([*libraries, *([already] if already else [])])}
