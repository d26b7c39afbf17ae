"""Do rows of the topic ipc agree with programs that others wrote for the same case? Launches in pairs.

    PYTHONPATH=python .venv/bin/python tests/bench/ipc_peers.py BUILD [--keep FILE] [--pairs 12]
        [--seconds 200] [--only PATTERN] [--evaluate-ipc FOLDER] [--zeromq-perf FOLDER] [--nng-perf FOLDER]

BUILD is a folder of programs as `./toll run ipc/round_trip` makes it (build/host). A pair is a launch of the
row's program and one of the other program, in random order right after one another; a round has a pair of
each case, so that what befalls the machine befalls all. Each side is tied to the CPU that the row ties it to.
The table has the median of (row / other program) over pairs with its 95 % interval. `--keep` adds the pairs
to a file and tells of all that it holds: so many short goes make one table.

sockperf and perf are looked for in PATH. Of programs that no distribution has, FOLDER holds the executables
as their authors' build files name them:
  --evaluate-ipc  of github.com/ahsank/EvaluateIPC, `ipcperf/`: epollservertest, shmemservertest ...
  --zeromq-perf   of libzmq's `perf/`: local_lat, remote_lat, inproc_lat, local_thr, remote_thr
  --nng-perf      of nng's `src/tools/perf/`: `perf`, made with no other protocol than pair0

Both sides' figures are of one statistic: medians where the other program tells one (sockperf), else the mean
of a launch, which its slowest trips move. Half a round trip, as ZeroMQ and nng tell it, is doubled. Exits 1
where a bar is missed; rings beside EvaluateIPC's mailboxes have none.
"""

from __future__ import annotations

import argparse
import ctypes
import fnmatch
import json
import math
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from built_rows import BuiltRows

from tollbench.launching.failure import LaunchFailed
from tollbench.stats import ratio_interval
from tollbench.words import Kind

LIMIT_S = 30.0  # of another program's launch
READY_S = 0.15  # from the start of a server to that of its client
AGREES = 1.10  # at most, and 1 / that at least
SLOWER = 1.05  # at most
SOCKPERF_TRIPS = 5000  # about what sockperf counts of its second
AUTHORS_TRIPS = 999  # EvaluateIPC sends 1,000, and times from the first answer to the last one
AUTHORS_BYTES = 19
# Rings, beside programs whose one buffer is a mailbox, which line_spinning and memory_mapped_line answer to.
BESIDE_MAILBOXES = {"ring_spinning": "shmemserver", "memory_mapped_file": "mmapserver"}
LIBRARY_TRIPS = 4000
PIPE_TRIPS = 30_000
MESSAGES = 400_000  # of the other program's throughput, which has no warm-up
WARM_BATCH, LONG_BATCH = 25, 100  # iterations, each of four times what the channel holds
MODES = {"blocking": "r", "select": "s", "poll": "p", "epoll": "e", "io_uring": "r"}


@dataclass(frozen=True)
class Row:
    """A row of the topic, by what starts it."""

    contender: str
    parameters: dict[str, str]
    workload: str = "ipc/round_trip"
    count: int = 0  # of one request
    warm: int = 1  # of the request before it
    mean: bool = True  # of the samples of a launch; else their median
    one_cpu: bool = False


@dataclass(frozen=True)
class Case:
    """A row, and how the other program is launched: what that returns is in ns, as the row's value is."""

    row: Row
    other: str
    launch: Callable[[Sequence[int]], float]
    both_ways: bool = False  # it is to agree; else the row is not to be slower
    another_way: bool = False  # told beside it without a bar: the row is built otherwise

    @property
    def name(self) -> str:
        told = " ".join(f"{key}={value}" for key, value in self.row.parameters.items())
        return f"{self.row.workload.removeprefix('ipc/')}/{self.row.contender} {told} | {self.other}"

    def meets(self, ratio: float) -> bool:
        if self.another_way:
            return True
        return (1 / AGREES <= ratio <= AGREES) if self.both_ways else ratio <= SLOWER

    def bar(self, ratio: float) -> str:
        """What the ratio is held to, and whether it is met."""
        if self.another_way:
            return "none: built otherwise"
        wanted = "within 10 %" if self.both_ways else "at most 5 % slower"
        return f"{wanted} {'met' if self.meets(ratio) else 'MISSED'}"


@contextmanager
def tied_to(cpus: Sequence[int]) -> Iterator[None]:
    """What is started meanwhile may run on these alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Ours(BuiltRows):
    """Launches rows."""

    def cpus(self) -> tuple[int, int]:
        """Those that the asker and the answerer are tied to. Raises LaunchFailed."""
        with self.started("ipc/round_trip", "pipe", {"bytes": "64"}, Kind.SAMPLES) as talk:
            first, second = str(talk.ready.footing["pinned_cpus"]).split(",")
        return int(first), int(second)

    def launch(self, row: Row) -> float:
        """ns a round trip, or a message. Raises LaunchFailed."""
        kind = Kind.SAMPLES if row.workload == "ipc/round_trip" else Kind.BATCH
        with self.started(row.workload, row.contender, row.parameters, kind) as talk:
            talk.time(row.warm)
            timed = talk.time(row.count)
        if timed.samples is None:
            return timed.batch.wall_ns / timed.batch.units
        return float(np.mean(timed.samples) if row.mean else np.median(timed.samples))


def free_port() -> int:
    """One that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass(frozen=True)
class TwoPrograms:
    """A server and a client; `{port}` and `{name}` in their words are new for each launch.

    `tied`: each with all its threads; else its first thread alone, once it has `threads` of them: a library's
    own threads go where the scheduler puts them, as those of the rows do.
    """

    server: tuple[str, ...]
    client: tuple[str, ...]
    told: Callable[[str], float]
    threads: int = 0
    by_server: bool = False  # the server prints the figure

    def __call__(self, cpus: Sequence[int]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            feed = Path(folder, "feed")
            feed.write_text("")
            names = {"port": str(port), "name": f"toll-peer-{port}", "feed": str(feed)}
            words = [[part.format(**names) for part in side] for side in (self.server, self.client)]
            for part in words[1]:  # sockperf reads its one connection from a file
                if part.startswith(("T:", "U:")):
                    feed.write_text(part + "\n")
            words = [[part for part in side if not part.startswith(("T:", "U:"))] for side in words]
            return self._between(words, cpus)

    def _between(self, words: Sequence[Sequence[str]], cpus: Sequence[int]) -> float:
        server = self._start(words[0], cpus, 1)
        client = None
        try:
            time.sleep(READY_S)
            client = self._start(words[1], cpus, 0)
            printed = client.communicate(timeout=LIMIT_S)[0]
            if client.returncode:
                raise LaunchFailed(f"{words[1][0]} ended with {client.returncode}: {printed[-300:]}")
            if self.by_server:
                printed = server.communicate(timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired as error:
            raise LaunchFailed(f"{error.cmd[0]} did not end") from None
        finally:
            for program in (server, client):
                if program is not None:
                    program.kill()
                    program.communicate()
        return self.told(printed)

    def _start(self, words: Sequence[str], cpus: Sequence[int], side: int) -> subprocess.Popen[str]:
        with tied_to(cpus if self.threads else [cpus[side]]):
            program = started(words)
        try:
            if self.threads:
                tie_threads(program.pid, self.threads, {0: cpus[side]})
        except BaseException:
            program.kill()
            program.communicate()
            raise
        return program


def started(words: Sequence[str]) -> subprocess.Popen[str]:
    """With its output in a pipe."""
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def tie_threads(pid: int, threads: int, places: dict[int, int]) -> None:
    """Ties threads of a process, by their turn of birth, once it has so many, and as many at the next look.

    What a tied thread starts is tied as well, so that a library's threads have to be there before. Raises
    LaunchFailed where it lives and never has so many: it would be timed where the scheduler put it.
    """
    ends, before = time.monotonic() + 2.0, 0
    while time.monotonic() < ends:
        born = []
        with suppress(OSError):
            born = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
        if len(born) >= threads and len(born) == before:
            with suppress(OSError):  # it has ended, and says why
                for turn, cpu in places.items():
                    os.sched_setaffinity(born[turn], {cpu})
            return
        before = len(born)
        time.sleep(0.005)
    if before:
        raise LaunchFailed(f"process {pid} has {before} threads after 2 s, not {threads}")


def number_after(pattern: str, scale: float) -> Callable[[str], float]:
    """Reads the number of a line, times `scale`."""

    def told(printed: str) -> float:
        found = re.search(pattern + r"\s*([\d.]+)", printed)
        if found is None:
            raise LaunchFailed(f"no {pattern!r} in {printed[-300:]!r}")
        return float(found.group(1)) * scale

    return told


def of_sockperf(sizes: Sequence[int]) -> Iterator[Case]:
    """Rows over loopback; a feed file of one connection makes sockperf wait as it is told to."""
    if (tool := shutil.which("sockperf")) is None:
        print("sockperf is not installed: its part is left out")
        return
    for size in sizes:
        for protocol in ("tcp", "udp"):
            for waits, mode in MODES.items():
                one = f"{protocol[0].upper()}:127.0.0.1:{{port}}"
                how = ("-f", "{feed}", "-F", mode, "--timeout=-1", one)
                client = (tool, "ping-pong", *how, "-m", str(size), "-t", "1", "--full-rtt")
                launch = TwoPrograms((tool, "server", *how), client, number_after("percentile 50.000 =", 1e3))
                row = Row(
                    f"{protocol}_{waits}", {"bytes": str(size)}, count=SOCKPERF_TRIPS, warm=500, mean=False
                )
                yield Case(row, f"sockperf -F {mode}", launch, both_ways=True)


def of_perf() -> Iterator[Case]:
    """Its two sides are tied to no CPU, so that the two programs are compared on one CPU."""
    if (tool := shutil.which("perf")) is None:
        print("perf is not installed: its part is left out")
        return
    words = (tool, "bench", "-f", "simple", "sched", "pipe", "-l", str(PIPE_TRIPS))

    def launch(cpus: Sequence[int]) -> float:
        with tied_to([cpus[0]]):
            ended = subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT_S)
        return float(ended.stdout) * 1e9 / PIPE_TRIPS

    row = Row("pipe", {"bytes": "4"}, count=PIPE_TRIPS, warm=500, one_cpu=True)
    yield Case(row, "perf bench sched pipe, one CPU", launch, both_ways=True)


def of_evaluate_ipc(folder: Path) -> Iterator[Case]:
    """Its client stops after 1,000 trips, all of one length."""
    polls = {"waiter": "polling"}
    for contender, program, parameters in (
        ("tcp_select", "selectserver", {}),
        ("tcp_epoll", "epollserver", {}),
        ("udp_epoll", "udpepollserver", {}),
        ("libevent", "eventserver", {}),
        ("ring_semaphore", "shmemsemserver", {}),
        ("line_spinning", "shmemserver", polls),
        ("memory_mapped_line", "mmapserver", polls),
        *((ring, of, polls) for ring, of in BESIDE_MAILBOXES.items()),
    ):
        tool = str(folder / f"{program}test")
        programs = TwoPrograms(
            (tool, "-s", "-p", "{port}"),
            (tool, "-c", "-p", "{port}"),
            number_after("usec", 1e3 / AUTHORS_TRIPS),
        )
        row = Row(contender, {"bytes": str(AUTHORS_BYTES), **parameters}, count=AUTHORS_TRIPS)
        another = BESIDE_MAILBOXES.get(contender) == program
        yield Case(row, f"EvaluateIPC {program}", nothing_left()(programs), another_way=another)


def of_library(
    library: str, row: str, words: Callable[[str], tuple[str, ...]], url: str, threads: int, rate: str
) -> Iterator[Case]:
    """Latency and throughput between two processes, by the programs that come with a library."""
    for size in (64, 4096):
        rest = (url, str(size), str(LIBRARY_TRIPS))
        latency = TwoPrograms(
            (*words("local_lat"), *rest),
            (*words("remote_lat"), *rest),
            number_after("average latency:", 2e3),
            threads,
        )
        measured = Row(row, {"bytes": str(size)}, count=LIBRARY_TRIPS, warm=1)
        yield Case(measured, f"{library} local_lat, remote_lat", latency)
    rest = (url, "64", str(MESSAGES))
    figure = number_after(rate, 1.0)
    throughput = TwoPrograms(
        (*words("local_thr"), *rest),
        (*words("remote_thr"), *rest),
        lambda printed: 1e9 / figure(printed),
        threads,
        by_server=True,
    )
    measured = Row(row, {"bytes": "64"}, "ipc/throughput", LONG_BATCH, WARM_BATCH)
    yield Case(measured, f"{library} local_thr, remote_thr", throughput)


def of_zeromq(folder: Path) -> Iterator[Case]:
    """And between two threads of a process."""

    def words(name: str) -> tuple[str, ...]:
        return (str(folder / name),)

    yield from of_library("libzmq", "zeromq_ipc", words, "ipc://@{name}", 3, "mean throughput:")

    def launch(cpus: Sequence[int]) -> float:
        with tied_to(cpus):
            program = started((*words("inproc_lat"), "64", str(LIBRARY_TRIPS)))
        try:
            tie_threads(program.pid, 4, {0: cpus[0], 3: cpus[1]})  # the last one is the other side
            printed = program.communicate(timeout=LIMIT_S)[0]
        finally:
            program.kill()
            program.wait()
        return number_after("average latency:", 2e3)(printed)

    row = Row("zeromq_inproc", {"bytes": "64", "between": "threads"}, count=LIBRARY_TRIPS)
    yield Case(row, "libzmq inproc_lat", launch)


def of_nng(folder: Path) -> Iterator[Case]:
    """Its pool has at least two threads of each kind."""

    def words(name: str) -> tuple[str, ...]:
        return (str(folder / "perf"), "-m", name)

    yield from of_library("nng", "nng_ipc", words, "abstract://{name}", 4, "throughput:")


AUTHORS_FILES = (Path("/tmp/mmapserver"), Path("/dev/shm/sem.semclient"), Path("/dev/shm/sem.semserver"))


@contextmanager
def nothing_left() -> Iterator[None]:
    """EvaluateIPC leaves files and a segment behind, under fixed names: after each launch they go.

    Raises LaunchFailed where one is there before: its programs would write into what is somebody else's.
    """
    there = [str(file) for file in AUTHORS_FILES if file.exists()]
    if there or authors_segment() >= 0:
        named = ", ".join(there) or "its shared segment (ipcs -m)"
        raise LaunchFailed(f"it would write into {named}: remove what is not needed, or leave it out")
    try:
        yield
    finally:
        for file in AUTHORS_FILES:
            file.unlink(missing_ok=True)
        if (made := authors_segment()) >= 0:
            ctypes.CDLL(None).shmctl(made, 0, None)  # IPC_RMID


def authors_segment() -> int:
    """Its number; -1 where there is none."""
    system = ctypes.CDLL(None)
    return int(system.shmget(system.ftok(b"/tmp", ord("R")), 0, 0))


Pairs = dict[str, list[tuple[float, float]]]  # ns of the row and of the other program, by case


def measure(cases: Sequence[Case], ours: Ours, asked: argparse.Namespace) -> Pairs:
    """So many rounds, or until the time is up; what fails is told, and has no pair."""
    try:
        cpus = ours.cpus()
    except LaunchFailed as failure:
        sys.exit(f"ipc_peers: {failure}; see what builds the rows: docs/ipc.md")
    order = random.Random(time.time_ns())
    found: Pairs = defaultdict(list)
    ends = time.monotonic() + asked.seconds
    for _ in range(asked.pairs):
        for case in order.sample(list(cases), len(cases)):
            if time.monotonic() > ends:
                return found
            try:
                pair = one_pair(case, ours, cpus, order)
            except (LaunchFailed, subprocess.SubprocessError, OSError) as failure:
                print(f"{case.name}: {failure}", file=sys.stderr)
                continue
            found[case.name].append(pair)
            if asked.keep:
                with asked.keep.open("a") as file:
                    file.write(json.dumps([case.name, *pair]) + "\n")
    return found


def one_pair(case: Case, ours: Ours, cpus: Sequence[int], order: random.Random) -> tuple[float, float]:
    """Both, by the toss of a coin which one comes first."""

    def row() -> float:
        with tied_to(cpus[:1] if case.row.one_cpu else sorted(os.sched_getaffinity(0))):
            return ours.launch(case.row)

    if order.random() < 0.5:
        mine = row()
        return mine, case.launch(cpus)
    other = case.launch(cpus)
    return row(), other


def tell(cases: Sequence[Case], found: Pairs) -> bool:
    """A line a case; whether all bars are met."""
    print(f"{'row | held against':88}{'row ns':>9}{'other':>9}  ratio  95 % interval  pairs  bar")
    met = True
    for case in cases:
        pairs = found.get(case.name, [])
        if not pairs:
            print(f"{case.name:88}no pairs")
            met = False
            continue
        mine, other = np.median(np.array(pairs), axis=0)
        logs = [math.log(a / b) for a, b in pairs]
        ratio, interval = ratio_interval(logs, 0.95)
        within = f"{interval.low:.3f} to {interval.high:.3f}" if interval else "too few pairs "
        met &= case.meets(ratio)
        figures = f"{mine:9.0f}{other:9.0f}  {ratio:5.3f}  {within}  {len(pairs):5}"
        print(f"{case.name:88}{figures}  {case.bar(ratio)}")
    return met and bool(cases)


def main() -> int:
    """Measures, and tells."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("--keep", type=Path, help="file that pairs are added to, and told of")
    parser.add_argument("--pairs", type=int, default=12, help="of each case; 0: tells of what is kept")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--only", default="*", help="cases whose name has this pattern")
    parser.add_argument("--bytes", default="64,4096", help="lengths of the messages beside sockperf's")
    for name in ("--evaluate-ipc", "--zeromq-perf", "--nng-perf"):
        parser.add_argument(name, type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    cases = [*of_sockperf([int(size) for size in asked.bytes.split(",")]), *of_perf()]
    for folder, make in (
        (asked.evaluate_ipc, of_evaluate_ipc),
        (asked.zeromq_perf, of_zeromq),
        (asked.nng_perf, of_nng),
    ):
        cases += make(folder.resolve()) if folder else []
    cases = [case for case in cases if fnmatch.fnmatch(case.name, f"*{asked.only}*")]
    found = measure(cases, Ours(asked.build.resolve()), asked)
    if asked.keep and asked.keep.exists():
        found = defaultdict(list)
        for line in asked.keep.read_text().splitlines():
            name, mine, other = json.loads(line)
            found[name].append((mine, other))
    return 0 if tell(cases, found) else 1


if __name__ == "__main__":
    sys.exit(main())
