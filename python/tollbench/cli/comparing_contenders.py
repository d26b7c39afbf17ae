"""Rows of the price list against each other, until it is known which is quicker: contenders as sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tollbench.analysis.grouping import Setting, setting_of, swept_parameters
from tollbench.catalog import environments, machine, suites
from tollbench.cli.builds import build_plan
from tollbench.cli.comparing_environments import errand_of
from tollbench.cli.places import ROOT
from tollbench.compare import MeasuringOptions
from tollbench.compare.adapters.toll_program import Offering, Programs
from tollbench.errors import TollError
from tollbench.launching.conversation import Errand
from tollbench.plan import Plan, Selection, Settings, make
from tollbench.words import HOST, MOST_CODE_LAYOUTS, Case, Environment, Program, Status

_EXAMPLE = "for example: toll compare latency/lock/std_mutex latency/lock/spinlock"


def subject_of_contenders(
    sides: Sequence[str],
    values: Sequence[str],
    environment_names: Sequence[str],
    *,
    folder: Path | None,
    layouts: int,
    options: MeasuringOptions,
) -> Programs:
    """Each contender against the first, at every setting that all of them have. Raises TollError.

    `values` are settings of parameters ("tasks=10000"), `environment_names` at most one; `layouts` how many
    links of each program there are to be, 0 for the one that a build makes.
    """
    plan, order = planned(sides, values, environment_names, layouts)
    built = build_plan(plan, max(1, layouts))
    programs = {item.contender: item for item in built.programs}
    (environment,) = built.environments
    asked = Selection.parse((), values).values
    shared = [name for name in asked if all(name in case.parameters for case in plan.cases)]
    swept = tuple(dict.fromkeys((*swept_parameters(plan.cases, keep_apart=False), *shared)))
    rows = {name: _by_setting(plan, name, swept) for name in order}
    offerings = [_offering(name, rows, programs[name], environment, folder) for name in order]
    if layouts:
        _check_layouts([programs[name] for name in order])
        offerings = [_in_layouts(one, programs[one.label], layouts) for one in offerings]
    return Programs(offerings, options)


def planned(
    sides: Sequence[str], values: Sequence[str], environment_names: Sequence[str], layouts: int
) -> tuple[Plan, list[str]]:
    """The cases of all contenders, and these in the order in which they were asked for. Nothing is built.

    Raises TollError for what makes no sense.
    """
    if len(environment_names) > 1:
        raise _one_environment(environment_names)
    if layouts > MOST_CODE_LAYOUTS:
        raise TollError(
            f"--layouts {layouts} is more than the {MOST_CODE_LAYOUTS} that a contender has", "ask for fewer"
        )
    known = suites.load(ROOT)

    def plan_of(names: Sequence[str]) -> Plan:
        selection = Selection.parse(names, values, environment_names or (HOST.name,))
        return make(known, selection, environments.OFFERED, Settings(), len(machine.usable_cpus()))

    each = [plan_of([side]) for side in sides]
    workloads = sorted({case.workload for plan in each for case in plan.cases})
    if len(workloads) > 1:
        raise TollError(
            f"these are contenders of different workloads: {' and '.join(workloads)}",
            f"they answer different questions; compare within one, {_EXAMPLE}",
        )
    order = list(dict.fromkeys(case.contender for plan in each for case in plan.cases))
    if len(order) < 2:
        raise TollError(f"{sides[0]} alone is named", f"a comparison needs two contenders, {_EXAMPLE}")
    plan = plan_of(sides)
    if len(plan.environments) > 1:
        raise _one_environment([each.name for each in plan.environments])
    return plan, order


def _one_environment(names: Sequence[str]) -> TollError:
    return TollError(
        f"contenders are compared in one environment, not in {' and '.join(names)}", "name one with --env"
    )


def _by_setting(plan: Plan, contender: str, swept: Sequence[str]) -> dict[Setting, Case]:
    return {setting_of(case, swept): case for case in plan.cases if case.contender == contender}


def _offering(
    contender: str,
    rows: Mapping[str, Mapping[Setting, Case]],
    program: Program,
    environment: Environment,
    folder: Path | None,
) -> Offering:
    """One contender: its cases by setting, and why one of them cannot be compared."""
    errands: dict[str, Errand] = {}
    unusable: dict[str, str] = {}
    notes: dict[tuple[str, str], str] = {}
    for setting, case in rows[contender].items():
        name = " ".join([case.workload, *(f"{key}={value}" for key, value in setting)])
        errands[name] = errand_of(case, program, environment, folder)
        if program.status is not Status.OK:
            unusable[name] = program.reason
        elif other := _other_work(case, next(each[setting] for each in rows.values() if setting in each)):
            unusable[name] = other
        else:
            for label, each in rows.items():
                if setting in each and (told := _told_apart(case, each[setting])):
                    notes[name, label] = f"{contender} runs with {', '.join(told)}"
    return Offering(contender, errands, unusable, notes=notes)


def _check_layouts(programs: Sequence[Program]) -> None:
    """Raises TollError for a program that is in one layout alone: beside the mean of the others' layouts its
    ratio would be about that one file, and what layout does to a side would be told as half of what it is."""
    alone = [one for one in programs if one.status is Status.OK and not one.layouts]
    if alone:
        named = ", ".join(f"{one.contender} ({one.one_layout})" for one in alone)
        rest = "" if len(programs) - len(alone) < 2 else ", or these contenders"
        raise TollError(
            f"--layouts compares over several layouts of code, and in one alone there are: {named}",
            f"leave out --layouts{rest}",
        )


def _in_layouts(offering: Offering, program: Program, layouts: int) -> Offering:
    """One that was not built has none, and is not asked for any: its rows have the reason."""
    files = program.layouts or ("",) * layouts
    return replace(offering, layouts=files, executable_at=max(0, len(program.command) - 1))


def _other_work(case: Case, first: Case) -> str:
    """Why the answers of two cases differ; "" where they do not."""
    if case.answer == first.answer:
        return ""
    told = ", ".join(_told_apart(case, first)) or "its answer is another one"
    return f"it does other work: {told}; --set names one for all"


def _told_apart(case: Case, first: Case) -> list[str]:
    """The parameters of two cases that differ, or that one of them alone has."""
    ours, theirs = case.parameters, first.parameters
    return [
        f"{name}={ours[name]} ({first.contender}: {theirs.get(name, 'has none')})"
        if name in ours
        else f"no {name} ({first.contender}: {theirs[name]})"
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    ]
