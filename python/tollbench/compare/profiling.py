"""One benchmark on one side under callgrind: where its cost arises, an iteration."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.compare.counters import ITERATION, PROCESS, Ladder, WholeProcess, asked_of, shorter_run
from tollbench.compare.planned_counter import PlannedRuns
from tollbench.compare.program_counter import ProgramPasses
from tollbench.compare.subject import Side
from tollbench.counting import instructions, profiles
from tollbench.counting.profiles import PROFILING, CostProfile, Site
from tollbench.counting.runs import launched
from tollbench.counting.source_frames import Frames, frames_of, missing_tool
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt

Explained = Ladder | ProgramPasses | PlannedRuns | WholeProcess  # who launches what can be explained
_OF_THE_SYSTEM = ("/usr/", "/lib", "/opt/")  # libraries whose debug information nobody asks for


@dataclass(slots=True)
class Profiled:
    """Of one side."""

    profile: CostProfile
    per: str
    program: Path
    folder: Path | None  # where it runs; of a revision its checkout
    once: CostProfile  # the last run as a whole, with what surrounds its loop
    frames: Mapping[Site, Frames] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def profiled(counter: Explained, side: int, name: str) -> Profiled:
    """One benchmark on one side. Raises LaunchFailed with a reason, and Interrupted."""
    found = _made(counter, side, name)
    found.frames = _frames(found, counter.subject.options.interrupt)
    if not found.frames:
        label = counter.subject.labels[side]
        why = missing_tool() or f"{label} has no debug information (compile with -g)"
        found.notes.append(f"{why}: no inlined functions, no lines")
    return found


def _made(counter: Explained, side: int, name: str) -> Profiled:
    if isinstance(counter, Ladder):
        return _of_runs(counter, counter.subject.sides[side], name)
    if isinstance(counter, ProgramPasses):
        return _of_passes(counter, side, name)
    if isinstance(counter, PlannedRuns):
        return _of_planned(counter, side, name)
    return _whole(counter, counter.subject.sides[side])


def _of_runs(counter: Ladder, side: Side, name: str) -> Profiled:
    wanted = counter.runs_of(side, name)
    with counter.launch(side, name, wanted, PROFILING) as made:
        if made.ended.exit_code != 0:
            raise LaunchFailed(instructions.how_it_ended(made.ended, made.scratch))
        runs = made.runs(name)
        files = _files_of(made.scratch, len(runs))
        at = shorter_run(runs)
        chosen = [files[at], files[-1]] if at else files[-1:]
        read = [profiles.read(file).without(str(counter.preloaded.marks)) for file in chosen]
    before = read[0] if at else None
    more = runs[-1].iterations - (runs[at].iterations if at else 0)
    each = profiles.per_iteration(read[-1], before, more * counter.asked_threads_of(side, name))
    return Profiled(each, ITERATION, Path(side.command[0]).resolve(), side.folder, read[-1])


def _of_passes(counter: ProgramPasses, side: int, name: str) -> Profiled:
    with counter.under_valgrind(side, name, PROFILING) as (passes, scratch):
        files = _files_of(scratch, len(passes))
        read = [profiles.read(file).without(str(counter.preloaded.own_marks)) for file in files[-2:]]
    apart = len(passes) > 2  # the first one also does what is done once
    more = passes[-1].iterations - (passes[-2].iterations if apart else 0)
    each = profiles.per_iteration(read[-1], read[-2] if apart else None, more)
    errand = counter.subject.errand(side, name)
    return Profiled(each, ITERATION, Path(errand.command[0]).resolve(), errand.folder, read[-1])


def _of_planned(counter: PlannedRuns, side: int, name: str) -> Profiled:
    of = counter.subject.sides[side]
    with counter.under_valgrind(of, name, PROFILING) as (planned, scratch):
        files = planned.of(_files_of(scratch, planned.marked), "Valgrind profiled")[-2:]
        read = [profiles.read(file).without(str(counter.preloaded.marks)) for file in files]
    runs = planned.runs
    # A process's first run also does what is done once; runs of as many iterations say nothing of one.
    apart = len(runs) > 2 and runs[-2].iterations < runs[-1].iterations
    more = runs[-1].iterations - (runs[-2].iterations if apart else 0)
    each = profiles.per_iteration(read[-1], read[-2] if apart else None, more)
    return Profiled(each, ITERATION, Path(of.command[0]).resolve(), of.folder, read[-1])


def _files_of(scratch: Path, runs: int) -> list[Path]:
    files = instructions.files_of_runs(scratch)
    if len(files) != runs:
        raise LaunchFailed(
            f"made {runs} runs under Valgrind, which profiled {len(files)} (is valgrind/callgrind.h"
            " installed? apt-get install valgrind)"
        )
    return files


def _whole(counter: WholeProcess, side: Side) -> Profiled:
    options = counter.subject.options
    with launched(asked_of(counter.subject, side), [], {}, PROFILING) as made:
        code = made.ended.exit_code
        fine = code == 0 or (options.any_exit_code and code > 0)
        if not fine or instructions.refusal(made.scratch):
            raise LaunchFailed(instructions.how_it_ended(made.ended, made.scratch))
        files = sorted(made.scratch.glob("cost.*"))
        if not files:
            raise LaunchFailed("under Valgrind left no profile")
        read = [profiles.read(file) for file in files]
    largest = max(read, key=lambda each: sum(cost[0] for cost in each.costs.values()))
    found = Profiled(largest, PROCESS, Path(side.command[0]).resolve(), side.folder, largest)
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
