"""Launches of rows that are built, one at a time, for what holds them beside something else."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tollbench.launching.child import Limits
from tollbench.launching.clock import SystemClock
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.environment import own_environment
from tollbench.launching.process import ProcessLauncher
from tollbench.launching.starting import Starter
from tollbench.words import Kind

LIMIT_S = 30.0  # of each answer
_RIGHT = 1  # the answer of one iteration in the topics ipc and latency/core_to_core


class BuiltRows:
    """Of a folder as `./toll run` makes it (build/host)."""

    def __init__(self, build: Path) -> None:
        self._programs = build / "programs"
        self._starter = Starter(ProcessLauncher(), SystemClock())
        self._padding = random.Random(1)

    @contextmanager
    def started(
        self, workload: str, contender: str, parameters: Mapping[str, str], kind: Kind
    ) -> Iterator[Conversation]:
        """A launch that is ready to be timed, and ends well or not at all: its answers are checked.

        Raises LaunchFailed, also where the row is not built.
        """
        topic = workload.partition("/")[0]
        folder = "ipc/shared" if topic == "ipc" else workload  # one program a channel has both workloads
        words = Errand.command_of(
            (str(self._programs / folder / contender),), workload, contender, dict(parameters)
        )
        errand = Errand(words, kind, own_environment(), answer=_RIGHT)
        with self._starter.started(errand, Limits(LIMIT_S, 0), self._padding, Conversation) as talk:
            talk.begin()
            yield talk
            talk.stop()
