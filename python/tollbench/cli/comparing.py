"""One `toll compare` from its words to its reports; `tollbench.cli.compare` is the table of contents."""

from __future__ import annotations

import os
import re
import secrets
import select
import shlex
import sys
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import tollbench
from tollbench.catalog import machine
from tollbench.cli.asking import seconds as length_of_time
from tollbench.cli.comparing_sides import ComparisonRequest, subject_for
from tollbench.cli.console import progress, say
from tollbench.cli.counting import counted
from tollbench.cli.explainers import with_reasons
from tollbench.cli.machine_use import machine_taken
from tollbench.cli.places import RUNS
from tollbench.compare import (
    Comparisons,
    ComparisonSettings,
    ComparisonStep,
    Subject,
    Verdict,
    before_confirming,
    compare,
    confirm,
    count_rules,
    counts,
)
from tollbench.compare.adapters import adapters, check_kind
from tollbench.compare.raw_file import Keeping, RawFile
from tollbench.compare.stored import MARK
from tollbench.compare.subject import LookAtCode, Unusable
from tollbench.errors import Exit, TollError
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.measure import Interrupt, SystemClock
from tollbench.report.comparisons import comparison_terminal
from tollbench.report.comparisons.comparison_formats import RENDERERS
from tollbench.store.writing import behind_links, is_special, write_text


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


def measured(request: ComparisonRequest, *, wait: bool) -> tuple[Comparisons, TollError | None]:
    """Takes the machine, prepares the sides, measures. Raises TollError where the request makes no sense.

    With what was found comes the error that ended the measuring early, if one did: a full disk.
    """
    settings = ComparisonSettings(
        level=request.level,
        threshold=request.threshold,
        budget_s=request.budget_s,
        total_s=request.total_s,
        seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
        layouts=request.layouts,
    )
    settings.check()
    check_pattern(request.pattern)
    check_kind(request.kind)
    try:
        return _with_the_machine(request, settings, wait=wait)
    except Interrupted:
        raise TollError(
            "interrupted before anything was measured", "start again when it suits", Exit.INTERRUPTED
        ) from None


def _with_the_machine(
    request: ComparisonRequest, settings: ComparisonSettings, *, wait: bool
) -> tuple[Comparisons, TollError | None]:
    """What was found, which the raw file ends with. Raises Interrupted before the measuring only."""
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_taken(interrupt, wait=wait))
        try:
            subject, look_at_code = subject_for(request, settings.seed, interrupt, stack)
        except LaunchFailed as failure:
            subject, look_at_code = Unusable(request.sides, failure.reason), None
        header = _header(settings, subject, request)
        raw = stack.enter_context(RawFile(raw_path(request.raw, "compare"), header))
        keeping = Keeping(raw)
        looking = CodeOptions(look_at_code, request.measure_all)
        if request.only_counted:
            found = counts.not_timed(subject, settings, keeping)
        else:
            found = _measure(subject, settings, keeping, looking, interrupt if request.confirm else None)
        unsaved = None
        if request.counts is not None:
            found, unsaved = counted(found, subject, request.counts, keeping)
        if request.why:
            found = with_reasons(found, subject, look_at_code, request)
        told = {
            "raw": str(raw.path),
            "toll_version": tollbench.__version__,
            "command_line": header["command_line"],
            "machine": machine_line(),
        }
        found = found.model_copy(update=told)
        with suppress(Interrupted):  # a full disk, which `keeping` tells
            keeping({"found": found.model_dump(mode="json")})
    return found, keeping.error or unsaved


def check_pattern(pattern: str) -> None:
    """Raises TollError for what is no regular expression."""
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


class CodeOptions(NamedTuple):
    """Who looks at the code of the sides, and whether what is untouched is timed all the same."""

    look_at_code: LookAtCode | None
    measure_all: bool


def _measure(
    subject: Subject,
    settings: ComparisonSettings,
    keep: Keeping,
    looking: CodeOptions,
    confirming: Interrupt | None,
) -> Comparisons:
    """Once, or with `confirming` (which ends the pause before it) a second time for what differed."""
    known = adapters().get(subject.kind)
    what = f", each {known.name}" if known else ""
    say(f"comparing {', '.join(subject.labels)}{what}")
    say(f"every launch goes to {keep.path}; Ctrl-C stops and reports")
    with progress("comparing") as bar:

        def step(at: ComparisonStep) -> None:
            known = f"{at.decided} of {at.benchmarks} known  {at.benchmark}"
            bar.step(at.elapsed_s, at.elapsed_s + at.left_s, known, at.left_s)

        if confirming is None:
            return compare(subject, settings, keep=keep, on_step=step, **looking._asdict())
        first = compare(subject, before_confirming(settings), keep=keep, on_step=step, **looking._asdict())
        clock = PatientClock(confirming)
        return confirm(first, subject, settings, clock=clock, keep=keep, on_step=step)


def raw_path(asked: Path | None, verb: str) -> Path:
    """Where launches are kept: what was asked for, else a new file in runs/."""
    return asked or RUNS / f"{verb}-{datetime.now().astimezone().strftime('%Y-%m-%d-%H%M%S-%f')}.jsonl"


def _header(settings: ComparisonSettings, subject: Subject, request: ComparisonRequest) -> dict[str, object]:
    return {
        MARK: 1,
        "toll_version": tollbench.__version__,
        "command_line": shlex.join(["toll", *sys.argv[1:]]),
        "kind": subject.kind,
        "sides": list(subject.labels),
        "level": settings.level,
        "threshold": settings.threshold,
        "confirm": request.confirm,
        "layouts": settings.layouts,
        "count_only": request.only_counted,
        "fail_on": [each.text for each in request.counts.rules] if request.counts is not None else [],
        "seed": settings.seed,
        "machine": machine.describe(),
        "conditions": machine.conditions(),
    }


def machine_line() -> str:
    """Processor and kernel in one line."""
    found = machine.describe()
    parts = [str(found[key]) for key in ("cpu", "kernel") if found.get(key)]
    return ", ".join(parts)


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
    files = {"html": html, "markdown": markdown, "junit": junit}
    errors = [error] if error is not None else []
    try:
        if as_json:
            print(found.model_dump_json(indent=2), flush=True)
        else:
            comparison_terminal.show(found)
    finally:  # a reader that has left, `| head`, wants the files all the same
        for form, path in files.items():
            if path is not None and (refused := _refused(found, form, path)) is not None:
                errors.append(refused)
    if errors:
        told = "; ".join(error.what for error in errors)
        raise TollError(told, errors[0].next_step, _worse(exit_code(found), errors[0].code))


def _worse(verdicts: Exit, error: Exit) -> Exit:
    """A regression that is known stays one: a gate lets 3 pass."""
    return verdicts if verdicts is Exit.REGRESSION_OR_FAILED_CHECK else error


def _refused(found: Comparisons, form: str, path: Path) -> TollError | None:
    """Writes one file; the error where the disk refuses."""
    try:
        write_text(path, RENDERERS[form](found))
    except TollError as error:
        kept = f"the answer is printed, every launch is in {found.raw}"
        return TollError(error.what, f"{kept}; name a writable place: --{form} FILE")
    return None


def exit_code(found: Comparisons) -> Exit:
    """1 for a regression or a count that breaks --fail-on, else 130 after Ctrl-C, 2 for a failure, 3 for what
    is open, else 0. Counts without a rule change nothing, unless they are all there is."""
    verdicts = {item.verdict for item in found.comparisons}
    if any(item.regression for item in found.comparisons) or any(count.fails for count in found.all_counts()):
        return Exit.REGRESSION_OR_FAILED_CHECK
    if found.interrupted:
        return Exit.INTERRUPTED
    if Verdict.FAILED in verdicts or not verdicts or count_rules.unjudged(found):
        return Exit.USAGE
    return Exit.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Exit.FINE
