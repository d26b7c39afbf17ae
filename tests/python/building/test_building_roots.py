"""Making, entering and removing roots. What makes a real one, mmdebstrap, is played by a script here."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from checkouts import ROOT
from tollbench.building import making_roots as making
from tollbench.catalog import environments
from tollbench.catalog.environments import compilers, roots
from tollbench.catalog.environments.probing import Inside, probe
from tollbench.errors import TollError
from tollbench.interpreters import interpreter_with_path

DEBIAN = roots.recipe("debian13")
MIRROR = "http://mirror.invalid/debian"
# Stands for every program inside: says how it was called, with what environment, and what it sees.
INSIDE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
int main(int argc, char** argv) {
  const char* last = argc > 1 ? argv[argc - 1] : "";
  if (std::strcmp(last, "show") == 0) {
    std::printf("pid %d, proc %s, checkout %s, preload %s\\n", getpid(),
                access("/proc/self/stat", R_OK) == 0 ? "yes" : "no",
                access(argv[argc - 2], R_OK) == 0 ? "yes" : "no",
                std::strstr(argv[1], "LD_PRELOAD=") ? argv[1] : "none");
  }
  return 0;
}
"""


def can_unshare() -> bool:
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "true"], capture_output=True, check=False)
    return done.returncode == 0


needs_namespaces = pytest.mark.skipif(
    not can_unshare(), reason="this machine lets nobody unshare namespaces: a container without the rights"
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a file system in which one static program stands for all."""
    folder = tmp_path_factory.mktemp("system")
    system = folder / "system"
    for name in ("usr/bin", "proc", "sys", "dev", "tmp", "var/lib/dpkg", "locked"):
        (system / name).mkdir(parents=True)
    compiler = shutil.which("g++") or shutil.which("c++") or ""
    (folder / "inside.cpp").write_text(INSIDE)
    subprocess.run(
        [compiler, "-static", "-O1", str(folder / "inside.cpp"), "-o", str(system / "usr/bin/true")],
        check=True,
    )
    shutil.copy(system / "usr/bin/true", system / "usr/bin/env")
    (system / "dev/null").write_text("a device, which no user could make")
    (system / "var/lib/dpkg/status").write_text(
        "Package: libc6\nStatus: install ok installed\nVersion: 2.41-12\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
    )
    (system / "locked/file").touch()
    (system / "locked").chmod(0o500)
    subprocess.run(["tar", "-cf", str(folder / "system.tar"), "-C", str(system), "."], check=True)
    return folder / "system.tar"


def may_mount() -> bool:
    words = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


needs_mounts = pytest.mark.skipif(not may_mount(), reason="needs the right to mount")


@pytest.fixture
def maker(tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mmdebstrap that writes the archive and notes how it was called; the cache is a folder of the test."""
    tools = tmp_path / "tools"
    tools.mkdir()
    script = tools / "mmdebstrap"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> "{tmp_path}/calls"\necho "I: downloading packages with apt..." >&2\n'
        f'cat "{archive}"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return script


def left_behind(tmp_path: Path) -> list[str]:
    folder = tmp_path / "cache/toll/roots"
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock") if folder.exists() else []


def test_a_root_is_made_once_and_removed(maker: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    assert making.make(DEBIAN, mirror=MIRROR, on_line=heard.append)
    assert heard == ["I: downloading packages with apt..."]
    assert roots.is_made("debian13")
    folder = roots.place("debian13")
    assert (folder / "root/usr/bin/true").is_file()
    assert not (folder / "root/dev/null").exists()
    assert making.size_bytes("debian13") > 100_000
    assert json.loads((folder / "made.json").read_text())["mirror"] == MIRROR
    assert not making.make(DEBIAN, mirror=MIRROR)
    assert (tmp_path / "calls").read_text().count("\n") == 1
    assert making.remove("debian13")
    assert left_behind(tmp_path) == []
    assert not making.remove("debian13")
    assert making.make(DEBIAN, mirror=MIRROR)


def test_a_root_of_other_packages_is_made_anew(maker: Path, tmp_path: Path) -> None:
    making.make(DEBIAN, mirror=MIRROR)
    stamp = roots.place("debian13") / "made.json"
    made = json.loads(stamp.read_text())
    made["recipe"]["packages"].pop()
    stamp.write_text(json.dumps(made))
    assert not roots.is_made("debian13")
    assert making.make(DEBIAN, mirror=MIRROR)
    assert left_behind(tmp_path) == ["debian13"]


@pytest.mark.parametrize("link", [True, False])
def test_what_toll_did_not_make_is_neither_replaced_nor_removed(
    maker: Path, tmp_path: Path, *, link: bool
) -> None:
    mine = tmp_path / "mine"
    (mine / "thesis").mkdir(parents=True)
    (mine / "thesis/one.txt").write_text("a year")
    (mine / "thesis").chmod(0o500)
    place = roots.place("debian13")
    place.parent.mkdir(parents=True)
    if link:
        place.symlink_to(mine)
    else:
        mine.rename(place)
        mine = place
    (place.parent / ".making-linked").symlink_to(mine)
    for attempt in (lambda: making.make(DEBIAN, mirror=MIRROR), lambda: making.remove("debian13")):
        with pytest.raises(TollError, match="nothing that toll made"):
            attempt()
    assert (mine / "thesis/one.txt").read_text() == "a year"
    assert (mine / "thesis").stat().st_mode & 0o777 == 0o500


def test_what_is_asked_of_mmdebstrap() -> None:
    words = making.command(DEBIAN, MIRROR)
    assert f"deb {MIRROR} trixie main" in words
    assert f"deb [check-valid-until=no] {MIRROR} testing main" in words
    assert '--aptopt=APT::Default-Release "trixie"' in words  # testing is for what nothing else has
    (included,) = (word for word in words if word.startswith("--include="))
    assert {"seastar-dev", "g++", "cmake"} <= set(included.removeprefix("--include=").split(","))


def test_testing_may_be_past_its_date_and_brings_the_compilers_that_it_has() -> None:
    words = making.command(roots.recipe("debian-testing"), MIRROR)
    assert f"deb [check-valid-until=no] {MIRROR} testing main" in words
    (included,) = (word for word in words if word.startswith("--include="))
    patterns = [word[2:] for word in included.split(",") if word.startswith("~n")]
    offered = ["g++-12", "g++-13", "g++-16", "g++-16-multilib", "clang-9", "clang-21", "clang-21-doc"]
    assert [name for name in offered if any(re.search(pattern, name) for pattern in patterns)] == [
        "g++-13",
        "g++-16",
        "clang-21",
    ]


def test_a_root_is_made_again_of_the_versions_that_another_one_had(maker: Path, tmp_path: Path) -> None:
    making.make(DEBIAN, mirror=MIRROR)
    kept = shutil.copy(roots.place("debian13") / "made.json", tmp_path / "kept.json")
    versions = making.installed(roots.place("debian13") / "root")
    assert versions == {"libc6": "2.41-12"}  # what was taken out again is none of it
    assert json.loads(Path(kept).read_text())["packages"] == versions
    with pytest.raises(TollError, match="versions of all packages"):  # of those that the script leaves out
        making.versions_of(Path(kept), DEBIAN)
    whole = dict.fromkeys((*DEBIAN.packages, *DEBIAN.testing_packages), "1") | versions
    Path(kept).write_text(json.dumps(json.loads(Path(kept).read_text()) | {"packages": whole}))
    assert making.versions_of(Path(kept), DEBIAN) == whole
    with pytest.raises(TollError, match="not of the root debian-testing"):
        making.versions_of(Path(kept), roots.recipe("debian-testing"))
    assert not making.make(DEBIAN, mirror=MIRROR, versions=versions)
    with pytest.raises(TollError, match="of other versions") as raised:
        making.make(DEBIAN, mirror=MIRROR, versions={"libc6": "2.42-1"})
    assert raised.value.next_step.endswith("toll env remove debian13")
    making.remove("debian13")
    assert making.make(DEBIAN, mirror=MIRROR, versions=versions)
    last = (tmp_path / "calls").read_text().splitlines()[-1]
    assert re.findall(r"--include=\S*", last) == ["--include=libc6=2.41-12"]


def test_a_version_that_the_mirror_has_dropped_is_named(maker: Path, tmp_path: Path) -> None:
    maker.write_text("#!/bin/sh\necho \"E: Version '16.1.0-2' for 'g++-16' was not found\" >&2\nexit 1\n")
    with pytest.raises(TollError, match=r"does not have g\+\+-16 16\.1\.0-2") as raised:
        making.make(DEBIAN, mirror=MIRROR, versions={"g++-16": "16.1.0-2"})
    assert "--mirror" in raised.value.next_step
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        "{}",
        "[" * 100_000,
        '{"recipe": RECIPE}',
        '{"recipe": RECIPE, "packages": []}',
        '{"recipe": RECIPE, "packages": {"libc6": 1}}',
        '{"recipe": RECIPE, "packages": {"libc6": "1,evil"}}',
        '{"recipe": RECIPE, "packages": {"libc6": "1-"}}',
        '{"recipe": RECIPE, "packages": {"--hook": "1"}}',
    ],
)
def test_what_tells_no_versions_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    path.write_text(text.replace("RECIPE", json.dumps(roots.described(DEBIAN))))
    with pytest.raises(TollError) as raised:
        making.versions_of(path, DEBIAN)
    assert "made.json" in raised.value.next_step


@needs_namespaces
def test_compilers_in_a_root_have_names_and_those_that_lack_are_told(maker: Path) -> None:
    assert compilers.in_root("debian13") == compilers.in_all_roots() == ()
    making.make(DEBIAN, mirror=MIRROR)
    inside = roots.place("debian13") / "root/usr/bin"
    for name in ("g++-9", "g++-16", "clang++-21", "clang++", "g++-16-multilib"):
        (inside / name).symlink_to("/not/seen/from/outside")
    assert compilers.in_root("debian13") == ("debian13:gcc-9", "debian13:gcc-16", "debian13:clang-21")
    assert compilers.in_all_roots() == compilers.in_root("debian13")
    lacking = environments.located(environments.named("debian13:gcc-17"))
    assert lacking.unavailable == "no g++-17 in the root debian13; it has: gcc-9, gcc-16, clang-21"
    broken = environments.located(environments.named("debian13:gcc-16"))
    assert broken.unavailable.startswith("g++-16 does not work in the root debian13: ")
    assert (broken.toolset.compiler, broken.toolset.folder) == ("/usr/bin/g++-16", "debian13_gcc-16")


def test_a_compiler_is_probed_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    entering = tmp_path / "enter"
    entering.write_text(f'#!/bin/sh\necho "$1" >> "{tmp_path}/entered"\nexec "$@"\n')
    entering.chmod(0o755)
    compiler = shutil.which("g++") or ""
    for _ in range(2):  # the second answer is kept
        found = probe(compiler, (), (), inside=Inside((str(entering),), ""))
        assert (found.reason, found.compiler[:3]) == ("", "GCC")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert probe(compiler, ("-O1",), (), inside=Inside((str(entering),), "")).reason == ""
    entered = (tmp_path / "entered").read_text().splitlines()
    assert not any(Path(line).parent.parent == tmp_path for line in entered)
    entered = entered[:2]
    assert (entered[0], Path(entered[1]).name, len(entered)) == (compiler, "probe", 2)


def test_a_making_that_fails_leaves_nothing_and_says_what_was_said(maker: Path, tmp_path: Path) -> None:
    maker.write_text('#!/bin/sh\necho "E: no such mirror" >&2\nexit 1\n')
    with pytest.raises(TollError, match="E: no such mirror") as raised:
        making.make(DEBIAN, mirror=MIRROR)
    assert "network" in raised.value.next_step
    assert left_behind(tmp_path) == []
    maker.write_text('#!/bin/sh\necho "E: newuidmap failed" >&2\nexit 1\n')
    with pytest.raises(TollError) as raised:
        making.make(DEBIAN, mirror=MIRROR)
    assert "--add-subuids" in raised.value.next_step


def test_an_archive_that_breaks_off_is_no_root(maker: Path, archive: Path, tmp_path: Path) -> None:
    maker.write_text(f'#!/bin/sh\nhead -c 70000 "{archive}"\n')
    with pytest.raises(TollError):
        making.make(DEBIAN, mirror=MIRROR)
    assert left_behind(tmp_path) == []


def test_a_machine_without_debians_lists_is_told_to_name_a_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_asked", lambda *words: "http://other.invalid Ubuntu Ubuntu\n")
    with pytest.raises(TollError) as raised:
        making.host_mirror()
    assert "--mirror" in raised.value.next_step
    monkeypatch.setattr(
        making, "_asked", lambda *words: f"x Debian Debian-Security\n{MIRROR}/ Debian Debian\n"
    )
    assert making.host_mirror() == MIRROR


def start_adding(*, start_new_session: bool = False) -> subprocess.Popen[bytes]:
    """`toll env add` of a root, as a user starts it."""
    return subprocess.Popen(
        interpreter_with_path("-m", "tollbench", "env", "add", "debian13", "--mirror", MIRROR),
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=start_new_session,
    )


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_no_half_root_and_a_rerun_works(
    maker: Path, archive: Path, tmp_path: Path, ending: signal.Signals
) -> None:
    whole = maker.read_text()
    maker.write_text(
        f'#!/bin/sh\ntrap \'touch "{tmp_path}/cleaned"; exit 1\' INT\nhead -c 70000 "{archive}"\n'
        f'touch "{tmp_path}/started"\nwhile :; do sleep 0.1; done\n'
    )
    process = start_adding(start_new_session=True)
    try:
        for _ in range(600):
            if (tmp_path / "started").exists():
                break
            time.sleep(0.1)
        process.send_signal(ending)
        assert process.wait(60) in (130, -ending)
    finally:
        for line in subprocess.run(
            ["pgrep", "-f", str(maker)], capture_output=True, text=True
        ).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line), signal.SIGKILL)  # what the test itself has started
    assert not roots.is_made("debian13")
    if ending is signal.SIGINT:
        assert (tmp_path / "cleaned").exists()
        assert left_behind(tmp_path) == []
    maker.write_text(whole)
    assert making.make(DEBIAN, mirror=MIRROR)
    assert left_behind(tmp_path) == ["debian13"]


def mounts() -> str:
    return Path("/proc/self/mounts").read_text()


@needs_mounts
def test_what_a_killed_making_had_mounted_is_gone(maker: Path, tmp_path: Path) -> None:
    """As mmdebstrap mounts /proc and /sys. Neither it nor what it started goes on."""
    mark = f"9{os.getpid()}"
    maker.write_text(
        '#!/bin/sh\nmkdir "$TMPDIR/proc" && mount -t proc proc "$TMPDIR/proc"\n'
        f'grep -c "$TMPDIR" /proc/self/mounts > "{tmp_path}/mounted"\nsleep {mark} & sleep {mark}\n'
    )
    process = start_adding()
    while not (tmp_path / "mounted").exists() or not (tmp_path / "mounted").read_text():
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    while subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True).stdout:
        time.sleep(0.05)  # without an end where one is left
    assert (tmp_path / "mounted").read_text() == "1\n"
    assert str(tmp_path) not in mounts()


@needs_mounts
def test_a_root_in_which_something_is_mounted_stays(maker: Path) -> None:
    making.make(DEBIAN, mirror=MIRROR)
    inner = roots.place("debian13") / "root/mnt"
    inner.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(inner)], check=True)
    (inner / "thesis").write_text("a year")
    try:
        with pytest.raises(TollError, match="a file system is mounted there"):
            making.remove("debian13")
        (left,) = roots.place("debian13").parent.glob(".making-*")
        assert (left / "root/mnt/thesis").read_text() == "a year"
    finally:
        for line in mounts().splitlines():
            if str(roots.place("debian13").parent) in line:
                subprocess.run(["umount", line.split()[1]], check=True)


def test_a_root_that_is_not_made_says_how_to_make_it(maker: Path) -> None:
    found = environments.located(environments.named("debian13"))
    assert found.unavailable.endswith("next: toll env add debian13")
    assert found.enter == ()


@needs_namespaces
def test_programs_find_themselves_inside(maker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    making.make(DEBIAN, mirror=MIRROR)
    found = environments.located(environments.named("debian13"))
    assert found.unavailable == ""
    assert found.allocator == "glibc 2.41 malloc"
    assert found.root == str(roots.place("debian13"))
    seen = str(ROOT / "CMakeLists.txt")
    command = [*found.enter, "/usr/bin/true", seen, "show"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate(timeout=60)
    # The very process that was started: limits and signals meet the program itself.
    assert said == f"pid {process.pid}, proc yes, checkout yes, preload none\n"
    told = subprocess.run(
        command, env={**os.environ, "TOLL_PRELOAD": "/x.so"}, capture_output=True, text=True, check=True
    )
    assert told.stdout.endswith("preload LD_PRELOAD=/x.so\n")


@needs_namespaces
def test_nothing_of_it_is_mounted_outside(maker: Path) -> None:
    making.make(DEBIAN, mirror=MIRROR)
    found = environments.located(environments.named("debian13"))
    subprocess.run([*found.enter, "/usr/bin/true"], check=True)
    assert str(roots.place("debian13")) not in Path("/proc/self/mountinfo").read_text()


def test_a_root_that_cannot_be_entered_says_what_would_help(
    maker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making.make(DEBIAN, mirror=MIRROR)
    refusing = maker.with_name("unshare")
    refusing.write_text("#!/bin/sh\necho 'unshare: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    found = environments.located(environments.named("debian13"))
    assert "Operation not permitted; next: run toll as root, or allow user namespaces" in found.unavailable
    assert found.enter == ()
