"""One `toll fleet` from its request to its rows on the screen."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

import tollbench
from tollbench import home
from tollbench.cli.console import say, tell, tell_json
from tollbench.cli.fleet_asking import FleetAsked
from tollbench.cli.places import RUNS, shown_path
from tollbench.compare.verdicts import Comparisons, Verdict
from tollbench.errors import Exit, TollError
from tollbench.fleet.agreement import FleetChange, FleetComparison, compared
from tollbench.fleet.commits import bundle
from tollbench.fleet.contact import Contact
from tollbench.fleet.fleet_folder import FleetFolder, FleetRequest, StoredHost
from tollbench.fleet.fleets import FleetRun, HostRow, HostStatus
from tollbench.fleet.reframe_engine import check_installed
from tollbench.fleet.running import LEVEL, FleetSession, sound_comparison
from tollbench.fleet.sending import wheel_for_hosts
from tollbench.home import COMMAND
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.report import fleet_lines
from tollbench.text import several, shown
from tollbench.writing import scratch_folder

Work = Callable[[FleetSession], None]


def measured(asked: FleetAsked, wheel: Path | None, *, as_json: bool) -> Exit:
    """A new run on all hosts. Raises TollError before anything is sent, and where nothing can be kept."""
    check_installed()
    folder = FleetFolder.create(asked.folder(), _request(asked))
    say(f"asking {several(len(asked.hosts), 'host')} into {shown_path(folder.path)}; Ctrl-C stops them all")
    return _asked(folder, wheel, folder.found().hosts, as_json=as_json)


def _request(asked: FleetAsked) -> FleetRequest:
    """Raises TollError for what no host can be told."""
    try:
        return _stored(asked)
    except ValidationError as error:
        said = error.errors(include_url=False)[0]
        where = ".".join(map(str, said["loc"]))
        raise TollError(f"{where} cannot be sent to hosts: {said['msg']}", "shorten it") from None


def _stored(asked: FleetAsked) -> FleetRequest:
    return FleetRequest(
        run=str(uuid.uuid4()),
        kind=asked.kind,
        words=asked.words,
        revisions=asked.revisions,
        spread=asked.spread,
        repository=str(Path.cwd()) if asked.revisions else "",
        limit_s=asked.limit_s,
        wait_s=asked.wait_s,
        setup_s=asked.setup_s,
        ssh_config=str(asked.ssh_config.resolve()) if asked.ssh_config else "",
        sources=home.fingerprint(),
        version=tollbench.__version__,
        hosts=tuple(StoredHost(**asdict(host)) for host in asked.hosts),
    )


def resumed(name: str, wheel: Path | None, *, as_json: bool) -> Exit:
    """The hosts whose results are missing, once more. Raises TollError."""
    check_installed()
    folder = FleetFolder.resume(fleet_path(name))
    if wheel is None and folder.request.sources != home.fingerprint():
        folder.close()
        raise TollError(
            f"{name} was begun with another toll ({folder.request.version}; this is {tollbench.__version__},"
            " or its files differ)",
            "go on with that one: --wheel FILE; or start anew",
        )
    return _asked(folder, wheel, _read(folder)[0].missing(), as_json=as_json)


def _asked(folder: FleetFolder, wheel: Path | None, rows: Sequence[HostRow], *, as_json: bool) -> Exit:
    def work(session: FleetSession) -> None:
        request = folder.request
        with scratch_folder() as place:
            if request.kind == "compare":
                session.files = (bundle(Path(request.repository), request.revisions, place),)
            with ThreadPoolExecutor(1) as pool:  # hosts are looked at meanwhile
                made = pool.submit(wheel_for_hosts, place, wheel)
                session.run(made.result, rows)

    return _worked(folder, work, len(rows), as_json=as_json)


def fetched(name: str, *, as_json: bool) -> Exit:
    """What hosts have by now. Raises TollError."""
    folder = FleetFolder.resume(fleet_path(name))
    rows = [row for row in folder.found().hosts if row.status is not HostStatus.OK or row.left]
    return _worked(folder, lambda session: session.fetch(rows), len(rows), as_json=as_json)


def told(name: str, *, as_json: bool) -> Exit:
    """What is known by now. Raises TollError."""
    folder = FleetFolder.read(fleet_path(name))
    found = _found(folder)
    _show(folder, found, as_json=as_json)
    return _exit_code(found, interrupted=False)


def _worked(folder: FleetFolder, work: Work, count: int, *, as_json: bool) -> Exit:
    left = set(range(count))

    def on_row(row: HostRow) -> None:
        left.pop() if left else None
        say(f"{fleet_lines.line(row)}{f'; {len(left)} left' if left else ''}")

    with Interrupt() as interrupt:
        contact = Contact(folder.request.ssh_config)
        session = FleetSession(folder, contact, interrupt, on_row)
        try:
            work(session)
        except LaunchFailed as failure:
            raise TollError(
                f"ReFrame {failure.reason}", "see that it works by itself: reframe --version"
            ) from None
        finally:
            folder.close()
        found = _found(folder)
        _show(folder, found, as_json=as_json)
        return _exit_code(found, interrupted=interrupt.requested)


def _show(folder: FleetFolder, found: FleetRun | FleetComparison, *, as_json: bool) -> None:
    if as_json:
        tell_json(found.model_dump_json(by_alias=True, indent=2))
        return
    if isinstance(found, FleetComparison):
        for text in fleet_lines.comparison(found):
            tell(text)
    for text in fleet_lines.table(_rows(found)):
        tell(text)
    if _rows(found).missing():
        again = f"{COMMAND} fleet {folder.request.kind} --resume {_typed(folder.path)}"
        tell(f"\nGo on with what is missing: {again}")
    elif folder.request.kind == "run":
        tell(f"\nSee machines side by side: {COMMAND} report {_typed(folder.path)}/*.toll")


def _typed(path: Path) -> str:
    return shlex.quote(shown_path(path))


def _found(folder: FleetFolder) -> FleetRun | FleetComparison:
    """The rows of a run; of a comparison also what they come to, over the hosts whose files are sound."""
    rows, found = _read(folder)
    if folder.request.kind == "run":
        return rows
    kinds = {host.name: host.kind for host in folder.request.hosts} if folder.request.spread else None
    return compared(rows, found, LEVEL, folder.request.threshold, shared_by=kinds)


def _read(folder: FleetFolder) -> tuple[FleetRun, dict[str, Comparisons]]:
    """Rows, and what a comparison's hosts found; one whose file went or was damaged since has no result."""
    rows, found = folder.found(), {}
    if folder.request.kind == "run":
        return rows, {}
    hosts, shares = [], folder.request.shares()
    for row in rows.hosts:
        told = row
        if row.status is HostStatus.OK and row.file:
            try:
                found[row.host] = sound_comparison(folder.request, folder.path / row.file, row.host, shares)
            except TollError as error:
                reason = f"its result cannot be used: {shown(error.what, 300)}"
                told = row.model_copy(update={"status": HostStatus.REFUSED, "reason": reason})
        hosts.append(told)
    return rows.model_copy(update={"hosts": tuple(hosts)}), found


def _rows(found: FleetRun | FleetComparison) -> FleetRun:
    return found.fleet if isinstance(found, FleetComparison) else found


def _exit_code(found: FleetRun | FleetComparison, *, interrupted: bool) -> Exit:
    if interrupted:
        return Exit.INTERRUPTED
    if isinstance(found, FleetComparison):
        if any(one.regression for one in found.benchmarks):
            return Exit.REGRESSION_OR_FAILED_CHECK
        if any(_open(one) for one in found.benchmarks) or not found.benchmarks or found.uneven:
            return Exit.INCONCLUSIVE
    return Exit.INCONCLUSIVE if _rows(found).missing() else Exit.FINE


def _open(one: FleetChange) -> bool:
    """Whether it has no answer, over the fleet or on one of its hosts."""
    on_hosts = {host.verdict for host in one.hosts}
    return one.verdict in (Verdict.INCONCLUSIVE, Verdict.FAILED) or Verdict.FAILED in on_hosts


def fleet_path(name: str) -> Path:
    """A folder by its path, or by its name in runs/."""
    return Path(name) if Path(name).is_dir() or not (RUNS / name).is_dir() else RUNS / name
