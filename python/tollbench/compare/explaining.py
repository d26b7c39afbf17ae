"""Which functions a change of one benchmark began in: profiles of both sides, held against each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tollbench.compare import ranking
from tollbench.compare.blame import Doing, doings
from tollbench.compare.explanations import Amounts, Explanation, FlameNode, FunctionChange, Hunk, SourceLine
from tollbench.compare.profiling import Explained, Profiled, profiled
from tollbench.compare.ranking import Suspect
from tollbench.compare.source_diffs import FileHunk, touching
from tollbench.compare.subject import Standing, Two
from tollbench.counting.call_graphs import CallGraph, Function, Naming, Tree, graph_of, tree_of
from tollbench.counting.changed_functions import OTHER_INSTRUCTIONS, ChangedFunctions, plain
from tollbench.counting.demangling import short
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.instructions import missing_tool
from tollbench.counting.source_frames import Frames, frames_of
from tollbench.counting.walked_image import WalkedImage
from tollbench.launching.elf_files import DAMAGES
from tollbench.launching.failure import LaunchFailed

DATA_MISSES = ("D1mr", "D1mw")
MEMORY_MISSES = ("ILmr", "DLmr", "DLmw")
MISPREDICTED = ("Bcm", "Bim")
SYSTEM_CALLS = ("sysCount",)
INSTRUCTIONS = ("Ir",)
_PLACE = re.compile("0x[0-9a-f]+")  # in place of a name, as callgrind writes it
_MOST_LINES = 3
_LEAST_OF_A_FLAME = 0.002  # of all instructions: narrower frames cannot be seen


@dataclass
class Explainer:
    """Asked once a comparison."""

    counter: Explained
    labels: Sequence[str]
    standing: Callable[[str, Two], Standing | None]
    hunks: Mapping[Two, Sequence[FileHunk]] = field(default_factory=dict)  # between revisions
    _profiles: dict[tuple[int, str], Profiled] = field(default_factory=dict)
    _changed: dict[tuple[str, str], ChangedFunctions | str] = field(default_factory=dict)

    def explain(self, name: str, two: Two) -> Explanation:
        """One benchmark, one side against another. Raises Interrupted."""
        try:
            if told := missing_tool():
                raise LaunchFailed(f"not explained: {told}")
            both = self._profiled(two.a, name), self._profiled(two.b, name)
        except LaunchFailed as failure:
            return Explanation(
                benchmark=name,
                a=self.labels[two.a],
                b=self.labels[two.b],
                per="",
                sentence=failure.reason,
                failed=True,
            )
        return _BothSides(self, name, two, *both).explanation()

    def changed(self, files: tuple[str, str]) -> ChangedFunctions | str:
        """Who knows which functions of two files differ, or why nobody does."""
        if files not in self._changed:
            self._changed[files] = _changed_functions(files)
        return self._changed[files]

    def _profiled(self, side: int, name: str) -> Profiled:
        if (side, name) not in self._profiles:
            try:
                found = profiled(self.counter, side, name)
            except LaunchFailed as failure:
                raise LaunchFailed(f"{self.labels[side]} {failure.reason}") from None
            self._profiles[side, name] = found
        return self._profiles[side, name]


def _changed_functions(files: Sequence[str]) -> ChangedFunctions | str:
    images = []
    for file in files:
        try:
            images.append(Image(Path(file)))
            WalkedImage(images[-1])  # which refuses what cannot be walked
        except Unreadable as reason:
            return f"functions were not compared: {Path(file).name} {reason}"
    try:
        return ChangedFunctions(*images)
    except Unreadable as reason:
        return f"functions were not compared: one of {' and '.join(files)} {reason}"
    except DAMAGES:
        return f"functions were not compared: one of {' and '.join(files)} is damaged"


class _BothSides:
    """Both sides of one benchmark, held against each other."""

    def __init__(self, explainer: Explainer, name: str, two: Two, a: Profiled, b: Profiled) -> None:
        self.explainer, self.name, self.two = explainer, name, two
        self.sides = (a, b)
        self.before = self._renamed()  # name on the second side -> another one on the first
        now = {old: new for new, old in self.before.items()}
        self.naming = [self._naming(0, now), self._naming(1, {})]
        self.aliases = self._aliases()
        self.frames = [
            {site: self._called(frames) for site, frames in each.frames.items()} for each in self.sides
        ]
        self.graphs = [
            graph_of(each.profile, naming, frames)
            for each, naming, frames in zip(self.sides, self.naming, self.frames, strict=True)
        ]
        self.doings = doings(*self.graphs)
        self.files = self._files()
        self.code: dict[Function, str | None] = {}  # what differs, "" for nothing, None where nobody knows
        self.not_compared: dict[str, None] = {}
        self._compare_code()
        self.standing = explainer.standing(name, two)

    def explanation(self) -> Explanation:
        """All of it."""
        totals = {
            "instructions": self._total(INSTRUCTIONS),
            "data_misses": self._total(DATA_MISSES),
            "memory_misses": self._total(MEMORY_MISSES),
            "mispredicted": self._total(MISPREDICTED),
            "system_calls": self._total(SYSTEM_CALLS),
            "allocations": self._allocated(),
        }
        unchanged = self.standing.unchanged if self.standing is not None else None
        whole = totals["instructions"]
        same = ranking.equal(self.name, whole)
        suspects = ranking.ranked(self._suspects(), whole, same=same)
        functions = tuple(self._function(each, None if same else whole.more) for each in suspects)
        return Explanation(
            benchmark=self.name,
            a=self.explainer.labels[self.two.a],
            b=self.explainer.labels[self.two.b],
            per=self.sides[1].per,
            sentence=ranking.sentence(
                self.name, self.sides[1].per, totals, functions, unchanged=unchanged, code=self._proof()
            ),
            unchanged_code=unchanged,
            code=self._proof(),
            functions=functions,
            flame=self._flame(),
            notes=(*self.sides[0].notes, *self.sides[1].notes, *self.not_compared),
            instructions=whole,
            allocations=totals["allocations"],
            data_misses=totals["data_misses"],
            memory_misses=totals["memory_misses"],
            mispredicted=totals["mispredicted"],
            system_calls=totals["system_calls"],
        )

    def _renamed(self) -> dict[str, str]:
        """Functions of the program whose parameters alone are others, so that they stay the same function."""
        names = [
            {plain(stack[0]) for stack, site in each.once.costs if site[0] == str(each.program)}
            for each in self.sides
        ]
        short_names = [Counter(map(short, each)) for each in names]
        only = [{short(name): name for name in each} for each in (names[0] - names[1], names[1] - names[0])]
        return {
            only[1][name]: only[0][name]
            for name in only[0].keys() & only[1].keys()
            if short_names[0][name] == short_names[1][name] == 1 and not name.startswith("0x")
        }

    def _naming(self, side: int, renamed: Mapping[str, str]) -> Naming:
        program = str(self.sides[side].program)
        changed = self.explainer.changed((str(self.sides[0].program), str(self.sides[1].program)))
        known: dict[tuple[str, str], Function] = {}

        def named(file: str, symbol: str) -> Function:
            if file not in ("", program):
                return Function(Path(file).name, plain(symbol))
            called = plain(symbol)
            if _PLACE.fullmatch(called) and not isinstance(changed, str):
                called = changed.nameless(side, int(called, 16))
            return Function("", renamed.get(called, called))

        def name(file: str, symbol: str) -> Function:
            if (file, symbol) not in known:
                known[file, symbol] = named(file, symbol)
            return known[file, symbol]

        return name

    def _aliases(self) -> dict[str, str]:
        """Debug information has no more than the last word of a local function that is inlined."""
        found: dict[str, set[str]] = {}
        for each in self.sides:
            for stack, _ in each.once.costs:
                name = plain(stack[0])
                found.setdefault(short(name).rsplit("::", 1)[-1], set()).add(name)
        return {word: min(names) for word, names in found.items() if len(names) == 1}

    def _called(self, frames: Frames) -> Frames:
        return tuple(
            replace(frame, function=self.aliases.get(frame.function, frame.function)) for frame in frames
        )

    def _proof(self) -> str:
        return self.standing.told if self.standing is not None else ""

    def _files(self) -> dict[str, tuple[str, str]]:
        """Of every function's file where it lies on both sides."""
        found: list[dict[str, str]] = []
        for each, naming in zip(self.sides, self.naming, strict=True):
            sites = {(site[0], stack[0]) for stack, site in each.once.costs}
            found.append({naming(file, symbol).file: file for file, symbol in sites})
        return {name: (found[0][name], found[1][name]) for name in found[0].keys() & found[1].keys()}

    def _compare_code(self) -> None:
        """Every function that either side runs."""
        for compiled in {name for graph in self.graphs for name in graph.bodies} | self._around():
            files = self.files.get(compiled.file)
            if files is None or files[0] == files[1]:
                self.code[compiled] = None if files is None else ""
                continue
            changed = self.explainer.changed(files)
            if isinstance(changed, str):
                self.code[compiled] = None
                self.not_compared[changed] = None
                continue
            told = changed.difference(self.before.get(compiled.name, compiled.name), compiled.name)
            self.code[compiled] = told
            if told == OTHER_INSTRUCTIONS and all(each.frames for each in self.sides):
                self.code |= self._parts(changed, compiled)

    def _parts(self, changed: ChangedFunctions, compiled: Function) -> dict[Function, str]:
        """Which of the functions that were inlined into a changed one differ, and whether it does itself."""
        before = self.before.get(compiled.name, compiled.name)
        places = changed.addresses(before, compiled.name)
        frames: list[Mapping[int, Frames]] = []
        for file, addresses in zip(self.files[compiled.file], places, strict=True):
            try:
                known = frames_of(Path(file), addresses)
                frames.append({address: self._called(each) for address, each in known.items()})
            except LaunchFailed:
                return {}
        parts = changed.changed_parts(before, compiled, (frames[0], frames[1]))
        if not any(parts.values()):
            return {}  # in another order, or in other registers
        return {
            part: f"{count} other instruction{'s' * (count != 1)}" if count else ""
            for part, count in parts.items()
            if count or not self.code.get(part)
        }

    def _around(self) -> set[Function]:
        """Functions of the program that a run executes, in its loop or around it."""
        found = set()
        for each, naming in zip(self.sides, self.naming, strict=True):
            found |= {naming(site[0], stack[0]) for stack, site in each.once.costs}
        return {name for name in found if len(set(self.files.get(name.file, ()))) > 1}

    def _suspects(self) -> list[Suspect]:
        known = {name for graph in self.graphs for body in graph.bodies.values() for name in body.parts}
        found = []
        for function in known | {name for name, told in self.code.items() if told}:
            doing = self.doings.get(function, Doing(function, (0.0,) * len(self.graphs[0].events)))
            told = self._told(function)
            found.append(
                Suspect(
                    function,
                    self._of(doing.amount, INSTRUCTIONS),
                    ranking.cycles(dict(zip(self.graphs[0].events, doing.amount, strict=True))),
                    self._own(function, INSTRUCTIONS),
                    None if told is None else bool(told),
                    in_loop=function in known,
                )
            )
        return found

    def _told(self, function: Function) -> str | None:
        """What differs; an inlined function in unchanged ones is unchanged."""
        if function in self.code:
            return self.code[function]
        holders = {
            name for graph in self.graphs for name, body in graph.bodies.items() if function in body.parts
        }
        told = [self.code.get(name) for name in holders]
        return None if None in told else ""

    def _function(self, suspect: Suspect, whole: float | None) -> FunctionChange:
        function = suspect.function
        bodies = [graph.bodies.get(function) for graph in self.graphs]
        compiled = any(body is not None for body in bodies)
        everywhere = all(body is None or body.around for body in bodies)  # else only some side calls it
        entered = [
            body.entered if body is not None and (everywhere or not body.around) else 0.0 for body in bodies
        ]
        holders = {
            name.name
            for graph in self.graphs
            for name, body in graph.bodies.items()
            if function in body.parts and name != function
        }
        source, lines = self._source(function)
        return FunctionChange(
            function=function.name,
            called=ranking.called(function.name),
            file=function.file,
            inlined_into=tuple(sorted(map(ranking.called, holders))),
            changed=suspect.changed,
            code=self._told(function) or "",
            doing=suspect.instructions,
            share=suspect.instructions / whole if whole is not None else None,
            instructions=suspect.own,
            inclusive=self._inclusive(function),
            calls=Amounts(a=entered[0], b=entered[1]) if compiled else None,
            allocations=self._allocated(function),
            data_misses=self._own(function, DATA_MISSES),
            memory_misses=self._own(function, MEMORY_MISSES),
            mispredicted=self._own(function, MISPREDICTED),
            system_calls=self._own(function, SYSTEM_CALLS),
            source=source,
            lines=lines,
            diff=self._diff(function) if suspect.changed is not False else (),
        )

    def _of(self, cost: Sequence[float], events: Sequence[str]) -> float:
        return sum(cost[self.graphs[0].events.index(event)] for event in events)

    def _total(self, events: Sequence[str]) -> Amounts:
        a, b = (self._of(graph.total(), events) for graph in self.graphs)
        return Amounts(a=a, b=b)

    def _own(self, function: Function, events: Sequence[str]) -> Amounts:
        a, b = (
            sum(
                self._of(body.parts[function].own, events)
                for body in graph.bodies.values()
                if function in body.parts
            )
            for graph in self.graphs
        )
        return Amounts(a=a, b=b)

    def _inclusive(self, function: Function) -> Amounts:
        found = []
        for graph in self.graphs:
            body = graph.bodies.get(function)
            taken = body.taken[0] if body is not None else 0.0
            for name, other in graph.bodies.items():
                if name != function and (part := other.parts.get(function)) is not None:
                    taken += part.own[0] + sum(cost[1] for cost in part.calls.values())
            found.append(taken)
        return Amounts(a=found[0], b=found[1])

    def _allocated(self, function: Function | None = None) -> Amounts:
        a, b = (
            sum(
                part.allocations
                for body in graph.bodies.values()
                for name, part in body.parts.items()
                if function in (None, name)
            )
            for graph in self.graphs
        )
        return Amounts(a=a, b=b)

    def _source(self, function: Function) -> tuple[str, tuple[SourceLine, ...]]:
        """Of the side that runs it, the second one first."""
        for graph, each in reversed(tuple(zip(self.graphs, self.sides, strict=True))):
            lines = _lines(graph, function)
            if not lines:
                continue
            checkout = f"{each.folder}/"
            lines = {(file.removeprefix(checkout), at): cost for (file, at), cost in lines.items()}
            file = max(lines, key=lambda line: lines[line])[0]
            numbers = [line for name, line in lines if name == file and line]
            most = sorted(lines, key=lambda line: -lines[line])[:_MOST_LINES]
            told = tuple(SourceLine(file=name, line=at, instructions=lines[name, at]) for name, at in most)
            if not numbers:
                return file, told
            first, last = min(numbers), max(numbers)
            return f"{file}:{first}-{last}" if first < last else f"{file}:{first}", told
        return "", ()

    def _diff(self, function: Function) -> tuple[Hunk, ...]:
        ones, others = (_extent(_lines(graph, function)) for graph in self.graphs)
        return touching(self.explainer.hunks.get(self.two, ()), ones, others)

    def _flame(self) -> FlameNode:
        loop = {
            name
            for graph in self.graphs
            for name, body in graph.bodies.items()
            if body.entered == 1.0 and not name.file and any(part.own[0] > 0 for part in body.parts.values())
        }
        a, b = (
            tree_of(each.profile, naming, frames, loop)
            for each, naming, frames in zip(self.sides, self.naming, self.frames, strict=True)
        )
        return _joined(self.name, a, b, max(a.whole, b.whole) * _LEAST_OF_A_FLAME)


def _joined(name: str, a: Tree, b: Tree, least: float) -> FlameNode:
    below = []
    for each in dict.fromkeys((*b.below, *a.below)):
        one, other = a.below.get(each, Tree(each)), b.below.get(each, Tree(each))
        if max(one.whole, other.whole) >= least:
            below.append(_joined(ranking.called(each), one, other, least))
    return FlameNode(name=name, a=a.whole, b=b.whole, below=tuple(below))


def _lines(graph: CallGraph, function: Function) -> dict[tuple[str, int], float]:
    found: dict[tuple[str, int], float] = {}
    for body in graph.bodies.values():
        if (part := body.parts.get(function)) is not None:
            for line, cost in part.lines.items():
                found[line] = found.get(line, 0.0) + cost
    return found


def _extent(lines: Mapping[tuple[str, int], float]) -> dict[str, tuple[int, int]]:
    """Of each file the first and the last line."""
    found: dict[str, tuple[int, int]] = {}
    for file, line in lines:
        if line:
            first, last = found.get(file, (line, line))
            found[file] = (min(first, line), max(last, line))
    return found
