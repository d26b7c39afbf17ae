"""How often does a price list call two rows different that are the same program?

    PYTHONPATH=python .venv/bin/python tests/bench/twins.py FOLDER [WORKLOAD ...] [--runs 20]

Clones this checkout's commit into FOLDER, enters each C++ contender of each headline there a second time
under another name (`std_mutex` and `std_mutex_twin`: a source of its own, the same code), and runs the
headline of all workloads, or of those named, `--runs` times (two hours). Of each table it tells whether any
pair of twins is called different: no group of rows that cannot be told apart holds both. A folder that holds
runs of an earlier call is gone on with. A pair that is called different in most runs is told by name: all
runs have the same layouts of each program's code, twenty that were drawn for either twin.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TWIN = "_twin"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("workloads", nargs="*", help="topic/workload; without any: all")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "--budget", default="330s", help="of a run: twice a quick run's, as there are twice the cases"
    )
    words = parser.parse_args()
    checkout = words.folder / "checkout"
    if not checkout.exists():
        subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
        (checkout / ".venv").symlink_to(ROOT / ".venv")
        for suite in sorted(checkout.glob("suites/*/*/suite.toml")):
            enter_twins(suite)
    for number in range(words.runs):
        file = words.folder / f"twins-{number}.toll"
        if not file.with_suffix(".json").exists():
            measure(checkout, file, words.workloads, words.budget)
        tell(number, json.loads(file.with_suffix(".json").read_text()))
    summary([json.loads(file.read_text()) for file in sorted(words.folder.glob("twins-*.json"))])
    return 0


def enter_twins(suite: Path) -> None:
    """Each C++ contender of the headline whose source names it in one line, once more."""
    text = suite.read_text()
    headline = tomllib.loads(text).get("headline", [])
    entered = [name for name in headline if enter(suite, name)]
    listed = re.search(r"^headline = \[.*?\]", text, re.MULTILINE | re.DOTALL)
    if listed is None or not entered:
        return
    names = ", ".join(f'"{name}"' for name in [*headline, *(name + TWIN for name in entered)])
    text = suite.read_text()
    suite.write_text(text.replace(listed.group(0), f"headline = [{names}]"))


def enter(suite: Path, name: str) -> bool:
    """Whether there is a twin now: the source copied under the other name, and a line of its own."""
    text = suite.read_text()
    line = re.search(rf"^{name} = \{{(.*)\}}(.*)$", text, re.MULTILINE)
    if line is None:
        return False
    named = re.search(r'source = "([^"]*)"', line.group(1))
    source = suite.parent / (named.group(1) if named else f"{name}.cpp")
    if source.suffix != ".cpp":
        return False
    code, places = re.subn(
        rf"(TOLL_CONTENDER\(\s*\w+,\s*){name}(,)", rf"\g<1>{name}{TWIN}\g<2>", source.read_text()
    )
    if places != 1:
        return False
    twin = source.with_name(f"{name}{TWIN}.cpp")
    twin.write_text(code)
    options = re.sub(r'source = "[^"]*",?', "", line.group(1)).strip().strip(",")
    inside = f'source = "{os.path.relpath(twin, suite.parent)}"' + (f", {options}" if options else "")
    suite.write_text(f"{text[: line.end()]}\n{name}{TWIN} = {{ {inside} }}{text[line.end() :]}")
    return True


def measure(checkout: Path, file: Path, workloads: list[str], budget: str) -> None:
    """One run, by the folder's own checkout; what it says of itself stays in a log beside it."""
    toll = str(checkout / "toll")
    quietly = ["--no-html", "--wait", "--output", str(file.resolve())]
    run = [toll, "run", *workloads, "--budget", budget, *quietly]
    with file.with_suffix(".log").open("w") as log:
        subprocess.run(run, stdout=log, stderr=log, check=True)
    report = [toll, "report", str(file.resolve()), "--json"]
    answer = subprocess.run(report, stdout=subprocess.PIPE, check=True)
    file.with_suffix(".json").write_bytes(answer.stdout)


Run = dict[str, Any]  # as `toll report --json` tells it
Pair = tuple[str, str, bool]  # the table; the contender that has a twin; whether they are called different


def pairs_of(run: Run) -> Iterator[Pair]:
    """Each pair of twins of each table, where both rows are grouped."""
    for workload in run["workloads"]:
        rows: dict[tuple[str, str, str], Run] = {}
        for row in workload["rows"]:
            setting = json.dumps({name: row["parameters"][name] for name in workload["swept"]})
            rows[row["contender"], row["environment"], setting] = row
        for (name, environment, setting), row in rows.items():
            twin = rows.get((name + TWIN, environment, setting))
            if twin and row["tie_groups"] and twin["tie_groups"]:
                together = set(row["tie_groups"]) & set(twin["tie_groups"])
                yield f"{workload['workload']} {environment} {setting}", name, not together


def tell(number: int, run: Run) -> None:
    pairs = list(pairs_of(run))
    tables = {table for table, _, _ in pairs}
    wrong = [(table, name) for table, name, different in pairs if different]
    print(
        f"run {number}: {len(pairs)} pairs in {len(tables)} tables; called different: {wrong or 'none'}",
        flush=True,
    )


def summary(runs: list[Run]) -> None:
    tables: dict[str, list[bool]] = defaultdict(list)
    blamed: Counter[tuple[str, str]] = Counter()
    pairs = 0
    for run in runs:
        of_run: dict[str, bool] = defaultdict(bool)
        for table, name, different in pairs_of(run):
            pairs += 1
            of_run[table] |= different
            blamed[table, name] += different
        for table, different in of_run.items():
            tables[table].append(different)
    judged = [different for found in tables.values() for different in found]
    print(f"{len(runs)} runs, {pairs} pairs of twins; tables in which a pair is called different:")
    print(f"{sum(judged)} of {len(judged)}: {sum(judged) / max(1, len(judged)):.1%} (bar 5 %)")
    for (table, name), times in blamed.most_common():
        if times:
            print(f"  {times} of {len(tables[table])} runs: {table} {name}")


if __name__ == "__main__":
    sys.exit(main())
