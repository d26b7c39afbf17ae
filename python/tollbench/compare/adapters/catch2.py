"""Catch2 executables with BENCHMARKs, versions 2 and 3: one launch runs test cases with all that is in them.

Catch2 chooses how many iterations make a sample, and its analysis is left out: the mean of a launch's samples
is that launch's value. A launch first measures the clock for up to a second, whatever it is asked to do, so
that all test cases share one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from tollbench.compare.adapters.one_after_another import OneAfterAnother, Values
from tollbench.compare.subject import Adapter, MeasuringOptions, Side
from tollbench.launching.answers import reading
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed
from tollbench.text import shown

SAMPLES = 200
_NO_REPORT = "printed no report that Catch2 would print"
_COUNT = re.compile(r"[0-9]{1,18}")
_DEEPEST = 200  # nested elements: a name holds those of all sections around it
_PIECE_BYTES = 2**20
WARMUP_MS = 5


class Benchmark(NamedTuple):
    """What a launch printed of one benchmark."""

    name: str  # "test case / section / benchmark", each of which may hold " / " itself
    case: str
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

    def offered(self, side: Side) -> Sequence[str]:
        """Runs every test case once: nothing else tells which of them hold benchmarks."""
        found, _ = self._measured(side, [], None, samples=1)
        held = list(dict.fromkeys((benchmark.name, benchmark.case) for benchmark in found))
        self._cases[side.label] = dict(held)
        return [name for name, _ in held if re.search(self.options.pattern, name)]

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """All: a launch's overhead is far larger than a benchmark."""
        return names

    def alone(self, side: Side, name: str) -> Sequence[str]:
        """The test case that holds it, one sample."""
        return [literal(self._cases[side.label][name]), *_sampling(1)]

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """Runs the test cases that hold `names`; benchmarks beside them in a test case run too."""
        cases = sorted({self._cases[side.label][name] for name in names})
        found, ended = self._measured(side, [",".join(map(literal, cases))], seed, samples=SAMPLES)
        values: Values = {}
        for benchmark in found:
            if benchmark.name in names:  # several times: a test case runs anew for each of its sections
                values.setdefault(benchmark.name, []).append(benchmark.mean_ns)
        return values, ended

    def case_of(self, side: Side, name: str) -> str:
        """The test case that holds a benchmark."""
        return self._cases[side.label][name]

    def _measured(
        self, side: Side, tests: Sequence[str], seed: int | None, *, samples: int
    ) -> tuple[list[Benchmark], Ended]:
        arguments = [
            *tests,
            "--reporter",
            "xml",
            *_sampling(samples),
        ]
        ended = self.run(side, arguments, seed)
        try:
            found = Report.of(ended.whole_stdout())
        except LaunchFailed:
            if ended.exit_code != 0:
                raise LaunchFailed(ended.how()) from None
            raise
        if ended.exit_code < 0:
            raise LaunchFailed(ended.how())
        if found.failed is not None:
            told = shown(found.failed, 200)
            raise LaunchFailed(f"fails its test case {told!r}: a wrong answer has no time")
        return found.benchmarks, ended


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


class Report(NamedTuple):
    """An XML report, understood."""

    benchmarks: list[Benchmark]  # in the order in which they ran
    failed: str | None  # the first test case that failed

    @staticmethod
    def of(text: bytes) -> Report:
        """Raises LaunchFailed for what Catch2 would not print."""
        parser = ElementTree.XMLParser(target=_Shallow())
        try:
            with reading(_NO_REPORT):
                for begin in range(0, len(text), _PIECE_BYTES):  # an interrupt is honoured between two
                    parser.feed(text[begin : begin + _PIECE_BYTES])
                root = parser.close()
                return Report(list(_benchmarks(root)), _failed_case(root))
        except ElementTree.ParseError:  # a SyntaxError: of the program, not of toll
            raise LaunchFailed(_NO_REPORT) from None


def reported(report: bytes) -> list[Benchmark]:
    """The benchmarks in an XML report, in the order in which they ran. Raises LaunchFailed."""
    return Report.of(report).benchmarks


def _failed_case(root: ElementTree.Element) -> str | None:
    for case in root.iter("TestCase"):
        result = case.find("OverallResult")
        if result is not None and result.get("success") == "false":
            return case.get("name", "")
    return None


def _benchmarks(root: ElementTree.Element) -> Iterator[Benchmark]:
    for case in root.iter("TestCase"):
        name = case.get("name", "")
        yield from _below(case, name, name)


def _below(element: ElementTree.Element, path: str, case: str) -> Iterator[Benchmark]:
    for child in element:
        name = path + SEPARATOR + child.get("name", "")
        if child.tag == "Section":
            yield from _below(child, name, case)
        elif child.tag == "BenchmarkResults":
            mean = child.find("mean")
            ns = _number(mean.get("value", "") if mean is not None else "")
            count = child.get("iterations", "")
            yield Benchmark(name, case, ns, int(count) if _COUNT.fullmatch(count) else 0)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


ADAPTER = Adapter(KIND, "a Catch2 executable", (b"benchmark-no-analysis", b"libCatch2.so"), Catch2)
