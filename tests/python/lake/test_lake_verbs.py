"""The verb as a user types it: exit codes, sentences, JSON by its schema."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import jsonschema
import pytest
from made_lakes import machine, run, run_id

from tollbench.fleet.fleet_folder import FleetFolder, FleetRequest, StoredHost
from tollbench.fleet.fleets import HostRow, HostStatus
from tollbench.interpreters import interpreter
from tollbench.lake.lake_answers import AcrossMachines
from tollbench.report.lakes.lake_lines import sheet

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas/lake.schema.json").read_text(encoding="utf-8"))
MAIN = Path(__file__).parents[3] / "python/tollbench/__main__.py"
Lake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verbs")
    for number in range(2):
        run(folder, number, {"quick": 10.0, "slow": 20.0})
    (folder / "prices.csv").write_text("machine,price_per_hour\nm1.large,1.5\n")
    return folder


@pytest.fixture(scope="module")
def toll(folder: Path) -> Lake:
    def started(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = interpreter(str(MAIN), *arguments)
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)

    done = started("lake", "add", "run-0.toll", "run-1.toll", "--lake", "lab", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["outcome"] for row in json.loads(done.stdout)["added"]] == ["added", "added"]
    return started


ANSWERED = {
    "runs": ["runs"],
    "cases": ["cases", "tasks/made"],
    "machines": ["machines", "tasks/made/slow"],
    "cheapest": ["cheapest", "tasks/made", "--prices", "prices.csv"],
    "differ": ["differ", "tasks/made"],
    "trend": ["trend", "tasks/made/slow", "--machine", "m"],
    "query": ["query", "SELECT * FROM summary"],
}


@pytest.mark.parametrize("question", sorted(ANSWERED.keys() - {"trend"}))
def test_programs_get_what_the_schema_says_and_people_a_table(toll: Lake, question: str) -> None:
    done = toll("lake", *ANSWERED[question], "--lake", "lab", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, SCHEMA)
    assert answer["question"] == question
    shown = toll("lake", *ANSWERED[question], "--lake", "lab")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip()


@pytest.mark.parametrize(
    ("judged", "slower", "told"),
    [
        (2, 1, "on 1 of 2 machines, less on 0, and could not be told apart on 1."),
        (0, 0, "No machine has launches enough of it and of quick for their ratio's interval."),
    ],
)
def test_ratios_without_intervals_judge_no_machine(toll: Lake, judged: int, slower: int, told: str) -> None:
    answer = json.loads(toll("lake", *ANSWERED["machines"], "--lake", "lab", "--json").stdout)
    counts = {"judged_on": judged, "slower_on": slower, "faster_on": 0}
    sentences = sheet(AcrossMachines.model_validate(answer | counts)).sentences
    assert any(sentence.endswith(told) for sentence in sentences), sentences


def test_a_run_that_cannot_be_added_does_not_keep_the_others_out(toll: Lake, folder: Path) -> None:
    (folder / "broken.toll").write_text("no run")
    late = run(folder, 7, {"quick": 10.0})
    with closing(sqlite3.connect(late)) as connection, connection:
        connection.execute("UPDATE launch SET round = round + 2147483648")
    done = toll("lake", "add", "broken.toll", "run-7.toll", "run-1.toll", "--lake", "lab")
    assert done.returncode == 2
    assert "run-1.toll: is there" in done.stdout
    assert "broken.toll is not a run file" in done.stderr
    assert "run-7.toll is not sound: launch.round is more than" in done.stderr
    assert "2 runs of 3 could not be added" in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_of_a_fleet_are_of_its_hosts_by_its_folder_or_by_their_names(toll: Lake, folder: Path) -> None:
    """Two hosts that state the same are two machines, also by the second attempt's file."""
    fleet = fleet_of(folder / "fleet", {"big": "big.toll", "small": "small+2.toll", "gone": ""})
    for number, name in enumerate(("big.toll", "small+2.toll"), 11):
        run(fleet, number, {"quick": 10.0, "slow": 20.0}, machine=machine()).rename(fleet / name)
    for words in (["fleet"], ["fleet/big.toll", "fleet/small+2.toll"]):
        lab = f"lab-{len(words)}"
        assert toll("lake", "add", *words, "--lake", lab).returncode == 0
        answer = json.loads(toll("lake", "runs", "--lake", lab, "--json").stdout)
        assert answer["machines"] == 2
        assert sorted(line["machine"]["host"] for line in answer["runs"]) == ["big", "small"]
    other = toll("lake", "add", "fleet/big.toll", "--host", "mine", "--lake", "lab-3", "--json")
    assert other.returncode == 0
    assert toll("lake", "add", "fleet/big.toll", "--host", "", "--lake", "lab-5").returncode == 0
    (line,) = json.loads(toll("lake", "runs", "--lake", "lab-5", "--json").stdout)["runs"]
    assert line["machine"]["host"] == ""
    assert toll("lake", "add", "fleet", "--host", "", "--lake", "lab-6").returncode == 0
    answer = json.loads(toll("lake", "runs", "--lake", "lab-6", "--json").stdout)
    assert [line["machine"]["host"] for line in answer["runs"]] == ["", ""]
    refused = toll("lake", "add", "fleet/big.toll", "--lake", "lab-5")
    assert refused.returncode == 2
    assert "give --host as it was given then, '' where it was not" in refused.stderr
    refused = toll("lake", "add", "fleet", "--host", "mine", "--lake", "lab-4")
    assert refused.returncode == 2
    assert "--host names one machine, and fleet is a fleet" in refused.stderr
    fleet_of(folder / "empty", {"gone": ""})
    none = toll("lake", "add", "empty", "--lake", "lab-4")
    assert none.returncode == 2
    assert "empty is a fleet of 1 host, and none has a run file" in none.stderr


def fleet_of(folder: Path, files: dict[str, str]) -> Path:
    hosts = [
        StoredHost(name=name, ssh=name, python="python3", toll="", engine="ssh", access=()) for name in files
    ]
    request = FleetRequest(
        run=run_id(99), kind="run", words=("run",), limit_s=1.0, wait_s=0.0, sources="x", version="1",
        hosts=tuple(hosts),
    )  # fmt: skip
    made = FleetFolder.create(folder, request)
    for name, file in files.items():
        status = HostStatus.OK if file else HostStatus.LOST
        made.set(HostRow(host=name, status=status, file=file))
    made.close()
    return folder


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["runs", "--lake", "nowhere"], "nowhere is no lake"),
        (["machines", "tasks/made", "--lake", "lab"], "names no contender"),
        (["machines", "slow", "--lake", "lab"], "names no workload"),
        (["trend", "tasks/made/slow", "--lake", "lab"], "several machines measured it"),
        (["differ", "tasks/made", "quick", "--lake", "lab"], "one contender has no verdict"),
        (["query", "DROP VIEW summary", "--lake", "lab"], "not one SELECT"),
        (["cheapest", "tasks/made", "--prices", "none.csv", "--lake", "lab"], "none.csv cannot be read"),
        (["add", "nobody.toll", "--lake", "lab"], "there is no run file nobody.toll"),
        (["runs"], "--lake"),
    ],
)
def test_bad_input_is_a_sentence(toll: Lake, arguments: list[str], sentence: str) -> None:
    done = toll("lake", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_has_the_machines_of_a_lake_as_columns(toll: Lake, folder: Path) -> None:
    done = toll("report", "--lake", "lab", "tasks/made")
    assert done.returncode == 0, done.stderr
    assert "tasks/made" in done.stdout
    page = toll("report", "--lake", "lab", "--format", "html", "--output", "lab.html")
    assert page.returncode == 0, page.stderr
    assert "runs beside each other" in (folder / "lab.html").read_text()
    assert toll("report", "--lake", "lab", "--format", "csv").returncode == 2
    assert toll("report").returncode == 2


def test_without_its_libraries_the_verb_says_what_to_install(folder: Path) -> None:
    hide = "import sys; sys.modules['duckdb'] = None; sys.argv = ['toll', 'lake', 'runs', '--lake', 'lab'];"
    start = f"sys.path.insert(0, {str(MAIN.parents[1])!r}); from tollbench.cli import main"
    code = f"{hide} {start}; sys.exit(main())"
    command = interpreter("-c", code)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 2
    assert "a lake needs duckdb, which is not installed here" in done.stderr
    assert 'pipx install "tollbench[lake]"' in done.stderr
