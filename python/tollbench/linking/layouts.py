"""A program in several layouts: its functions in another order, each at another offset within a cache line.

Why: every change of a program moves code, and where code lies changes its time by more than most changes do.
What holds over layouts drawn at random holds for the change. Source: Mytkowicz et al., "Producing Wrong Data
Without Doing Anything Obviously Wrong!" (2009); Curtsinger and Berger, "Stabilizer" (2013).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from tollbench.launching.failure import fault_of
from tollbench.launching.interrupt import Interrupt
from tollbench.linking.placing import Steps, in_order, steps_of_layout
from tollbench.linking.relinking import Linkable, cannot, check_order, keyed_alike, linkable, room_in
from tollbench.linking.wrapped import WrappedBuild


def linked(
    build: WrappedBuild,
    executable: Path,
    layouts: int,
    seed: int,
    *,
    interrupt: Interrupt | None = None,
    on_link: Callable[[int], None] = lambda _done: None,
) -> tuple[Path, ...]:
    """One program in `layouts` layouts, for itself: see linked_alike."""
    return linked_alike([linkable(build, executable, interrupt)], layouts, seed, interrupt, on_link)[0]


def linked_alike(
    programs: Sequence[Linkable],
    layouts: int,
    seed: int,
    interrupt: Interrupt | None = None,
    on_link: Callable[[int], None] = lambda _done: None,
) -> list[tuple[Path, ...]]:
    """Every program in `layouts` layouts, of which those of one number are alike in all programs.

    The files lie beside each executable, and their names are of equal length: bench.layout-07. Code that the
    programs share has the same address in their layouts of one number. `on_link` is told how many links are
    done. Raises LaunchFailed, with `side` the index of the program, where one cannot be linked, is another
    program then, or does not have its functions where they were drawn to; Interrupted.
    """
    programs = keyed_alike(programs, interrupt)
    digits = max(2, len(str(layouts)))
    jobs: list[tuple[int, Path, int, Steps]] = []
    for layout in range(1, layouts + 1):
        steps = steps_of_layout([program.blocks for program in programs], layout, seed)
        for side, program in enumerate(programs):
            name = f"{program.executable.name}.layout-{layout:0{digits}d}"
            jobs.append((side, program.executable.with_name(name), layout, steps[side]))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # a container's CPUs, not the machine's
        futures: list[Future[bytes]] = [
            pool.submit(_link, side, programs[side], output, layout, seed, steps, interrupt)
            for side, output, layout, steps in jobs
        ]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                on_link(done)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    for side in range(len(programs)):
        made = [future.result() for job, future in zip(jobs, futures, strict=True) if job[0] == side]
        with fault_of(side):
            if len(set(made)) < len(made):
                raise cannot(f"it has too few functions to stand in {layouts} layouts; ask for fewer")
    return [tuple(job[1] for job in jobs if job[0] == side) for side in range(len(programs))]


def _link(
    side: int,
    program: Linkable,
    output: Path,
    layout: int,
    seed: int,
    steps: Steps,
    interrupt: Interrupt | None,
) -> bytes:
    """A digest of where everything stands in one layout, now linked."""
    with fault_of(side), room_in(program.scratch):
        script = program.scratch / f"{output.name}.x"
        script.write_bytes(os.fsencode(program.script.with_steps(steps, program.patterns)))
        _, sections = program.linked(output, ["-T", str(script)], interrupt)
        check_order(program, in_order(program.blocks, layout, seed), sections)
        stands = [(program.key_of(section), section.address) for section in sections]
        return hashlib.blake2b(repr(stands).encode("utf-8", "surrogateescape"), digest_size=16).digest()
