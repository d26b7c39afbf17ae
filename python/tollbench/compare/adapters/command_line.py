"""Command lines, each run as a whole: one launch is one execution, timed from outside.

A round in which no side ever waited counts by CPU time: wall time holds besides what others did on the
processor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from tollbench.compare.adapters.one_after_another import OneAfterAnother, Values
from tollbench.compare.subject import Adapter, MeasuringOptions, Round, Side
from tollbench.launching.child import MAX_OUTPUT_BYTES
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.sandbox import confined_now, sandbox_of
from tollbench.text import as_text

BENCHMARK = "command"
_SHORT_NS = 5e6  # below it, starting a process is a large part of what is measured
_LISTED = 3
_WALL, _CPU = "wall", "cpu"
_AT_ITS_END = 1  # the switch away from a process that has ended counts as voluntary
_FIRST_THREADS = (
    0.998  # of the CPU time of a program that has no other thread at work: its clocks tell microseconds
)


KIND = "command"


class Commands(OneAfterAnother):
    """Every side has one benchmark: itself."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._outputs: dict[str, bytes] = {}
        self._codes: dict[str, int] = {}
        self._last: dict[str, Ended] = {}  # side -> its launch of this round
        self._clock = _WALL  # that this round counts by

    def offered(self, side: Side) -> Sequence[str]:
        """Runs the side once, unmeasured: files come into memory, and a typing error is seen at once."""
        before = _listing(side)
        self._check(side, self.run(side))
        changed = sorted(_listing(side).items() ^ before.items())
        if changed:
            names = list(dict.fromkeys(name for name, _ in changed))[:_LISTED]
            self.note(BENCHMARK, f"{side.label} writes to its working folder: {', '.join(names)}")
        return (BENCHMARK,)

    def alone(self, _side: Side, _name: str) -> Sequence[str]:
        """The command as it is."""
        return ()

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """One execution."""
        ended = self.run(side, seed=seed)
        self._check(side, ended)
        self._last[side.label] = ended
        if ended.wall_ns < _SHORT_NS:
            self.note(
                BENCHMARK,
                "a run takes less than 5 ms, of which starting a process takes about 1: give it more to do,"
                " or compare a benchmark executable",
            )
        return {name: [float(ended.wall_ns)] for name in names}, ended

    def round(self, names: Sequence[str], seed: int) -> Round:
        """One launch of each side; each launch's record says by which clock the round counts."""
        self._clock = _WALL
        found = super().round(names, seed)
        for record in found.raw:
            if "ns" in record:
                record["counted_by"] = self._clock
        return found

    def values_of(self, launched: Mapping[int, Sequence[float]]) -> dict[int, float]:
        """CPU time where no side waited, by a count that neighbours hardly change; else wall time of all.

        The processes of a sandbox wait too, and how often is not known to one.
        """
        ends = {side: self._last[self.labels[side]] for side in launched}
        alone = sandbox_of(confined_now()) is not None or len(ends) < 2
        if alone or not all(map(_never_waited, ends.values())):
            return super().values_of(launched)
        self._clock = _CPU
        self.note(BENCHMARK, "rounds in which no side waits for anything count by CPU time")
        return {side: float(ended.cpu_ns) for side, ended in ends.items()}

    def _check(self, side: Side, ended: Ended) -> None:
        """A command that fails, or ends in another way than before, is not the same work."""
        if ended.exit_code != 0 and not (self.options.any_exit_code and ended.exit_code > 0):
            raise LaunchFailed(ended.how())
        first = self._codes.setdefault(side.label, ended.exit_code)
        if first != ended.exit_code:
            raise LaunchFailed(f"exited with code {first} first and with code {ended.exit_code} later")
        if ended.dropped_bytes:
            self.note(
                BENCHMARK,
                f"{side.label} prints more than {MAX_OUTPUT_BYTES // 2**20} MiB; what is beyond is read and"
                " dropped. Reading it is part of the time: `> /dev/null` spares that",
            )
        digest = _digest(ended)
        if self._outputs.setdefault(side.label, digest) != digest:
            self.note(BENCHMARK, f"{side.label} prints something else from launch to launch")


def _never_waited(ended: Ended) -> bool:
    """For a disk, a child, a lock, whoever reads its output, or time; with a single thread at work.

    Others than that one may end before anybody waits for them.
    """
    return (
        ended.voluntary_switches <= _AT_ITS_END
        and 0 < ended.cpu_ns <= ended.wall_ns
        and (ended.first_thread_ns or 0) >= _FIRST_THREADS * ended.cpu_ns
    )


def _digest(ended: Ended) -> bytes:
    """Of the output that was kept, and of how much was not."""
    length = ended.dropped_bytes.to_bytes(8, "little")
    return hashlib.blake2b(ended.stdout, digest_size=16, salt=length).digest()


def _listing(side: Side) -> dict[str, tuple[int, int]]:
    """Names, sizes and times of what lies in the side's own working folder; nothing where it is fresh."""
    found: dict[str, tuple[int, int]] = {}
    if side.folder is None:
        return found
    try:
        paths = list(side.folder.iterdir())
    except OSError:  # the command has removed it, or may not look
        return found
    for path in paths:
        try:
            status = path.lstat()
        except OSError:
            continue
        found[as_text(path.name)] = (status.st_size, status.st_mtime_ns)
    return found


ADAPTER = Adapter(KIND, "a command line", (), Commands, is_command_line=True)
