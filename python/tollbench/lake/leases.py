"""One at a time over machines, where the only thing they share is object storage.

A lease is an object that its holder writes anew every so often. Who waits and sees the same one for longer
than `LEASE_S` takes it over: the holder was killed or lost its network. Each waiter measures that by its own
clock, so that no two machines' clocks are compared. A holder that is late by so much finds out when it writes
the next time, and ends. Nothing hangs on a lease but waiting: whatever decides is written conditionally
(`ObjectStore.put`), so that two holders would get in each other's way and not spoil each other's work.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final

from tollbench.errors import TollError
from tollbench.lake.object_store import REQUEST_S, Changed, Held, ObjectStore

RENEWED_S: Final = 15.0
LEASE_S: Final = 180.0  # more than a renewal and all requests that may be under way
LEFT_S: Final = 3600.0  # from then on, by this machine's clock, who does not wait takes it over as well
_LOOKED_S: Final = 1.0
OnWait = Callable[[str], None]


class Lease:
    """Held while its block runs."""

    def __init__(self, store: ObjectStore, held: Held) -> None:
        self._store, self._held = store, held
        self._renewed_s, self._lost = _now_s(), False
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def check(self) -> None:
        """Raises TollError where it is not ours any more."""
        if self._lost or _now_s() - self._renewed_s > LEASE_S - 2 * REQUEST_S:
            raise TollError(
                f"{self._store.url} was out of reach for so long that another toll may go on with it",
                "type the command again: what is there already is passed over",
            )

    def end(self) -> None:
        """Gives it back, where it is ours."""
        self._ended.set()
        self._renewing.join()
        with suppress(TollError):
            self.check()
            there = self._store.held(self._held.key)
            if there is not None and there.tag == self._held.tag:
                self._store.delete([self._held.key])

    def _renew(self) -> None:
        token = _token()
        while not self._ended.wait(RENEWED_S):
            try:
                began_s = _now_s()
                # The same until it is known to be there: a put whose answer was lost is known by it.
                self._held = self._store.put(self._held.key, token, self._held)
                self._renewed_s, token = began_s, _token()
            except Changed:
                self._lost = True
                return
            except TollError:  # the network: `check` knows for how long
                continue


@contextmanager
def lease(store: ObjectStore, key: str, *, wait: bool, on_wait: OnWait) -> Iterator[Lease]:
    """Raises BlockingIOError where somebody else has it and `wait` is false, and TollError of the store."""
    held = Lease(store, _taken(store, key, wait=wait, on_wait=on_wait))
    try:
        yield held
    finally:
        held.end()


def _taken(store: ObjectStore, key: str, *, wait: bool, on_wait: OnWait) -> Held:
    seen, since_s = "", _now_s()
    while True:
        there = store.held(key)
        if there is None or (not wait and _is_left(there)):
            left = True
        elif not wait:
            raise BlockingIOError(key)
        elif there.tag != seen:
            if not seen:
                on_wait(f"another toll is at work in {store.url}: waiting for it")
            seen, since_s, left = there.tag, _now_s(), False
        else:
            left = _now_s() - since_s > LEASE_S
        if left:
            with suppress(Changed):
                return store.put(key, _token(), there)
        else:
            time.sleep(_LOOKED_S)


def _is_left(there: Held) -> bool:
    return (datetime.now(UTC) - there.modified_utc).total_seconds() > LEFT_S


def _now_s() -> float:
    """By a clock that goes on while a machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _token() -> bytes:
    return secrets.token_hex(16).encode()
