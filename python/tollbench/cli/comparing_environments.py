"""One thing in several environments: a contender of toll under compilers and allocators, an executable under
allocators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tollbench.catalog import environments, machine, suites
from tollbench.cli.builds import build_plan
from tollbench.cli.places import ROOT
from tollbench.compare import MeasuringOptions, Subject, WrittenSide, resolve, subject_of
from tollbench.compare.adapters.toll_program import Offering, Programs
from tollbench.errors import TollError
from tollbench.launching.conversation import Errand
from tollbench.launching.environment import OWN_PROGRAMS, own_environment, with_malloc_of
from tollbench.plan import Plan, Selection, Settings, make
from tollbench.words import HOST, Case, Environment, Program, Status


def subject_in_environments(
    sides: Sequence[str],
    names: Sequence[str],
    *,
    kind: str,
    folder: Path | None,
    options: MeasuringOptions,
) -> Subject:
    """What is compared is the first name's environment with the others'. Raises TollError."""
    names = list(dict.fromkeys(environments.expanded(names)))
    if len(names) < 2:
        raise TollError("--env names one environment", "a comparison needs two: --env gcc-12,clang-19")
    known = {item.name for item in suites.load(ROOT)}
    if any("/".join(side.split("/")[:2]) in known for side in sides):
        offerings = _built(sides, names, folder)
        return Programs(offerings, options)
    if len(sides) != 1:
        raise TollError(
            "--env compares one executable or command line, or contenders of this checkout",
            "for example: toll compare --env host,jemalloc ./bench, or --env gcc-12,clang-19 tasks/skynet",
        )
    written = [_under_allocator(sides[0], name, folder) for name in names]
    found, resolved = resolve(written, kind)
    return subject_of(found, resolved, options)


def _under_allocator(side: str, name: str, folder: Path | None) -> WrittenSide:
    """An executable that exists can have another allocator, but no other compiler."""
    environment = environments.located(HOST if name == HOST.name else environments.named(name))
    if environment.toolset != HOST.toolset:
        raise TollError(
            f"{side} is built already: {name} cannot change its compiler",
            "name a contender of this checkout (toll list), or compare two builds: toll compare A B",
        )
    if environment.unavailable:
        raise TollError(f"the environment {name} cannot be used: {environment.unavailable}", "toll env list")
    return WrittenSide(
        side,
        label=f"{side} ({name})",
        folder=folder,
        preload=environment.preload,
        glibc_tunables=environment.glibc_tunables,
    )


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
    return [
        _offering(environment, plan, programs, folder)
        for environment in sorted(built.environments, key=lambda item: _place(item.name, names))
    ]


def _offering(
    environment: Environment,
    plan: Plan,
    programs: Mapping[tuple[str, str, str], Program],
    folder: Path | None,
) -> Offering:
    errands, unusable = {}, {}
    for case in (case for case in plan.cases if case.environment == environment.name):
        program = programs[case.workload, case.contender, case.environment]
        errands[_name(case)] = errand_of(case, program, environment, folder)
        if program.status is not Status.OK:
            unusable[_name(case)] = program.reason
    return Offering(environment.name, errands, unusable)


def _place(name: str, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


def _name(case: Case) -> str:
    values = " ".join(f"{name}={value}" for name, value in case.parameters.items())
    return f"{case.workload}/{case.contender}" + (f" {values}" if values else "")


def errand_of(case: Case, program: Program, environment: Environment, folder: Path | None) -> Errand:
    """How a case is launched as a side."""
    return Errand(
        Errand.command_of(program.command, case.workload, case.contender, case.parameters),
        case.kind,
        with_malloc_of(own_environment(), environment.preload, environment.glibc_tunables),
        folder or OWN_PROGRAMS,
        answer=case.answer,
        malloc=environment.malloc,
        entered=bool(environment.enter),
    )
