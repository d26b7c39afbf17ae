"""What toll starts, but for programs that the user names, finds nothing in the current folder."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from hostile_folder import HostileFolder
from tollbench.catalog.environments import allocators
from tollbench.catalog.packages import shared_libraries, table
from tollbench.catalog.toolchains import newest_jdk
from tollbench.compare import disturbing
from tollbench.counting import executed
from tollbench.interpreters import interpreter, toll_itself
from tollbench.launching.environment import own_environment
from tollbench.linking.wrapped import WrappedBuild
from tollbench.words import Environment


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileFolder:
    """With every module, and every variable that leads Python there."""
    made = HostileFolder(tmp_path / "hostile")
    made.with_modules()
    for name, value in made.environment().items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize(
    "command",
    [
        interpreter("-c", "import random, json, typer, numpy"),
        interpreter("-S", "-c", "import random, json, ctypes"),
        interpreter("-m", "pip", "--version"),
        toll_itself("--version"),
    ],
    ids=["-c", "-S", "-m", "toll"],
)
def test_an_interpreter_imports_nothing_of_it(command: list[str], hostile: HostileFolder) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert hostile.ran() == []
    assert done.returncode == 0 or "No module named pip" in done.stderr


def test_a_load_that_is_made_on_purpose_imports_nothing_of_it(hostile: HostileFolder) -> None:
    with disturbing.load(min(os.sched_getaffinity(0)), 1) as process:
        spent = Path(f"/proc/{process.pid}/stat")
        # It works: it has left its imports behind when it takes its second tenth of a second.
        while process.poll() is None and sum(map(int, spent.read_text().split()[13:15])) < 20:
            time.sleep(0.02)
        assert process.poll() is None
    assert hostile.ran() == []


def test_asking_an_allocator_imports_nothing_of_it(hostile: HostileFolder) -> None:
    names = table()["tcmalloc"].shared
    if not list(shared_libraries(names)):
        pytest.skip("tcmalloc is not installed")
    found = allocators.preloaded(Environment("tcmalloc"), "tcmalloc")
    assert hostile.ran() == []
    assert found.preload


def test_a_link_that_is_recorded_imports_nothing_of_it(hostile: HostileFolder, tmp_path: Path) -> None:
    """The build command runs in a checkout, a stranger's perhaps: here it is the current folder."""
    (hostile.folder / "main.c").write_text("int main(void) { return 0; }\n")
    build = WrappedBuild(tmp_path / "scratch", "./main")
    command = ["cc", "main.c", "-o", "main"]
    environment = build.environment(own_environment())
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert hostile.ran() == []
    assert not (build.folder / "trouble").exists()
    assert list((build.folder / "links").glob("*/link.json"))


@pytest.mark.skipif(executed.missing_tool() != "", reason="needs Valgrind")
def test_valgrind_takes_no_options_of_it(hostile: HostileFolder) -> None:
    (hostile.folder / ".valgrindrc").write_text("--callgrind:instr-atstart=no\n--log-file=mine\n")
    (hostile.folder / ".valgrindrc").chmod(0o644)
    found = executed.executed(["/bin/true"], own_environment(), hostile.folder, 60.0)
    assert found.addresses
    assert not (hostile.folder / "mine").exists()


def test_a_kit_named_by_a_relative_path_is_no_kit(
    hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = hostile.folder / "kit"
    hostile.program(kit / "bin/javac")
    (kit / "release").write_text('JAVA_VERSION="999.1"\n')
    monkeypatch.setenv("JAVA_HOME", "kit")
    found = newest_jdk()
    assert found is None or found[1] != "999.1"
