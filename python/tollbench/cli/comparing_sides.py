"""From what `toll compare` is asked for to sides that are ready to be launched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tollbench.cli.console import progress, say
from tollbench.compare import MeasuringOptions, Subject, WrittenSide, resolve, subject_of
from tollbench.compare.adapters import AUTO, adapters
from tollbench.compare.adapters.one_after_another import OneAfterAnother
from tollbench.compare.adapters.read_output import KIND as READ
from tollbench.compare.adapters.toll_program import KIND as TOLL
from tollbench.compare.around import NOTHING_AROUND, Around
from tollbench.compare.subject import ALL_OF_THEM, LookAtCode, NameShare, Side, Until
from tollbench.compare.twos import MOST_SIDES
from tollbench.errors import TollError
from tollbench.home import cache_folder
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.sandbox import Sandbox
from tollbench.writing import scratch_folder

_CONTENDER = re.compile(r"[\w*?]+/[\w*?]+/[\w*?]+")
LOOKING_SHARE = 0.5  # of the time for all benchmarks, for runs under callgrind

if TYPE_CHECKING:
    from tollbench.cli.counting import CountRequest
    from tollbench.compare.revisions import Revision
    from tollbench.compare.untouched import Untouched


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What the command line asked for."""

    sides: tuple[str, ...]
    kind: str  # of side: auto, or an adapter's
    budget_s: float
    total_s: float
    threshold: float
    level: float
    pattern: str
    confirm: bool
    build: str
    program: str
    layouts: int  # of each side; 0: as it was built
    environments: tuple[str, ...]
    folder: Path | None
    any_exit_code: bool
    seed: int | None
    raw: Path | None
    measure_all: bool
    counts: CountRequest | None = None
    until: Until = Until.ESTIMATE
    why: bool = False  # explain what differs
    read: str = ""  # where names and times stand in what sides print
    around: Around = NOTHING_AROUND
    turns: bool = False
    values: tuple[str, ...] = ()  # of contenders' parameters: "tasks=10000"
    sandbox: Sandbox | None = None  # in which sides run, and what builds them
    all_pairs: bool = False  # each side against each other one
    share: NameShare = ALL_OF_THEM  # of the benchmarks

    @property
    def is_one_side(self) -> bool:
        """Whether a single side is held against a baseline, or against itself, and not timed."""
        return (
            len(self.sides) == 1 and self.counts is not None and self.counts.alone and not self.environments
        )

    @property
    def only_counted(self) -> bool:
        """Whether nothing is timed."""
        return self.counts is not None and (self.counts.only or self.is_one_side)


def check_typed(request: ComparisonRequest) -> None:
    """Raises TollError for mistakes that the command line alone shows, before another run is waited for.

    What compilers work here is asked later: that compiles.
    """
    _check_together(request)
    options = _options(request, None)
    if request.sandbox is not None:
        _check_sandbox(request)
    asked = tuple(dict.fromkeys(request.environments))
    if not _are_known(asked):
        return
    rows = _are_contenders(request.sides, request.build, asked, request.folder)
    _check_layouts(request, rows=rows)
    if request.build:
        _revisions(request)
    elif rows:
        _check_contenders(request)
        from tollbench.cli.comparing_contenders import planned

        planned(request.sides, request.values, asked, _layouts_of_contenders(request))
    elif request.values:
        raise _set_without_contenders(several=len(asked) > 1)
    elif not asked:
        written = [WrittenSide(text, folder=request.folder) for text in request.sides]
        _resolved(written * 2 if request.is_one_side else written, request.kind, options)


def _are_known(names: Sequence[str]) -> bool:
    """Whether the environments are named, and not asked for as all that work.

    Raises TollError for a name that makes no sense.
    """
    if not names:
        return True
    from tollbench.catalog import environments
    from tollbench.plan.selection import ALL

    for name in names:
        if name not in (environments.COMPILERS, ALL):
            environments.named(name)
    return environments.COMPILERS not in names


def subject_for(
    request: ComparisonRequest, seed: int, interrupt: Interrupt, stack: ExitStack
) -> tuple[Subject, LookAtCode | None]:
    """The sides, built where they have to be, and what looks at their code; `seed` draws their layouts.

    Raises TollError for what makes no sense, LaunchFailed for a side that does not build.
    """
    _check_together(request)
    environments = _expanded(request.environments)
    rows = _are_contenders(request.sides, request.build, environments, request.folder)
    _check_layouts(request, rows=rows)
    if request.sandbox is not None:
        _check_sandbox(request)
        if request.around:
            say("note: --setup, --prepare, --conclude and --cleanup run outside of the sandbox")
    options = _options(request, interrupt)
    if request.build:
        written = _built(request, seed, interrupt, stack)
    elif rows:
        _check_contenders(request)
        from tollbench.cli.comparing_contenders import subject_of_contenders

        contenders = subject_of_contenders(
            request.sides,
            request.values,
            environments,
            folder=request.folder,
            layouts=_layouts_of_contenders(request),
            options=options,
        )
        return contenders, None  # two contenders are no two versions of one code
    elif request.values:
        raise _set_without_contenders(several=len(environments) > 1)
    elif request.environments:
        from tollbench.cli.comparing_environments import subject_in_environments

        subject = subject_in_environments(
            request.sides,
            environments,
            kind=READ if request.read else request.kind,
            folder=request.folder,
            options=options,
        )
        return subject, None  # what an environment changes is never the same code under the same conditions
    else:
        written = [WrittenSide(text, folder=request.folder) for text in request.sides]
    if request.is_one_side:
        written *= 2
    subject, look_at_code = subject_of_written(written, request.kind, options)
    if request.is_one_side:  # of rows alone: what the program does wrong is told under its own name
        label = subject.labels[0]
        against = _against(request)
        subject.labels = (against if against != label else f"{against} once more", label)
    return subject, look_at_code


def labels_of(request: ComparisonRequest) -> tuple[str, ...]:
    """What sides are called that did not come to be any."""
    return (_against(request), *request.sides) if request.is_one_side else request.sides


def _against(request: ComparisonRequest) -> str:
    """What stands in place of the first side, where one is named."""
    baseline = request.counts.baseline if request.counts is not None else None
    return "itself" if baseline is None else f"baseline {baseline}"


def _check_layouts(request: ComparisonRequest, *, rows: bool) -> None:
    """Raises TollError where nothing is linked; `rows`: the sides are of the price list."""
    if request.layouts and not (request.build or rows):
        raise TollError(
            "--layouts needs --build and --program, or contenders in one environment: a program can only be"
            " linked again while it is built",
            "for example: toll compare --layouts 16 --build 'make bench' --program ./bench main HEAD",
        )


def _check_sandbox(request: ComparisonRequest) -> None:
    """Raises TollError for what would run others' programs outside of it, or toll's own inside."""
    if not request.build and name_contenders(request.sides, Path.cwd()):
        raise TollError("contenders of the catalogue are toll's own programs", "leave out --sandbox")
    if request.layouts:
        raise TollError(
            "--layouts repeats the link commands of a build, outside of a sandbox", "leave out one of the two"
        )


def _check_contenders(request: ComparisonRequest) -> None:
    """Raises TollError for what says how sides are launched or read, where they are of the price list."""
    if request.kind not in (AUTO, TOLL) or request.read:
        raise TollError("contenders of the catalogue are toll programs", "leave out --kind and --read")


def _layouts_of_contenders(request: ComparisonRequest) -> int:
    return 0 if request.only_counted else request.layouts


def _set_without_contenders(*, several: bool) -> TollError:
    """`several`: of environments."""
    if several:
        return TollError("--set does not go with several --env", "leave out --set, or name one environment")
    return TollError(
        "--set chooses the parameters of contenders of the catalogue",
        "for example: toll compare tasks/skynet/std_thread tasks/skynet/pthread --set tasks=1000",
    )


def _check_together(request: ComparisonRequest) -> None:
    """Raises TollError for options that do not go together, whatever the sides are."""
    if request.counts is not None and request.counts.baseline is not None and not request.is_one_side:
        raise TollError(
            "--baseline stands in place of the first side",
            "name one: toll compare ./bench --baseline FILE",
        )
    if bool(request.build) != bool(request.program):
        raise TollError(
            "--build and --program belong together",
            "for example: toll compare --build 'make bench' --program ./bench main HEAD",
        )
    if request.build and (request.environments or request.values):
        raise TollError(
            f"{'--env' if request.environments else '--set'} goes without --build, which makes the sides",
            "leave out one of the two, or let --build name a compiler and flags",
        )
    if request.only_counted and (request.why or request.confirm):
        raise TollError(
            f"{'--why' if request.why else '--confirm'} is about times, and nothing is timed",
            "leave out one of the two; toll why explains without times",
        )


def subject_of_written(
    written: Sequence[WrittenSide], kind: str, options: MeasuringOptions
) -> tuple[Subject, LookAtCode]:
    """Sides that are ready to run, and what looks at their code. Raises TollError where they do not fit."""
    kind, sides = _resolved(written, kind, options)
    subject = subject_of(kind, sides, options)
    alone = subject.alone if isinstance(subject, OneAfterAnother) else lambda _side, _name: None

    @cache
    def looks() -> Untouched:  # with --measure-all nobody looks
        from tollbench.compare.untouched import Untouched

        return Untouched(
            sides,
            alone,
            adapters()[kind].is_command_line,
            cache_folder() / "executed",
            options.interrupt,
            looking_s=options.looking_s,
        )

    return subject, lambda sides_of: looks().standings(sides_of)


def _resolved(
    written: Sequence[WrittenSide], kind: str, options: MeasuringOptions
) -> tuple[str, tuple[Side, ...]]:
    made_before_launches = bool(options.around.setup or options.around.prepare)
    return resolve(written, READ if options.read else kind, as_typed=not made_before_launches)


def _expanded(environments: Sequence[str]) -> tuple[str, ...]:
    """The names, those that stand for several replaced; without any the catalogue is not asked.

    Raises TollError where they stand for none.
    """
    if not environments:
        return ()
    from tollbench.catalog.environments import expanded

    if found := expanded(environments):
        return found
    raise TollError(f"--env {','.join(environments)}: no compiler works here", "toll setup --compilers")


def _are_contenders(
    sides: Sequence[str], build: str, environments: Sequence[str], folder: Path | None
) -> bool:
    """Whether the sides are rows of the price list, in one environment. Raises TollError for some of each."""
    looked_in = [Path.cwd(), *([folder] if folder is not None else [])]
    return not build and len(environments) < 2 and name_contenders(sides, *looked_in)


def name_contenders(sides: Sequence[str], *folders: Path) -> bool:
    """Whether all sides are written as topic/workload/contender, and none is a file in one of `folders`.

    Raises TollError where only some of them are.
    """
    named = [
        side
        for side in sides
        if _CONTENDER.fullmatch(side) and not any((folder / side).exists() for folder in folders)
    ]
    if named and len(named) < len(sides):
        other = next(side for side in sides if side not in named)
        raise TollError(
            f"{named[0]} is no file but reads as a contender of the catalogue, {other} does not",
            "build the file, or compare contenders with each other (toll list)",
        )
    return bool(named)


def check_around(subject: Subject, around: Around) -> None:
    """Raises TollError for commands around launches that do not fit these sides."""
    around.check(len(subject.labels))
    if around and not isinstance(subject, OneAfterAnother):
        raise TollError(
            "toll programs stay alive while they are measured: no command fits between their launches",
            "leave out --setup, --prepare, --conclude and --cleanup, or write --kind command",
        )


def check_all_pairs(request: ComparisonRequest, count: int) -> None:
    """Raises TollError where all pairs of more sides are asked for than anybody reads."""
    if request.all_pairs and count > MOST_SIDES:
        raise TollError(
            f"--all-pairs of {count} sides are {count * (count - 1) // 2:,} comparisons of each benchmark",
            f"name {MOST_SIDES} sides at most, or leave out --all-pairs: each against the first",
        )


def _options(request: ComparisonRequest, interrupt: Interrupt | None) -> MeasuringOptions:
    if request.read and request.kind not in (AUTO, READ):
        raise TollError(f"--kind {request.kind} does not read with --read", "leave out one of the two")
    return MeasuringOptions(
        min(request.budget_s, request.total_s),
        interrupt,
        request.pattern,
        request.any_exit_code,
        looking_s=request.total_s * LOOKING_SHARE,
        turns=request.turns,
        read=request.read,
        around=request.around,
        all_pairs=request.all_pairs,
        threshold=request.threshold,
        share=request.share,
    )


def _revisions(request: ComparisonRequest) -> list[Revision]:
    from tollbench.compare import revisions

    return revisions.revisions(Path.cwd(), request.sides, fewest=1 if request.is_one_side else 2)


def _built(
    request: ComparisonRequest, seed: int, interrupt: Interrupt, stack: ExitStack
) -> list[WrittenSide]:
    """The revisions, each built in a clone that goes when the comparison ends."""
    from tollbench.compare import revisions

    here, wanted = Path.cwd(), _revisions(request)
    if revisions.changed(here):
        say("note: changes in this checkout that are not committed are in none of the revisions")
    scratch = stack.enter_context(scratch_folder())
    recipe = revisions.RevisionBuild(request.build, request.program, request.folder, request.layouts, seed)
    if request.layouts:
        say(f"each program is linked {request.layouts} times, its functions elsewhere each time")
    with progress("linking") as bar:
        return revisions.built(
            here,
            wanted,
            recipe,
            scratch,
            interrupt=interrupt,
            hear=revisions.Hearing(
                on_build=lambda revision: say(f"building {revision.label}"),
                on_link=lambda done: bar.step(done, len(wanted) * request.layouts, "layouts"),
                on_note=lambda sentence: say(f"note: {sentence}"),
            ),
            go_on=request.all_pairs and not request.layouts,
        )
