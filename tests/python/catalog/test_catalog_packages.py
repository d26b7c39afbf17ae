"""The table of system packages, and what is done about missing ones."""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tollbench.catalog import libraries, managers, packages, suites
from tollbench.catalog.packages import Need
from tollbench.errors import TollError

ROOT = Path(__file__).resolve().parents[3]
ABSENT = Need(
    "unheard", "library", "what nobody has", ("libunheard-dev",), ("no-such-command",), ("no/such.h",)
)
# A property of the compiler and the processor, and what a library was built with: CMake alone finds out.
NO_PACKAGE = {"atomic_16_bytes", "libcoro_io"}


def test_every_need_of_a_contender_is_in_the_table_and_has_a_find_file():
    for workload in suites.load(ROOT):
        for contender in workload.contenders:
            for need in contender.needs:
                assert need in packages.table() or need in NO_PACKAGE
                if contender.language == "C++":
                    assert (ROOT / f"cmake/contenders/{need}.cmake").is_file()


def test_the_table_is_well_formed():
    raw = tomllib.loads(packages.TABLE.read_text())
    for name, entry in raw.items():
        looks = {"command", "header", "library", "shared", "jdk", "file"}
        assert set(entry) <= looks | {
            "group",
            "purpose",
            "packages",
            "otherwise",
            "elsewhere",
            "after",
            "oldest",
        }, name
        assert set(entry.get("after", ())) <= set(raw), name
        assert not re.search(r"\b(apt|apt-get|dnf|pacman) ", entry.get("otherwise", "")), name
        assert set(entry.get("elsewhere", {})) <= {"dnf", "pacman", "zypper", "apk"}, name
        assert entry["group"] in ("build", "library", "language", "root", "extra", "step", "test"), name
        assert any(entry.get(key) for key in looks - {"library"}), name
    assert {need.name for need in packages.group("build")} >= {"cmake", "ninja", "cxx", "json"}


def test_a_command_or_a_header_is_found(tmp_path, monkeypatch):
    assert Need("shell", "test", "", (), command=("no-such", "sh")).found() in ("/bin/sh", "/usr/bin/sh")
    (tmp_path / "unheard").mkdir()
    (tmp_path / "unheard/of.h").write_text("")
    monkeypatch.setattr(packages, "_include_folders", lambda: (tmp_path,))
    assert Need("h", "library", "", (), header=("unheard/of.h",)).found() == str(tmp_path / "unheard/of.h")
    both = Need("h", "library", "", (), header=("unheard/of.h",), library=("libunheard",))
    monkeypatch.setattr(packages, "_library_folders", lambda: (tmp_path,))
    assert both.found() is None  # the header alone does not link
    (tmp_path / "libunheard.a").write_text("")
    assert both.found() == str(tmp_path / "unheard/of.h")
    assert ABSENT.found() is None
    assert packages.missing([ABSENT]) == (ABSENT,)


def test_a_file_is_found_by_any_of_its_patterns(tmp_path):
    fonts = Need("fonts", "test", "", (), file=(f"{tmp_path}/*/*.otf", f"{tmp_path}/*/*.ttf"))
    assert fonts.found() is None
    (tmp_path / "serif").mkdir()
    (tmp_path / "serif/plain.ttf").write_text("")
    assert fonts.found() == str(tmp_path / "serif/plain.ttf")


def test_of_alternatives_the_one_that_this_release_has(monkeypatch):
    monkeypatch.setattr(packages, "_apt_knows", lambda name: name == "b")
    assert packages.package_names([Need("x", "library", "", ("a|b|c", "d"))]) == ("b", "d")
    monkeypatch.setattr(packages, "_apt_knows", lambda name: False)
    assert packages.package_names([Need("x", "library", "", ("a|b",)), Need("y", "", "", ("a",))]) == ("a",)


@pytest.mark.parametrize(("user", "command"), [(0, "apt-get install"), (1000, "sudo apt-get install")])
def test_the_one_command_to_type(monkeypatch, user, command):
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert packages.command_for([ABSENT]) == f"{command} -y libunheard-dev"


def test_who_may_not_install_is_told_the_command(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TollError) as raised:
        packages.install([ABSENT], print)
    assert "unheard (what nobody has)" in raised.value.what
    assert raised.value.next_step == "sudo apt-get install -y libunheard-dev"


def test_apt_failing_is_told_with_its_own_words(monkeypatch):
    asked: list[list[str]] = []

    def apt(command):
        asked.append(command)
        return subprocess.CompletedProcess(command, 100, "", "E: Unable to locate package libunheard-dev\n")

    monkeypatch.setattr(packages, "_privilege", list)
    monkeypatch.setattr(packages, "_apt_knows", functools.cache(lambda name: False))
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get")
    monkeypatch.setattr(packages, "_apt", apt)
    with pytest.raises(TollError, match="Unable to locate package"):
        packages.install([ABSENT], lambda line: None)
    assert [command[1] for command in asked] == ["update", "install", "update", "install"]


def test_an_absent_library_is_named_with_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "table", lambda: {"unheard": ABSENT})
    (workload, *_) = suites.load(ROOT)
    contender = workload.contenders[0]
    reason = libraries.why_unavailable(replace(contender, needs=("unheard", "unknown_to_the_table")))
    assert "unheard not found" in reason
    assert "libunheard-dev" in reason
    assert libraries.why_unavailable(replace(contender, needs=())) == ""


def test_an_extra_is_told_and_never_brought_unasked(monkeypatch):
    """What apt does not know would fail the call that brings the others; what it knows may be had by name."""
    (workload, *_) = suites.load(ROOT)
    extra = replace(ABSENT, group="extra")
    monkeypatch.setattr(libraries, "table", lambda: {"unheard": extra})
    assert libraries.why_unavailable(replace(workload.contenders[0], needs=("unheard",))) == ""
    for offered in (True, False):
        monkeypatch.setattr(packages, "_apt_knows", lambda name, offered=offered: offered)
        assert packages.by_offer([extra]) == (([extra], []) if offered else ([], [extra]))
    assert packages.command_for([extra]) == "apt has no package that toll knows of for unheard"


@pytest.mark.parametrize(("told", "knows"), [("g++-15", True), ("clang-15-doc", False)])
def test_apt_is_believed_about_the_very_package(told, knows, monkeypatch):
    """It takes a name with a plus that it does not know for a pattern, and tells of what matches."""
    answer = f"{told}:\n  Installed: (none)\n  Candidate: 1:15.0.6-4\n"
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(packages, "run_tool", lambda words: subprocess.CompletedProcess(words, 0, answer, ""))
    packages._on_offer.cache_clear()
    try:
        assert packages._apt_knows("g++-15") is knows
    finally:
        packages._on_offer.cache_clear()


def test_apt_is_asked_about_all_packages_of_the_table_at_once(monkeypatch):
    """Each call of it reads its whole index: fifteen calls were seven seconds of `toll doctor`."""
    asked: list[list[str]] = []

    def run_tool(words):
        asked.append(words)
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(packages, "run_tool", run_tool)
    packages._on_offer.cache_clear()
    try:
        packages.package_names(packages.table().values())
        packages.by_offer(packages.table().values())
    finally:
        packages._on_offer.cache_clear()
    assert [words[:2] for words in asked] == [["apt-cache", "policy"]]


def test_headers_are_looked_for_where_the_build_looks_too(tmp_path, monkeypatch):
    (tmp_path / "own/include/no").mkdir(parents=True)
    (tmp_path / "own/include/no/such.h").write_text("")
    packages._include_folders.cache_clear()
    monkeypatch.setenv("CMAKE_PREFIX_PATH", f"{tmp_path}/none:{tmp_path}/own")
    try:
        assert replace(ABSENT, command=()).found() == str(tmp_path / "own/include/no/such.h")
    finally:
        packages._include_folders.cache_clear()


CLONES = [need for need in packages.table().values() if "git clone" in need.otherwise]


@pytest.mark.parametrize("need", CLONES, ids=lambda need: need.name)
def test_what_is_cloned_is_one_commit(need):
    assert re.search(r"checkout -q [0-9a-f]{40}\b", need.otherwise)


DOWNLOADS = [need for need in packages.table().values() if "curl" in need.otherwise]


@pytest.mark.parametrize("sound", [True, False])
def test_what_is_downloaded_is_run_only_if_its_hash_is_right(sound, tmp_path, monkeypatch):
    """What stands in for rustup leaves a file where it is told, and is told a version."""
    rustup, tools = tmp_path / "rustup", tmp_path / "tools"
    tools.mkdir()
    rustup.write_text('#!/bin/sh\nmkdir "$HOME/.cargo"; echo "$*" > "$HOME/said"; : > "$HOME/.cargo/env"\n')
    (tools / "curl").write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "$RUSTUP" "$2"\n')
    (tools / "curl").chmod(0o755)
    command = packages.table()["rust"].otherwise.format(sudo="")
    if sound:
        command = re.sub(
            r"sum=[0-9a-f]{64}", f"sum={hashlib.sha256(rustup.read_bytes()).hexdigest()}", command
        )
    changed = {"PATH": f"{tools}:/usr/bin:/bin", "RUSTUP": str(rustup), "HOME": str(tmp_path)}
    for name, value in (changed | {"TMPDIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if "no rustup is known" in done.stderr:
        pytest.skip("no download is known for this kind of machine")
    assert (done.returncode == 0) is sound, done.stderr
    assert (tmp_path / "said").exists() is sound
    assert not sound or "--default-toolchain 1." in (tmp_path / "said").read_text()


@pytest.mark.parametrize("sound", [True, False])
def test_what_is_downloaded_is_unpacked_only_if_its_hash_is_right(sound, tmp_path, monkeypatch):
    """What stands in for curl brings an archive; only the one whose hash the command knows is unpacked."""
    need = packages.table()["jdk"]
    content, target, tools = (tmp_path / name for name in ("content", "target", "tools"))
    for folder in (content / "jdk/bin", tools):
        folder.mkdir(parents=True)
    (content / "jdk/bin/javac").write_text("x")
    archive = tmp_path / "a.tar.gz"
    subprocess.run(["tar", "czf", archive, "-C", content, "jdk"], check=True)
    curl = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "$ARCHIVE" "$2"\n'
    (tools / "curl").write_text(curl)
    (tools / "curl").chmod(0o755)
    command, places = re.subn(r"/usr/lib/jvm/[\w-]+", str(target), need.otherwise.format(sudo=""))
    assert places >= 2
    if sound:
        right = hashlib.sha256(archive.read_bytes()).hexdigest()
        command = re.sub(r"sum=[0-9a-f]{64}", f"sum={right}", command)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("ARCHIVE", str(archive))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(tmp_path.iterdir())
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if "no JDK is known" in done.stderr:
        pytest.skip("no download is known for this kind of machine")
    assert (done.returncode == 0) is sound, done.stderr
    assert set(tmp_path.iterdir()) - before == ({target} if sound else set())
    assert (target / "bin/javac").exists() is sound


def test_there_is_a_download_and_none_without_a_hash():
    assert DOWNLOADS
    for need in DOWNLOADS:
        assert re.search(r"[0-9a-f]{64}", need.otherwise)
        assert "latest" not in need.otherwise
        assert not re.search(r"(curl|wget)[^;]*\|", need.otherwise)


@pytest.mark.parametrize("manager", managers.MANAGERS, ids=lambda manager: manager.name)
def test_every_manager_brings_what_a_run_cannot_do_without(manager):
    if manager is not managers.APT:
        assert all(manager.name in need.elsewhere for need in packages.group("build"))


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("apt-get", "apt-get install -y cmake g++"),
        ("dnf", "dnf install -y cmake gcc-c++"),
        ("pacman", "pacman -S --needed cmake gcc"),
        ("zypper", "zypper install -y cmake gcc-c++"),
        ("apk", "apk add cmake g++"),
    ],
)
def test_the_line_is_that_of_the_manager_that_is_here(monkeypatch, program, command):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == program else None)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    table = packages.table()
    assert packages.command_for([table["cmake"], table["cxx"]]) == f"sudo {command}"


def test_what_a_manager_has_no_name_for_is_told_and_nothing_is_run(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/sbin/apk" if name == "apk" else None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(packages, "run_tool", lambda *_, **__: pytest.fail("a tool was run"))
    table = packages.table()
    with pytest.raises(TollError) as error:
        packages.install([table["cmake"], table["robin_map"]], lambda _line: None)
    told = error.value.next_step
    assert told == "apk add cmake; apk has no package that toll knows of for robin_map"


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("apt", "apt-get install -y libhwloc-dev libasio-dev libboost1.81-dev"),
        ("dnf", "dnf install -y hwloc-devel asio-devel boost-devel"),
    ],
)
def test_what_is_built_by_hand_is_built_upon_this_systems_packages(monkeypatch, name, install) -> None:
    monkeypatch.setattr(
        packages, "manager", lambda: next(one for one in managers.MANAGERS if one.name == name)
    )
    monkeypatch.setattr(packages, "_apt_knows", lambda _name: True)
    monkeypatch.setattr(packages, "_include_folders", tuple)
    first, then = packages.command_for([packages.table()["hpx"]]).split(" && ", 1)
    assert first.removeprefix("sudo ") == install
    assert then.startswith("git clone")


@pytest.mark.parametrize(
    ("name", "offered", "told"),
    [
        ("apt", {"cargo": "1.75.0+dfsg0-1"}, "sh -c "),
        ("apt", {"cargo": "0.66.0+ds1-1", "cargo-web": "1.96.0+dfsg1-1~deb12u2"}, "install -y cargo-web"),
        ("apt", {"cargo": "1.85.0+dfsg3-1", "cargo-web": "2:1.78.0"}, "install -y cargo"),
        ("dnf", {}, "sh -c "),
    ],
)
def test_too_old_a_toolchain_is_not_answered_with_what_brings_it_again(
    monkeypatch, name, offered, told
) -> None:
    monkeypatch.setattr(
        packages, "manager", lambda: next(one for one in managers.MANAGERS if one.name == name)
    )
    monkeypatch.setattr(packages, "_candidate", lambda package: offered.get(package, ""))
    rust = packages.table()["rust"]
    command = packages.command_for([packages.newer(rust)])
    assert command.removeprefix("sudo ").startswith(told) or command.endswith(told)
    assert ("curl" in packages.command_for([rust])) == (name == "apt" and told == "sh -c ")


@pytest.mark.parametrize(
    ("version", "too_old"),
    [("1.84.1", True), ("1.85.0-nightly", False), ("2.0", False), ("of unknown version", False), ("1", True)],
)
def test_versions_are_held_against_the_oldest_that_will_do(version, too_old) -> None:
    assert bool(packages.older("cargo", version, packages.table()["rust"])) is too_old
