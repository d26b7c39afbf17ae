"""Claims are read strictly, and a run of the command that a claim names measures every row of it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from checkouts import ROOT
from tollbench.catalog import environments, suites
from tollbench.catalog.claims import ALIKE, TOLERANCE, usual_tolerance
from tollbench.errors import TollError
from tollbench.plan import PROFILES, Selection, make
from tollbench.words import Claim, Relation, Workload

SUITE = """\
question = "What does it cost?"
kind = "samples"
unit = "ns"
per = "task"
answer = "tasks"

[parameters.tasks]
default = 10
unit = "tasks"
meaning = "how many"

[parameters.mode]
default = ["hot", "cold"]
unit = ""
meaning = "which"

[details.calls]
title = "calls"
unit = "calls"
meaning = "of the allocator"

[contenders]
plain = { library = "std" }
other = { source = "plain.cpp", parameters = { mode = "hot" } }
gopher = { source = "plain.go", environments = ["host"] }
"""
CLAIM = """\
[[claims]]
name = "plain_beats_other"
claim = "Plain is faster."
document = "a_book"
place = "page 7"
note = "of the second edition"
checks = [
  { left = "plain", relation = "less", right = "other", parameters = { mode = "hot" } },
  { left = { contender = "plain", environment = "tcmalloc" }, relation = "at_least", factor = 10, \
right = { number = 1.5, unit = "us" }, parameters = { mode = "cold", tasks = 20 }, statistic = "p99" },
]
"""
DOCUMENTS = """\
[documents.a_book]
title = "A book"
year = 1980
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "suites/tasks/tree"
    folder.mkdir(parents=True)
    (folder / "suite.toml").write_text(SUITE)
    (folder / "published.toml").write_text(CLAIM)
    (tmp_path / "suites/documents.toml").write_text(DOCUMENTS)
    (folder / "plain.cpp").write_text("")
    (folder / "plain.go").write_text("")
    return tmp_path


def test_everything_in_a_claim_arrives(root):
    (workload,) = suites.load(root)
    (claim,) = workload.claims
    assert (claim.name, claim.workload, claim.claim) == (
        "plain_beats_other",
        "tasks/tree",
        "Plain is faster.",
    )
    assert (claim.document, claim.year, claim.place) == ("A book", 1980, "page 7")
    assert claim.note == "of the second edition"
    first, second = claim.checks
    assert (first.left.contender, first.relation, first.right.contender) == ("plain", Relation.LESS, "other")
    assert first.left.parameters == first.right.parameters == {"mode": "hot"}
    assert (first.left.environment, first.left.statistic) == ("host", "value")
    assert (second.left.environment, second.left.statistic) == ("tcmalloc", "p99")
    assert (second.right.number, second.right.unit, second.right.contender) == (1.5, "us", "")
    assert (second.factor, second.tolerance) == (10, TOLERANCE)
    assert claim.command == (
        "./toll run tasks/tree/plain tasks/tree/other --set tasks=10,20 --env host,tcmalloc"
    )
    assert first.left.usual == first.right.usual == {"tasks": 10}
    assert second.left.usual == {}


@pytest.mark.parametrize(
    ("relation", "factor", "tolerance"),
    [
        (Relation.LESS, 1.0, 1.0),
        (Relation.AT_LEAST, 1.0, 1.0),
        (Relation.ABOUT, 1.0, ALIKE),
        (Relation.AT_LEAST, 10.0, 2**0.5),
        (Relation.AT_MOST, 0.1, 2**0.5),
        (Relation.ABOUT, 2.0, 2**0.5),
        (Relation.AT_LEAST, 1.44, 1.2),  # half way to no difference
    ],
)
def test_one_rule_says_how_much_a_factor_gives_way(relation, factor, tolerance):
    assert usual_tolerance(relation, factor) == pytest.approx(tolerance)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('left = "plain", ', 'left = "plane", ', "did you mean plain"),
        ('mode = "hot"', 'mood = "hot"', "did you mean mode"),
        ('parameters = { mode = "cold", tasks = 20 }', "parameters = { tasks = 20 }", "leaves mode"),
        ('"less"', '"lesser"', "did you mean less"),
        ('"less"', '"less", factor = 2', 'write relation = "at_most"'),
        ('document = "a_book"', 'document = "a_bok"', "did you mean a_book"),
        ('place = "page 7"', 'place = " "', "no place"),
        ('place = "page 7"', 'plaice = "page 7"', "did you mean place"),
        ("plain_beats_other", "Plain!", "a letter first"),
        ("factor = 10", "factor = 0", "no possible factor"),
        ("factor = 10", "factor = -2", "no possible factor"),
        ("factor = 10", "factor = nan", "no possible factor"),
        ("number = 1.5", "number = inf", "a side that is no number"),
        ("factor = 10", "factor = 10, tolerance = 0.5", "no possible tolerance"),
        ("number = 1.5", "number = -1.5", "a side that is no number"),
        ('unit = "us"', 'unit = "calls"', "compares 'ns' with 'calls'"),
        ('"p99"', '"p98"', "did you mean p99"),
        ('"p99"', '"calls"', "compares 'calls' with 'us'"),
        ('"tcmalloc"', '"tcmaloc"', "names no environment"),
        ('contender = "plain", environment', 'contender = "gopher", environment', "for other languages"),
        ('{ contender = "plain", environment = "tcmalloc" }', '{ number = 2.0, unit = "us" }', "two numbers"),
        ('left = "plain", ', 'left = { workload = "tasks/tre", contender = "plain" }, ', "tasks/tree"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_remedy(root, old, new, says):
    file = root / "suites/tasks/tree/published.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(TollError) as told:
        suites.load(root)
    assert "published.toml" in told.value.what
    assert says in f"{told.value.what} {told.value.next_step}"


def test_two_claims_of_one_name_are_refused(root):
    file = root / "suites/tasks/tree/published.toml"
    file.write_text(CLAIM + CLAIM)
    with pytest.raises(TollError, match="plain_beats_other"):
        suites.load(root)


CATALOGUE = suites.load(ROOT)
CLAIMS = [claim for workload in CATALOGUE for claim in workload.claims]


def test_every_document_contributes_its_conclusions():
    counts = Counter(claim.document for claim in CLAIMS)
    assert len(counts) == 4  # the two editions of one document draw the same conclusions
    assert min(counts.values()) >= 10
    assert len(CLAIMS) >= 30


@pytest.mark.parametrize("cpus", [1, 2, 3, 4])
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_the_command_that_a_claim_names_measures_every_row_of_it(claim: Claim, cpus: int):
    assert claim.command.startswith("./toll run ")
    words = shlex.split(claim.command)[2:]
    values, wanted = (
        [value for option, value in pairwise(words) if option == name] for name in ("--set", "--env")
    )
    names = [word for word in words if "/" in word]
    selection = Selection.parse(names, values, wanted)
    offered = (*environments.OFFERED, *map(environments.named, selection.environments))
    plan = make(CATALOGUE, selection, offered, PROFILES["standard"], cpus=cpus)
    for side in (each for check in claim.checks for each in (check.left, check.right)):
        assert side.number is not None or any(
            (case.workload, case.contender, case.environment)
            == (side.workload, side.contender, side.environment)
            and side.parameters.items() <= case.parameters.items()
            and {name: cpus if value == "cpus" else value for name, value in side.usual.items()}.items()
            <= case.parameters.items()
            for case in plan.cases
        ), side


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_bare_bound_is_one_in_the_check_as_in_the_words(claim: Claim):
    """docs/method.md: "over 300 us" gives way to nothing; "twice at least" would be no other thing."""
    bare = re.search(r"\bover (\d|[a-z]+ times)|\bat least\b", f"{claim.claim} {claim.note}")
    assert not bare or {check.tolerance for check in claim.checks} == {1.0}


def workloads_of(claim: Claim) -> set[str]:
    return {side.workload for check in claim.checks for side in (check.left, check.right) if side.workload}


def test_a_claim_stands_with_a_workload_that_it_measures():
    assert [claim.name for claim in CLAIMS if claim.workload not in workloads_of(claim)] == []


# What the document says of rows that none of its numbers stands beside.
SAID_WITHOUT_NUMBERS = {"pool_saves_allocations", "crossing_costs_twice", "wide_atomics_wait_longer"}


def test_a_claim_is_judged_by_the_rows_that_the_documents_numbers_stand_beside():
    """Where numbers move to a row that is nearer to the document's program, its claims have to follow."""
    published = {
        workload.name: {(number.contender, number.environment) for number in workload.published}
        for workload in CATALOGUE
    }
    elsewhere = {
        claim.name
        for claim in CLAIMS
        for check in claim.checks
        for side in (check.left, check.right)
        if side.workload
        and published[side.workload]
        and (side.contender, side.environment) not in published[side.workload]
    }
    assert elsewhere == SAID_WITHOUT_NUMBERS


def headline(workload: Workload) -> set[str]:
    return set(workload.headline)


def test_a_run_without_names_measures_what_a_third_of_the_claims_need():
    """The first run that somebody makes already has answers."""
    known = {workload.name: headline(workload) for workload in CATALOGUE}
    told = [
        claim.name
        for claim in CLAIMS
        if all(
            side.number is not None or (side.contender in known[side.workload] and side.environment == "host")
            for check in claim.checks
            for side in (check.left, check.right)
        )
    ]
    assert 3 * len(told) >= len(CLAIMS)


def test_a_claims_command_asks_for_what_short_profiles_leave_out(root):
    suite = root / "suites/tasks/tree/suite.toml"
    (asked,) = suites.load(root)[0].claims
    assert "mode" not in asked.command  # hot is measured anyway
    assert suite.read_text().count("[parameters.mode]\n") == 1
    suite.write_text(suite.read_text().replace("[parameters.mode]\n", '[parameters.mode]\nquick = "cold"\n'))
    (asked,) = suites.load(root)[0].claims
    assert "--set mode=hot" in asked.command
