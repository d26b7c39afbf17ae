"""Selection, parameters, reference answers, profiles and orders."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkouts import ROOT
from tollbench.catalog import suites
from tollbench.errors import Exit, TollError
from tollbench.plan import (
    PROFILES,
    Selection,
    Settings,
    by_name,
    code_layout,
    evaluate,
    layout_seed,
    make,
    round_order,
)
from tollbench.words import HOST, Contender, Environment, Kind, Parameter, ParameterValue, Workload

TASKS = Parameter("tasks", (100,), "tasks", "leaves")
THREADS = Parameter("threads", ("cpus",), "threads", "threads that run them")
MODE = Parameter("mode", ("fair",), "", "how")


def workload(name: str, *contenders: str, parameters: tuple[Parameter, ...] = (TASKS, THREADS)) -> Workload:
    offered = tuple(Contender(name, each, "C++", "std", Path("x.cpp")) for each in contenders)
    return Workload(
        name, "?", Kind.BATCH, "ns", "task", "tasks*2", Path("suites") / name, parameters, offered
    )


CATALOGUE = (
    workload("tasks/skynet", "std_thread", "boost_fiber", "boost_asio"),
    workload("tasks/tree", "std_thread"),
    workload("latency/wakeup", "std_mutex", parameters=(TASKS, MODE)),
)


def chosen(*names: str, **values: str) -> list[str]:
    selection = Selection.parse(names, [f"{name}={value}" for name, value in values.items()])
    plan = make(CATALOGUE, selection, [HOST], Settings(), cpus=6)
    return [f"{case.workload}/{case.contender}" for case in plan.cases]


def parameters(*names: str, **values: str) -> list[dict[str, ParameterValue]]:
    selection = Selection.parse(names, [f"{name}={value}" for name, value in values.items()])
    return [dict(case.parameters) for case in make(CATALOGUE, selection, [HOST], Settings(), cpus=6).cases]


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ((), 5),
        (("tasks",), 4),
        (("tasks/",), 4),
        (("tasks/skynet",), 3),
        (("tasks/skynet/std_thread",), 1),
        (("*/*/std_thread",), 2),
        (("tasks/s*/boost_*",), 2),
        (("tasks/skynet/std_thread", "latency"), 2),
        (("tasks", "tasks/skynet"), 4),
    ],
)
def test_selects_by_name_and_wildcard(names: tuple[str, ...], count: int) -> None:
    assert len(chosen(*names)) == count


def test_a_run_without_names_takes_headlines_and_a_star_everything() -> None:
    skynet, *others = CATALOGUE
    catalogue = (replace(skynet, headline=("boost_fiber",)), *others)

    def contenders(*names: str) -> list[str]:
        plan = make(catalogue, Selection.parse(names), [HOST], Settings(), cpus=6)
        return [case.contender for case in plan.cases if case.workload == skynet.name]

    assert contenders() == ["boost_fiber"]
    catalogue = (replace(catalogue[0], by_name_only=True), *others)
    assert contenders() == []
    assert by_name(catalogue) == (skynet.name,)  # others of its topic are measured
    assert by_name(catalogue[:1]) == ("tasks",)
    assert contenders("*") == contenders("tasks") == ["std_thread", "boost_fiber", "boost_asio"]


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("taks", "tasks"),
        ("tasks/skynt", "tasks/skynet"),
        ("tasks/skynet/std_thraed", "tasks/skynet/std_thread"),
        ("latency/wakup/std_mutex", "latency/wakeup/std_mutex"),
        ("latency/wakeup/std_mutex/x", "latency/wakeup/std_mutex"),
    ],
)
def test_unknown_name_offers_the_nearest(name: str, offered: str) -> None:
    with pytest.raises(TollError) as caught:
        chosen(name)
    assert repr(name) in caught.value.what
    assert f"Did you mean {offered}" in caught.value.next_step


def test_name_that_resembles_nothing_lists_what_there_is() -> None:
    with pytest.raises(TollError, match="There is no topic 'zzzzzz'") as caught:
        chosen("zzzzzz")
    assert "latency, tasks" in caught.value.next_step


def test_workload_without_contenders_says_how_to_add_one() -> None:
    with pytest.raises(TollError, match="has no contenders") as caught:
        make([workload("tasks/empty")], Selection.parse(["tasks/empty"]), [HOST], Settings(), 2)
    assert "toll new tasks/empty" in caught.value.next_step
    with pytest.raises(TollError, match="nothing to measure"):
        make([workload("tasks/empty")], Selection(), [HOST], Settings(), 2)


def test_defaults_and_the_number_of_cpus() -> None:
    assert parameters("tasks/tree") == [{"tasks": 100, "threads": 6}]


@pytest.mark.parametrize(
    ("cpus", "threads"),
    [(1, [1, 2]), (2, [1, 2, 4]), (6, [1, 2, 4, 6, 12]), (16, [1, 2, 4, 8, 16, 32])],
)
def test_thread_counts_up_to_twice_the_cpus(cpus: int, threads: list[int]) -> None:
    growing = replace(THREADS, defaults=("1..2*cpus",))
    contended = workload("a/b", "x", parameters=(TASKS, growing))
    cases = make([contended], Selection(), [HOST], Settings(), cpus).cases
    assert [case.parameters["threads"] for case in cases] == threads
    asked = make([contended], Selection(values={"threads": ("3",)}), [HOST], Settings(), cpus).cases
    assert [case.parameters["threads"] for case in asked] == [3]
    with pytest.raises(TollError) as failure:
        make([contended], Selection(values={"threads": ("many",)}), [HOST], Settings(), cpus)
    assert "--set threads=cpus" in failure.value.next_step


def test_values_asked_for_are_combined() -> None:
    asked = parameters("tasks/tree", tasks="10,1_000", threads="1,cpus")
    assert asked == [{"tasks": tasks, "threads": threads} for tasks in (10, 1000) for threads in (1, 6)]


def test_several_defaults_are_all_measured() -> None:
    several = workload("a/b", "x", parameters=(replace(TASKS, defaults=(1, 2)), THREADS))
    cases = make([several], Selection(), [HOST], Settings(), 2).cases
    assert [case.parameters["tasks"] for case in cases] == [1, 2]


@pytest.mark.parametrize(
    ("profile", "cpus", "threads"),
    [
        ("check", 2, [2]),
        ("quick", 2, [2]),
        ("standard", 2, [8, 2]),
        ("thorough", 2, [8, 2]),
        ("standard", 8, [8]),  # where they coincide, once
    ],
)
def test_short_profiles_measure_one_of_several_defaults(profile: str, cpus: int, threads: list[int]) -> None:
    both = replace(THREADS, defaults=(8, "cpus"), quick="cpus")
    pooled = replace(workload("a/b", "pool"), parameters=(both,), answer="7")
    plan = make([pooled], Selection(), [HOST], PROFILES[profile], cpus)
    assert [case.parameters["threads"] for case in plan.cases] == threads
    alone = replace(pooled, contenders=(replace(pooled.contenders[0], parameters={"threads": 1}),))
    assert [
        case.parameters for case in make([alone], Selection(), [HOST], PROFILES[profile], cpus).cases
    ] == [{"threads": 1}]
    asked = make([pooled], Selection(values={"threads": ("8",)}), [HOST], PROFILES[profile], cpus)
    assert [case.parameters["threads"] for case in asked.cases] == [8]


def test_a_parameter_applies_where_it_is_declared() -> None:
    assert parameters(mode="unfair")[-1] == {"tasks": 100, "mode": "unfair"}
    assert "mode" not in parameters(mode="unfair")[0]


def test_contender_overrides_the_default_and_the_user_overrides_both() -> None:
    base = workload("a/b", "x")
    own = replace(base, contenders=(replace(base.contenders[0], parameters={"tasks": 5}),))
    assert make([own], Selection(), [HOST], Settings(), 2).cases[0].parameters["tasks"] == 5
    asked = Selection.parse([], ["tasks=9"])
    assert make([own], asked, [HOST], Settings(), 2).cases[0].parameters["tasks"] == 9


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("task=10", "Did you mean tasks"),
        ("colour=10", "Declared there: mode, tasks, threads"),
        ("tasks=ten", "--set tasks=100"),
        ("tasks=-4", "--set tasks=100"),
        ("tasks=1.5", "--set tasks=100"),
        ("tasks", "--set NAME=VALUE"),
        ("tasks=", "--set NAME=VALUE"),
        ("tasks=1,,2", "--set NAME=VALUE"),
    ],
)
def test_bad_settings_say_what_to_write(setting: str, words: str) -> None:
    with pytest.raises(TollError) as caught:
        make(CATALOGUE, Selection.parse([], [setting]), [HOST], Settings(), 2)
    assert words in caught.value.next_step


def test_override_of_an_undeclared_parameter_names_the_file() -> None:
    base = workload("a/b", "x")
    wrong = replace(base, contenders=(replace(base.contenders[0], parameters={"task": 5}),))
    with pytest.raises(TollError, match="does not declare") as caught:
        make([wrong], Selection(), [HOST], Settings(), 2)
    assert "suite.toml" in caught.value.next_step


def test_too_many_cases() -> None:
    values = ",".join(map(str, range(10_001)))
    with pytest.raises(TollError, match="more than 10000 cases"):
        make([workload("a/b", "x")], Selection.parse([], [f"tasks={values}"]), [HOST], Settings(), 2)


PRELOADED = Environment("tcmalloc", languages=("C", "C++"))
BOTH = replace(
    workload("a/b", "x", "y"),
    contenders=(
        Contender("a/b", "x", "C++", "std", Path("x.cpp"), environments=("host", "tcmalloc")),
        Contender("a/b", "y", "C++", "std", Path("y.cpp")),
        Contender("a/b", "z", "Go", "go", Path("z.go"), environments=("host", "tcmalloc")),
    ),
)


def planned(*asked: str, names: tuple[str, ...] = ()) -> tuple[list[tuple[str, str]], list[str]]:
    """(contender, environment) of each case, and the plan's environments."""
    plan = make([BOTH], Selection.parse(names, (), asked), [HOST, PRELOADED], Settings(), 2)
    cases = [(case.contender, case.environment) for case in plan.cases]
    return cases, [environment.name for environment in plan.environments]


def test_environments_are_those_that_a_contender_names() -> None:
    cases = [("x", "host"), ("y", "host"), ("z", "host"), ("x", "tcmalloc")]
    assert planned() == (cases, ["host", "tcmalloc"])
    assert planned(names=("a/b/y",)) == ([("y", "host")], ["host"])  # none is prepared that no case needs


def test_asked_environments_replace_them_where_they_do_something() -> None:
    everywhere = [("x", "host"), ("y", "host"), ("z", "host"), ("x", "tcmalloc"), ("y", "tcmalloc")]
    assert planned("all") == planned("tcmalloc, host") == planned("tcmalloc", "host")
    assert planned("all") == (everywhere, ["host", "tcmalloc"])
    assert planned("tcmalloc") == ([("x", "tcmalloc"), ("y", "tcmalloc")], ["tcmalloc"])
    with pytest.raises(TollError, match="None of the selected contenders can be measured in tcmalloc"):
        planned("tcmalloc", names=("a/b/z",))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("tcmaloc", "Did you mean tcmalloc?"),
        ("zzz", "There are: host, glibc-no-trim"),
        ("host,", "--env all"),
    ],
)
def test_an_environment_that_is_not_offered_is_named(asked: str, words: str) -> None:
    with pytest.raises(TollError) as caught:
        planned(asked)
    assert words in caught.value.next_step


def test_environments_multiply_and_keys_differ() -> None:
    asked = Selection(environments=("all",))
    cases = make([workload("a/b", "x")], asked, [HOST, Environment("clang-19")], Settings(), 2).cases
    assert len({case.key for case in cases}) == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("tasks * (tasks - 1) / 2", 45),
        ("7", 7),
        ("-1", 2**64 - 1),
        ("2**64 + 5", 5),
        ("tasks ** 3 // 7 % 100", 1000 // 7 % 100),
        ("-tasks + 20", 10),
    ],
)
def test_reference_answers(text: str, value: int) -> None:
    assert evaluate(text, {"tasks": 10}) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.5",
        "7 / 2",
        "1 / 0",
        "1 // 0",
        "leaves + 1",
        "__import__('os').system('true')",
        "tasks.__class__",
        "(lambda: 1)()",
        "[1][0]",
        "2 ** -1",
        "9 ** 9 ** 9 ** 9",
        "10 ** 100000 * 10 ** 100000",
        "1 if tasks else 2",
        "True + 1",
        "1 << 3",
        "+" * 2000 + "1",
        "(" * 300 + "1" + ")" * 300,
        "tasks tasks",
    ],
)
def test_answers_that_are_not_whole_number_arithmetic(text: str) -> None:
    with pytest.raises(TollError, match="cannot be computed"):
        evaluate(text, {"tasks": 10})


@pytest.mark.parametrize(
    ("name", "asked", "told"),
    [
        ("tasks/nqueens", "n=3", "tasks/nqueens has no answer for --set n=3"),
        ("tasks/fib", "n=400", "tasks/fib has no answer for --set n=400"),
        ("containers/array_read", "size=0", "containers/array_read has no answer for --set size=0"),
    ],
)
def test_a_value_that_a_workload_cannot_answer_is_the_users_and_not_the_suites(name, asked, told) -> None:
    found = [one for one in suites.load(ROOT) if one.name == name]
    with pytest.raises(TollError) as caught:
        make(found, Selection.parse([name], [asked]), [HOST], Settings(), cpus=6)
    assert caught.value.what.startswith(told)
    assert "suite.toml" not in caught.value.next_step
    assert f"--set {asked.partition('=')[0]}=" in caught.value.next_step
    assert caught.value.code is Exit.USAGE


def test_an_answer_that_no_value_is_right_for_is_the_suites() -> None:
    wrong = replace(CATALOGUE[0], answer="tasks / 0")
    with pytest.raises(TollError) as caught:
        make([wrong], Selection.parse([], ["threads=2"]), [HOST], Settings(), cpus=6)
    assert "suite.toml" in caught.value.next_step


@given(st.integers(0, 2**40), st.integers(1, 2**40))
def test_answers_are_exact(a: int, b: int) -> None:
    assert evaluate("(a * b) / b - a % b + a ** 3", {"a": a, "b": b}) == (a - a % b + a**3) % 2**64


def launches_s(settings: Settings, cases: int) -> float:
    """Time in programs of a pilot, a canary's part and the least launches of every case."""
    return settings.for_cases(cases).launch_s * cases * (settings.min_launches + 2)


@pytest.mark.parametrize("cases", [1, 9, 50, 150, 600])
def test_quick_fits_any_catalogue_into_three_minutes(cases: int) -> None:
    quick = PROFILES["quick"]
    assert quick.budget_s <= 170
    assert quick.min_launches >= 12
    assert launches_s(quick, cases) <= quick.budget_s


def test_profiles_grow() -> None:
    quick, standard, thorough = (PROFILES[name] for name in ("quick", "standard", "thorough"))
    assert quick.budget_s < standard.budget_s < 1200
    assert thorough.budget_s == 0
    assert quick.launch_s < standard.launch_s < thorough.launch_s


@pytest.mark.parametrize("settings", PROFILES.values(), ids=PROFILES.keys())
def test_settings_survive_the_run_file(settings: Settings) -> None:
    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    "stored",
    [
        {"budget_s": "1"},
        {"budget_s": float("nan")},
        {"batches": 1.5},
        {"batches": 0},
        {"batches": True},
        {"level": 1.0},
        {"precision": 0},
        {"time_limit_s": 1e9},
        {"seed": -1},
        {"seed": 2**70},
        {"min_launches": 9, "max_launches": 8},
        {"layouts": 0},
        {"layouts": 65},
    ],
)
def test_settings_of_a_strangers_file_are_checked(stored: dict[str, object]) -> None:
    with pytest.raises(TollError, match="The setting"):
        Settings.from_json(stored)


def test_a_run_of_before_there_were_layouts_goes_on_without() -> None:
    stored = PROFILES["quick"].to_json()
    del stored["layouts"]
    assert Settings.from_json(stored).layouts == 1


def test_a_check_links_no_layouts() -> None:
    assert PROFILES["check"].layouts_used == 1
    assert PROFILES["quick"].layouts_used == PROFILES["quick"].layouts > 1


@pytest.mark.parametrize("layouts", [1, 2, 7, 20])
def test_each_layout_comes_once_before_any_comes_again(layouts: int) -> None:
    rounds = [code_layout(3, number, layouts) for number in range(1, 3 * layouts + 1)]
    passes = [rounds[start : start + layouts] for start in range(0, 3 * layouts, layouts)]
    assert all(sorted(one) == list(range(1, layouts + 1)) for one in passes)
    if layouts > 2:
        assert passes[0] != passes[1]
        assert rounds != [code_layout(4, number, layouts) for number in range(1, 3 * layouts + 1)]


def test_every_round_has_an_order_of_its_own_that_the_seed_repeats() -> None:
    orders = [round_order(3, number, 6) for number in range(50)]
    assert all(sorted(order) == [0, 1, 2, 3, 4, 5] for order in orders)
    assert len({tuple(order) for order in orders}) > 40
    assert orders == [round_order(3, number, 6) for number in range(50)]
    assert round_order(4, 1, 6) != round_order(3, 1, 6) or round_order(4, 2, 6) != round_order(3, 2, 6)
    first_places = [order[0] for order in (round_order(1, number, 2) for number in range(1000))]
    assert 400 < sum(first_places) < 600  # neither side goes first more often


def test_layout_seeds_differ_by_round_purpose_and_case() -> None:
    seeds = {
        layout_seed(1, purpose, number, key)
        for purpose in ("measure", "pilot")
        for number in range(50)
        for key in ("a", "b")
    }
    assert len(seeds) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_what_only_a_root_has_is_measured_nowhere_else() -> None:
    only_there = Contender("a/b", "x", "C++", "Seastar", Path("x.cpp"), environments=("debian13",))
    anywhere = Contender("a/b", "y", "C++", "std", Path("y.cpp"))
    both = replace(workload("a/b"), contenders=(only_there, anywhere))
    offered = [HOST, Environment("debian13", languages=("C++",))]

    def cases(*environments: str) -> list[tuple[str, str]]:
        plan = make([both], Selection(environments=environments), offered, Settings(), cpus=2)
        return [(case.contender, case.environment) for case in plan.cases]

    assert cases() == [("y", "host"), ("x", "debian13")]
    assert cases("gcc-12", "debian13") == [("x", "debian13"), ("y", "debian13"), ("y", "gcc-12")]


def test_a_contender_may_name_a_compiler() -> None:
    own = Contender("a/b", "x", "C++", "std", Path("x.cpp"), environments=("host", "gcc-12-O3-native"))
    plan = make([replace(workload("a/b"), contenders=(own,))], Selection(), [HOST], Settings(), cpus=2)
    assert [case.environment for case in plan.cases] == ["host", "gcc-12-O3-native"]
