"""Where the cost of one benchmark arises: callgrind's profiles, by instruction and by who called whom.

Valgrind's manual, "Callgrind: a call-graph generating cache and branch prediction profiler", describes the
format. With --separate-callers=N a function's name is followed by those of its N nearest callers.
"""

from __future__ import annotations

import io
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tollbench.counting.instructions import CALLGRIND
from tollbench.launching.answers import open_plain, reading

MOST_CALLERS = 12  # whose names stand behind a function's: how deep stacks are known
PROFILING = (
    *CALLGRIND,
    "--cache-sim=yes",
    "--branch-sim=yes",
    "--dump-instr=yes",
    "--compress-pos=no",
    "--demangle=no",
    f"--separate-callers={MOST_CALLERS}",
)
_NAME = re.compile(r"(c?)(ob|fn|fl|fi|fe)=\((\d+)\)(?: (.*))?")
Key = TypeVar("Key", bound=Hashable)
Stack = tuple[str, ...]  # symbols, the function first, then its callers
Site = tuple[str, int]  # file of code, address of an instruction as it stands there


@dataclass(frozen=True, slots=True)
class Call:
    """Of one instruction: who calls whom; stacks begin with the two functions themselves."""

    site: Site
    caller: Stack
    callee: Stack
    callee_file: str


@dataclass(slots=True)
class CostProfile:
    """Costs are lists of numbers, one for each of `events`; of a call its number comes before them."""

    events: tuple[str, ...] = ()
    costs: dict[tuple[Stack, Site], list[float]] = field(default_factory=dict)  # of instructions themselves
    calls: dict[Call, list[float]] = field(default_factory=dict)
    lines: dict[Site, tuple[str, int]] = field(default_factory=dict)  # source, where debug information is

    def without(self, file: str) -> CostProfile:
        """Without what one library executed itself, such as one that is preloaded.

        What it was called for is gone with it, but for functions that it only stands before: who calls its
        `malloc`, which calls the next one, calls that one.
        """
        onward = {
            call.callee[0]: call.callee_file
            for call in self.calls
            if call.site[0] == file and call.callee[0] == call.caller[0]
        }
        costs = {key: cost for key, cost in self.costs.items() if key[1][0] != file}
        calls: dict[Call, list[float]] = {}
        for call, cost in self.calls.items():
            if call.site[0] == file or (call.callee_file == file and call.callee[0] not in onward):
                continue
            through = call.callee_file == file
            _add(calls, replace(call, callee_file=onward[call.callee[0]]) if through else call, cost)
        return CostProfile(self.events, costs, calls, self.lines)


def per_iteration(last: CostProfile, before: CostProfile | None, more: float) -> CostProfile:
    """What `more` iterations took of which `last` made that many more than `before`, each."""
    if before is None:
        before = CostProfile(last.events)
    return CostProfile(
        last.events,
        _difference(last.costs, before.costs, more),
        _difference(last.calls, before.calls, more),
        {**before.lines, **last.lines},
    )


def _difference(
    last: Mapping[Key, Sequence[float]], before: Mapping[Key, Sequence[float]], more: float
) -> dict[Key, list[float]]:
    found = {}
    for key in last.keys() | before.keys():
        one, other = last.get(key, ()), before.get(key, ())
        size = max(len(one), len(other))
        padded = [[*values, *([0.0] * (size - len(values)))] for values in (one, other)]
        each = [(now - then) / more for now, then in zip(*padded, strict=True)]
        if any(each):
            found[key] = each
    return found


def read(path: Path) -> CostProfile:
    """One file of callgrind. Costs that are not told are zero. Raises LaunchFailed."""
    reader = _ProfileReader()
    with open_plain(path) as file, reading("under Valgrind left a profile that cannot be read"):
        for line in io.TextIOWrapper(file, encoding="utf-8", errors="replace"):
            reader.take(line.rstrip("\n"))
    return reader.profile


class _ProfileReader:
    """Line by line; a call is told in two, its number first and then what it took."""

    def __init__(self) -> None:
        self.profile = CostProfile()
        self._names: dict[tuple[str, str], str] = {}
        self._now: dict[str, str] = {"ob": "", "fn": "", "fi": "", "cob": "", "cfn": ""}
        self._count = -1.0
        self._stacks: dict[str, Stack] = {}

    def take(self, line: str) -> None:
        """The next one."""
        if line.startswith("0x"):
            self._cost(line.split())
        elif line.startswith("calls="):
            self._count = float(line[len("calls=") :].split()[0])
        elif match := _NAME.match(line):
            self._name(match)
        elif line.startswith("events:"):
            self.profile.events = tuple(line.split()[1:])

    def _name(self, match: re.Match[str]) -> None:
        called, kind, number, told = match.groups()
        space = kind if kind in ("ob", "fn") else "fl"
        if told is not None:
            self._names[space, number] = told
        name = self._names.get((space, number), "???")
        if kind in ("ob", "fn"):
            self._now[called + kind] = name
            if (called, kind) == ("", "ob"):
                self._now["cob"] = name
        elif not called:
            self._now["fi"] = name

    def _cost(self, words: Sequence[str]) -> None:
        site = (self._now["ob"], int(words[0], 16))
        cost = [float(word) for word in words[2:]]
        cost += [0.0] * (len(self.profile.events) - len(cost))
        stack = self._stack(self._now["fn"])
        if self._count >= 0:
            call = Call(site, stack, self._stack(self._now["cfn"]), self._now["cob"])
            _add(self.profile.calls, call, [self._count, *cost])
            self._count = -1.0
            self._now["cob"] = self._now["ob"]
            return
        _add(self.profile.costs, (stack, site), cost)
        if (line := int(words[1])) and self._now["fi"] != "???":
            self.profile.lines[site] = (self._now["fi"], line)

    def _stack(self, name: str) -> Stack:
        if name not in self._stacks:
            self._stacks[name] = tuple(part.split("@")[0] for part in name.split("'"))
        return self._stacks[name]


def _add(into: dict[Key, list[float]], key: Key, cost: list[float]) -> None:
    known = into.get(key)
    into[key] = cost if known is None else [one + other for one, other in zip(known, cost, strict=True)]
