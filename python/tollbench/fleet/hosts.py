"""Which hosts a fleet has: of a hosts.toml, or the nodes of a Slurm partition. Each is one host, pinned."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from tollbench.catalog import toml_files
from tollbench.errors import TollError
from tollbench.text import shown

MOST_HOSTS: Final = 10_000
_SINFO_S: Final = 30.0
# What ReFrame's back ends need to hold a job on one machine that nobody else uses, and to start it but once.
PINNED: Final = {"squeue": ("--exclusive", "--no-requeue", "--export=NONE")}
# Words of a host, a node or a user: what a shell, ssh or an engine takes for something else is none.
_WORD: Final = r"^[A-Za-z0-9_@%:\[\]][A-Za-z0-9_.@%:\[\]-]{0,199}$"
_PATH: Final = r"^[A-Za-z0-9_./~+][A-Za-z0-9_./~+-]{0,999}$"

Engine = Literal["ssh", "squeue", "pbs", "torque", "flux", "lsf", "sge", "oar"]
SshWord = Annotated[str, Field(pattern=_WORD)]
RemotePath = Annotated[str, Field(pattern=_PATH)]
KindWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,60}$")]
# A line of a job's script, behind the queue's own mark.
AccessWord = Annotated[str, Field(pattern=r"^[ -~]{1,200}$")]


class HostEntry(toml_files.Entry):
    """`[hosts.NAME]` of a hosts.toml."""

    ssh: SshWord = ""
    python: RemotePath = "python3"
    toll: RemotePath = ""
    engine: Engine = "ssh"
    access: list[AccessWord] = Field(default_factory=list)
    kind: KindWord = ""


class HostsFile(toml_files.Entry):
    """A hosts.toml."""

    hosts: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")], HostEntry]


@dataclass(frozen=True, slots=True)
class Host:
    """One machine: how it is reached, and what is used there."""

    name: str
    ssh: str = ""  # what ssh is called with; empty: an engine with a queue reaches it
    python: str = "python3"
    toll: str = ""  # one that is there already; empty: the wheel is sent
    engine: str = "ssh"  # ReFrame's name of its back end
    access: tuple[str, ...] = ()  # words for the back end: partition, node
    kind: str = ""  # hosts that are equal, as the user says, have one word for it

    @property
    def by_ssh(self) -> bool:
        """Whether toll itself can ask it something, past the engine."""
        return self.engine == "ssh"


def of_file(path: Path) -> tuple[Host, ...]:
    """The hosts of a hosts.toml, as they stand in it. Raises TollError."""
    entries = toml_files.read(path, HostsFile).hosts
    if not entries:
        raise TollError(f"{path} names no host", 'add one: [hosts.NAME] and below it ssh = "ALIAS"')
    if len(entries) > MOST_HOSTS:
        raise TollError(f"{path} names {len(entries)} hosts; toll takes {MOST_HOSTS}", "split the file")
    hosts = tuple(
        Host(name, entry.ssh or name, entry.python, entry.toll, entry.engine, tuple(entry.access), entry.kind)
        for name, entry in entries.items()
    )
    by_alias: dict[tuple[str, ...], str] = {}
    for host in hosts:
        if not host.by_ssh and not host.access:
            raise TollError(
                f"{path}: hosts.{host.name} says nothing by which {host.engine} finds its machine",
                'add the words for its queue and node: access = ["-q", "QUEUE", "-l", "host=NAME"]',
            )
        for option, path_there in (("python", host.python), ("toll", host.toll)):
            _check_whole(f"{path}: hosts.{host.name}: {option} =", path_there)
        key = (host.engine, *(host.access or (host.ssh,)))
        if (other := by_alias.setdefault(key, host.name)) != host.name:
            raise TollError(
                f"{path}: hosts.{other} and hosts.{host.name} are one host, {shown(host.ssh)}",
                "leave one of them out: two runs on one machine disturb each other",
            )
    return hosts


def shares(hosts: Sequence[Host]) -> dict[str, tuple[int, int]]:
    """(Which part, of how many) of a table each host compares where equal hosts share it; from 1."""
    count = Counter(host.kind for host in hosts)
    seen: Counter[str] = Counter()
    found = {}
    for host in hosts:
        seen[host.kind] += 1
        found[host.name] = (seen[host.kind], count[host.kind])
    return found


def of_slurm(partition: str, python: str = "python3", toll: str = "") -> tuple[Host, ...]:
    """The nodes of a Slurm partition, those that are down too: they are rows with that reason.

    Raises TollError where Slurm does not answer or knows no such partition.
    """
    if not re.fullmatch(_WORD, partition):
        raise TollError(f"{shown(partition)} is no name of a partition", "sinfo shows their names")
    for option, path in (("--python", python), ("--toll", toll)):
        if path and not re.fullmatch(_PATH, path):
            raise TollError(
                f"{option} {shown(path)} is no path that every shell takes as it is",
                "name it by letters, digits and ._+-/ alone, for example /opt/python3.12/bin/python3",
            )
        _check_whole(option, path)
    command = ["sinfo", "--noheader", "--Node", f"--partition={partition}", "--format=%N"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=_SINFO_S, check=False)
    except FileNotFoundError:
        raise TollError(
            "there is no sinfo here, so no Slurm", "start toll where Slurm's commands are, or use --hosts"
        ) from None
    except subprocess.TimeoutExpired:
        raise TollError("Slurm's controller does not answer", "look whether slurmctld runs: sinfo") from None
    if done.returncode:
        raise TollError(f"sinfo says: {shown(done.stderr.strip())}", "look whether slurmctld runs: sinfo")
    nodes = sorted({line.strip() for line in done.stdout.splitlines() if line.strip()}, key=_natural)
    if not nodes:
        raise TollError(f"Slurm knows no partition {partition} with a node", "sinfo shows their names")
    return tuple(
        Host(node, "", python, toll, "squeue", (f"--partition={partition}", f"--nodelist={node}"))
        for node in nodes
    )


def _check_whole(where: str, path: str) -> None:
    """Raises TollError for ~: no shell over there would put a home in its place."""
    if path.startswith("~"):
        raise TollError(
            f"{where} {shown(path)} begins with ~, which stays as it is on a host",
            "write the whole path, for example /opt/python3.12/bin/python3",
        )


def state_in_queue(host: Host) -> str:
    """What Slurm says of a node now, such as "down: Not responding"; empty where it says nothing."""
    node = next((word.partition("=")[2] for word in host.access if word.startswith("--nodelist=")), "")
    if host.engine != "squeue" or not node:
        return ""
    command = ["sinfo", "--noheader", "--Node", f"--nodes={node}", "--format=%T: %E"]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=_SINFO_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "Slurm does not answer"
    return shown(done.stdout.strip().partition("\n")[0]).removesuffix(": none")


def _natural(name: str) -> list[tuple[int, str]]:
    """n2 before n10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
