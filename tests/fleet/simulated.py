"""Simulated hosts on one machine: each with an sshd, a network, processes, locks and a small disk of its own.

Namespaces of the kernel make them (namespaces(7)), so that one can lose its network, its power or its
disk's room, and no other notices. Needs root, iproute2, util-linux and openssh-server; `why_not` says what
is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tollbench.interpreters import PYTHON

ROOT = Path(__file__).resolve().parents[2]
SSHD = "/usr/sbin/sshd"
LOCKS = (
    "/tmp/toll.lock",
    "/tmp/toll-fleet.lock",
)  # those in /run/lock are on a file system of the host's own

_INIT = """
set -eu
mount -t tmpfs -o size={size_mb}m,mode=755 host {disk}
mkdir {disk}/tmp {disk}/cache
mount -t tmpfs -o size=1m,mode=1777 locks /run/lock
for lock in {locks}; do
    name={disk}/$(basename $lock); touch $name; chmod 666 $name; mount --bind $name $lock
done
hostname {name}
ip link set lo up
exec {command}
"""
_SSHD = """\
ListenAddress {address}
Port 22
HostKey {folder}/hostkey
PidFile none
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv TMPDIR={disk}/tmp XDG_CACHE_HOME={disk}/cache
Subsystem sftp internal-sftp
"""


def why_not() -> str:
    """What is missing for simulated hosts; empty: nothing."""
    if os.geteuid():
        return "simulated hosts need root: namespaces, mounts and networks are made"
    missing = [
        name for name in ("ip", "unshare", "nsenter", "ssh", "ssh-keygen", SSHD) if not shutil.which(name)
    ]
    return f"missing: {', '.join(missing)}" if missing else ""


def call(*command: str, check: bool = True) -> str:
    """What a command prints. Raises RuntimeError where it fails."""
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


@dataclass
class SimulatedHost:
    """One of them."""

    name: str
    address: str
    namespace: str
    link: str  # the end of its cable that is ours
    disk: Path  # as it sees it
    process: subprocess.Popen[bytes]
    init: int = 0

    def seen_from_outside(self, path: Path) -> Path:
        """A path of the host's."""
        return Path(f"/proc/{self.init}/root{path}")

    def processes(self) -> list[int]:
        """All of it but its first one."""
        with contextlib.suppress(OSError):
            own = _link(f"/proc/{self.init}/ns/pid")
            return [pid for pid in _pids() if pid != self.init and _link(f"/proc/{pid}/ns/pid") == own]
        return []

    def workers(self) -> list[str]:
        """Command lines of processes that are not the host's own daemons."""
        lines = [command_of(pid) for pid in self.processes()]
        return [
            line for line in lines if line and not line.startswith(("sshd", SSHD, "/usr/sbin/slurm", "slurm"))
        ]

    def leftovers(self) -> list[str]:
        """Folders of runs and of engines that are still there."""
        tmp, cache = (self.seen_from_outside(self.disk / name) for name in ("tmp", "cache"))
        return [str(path) for path in (*tmp.glob("rfm.*"), *(cache / "toll/fleet/runs").glob("*"))]

    def cut_off(self) -> None:
        """Its network is gone, silently."""
        call("ip", "link", "set", self.link, "down")

    def connect(self) -> None:
        call("ip", "link", "set", self.link, "up")

    def power_off(self) -> None:
        """Silently too."""
        self.cut_off()
        os.kill(self.init, signal.SIGKILL)

    def halt(self, *, all_of_it: bool = True) -> None:
        """Nothing on it goes on; without `all_of_it` its sshd does."""
        pids = [self.init, *self.processes()]
        for pid in pids:
            if all_of_it or not command_of(pid).startswith(("sshd", SSHD)):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        for pid in (self.init, *self.processes()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)

    def fill_disk(self) -> None:
        with contextlib.suppress(OSError), self.seen_from_outside(self.disk / "filler").open("ab", 0) as file:
            while True:
                file.write(b"\0" * 4096)

    def run(self, *command: str) -> str:
        """In its network, past ssh."""
        return call("nsenter", f"--target={self.init}", "--all", "--", *command)


@dataclass
class SimulatedHosts:
    """Several, on a bridge; `with` them, and all is gone afterwards."""

    folder: Path
    names: Sequence[str]
    size_mb: int = 32
    hosts: dict[str, SimulatedHost] = field(default_factory=dict)
    mark: int = 0  # in names of networks, so that several are there at once

    def __enter__(self) -> Self:
        mark = self.mark = os.getpid() % 200 + 20
        self._bridge, self._net = f"tollbr{mark}", f"10.231.{mark}"
        self.folder.mkdir(parents=True, exist_ok=True)
        Path("/run/sshd").mkdir(exist_ok=True)
        for lock in LOCKS:
            Path(lock).touch()
        for key in ("key", "hostkey"):
            call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / key))
        call("ip", "link", "add", self._bridge, "type", "bridge")
        call("ip", "addr", "add", f"{self._net}.1/24", "dev", self._bridge)
        call("ip", "link", "set", self._bridge, "up")
        try:
            for number, name in enumerate(self.names, 2):
                self.hosts[name] = self._started(name, number, mark)
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def command(self, name: str, address: str, disk: Path) -> str:
        """What a host's first process becomes."""
        config = self.folder / f"{name}.conf"
        config.write_text(_SSHD.format(address=address, folder=self.folder, disk=disk))
        return f"{SSHD} -D -f {config} -E {self.folder}/{name}.log"

    def _started(self, name: str, number: int, mark: int) -> SimulatedHost:
        address, namespace, link = f"{self._net}.{number}", f"tollns{mark}-{number}", f"tollv{mark}-{number}"
        disk = self.folder / "disks" / name
        disk.mkdir(parents=True)
        call("ip", "netns", "add", namespace)
        call("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        call("ip", "link", "set", link, "master", self._bridge, "up")
        for words in (("addr", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            call("ip", "-n", namespace, *words)
        script = _INIT.format(
            size_mb=self.size_mb, disk=disk, locks=" ".join(LOCKS), name=name, folder=self.folder,
            command=self.command(name, address, disk),
        )  # fmt: skip
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{namespace}", "unshare", "--mount", "--pid", "--fork", "--uts",
             "--mount-proc", "--kill-child", "sh", "-c", script],
            cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        return SimulatedHost(name, address, namespace, link, disk, process)

    def _wait(self) -> None:
        for host in self.hosts.values():
            until = time.monotonic() + 20
            while time.monotonic() < until and host.process.poll() is None:
                children = (
                    Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children").read_text().split()
                )
                if children and self.ready(host, int(children[0])):
                    host.init = int(children[0])
                    break
                time.sleep(0.05)
            else:
                raise RuntimeError(f"{host.name} does not come up: {host.process.poll()}")

    def ready(self, host: SimulatedHost, init: int) -> bool:
        """Whether its sshd listens."""
        return command_of(init).startswith(("sshd", SSHD)) and bool(
            call(
                "ip",
                "netns",
                "exec",
                host.namespace,
                "sh",
                "-c",
                "cat /proc/net/tcp | grep ':0016 '",
                check=False,
            )
        )

    def ssh_config(self) -> Path:
        """For all of them."""
        lines = [f"Host {host.name}\n  HostName {host.address}\n" for host in self.hosts.values()] + [
            f"Host *\n  User root\n  IdentityFile {self.folder}/key\n  IdentitiesOnly yes\n"
            f"  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
        ]
        path = self.folder / "ssh_config"
        path.write_text("".join(lines))
        return path

    def __exit__(self, *_: object) -> None:
        for host in self.hosts.values():
            if host.init:
                with contextlib.suppress(OSError):
                    os.kill(host.init, signal.SIGKILL)
            host.process.kill()
            host.process.wait()
            call("ip", "link", "del", host.link, check=False)
            call("ip", "netns", "del", host.namespace, check=False)
        call("ip", "link", "del", self._bridge, check=False)


def _pids() -> Iterator[int]:
    yield from (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def command_of(pid: int) -> str:
    """The command line of a process; empty where it is gone."""
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        )
    except OSError:
        return ""


def write_fake_toll(
    folder: Path, seconds: float, *, machine_lock: str = "/run/lock/toll.lock", fails: bool = False
) -> Path:
    """A toll that is there already: it measures nothing for `seconds`, and writes a sound run file."""
    path = folder / "toll"
    settings = {
        "seconds": seconds,
        "log": str(folder / "log.jsonl"),
        "package": str(ROOT / "python"),
        "machine_lock": machine_lock,
        "fails": fails,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    path.write_text(f'#!/bin/sh\nexec {PYTHON} -I {Path(__file__).with_name("fake_toll.py")} {folder} "$@"\n')
    path.chmod(0o755)
    return path


def write_hosts(
    path: Path,
    names: Sequence[str],
    toll: Path | None = None,
    *,
    nodes: Sequence[str] = (),
    python: str = PYTHON,
) -> Path:
    """A hosts.toml of ssh hosts, and of nodes of the simulated Slurm."""
    words = f'python = "{python}"\n' + (f'toll = "{toll}"\n' if toll else "")
    ways = {name: f'ssh = "{name}"' for name in names}
    for node in nodes:
        ways[node] = f'engine = "squeue"\naccess = ["--partition=lab", "--nodelist={node}"]'
    path.write_text("".join(f"[hosts.{name}]\n{way}\n{words}\n" for name, way in ways.items()))
    return path
