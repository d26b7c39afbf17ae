"""Counts of every benchmark, held against another side's: exact where they do not scatter.

Each side is launched twice, and twice more where the sides differ. Where all launches of a side agree, what
they gave is the count, and the verdict is exact. Where they do not, each side is launched as often as an
interval of the median difference needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction

from tollbench import numbers
from tollbench.compare.count_rules import Rule, held_against
from tollbench.compare.counters import BY_MALLOC, INSTRUCTIONS, UNDER_VALGRIND, Amount, Counter, Reading
from tollbench.compare.engine import survey_record
from tollbench.compare.judging import Judge
from tollbench.compare.subject import ComparisonSettings, Keep, Subject, Survey, Two
from tollbench.compare.twos import every_two, left_out, sides_compared, twos_of
from tollbench.compare.verdicts import (
    Comparison,
    Comparisons,
    CountChange,
    CountVerdict,
    Lacking,
    Verdict,
)
from tollbench.counting.fixed import can_fix_addresses
from tollbench.counting.hardware import HARDWARE, VALGRIND, VALGRIND_COUNTS, InstructionCounter
from tollbench.launching.clock import SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.stats import bonferroni, fewest_values, median_interval

LAUNCHES = 2  # of each side: they either agree or scatter
CONFIRMING_LAUNCHES = 4  # where the sides differ: a tossed coin may agree with itself twice
SCATTERING_LAUNCHES = 8  # of each side, at least, where they do not
METRICS = ("instructions", "allocations", "bytes", "peak", "syscalls", "size")


@dataclass
class Counts:
    """Counts benchmarks one after another."""

    labels: Sequence[str]
    counter: Counter
    metrics: Set[str]
    level: float  # with which all intervals of the table hold together
    rules: Sequence[Rule] = ()
    keep: Keep = lambda _record: None
    on_benchmark: Callable[[str], None] = lambda _name: None
    _taken: dict[tuple[int, str], list[Reading]] = field(default_factory=dict)  # by side and benchmark

    def added(self, comparisons: Sequence[Comparison]) -> Iterator[Comparison]:
        """Each with its counts. Raises Interrupted."""
        # Of 100 equal benchmarks one in 256 each has all of 8 differences above 0: a gate would close on a
        # third of such tables.
        level = bonferroni(self.level, max(1, len(comparisons) * len(self.metrics)))
        for item in comparisons:
            self.on_benchmark(item.benchmark)
            two = Two(self.labels.index(item.a), self.labels.index(item.b))
            counts = held_against(tuple(self._of(item.benchmark, two, level)), self.rules)
            self.keep(
                {
                    "counts": {
                        "of": item.benchmark,
                        **({"a": item.a} if two.a else {}),
                        "b": item.b,
                        "found": [each.model_dump() for each in counts],
                    }
                }
            )
            yield item.model_copy(update={"counts": counts})

    def readings(self, side: int) -> dict[str, list[Reading]]:
        """All launches of one side, by benchmark."""
        return {name: taken for (of, name), taken in self._taken.items() if of == side}

    def _of(self, name: str, two: Two, level: float) -> Iterator[CountChange]:
        for one in two:
            self._take(one, name, self.metrics, LAUNCHES)
        both = [self._amounts(one, name) for one in two]
        if different := frozenset(each for each in both[0] if _doubtful(both[0][each], both[1][each])):
            both = self._again(two, name, different, CONFIRMING_LAUNCHES)
        if scattering := {metric for metric in both[0] if any(_scatters(each[metric]) for each in both)}:
            wanted = max(SCATTERING_LAUNCHES, fewest_values(level))
            both = self._again(two, name, scattering, wanted)
        for metric in METRICS:
            if metric in both[0]:
                yield change(metric, *(each[metric] for each in both), labels=self._labels(two), level=level)

    def _again(
        self, two: Two, name: str, metrics: Set[str], wanted: int
    ) -> list[dict[str, list[Amount | str]]]:
        """Launches both until each has told `metrics` so often; in turns, so that a drift meets both."""
        kinds = [BY_MALLOC] if self.counter.who.by_hardware else [BY_MALLOC, UNDER_VALGRIND]
        # What one kind of launch tells comes together.
        asked = frozenset(metrics).union(*(kind for kind in kinds if kind & metrics)) & self.metrics
        while True:
            both = [self._amounts(one, name) for one in two]
            short = [
                one
                for one, told in zip(two, both, strict=True)
                if min(len(told[metric]) for metric in metrics) < wanted
            ]
            if not short:
                return both
            for one in short:
                self._take(one, name, asked, 1)

    def _labels(self, two: Two) -> tuple[str, str]:
        return self.labels[two.a], self.labels[two.b]

    def _take(self, side: int, name: str, metrics: Set[str], launches: int) -> None:
        taken = self._taken.setdefault((side, name), [])
        wanted = launches if launches == 1 else launches - len(taken)  # a side's serve all others
        for _ in range(wanted):
            taken.append(self.counter.read(side, name, metrics))
            told = {
                metric: str(found.value) if isinstance(found, Amount) else found
                for metric, found in taken[-1].items()
            }
            self.keep({"counted": {"benchmark": name, "side": self.labels[side], "amounts": told}})

    def _amounts(self, side: int, name: str) -> dict[str, list[Amount | str]]:
        found: dict[str, list[Amount | str]] = {}
        for reading in self._taken[side, name]:
            for metric, amount in reading.items():
                found.setdefault(metric, []).append(amount)
        return {metric: found[metric] for metric in METRICS if metric in found}


def _who(amount: Amount) -> str:
    known = {HARDWARE: "the hardware", VALGRIND: "Valgrind"}
    return known.get(amount.by, "something unknown")  # a stranger's baseline


def _scatters(amounts: Sequence[Amount | str]) -> bool:
    return len({each.value for each in amounts if isinstance(each, Amount)}) > 1


def _doubtful(a: Sequence[Amount | str], b: Sequence[Amount | str]) -> bool:
    """Or are below zero, which is nonsense unless it scatters."""
    values = [{each.value for each in amounts if isinstance(each, Amount)} for amounts in (a, b)]
    if not values[0] or not values[1]:
        return False
    return values[0] != values[1] or min(values[0]) < 0


def change(
    metric: str,
    a: Sequence[Amount | str],
    b: Sequence[Amount | str],
    *,
    labels: tuple[str, str],
    level: float,
) -> CountChange:
    """One count's verdict, from one launch of each side or more. The interval is of the median of b - a."""
    for label, amounts in zip(labels, (a, b), strict=True):
        if reasons := [each for each in amounts if isinstance(each, str)]:
            return CountChange.missing(metric, f"{label} {reasons[0]}")
    ours = [each for each in a if isinstance(each, Amount)]
    theirs = [each for each in b if isinstance(each, Amount)]
    if ours[0].per != theirs[0].per:  # a stranger's baseline
        return CountChange.missing(
            metric, f"{labels[0]} counts by the {ours[0].per}, {labels[1]} by the {theirs[0].per}"
        )
    if ours[0].by != theirs[0].by:
        return CountChange.missing(
            metric,
            f"{labels[0]} is counted by {_who(ours[0])}, {labels[1]} by {_who(theirs[0])}: they are never"
            " compared",
        )
    both = (_median(ours), _median(theirs))
    how = theirs[0].note
    if ours[0].note != how:
        how = f"{how}; {labels[0]} {ours[0].note}"
    low = high = None
    exact = not (_scatters(ours) or _scatters(theirs))
    for label, value in zip(labels, both, strict=True):
        if value < 0 and exact:
            return CountChange.missing(
                metric, f"{label} takes less for more iterations, in every launch: {how}"
            )
    if exact:
        verdict = _verdict(both[1] - both[0], both[1] - both[0])
    else:
        # A stored value that comes a second time is no launch: two of them in twelve pairs differed by chance
        # in 4 of 100 comparisons, where twelve stored ones do in 0.05.
        pairs = [(one, two) for one, two in zip(ours, theirs, strict=False) if not (one.again or two.again)]
        verdict, low, high = _statistical([float(two.value - one.value) for one, two in pairs], level)
        spread = max(map(_spread, (ours, theirs)))
        told = f"scatters from launch to launch, by {numbers.percent(spread)}" if spread else "scatters"
        interval = f"an interval of {len(pairs)} pairs"
        if low is None:
            interval = f"{len(pairs)} pairs of launches are too few for an interval"
            interval += ": save the baseline again" * any(one.again for one in ours)
        how = "; ".join(filter(None, [how, f"{told}: {interval}"]))
    return CountChange(
        metric=metric,
        per=theirs[0].per,
        by=theirs[0].by,
        a=max(0.0, float(both[0])),
        b=max(0.0, float(both[1])),
        low=low,
        high=high,
        exact=exact,
        launches=len(theirs),
        verdict=verdict,
        reason=how,
    )


def notes(metrics: Set[str], who: InstructionCounter | None = None) -> tuple[str, ...]:
    """What holds for all counts of a table; `who` counts instructions, None: Valgrind."""
    found = []
    who = who or VALGRIND_COUNTS
    if INSTRUCTIONS in metrics and who.event is not None:
        found.append(
            "Instructions are those of user code by the processor's own counter, which interrupts and page"
            " faults raise by some: where launches differ by a few, an interval says what that means."
        )
    elif INSTRUCTIONS in metrics and who.refused:
        found.append(f"Instructions: {who.refused}.")
    if metrics & (UNDER_VALGRIND - (frozenset((INSTRUCTIONS,)) if who.by_hardware else frozenset())):
        found.append(
            f"{'System calls are' if who.by_hardware else 'Instructions and system calls are'} those of user"
            " code under Valgrind, whose processor lacks some of the machine's instructions: variants chosen"
            " by cpuid may be others than in a timed launch."
        )
    if not can_fix_addresses():
        found.append(
            "Address randomisation could not be switched off here (setarch -R is refused): counts that depend"
            " on addresses may scatter."
        )
    return tuple(found)


def _statistical(
    differences: Sequence[float], level: float
) -> tuple[CountVerdict, float | None, float | None]:
    interval = median_interval(differences, level)
    if interval is None:
        return CountVerdict.OPEN, None, None
    return _verdict(interval.low, interval.high), interval.low, interval.high


def _verdict(low: float | Fraction, high: float | Fraction) -> CountVerdict:
    if low == high == 0:
        return CountVerdict.EQUAL
    if low > 0:
        return CountVerdict.MORE
    return CountVerdict.FEWER if high < 0 else CountVerdict.OPEN


def _median(amounts: Sequence[Amount]) -> Fraction:
    ordered = sorted(each.value for each in amounts)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _spread(amounts: Sequence[Amount]) -> float:
    values = [each.value for each in amounts]
    if min(values) < 0 or not max(values):
        return 0.0  # of what scatters around nothing, no share says much
    return float((max(values) - min(values)) / max(values))


def not_timed(subject: Subject, settings: ComparisonSettings, keep: Keep) -> Comparisons:
    """What the sides offer, a row for each benchmark and side, without a time."""
    judge = Judge(subject.labels, settings.threshold, 1.0 - settings.level)
    all_pairs = settings.all_pairs
    survey, rows, interrupted, no_room = Survey(()), [], False, ""
    try:
        survey = subject.survey()
        sides_of = sides_compared(survey, subject.labels, all_pairs=all_pairs)
        keep({"survey": survey_record(survey, sides_of)})
        wanted = twos_of(sides_of, all_pairs=all_pairs)
        rows = counted_rows(wanted, subject.labels, settings.level, subject.notes)
        rows += judge.unusable(left_out(survey.unusable, len(subject.labels)))
    except LaunchFailed as failure:
        rows = judge.nothing(failure.reason, every_two(len(subject.labels), all_pairs=all_pairs))
    except Interrupted as ended:
        interrupted, no_room = True, lacking_room(ended)
    return Comparisons(
        comparisons=tuple(rows),
        lacking=Lacking.of(survey.missing),
        part_of=survey.part_of,
        shared=survey.shared,
        kind=subject.kind,
        sides=subject.labels,
        all_pairs=all_pairs,
        level=settings.level,
        threshold=settings.threshold,
        seconds=0.0,
        interrupted=interrupted,
        no_room=no_room,
        started_utc=SystemClock().utc(),
    )


def counted_rows(
    wanted: Mapping[str, Sequence[Two]],
    labels: Sequence[str],
    level: float,
    notes: Callable[[str, int, int], Sequence[str]] = lambda _name, _side, _against: (),
) -> list[Comparison]:
    """A row for each benchmark and two sides that are not timed, with what is noted of them."""
    return [
        Comparison(
            benchmark=name,
            a=labels[two.a],
            b=labels[two.b],
            ratio=None,
            low=None,
            high=None,
            level=level,
            verdict=Verdict.COUNTED,
            launches=0,
            seconds=0.0,
            reason="; ".join(["not timed: only counts were asked for", *notes(name, two.b, two.a)]),
            regression=False,
        )
        for name, each in wanted.items()
        for two in each
    ]
