"""What a program finds around it: variables, padding, preloaded libraries, the frequency of its clock."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from tollbench.launching.failure import LaunchFailed
from tollbench.words import GLIBC, with_tunables

MAX_PADDING_BYTES = 4096
# Where programs of toll's own suites run: runtimes load code from the current folder, as Erlang's does.
OWN_PROGRAMS = Path("/")
_OWN_FOLDER = Path(__file__).resolve().parents[2]
CALIBRATION_MS = "100"  # of the processor's counter, once; all later launches are told the result


def own_environment() -> dict[str, str]:
    """What programs get: this process's environment, without toll's own folder in PYTHONPATH."""
    made = dict(os.environ)
    if "PYTHONPATH" in made:  # tests and benchmarks of toll name its folder there
        entries = made.pop("PYTHONPATH").split(os.pathsep)
        others = [entry for entry in entries if Path(entry).resolve() != _OWN_FOLDER]
        made |= {"PYTHONPATH": os.pathsep.join(others)} if others else {}
    return made


def padded(environment: Mapping[str, str], rng: random.Random) -> dict[str, str]:
    """The environment with padding of random length, which shifts the stack from launch to launch."""
    return {**environment, "TOLL_PADDING": "x" * rng.randrange(MAX_PADDING_BYTES)}


def preloading(environment: Mapping[str, str], libraries: Sequence[str]) -> dict[str, str]:
    """`environment` with libraries loaded before all others, in front of what it preloads already."""
    if not libraries:
        return dict(environment)
    already = environment.get("LD_PRELOAD", "")
    return {**environment, "LD_PRELOAD": ":".join([*libraries, *([already] if already else [])])}


def with_malloc_of(
    environment: Mapping[str, str], preload: Sequence[str], glibc_tunables: Sequence[str]
) -> dict[str, str]:
    """`environment` for a program whose malloc is the first of `preload`, or glibc's with these settings."""
    return with_tunables(preloading(environment, preload), glibc_tunables)


def preloading_inside(environment: Mapping[str, str]) -> dict[str, str]:
    """For a command that enters a root first: its tools preload nothing, the program in there does."""
    made = dict(environment)
    if "LD_PRELOAD" in made:
        made["TOLL_PRELOAD"] = made.pop("LD_PRELOAD")
    return made


def check_malloc(wanted: str, footing: Mapping[str, object]) -> None:
    """Raises LaunchFailed for a program that does not take the allocator `wanted`: a file, or glibc's own.

    It would be timed under a false name.
    """
    served_by = footing.get("malloc")
    if wanted and served_by != wanted:
        told = f"takes malloc from {served_by}" if served_by else "does not say what serves its malloc"
        how = "glibc's malloc set up" if wanted == GLIBC else f"{wanted} preloaded"
        raise LaunchFailed(
            f"was started with {how} and {told}; next: see footing.malloc in docs/protocol.md,"
            " or leave that allocator out"
        )


def told_clock(counter_hz: float | None) -> dict[str, str]:
    """All launches share one calibration: the first program makes a long one, the others are told."""
    if counter_hz is None:
        return {"TOLL_CLOCK_CALIBRATION_MS": CALIBRATION_MS}
    return {"TOLL_CLOCK_HZ": repr(counter_hz)}


def counter_hz_of(clock: Mapping[str, object]) -> float | None:
    """The processor's counter's frequency where programs accept it, or None: then each calibrates for itself.

    Other languages read the monotonic clock, whose 1e9 ticks a second are no counter's.
    """
    value = None if str(clock.get("source", "")).startswith("monotonic") else clock.get("frequency_hz")
    return float(value) if isinstance(value, int | float) and 1e6 <= value <= 1e11 else None
