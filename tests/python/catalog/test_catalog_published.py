"""Every published value stands beside a row of its source's own form, or says what sets the row apart."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tollbench.analysis.published import parameters_named
from tollbench.catalog import suites
from tollbench.catalog.suites import AS_PUBLISHED
from tollbench.words import Contender, Workload

ROOT = Path(__file__).parents[3]
WORKLOADS = {workload.name: workload for workload in suites.load(ROOT)}


def entries(workload: Workload) -> list[dict[str, Any]]:
    """The values of its published.toml, each with what [source] says for all."""
    file = workload.directory / "published.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return [{**content.get("source", {}), **entry} for entry in content.get("published", [])]


def faults(workload: Workload, entry: dict[str, Any]) -> list[str]:
    """What keeps a reader from knowing which row this is beside, and how far it is the same thing."""
    contenders = {contender.name: contender for contender in workload.contenders}
    contender = contenders.get(entry.get("contender", ""))
    differs = entry.get("differs", "")
    found = []
    if not differs:
        found.append("says neither that its row has the program's form nor what differs")
    if contender is None and differs in ("", AS_PUBLISHED):
        found.append("stands beside no row and gives no reason")
    if contender is not None:
        found += unmeasurable(workload, contender, entry)
    return found


def unmeasurable(workload: Workload, contender: Contender, entry: dict[str, Any]) -> list[str]:
    """Parameters that the value names and its row cannot have."""
    declared = {parameter.name: parameter for parameter in workload.parameters}
    found = []
    for name, value in parameters_named(entry.get("note", ""), entry["label"]).items():
        if name not in declared:
            found.append(f"names a parameter that {workload.name} lacks: {name}")
            continue
        known = {*declared[name].defaults, *declared[name].values, contender.parameters.get(name)}
        if value not in map(str, known):
            found.append(f"names a value that {name} does not have: {value}")
    return found


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_published_value_has_a_row_of_its_programs_form_or_says_why_not(name: str) -> None:
    wrong = [
        f"{entry['label']}: {fault}"
        for entry in entries(WORKLOADS[name])
        for fault in faults(WORKLOADS[name], entry)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"differs": ""}, "says neither"),
        ({"contender": "nobody", "differs": AS_PUBLISHED}, "stands beside no row"),
        ({"note": "tasks=100001"}, "names a value that tasks does not have"),
        ({"note": "mode=hot"}, "names a parameter that"),
    ],
)
def test_a_value_without_either_is_found(changes: dict[str, str], fault: str) -> None:
    skynet = WORKLOADS["tasks/skynet"]
    entry = {"contender": "std_async", "label": "std::async", "differs": AS_PUBLISHED, "note": "tasks=10000"}
    assert faults(skynet, entry) == []
    assert [found for found in faults(skynet, entry | changes) if found.startswith(fault)]


def test_values_of_programs_on_asio_stand_beside_the_rows_that_erase_their_executors() -> None:
    """As those programs do; and a quick run shows one of them beside what was published."""
    cachecalc = WORKLOADS["frameworks/cachecalc"]
    of_asio = {entry["contender"] for entry in entries(cachecalc) if "_boost_" in entry["label"]}
    executors = {contender.name: contender.footing.get("executors") for contender in cachecalc.contenders}
    assert {name: executors[name] for name in of_asio} == dict.fromkeys(of_asio, "any_io_executor")
    assert len(of_asio) == 4
    assert of_asio & set(cachecalc.headline)


def test_values_beside_rows_of_several_numbers_of_threads_say_of_how_many() -> None:
    cachecalc = WORKLOADS["frameworks/cachecalc"]
    swept = {one.name for one in cachecalc.contenders if "threads" not in one.parameters}
    silent = [
        entry["label"]
        for entry in entries(cachecalc)
        if entry["contender"] in swept and "threads" not in parameters_named(entry["note"], entry["label"])
    ]
    assert silent == []


def test_values_of_fibers_say_whether_their_programs_tied_their_threads() -> None:
    """Those on several threads did: a row that does not, by default, says so. Those on one thread did not."""
    of_fibers = {
        one["label"]: (parameters_named(one["note"], one["label"]).get("pinning", ""), one["differs"])
        for one in entries(WORKLOADS["tasks/skynet"])
        if one["label"].startswith("fiber")
    }
    untied = {label for label, (pinning, _) in of_fibers.items() if pinning == "none"}
    assert untied == {label for label in of_fibers if label.startswith("fiber (1C/1T")}
    silent = [
        label
        for label, (pinning, differs) in of_fibers.items()
        if not pinning and "the row does with pinning=each_cpu alone" not in differs
    ]
    assert silent == []
    assert "each_cpu" in {pinning for pinning, _ in of_fibers.values()}
