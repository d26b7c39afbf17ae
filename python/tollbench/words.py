"""The vocabulary that every stage shares (docs/glossary.md defines each word once).

Plain frozen records without behaviour that touches files, processes or clocks. A stage hands
these to the next one; nothing here imports another part of toll.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

GLIBC = "glibc"  # how programs name its malloc (docs/protocol.md)
ParameterValue = int | str
Parameters = Mapping[str, ParameterValue]


class Kind(StrEnum):
    """How a workload's operations are timed."""

    BATCH = "batch"  # a timed group of iterations
    SAMPLES = "samples"  # operations timed one by one


def one_thread(footing: Mapping[str, Any]) -> bool:
    """Whether a program says that it works in one thread; it need not say so."""
    return footing.get("threads", 1) in (1, "1")


def times_own_thread(footing: Mapping[str, Any]) -> bool:
    """Whether a program's CPU time is that of its one timed thread, and its other threads are but a load."""
    return one_thread(footing) and footing.get("load_threads", 0) not in (0, "0")


_ONE_THREAD = 1.1  # times the wall time, as much CPU time as one thread takes, however the two are read


def one_worked(batches: Sequence[Batch]) -> bool:
    """Whether no second thread worked in them: CPU time is no more than wall time, but for the clocks."""
    return sum(batch.cpu_ns for batch in batches) <= _ONE_THREAD * sum(batch.wall_ns for batch in batches)


# In the footing of a launch: why its program, which works while nobody asks it, took no turns with others.
NOT_HALTED = "not_halted"
# The CPU that all who took turns in the launch were tied to.
TURNS_ON_CPU = "turns_on_cpu"
CODE_LAYOUT = "code_layout"  # which of its program's layouts a launch had; without: as it was linked
FEWEST_CODE_LAYOUTS = 16  # a table of ten rows that layouts alone set apart has intervals from 12 on
MOST_CODE_LAYOUTS = 64  # each costs a link of every program, and a third of a megabyte
CODE_LAYOUTS = "code_layouts"  # of a row: how many its launches had
ONE_CODE_LAYOUT = "one_code_layout"  # of a case: why its program has no others

NANOSECONDS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}  # of a unit of time
# Times an undisturbed gauge (`Batch.gauge_ns`): above it the core was shared. On a core of their own gauges
# differ by 1 %; where somebody works on its other hardware thread they take 1.4 to 2 times as long.
SHARED_CORE = 1.1
# A batch has a gauge before and one after it. Of longer ones these say too little: others work in bursts.
LONGEST_GAUGED_NS = 2e6
# A batch of a program with several threads has a census before and one after it. By what pilots say, which
# beside others is up to eight times the 3 ms that they aim at; of more threads than processors it is 50 ms.
LONGEST_CENSUS_NS = 25e6
# In the footing of a launch: how long it waited before it began, for others to rest.
WAITED_NS = "waited_ns"


class Status(StrEnum):
    """What became of a case or a launch; everything but OK carries a reason."""

    OK = "ok"
    PLANNED = "planned"  # not measured yet (an interrupted run)
    SKIPPED = "skipped"  # cannot run here: a library, toolchain or permission is missing
    BUILD_FAILED = "build_failed"
    FAILED = "failed"  # crashed, printed garbage, died half-way, flooded its output
    WRONG_ANSWER = "wrong_answer"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    UNSUPPORTED = "unsupported"  # the program says that it cannot do this, with a sentence


class Purpose(StrEnum):
    """Why a launch was made."""

    PILOT = "pilot"  # finds how many iterations fill a batch; never part of a result
    REHEARSAL = "rehearsal"  # how long a batch remembers that others had their turn; never part of a result
    MEASURE = "measure"
    ALLOCATIONS = "allocations"  # the untimed counting pass
    CANARY = "canary"  # the machine's own pulse between launches


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input of a workload. A default of "cpus" means the number of CPUs usable on this machine,
    "1..2*cpus" all powers of two up to it, it, and twice as many."""

    name: str
    defaults: tuple[ParameterValue, ...]  # all are measured unless one is asked for; most have one
    unit: str
    meaning: str
    values: tuple[ParameterValue, ...] = ()  # further values worth asking for
    quick: ParameterValue | None = None  # the one of the defaults that short profiles measure; None: all


@dataclass(frozen=True, slots=True)
class Percentile:
    """A share of operations timed one by one, and how it is called."""

    key: str  # in JSON, in CSV and as a published value's statistic
    title: str
    probability: float
    fewest_beyond: int = 0  # samples; a latency with fewer beyond it goes without


PERCENTILES = (
    Percentile("p50", "p50", 0.5),
    Percentile("p90", "p90", 0.9),
    Percentile("p99", "p99", 0.99),
    Percentile("p999", "p99.9", 0.999),
    Percentile("p9999", "p99.99", 0.9999, fewest_beyond=10),
)


@dataclass(frozen=True, slots=True)
class Published:
    """One value that the literature reported (published.toml)."""

    contender: str  # a contender of this workload, or "" where there is none
    label: str  # as the source writes it
    low: float
    high: float  # == low for a single value
    unit: str
    per: str
    machine: str
    year: int
    source: str
    note: str = ""
    # or "max" or the key of one of PERCENTILES of a latency; "ratio" to the fastest; "cpu_time"; a detail
    statistic: str = "value"
    environment: str = "host"  # of the row that answers the same question: "tcmalloc"
    differs: str = ""  # what sets that row apart from the source's own program; no hint at which row it is


class Ruling(StrEnum):
    """What a run says about a claim."""

    HOLDS = "holds"
    DOES_NOT_HOLD = "does_not_hold"
    CANNOT_BE_TOLD = "cannot_be_told"


class Relation(StrEnum):
    """How the left number of a check is to the right one where the claim holds, by their ratio."""

    LESS = "less"  # below 1
    AT_LEAST = "at_least"  # not below factor / tolerance
    AT_MOST = "at_most"  # not above factor * tolerance
    ABOUT = "about"  # between these two


@dataclass(frozen=True, slots=True)
class ClaimSide:
    """A number that a claim speaks of: one of a row, or one that the document itself names."""

    workload: str = ""  # "" for a number of the document
    contender: str = ""
    environment: str = "host"
    parameters: Parameters = field(default_factory=dict)  # those that matter
    # Of the other ones: the contender's own value, else the workload's; "cpus" as a default has it.
    usual: Parameters = field(default_factory=dict)
    statistic: str = "value"  # key of a percentile, a detail's name, "inside" or "across" groups of a grid
    number: float | None = None  # of the document, in `unit`
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """One comparison that a claim rests on."""

    left: ClaimSide
    relation: Relation
    right: ClaimSide
    factor: float = 1.0
    tolerance: float = 1.0  # how far the ratio may be from the factor on the wrong side: docs/method.md


@dataclass(frozen=True, slots=True)
class Claim:
    """A conclusion that a document draws, in toll's own words, and what decides whether it holds here."""

    name: str  # unique among all claims
    workload: str  # whose table it is linked to
    claim: str  # one sentence
    document: str  # its title
    year: int
    place: str  # where in the document
    checks: tuple[ClaimCheck, ...]  # it holds where all do
    command: str  # the `toll run` that measures all of its rows, without a profile
    note: str = ""  # what differs between the document's programs and the rows


@dataclass(frozen=True, slots=True)
class DeclaredDetail:
    """A number that a workload's programs tell beside time, as suite.toml declares it: a smallest share."""

    name: str  # "longest_wait_ns", as programs send it
    title: str  # of its column: "Longest wait"
    unit: str  # one of time, "bytes" or "B", "share" (0 to 1), or a noun; "" for a bare number
    meaning: str  # one sentence


@dataclass(frozen=True, slots=True)
class Contender:
    """One answer to a workload, as suite.toml declares it."""

    workload: str
    name: str
    language: str  # "C++", "Go", ...
    library: str  # as a reader calls it: "std", "Boost.Fiber", "oneTBB"
    source: Path  # absolute
    needs: tuple[str, ...] = ()  # names in cmake/contenders, e.g. ("boost_fiber",)
    parameters: Parameters = field(default_factory=dict)  # overrides of the workload's defaults
    footing: Mapping[str, str | int] = field(default_factory=dict)  # declared; observed is per launch
    note: str = ""
    environments: tuple[str, ...] = ("host",)  # where it is measured unless others are asked for


@dataclass(frozen=True, slots=True)
class Workload:
    """One question with fixed inputs, a unit, parameters and a reference answer."""

    name: str  # "tasks/skynet"
    question: str
    kind: Kind
    unit: str  # of the value: "ns"
    per: str  # "task", "wake-up"
    answer: str  # arithmetic over the parameters: one iteration's answer, e.g. "tasks*(tasks-1)/2"
    directory: Path
    parameters: tuple[Parameter, ...]
    contenders: tuple[Contender, ...]
    published: tuple[Published, ...] = ()
    headline: tuple[str, ...] = ()  # as suite.toml lists it: catalog/suite_rules.py
    details: tuple[DeclaredDetail, ...] = ()
    claims: tuple[Claim, ...] = ()
    in_batches: str = ""  # the workload that times many of these operations at once: "containers/..."
    by_name_only: bool = False  # a run that names nothing leaves it out


@dataclass(frozen=True, slots=True)
class Toolset:
    """How programs are compiled; environments with the same folder share their programs."""

    folder: str = "host"  # below build/
    compiler: str = ""  # the C++ compiler's path; "" is what CMake finds
    optimization: str = ""  # in place of the usual -O2
    flags: tuple[str, ...] = ()  # of compiling and linking, besides the usual ones
    link_flags: tuple[str, ...] = ()
    archiver: str = ""  # path of the tool that makes archives; "" is what CMake finds
    tuned: bool = False  # whether other languages too build for the most speed: their recipes know how


@dataclass(frozen=True, slots=True)
class Environment:
    """Where programs are built and run."""

    name: str  # "host"
    compiler: str = ""
    compiler_version: str = ""
    standard_library: str = ""
    flags: str = ""
    allocator: str = "glibc malloc"
    preload: tuple[str, ...] = ()  # shared libraries, by path; the first serves malloc
    glibc_tunables: tuple[str, ...] = ()  # "glibc.malloc.trim_threshold=1": settings of glibc's own malloc
    languages: tuple[str, ...] = ()  # of the programs that it can do something for; () is any
    unavailable: str = ""  # why nothing runs in it here and the command that mends it; "" where it does
    toolset: Toolset = field(default_factory=Toolset)
    root: str = ""  # folder in which its own file system lies; "" is the host's
    enter: tuple[str, ...] = ()  # what goes before a command to run it in there
    counter: str = ""  # path of the library that a counting pass preloads; "" is the run's own

    @property
    def malloc(self) -> str:
        """What programs have to name as what serves their malloc: a file, or "glibc"; "" is anything."""
        return serving_malloc(self.preload, self.glibc_tunables)


def serving_malloc(preload: Sequence[str], glibc_tunables: Sequence[str]) -> str:
    """What serves malloc in a program that is started so, as programs name it; "" where that is open."""
    if preload:
        return Path(preload[0]).name
    return GLIBC if glibc_tunables else ""


def with_tunables(environment: Mapping[str, str], glibc_tunables: Sequence[str]) -> dict[str, str]:
    """`environment` with these settings behind the user's own: of one that is set twice the last counts."""
    already = environment.get("GLIBC_TUNABLES", "")
    joined = ":".join(filter(None, [already, *glibc_tunables]))
    return {**environment, "GLIBC_TUNABLES": joined} if glibc_tunables else dict(environment)


HOST = Environment("host")


SETTINGS_OF = "settings_of"  # in a footing: parameters of which no two values are ever in one table


@dataclass(frozen=True, slots=True)
class Case:
    """workload x contender x environment x parameters: what is measured."""

    workload: str
    contender: str
    environment: str
    parameters: Parameters
    kind: Kind
    unit: str
    per: str
    language: str
    library: str
    answer: int  # the reference answer of one iteration, modulo 2**64
    footing: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Stable identity, also across runs."""
        return "|".join((self.workload, self.contender, self.environment, canonical(self.parameters)))


def canonical(parameters: Parameters) -> str:
    """Parameters as one JSON text with sorted keys: equal parameters, equal text."""
    return json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Program:
    """An executable that offers a contender in one environment; `command` runs it."""

    workload: str
    contender: str
    environment: str
    command: tuple[str, ...]  # () where it could not be built
    status: Status = Status.OK
    reason: str = ""  # what happened and the command that mends it
    library_version: str = ""
    flags: str = ""  # with which it was built, as the build's own files and commands have them
    layouts: tuple[str, ...] = ()  # the same program with its code at other places: layout 1, 2, ...
    one_layout: str = ""  # why there are none, though they were asked for
    made_from: str = ""  # a digest of all that it was built from, where its file is not the whole program

    def command_of(self, layout: int) -> tuple[str, ...]:
        """What runs it in that layout; 0, and where it has none: as it was linked."""
        return (*self.command[:-1], self.layouts[layout - 1]) if layout and self.layouts else self.command


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Batch(NamedTuple):
    """One timed group of iterations, as a program reported it (docs/protocol.md).

    A tuple, as a report reads ten thousands of them: making frozen dataclasses took 3 % of its time.
    """

    iterations: int
    units: int  # what `per` counts: tasks, increments, ...
    wall_ns: float
    cpu_ns: float  # all threads; of the timed one where others are a load (`times_own_thread`)
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    peak_bytes: int
    checksum: int
    warmup: bool = False
    counters: Mapping[str, Any] = _NOTHING
    details: Mapping[str, float] = _NOTHING  # declared in suite.toml
    gauge_ns: float = 0.0  # what a fixed piece of arithmetic took around it; 0: the program told none
    cells: tuple[tuple[str, int], ...] = ()  # consecutive samples by what they belong to: ("0>1", 1000)
    others: int | None = None  # tasks in its way right before it or right after it, the more; None: no census

    @property
    def on_cpu_ns(self) -> float:
        """Its wall time without that in which somebody else had its processor.

        That is CPU time where it is less, and the program never gave the processor back by itself.
        """
        if self.voluntary_switches or not self.cpu_ns:
            return self.wall_ns
        return min(self.wall_ns, self.cpu_ns)


@dataclass(frozen=True, slots=True)
class Allocations:
    """What one iteration's counting pass saw; totals over `iterations`."""

    iterations: int
    units: int
    calls: int
    bytes: int
    peak_bytes: int


class CountBy(StrEnum):
    """Who is to count instructions."""

    AUTO = "auto"  # the hardware where it is granted, else Valgrind
    HARDWARE = "hardware"
    VALGRIND = "valgrind"
