"""A fleet's run from its request to its rows: look, send through the engine, take what arrives, clean up."""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from tollbench.compare.stored import StoredComparison
from tollbench.compare.verdicts import Comparisons
from tollbench.errors import TollError
from tollbench.fleet.contact import MOST_RESULT_BYTES, Contact, NoContact
from tollbench.fleet.fleet_folder import FleetFolder, FleetRequest
from tollbench.fleet.fleets import MOST_TEXT, HostAnswer, HostRow, HostState, HostStatus
from tollbench.fleet.hosts import Host, state_in_queue
from tollbench.fleet.looking import AT_ONCE, LEAST_FREE_MB, Looked, looked_at
from tollbench.fleet.queued import answers_left, engine_folder, marked, remove_left, waiting
from tollbench.fleet.reframe_engine import Engine, HostJob, Placed
from tollbench.fleet.sending import SentToll
from tollbench.launching.interrupt import Interrupt
from tollbench.store import RunFile
from tollbench.text import shown
from tollbench.writing import write_own
from tollbench.writing.redacting import harmless

LEVEL = 0.95  # with which all intervals over hosts hold together
STOPPING_S = 60.0  # for hosts to end after Ctrl-C, and for what they have to arrive
LOST_TRIES = 3
_TRY_AGAIN_S = 3.0
_SELDOM_S = 60.0
_OF_TWINS = re.compile(r" \(\d+\)$")  # of a commit that was named twice
_MOST_LEFT = 100  # folders on one host
# An answer may still lie on hosts whose rows are these: the same run is asked for again.
_MAY_HAVE_ENDED = frozenset({HostStatus.SENT, HostStatus.LOST})


@dataclass
class FleetSession:
    """One start of `toll fleet run`, `compare` or `fetch`, and what it is made of."""

    folder: FleetFolder
    contact: Contact
    interrupt: Interrupt
    tell: Callable[[HostRow], None]  # of each host whose row is final
    files: tuple[Path, ...] = ()  # what goes to each host besides toll
    _engine: Engine | None = field(default=None, init=False)
    _looked: dict[str, Looked] = field(default_factory=dict, init=False)
    _going_on: set[str] = field(default_factory=set, init=False)  # hosts where an earlier job may still work

    def run(self, toll: Callable[[], SentToll], rows: Sequence[HostRow]) -> None:
        """Asks these hosts for their results; `toll`, what is sent, may take until they were looked at.

        Raises TollError; what arrived until then is kept.
        """
        request = self.folder.request
        hosts = [request.host(row.host) for row in rows]
        for looked in looked_at(hosts, self.contact, lambda _: None, lambda: self.interrupt.requested):
            self._looked[looked.host.name] = looked
            if looked.reason:
                self._final(self._unsent(looked))
        still = self._left_in_queues(hosts)
        able = [host for host in hosts if not self._looked[host.name].reason and host.name not in still]
        if self.interrupt.requested or not able:
            return
        sent = toll()
        self._check_the_same(sent)
        with engine_folder(self.folder.path, shared=not all(host.by_ssh for host in able)) as place:
            going_on = any(
                row.status in _MAY_HAVE_ENDED for row in rows
            )  # first they wait for an earlier job
            deadline_s = request.limit_s * (1 + going_on) + request.wait_s + request.setup_s
            self._engine = Engine(place, self.contact.options(), deadline_s)
            try:
                self._through_the_engine(self._engine, [self._placed(host, sent) for host in able])
            finally:
                self._engine.end()

    def _check_the_same(self, sent: SentToll) -> None:
        """Raises TollError where hosts were sent another toll: two tolls would be taken for two hosts."""
        if {row.sources for row in self.folder.rows.values()} - {"", sent.sources}:
            raise TollError(
                f"hosts of {self.folder.path} were sent another toll than this one ({sent.version})",
                "go on with that one: --wheel FILE, or none where it was given none; or start anew",
            )

    def _left_in_queues(self, hosts: Sequence[Host]) -> set[str]:
        """Hosts of queues that need no new job: what an earlier controller sent has ended, or goes on."""
        rows = [self.folder.rows[host.name] for host in hosts if not host.by_ssh]
        asked = {row.run: row for row in rows if row.run and row.status in _MAY_HAVE_ENDED}
        answers = answers_left(self.folder.path)
        slurm = {host.name for host in hosts if host.engine == "squeue"}
        still = waiting(run for run, row in asked.items() if row.host in slurm and run not in answers)
        settled = set()
        for run, row in asked.items():
            if run in answers:
                self._final(self._answered(row, _answer(answers[run].text), answers[run].stage))
            elif run in still:
                self._final(_with(row, HostStatus.SENT, "its job is in the queue, or works"))
            else:
                continue
            settled.add(row.host)
        if not still:
            remove_left(self.folder.path)
        return settled

    def _unsent(self, looked: Looked) -> HostRow:
        before = self.folder.rows[looked.host.name]
        if before.status in _MAY_HAVE_ENDED:  # what it was given before may still be there
            return before.model_copy(update={"status": HostStatus.LOST, "reason": looked.reason})
        known = {"status": looked.status, "reason": looked.reason, "notes": looked.notes}
        return before.model_copy(update=known)

    def _placed(self, host: Host, sent: SentToll) -> Placed:
        """The host's job; its row has the identity before anything is sent."""
        request, row, looked = self.folder.request, self.folder.rows[host.name], self._looked[host.name]
        again = row.status in _MAY_HAVE_ENDED
        self._going_on |= {host.name} if again else set()
        attempt = row.attempt + bool(row.run and not again)
        identity = row.run if again else str(uuid.uuid4())
        self.folder.set(
            HostRow(
                host=host.name, status=HostStatus.SENT, run=identity, attempt=attempt, notes=looked.notes,
                left=row.left, sources=sent.sources,
            )
        )  # fmt: skip
        has = looked.facts.has if looked.facts else ()
        carried = [] if host.toll or sent.sha256[:32] in has else [sent.path]
        result = f"{host.name}.{_ENDING[request.kind]}"
        job = HostJob(
            identity=identity,
            host=host.name,
            toll=host.toll,
            wheel=sent.path.name,
            sha256=sent.sha256,
            sources=sent.sources,
            version=sent.version,
            words=(*(identity if word == IDENTITY else word for word in request.words), *self._part(host)),
            before=_before(request.kind, self.files),
            inputs=tuple(file.name for file in self.files),
            start_in=REPOSITORY if request.kind == "compare" else "",
            result=result,
            fine=_FINE[request.kind],
            limit_s=request.limit_s,
            wait_s=request.wait_s + (request.limit_s if again else 0.0),
            boot_id=looked.facts.boot_id if looked.facts else "",
            keep=host.by_ssh,
        )
        queue_s = 0.0 if host.by_ssh else request.limit_s + request.setup_s
        files = (*carried, *self.files)
        return Placed(job, host, files, request.setup_s, queue_s, marked(host, identity))

    def _part(self, host: Host) -> tuple[str, ...]:
        """What `toll compare` is told besides where hosts share the benchmarks."""
        share = self.folder.request.shares().get(host.name)
        if share is None:
            return ()
        return ("--share", f"{share[0]}/{share[1]}", "--level", f"{_level(share):.6f}")

    def _through_the_engine(self, engine: Engine, jobs: Sequence[Placed]) -> None:
        hosts = {placed.host.name: placed.host for placed in jobs}
        engine.start(jobs)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            settling: dict[str, Future[None]] = {}

            def settle(name: str) -> None:
                if name not in settling:
                    settling[name] = pool.submit(self._settle, engine, hosts[name])

            stopped_at = 0.0
            for name in engine.ended_hosts(self.interrupt):
                if name:
                    settle(name)
                if self.interrupt.requested:
                    stopped_at = stopped_at or self._stop(engine, pool, hosts, settling)
                    if time.monotonic() - stopped_at > STOPPING_S:
                        break
            engine.end()
            for name in hosts:
                settle(name)
            for future in settling.values():
                future.result()

    def _stop(
        self,
        engine: Engine,
        pool: ThreadPoolExecutor,
        hosts: dict[str, Host],
        settling: dict[str, Future[None]],
    ) -> float:
        """Asks every host that still works to end; queues are told by the engine."""
        engine.hand_out_no_more()
        working = [host for name, host in hosts.items() if name not in settling]
        for host in working:
            if host.by_ssh and engine.sent_to(host):
                pool.submit(self._ask_to_stop, host)
        if not all(host.by_ssh for host in working):
            engine.cancel()
        return time.monotonic()

    def _ask_to_stop(self, host: Host) -> None:
        with suppress(NoContact):
            self.contact.ask(host, "stop", {"identity": self.folder.rows[host.name].run}, HostState)

    def _settle(self, engine: Engine, host: Host) -> None:
        """The host's last word: its row, its result in the fleet's folder, and nothing left over there."""
        row = self.folder.rows[host.name]
        text = engine.answer(host.name)
        folders = engine.sent_to(host)
        if host.by_ssh and not text and not folders and self.interrupt.requested:
            status = HostStatus.SENT if host.name in self._going_on else HostStatus.STOPPED
            self._final(_with(row, status, "Ctrl-C came before anything was sent"))
            return
        if text:
            row = self._answered(row, _answer(text), engine.stage(host.name))
        elif host.by_ssh:
            row = self._after_the_connection(host, row)
        else:
            stopped = self.interrupt.requested
            row = _with(row, *(_STOPPED if stopped else _lost_in_queue(host)))
        if host.by_ssh:
            row = self.cleaned(host, row, folders)
        self._final(row)

    def _answered(self, row: HostRow, answer: HostAnswer | None, stage: Path | None) -> HostRow:
        """The row by the host's answer; its result is taken from `stage`, or asked for without one."""
        if answer is None or (answer.identity, answer.host) != (row.run, row.host):
            return _with(row, HostStatus.REFUSED, "what it answers is not sound, or is about another run")
        known = row.model_copy(
            update={
                "status": answer.status,
                "reason": str(harmless(answer.reason))[:MOST_TEXT],
                "started": answer.started,
                "ended": answer.ended,
                "machine": _machine(answer),
                "noise": answer.doctor.conditions.noise if answer.doctor else (),
            }
        )
        if not answer.result:
            if answer.status is HostStatus.OK:
                return _with(known, HostStatus.REFUSED, "it says that all went well, and names no result")
            return known
        try:
            content = self._content(row, answer, stage)
            return known.model_copy(update={"file": self._kept(row, content)})
        except (NoContact, OSError) as error:
            return _with(known, HostStatus.LOST, f"its result did not arrive: {shown(str(error), 200)}")
        except TollError as error:
            return _with(known, HostStatus.REFUSED, f"its result is not sound: {shown(error.what, 300)}")

    def _content(self, row: HostRow, answer: HostAnswer, stage: Path | None) -> bytes:
        content = b""
        if stage is not None:
            with suppress(OSError):
                content = _plain_bytes(stage / answer.result, answer.bytes)
        if (
            hashlib.sha256(content).hexdigest() != answer.sha256
        ):  # cut short on its way, or not fetched at all
            host = self.folder.request.host(row.host)
            if not host.by_ssh:
                raise NoContact("the file is not the one that the host names")
            content = self.contact.result(host, row.run, answer.bytes)
            if hashlib.sha256(content).hexdigest() != answer.sha256:
                raise NoContact("it arrived otherwise than it was sent")
        return content

    def _kept(self, row: HostRow, content: bytes) -> str:
        """The file's name in the fleet's folder. Raises TollError for what a stranger might have made."""
        kind = self.folder.request.kind
        again = f"+{row.attempt}" if row.attempt > 1 else ""
        path = self.folder.path / f"{row.host}{again}.{_ENDING[kind]}"
        incoming = path.with_name(f".{path.name}")  # under its name it is sound
        write_own(incoming, content)
        try:
            check_result(self.folder.request, incoming, row)
            incoming.rename(path)  # where it came twice, it counts once
        finally:
            incoming.unlink(missing_ok=True)
        return path.name

    def _after_the_connection(self, host: Host, row: HostRow) -> HostRow:
        """The engine lost the host: asks it what became of the run, and waits where that goes on."""
        request = self.folder.request
        until = time.monotonic() + request.limit_s + request.wait_s + request.setup_s
        tries, pause_s = 0, _TRY_AGAIN_S
        while True:
            try:
                state = self.contact.ask(host, "state", {"identity": row.run}, HostState)
            except NoContact as none:
                tries += 1
                if tries >= LOST_TRIES or self.interrupt.requested:
                    return _with(row, HostStatus.LOST, f"it was lost while it worked: {none}")
                time.sleep(_TRY_AGAIN_S)
                continue
            if state.answer is not None:
                return self._answered(row, state.answer, None)
            halted = state.process in ("T", "t")
            if not state.alive or halted or time.monotonic() > until or self.interrupt.requested:
                return _with(row, *_dead(state, halted=halted, stopped=self.interrupt.requested))
            self._pause(pause_s)  # longer each time: the host measures, and asking costs it time
            pause_s = min(2 * pause_s, _SELDOM_S)

    def _pause(self, seconds: float) -> None:
        """Until Ctrl-C at most."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.interrupt.requested:
            time.sleep(min(left, 1.0))

    def cleaned(self, host: Host, row: HostRow, folders: Sequence[str] = ()) -> HostRow:
        """The row once nothing is left there; where the host cannot be reached, it says what may be.

        A result that did not arrive stays, and waits for `toll fleet fetch`.
        """
        given = {
            "identity": row.run,
            "folders": [*folders, *(path for path in row.left if path not in folders)],
        }
        try:
            if row.status is HostStatus.LOST:
                state = self.contact.ask(host, "state", given, HostState)
                if state.answer is not None and state.answer.result:
                    left = (f"result of run {row.run}", *given["folders"])
                    return row.model_copy(update={"left": _left(left)})
            goes_on = row.status is HostStatus.SENT
            state = self.contact.ask(host, "remove", {**given, "goes_on": goes_on}, HostState)
        except NoContact:
            left = _left(given["folders"]) or (f"folder of run {row.run}",)
            return row.model_copy(update={"left": left})
        return row.model_copy(update={"left": _left(state.left)})

    def fetch(self, rows: Sequence[HostRow]) -> None:
        """Takes what hosts have by now of runs that were sent, and measures nothing."""
        hosts = [self.folder.request.host(row.host) for row in rows]
        by_ssh = {host.name for host in hosts if host.by_ssh}
        asked = [row for row in rows if row.run and row.host in by_ssh]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._fetch_one, asked))
        self._left_in_queues(hosts)

    def _fetch_one(self, row: HostRow) -> None:
        host = self.folder.request.host(row.host)
        try:
            state = self.contact.ask(host, "state", {"identity": row.run}, HostState)
        except NoContact as none:
            self._final(row.model_copy(update={"reason": row.reason or str(none)}))
            return
        if state.answer is not None and row.status in _MAY_HAVE_ENDED:
            row = self._answered(row, state.answer, None)
        elif state.alive:
            self._final(_with(row, HostStatus.SENT, "it still works"))
            return
        elif row.status in _MAY_HAVE_ENDED:
            row = _with(row, *_dead(state, halted=False, stopped=False))
        self._final(self.cleaned(host, row))

    def _final(self, row: HostRow) -> None:
        self.folder.set(row)
        self.tell(row)


REPOSITORY = "repository"  # of a comparison's commits, in the run's folder on a host
IDENTITY = "{identity}"  # the word of a command that stands for a run's own
_ENDING = {"run": "toll", "compare": "jsonl"}
# Exit codes of a toll that did its work: a wrong answer, a regression and what is open are answers too.
_FINE = {"run": (0, 1, 3), "compare": (0, 1, 2, 3)}
_STOPPED = (HostStatus.STOPPED, "Ctrl-C came before it had an answer")


def _before(kind: str, files: Sequence[Path]) -> tuple[tuple[str, ...], ...]:
    """Commands on the host before toll: a comparison's commits become a repository there."""
    if kind != "compare":
        return ()
    (bundle,) = files
    return (("git", "clone", "--quiet", "--no-checkout", bundle.name, REPOSITORY),)


def _with(row: HostRow, status: HostStatus, reason: str) -> HostRow:
    return row.model_copy(update={"status": status, "reason": reason})


def _dead(state: HostState, *, halted: bool, stopped: bool) -> tuple[HostStatus, str]:
    """Status and reason of a run that the engine lost, on a host that answers."""
    if stopped:
        return _STOPPED
    if halted:
        return HostStatus.LOST, "it hung: its process was halted"
    if state.alive:
        return HostStatus.LOST, "it did not end within its deadline"
    if state.begun:
        return HostStatus.LOST, "its process was killed there, or the host restarted"
    if state.facts.free_mb < LEAST_FREE_MB:
        return HostStatus.FAILED, f"no space: {state.facts.free_mb:.0f} MB free"
    return HostStatus.LOST, "the connection ended before its job began"


def _lost_in_queue(host: Host) -> tuple[HostStatus, str]:
    said = state_in_queue(host)
    return HostStatus.LOST, f"its job ended without an answer{f'; its node is {said}' if said else ''}"


def _answer(text: str) -> HostAnswer | None:
    try:
        return HostAnswer.model_validate_json(text)
    except ValidationError:
        return None


def _machine(answer: HostAnswer) -> str:
    if answer.doctor is None or not answer.doctor.machine.cpu:
        return ""
    machine = answer.doctor.machine
    return f"{machine.cpu}, {machine.cpus} CPUs, {machine.kernel}"[:MOST_TEXT]


def _left(folders: Iterable[str]) -> tuple[str, ...]:
    """Of what a host or an engine names, what a row can hold: a path that was cut would be another one."""
    return tuple(path for path in folders if len(path) <= MOST_TEXT)[:_MOST_LEFT]


def _plain_bytes(path: Path, size: int) -> bytes:
    """Of a file that an engine fetched from a stranger: no link, and as long as it was said to be."""
    if size > MOST_RESULT_BYTES:
        raise OSError(f"it has {size} bytes")
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        return file.read(size + 1)


def check_result(request: FleetRequest, path: Path, row: HostRow) -> None:
    """Raises TollError for a result that is not sound, or of another run."""
    if request.kind == "run":
        with RunFile.open(path) as run_file:
            if run_file.header().uuid != row.run:
                raise TollError("it is of another run", "ask again: --resume")
    else:
        sound_comparison(request, path, row.host, request.shares())


def sound_comparison(
    request: FleetRequest, path: Path, host: str, shares: Mapping[str, tuple[int, int]]
) -> Comparisons:
    """What a host found, of what it was asked for; `shares` are the request's. Raises TollError for else.

    A raw file has no identity of its own: a host may answer with one that it made on another day.
    """
    stored = StoredComparison.read(path)
    commits = tuple(_OF_TWINS.sub("", side) for side in stored.header.sides)
    if commits != tuple(commit[:12] for commit in request.revisions):
        raise TollError("it compares other revisions", "ask again: --resume")
    level = _level(shares.get(host, (1, 1)))
    if (stored.header.threshold, f"{stored.header.level:.6f}") != (request.threshold, f"{level:.6f}"):
        raise TollError("it was judged by another threshold or level", "ask again: --resume")
    return stored.comparisons


def _level(share: tuple[int, int]) -> float:
    """At which a host judges its part, so that all parts together hold at the fleet's."""
    return 1.0 - (1.0 - LEVEL) / share[1]
