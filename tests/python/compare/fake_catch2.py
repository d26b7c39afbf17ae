#!/usr/bin/env -S python3 -ES
"""Behaves as a Catch2 executable does, flush by flush; its own words say what is wrong with it.

It understands --benchmark-no-analysis, as Catch2 does. only=A,B: benchmarks, in one test case; log=FILE: a
line when each benchmark's samples began and one when they ended; tells=FILE: its process, when the first
begin; slow=1.5: factor; ms=5: that samples take; chats: prints while it measures; waits: gives its
processor back twenty times meanwhile; threads: has two; buffers: prints nothing before the end; lock=FILE:
cannot run twice at a time; crash=A: dies while that one is measured; hangs=A: never ends that one; fails: a
wrong answer; besides: another test case fails, which measures nothing; noisy: fills standard error; closes:
its output early; early: flushes what it has before it measures; spins: a second thread works all along;
ties: itself to its first processor; queues=FILE: waits while another one runs; asked=FILE: a line with the
number of samples; ns=1000: what an iteration takes; later=FILE: all that holds from the second launch on;
count=FILE at=2,5: only in these launches, from 0, of those that the file counts.
"""

import fcntl
import os
import sys
import threading
import time
from pathlib import Path
from xml.sax.saxutils import quoteattr

words = dict(word.partition("=")[::2] for word in sys.argv[1:])
if "later" in words and not Path(words["later"]).exists():
    Path(words["later"]).touch()
    words = {"only": words["only"]} if "only" in words else {}
if "count" in words:
    with Path(words["count"]).open("a+") as counted:
        counted.seek(0)
        number = len(counted.read())
        counted.write("x")
    if str(number) not in words["at"].split(","):
        words = {"only": words["only"]}
lines: list[str] = []
if "asked" in words:
    with Path(words["asked"]).open("a") as asked:
        print(sys.argv[sys.argv.index("--benchmark-samples") + 1], file=asked)
out = os.fdopen(1, "wb", buffering=2**20 if "buffers" in words else 4096)


def flushed(text: str) -> None:
    out.write(text.encode())
    if "buffers" not in words:
        out.flush()


def logged(what: str, name: str) -> None:
    """Kept until the end: a launch that is given up leaves none, and writing may wait for a disk."""
    usable = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    fields = os.getpid(), usable, words.get("slow", "1"), name
    lines.append(" ".join(map(str, (time.monotonic_ns(), what, *fields))) + "\n")


def samples(name: str) -> float:
    """Takes them; what one took, in ns."""
    if "tells" in words:
        Path(words["tells"]).write_text(f"{os.getpid()}\n")
    if name in words.get("crash", "").split(","):
        os.abort()
    while name in words.get("hangs", "").split(","):
        pass
    if "chats" in words:
        flushed("so far, so good\n")
    for _ in range(20 if "waits" in words else 0):
        time.sleep(0.001)
    ends = time.monotonic() + float(words.get("ms", "2")) / 1e3
    while time.monotonic() < ends:
        pass
    return float(words.get("ns", "1000")) * float(words.get("slow", "1")) * (1 + os.getpid() % 7 / 1000)


if "queues" in words:
    fcntl.flock(os.open(words["queues"], os.O_WRONLY | os.O_CREAT), fcntl.LOCK_EX)
if "lock" in words:
    held = os.open(words["lock"], os.O_WRONLY | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
if "ties" in words:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
if "spins" in words:
    threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(int, 1)], daemon=True).start()
if "threads" in words:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
flushed('<?xml version="1.0" encoding="UTF-8"?>\n<Catch2TestRun>\n')
flushed('  <TestCase name="sums" tags="[!benchmark]">')
for name in words.get("only", "one,two<int>,three").split(","):
    flushed("\n")
    if "noisy" in words:
        os.write(2, b"." * 200_000)
    flushed(
        f'    <BenchmarkResults name={quoteattr(name)} samples="200" resamples="100000" iterations="7"'
        ' clockResolution="30.1" estimatedDuration="8000.5">'
    )
    flushed("\n")
    out.write(b"      <!--All values in nano seconds-->")
    if "early" in words:
        out.flush()
    logged("begins", name)
    ns = samples(name)
    logged("ends", name)
    flushed("\n")
    flushed(f'      <mean value="{ns}" lowerBound="0" upperBound="0" ci="0"/>')
    flushed("\n")
    flushed("    </BenchmarkResults>")
flushed(f'\n    <OverallResult success="{"false" if "fails" in words else "true"}"/>\n  </TestCase>\n')
if "besides" in words:
    flushed('  <TestCase name="besides"><OverallResult success="false"/></TestCase>\n')
flushed("</Catch2TestRun>\n")
if "log" in words:
    with Path(words["log"]).open("a") as log:
        log.writelines(lines)
if "closes" in words:
    out.close()
    time.sleep(0.05)
