"""Counts that are kept in a file and compared with later: counts alone, as a time belongs to its hour.

The file may be a stranger's: it is checked before it is used.
"""

from __future__ import annotations

import hashlib
import os
import re
import select
import stat
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tollbench.compare.counters import INSTRUCTIONS, Amount, Counter, Reading
from tollbench.compare.subject import Side
from tollbench.counting.hardware import HARDWARE, VALGRIND, InstructionCounter
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.loaded import loaded
from tollbench.counting.sizes import sizes
from tollbench.errors import TollError
from tollbench.launching.command import run_command
from tollbench.launching.failure import LaunchFailed

MOST_BYTES = 64 << 20
_PATIENCE_S = 5.0  # for who writes into a pipe
WHY_NO_TIMES = (
    "Times are not compared with a stored baseline: a time belongs to its hour, its machine and where the"
    " linker put the code. Compare both builds side by side for that."
)
Exact = Annotated[str, StringConstraints(pattern=r"^-?\d{1,30}(/[1-9]\d{0,30})?$")]
Text = Annotated[str, StringConstraints(max_length=10_000)]


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class KeptCount(_Kept):
    """What every launch gave, as fractions; or why there is nothing."""

    per: Text = ""
    note: Text = ""
    by: Text = ""  # who counted, where that may be one of two; files of earlier versions: Valgrind
    values: Annotated[tuple[Exact, ...], Field(max_length=1000)] = ()
    failed: Text = ""


class Circumstances(_Kept):
    """What counts may depend on besides the source."""

    cpu: Text = ""
    valgrind: Text = ""
    compilers: tuple[Text, ...] = ()
    libraries: dict[Text, Text] = {}  # name -> build id, or a digest of the content
    words: Text = ""  # digest of the arguments, which may hold a secret; older files have none


class Baseline(_Kept):
    """The counts of one side."""

    toll_baseline: Literal[1] = 1
    toll_version: Text = ""
    side: Text = ""
    kind: Text
    made_utc: Text = ""
    circumstances: Circumstances
    counts: dict[Text, dict[Text, KeptCount]]
    parts: dict[Text, Annotated[int, Field(ge=0, lt=2**63)]] = {}  # of the executable, bytes


def read(path: Path) -> Baseline:
    """Raises TollError for a file that is no baseline, and for a pipe that nobody writes into."""
    try:
        content = _content(path)
        if len(content) > MOST_BYTES:
            raise TollError(f"{path} is larger than {MOST_BYTES >> 20} MiB: it is no baseline", _NEXT)
        return Baseline.model_validate_json(content)
    except OSError as error:
        raise TollError(f"cannot read the baseline {path}: {error.strerror}", _NEXT) from None
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "JSON"
        raise TollError(f"{path} is no baseline that toll can read: impossible {place}", _NEXT) from None


def _content(path: Path) -> bytes:
    """All of a file, or enough to see that it is too much: a pipe may have no writer, a device no end."""
    found, begun = bytearray(), time.monotonic()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        is_pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
        while len(found) <= MOST_BYTES:
            left = _PATIENCE_S - (time.monotonic() - begun)
            if left <= 0 or not select.select([file], [], [], left)[0]:
                raise TollError(f"nothing more came out of {path} for {_PATIENCE_S:.0f} s", _NEXT)
            if part := file.read(1 << 20):
                found, begun = found + part, time.monotonic()
            elif is_pipe and not found:
                time.sleep(0.02)  # nobody has opened the other end yet
            else:
                break
    return bytes(found)


_NEXT = "make one: toll compare ./bench --count instructions --save-baseline FILE"


def kept(readings: Mapping[str, Sequence[Reading]]) -> dict[str, dict[str, KeptCount]]:
    """What was read of one side, by benchmark."""
    found: dict[str, dict[str, KeptCount]] = {}
    for name, each in readings.items():
        metrics = dict.fromkeys(metric for reading in each for metric in reading)
        found[name] = {metric: _kept([one[metric] for one in each if metric in one]) for metric in metrics}
    return found


def _kept(amounts: Sequence[Amount | str]) -> KeptCount:
    if reasons := [each for each in amounts if isinstance(each, str)]:
        return KeptCount(failed=reasons[0])
    told = [each for each in amounts if isinstance(each, Amount)]
    return KeptCount(
        per=told[0].per, note=told[0].note, by=told[0].by, values=tuple(str(each.value) for each in told)
    )


@dataclass
class AgainstBaseline:
    """Reads the first side from the file, and the other one by launching it."""

    baseline: Baseline
    counter: Counter
    _made: dict[str, int] = field(default_factory=dict)

    @property
    def who(self) -> InstructionCounter:
        """Counts the other side's instructions."""
        return self.counter.who

    def read(self, side: int, name: str, metrics: Set[str]) -> Reading:
        """Of one side."""
        if side:
            return self.counter.read(side, name, metrics)
        made = self._made.get(name, 0)
        self._made[name] = made + 1
        stored = self.baseline.counts.get(name, {})
        return {metric: _amount(metric, stored.get(metric), made) for metric in metrics if metric != "size"}


def counted_by(baseline: Baseline) -> str:
    """Who counted its instructions: hardware or valgrind; "" where nobody did, or both."""
    stored = [counts[INSTRUCTIONS] for counts in baseline.counts.values() if INSTRUCTIONS in counts]
    found = {_by(INSTRUCTIONS, each) for each in stored if each.values}
    return found.pop() if len(found) == 1 and found <= {HARDWARE, VALGRIND} else ""


def _by(metric: str, stored: KeptCount) -> str:
    return stored.by or (VALGRIND if metric == INSTRUCTIONS else "")


def _amount(metric: str, stored: KeptCount | None, launch: int) -> Amount | str:
    if stored is None:
        return "has no such count: it was not asked for when it was saved"
    if stored.failed or not stored.values:
        return f"could not count it when it was saved: {stored.failed or 'nothing was told'}"
    value = Fraction(stored.values[launch % len(stored.values)])
    again = launch >= len(stored.values) and len(set(stored.values)) > 1
    return Amount(value, stored.per, stored.note, _by(metric, stored), again=again)


def circumstances(side: Side, cpu: str) -> Circumstances:
    """Of one side on this machine; what cannot be found out is empty."""
    path = Path(side.command[0])
    try:
        compilers = sizes(path).compilers
        libraries = {
            name: _identity(library) for name, library in loaded(Image(path), side.environment).items()
        }
    except Unreadable:
        compilers, libraries = (), {}
    words = hashlib.blake2b("\0".join(side.command[1:]).encode(errors="surrogateescape"), digest_size=10)
    return Circumstances(
        cpu=cpu, valgrind=_valgrind(), compilers=compilers, libraries=libraries, words=words.hexdigest()
    )


def differences(then: Circumstances, now: Circumstances) -> Iterator[str]:
    """A sentence for each circumstance that is another one."""
    for what, before, after in (
        ("processor", then.cpu, now.cpu),
        ("Valgrind", then.valgrind, now.valgrind),
        ("compiler", ", ".join(then.compilers), ", ".join(now.compilers)),
    ):
        if before != after:
            yield (
                f"The {what} is another one than the baseline's ({before or 'unknown'}, now"
                f" {after or 'unknown'}): a difference may come from that."
            )
    if then.words and now.words and then.words != now.words:
        yield "The arguments are other ones than the baseline's: what is counted may be other work."
    names = [
        name
        for name in dict.fromkeys((*then.libraries, *now.libraries))
        if then.libraries.get(name) != now.libraries.get(name)
    ]
    if names:
        yield (
            f"Libraries are other ones than the baseline's ({', '.join(names)}): a difference may come from"
            " that."
        )


def _identity(library: Path) -> str:
    try:
        return sizes(library).build_id or hashlib.blake2b(library.read_bytes(), digest_size=20).hexdigest()
    except (Unreadable, OSError):
        return ""


def _valgrind() -> str:
    try:
        ended = run_command(
            ["valgrind", "--version"], {"PATH": "/usr/local/bin:/usr/bin:/bin"}, Path("/"), 20.0
        )
    except LaunchFailed:
        return ""
    found = re.search(rb"valgrind-\S+", ended.stdout)
    return found[0].decode() if found else ""
