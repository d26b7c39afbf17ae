"""Sides that are launched one after another: what all kinds of executables and command lines share."""

from __future__ import annotations

import math
import random
import statistics
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tollbench.compare.around import Places, Surroundings
from tollbench.compare.layout_visits import LayoutVisits
from tollbench.compare.raw_file import LONGEST_NS, SHORTEST_NS
from tollbench.compare.subject import MeasuringOptions, Round, Side, Survey, survey_of
from tollbench.launching.answers import understood
from tollbench.launching.command import Command, Ended, run_command, working_folder
from tollbench.launching.environment import padded
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import breakable
from tollbench.launching.sandbox import confined_now

REPETITION_S = 0.001  # of one repetition of one benchmark
MOST_REPETITIONS = 7
FEWEST_REPETITIONS = 3
_LONG_NS = 30e6  # a repetition this long is a launch
_SLOWEST_NS = 100e6  # of a repetition of the slowest side, which may be slower by orders of magnitude


class InRound(NamedTuple):
    """Of a launch in its round."""

    position: int  # in the order of launches
    side: int
    layout: int | None  # None: the side as it was built


Values = dict[str, list[float]]  # benchmark -> ns an operation, one for each timed group of operations


class OneAfterAnother(ABC):
    """A round launches every side once, in an order drawn anew, each with a stack that begins elsewhere.

    A launch that fails while it measures several benchmarks accuses none of them: each comes again alone.
    """

    kind = ""
    if_none = ""  # what to do where a side offers no benchmark: "; next: ..."

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        self.sides = tuple(sides)
        self.labels = tuple(side.label for side in sides)
        self.options = options
        self._alone: set[str] = set()
        self._failed: dict[str, dict[int, str]] = {}  # benchmark -> side -> reason; not launched for it again
        self._offering: dict[str, tuple[int, ...]] = {}  # benchmark -> sides, where not all have it
        self.usable: Sequence[int] = range(len(self.sides))  # sides that could be asked
        self._notes: dict[str, list[str]] = {}
        self.left_out: Values = {}  # of the last launch: what was measured, and disturbed
        self._visits = LayoutVisits(len(self.sides[0].layouts))
        self._surroundings = Surroundings(options.around, options.interrupt, options.limit_s)
        self.launch_overhead_ns = 0.0  # what a launch costs besides the measuring itself

    @abstractmethod
    def offered(self, side: Side) -> Sequence[str]:
        """Names of the benchmarks that a side offers. Raises LaunchFailed."""

    @abstractmethod
    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """One launch of one side. Raises LaunchFailed; a benchmark may be missing in what it returns."""

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """Which of `names` one launch measures, the first among them; here that one alone."""
        return names[:1]

    def alone(self, _side: Side, _name: str) -> Sequence[str] | None:
        """Arguments with which a side runs one benchmark briefly and nothing else; None: it has none."""
        return None

    def prepare(self, _name: str) -> Mapping[int, str]:
        """Once, before a benchmark's first launch: settles its work. Returns reasons of sides that fail."""
        return {}

    def clean_up(self) -> None:
        """After all launches, also where there were none: what --cleanup asks for. Raises LaunchFailed."""
        self._surroundings.clean_up(self._places())

    def _places(self) -> Places:
        return [
            None if side.unusable else (side.folder or Path.cwd(), side.environment) for side in self.sides
        ]

    def survey(self) -> Survey:
        """Asks every side."""
        self._failed.clear()
        self._surroundings.set_up(self._places())
        offers: list[Sequence[str] | LaunchFailed] = []
        all_pairs = self.options.all_pairs
        for side in self.sides:
            try:
                if side.unusable:
                    raise LaunchFailed(side.unusable)
                with understood("answers with what makes no sense"):
                    offers.append(self.offered(side))
            except LaunchFailed as failure:
                failed = LaunchFailed(side.unusable or f"{side.label} {failure.reason}")
                if not all_pairs:
                    raise failed from None
                offers.append(failed)
        offers = self.completed(offers)
        with breakable():
            survey = survey_of(
                self.labels,
                offers,
                self.options.pattern,
                self.if_none,
                all_pairs=all_pairs,
                share=self.options.share,
            )
        self.usable = [side for side in range(len(self.sides)) if side not in survey.unusable]
        self._offering = {
            name: tuple(side for side in self.usable if self.labels[side] not in lacking)
            for name, lacking in survey.missing.items()
        }
        return survey

    def completed(self, offers: list[Sequence[str] | LaunchFailed]) -> list[Sequence[str] | LaunchFailed]:
        """What the sides offer, once all were asked: one may be known to have what it could not name."""
        return offers

    def no_result(self, _side: int, name: str) -> str:
        """Why a launch that came to its end gave no time for a benchmark."""
        return f"gave no result for {name} in this launch"

    def offering(self, name: str) -> Sequence[int]:
        """The sides that have this benchmark."""
        return self._offering.get(name) or self.usable

    def group(self, waiting: Sequence[str]) -> Sequence[str]:
        """As many as are worth one launch; what has failed in company, or a side lacks, comes alone."""
        if self._must_be_alone(waiting[0]):
            return waiting[:1]
        return self.most_together([name for name in waiting if not self._must_be_alone(name)])

    def _must_be_alone(self, name: str) -> bool:
        return name in self._alone or name in self._offering or bool(self._failed.get(name))

    def round(self, names: Sequence[str], seed: int) -> Round:
        """One launch of each side; a side that has failed is left out, so that the others have the time."""
        found = Round()
        rng = random.Random(seed)
        drawn = list(range(len(self.sides)))
        rng.shuffle(drawn)
        for name in names:
            if name not in self._failed:
                self._failed[name] = self._prepared(name)
        out = self._failed[names[0]] if len(names) == 1 else {}
        if self._nothing_left(names[0], out):
            found.failures[names[0]] = dict(out)
            return found
        layout = self._visits.draw(names, rng)
        order = self._visits.order(names, layout, drawn)
        places = [
            InRound(position, index, layout)
            for position, index in enumerate(order)
            if index not in out and index in (self.usable if len(names) > 1 else self.offering(names[0]))
        ]
        answers = self.launch_all(found, places, names, rng)
        launched = {side: values for side, values in answers.items() if not isinstance(values, str)}
        broken = {side: reason for side, reason in answers.items() if isinstance(reason, str)}
        if broken and len(names) > 1:
            self._alone.update(names)
            return found
        for name in self._unaccused(names, launched):
            self._combine(found, name, launched, {**self._failed[name], **broken})
            if name in found.values:
                found.order[name] = [index for index in order if index in launched]
                if layout is not None:
                    found.layouts[name] = layout
                    self._visits.visited(name, layout, order)
        return found

    def _unaccused(self, names: Sequence[str], launched: Mapping[int, Values]) -> Sequence[str]:
        """Without those of several that a launch gave nothing for: each of them comes again alone."""
        if len(names) == 1:
            return names
        lost = {name for name in names if not all(values.get(name) for values in launched.values())}
        self._alone.update(lost)
        return [name for name in names if name not in lost]

    def _nothing_left(self, name: str, out: Mapping[int, str]) -> bool:
        """Whether no two sides are left that are to be compared."""
        left = set(self.offering(name)) - set(out)
        return bool(out) and (len(left) < 2 or not (self.options.all_pairs or 0 in left))

    def _prepared(self, name: str) -> dict[int, str]:
        """Reasons of sides that fail; no work can be settled where the first side's answer makes no sense."""
        try:
            with understood("answers with what makes no sense"):
                return dict(self.prepare(name))
        except LaunchFailed as failure:
            who = self.offering(name) if self.options.all_pairs else (0,)
            return dict.fromkeys(who, failure.reason)

    def launch_all(
        self, found: Round, places: Sequence[InRound], names: Sequence[str], rng: random.Random
    ) -> dict[int, Values | str]:
        """The launches of a round, in this order, by side: what each gave, or the reason where it failed."""
        answers: dict[int, Values | str] = {}
        repetitions: dict[str, list[int]] = {}  # benchmark -> of each launch
        for place in places:
            seed = rng.randrange(2**31)
            side = self.sides[place.side].in_layout(place.layout)
            self.left_out = {}
            try:
                with understood("answers with what makes no sense"):
                    answer: tuple[Values, Ended] | LaunchFailed = self.launch(side, names, seed)
            except LaunchFailed as failure:
                answer = failure
            if not isinstance(answer, LaunchFailed):
                for name, values in answer[0].items():
                    count = len(values) + len(self.left_out.get(name, ()))
                    repetitions.setdefault(name, []).append(count)
            answers[place.side] = self.keep_launch(found, place, names, seed, answer)
        self.compare_repetitions(repetitions)
        return answers

    def compare_repetitions(self, repetitions: Mapping[str, Sequence[int]]) -> None:
        """Tells where sides differ in them; by benchmark, of each launch of a round."""
        for name, counts in repetitions.items():
            if min(counts) != max(counts):
                told = f"{max(counts)} repetitions a launch on one side and {min(counts)} on another"
                self.note(name, told)

    def keep_launch(
        self,
        found: Round,
        place: InRound,
        names: Sequence[str],
        seed: int,
        answer: tuple[Values, Ended] | LaunchFailed,
    ) -> Values | str:
        """The line of a launch for the raw file; its values, or the reason where it failed."""
        record: dict[str, Any] = {
            "position": place.position,
            "side": self.sides[place.side].label,
            "seed": seed,
            **self.way_told(),
        }
        if place.layout is not None:
            record["layout"] = place.layout
        if isinstance(answer, LaunchFailed):
            found.raw.append({**record, "benchmarks": list(names), "failed": answer.reason})
            return answer.reason
        values, ended = answer
        found.raw.append({**record, "ns": values, **ended.used()})
        if self.left_out:
            found.raw[-1]["left_out_ns"] = self.left_out
        return values

    def way_told(self) -> Mapping[str, Any]:
        """How this round launches, for the raw file, where an adapter knows several ways."""
        return {}

    def values_of(self, launched: Mapping[int, Sequence[float]]) -> dict[int, float]:
        """By side, the value of each launch of a round, from those of its repetitions, at least one."""
        return {side: statistics.median(numbers) for side, numbers in launched.items()}

    def mean_of(self, _numbers: Sequence[float]) -> float:
        """All of a launch, where `values_of` leaves slow repetitions out; NaN where it does not."""
        return math.nan

    def _combine(self, found: Round, name: str, launched: dict[int, Values], broken: dict[int, str]) -> None:
        failures = dict(broken)
        timed: dict[int, list[float]] = {}
        for index, values in launched.items():
            numbers = values.get(name, [])
            if are_times(numbers):
                timed[index] = numbers
            elif not numbers:
                failures.setdefault(index, self.no_result(index, name))
            else:
                failures[index] = no_time(name, numbers)
        row = self._of_each(self.values_of(timed))
        means = self._of_each({index: self.mean_of(numbers) for index, numbers in timed.items()})
        if failures:
            found.failures[name] = failures
            self._failed[name] = failures
        if len(failures) < len(self.offering(name)):
            found.values[name] = row
            if not all(map(math.isnan, means)):
                found.means[name] = means

    def _of_each(self, by_side: Mapping[int, float]) -> list[float]:
        return [by_side.get(index, math.nan) for index in range(len(self.sides))]

    def notes(self, name: str, _side: int, _against: int = 0) -> Sequence[str]:
        """What was noticed about this benchmark's launches."""
        return self._notes.get(name, ())

    def note(self, name: str, sentence: str) -> None:
        """Tells the reader something about a benchmark, once."""
        told = self._notes.setdefault(name, [])
        if sentence not in told:
            told.append(sentence)

    def run(self, side: Side, arguments: Sequence[str] = (), seed: int | None = None) -> Ended:
        """Runs a side to its end, whatever its exit code. Raises LaunchFailed."""
        with self.command(side, arguments, seed) as asked:
            return run_command(
                asked.words,
                asked.environment,
                asked.folder,
                self.options.limit_s,
                self.options.interrupt,
                asked.executable,
                asked.confined,
            )

    @contextmanager
    def command(self, side: Side, arguments: Sequence[str], seed: int | None = None) -> Iterator[Command]:
        """How a side is started; its folder is gone at the end, where it was made for it."""
        environment = side.environment if seed is None else padded(side.environment, random.Random(seed))
        name, executable = self.called(side)
        with (
            working_folder(side.folder) as folder,
            self.surrounded(side, folder),
        ):
            yield Command(
                [name, *side.command[1:], *arguments], environment, folder, executable, confined_now()
            )

    def surrounded(self, side: Side, folder: Path) -> AbstractContextManager[None]:
        """--prepare and --conclude around one launch of a side. Raises LaunchFailed where they fail."""
        number = [one.label for one in self.sides].index(side.label)
        return self._surroundings.launch(number, folder, side.environment)

    def called(self, side: Side) -> tuple[str, str | None]:
        """The name that a side is told to have, and its file where that is another."""
        return side.command[0], None


def are_times(numbers: Sequence[float]) -> bool:
    """Whether there are some, in ns, and each is one that a clock may have told."""
    return bool(numbers) and all(SHORTEST_NS <= number <= LONGEST_NS for number in numbers)


def no_time(name: str, numbers: Sequence[float]) -> str:
    """What a side told instead of times."""
    longest = max(numbers)
    if longest > LONGEST_NS:
        return f"measured {longest:g} ns for {name}: longer than any launch"
    return f"measured {min(numbers):g} ns for {name}: too short for its clock"


def iterations_for(quickest_ns: float, slowest_ns: float, repetition_s: float = REPETITION_S) -> int:
    """Iterations that take the quickest side about a repetition's time, a power of two; the same for all.

    Both are ns an iteration, so that it does not matter which side was named first. A slowest one that takes
    orders of magnitude longer makes it fewer, so that its launches end.
    """
    wanted = min(1e9 * repetition_s / quickest_ns, max(1.0, _SLOWEST_NS / slowest_ns))
    return int(2 ** max(0, round(math.log2(wanted))))


def repetitions_for(repetition_ns: float, repetition_s: float = REPETITION_S) -> int:
    """How many repetitions a launch makes of one that takes so long, and should take `repetition_s`."""
    if repetition_ns > _LONG_NS:
        return 1
    return FEWEST_REPETITIONS if repetition_ns > 2e9 * repetition_s else MOST_REPETITIONS
