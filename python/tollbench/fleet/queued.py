"""Jobs in a queue whose controller is gone: they go on, and leave their answers in the fleet's folder."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tollbench.errors import TollError
from tollbench.fleet.hosts import Host
from tollbench.fleet.reframe_engine import answer_in, plain_text, stage_of
from tollbench.text import shown
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
    # Not by the process's number alone, which a killed controller had before.
    place = Path(tempfile.mkdtemp(prefix=f"{_ENGINE}{os.getpid()}-", dir=fleet.resolve()))
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
    """Those whose jobs Slurm still has, waiting or at work.

    Raises TollError where it does not say so: a job that is not known to have gone would be sent twice.
    """
    wanted = {f"toll-{identity}": identity for identity in identities}
    if not wanted:
        return set()
    command = ["squeue", "--noheader", "--format=%k"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=_ASKED_S, check=False)
        said = shown(done.stderr.strip(), 200) if done.returncode else ""
    except FileNotFoundError:
        said = "there is no squeue here"
    except (OSError, subprocess.TimeoutExpired):
        said = "it does not answer"
    if said:
        raise TollError(
            f"Slurm does not tell which jobs of an earlier start it still has: {said}",
            "nothing was sent anew; look whether slurmctld runs (sinfo), and ask again",
        )
    return {wanted[line.strip()] for line in done.stdout.splitlines() if line.strip() in wanted}


def remove_left(fleet: Path) -> None:
    """Folders of engines that were killed, once nobody needs them."""
    for place in fleet.glob(f"{_ENGINE}*"):
        with suppress(OSError):
            delete_tree(place)
