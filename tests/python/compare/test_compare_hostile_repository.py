"""Looking at a stranger's repository runs nothing that its configuration names."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from hostile_folder import HostileFolder
from tollbench.compare import revisions
from tollbench.compare.revisions import Revision, RevisionBuild
from tollbench.errors import TollError

HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc")


def git(folder: Path, *words: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *settings, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def hostile(tmp_path: Path) -> HostileFolder:
    """A repository with two commits; what it has been set to run stands in `evil`."""
    made = HostileFolder(tmp_path / "hostile")
    git(made.folder, "init", "-q")
    for text in ("one", "two"):
        (made.folder / "file.txt").write_text(text)
        (made.folder / ".gitattributes").write_text("* filter=stranger diff=stranger\n")
        git(made.folder, "add", ".")
        git(made.folder, "commit", "-qm", text)
    made.program(made.folder / ".git/evil")
    return made


def evil_in(hostile: HostileFolder) -> str:
    """As the shell wants it, through which git runs it."""
    return shlex.quote(str(hostile.folder / ".git/evil"))


def watcher(hostile: HostileFolder, evil: str) -> None:
    git(hostile.folder, "config", "core.fsmonitor", evil)


def hooks(hostile: HostileFolder, evil: str) -> None:
    for name in HOOKS:
        hostile.program(hostile.folder / ".git/hooks" / name)


def hooks_elsewhere(hostile: HostileFolder, evil: str) -> None:
    for name in HOOKS:
        hostile.program(hostile.folder / "own-hooks" / name)
    git(hostile.folder, "config", "core.hooksPath", str(hostile.folder / "own-hooks"))


def filters(hostile: HostileFolder, evil: str) -> None:
    for name in ("clean", "smudge", "process", "textconv"):
        git(hostile.folder, "config", f"filter.stranger.{name}", evil)
    git(hostile.folder, "config", "filter.stranger.required", "true")
    for name in ("command", "textconv"):
        git(hostile.folder, "config", f"diff.stranger.{name}", evil)
    git(hostile.folder, "config", "diff.external", evil)
    later = (hostile.folder / "file.txt").stat().st_mtime_ns + 10**12
    os.utime(hostile.folder / "file.txt", ns=(later, later))  # content is looked at


def missing_objects(hostile: HostileFolder, evil: str) -> None:
    """As in a partial clone: what is missing is fetched when it is asked for, as the settings say."""
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", str(hostile.folder)),
        ("remote.origin.uploadpack", evil),
        ("remote.other.url", f"ext::{evil}"),
        ("protocol.ext.allow", "always"),
        ("core.sshCommand", evil),
    ):
        git(hostile.folder, "config", key, value)
    blob = git(hostile.folder, "rev-parse", "HEAD:file.txt")
    (hostile.folder / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()


def submodule(hostile: HostileFolder, evil: str) -> None:
    """A repository inside: its own git reads its own configuration, without what this one was told."""
    inner = hostile.folder / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    for text in ("one", "two"):
        (inner / "inner.txt").write_text(text)
        git(inner, "add", ".")
        git(inner, "commit", "-qm", text)
        git(hostile.folder, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
        (hostile.folder / "file.txt").write_text(f"inner {text}")
        git(hostile.folder, "add", "file.txt")
        git(hostile.folder, "commit", "-qm", f"inner {text}")
    git(hostile.folder, "config", "diff.submodule", "diff")
    for key in ("core.fsmonitor", "diff.external"):
        git(inner, "config", key, evil)


DOORS = [watcher, hooks, hooks_elsewhere, filters, missing_objects, submodule]


@pytest.mark.parametrize("door", DOORS)
def test_looking_runs_nothing(door, hostile: HostileFolder) -> None:
    door(hostile, evil_in(hostile))
    revisions.changed(hostile.folder)
    first, second = revisions.revisions(hostile.folder, ["HEAD~1", "HEAD"])
    hunks = revisions.difference(hostile.folder, first, second)
    assert hostile.ran() == []
    if door is not missing_objects:
        assert hunks


@pytest.mark.parametrize("door", [watcher, hooks, hooks_elsewhere, filters])
def test_checking_out_runs_the_build_command_alone(door, hostile: HostileFolder, tmp_path: Path) -> None:
    door(hostile, evil_in(hostile))
    wanted = revisions.revisions(hostile.folder, ["HEAD~1", "HEAD"])
    recipe = RevisionBuild("cp file.txt built", "./built")
    sides = revisions.built(hostile.folder, wanted, recipe, tmp_path / "scratch")
    assert [(side.base / "built").read_text() for side in sides] == ["one", "two"]
    assert hostile.ran() == []


def test_what_is_changed_is_still_seen(hostile: HostileFolder) -> None:
    filters(hostile, evil_in(hostile))
    assert not revisions.changed(hostile.folder)
    (hostile.folder / "file.txt").write_text("three")
    assert revisions.changed(hostile.folder)


def test_filters_and_settings_of_the_user_stay(
    hostile: HostileFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as those of git-lfs: they are not the repository's."""
    own = tmp_path / "gitconfig"
    own.write_text('[filter "stranger"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    for name, value in (("COUNT", "1"), ("KEY_0", "core.abbrev"), ("VALUE_0", "12")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    wanted = [Revision("HEAD", git(hostile.folder, "rev-parse", "HEAD"))]
    recipe = RevisionBuild("true", "./file.txt")
    (side,) = revisions.built(hostile.folder, wanted, recipe, tmp_path / "scratch")
    assert (side.base / "file.txt").read_text() == "TWO"
    assert not revisions.changed(hostile.folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders away")
def test_a_repository_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.delenv("SUDO_UID", raising=False)
    theirs = tmp_path / "their repository"
    (theirs / "deep").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(theirs)], check=True)
    for path in (theirs, theirs / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(TollError) as caught:
        revisions.revisions(theirs / "deep", ["HEAD", "HEAD"])
    assert f"{theirs} belongs to another user" in caught.value.what
    assert f"safe.directory '{theirs}'" in caught.value.next_step
