"""Compilers as environments: what their names say, which are found, and what a first program tells."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tollbench.catalog import environments, managers, packages
from tollbench.catalog.environments import compilers, probing
from tollbench.catalog.environments.names import OPTIONS, taken_apart
from tollbench.errors import TollError

COMPILER = shutil.which("g++") or shutil.which("c++") or ""


@pytest.mark.parametrize(
    ("asked", "name", "folder"),
    [
        ("gcc-11", "gcc-11", "gcc-11"),
        ("clang", "clang", "clang"),
        ("gcc-12-native-O3", "gcc-12-O3-native", "gcc-12-O3-native"),
        ("gcc-12-O2", "gcc-12-O2", "gcc-12"),
        ("clang-19-lto-libc++", "clang-19-libc++-lto", "clang-19-libc++-lto"),
        ("clang-19-libc+++jemalloc", "clang-19-libc+++jemalloc", "clang-19-libc++"),
        ("gcc-12+tcmalloc", "gcc-12+tcmalloc", "gcc-12"),
        ("host-O3", "host-O3", "host-O3"),
        ("host+tcmalloc", "tcmalloc", "host"),
        ("tcmalloc", "tcmalloc", "host"),
        ("host", "host", "host"),
        ("debian13:gcc-14", "debian13:gcc-14", "debian13_gcc-14"),
        (
            "debian-testing:clang-21-O3-libc++",
            "debian-testing:clang-21-libc++-O3",
            "debian-testing_clang-21-libc++-O3",
        ),
    ],
)
def test_a_name_says_what_is_built_and_where(asked: str, name: str, folder: str) -> None:
    environment = environments.named(asked)
    assert (environment.name, environment.toolset.folder) == (name, folder)
    assert environments.named(name) == environment


def test_options_become_flags() -> None:
    made = environments.named("gcc-12-O3-native-assertions").toolset
    assert made.optimization == "-O3"
    assert made.flags == ("-march=native", "-D_GLIBCXX_ASSERTIONS")
    assert environments.named("gcc-12-O2").toolset == environments.named("gcc-12").toolset
    hardened = environments.named("clang-19-libc++-debug").toolset.flags
    assert hardened[0] == "-stdlib=libc++"
    assert hardened[-1] == "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_DEBUG"
    assert environments.named("clang-19-debug").toolset.flags == ("-D_GLIBCXX_DEBUG",)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tcmaloc", "Did you mean tcmalloc?"),
        ("gcc-12-03", "Did you mean -O3?"),
        ("gcc-12-O2-O3", "Leave one of them out"),
        ("gcc-12-debug-assertions", "Leave one of them out"),
        ("gcc-12-libc++", "clang-19-libc++"),
        ("gcc-12-hardened", "-assertions"),
        ("clang-19-libc++-assertions", "-hardened"),
        ("gcc-12+nothing", "There are: "),
        ("gcc-1234", "There are: -"),
        ("gcc-12;rm", "There are: -"),
        ("../gcc-12", "There are: host"),
        ("debian9:gcc-14", "There are: debian13"),
        ("debian13:", "There are: host"),
        ("debian13:tcmalloc", "debian13:gcc-16"),
        ("debian13:host-O3", "debian13:gcc-16"),
        ("debian13:gcc-14+tcmalloc", "debian13:gcc-16"),
        ("debian13:gcc-14-lto", "Leave it out"),
        ("debian13:debian13:gcc-14", "There are: host"),
        ("", "There are: host"),
    ],
)
def test_a_name_that_makes_no_sense_is_refused_with_what_would(name: str, told: str) -> None:
    with pytest.raises(TollError) as raised:
        environments.named(name)
    assert told in raised.value.next_step


def test_names_of_a_run_file_are_added_to_those_on_offer_and_nonsense_is_not() -> None:
    known = [item.name for item in environments.including(["gcc-11", "tcmalloc", "no such", "gcc-11"])]
    assert known == [*environments.names(), "gcc-11"]


def test_every_option_can_be_asked_for() -> None:
    for option in OPTIONS:
        library = "-libc++" if option.library == "libc++" else ""
        name = f"clang-19{library}-{option.name}"
        assert taken_apart(name).has(option.name)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder on PATH besides what a compiler needs; the cache is empty, no package is on offer."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compilers, "candidates", lambda pattern: ())
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    compilers.installed.cache_clear()
    yield folder
    compilers.installed.cache_clear()


def put_compiler(folder: Path, name: str, script: str = "") -> Path:
    """A compiler of that name: this machine's, or a shell script."""
    path = folder / name
    path.write_text(f'#!/bin/sh\n{script or f"PATH={os.defpath} exec {COMPILER}"} "$@"\n')
    path.chmod(0o755)
    return path


def test_compilers_are_found_by_their_version_and_in_order(machine: Path) -> None:
    put_compiler(machine, "clang++-19")
    put_compiler(machine, "g++-9")
    put_compiler(machine, "g++-11")
    put_compiler(machine, "clang++", "echo 7.1.0; exit; true")
    (machine / "g++-13").write_text("not executable")
    (machine / "g++-x").touch()
    assert [item.name for item in compilers.installed()] == ["gcc-9", "gcc-11", "clang-7", "clang-19"]


def test_a_compiler_that_works_tells_its_version(machine: Path) -> None:
    command = put_compiler(machine, "g++-99")
    found = environments.located(environments.named("gcc-99-O3"))
    assert found.unavailable == ""
    assert found.toolset.compiler == str(command)
    assert found.compiler in ("GCC", "Clang")
    assert found.compiler_version[0].isdigit()
    assert found.standard_library.startswith("lib")
    assert found.flags == "-O3"


def test_a_missing_compiler_names_what_brings_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = environments.located(environments.named("gcc-77"))
    assert gone.unavailable.endswith("no package on offer here brings it; next: put g++-77 on PATH")
    monkeypatch.setattr(compilers, "candidates", lambda pattern: ("g++-77", "clang-8", "clang-20"))
    offered = environments.located(environments.named("gcc-77"))
    assert offered.unavailable == "GCC 77 not found; next: sudo apt-get install -y g++-77"
    assert [need.name for need in compilers.offered()] == ["gcc-77", "clang-20"]  # clang-8 is too old


def test_a_compiler_that_does_not_work_says_its_first_error(machine: Path) -> None:
    put_compiler(machine, "clang++-19", "echo note; echo 'x.cpp:1:1: error: no such luck' >&2; exit 1; true")
    found = environments.located(environments.named("clang-19"))
    assert found.unavailable == "x.cpp:1:1: error: no such luck"


def test_a_program_that_is_built_but_does_not_run_is_no_success(machine: Path) -> None:
    put_compiler(
        machine,
        "g++-50",
        'while [ "$1" != -o ]; do shift; done; echo "#!/bin/sh" > "$2"; echo "kill -9 \\$\\$" >> "$2";'
        f" PATH={os.defpath} chmod +x $2; true",
    )
    found = environments.located(environments.named("gcc-50"))
    assert found.unavailable == "a small program ended with signal 9"


def test_answers_are_kept_until_the_compiler_changes(machine: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    counted = f'echo x >> "{calls}"; PATH={os.defpath} exec {COMPILER}'
    put_compiler(machine, "g++-60", counted)
    first = environments.located(environments.named("gcc-60"))
    assert environments.located(environments.named("gcc-60")) == first
    assert calls.read_text() == "x\n"
    (tmp_path / "cache/toll" / probing.FILE).write_text("{ damaged")
    assert environments.located(environments.named("gcc-60")) == first
    assert calls.read_text() == "x\nx\n"
    put_compiler(machine, "g++-60", f"true; {counted}")
    environments.located(environments.named("gcc-60"))
    assert calls.read_text() == "x\nx\nx\n"


@pytest.mark.parametrize(("name", "calls"), [("gcc-60-native", 2), ("gcc-60", 1)])
def test_an_answer_for_native_code_is_that_of_this_processor(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, calls: int
) -> None:
    """As of a virtual machine that wakes up on another host: its name stays."""
    counted = tmp_path / "calls"
    put_compiler(machine, "g++-60", f'echo x >> "{counted}"; PATH={os.defpath} exec {COMPILER}')
    for mark in ("one", "one", "another"):
        monkeypatch.setattr(probing, "processor_mark", lambda mark=mark: mark)
        environments.located(environments.named(name))
    assert counted.read_text() == "x\n" * calls


def test_a_cache_that_cannot_be_written_is_no_hindrance(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    put_compiler(machine, "g++-60")
    assert environments.located(environments.named("gcc-60")).unavailable == ""


def test_a_failure_is_asked_for_again_where_nobody_tells_of_new_packages(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managers, "DATABASES", ("/nowhere",))
    missing = machine / "library"
    put_compiler(machine, "g++-60", f'[ -e "{missing}" ] || exit 1; PATH={os.defpath} exec {COMPILER}')
    assert environments.located(environments.named("gcc-60")).unavailable
    missing.touch()
    assert not environments.located(environments.named("gcc-60")).unavailable


def test_older_libraries_that_know_no_hardening_are_told_apart(machine: Path) -> None:
    if "clang" in os.path.realpath(COMPILER):
        pytest.skip("GCC stands in for a libc++ without hardening modes")
    # Clang's own options are taken from it, so that this compiler accepts the command.
    script = f'shift; shift; shift; PATH={os.defpath} exec {COMPILER} -std=c++20 "$@"; true'
    put_compiler(machine, "clang++-15", script)
    found = environments.located(environments.named("clang-15-libc++-hardened"))
    assert "hardening modes since version 18" in found.unavailable


def test_32_bit_programs_take_no_allocator_of_64(machine: Path) -> None:
    put_compiler(machine, "g++-60", f"shift 2; PATH={os.defpath} exec {COMPILER} -std=c++20")
    found = environments.located(environments.named("gcc-60-m32+tcmalloc"))
    assert "no 32-bit tcmalloc" in found.unavailable or "error" in found.unavailable
    assert found.preload == ()


def test_all_that_works_can_be_asked_for_in_one_word(machine: Path) -> None:
    put_compiler(machine, "g++-60")
    put_compiler(machine, "g++-61", "exit 1; true")
    assert environments.expanded(["host", "compilers", "gcc-60"]) == ("host", "gcc-60")


def test_the_list_holds_each_option_of_what_works_and_one_line_of_what_does_not(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_compiler(machine, "g++-60")
    put_compiler(machine, "g++-61", "exit 1; true")
    monkeypatch.setattr(compilers, "candidates", lambda pattern: ("g++-62",))
    rows = {row.name: row for row in compilers.listed() if not row.name.startswith("host")}
    assert {"gcc-60", "gcc-60-O3", "gcc-60-lto", "gcc-60-m32", "gcc-60-debug"} <= set(rows)
    assert [name for name in rows if "61" in name or "62" in name] == ["gcc-61", "gcc-62"]
    assert rows["gcc-60-O3-native"].flags == "-O3 -march=native"
    assert rows["gcc-60-O3-native"].toolset.folder == "gcc-60-O3-native"
    assert not rows["gcc-60-O3"].unavailable
    assert rows["gcc-61"].unavailable
    assert "g++-62" in rows["gcc-62"].unavailable


def test_what_setup_brings_is_on_offer(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_compiler(machine, "clang++-19")
    known = ("clang-20", "lld-19", "llvm-19", "libc++-19-dev", "libc++abi-19-dev", "libc++1-19")
    monkeypatch.setattr(compilers, "candidates", lambda pattern: known)
    monkeypatch.setattr(packages, "_apt_knows", lambda name: True)
    wanted = [package for need in compilers.needs() for package in need.packages]
    assert wanted[:2] == ["clang-19", "clang-20"]
    assert set(wanted) >= {"lld-19", "llvm-19"}


# As Debian 12's libc++ 22: headers of one version beside the library of another.
WITHOUT_ITS_LIBRARY = """case "$*" in *-stdlib=libc++*)
  for word; do case "$word" in *.cpp)
    /usr/bin/grep -q notify_all "$word" && echo "undefined reference to notify" && exit 1;; esac; done;;
esac; true"""


# This machine's own, without the words that only Clang with its libc++ takes.
WITH_ITS_LIBRARY = (
    'for word; do shift; case "$word" in -stdlib=libc++|-fexperimental-library) ;; *) set -- "$@" "$word";;'
    f" esac; done; PATH={os.defpath} exec {COMPILER}"
)


@pytest.mark.parametrize(
    ("whole", "there", "brought"),
    [
        (("19",), (), "19"),
        (("19", "22"), (), "22"),
        ((), (), ""),
        (("19",), ("22",), "19"),
        (("19", "22"), ("19",), "19"),
    ],
)
def test_setup_brings_the_newest_libcxx_that_programs_can_load(
    machine: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: Sequence[str],
    there: Sequence[str],
    brought: str,
) -> None:
    """Debian 12 offers libc++-22-dev, and no libc++1-22: programs loaded libc++1-19 and did not link."""
    put_compiler(machine, "clang++-19", WITH_ITS_LIBRARY if "19" in there else "echo 19.1.7; exit; true")
    put_compiler(machine, "clang++-22", WITHOUT_ITS_LIBRARY if "22" in there else "echo 22.1.8; exit; true")
    headers = [f"libc++{part}-{version}-dev" for part in ("", "abi") for version in ("19", "22")]
    known = (*headers, *(f"libc++1-{version}" for version in whole))
    monkeypatch.setattr(
        compilers, "candidates", lambda pattern: [name for name in known if re.fullmatch(pattern, name)]
    )
    monkeypatch.setattr(packages, "_apt_knows", lambda name: True)
    monkeypatch.setattr(
        packages.Need, "found", lambda need: "here" if need.name in [f"libc++-{v}" for v in there] else None
    )
    wanted = {package for need in compilers.needs() for package in need.packages}
    named = {f"libc++-{brought}-dev", f"libc++abi-{brought}-dev", f"libc++1-{brought}"} if brought else set()
    assert {package for package in wanted if package.startswith("libc++")} == named


def test_headers_without_their_library_are_no_libcxx_and_the_one_that_mends_it_is_named(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_compiler(machine, "clang++-19", "echo 19.1.7; exit; true")
    put_compiler(machine, "clang++-22", WITHOUT_ITS_LIBRARY)
    known = ("libc++-19-dev", "libc++abi-19-dev", "libc++1-19", "libc++-22-dev", "libc++abi-22-dev")
    monkeypatch.setattr(
        compilers, "candidates", lambda pattern: [name for name in known if re.fullmatch(pattern, name)]
    )
    monkeypatch.setattr(packages, "_apt_knows", lambda name: True)
    found = environments.located(environments.named("clang-22-libc++"))
    assert "undefined reference to notify" in found.unavailable
    assert "libc++-19-dev libc++abi-19-dev libc++1-19" in found.unavailable
