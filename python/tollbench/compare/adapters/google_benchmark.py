"""Google Benchmark executables as they are: one launch runs a few benchmarks, several repetitions each.

From version 1.8 on a launch is told the number of iterations, so that all sides do the same work. Version 1.7
can only be told how long to measure; it then finds a number by itself, and the time of one iteration is
compared. What a benchmark's own source fixes (iterations, repetitions, least time) holds on both sides, too.

Recent versions start themselves again without address randomisation, by the name they were called with: every
launch would have the same layout, and a sample of one layout says nothing about the next build. Told a name
that leads nowhere, they stay as they are; what a script starts has the name that the script gives it.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from tollbench.compare.adapters.one_after_another import (
    FEWEST_REPETITIONS,
    REPETITION_S,
    InRound,
    Values,
    are_times,
    iterations_for,
    repetitions_for,
)
from tollbench.compare.adapters.quiet_repetitions import SHORT_S, QuietRepetitions
from tollbench.compare.subject import Adapter, MeasuringOptions, Round, Side, Survey
from tollbench.compare.ways import WAYS, WHOLE, WHOLE_WAYS, Way, Ways
from tollbench.launching.answers import read_report, reading, understood
from tollbench.launching.command import Ended, working_folder
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.in_turns import EndedInTurns, OutOfTurn, run_in_turns
from tollbench.launching.sandbox import writing_reports
from tollbench.text import shown

MOST_BENCHMARKS = 64  # in one launch
_OVERHEAD_SHARE = 0.5  # of a launch; more benchmarks share a launch until what is not measuring costs less
# To 8 ms, for what prepares itself before each repetition. 64 MiB made anew, in 18 ms: noise x sqrt(time)
# 6.2 % x sqrt(s) with three repetitions of 1 ms, 2.9 with three of 5 ms, 2.4 to 4.8 with 10 to 80 ms in all.
_MOST_DOUBLINGS = 3
_BESIDE_EACH_NS = 50e6  # so much may stand beside each iteration, and be more in a longer repetition
_CALIBRATION_S = 0.002
_BRIEFLY_S = 1e-5
_CALIBRATING_NS = 15e6  # of a benchmark, about: repetitions, and the search for their length before them
_CALIBRATIONS = 3  # the quickest counts: a neighbour may interrupt one or two
_LONGEST_NUMBER = 19  # digits: what fits into 64 bits
_NOWHERE = f"/nonexistent-{secrets.token_hex(8)}"  # a folder that nobody has made
NO_RESULTS = "ended well, but wrote no results that Google Benchmark would write"
Row = Mapping[str, Any]  # of Google Benchmark's JSON

_REPLACED = "\ufffd"  # stands for bytes that are no UTF-8
_UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_WAITED_MORE = 0.05  # of a repetition's time; a time slice of somebody else is several times as long as it
_SWITCHES_MORE = 3  # voluntary ones, beside those of halts and of a launch that measures nothing
_WAITED_ITSELF = 0.02  # of the time of every repetition: a neighbour leaves some of them alone
_OWN_CLOCK = re.compile(r"/(manual_time|process_time)\b")
_WALL_CLOCK = re.compile(r"/(manual_time|real_time|process_time)\b")
_OWN_LENGTH = re.compile(r"/iterations:\d+")  # 1.8 and later: all that a number of iterations cannot replace
_OWN_TIME = re.compile(r"/min_time:")
_FIXED = 10.0  # times what was asked for: a benchmark's source says how long it measures


@dataclass(slots=True)
class _Work:
    """What a launch does for one benchmark."""

    iterations: int
    repetition_s: float  # asked for, where the program finds the number of iterations itself
    repetitions: int  # of the shortest launch
    launch_ns: float  # expected, of that one
    ways: Ways

    @property
    def alike(self) -> tuple[int, float, bool]:
        """Benchmarks that have this in common can share a launch."""
        return self.iterations, self.repetition_s, self.ways.in_turns

    def ns_of(self, repetitions: int) -> float:
        """Of a launch with so many."""
        return self.launch_ns * repetitions / self.repetitions


KIND = "google-benchmark"


class GoogleBenchmark(QuietRepetitions):
    """Existing executables, unchanged."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._counts_iterations = False  # all usable sides are told a number of iterations
        self._counting: dict[str, bool] = {}  # side -> whether it takes one
        self._work: dict[str, _Work] = {}
        self._without_randomisation: set[str] = set()
        self._of_a_thread: dict[str, bool | None] = {}  # side -> as Reported has it
        self._switches: dict[str, int] = {}  # side -> of a launch that measures nothing
        self._twice: dict[str, set[str]] = {}  # side -> names that several of its benchmarks have
        self._way = WHOLE  # of this round
        self._most_settled = MOST_BENCHMARKS  # in one launch
        self._settled: set[str] = set()  # whose work is known from a launch of several

    def survey(self) -> Survey:
        """Asks every side; those that cannot be launched have no say in what the others are told."""
        found = super().survey()
        labels = [self.labels[side] for side in self.usable]
        asked = [self._counting[label] for label in labels if label in self._counting]  # a baseline is not
        self._counts_iterations = bool(asked) and all(asked)
        return found

    def offered(self, side: Side) -> Sequence[str]:
        """Names as --benchmark_list_tests prints them, without what the program says whatever it is asked.

        A filter among the side's own words holds. That of --filter is read here alone: Google Benchmark takes
        a leading "-" for "not" and knows no "(?i)". Its newest versions list in the format of the report.
        """
        helped = self.run(side, ["--help"])
        always_said = set(helped.stdout.splitlines())
        self._counting[side.label] = b"=<integer>x" in helped.stdout or b"`<integer>x`" in helped.stdout
        listed = self.run(side, ["--benchmark_list_tests=true", "--benchmark_format=console"])
        if listed.exit_code != 0:
            raise LaunchFailed(f"does not list its benchmarks: it {listed.how()}")
        self.launch_overhead_ns = max(self.launch_overhead_ns, float(listed.wall_ns))
        self._switches[side.label] = listed.voluntary_switches
        with reading("lists benchmarks with names that cannot be read"):
            lines = [line for line in listed.whole_stdout().splitlines() if line not in always_said]
            counted = Counter(line.decode("utf-8", "replace") for line in lines if line.strip())
            self._twice[side.label] = {name for name, count in counted.items() if count > 1}
            return [name for name in counted if re.search(self.options.pattern, name)]

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """Benchmarks that do with the same options, until the launch's overhead is a small part of it."""
        if names[0] not in self._work:
            self._settle_together(names)
        first = self._work.get(names[0])
        if first is None:  # not calibrated yet
            return names[:1]
        together: dict[str, _Work] = {}
        for name in names:
            work = self._work.get(name)
            if work is None or work.alike != first.alike:
                continue
            group = [*together.values(), work]
            repetitions = max(one.repetitions for one in group)
            # All make as many as any: cheap where starting the program takes longer than what that adds.
            stretched = [one.ns_of(repetitions) for one in group if one.repetitions < repetitions]
            if stretched and max(stretched) > self.launch_overhead_ns:
                continue
            together[name] = work
            expected_ns = sum(one.ns_of(repetitions) for one in group)
            if expected_ns >= self.launch_overhead_ns / _OVERHEAD_SHARE or len(together) >= MOST_BENCHMARKS:
                break
        return list(together)

    def alone(self, _side: Side, name: str) -> Sequence[str]:
        """As few iterations as its own calibration makes for a hundredth of a millisecond."""
        return [f"--benchmark_filter={exactly([name])}", f"--benchmark_min_time={_BRIEFLY_S:f}"]

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """Runs `names`, which have the same number of iterations, in the program's own order."""
        rows, ended = self._measured(side, self._asking_for(names), seed)
        return self._values(side, names, rows, ended), ended

    def launch_all(
        self, found: Round, places: Sequence[InRound], names: Sequence[str], rng: random.Random
    ) -> dict[int, Values | str]:
        """In the way that is chosen for the first of `names`, which all learn from, if all know it."""
        self._way = self._work[names[0]].ways.choose(rng)
        if any(self._way not in self._work[name].ways for name in names):
            self._way = WHOLE  # one whose repetition is a launch: three times as many would be for the others
        answers: dict[int, Values | str] | None = None
        begin = perf_counter()
        if self._way.in_turns:
            try:
                answers = self._launch_in_turns(found, places, names, rng)
            except (OutOfTurn, LaunchFailed) as noticed:
                self._launched_whole(names, str(noticed))
                self._way = WHOLE
        if answers is None:
            begin = perf_counter()
            answers = super().launch_all(found, places, names, rng)
        seconds = perf_counter() - begin
        for name in names:
            self._learn(name, answers, seconds / len(names))
        return answers

    def _learn(self, name: str, answers: Mapping[int, Values | str], seconds: float) -> None:
        """What a round says of its way, for this benchmark."""
        launched = {
            side: answer.get(name, []) for side, answer in answers.items() if not isinstance(answer, str)
        }
        usable = {side: numbers for side, numbers in launched.items() if are_times(numbers)}
        values = [value for _, value in sorted(self.values_of(usable).items())]
        ways = self._work[name].ways
        ways.took(self._way, values, seconds)
        if moved := ways.moved():
            self._launched_whole([name], f"it {moved}", who="later pairs")

    def _launched_whole(self, names: Sequence[str], reason: str, who: str = "sides") -> None:
        for name in names:
            self._work[name].ways.keep_whole()
            self.note(name, f"{who} were launched one after another: {reason}")

    def _launch_in_turns(
        self, found: Round, places: Sequence[InRound], names: Sequence[str], rng: random.Random
    ) -> dict[int, Values | str]:
        """All sides alive at the same time. Raises OutOfTurn."""
        by_side = {place.side: place for place in places}
        seeds = {side: rng.randrange(2**31) for side in by_side}
        with ExitStack() as stack:
            reports = {side: stack.enter_context(_report()) for side in by_side}
            commands = {}
            for side, place in by_side.items():
                asked = [*self._asking_for(names), *_reporting(reports[side])]
                with writing_reports(reports[side].parent):
                    command = self.command(self.sides[side].in_layout(place.layout), asked, seeds[side])
                    commands[side] = stack.enter_context(command)
            limit_s, interrupt = self.options.limit_s, self.options.interrupt
            ends = run_in_turns(commands, list(by_side), rng, limit_s, interrupt)
            given = {side: self._after_turns(side, names, reports[side], ends[side]) for side in by_side}
        self.left_out = {}
        return {
            side: self.keep_launch(found, by_side[side], names, seeds[side], answer)
            for side, answer in given.items()
        }

    def _after_turns(
        self, index: int, names: Sequence[str], report: Path, end: EndedInTurns | LaunchFailed
    ) -> tuple[Values, Ended]:
        """What a side that took turns with others has measured, by its CPU clock. Raises OutOfTurn.

        Also where it failed: what holds a lock or a port cannot run twice at a time, and is no failure of the
        side before it fails by itself.
        """
        side = self.sides[index]
        if isinstance(end, LaunchFailed):
            raise OutOfTurn(f"beside the other side it {end.reason}")
        try:
            rows = self._rows(side, report, end.ended)
        except LaunchFailed as failure:
            raise OutOfTurn(f"beside the other side it {failure.reason}") from None
        waits = end.ended.voluntary_switches - end.halts - self._switches.get(side.label, 0)
        if waits >= len(rows) + _SWITCHES_MORE:
            raise OutOfTurn("it waits by itself")
        return {
            name: [row_ns(row, "cpu_time") for row in rows if row.get("run_name") == name] for name in names
        }, end.ended

    def way_told(self) -> Mapping[str, Any]:
        """Only where not all pairs are launched alike."""
        return {"in_turns": self._way.in_turns, "stretch": self._way.stretch}

    def _asking_for(self, names: Sequence[str]) -> list[str]:
        """Arguments with which a side measures `names`, which have the same number of iterations."""
        work = self._work[names[0]]
        repetitions = max(self._work[name].repetitions for name in names) * self._way.stretch
        length = f"{work.iterations}x" if self._counts_iterations else f"{work.repetition_s:g}"
        arguments = [
            f"--benchmark_filter={exactly(names)}",
            f"--benchmark_min_time={length}",
            f"--benchmark_repetitions={repetitions}",
            "--benchmark_report_aggregates_only=false",
        ]
        if len(names) > 1 or repetitions > 1:
            arguments.append("--benchmark_enable_random_interleaving=true")
        return arguments

    def _values(self, side: Side, names: Sequence[str], rows: Sequence[Row], ended: Ended) -> Values:
        """Of a side that was launched by itself: of repetitions that did not have to wait."""
        found: Values = {}
        for name in names:
            own = [row for row in rows if row.get("run_name") == name]
            if self._work[name].ways.in_turns and self._waits_by_itself(side, own, ended):
                self._launched_whole([name], "it waits by itself")
            kept, disturbed = undisturbed(own)
            if ended.voluntary_switches - self._switches.get(side.label, 0) >= len(disturbed):
                kept, disturbed = own, []  # the program may have waited by itself, and that is its own time
            found[name] = [row_ns(row) for row in kept]
            if disturbed:
                self.left_out[name] = [row_ns(row) for row in disturbed]
        return found

    def called(self, side: Side) -> tuple[str, str | None]:
        """A name that leads nowhere for a program that would switch randomisation off.

        Where the folder in which the side runs has a file of the bare one, that is no such name: with
        old/bench as the first side and `--folder new`, new/bench was compared with itself.
        """
        if side.label not in self._without_randomisation:
            return side.command[0], None
        bare = Path(side.command[0]).name
        leads_somewhere = side.folder is not None and (side.folder / bare).exists()
        return f"{_NOWHERE}/{bare}" if leads_somewhere else bare, side.command[0]

    def check_only_one(self, side: Side, name: str) -> None:
        """Raises LaunchFailed where several benchmarks of a side have this name: no result would be one's."""
        if name in self._twice.get(side.label, ()):
            raise LaunchFailed(f"has several benchmarks called {name}: which one is which cannot be told")

    def prepare(self, name: str) -> Mapping[int, str]:
        """The same number of iterations for all sides, a power of two: from the first one's speed.

        A side that is slower by orders of magnitude makes it fewer, so that its launches end.
        """
        if name in self._settled:
            return {}
        rows_of: list[list[Row]] = []
        beside_ns = math.inf
        failures: dict[int, str] = {}
        whole = self._never_in_turns(name)
        first: int | None = None  # side that has rows
        for index in self.offering(name):
            try:
                self.check_only_one(self.sides[index], name)
                with understood("answers with what makes no sense"):
                    rows, ended = self._trial(self.sides[index], name)
                    _fastest_ns(rows)
            except LaunchFailed as failure:
                failures[index] = failure.reason
                self._most_settled = MOST_BENCHMARKS  # it may have been what others failed with
                if not index and not self.options.all_pairs:
                    return failures
            else:
                first = index if first is None else first
                if any(map(_has_threads, rows)) and (reason := self._other_time(index, first)):
                    failures[index] = reason
                    continue
                rows_of.append(rows)
                beside_ns = min(beside_ns, self._beside_ns(rows, ended))
                whole = whole or self._must_be_whole(self.sides[index], rows, ended)
        if not rows_of:
            return failures
        self._work[name] = self._work_for(name, rows_of, beside_ns, in_turns=not whole)
        if whole and self.options.turns:
            self.note(name, f"sides were launched one after another: {whole}")
        return failures

    def _other_time(self, index: int, first: int) -> str:
        """Why a side's wall time of several threads is not what the first one's is; "" where it is."""
        here, there = (self._of_a_thread.get(self.labels[side]) for side in (index, first))
        if None in (here, there) or here is there:
            return ""
        told = {
            True: "is that of one thread (Google Benchmark 1.9.0 and later)",
            False: "is divided by their number (before 1.9.0)",
        }
        return (
            f"runs several threads, whose wall time here {told[here is True]} and in {self.labels[first]}"
            f" {told[there is True]}; next: build both with one version"
        )

    def _settle_together(self, names: Sequence[str]) -> None:
        """The work of several benchmarks from one launch a side, where most of a launch is its start.

        A program that read its data for 15 s before its first benchmark had 2 launches of each of its 32 for
        this alone, 16 minutes in all. What fails or says nothing here is tried by itself, and told then.
        """
        most = min(self._most_settled, int(self.launch_overhead_ns / (_CALIBRATING_NS * _OVERHEAD_SHARE)))
        several = {name for found in self._twice.values() for name in found}
        chosen = [name for name in names if name not in self._work and name not in several][:most]
        if names[0] not in chosen or len(chosen) < 2 or self.options.turns:
            return
        rows_of: dict[str, list[list[Row]]] = {name: [] for name in chosen}
        beside_ns = math.inf
        for side in (self.sides[index] for index in self.usable):
            try:
                with understood("answers with what makes no sense"):
                    rows, ended = self._calibrated(side, chosen, strict=False)
                    beside_ns = min(beside_ns, self._beside_ns(rows, ended))
            except LaunchFailed:
                self._most_settled = len(chosen) // 4  # one of them may be at fault: others may do without it
                return
            for name in chosen:
                rows_of[name].append([row for row in rows if row.get("run_name") == name])
        for name, rows_by_side in rows_of.items():
            threads = any(_has_threads(row) for rows in rows_by_side for row in rows)
            if all(rows_by_side) and not (threads and {True, False} <= set(self._of_a_thread.values())):
                self._work[name] = self._work_for(name, rows_by_side, beside_ns, in_turns=False)
                self._settled.add(name)

    def _never_in_turns(self, name: str) -> str:
        """Why a benchmark's sides are not alive together, known without a launch; "" where they may be."""
        if not self.options.turns:
            return "--turns was not asked for"
        if self.options.around.prepare or self.options.around.conclude:
            return "commands stand around its launches"
        return "it measures wall time" if _WALL_CLOCK.search(name) else ""

    def _must_be_whole(self, side: Side, rows: Sequence[Row], ended: Ended) -> str:
        """Why a side cannot be halted while it measures, "" where it can: by a launch of its own."""
        if any(map(_has_threads, rows)):
            return "it has several threads"
        return "it waits by itself" if self._waits_by_itself(side, rows, ended) else ""

    def _waits_by_itself(self, side: Side, rows: Sequence[Row], ended: Ended) -> bool:
        """Whether no repetition had the processor all the time, and the program may have given it back."""
        switches = ended.voluntary_switches - self._switches.get(side.label, 0)
        return min(map(_waiting_share, rows), default=0.0) > _WAITED_ITSELF and switches >= len(rows)

    def _beside_ns(self, rows: Sequence[Row], ended: Ended) -> float:
        """About what a repetition costs beside what it times: a benchmark may prepare its data each time.

        Of a calibrating launch, in which the search for a number of iterations took about a repetition of
        each benchmark, too. 0 where rows do not tell: of aggregates, and of a timer of its own, beside
        which there may be as much time for each iteration.
        """
        lengths = list(map(_length_ns, rows))
        names = {str(row.get("run_name")) for row in rows}
        if not all(lengths) or any(row.get("run_type") != "iteration" for row in rows):
            return 0.0
        if any(map(_OWN_CLOCK.search, names)):
            return 0.0
        timed_ns = sum(lengths) * (1 + len(names) / max(1, len(rows)))
        return (ended.wall_ns - self.launch_overhead_ns - timed_ns) / max(1, len(rows))

    def _work_for(
        self, name: str, rows_of: Sequence[Sequence[Row]], beside_ns: float, *, in_turns: bool
    ) -> _Work:
        """By the trials of the sides, and what a repetition costs beside its time."""
        repetition_s = _repetition_s(beside_ns)
        each_ns = list(map(_fastest_ns, rows_of))
        slowest_ns = max(each_ns)
        iterations = iterations_for(min(each_ns), slowest_ns, repetition_s)
        repetition_ns = iterations * slowest_ns
        own_ns = max(map(_repetition_ns, rows_of))
        free = self._counts_iterations and not _OWN_LENGTH.search(name)
        if own_ns > _FIXED * 1e9 * _CALIBRATION_S and not free:
            repetition_ns = own_ns
        if not self._counts_iterations:
            iterations = 0  # the program's own choice, alike for all benchmarks
        repetitions = repetitions_for(repetition_ns, repetition_s)
        if repetition_s > SHORT_S:
            repetitions = min(repetitions, FEWEST_REPETITIONS)
        ways: tuple[Way, ...] = WAYS if in_turns else WHOLE_WAYS
        if repetitions == 1:
            ways = tuple(way for way in ways if way.stretch == 1)  # each is a launch by itself
        launch_ns = repetitions * (repetition_ns + max(0.0, beside_ns))
        return _Work(iterations, repetition_s, repetitions, launch_ns, Ways(ways))

    def _trial(self, side: Side, name: str) -> tuple[list[Row], Ended]:
        rows, ended = self._calibrated(side, [name])
        own = [row for row in rows if row.get("run_name") == name]
        if not own:
            raise LaunchFailed(f"gave no result for {name}")
        return own, ended

    def _calibrated(
        self, side: Side, names: Sequence[str], *, strict: bool = True
    ) -> tuple[list[Row], Ended]:
        """A few short repetitions of each; what reports an error has no rows, if not `strict`."""
        unit = "s" if self._counts_iterations else ""
        repetitions = 1 if any(map(_OWN_TIME.search, names)) else _CALIBRATIONS
        arguments = [
            f"--benchmark_filter={exactly(names)}",
            f"--benchmark_min_time={_CALIBRATION_S:g}{unit}",
            f"--benchmark_repetitions={repetitions}",
        ]
        return self._measured(side, arguments, None, strict=strict)

    def _measured(
        self, side: Side, arguments: Sequence[str], seed: int | None, *, strict: bool = True
    ) -> tuple[list[Row], Ended]:
        """The rows of single repetitions that a launch reported. Raises LaunchFailed."""
        with _report() as out, writing_reports(out.parent):
            ended = self.run(side, [*arguments, *_reporting(out)], seed)
            return self._rows(side, out, ended, strict=strict), ended

    def _rows(self, side: Side, out: Path, ended: Ended, *, strict: bool = True) -> list[Row]:
        """What a launch wrote there. Raises LaunchFailed, also where a benchmark reports an error."""
        if ended.exit_code != 0:
            raise LaunchFailed(ended.how())
        try:
            written = read_report(out)
        except OSError:
            raise LaunchFailed(NO_RESULTS) from None
        found = rows_in(written, strict=strict)
        if not found.randomised:
            self._without_randomisation.add(side.label)
        self._of_a_thread[side.label] = found.of_a_thread
        return found.rows

    def threads_of(self, side: Side, name: str, options: Sequence[str] = ()) -> int:
        """How many threads run a benchmark. Raises LaunchFailed, also where it reports an error.

        Its name does not tell: an argument may be called "threads" as well.
        """
        rows, _ = self._measured(side, [*self.alone(side, name), *options], None)
        found = next((row.get("threads") for row in rows if row.get("run_name") == name), None)
        if not isinstance(found, int) or found < 1:
            raise LaunchFailed(f"does not tell how many threads run {name}")
        return found


@contextmanager
def _report() -> Iterator[Path]:
    """Where a launch writes what it measured, in a folder that is gone at the end."""
    with working_folder(None) as folder:
        yield folder / "out.json"


def _reporting(out: Path) -> list[str]:
    return [f"--benchmark_out={out}", "--benchmark_out_format=json", "--benchmark_color=false"]


class Reported(NamedTuple):
    """What a launch wrote."""

    rows: list[Row]
    randomised: bool  # whether the program left addresses random
    of_a_thread: bool | None  # whether wall time of several threads is that of one; None: nobody can tell


def rows_in(written: bytes, *, strict: bool = True) -> Reported:
    """Single repetitions, and what else is to be known of their program. Raises LaunchFailed.

    For what Google Benchmark would not write; and where it is `strict` for a benchmark with an error, and for
    one that was skipped, which are left out else.
    """
    with reading(NO_RESULTS):
        text = written.decode("utf-8", "replace")
        results = json.loads(text, parse_int=_number, object_pairs_hook=_first_of_each)
        rows, context = results["benchmarks"], results["context"]
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise LaunchFailed("wrote results that are not Google Benchmark's")
        if not strict:
            broken = {row.get("run_name") for row in rows if _is_broken(row)}
            rows = [row for row in rows if row.get("run_name") not in broken]
        for row in rows:
            if row.get("error_occurred") is True:
                raise LaunchFailed(f"reports an error: {shown(str(row.get('error_message', '')), 200)}")
            if row.get("skipped") is True:
                name, why = shown(str(row.get("run_name")), 200), shown(str(row.get("skip_message", "")), 200)
                raise LaunchFailed(f"skips {name}: {why}")
        about = context if isinstance(context, dict) else {}
        return Reported(single(rows), about.get("aslr_enabled") is not False, _of_a_thread(about))


def _of_a_thread(context: Mapping[str, Any]) -> bool | None:
    """By the version, which is told since 1.8.4: before 1.9.0 wall time was divided by the threads again."""
    told = context.get("library_version", "v1.8.3")
    version = re.match(r"v?(\d{1,9})\.(\d{1,9})", told) if isinstance(told, str) else None
    return (int(version[1]), int(version[2])) >= (1, 9) if version else None


def _first_of_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose first field of a name counts: a benchmark's own counters stand behind all others.

    counters["real_time"] is no time.
    """
    return dict(reversed(pairs))


def _is_broken(row: Row) -> bool:
    """Whether it says that it has no time. A counter of that name is a number."""
    return row.get("error_occurred") is True or row.get("skipped") is True


def _is_row(row: object) -> bool:
    """Whether it has names where names belong."""
    if not isinstance(row, dict):
        return False
    names = ("run_name", "run_type", "aggregate_name", "time_unit")
    return all(isinstance(row.get(name), str | None) for name in names)


def _number(digits: str) -> int | float:
    """A whole number, as far as there is a use for one; of 400 digits it is infinite."""
    return int(digits) if len(digits) < _LONGEST_NUMBER else float(digits)


def single(rows: Sequence[Row]) -> list[Row]:
    """Repetitions one by one; the median of a benchmark whose source has it report aggregates alone."""
    repetitions = [row for row in rows if row.get("run_type") == "iteration"]
    known = {row.get("run_name") for row in repetitions}
    medians = [
        row for row in rows if row.get("aggregate_name") == "median" and row.get("run_name") not in known
    ]
    return repetitions + medians


def _has_threads(row: Row) -> bool:
    return row.get("threads") not in (None, 1)


def _fastest_ns(rows: Sequence[Row]) -> float:
    return max(1e-3, min((ns for row in rows if 0.0 < (ns := row_ns(row)) < math.inf), default=0.0))


def _repetition_s(beside_ns: float) -> float:
    """How long a repetition shall be of which so much is not timed: three as long as that, within limits."""
    if beside_ns < 1e9 * REPETITION_S:
        return SHORT_S
    if beside_ns > _BESIDE_EACH_NS:
        return REPETITION_S
    doublings = round(math.log2(max(1.0, beside_ns / 3e9 / REPETITION_S)))
    return float(REPETITION_S * 2 ** min(doublings, _MOST_DOUBLINGS))


def _repetition_ns(rows: Sequence[Row]) -> float:
    """How long the shortest repetition was; 0 where the rows do not tell."""
    return min((length for length in map(_length_ns, rows) if length > 0), default=0.0)


def _length_ns(row: Row) -> float:
    """Of a repetition, all its iterations; 0 where the row does not tell."""
    count, each_ns = row.get("iterations"), row_ns(row)
    length = each_ns * count if isinstance(count, int | float) else 0.0
    return length if 0.0 < length < math.inf else 0.0


def exactly(names: Sequence[str]) -> str:
    """A filter that every dialect of regular expressions reads alike, and that fits no other name.

    But for a few characters that no dialect shares a way to write, for which a dot stands, and for what is no
    UTF-8, which is known as a letter that replaces it.
    """
    return "^(" + "|".join("".join(map(_as_pattern, name)) for name in names) + ")$"


def _as_pattern(letter: str) -> str:
    if letter == _REPLACED:
        return ".{1,4}"
    if letter in "\\^[]" or not (letter.isprintable() or letter > "\x7f"):
        return "."
    if letter in ".*+?(){}|$":
        return f"[{letter}]"
    return os.fsdecode(letter.encode())  # its bytes are those of the program, whatever the locale here


def undisturbed(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Repetitions that had the processor as much as any of their launch, and those that had to wait for it.

    What waits is told by the time that passed without CPU time. A program that waits by itself does so in
    every repetition, and keeps them all. Whoever took the processor did not look which side was running.
    """
    waited = [_waiting_share(row) for row in rows]
    if rows and _OWN_CLOCK.search(str(rows[0].get("run_name"))):
        return list(rows), []  # its time is not the wall's, its CPU time may be another thread's
    least = min(waited, default=0.0)
    kept = [row for row, share in zip(rows, waited, strict=True) if not share > least + _WAITED_MORE]
    return kept, [row for row, share in zip(rows, waited, strict=True) if share > least + _WAITED_MORE]


def _waiting_share(row: Row) -> float:
    real, cpu = row.get("real_time"), row.get("cpu_time")
    if not isinstance(real, int | float) or not isinstance(cpu, int | float) or not 0.0 < real < math.inf:
        return 0.0
    return max(0.0, 1.0 - cpu / real)


def row_ns(row: Row, clock: str = "real_time") -> float:
    """Wall time of an iteration (by the manual timer of a benchmark that has one); NaN for nonsense.

    By `cpu_time` that of its thread's CPU clock, which stands still while a program is halted.
    """
    value, unit = row.get(clock), _UNITS_NS.get(str(row.get("time_unit")), math.nan)
    return float(value) * unit if isinstance(value, int | float) else math.nan


ADAPTER = Adapter(
    KIND,
    "a Google Benchmark executable",
    (b"benchmark_list_tests", b"libbenchmark.so"),
    GoogleBenchmark,
    priority=1,  # Catch2 is often there for the tests beside it
)
