"""pinning=each_cpu, of each contender of tasks/skynet as it is built: what the kernel says of its threads.

Usage: test_pinned.py RESTRICTED PROGRAM ...    RESTRICTED HOW PROGRAM ... starts it on less of a machine
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RESTRICTED, *PROGRAMS = sys.argv[1:]
CANNOT_RESTRICT = 77
SUITE = tomllib.loads(
    (Path(__file__).resolve().parents[3] / "suites/tasks/skynet/suite.toml").read_text(encoding="utf-8")
)["contenders"]
THREADS = 3
# Whose threads come and go between its places: two that sleep may have the same CPU from their last ones.
CHANGES_PLACES = "onetbb_task_group"


def threads_of(contender: str) -> int:
    return SUITE[contender].get("parameters", {}).get("threads", THREADS)


def has_workers(contender: str) -> bool:
    return threads_of(contender) > 0 and contender != "sequential_recursion"


class Program:
    """A contender that serves; `ready` is its first message."""

    def __init__(self, program: str, how: str, pinning: str) -> None:
        self.contender = Path(program).name
        words = ["tasks=1000", f"threads={threads_of(self.contender)}", f"pinning={pinning}"]
        self.process = subprocess.Popen(
            [*([RESTRICTED, how] if how else []), program, "serve", "tasks/skynet", self.contender, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.requests, self.answers, self.errors = (
            self.process.stdin,
            self.process.stdout,
            self.process.stderr,
        )
        self.ready = self.hear()

    def hear(self) -> dict[str, Any]:
        line = self.answers.readline()
        if not line and self.process.wait() == CANNOT_RESTRICT:
            raise unittest.SkipTest(self.errors.read())
        return json.loads(line)

    def batch(self) -> dict[str, Any]:
        self.requests.write('{"type": "batch", "iterations": 3}\n')
        self.requests.flush()
        return self.hear()

    def cpus(self) -> dict[int, list[int]]:
        """By thread: the CPUs that the kernel lets it run on."""
        tasks = [int(task.name) for task in Path(f"/proc/{self.process.pid}/task").iterdir()]
        return {task: sorted(os.sched_getaffinity(task)) for task in tasks}


@contextmanager
def started(program: str, how: str = "", pinning: str = "each_cpu") -> Iterator[Program]:
    one = Program(program, how, pinning)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()


class Pinned(unittest.TestCase):
    def check(self, one: Program, usable: list[int]) -> None:
        threads = threads_of(one.contender)
        asked = [usable[worker % len(usable)] for worker in range(threads)]
        footing = one.ready.get("footing", one.ready)
        self.assertEqual((footing.get("pinning"), footing.get("threads")), ("each_cpu", threads))
        self.assertEqual(footing["pinned_cpus"], ",".join(map(str, asked)))
        self.assertEqual(footing["threads_per_cpu"], "several" if threads > len(usable) else "at most one")
        self.assertEqual(one.batch()["checksum"], str(3 * 1000 * 999 // 2))
        found = one.cpus()
        main = found.pop(one.process.pid)
        workers = list(found.values())
        if len(workers) < threads:  # else the caller only waits
            workers.append(main)
        self.assertEqual(len(workers), threads)
        if one.contender == CHANGES_PLACES:
            self.assertTrue(all(len(cpus) == 1 and cpus[0] in asked for cpus in workers), workers)
        else:
            self.assertEqual(sorted(workers), sorted([cpu] for cpu in asked))

    def test_each_worker_is_where_the_footing_says(self) -> None:
        usable = sorted(os.sched_getaffinity(0))
        for program in PROGRAMS:
            with self.subTest(program), started(program) as one:
                if has_workers(one.contender):
                    self.check(one, usable)
                else:
                    self.assertEqual((one.ready["type"], one.ready["kind"]), ("error", "unsupported"))
                    self.assertRegex(one.ready["message"], "; ask for pinning=none$")

    def test_a_mask_of_one_cpu_is_respected(self) -> None:
        usable = sorted(os.sched_getaffinity(0))
        for how, cpu in (("one_cpu", usable[0]), ("last_cpu", usable[-1])):
            for program in PROGRAMS:
                if has_workers(Path(program).name):
                    with self.subTest(program, how=how), started(program, how) as one:
                        self.check(one, [cpu])

    def test_without_pinning_no_thread_is_tied(self) -> None:
        usable = sorted(os.sched_getaffinity(0))
        for program in PROGRAMS:
            with self.subTest(program), started(program, pinning="none") as one:
                self.assertNotIn("pinned_cpus", one.ready["footing"])
                self.assertEqual(one.batch()["type"], "batch")
                self.assertEqual({tuple(cpus) for cpus in one.cpus().values()}, {tuple(usable)})

    def refused(self, how: str, why: str) -> None:
        for program in PROGRAMS:
            if has_workers(Path(program).name):
                with self.subTest(program), started(program, how) as one:
                    self.assertEqual((one.ready["type"], one.ready.get("kind")), ("error", "unsupported"))
                    self.assertRegex(one.ready["message"], why)

    def test_a_kernel_that_refuses_is_heard(self) -> None:
        self.refused("no_affinity", "a thread cannot be tied to CPU .*: Operation not permitted")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_a_kernel_that_only_says_so_is_not_believed(self) -> None:
        self.refused("vain_affinity", "the kernel says that it may run on")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
