"""What each workload says on less of a machine, and what it measures there: one CPU, threads that may not be
tied to CPUs, half a CPU's time.

Usage: test_restricted.py PROGRAM RESTRICTED ALLOCATIONS_LIBRARY (or an empty text: nothing is counted)
RESTRICTED HOW PROGRAM ... starts it on less of a machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from typing import Any

PROGRAM, RESTRICTED, ALLOCATIONS = sys.argv[1:4]
CANNOT_RESTRICT = 77


def ask(
    workload: str, contender: str, request: dict[str, Any], how: str, preload: str = ""
) -> list[dict[str, Any]]:
    """The program's messages: ready, the answer, stopped; or an error."""
    lines = "".join(json.dumps(one) + "\n" for one in (request, {"type": "stop"}))
    start = [RESTRICTED, how] if how else []
    done = subprocess.run(
        [*start, PROGRAM, "serve", workload, contender],
        input=lines.encode(),
        capture_output=True,
        check=False,
        env={**os.environ, **({"LD_PRELOAD": preload} if preload else {})},
    )
    if done.returncode == CANNOT_RESTRICT:
        raise unittest.SkipTest(done.stderr.decode())
    messages, rest = [], done.stdout
    while rest:
        line, _, rest = rest.partition(b"\n")
        messages.append(json.loads(line))
        rest = rest[messages[-1].get("bytes", 0) :] if messages[-1]["type"] == "samples" else rest
    return messages


def core_to_core(how: str = "") -> list[dict[str, Any]]:
    return ask("latency/core_to_core", "turn", {"type": "samples", "count": 64}, how)


def contention(how: str = "") -> list[dict[str, Any]]:
    return ask("latency/contention", "std_mutex", {"type": "batch", "iterations": 500}, how)


def sleep(how: str = "") -> list[dict[str, Any]]:
    return ask("latency/sleep", "sleep_for", {"type": "samples", "count": 5}, how)


class Whole(unittest.TestCase):
    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_everything_is_measured(self) -> None:
        ready, answer, _ = core_to_core()
        self.assertNotIn("left_out", ready["footing"])
        self.assertEqual(answer["checksum"], "64")
        self.assertEqual(sum(cell["count"] for cell in answer["cells"]), 64)
        self.assertEqual(contention()[0]["footing"]["pinning"], "each thread on one CPU, in turn")


class Allocations(unittest.TestCase):
    """What the workload itself needs is no contender's: none of these allocates anything."""

    @unittest.skipUnless(ALLOCATIONS, "a sanitizer brings its own malloc")
    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_nothing_is_counted_of_what_allocates_nothing(self) -> None:
        request = {"type": "allocations", "iterations": 100}
        for workload, contender in (
            ("latency/core_to_core", "turn"),
            ("latency/contended_increment", "fetch_add"),
            ("latency/contention", "std_mutex"),
        ):
            with self.subTest(workload):
                _, answer, _ = ask(workload, contender, request, "", ALLOCATIONS)
                self.assertEqual(answer["calls"], 0, answer)


class OneCpu(unittest.TestCase):
    """The first CPU alone; or the last one, where the others are offline or another container's."""

    def test_no_pair_is_said(self) -> None:
        for how in ("one_cpu", "last_cpu"):
            with self.subTest(how):
                (error,) = core_to_core(how)
                self.assertEqual((error["type"], error["kind"]), ("error", "unsupported"))
                self.assertIn("a pair needs two CPUs; this process can use 1", error["message"])

    def test_the_rest_is_measured(self) -> None:
        for how in ("one_cpu", "last_cpu"):
            with self.subTest(how):
                ready, answer, _ = contention(how)
                self.assertEqual((ready["footing"]["threads"], answer["checksum"]), (1, "500"))
                self.assertEqual(ready["footing"]["pinning"], "each thread on one CPU, in turn")
                self.assertRegex(ready["footing"]["pinned_cpus"], r"^\d+$")
                self.assertEqual(ready["footing"]["placement"], "same_core")
                self.assertEqual(sleep(how)[1]["checksum"], "5")


class Quota(unittest.TestCase):
    """Half a CPU's time: all is measured, with pauses."""

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_every_pair_is_measured(self) -> None:
        self.assertEqual(core_to_core("quota")[1]["checksum"], "64")

    def test_the_rest_is_measured(self) -> None:
        self.assertEqual(contention("quota")[1]["checksum"], "500")
        self.assertEqual(sleep("quota")[1]["checksum"], "5")


class NoPinning(unittest.TestCase):
    def test_no_pair_is_said_with_the_kernels_word(self) -> None:
        (error,) = core_to_core("no_affinity")
        self.assertEqual((error["type"], error["kind"]), ("error", "unsupported"))
        self.assertIn("Operation not permitted", error["message"])

    def test_the_rest_is_measured_and_says_how(self) -> None:
        ready, answer, _ = contention("no_affinity")
        self.assertIn("none: a thread cannot be tied", ready["footing"]["pinning"])
        self.assertNotIn("pinned_cpus", ready["footing"])
        self.assertEqual(answer["checksum"], "500")
        self.assertEqual(sleep("no_affinity")[1]["checksum"], "5")


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
class VainPinning(unittest.TestCase):
    """The kernel says that a thread was tied, and it was not."""

    def test_nothing_is_believed_that_was_not_asked_for(self) -> None:
        (error,) = core_to_core("vain_affinity")
        self.assertEqual((error["type"], error["kind"]), ("error", "unsupported"))
        self.assertRegex(error["message"], r"tied to CPU \d+, and the kernel says that it may run on \d+[,-]")
        ready = contention("vain_affinity")[0]
        self.assertRegex(ready["footing"]["pinning"], r"^none: a thread was tied .* may run on")
        self.assertNotIn("pinned_cpus", ready["footing"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
