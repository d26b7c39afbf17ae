"""JMH's jars as they are (`java -jar benchmarks.jar`): one launch runs one benchmark in one fork.

A launch starts Java twice: JMH itself, and the fork, which has the options that @Fork gives it. Its warm-up
is short: what a launch tells is how fast the code is after some tenths of a second, not after minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from tollbench.compare.adapters.one_after_another import Values
from tollbench.compare.adapters.whole_output import Printed, WholeOutput, json_of
from tollbench.compare.subject import MOST_OFFERED, Adapter, MeasuringOptions, Side
from tollbench.launching.command import Ended
from tollbench.launching.failure import LaunchFailed

KIND = "jmh"
_WARM_UP = ("-wi", "5", "-w", "100ms")
_ITERATIONS = ("-i", "5", "-r", "50ms")
_BRIEFLY = ("-wi", "0", "-i", "1", "-r", "1ms")
_LISTED = "Benchmarks:"
_PARAMETER = re.compile(r'  param "(.*)" = \{(.*)\}')
_WITHOUT_VALUE = ("l", "lp", "lprof", "lrf", "h")
_NO_RESULT = "gives no result for it, as benchmarks do that throw or whose fork ends: run it by hand to see"


class _Listed(NamedTuple):
    """A benchmark as JMH lists it."""

    method: str
    parameters: dict[str, str]  # with their values as they are printed, "1, 2"

    def named(self) -> Iterator[tuple[str, dict[str, str]]]:
        """What its results will be called; a value that has ", " in it looks like two."""
        values = [text.split(", ") for text in self.parameters.values()]
        for chosen in islice(product(*values), MOST_OFFERED):
            parameters = dict(zip(self.parameters, chosen, strict=True))
            yield _name(self.method, parameters), parameters

    def may_match(self, pattern: str) -> bool:
        """Whether a result of it may have a name that matches."""
        names = (name for name, _ in self.named())
        return any(re.search(pattern, name) for name in (*names, _name(self.method, self.parameters)))


class Jmh(WholeOutput):
    """Existing jars, unchanged; a benchmark is called "package.Class.method: parameter=value"."""

    def __init__(self, sides: Sequence[Side], options: MeasuringOptions) -> None:
        super().__init__(sides, options)
        self._parts: dict[str, tuple[str, dict[str, str]]] = {}  # name -> method, parameters
        self._trying: Sequence[str] = ()  # methods, of a launch that asks what there is

    def offered(self, side: Side) -> Sequence[str]:
        """Tries each that may match, as a list does not tell whether it works.

        One that throws costs its own row alone; one that ends a launch of all has each tried by itself. What
        lists nothing is tried as a whole.
        """
        listed = self._listed(side)
        if not listed:
            found = self._launched(side, None, None)[0]
            return [name for name in found if re.search(self.options.pattern, name)]
        wanted = [each for each in listed if each.may_match(self.options.pattern)]
        methods = [each.method for each in wanted]
        if not methods:
            return []
        try:
            found = self._tried(side, methods)
        except LaunchFailed:
            if len(methods) == 1:
                raise
            found, failures = {}, []
            for method in methods:
                try:
                    found |= self._tried(side, [method])
                except LaunchFailed as failure:
                    failures.append(failure)
            if len(failures) == len(methods):
                raise failures[0] from None
        names = [*found, *self._lacking(side, wanted, list(found))]
        return [name for name in names if re.search(self.options.pattern, name)]

    def _listed(self, side: Side) -> list[_Listed]:
        """One a method, which JMH lists once for each mode; none where it does not list them here.

        JMH before 1.10.4 cannot, with `-v SILENT` or `-o` it does so elsewhere, and a jar with a main of its
        own may measure all of them instead, which is to end soon.
        """
        listed = self.run(side, ["-lp", "-bm", "avgt", "-f", "1", *_BRIEFLY])
        text = listed.whole_stdout().decode("utf-8", "replace") if listed.exit_code == 0 else ""
        found: dict[str, _Listed] = {}
        latest: _Listed | None = None
        for line in text[text.find(_LISTED) :].splitlines()[1:] if _LISTED in text else ():
            if match := _PARAMETER.fullmatch(line):
                if latest is not None:
                    latest.parameters[match[1]] = match[2]
            elif line and not line[0].isspace():
                latest = found.setdefault(line.rstrip(), _Listed(line.rstrip(), {}))
        return list(found.values())

    def _tried(self, side: Side, methods: Sequence[str]) -> Values:
        self._trying = methods
        return self._launched(_free(side), None, None)[0]

    def _lacking(self, side: Side, wanted: Sequence[_Listed], found: Sequence[str]) -> list[str]:
        """What is listed and has no result: rows that fail, where the list is plain enough to name them."""
        lacking: list[str] = []
        for each in wanted:
            named = dict(each.named())
            own = {name for name in found if self._parts[name][0] == each.method}
            if own <= named.keys():
                missing = [name for name in named if name not in own]
                lacking += missing
                self._parts |= {name: (each.method, named[name]) for name in missing}
        for name in lacking:
            self._without.setdefault(name, {})[self.sides.index(side)] = _NO_RESULT
        return lacking

    def most_together(self, names: Sequence[str]) -> Sequence[str]:
        """One: each has a fork of its own anyway."""
        return names[:1]

    def launch(self, side: Side, names: Sequence[str], seed: int) -> tuple[Values, Ended]:
        """One method; beside regular expressions of the side's own it would run what they choose, too."""
        return super().launch(_free(side), names, seed)

    def told(self, report: Path, names: Sequence[str] | None) -> Sequence[str]:
        """Average time in ns, whatever the source asks for; one method with its parameters.

        A parameter is several where a comma is in its value: then all its values run, and the row is chosen.
        """
        shared = ["-bm", "avgt", "-tu", "ns", "-f", "1", "-rf", "json", "-rff", str(report)]
        if names is None:
            return [
                *shared,
                "-foe",
                "false",
                *_BRIEFLY,
                *map(_only, self._trying),
            ]  # none: all that there are
        method, parameters = self._parts[names[0]]
        several = any("," in value for value in parameters.values())
        arguments = [*shared, "-foe", "false" if several else "true", *_WARM_UP, *_ITERATIONS, _only(method)]
        for name, value in parameters.items():
            arguments += [] if "," in value else ["-p", f"{name}={value}"]
        return arguments

    def read(self, report: bytes) -> Printed:
        """Every iteration of every fork."""
        found = json_of(report, "JMH")
        try:
            return [pair for one in found for pair in self._read(one)]
        except (KeyError, TypeError, AttributeError):
            raise LaunchFailed("ended well, but reported nothing that JMH would report") from None

    def _read(self, one: Any) -> Printed:
        parameters = {str(key): str(value) for key, value in (one.get("params") or {}).items()}
        name = _name(str(one["benchmark"]), parameters)
        self._parts[name] = one["benchmark"], parameters
        in_ns = one["primaryMetric"]["scoreUnit"] == "ns/op"
        for fork in one["primaryMetric"]["rawData"]:
            for value in fork:
                yield name, float(value) if in_ns else math.nan


def _name(method: str, parameters: Mapping[str, str]) -> str:
    told = ", ".join(f"{key}={value}" for key, value in sorted(parameters.items()))  # lists have any order
    return f"{method}: {told}" if told else method


def _only(method: str) -> str:
    return f"^{re.escape(method)}$"


def _free(side: Side) -> Side:
    """Without its own regular expressions, behind the jar: JMH runs what any of several matches."""
    if "-jar" not in side.command:
        return side
    jar = side.command.index("-jar") + 2
    kept, words = list(side.command[:jar]), iter(side.command[jar:])
    for word in words:
        if word.startswith("-"):
            kept.append(word)
            if "=" not in word and word.lstrip("-") not in _WITHOUT_VALUE:
                kept += islice(words, 1)
    return replace(side, command=tuple(kept))


ADAPTER = Adapter(KIND, "a JMH jar", (b"META-INF/BenchmarkList",), Jmh, interpreters=("java",))
