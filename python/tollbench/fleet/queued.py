"""Jobs in a queue whose controller is gone: they go on, and leave their answers in the fleet's folder."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tollbench.fleet.hosts import Host
from tollbench.fleet.reframe_engine import answer_in, plain_text, stage_of
from tollbench.writing import delete_tree, scratch_folder

_ENGINE = "engine-"
_ASKED_S = 30.0


@dataclass(frozen=True, slots=True)
class LeftAnswer:
    """What a job said, and the folder with its result."""

    text: str
    stage: Path


@contextmanager
def engine_folder(fleet: Path, *, shared: bool) -> Iterator[Path]:
    """Where the engine works: with a queue in the fleet's folder, which every node has to see."""
    if not shared:
        with scratch_folder() as place:
            yield place
        return
    place = fleet.resolve() / f"{_ENGINE}{os.getpid()}"
    place.mkdir()
    try:
        yield place
    finally:
        delete_tree(place)


def answers_left(fleet: Path) -> dict[str, LeftAnswer]:
    """By a run's identity, of all engines that were killed."""
    found = {}
    for jobs in fleet.glob(f"{_ENGINE}*/jobs.json"):
        with suppress(ValueError, KeyError, AttributeError):
            for part, given in json.loads(plain_text(jobs)).items():
                stage = stage_of(jobs.parent, part)
                if text := answer_in(stage):
                    found[str(given["job"]["identity"])] = LeftAnswer(text, stage)
    return found


def marked(host: Host, identity: str) -> tuple[str, ...]:
    """Words by which a queue shows later that a job is this run's; none where it has no such words."""
    return (f"--comment=toll-{identity}",) if host.engine == "squeue" else ()


def waiting(identities: Iterable[str]) -> set[str]:
    """Those whose jobs Slurm still has, waiting or at work; none where there is no Slurm."""
    wanted = {f"toll-{identity}": identity for identity in identities}
    if not wanted:
        return set()
    command = ["squeue", "--noheader", "--format=%k"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=_ASKED_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return {wanted[line.strip()] for line in done.stdout.splitlines() if line.strip() in wanted}


def remove_left(fleet: Path) -> None:
    """Folders of engines that were killed, once nobody needs them."""
    for place in fleet.glob(f"{_ENGINE}*"):
        with suppress(OSError):
            delete_tree(place)
