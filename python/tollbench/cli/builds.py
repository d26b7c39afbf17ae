"""Builds what a plan needs, one build folder after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench import building
from tollbench.catalog import environments, packages
from tollbench.cli.console import progress, say
from tollbench.cli.places import ROOT, build_folder
from tollbench.errors import TollError
from tollbench.home import COMMAND
from tollbench.plan import Plan
from tollbench.text import headline, several
from tollbench.words import HOST, Environment, Program, Status, Workload

_MOST_REASONS = 3  # of contenders that have no program


@dataclass(frozen=True, slots=True)
class BuiltPlan:
    """What became of the builds: a program or a reason for each case, and what the environments are."""

    programs: tuple[Program, ...]
    environments: tuple[Environment, ...]
    folder: Path  # of the build whose canary beats
    enter: tuple[str, ...] = ()  # what goes before the canary's command


def build_plan(plan: Plan, layouts: int = 1) -> BuiltPlan:
    """Builds every environment's contenders; those that share a folder share their programs.

    C++ programs in so many layouts of their code.

    Raises TollError where CMake cannot configure the host's build, without which nothing is to be expected;
    in another environment that is a row with a reason.
    """
    located = [environments.located(item) for item in plan.environments]
    folders = list(dict.fromkeys(item.toolset.folder for item in located if not item.unavailable))
    made: dict[str, tuple[Program, ...]] = {}
    for number, folder in enumerate(folders, 1):
        title = f"building {folder} ({number} of {len(folders)})" if len(folders) > 1 else "building"
        sharing = [item for item in located if item.toolset.folder == folder]
        made[folder] = _build(plan, sharing, title, layouts)
    programs: list[Program] = []
    for environment in located:
        chosen = only_planned(plan, [environment.name])
        if environment.unavailable:
            say(f"environment {environment.name}: {Status.SKIPPED}: {environment.unavailable}")
            programs += building.failed(chosen, environment, Status.SKIPPED, environment.unavailable)
        else:
            programs += building.in_environment(made[environment.toolset.folder], environment)
    found = tuple(building.described(build_folder(item.toolset.folder), item) for item in located)
    pulse = HOST.toolset.folder if HOST.toolset.folder in folders else next(iter(folders), HOST.name)
    enter = next((item.enter for item in located if item.toolset.folder == pulse), ())
    return BuiltPlan(tuple(programs), found, build_folder(pulse), enter)


def only_planned(plan: Plan, names: Sequence[str]) -> tuple[Workload, ...]:
    """The plan's workloads with only those contenders that a case in one of these environments asks for."""
    asked = {(case.workload, case.contender) for case in plan.cases if case.environment in names}
    return tuple(
        replace(workload, contenders=contenders)
        for workload in plan.workloads
        if (contenders := tuple(c for c in workload.contenders if (workload.name, c.name) in asked))
    )


def _build(plan: Plan, sharing: Sequence[Environment], title: str, layouts: int) -> tuple[Program, ...]:
    """One folder's programs, for all environments that share it."""
    environment = sharing[0]
    folder = environment.toolset.folder
    chosen = only_planned(plan, [item.name for item in sharing])
    try:
        with progress(title) as bar:
            built = building.programs(
                chosen,
                environment,
                build_dir=build_folder(folder),
                root=ROOT,
                layouts=layouts,
                on_progress=lambda done, total, what: bar.step(done, total, what.rsplit("/", 1)[-1]),
            )
    except TollError as error:
        if folder == HOST.toolset.folder:
            raise _with_what_is_missing(error) from None
        reason = f"{error.what}; next: {error.next_step}"
        say(f"environment {folder}: {Status.BUILD_FAILED}: {reason}")
        return building.failed(chosen, environment, Status.BUILD_FAILED, reason)
    where = f" ({folder})" if len(plan.environments) > 1 else ""
    _say_what_is_missing([program for program in built if program.status is not Status.OK], where)
    return built


def _with_what_is_missing(error: TollError) -> TollError:
    """The same where the machine has all that a build needs; else what it lacks and what brings it.

    `toll run` brings it before; on a fresh machine `toll trust` comes here first.
    """
    lacking = packages.missing(packages.group("build"))
    if not lacking:
        return error
    what = ", ".join(f"{need.name} ({need.purpose})" for need in lacking)
    next_step = f"{COMMAND} setup {' '.join(need.name for need in lacking)}"
    return TollError(f"missing on this machine: {what}", next_step, error.code)


def _say_what_is_missing(programs: Sequence[Program], where: str) -> None:
    """The reasons of few in full, as a compiler told them; of many the first, as the report has all."""
    if len(programs) > _MOST_REASONS:
        first, rest = programs[0], several(len(programs) - 1, "contender")
        say(
            f"without a program{where}: {first.workload} {first.contender}, {first.status}:"
            f" {headline(first.reason)[0]}; and {rest} more, whose reasons the report has"
        )
        return
    for program in programs:
        say(f"{program.workload} {program.contender}{where}: {program.status}: {program.reason}")
