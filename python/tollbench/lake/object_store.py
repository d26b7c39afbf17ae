"""Object storage as a lake needs it: whole objects, replaced only where they are what they were.

S3 and what speaks like it, Google's and Azure's, by obstore (https://developmentseed.org/obstore), whose
conditional writes Arrow's and DuckDB's file systems do not have: without them, two who write at once could
each take back what the other wrote. Credentials come from the environment (AWS_ACCESS_KEY_ID, AWS_REGION,
AWS_ENDPOINT_URL, ...) or from the machine itself; they stand nowhere else.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

from tollbench.errors import TollError
from tollbench.text import shown
from tollbench.writing.redacting import harmless, secrets_here

if TYPE_CHECKING:
    import obstore

SCHEMES: Final = ("s3://", "gs://", "az://")
REQUEST_S: Final = 30  # the longest that a small request takes, tried again or not
_LARGE_S: Final = 900  # and one with a body of up to _PIECE_BYTES or a table: a slow link takes its time
_CONNECT_S: Final = 5
_PIECE_BYTES: Final = 8 << 20
MOST_AT_ONCE_BYTES: Final = 64 << 20  # in one request; more goes in parts
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_S3_ENDPOINT")
_KEYS: Final = {
    "s3://": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (AWS_ENDPOINT_URL too for a server of"
    " your own; AWS_SKIP_SIGNATURE=true for a public bucket)",
    "gs://": "GOOGLE_APPLICATION_CREDENTIALS",
    "az://": "AZURE_STORAGE_ACCOUNT_KEY",
}


def is_object_url(text: str) -> bool:
    """Whether it names a place in object storage."""
    return text.startswith(SCHEMES)


class Changed(Exception):
    """Somebody else wrote that object meanwhile."""


class Unknown(TollError):
    """A write of which nobody can say whether it was done: its answer was lost."""


@dataclass(frozen=True, slots=True)
class Held:
    """An object that is there."""

    key: str
    size: int  # bytes
    tag: str  # another one whenever its content is
    has_tag: bool  # the store's own; else it is made of when it was written, and how large it is
    version: str | None  # the store's own number of it, where it counts them
    modified_utc: datetime


class ObjectStore:
    """The objects below one URL. Every failure is a TollError, but for `Changed`."""

    def __init__(self, url: str) -> None:
        """Raises TollError for a URL that names nothing. Nobody is asked for anything yet."""
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise TollError(
                "a lake in object storage needs obstore, which is not installed here",
                'install toll with it: pipx install "tollbench[lake]", or pip install obstore where toll is',
            ) from None
        self.url = url.rstrip("/")
        self._obstore = obstore
        _check_endpoints()

        def store(longest_s: int) -> obstore.store.ObjectStore:
            return from_url(
                self.url,
                client_options={
                    "timeout": timedelta(seconds=longest_s),
                    "connect_timeout": timedelta(seconds=_CONNECT_S),
                    "allow_http": True,  # where the user's own AWS_ENDPOINT_URL says so
                },
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=REQUEST_S)},
            )

        with self._telling("is no place that toll can read"):
            self._store, self._patient = store(REQUEST_S), store(_LARGE_S)

    def held(self, key: str) -> Held | None:
        """What is there under a key."""
        try:
            with self._telling(f"{key} cannot be read"):
                return _held(self._obstore.head(self._store, key))
        except FileNotFoundError:
            return None

    def get(self, key: str, most_bytes: int) -> tuple[bytes, Held] | None:
        """An object's content; None where it is not there. Raises TollError where it is larger."""
        try:
            with self._telling(f"{key} cannot be read"):
                found = self._obstore.get(self._store, key)
                held = _held(found.meta)
                if held.size > most_bytes:
                    raise TollError(
                        f"{self.url}/{key} has {held.size:,} bytes: more than {most_bytes:,} are not taken",
                        "toll writes no such object: restore it from a copy",
                    )
                return bytes(found.bytes()), held
        except FileNotFoundError:
            return None

    def copy(self, held: Held, sink: BinaryIO) -> None:
        """Writes the content of an object that was listed to `sink`, piece by piece: none takes for long.

        Raises Changed where it is not that one any more.
        """
        try:
            for start in range(0, held.size, _PIECE_BYTES):
                options: obstore.GetOptions = {"range": (start, min(held.size, start + _PIECE_BYTES))}
                if held.has_tag:
                    options["if_match"] = held.tag
                with self._telling(f"{held.key} cannot be read"):
                    sink.write(self._obstore.get(self._patient, held.key, options=options).bytes())
        except (FileNotFoundError, self._obstore.exceptions.PreconditionError):
            raise Changed(held.key) from None

    def put(self, key: str, content: bytes, over: Held | None, *, patient: bool = False) -> Held:
        """Writes where nothing was (`over` None), or over what it was; raises Changed where it is not so.

        An answer that was lost, or that a second try made of the first one's success, is looked up: what is
        there then tells. Raises Unknown where that cannot be known either.
        """
        kinds = self._obstore.exceptions
        mode: Literal["create"] | obstore.UpdateVersion = "create" if over is None else _version(over)
        store = self._patient if patient else self._store
        try:
            with self._telling(f"{key} cannot be written"):
                done = self._obstore.put(store, key, content, mode=mode, use_multipart=False)
        except (kinds.AlreadyExistsError, kinds.PreconditionError, FileNotFoundError):
            if (ours := self._ours(key, content)) is not None:
                return ours
            raise Changed(key) from None
        except TollError as error:
            if (ours := self._ours(key, content)) is not None:
                return ours
            raise Unknown(error.what, error.next_step) from None
        tag = done["e_tag"] or ""
        return Held(key, len(content), tag, bool(tag), done["version"], datetime.now(UTC))

    def _ours(self, key: str, content: bytes) -> Held | None:
        """What is there, if it is what we wrote. Raises Unknown where it cannot be read."""
        sink = io.BytesIO()
        try:
            there = self.held(key)
            if there is None or there.size != len(content):
                return None
            self.copy(there, sink)
        except Changed:
            return None
        except TollError as error:
            raise Unknown(error.what, error.next_step) from None
        return there if sink.getvalue() == content else None

    def put_in_parts(self, key: str, path: Path) -> None:
        """Writes a file's content, whatever was there: all of it or nothing is seen."""
        with self._telling(f"{key} cannot be written"):
            self._obstore.put(self._patient, key, path, max_concurrency=2)

    def listed(self, below: str = "") -> Iterator[Held]:
        """What is there below a folder's name."""
        with self._telling("cannot be listed"):
            for page in self._obstore.list(self._store, prefix=below or None):
                yield from map(_held, page)

    def delete(self, keys: Iterable[str]) -> None:
        """Removes them; what is not there any more is none of its errors.

        Where a store knows no request for many, the first one that is not there ends it for those behind.
        """
        if names := list(keys):
            with self._telling(f"{names[0]} cannot be removed"):
                try:
                    self._obstore.delete(self._store, names)
                except FileNotFoundError:
                    for name in names:
                        with suppress(FileNotFoundError):
                            self._obstore.delete(self._store, name)

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        kinds = self._obstore.exceptions
        try:
            yield
        except (kinds.AlreadyExistsError, kinds.PreconditionError):
            raise
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise self._told("names no bucket", error) from None
            raise
        except (kinds.BaseError, ValueError) as error:
            raise self._told(what, error) from None
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # obstore's, for what its own checks have not seen
                raise self._told(what, RuntimeError(str(error))) from None
            raise

    def _told(self, what: str, error: Exception) -> TollError:
        """A sentence without keys: what a server answers may hold them."""
        kinds = self._obstore.exceptions
        scheme = next((each for each in SCHEMES if self.url.startswith(each)), SCHEMES[0])
        refused = isinstance(error, kinds.PermissionDeniedError | kinds.UnauthenticatedError)
        if refused or "credential" in str(error).lower() or "169.254.169.254" in str(error):
            return TollError(f"{self.url} {what}: access was refused", f"set {_KEYS[scheme]}")
        first = " ".join(str(error).split())
        said = shown(str(harmless(first, secrets_here())), 300)
        return TollError(
            f"{self.url} {what}: {said}", "look at the address and the network, and type the command again"
        )


def _check_endpoints() -> None:
    """Raises TollError for an address that is none: what makes requests of it stops the process."""
    for name in _ENDPOINTS:
        if (value := os.environ.get(name)) and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", value):
            raise TollError(
                f"{name} is no address of a server", f"write it with http: {name}=https://HOST:PORT"
            )


def _held(meta: obstore.ObjectMeta) -> Held:
    tag = meta["e_tag"] or f"{meta['last_modified'].isoformat()} {meta['size']}"
    return Held(meta["path"], meta["size"], tag, bool(meta["e_tag"]), meta["version"], meta["last_modified"])


def _version(over: Held) -> obstore.UpdateVersion:
    known: obstore.UpdateVersion = {}  # what is absent may not be told as None
    if over.has_tag:
        known["e_tag"] = over.tag
    if over.version is not None:
        known["version"] = over.version
    return known
