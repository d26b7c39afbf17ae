"""Hosts looked at before anything is sent: who answers, with what, and which names lead to one host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tollbench.fleet.contact import Contact, NoContact
from tollbench.fleet.fleets import HostFacts, HostStatus
from tollbench.fleet.hosts import Host

AT_ONCE = 32  # ssh processes
CLOCKS_DIFFER_S = 5.0
LEAST_FREE_MB = 8.0  # for toll and what it writes; building takes more


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of a host now."""

    host: Host
    facts: HostFacts | None = None  # None: it does not answer, or is not asked
    reason: str = ""  # why it gets no job; empty: it gets one
    notes: tuple[str, ...] = field(default=())
    status: HostStatus = HostStatus.REFUSED  # of a row with that reason


def looked_at(
    hosts: Sequence[Host], contact: Contact, tell: Callable[[Looked], None], stop: Callable[[], bool]
) -> list[Looked]:
    """Each host once, in their order; `tell` hears of each as it answers. Hosts of a queue are not asked."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(_look, host, contact, tell, stop) for host in hosts]
        return list(_one_name_each([future.result() for future in futures]))


def _look(host: Host, contact: Contact, tell: Callable[[Looked], None], stop: Callable[[], bool]) -> Looked:
    if not host.by_ssh or stop():
        return Looked(host)
    before = time.time()
    try:
        facts = contact.ask(host, "look", {}, HostFacts)
    except NoContact as none:
        looked = Looked(host, reason=str(none), status=HostStatus.UNREACHABLE)
    else:
        status, reason = _unfit(facts)
        notes = tuple(_notes(facts, (before + time.time()) / 2))
        looked = Looked(host, facts, reason, notes, status)
    tell(looked)
    return looked


def _unfit(facts: HostFacts) -> tuple[HostStatus, str]:
    if facts.system != "Linux":
        return HostStatus.REFUSED, f"it runs {facts.system or 'another system'}, and toll measures on Linux"
    if facts.free_mb < LEAST_FREE_MB:
        return HostStatus.FAILED, f"no space: {facts.free_mb:.0f} MB free"
    return HostStatus.REFUSED, ""


def _notes(facts: HostFacts, now: float) -> Iterator[str]:
    if abs(ahead := facts.time - now) > CLOCKS_DIFFER_S:
        which = "ahead" if ahead > 0 else "behind"
        yield f"its clock is {abs(ahead):.0f} s {which}; started and ended are by it"
    if not facts.lock:
        yield "no lock file can be used there, so that nothing keeps a second run away"


def _one_name_each(looked: Sequence[Looked]) -> Iterator[Looked]:
    """Of several names of one host the first keeps its job: one kernel, and one lock that all would take."""
    first: dict[object, str] = {}
    kernels: dict[str, str] = {}
    for one in looked:
        if one.facts is None or one.reason or not one.facts.boot_id:
            yield one
            continue
        key = (one.facts.boot_id, one.facts.lock)
        if (other := first.setdefault(key, one.host.name)) != one.host.name:
            yield Looked(one.host, one.facts, f"it is the same machine as {other}", one.notes)
        elif (beside := kernels.setdefault(one.facts.boot_id, one.host.name)) != one.host.name:
            note = f"it shares a kernel with {beside}: the two may disturb each other"
            yield Looked(one.host, one.facts, "", (*one.notes, note))
        else:
            yield one
