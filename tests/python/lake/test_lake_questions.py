"""What a lake answers: ratios within machines, costs, contradictions, and changes over months."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_lakes import added, machine, noisy, run, run_of, started
from made_runs import Made

from tollbench.errors import TollError
from tollbench.lake.across_machines import across_machines
from tollbench.lake.cheapest import Prices, cheapest
from tollbench.lake.compacting import compact
from tollbench.lake.differing import differing
from tollbench.lake.held_runs import held_cases, held_runs
from tollbench.lake.lake_answers import LakeAnswer
from tollbench.lake.lake_folder import LakeFolder
from tollbench.lake.lake_report import machines_beside
from tollbench.lake.lake_rows import Asked
from tollbench.lake.opened_lake import OpenedLake
from tollbench.lake.trends import trend

QUICK, SLOW, MADE = Asked.of("tasks/made/quick"), Asked.of("tasks/made/slow"), Asked.of("tasks/made")


@pytest.fixture
def lake(tmp_path: Path) -> LakeFolder:
    return LakeFolder.make(tmp_path / "lake")


def ask(lake: LakeFolder, question: Callable[[OpenedLake], LakeAnswer]) -> Any:
    with OpenedLake(lake) as opened:
        return question(opened)


def test_a_contender_over_machines_is_first_held_against_another_one_there(
    lake: LakeFolder, tmp_path: Path
) -> None:
    for number, factor in enumerate((1.0, 3.0, 10.0)):
        added(
            lake, run(tmp_path, number, {"quick": 10.0 * factor, "slow": 20.0 * factor}), host=f"host{number}"
        )
    found = ask(lake, lambda opened: across_machines(opened, SLOW))
    assert found.reference.contender == "quick"
    assert [row.machine.host for row in found.rows] != []
    for row in found.rows:
        assert row.ratio.value == pytest.approx(2.0, rel=0.01)
        assert row.ratio.low < 2.0 * 1.01
        assert row.ratio.high > 2.0 * 0.99
    assert sorted(row.value.value for row in found.rows) == pytest.approx([20.0, 60.0, 200.0], rel=0.01)
    assert (found.slower_on, found.faster_on, found.judged_on) == (3, 0, 3)
    assert found.median_ratio == pytest.approx(2.0, rel=0.01)


def test_the_newest_run_of_a_machine_counts_and_no_two_are_pooled(lake: LakeFolder, tmp_path: Path) -> None:
    same = machine()
    for number, (month, value) in enumerate(((1, 10.0), (3, 30.0), (2, 20.0))):
        added(lake, run(tmp_path, number, {"quick": value, "slow": 100.0}, machine=same, **started(month)))
    (row,) = ask(lake, lambda opened: across_machines(opened, QUICK)).rows
    assert row.value.value == pytest.approx(30.0, rel=0.01)
    assert row.started_utc.startswith("2026-03")


def test_rows_in_another_unit_are_left_out_and_told(lake: LakeFolder, tmp_path: Path) -> None:
    for number, unit in enumerate(("ns", "us", "ns")):
        cases = [Made("quick", [1000.0] * 8), Made("slow", [2000.0] * 8)]
        added(lake, run_of(tmp_path, number, cases, unit=unit), host=f"host{number}")
    found = ask(lake, lambda opened: across_machines(opened, QUICK))
    assert [row.value.value for row in found.rows] == [1000.0, 1000.0]
    assert found.notes[0].startswith("2 rows that are not in ns per task are left out")


def test_how_many_threads_a_machine_gives_by_default_makes_no_other_case(
    lake: LakeFolder, tmp_path: Path
) -> None:
    for number, threads in enumerate((2, 64)):
        cases = [
            Made("quick", [10.0] * 8, {"tasks": 5, "threads": threads}),
            Made("slow", [20.0] * 8, {"tasks": 5}),
        ]
        added(lake, run_of(tmp_path, number, cases))
    assert len(ask(lake, lambda opened: across_machines(opened, QUICK)).rows) == 2


def test_settings_are_not_mixed(lake: LakeFolder, tmp_path: Path) -> None:
    cases = [
        Made(name, [value * tasks] * 8, {"tasks": tasks})
        for name, value in (("quick", 10.0), ("slow", 20.0))
        for tasks in (1, 100)
    ]
    added(lake, run_of(tmp_path, 1, cases))
    with pytest.raises(TollError, match="several rows") as caught:
        ask(lake, lambda opened: across_machines(opened, SLOW))
    assert "tasks=100" in caught.value.next_step
    asked = Asked.of("tasks/made/slow", parameters=["tasks=100"])
    (row,) = ask(lake, lambda opened: across_machines(opened, asked)).rows
    assert row.ratio.value == pytest.approx(2.0)
    with pytest.raises(TollError, match="several settings"):
        ask(lake, lambda opened: cheapest(opened, MADE, Prices({"x": 1.0}, "")))


def test_rows_without_a_swept_parameter_can_be_asked_for(lake: LakeFolder, tmp_path: Path) -> None:
    both, same = (("quick", 10.0), ("slow", 20.0)), machine()
    plain = [Made(name, noisy(at, value), {"threads": 2}) for at, (name, value) in enumerate(both)]
    swept = [
        Made(name, noisy(10 * threads + at, value * threads), {"threads": threads})
        for threads in (2, 4)
        for at, (name, value) in enumerate(both)
    ]
    added(lake, run_of(tmp_path, 1, plain, machine=same, **started(1)))
    added(lake, run_of(tmp_path, 2, swept, machine=same, **started(2)))
    for question in (across_machines, trend):
        with pytest.raises(TollError, match="several rows") as caught:
            ask(lake, partial(question, asked=SLOW))
        offered = caught.value.next_step.removeprefix("choose one: ").split("; ")
        assert "-p threads=4" in offered
        for each in offered:
            asked = Asked.of("tasks/made/slow", parameters=[each.removeprefix("-p ")])
            ask(lake, partial(question, asked=asked))
    assert "-p threads=" in offered
    unsaid = Asked.of("tasks/made", parameters=["threads="])
    prices = Prices({machine()["product"]: 1.0}, "")
    with pytest.raises(TollError, match="several settings") as caught:
        ask(lake, lambda opened: cheapest(opened, MADE, prices))
    assert caught.value.next_step.startswith("choose one by --parameter: -p threads=; -p threads=2")
    assert ask(lake, lambda opened: cheapest(opened, unsaid, prices)).rows[0].run.endswith("1")


def test_differ_asks_the_newest_run_that_has_the_parameters(lake: LakeFolder, tmp_path: Path) -> None:
    for host in range(2):
        for month, tasks in ((1, 1), (2, 100)):
            number = 10 * host + month
            cases = [
                Made(name, noisy(100 * number + at, value), {"tasks": tasks})
                for at, (name, value) in enumerate((("a", 10.0 - host), ("b", 9.5)))
            ]
            path = run_of(tmp_path, number, cases, machine=machine(), **started(month))
            added(lake, path, host=f"host{host}")
    found = ask(lake, lambda opened: differing(opened, Asked.of("tasks/made", parameters=["tasks=1"])))
    assert (found.machines, found.pairs, len(found.rows)) == (2, 1, 1)
    assert found.rows[0].first.parameters == {"tasks": 1}
    with pytest.raises(TollError, match="no such row") as caught:
        ask(lake, lambda opened: differing(opened, Asked.of("tasks/made", parameters=["taks=1"])))
    assert caught.value.next_step == "choose one: -p tasks=1; -p tasks=100"


def test_the_cheapest_machine_is_not_the_fastest_one(lake: LakeFolder, tmp_path: Path) -> None:
    for host, factor in (("fast", 1.0), ("cheap", 1.5), ("unpriced", 0.5)):
        number = len(lake.files("summary"))
        added(lake, run(tmp_path, number, {"quick": 10.0 * factor, "slow": 20.0 * factor}), host=host)
    prices = tmp_path / "prices.csv"
    prices.write_text("machine,price_per_hour,currency\nfast,3.60,EUR\ncheap,1.80,EUR\n")
    found = ask(lake, lambda opened: cheapest(opened, MADE, Prices.read(prices)))
    assert [row.machine.host for row in found.rows] == ["cheap", "fast"]
    assert found.currency == "EUR"
    # 10 ns at 3.60 an hour: 0.01 for a billion of them.
    assert found.rows[1].cost.value == pytest.approx(3.6 * 10e-9 / 3600 * 1e9, rel=0.01)
    assert found.rows[1].cost.low < found.rows[1].cost.value < found.rows[1].cost.high
    assert all(row.contender == "quick" for row in found.rows)
    assert found.overlapping == 0
    assert [one.host for one in found.unpriced] == ["unpriced"]


def test_machines_that_did_other_work_are_not_ranked(lake: LakeFolder, tmp_path: Path) -> None:
    """Each swept nothing, so that neither run says that there are two questions."""
    prices = Prices({"a": 0.4, "b": 0.1}, "")
    for number, (host, elements, value) in enumerate((("a", 1000, 20.0), ("b", 10_000_000, 180.0))):
        cases = [
            Made(name, [value * more] * 8, {"elements": elements})
            for name, more in (("quick", 1), ("slow", 2))
        ]
        added(lake, run_of(tmp_path, number, cases), host=host)
    added(lake, run(tmp_path, 5, {"old": 1.0}), host="a")  # of before it had that parameter
    with pytest.raises(TollError, match="several settings") as caught:
        ask(lake, lambda opened: cheapest(opened, MADE, prices))
    assert "-p elements=1000; -p elements=10000000" in caught.value.next_step
    swept = [Made("quick", [10.0 * size] * 8, {"elements": size}) for size in (2, 1000)]
    added(lake, run_of(tmp_path, 7, swept), host="c")
    asked = Asked.of("tasks/made", parameters=["elements=1000"])
    found = ask(lake, lambda opened: cheapest(opened, asked, prices))
    assert ([row.machine.host for row in found.rows], found.setting) == (["a"], {"elements": 1000})
    assert [one.host for one in found.unpriced] == ["c"], "the one that swept did the same work"


def test_a_newer_run_of_fewer_rows_hides_none(lake: LakeFolder, tmp_path: Path) -> None:
    """Somebody tried one contender the day after."""
    for number, (host, values) in enumerate(
        (
            ("a", {"quick": 10.0, "slow": 20.0}),
            ("a", {"mine": 4000.0}),
            ("b", {"quick": 30.0, "slow": 20.0}),
        )
    ):
        added(lake, run(tmp_path, number, values, machine=machine(), **started(1, number + 2)), host=host)
    found = ask(lake, lambda opened: cheapest(opened, MADE, Prices({"a": 1.0, "b": 1.0}, "")))
    assert [(row.machine.host, row.contender) for row in found.rows] == [("a", "quick"), ("b", "slow")]
    across = ask(lake, lambda opened: across_machines(opened, SLOW))
    assert sorted(row.machine.host for row in across.rows) == ["a", "b"]
    swept = [Made("mine", [40.0 * size] * 8, {"elements": size}) for size in (2, 1000)]
    swept.append(Made("floor", [1.0] * 8, {"elements": 2}, footing={"role": "floor"}))
    added(lake, run_of(tmp_path, 9, swept, machine=machine(), **started(1, 9)), host="a")
    found = ask(lake, lambda opened: differing(opened, MADE))
    assert (found.machines, found.pairs) == (2, 1)
    with pytest.raises(TollError, match="the lake has no contender gone"):
        ask(lake, lambda opened: differing(opened, MADE, ["quick", "gone"]))
    with OpenedLake(lake) as opened:
        beside = machines_beside(opened, ["tasks"])
    (table,) = beside.tables
    assert [[cell is not None for cell in row.cells] for row in table.rows] == [[True, True]] * 2
    with OpenedLake(lake) as opened:
        alone = machines_beside(opened, ["tasks"], ["a"])
    assert [one.run.name for one in alone.runs] == ["a"]


def test_the_fastest_of_several_runs_is_the_one_that_takes_least(lake: LakeFolder, tmp_path: Path) -> None:
    """Each run calls a row its fastest, the newer one too, which has but one."""
    added(lake, run(tmp_path, 1, {"quick": 10.0, "slow": 20.0}, machine=machine(), **started(1, 2)), host="a")
    added(lake, run(tmp_path, 2, {"quick": 40.0}, machine=machine(), **started(1, 3)), host="a")
    added(lake, run(tmp_path, 3, {"quick": 30.0, "slow": 25.0}, machine=machine(), **started(1, 4)), host="b")
    found = ask(lake, lambda opened: cheapest(opened, MADE, Prices({"a": 1.0, "b": 1.0}, "")))
    assert [(row.machine.host, row.contender) for row in found.rows] == [("a", "slow"), ("b", "slow")]


def test_a_contenders_own_parameter_is_no_setting(lake: LakeFolder, tmp_path: Path) -> None:
    for number, (host, block) in enumerate((("a", 64), ("b", 128))):
        cases = [Made("quick", [10.0] * 8, {"block": block}), Made("slow", [20.0] * 8)]
        added(lake, run_of(tmp_path, number, cases), host=host)
    for asked in (MADE, QUICK):
        with OpenedLake(lake) as opened:
            found = cheapest(opened, asked, Prices({"a": 1.0, "b": 2.0}, ""))
        assert [row.machine.host for row in found.rows] == ["a", "b"]


@pytest.mark.parametrize("value", ["--5", "²", "9" * 5000])
def test_a_parameter_that_is_no_number_is_a_text(value: str) -> None:
    assert dict(Asked.of("x/y", parameters=[f"n={value}"]).parameters) == {"n": value}


def test_layouts_that_differ_make_no_contradiction_certain(lake: LakeFolder, tmp_path: Path) -> None:
    """Two rows of equal medians whose code lies elsewhere on each machine: 100 rounds, 20 layouts."""
    for number in range(24):
        rng = np.random.default_rng(number)
        layouts = [1 + at % 20 for at in range(100)]
        moved = rng.normal(0.0, 0.025, (2, 21))
        cases = [
            Made(name, [*(10.0 * np.exp(moved[at, layouts] + rng.normal(0.0, 0.01, 100)))], layouts=layouts)
            for at, name in enumerate(("quick", "slow"))
        ]
        added(lake, run_of(tmp_path, number, cases), host=f"host{number:02}")
    found = ask(lake, lambda opened: differing(opened, MADE))
    judged = sum(row.first_faster_on + row.second_faster_on for row in found.rows)
    assert judged <= 4, "each interval misses in 5 of 100"
    assert not any(row.differs for row in found.rows)


def test_a_run_of_few_launches_is_not_known_perfectly(lake: LakeFolder, tmp_path: Path) -> None:
    """It has no interval; taken for exact, it weighed as much as 40,000 of the others."""
    for day in range(1, 25):
        few = day % 5 == 0
        value = 20.0 * (1.02 if few else 1.0)
        values = noisy(day, value, 3 if few else 20, 0.02)
        cases = [Made("quick", noisy(900 + day, 10.0, len(values), 0.02)), Made("slow", values)]
        added(lake, run_of(tmp_path, day, cases, machine=machine(), **started(3, day)), host="lab")
    found = ask(lake, lambda opened: trend(opened, SLOW, "lab"))
    assert found.steps == []
    assert sum(point.value.low is None for point in found.points) == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("host,price\na,1\n", "lacks the columns"),
        ("machine,price_per_hour\n", "names no price"),
        ("machine,price_per_hour\na,much\n", "line 2: no machine with a price"),
        ("machine,price_per_hour\na,-1\n", "line 2: no machine with a price"),
        ("machine,price_per_hour\na,nan\n", "line 2: no machine with a price"),
        ("machine,price_per_hour\na,1\na,2\n", "a has two prices"),
        ("machine,price_per_hour,currency\na,1,EUR\nb,2,USD\n", "has prices in EUR, USD"),
    ],
)
def test_prices_that_say_nothing_are_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    with pytest.raises(TollError, match=sentence):
        Prices.read(path)


def test_verdicts_that_differ_between_machines_are_found(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(12):
        other = number < 4
        values = {"a": 10.0, "b": 9.0 if other else 11.0, "c": 20.0}
        added(lake, run(tmp_path, number, values), host=f"host{number:02}")
    found = ask(lake, lambda opened: differing(opened, MADE))
    (pair,) = found.rows
    assert {pair.first.contender, pair.second.contender} == {"a", "b"}
    assert (pair.first_faster_on, pair.second_faster_on, pair.judged_on) == (8, 4, 12)
    assert pair.differs
    assert pair.chance < 1e-4
    assert sorted(one.host for one in pair.fewer) == [f"host{number:02}" for number in range(4)]
    assert (found.machines, found.pairs, found.judged) == (12, 3, 3)


def test_too_few_rounds_for_so_many_rows_are_told(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(2):
        cases = [Made(name, [float(at + 1)] * 8) for at, name in enumerate("abcdefgh")]
        added(lake, run_of(tmp_path, number, cases, machine=machine(cpu=f"x{number}")))
    found = ask(lake, lambda opened: differing(opened, MADE))
    assert (found.pairs, found.judged) == (28, 0)
    assert ask(lake, lambda opened: differing(opened, MADE, ["a", "b"])).judged == 1


def test_a_step_in_a_machines_months_is_found_in_the_ratio(lake: LakeFolder, tmp_path: Path) -> None:
    for day in range(1, 25):
        slower = 1.05 if day > 14 else 1.0
        whole = 1.3 if day % 2 else 1.0  # the machine's own ups and downs, which both share
        values = {"quick": 10.0 * whole, "slow": 20.0 * whole * slower}
        added(
            lake,
            run(tmp_path, day, values, machine=machine(), **started(3, day)),
            host="lab",
            commit=f"c{day}",
        )
    found = ask(lake, lambda opened: trend(opened, SLOW, "lab"))
    assert [point.commit for point in found.points] == [f"c{day}" for day in range(1, 25)]
    (step,) = [step for step in found.steps if step.of == "ratio"]
    assert step.started_utc.startswith("2026-03-15")
    assert step.change.low < 1.05 < step.change.high
    assert found.breaks == []


def test_a_new_kernel_is_a_break_of_the_host_and_nothing_is_compared_across(
    lake: LakeFolder, tmp_path: Path
) -> None:
    for day in range(1, 21):
        kernel = "Linux 6.8" if day > 10 else "Linux 6.1"
        values = {"quick": 10.0, "slow": 40.0 if day > 10 else 20.0}
        added(lake, run(tmp_path, day, values, machine=machine(kernel=kernel), **started(3, day)), host="lab")
    found = ask(lake, lambda opened: trend(opened, SLOW, "lab"))
    (told,) = found.breaks
    assert told.started_utc.startswith("2026-03-11")
    assert told.differs == ["kernel: Linux 6.1 -> Linux 6.8"]
    assert found.steps == []


def test_a_trend_reads_no_other_machines_rows(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(3):
        added(lake, run(tmp_path, number, {"quick": 10.0, "slow": 20.0}), host=f"host{number}")
    with OpenedLake(lake) as opened:
        read, ask_lake = [], opened.ask

        def asked(sql: str, arguments: Any = None) -> Any:
            read.append(ask_lake(sql, arguments))
            return read[-1]

        opened.ask = asked  # type: ignore[method-assign]
        assert trend(opened, SLOW, "host1").machine.host == "host1"
        hosts = [set(table["host"].to_pylist()) for table in read if "rounds" in table.column_names]
        assert hosts == [{"host1"}]
        with pytest.raises(TollError, match="no workload tasks/gone"):
            trend(opened, Asked.of("tasks/gone/x"))


def test_a_trend_of_several_machines_asks_which_one(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(2):
        added(lake, run(tmp_path, number, {"quick": 10.0}), host=f"host{number}")
    with pytest.raises(TollError, match="several machines measured it") as caught:
        ask(lake, lambda opened: trend(opened, QUICK))
    assert "host0, host1" in caught.value.next_step
    with pytest.raises(TollError, match="host7 names no machine"):
        ask(lake, lambda opened: trend(opened, QUICK, "host7"))


def test_what_is_held(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(3):
        added(lake, run(tmp_path, number, {"quick": 10.0, "slow": 20.0}, **started(number + 1)))
    found = ask(lake, lambda opened: held_runs(opened, most=2))
    assert [line.name for line in found.runs] == ["run-2", "run-1"]
    assert (found.left_out, found.machines, found.workloads) == (1, 3, ["tasks/made"])
    cases = ask(lake, lambda opened: held_cases(opened, MADE)).rows
    assert [(row.case.contender, row.machines, row.fastest_in) for row in cases] == [
        ("quick", 3, 3),
        ("slow", 3, 0),
    ]


@pytest.mark.parametrize("name", ["tasks/nothing", "tasks/made/nobody"])
def test_what_the_lake_does_not_have_is_said(lake: LakeFolder, tmp_path: Path, name: str) -> None:
    added(lake, run(tmp_path, 1, {"quick": 10.0}))
    with pytest.raises(TollError, match="the lake has no"):
        ask(
            lake,
            lambda opened: across_machines(opened, Asked.of(name if name.count("/") == 2 else f"{name}/x")),
        )


def test_an_empty_lake_answers(lake: LakeFolder) -> None:
    assert ask(lake, held_runs).runs == []
    with pytest.raises(TollError, match="the lake has no workload"):
        ask(lake, lambda opened: across_machines(opened, QUICK))


def test_every_answer_is_the_same_after_compaction(lake: LakeFolder, tmp_path: Path) -> None:
    for number in range(4):
        values = {"quick": 10.0, "slow": 20.0}
        added(lake, run(tmp_path, number, values, **started(1 + number % 2)), host=f"host{number}")
    prices = Prices({f"host{number}": 1.0 + number for number in range(4)}, "EUR")
    questions: list[Callable[[OpenedLake], LakeAnswer]] = [
        held_runs,
        lambda opened: held_cases(opened, MADE),
        lambda opened: across_machines(opened, SLOW),
        lambda opened: cheapest(opened, MADE, prices),
        lambda opened: differing(opened, MADE),
        lambda opened: trend(opened, SLOW, "host1"),
    ]
    before = [ask(lake, question) for question in questions]
    done = compact(lake)
    assert done.runs == 4
    assert done.files_before == 4 * 8
    assert done.files_after == 2 * 8
    assert [ask(lake, question) for question in questions] == before
    added(lake, run(tmp_path, 9, {"quick": 10.0}), host="host9")
    assert len(ask(lake, held_runs).runs) == 5
    assert compact(lake).runs == 1
    assert len(ask(lake, held_runs).runs) == 5
    assert compact(lake).runs == 0
