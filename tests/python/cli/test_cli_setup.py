"""toll setup: what it asks apt for, and what it says when that is not enough."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from checkouts import Toll
from tollbench.building import languages
from tollbench.catalog import packages
from tollbench.catalog.packages import Need
from tollbench.cli import setup
from tollbench.errors import Exit, TollError

HERE = Need("shell", "build", "a shell", ("dash",), command=("sh",))


def arrives(name: str, folder: Path, group: str = "language", otherwise: str = "") -> Need:
    """A need that is there once a header of its name is."""
    return Need(
        name, group, f"what {name} is for", (f"{name}-pkg",), header=(f"{name}.h",), otherwise=otherwise
    )


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What apt was asked for; apt knows every package but late-pkg, and brings what it is asked for."""
    table = {
        "shell": HERE,
        "one": arrives("one", tmp_path),
        "lib": arrives("lib", tmp_path, "library"),
        "tool": arrives("tool", tmp_path, "test"),
        "late": arrives("late", tmp_path, "language", "{sudo}fetch late"),
    }
    calls: list[list[str]] = []

    def install(needs: Sequence[Need], on_line: object) -> None:
        calls.append([need.name for need in needs])
        for need in needs:
            (tmp_path / f"{need.name}.h").touch()

    monkeypatch.setattr(packages, "table", lambda: table)
    monkeypatch.setattr(packages, "_include_folders", lambda: (tmp_path,))
    monkeypatch.setattr(packages, "_apt_knows", lambda name: name != "late-pkg")
    monkeypatch.setattr(packages, "install", install)
    return calls


def test_only_what_is_missing_is_asked_for(
    asked: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    setup.command(["shell", "one"], languages=False)
    assert asked == [["one"]]
    assert "one.h" in capsys.readouterr().out
    setup.command(["shell", "one"], languages=False)
    assert asked == [["one"]]


def test_what_apt_does_not_have_is_named_with_its_command(asked: list[list[str]]) -> None:
    with pytest.raises(TollError) as failure:
        setup.command([], languages=False)
    assert asked == [["one", "lib"]]  # not what only tests need
    assert "what late is for" in failure.value.what
    assert failure.value.next_step.endswith("fetch late")
    assert failure.value.code is Exit.USAGE, "1 says that something became slower"


def test_a_toolchain_that_is_too_old_is_asked_for_like_one_that_is_missing(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """apt's own is told by its version; of what it would not bring, the other command is."""
    old = replace(HERE, name="rust", packages=("cargo-pkg",), oldest="1.85", otherwise="{sudo}fetch rust")
    monkeypatch.setattr(languages, "too_old", lambda need: "cargo 1.63.0 is older" if need == old else "")
    monkeypatch.setitem(packages.table(), "rust", old)
    for version, brought in (("1.65", []), ("1.96", [["rust"]])):
        monkeypatch.setattr(packages, "_candidate", lambda _name, version=version: version)
        asked.clear()
        with pytest.raises(TollError) as failure:
            setup.command(["rust"], languages=False)
        assert asked == brought
        assert "- rust              cargo 1.63.0 is older" in capsys.readouterr().out
        assert ("comes first on PATH" in failure.value.what) == bool(brought)
    monkeypatch.setattr(packages, "_candidate", lambda _name: "1.65")
    with pytest.raises(TollError) as failure:
        setup.command(["rust"], as_json=True)
    assert json.loads(capsys.readouterr().out)[0]["found"] == ""
    assert failure.value.next_step.endswith("fetch rust")


def test_the_toolchains_alone(asked: list[list[str]]) -> None:
    with pytest.raises(TollError):
        setup.command([], languages=True)
    assert asked == [["one"]]


def test_programs_get_what_was_found(asked: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TollError):
        setup.command(["shell", "one", "late"], as_json=True)
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["shell"]["found"].endswith("/sh")
    assert rows["one"]["found"].endswith("one.h")
    assert rows["late"] == {"name": "late", "group": "language", "purpose": "what late is for", "found": ""}


def test_an_unknown_name_is_a_usage_error_with_the_nearest(toll: Toll) -> None:
    done = toll("setup", "erlng")
    assert done.returncode == Exit.USAGE
    assert "'erlng'" in done.stderr
    assert "erlang" in done.stderr
    assert "Traceback" not in done.stderr
