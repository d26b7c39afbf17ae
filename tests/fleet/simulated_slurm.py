"""The same hosts, some of them nodes of a Slurm whose controller runs beside them (Debian's 22.05 or later).

No systemd and no cgroups are needed; munged, slurmctld and slurmd are. A node's home is its own disk.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import simulated

DAEMONS = ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "sinfo")
PARTITION = "lab"

_CONF = """\
ClusterName=sim
SlurmctldHost={hostname}({address})
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/prolog.sh
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=15
KillWait=3
InactiveLimit=0
MessageTimeout=5
SchedulerParameters=batch_sched_delay=0,sched_interval=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/spool/%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/log/%n.log
SlurmctldLogFile={folder}/log/slurmctld.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
{nodes}
PartitionName={partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""


def why_not() -> str:
    """What is missing; empty: nothing."""
    missing = [name for name in DAEMONS if not shutil.which(name)]
    return simulated.why_not() or (f"missing: {', '.join(missing)}" if missing else "")


@dataclass
class SimulatedCluster(simulated.SimulatedHosts):
    """ssh hosts, and `nodes` of the partition `lab`."""

    nodes: Sequence[str] = ()
    _daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ssh_hosts = tuple(self.names)
        self.names = (*self.ssh_hosts, *self.nodes)

    @property
    def place(self) -> Path:
        """Where Slurm's files lie."""
        return self.folder / "slurm"

    def environment(self) -> dict[str, str]:
        """For Slurm's commands."""
        return {"SLURM_CONF": str(self.place / "slurm.conf")}

    def command(self, name: str, address: str, disk: Path) -> str:
        """What a host's first process becomes."""
        if name in self.ssh_hosts:
            return super().command(name, address, disk)
        if not self._daemons:
            self._control()
        (self.place / "spool" / name).mkdir(parents=True, exist_ok=True)
        (self.place / f"{name}.disk").write_text(
            f"export XDG_CACHE_HOME={disk}/cache\nexport TMPDIR={disk}/tmp\n"
        )
        return f"env SLURM_CONF={self.place}/slurm.conf /usr/sbin/slurmd -D -N {name}"

    def ready(self, host: simulated.SimulatedHost, init: int) -> bool:
        """Whether it can be given work."""
        if host.name in self.ssh_hosts:
            return super().ready(host, init)
        listed = subprocess.run(
            ["sinfo", "--noheader", "--Node", f"--nodes={host.name}", "--format=%T"],
            cwd="/", env={**os.environ, **self.environment()}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return "idle" in listed.stdout.split()

    def _control(self) -> None:
        """munged and slurmctld, beside the hosts."""
        for name in ("munge", "state", "log", "spool"):
            (self.place / name).mkdir(parents=True, mode=0o700)
        key = self.place / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.place / "prolog.sh").write_text(f'#!/bin/sh\ncat {self.place}/"$SLURMD_NODENAME".disk\n')
        (self.place / "prolog.sh").chmod(0o755)
        first = 2 + len(self.ssh_hosts)
        nodes = [
            f"NodeName={name} NodeAddr={self._net}.{number} CPUs=2 RealMemory=1000 State=UNKNOWN"
            for number, name in enumerate(self.nodes, first)
        ]
        conf = _CONF.format(
            hostname=socket.gethostname().partition(".")[0], address=f"{self._net}.1", folder=self.place,
            nodes="\n".join(nodes), partition=PARTITION, port=16800 + self.mark,
        )  # fmt: skip
        (self.place / "slurm.conf").write_text(conf)
        munge = self.place / "munge"
        self._start(
            "/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/socket",
            f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed",
        )  # fmt: skip
        until = time.monotonic() + 10
        while not (munge / "socket").exists() and time.monotonic() < until:
            time.sleep(0.05)
        self._start("/usr/sbin/slurmctld", "-D", "-c")

    def _start(self, *command: str) -> None:
        self._daemons.append(
            subprocess.Popen(
                command, cwd="/", env={**os.environ, **self.environment()}, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )
        )  # fmt: skip

    def __exit__(self, *given: object) -> None:
        super().__exit__(*given)
        for daemon in reversed(self._daemons):
            with suppress(OSError):
                daemon.send_signal(signal.SIGKILL)
            daemon.wait()
