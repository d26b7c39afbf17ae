"""Go test binaries (`go test -c`) as they are: one launch runs one benchmark, several repetitions of it.

A launch is told the number of iterations (-test.benchtime=1000x), so that all sides do the same work. Tests
do not run. A benchmark's name is the one that Go prints without GOMAXPROCS; each sub-benchmark is one.

Go collects garbage before each repetition. One that ends before the next collection has none of what they
cost: `new` beside 13 MB of live objects took 39 ns in repetitions of 1 ms, and 53 in a second. So where a
benchmark allocates it is looked how often Go collects, and a repetition spans several collections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tollbench.compare.adapters.one_after_another import Values, iterations_for, repetitions_for
from tollbench.compare.adapters.quiet_repetitions import SHORT_S, QuietRepetitions
from tollbench.compare.subject import Adapter, MeasuringOptions, Side
from tollbench.launching.answers import reading, understood
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed
from tollbench.text import shown

KIND = "go-test"
_CALIBRATION = "2ms"
_CALIBRATIONS = 3  # the quickest counts: a neighbour may interrupt one or two
# Of a repetition of one that allocates, within 20 ms, else the fewer ones. A half, as the first is a whole
# cycle after the forced one: of a whole number now one more and now one less would be in it.
_COLLECTIONS, _FEWEST_COLLECTIONS = 4.5, 2.5
_COLLECTING_S = 0.02
# Where fewer than `_SEEN` are seen in that, it is looked for so long. Rare ones cost no smaller a share of
# the time: each marks all that is alive, once as much again has been allocated.
_RARE_COLLECTING_S = 0.1
_SEEN = 2
_FEWEST_BETWEEN = 2  # iterations between the two lengths; a launch of one calls the benchmark once, not twice
# "BenchmarkSort/64-2   1000   1234 ns/op   16 B/op": behind the name stands GOMAXPROCS, unless it is 1
_RESULT = re.compile(r"^(Benchmark\S*)\s+(\d+)\s+(\d[\d.e+]*) ns/op", re.MULTILINE)
_ALLOCATED = re.compile(r"^(Benchmark\S*)\s.* ns/op.*?\s(\d+) B/op", re.MULTILINE)
# "gc 5 @0.013s 2%: ...", by GODEBUG=gctrace=1.
_COLLECTION = re.compile(rb"^gc (\d{1,9}) @", re.MULTILINE)
_PROCESSORS = re.compile(r"-[0-9]+$")
_CHOICE = re.compile(r"--?test\.bench(?:=(.*))?", re.DOTALL)
_NO_OUTPUT = "printed no results that a Go test binary would print"
_TOLD = re.compile(r"^(Benchmark\S*)$", re.MULTILINE)
# "    b_test.go:7: why" stands on the line before or, as of tests, behind.
_SKIPPED = re.compile(
    r"(?:^[ \t]+(\S+:\d+: .*)\n)?^[ \t]*--- SKIP: (Benchmark\S*).*(?:\n[ \t]+(\S+:\d+: .*))?", re.MULTILINE
)


class GoTest(QuietRepetitions):
    """Existing executables, unchanged."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._work: dict[str, tuple[int, int]] = {}  # benchmark -> iterations, repetitions

    def offered(self, side: Side) -> Sequence[str]:
        """Runs every benchmark once: only that tells of sub-benchmarks, and which of them have results.

        One that fails makes the whole process fail, or ends it: then each runs in a process of its own, so
        that it costs its own row alone, and none where nobody asked for it. Raises LaunchFailed, also where
        all that match were skipped, with what they said of that.

        A side's own -test.bench chooses among them; a launch's stands behind it, and the last one counts.
        """
        own = _own_choice(side)
        told, ended = self._told(side, "." if own is None else own, "1x", 1, None)
        names = offered_in(told)
        if ended.exit_code != 0:
            names, told = self._offered_singly(side, own, ended)
        found = [name for name in names if re.search(self.options.pattern, name)]
        skipped = {
            name: why for name, why in skipped_in(told).items() if re.search(self.options.pattern, name)
        }
        if skipped and not found:
            name, why = next(iter(skipped.items()))
            others = f" and {len(skipped) - 1} more" if len(skipped) > 1 else ""
            raise LaunchFailed(f"skips {name}{others}: {why or 'it does not say why'}")
        return found

    def _offered_singly(self, side: Side, own: str | None, together: Ended) -> tuple[list[str], str]:
        """Names, those that fail among them, and all that was printed.

        Raises LaunchFailed, with how all of them together ended, where it cannot even be asked for a list, or
        the side's own words choose sub-benchmarks, which are not in it.
        """
        listed = self.run(side, [f"-test.list={'^Benchmark' if own is None else own}"], None)
        if listed.exit_code != 0 or "/" in (own or ""):
            raise LaunchFailed(together.how())
        names: list[str] = []
        texts: list[str] = []
        for top in _TOLD.findall(listed.whole_stdout().decode("utf-8", "replace")):
            told, ended = self._told(side, f"^{re.escape(top)}$", "1x", 1, None)
            names += offered_in(told) if ended.exit_code == 0 else [*offered_in(told), *failing_in(told, top)]
            texts.append(told)
        return names, "\n".join(texts)

    def prepare(self, name: str) -> Mapping[int, str]:
        """The same number of iterations for all sides, from the speed of the quickest one that works.

        More where sides allocate: as many as the one needs whose collections are furthest apart.
        """
        fastest_ns: dict[int, float] = {}
        allocating: list[int] = []
        failures: dict[int, str] = {}
        for index in self.offering(name):
            try:
                with understood("answers with what makes no sense"):
                    told, _ = self._results(
                        self.sides[index], name, _CALIBRATION, _CALIBRATIONS, None, "-test.benchmem"
                    )
                    fastest_ns[index] = max(1e-3, min(values_in(told, name)))
                    if allocates(told, name):
                        allocating.append(index)
            except LaunchFailed as failure:
                failures[index] = failure.reason
        if fastest_ns and (self.options.all_pairs or 0 not in failures):
            quickest_ns, slowest_ns = min(fastest_ns.values()), max(fastest_ns.values())
            wanted = [self._collecting(self.sides[index], name, fastest_ns[index]) for index in allocating]
            most = iterations_for(quickest_ns, slowest_ns, _RARE_COLLECTING_S)
            usual = iterations_for(quickest_ns, slowest_ns, SHORT_S)
            iterations = max(usual, min(most, max(wanted, default=0)))
            self._work[name] = iterations, repetitions_for(iterations * slowest_ns, SHORT_S)
        return failures

    def _collecting(self, side: Side, name: str, each_ns: float) -> int:
        """Iterations of so many ns that span several collections of a side; 0 where none is seen.

        By launches of two lengths, as what a benchmark prepares collects as well, in each of its calls or in
        the first alone. One that fails here will fail where it is timed.
        """
        lengths_s = (_COLLECTING_S, _RARE_COLLECTING_S)
        usual, rare = (iterations_for(each_ns, each_ns, most_s) for most_s in lengths_s)
        found = half = 0
        for whole in (usual, rare):
            if whole // 2 < _FEWEST_BETWEEN:
                continue
            half = whole // 2
            try:
                found = self._collections(side, name, whole) - self._collections(side, name, whole - half)
            except LaunchFailed:
                return 0
            if found >= _SEEN:
                break
        if half and found < 1:
            none = f"Go collected no garbage in {half} iterations of {side.label}: their time has none"
            self.note(name, none)
        if found < 1:
            return 0
        many, few = (round(each * half / found) for each in (_COLLECTIONS, _FEWEST_COLLECTIONS))
        return many if many <= usual else few

    def _collections(self, side: Side, name: str, iterations: int) -> int:
        """How often Go collected, with those that it was asked for, as many in launches of all lengths.

        By the number of the last one: of what a side prints only the last part is kept. Raises LaunchFailed.
        """
        settings = [side.environment.get("GODEBUG", ""), "gctrace=1"]
        traced = {**side.environment, "GODEBUG": ",".join(filter(None, settings))}
        _, ended = self._results(replace(side, environment=traced), name, f"{iterations}x", 1, None)
        return max(map(int, _COLLECTION.findall(ended.stderr)), default=0)

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """Several repetitions of one benchmark."""
        iterations, repetitions = self._work[names[0]]
        text, ended = self._results(side, names[0], f"{iterations}x", repetitions, seed)
        return {names[0]: values_in(text, names[0])}, ended

    def _results(
        self, side: Side, name: str, length: str, count: int, seed: int | None, *more: str
    ) -> tuple[str, Ended]:
        """What a launch prints of `count` repetitions of one benchmark. Raises LaunchFailed."""
        levels = "/".join(f"^{re.escape(level)}$" for level in name.split("/"))  # as Go matches them
        text, ended = self._told(side, levels, length, count, seed, *more)
        if ended.exit_code != 0:
            raise LaunchFailed(ended.how())
        return text, ended

    def _told(
        self, side: Side, chosen: str, length: str, count: int, seed: int | None, *more: str
    ) -> tuple[str, Ended]:
        """With -test.v: without it, what a benchmark prints stands between its name and its numbers."""
        told = ["-test.run=^$", "-test.v", f"-test.benchtime={length}", f"-test.count={count}", *more]
        told += ["-test.bench", chosen]
        ended = self.run(side, told, seed)
        return ended.whole_stdout().decode("utf-8", "replace"), ended


def offered_in(text: str) -> list[str]:
    """Names that stand alone on a line, as -test.v has it, and have a result. Raises LaunchFailed."""
    with reading(_NO_OUTPUT):
        results = {name for match in _RESULT.finditer(text) for name in _names(match[1])}
        told = dict.fromkeys(match[1] for match in _TOLD.finditer(text))
        return [name for name in told if name in results]


def skipped_in(text: str) -> dict[str, str]:
    """Names of benchmarks that were skipped, each with what it said of it: its last words, or its first."""
    return {match[2]: (match[1] or match[3] or "").strip() for match in _SKIPPED.finditer(text)}


def failing_in(text: str, top: str) -> list[str]:
    """Names that were begun and have neither a result nor sub-benchmarks nor a word that they were skipped.

    `top` where there is none, as for one that ends the process before its name is printed.
    """
    begun = dict.fromkeys([top, *_TOLD.findall(text)])
    others = {*offered_in(text), *skipped_in(text)}
    parents = {name.rpartition("/")[0] for name in begun}
    return [name for name in begun if name not in others and name not in parents] or [top]


def values_in(text: str, name: str) -> list[float]:
    """Nanoseconds an operation of each result of one benchmark, at least one. Raises LaunchFailed.

    Also where they are of several GOMAXPROCS, and so no repetitions of one.
    """
    with reading(_NO_OUTPUT):
        results = [match for match in _RESULT.finditer(text) if name in _names(match[1])]
        values = [float(match[3]) for match in results]
    if not values:
        raise LaunchFailed(f"gave no result in ns/op for {name}")
    if len(printed := list(dict.fromkeys(match[1] for match in results))) > 1:
        told = " and ".join(shown(each, 200) for each in printed[:2])
        raise LaunchFailed(
            f"ran {name} with several numbers of processors ({told}); next: name one with -test.cpu"
        )
    return values


def allocates(text: str, name: str) -> bool:
    """Whether each result of one benchmark tells of bytes an iteration, by -test.benchmem or by itself.

    Each: Go divides all that the process allocated by the iterations, so that where a neighbour cut a
    calibration short, what Go's runtime allocated for itself made 1 byte of a loop of additions.
    """
    told = [int(match[2]) for match in _ALLOCATED.finditer(text) if name in _names(match[1])]
    return bool(told) and all(told)


def _names(printed: str) -> tuple[str, str]:
    """Of which benchmarks a result may be: its name stands there with or without GOMAXPROCS."""
    return printed, _PROCESSORS.sub("", printed)


def _own_choice(side: Side) -> str | None:
    """What a side's own words say that shall run, by the last -test.bench; None: nothing."""
    found = None
    for word, following in pairwise([*side.command[1:], ""]):
        if match := _CHOICE.fullmatch(word):
            found = following if match[1] is None else match[1]
    return found


ADAPTER = Adapter(KIND, "a Go test binary", (b"test.benchtime",), GoTest)
