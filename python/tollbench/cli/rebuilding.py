"""One `toll trust --rebuild` from its words to its answer; `tollbench.cli.trust` is the table of contents."""

from __future__ import annotations

import random
import secrets
import shlex
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.cli.comparing import machine_line, not_kept, raw_path, unless_ended_early
from tollbench.cli.comparing_sides import subject_of_written
from tollbench.cli.console import Progress, progress, say, tell, tell_json
from tollbench.cli.edition import edition
from tollbench.cli.machine_use import machine_taken
from tollbench.compare import Comparisons, ComparisonSettings, ComparisonStep, MeasuringOptions, compare
from tollbench.compare import revisions as revisions_module
from tollbench.compare.adapters import AUTO
from tollbench.compare.raw_file import Keeping, RawFile
from tollbench.compare.rebuilds import Rebuilds, RebuildTerms, tried
from tollbench.compare.sides import WrittenSide
from tollbench.compare.subject import Until, Unusable
from tollbench.errors import Exit, TollError, no_room
from tollbench.launching.failure import Interrupted, LaunchFailed, NoRoom
from tollbench.linking.layouts import linked_alike
from tollbench.linking.no_op_moves import UNMOVED, moved
from tollbench.linking.relinking import Linkable
from tollbench.measure import Interrupt, SystemClock
from tollbench.report.comparisons import rebuild_tables
from tollbench.writing import scratch_folder

ENOUGH_S = 1e9  # time for all benchmarks of a table: what one may take is the limit here


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """What the command line asked for; seconds, shares (0.01 is 1 %)."""

    build: str
    program: str
    layouts: int
    measure_all: bool
    budget_s: float  # no table is begun after it
    trial_budget_s: float  # of one benchmark
    threshold: float
    until: Until
    seed: int | None
    raw: Path | None


def check_options(*, rebuild: bool, with_it: Mapping[str, object], without_it: Mapping[str, object]) -> None:
    """Raises TollError for what was asked for and would be ignored: options that belong to the other kind."""
    ignored = without_it if rebuild else with_it
    if named := [name for name, asked in ignored.items() if asked]:
        verb = "goes" if len(named) == 1 else "go"
        raise TollError(
            f"{', '.join(named)} {verb} {'without' if rebuild else 'with'} --rebuild",
            f"leave {'them' if len(named) > 1 else 'it'} out"
            + ("" if rebuild else ", or ask for --rebuild --build COMMAND --program PATH"),
        )


@dataclass(frozen=True, slots=True)
class _Moves:
    """The program as it is and moved, each ready to be a side."""

    side: WrittenSide
    programs: Mapping[str, Linkable]
    settings: ComparisonSettings
    interrupt: Interrupt

    def pair(self, move: str) -> list[WrittenSide]:
        """The program, and what the move made of it. Raises LaunchFailed, Interrupted."""
        chosen = [self.programs[UNMOVED], self.programs[move]]
        layouts: list[tuple[Path, ...]] = [(), ()]
        if self.settings.layouts:
            layouts = linked_alike(chosen, self.settings.layouts, self.settings.seed, self.interrupt)
        words = shlex.split(self.side.text)[1:]  # of --program, behind the executable
        return [
            replace(
                self.side,
                text=shlex.join([str(program.executable), *words]),
                label=label,
                layouts=tuple(map(str, paths)),
            )
            for label, program, paths in zip((UNMOVED, move), chosen, layouts, strict=True)
        ]


def measured(request: RebuildRequest, *, wait: bool) -> tuple[Rebuilds, TollError | None]:
    """Takes the machine, builds, moves, compares. Raises TollError where that cannot be.

    The second is what ended it where a disk was full: of the tables, or of the folders programs run in.
    """
    if not (request.build and request.program):
        raise TollError(
            "--rebuild needs a program that is built: --build and --program",
            "for example: toll trust --rebuild --build 'make bench' --program ./bench",
        )
    settings = ComparisonSettings(
        threshold=request.threshold,
        until=request.until,
        budget_s=request.trial_budget_s,
        total_s=ENOUGH_S / 2,
        seed=secrets.randbelow(2**31) if request.seed is None else request.seed,
        layouts=request.layouts,
    )
    settings.check()
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_taken(interrupt, wait=wait))
        try:
            moves = _moves(request, settings, interrupt, stack)
        except LaunchFailed as failure:
            raise TollError(failure.reason, "build it by hand to see more, or name another program") from None
        except NoRoom as full:
            raise no_room(full.reason) from None
        except Interrupted:
            raise TollError(
                "interrupted while building", "start again when it suits", Exit.INTERRUPTED
            ) from None
        header = {"toll_trust_rebuild": 1, "seed": settings.seed, "program": request.program}
        raw = stack.enter_context(RawFile(raw_path(request.raw, "trust-rebuild"), header))
        keeping = Keeping(raw)
        found = _tried(request, moves, keeping)
    told = {"raw": str(raw.path), "toll_version": edition(), "machine": machine_line()}
    ended_by = not_kept(keeping) or (no_room(found.no_room) if found.no_room else None)
    return found.model_copy(update=told), ended_by


def measured_and_shown(request: RebuildRequest, *, wait: bool, as_json: bool, as_markdown: bool) -> Exit:
    """All of it; the exit code. Raises TollError as `measured` does, and where a disk was full meanwhile."""
    found, error = measured(request, wait=wait)
    show(found, as_json=as_json, as_markdown=as_markdown)
    return unless_ended_early(exit_code(found), error)


def show(found: Rebuilds, *, as_json: bool, as_markdown: bool) -> None:
    """Prints what was found."""
    if as_json:
        tell_json(found.model_dump_json(indent=2))
    elif as_markdown:
        tell(rebuild_tables.markdown(found), end="")
    else:
        rebuild_tables.show(found)


def exit_code(found: Rebuilds) -> Exit:
    """1 where tables cry wolf certainly more often than their level allows, 3 where nothing was judged."""
    if found.alarming_tables.low > 1.0 - found.level:
        return Exit.REGRESSION_OR_FAILED_CHECK  # known, whatever ended it
    if found.interrupted:
        return Exit.INTERRUPTED
    return Exit.FINE if found.everything.differing.trials else Exit.INCONCLUSIVE


def _moves(
    request: RebuildRequest, settings: ComparisonSettings, interrupt: Interrupt, stack: ExitStack
) -> _Moves:
    """Builds and moves. Raises LaunchFailed, Interrupted, TollError."""
    here = Path.cwd()
    (revision, _) = revisions_module.revisions(here, ["HEAD", "HEAD"])
    if revisions_module.changed(here):
        say("note: changes in this checkout that are not committed are not built")
    scratch = stack.enter_context(scratch_folder())
    say(f"building {revision.label}")
    recipe = revisions_module.RevisionBuild(request.build, request.program)
    side, program = revisions_module.built_to_link_again(here, revision, recipe, scratch, interrupt)
    programs = moved(program, settings.seed, interrupt=interrupt)
    say(f"linked again with {len(programs) - 1} edits that change none of its code")
    return _Moves(side, programs, settings, interrupt)


def _tried(request: RebuildRequest, moves: _Moves, keeping: Keeping) -> Rebuilds:
    clock = SystemClock()
    started_ns = clock.now_ns()

    def seconds() -> float:
        return (clock.now_ns() - started_ns) / 1e9

    settings = moves.settings
    terms = RebuildTerms(
        program=request.program,
        level=settings.level,
        threshold=settings.threshold,
        layouts=settings.layouts,
        measured_all=request.measure_all,
        trial_budget_s=settings.budget_s,
        seed=settings.seed,
    )
    names = [name for name in moves.programs if name != UNMOVED]
    random.Random(f"moves/{settings.seed}").shuffle(names)
    with progress("trying") as bar:

        def table_of(move: str) -> Comparisons:
            return _table(moves, move, bar, measure_all=request.measure_all)

        within = (name for number, name in enumerate(names) if not number or seconds() < request.budget_s)
        return tried(terms, within, table_of, seconds=seconds, keep=keeping)


def _table(moves: _Moves, move: str, bar: Progress, *, measure_all: bool) -> Comparisons:
    def step(at: ComparisonStep) -> None:
        known = f"{move}: {at.decided} of {at.benchmarks} known  {at.benchmark}"
        bar.step(at.elapsed_s, at.elapsed_s + at.left_s, known, at.left_s)

    options = MeasuringOptions(moves.settings.budget_s, moves.interrupt, threshold=moves.settings.threshold)
    try:
        pair = moves.pair(move)
    except LaunchFailed as failure:  # a row, so that the tables before it are not lost
        return compare(Unusable((UNMOVED, move), failure.reason), moves.settings)
    subject, look_at_code = subject_of_written(pair, AUTO, options)
    return compare(subject, moves.settings, on_step=step, look_at_code=look_at_code, measure_all=measure_all)
