"""Starts programs for conversations: with padding, preloaded libraries and the clock's frequency."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tollbench.launching.child import Launcher, Limits
from tollbench.launching.clock import Clock
from tollbench.launching.conversation import Conversation, Errand
from tollbench.launching.environment import counter_hz_of, padded, preloading_inside, told_clock
from tollbench.launching.messages import Ready

C = TypeVar("C", bound=Conversation)


class Starter:
    """What all launches of a run or a comparison share; remembers the frequency that the first one found."""

    def __init__(self, launcher: Launcher, clock: Clock) -> None:
        self.launcher = launcher
        self.clock = clock
        self._counter_hz: float | None = None

    @contextmanager
    def started(
        self, errand: Errand, limits: Limits, padding: random.Random, conversation: type[C]
    ) -> Iterator[C]:
        """A fresh program and the talk with it, which has not begun; what still runs at the end is killed.

        `padding` draws how far the program's stack is shifted. Raises LaunchFailed where it cannot start.
        """
        environment = padded({**told_clock(self._counter_hz), **errand.environment}, padding)
        if errand.entered:
            environment = preloading_inside(environment)
        child = self.launcher.start(errand.command, environment, limits, errand.folder)
        try:
            yield conversation(child, errand, self.clock, self._learn)
        finally:
            child.kill()

    def _learn(self, ready: Ready) -> None:
        if self._counter_hz is None:
            self._counter_hz = counter_hz_of(ready.clock)
