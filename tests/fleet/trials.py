"""What the fleet's promises come to when hosts fail at random moments: `trials.py TRIALS SEED`.

Each trial makes two ssh hosts and eight Slurm nodes anew, starts `toll fleet run`, and lets one host lose
its power, one halt, one fill its disk and one lose its network, each at a random moment. Then it looks: do
all others have results, are the four rows with a reason, was nothing measured twice, and is nothing left on
hosts that answer?
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "python")]

import simulated  # noqa: E402
import simulated_slurm  # noqa: E402

from tollbench.interpreters import interpreter  # noqa: E402

SECONDS = 8.0  # of a measurement, which does nothing
LIMIT_S = 20.0
SSH_HOSTS = ("sim1", "sim2")
NODES = tuple(f"n{number}" for number in range(1, 9))
HOSTS = (*SSH_HOSTS, *NODES)
FAULTS: dict[str, Callable[[simulated.SimulatedHost], None]] = {
    "power": simulated.SimulatedHost.power_off,
    "halt": simulated.SimulatedHost.halt,
    "disk": simulated.SimulatedHost.fill_disk,
    "network": simulated.SimulatedHost.cut_off,
}


def fleet(place: Path, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """`toll fleet`, in a folder of its own."""
    toll = str(simulated.ROOT / "python/tollbench/__main__.py")
    return subprocess.run(
        interpreter(toll, "fleet", *words, "--json"),
        cwd=place,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def trial(number: int, chance: random.Random) -> list[str]:
    """What was not as promised."""
    with (
        tempfile.TemporaryDirectory(prefix="toll-fleet-trial-") as name,
        simulated_slurm.SimulatedCluster(Path(name) / "hosts", SSH_HOSTS, nodes=NODES) as hosts,
    ):
        place = Path(name)
        (place / "work").mkdir()
        toll = simulated.write_fake_toll(hosts.folder, SECONDS)
        file = simulated.write_hosts(hosts.folder / "lab.toml", SSH_HOSTS, toll, nodes=NODES)
        struck = dict(zip(FAULTS, chance.sample(HOSTS, len(FAULTS)), strict=True))
        moments = {fault: chance.uniform(0.0, SECONDS + 8.0) for fault in FAULTS}
        timers = [
            threading.Timer(moments[fault], FAULTS[fault], [hosts.hosts[host]])
            for fault, host in struck.items()
        ]
        for timer in timers:
            timer.start()
        started = time.monotonic()
        done = fleet(
            place / "work", hosts.environment(), "run", "latency/wakeup/std_mutex", "--hosts", str(file),
            "--output", "fleet", "--ssh-config", str(hosts.ssh_config()), "--limit", f"{LIMIT_S:g}s",
        )  # fmt: skip
        took_s = time.monotonic() - started
        for timer in timers:
            timer.join()
        wrong = list(judged(done, hosts, struck, place / "work"))
        rows = json.loads(done.stdout)["hosts"] if done.stdout else []
        told = {row["host"]: (row["status"], row["reason"]) for row in rows}
        for fault, host in struck.items():
            print(f"  {number}: {fault} of {host} at {moments[fault]:.1f} s: {told.get(host)}", flush=True)
        print(f"  {number}: {took_s:.0f} s, {'; '.join(wrong) or 'as promised'}", flush=True)
        return wrong


def judged(
    done: subprocess.CompletedProcess[str],
    hosts: simulated.SimulatedHosts,
    struck: Mapping[str, str],
    work: Path,
) -> Iterator[str]:
    """What is not as promised."""
    if done.returncode not in (0, 3):
        yield f"exit code {done.returncode}: {done.stderr[-500:]}"
        return
    rows = {row["host"]: row for row in json.loads(done.stdout)["hosts"]}
    for host, row in rows.items():
        if host not in struck.values() and row["status"] != "ok":
            yield f"{host} is {row['status']}: {row['reason']}"
        if row["status"] != "ok" and not row["reason"]:
            yield f"{host} has neither a result nor a reason"
        if row["status"] == "ok" and not (work / "runs/fleet" / row["file"]).is_file():
            yield f"{host} has no file"
    log = hosts.folder / "log.jsonl"
    begun = Counter(json.loads(line)[1] for line in log.read_text().splitlines() if '"begin"' in line)
    yield from (f"{host} measured {times} times" for host, times in begun.items() if times > 1)
    for host in hosts.hosts.values():
        if host.name in (struck["power"], struck["halt"], struck["network"]):
            continue  # not reached any more
        yield from (f"{host.name} still runs {command[:80]}" for command in host.workers())
        yield from (f"{host.name} still has {path}" for path in host.leftovers())


def main(trials: int, seed: int) -> int:
    """The exit code."""
    if reason := simulated_slurm.why_not():
        print(reason)
        return 2
    chance = random.Random(seed)
    failed = sum(bool(trial(number, chance)) for number in range(1, trials + 1))
    print(f"{trials - failed} of {trials} trials as promised; seed {seed}, {os.cpu_count()} CPUs")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    )
