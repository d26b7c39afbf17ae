"""The runs of one benchmark within one launch, each with its number of iterations; libtoll_counts.so tells.

Google Benchmark looks for a number of iterations by trying 1, 10, 100 ... until a run is long enough. Asked
for a length that none reaches, and ended after a fixed number of runs, every side makes the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tollbench.counting import hardware
from tollbench.counting.fixed import fixed
from tollbench.launching.answers import read_report
from tollbench.launching.child import MAX_OUTPUT_BYTES
from tollbench.launching.command import Ended, run_command, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import Confined

_RECORD = re.compile(r"(\d+) (\d+) (\d+) (\d+) ([01]) (.*)")
_RUN = re.compile(r"Running (.*) for (\d+)")
_EVENT = re.compile(r"Event ([1-9]\d{0,4})")  # not 0: then it is counted
_EXECUTED = "Executed "

TOLD = "told"  # the file of a launch, before ".PID"
ENOUGH = "enough"
_OBJECT = "object "
_ALIAS = "program"
_ENDED_SILENTLY = (
    "ends in a way that is not seen (quick_exit): what it loaded is not known, nor whether that brings a"
    " malloc of its own"
)
OWN_MALLOC = (
    "brings a malloc of its own, which comes before the counting library: its allocations are not seen"
)
TAKES_NOTHING = (
    "takes no preloaded library, as static and set-uid executables do not: nothing in it can be counted so"
)


@dataclass(frozen=True, slots=True)
class Told:
    """One line of what the preloaded library wrote; the numbers are of allocations."""

    calls: int
    bytes: int
    peak_bytes: int
    ns: int  # wall time of a run
    counted: bool  # whether malloc is the counting library's
    text: str


@dataclass(frozen=True, slots=True)
class MarkedRun:
    """The benchmark's function, called once."""

    iterations: int
    told: Told


@dataclass(frozen=True, slots=True)
class Launching:
    """What every launch that counts is given."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path | None
    limit_s: float
    interrupt: Interrupt | None = None
    around: Callable[[Path], AbstractContextManager[object]] = nullcontext  # told where it runs


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that has ended, while its files are there."""

    ended: Ended
    scratch: Path

    def told(self) -> list[Told]:
        """What all processes of the launch wrote."""
        return [each for told in self._by_process().values() for each in told]

    def cut(self) -> bool:
        """Whether the process was ended after the runs that were wanted."""
        return any(told.text == ENOUGH for told in self.told())

    def _by_process(self) -> dict[str, list[Told]]:
        return _told_in(self.scratch)

    def check_allocator(self) -> None:
        """Raises LaunchFailed where allocations are not all seen, or nobody can know."""
        for told in self._by_process().values():
            loaded = [each.text.removeprefix(_OBJECT) for each in told if each.text.startswith(_OBJECT)]
            if loaded and hardware.takes_rights(loaded[0], {}):
                raise LaunchFailed(f"runs {Path(loaded[0]).name}, which {hardware.TAKES_RIGHTS}")
            from tollbench.counting.own_allocators import hidden_in  # it takes time, and nobody may count

            if reason := hidden_in(loaded, seen=any(each.calls for each in told)):
                raise LaunchFailed(reason)
            if not loaded and any(each.text != "began" for each in told):
                raise LaunchFailed(_ENDED_SILENTLY)

    def runs(self, name: str) -> list[MarkedRun]:
        """Of the benchmark called `name`. Raises LaunchFailed where another one ran, or none."""
        found = []
        for told in self.told():
            if match := _RUN.fullmatch(told.text):
                if match[1] != name:
                    raise LaunchFailed(f"ran {match[1]} where {name} was asked for")
                found.append(MarkedRun(int(match[2]), told))
        if not found:
            raise LaunchFailed(self.silent())
        return found

    def whole(self, programs: Set[int] = frozenset()) -> list[Told]:
        """The last word of every process. Raises LaunchFailed where one did not say it.

        `programs` are processes that are known to be some.
        """
        found = []
        by_process = self._by_process()
        for told in by_process.values():
            if told[-1].text != "whole":
                raise LaunchFailed(
                    "has a process that did not tell what it allocated: it was killed, or became a program"
                    " that takes no preloaded library"
                )
            if not told[-1].counted:
                raise LaunchFailed(OWN_MALLOC)
            found.append(told[-1])
        if not found:
            raise LaunchFailed(TAKES_NOTHING)
        if any(f"{TOLD}.{pid}" not in by_process for pid in programs):
            raise LaunchFailed(
                "starts a program that takes no preloaded library, as static and set-uid ones do: its"
                " allocations are not seen"
            )
        self.check_allocator()
        return found

    def silent(self) -> str:
        """Why nothing was told of any run."""
        if self.ended.exit_code != 0:
            return self.ended.how()
        if not list(self.scratch.glob(f"{TOLD}.*")):
            return TAKES_NOTHING
        return "does not say where its runs begin, as Google Benchmark since 1.5 does with --v=2"


def executed_in(scratch: Path) -> list[int]:
    """What the kernel counted in each run of a launch. Raises LaunchFailed where it did not."""
    found = []
    for told in [each for process in _told_in(scratch).values() for each in process]:
        if match := _EVENT.fullmatch(told.text):
            raise LaunchFailed(hardware.why_refused(int(match[1])))
        if told.text.startswith(_EXECUTED):
            found.append(hardware.told(told.text.removeprefix(_EXECUTED)).checked())
    return found


def _told_in(scratch: Path) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for path in sorted(scratch.glob(f"{TOLD}.*")):
        text = read_report(path, MAX_OUTPUT_BYTES).decode("utf-8", "replace")
        for line in text.splitlines():
            if match := _RECORD.fullmatch(line):
                calls, size, peak, ns = (int(match[at]) for at in range(1, 5))
                told = Told(calls, size, peak, ns, match[5] == "1", match[6])
                found.setdefault(path.name, []).append(told)
    return found


@contextmanager
def launched(
    asked: Launching,
    libraries: Sequence[Path],
    variables: Mapping[str, str],
    under: Sequence[str] = (),
    watched_by: Sequence[str] = (),
    named_alike: bool = False,
) -> Iterator[Launched]:
    """Runs a program once in the fixed environment. In its tools, {} is the folder of the launch's files.

    Programs that keep their name on the heap move all that comes behind it: `named_alike` gives them one of a
    fixed length, by a link.

    Raises LaunchFailed where it cannot start or breaks a limit, and Interrupted.
    """
    with working_folder(None) as scratch, working_folder(asked.folder) as place:
        environment = {**asked.environment, "TOLL_COUNTS_OUT": str(scratch / TOLD), **variables}
        tool = [word.replace("{}", str(scratch)) for word in under]
        watcher = [word.replace("{}", str(scratch)) for word in watched_by]
        command = list(asked.command)
        if named_alike:
            (scratch / _ALIAS).symlink_to(Path(command[0]).resolve())
            command[0] = str(scratch / _ALIAS)
        launch = fixed(command, environment, libraries=libraries, under=tool, watched_by=watcher)
        confined = Confined((scratch,))
        with asked.around(place):
            ended = run_command(
                launch.command, launch.environment, place, asked.limit_s, asked.interrupt, confined=confined
            )
        yield Launched(ended, scratch)
