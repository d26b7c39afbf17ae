"""Where the time is too short for all tables, as many as fit have what intervals want."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import CANARY, Bench, FakeClock, FakeLauncher, plan_for, workload

from tollbench.measure.events import TimePlanned
from tollbench.measure.spending import ROUNDS_OF_EACH
from tollbench.plan import quick_cases
from tollbench.stats import FIRST_LOOK
from tollbench.store import RunFile
from tollbench.words import Parameter, Status, Workload

SIZES = (4, 8, 16, 32, 64, 128)
QUICK = 16


def swept(*contenders: str, name: str, **changes: object) -> Workload:
    sizes = Parameter("size", SIZES, "", "", quick=QUICK)
    return replace(workload(*contenders, name=name), parameters=(sizes,), **changes)  # type: ignore[arg-type]


def short_of_time(tmp_path: Path, budget_s: float, **named: object) -> Bench:
    """Two workloads of six tables with two rows each: pilots take 1.8 s, 12 rounds of all 3.5 s."""
    plan = plan_for(
        swept("a", "b", name="one/quick"),
        swept("a", "b", name="two/named", **named),
        budget_s=budget_s,
        profile="standard",
    )
    return Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), noisy))


def noisy(_: str, launch: int) -> float:
    """Never known to 1 % within the budgets here."""
    return 1e6 * (1.0 + 0.3 * (launch * 0.6180339887 % 1.0))


def rounds_of(path: Path) -> dict[tuple[str, int], set[tuple[int, ...]]]:
    """The rounds of each row, by workload and size: rows of one table have the same."""
    found: dict[tuple[str, int], set[tuple[int, ...]]] = {}
    with RunFile.open(path) as run_file:
        for case in run_file.cases():
            assert case.status is Status.OK
            size = case.parameters["size"]
            assert isinstance(size, int)
            numbers = tuple(launch.round for launch in run_file.launches(case.id))
            found.setdefault((case.workload, size), set()).add(numbers)
    return found


def lengths_of(made: Bench) -> dict[tuple[str, int], int]:
    """How many launches the rows of each table have: all of them in the same rounds."""
    found = rounds_of(made.path)
    assert all(len(rounds) == 1 for rounds in found.values()), "rows are compared within rounds"
    return {place: len(next(iter(rounds))) for place, rounds in found.items()}


def test_as_many_tables_as_fit_have_intervals_those_of_a_quick_run_first(tmp_path: Path) -> None:
    made = short_of_time(tmp_path, budget_s=4.5)
    assert made.run() == "budget"
    lengths = lengths_of(made)
    known = {place for place, length in lengths.items() if length >= made.plan.settings.min_launches}
    assert {("one/quick", QUICK), ("two/named", QUICK)} < known
    assert len(known) < len(SIZES)
    assert {length for place, length in lengths.items() if place not in known} == {ROUNDS_OF_EACH}
    assert made.elapsed_s() > 0.95 * 4.5, "what the time allows is measured"


def test_that_some_wait_is_told_before_the_first_round(tmp_path: Path) -> None:
    made = short_of_time(tmp_path, budget_s=3.0)
    made.run()
    (first, *_) = made.told(TimePlanned)
    assert first.short is not None
    assert 0 < first.short.waiting < 2 * 2 * len(SIZES)
    enough = short_of_time(tmp_path, budget_s=40.0)
    enough.path = tmp_path / "enough.toll"
    enough.run()
    assert enough.told(TimePlanned)[0].short is None
    assert min(lengths_of(enough).values()) >= enough.plan.settings.min_launches


def test_what_a_quick_run_has(tmp_path: Path) -> None:
    plan = short_of_time(tmp_path, budget_s=4.0, by_name_only=True).plan
    plan = replace(plan, workloads=tuple(replace(one, headline=("a",)) for one in plan.workloads))
    assert quick_cases(plan) == {
        case.key
        for case in plan.cases
        if (case.workload, case.contender, case.parameters["size"]) == ("one/quick", "a", QUICK)
    }


def test_where_few_rounds_of_all_would_take_too_much_what_comes_later_has_one(tmp_path: Path) -> None:
    made = short_of_time(tmp_path, budget_s=2.2)
    assert made.run() == "budget"
    lengths = lengths_of(made)
    quick = {("one/quick", QUICK), ("two/named", QUICK)}
    assert max(lengths[place] for place in quick) >= made.plan.settings.min_launches
    assert min(lengths[place] for place in quick) >= ROUNDS_OF_EACH
    assert {length for place, length in lengths.items() if place not in quick} == {1}


@pytest.mark.parametrize("after", [60, 120, 160, 190])
def test_a_resumed_run_goes_on_with_the_tables_that_have_begun(tmp_path: Path, after: int) -> None:
    made = short_of_time(tmp_path, budget_s=4.0)
    made.interrupt_after = after
    assert made.run() == "interrupt"
    made.interrupt_after = 0
    made.run()
    lengths = list(lengths_of(made).values())
    fewest = made.plan.settings.min_launches
    assert sum(length >= fewest for length in lengths) >= 2
    assert not any(ROUNDS_OF_EACH + 1 < length < fewest for length in lengths)


def test_who_all_wait_go_on_when_the_others_have_had_enough(tmp_path: Path) -> None:
    """What is cheap is known exactly after its fewest rounds; what is dear has what is left."""
    plan = plan_for(
        swept("a", "b", name="one/cheap"), swept("c", "d", name="two/dear"), budget_s=9.0, profile="standard"
    )
    costs = {"a": 1e5, "b": 1.5e5, "c": 1e7, "d": 1.5e7, "canary": 1e6}
    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), lambda contender, _: costs[contender]))
    assert made.run() == "budget"
    lengths = lengths_of(made)
    assert {length for (name, _), length in lengths.items() if name == "one/cheap"} == {FIRST_LOOK}
    assert lengths["two/dear", QUICK] >= FIRST_LOOK
    assert made.elapsed_s() > 0.9 * 9.0


def test_where_launches_become_dearer_a_table_is_given_up_for_the_other(
    tmp_path: Path,
) -> None:
    """Both of the quick run's were chosen."""
    made = short_of_time(tmp_path, budget_s=3.5)
    launches = Counter[str]()

    def cost_ns(contender: str, launch: int) -> float:
        launches[contender] += 1
        return noisy(contender, launch) * (1.0 if launches[contender] < 60 else 3.0)

    made.launcher.cost_ns = cost_ns
    assert made.run() == "budget"
    lengths = sorted(lengths_of(made).values())
    assert lengths[-1] >= made.plan.settings.min_launches
    assert lengths[-2] == ROUNDS_OF_EACH


@pytest.mark.parametrize("budget_s", [2.9, 3.0, 3.1])
def test_a_quick_run_that_lacks_a_little_knows_nearly_all(tmp_path: Path, budget_s: float) -> None:
    """Twenty rounds of some tables are not worth the fewest of most."""
    named = [workload("a", "b", "c", "d", name=f"w/{number}") for number in range(8)]
    plan = plan_for(*named, budget_s=budget_s)

    def cost_ns(contender: str, launch: int) -> float:
        spread = 1.0 + 0.1 * (launch * 0.618 % 1.0)
        return 4e6 if contender == "canary" else spread * (1e5 + 1e4 * "abcd".index(contender))

    made = Bench(tmp_path / "r.toll", plan, FakeLauncher(FakeClock(), cost_ns), canary=CANARY)
    made.run()
    known = Counter[str]()
    with RunFile.open(made.path) as run_file:
        for case in run_file.cases():
            known[case.workload] += len(run_file.launches(case.id)) >= made.plan.settings.min_launches
    assert list(known.values()).count(4) >= 7


@pytest.mark.parametrize("launch", [48, 52, 56, 60])
def test_a_launch_that_hangs_makes_nobody_wait(tmp_path: Path, launch: int) -> None:
    """What a time-out takes is no cost of the others' launches. The launches are of the third round."""
    made = short_of_time(tmp_path, budget_s=15.0)
    made.plan = replace(made.plan, settings=replace(made.plan.settings, time_limit_s=2.0))
    launches = Counter[str]()

    def cost_ns(contender: str, number: int) -> float:
        launches[contender] += 1
        return 1e12 if contender == "a" and launches["a"] == launch else noisy(contender, number)

    made.launcher.cost_ns = cost_ns
    made.run()
    with RunFile.open(made.path) as run_file:
        lengths = [len(run_file.launches(case.id)) for case in run_file.cases()]
    assert min(lengths) >= made.plan.settings.min_launches
