"""Every published value stands beside a row of its source's own form, or says what sets the row apart."""

from __future__ import annotations

import re
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


# A row of the same form takes as long as the program, within what we allow ourselves.
ALIKE = (0.95, 1.05)


def content_of(workload: Workload) -> dict[str, Any]:
    file = workload.directory / "published.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def entries(workload: Workload) -> list[dict[str, Any]]:
    """The values of its published.toml, each with what [source] says for all, and its differences as told."""
    content = content_of(workload)
    merged = [{**content.get("source", {}), **entry} for entry in content.get("published", [])]
    for entry in merged:
        if isinstance(entry.get("differs"), list):
            entry["differs"] = "; ".join(content["differences"][name] for name in entry["differs"])
    return merged


def ratios_beside(workload: str, contender: str, page: str) -> list[tuple[float, float]]:
    """The intervals of a row's time over that of its document's program, as a page of docs/ has them: in the
    tables below the paragraph that begins with the workload's name."""
    name = workload.split("/")[1]
    below = re.split(r"^\*\*(\w+)\*\*", page, flags=re.MULTILINE)
    lines = "\n".join(text for told, text in zip(below[1::2], below[2::2], strict=True) if told == name)
    cells = [line for line in lines.splitlines() if line.startswith("|") and f"`{contender}`" in line]
    found = re.findall(r"\[([\d.]+), ([\d.]+)\]", "\n".join(cells))
    return [(float(low), float(high)) for low, high in found]


def unproved(workload: str, contender: str, page: str) -> list[str]:
    """Why a row cannot be said to have its program's form and nothing else."""
    ratios = ratios_beside(workload, contender, page)
    if not ratios:
        return ["says that nothing differs, and was not measured beside its program"]
    apart = [ratio for ratio in ratios if ratio[1] < ALIKE[0] or ratio[0] > ALIKE[1]]
    return [
        f"says that nothing differs, and takes {low} to {high} of its program's time" for low, high in apart
    ]


PAGES = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))


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
        found += unproved(workload.name, contender.name, PAGES) if differs == AS_PUBLISHED else []
    return found


def unmeasurable(workload: Workload, contender: Contender, entry: dict[str, Any]) -> list[str]:
    """Parameters that the value names and its row cannot have."""
    declared = {parameter.name: parameter for parameter in workload.parameters}
    found = []
    for name, value in parameters_named(entry.get("note", ""), entry["label"]).items():
        if name not in declared:
            found.append(f"names a parameter that {workload.name} lacks: {name}")
            continue
        own = contender.parameters.get(name)
        known = {*declared[name].defaults, *declared[name].values} if own is None else {own}
        if value not in map(str, known):
            there = "" if own is None else f" in {contender.name}"
            found.append(f"names a value that {name} does not have{there}: {value}")
    return found


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_published_value_has_a_row_of_its_programs_form_or_says_why_not(name: str) -> None:
    wrong = [
        f"{entry['label']}: {fault}"
        for entry in entries(WORKLOADS[name])
        for fault in faults(WORKLOADS[name], entry)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_file_says_for_all_its_values_at_once_that_nothing_differs(name: str) -> None:
    """48 values did, of which 36 were of programs that compute in another way."""
    assert content_of(WORKLOADS[name]).get("source", {}).get("differs") != AS_PUBLISHED


def test_that_nothing_differs_is_believed_where_a_measurement_does_not_contradict_it() -> None:
    page = (
        "**tree**: measured so.\n\n| program | row | ratio |\n| --- | --- | --- |\n"
        "| `a` | `alike` | 1.02 [0.99, 1.06] |\n| `b` | `faster` | 0.75 [0.74, 0.75] | 1.00 [0.99, 1.01] |\n"
        "| `c` | `unmeasured` | |\n\n**bush**: another.\n\n| `d` | `alike` | 1.30 [1.20, 1.40] |\n"
    )
    assert unproved("tasks/tree", "alike", page) == []
    assert ["0.74 to 0.75" in fault for fault in unproved("tasks/tree", "faster", page)] == [True]
    assert ["1.2 to 1.4" in fault for fault in unproved("tasks/bush", "alike", page)] == [True]
    for contender in ("unmeasured", "unheard_of"):
        assert "was not measured" in unproved("tasks/tree", contender, page)[0]
    # As the rows of cachecalc would be found that once said so.
    assert unproved("frameworks/cachecalc", "computation_only", PAGES)
    assert unproved("frameworks/cachecalc", "std_mutex", PAGES)


def test_every_sentence_of_differences_is_used() -> None:
    for workload in WORKLOADS.values():
        content = content_of(workload)
        told = [
            content.get("source", {}).get("differs"),
            *(e.get("differs") for e in content.get("published", [])),
        ]
        used = {name for names in told if isinstance(names, list) for name in names}
        assert used == set(content.get("differences", {})), workload.name


def test_values_of_programs_that_copy_each_text_say_that_the_rows_do_not() -> None:
    """Each computation of EvaluateIPC does; the rows that compute nothing have none."""
    silent = {
        entry["contender"]
        for entry in entries(WORKLOADS["frameworks/cachecalc"])
        if "the program's copy it" not in entry["differs"]
    }
    assert silent == {"sleep", "sleep_devzero"}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"differs": ""}, "says neither"),
        ({"contender": "nobody", "differs": AS_PUBLISHED}, "stands beside no row"),
        ({"note": "tasks=100001"}, "names a value that tasks does not have"),
        ({"note": "tasks=100000"}, "names a value that tasks does not have in std_async"),
        ({"note": "mode=hot"}, "names a parameter that"),
        ({"contender": "pthread_detach"}, "says that nothing differs, and was not measured"),
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
