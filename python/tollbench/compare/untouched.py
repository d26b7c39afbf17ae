"""Which benchmarks a change left untouched: proved from the code that they run, not from their time.

Each side after the first is held against the first one. Where everything is the same that either file can
reach, no benchmark is launched for it; else each benchmark runs once under callgrind, on the first side
alone: what it executes there, the other side executes too, up to the first difference.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tollbench.compare.subject import Side, Standing
from tollbench.counting.demangling import readable
from tollbench.counting.executed import Executed, executed
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.loaded import Pairing, paired
from tollbench.counting.matching import Function, Match, PairedPlace
from tollbench.errors import TollError
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt
from tollbench.store.writing import write_text

RUN_LIMIT_S = 10.0  # of one benchmark under callgrind
MOST_REFUSALS = 3  # with one reason: the other benchmarks would not run under callgrind either
MOST_NAMED = 4  # functions that a sentence names
Alone = Callable[[Side, str], Sequence[str] | None]  # arguments that make a side run one benchmark, briefly


@dataclass(slots=True)
class Untouched:
    """Proves; asked once a comparison."""

    sides: Sequence[Side]
    alone: Alone
    cache: Path | None = None
    interrupt: Interrupt | None = None
    _runs: dict[str, Executed | str] = field(default_factory=dict)  # of the first side, by benchmark

    def standings(self, sides_of: Mapping[str, Sequence[int]]) -> Mapping[tuple[str, int], Standing]:
        """Of every benchmark on every side that has it. Raises Interrupted."""
        found: dict[tuple[str, int], Standing] = {}
        for side in range(1, len(self.sides)):
            names = [name for name, sides in sides_of.items() if side in sides]
            for name, standing in self._side(side, names, list(sides_of)).items():
                found[name, side] = standing
        return found

    def _side(self, side: int, names: Sequence[str], everything: Sequence[str]) -> dict[str, Standing]:
        first, other = self.sides[0], self.sides[side]
        if first.command == other.command and first.folder == other.folder and _alike(first, other):
            return dict.fromkeys(names, Standing(True, "both sides are the same command"))
        if reason := _not_comparable(first, other):
            return dict.fromkeys(names, Standing(False, reason))
        try:
            pairing = paired(Path(first.command[0]), Path(other.command[0]), first.environment)
            match = Match(pairing.images, pairing.bound)
        except Unreadable as reason:
            return dict.fromkeys(names, Standing(False, f"the code was not compared: {reason}"))
        if match.same() and not pairing.loads_more and first.folder == other.folder:
            return dict.fromkeys(names, SAME)
        return _Runs(self, match, pairing, first, other).standings(names, everything)

    def run_of(self, name: str, files: bytes) -> Executed | str:
        """One launch of the first side, whose own files have this digest, or why there is none."""
        if name not in self._runs:
            refusals = Counter(run for run in self._runs.values() if isinstance(run, str))
            often = next((reason for reason, count in refusals.items() if count >= MOST_REFUSALS), None)
            self._runs[name] = often if often is not None else self._run(name, files)
        return self._runs[name]

    def _run(self, name: str, files: bytes) -> Executed | str:
        side = self.sides[0]
        arguments = self.alone(side, name)
        if arguments is None:
            return "this kind of side cannot be asked to run one benchmark briefly"
        command = [*side.command, *arguments]
        kept = self._kept(command, files)
        if kept is not None and (known := _read(kept)) is not None:
            return known
        try:
            found = executed(command, side.environment, side.folder, RUN_LIMIT_S, self.interrupt)
        except LaunchFailed as failure:
            return failure.reason
        if kept is not None:
            _write(kept, found)
        return found

    def _kept(self, command: Sequence[str], files: bytes) -> Path | None:
        """Where the answer for these very files and arguments is kept."""
        if self.cache is None:
            return None
        mark = hashlib.blake2b(files, digest_size=16)
        mark.update(json.dumps([command, str(self.sides[0].folder)]).encode())
        return self.cache / f"{mark.hexdigest()}.json"


SAME = Standing(True, "both sides execute the same code on the same constants")


@dataclass(slots=True)
class _Runs:
    """Two files that differ somewhere: which benchmarks get there."""

    untouched: Untouched
    match: Match
    pairing: Pairing
    first: Side
    other: Side

    def standings(self, names: Sequence[str], everything: Sequence[str]) -> dict[str, Standing]:
        """Of `names`; `everything` is what the first side offers and is compared with anybody."""
        if sure := self.match.differing(frozenset(), self._all_functions()):
            return dict.fromkeys(names, self._changed(sure))  # before main, or on the way to every benchmark
        digest = hashlib.blake2b(digest_size=16)
        for image, _ in self.pairing.images:
            digest.update(image.content)
        run_of = partial(self.untouched.run_of, files=digest.digest())
        with ThreadPoolExecutor(max_workers=2) as pool:
            runs = dict(zip(everything, pool.map(run_of, everything), strict=True))
        functions = {name: self._functions(run) for name, run in runs.items() if isinstance(run, Executed)}
        return {name: self._standing(name, runs[name], functions) for name in names}

    def _standing(self, name: str, run: Executed | str, functions: Mapping[str, Set[Function]]) -> Standing:
        if isinstance(run, str):
            return Standing(False, f"the code was not compared: {run}")
        elsewhere = frozenset().union(*(found for other, found in functions.items() if other != name))
        if places := self.match.differing(functions[name], elsewhere - functions[name]):
            return self._changed(places)
        if run.makes_code:
            return Standing(False, "the code was not compared: it makes code while it runs")
        if told := self._other_files(run):
            return Standing(False, told)
        return SAME

    def _changed(self, places: Sequence[PairedPlace]) -> Standing:
        """Functions first, whatever they are called."""
        told: dict[str, str] = {}
        for place in places:
            told.setdefault(self.match.name(place), self.match.places[place].difference)
        named = [f"{readable(name)} ({why})" for name, why in list(told.items())[:MOST_NAMED]]
        more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        return Standing(False, f"changed: {', '.join(named)}{more}")

    def _functions(self, run: Executed) -> Set[Function]:
        """The functions of the first side's own files that a run executed."""
        found: set[Function] = set()
        for pair, (image, _) in enumerate(self.pairing.images):
            path = str(image.path.resolve())
            starts = image.functions.starts
            for address in run.addresses.get(path, frozenset()):
                index = image.functions.containing(address)
                found.add((pair, address if index is None else starts[index]))
        return found

    def _all_functions(self) -> Set[Function]:
        return {(place.pair, place.a) for place in self.match.places}

    def _other_files(self, run: Executed) -> str:
        """What a run reads below its own folder, where the other side has another file there."""
        ours, theirs = _home(self.first), _home(self.other)
        compared = {image.path.resolve() for pair in self.pairing.images for image in pair}
        if ours == theirs:
            return ""
        for opened in run.opened:
            path = (self.first.folder or ours).joinpath(opened).resolve()
            if not path.is_relative_to(ours) or path in compared or not path.is_file():
                continue
            there = theirs / path.relative_to(ours)
            if not there.is_file() or not (_same_content(path, there) or _same_library(path, there)):
                return f"changed: it reads {path.relative_to(ours)}, which differs"
        return ""


def _same_content(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _same_library(one: Path, other: Path) -> bool:
    """Whether two libraries that a program loads by name do the same, whatever it takes from them."""
    try:
        return Match([(Image(one), Image(other))]).same()
    except Unreadable:
        return False


def _home(side: Side) -> Path:
    """Where a side's own files are: its checkout, or the folder of its executable."""
    executable = Path(side.command[0]).resolve()
    folder = side.folder.resolve() if side.folder is not None else None
    return folder if folder is not None and executable.is_relative_to(folder) else executable.parent


def _alike(first: Side, other: Side) -> bool:
    return dict(first.environment) == dict(other.environment) and first.malloc == other.malloc


def _not_comparable(first: Side, other: Side) -> str:
    """Why two sides are other work before their code is looked at; "" where they may be the same."""
    if "/bin/sh" in (first.command[0], other.command[0]):
        return "the code was not compared: a shell runs the command"
    if first.command[1:] != other.command[1:]:
        return "changed: other arguments"
    if not _alike(first, other):
        return "changed: another environment"
    return ""


def _read(path: Path) -> Executed | None:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        addresses = {str(name): frozenset(map(int, found)) for name, found in stored["addresses"].items()}
        return Executed(addresses, tuple(map(str, stored["opened"])), bool(stored["makes_code"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(path: Path, run: Executed) -> None:
    """Without it the next comparison runs the benchmark again; a full disk is no reason to fail."""
    content = {
        "addresses": {name: sorted(found) for name, found in run.addresses.items()},
        "opened": run.opened,
        "makes_code": run.makes_code,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(content))
    except (OSError, TollError):
        return
