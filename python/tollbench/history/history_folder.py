"""Where a history lies: a folder with a file for each session of measuring, and the built reference.

    FOLDER/measured-DATE.jsonl    a line a commit; only ever made anew and added to
    FOLDER/reference-COMMIT/      the checkout that commits are measured against, and `reference.json`
    FOLDER/reference-COMMIT-.../  the same commit as another command built it
    FOLDER/lock                   held by whoever measures

A session's file is never opened again for writing, so that nothing in it can be lost by a later one; a kill
loses the line in flight, which a reader passes over. Files may come from a stranger: every line is checked.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tollbench.compare.revisions import RevisionBuild, built, side_in
from tollbench.compare.sides import WrittenSide, can_run
from tollbench.errors import TollError
from tollbench.history.commit_range import Commit
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import show_inside
from tollbench.text import several, shown
from tollbench.writing import delete_tree, write_own

_Hash = Annotated[str, Field(pattern="^[0-9a-f]{7,64}$")]
_Text = Annotated[str, Field(max_length=20_000)]
# Within what sums, squares and quotients of them stay finite, and far beyond what is measured.
_Ratio = Annotated[float, Field(ge=1e-9, le=1e9)]
_Time = Annotated[float, Field(ge=1e-6, le=1e18)]
_Size = Annotated[float, Field(ge=0.0, le=100.0)]
_Instant = Annotated[
    str,
    Field(
        pattern=r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d[.\d]{0,10}(Z|[+-]\d\d:\d\d)$"
    ),
]
# Of a commit and a benchmark: ratio to the reference, both ends of its interval, pairs, standard error of the
# ratio's logarithm, ns an operation of the reference and of the commit.
MeasuredPoint = tuple[_Ratio, _Ratio | None, _Ratio | None, Annotated[int, Field(ge=1)], _Size, _Time, _Time]
_MOST_BYTES = 1 << 31  # of a session's file
NOTE = "reference.json"
_UNTRUSTED = ConfigDict(frozen=True, extra="ignore")


class SessionHeader(BaseModel):
    """The first line of a session's file."""

    model_config = _UNTRUSTED
    toll_history: Literal[1]
    started_utc: _Instant
    reference: _Hash
    reference_digest: _Text  # SHA-256 of its program
    machine: dict[str, Any]
    build: _Text = ""
    program: _Text = ""
    kind: _Text = ""
    read: _Text = ""
    folder: _Text = ""
    sandbox: _Text = ""
    filter: _Text = ""  # which benchmarks were asked for; "": all
    environment: dict[_Text, _Text] = Field(default_factory=dict)  # BUILD_VARIABLES that were set


class MeasuredCommit(BaseModel):
    """One commit beside the reference; no points and a reason: it could not be measured."""

    model_config = _UNTRUSTED
    commit: _Hash
    tree: _Hash
    points: dict[_Text, MeasuredPoint] = Field(default_factory=dict)
    failed: dict[_Text, _Text] = Field(default_factory=dict)  # benchmark -> reason
    lacks: tuple[_Text, ...] = ()  # benchmarks that the reference has and it has not
    new: tuple[_Text, ...] = ()  # benchmarks that it has and the reference has not
    unbuilt: _Text = ""
    build: _Text = ""  # of --build @FILE the command that built it
    group: int = 0  # of the session: commits that were measured in turns with each other
    shared: dict[_Text, _Size] = Field(default_factory=dict)  # what a group shares of a point's error
    beside: _Text = (
        ""  # another reference than the session's, which has these benchmarks; its program's digest
    )
    beside_digest: _Text = ""


class MeasuredControl(BaseModel):
    """What the reference measured against itself, beside a group: benchmark -> ratio and interval."""

    model_config = _UNTRUSTED
    control: dict[_Text, tuple[_Ratio, _Ratio | None, _Ratio | None]]
    commits: tuple[_Hash, ...]


_LINE: TypeAdapter[MeasuredCommit | MeasuredControl] = TypeAdapter(MeasuredCommit | MeasuredControl)


@dataclass(frozen=True, slots=True)
class HistorySession:
    """One file, as far as it can be read."""

    path: Path
    header: SessionHeader
    commits: tuple[MeasuredCommit, ...]
    controls: tuple[MeasuredControl, ...]
    damaged: tuple[int, ...]  # numbers of lines that are none, but for a last one that was cut


@dataclass(frozen=True, slots=True)
class HistoryFolder:
    """One history."""

    path: Path

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Held against others, who would measure the same commits. Raises TollError where it is held."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = os.open(self.path / "lock", flags, 0o666)
        except OSError as error:
            raise TollError(
                f"the history cannot be kept in {self.path}: {error.strerror}",
                "name another folder: --into FOLDER",
            ) from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TollError(
                    f"another toll history measures into {self.path}",
                    "wait for its end, or name another folder: --into FOLDER",
                ) from None
            except OSError as error:  # ENOLCK and the like, of network file systems
                raise TollError(
                    f"the folder {self.path} cannot be held against others: {error.strerror}",
                    "name one on a file system with locks: --into FOLDER",
                ) from None
            yield
        finally:
            os.close(lock)

    def sessions(self, note: Callable[[str], None] = lambda _sentence: None) -> list[HistorySession]:
        """All that was measured, in order of time; `note` hears of what a file lacks.

        Raises TollError for a file that is none of a history.
        """
        found = [_read(path, note) for path in sorted(self.path.glob("measured-*.jsonl"))]
        return sorted((one for one in found if one is not None), key=lambda one: one.header.started_utc)

    def kept_reference(self, commit: Commit, recipe: RevisionBuild) -> tuple[WrittenSide, str] | None:
        """The reference as it was built before, and its program's digest; None where it is not there.

        Raises TollError for one that is a link, or that another user has made: it is not launched.
        """
        folder, checkout = self._of(commit, recipe), self._checkout(commit, recipe)
        self._check_own(folder, checkout, _file_of(checkout, recipe.program))
        known = _noted(folder)
        if known is None or not known.is_of(commit, recipe):
            return None
        if _digest(checkout, recipe.program) != known.digest:
            return None
        show_inside(folder)
        return self._side(commit, recipe), known.digest

    def build_reference(
        self, repository: Path, commit: Commit, recipe: RevisionBuild, interrupt: Interrupt | None
    ) -> tuple[WrittenSide, str]:
        """Builds it into the folder, where it stays. Raises TollError where it does not build."""
        try:
            folder = self._of(commit, recipe)
            self._check_own(folder)
            delete_tree(folder)
            folder.mkdir()
            built(repository, [commit.revision], recipe, folder, interrupt=interrupt)
            digest = _digest(self._checkout(commit, recipe), recipe.program)
            known = _KeptReference(
                commit=commit.commit, build=recipe.build, program=recipe.program, digest=digest
            )
            write_own(folder / NOTE, known.model_dump_json())
        except LaunchFailed as failure:
            raise TollError(
                failure.reason,
                "the reference has to build: name another one with --reference, or mend --build",
            ) from None
        except OSError as error:
            raise TollError(
                f"the reference cannot be built in {self.path}: {error.strerror}",
                "make room on that disk, or name another folder: --into FOLDER",
            ) from None
        return self._side(commit, recipe), digest

    def _check_own(self, folder: Path, *within: Path) -> None:
        """Raises TollError where it is no folder of this user's own; what is not there is fine."""
        try:
            found = folder.lstat()
        except FileNotFoundError:
            return
        except OSError as error:
            raise TollError(
                f"cannot read {folder}: {error.strerror}", "look at the folder's rights"
            ) from None
        told = shown(str(folder))
        other = "remove it, and the reference is built anew, or name another history: --into FOLDER"
        if not stat.S_ISDIR(found.st_mode):
            raise TollError(f"{told} is no folder but a link or a file, where a reference is built", other)
        for place in (folder, *within):
            with suppress(FileNotFoundError, NotADirectoryError):
                owners = {place.lstat().st_uid, place.stat().st_uid}
                if not owners <= {os.geteuid(), 0}:
                    told = shown(str(place))
                    raise TollError(f"{told} was made by another user, and is not launched", other)

    def _of(self, commit: Commit, recipe: RevisionBuild) -> Path:
        """Beside one that another command built: that one cannot be made again where it is lost, and all that
        was measured beside it is of no use then."""
        usual = self.path / f"reference-{commit.commit[:10]}"
        known = _noted(usual)
        if known is None or known.is_of(commit, recipe):
            return usual
        mark = hashlib.blake2b(f"{commit.commit}\0{recipe.build}\0{recipe.program}".encode(), digest_size=5)
        return usual.with_name(f"{usual.name}-{mark.hexdigest()}")

    def _checkout(self, commit: Commit, recipe: RevisionBuild) -> Path:
        return self._of(commit, recipe) / f"0-{commit.commit[:10]}"

    def _side(self, commit: Commit, recipe: RevisionBuild) -> WrittenSide:
        checkout = self._checkout(commit, recipe)
        return side_in(checkout, recipe, f"reference {commit.short}")


class _KeptReference(BaseModel):
    """What was built."""

    commit: str
    build: str
    program: str
    digest: str

    def is_of(self, commit: Commit, recipe: RevisionBuild) -> bool:
        """Whether it is this commit, by this command."""
        mine = (self.commit, self.build, self.program)
        return mine == (commit.commit, recipe.build, recipe.program)


def _noted(folder: Path) -> _KeptReference | None:
    """What was built there; None where that is not known."""
    try:
        return _KeptReference.model_validate_json(_content(folder / NOTE))
    except (TollError, ValidationError):
        return None


def _digest(checkout: Path, program: str) -> str:
    """Of the file that the program's first word names; "" where that is none in the checkout."""
    try:
        word = first_word(program)
        file = checkout / word
        if word and "/" not in word and not can_run(file):
            file = Path(shutil.which(word) or file)
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return ""


def first_word(program: str) -> str:
    """What --program starts, without its words; "" where there is none."""
    try:
        words = shlex.split(program)
    except ValueError:  # a quote that nothing ends: a shell will say so
        words = program.split()
    return words[0] if words else ""


def _file_of(checkout: Path, program: str) -> Path:
    """The program within the checkout; the checkout itself for one that is found elsewhere."""
    word = first_word(program)
    return checkout / word if "/" in word and not word.startswith("/") else checkout


def _read(path: Path, note: Callable[[str], None]) -> HistorySession | None:
    """None for a file that a full disk or a crash left without a letter.

    Raises TollError where it does not begin as a session does, or cannot be read.
    """
    content = _content(path)
    name = shown(path.name)
    if not content.strip(b"\0\r\n \t"):
        note(f"{name} is empty, as after a full disk or a crash of the machine: passed over")
        return None
    lines = content.splitlines(keepends=True)
    try:
        header = SessionHeader.model_validate_json(lines[0])
    except ValidationError:
        raise TollError(
            f"{shown(str(path))} is no session of a history, or of a newer toll",
            "move it out of the folder; toll changes and removes no session",
        ) from None
    commits: list[MeasuredCommit] = []
    controls: list[MeasuredControl] = []
    damaged: list[int] = []
    for number, line in enumerate(lines[1:], 2):
        try:
            found = _LINE.validate_json(line)
        except ValidationError:
            if number < len(lines) or line.endswith(b"\n"):  # else what a kill left of a line
                damaged.append(number)
            continue
        (commits if isinstance(found, MeasuredCommit) else controls).append(found)  # type: ignore[arg-type]
    if damaged:
        note(
            f"{name}: {several(len(damaged), 'damaged line')} passed over, line {damaged[0]} first;"
            " the commits of it count as not measured there"
        )
    return HistorySession(path, header, tuple(commits), tuple(controls), tuple(damaged))


def _content(path: Path) -> bytes:
    """Of a file, and of nothing that only looks like one. Raises TollError."""
    told = shown(str(path))
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise TollError(f"{told} is no file", "move it out of the folder")
            if found.st_size > _MOST_BYTES:
                raise TollError(f"{told} is larger than a session can be", "move it out of the folder")
            return file.read()
    except OSError as error:
        raise TollError(f"cannot read {told}: {error.strerror}", "look at the folder's rights") from None


# What compilers and build tools heed: another one builds another program.
BUILD_VARIABLES = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS")

# What a history cannot go on from: the same ratio means another thing there. Not the kernel: both run on it.
_SAME = (
    *("cpu", "architecture", "cpus", "packages", "cores", "threads_per_core", "usable_cpus"),
    *("caches", "virtualization", "libc", "compilers"),
)


def machine_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What is another machine, or built by other compilers, in words; "" where it is the same."""
    changed = [key for key in _SAME if before.get(key) != now.get(key)]
    return ", ".join(key.replace("_", " ") for key in changed)


def build_environment() -> dict[str, str]:
    """Those of BUILD_VARIABLES that are set."""
    return {name: os.environ[name] for name in BUILD_VARIABLES if os.environ.get(name)}


def log_median(ratios: list[float]) -> float:
    """Of ratios, the middle one's logarithm; 0 for none."""
    logs = sorted(map(math.log, ratios))
    if not logs:
        return 0.0
    middle = len(logs) // 2
    return logs[middle] if len(logs) % 2 else (logs[middle - 1] + logs[middle]) / 2.0
