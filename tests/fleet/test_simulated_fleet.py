"""Scenes on simulated hosts, ssh and Slurm, that stand-ins cannot play: `pytest tests/fleet`, as root."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import simulated
import simulated_slurm

from tollbench.interpreters import interpreter

WHY_NOT = simulated_slurm.why_not()
pytestmark = [pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT), pytest.mark.slow]
NAMES = ("sim1", "sim2", "n1", "n2")


class Scene:
    """Two ssh hosts and two nodes, a toll there that takes its time, and a folder to stand in."""

    def __init__(self, folder: Path, hosts: simulated_slurm.SimulatedCluster) -> None:
        self.folder = folder
        self.hosts = hosts.hosts
        self.log = hosts.folder / "log.jsonl"
        self._cluster = hosts
        self.set_time(8.0)

    def set_time(self, seconds: float) -> None:
        toll = simulated.write_fake_toll(self._cluster.folder, seconds)
        self.file = simulated.write_hosts(self.folder / "lab.toml", NAMES[:2], toll, nodes=NAMES[2:])
        self.log.unlink(missing_ok=True)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """`toll fleet ... --json`."""
        toll = str(simulated.ROOT / "python/tollbench/__main__.py")
        return subprocess.Popen(
            interpreter(toll, "fleet", *words, "--json"), cwd=self.folder, text=True,
            env={**os.environ, **self._cluster.environment()}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, name: str, *words: str) -> subprocess.Popen[str]:
        config = str(self._cluster.ssh_config())
        return self.start(
            "run", "latency/wakeup/std_mutex", "--hosts", str(self.file), "--ssh-config", config,
            "--output", name, "--limit", "30s", *words,
        )  # fmt: skip

    def rows(self, process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
        told, errors = process.communicate(timeout=200)
        assert told, errors
        return {row["host"]: row for row in json.loads(told)["hosts"]}

    def begun(self) -> Counter[str]:
        """How often each host began to measure."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(json.loads(line)[1] for line in lines if '"begin"' in line)

    def until(self, condition: Callable[[], object]) -> None:
        for _ in range(600):
            if condition():
                return
            time.sleep(0.1)
        raise AssertionError(f"it did not come to that: {self.begun()}, {self.left()}")

    def left(self) -> list[str]:
        """Processes and folders on all hosts, and jobs in the queue."""
        queue = subprocess.run(
            ["squeue", "--noheader"], cwd="/", env={**os.environ, **self._cluster.environment()},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        hosts = self.hosts.values()
        return [
            *queue.stdout.split("\n")[:-1],
            *(one for host in hosts for one in (*host.workers(), *host.leftovers())),
        ]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[simulated_slurm.SimulatedCluster]:
    folder = tmp_path_factory.mktemp("hosts")
    with simulated_slurm.SimulatedCluster(folder, NAMES[:2], nodes=NAMES[2:]) as hosts:
        yield hosts


@pytest.fixture
def scene(cluster: simulated_slurm.SimulatedCluster, tmp_path: Path) -> Scene:
    return Scene(tmp_path, cluster)


def test_ctrl_c_ends_all_hosts_and_empties_the_queue(scene):
    scene.set_time(120.0)
    process = scene.run("cut")
    scene.until(lambda: len(scene.begun()) == len(NAMES))
    process.send_signal(signal.SIGINT)
    rows = scene.rows(process)
    assert process.returncode == 130
    assert {row["status"] for row in rows.values()} == {"stopped"}, rows
    scene.until(lambda: not scene.left())


def test_a_killed_controller_is_gone_on_with_and_nothing_is_measured_twice(scene):
    process = scene.run("killed")
    scene.until(lambda: len(scene.begun()) == len(NAMES))
    process.kill()
    process.communicate()
    for _ in range(20):
        resumed = scene.start("run", "--resume", "killed")
        rows = scene.rows(resumed)
        if {row["status"] for row in rows.values()} == {"ok"}:
            break
        time.sleep(1.0)
    assert {row["status"] for row in rows.values()} == {"ok"}, rows
    assert scene.begun() == Counter(NAMES)
    scene.until(lambda: not scene.left())
    assert not list((scene.folder / "runs/killed").glob("engine-*"))


def test_a_host_whose_network_comes_back_still_has_its_result(scene):
    process = scene.run("lost")
    scene.until(lambda: len(scene.begun()) == len(NAMES))
    scene.hosts["sim1"].cut_off()
    rows = scene.rows(process)
    scene.hosts["sim1"].connect()
    assert {name: row["status"] for name, row in rows.items()} == {
        "sim1": "lost", "sim2": "ok", "n1": "ok", "n2": "ok",
    }  # fmt: skip
    assert rows["sim1"]["left"]
    fetched = scene.rows(scene.start("fetch", "lost"))
    assert (fetched["sim1"]["status"], fetched["sim1"]["left"]) == ("ok", []), fetched
    assert scene.begun() == Counter(NAMES)
    scene.until(lambda: not scene.left())


def test_a_job_that_is_halted_is_ended_at_its_deadline(scene):
    process = scene.run("hung", "--setup", "10s")
    scene.until(lambda: len(scene.begun()) == len(NAMES))
    scene.hosts["sim2"].halt(all_of_it=False)
    rows = scene.rows(process)
    assert (rows["sim2"]["status"], rows["sim2"]["reason"]) == ("lost", "it hung: its process was halted")
    assert {rows[name]["status"] for name in ("sim1", "n1", "n2")} == {"ok"}
    scene.until(lambda: not scene.left())
