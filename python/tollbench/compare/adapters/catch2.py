"""Catch2 executables with BENCHMARKs, versions 2 and 3: one launch runs test cases with all that is in them.

Catch2 chooses how many iterations make a sample, and its analysis is left out: the mean of a launch's samples
is that launch's value. A launch first measures the clock for a second or two, whatever it is asked to do, so
that all test cases share one. All sides are launched together, and held where they print
(`tollbench.launching.held`), so that the samples of one benchmark are taken by one side after the other.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import unescape

from tollbench.compare.adapters.one_after_another import InRound, OneAfterAnother, Values
from tollbench.compare.adapters.whole_output import free_names
from tollbench.compare.subject import Adapter, MeasuringOptions, Round, Side, Survey
from tollbench.launching.answers import reading
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.held import Announcement, EndedHeld, FailedBeside, Threads, run_held
from tollbench.launching.in_turns import OutOfTurn
from tollbench.text import shown

SAMPLES = 200
_FEWEST_SAMPLES = 10
_SAMPLING_NS = 2e9  # of a launch, at most, where it needs no more than the fewest: its clock takes as long
_SLOW_SAMPLE_NS = 5e6  # who takes longer is launched with his like: the others would have few samples for it
_TIMES_EXPECTED, _AT_LEAST_S = 3.0, 5.0  # of a launch that is held: who waits for the other side never ends
# Times that something is noticed, before all later rounds are launched in another way: in a row what a busy
# machine may do too, of failures in all, as one that comes seldom would never come twice in a row.
_CERTAIN = 2
_NO_REPORT = "printed no report that Catch2 would print"
# What Catch2 flushes right before it takes a benchmark's samples, what it may flush besides by then, and what
# is the first behind them: XmlReporter::benchmarkStarting and benchmarkEnded of versions 2.13 and 3.7.
_BEGINS = re.compile(rb'<BenchmarkResults name="([^"]*)"(?: \w+="[^"]*")* estimatedDuration="[^"]*">')
_COMMENT = re.compile(rb"\s*(?:<!--[^<>]*-->\s*)?")
_ENDED = re.compile(rb"\s*(?:<!--[^<>]*-->\s*)?<(?:mean|failed)\s")
_NOTHING_RAN = (2, 3, 4)  # exit codes of Catch2: no tests, none of one name that was asked for, all skipped
_COUNT = re.compile(r"[0-9]{1,18}")
_MOST_CRASHES = 10  # test cases of a side that are left out, each after a launch that ended in it
_DEEPEST = 200  # nested elements: a name holds those of all sections around it
_PIECE_BYTES = 2**20
WARMUP_MS = 5


class Benchmark(NamedTuple):
    """What a launch printed of one benchmark; the second of a name is "name (2)"."""

    name: str  # "test case / section / benchmark", each of which may hold " / " itself
    case: str
    own: str  # the last of these
    mean_ns: float
    iterations: int = 0  # of a sample


KIND = "catch2"


class Catch2(OneAfterAnother):
    """Existing executables, unchanged. A benchmark's name is "test case / section / benchmark"."""

    if_none = (
        "; next: hidden ones are chosen by their tag ('./tests [!benchmark]'), and --kind command times the"
        " tests as a whole"
    )

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._cases: dict[str, dict[str, str]] = {}  # side -> benchmark -> the test case that holds it
        self._announced: dict[str, set[str]] = {}  # side -> what it prints before each of its benchmarks
        self._sample_ns: dict[str, dict[str, float]] = {}  # side -> test case -> of one of each in it
        self._brief_s = 0.0  # of the longest launch with one sample of all
        self._whole: set[str] = set()  # benchmarks whose sides are launched one after another
        self._one_processor = True  # for all sides, while they are held
        self._waited = self._noticed = 0  # how often in a row a benchmark waited, or could not be held
        self._failures = Counter[str]()  # benchmark -> launches that were held and failed, in all
        self._held = self._tied = self._waits = False  # in this round
        self._failing: dict[
            str, tuple[FailedCase, ...]
        ] = {}  # side -> test cases that failed when it was asked
        self._wrong: dict[str, tuple[FailedCase, ...]] = {}  # side -> those of its last launch

    def offered(self, side: Side) -> Sequence[str]:
        """Runs every test case once: nothing else tells which of them hold benchmarks."""
        report, ended = self._survived(side)
        found = report.benchmarks
        held = list(dict.fromkeys((benchmark.name, benchmark.case) for benchmark in found))
        self._cases[side.label] = dict(held)
        self._failing[side.label] = report.failed
        self._announced[side.label] = {benchmark.own for benchmark in found}
        self._brief_s = max(self._brief_s, ended.wall_ns / 1e9)
        of_cases = self._sample_ns[side.label] = dict.fromkeys(self._cases[side.label].values(), 0.0)
        for benchmark in found:
            of_cases[benchmark.case] += benchmark.mean_ns * max(1, benchmark.iterations)
        return self._matching([name for name, _ in held])

    def _survived(self, side: Side) -> tuple[Report, Ended]:
        """Of a launch without the test cases that ended one before it by a signal, failed ones of the report.

        Where the side's own words choose test cases, nothing can be taken out of them. Raises LaunchFailed.
        """
        crashed: list[FailedCase] = []
        while True:
            # Version 2 runs what is hidden wherever anything is asked for, were it only to be left out.
            without = (
                [" ".join([*(f'~"{literal(case.name)}"' for case in crashed), "~[.]"])] if crashed else []
            )
            ended = self.run(side, _reporting(without, 1), None)
            last = case_of_signal(ended)
            may_be_left_out = len(side.command) == 1 and len(crashed) < _MOST_CRASHES
            if last and may_be_left_out and last.name not in [case.name for case in crashed]:
                crashed.append(last)
                continue
            report = report_of(ended, any_code=self.options.any_exit_code)
            return report._replace(failed=(*report.failed, *crashed)), ended

    def _matching(self, names: Sequence[str]) -> list[str]:
        """Also by the beginning of the names of what a test case holds, where it did not come to that."""
        wanted = re.compile(self.options.pattern)
        return [name for name in names if wanted.search(name) or wanted.search(name + SEPARATOR)]

    def completed(self, offers: Sequence[Sequence[str] | LaunchFailed]) -> list[Sequence[str] | LaunchFailed]:
        """With the benchmarks that a side did not come to, as their test case failed before."""
        known = self._known()
        return [self._completed(side, names, known) for side, names in zip(self.sides, offers, strict=True)]

    def _completed(
        self, side: Side, names: Sequence[str] | LaunchFailed, known: Mapping[str, str]
    ) -> Sequence[str] | LaunchFailed:
        if isinstance(names, LaunchFailed):
            return names
        cases, failed = self._cases[side.label], self._failing[side.label]
        failing = {case.name for case in failed}
        missed = [name for name, case in known.items() if case in failing and name not in cases]
        for name in missed:
            cases[name] = known[name]
            self._sample_ns[side.label].setdefault(known[name], 0.0)
        places = {name: place for place, name in enumerate(known)}
        offered = sorted([*names, *self._matching(missed)], key=places.__getitem__) if missed else names
        if failed and not offered:
            pattern = self.options.pattern
            lacks = f"offers no benchmark that matches {shown(pattern)!r}, and " if pattern else ""
            return LaunchFailed(f"{side.label} {lacks}{failed[0].told()}")
        return offered

    def _known(self) -> dict[str, str]:
        """The benchmarks of all sides, with their test cases; one that none came to is called by its own."""
        known = {name: case for cases in self._cases.values() for name, case in cases.items()}
        measured = set(known.values())
        failed = [case for cases in self._failing.values() for case in cases]
        unreached = [case.name for case in failed if case.lacks_benchmarks(measured)]
        return known | {name: name for name in unreached if name not in known}

    def survey(self) -> Survey:
        """Asks every side. A test case that fails on one costs its own benchmarks there, and no other."""
        survey = super().survey()
        for name in (*survey.common, *survey.missing):
            reasons = {number: self._why_wrong(side, name, self._failing) for number, side in self._asked()}
            if failing := {number: reason for number, reason in reasons.items() if reason}:
                self._failed[name] = failing
        self._note_failures_without_row(survey.common)
        return replace(survey, failing=frozenset(self._failed))

    def _note_failures_without_row(self, compared: Sequence[str]) -> None:
        """Beside the first row: what fails and is neither measured nor a row that has failed."""
        if self.options.pattern or not compared:
            return
        for _, side in self._asked():
            cases = self._cases[side.label]
            with_row = {cases[name] for name in compared if name in cases}
            if without := [case.name for case in self._failing[side.label] if case.name not in with_row]:
                told = f"{side.label} fails test cases that have no row here: {len(without)}"
                self.note(compared[0], f"{told}, {shown(without[0], 200)!r} first")

    def _asked(self) -> Iterator[tuple[int, Side]]:
        return ((number, self.sides[number]) for number in self.usable)

    def _why_wrong(self, side: Side, name: str, failed: Mapping[str, Sequence[FailedCase]]) -> str:
        """Why a side has no time of a benchmark whose test case is among those that failed there; else ""."""
        case = self._cases[side.label].get(name)
        wrong = [one for one in failed.get(side.label, ()) if one.name == case]
        return wrong[0].told() if wrong else ""

    def no_result(self, number: int, name: str) -> str:
        """Why a launch gave no time for a benchmark: where its test case failed, that."""
        return self._why_wrong(self.sides[number], name, self._wrong) or super().no_result(number, name)

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """All that are launched in one way: a launch's overhead is far larger than a benchmark."""

        def way(name: str) -> tuple[bool, bool]:
            return name in self._whole, self._one_of_each_ns([name]) > _SLOW_SAMPLE_NS

        return [name for name in names if way(name) == way(names[0])]

    def alone(self, side: Side, name: str) -> Sequence[str]:
        """The test case that holds it, one sample."""
        return [literal(self._cases[side.label][name]), *_sampling(1)]

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """Runs the test cases that hold `names`; benchmarks beside them in a test case run too."""
        samples = self._samples(names)
        report, ended = self._measured(side, self._test_cases(side, names), seed, samples=samples)
        self._wrong[side.label] = report.failed
        values = _values(report, names)
        if not values and (failed := report.failed_of(self._cases_of(side, names))):
            raise LaunchFailed(failed[0].told())
        return values, ended

    def launch_all(
        self, found: Round, places: Sequence[InRound], names: Sequence[str], rng: random.Random
    ) -> dict[int, Values | str]:
        """All sides together, held before each benchmark, where that is possible."""
        self._held = len(places) > 1 and not self._whole.intersection(names)
        if self._held and (self.options.around.prepare or self.options.around.conclude):
            self._launched_whole(names, "commands stand around its launches")
        while self._held:
            try:
                answers = self._launch_held(found, places, names, rng)
            except Threads as noticed:  # which one processor slows down: at once, on all of them
                self._give_up(found, names, noticed)
                self._waited, self._one_processor = _CERTAIN, False
            except (OutOfTurn, LaunchFailed) as noticed:
                self._give_up(found, names, noticed)
                self._held = False
                if self._often(names, noticed):
                    self._launched_whole(names, str(noticed))
            else:
                self._noticed = 0
                if self._waits:
                    self._waited += 1
                elif self._one_processor:
                    self._waited = 0
                self._one_processor = self._waited < _CERTAIN
                return answers
        return super().launch_all(found, places, names, rng)

    def _give_up(self, found: Round, names: Sequence[str], noticed: Exception) -> None:
        """A line in the raw file: these sides are launched once more, so that nothing else tells of it."""
        found.raw.append({"benchmarks": list(names), "held": True, "given_up": str(noticed)})

    def _often(self, names: Sequence[str], noticed: Exception) -> bool:
        """Whether it is certain that these are to be launched by themselves."""
        if isinstance(noticed, FailedBeside | LaunchFailed):
            self._failures.update(names)
            return any(self._failures[name] >= _CERTAIN for name in names)
        self._noticed += 1
        return self._noticed >= _CERTAIN

    def _launched_whole(self, names: Sequence[str], reason: str) -> None:
        self._held = False
        self._whole.update(names)
        for name in names:
            self.note(name, f"sides were launched one after another: {reason}")

    def _launch_held(
        self, found: Round, places: Sequence[InRound], names: Sequence[str], rng: random.Random
    ) -> dict[int, Values | str]:
        """All sides alive at the same time. Raises OutOfTurn, LaunchFailed."""
        samples = self._samples(names)
        by_side = {place.side: place for place in places}
        seeds = {side: rng.randrange(2**31) for side in by_side}
        with ExitStack() as stack:
            commands = {
                number: stack.enter_context(
                    self.command(side, _reporting(self._test_cases(side, names), samples), seeds[number])
                )
                for number, place in by_side.items()
                for side in [self.sides[number].in_layout(place.layout)]
            }
            ends = run_held(
                commands,
                list(by_side),
                rng,
                min(self.options.limit_s, self._expected_s(names, samples)),
                Announcement(announced, _belongs, _has_ended, self._announced_by_all(by_side)),
                self.options.interrupt,
                one_processor=self._one_processor,
            )
        self._tied = any(end.tied for end in ends.values())
        self._waits = any(end.waited for end in ends.values())
        given = {
            number: _after(
                end,
                names,
                self._cases_of(self.sides[number], names),
                any_code=self.options.any_exit_code,
            )
            for number, end in ends.items()
        }
        return {
            side: self.keep_launch(found, by_side[side], names, seeds[side], answer)
            for side, answer in given.items()
        }

    def _samples(self, names: Sequence[str]) -> int:
        """Of each benchmark in a launch of these: as many as take no longer than what comes before them."""
        one_of_each_ns = self._one_of_each_ns(names)
        if not one_of_each_ns > _SAMPLING_NS / SAMPLES:  # also where a side told what is no time
            return SAMPLES
        return max(_FEWEST_SAMPLES, int(_SAMPLING_NS / one_of_each_ns))

    def _one_of_each_ns(self, names: Sequence[str]) -> float:
        """One sample of all that the test cases of these measure, on the side that takes longest."""
        return max(
            math.fsum(
                self._sample_ns[side][case] for case in {of_side[name] for name in names if name in of_side}
            )
            for side, of_side in self._cases.items()
        )

    def _expected_s(self, names: Sequence[str], samples: int) -> float:
        """Far more than a launch of these takes that waits for nobody."""
        sampling_s = samples * self._one_of_each_ns(names) / 1e9
        return _AT_LEAST_S + _TIMES_EXPECTED * (self._brief_s + (sampling_s if sampling_s > 0 else 0.0))

    def _announced_by_all(self, sides: Collection[int]) -> set[str]:
        return set.intersection(*(self._announced[self.labels[side]] for side in sides))

    def way_told(self) -> Mapping[str, Any]:
        """Whether the sides of this round were alive together, and then whether tied to one processor."""
        return {"held": True, "tied": self._tied} if self._held else {"held": False}

    def _test_cases(self, side: Side, names: Sequence[str]) -> list[str]:
        return [",".join(map(literal, sorted(self._cases_of(side, names))))]

    def _cases_of(self, side: Side, names: Sequence[str]) -> set[str]:
        return {self._cases[side.label][name] for name in names}

    def case_of(self, side: Side, name: str) -> str:
        """The test case that holds a benchmark."""
        return self._cases[side.label][name]

    def _measured(
        self, side: Side, tests: Sequence[str], seed: int | None, *, samples: int
    ) -> tuple[Report, Ended]:
        ended = self.run(side, _reporting(tests, samples), seed)
        return report_of(ended, any_code=self.options.any_exit_code), ended


def _after(
    end: EndedHeld, names: Sequence[str], cases: Collection[str], *, any_code: bool
) -> tuple[Values, Ended]:
    """What a side that was held has measured. Raises OutOfTurn; FailedBeside, also for one of `cases`.

    What holds a lock or a port cannot run twice at a time, and is no failure of the side before it fails by
    itself.
    """
    try:
        report = report_of(end.ended, any_code=any_code)
        if failed := report.failed_of(cases):
            raise LaunchFailed(failed[0].told())
    except LaunchFailed as failure:
        raise FailedBeside(f"beside the other side it {failure.reason}") from None
    if [benchmark.own for benchmark in report.benchmarks] != end.measured:
        raise OutOfTurn("it does not print each benchmark's beginning before it measures")
    return _values(report, names), end.ended


def _values(report: Report, names: Sequence[str]) -> Values:
    """Of `names`."""
    wrong = {case.name for case in report.failed}
    values: Values = {}
    for benchmark in report.benchmarks:
        if benchmark.name in names and benchmark.case not in wrong:
            values.setdefault(benchmark.name, []).append(benchmark.mean_ns)
    return values


def case_of_signal(ended: Ended) -> FailedCase | None:
    """The test case in which a launch was ended by a signal, where Catch2 could still tell it."""
    if ended.exit_code >= 0:
        return None
    try:
        found = Report.of(ended.whole_stdout())
    except LaunchFailed:
        return None
    # Its report is what it printed last: what the signal was about stands in the other stream, if anywhere.
    return found.failed[-1]._replace(how=replace(ended, stdout=b"").how()) if found.ended_failing else None


def report_of(ended: Ended, *, any_code: bool = False) -> Report:
    """Of a launch that came to its end, whatever its test cases say. Raises LaunchFailed.

    With `any_code` a process may end with a code of its own, as that of somebody's main().
    """
    try:
        found = Report.of(ended.whole_stdout())
    except LaunchFailed:
        if ended.exit_code != 0:
            raise LaunchFailed(ended.how()) from None
        raise
    if last := case_of_signal(ended):
        raise LaunchFailed(last.told())
    # A report may be whole, and the process fail behind it: LeakSanitizer's code is 23.
    told = any_code or found.failed or ended.exit_code in _NOTHING_RAN
    if ended.exit_code < 0:
        raise LaunchFailed(ended.how())
    if ended.exit_code and not told:
        raise LaunchFailed(f"{ended.how()}; its report is whole: --any-exit-code takes it")
    return found


def announced(printed: bytes) -> str | None:
    """The benchmark whose samples Catch2 takes behind this, the beginning of its element; None: of none."""
    found = _BEGINS.fullmatch(printed, max(0, printed.rfind(b"<BenchmarkResults")))
    if found is None:
        return None
    name = unescape(found[1].decode("utf-8", "replace"), {"&quot;": '"'})
    return re.sub(r"[\t\r\n]", " ", name)  # as XML has it in an attribute


def _belongs(printed: bytes) -> bool:
    return _COMMENT.fullmatch(printed) is not None


def _has_ended(printed: bytes) -> bool:
    return _ENDED.match(printed) is not None


def _reporting(tests: Sequence[str], samples: int) -> list[str]:
    return [*tests, "--reporter", "xml", *_sampling(samples)]


def _sampling(samples: int) -> list[str]:
    warmup = ["--benchmark-warmup-time", str(WARMUP_MS)]
    return ["--benchmark-samples", str(samples), "--benchmark-no-analysis", *warmup]


SEPARATOR = " / "


def literal(test_case: str) -> str:
    """A test case's name as a test specification that means this one alone."""
    return "".join(f"\\{letter}" if letter in '\\,[]"~' else letter for letter in test_case)


class _Shallow(ElementTree.TreeBuilder):
    """Elements within elements, as deep as Catch2 nests them."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        """Raises LaunchFailed for one that lies too deep."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise LaunchFailed(f"printed a report of more than {_DEEPEST} nested elements")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ElementTree.Element:
        """Of the innermost one."""
        self._depth -= 1
        return super().end(tag)


class FailedCase(NamedTuple):
    """A test case that failed."""

    name: str
    tags: str  # "[a][!benchmark]"
    how: str = ""  # the launch ended in it, where it was no answer that was wrong

    def told(self) -> str:
        """What it did, and what that costs."""
        if self.how:
            return f"in its test case {shown(self.name, 200)!r} {self.how}"
        return f"fails its test case {shown(self.name, 200)!r}: a wrong answer has no time"

    def lacks_benchmarks(self, measured: Collection[str]) -> bool:
        """Whether it was to measure something, by its tag, and is not among those that have: in any side."""
        return "[!benchmark]" in self.tags.lower() and self.name not in measured


class Report(NamedTuple):
    """An XML report, understood."""

    benchmarks: list[Benchmark]  # in the order in which they ran
    failed: tuple[FailedCase, ...]
    ended_failing: bool  # the last test case that it came to is one of these

    def failed_of(self, cases: Collection[str]) -> list[FailedCase]:
        """Those among `cases`: whatever a side is asked for, its own words may choose more."""
        return [case for case in self.failed if case.name in cases]

    @staticmethod
    def of(text: bytes) -> Report:
        """Raises LaunchFailed for what Catch2 would not print."""
        parser = ElementTree.XMLParser(target=_Shallow())
        try:
            with reading(_NO_REPORT):
                for begin in range(0, len(text), _PIECE_BYTES):  # an interrupt is honoured between two
                    parser.feed(text[begin : begin + _PIECE_BYTES])
                root = parser.close()
                failed = tuple(_failed_cases(root))
                last = [case.get("name", "") for case in root.iter("TestCase")][-1:]
                ended_failing = bool(failed) and last == [failed[-1].name]
                return Report(list(_numbered(_benchmarks(root))), failed, ended_failing)
        except ElementTree.ParseError:  # a SyntaxError: of the program, not of toll
            raise LaunchFailed(_NO_REPORT) from None


def _failed_cases(root: ElementTree.Element) -> Iterator[FailedCase]:
    for case in root.iter("TestCase"):
        result = case.find("OverallResult")
        if result is not None and result.get("success") == "false":
            yield FailedCase(case.get("name", ""), case.get("tags", ""))


def _benchmarks(root: ElementTree.Element) -> Iterator[Benchmark]:
    for case in root.iter("TestCase"):
        name = case.get("name", "")
        yield from _below(case, name, name)


def _numbered(benchmarks: Iterable[Benchmark]) -> Iterator[Benchmark]:
    """Tells benchmarks of a test case apart that have one name: the second to run is "name (2)".

    In a loop, and behind GENERATE, each of them may do other work. As repetitions of one, a slow-down of the
    largest was no part of their median.
    """
    benchmarks = list(benchmarks)
    names = free_names([f"{each.case}\0{each.name}" for each in benchmarks])
    for benchmark, name in zip(benchmarks, names, strict=True):
        yield benchmark._replace(name=name.partition("\0")[2])


def _below(element: ElementTree.Element, path: str, case: str) -> Iterator[Benchmark]:
    for child in element:
        name = path + SEPARATOR + child.get("name", "")
        if child.tag == "Section":
            yield from _below(child, name, case)
        elif child.tag == "BenchmarkResults":
            mean = child.find("mean")
            ns = _number(mean.get("value", "") if mean is not None else "")
            count = child.get("iterations", "")
            yield Benchmark(
                name, case, child.get("name", ""), ns, int(count) if _COUNT.fullmatch(count) else 0
            )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


ADAPTER = Adapter(KIND, "a Catch2 executable", (b"benchmark-no-analysis", b"libCatch2.so"), Catch2)
