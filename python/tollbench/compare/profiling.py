"""One benchmark on one side under callgrind: where its cost arises, an iteration."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.compare.adapters.google_benchmark import GoogleBenchmark
from tollbench.compare.counters import ITERATION, PROCESS, Ladder, WholeProcess
from tollbench.compare.subject import Side
from tollbench.counting import instructions, profiles
from tollbench.counting.profiles import PROFILING, CostProfile, Site
from tollbench.counting.runs import Launching, launched
from tollbench.counting.source_frames import Frames, frames_of
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt

_OF_THE_SYSTEM = ("/usr/", "/lib", "/opt/")  # libraries whose debug information nobody asks for


@dataclass(slots=True)
class Profiled:
    """Of one side."""

    profile: CostProfile
    per: str
    program: Path
    frames: Mapping[Site, Frames]
    once: CostProfile  # the last run as a whole, with what surrounds its loop
    notes: list[str] = field(default_factory=list)


def profiled(counter: Ladder | WholeProcess, side: Side, name: str) -> Profiled:
    """One launch. Raises LaunchFailed with a reason, and Interrupted."""
    found = _of_runs(counter, side, name) if isinstance(counter, Ladder) else _whole(counter, side)
    found.frames = _frames(found, counter.subject.options.interrupt)
    if not found.frames:
        found.notes.append(
            f"{side.label} has no debug information (compile with -g): no inlined functions, no lines"
        )
    return found


def _of_runs(counter: Ladder, side: Side, name: str) -> Profiled:
    assert isinstance(counter.subject, GoogleBenchmark)
    wanted = counter.runs_of(side, name)
    with counter.launch(side, name, wanted, PROFILING) as made:
        if made.ended.exit_code != 0:
            raise LaunchFailed(instructions.how_it_ended(made.ended, made.scratch))
        runs = made.runs(name)
        files = instructions.files_of_runs(made.scratch)
        if len(files) != len(runs):
            raise LaunchFailed(
                f"made {len(runs)} runs under Valgrind, which profiled {len(files)} (is valgrind/callgrind.h"
                " installed? apt-get install valgrind)"
            )
        marks = str(counter.preloaded.marks)
        read = [profiles.read(file).without(marks) for file in files[-2:]]
    # A source may fix the number of iterations, and have several runs of as many.
    apart = len(read) > 1 and runs[-2].iterations < runs[-1].iterations
    before = read[-2] if apart else None
    more = runs[-1].iterations - (runs[-2].iterations if before is not None else 0)
    each = profiles.per_iteration(read[-1], before, more * counter.asked_threads_of(side, name))
    return Profiled(each, ITERATION, Path(side.command[0]).resolve(), {}, read[-1])


def _whole(counter: WholeProcess, side: Side) -> Profiled:
    options = counter.subject.options
    asked = Launching(side.command, side.environment, side.folder, options.limit_s, options.interrupt)
    with launched(asked, [], {}, PROFILING) as made:
        if reason := instructions.refusal(made.scratch):
            raise LaunchFailed(reason)
        code = made.ended.exit_code
        if code != 0 and not (options.any_exit_code and code > 0):
            raise LaunchFailed(made.ended.how())
        files = sorted(made.scratch.glob("cost.*"))
        if not files:
            raise LaunchFailed("under Valgrind left no profile")
        read = [profiles.read(file) for file in files]
    largest = max(read, key=lambda each: sum(cost[0] for cost in each.costs.values()))
    program = Path(side.command[0]).resolve()
    found = Profiled(largest, PROCESS, program, {}, largest)
    if len(read) > 1:
        found.notes.append(f"{side.label} is {len(read)} processes: the one that executes most is shown")
    return found


def _frames(found: Profiled, interrupt: Interrupt | None) -> Mapping[Site, Frames]:
    """Of the executed instructions of the program and of libraries that are not the system's."""
    by_file: dict[str, set[int]] = {}
    for site in [site for _, site in found.once.costs] + [call.site for call in found.once.calls]:
        by_file.setdefault(site[0], set()).add(site[1])
    frames: dict[Site, Frames] = {}
    for file, addresses in by_file.items():
        own = file == str(found.program) or not file.startswith(_OF_THE_SYSTEM)
        if own and Path(file).is_file():
            with contextlib.suppress(LaunchFailed):  # then names of functions are all that there is
                known = frames_of(Path(file), addresses, interrupt)
                frames |= {(file, address): each for address, each in known.items()}
    return frames
