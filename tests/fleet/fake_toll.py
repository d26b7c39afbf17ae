"""Stands in for toll on a simulated host: holds the machine, takes its time, writes a run file."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import time
from itertools import pairwise
from pathlib import Path

SETTINGS = json.loads((Path(sys.argv[1]) / "settings.json").read_text())
sys.path.insert(0, SETTINGS["package"])

from tollbench import __version__, home  # noqa: E402
from tollbench.store import RunFile, RunHeader, now_utc  # noqa: E402


def main(words: list[str]) -> int:
    """One verb of toll."""
    if words[0] == "doctor":
        noise = [{"name": "load", "value": "a test"}]
        print(json.dumps({
            "machine": {"cpu": "simulated", "cpus": 2, "kernel": os.uname().release},
            "conditions": {"noise": noise},
            "toll": {"version": __version__, "sources": home.fingerprint()},
        }))  # fmt: skip
        return 0
    given = dict(pairwise(words))
    if SETTINGS["machine_lock"]:
        lock = os.open(SETTINGS["machine_lock"], os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    header = RunHeader(
        name="fake", uuid=given["--identity"], toll_version=__version__, command_line=" ".join(words),
        profile="quick", seed=1, level=0.95, precision=0.01, budget_s=1.0, plan={}, conditions={},
        machine={"hostname": socket.gethostname()}, started_utc=now_utc(),
    )  # fmt: skip
    run_file = RunFile.create(Path(given["--output"]), header)
    log("begin", given["--identity"])
    if SETTINGS["fails"]:
        print("toll: it cannot be built here", file=sys.stderr)
        return 2
    time.sleep(SETTINGS["seconds"])
    run_file.finish("launches")
    run_file.close()
    log("end", given["--identity"])
    return 0


def log(what: str, identity: str) -> None:
    """When a measurement began and ended, by one clock for all simulated hosts."""
    line = json.dumps([what, socket.gethostname(), identity, time.time()]) + "\n"
    fd = os.open(SETTINGS["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(fd, line.encode())
    os.close(fd)


sys.exit(main(sys.argv[2:]))
