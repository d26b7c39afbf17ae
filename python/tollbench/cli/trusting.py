"""One `toll trust` from its words to its answer; `tollbench.cli.trust` is the table of contents."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tollbench.catalog import environments, machine, suites
from tollbench.cli.builds import build_plan
from tollbench.cli.comparing import machine_line, not_kept, raw_path, unless_ended_early
from tollbench.cli.console import progress, say, tell, tell_json
from tollbench.cli.edition import edition
from tollbench.cli.machine_use import machine_taken
from tollbench.cli.places import ROOT
from tollbench.compare import ComparisonSettings, MeasuringOptions
from tollbench.compare.adapters.toll_program import Offering, Programs
from tollbench.compare.disturbing import DRIFT, InjectedDisturbance, load, one_of
from tollbench.compare.raw_file import Keeping, RawFile
from tollbench.compare.subject import Subject, Until
from tollbench.compare.trials import NOTHING, Trial, TrialPlan, Trust, prove
from tollbench.errors import Exit, TollError, no_room
from tollbench.launching.conversation import Errand
from tollbench.launching.environment import OWN_PROGRAMS, own_environment
from tollbench.measure import Interrupt
from tollbench.plan import Selection, Settings, make
from tollbench.report.comparisons import trust_tables as output
from tollbench.words import HOST, Kind, Program, Status

WORKLOAD = "reference/operations"


@dataclass(frozen=True, slots=True)
class TrustRequest:
    """What the command line asked for; seconds, shares (0.01 is 1 %)."""

    operations: tuple[str, ...]
    budget_s: float
    trial_budget_s: float
    trials: int
    slowdowns: tuple[float, ...]
    equal: int
    threshold: float
    seed: int | None
    raw: Path | None
    disturbances: tuple[InjectedDisturbance, ...] = ()
    until: Until = Until.ESTIMATE


def disturbances(text: str) -> tuple[InjectedDisturbance, ...]:
    """ "load,drift". Raises TollError."""
    try:
        return tuple(sorted({InjectedDisturbance(word) for word in text.split(",") if word}))
    except ValueError:
        known = ",".join(InjectedDisturbance)
        raise TollError(f"--disturb {text} is not known", f"write for example --disturb {known}") from None


def shares(text: str) -> tuple[float, ...]:
    """ "0.5,1,2" per cent as shares, sorted; "none" is none. Raises TollError.

    Programs take tenths of a per cent.
    """
    if text == "none":
        return ()
    try:
        tenths = sorted({round(float(item) * 10, 6) for item in text.split(",")})
    except ValueError:
        tenths = [0.0]
    if not all(0 < tenth <= 1000 and tenth == int(tenth) for tenth in tenths):
        raise TollError(
            f"--slowdowns {text} are not per cents above 0 and up to 100, in steps of 0.1",
            "write for example --slowdowns 0.5,1,2,5, or none",
        )
    return tuple(tenth / 1000 for tenth in tenths)


def measured(request: TrustRequest, *, wait: bool) -> tuple[Trust, TollError | None]:
    """Takes the machine, builds the reference operations, tries. Raises TollError where that cannot be.

    The second is what ended it where a disk was full: of the trials, or of the folders programs run in.
    """
    seed = secrets.randbelow(2**31) if request.seed is None else request.seed
    settings = ComparisonSettings(
        threshold=request.threshold,
        until=request.until,
        budget_s=request.trial_budget_s,
        total_s=request.trial_budget_s,
        seed=seed,
    )
    settings.check()
    if request.trials < 0:
        raise TollError(
            f"--trials {request.trials} is no number of comparisons", "write --trials 100, or none"
        )
    if request.equal < 0 or not (request.equal or request.slowdowns):
        raise TollError(
            f"--equal {request.equal} leaves nothing to compare", "write --equal 2, or give slow-downs"
        )
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        stack.enter_context(machine_taken(interrupt, wait=wait))
        programs = built(request.operations, interrupt)
        plan = TrialPlan(
            tuple(programs), request.slowdowns, request.equal, request.budget_s, request.trials, settings
        )
        raw = stack.enter_context(RawFile(raw_path(request.raw, "trust"), {"toll_trust": 1, "seed": seed}))
        keeping = Keeping(raw)
        say(f"comparing {len(programs)} operations with themselves and slowed down; Ctrl-C ends and reports")
        if InjectedDisturbance.LOAD in request.disturbances:
            stack.enter_context(load(one_of(machine.usable_cpus(), seed), seed))
        drift = DRIFT if InjectedDisturbance.DRIFT in request.disturbances else 0.0
        found = _prove(plan, programs, interrupt, keeping, drift)
    found = found.model_copy(
        update={
            "raw": str(raw.path),
            "toll_version": edition(),
            "machine": machine_line(),
            "disturbed": tuple(request.disturbances),
        }
    )
    return found, not_kept(keeping) or (no_room(found.no_room) if found.no_room else None)


def measured_and_shown(request: TrustRequest, *, wait: bool, as_json: bool, as_markdown: bool) -> Exit:
    """All of it; the exit code. Raises TollError as `measured` does, and where a disk was full meanwhile."""
    found, error = measured(request, wait=wait)
    show(found, as_json=as_json, as_markdown=as_markdown)
    return unless_ended_early(exit_code(found, equal=request.equal > 0), error)


def show(found: Trust, *, as_json: bool, as_markdown: bool) -> None:
    """Prints what was found."""
    if as_json:
        tell_json(found.model_dump_json(indent=2))
    elif as_markdown:
        tell(output.markdown(found), end="")
    else:
        output.show(found)


def exit_code(found: Trust, *, equal: bool = True) -> Exit:
    """1 where even the low end of the false alarms' interval is above what the level allows.

    3 where what was asked for gave no verdict at all: of `equal` sides, or with --equal 0 of slowed ones.
    """
    if found.false_alarms.low > 1.0 - found.level:
        return Exit.REGRESSION_OR_FAILED_CHECK  # known, whatever ended it
    if found.interrupted:
        return Exit.INTERRUPTED
    if not (found.false_alarms.trials if equal else any(line.slower.trials for line in found.lines)):
        return Exit.INCONCLUSIVE
    return Exit.FINE


def _prove(
    plan: TrialPlan, programs: dict[str, Program], interrupt: Interrupt, keeping: Keeping, drift: float
) -> Trust:
    subjects: dict[tuple[str, float], Subject] = {}

    def subject_of(operation: str, slowdown: float) -> Subject:
        """Kept from trial to trial: how many iterations fill a batch is found once."""
        key = (operation, slowdown)
        if key not in subjects:
            options = MeasuringOptions(plan.trial.budget_s, interrupt, threshold=plan.trial.threshold)
            subjects[key] = sides(programs[operation], slowdown, options, drift=drift)
        return subjects[key]

    with progress("trying") as bar:

        def tell(trial: Trial, left_s: float) -> None:
            bar.step(max(0.0, plan.budget_s - left_s), plan.budget_s, trial.operation, left_s)

        return prove(plan, subject_of, keep=keeping, on_trial=tell)


def built(patterns: Sequence[str], interrupt: Interrupt | None = None) -> dict[str, Program]:
    """The operations asked for, built; all must be there. Raises TollError, also where Ctrl-C came meanwhile,
    which ends the compilers."""
    names = [f"{WORKLOAD}/{pattern}" for pattern in patterns]
    plan = make(
        suites.load(ROOT),
        Selection.parse(names, [], [HOST.name]),
        environments.OFFERED,
        Settings(),
        len(machine.usable_cpus()),
    )
    programs = build_plan(plan).programs
    if interrupt is not None and interrupt.requested:
        raise TollError("interrupted while building", "start again when it suits", Exit.INTERRUPTED)
    for program in programs:
        if program.status is not Status.OK:
            raise TollError(f"{program.contender} could not be built: {program.reason}", "toll doctor")
    return {program.contender: program for program in programs}


def sides(
    program: Program,
    slowdown: float,
    options: MeasuringOptions,
    *,
    drift: float = 0.0,
) -> Programs:
    """The program as it is, and with the slow-down; with none, twice the same."""
    injected = [NOTHING, slowdown]
    offerings = [
        Offering(
            f"{'first' if not index else 'second'} side",
            {
                program.contender: Errand(
                    Errand.command_of(
                        program.command,
                        program.workload,
                        program.contender,
                        {"slowdown": round(share * 1000), "drift": round(drift * 1000)},
                    ),
                    Kind.BATCH,
                    own_environment(),
                    OWN_PROGRAMS,
                    answer=1,
                )
            },
        )
        for index, share in enumerate(injected)
    ]
    return Programs(offerings, options)
