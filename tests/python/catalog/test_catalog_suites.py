"""suite.toml and published.toml are read strictly: a mistake is named with its file, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tollbench.catalog import suites, toml_files
from tollbench.errors import TollError
from tollbench.words import DeclaredDetail, Kind

SUITE = """\
question = "What does it cost?"
kind = "batch"
unit = "ns"
per = "task"
answer = "tasks"

[parameters.tasks]
default = 10
values = [10, 20]
unit = "tasks"
meaning = "how many"

[parameters.mode]
default = ["hot", "cold"]
unit = ""
meaning = "which"

[footing]
pinning = "none"
threads = 2

[contenders]
plain = { library = "std" }
other = { source = "plain.cpp", library = "Boost", needs = ["boost_fiber"], parameters = { tasks = 5 }, \
footing = { threads = 1 }, note = "it is" }
"""
PUBLISHED = """\
[source]
source = "a book"
machine = "a VAX"
year = 1980
unit = "ns"
per = "task"

[[published]]
contender = "plain"
label = "Plain"
value = 12

[[published]]
label = "Range"
low = 1.5
high = 2
year = 1990
statistic = "p99"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "suites/tasks/tree"
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_text(SUITE)
    (folder / "published.toml").write_text(PUBLISHED)
    (folder / "plain.cpp").write_text("")
    return tmp_path


def change(root: Path, old: str, new: str, file: str = "suite.toml") -> None:
    path = root / "suites/tasks/tree" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_everything_in_a_suite_arrives(root):
    (workload,) = suites.load(root)
    assert (workload.name, workload.kind, workload.unit, workload.per) == (
        "tasks/tree",
        Kind.BATCH,
        "ns",
        "task",
    )
    assert workload.directory == root / "suites/tasks/tree"
    tasks, mode = workload.parameters
    assert (tasks.name, tasks.defaults, tasks.values) == ("tasks", (10,), (10, 20))
    assert mode.defaults == ("hot", "cold")
    assert (tasks.quick, mode.quick) == (None, None)
    plain, other = workload.contenders
    assert (plain.name, plain.language, plain.library) == ("plain", "C++", "std")
    assert dict(plain.footing) == {"pinning": "none", "threads": 2}
    assert (other.library, other.needs, other.note) == ("Boost", ("boost_fiber",), "it is")
    assert dict(other.footing) == {"pinning": "none", "threads": 1}
    assert dict(other.parameters) == {"tasks": 5}
    assert other.source == root / "suites/tasks/tree/plain.cpp"


def test_short_profiles_measure_one_of_the_defaults(root):
    change(root, 'default = ["hot", "cold"]', 'default = ["hot", "cold"]\nquick = "cold"')
    assert suites.load(root)[0].parameters[1].quick == "cold"
    change(root, 'quick = "cold"', 'quick = "tepid"')
    with pytest.raises(TollError, match="quick = 'tepid' is none of its defaults") as raised:
        suites.load(root)
    assert raised.value.next_step == "write one of: hot, cold"


DETAIL = """
[details.share]
title = "Smallest share"
unit = "share"
meaning = "of the thread that got least"
"""


def test_details_arrive_and_a_bad_one_is_named(root):
    assert suites.load(root)[0].details == ()
    change(root, "[footing]", f"{DETAIL}\n[footing]")
    told = DeclaredDetail("share", "Smallest share", "share", "of the thread that got least")
    assert suites.load(root)[0].details == (told,)
    for old, new, words in [
        ("[details.share]", "[details.Share]", "'Share' is not a detail's name"),
        ('title = "Smallest share"', 'title = " "', "details.share has an empty title or meaning"),
        ('meaning = "of the thread that got least"\n', "", "details.share lacks meaning"),
    ]:
        change(root, old, new)
        with pytest.raises(TollError) as raised:
            suites.load(root)
        assert words in raised.value.what
        (root / "suites/tasks/tree/suite.toml").write_text(SUITE.replace("[footing]", f"{DETAIL}\n[footing]"))


def test_environments_are_the_contenders_own_or_the_suites(root):
    assert [each.environments for each in suites.load(root)[0].contenders] == [("host",)] * 2
    change(root, "needs =", 'environments = ["jemalloc"], needs =')
    assert [each.environments for each in suites.load(root)[0].contenders] == [("host",), ("jemalloc",)]
    change(root, 'unit = "ns"', 'environments = ["host", "tcmalloc"]\nunit = "ns"')
    plain, other = suites.load(root)[0].contenders
    assert (plain.environments, other.environments) == (("host", "tcmalloc"), ("jemalloc",))


def test_a_published_value_names_the_environment_that_answers_it(root):
    assert {value.environment for value in suites.load(root)[0].published} == {"host"}
    change(root, "value = 12", 'environment = "tcmalloc"\nvalue = 12', "published.toml")
    assert suites.load(root)[0].published[0].environment == "tcmalloc"
    change(root, '"tcmalloc"', '"tcmaloc"', "published.toml")
    with pytest.raises(TollError) as raised:
        suites.load(root)
    assert "did you mean tcmalloc?" in raised.value.next_step


def test_a_published_value_may_be_of_a_detail_that_the_suite_declares(root):
    change(root, 'statistic = "p99"', 'statistic = "calls"', "published.toml")
    with pytest.raises(TollError, match="calls"):
        suites.load(root)
    suite = root / "suites/tasks/tree/suite.toml"
    detail = '[details.calls]\ntitle = "calls"\nunit = "calls"\nmeaning = "of malloc"\n'
    suite.write_text(suite.read_text().replace("[contenders]", f"{detail}\n[contenders]"))
    assert suites.load(root)[0].published[1].statistic == "calls"


def test_a_parameter_that_is_kept_apart_goes_with_each_case(root):
    assert all("settings_of" not in each.footing for each in suites.load(root)[0].contenders)
    change(root, "default = 10\n", "default = 10\napart = true\n")
    assert {each.footing["settings_of"] for each in suites.load(root)[0].contenders} == {"tasks"}


def test_what_sets_a_row_apart_is_no_part_of_the_note(root):
    change(root, "value = 12", 'note = "hot"\ndiffers = "4 threads"\nvalue = 12', "published.toml")
    change(root, "year = 1990", 'differs = "nothing"\nyear = 1990', "published.toml")
    value, bounds = suites.load(root)[0].published
    assert (value.note, value.differs) == ("hot", "4 threads")
    assert (bounds.note, bounds.differs) == ("", "")


def test_what_sets_a_row_apart_may_be_sentences_that_the_file_has_once(root):
    change(root, "value = 12", 'differs = ["pool", "timer"]\nvalue = 12', "published.toml")
    change(
        root, "[source]", '[differences]\npool = "a pool"\ntimer = "two timers"\n\n[source]', "published.toml"
    )
    assert suites.load(root)[0].published[0].differs == "a pool; two timers"
    change(root, '["pool", "timer"]', '["pool", "timr"]', "published.toml")
    with pytest.raises(TollError, match="no sentence timr") as raised:
        suites.load(root)
    assert "did you mean timer?" in raised.value.next_step


def test_published_values_inherit_their_source(root):
    value, bounds = suites.load(root)[0].published
    assert (value.low, value.high, value.year, value.machine, value.statistic) == (
        12,
        12,
        1980,
        "a VAX",
        "value",
    )
    assert (bounds.low, bounds.high, bounds.year, bounds.statistic) == (1.5, 2.0, 1990, "p99")
    assert (bounds.contender, bounds.source) == ("", "a book")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("unit = \"ns\"", "unti = \"ns\"", 3, ["unti", "did you mean unit?"]),
        ("unit = \"ns\"", "unit = \"cycles\"", 3, ["cycles", "not a unit of time", "ns, us"]),
        ("default = 10\n", "default = []\n", None, ["parameters.tasks has no default"]),
        ("pinning", "pinnnig = 1.5\npinning", 19, ["pinnnig"]),
        ("library = \"Boost\"", "librry = \"Boost\"", 24, ["contenders.other", "did you mean library?"]),
        ("default = 10\n", "default = 1.5\n", 8, ["parameters.tasks.default", "1.5"]),
        ("question = \"What does it cost?\"", "", None, ["lacks question", "add: question"]),
        ("kind = \"batch\"", "kind = \"group\"", 2, ["group", "batch, samples"]),
        ("source = \"plain.cpp\"", "source = \"gone.cpp\"", 24, ["gone.cpp", "toll new tasks/tree other"]),
        ("parameters = { tasks", "parameters = { taks", 24, ["no parameter taks", "did you mean tasks?"]),
        ("plain = {", "Plain = {", 23, ["'Plain'", "a-z"]),
        ("[contenders]", "[contenders", None, ["line 22", "correct the TOML"]),
        ("[contenders]", "x = " + "9" * 5000 + "\n[contenders]", None, ["5000 digits", "correct the TOML"]),
        ("needs = [\"boost_fiber\"]", "needs = \"boost_fiber\"", 24, ["needs", "list"]),
        ("needs =", "environments = [\"tcmaloc\"], needs =", 24, ["tcmaloc", "did you mean tcmalloc?"]),
        ("answer = ", "headline = [\"plian\"]\nanswer = ", 5, ["headline", "did you mean plain?"]),
        ("answer = ", "in_batches = \"tasks/tre\"\nanswer = ", 5, ["in_batches", "did you mean tasks/tree?"]),
        ("unit = \"ns\"", "environments = [\"hots\"]\nunit = \"ns\"", 3, ["hots", "did you mean host?"]),
        (
            "needs =", "language = \"Go\", environments = [\"host\", \"tcmalloc\"], needs =", 24,
            ["tasks/tree other is Go", "tcmalloc", "C, C++ and Rust"],
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_suite_is_named(root, old, new, line, words):
    change(root, old, new)
    with pytest.raises(TollError) as raised:
        suites.load(root)
    text = f"{raised.value.what} | {raised.value.next_step}"
    assert f"suite.toml{f':{line}' if line else ''}" in text, text
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("value = 12", "", ["Plain", "neither a value"]),
        ("low = 1.5", "low = 5", ["Range", "ordered"]),
        ("value = 12", "value = nan", ["Plain", "neither a value"]),
        ("high = 2", "high = inf", ["Range", "ordered"]),
        ('unit = "ns"\n', "", ["Plain", "no unit", "[source]"]),
        ('statistic = "p99"', 'statistic = "p98"', ["p98"]),
        ("label = \"Plain\"", "lable = \"Plain\"", ["published.toml"]),
    ],
)  # fmt: skip
def test_a_mistake_in_published_values_is_named(root, old, new, words):
    change(root, old, new, "published.toml")
    with pytest.raises(TollError) as raised:
        suites.load(root)
    text = f"{raised.value.what} | {raised.value.next_step}"
    assert "published.toml" in text
    assert all(word in text for word in words), text


def test_an_empty_checkout_is_named(tmp_path):
    with pytest.raises(TollError, match="no workloads"):
        suites.load(tmp_path)


def test_the_nearest_name_is_found():
    assert toml_files.nearest("skinet", ["tasks/skynet", "latency/wakeup"], 1) == ["tasks/skynet"]
    assert toml_files.nearest("xyzzy", ["skynet"]) == []


def test_a_suite_may_name_compilers_whatever_the_order_of_their_options(root):
    change(root, "value = 12", 'environment = "gcc-12-native-O3"\nvalue = 12', "published.toml")
    assert suites.load(root)[0].published[0].environment == "gcc-12-O3-native"
