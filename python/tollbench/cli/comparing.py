"""One `toll compare` from its words to its reports; `tollbench.cli.compare` is the table of contents."""

from __future__ import annotations

import os
import re
import secrets
import select
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tollbench.catalog import machine
from tollbench.cli.asking import seconds as length_of_time
from tollbench.cli.comparing_sides import (
    ComparisonRequest,
    check_all_pairs,
    check_around,
    check_typed,
    labels_of,
    subject_for,
)
from tollbench.cli.console import progress, say, tell_json, telling_what_is_kept
from tollbench.cli.edition import edition
from tollbench.cli.machine_use import machine_taken
from tollbench.cli.named_files import files_of_sides
from tollbench.cli.places import in_runs, make_folder
from tollbench.compare import (
    Comparisons,
    ComparisonSettings,
    ComparisonStep,
    Subject,
    Verdict,
    before_confirming,
    compare,
    confirm,
)
from tollbench.compare.adapters import adapters, check_kind
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.raw_file import Keeping, RawFile, records_of
from tollbench.compare.subject import ALL_OF_THEM, LookAtCode, NameShare, Unusable
from tollbench.errors import Exit, TollError, joined, no_room
from tollbench.home import COMMAND
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.meanwhile import Meanwhile
from tollbench.launching.sandbox import Sandbox, sandboxed
from tollbench.store.comparison_file import MARK
from tollbench.text import as_text
from tollbench.words import CountBy
from tollbench.writing import Mark, Output, check_outputs, is_special
from tollbench.writing.marks import OF_COMPARISON, RAW_FILE

if TYPE_CHECKING:
    from tollbench.cli.counting import CountRequest


def seconds(option: str, text: str) -> float:
    """A length of time; the option's name is in the error."""
    try:
        return length_of_time(text)
    except TollError as error:
        raise TollError(error.what, f"write for example {option} 60s, 5m or 1h") from None


def reports(
    marks: Mapping[str, Mark] = OF_COMPARISON, *, force: bool, **places: Path | None
) -> dict[str, Output]:
    """The files that were asked for, by the option's name, which is the form's."""
    return {
        form: Output(path, marks[form], f"--{form}", force)
        for form, path in places.items()
        if path is not None
    }


def count_request(
    count: str, by: CountBy, fail_on: Sequence[str] | None, **asked: Any
) -> CountRequest | None:
    """As `counting.count_request`, which is imported only where something is to be counted."""
    if not (count or fail_on or any(value for name, value in asked.items() if name != "force")):
        if by is not CountBy.AUTO:
            raise TollError(f"--count-by {by}: nothing is counted", "add --count instructions")
        return None
    from tollbench.cli import counting

    return counting.count_request(count, by, fail_on, **asked)


def sandbox_asked(
    asked: bool, show: Sequence[Path] | None, sides: Sequence[str], folder: Path | None
) -> Sandbox | None:
    """The sandbox that --sandbox asks for. Raises TollError where none can be made."""
    if not asked:
        if show:
            raise TollError("--sandbox-show is for programs in a sandbox", "add --sandbox, or leave it out")
        return None
    from tollbench.cli.sandboxing import sandbox_for

    return sandbox_for(sides, folder, show or ())


def sandbox_told(request: ComparisonRequest) -> str:
    """What the sandbox allows, for whoever reads the result; "" without one."""
    return request.sandbox.told() if request.sandbox is not None else ""


def check_places(request: ComparisonRequest, files: Iterable[Output]) -> None:
    """Raises TollError for a file that could not, or must not, be written once all is measured."""
    outputs, read = list(files), list(files_of_sides(request.sides, request.folder))
    if (counts := request.counts) is not None:
        if counts.save is not None:
            outputs.append(counts.save)
        if counts.baseline is not None and not counts.renews:
            read.append(counts.baseline)
    if (raw := request.raw) is not None:
        missing = list(filterfalse(os.path.isdir, (raw.parent, *raw.parent.parents)))
        shared = {os.path.realpath(place) for place in missing}
        if not missing or any(os.path.realpath(output.path.parent) in shared for output in outputs):
            outputs.insert(0, raw_output(raw))  # makes the folder, where another file goes as well
        else:  # made with the file: who is refused until then is left no empty folder
            make_folder(raw.parent, "--raw FILE", now=False)
    check_outputs(outputs, read)


def raw_output(path: Path) -> Output:
    """A raw file to be made, in a folder that is made with it. Raises TollError."""
    make_folder(path.parent, "--raw FILE")
    return Output(path, RAW_FILE, "--raw")


def measured_and_shown(
    request: ComparisonRequest, files: Mapping[str, Output], *, wait: bool, as_json: bool
) -> Exit:
    """All of it; the exit code. Raises TollError as `check_places`, `measured` and `show` do."""
    check_places(request, files.values())
    found, error = measured(request, wait=wait)
    again = f"{COMMAND} report {shlex.quote(found.raw)}"
    if Output(Path(found.raw), RAW_FILE, "--raw").in_place:
        again = f"look into what went to {found.raw}"
    with telling_what_is_kept(again, worse(exit_code(found), Exit.INTERRUPTED)):
        show(found, files, as_json=as_json, error=error)
    # A part of benchmarks that a side lacks is as good as any; sides that share none are no sides.
    if request.share.count > 1 and found.shared and not (found.comparisons or found.interrupted):
        if not found.lacking:
            say(f"note: of {request.share.count} parts this one has no benchmark: there are fewer than parts")
        return Exit.FINE
    return exit_code(found)


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
        until=request.until,
        all_pairs=request.all_pairs,
    )
    settings.check()
    check_pattern(request.pattern)
    check_kind(request.kind)
    check_all_pairs(request, len(request.sides))
    check_typed(request)
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
        stack.enter_context(sandboxed(request.sandbox))
        meanwhile = stack.enter_context(Meanwhile())
        try:
            subject, look_at_code = subject_for(request, settings.seed, interrupt, stack)
            check_around(subject, request.around)
            check_all_pairs(request, len(subject.labels))
            if isinstance(subject, OneAfterAnother):
                stack.callback(_cleaned_up, subject)
            if request.around:
                look_at_code = None  # what stands around a launch may change what it does
        except LaunchFailed as failure:
            subject, look_at_code = Unusable(labels_of(request), failure.reason), None
        header = _header(settings, subject, request)
        raw = stack.enter_context(RawFile(raw_path(request.raw, "compare"), header))
        keeping = Keeping(raw)
        looking = CodeOptions(look_at_code, request.measure_all)
        if request.only_counted:
            from tollbench.compare import counts

            found = counts.not_timed(subject, settings, keeping)
        else:
            confirming = interrupt if request.confirm else None
            found = _measure(subject, settings, keeping, looking, confirming, meanwhile)
        told = {
            "raw": str(raw.path),
            "toll_version": edition(),
            "command_line": header["command_line"],
            "machine": machine_line(),
            "sandbox": sandbox_told(request),
        }
        if (request.counts is not None or request.why) and not request.only_counted:
            _keep_found(keeping, found.model_copy(update=told), "measured")  # a kill would take what it took
        unsaved = None
        if request.counts is not None:
            from tollbench.cli.counting import counted

            found, unsaved = counted(found, subject, request.counts, keeping)
        if request.why:
            from tollbench.cli.explainers import with_reasons

            found = with_reasons(found, subject, look_at_code, request)
        found = found.model_copy(update=told)
        _keep_found(keeping, found, "found")
    return found, not_kept(keeping) or unsaved or (no_room(found.no_room) if found.no_room else None)


def not_kept(keeping: Keeping) -> TollError | None:
    """What ended the measuring where the disk took no more launches.

    Not 3, which a gate lets pass: what had no launches was not judged, and no --resume goes on with it.
    """
    error = keeping.error
    return error and TollError(error.what, error.next_step, Exit.USAGE)


def _keep_found(keeping: Keeping, found: Comparisons, key: str) -> None:
    with suppress(Interrupted):  # a full disk, which `keeping` tells
        for record in records_of(found.model_dump(mode="json"), key):
            keeping(record)


def _cleaned_up(subject: OneAfterAnother) -> None:
    """--cleanup; where it fails, what was measured is no worse."""
    try:
        subject.clean_up()
    except (LaunchFailed, Interrupted) as failure:
        say(f"note: {failure.reason if isinstance(failure, LaunchFailed) else '--cleanup was interrupted'}")


def check_pattern(pattern: str) -> None:
    """Raises TollError for what is no regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise TollError(
            f"--filter {pattern!r} is not a regular expression: {error}",
            "write for example --filter 'sort|map'",
        ) from None


def share_of(text: str) -> NameShare:
    """What --share says. Raises TollError."""
    if not text:
        return ALL_OF_THEM
    said = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", text)
    if said is None or int(said[1]) > int(said[2]):
        raise TollError(f"--share {text!r} is no part of several", "write for example --share 2/5")
    return NameShare(int(said[1]) - 1, int(said[2]))


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
    meanwhile: Meanwhile,
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

        once = before_confirming(settings) if confirming is not None else settings
        found = compare(subject, once, keep=keep, on_step=step, meanwhile=meanwhile, **looking._asdict())
        if confirming is None:
            return found
        clock = PatientClock(confirming)
        return confirm(found, subject, settings, clock=clock, keep=keep, on_step=step, meanwhile=meanwhile)


# What helps a verb without --raw.
IN_RUNS = "make room there, or start toll in a folder that you may write to: its runs/ takes every launch"


def raw_path(asked: Path | None, verb: str) -> Path:
    """Where launches are kept: what was asked for, else a new file in runs/."""
    return asked or in_runs(f"{verb}-{datetime.now().astimezone().strftime('%Y-%m-%d-%H%M%S-%f')}.jsonl")


def _header(settings: ComparisonSettings, subject: Subject, request: ComparisonRequest) -> dict[str, object]:
    return {
        MARK: 1,
        "toll_version": edition(),
        "command_line": as_text(shlex.join(["toll", *sys.argv[1:]])),
        "kind": subject.kind,
        "sides": list(subject.labels),
        "all_pairs": settings.all_pairs,
        "level": settings.level,
        "threshold": settings.threshold,
        "confirm": request.confirm,
        "until": settings.until,
        "layouts": settings.layouts,
        "count_only": request.only_counted,
        "fail_on": [each.text for each in request.counts.rules] if request.counts is not None else [],
        "seed": settings.seed,
        "sandbox": sandbox_told(request),
        "machine": machine.describe(ask_compilers=bool(request.build or request.environments)),
        "conditions": machine.conditions(),
    }


def machine_line() -> str:
    """Processor and kernel in one line."""
    found = machine.describe(ask_compilers=False)
    parts = [str(found[key]) for key in ("cpu", "kernel") if found.get(key)]
    return ", ".join(parts)


def show(
    found: Comparisons, files: Mapping[str, Output], *, as_json: bool, error: TollError | None = None
) -> None:
    """Prints what was found and writes the files that were asked for.

    Raises TollError at the end, with `error` and with every file that could not be written: nothing of it
    takes the answer, or another file, from a reader. Its code is 1 where a regression was found.
    """
    from tollbench.report.comparisons import comparison_terminal

    errors = [error] if error is not None else []
    try:
        if as_json:
            tell_json(found.model_dump_json(indent=2))
        else:
            comparison_terminal.show(found)
    except TollError as refused:  # standard output has no room: a regression is one all the same
        errors.append(refused)
    finally:  # a reader that has left, `| head`, wants the files all the same
        for form, output in files.items():
            from tollbench.report.comparisons.comparison_formats import RENDERERS

            kept = f"the answer is printed, every launch is in {found.raw}"
            if found.raw and is_special(Path(found.raw)):
                kept = ""
            try:
                output.write(RENDERERS[form](found), kept)
            except TollError as refused:
                errors.append(refused)
    unless_ended_early(exit_code(found), joined(errors) if errors else None)


def unless_ended_early(verdicts: Exit, error: TollError | None) -> Exit:
    """The code of the verdicts. Raises `error` where there is one, with the `worse` of both codes."""
    if error is not None:
        raise TollError(error.what, error.next_step, worse(verdicts, error.code))
    return verdicts


def worse(verdicts: Exit, error: Exit) -> Exit:
    """A regression that is known stays one: a gate lets 3 pass."""
    return verdicts if verdicts is Exit.REGRESSION_OR_FAILED_CHECK else error


def exit_code(found: Comparisons) -> Exit:
    """1 for a regression or a count that breaks --fail-on, else 130 after Ctrl-C, 2 for a failure, 3 for what
    is open, else 0. Counts without a rule change nothing, unless they are all there is."""
    from tollbench.compare import count_rules

    verdicts = {item.verdict for item in found.comparisons}
    if any(item.regression for item in found.comparisons) or any(count.fails for count in found.all_counts()):
        return Exit.REGRESSION_OR_FAILED_CHECK
    if found.interrupted:
        return Exit.INTERRUPTED
    if Verdict.FAILED in verdicts or not verdicts or count_rules.unjudged(found):
        return Exit.USAGE
    return Exit.INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else Exit.FINE
