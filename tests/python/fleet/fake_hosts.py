"""Hosts that are folders, reached by stand-ins of ssh and scp: what tests of fleets share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import simulated

from tollbench.interpreters import interpreter

SSH = Path(__file__).with_name("fake_ssh.sh")
MAIN = simulated.ROOT / "python/tollbench/__main__.py"
RUN = ("run", "latency/wakeup/std_mutex")


@dataclass
class FakeHosts:
    """Folders for hosts, and a `lab.toml` that names them."""

    folder: Path
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "work").mkdir()
        for name in self.names:
            for part in ("tmp", "cache"):
                (self.folder / "hosts" / name / part).mkdir(parents=True)
        for program in ("ssh", "scp"):
            (self.folder / "bin" / program).symlink_to(SSH)

    def write(self, seconds: float = 0.1, **tolls: Path) -> Path:
        """The hosts.toml; toll there does nothing for so long, but on hosts that have one of their own."""
        simulated.write_fake_toll(self.folder, seconds, machine_lock="")
        file = self.folder / "lab.toml"
        file.write_text("")
        for name in self.names:
            one = simulated.write_hosts(
                self.folder / "one.toml", [name], tolls.get(name, self.folder / "toll")
            )
            file.write_text(file.read_text() + one.read_text())
        return file

    def failing(self) -> Path:
        """A toll that ends without a result."""
        (self.folder / "failing").mkdir()
        return simulated.write_fake_toll(self.folder / "failing", 0.0, machine_lock="", fails=True)

    def lying(self) -> Path:
        """A toll whose result is no run file."""
        path = self.folder / "lying-toll"
        nonsense = '[ "$1" = run ] && { echo nonsense >"$PWD/lying.toll"; exit 0; }'
        path.write_text(f'#!/bin/sh\n{nonsense}\nexec {self.folder / "toll"} "$@"\n')
        path.chmod(0o755)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        """That of whoever calls toll."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "FAKE_HOSTS": str(self.folder / "hosts"), **more}

    def command(self, *words: str) -> list[str]:
        """`toll fleet`."""
        packages = [entry for entry in sys.path if Path(entry).name == "site-packages"]
        assert packages
        return interpreter(str(MAIN), "fleet", *words)

    def toll(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """`toll fleet`, to its end."""
        return subprocess.run(
            self.command(*words), cwd=self.folder / "work", env=self.environment(**more),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def rows(self, *words: str, **more: str) -> dict[str, dict[str, Any]]:
        """The rows of `toll fleet ... --json`, by host."""
        done = self.toll(*words, "--json", **more)
        assert done.stdout, done.stderr
        return {row["host"]: row for row in json.loads(done.stdout)["hosts"]}

    def begun(self) -> list[str]:
        """Identities of runs that began, in order."""
        log = self.folder / "log.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line)[2] for line in lines if '"begin"' in line]

    def left(self) -> list[Path]:
        """What a run left on any host."""
        hosts = self.folder / "hosts"
        return [*hosts.glob("*/tmp/rfm.*"), *hosts.glob("*/cache/toll/fleet/runs/*")]
