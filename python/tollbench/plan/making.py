"""Makes the plan: which cases, with which parameters and reference answers, under which settings."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from tollbench.catalog.environments import ROOTS
from tollbench.catalog.suite_rules import headline_of
from tollbench.errors import TollError
from tollbench.plan.arithmetic import evaluate
from tollbench.plan.selection import Selection, headlines, nearest, select, select_environments
from tollbench.plan.settings import Settings
from tollbench.words import Case, Contender, Environment, Parameter, Parameters, ParameterValue, Workload

MAX_CASES = 10_000
CPUS = "cpus"
UP_TO_TWICE = "1..2*cpus"  # 1, 2, 4 .. the usable CPUs, twice as many


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do. `settings` are already fitted to the number of cases."""

    workloads: tuple[Workload, ...]
    environments: tuple[Environment, ...]
    cases: tuple[Case, ...]
    settings: Settings


def make(
    workloads: Sequence[Workload],
    selection: Selection,
    environments: Sequence[Environment],
    settings: Settings,
    cpus: int,
) -> Plan:
    """The cases that `selection` asks for, in the catalogue's order; `cpus` is the number of usable CPUs.

    `environments` are those on offer, the host first; compilers are named by what they are made of. The plan
    holds those that a case needs.
    Raises TollError for names and parameters that do not exist, values of the wrong type, and nothing to do.
    """
    settings.check()
    chosen = select(workloads, selection.names) if selection.names else headlines(workloads)
    if not chosen:
        raise TollError("There is nothing to measure: no contender is declared.", "See `toll list`.")
    _check_parameters(chosen, selection.values)
    offered = select_environments(environments, selection.environments or _declared(environments, chosen))
    cases: dict[str, Case] = {}
    for (workload, contenders), environment in product(chosen, offered):
        for contender in contenders:
            if not _takes_part(contender, environment, selection):
                continue
            for parameters in _parameter_sets(workload, contender, selection.values, cpus, settings):
                answer = _answer(workload, parameters, selection.values)
                case = _case(workload, contender, environment, parameters, answer)
                cases[case.key] = case
                if len(cases) > MAX_CASES:
                    raise TollError(f"This asks for more than {MAX_CASES} cases.", "Give --set fewer values.")
    if not cases:
        asked = ", ".join(environment.name for environment in offered)
        raise TollError(
            f"None of the selected contenders can be measured in {asked}.",
            "`toll env list` shows what an environment is for; --env host is for all.",
        )
    used = {(case.workload, case.environment) for case in cases.values()}
    return Plan(
        tuple(workload for workload, _ in chosen if any(name == workload.name for name, _ in used)),
        tuple(item for item in offered if any(name == item.name for _, name in used)),
        tuple(cases.values()),
        settings.for_cases(len(cases)),
    )


def headline_cases(plan: Plan) -> frozenset[str]:
    """Keys of the cases that a run without names would have: they come first where time is short."""
    first = {
        (workload.name, name)
        for workload in plan.workloads
        for name in headline_of(workload.headline, (one.name for one in workload.contenders))
    }
    return frozenset(case.key for case in plan.cases if (case.workload, case.contender) in first)


def quick_cases(plan: Plan) -> frozenset[str]:
    """Keys of the cases that a quick run without names would have: their tables come first where time is
    short."""
    headline = headline_cases(plan)
    quick = {
        (workload.name, contender.name): {
            one.name: one.quick
            for one in workload.parameters
            if one.quick is not None and one.name not in contender.parameters  # its own goes before
        }
        for workload in plan.workloads
        if not workload.by_name_only
        for contender in workload.contenders
    }
    return frozenset(
        case.key
        for case in plan.cases
        if case.key in headline
        and (case.workload, case.contender) in quick
        and all(
            case.parameters.get(name) == value for name, value in quick[case.workload, case.contender].items()
        )
    )


def _declared(
    offered: Sequence[Environment], chosen: Sequence[tuple[Workload, tuple[Contender, ...]]]
) -> tuple[str, ...]:
    """Where the contenders themselves want to be measured; those on offer are all looked at."""
    own = (name for _, contenders in chosen for contender in contenders for name in contender.environments)
    return tuple(dict.fromkeys([*(item.name for item in offered), *own]))


def _takes_part(contender: Contender, environment: Environment, selection: Selection) -> bool:
    """Whether it is asked for there, by name or by its suite, and the environment does anything to it."""
    if environment.languages and contender.language not in environment.languages:
        return False
    if environment.name in contender.environments:
        return True
    # What needs a root of its own lies in no other environment.
    return bool(selection.environments) and not set(contender.environments) <= set(ROOTS)


def _check_parameters(
    chosen: Sequence[tuple[Workload, tuple[Contender, ...]]], values: Mapping[str, tuple[str, ...]]
) -> None:
    declared = sorted({parameter.name for workload, _ in chosen for parameter in workload.parameters})
    for name in values:
        if name not in declared:
            listed = f"Declared there: {', '.join(declared) or 'none'}."
            raise TollError(
                f"No selected workload has a parameter {name!r}.", nearest(name, declared, listed)
            )


def _parameter_sets(
    workload: Workload,
    contender: Contender,
    asked: Mapping[str, tuple[str, ...]],
    cpus: int,
    settings: Settings,
) -> Iterator[Parameters]:
    """Every combination of the values asked for, else the contender's own value, else the defaults."""
    declared = {parameter.name: parameter for parameter in workload.parameters}
    for name in contender.parameters:
        if name not in declared:
            raise TollError(
                f"{workload.name}/{contender.name} sets {name!r}, which {workload.name} does not declare.",
                f"Mend {workload.directory / 'suite.toml'}; declared: {', '.join(declared) or 'none'}.",
            )
    choices = []
    for name, parameter in declared.items():
        wanted: tuple[ParameterValue, ...] = asked.get(name, ()) or _defaults(
            contender, parameter, cpus, settings
        )
        choices.append([_value(workload, parameter, value, cpus) for value in wanted])
    for combination in product(*choices):
        yield dict(zip(declared, combination, strict=True))


def _defaults(
    contender: Contender, parameter: Parameter, cpus: int, settings: Settings
) -> tuple[ParameterValue, ...]:
    own = contender.parameters.get(parameter.name)
    if own is None and settings.is_short:
        own = parameter.quick
    values = parameter.defaults if own is None else (own,)
    return _up_to_twice(cpus) if values == (UP_TO_TWICE,) else values


def _example(parameter: Parameter) -> ParameterValue:
    return CPUS if parameter.defaults[0] == UP_TO_TWICE else parameter.defaults[0]


def _up_to_twice(cpus: int) -> tuple[int, ...]:
    powers = {2**exponent for exponent in range(cpus.bit_length()) if 2**exponent <= cpus}
    return tuple(sorted(powers | {cpus, 2 * cpus}))


def _value(workload: Workload, parameter: Parameter, value: ParameterValue, cpus: int) -> ParameterValue:
    """`value` in the parameter's own type, which its defaults show; "cpus" becomes the number of CPUs."""
    if not all(isinstance(default, int) or default in (CPUS, UP_TO_TWICE) for default in parameter.defaults):
        return str(value)
    if value == CPUS:
        return cpus
    try:
        number = int(str(value).replace("_", ""))
    except ValueError:
        number = -1
    if not 0 <= number < 2**63:
        raise TollError(
            f"{workload.name} wants a whole number for {parameter.name} ({parameter.meaning}),"
            f" not {value!r}.",
            f"Write for example --set {parameter.name}={_example(parameter)}.",
        )
    return number


def _answer(workload: Workload, parameters: Parameters, asked: Container[str]) -> int:
    """The right answer with these parameters. Raises TollError: of values that were asked for, whoever asked
    is told, and not who wrote the suite."""
    numbers = {name: value for name, value in parameters.items() if isinstance(value, int)}
    try:
        return evaluate(workload.answer, numbers)
    except TollError:
        used = set(re.findall(r"[a-z]\w*", workload.answer))
        told = [one for one in workload.parameters if one.name in used and one.name in asked]
        if not told:
            raise
        values = " ".join(f"--set {one.name}={parameters[one.name]}" for one in told)
        examples = " ".join(f"--set {one.name}={_example(one)}" for one in told)
        raise TollError(
            f"{workload.name} has no answer for {values}.", f"Write for example {examples}."
        ) from None


def _case(
    workload: Workload, contender: Contender, environment: Environment, parameters: Parameters, answer: int
) -> Case:
    return Case(
        workload=workload.name,
        contender=contender.name,
        environment=environment.name,
        parameters=parameters,
        kind=workload.kind,
        unit=workload.unit,
        per=workload.per,
        language=contender.language,
        library=contender.library,
        answer=answer,
        footing=contender.footing,
    )
