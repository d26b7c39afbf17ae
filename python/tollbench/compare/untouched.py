"""Which benchmarks a change left untouched: proved from the code that they run, not from their time.

Each side after the first is held against the first one. Where everything is the same that either file can
reach, no benchmark is launched for it; else each benchmark runs once under callgrind, on the first side
alone: what it executes there, the other side executes too, up to the first difference.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import math
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock

from pydantic import BaseModel

from tollbench.compare.subject import Side, Standing
from tollbench.counting.demangling import readable
from tollbench.counting.executed import Executed, executed
from tollbench.counting.image import Image, Unreadable
from tollbench.counting.loaded import Pairing, bound_of_opened, paired
from tollbench.counting.matching import Match
from tollbench.counting.paired_places import Function, PairedPlace, PlaceKind
from tollbench.launching.answers import understood
from tollbench.launching.elf_files import DAMAGES
from tollbench.launching.failure import LaunchFailed
from tollbench.launching.interrupt import Interrupt, breakable
from tollbench.text import shown
from tollbench.words import Status
from tollbench.writing import write_own

RUN_LIMIT_S = 10.0  # of one benchmark under callgrind
QUICK_LIMIT_S = 2.0  # the same while others wait, which may be quicker
WALK_LIMIT_S = 10.0  # of two programs; more where there is time
MOST_LONGER = 8  # in a row, after which the others are not taken for quicker
NOWHERE = Path("/nowhere")  # a fresh folder, which is empty
MOST_REFUSALS = 3  # in a row, with one reason: other benchmarks would not run under callgrind either
MOST_NAMED = 4  # functions that a sentence names
_LONGEST_NAME = 400  # of a file that a sentence names
MOST_AT_ONCE = 8  # benchmarks under callgrind, each of which takes 40 MB beside its own memory
_LOOKED_FOR = 3  # raised where more is looked for in a run: what was kept before says too little
Alone = Callable[[Side, str], Sequence[str] | None]  # arguments that make a side run one benchmark, briefly


@dataclass(slots=True)
class Untouched:
    """Proves; asked once a comparison."""

    sides: Sequence[Side]
    alone: Alone
    reads_anything: bool = False  # what runs is a command, whose input nobody knows: it is run once to see
    cache: Path | None = None
    interrupt: Interrupt | None = None
    looking_s: float = math.inf  # all benchmarks together; what is left then is measured
    _until: float = math.inf
    _runs: dict[str, Executed | str] = field(default_factory=dict)  # of the first side, by benchmark
    _longer: int = 0  # in a row that took longer than QUICK_LIMIT_S
    _refusals: Counter[str] = field(default_factory=Counter)  # by reason
    _lock: Lock = field(default_factory=Lock)  # of both

    def standings(self, sides_of: Mapping[str, Sequence[int]]) -> Mapping[tuple[str, int], Standing]:
        """Of every benchmark on every side that has it. Raises Interrupted."""
        found: dict[tuple[str, int], Standing] = {}
        self._until = time.monotonic() + self.looking_s
        for side in range(1, len(self.sides)):
            names = [name for name, sides in sides_of.items() if side in sides]
            if not names:
                continue  # what is there may be no file at all
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
            with breakable(), understood("is damaged"):
                pairing = paired(Path(first.command[0]), Path(other.command[0]), first.environment)
                match = Match(() if pairing.alike else pairing.images, pairing.bound, self.walked_until())
                same = match.same()
        except LaunchFailed as failure:
            return dict.fromkeys(names, Standing(False, f"the code was not compared: {failure.reason}"))
        except Unreadable as reason:
            return dict.fromkeys(names, Standing(False, f"the code was not compared: {reason}"))
        # A benchmark executable runs in a folder that both sides share, and finds there what both find.
        looks_around = pairing.looks_around or self.reads_anything or first.folder != other.folder
        # A source file may be input, of a lexer for one, and so may what lies beside it, found by __FILE__:
        # where the sides' sources are in folders of their own, a run tells what is read.
        named = match.named_files()
        looks_around = looks_around or (bool(named) and pairing.opens_files)
        looks_around = looks_around or not all(_same_file(*each) for each in named)
        if same and not looks_around:
            return dict.fromkeys(names, SAME)
        return _Runs(self, match, pairing, first, other).standings(names, everything)

    def walked_until(self) -> float:
        """When a walk that begins now has to end: a short one saves all launches, whatever time is left."""
        return max(self._until, time.monotonic() + WALK_LIMIT_S)

    def runs_of(self, names: Sequence[str], files: bytes) -> dict[str, Executed | str]:
        """A launch of the first side, whose own files have this digest, for each; or why there is none.

        Those that take long come last: of a project's 620 benchmarks, whose data are 1,000 to a million
        elements, three of the largest took all the time and were taken for all others.
        """
        with ThreadPoolExecutor(min(MOST_AT_ONCE, len(os.sched_getaffinity(0)))) as pool:
            quick = partial(self._quick_run_of, files=files, several=len(names) > 1)
            runs = dict(zip(names, pool.map(quick, names), strict=True))
            longer = [name for name, run in runs.items() if run is None]
            slow = partial(self._run_of, files=files, limit_s=RUN_LIMIT_S)
            runs |= dict(zip(longer, pool.map(slow, longer), strict=True))
        return {name: run for name, run in runs.items() if run is not None}

    def _quick_run_of(self, name: str, files: bytes, *, several: bool) -> Executed | str | None:
        """Where many take longer than the short limit, the short runs would be time spent twice."""
        with self._lock:
            limit_s = QUICK_LIMIT_S if several and self._longer < MOST_LONGER else RUN_LIMIT_S
        found = self._run_of(name, files, limit_s)
        with self._lock:
            self._longer = self._longer + 1 if found is None else 0
        return found

    def _run_of(self, name: str, files: bytes, limit_s: float) -> Executed | str | None:
        """None: it takes longer than this limit, which is not the last one."""
        with self._lock:
            if name in self._runs:
                return self._runs[name]
            often = next((reason for reason, count in self._refusals.items() if count >= MOST_REFUSALS), None)
        found = often if often is not None else self._run(name, files, limit_s)
        if found is None:
            return None
        with self._lock:
            self._runs[name] = found
            if isinstance(found, str):
                self._refusals[found] += 1
            else:
                self._refusals.clear()
        return found

    def _run(self, name: str, files: bytes, limit_s: float) -> Executed | str | None:
        side = self.sides[0]
        arguments = self.alone(side, name)
        if arguments is None:
            return "this kind of side cannot be asked to run one benchmark briefly"
        command = [*side.command, *arguments]
        kept = self._kept(command, files)
        if kept is not None and (known := _read(kept, side.folder or NOWHERE)) is not None:
            return known
        left_s = self._until - time.monotonic()
        spent = f"the time for that, {self.looking_s:g} s for all benchmarks, was spent"
        if left_s <= 0.0:
            return spent
        try:
            allowed_s = min(limit_s, left_s)
            found = executed(command, side.environment, side.folder, allowed_s, self.interrupt)
        except LaunchFailed as failure:
            if failure.status is not Status.TIMED_OUT or allowed_s == RUN_LIMIT_S:
                return failure.reason
            return spent if allowed_s < limit_s else None
        if kept is not None:
            _write(kept, found, side.folder or NOWHERE)
        return found

    def _kept(self, command: Sequence[str], files: bytes) -> Path | None:
        """Where the answer for these very files and arguments is kept."""
        if self.cache is None:
            return None
        mark = hashlib.blake2b(files, digest_size=16)
        side = self.sides[0]
        asked = [_LOOKED_FOR, command, str(side.folder), sorted(side.environment.items())]
        mark.update(json.dumps(asked).encode())
        return self.cache / f"{mark.hexdigest()}.json"


SAME = Standing(True, "both sides execute the same code on the same constants")


@dataclass
class _Runs:
    """Two files that differ somewhere: which benchmarks get there."""

    untouched: Untouched
    match: Match
    pairing: Pairing
    first: Side
    other: Side

    def standings(self, names: Sequence[str], everything: Sequence[str]) -> dict[str, Standing]:
        """Of `names`; `everything` is what the first side offers and is compared with anybody."""
        with breakable():
            sure = self.match.differing_always()
        if sure:  # such as an initialiser: no benchmark has to be run
            return dict.fromkeys(names, self._changed(sure))
        digest = hashlib.blake2b(digest_size=16)
        for image, _ in self.pairing.images:
            digest.update(image.content)
        runs = self.untouched.runs_of(everything, digest.digest())
        with breakable():
            return self._told(names, runs)

    def _told(self, names: Sequence[str], runs: Mapping[str, Executed | str]) -> dict[str, Standing]:
        """By what the first side executes for each benchmark."""
        seen = {name: run for name, run in runs.items() if isinstance(run, Executed)}
        functions = {name: self._functions(run) for name, run in seen.items()}
        common = frozenset.intersection(*functions.values()) if functions else frozenset()
        around = common - self._called_by_bodies(seen.values(), common)
        bodies = frozenset().union(*functions.values()) - common
        bodies -= self._called_by_some(seen.values(), around)
        # What arguments choose, `insert/8` and `insert/1000000` of one body, each may meet in a longer run.
        of_family: dict[str, set[Function]] = {}
        for name, own in functions.items():
            of_family.setdefault(_family(name), set()).update(own)
        return {
            name: self._standing(
                runs[name],
                functions.get(name, frozenset()),
                bodies - of_family.get(_family(name), set()),
                around,
            )
            for name in names
        }

    def _standing(
        self, run: Executed | str, own: Set[Function], of_others: Set[Function], around: Set[Function]
    ) -> Standing:
        """`own` is what the run executed, `around` what all runs execute about the bodies of benchmarks."""
        if isinstance(run, str):
            return Standing(False, f"the code was not compared: {run}")
        if places := self.match.differing(of_others, around):
            return self._changed(places)
        if making := self.pairing.makes_code:
            return Standing(
                False,
                f"the code was not compared: {making} may run what it writes, on its stack or in its file"
                " (link it with -z noexecstack, and without -N)",
            )
        if run.unseen:
            return Standing(False, f"the code was not compared: {run.unseen}")
        if unmet := self._not_walked(own):
            return Standing(
                False,
                f"the code was not compared: it executes {readable(unmet)}, to which nothing leads that was"
                " looked at",
            )
        if told := self._other_files(run):
            return Standing(False, told)
        return SAME

    def _not_walked(self, own: Set[Function]) -> str:
        """A function that a run executed and the walk never met, which would prove nothing then; "": none."""
        if self.pairing.alike:
            return ""  # and nothing had to be walked
        for pair, start in sorted(own - self._met):
            functions = self.pairing.images[pair][0].functions
            index = functions.containing(start)  # None: a stub, which belongs to no function
            if index is not None:
                return functions.names[index] or f"code at {start:#x}"
        return ""

    @cached_property
    def _met(self) -> Set[Function]:
        met = {(place.pair, place.a) for place in self.match.places if place.kind is PlaceKind.CODE}
        return met | self.match.called_from_outside()

    def _called_by_some(self, runs: Iterable[Executed], around: Set[Function]) -> Set[Function]:
        """Functions that are called by anything but what stands about the benchmarks.

        The bodies of benchmarks are not among them: other files call them, or what stands about them. What a
        benchmark calls by itself may be rare in another one, and so may be what a function that all of them
        call chooses for it: `insert` calls the virtual function for a large container, for one benchmark.
        """
        return {function for caller, function in self._own_calls(runs) if caller not in around}

    def _own_calls(self, runs: Iterable[Executed]) -> Iterator[tuple[Function, Function]]:
        """(Who calls, who is called), both of the first side's own files."""
        for run in runs:
            for file, place, called_file, target in run.calls:
                if file in self._own and called_file in self._own:
                    yield self._function(file, place), self._function(called_file, target)

    def _called_by_bodies(self, runs: Iterable[Executed], common: Set[Function]) -> Set[Function]:
        """What all runs execute, and not only about their benchmarks: these call it, or what they call does.

        An address that it takes is no other benchmark's that is registered there. It may choose by it: a
        container has one function for few elements and another one for many, which a short run never met and
        another benchmark did.
        """
        called: dict[Function, set[Function]] = {}
        for caller, function in self._own_calls(runs):
            called.setdefault(caller, set()).add(function)
        found: set[Function] = set()
        waiting = [target for caller, each in called.items() if caller not in common for target in each]
        while waiting:
            function = waiting.pop()
            if function in common and function not in found:
                found.add(function)
                waiting += called.get(function, ())
        return found

    def _changed(self, places: Sequence[PairedPlace]) -> Standing:
        """Functions first, whatever they are called."""
        told: dict[str, str] = {}
        for place in places:
            told.setdefault(self.match.name(place), self.match.places[place].difference)
        named = [f"{readable(name)} ({why})" for name, why in list(told.items())[:MOST_NAMED]]
        more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        return Standing(False, f"changed: {', '.join(named)}{more}")

    def _functions(self, run: Executed) -> frozenset[Function]:
        """The functions of the first side's own files that a run executed."""
        return frozenset(
            self._function(file, address) for file in self._own for address in run.addresses.get(file, ())
        )

    def _function(self, file: str, address: int) -> Function:
        """Of a place in one of the first side's own files."""
        pair, image = self._own[file]
        index = image.functions.containing(address)
        return pair, address if index is None else image.functions.starts[index]

    @cached_property
    def _own(self) -> dict[str, tuple[int, Image]]:
        """The first side's files that are walked, as callgrind names them."""
        return {str(a.path.resolve()): (pair, a) for pair, (a, _) in enumerate(self.pairing.images)}

    def _other_files(self, run: Executed) -> str:
        """What a run asks for where the sides differ, and finds something else there."""
        compared = {str(image.path.resolve()) for image, _ in self.pairing.images}
        here = self.first.folder or NOWHERE
        trees = _trees(self.first, self.other) | _beside(self.match.named_files())
        for name in run.read:
            # As it stands, as `..` behind a link leads elsewhere, and in short.
            for path in dict.fromkeys((str(here / name), os.path.normpath(here / name))):
                if os.path.realpath(path) in compared:
                    continue
                if any(not self._same_thing(run, Path(path), there) for there in _counterparts(path, trees)):
                    return f"changed: it reads {shown(name, _LONGEST_NAME)}, which differs"
        return ""

    def _same_thing(self, run: Executed, one: Path, other: Path) -> bool:
        """Whether both are folders, or files with the same content or code, or neither is there.

        False where that may not be looked at.
        """
        try:
            if one.is_file() and other.is_file():
                return _same_content(one, other) or self._same_library(run, one, other)
            return (one.is_dir(), one.exists()) == (other.is_dir(), other.exists()) and not one.is_file()
        except (OSError, ValueError):
            return False

    def _same_library(self, run: Executed, one: Path, other: Path) -> bool:
        """Whether two libraries that a program loads by name do the same, whatever it takes from them."""
        try:
            a, b = Image(one), Image(other)
            if a.may_run_what_it_writes or b.may_run_what_it_writes:
                return False
            around = [image for pair in self.pairing.images for image in pair]
            bound = bound_of_opened(a, b, around, self._texts(run, but_for=one))
            return Match([(a, b)], bound, self.untouched.walked_until()).same()
        except (Unreadable, OSError, *DAMAGES):
            return False

    def _texts(self, run: Executed, but_for: Path) -> Iterator[bytes]:
        """All that a run is told or reads beside the files that are walked. Raises OSError."""
        yield os.fsencode("\0".join((*self.first.command, *self.first.environment.values())))
        compared = {str(image.path.resolve()) for image, _ in self.pairing.images}
        for name in run.read:
            path = (self.first.folder or NOWHERE) / name
            other = path.is_file() and not path.is_relative_to("/proc") and not path.samefile(but_for)
            if other and str(path.resolve()) not in compared:
                yield path.read_bytes()


def _trees(first: Side, other: Side) -> set[tuple[str, str]]:
    """Begins of paths that lead to what belongs to the one side and to the other, links followed or not."""
    pairs = [(Path(first.command[0]), Path(other.command[0]))]
    if first.folder is not None and other.folder is not None:
        pairs.append((first.folder, other.folder))
    pairs += [(one.resolve(), another.resolve()) for one, another in pairs]
    return {_begins(one, another) for one, another in pairs if one != another}


def _beside(named: Iterable[tuple[Path, Path]]) -> set[tuple[str, str]]:
    """The folders of source files that both sides name: what a program finds by the name of its source."""
    folders = {(str(one.parent), str(other.parent)) for one, other in named}
    return {(ours, theirs) for ours, theirs in folders if "/" not in (ours, theirs)}


def _begins(one: Path, another: Path) -> tuple[str, str]:
    """Without the names at the end that both have."""
    while one.name == another.name and one != one.parent and another != another.parent:
        one, another = one.parent, another.parent
    return str(one), str(another)


def _counterparts(path: str, trees: Iterable[tuple[str, str]]) -> Iterator[Path]:
    """Where the other side would look for what the first side finds there.

    A path that only begins like a tree (`bench_old.dat` beside `bench_old`) is the program's name with
    something behind; beside a folder (`build-common` beside `build`), it is so where the other side has that.
    """
    for ours, theirs in trees:
        if path.startswith(ours):
            within = Path(path).is_relative_to(ours)
            rest = path.removeprefix(ours)
            there = Path(theirs, rest.lstrip("/")) if within else Path(theirs + rest)
            if within or not Path(ours).is_dir() or there.exists():
                yield there


def _family(name: str) -> str:
    """Benchmarks of one body with other arguments, as Google Benchmark names them: BODY/ARGUMENTS."""
    return name.partition("/")[0]


def _same_file(one: Path, other: Path) -> bool:
    """Whether whoever opens them finds the same, or neither. A binary may name anything: False too where that
    cannot be looked at, so that a run tells."""
    try:
        if one.is_file() and other.is_file():
            return _same_content(one, other)
        return not one.exists() and not other.exists()
    except (OSError, ValueError):
        return False


def _same_content(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


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


class Kept(BaseModel):
    """A run as it is stored, with size and time of every file that it read: these may have changed."""

    addresses: dict[str, list[int]]
    calls: list[tuple[str, int, str, int]]
    read: list[str]
    unseen: str
    stamps: list[tuple[str, int, int]]


def _read(path: Path, folder: Path) -> Executed | None:
    try:
        kept = Kept.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    if kept.stamps != _stamps(kept.read, folder):
        return None
    addresses = {name: frozenset(found) for name, found in kept.addresses.items()}
    return Executed(addresses, frozenset(kept.calls), tuple(kept.read), kept.unseen)


def _write(path: Path, run: Executed, folder: Path) -> None:
    """Without it the next comparison runs the benchmark again.

    So no full disk is a reason to fail, nor a file's name that is no UTF-8, which JSON cannot hold.
    """
    kept = Kept(
        addresses={name: sorted(found) for name, found in run.addresses.items()},
        calls=sorted(run.calls),
        read=list(run.read),
        unseen=run.unseen,
        stamps=_stamps(run.read, folder),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_own(path, kept.model_dump_json())
    except (OSError, ValueError):
        return


def _stamps(names: Sequence[str], folder: Path) -> list[tuple[str, int, int]]:
    found = []
    for name in names:
        if name.startswith(("/proc", "/sys", "/dev")):
            continue  # the kernel's, new at each look
        try:
            status = (folder / name).stat()
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((name, status.st_size, status.st_mtime_ns))
    return found
