"""One `toll compare` from its words to its reports; `tollbench.cli.compare` is the table of contents."""

from __future__ import annotations

import os
import re
import secrets
import select
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import tollbench
from tollbench.catalog import machine
from tollbench.cli.console import progress, say
from tollbench.cli.measuring import seconds as length_of_time
from tollbench.cli.places import RUNS, behind_links, is_special
from tollbench.compare import (
    Comparisons,
    Kind,
    Settings,
    SideFailed,
    Step,
    Subject,
    Verdict,
    Written,
    before_confirming,
    compare,
    confirm,
    resolve,
    revisions,
    subject_of,
)
from tollbench.compare.launched import Unusable
from tollbench.compare.output import html as html_page
from tollbench.compare.output import junit as junit_file
from tollbench.compare.output import markdown as markdown_text
from tollbench.compare.output import terminal
from tollbench.compare.raw import Keeping, RawFile
from tollbench.errors import Exit, TollError
from tollbench.measure import Interrupt, SystemClock
from tollbench.measure.launcher import Interrupted
from tollbench.measure.lock import LOCK_FILES, machine_lock


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asked for."""

    sides: tuple[str, ...]
    kind: Kind
    budget_s: float
    total_s: float
    threshold: float
    level: float
    pattern: str
    confirm: bool
    build: str
    program: str
    environments: tuple[str, ...]
    folder: Path | None
    any_exit_code: bool
    seed: int | None
    raw: Path | None


def seconds(option: str, text: str) -> float:
    """A length of time; the option's name is in the error."""
    try:
        return length_of_time(text)
    except TollError as error:
        raise TollError(error.what, f"write for example {option} 60s, 5m or 1h") from None


def check_places(**places: Path | None) -> None:
    """Raises TollError for an option whose file could not be written once all is measured."""
    for option, path in places.items():
        target = behind_links(path) if path is not None else None
        if target is None or is_special(target):
            continue
        if target.is_dir():
            raise TollError(f"--{option} {path} is a folder", f"name a file: --{option} {path}/FILE")
        if not target.parent.is_dir():
            raise TollError(
                f"--{option} {path}: there is no folder {target.parent}", "make it, or name another place"
            )
        if not os.access(target.parent, os.W_OK):
            raise TollError(
                f"--{option} {path}: nothing can be written to {target.parent}", "name another place"
            )


def measured(request: Request, *, wait: bool) -> tuple[Comparisons, TollError | None]:
    """Takes the machine, prepares the sides, measures. Raises TollError where the request makes no sense.

    With what was found comes the error that ended the measuring early, if one did: a full disk.
    """
    settings = Settings(
        level=request.level,
        threshold=request.threshold,
        budget_s=request.budget_s,
        total_s=request.total_s,
        seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
    )
    settings.check()
    _check_pattern(request.pattern)
    try:
        found, keeping = _with_the_machine(request, settings, wait=wait)
    except Interrupted:
        raise TollError(
            "interrupted before anything was measured", "start again when it suits", Exit.INTERRUPTED
        ) from None
    found = found.model_copy(
        update={
            "raw": str(keeping.path),
            "toll_version": tollbench.__version__,
            "command_line": shlex.join(["toll", *sys.argv[1:]]),
            "machine": machine_line(),
        }
    )
    return found, keeping.error


def _with_the_machine(request: Request, settings: Settings, *, wait: bool) -> tuple[Comparisons, Keeping]:
    """What was found, and where every launch went. Raises Interrupted before the measuring only."""
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(
            machine_lock(
                SystemClock(),
                interrupt=interrupt,
                on_wait=say_waiting if wait else None,
                on_no_lock=lambda warning: say(f"warning: {warning}"),
                files=LOCK_FILES,
            )
        )
        try:
            subject = _subject(request, interrupt, stack)
        except SideFailed as failure:
            subject = Unusable(request.sides, failure.reason)
        raw = stack.enter_context(RawFile(_raw_path(request.raw), _header(settings, subject)))
        keeping = Keeping(raw)
        found = _measure(subject, settings, keeping, interrupt if request.confirm else None)
    return found, keeping


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise TollError(
            f"--filter {pattern!r} is not a regular expression: {error}",
            "write for example --filter 'sort|map'",
        ) from None


class PatientClock(SystemClock):
    """Whoever interrupts need not wait for the end of a pause."""

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt

    def sleep(self, seconds: float) -> None:
        """For so long, or until somebody interrupts."""
        select.select([self._interrupt.fd], [], [], seconds)


def _measure(
    subject: Subject, settings: Settings, keep: Keeping, confirming: Interrupt | None
) -> Comparisons:
    """Once, or with `confirming` (which ends the pause before it) a second time for what differed."""
    say(f"comparing {', '.join(subject.labels)}; every launch goes to {keep.path}; Ctrl-C stops and reports")
    with progress("comparing") as bar:

        def step(at: Step) -> None:
            known = f"{at.decided} of {at.benchmarks} known  {at.benchmark}"
            bar.step(at.elapsed_s, at.elapsed_s + at.left_s, known, at.left_s)

        if confirming is None:
            return compare(subject, settings, keep=keep, on_step=step)
        first = compare(subject, before_confirming(settings), keep=keep, on_step=step)
        clock = PatientClock(confirming)
        return confirm(first, subject, settings, clock=clock, keep=keep, on_step=step)


def _subject(request: Request, interrupt: Interrupt, stack: ExitStack) -> Subject:
    """The sides, ready to be launched: built where they have to be."""
    if bool(request.build) != bool(request.program):
        raise TollError(
            "--build and --program belong together",
            "for example: toll compare --build 'make bench' --program ./bench main HEAD",
        )
    if request.build:
        written = _built(request, interrupt, stack)
    elif request.environments:
        from tollbench.cli.comparing_environments import subject_in_environments

        return subject_in_environments(
            request.sides,
            request.environments,
            kind=request.kind,
            folder=request.folder,
            limit_s=request.budget_s,
            interrupt=interrupt,
            pattern=request.pattern,
            any_exit_code=request.any_exit_code,
        )
    else:
        written = [Written(text, folder=request.folder) for text in request.sides]
    kind, sides = resolve(written, request.kind)
    return subject_of(
        kind,
        sides,
        limit_s=request.budget_s,
        interrupt=interrupt,
        pattern=request.pattern,
        any_exit_code=request.any_exit_code,
    )


def _built(request: Request, interrupt: Interrupt, stack: ExitStack) -> list[Written]:
    """The revisions, each built in a clone that goes when the comparison ends."""
    here = Path.cwd()
    wanted = revisions.revisions(here, request.sides)
    if revisions.changed(here):
        say("note: changes in this checkout that are not committed are in none of the revisions")
    scratch = Path(
        stack.enter_context(tempfile.TemporaryDirectory(prefix="toll-compare-", ignore_cleanup_errors=True))
    )
    recipe = revisions.Recipe(request.build, request.program, request.folder)
    return revisions.built(
        here,
        wanted,
        recipe,
        scratch,
        interrupt=interrupt,
        on_build=lambda revision: say(f"building {revision.label}"),
    )


def _raw_path(asked: Path | None) -> Path:
    if asked is not None:
        return asked
    return RUNS / f"compare-{datetime.now().astimezone().strftime('%Y-%m-%d-%H%M%S-%f')}.jsonl"


def _header(settings: Settings, subject: Subject) -> dict[str, object]:
    return {
        "toll_version": tollbench.__version__,
        "command_line": shlex.join(["toll", *sys.argv[1:]]),
        "kind": subject.kind,
        "sides": list(subject.labels),
        "level": settings.level,
        "threshold": settings.threshold,
        "seed": settings.seed,
        "machine": machine.describe(),
        "conditions": machine.conditions(),
    }


def machine_line() -> str:
    """Processor and kernel in one line."""
    found = machine.describe()
    parts = [str(found[key]) for key in ("cpu", "kernel") if found.get(key)]
    return ", ".join(parts)


def say_waiting(holder: str) -> None:
    """Who has the machine."""
    say(f"waiting for another run on this machine: {holder}")


def show(
    found: Comparisons,
    *,
    as_json: bool,
    html: Path | None,
    markdown: Path | None,
    junit: Path | None,
    error: TollError | None = None,
) -> None:
    """Prints what was found and writes the files that were asked for.

    Raises TollError at the end, with `error` and with every file that could not be written: nothing of it
    takes the answer, or another file, from a reader. Its code is 1 where a regression was found.
    """
    renderers: Sequence[tuple[str, Path | None, Callable[[Comparisons], str]]] = (
        ("--html", html, html_page.render),
        ("--markdown", markdown, markdown_text.render),
        ("--junit", junit, junit_file.render),
    )
    errors = [error] if error is not None else []
    try:
        if as_json:
            print(found.model_dump_json(indent=2), flush=True)
        else:
            terminal.show(found)
    finally:  # a reader that has left, `| head`, wants the files all the same
        for option, path, render in renderers:
            if path is not None and (refused := _refused(found, option, path, render)) is not None:
                errors.append(refused)
    if errors:
        told = "; ".join(error.what for error in errors)
        raise TollError(told, errors[0].next_step, _worse(exit_code(found), errors[0].code))


def _worse(verdicts: Exit, error: Exit) -> Exit:
    """A regression that is known stays one: a gate lets 3 pass."""
    return verdicts if verdicts is Exit.REGRESSION_OR_FAILED_CHECK else error


def _refused(
    found: Comparisons, option: str, path: Path, render: Callable[[Comparisons], str]
) -> TollError | None:
    """Writes one file; the error where the disk refuses."""
    from tollbench.cli.report import write

    try:
        write(path, render(found))
    except TollError as error:
        kept = f"the answer is printed, every launch is in {found.raw}"
        return TollError(error.what, f"{kept}; name a writable place: {option} FILE")
    return None


def exit_code(found: Comparisons) -> Exit:
    """1 for a regression, else 130 after Ctrl-C, 2 for a failure, 3 for what is open, else 0."""
    verdicts = {item.verdict for item in found.comparisons}
    if any(item.regression for item in found.comparisons):
        return Exit.REGRESSION_OR_FAILED_CHECK
    if found.interrupted:
        return Exit.INTERRUPTED
    if Verdict.FAILED in verdicts or not verdicts:
        return Exit.USAGE
    return Exit.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Exit.FINE
