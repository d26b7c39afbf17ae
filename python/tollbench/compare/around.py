"""Commands around launches, as a user wrote them: --setup, --prepare, --conclude and --cleanup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tollbench.errors import TollError
from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.kept_running import KeptRunning
from tollbench.text import shown

# At least, of each command, however little a launch may take: `make -j8` takes its time. Nobody can stop
# those that end something.
LIMIT_S = 600.0
_LIMIT_AFTERWARDS_S = 60.0
_AFTERWARDS = ("conclude", "cleanup")  # what was begun is ended, also where somebody asked to stop


@dataclass(frozen=True, slots=True)
class Around:
    """Shell commands: of each kind none, one for all sides, or one a side. What they take is not timed."""

    setup: tuple[str, ...] = ()  # once, before the first launch of a side; what it leaves running goes on
    prepare: tuple[str, ...] = ()  # before each launch
    conclude: tuple[str, ...] = ()  # after each launch, also one that failed
    cleanup: tuple[str, ...] = ()  # once, after all launches, before what was left running is ended

    def __bool__(self) -> bool:
        return any((self.setup, self.prepare, self.conclude, self.cleanup))

    def check(self, sides: int) -> None:
        """Raises TollError where the commands do not fit so many sides."""
        for name in ("setup", "prepare", "conclude", "cleanup"):
            count = len(getattr(self, name))
            if count not in (0, 1, sides):
                raise TollError(
                    f"--{name} is there {count} times, and the sides are {sides}",
                    f"write it once for all sides, or once for each of the {sides}",
                )


NOTHING_AROUND = Around()


Place = tuple[Path, Mapping[str, str]]  # the folder and the environment of a side
Places = Sequence[Place | None]  # of each side; None: it is not launched, and nothing is done around it


@dataclass(slots=True)
class Surroundings:
    """The commands of a comparison and how they are run."""

    around: Around
    interrupt: Interrupt | None = None
    launch_s: float = 0.0  # the longest that a launch may take
    _kept: KeptRunning = field(default_factory=KeptRunning)
    _set_up: bool = False

    def set_up(self, places: Places) -> None:
        """--setup, the first time: one that is for all sides runs where the first usable one does."""
        if self._set_up:
            return
        self._set_up = True
        for command, (folder, environment) in _each(self.around.setup, places):
            told = _told("setup", command)
            try:
                self._kept.start(told, command, environment, folder, self._limit_s("setup"), self.interrupt)
            except LaunchFailed as failure:
                raise LaunchFailed(f"no side was launched: {told} {failure.reason}") from None

    def clean_up(self, places: Places) -> None:
        """--cleanup, and then the end of what --setup has left running. Raises LaunchFailed at the end."""
        reasons: list[str] = []
        try:
            for command, (folder, environment) in _each(self.around.cleanup, places):
                self._run("cleanup", command, folder, environment)
        except LaunchFailed as failure:
            reasons.append(failure.reason)
        finally:
            reasons += self._kept.end()
        if reasons:
            raise LaunchFailed("; ".join(reasons))

    @contextmanager
    def launch(self, side: int, folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
        """Around one launch of a side. Raises LaunchFailed, so that such a launch counts as failed."""
        self._check("was not launched")
        self._of(side, "prepare", folder, environment)
        try:
            yield
        except BaseException:
            with suppress(LaunchFailed):  # the launch's own reason is the one to tell
                self._of(side, "conclude", folder, environment)
            raise
        self._of(side, "conclude", folder, environment)
        self._check("was launched in vain")

    def _limit_s(self, what: str) -> float:
        return max(self.launch_s, _LIMIT_AFTERWARDS_S if what in _AFTERWARDS else LIMIT_S)

    def _check(self, launch: str) -> None:
        try:
            self._kept.check()
        except LaunchFailed as failure:
            raise LaunchFailed(f"{launch}: {failure.reason}") from None

    def _of(self, side: int, what: str, folder: Path, environment: Mapping[str, str]) -> None:
        commands: tuple[str, ...] = getattr(self.around, what)
        if commands:
            self._run(what, commands[side % len(commands)], folder, environment)

    def _run(self, what: str, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        told = _told(what, command)
        told = f"was not launched: {told}" if what == "prepare" else told
        try:
            ended = run_command(
                ("/bin/sh", "-c", command),
                environment,
                folder,
                self._limit_s(what),
                None if what in _AFTERWARDS else self.interrupt,
            )
        except LaunchFailed as failure:
            raise LaunchFailed(f"{told} {failure.reason}") from None
        if ended.exit_code != 0:
            raise LaunchFailed(f"{told} {ended.how()}")


def _each(commands: Sequence[str], places: Places) -> Iterator[tuple[str, Place]]:
    """Each command with its place; never one of a side that is not launched, whose folder may be anywhere."""
    if len(commands) == 1:
        places = [place for place in places if place is not None]
    for command, place in zip(commands, places, strict=False):
        if place is not None:
            yield command, place


def _told(what: str, command: str) -> str:
    return f"--{what} {shown(command, 80)!r}"
