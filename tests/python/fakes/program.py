#!/usr/bin/env python3
"""A program that speaks protocol 1 and misbehaves on demand: its parameter `fault` says how.

Needs nothing but the standard library, because the runner starts it as a stranger would be started.
"""

import array
import json
import os
import signal
import sys
import threading
import time

BATCH = {
    "wall_ns": 1000.0, "cpu_ns": 900.0, "voluntary_switches": 1, "involuntary_switches": 0,
    "minor_faults": 2, "major_faults": 0, "peak_bytes": 1 << 20, "counters": {"instructions": 5},
}  # fmt: skip


LEAKED: list[bytearray] = []


def say(**message):
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def ready(fault):
    if fault == "garbage":
        raw(b"\x1b[31mSegmentation \xff\xfe fault, hello\n")
    if fault == "flood":
        while True:
            raw(b"x" * 65536)
    if fault == "flood_lines":
        while True:
            raw(b'{"type": "ready", "protocol": 1, "setup_ns": 1}\n' * 1000)
    if fault == "flood_stderr":
        while True:
            os.write(2, b"noise " * 10000)
    if fault == "slow_start":
        time.sleep(0.3)
    if fault == "hang_at_start":
        time.sleep(3600)
    if fault == "exit_at_start":
        print("cannot find libfoo.so", file=sys.stderr)
        sys.exit(127)
    if fault == "error_unsupported":
        say(type="error", kind="unsupported", message="this machine has no second CPU")
        sys.exit(1)
    if fault == "error_resource":
        say(type="error", kind="resource", message="could not start thread 4097")
        sys.exit(1)
    if fault == "deep_json":
        raw(b"[" * 100000 + b"\n")
    say(
        type="ready",
        protocol=2 if fault == "protocol_2" else 1,
        setup_ns=-5 if fault == "negative_setup" else 50_000,
        process_ns=1,
        clock={"source": "monotonic", "frequency_hz": 1e9},
        footing={"threads": {"half_a_letter": "\ud800", "two_threads": 2}.get(fault, 1)},
        unknown_field=1,
    )


def spin():
    while True:
        pass


def disturb(fault):
    if fault == "crash":
        print("about to fall", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "abort":
        os.abort()
    if fault == "hang":
        time.sleep(3600)
    if fault == "exit_half_way":
        sys.exit(3)
    if fault == "memory":
        hoard = [bytearray(b"x" * (8 << 20)) for _ in range(40)]
        time.sleep(3600)
        print(len(hoard))
    if fault == "leaks":
        LEAKED.append(bytearray(b"x" * (4 << 20)))
    if fault == "threads_left" and threading.active_count() == 1:
        threading.Thread(target=spin, daemon=True).start()
    if fault == "closes_output":
        os.close(1)
        time.sleep(3600)
    if fault == "child_hangs" and os.fork() == 0:
        time.sleep(3600)


def answer_batch(count, fault, answer):
    fields = dict(BATCH, iterations=count, units=count, wall_ns=1000.0 * count)
    if not fields["voluntary_switches"]:
        fields["cpu_ns"] = fields["wall_ns"]
    checksum = str(answer * count % 2**64)
    if fault == "wrong_answer":
        checksum = "41"
    if fault == "nan":
        raw(b'{"type": "batch", "iterations": 1, "units": 1, "wall_ns": NaN}\n')
    if fault == "negative":
        fields["wall_ns"] = -1.0
    if fault == "fast_clock":
        fields["wall_ns"] = 3_600e9
    if fault == "aeons":
        fields["cpu_ns"] = 2e18
    if fault == "huge_number":
        raw(b'{"type": "batch", "iterations": 1' + b"0" * 5000 + b"}\n")
    if fault == "no_units":
        fields["units"] = 0
    if fault == "half_a_line":
        raw(b'{"type": "batch", "itera')
        sys.exit(0)
    if fault.startswith("details:"):
        fields["details"] = json.loads(fault.removeprefix("details:"))
    if fault == "unknown_type":
        say(type="surprise")
    say(type="batch", checksum=checksum, **fields)
    if fault == "valid_then_garbage":
        raw(b"and now for something else\n")


def answer_samples(count, fault, answer):
    values = array.array("f", [100.0 + i % 7 for i in range(count)])
    if fault == "nan_samples":
        values[0] = float("nan")
    if fault == "aeons_of_samples":
        values[0] = 2e18
    size = 4 * count
    if fault == "huge_samples":
        size = 1 << 40
    if fault == "more_samples":
        count, size = count + 1, size + 4
        values.append(1.0)
    fields = dict(BATCH, iterations=count, units=count, wall_ns=100.0 * count)
    if fault == "other_iterations":
        fields["iterations"] = count + 2
    if fault == "other_units":
        fields["units"] = 2 * count
    if fault == "fast_clock":
        fields["wall_ns"] = 3_600e9
    if fault.startswith("cells:"):
        fields["cells"] = json.loads(fault.removeprefix("cells:"))
    say(
        type="samples",
        count=count,
        format="<f4",
        unit="ns",
        bytes=size,
        checksum=str(answer * count % 2**64),
        **fields,
    )
    raw(values.tobytes()[: 8 if fault == "half_the_samples" else None])
    if fault == "half_the_samples":
        sys.exit(0)


def serve(parameters):
    fault = parameters.get("fault", "")
    answer = int(parameters.get("answer", "7"))
    BATCH["voluntary_switches"] = int(parameters.get("switches", "1"))
    ready(fault)
    for line in sys.stdin:
        request = json.loads(line)
        disturb(fault)
        if request["type"] == "batch":
            answer_batch(request["iterations"], fault, answer)
        elif request["type"] == "samples":
            answer_samples(request["count"], fault, answer)
        elif request["type"] == "allocations":
            count = request["iterations"]
            say(
                type="allocations", iterations=count, units=count, calls=3 * count, bytes=48 * count,
                peak_bytes=16, checksum=str(answer * count % 2**64),
            )  # fmt: skip
        elif request["type"] == "stop":
            if fault == "ignores_stop":
                say(type="stopped")
                time.sleep(3600)
            if fault == "hang_in_the_end":
                time.sleep(3600)
            say(type="stopped")
            if fault == "talks_after_stop":
                raw(b"goodbye\n")
            if fault == "crashes_at_exit":
                os.kill(os.getpid(), signal.SIGABRT)
            sys.exit(4 if fault == "bad_exit_code" else 0)


if __name__ == "__main__":
    assert sys.argv[1] == "serve", sys.argv
    serve(dict(argument.split("=", 1) for argument in sys.argv[4:]))
