"""Kills toll at random moments: what was stored is there, and the next start leaves nothing of it behind.

    .venv/bin/python tests/bench/kills.py [--kills 100] [--verbs run,compare,trust,export,env] [--seed 1]

Needs a checkout that is built (`./toll run reference/operations` builds what this one runs) and, for `env`,
mmdebstrap, root and a Debian mirror. All files lie in a private folder: temporary ones, the cache, outputs.
The machine's lock is left alone, as nothing here is a measurement. Some 7 s a kill, 12 minutes for 100.

Before each kill the launches that the file holds are counted; after it there must not be fewer. Then comes a
next start, which ends by itself, and what lies in the private folder is compared with what should: a
temporary folder, a partial file, a log of SQLite or a process too many is a leftover. Exits 1 where anything
was lost or left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python/analysis")]

from tollbench.errors import TollError  # noqa: E402
from tollbench.interpreters import interpreter_with_path  # noqa: E402
from tollbench.store import RunFile  # noqa: E402

# The command line without the machine's lock: others may measure meanwhile, and nothing here is a value.
TOLL = """
import sys
from tollbench.cli import machine_use
machine_use.LOCK_FILES = ()
import tollbench.cli
sys.argv[0] = "toll"
sys.exit(tollbench.cli.main())
"""
BUILD = "for i in 1 2 3 4 5 6; do sleep 0.05; done; printf '#!/bin/sh\\nexit 0\\n' > bench; chmod +x bench"
MEASURING = {"run": 3.0, "compare": 2.0, "trust": 6.0}  # s; every second kill falls within so much of it
GRACE_S = 20.0  # for what a killed toll started to be gone


@dataclass
class Place:
    """The private folder."""

    base: Path
    here: Path = field(init=False)
    temporary: Path = field(init=False)
    cache: Path = field(init=False)

    def __post_init__(self) -> None:
        self.here, self.temporary, self.cache = (self.base / name for name in ("here", "tmp", "cache"))
        for folder in (self.here, self.temporary, self.cache):
            folder.mkdir()
        self.mark = f"TOLL_KILLS={self.base}"

    def start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """One toll."""
        return subprocess.Popen(
            interpreter_with_path("-c", TOLL, *words),
            cwd=self.here,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.base / "said").open("ab"),
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "python"),
                "TMPDIR": str(self.temporary),
                "XDG_CACHE_HOME": str(self.cache),
                "TOLL_KILLS": str(self.base),
            },
        )

    def processes(self) -> list[str]:
        """What still runs of what was started here."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
            except OSError:
                continue
        return found

    def quiet(self) -> list[str]:
        """Waits until nothing runs any more; what does after the grace."""
        end = time.monotonic() + GRACE_S
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        return left

    def leftovers(self) -> set[str]:
        """Mounts, temporary folders, partial files and logs, by their names in the private folder."""
        lines = Path("/proc/self/mounts").read_text().splitlines()
        mounts = [Path(line.split()[1]) for line in lines if line.split()[1].startswith(f"{self.base}/")]
        for path in sorted(mounts, reverse=True):  # nothing may look into, or delete, what is mounted
            subprocess.run(["umount", "--lazy", str(path)], check=False)
        found = set(mounts)
        found |= {path for path in self.temporary.iterdir() if not path.name.startswith("toll-kept-")}
        for folder in (self.here, self.cache):
            for path in folder.rglob(".toll-*.partial"):
                found.add(path)
            for pattern in ("*-wal", "*-shm", "*-journal", ".making-*", "tmp????????"):
                found |= set(folder.rglob(pattern))
        return {str(path.relative_to(self.base)) for path in found}


@dataclass
class Victim:
    """A verb that is killed: its words, how many launches its file holds, and the start that comes next."""

    verb: str
    words: Callable[[int], list[str]]
    next_start: Callable[[int], list[str]]
    stored: Callable[[int], int] = lambda _number: 0


def launches_of_run(path: Path) -> int:
    """0 where there is no run yet."""
    try:
        with RunFile.open(path) as run_file:
            return run_file.launch_count()
    except TollError:
        return 0


def lines_of(path: Path) -> int:
    """Whole lines of a raw file after its first."""
    return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0


def victims(place: Place) -> Iterator[Victim]:
    """Each verb that writes."""
    here = place.here
    run = ["run", "reference/operations", "--budget", "3s", "--no-html", "--no-install", "--output"]
    yield Victim(
        "run",
        lambda number: [*run, str(here / f"run-{number}.toll")],
        lambda number: ["run", "--resume", str(here / f"run-{number}.toll"), "--no-html", "--no-install"],
        lambda number: launches_of_run(here / f"run-{number}.toll"),
    )
    repository(here)
    sides = ["HEAD~1", "HEAD", "--build", BUILD, "--program", "./bench", "--budget", "1s", "--measure-all"]
    yield Victim(
        "compare",
        lambda number: ["compare", *sides, "--raw", str(here / f"compare-{number}.jsonl")],
        lambda number: ["compare", "true", "true", "--budget", "0.2s", "--raw", "/dev/null", "--measure-all"],
        lambda number: lines_of(here / f"compare-{number}.jsonl"),
    )
    yield Victim(
        "trust",
        lambda number: ["trust", "--budget", "6s", "--raw", str(here / f"trust-{number}.jsonl")],
        lambda number: ["compare", "true", "true", "--budget", "0.2s", "--raw", "/dev/null", "--measure-all"],
        lambda number: lines_of(here / f"trust-{number}.jsonl"),
    )
    source = here / "source.toll"
    made_run(source)
    export = ["export", str(source), "--format", "csv", "--output", str(here / "tables")]
    yield Victim(
        "export", lambda _number: export, lambda _number: export, lambda _number: launches_of_run(source)
    )
    if shutil.which("mmdebstrap") and os.geteuid() == 0:
        yield Victim(
            "env",
            lambda _number: ["env", "add", "debian13"],
            # It sweeps, then finds no mirror: a whole root takes minutes.
            lambda _number: ["env", "add", "debian13", "--mirror", "file:///nowhere"],
        )
    else:
        print("env is left out: it needs mmdebstrap and root")


def repository(folder: Path) -> None:
    """Two commits."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in (1, 2):
        (folder / "file").write_text(str(number))
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)


def made_run(path: Path) -> None:
    """A run that takes an export some seconds."""
    from made_runs import Made, make_run

    values = [10.0 + index % 7 for index in range(3000)]
    make_run(path, [Made(f"c{case}", values) for case in range(10)])


@dataclass
class Tally:
    """What became of the kills of one verb."""

    verb: str
    kills: int = 0
    too_late: int = 0  # it had ended by itself
    stored: int = 0  # launches or lines, before each kill
    lost: int = 0
    left: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    failed_next: int = 0
    typical_s: float = 0.0


def killed(place: Place, victim: Victim, kills: int, rng: random.Random) -> Tally:
    """Kills it so often, each time at a moment of its own."""
    tally = Tally(victim.verb)
    began = time.monotonic()
    whole = place.start(victim.words(0))
    try:
        whole.wait(timeout=40.0)
    except subprocess.TimeoutExpired:
        whole.kill()
    tally.typical_s = time.monotonic() - began
    place.quiet()
    number = 0
    while tally.kills < kills and number < 3 * kills:
        number += 1
        process = place.start(victim.words(number))
        wait_s = rng.uniform(0.0, tally.typical_s)
        if number % 2:  # on a busy machine most of the time goes before the first launch
            while process.poll() is None and not victim.stored(number) and victim.verb in MEASURING:
                time.sleep(0.05)
            wait_s = rng.uniform(0.0, MEASURING.get(victim.verb, tally.typical_s))
        try:
            process.wait(timeout=wait_s)
            tally.too_late += 1
            continue
        except subprocess.TimeoutExpired:
            before = victim.stored(number)
            process.send_signal(signal.SIGKILL)
            process.wait()
        tally.kills += 1
        tally.stored += before
        tally.processes += place.quiet()
        tally.lost += max(0, before - victim.stored(number))
        after = place.start(victim.next_start(number))
        tally.failed_next += after.wait() < 0
        tally.processes += place.quiet()
        tally.left += sorted(place.leftovers())
        tally.lost += max(0, before - victim.stored(number))  # the next start may not take any away either
        print(f"{victim.verb} {tally.kills}: {before} stored", file=sys.stderr, flush=True)
    return tally


def main() -> int:
    """Kills, prints a line a verb, and judges."""
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--verbs", default="run,compare,trust,export,env")
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    rng = random.Random(asked.seed)
    place = Place(Path(tempfile.mkdtemp(prefix="toll-kills-")))
    chosen = [victim for victim in victims(place) if victim.verb in asked.verbs.split(",")]
    tallies = []
    try:
        for victim in chosen:
            tally = killed(place, victim, -(-asked.kills // len(chosen)), rng)
            tallies.append(tally)
            print(json.dumps(vars(tally)), flush=True)
    finally:
        if all(not (tally.lost or tally.left or tally.processes) for tally in tallies):
            shutil.rmtree(place.base, ignore_errors=True)
        else:
            print(f"kept for a look: {place.base}")
    kills, lost = sum(tally.kills for tally in tallies), sum(tally.lost for tally in tallies)
    left = sum(len(tally.left) + len(tally.processes) for tally in tallies)
    print(f"{kills} kills, {lost} launches lost, {left} leftovers after the next start")
    return int(kills < asked.kills or bool(lost or left))


if __name__ == "__main__":
    sys.exit(main())
