#!/usr/bin/env -S python3 -ES
"""Behaves as a Google Benchmark executable does; its own words say what is wrong with it.

new: understands iteration counts (1.8 and later); only=A,B: benchmarks; slow=1.5: factor; crash=A: dies while
that one runs; code=3: exit code; error=A: reports an error; silent: writes no results; write: leaves a file;
aslr: has switched address randomisation off; skip=A: skips; aggregates: reports nothing else; fixed=N:
iterations by its source; greets: prints a line before anything else; waits: has no CPU time in every other
repetition; nan=A, inf=A: what that one takes; alarm, cont: handles SIGALRM, SIGCONT;
threads=N; sleeps: has hardly any CPU time; works: takes as many ms of it; starts=S: seconds until it begins;
log=FILE: where each launch's filter is added; long=A,B: take longer=N times as long; bursts=F: every third
repetition takes F times as long; alike: all repetitions of a launch have one noise; version=v1.9.0: its
library's; counters: its own ones have names of the library's fields.
"""

import json
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

from fake_noise import seed_by_launch

seed_by_launch()
words = dict(word.partition("=")[::2] for word in sys.argv[1:] if not word.startswith("-"))
options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
names = words.get("only", "sum,str/1,str/2").split(",")
is_new = "new" in words

time.sleep(float(words.get("starts", 0)))
if "log" in words:
    with Path(words["log"]).open("a") as log:
        print(options.get("benchmark_filter", "no filter"), options.get("benchmark_repetitions"), file=log)
if "alarm" in words:
    signal.signal(signal.SIGALRM, print)
if "cont" in words:
    signal.signal(signal.SIGCONT, print)
if "greets" in words:
    print("not using SIMD")
if "help" in options:
    length = "`<integer>x` OR `<float>s`" if is_new else "<min_time>"
    print(f"benchmark [--benchmark_list_tests={{true|false}}]\n [--benchmark_min_time={length}]")
    sys.exit(0)
if "(?" in options.get("benchmark_filter", ""):
    sys.exit("Could not compile benchmark re")
chosen = re.compile(os.fsencode(options.get("benchmark_filter", ".")))  # of bytes, whatever letters they are
names = [name for name in names if chosen.search(os.fsencode(name))]
if "benchmark_list_tests" in options:
    if options.get("benchmark_format") != "console":
        sys.exit("lists in another format")
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode("\n".join(names) + "\n"))
    sys.exit(int(words.get("list_code", 0)))


def iterations_of(min_time, taken_ns):
    """As many as were asked for, or take so long."""
    if min_time.endswith("x"):
        return int(min_time[:-1])
    return round(float(min_time.removesuffix("s")) * 1e9 / taken_ns) if 0.0 < taken_ns < 1e300 else 1


min_time = options["benchmark_min_time"]
if not is_new and not re.fullmatch(r"[\d.e-]+", min_time):
    sys.exit("unrecognized min_time")
if "write" in words:
    Path("left_behind.txt").write_text("x")
rows = []
alike = random.gauss(1.0, 0.004) if "alike" in words else None
for name in names:
    if words.get("crash") == name:
        os.kill(os.getpid(), signal.SIGSEGV)
    for index in range(int(options.get("benchmark_repetitions", 1))):
        if "works" not in words:
            time.sleep(0.0002)
        ends = time.process_time() + float(words.get("works", 0)) / 1e3
        while time.process_time() < ends:
            pass
        taken = 100.0 * float(words.get("slow", 1)) * (alike or random.gauss(1.0, 0.004))
        if name in words.get("long", "").split(","):
            taken *= float(words["longer"])
        if index % 3 == 2:
            taken *= float(words.get("bursts", 1))
        for number in ("nan", "inf"):
            if words.get(number) == name:
                taken = float(number)
        row = {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "repetition_index": index,
            "real_time": taken,
            "cpu_time": taken,
            "time_unit": words.get("unit", "ns"),
            "iterations": int(words["fixed"]) if "fixed" in words else iterations_of(min_time, taken),
        }
        if "waits" in words and index % 2:
            row["cpu_time"] = taken / 3
        if "sleeps" in words:
            row["cpu_time"] = taken / 50
        if "threads" in words:
            row["threads"] = int(words["threads"])
        if words.get("skip") == name:
            row |= {"skipped": True, "skip_message": "not on this machine"}
        if words.get("error") == name:
            row |= {"error_occurred": True, "error_message": "no such device"}
        if "aggregates" not in words:
            rows.append(row)
    if "aggregates" in words:
        rows.append(row | {"run_type": "aggregate", "aggregate_name": "median"})
    rows.append(
        {
            "name": name + "_mean",
            "run_name": name,
            "run_type": "aggregate",
            "real_time": 1e9,
            "time_unit": "ns",
        }
    )
context: dict[str, object] = {"aslr_enabled": False} if "aslr" in words else {}
if "version" in words:
    context["library_version"] = words["version"]
if "silent" not in words:
    written = json.dumps({"context": context, "benchmarks": rows}, ensure_ascii=False)
    if "counters" in words:
        own = '"real_time": 7.0, "cpu_time": 7.0, "threads": 4.0, "skipped": 1.0, "error_occurred": 1.0}'
        written = re.sub(r'("iterations": \d+)\}', rf"\1, {own}", written)
    Path(options["benchmark_out"]).write_bytes(os.fsencode(written))
sys.exit(int(words.get("code", 0)))
