"""One `toll why` from its words to its reports."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from tollbench.cli.comparing import check_pattern, machine_line, sandbox_told
from tollbench.cli.comparing_sides import ComparisonRequest, subject_for
from tollbench.cli.console import progress, say, tell_json
from tollbench.cli.edition import edition
from tollbench.cli.explainers import explainer_for, hunks_of
from tollbench.cli.machine_use import machine_taken
from tollbench.compare import Subject
from tollbench.compare.adapters import check_kind
from tollbench.compare.explanations import Explanation, Explanations
from tollbench.compare.source_diffs import FileHunk
from tollbench.compare.subject import LookAtCode, Standing, Two
from tollbench.compare.twos import every_two, sides_compared, standings_of, twos_of
from tollbench.errors import Exit, TollError, joined, no_room
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom, lacking_room
from tollbench.launching.sandbox import sandboxed
from tollbench.measure import Interrupt, SystemClock
from tollbench.report.comparisons import why_terminal
from tollbench.report.comparisons.why_formats import RENDERERS
from tollbench.text import as_text
from tollbench.writing import Output

PROVED = (
    "both sides execute the same code on the same constants: a difference in time is layout or the machine"
)


def explained(request: ComparisonRequest, *, wait: bool) -> tuple[Explanations, TollError | None]:
    """Every benchmark that both sides offer. Raises TollError where the request makes no sense.

    The second is what ended it where the disk had no more room for a program's folder.
    """
    check_pattern(request.pattern)
    check_kind(request.kind)
    if len(request.sides) < 2:
        raise TollError("why needs two sides", "for example: toll why ./bench_old ./bench_new")
    started = SystemClock().utc()
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_taken(interrupt, wait=wait))
        stack.enter_context(sandboxed(request.sandbox))
        try:
            subject, look_at_code = subject_for(request, request.seed or 1, interrupt, stack)
            hunks = hunks_of(request, every_two(len(subject.labels), all_pairs=False))
            found = _all(subject, look_at_code, hunks)
        except LaunchFailed as failure:
            raise TollError(
                f"nothing can be explained: {failure.reason}", "mend that, and start again"
            ) from None
        except NoRoom as full:
            raise no_room(full.reason) from None
        except Interrupted:
            raise TollError(
                "interrupted before anything was explained", "start again when it suits", Exit.INTERRUPTED
            ) from None
    told = {
        "toll_version": edition(),
        "command_line": as_text(shlex.join(["toll", *sys.argv[1:]])),
        "machine": machine_line(),
        "sandbox": sandbox_told(request),
        "started_utc": started,
    }
    return found.model_copy(update=told), no_room(found.no_room) if found.no_room else None


def _all(
    subject: Subject, look_at_code: LookAtCode | None, hunks: Mapping[Two, Sequence[FileHunk]]
) -> Explanations:
    """Raises LaunchFailed, Interrupted; once one benchmark is explained, an interrupt leaves it at that."""
    survey = subject.survey()
    wanted = twos_of(sides_compared(survey, subject.labels, all_pairs=False), all_pairs=False)
    standings = standings_of(wanted, subject.labels, look_at_code)
    rows = [(name, two) for name, each in wanted.items() for two in each]
    proved = {row for row in rows if (known := standings.get(row)) is not None and known.unchanged}
    explain = explainer_for(subject, standings, hunks).explain if len(proved) < len(rows) else None
    found: list[Explanation] = []
    interrupted, lacking = False, ""
    say(f"explaining {', '.join(subject.labels)}; nothing is timed")
    with progress("explaining") as bar:
        try:
            for name, two in rows:
                bar.step(len(found), len(rows), name, None)
                found.append(
                    _proved(subject, name, two, standings[name, two])
                    if (name, two) in proved or explain is None
                    else explain(name, two)
                )
        except Interrupted as ended:
            if not found:
                raise
            interrupted, lacking = True, lacking_room(ended)
    return Explanations(
        kind=subject.kind,
        sides=subject.labels,
        explanations=tuple(found),
        notes=tuple(
            f"{name} is missing in {', '.join(labels)} and was not explained there"
            for name, labels in survey.missing.items()
        ),
        interrupted=interrupted,
        no_room=lacking,
    )


def _proved(subject: Subject, name: str, two: Two, standing: Standing) -> Explanation:
    return Explanation(
        benchmark=name,
        a=subject.labels[two.a],
        b=subject.labels[two.b],
        per="",
        sentence=f"code unchanged: {PROVED}",
        unchanged_code=True,
        code=standing.told,
    )


def show(
    found: Explanations, files: Mapping[str, Output], *, as_json: bool, error: TollError | None = None
) -> None:
    """Prints what was found and writes the files that were asked for.

    Raises TollError at the end, with `error` and with every file that could not be written.
    """
    errors = [error] if error is not None else []
    try:
        if as_json:
            tell_json(found.model_dump_json(indent=2))
        else:
            why_terminal.show(found)
    finally:
        for form, output in files.items():
            try:
                output.write(RENDERERS[form](found))
            except TollError as refused:
                errors.append(refused)
    if errors:
        raise joined(errors)


def exit_code(found: Explanations) -> Exit:
    """130 after Ctrl-C; 2 where a benchmark could not be explained, as for a side that failed; else 0."""
    if found.interrupted:
        return Exit.INTERRUPTED
    if any(each.failed for each in found.explanations):
        return Exit.USAGE
    return Exit.FINE
