"""What becomes of a channel between processes that goes wrong: it is told, and nothing stays behind.

Usage: test_faults.py PROGRAM
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = sys.argv[1]
TRIP, FLOW = "ipc/round_trip", "ipc/throughput"
# ThreadSanitizer has a thread of its own in each process.
SANITIZER_THREADS = int(b"__tsan_init" in Path(PROGRAM).read_bytes())
WAYS = [(TRIP, "processes"), (TRIP, "threads"), (FLOW, "processes"), (FLOW, "threads")]


@contextmanager
def started(
    workload: str, contender: str, *parameters: str, user: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [PROGRAM, "serve", workload, contender, *parameters],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        user=user,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def request(workload: str, amount: int) -> bytes:
    kind, key = ("samples", "count") if workload == TRIP else ("batch", "iterations")
    return json.dumps({"type": kind, key: amount}).encode() + b"\n"


def answers(out: bytes) -> list[dict[str, Any]]:
    found = []
    while out:
        line, _, out = out.partition(b"\n")
        found.append(json.loads(line))
        out = out[found[-1].get("bytes", 0) if found[-1]["type"] == "samples" else 0 :]
    return found


def talk(
    workload: str, contender: str, *parameters: str, amount: int = 100
) -> tuple[int, list[dict[str, Any]], str]:
    with started(workload, contender, *parameters) as process:
        out, err = process.communicate(request(workload, amount) * 2 + b'{"type": "stop"}\n', timeout=60)
        return process.returncode, answers(out), err.decode()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def of_sanitizer(between: str) -> int:
    """Threads that a sanitizer adds to those of both sides."""
    return SANITIZER_THREADS * (2 if between == "processes" else 1)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "who polls needs a CPU beside the other side's")
class Faults(unittest.TestCase):
    def test_a_channel_that_is_right_answers(self) -> None:
        for workload, between in WAYS:
            for size in (1, 7, 8, 9, 64, 4096, 100_000):
                with self.subTest(workload=workload, between=between, size=size):
                    code, said, err = talk(
                        workload, "right", f"between={between}", f"bytes={size}", amount=50
                    )
                    kinds = [one["type"] for one in said]
                    answer = "samples" if workload == TRIP else "batch"
                    self.assertEqual((code, kinds), (0, ["ready", answer, answer, "stopped"]), err)
                    self.assertEqual(said[0]["footing"]["threads"], 2 + of_sanitizer(between))

    def test_the_other_process_counts_too(self) -> None:
        """Its answerer uses 20 ms a message, while its asker sleeps."""
        for workload, between in WAYS:
            with self.subTest(workload=workload, between=between):
                _, said, err = talk(workload, "burns", f"between={between}", amount=5)
                self.assertGreater(said[2]["cpu_ns"], 5 * 20e6, err)
                self.assertLess(said[2]["cpu_ns"], 5 * 60e6, err)

    def test_a_flipped_bit_is_a_wrong_answer(self) -> None:
        for contender in ("flips_first", "flips_last", "flips_inside"):
            for workload, between in WAYS:
                with self.subTest(contender=contender, workload=workload, between=between):
                    parameters = (f"between={between}", "bytes=1000")
                    # What is flipped inside is seen of the last message of a request.
                    amount = 1 if workload == TRIP else 5
                    code, said, _ = talk(workload, contender, *parameters, amount=amount)
                    self.assertEqual((code, said[-1]["type"], said[-1]["kind"]), (1, "error", "wrong_answer"))

    def test_a_peer_that_dies_hangs_or_fails_ends_the_program(self) -> None:
        for contender, between, words in [
            ("dies", "processes", "the other process ended (signal 9)"),
            ("hangs", "processes", "no message came through"),
            ("hangs", "threads", "no message came through"),
            ("throws", "processes", "the answering side failed: this channel broke"),
            ("throws", "threads", "the answering side failed: this channel broke"),
        ]:
            with self.subTest(contender=contender, between=between):
                code, said, err = talk(TRIP, contender, f"between={between}")
                self.assertEqual((code, said[-1]["type"]), (1, "ready"))
                self.assertIn(words, err)

    def test_an_end_that_cannot_be_made_is_told(self) -> None:
        for contender, kind in (("refused", "unsupported"), ("failed", "internal")):
            for between in ("processes", "threads"):
                with self.subTest(contender=contender, between=between):
                    code, said, _ = talk(FLOW, contender, f"between={between}")
                    self.assertEqual((code, said[-1]["kind"]), (1, kind))
                    self.assertIn("no such end here", said[-1]["message"])

    def test_a_receiver_that_spins_is_never_seen_asleep(self) -> None:
        """As a rule its asker says so. Before it receives, the answerer may sleep once for its runtime's sake
        (seen once, under ThreadSanitizer): then the asker sends, and the answerer looks
        in vain for the asker's sleep.
        """
        code, said, err = talk(TRIP, "spins", "waiter=asleep", amount=2)
        told = said[-1]["message"] if said[-1]["type"] == "error" else err
        self.assertEqual(code, 1)
        self.assertIn("did not go to sleep", told)

    def test_an_iteration_is_more_messages_than_the_channel_holds(self) -> None:
        code, said, err = talk(FLOW, "holds", amount=3)
        self.assertEqual((code, said[0]["footing"]["messages_held"]), (0, 10), err)
        self.assertEqual([one["units"] for one in said[1:3]], [120, 120])
        self.assertEqual(talk(FLOW, "right", amount=3)[1][1]["units"], 3)

    @unittest.skipIf(
        SANITIZER_THREADS, "where a program forks, ThreadSanitizer has one more thread now and then"
    )
    def test_the_threads_of_a_library_are_counted(self) -> None:
        for between in ("processes", "threads"):
            with self.subTest(between=between):
                _, said, err = talk(TRIP, "helped", f"between={between}", amount=5)
                self.assertEqual(said[0]["footing"]["threads"], 4, err)

    def test_who_polls_needs_a_cpu_for_each_thread_that_carries_messages(self) -> None:
        code, said, _ = talk(TRIP, "carried", "waiter=polling")
        self.assertEqual((code, said[-1]["kind"]), (1, "unsupported"))
        self.assertIn("would need 2000 more", said[-1]["message"])
        code, said, err = talk(TRIP, "carried", amount=5)
        self.assertEqual((code, said[0]["footing"]["waits"]), (0, "blocks"), err)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 4, "two poll, and two of the library need a CPU each")
    def test_a_library_that_sleeps_where_its_sides_poll_says_so(self) -> None:
        _, said, err = talk(TRIP, "helped", "waiter=polling", amount=5)
        self.assertEqual(said[0]["footing"]["waits"], "the sides poll, the library's threads sleep", err)

    def test_the_asker_s_failure_is_told_and_not_that_which_follows_from_it(self) -> None:
        for between in ("processes", "threads"):
            with self.subTest(between=between):
                code, said, err = talk(TRIP, "asker_throws", f"between={between}", "waiter=polling")
                self.assertEqual((code, said[-1]["type"]), (1, "error"), err)
                self.assertIn("the asker broke", said[-1]["message"])
                self.assertNotIn("the other end is closed", err)

    def test_both_sides_are_seen_asleep_by_the_same_file(self) -> None:
        """Also for who may not trace every process: Yama lets a child look at its parent by leave."""
        user = 65534 if os.geteuid() == 0 else None
        for between in ("processes", "threads"):
            with started(TRIP, "burns", "waiter=asleep", f"between={between}", user=user) as process:
                out, err = process.communicate(b'{"type": "stop"}\n', timeout=60)
                seen = answers(out)[0]["footing"]["sleep_seen_by"]
                self.assertRegex(seen, r"^/proc/PID/task/TID/(syscall|stat)$", err)

    def test_a_channel_is_asked_to_leave_nothing(self) -> None:
        for contender in ("removes_dies", "removes_throws"):
            with self.subTest(contender=contender):
                code, _, err = talk(TRIP, contender)
                self.assertEqual(code, 1)
                self.assertIn("removed\n", err)

    def test_parameters_that_make_no_sense_are_told(self) -> None:
        for word in ("waiter=hot", "waiter=blocking", "between=machines"):
            with self.subTest(word):
                code, said, _ = talk(TRIP, "right", word)
                self.assertEqual((code, said[-1]["kind"]), (1, "unsupported"))

    def test_a_child_does_not_outlive_its_parent(self) -> None:
        with started(TRIP, "right") as process:
            assert process.stdin
            assert process.stdout
            process.stdout.readline()
            (child,) = children(process.pid)
            process.stdin.write(request(TRIP, 10_000_000))
            process.stdin.flush()
            process.send_signal(signal.SIGKILL)
            process.wait()
            deadline = time.monotonic() + 30
            while lives(child) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertFalse(lives(child))

    def test_a_hanging_peer_is_killed(self) -> None:
        with started(TRIP, "hangs") as process:
            assert process.stdin
            assert process.stdout
            process.stdout.readline()
            (child,) = children(process.pid)
            process.stdin.write(request(TRIP, 10))
            process.stdin.flush()
            self.assertEqual(process.wait(timeout=60), 1)
            self.assertFalse(lives(child))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
