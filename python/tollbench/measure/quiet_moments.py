"""Moments at which nobody else wants a processor: then batches of programs with several threads begin.

A thread that somebody else's work keeps from its processor keeps those that wait for it, so that a whole
batch takes as long as the scheduler likes. Time on the processor does not take that out, as it does for
programs of one thread. Others work in bursts, and the kernel tells how many threads want a processor at this
instant (proc_loadavg(5)): a batch that begins in a gap is mostly over before the next burst.

When a block begins is decided by what others do, never by what a batch took. Rows that are compared wait
alike (`tollbench.measure.state.processors_for`): one that did not would look slow.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tollbench.launching.clock import Clock
from tollbench.text import several

LONGEST_WAIT_NS = 250_000_000
SHARE = 1 / 5  # of the time may be waited,
MOST_SAVED_NS = 1_000_000_000  # and what was not is kept up to this
LOOK_EVERY_S = 0.001
MOST_IN_VAIN = 4  # waits in a row; others who never rest are not waited for
GIVEN_UP_NS = 5_000_000_000  # then, and twice as long each time that they had not rested in between
LONGEST_GIVEN_UP_NS = 300_000_000_000
WORTH_TELLING = 0.02  # of the run's time


def others_at_work(loadavg: Path = Path("/proc/loadavg")) -> int | None:
    """Threads that want a processor at this instant, besides the one that asks; None where nobody can tell.

    The kernel counts those of the whole machine: where toll may use a part of its processors only, it is not
    known whose the others are.
    """
    try:
        if len(os.sched_getaffinity(0)) != os.cpu_count():
            return None
        return max(0, int(loadavg.read_bytes().split()[3].split(b"/")[0]) - 1)
    except (OSError, ValueError, IndexError):
        return None


@dataclass(slots=True)
class QuietMoments:
    """Those of one run. What it takes is bounded: each wait, all of them, and waits that were in vain."""

    clock: Clock
    others: Callable[[], int | None] = others_at_work
    processors: int = 0  # 0: those of this machine
    granted: bool = True  # whether there is time for it
    waited: int = 0  # times that it had to be waited,
    in_vain: int = 0  # of them as long as might be, to begin beside others all the same
    waited_ns: int = 0
    _saved_ns: float = LONGEST_WAIT_NS
    _seen_ns: int = -1
    _vain_in_a_row: int = 0
    _pause_ns: int = GIVEN_UP_NS
    _not_before_ns: int = 0

    def wait_for(self, processors: int, own: Callable[[], int] = lambda: 0) -> None:
        """Until `processors` are free, or all of those that there are.

        `own` says how many threads of the programs themselves are at work though nobody asks them.
        """
        there = self.processors or os.cpu_count() or 1
        beside = there - min(processors, there)  # who may be at work
        began_ns = self.clock.now_ns()
        self._save(began_ns)
        if (free := self._free(beside, own)) is not False:
            if free:
                self._vain_in_a_row, self._pause_ns, self._not_before_ns = 0, GIVEN_UP_NS, 0
            return
        if not self.granted or began_ns < self._not_before_ns or self._saved_ns <= 0:
            return
        while (free := self._free(beside, own)) is False and self.clock.now_ns() < began_ns + LONGEST_WAIT_NS:
            self.clock.sleep(LOOK_EVERY_S)
        self._note(self.clock.now_ns() - began_ns, vain=not free)

    def _save(self, now_ns: int) -> None:
        passed_ns = now_ns - self._seen_ns if self._seen_ns >= 0 else 0
        self._saved_ns = min(MOST_SAVED_NS, self._saved_ns + SHARE * passed_ns)
        self._seen_ns = now_ns

    def told(self, whole_ns: int) -> str:
        """A sentence for the reader of a run of so many ns; "" where it was hardly ever waited."""
        if not self.waited or self.waited_ns < WORTH_TELLING * whole_ns:
            return ""
        beside = f"; {several(self.in_vain, 'time')} in vain" if self.in_vain else ""
        return (
            "Others wanted the processors: programs with several threads waited"
            f" {several(self.waited, 'time')} until they rested, {self.waited_ns / 1e9:.1f} s in all{beside}."
            " Fewer launches were made in that time; a quieter machine would know more."
        )

    def _free(self, beside: int, own: Callable[[], int]) -> bool | None:
        """Whether no more than `beside` threads of others want a processor; None where nobody can tell."""
        others = self.others()
        return None if others is None else others <= beside or others - own() <= beside

    def _note(self, waited_ns: int, *, vain: bool) -> None:
        self.waited += 1
        self.waited_ns += waited_ns
        self._saved_ns -= waited_ns
        self.in_vain += vain
        self._vain_in_a_row = self._vain_in_a_row + 1 if vain else 0
        if not vain:
            self._pause_ns = GIVEN_UP_NS
        elif self._vain_in_a_row >= MOST_IN_VAIN:
            self._vain_in_a_row = 0
            self._not_before_ns = self.clock.now_ns() + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, LONGEST_GIVEN_UP_NS)
