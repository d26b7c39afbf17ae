"""A comparison's raw files as hosts send them: held against what was asked, and each read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tollbench.cli import fleet_running
from tollbench.compare.stored import StoredComparison
from tollbench.errors import Exit, TollError
from tollbench.fleet.fleet_folder import FleetFolder, FleetRequest, StoredHost
from tollbench.fleet.fleets import HostRow, HostStatus
from tollbench.fleet.running import sound_comparison

COMMITS = ("1" * 40, "2" * 40)
ROW: dict[str, Any] = {
    "benchmark": "x", "a": "1" * 12, "b": "2" * 12, "ratio": 1.0, "low": 0.999, "high": 1.001, "level": 0.95,
    "verdict": "no_difference", "launches": 9, "seconds": 1.0, "reason": "", "regression": False,
}  # fmt: skip


def folder(path: Path, *names: str, **changes: object) -> FleetFolder:
    hosts = [
        StoredHost(name=name, ssh=name, python="python3", toll="", engine="ssh", access=()) for name in names
    ]
    words = ["compare", "--build", "make", "--program", "--threshold", "--threshold", "0.02", "--raw", "x"]
    usual = {"run": COMMITS[0], "kind": "compare", "words": words, "revisions": COMMITS, "limit_s": 1.0,
             "wait_s": 0.0, "sources": "x", "version": "1", "hosts": hosts}  # fmt: skip
    return FleetFolder.create(path, FleetRequest.model_validate(usual | changes))


def raw(path: Path, **changes: Any) -> Path:
    head: Mapping[str, Any] = {"kind": "command", "sides": ["1" * 12, "2" * 12], "level": 0.95,
                               "threshold": 0.02} | changes  # fmt: skip
    found = {"comparisons": [ROW], "seconds": 1.0, **head}
    path.write_text(json.dumps({"toll_compare": 1, **head}) + "\n" + json.dumps({"found": found}) + "\n")
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sides": ["1" * 12, "3" * 12]}, "other revisions"),
        ({"sides": ["1" * 12, "2" * 12, "2" * 12]}, "other revisions"),
        ({"threshold": 0.5}, "another threshold or level"),
        ({"level": 0.5}, "another threshold or level"),
    ],
)
def test_a_comparison_that_was_not_asked_for_is_refused(tmp_path, changes, said):
    asked = folder(tmp_path / "fleet", "one")
    sound_comparison(asked.request, raw(tmp_path / "one.jsonl"), "one", asked.request.shares())
    with pytest.raises(TollError, match=said):
        sound_comparison(asked.request, raw(tmp_path / "one.jsonl", **changes), "one", asked.request.shares())
    asked.close()


def test_a_part_is_judged_at_the_level_that_all_parts_need(tmp_path):
    asked = folder(tmp_path / "fleet", "one", "two", spread=True)
    sound_comparison(asked.request, raw(tmp_path / "one.jsonl", level=0.975), "one", asked.request.shares())
    with pytest.raises(TollError, match="another threshold or level"):
        sound_comparison(asked.request, raw(tmp_path / "one.jsonl"), "one", asked.request.shares())
    asked.close()


def test_a_commit_that_was_named_twice_is_two_sides(tmp_path):
    asked = folder(tmp_path / "fleet", "one", revisions=(COMMITS[0], COMMITS[0]))
    sides = ["1" * 12, "1" * 12 + " (2)"]
    sound_comparison(asked.request, raw(tmp_path / "one.jsonl", sides=sides), "one", asked.request.shares())
    asked.close()


def test_a_damaged_file_hides_no_other_hosts_answer_and_each_is_read_once(tmp_path, monkeypatch, capsys):
    fleet = folder(tmp_path / "fleet", "one", "two", "three", "four")
    for host in ("one", "two", "three", "four"):
        path = raw(fleet.path / f"{host}.jsonl")
        fleet.set(HostRow(host=host, status=HostStatus.OK, run=COMMITS[0], file=path.name))
    fleet.close()
    (fleet.path / "three.jsonl").write_text("nonsense\n")
    (fleet.path / "four.jsonl").unlink()
    read: list[Path] = []
    reading = StoredComparison.read

    def counted(path):
        read.append(path)
        return reading(path)

    monkeypatch.setattr(StoredComparison, "read", counted)
    assert fleet_running.told(str(fleet.path), as_json=True) is Exit.INCONCLUSIVE
    assert len(read) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["threshold"] == 0.02
    assert [host["host"] for host in found["benchmarks"][0]["hosts"]] == ["one", "two"]
    told = {row["host"]: (row["status"], row["reason"]) for row in found["fleet"]["hosts"]}
    assert (told["one"], told["three"][0], told["four"][0]) == (("ok", ""), "refused", "refused")
    assert "three.jsonl" in told["three"][1]
    assert "four.jsonl" in told["four"][1]
    fleet_running.told(str(fleet.path), as_json=False)
    assert "Go on with what is missing" in capsys.readouterr().out
