"""The start script, with an interpreter that only pretends: no network, no minute of installing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from process_limits import at_most, needs_another_user

ROOT = Path(__file__).resolve().parents[3]

# Plays python3, venv and pip: writes what it was asked to do, and copies itself as the environment's python.
PRETENDER = """#!/bin/sh
[ "$1" = -I ] || {{ echo "the current folder is on Python's path: $*" >&2; exit 9; }}
shift
case "$*" in
-c*) exit 0 ;;
"-m venv"*)
    echo "venv $3" >> "{log}"
    for folder; do :; done
    mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python" ;;
"-m pip install"*)
    case "$*" in
    *--require-hashes*"-r "*requirements*.lock) echo pip >> "{log}" ;;
    *) echo "pip without hashes: $*" >> "{log}" ;;
    esac
    sleep "${{PIP_TAKES:-0}}"
    [ -z "${{PIP_FAILS:-}}" ] || {{ echo "no such mirror" >&2; exit 1; }} ;;
*/tollbench/__main__.py*) of=${{1%/tollbench/*}} && shift && echo "toll($*) of $of" ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
"""


class Checkout:
    """A checkout with nothing but the start script and the lock files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder.parent / "log"
        folder.mkdir()
        shutil.copy2(ROOT / "toll", folder / "toll")
        for name in ("requirements.lock", "requirements-test.lock"):
            (folder / name).write_text(f"{name}\n")
        self.python = folder.parent / "pretender"
        self.python.write_text(PRETENDER.format(log=self.log))
        self.python.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "TOLL_PYTHON": str(self.python), **more}

    def start(self, *arguments: str, script: Path | None = None, cwd: Path | None = None, **more: str):
        return subprocess.run(
            [str(script or self.folder / "toll"), *arguments],
            cwd=cwd or self.folder,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            check=False,
        )

    def done(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def fresh(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "check out")


def test_the_first_start_makes_the_environment_and_hands_over(fresh):
    done = fresh.start("list", "--json", "a b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"toll(list --json a b) of {fresh.folder}/python\n"
    assert fresh.done() == ["venv --clear", "pip"]


def test_later_starts_make_nothing(fresh):
    fresh.start("list")
    assert fresh.start("list").returncode == 0
    assert fresh.start("run").returncode == 0
    assert fresh.done() == ["venv --clear", "pip"]


def test_it_starts_through_a_symbolic_link_and_from_anywhere(fresh, tmp_path):
    link = tmp_path / "a link"
    link.symlink_to(fresh.folder / "toll")
    done = fresh.start("list", script=link, cwd=Path("/"))
    assert done.stdout == f"toll(list) of {fresh.folder}/python\n"


def test_an_interrupted_install_is_done_again(fresh):
    failed = fresh.start("list", PIP_FAILS="1")
    assert failed.returncode == 2
    assert "no such mirror" in failed.stderr
    assert "could not install requirements.lock" in failed.stderr
    assert failed.stdout == ""
    assert fresh.start("list").returncode == 0
    assert fresh.done() == ["venv --clear", "pip", "venv --clear", "pip"]


def test_a_changed_lock_is_installed_into_the_environment_in_use(fresh):
    fresh.start("list")
    (fresh.folder / "requirements.lock").write_text("changed\n")
    assert fresh.start("list").returncode == 0
    assert fresh.done()[2:] == [f"venv {fresh.folder}/.venv", "pip"]


def test_another_interpreter_means_another_environment(fresh):
    fresh.start("list")
    python = fresh.folder / ".venv/bin/python"
    moved = fresh.folder / ".venv/bin/python3.99"
    python.rename(moved)
    python.symlink_to(moved)
    assert fresh.start("list").returncode == 0
    assert fresh.done()[2:] == ["venv --clear", "pip"]


def test_tests_need_more_and_their_environment_serves_all(fresh):
    fresh.start("list")
    assert fresh.start("test").returncode == 0
    assert fresh.done()[2:] == [f"venv {fresh.folder}/.venv", "pip"]
    fresh.start("list")
    fresh.start("test")
    assert len(fresh.done()) == 4


def test_two_starts_at_once_install_once(fresh):
    command = [str(fresh.folder / "toll"), "list"]
    both = [
        subprocess.Popen(command, env=fresh.environment(PIP_TAKES="1"), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1] == f"toll(list) of {fresh.folder}/python\n"
    assert fresh.done() == ["venv --clear", "pip"]


def test_starts_that_need_different_packages_make_one_environment_after_the_other(fresh):
    both = [
        subprocess.Popen(
            [str(fresh.folder / "toll"), word],
            env=fresh.environment(PIP_TAKES="1"),
            stdout=subprocess.DEVNULL,
        )
        for word in ("list", "test")
    ]
    assert [process.wait() for process in both] == [0, 0]
    done = fresh.done()
    assert done[:2] == ["venv --clear", "pip"]
    assert done[2:] in ([], [f"venv {fresh.folder}/.venv", "pip"])  # nothing where the test's came first


def test_a_lost_lock_file_is_named(fresh):
    (fresh.folder / "requirements.lock").unlink()
    done = fresh.start("list")
    assert done.returncode == 2
    assert "requirements.lock" in done.stderr
    assert "git checkout" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_checkout_that_is_read_only_is_named(fresh, tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    done = subprocess.run(
        [str(fresh.folder / "toll"), "list"],
        env=fresh.environment(),
        user=65534,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "read-only" in done.stderr
    assert "next:" in done.stderr
    assert fresh.done() == []


def bare_machine(fresh: Checkout, tmp_path: Path, user: int, apt: str) -> subprocess.CompletedProcess[str]:
    """Starts where PATH holds only what the script itself needs: no python3, no sudo."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("readlink", "dirname", "sha256sum", "flock", "cut", "rm", "mv", "mkdir", "cp", "sleep"):
        (tools / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    for name, text in (("id", f"echo {user}"), ("apt-get", apt)):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    script = (fresh.folder / "toll").read_text().replace("/usr/bin/python3", "/nowhere/python3")
    (fresh.folder / "toll").write_text(script)
    return subprocess.run(
        ["/bin/sh", str(fresh.folder / "toll"), "list"],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_python_a_user_is_told_the_one_command(fresh, tmp_path):
    done = bare_machine(fresh, tmp_path, 1000, "exit 0")
    assert done.returncode == 2
    assert "sudo apt-get install -y python3 python3-venv" in done.stderr


def test_without_python_root_gets_it_installed(fresh, tmp_path):
    brings = f'cp "{fresh.python}" "{tmp_path}/tools/python3"'
    apt = f'echo "apt-get $*" >> "{fresh.log}"; [ "$1" = update ] || {brings}'
    done = bare_machine(fresh, tmp_path, 0, apt)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"toll(list) of {fresh.folder}/python\n"
    update, install, *rest = fresh.done()
    assert update.startswith("apt-get update")
    assert install.endswith("python3 python3-venv")
    assert rest == ["venv --clear", "pip"]


def test_an_apt_that_fails_is_named(fresh, tmp_path):
    done = bare_machine(fresh, tmp_path, 0, "echo no network >&2; exit 100")
    assert done.returncode == 2
    assert "no network" in done.stderr
    assert "could not install python3 python3-venv" in done.stderr


@needs_another_user
@pytest.mark.parametrize("most", range(1, 10))
def test_a_limit_of_processes_is_no_reason_to_make_another_environment(fresh, most):
    fresh.start("list")
    before = fresh.done()
    done = subprocess.run(
        at_most(most, str(fresh.folder / "toll"), "list"),
        env=fresh.environment(),
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert fresh.done() == before
    if most > 4:
        assert done.stdout == f"toll(list) of {fresh.folder}/python\n"
    elif done.returncode != 0:  # the shell's own word, or ours
        assert done.returncode == 2
        assert "fork" in done.stderr or "raise the limit: ulimit -u" in done.stderr
