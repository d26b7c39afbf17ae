"""Round after round until every benchmark's answer is known or its time is spent."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tollbench.compare.evidence import TimeAllowed
from tollbench.compare.judging import Judge
from tollbench.compare.orders import with_orders
from tollbench.compare.subject import (
    ComparisonSettings,
    ComparisonStep,
    Keep,
    LookAtCode,
    OnStep,
    Round,
    Standing,
    Subject,
    Survey,
    Two,
)
from tollbench.compare.tracks import Track, sequence_for
from tollbench.compare.twos import every_two, left_out, sides_compared, standings_of, twos_of
from tollbench.compare.usage import Usage
from tollbench.compare.verdict_sentences import rough
from tollbench.compare.verdicts import Comparison, Comparisons, Lacking, Verdict
from tollbench.launching.clock import Clock, SystemClock
from tollbench.launching.failure import Interrupted, LaunchFailed, lacking_room
from tollbench.launching.meanwhile import Meanwhile
from tollbench.stats import bonferroni
from tollbench.stats.cluster_sequence import fewest_clusters
from tollbench.stats.power import power_of_both

CONFIRM_AFTER_S = 20.0
FIRST_SHARE = 2.0 / 3.0  # of the time for all, where a second measurement may follow
SPENT = 0.95  # of its time: who needed as much could have used more
A_LOOK, LAST_LOOK = 0.999999, 1.0  # the most that the share of a look in a raw file is before its last one
LEAST_SHARE = 1.0 / 6.0  # of it, for the second measurement, however long the first one and the pause took


def compare(
    subject: Subject,
    settings: ComparisonSettings,
    *,
    clock: Clock | None = None,
    keep: Keep = lambda _launch: None,
    on_step: OnStep = lambda _step: None,
    names: Sequence[str] | None = None,
    look_at_code: LookAtCode | None = None,
    measure_all: bool = False,
    meanwhile: Meanwhile | None = None,
) -> Comparisons:
    """Measures what the first side and another one offer (or only `names`); judges each against the first.

    With `all_pairs` among the settings it is what any two sides offer, and each is judged against each.

    What `look_at_code` proves to be untouched is not measured, but with `measure_all`.

    Prints nothing. An interrupt (`Interrupted`, which `keep` may raise too) ends the measuring, and what is
    known by then is judged. Where a side cannot even say what it offers, there is one failed row named "*".
    """
    settings.check()
    engine = _Engine(subject, settings, clock or SystemClock(), keep, on_step, meanwhile or Meanwhile())
    try:
        survey = subject.survey()
        sides_of = sides_compared(survey, subject.labels, all_pairs=settings.all_pairs, only=names)
    except Interrupted as ended:
        engine.note_end(ended)
        return engine.results(Survey(()), interrupted=True)
    except LaunchFailed as failure:
        return engine.results(Survey(()), failed=failure.reason)
    wanted = twos_of(sides_of, all_pairs=settings.all_pairs)
    try:
        right = {name: each for name, each in wanted.items() if name not in survey.failing}
        engine.know(standings_of(right, subject.labels, look_at_code), measure_all=measure_all)
        engine.begin(engine.to_measure(wanted))
        keep({"survey": survey_record(survey, sides_of) | {"code": engine.code_record()}})
    except Interrupted as ended:
        engine.note_end(ended)
        return engine.results(survey, interrupted=True)
    return engine.results(survey, interrupted=engine.go())


def survey_record(survey: Survey, sides_of: Mapping[str, Sequence[int]]) -> dict[str, object]:
    """For the raw file: which sides of each benchmark are compared, and who lacks it, or everything."""
    record: dict[str, object] = {"sides_of": sides_of, "missing": survey.missing}
    record |= {"unusable": survey.unusable} if survey.unusable else {}
    return record | ({"part_of": survey.part_of} if survey.part_of else {})


def before_confirming(settings: ComparisonSettings) -> ComparisonSettings:
    """What `compare` gets where `confirm` follows; `settings` are those of both measurements together.

    Two thirds of the time for all, and half of what may err. A row shows the interval of one measurement or
    the other. That any interval of the first one misses has a probability of (1 - level) / 2 at most, and so
    it has for the second one, whatever that was asked to measure. Together that is 1 - level at most,
    whichever rows the first measurement chose for the second. (Over layouts both measure the same ones: the
    second is no second opinion about those, but each errs no more often than that all the same.)
    """
    return replace(
        _half_the_error(settings), total_s=settings.total_s * FIRST_SHARE, share_of_total=FIRST_SHARE
    )


def confirm(
    first: Comparisons,
    subject: Subject,
    settings: ComparisonSettings,
    *,
    clock: Clock | None = None,
    keep: Keep = lambda _launch: None,
    on_step: OnStep = lambda _step: None,
    after_s: float = CONFIRM_AFTER_S,
    meanwhile: Meanwhile | None = None,
) -> Comparisons:
    """Measures what was found slower or faster anew, later, and believes only what is found again.

    Where both agree, the second measurement's interval is shown: it was not chosen for being far from 1.
    Where they do not, the verdict is inconclusive, and the reason tells both. `settings` are those of both
    measurements together: the first was made with `before_confirming(settings)`. This one has the time for
    all that is left after it and the pause of `after_s`, but a sixth of that time at least.
    """
    first = first.model_copy(update={"level": settings.level, "confirm_power": _price(first, settings)})
    doubted = list(filter(_differs, first.comparisons))
    if not doubted:
        return first
    if first.interrupted:
        return with_orders(
            first.model_copy(update={"comparisons": tuple(map(unconfirmed, first.comparisons))})
        )
    clock = clock or SystemClock()
    clock.sleep(after_s)
    left_s = max(settings.total_s - first.seconds - after_s, settings.total_s * LEAST_SHARE)
    again = replace(
        _half_the_error(_drawn_anew(settings)), total_s=left_s, share_of_total=left_s / settings.total_s
    )
    watch = meanwhile or Meanwhile()
    engine = _Engine(subject, again, clock, keep, on_step, watch, measurement=2)
    wanted: dict[str, list[Two]] = {}
    for item in doubted:
        both = Two(subject.labels.index(item.a), subject.labels.index(item.b))
        wanted.setdefault(item.benchmark, []).append(both)
    engine.begin(wanted, comparisons=len(_judged(first)))
    interrupted = engine.go()
    second = {(item.benchmark, item.a, item.b): item for item in engine.verdicts()}
    merged = tuple(
        _confirmed(item, second[item.benchmark, item.a, item.b], interrupted) if _differs(item) else item
        for item in first.comparisons
    )
    found = first.model_copy(
        update={
            "comparisons": merged,
            "seconds": first.seconds + engine.elapsed_s,
            "interrupted": interrupted,
            "no_room": engine.no_room,
            "meanwhile": engine.meanwhile if meanwhile is not None else first.meanwhile + engine.meanwhile,
        }
    )
    return with_orders(found)


def _judged(first: Comparisons) -> list[Comparison]:
    """The rows that had an interval, and so could be called different: who was never timed shares no level.

    Whatever the first measurement chose among them, the coins of the second one were not tossed by then:
    it makes no more intervals than these, and shared by so many, that any misses has a probability of its
    half of 1 - level at most. (Sharing by the doubted rows alone would hold too. By these, each may err with
    about as much in both measurements, as `_price` takes for granted.)
    """
    return [item for item in first.comparisons if item.low is not None or item.high is not None]


def _price(first: Comparisons, settings: ComparisonSettings) -> float | None:
    """What is left of the power where the first measurement spent its share of the time; else None."""
    if first.seconds < SPENT * FIRST_SHARE * settings.total_s:
        return None
    alpha = 1.0 - bonferroni(settings.level, max(1, len(_judged(first))))
    return round(power_of_both(alpha, FIRST_SHARE, 1.0 - FIRST_SHARE), 3)


def _drawn_anew(settings: ComparisonSettings) -> ComparisonSettings:
    """With another seed: a second look at the same random choices would see what the first one saw."""
    return replace(settings, seed=random.Random(f"confirm/{settings.seed}").randrange(2**31))


def _half_the_error(settings: ComparisonSettings) -> ComparisonSettings:
    return replace(settings, level=(1.0 + settings.level) / 2.0)


def _differs(item: Comparison) -> bool:
    return item.verdict in (Verdict.SLOWER, Verdict.FASTER)


def _confirmed(first: Comparison, second: Comparison, interrupted: bool) -> Comparison:
    if interrupted and not second.launches and second.verdict is not Verdict.FAILED:
        return unconfirmed(first)
    total = {
        "seconds": round(first.seconds + second.seconds, 3),
        "launches": first.launches + second.launches,
        "code": first.code,
    }
    if second.verdict is first.verdict:
        return second.model_copy(
            update=total | {"reason": f"{second.reason}; confirmed by a second measurement"}
        )
    return second.model_copy(
        update=total
        | {
            "verdict": Verdict.FAILED if second.verdict is Verdict.FAILED else Verdict.INCONCLUSIVE,
            "regression": False,
            "reason": f"not confirmed: first {first.reason}; then {second.reason}{_again(total, second)}",
        }
    )


def _again(total: Mapping[str, Any], second: Comparison) -> str:
    """What to do about two measurements that do not agree; a short one says what it lacks itself."""
    if second.verdict in (Verdict.INCONCLUSIVE, Verdict.FAILED):
        return ""
    return (
        "; the two do not say the same, as when the machine changes in between: comparing once more takes"
        f" about {rough(total['seconds'])}"
    )


def unconfirmed(item: Comparison) -> Comparison:
    """What remains of a verdict that was to be confirmed and was not."""
    if not _differs(item):
        return item
    told = {"verdict": Verdict.INCONCLUSIVE, "regression": False}
    reason = (
        f"interrupted before it was confirmed: {item.reason}; measuring it once more takes about"
        f" {rough(item.seconds)}"
    )
    return item.model_copy(update=told | {"reason": reason})


def _listed(ratios: Mapping[str, Mapping[Two, float]]) -> dict[str, list[tuple[int, int, float]]]:
    """As JSON can have them."""
    return {name: [(*two, ratio) for two, ratio in each.items()] for name, each in ratios.items()}


class _Engine:
    """One pass of measuring."""

    def __init__(
        self,
        subject: Subject,
        settings: ComparisonSettings,
        clock: Clock,
        keep: Keep,
        on_step: OnStep,
        watch: Meanwhile,
        *,
        measurement: int = 1,
    ) -> None:
        self._subject = subject
        self._settings = settings
        self._clock = clock
        self._keep = keep
        self._on_step = on_step
        self._measurement = measurement
        self._watch = watch
        self.meanwhile = watch.look()
        self._random = random.Random(settings.seed)
        self._started_ns = clock.now_ns()
        self._started_utc = clock.utc()
        self._tracks: list[Track] = []
        self._code: dict[tuple[str, Two], Standing] = {}
        self._left_out: set[tuple[str, Two]] = set()
        limits = TimeAllowed(settings.budget_s, settings.total_s, settings.share_of_total)
        self._judge = Judge(
            subject.labels, settings.threshold, 1.0 - settings.level, settings.layouts, limits
        )
        self.no_room = ""
        self._rounds = 0
        self._usage = Usage()

    @property
    def elapsed_s(self) -> float:
        """Since the measuring began."""
        return (self._clock.now_ns() - self._started_ns) / 1e9

    def know(self, code: Mapping[tuple[str, Two], Standing], *, measure_all: bool) -> None:
        """What was found out about the code of benchmarks and sides; the untouched ones may be left out."""
        self._code = dict(code)
        self._left_out = {key for key, found in code.items() if found.unchanged and not measure_all}

    def to_measure(self, wanted: Mapping[str, Sequence[Two]]) -> dict[str, list[Two]]:
        """Without what is known to be untouched."""
        left = {
            name: [two for two in each if (name, two) not in self._left_out] for name, each in wanted.items()
        }
        return {name: each for name, each in left.items() if each}

    def code_record(self) -> list[dict[str, object]]:
        """For the raw file, in the order of the table."""
        return [
            {
                "benchmark": name,
                "side": two.b,
                **({"against": two.a} if two.a else {}),
                "unchanged": found.unchanged,
                "timed": (name, two) not in self._left_out,
                "told": found.told,
            }
            for (name, two), found in self._code.items()
        ]

    def begin(self, wanted: Mapping[str, Sequence[Two]], comparisons: int = 0) -> None:
        """What to measure: benchmarks, and which two sides of each are compared.

        The level is shared by `comparisons`, by default as many as there are.
        """
        shared_by = (comparisons or sum(map(len, wanted.values())) or 1) if self._settings.corrected else 1
        alpha = 1.0 - bonferroni(self._settings.level, shared_by)
        self._judge = replace(self._judge, alpha=alpha)
        layouts = self._settings.layouts
        self._tracks = [
            Track(name, {two: sequence_for(layouts, alpha) for two in each}) for name, each in wanted.items()
        ]

    def go(self) -> bool:
        """Measures to the end; returns whether somebody interrupted."""
        try:
            while waiting := [track for track in self._tracks if not track.done]:
                if self.elapsed_s >= self._settings.total_s and self._rounds:
                    self._look_last(waiting)
                else:
                    self._round(waiting)
        except Interrupted as ended:
            self.note_end(ended)
            self._look_last(self._tracks)  # whoever interrupted did not choose the moment by these values
            return True
        return False

    def note_end(self, ended: Interrupted) -> None:
        """Why it came before its time, where nobody asked for it."""
        self.no_room = lacking_room(ended)

    def _look_last(self, tracks: Sequence[Track]) -> None:
        for track in tracks:
            if not track.done:
                track.look(last=True)
                track.done = True

    def verdicts(self) -> list[Comparison]:
        """Of every benchmark and side, with what is known of its code."""
        found = [
            verdict
            for track in self._tracks
            for verdict in self._judge.verdicts(track, partial(self._notes, track.name))
        ]
        found = [self._with_usage(item) for item in found]
        labels = self._subject.labels
        told = {(name, labels[a], labels[b]): known.told for (name, (a, b)), known in self._code.items()}
        found = [
            item.model_copy(update={"code": told.get((item.benchmark, item.a, item.b), "")}) if told else item
            for item in found
        ]
        untouched = [
            self._judge.untouched(name, two, standing.told)
            for (name, two), standing in self._code.items()
            if (name, two) in self._left_out
        ]
        return found + untouched

    def _notes(self, name: str, two: Two) -> Sequence[str]:
        return self._subject.notes(name, two.b, two.a)

    def _with_usage(self, item: Comparison) -> Comparison:
        used = {
            "a_used": self._usage.of(item.benchmark, item.a),
            "b_used": self._usage.of(item.benchmark, item.b),
        }
        return item.model_copy(update=used)

    def results(self, survey: Survey, *, interrupted: bool = False, failed: str = "") -> Comparisons:
        """All that was found; `failed` says why there was nothing to find."""
        all_pairs = self._settings.all_pairs
        count = len(self._subject.labels)
        nothing = self._judge.nothing(failed, every_two(count, all_pairs=all_pairs))
        out = self._judge.unusable(left_out(survey.unusable, count))
        found = Comparisons(
            comparisons=tuple(nothing if failed else [*self.verdicts(), *out]),
            lacking=Lacking.of(survey.missing),
            part_of=survey.part_of,
            shared=survey.shared,
            kind=self._subject.kind,
            sides=self._subject.labels,
            all_pairs=all_pairs,
            level=self._settings.level,
            threshold=self._settings.threshold,
            layouts=self._settings.layouts,
            until=self._settings.until,
            seconds=round(self.elapsed_s, 3),
            interrupted=interrupted,
            no_room=self.no_room,
            meanwhile=self.meanwhile,
            started_utc=self._started_utc,
        )
        return with_orders(found)

    def _round(self, waiting: list[Track]) -> None:
        """Those measured least come first, so that all benchmarks get their share of every minute."""
        self._random.shuffle(waiting)
        waiting.sort(key=lambda track: len(track.values))
        group = set(self._subject.group([track.name for track in waiting]))
        tracks = [track for track in waiting if track.name in group]
        self._tell(tracks[0].name)
        started_ns = self._clock.now_ns()
        self._rounds += 1
        found = self._subject.round([track.name for track in tracks], self._random.randrange(2**31))
        took_s = (self._clock.now_ns() - started_ns) / 1e9
        place = {"measurement": self._measurement, "round": self._rounds}
        self._usage.take(found.raw)
        for launch in found.raw:
            self._keep({**place, **launch})
        if (befell := self._watch.look()) != self.meanwhile:
            self.meanwhile = befell
            self._keep({"meanwhile": befell})
        looks: dict[str, float] = {}
        for track in tracks:
            track.seconds += took_s / len(tracks)
            if (share := self._take(track, found, took_s / len(tracks))) is not None:
                looks[track.name] = share
        self._keep(
            {
                **place,
                "values": found.values,
                "order": found.order,
                "layouts": found.layouts,
                "failures": found.failures,
                **({"ratios": _listed(found.ratios)} if found.ratios else {}),
                **({"means": found.means} if found.means else {}),
                "looks": looks,
                "seconds": {track.name: round(took_s / len(tracks), 6) for track in tracks},
                "done": [track.name for track in tracks if track.done],
            }
        )

    def _take(self, track: Track, found: Round, cost_s: float) -> float | None:
        """Takes in a round; the share of its time at which it was looked at, LAST_LOOK at the last look.

        None: it was not looked at.
        """
        track.failures |= found.failures.get(track.name, {})
        if track.name in found.values:
            track.take(
                found.values[track.name],
                found.order[track.name],
                found.layouts[track.name] if self._settings.layouts else None,
                found.ratios.get(track.name),
                found.means.get(track.name),
            )
        if track.failed():
            track.done = True
            return None
        allotted_s = self._allotted_s(track)
        rounds = len(track.values)
        layouts = self._settings.layouts
        if 0 < layouts < fewest_clusters(self._judge.alpha) and rounds >= layouts:
            track.done = True  # they were all seen once, and no time would give them an interval
            return None
        if track.seconds + cost_s > allotted_s or rounds >= self._settings.most_rounds:
            track.look(last=True)
            track.done = True
            return LAST_LOOK
        if not track.look_due(self._settings.layouts):
            return None
        track.look()
        track.done = track.settled(self._settings.threshold, self._settings.until)
        return min(track.seconds / allotted_s, A_LOOK)

    def _allotted_s(self, track: Track) -> float:
        """This benchmark's time: its budget, or its share of what is left for all where that is less.

        Its own signs have no part in that, but those of other benchmarks have: they decide when these are
        done. Where benchmarks share launches, signs are alike, so that a share of the time spent, and with
        it the moment and the width of a look, is not wholly independent of the signs that it judges.
        """
        waiting = sum(not other.done for other in self._tracks)
        left_s = self._settings.total_s - self.elapsed_s
        return min(self._settings.budget_s, track.seconds + max(0.0, left_s) / waiting)

    def _tell(self, name: str) -> None:
        waiting = [track for track in self._tracks if not track.done]
        budget_s = sum(max(0.0, self._settings.budget_s - track.seconds) for track in waiting)
        left_s = max(0.0, min(budget_s, self._settings.total_s - self.elapsed_s))
        self._on_step(
            ComparisonStep(self.elapsed_s, left_s, len(self._tracks) - len(waiting), len(self._tracks), name)
        )
