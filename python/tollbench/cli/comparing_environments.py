"""One thing in several environments: a contender of toll under compilers and allocators, an executable under
allocators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tollbench.catalog import environments, machine, suites
from tollbench.cli.builds import build_plan
from tollbench.cli.places import ROOT
from tollbench.compare import Subject, Written, resolve, subject_of
from tollbench.compare.programs import Offer, Offering, Programs
from tollbench.compare.sides import Kind
from tollbench.compare.words import own_environment
from tollbench.errors import TollError
from tollbench.measure import Interrupt
from tollbench.measure.launch import preloading
from tollbench.plan import Selection, Settings, make
from tollbench.words import HOST, Case, Environment, Program, Status


def subject_in_environments(
    sides: Sequence[str],
    names: Sequence[str],
    *,
    kind: Kind,
    folder: Path | None,
    limit_s: float,
    interrupt: Interrupt,
    pattern: str,
    any_exit_code: bool,
) -> Subject:
    """What is compared is the first name's environment with the others'. Raises TollError."""
    names = list(dict.fromkeys(environments.expanded(names)))
    if len(names) < 2:
        raise TollError("--env names one environment", "a comparison needs two: --env gcc-12,clang-19")
    known = {item.name for item in suites.load(ROOT)}
    if any("/".join(side.split("/")[:2]) in known for side in sides):
        offerings = _built(sides, names, folder)
        return Programs(offerings, limit_s=limit_s, interrupt=interrupt, pattern=pattern)
    if len(sides) != 1:
        raise TollError(
            "--env compares one executable or command line, or contenders of this checkout",
            "for example: toll compare --env host,jemalloc ./bench, or --env gcc-12,clang-19 tasks/skynet",
        )
    written = [_under_allocator(sides[0], name, folder) for name in names]
    found, resolved = resolve(written, kind)
    return subject_of(
        found,
        resolved,
        limit_s=limit_s,
        interrupt=interrupt,
        pattern=pattern,
        any_exit_code=any_exit_code,
    )


def _under_allocator(side: str, name: str, folder: Path | None) -> Written:
    """An executable that exists can have another allocator, but no other compiler."""
    environment = environments.located(HOST if name == HOST.name else environments.named(name))
    if environment.toolset != HOST.toolset:
        raise TollError(
            f"{side} is built already: {name} cannot change its compiler",
            "name a contender of this checkout (toll list), or compare two builds: toll compare A B",
        )
    if environment.unavailable:
        raise TollError(f"the environment {name} cannot be used: {environment.unavailable}", "toll env list")
    return Written(side, label=f"{side} ({name})", folder=folder, preload=environment.preload)


def _built(sides: Sequence[str], names: Sequence[str], folder: Path | None) -> list[Offering]:
    """Each environment's build of the same cases; what could not be built carries its reason."""
    plan = make(
        suites.load(ROOT),
        Selection.parse(sides, [], [",".join(names)]),
        environments.OFFERED,
        Settings(),
        len(machine.usable_cpus()),
    )
    built = build_plan(plan)
    programs = {(item.workload, item.contender, item.environment): item for item in built.programs}
    offerings = []
    for environment in sorted(built.environments, key=lambda item: _place(item.name, names)):
        cases = [case for case in plan.cases if case.environment == environment.name]
        offers = {
            _name(case): _offer(
                case, programs[case.workload, case.contender, case.environment], environment, folder
            )
            for case in cases
        }
        offerings.append(Offering(environment.name, offers))
    return offerings


def _place(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


def _name(case: Case) -> str:
    values = " ".join(f"{name}={value}" for name, value in case.parameters.items())
    return f"{case.workload}/{case.contender}" + (f" {values}" if values else "")


def _offer(case: Case, program: Program, environment: Environment, folder: Path | None) -> Offer:
    return Offer(
        program.command,
        case.workload,
        case.contender,
        case.kind,
        parameters=case.parameters,
        environment=preloading(own_environment(), environment.preload),
        folder=folder,
        answer=case.answer,
        malloc=Path(environment.preload[0]).name if environment.preload else "",
        unusable=program.reason if program.status is not Status.OK else "",
    )
