"""Instructions by the processor's own counter, where the kernel grants it.

perf_event_open(2) names the events. An event is believed where it counts work of a known size, and a count
where the event was counted all the time: where several share the hardware, the kernel takes turns.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tollbench.counting.preloaded import Preloaded
from tollbench.launching.answers import read_report
from tollbench.launching.command import run_command, working_folder
from tollbench.launching.environment import own_environment
from tollbench.launching.failure import LaunchFailed
from tollbench.words import CountBy

HARDWARE, VALGRIND = "hardware", "valgrind"  # who counted
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_LIMIT_S = 20.0
_COUNT = re.compile(r"(\d{1,20}) (\d{1,20}) (\d{1,20})")
_NAMED = re.compile(r"\[\w+\]$")
_ERROR = re.compile(r"error (\d{1,5})")


@dataclass(frozen=True, slots=True)
class Event:
    """An event of perf_event_open, and the least that toll_counted_launch's work of a known size gives."""

    type: int
    config: int
    least: int

    def __str__(self) -> str:
        return f"{self.type}:{self.config}"


TAKES_RIGHTS = (
    "is set-uid or set-gid: while it is counted it has not its rights, or is not counted where it takes them"
)


class Refused(LaunchFailed):
    """The kernel does not count."""


INSTRUCTIONS = Event(0, 1, 1_000_000)  # PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS


@dataclass(frozen=True, slots=True)
class EventCount:
    """What one launch of a command, or one run within it, gave."""

    value: int
    enabled_ns: int
    running_ns: int

    def checked(self) -> int:
        """The count. Raises LaunchFailed where it was not counted all the time: then it is a guess."""
        if not self.enabled_ns:  # the command was never started
            raise LaunchFailed("was not counted by the hardware at all")
        if self.running_ns != self.enabled_ns:
            raise LaunchFailed(
                "was not counted by the hardware all the time: others use its counters too, or some of the"
                " processor's cores have another one (--count-by valgrind)"
            )
        return self.value


@dataclass(frozen=True, slots=True)
class InstructionCounter:
    """Who counts instructions."""

    event: Event | None = None  # by the hardware; None: Valgrind
    asked: CountBy = CountBy.VALGRIND
    refused: str = ""  # why the hardware does not count, where somebody asked for it

    @property
    def by_hardware(self) -> bool:
        """Whether Valgrind is not to count instructions."""
        return self.event is not None or self.asked is CountBy.HARDWARE

    def granted(self) -> Event:
        """Raises LaunchFailed where the hardware alone may count, and does not."""
        if self.event is None:
            raise LaunchFailed(f"cannot be counted by the hardware: {self.refused}")
        return self.event

    def note(self) -> str:
        """Behind a count of Valgrind's, in few words; "" where nobody asked for another one."""
        if not self.refused:
            return ""
        named = _NAMED.search(self.refused)
        return "by Valgrind, as " + (
            f"the hardware's counter is not granted {named[0]}" if named else self.refused
        )


VALGRIND_COUNTS = InstructionCounter()


def instruction_counter(asked: CountBy, preloaded: Preloaded) -> InstructionCounter:
    """Who counts on this machine."""
    if asked is CountBy.VALGRIND:
        return VALGRIND_COUNTS
    refused = refusal(INSTRUCTIONS, preloaded.launcher)
    return InstructionCounter(None if refused else INSTRUCTIONS, asked, refused)


@cache
def refusal(event: Event, launcher: Path) -> str:
    """Why an event is not counted here; "" where it is. It is tried once, on work of a known size."""
    with working_folder(None) as scratch:
        command = [*launching(event, launcher, scratch), str(launcher), "--work"]
        try:
            ended = run_command(command, own_environment(), scratch, _LIMIT_S)
            value = executed(scratch).checked()
            if ended.exit_code != 0:
                raise LaunchFailed(ended.how())
        except Refused as failure:
            return failure.reason
        except LaunchFailed as failure:
            return f"the hardware's counter failed in a trial: {launcher.name} {failure.reason}"
        if value < event.least:
            return f"the hardware's counter counts nothing here: {value:,} for work of {event.least:,}"
    return ""


def launching(event: Event, launcher: Path, scratch: Path | str) -> tuple[str, ...]:
    """Before the words of a command that is counted with all its processes."""
    return (str(launcher), f"{scratch}/executed", str(event))


def executed(scratch: Path) -> EventCount:
    """Of such a command. Raises LaunchFailed: why it was not counted."""
    try:
        text = read_report(scratch / "executed").decode("ascii", "replace").strip()
    except OSError:
        text = ""
    if match := _ERROR.fullmatch(text):
        raise Refused(why_refused(int(match[1])))
    return told(text)


def told(text: str) -> EventCount:
    """Three numbers. Raises LaunchFailed."""
    match = _COUNT.fullmatch(text)
    if match is None:
        raise LaunchFailed("the kernel's counter could not be read")
    return EventCount(*(int(number) for number in match.groups()))


def why_refused(number: int) -> str:
    """An errno of perf_event_open, with what helps."""
    name = errno.errorcode.get(number, str(number))
    if number in (errno.EACCES, errno.EPERM):
        level = _paranoid()
        if level is not None and level > 2:
            told = f"perf_event_paranoid is {level} (sudo sysctl kernel.perf_event_paranoid=2)"
        else:
            told = (
                "a container or a sandbox refuses it (docker run --cap-add PERFMON, or its seccomp profile)"
            )
    elif number in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        told = "the processor, or the virtual machine around it, offers none"
    elif number == errno.ENOSYS:
        told = "the kernel has no perf_event_open, or a sandbox hides it"
    else:
        told = os.strerror(number)
    return f"there is no hardware counter of instructions here: {told} [{name}]"


def _paranoid() -> int | None:
    try:
        return int(_PARANOID.read_text())
    except (OSError, ValueError):
        return None


def takes_rights(command: str, environment: Mapping[str, str]) -> bool:
    """Whether a program is set-uid or set-gid for us: the kernel ends counting where it takes its rights."""
    found = shutil.which(command, path=environment.get("PATH"))
    if found is None:
        return False
    status = Path(found).stat()
    others_user = status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid()
    others_group = status.st_mode & stat.S_ISGID and status.st_gid != os.getegid()
    return bool(others_user or others_group)
