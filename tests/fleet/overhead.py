"""What `toll fleet run` takes beside the same run by hand: `overhead.py HOSTS TIMES`, as root.

HOSTS simulated ssh hosts with a toll and an environment that are there already, as after a first run. By hand
is one ssh a host, all at the same time, which starts that toll with the same words. Both are done TIMES times
in turn; told are the medians of their wall times, and the difference a host sees.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "python")]

import simulated  # noqa: E402

from tollbench.interpreters import PYTHON, interpreter  # noqa: E402

WORDS = ("latency/wakeup/std_mutex", "--profile", "quick", "--budget", "10s")
DISK_MB = 600


def by_fleet(place: Path, file: Path, config: Path, number: int) -> float:
    """Seconds; 0 where a host has no result."""
    toll = str(simulated.ROOT / "python/tollbench/__main__.py")
    command = interpreter(
        toll, "fleet", "run", *WORDS, "--hosts", str(file), "--ssh-config", str(config), "--json",
        "--output", f"run-{number}",
    )  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    rows = json.loads(done.stdout or '{"hosts": []}')["hosts"]
    bad = [(row["host"], row["status"], row["reason"]) for row in rows if row["status"] != "ok"]
    if bad or not rows:
        print(bad, done.stderr[-2000:])
        return 0.0
    return seconds


def by_hand(hosts: simulated.SimulatedHosts, config: Path, number: int) -> float:
    """Seconds until the last host has its run file."""
    began = time.monotonic()
    started = []
    for host in hosts.hosts.values():
        there = host.seen_from_outside(host.disk / "cache/toll/fleet/toll")
        (unpacked,) = there.iterdir()
        main = host.disk / "cache/toll/fleet/toll" / unpacked.name / "tollbench/__main__.py"
        words = (
            PYTHON, "-I", str(main), "run", *WORDS, "--no-html", "--no-install",
            "--output", str(host.disk / f"hand-{number}.toll"),
        )  # fmt: skip
        command = ("ssh", "-F", str(config), host.name, f"cd /tmp && {shlex.join(words)}")
        started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if any(process.wait() not in (0, 1, 3) for process in started):
        return 0.0
    return time.monotonic() - began


def main(count: int, times: int) -> int:
    """The exit code."""
    if why := simulated.why_not():
        print(why)
        return 1
    names = [f"sim{number}" for number in range(1, count + 1)]
    with (
        tempfile.TemporaryDirectory(prefix="toll-fleet-overhead-") as name,
        simulated.SimulatedHosts(Path(name) / "hosts", names, size_mb=DISK_MB) as hosts,
    ):
        place = Path(name) / "work"
        place.mkdir()
        file, config = simulated.write_hosts(place / "lab.toml", names), hosts.ssh_config()
        if not by_fleet(place, file, config, 0):  # unpacks and builds
            return 1
        fleet, hand = [], []
        for number in range(1, times + 1):
            fleet.append(by_fleet(place, file, config, number))
            hand.append(by_hand(hosts, config, number))
            print(
                f"  fleet {fleet[-1]:.1f} s, by hand {hand[-1]:.1f} s; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        if 0.0 in fleet or 0.0 in hand:
            return 1
    more_s = statistics.median(fleet) - statistics.median(hand)
    print(f"{count} hosts: fleet {statistics.median(fleet):.1f} s, by hand {statistics.median(hand):.1f} s,"
          f" {more_s:.1f} s more")  # fmt: skip
    return 0


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given if len(given) == 2 else (2, 3))))
