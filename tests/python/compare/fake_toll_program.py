#!/usr/bin/env -S python3 -ES
"""Speaks protocol 1; its own words, before the protocol's, say how: slow=1.05, fault=crash, answer=8,
unsteady, idle, only=NAME, malloc=libx.so, details, threads=2, state=0.01 (seconds to make it anew), garbage,
no_describe, spin=thread and spin=child (which work while nobody asks), leaves=FILE (which must not be there
yet), reads=FILE (its answer), end=23, end=crash, end=talk and end=late (after it has said that it stops),
units=2 (an iteration), scatter=0.2 (of batches), samples=67 (ns each, read off a clock of 10 ns), new=16 (how
often it makes its state anew, and then crashes), settles=20 (batches after that which take twice as long),
load=4 (threads beside the timed one, which has half of the time), hangs (when it is asked what it offers).
"""

import json
import os
import random
import signal
import struct
import sys
import threading
import time
from pathlib import Path

from fake_noise import seed_by_launch

seed_by_launch()
where = next((index for index, word in enumerate(sys.argv) if word in ("describe", "serve")), len(sys.argv))
words = dict(word.partition("=")[::2] for word in sys.argv[1:where])


def say(**message):
    print(json.dumps(message), flush=True)


def samples(count):
    """Each a microsecond of work, whatever it says that it took."""
    time.sleep(count * 1e-6)
    true_ns, starts = float(words["samples"]), [random.uniform(0, 1e4) for _ in range(count)]
    read = [10.0 * ((start + true_ns) // 10 - start // 10) for start in starts]
    say(
        type="samples", count=count, format="<f4", unit="ns", bytes=4 * count, iterations=count, units=count,
        wall_ns=1000.0 * count, cpu_ns=1.0, voluntary_switches=0, involuntary_switches=0, minor_faults=0,
        major_faults=0, peak_bytes=1, checksum=str(7 * count),
    )  # fmt: skip
    sys.stdout.buffer.write(struct.pack(f"<{count}f", *read))
    sys.stdout.buffer.flush()


def batch(iterations, slower=1):
    wall_ns = 0.0 if "idle" in words else 1000.0 * iterations * float(words.get("slow", 1)) * slower
    time.sleep(wall_ns / 1e9)
    answer = int(words.get("answer", answer_read)) + (random.randrange(3) if "unsteady" in words else 0)
    units = int(words.get("units", 1)) * iterations
    noise = random.lognormvariate(0.0, float(words.get("scatter", 0.002)))
    more = {"details": {"share": 0.5}} if "details" in words else {}
    say(
        type="batch", iterations=iterations, units=units, wall_ns=wall_ns * noise,
        cpu_ns=wall_ns * noise / 2 if "load" in words else 1.0,
        voluntary_switches=0, involuntary_switches=0, minor_faults=0, major_faults=0,
        peak_bytes=1, checksum=str(answer * iterations), **more,
    )  # fmt: skip


if sys.argv[where:] == ["describe"]:
    if "no_describe" in words:
        sys.exit("usage: program SIZE")
    if "hangs" in words:
        time.sleep(3600)
    if "garbage" in words:
        print("hello")
        sys.exit()
    names = words.get("only", "one,two").split(",")
    say(type="description", protocol=1, language="Python", compiler="", contenders=[
        {"workload": "test/fake", "contender": name, "kind": "samples" if "samples" in words else "batch"}
        for name in names])  # fmt: skip
    sys.exit()


def spin():
    while True:
        pass


if words.get("spin") == "thread":
    sys.setswitchinterval(1e-4)
    threading.Thread(target=spin, daemon=True).start()
if words.get("spin") == "child" and os.fork() == 0:
    spin()

answer_read = Path(words["reads"]).read_text() if "reads" in words else 7
if "leaves" in words:
    Path(words["leaves"]).open("x").close()
made = asked = 0
footing = {"malloc": words.get("malloc", "glibc"), "threads": int(words.get("threads", 1))}
if "load" in words:
    footing["load_threads"] = int(words["load"])
say(
    type="ready",
    protocol=1,
    setup_ns=1,
    process_ns=1,
    clock={"source": "monotonic", "resolution_ns": 10.0},
    footing=footing,
)
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "stop":
        say(type="stopped")
        end = words.get("end", "0")
        if end == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if end == "talk":
            print("one more thing", flush=True)
        if end == "late":
            time.sleep(3600)
        if end.isdigit() and int(end):
            print("ERROR: a leak", file=sys.stderr)
        sys.exit(int(end) if end.isdigit() else 0)
    if request["type"] == "samples":
        samples(request["count"])
        continue
    if words.get("fault") == "crash" and request["iterations"] > 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "layout" in request:
        made, asked = made + 1, 0
        if str(made) == words.get("new"):
            os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(float(words.get("state", 0)))
    asked += 1
    batch(request["iterations"], 2 if asked <= int(words.get("settles", 0)) else 1)
