"""`toll compare --count`: what is counted, what it may not do, and who counts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.catalog import machine
from tollbench.cli.console import progress, say
from tollbench.cli.edition import edition
from tollbench.compare import Comparisons, Subject, baselines
from tollbench.compare.adapters import adapters
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.adapters.toll_program import ProgramFiles
from tollbench.compare.baselines import AgainstBaseline, Baseline, Circumstances, circumstances, differences
from tollbench.compare.count_rules import Rule, held_against, rule
from tollbench.compare.counters import Counter, Reading
from tollbench.compare.counting_sides import counter_for
from tollbench.compare.counts import METRICS, Counts, notes
from tollbench.compare.file_sizes import SIZE, file_changes, parts_of
from tollbench.compare.judging import EVERYTHING
from tollbench.compare.subject import Keep
from tollbench.compare.twos import every_two
from tollbench.compare.verdicts import Comparison, CountChange, CountVerdict, FileChange, Lacking, Verdict
from tollbench.errors import TollError
from tollbench.home import cache_folder
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.text import escaped
from tollbench.words import CountBy
from tollbench.writing import Output
from tollbench.writing.marks import BASELINE

Row = tuple[str, str, str]  # benchmark and both labels

_EXAMPLE = "for example: --count instructions,allocations --fail-on 'instructions>+1%'"


@dataclass(frozen=True, slots=True)
class CountRequest:
    """What the command line asked for."""

    metrics: frozenset[str]
    only: bool  # nothing is timed
    rules: tuple[Rule, ...] = ()
    save: Output | None = None
    baseline: Path | None = None
    against: Baseline | None = None  # what stood in it: a pipe is read once
    by: CountBy = CountBy.AUTO

    @property
    def renews(self) -> bool:
        """Whether the counts take the place of those they are held against."""
        if self.save is None or self.baseline is None:
            return False
        return os.path.realpath(self.save.path) == os.path.realpath(self.baseline)

    @property
    def alone(self) -> bool:
        """Whether one side is enough: it is held against a baseline, or against itself."""
        return self.save is not None or self.baseline is not None


def count_request(
    count: str,
    by: CountBy,
    fail_on: Sequence[str] | None,
    *,
    only: bool,
    save: Path | None = None,
    baseline: Path | None = None,
    force: bool = False,
) -> CountRequest | None:
    """None where nothing is to be counted. Raises TollError for what makes no sense."""
    rules = tuple(map(_rule, fail_on or ()))
    metrics = {word.strip() for word in count.split(",") if word.strip()}
    if unknown := sorted(metrics - set(METRICS)):
        raise TollError(
            f"--count {unknown[0]}: nothing of that name is counted", f"one of {', '.join(METRICS)}"
        )
    metrics |= {each.metric for each in rules}
    if count.strip() and not metrics:
        raise TollError(f"--count {count} names nothing", f"some of {', '.join(METRICS)}")
    if (only or save or baseline) and not count.strip():
        metrics = set(METRICS)
    against = baselines.read(baseline) if baseline is not None else None  # before anything is launched
    kept = Output(save, BASELINE, "--save-baseline", force) if save is not None else None
    return CountRequest(frozenset(metrics), only, rules, kept, baseline, against, by) if metrics else None


def _rule(text: str) -> Rule:
    try:
        found = rule(text)
    except ValueError as problem:
        raise TollError(f"--fail-on {text!r} {problem}", _EXAMPLE) from None
    if found.metric not in METRICS:
        raise TollError(f"--fail-on {text!r}: {found.metric} is not counted", f"one of {', '.join(METRICS)}")
    return found


def counted(
    found: Comparisons, subject: Subject, asked: CountRequest, keep: Keep
) -> tuple[Comparisons, TollError | None]:
    """What was found, with counts, and why the baseline could not be written, if it could not.

    An interrupt leaves the rows that it comes before without counts, and files without their sizes.
    """
    baseline = asked.against
    if baseline is not None:
        found = _only_shared(found, baseline)
    rows = [item for item in found.comparisons if item.verdict is not Verdict.FAILED]
    done: dict[Row, Comparison] = {}
    ended: Interrupted | None = None
    counts = None
    if asked.metrics - {SIZE} and rows and not found.interrupted:
        try:
            counter = _counter(subject, asked, baseline)
            counts = Counts(subject.labels, counter, asked.metrics, found.level, asked.rules, keep)
            ended = _count(counts, rows, done)
        except LaunchFailed as failure:
            done = _all_failed(rows, asked, failure.reason)
        except Interrupted as caught:  # while a way to count was tried
            ended = caught
    files: tuple[FileChange, ...] = ()
    of_baseline: Sequence[str] = ()
    try:  # after Ctrl-C no file is read any more, and what is known is told all the same
        files = _files(subject, asked, baseline, all_pairs=found.all_pairs)
        of_baseline = _of_baseline(subject, baseline) if rows else ()
    except Interrupted as caught:
        ended = ended or caught
    found = found.model_copy(
        update={
            "comparisons": tuple(done.get(_row(item), item) for item in found.comparisons),
            "interrupted": found.interrupted or ended is not None,
            "no_room": found.no_room or (lacking_room(ended) if ended is not None else ""),
            "fail_on": tuple(each.text for each in asked.rules),
            "files": files,
        }
    )
    who = counts.counter.who if counts is not None else None
    told = [*notes(asked.metrics, who), *of_baseline] if rows else []
    error = None
    if asked.save is not None:
        try:
            told.append(_saved(asked.save, found, subject, asked, counts))
        except TollError as refused:
            error = refused
        except Interrupted:  # while what a baseline holds beside the counts was read
            found = found.model_copy(update={"interrupted": True})
            told.append(_saved(asked.save, found, subject, asked, counts))
    return found.model_copy(update={"count_notes": tuple(told)}), error


def _saved(
    save: Output, found: Comparisons, subject: Subject, asked: CountRequest, counts: Counts | None
) -> str:
    """A sentence on what was kept, or why nothing was. Raises TollError where the disk refuses."""
    all_counts = found.all_counts()
    if found.interrupted or all(each.verdict is CountVerdict.FAILED for each in all_counts):
        why = found.no_room or ("somebody interrupted" if found.interrupted else "nothing was counted")
        return f"No baseline was written to {save.path}: {why}."
    if asked.renews and any(each.fails for each in all_counts):
        return f"{save.path} stays as it was: a count breaks a rule against it."
    readings = counts.readings(len(subject.labels) - 1) if counts is not None else {}
    made = _baseline(subject, readings)
    # In all pairs others may be counted where the last side was not.
    if not any(made.counts.values()) and not (SIZE in asked.metrics and made.parts):
        return f"No baseline was written to {save.path}: nothing was counted of {subject.labels[-1]}."
    save.write(escaped(made.model_dump_json(indent=1)) + "\n")
    return f"The counts of {subject.labels[-1]} are kept in {save.path}."


def _counter(subject: Subject, asked: CountRequest, baseline: Baseline | None) -> Counter:
    """Raises LaunchFailed where this kind of side is not counted."""
    by = asked.by
    if baseline is not None and baseline.kind != subject.kind:
        raise LaunchFailed(
            f"the baseline counts {baseline.kind}, and these sides are {subject.kind}: save one of them"
        )
    if baseline is not None and by is CountBy.AUTO:  # one way of counting is never held against the other
        by = CountBy(baselines.counted_by(baseline) or by)
    counter = counter_for(subject, cache_folder(), by)
    if counter is None:
        known = adapters().get(subject.kind)
        raise LaunchFailed(
            f"{known.name if known else subject.kind} is not counted yet; --kind command counts it"
        )
    return counter if baseline is None else AgainstBaseline(baseline, counter)


def _count(counts: Counts, rows: Sequence[Comparison], done: dict[Row, Comparison]) -> Interrupted | None:
    """Fills `done`; what ended it before its time."""
    say(f"counting {', '.join(metric for metric in METRICS if metric in counts.metrics)}")
    with progress("counting") as bar:
        counts.on_benchmark = lambda name: bar.step(len(done), len(rows), name, None)
        try:
            for item in counts.added(rows):
                done[_row(item)] = item
        except Interrupted as ended:
            return ended
    return None


def _row(item: Comparison) -> Row:
    return item.benchmark, item.a, item.b


def _files(
    subject: Subject, asked: CountRequest, baseline: Baseline | None, *, all_pairs: bool
) -> tuple[FileChange, ...]:
    if SIZE not in asked.metrics or not isinstance(subject, OneAfterAnother | ProgramFiles):
        return ()
    first = baseline.parts if baseline is not None else None
    wanted = every_two(len(subject.labels), all_pairs=all_pairs)
    return tuple(
        file.model_copy(update={"count": held_against([file.count], asked.rules)[0]})
        for file in file_changes(subject.sides, subject.labels, wanted, first)
    )


def _all_failed(rows: Sequence[Comparison], asked: CountRequest, reason: str) -> dict[Row, Comparison]:
    counts = tuple(
        CountChange.missing(metric, reason) for metric in METRICS if metric in asked.metrics - {SIZE}
    )
    return {_row(item): item.model_copy(update={"counts": counts}) for item in rows}


def _only_shared(found: Comparisons, baseline: Baseline) -> Comparisons:
    """What the baseline does not know is listed, and so is what it alone knows."""
    names = {item.benchmark for item in found.comparisons}
    rows = [item for item in found.comparisons if item.benchmark in (*baseline.counts, EVERYTHING)]
    gone = [] if EVERYTHING in names else [name for name in baseline.counts if name not in names]
    lacking = [Lacking(benchmark=item.benchmark, missing_in=found.sides[:1]) for item in found.comparisons]
    lacking = [each for each in lacking if each.benchmark not in (*baseline.counts, EVERYTHING)]
    lacking += [Lacking(benchmark=name, missing_in=found.sides[1:]) for name in gone]
    return found.model_copy(update={"comparisons": tuple(rows), "lacking": (*found.lacking, *lacking)})


def _of_baseline(subject: Subject, baseline: Baseline | None) -> Sequence[str]:
    if baseline is None:
        return ()
    told = [baselines.WHY_NO_TIMES]
    if isinstance(subject, OneAfterAnother):
        told += differences(baseline.circumstances, circumstances(subject.sides[-1], _cpu()))
    return told


def _baseline(subject: Subject, readings: Mapping[str, Sequence[Reading]]) -> Baseline:
    side = subject.sides[-1] if isinstance(subject, OneAfterAnother) else None
    return Baseline(
        toll_version=edition(),
        side=subject.labels[-1],
        kind=subject.kind,
        made_utc=SystemClock().utc(),
        circumstances=circumstances(side, _cpu()) if side is not None else Circumstances(),
        counts=baselines.kept(readings),
        parts=parts_of(side) if side is not None else {},
    )


def _cpu() -> str:
    return str(machine.describe(ask_compilers=False).get("cpu", ""))
