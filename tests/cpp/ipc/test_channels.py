"""Every built channel carries messages of any length, one after the other and there and back.

Usage: test_channels.py DIES_AT_UNLINK [PROGRAM ...]
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

DIES_AT_UNLINK = sys.argv[1]  # preloaded, it kills its program where a name would be removed
PROGRAMS = {Path(word).name: word for word in sys.argv[2:]}
TRIP, FLOW = "ipc/round_trip", "ipc/throughput"
THREADS_ONLY = {"zeromq_inproc"}
NEVER_SLEEP = {
    "ring_spinning",
    "line_spinning",
    "memory_mapped_file",
    "memory_mapped_line",
    "boost_spsc_queue",
    "readerwriterqueue",
}
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


# The kernel gives root a namespace of its own, which ends with the launch: these tests are another user's.
USER = 65534 if os.geteuid() == 0 else os.geteuid()


def queues() -> dict[int, int]:
    """Key by number of each System V queue of `USER`."""
    lines = [line.split() for line in Path("/proc/sysvipc/msg").read_text().splitlines()[1:]]
    return {int(words[1]): int(words[0]) for words in lines if int(words[7]) == USER}


def as_user(call: Callable[[ctypes.CDLL], int]) -> int:
    """What a call of the C library returns to USER, made by a child of ours that is his."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(USER, USER, USER)
            os.write(here, str(call(ctypes.CDLL(None))).encode())
        finally:
            os._exit(0)
    os.close(here)
    os.waitpid(child, 0)
    with os.fdopen(there) as told:
        return int(told.read())


def made_queue(key: int) -> int:
    """A queue that is the user's own, as a program of his makes it."""
    return as_user(lambda libc: libc.msgget(key, 0o1600))


def exists(told: str) -> bool:
    """What a line of a record tells of: there may be no folder in which message queues are listed."""
    name = told[2:]
    if told[0] == "m":
        return as_user(lambda libc: libc.mq_open(name.encode(), os.O_RDONLY)) >= 0
    return Path("/dev/shm" if told[0] == "s" else "/", name).exists()


def remove_queue(number: int) -> None:
    as_user(lambda libc: libc.msgctl(number, 0, None))


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


class LeftBehind(unittest.TestCase):
    """What a launch that is killed leaves is removed by the next one, and nothing else."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="toll-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        os.chown(self.folder, USER, -1)

    def launch(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        if name not in PROGRAMS:
            self.skipTest(f"{name} is not built")
        return subprocess.Popen(
            [PROGRAMS[name], "serve", FLOW, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=USER,
            env={**os.environ, "TMPDIR": str(self.folder), **environment},
        )

    def killed(self, name: str, **environment: str) -> None:
        with self.launch(name, **environment) as launch:
            assert launch.stdout
            if not environment and b"ready" not in launch.stdout.readline():
                self.skipTest("another user cannot launch it here")
            if not environment:
                launch.send_signal(signal.SIGKILL)
            self.assertEqual(launch.wait(20), -signal.SIGKILL)

    def ends_well(self, name: str, **environment: str) -> None:
        with self.launch(name, **environment) as launch:
            _, err = launch.communicate(b'{"type": "stop"}\n', timeout=20)
            self.assertEqual(launch.returncode, 0, err)
        self.assertEqual(list(self.folder.iterdir()), [], "the record, and its folder")

    def records(self) -> list[str]:
        return [path.read_text() for path in self.folder.glob("toll-ipc-*/*")]

    def test_a_queue_of_system_v(self) -> None:
        before = queues()
        self.killed("system_v_queue")
        self.assertEqual(len(queues()), len(before) + 1)
        self.killed("system_v_queue")  # which removes that of the first
        self.assertEqual(len(queues()), len(before) + 1)
        self.ends_well("system_v_queue")
        self.assertEqual(queues(), before)

    def test_a_user_s_own_queues_stay(self) -> None:
        """Those of keys as ftok(path, 't') makes them, and one whose number an old record tells of."""
        mine = [made_queue(key) for key in (0x74000001, 0x743FFFFE, 0)]
        try:
            self.ends_well("system_v_queue")
            self.assertLessEqual(set(mine), set(queues()))
            self.killed("system_v_queue")
            (record,) = self.folder.glob("toll-ipc-*/*")
            kind, left, made = record.read_text().split()
            self.assertEqual((kind, queues().get(int(left))), ("q", 0))
            # Since then the queue is gone, and its number is another one's.
            remove_queue(int(left))
            for number, changed in ((mine[0], made), (mine[2], str(int(made) - 5))):
                record.write_text(f"q {number} {changed}\n")
                self.ends_well("system_v_queue")
                self.assertLessEqual(set(mine), set(queues()))
                self.killed("system_v_queue")
                (record,) = self.folder.glob("toll-ipc-*/*")
                remove_queue(int(record.read_text().split()[1]))
            record.unlink()
        finally:
            for number in mine:
                remove_queue(number)

    def test_a_name_that_was_not_removed_yet(self) -> None:
        for name, kind in (
            ("posix_message_queue", "m"),
            ("boost_message_queue", "s"),
            ("memory_mapped_file", "f"),
            ("memory_mapped_line", "f"),
        ):
            with self.subTest(name):
                self.killed(name, LD_PRELOAD=DIES_AT_UNLINK)
                ((told, *_),) = [record.splitlines() for record in self.records()]
                self.assertEqual((told[0], exists(told)), (kind, True))
                # The file system is still one that has no files without names.
                self.ends_well(name, LD_PRELOAD=DIES_AT_UNLINK, LIVES="1")
                self.assertFalse(exists(told))

    def test_what_gets_no_room_is_refused_and_leaves_no_name(self) -> None:
        def names() -> set[str]:
            folders = (Path("/dev/shm"), self.folder)
            return {str(path) for folder in folders for path in folder.glob("*toll-*")}

        before = names()
        for name, place in (
            ("boost_message_queue", "/dev/shm"),
            ("memory_mapped_file", str(self.folder)),
            ("memory_mapped_line", str(self.folder)),
        ):
            with self.subTest(name):
                environment = {"LD_PRELOAD": DIES_AT_UNLINK, "LIVES": "1", "NO_ROOM": "1"}
                with self.launch(name, **environment) as launch:
                    out, err = launch.communicate(b'{"type": "stop"}\n', timeout=20)
                self.assertEqual(launch.returncode, 1, err)
                said = answers(out)[-1]
                self.assertEqual((said["kind"], place in said["message"]), ("unsupported", True), said)
                self.assertEqual(names() - before, set())

    def test_a_living_launch_s_is_let_be(self) -> None:
        with self.launch("system_v_queue") as first:
            assert first.stdout
            if b"ready" not in first.stdout.readline():
                self.skipTest("another user cannot launch it here")
            there = queues()
            with self.launch("system_v_queue") as second:
                second.communicate(b'{"type": "stop"}\n', timeout=20)
            self.assertEqual(queues(), there)
            _, err = first.communicate(b'{"type": "batch", "iterations": 1}\n{"type": "stop"}\n', timeout=20)
            self.assertEqual(first.returncode, 0, err)

    def test_a_folder_that_others_may_write_to_is_not_believed(self) -> None:
        folder = self.folder / f"toll-ipc-{USER}"
        folder.mkdir()
        os.chown(folder, USER, -1)
        folder.chmod(0o777)
        with self.launch("posix_message_queue") as launch:
            out, _ = launch.communicate(b'{"type": "stop"}\n', timeout=20)
        self.assertEqual((answers(out)[-1]["kind"], folder.exists()), ("unsupported", True))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
