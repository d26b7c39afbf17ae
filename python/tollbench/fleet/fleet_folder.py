"""A fleet's run on the disk: a folder with one journal, and a result a host.

    FOLDER/fleet.journal  the request; then a line whenever a host's row changes, the last one counts
    FOLDER/HOST.toll      its run file (of a comparison HOST.jsonl); HOST+2.toll of a second attempt: no
                          host's name has a plus, so that none of these is another host's

The journal is only added to, and held by whoever measures. A kill loses the line in flight, which a reader
passes over; so it does a line of one host that is not sound, which costs the others nothing.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tollbench.errors import REFUSALS, TollError
from tollbench.fleet.fleets import FleetRun, HostName, HostRow, Identity, Text
from tollbench.fleet.hosts import MOST_HOSTS, AccessWord, Engine, Host, KindWord, RemotePath, SshWord, shares
from tollbench.text import shown
from tollbench.writing import open_again, open_new

JOURNAL = "fleet.journal"
_MOST_LINE_BYTES = 8 << 20
_PASSED_OVER = "a line of the journal on it is not sound, and was passed over"


Word = Annotated[str, Field(max_length=100_000)]  # of a command: what builds a program may be long


class StoredHost(BaseModel):
    """A host as it was asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: HostName
    ssh: Literal[""] | SshWord
    python: RemotePath
    toll: Literal[""] | RemotePath
    engine: Engine
    access: tuple[AccessWord, ...]
    kind: KindWord = ""

    def host(self) -> Host:
        """As the engine takes it."""
        return Host(**self.model_dump())


class FleetRequest(BaseModel):
    """The first line of a journal: what `--resume` needs to ask again for what is missing."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    toll_fleet: Literal[1] = 1
    run: Identity
    kind: Literal["run", "compare"]
    words: Annotated[tuple[Word, ...], Field(max_length=1_000)]
    revisions: tuple[Text, ...] = ()  # of a comparison: commits, as they were resolved
    spread: bool = False  # of a comparison: hosts of one kind share the benchmarks
    repository: Text = ""
    limit_s: float = Field(gt=0.0, allow_inf_nan=False)
    wait_s: float = Field(ge=0.0, allow_inf_nan=False)
    setup_s: float = Field(default=1200.0, gt=0.0, allow_inf_nan=False)
    ssh_config: Text = ""
    sources: Text  # home.fingerprint of the toll that is sent
    version: Text
    hosts: Annotated[tuple[StoredHost, ...], Field(max_length=MOST_HOSTS)]

    def host(self, name: str) -> Host:
        """One of its hosts."""
        (found,) = (host for host in self.hosts if host.name == name)
        return found.host()

    @property
    def threshold(self) -> float:
        """Of a comparison, as its hosts were told it."""
        told = dict(zip(self.words[1::2], self.words[2::2], strict=False)).get("--threshold", "")
        with suppress(ValueError):
            if 0.0 < (found := float(told)) < 10.0:
                return found
        return 0.01  # what it is where nothing is said

    def shares(self) -> dict[str, tuple[int, int]]:
        """As `hosts.shares`; empty where every host compares everything."""
        return shares([host.host() for host in self.hosts]) if self.spread else {}


@dataclass
class FleetFolder:
    """One fleet's run; open for adding where `journal` is given."""

    path: Path
    request: FleetRequest
    rows: dict[str, HostRow]
    journal: BinaryIO | None = None
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def create(cls, path: Path, request: FleetRequest) -> Self:
        """A new one. Raises TollError where the folder is there, or cannot be made."""
        try:
            path.mkdir(parents=True)
            journal = open_new(path / JOURNAL)
        except FileExistsError:
            raise TollError(
                f"{path} is there already", f"name another: --output NAME; or go on: --resume {path}"
            ) from None
        except OSError as error:
            raise _cannot_write(path, error) from None
        folder = cls(path, request, {host.name: HostRow(host=host.name) for host in request.hosts}, journal)
        folder._add(request.model_dump(mode="json"))
        return folder

    @classmethod
    def read(cls, path: Path) -> Self:
        """What is known by now; somebody may be measuring. Raises TollError."""
        try:
            content = (path / JOURNAL).read_bytes()
        except OSError as error:
            raise _no_fleet(path, error) from None
        return cls(path, *_parsed(path, content))

    @classmethod
    def resume(cls, path: Path) -> Self:
        """The same, held: nobody else goes on with it. Raises TollError where somebody does."""
        try:
            journal = open_again(path / JOURNAL)
        except BlockingIOError:
            raise TollError(
                f"another toll goes on with {path} now",
                f"wait for its end; see how far it is: toll fleet status {path}",
            ) from None
        except OSError as error:
            raise _no_fleet(path, error) from None
        if os.fstat(journal.fileno()).st_uid != os.geteuid():
            journal.close()
            raise TollError(
                f"{path / JOURNAL} is another user's: going on with it would run what it says, as you",
                "have its owner go on with it; toll fleet status shows it to anybody",
            )
        content = journal.read()
        if content and not content.endswith(b"\n"):  # a kill cut the last line
            journal.truncate(content.rfind(b"\n") + 1)
            journal.seek(0, 2)
        return cls(path, *_parsed(path, content), journal)

    def set(self, row: HostRow) -> None:
        """A host's row from now on. Raises TollError where it cannot be written."""
        row = _readable(row)
        with self._one_at_a_time:
            self.rows[row.host] = row
            self._add(row.model_dump(mode="json", exclude_defaults=True))

    def _add(self, record: Mapping[str, Any]) -> None:
        assert self.journal is not None
        line = json.dumps(record).encode() + b"\n"
        before = self.journal.tell()
        try:
            if self.journal.write(line) != len(line):  # the disk took a part of it
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            with suppress(OSError):  # half a line would be in the way of the next one
                self.journal.truncate(before)
                self.journal.seek(before)
            raise _cannot_write(self.path / JOURNAL, error) from None

    def close(self) -> None:
        """Nobody holds it any more."""
        if self.journal is not None:
            self.journal.close()

    def found(self) -> FleetRun:
        """All rows, in the order of the hosts."""
        rows = tuple(self.rows[host.name] for host in self.request.hosts)
        return FleetRun(run=self.request.run, folder=str(self.path), hosts=rows)


def _parsed(path: Path, content: bytes) -> tuple[FleetRequest, dict[str, HostRow]]:
    lines = content.split(b"\n")[:-1]  # what stands behind the last line's end was cut by a kill
    if not lines:
        raise TollError(f"{path / JOURNAL} is empty", "nothing was sent yet: start anew")
    try:
        request = FleetRequest.model_validate_json(lines[0][:_MOST_LINE_BYTES])
        rows = {host.name: HostRow(host=host.name) for host in request.hosts}
        for line in lines[1:]:
            row = _row(line[:_MOST_LINE_BYTES], rows)
            if row.host in rows:
                rows[row.host] = row
    except ValidationError as error:
        said = error.errors(include_url=False)[0]
        where = ".".join(map(str, said["loc"]))
        raise TollError(
            f"{path / JOURNAL} is not sound: {where} {shown(str(said['msg']))}",
            "ask whoever made it for a new copy, or measure again",
        ) from None
    return request, rows


def _row(line: bytes, rows: Mapping[str, HostRow]) -> HostRow:
    """A line's row; of one that is not sound the host's row before it, which says so from now on.

    Raises ValidationError for a line that names no host of the fleet.
    """
    try:
        return HostRow.model_validate_json(line)
    except ValidationError:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        name = told.get("host") if isinstance(told, dict) else None
        if not isinstance(name, str) or name not in rows:
            raise
        notes = (*rows[name].notes, _PASSED_OVER)
        return rows[name].model_copy(update={"notes": tuple(dict.fromkeys(notes))})


def _readable(row: HostRow) -> HostRow:
    """The row as it can be read again: `model_copy` checks nothing, and hosts say what they like.

    Of one that cannot, what a later start needs.
    """
    try:
        return HostRow.model_validate(row.model_dump())
    except ValidationError as error:
        field = error.errors(include_url=False)[0]["loc"][0]
        return HostRow(
            host=row.host, status=row.status, run=row.run, attempt=row.attempt, file=row.file,
            sources=row.sources, reason=f"its {field} cannot be kept, and the rest of its row was left out",
        )  # fmt: skip


def _no_fleet(path: Path, error: OSError) -> TollError:
    return TollError(
        f"there is no fleet's run in {path}: {error.strerror or error}",
        "name the folder that `toll fleet run` made: runs/NAME",
    )


def _cannot_write(path: Path, error: OSError) -> TollError:
    helps = REFUSALS.get(error.errno or 0, "")
    return TollError(
        f"cannot write {path}: {error.strerror or error}", "; ".join(filter(None, (helps, "--output NAME")))
    )
