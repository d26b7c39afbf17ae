"""Every built channel carries messages of any length, one after the other and there and back.

Usage: test_channels.py [PROGRAM ...]
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

PROGRAMS = {Path(word).name: word for word in sys.argv[1:]}
TRIP, FLOW = "ipc/round_trip", "ipc/throughput"
THREADS_ONLY = {"zeromq_inproc"}
NEVER_SLEEP = {"ring_spinning", "memory_mapped_file", "boost_spsc_queue", "readerwriterqueue"}
# What a slot, a page, a queue's longest message and a buffer each divide into several parts, with a rest.
SIZES = (1, 100, 8193, 70_001)


def answers(out: bytes) -> list[dict[str, Any]]:
    found = []
    while out:
        line, _, out = out.partition(b"\n")
        found.append(json.loads(line))
        out = out[found[-1].get("bytes", 0) if found[-1]["type"] == "samples" else 0 :]
    return found


def talk(name: str, workload: str, *parameters: str) -> tuple[int, list[dict[str, Any]], str]:
    kind, key, amount = ("samples", "count", 20) if workload == TRIP else ("batch", "iterations", 1)
    words = json.dumps({"type": kind, key: amount}).encode() + b'\n{"type": "stop"}\n'
    between = "threads" if name in THREADS_ONLY else "processes"
    done = subprocess.run(
        [PROGRAMS[name], "serve", workload, name, f"between={between}", *parameters],
        input=words,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return done.returncode, answers(done.stdout), done.stderr.decode()


def left_behind() -> int:
    """System V queues with the prefix of system_v_queue's keys."""
    lines = Path("/proc/sysvipc/msg").read_text().splitlines()[1:]
    return sum(int(line.split()[0]) & 0xFF000000 == 0x74000000 for line in lines)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "who polls needs a CPU beside the other side's")
class Channels(unittest.TestCase):
    def carries(self, name: str, workload: str, *parameters: str) -> None:
        with self.subTest(channel=name, workload=workload, parameters=parameters):
            code, said, err = talk(name, workload, *parameters)
            if said and said[-1].get("kind") == "unsupported":
                self.skipTest(said[-1]["message"])
            answer = "samples" if workload == TRIP else "batch"
            self.assertEqual((code, [one["type"] for one in said]), (0, ["ready", answer, "stopped"]), err)

    def test_messages_of_any_length_arrive(self) -> None:
        for name in PROGRAMS:
            for size in SIZES:
                self.carries(name, FLOW if size in SIZES[::2] else TRIP, f"bytes={size}")

    def test_each_way_to_wait(self) -> None:
        for name in PROGRAMS.keys() - NEVER_SLEEP:
            for waiter in ("asleep", "polling"):
                self.carries(name, TRIP, f"waiter={waiter}", "bytes=100")

    def test_a_killed_launch_of_a_queue_is_cleaned_up_by_the_next_one(self) -> None:
        if "system_v_queue" not in PROGRAMS:
            self.skipTest("system_v_queue is not built")
        before = left_behind()
        # The kernel gives root a namespace of its own, which ends with the launch.
        user = 65534 if os.geteuid() == 0 else None
        command = [PROGRAMS["system_v_queue"], "serve", FLOW, "system_v_queue"]
        for _ in range(3):
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, user=user
            ) as launch:
                assert launch.stdout
                if b"ready" not in launch.stdout.readline():
                    self.skipTest("another user cannot launch it here")
                launch.send_signal(signal.SIGKILL)
        self.assertLessEqual(left_behind(), before + 1)
        done = subprocess.run(
            command, input=b'{"type": "stop"}\n', capture_output=True, user=user, check=False
        )
        self.assertEqual((done.returncode, left_behind()), (0, 0 if before == 0 else before), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
