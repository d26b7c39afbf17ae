"""What a fleet found, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from tollbench.fleet.agreement import FleetChange, FleetComparison, HostChange
from tollbench.fleet.fleets import FleetRun, HostRow, HostStatus
from tollbench.numbers import percent
from tollbench.text import clean, enumerated, instant, several

_TOLD = {HostStatus.PLANNED: "not asked yet", HostStatus.SENT: "at work"}


def line(row: HostRow) -> str:
    """One host."""
    status = _TOLD.get(row.status, row.status.value)
    return f"{clean(row.host)}: {status}{f': {clean(row.reason)}' if row.reason else ''}"


def table(found: FleetRun) -> Iterator[str]:
    """A row a host, what is known besides, and a sentence on all of them."""
    width = max(len(row.host) for row in found.hosts)
    for row in found.hosts:
        what = clean(row.reason) or clean(row.file) or _TOLD.get(row.status, "")
        when = f"{instant(row.started)} to {instant(row.ended)}" if row.started and row.ended else ""
        yield "  ".join(filter(None, (f"{row.host:{width}}", f"{row.status.value:11}", when, what))).rstrip()
        for text in _besides(row):
            yield f"{'':{width}}    {text}"
    there = sum(row.status is HostStatus.OK for row in found.hosts)
    yield ""
    yield f"{several(there, 'result')} of {several(len(found.hosts), 'host')} in {clean(found.folder)}"


def _besides(row: HostRow) -> Iterator[str]:
    if row.machine:
        yield clean(row.machine)
    if row.noise:
        found = enumerated([clean(f"{one.name} ({one.value})") for one in row.noise])
        yield f"noisy before it measured: {found}"
    for note in row.notes:
        yield f"note: {clean(note)}"
    if row.left:
        what = enumerated([clean(path) for path in row.left])
        yield f"may be left there: {what}; toll fleet fetch asks again"


def comparison(found: FleetComparison) -> Iterator[str]:
    """Each benchmark: the fleet's answer first, then each host's; one line where equal hosts shared them."""
    for note in found.notes:
        yield f"note: {clean(note)}"
    for change in found.benchmarks:
        told = f"{clean(change.benchmark)}: {clean(change.b)} against {clean(change.a)}"
        host = change.hosts[0]
        if found.shared and len(change.hosts) == 1 and change.verdict is host.verdict:
            yield f"{told}: {_on(host)}, on {clean(host.host)}"
            continue
        yield told
        yield f"  {_over_all(change)}"
        width = max(len(host.host) for host in change.hosts)
        for host in change.hosts:
            yield f"    {clean(host.host):{width}}  {_on(host)}"
        yield ""


def _which(change: FleetChange) -> str:
    there = len(change.hosts)
    return "all hosts" if change.known_on in (0, there) else f"{change.known_on} of {there} hosts"


def _over_all(change: FleetChange) -> str:
    verdict = change.verdict.value.replace("_", " ")
    if change.ratio is None or change.low is None or change.high is None:
        why = "the change is known of fewer than two, and one says nothing about others"
        if change.ratio is not None:
            why = "these hosts differ by too much for an interval over so few of them"
        return f"{_which(change)}: {verdict}; {why}"
    told = (
        f"{_which(change)}: {verdict}, {_shift(change.ratio)} ({_shift(change.low)} to {_shift(change.high)})"
    )
    if change.predicted_low is not None and change.predicted_high is not None:
        told += f"; one more such host: {_shift(change.predicted_low)} to {_shift(change.predicted_high)}"
    if change.agree is not None:
        told += "; hosts agree as far as can be seen" if change.agree else "; hosts differ"
    if change.agree is False and change.between is not None:
        told += f", by {percent(change.between)} (standard deviation)"
    return told


def _on(host: HostChange) -> str:
    verdict = host.verdict.value.replace("_", " ")
    if host.ratio is None:
        return f"{verdict}: {clean(host.reason)}"
    if host.low is None or host.high is None:
        return f"{verdict} {_shift(host.ratio)}, no interval yet"
    return f"{verdict} {_shift(host.ratio)} ({_shift(host.low)} to {_shift(host.high)})"


def _shift(ratio: float) -> str:
    return f"{'+' if ratio >= 1.0 else '-'}{percent(abs(ratio - 1.0))}"
