"""Environments: allocators that are found, missing or broken, in folders made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tollbench.catalog import environments, packages
from tollbench.catalog.environments import allocators, glibc
from tollbench.errors import TollError
from tollbench.launching.environment import with_malloc_of
from tollbench.words import HOST, Environment

# What each library offers to tell its version, as the real ones do.
SOURCES = {
    "tcmalloc": 'const char* tc_version(int* a, int* b, const char** c) { return "gperftools 9.8.7"; }',
    "jemalloc": """
        int mallctl(const char* name, void* to, unsigned long* size, void* from, unsigned long bytes) {
            *(const char**)to = "9.8.7-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";
            return 0;
        }""",
    "mimalloc": "int mi_version(void) { return 90807; }",
}
OFFERED = {environment.name: environment for environment in environments.OFFERED}


@pytest.fixture
def folders(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """The only two folders in which libraries are looked for."""
    there = (tmp_path / "first", tmp_path / "second")
    for folder in there:
        folder.mkdir()
    monkeypatch.setattr(packages, "_linker_cache", lambda: ())
    monkeypatch.setattr(packages, "_library_folders", lambda: there)
    return there


def put_library(folder: Path, name: str, source: str = "") -> Path:
    target = folder / packages.table()[name].shared[0]
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-16")
    assert compiler, "these tests need a C compiler"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(target)]
    subprocess.run(command, input=source or SOURCES[name], text=True, check=True)
    return target


@pytest.mark.parametrize("name", SOURCES)
def test_an_allocator_is_found_with_its_version(folders, name):
    library = put_library(folders[1], name)
    found = environments.located(OFFERED[name])
    assert found.preload == (str(library),)
    assert found.allocator == f"{name} 9.8.7 ({library.name})"
    assert (found.unavailable, found.languages) == ("", ("C", "C++", "Rust"))
    assert packages.table()[name].found() == str(library)


def test_the_versions_of_older_mimallocs_have_a_digit_each(folders):
    put_library(folders[0], "mimalloc", "int mi_version(void) { return 209; }")
    assert environments.located(OFFERED["mimalloc"]).allocator.startswith("mimalloc 2.0.9 ")


@pytest.mark.parametrize("name", SOURCES)
def test_a_missing_allocator_names_the_command_that_brings_it(folders, monkeypatch, name):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    missing = environments.located(OFFERED[name])
    need = packages.table()[name]
    assert missing.preload == ()
    assert need.found() is None
    assert need.shared[0] in missing.unavailable
    package = packages.package_names([need])[0]
    assert missing.unavailable.endswith(f"not found; next: sudo apt-get install -y {package}")


def test_a_library_that_cannot_be_loaded_is_passed_over(folders):
    broken = folders[0] / packages.table()["tcmalloc"].shared[0]
    broken.write_text("not a library")
    told = environments.located(OFFERED["tcmalloc"]).unavailable
    assert f"{broken} cannot be preloaded" in told
    assert "apt-get install" in told
    good = put_library(folders[1], "tcmalloc")
    assert environments.located(OFFERED["tcmalloc"]).preload == (str(good),)


def test_a_library_that_is_something_else_is_not_taken_for_it(folders):
    put_library(folders[0], "jemalloc", "int nothing_of_the_kind;")
    assert environments.located(OFFERED["jemalloc"]).preload == ()


def test_a_path_that_ld_preload_would_split_is_not_used(tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    folder.mkdir()
    put_library(folder, "mimalloc")
    monkeypatch.setattr(packages, "_linker_cache", lambda: ())
    monkeypatch.setattr(packages, "_library_folders", lambda: (folder,))
    assert "cannot be preloaded" in environments.located(OFFERED["mimalloc"]).unavailable


def test_the_dynamic_linkers_choice_comes_first(folders, monkeypatch):
    (name,) = packages.table()["tcmalloc"].shared
    for folder in folders:
        (folder / name).write_text("")
    monkeypatch.setattr(packages, "_linker_cache", lambda: ((name, str(folders[1] / name)),))
    assert list(packages.shared_libraries([name])) == [folders[1] / name, folders[0] / name]


def test_the_dynamic_linkers_cache_is_read():
    names = dict(packages._linker_cache())
    if not names:
        pytest.skip("this machine has no ldconfig")
    assert Path(names["libc.so.6"]).is_file()


def test_the_host_says_whose_malloc_it_has(monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert environments.located(HOST).allocator.endswith("malloc")
    assert environments.located(HOST).unavailable == ""
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")  # without the underscore at its end it is nothing to glibc
    monkeypatch.setenv("MALLOC_ARENA_TEST_", "1")
    told = environments.located(HOST).allocator
    assert told.endswith(" malloc, with GLIBC_TUNABLES=glibc.malloc.arena_max=1 MALLOC_ARENA_TEST_=1")
    monkeypatch.setenv("LD_PRELOAD", "/opt/other.so")
    assert "LD_PRELOAD=/opt/other.so" in environments.located(HOST).allocator


# Prints by how many bytes the heap shrinks when small blocks are freed, and when large ones are.
TRIMMED = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long given_back(size_t size) {
    static void* blocks[50];
    for (int i = 0; i < 50; ++i) { blocks[i] = malloc(size); }
    char* const top = sbrk(0);
    for (int i = 0; i < 50; ++i) { free(blocks[i]); }
    return top - (char*)sbrk(0);
}
int main(void) { printf("%ld %ld %s\\n", given_back(60000), given_back(1000000), getenv("GLIBC_TUNABLES")); }
"""
ON_GLIBC = pytest.mark.skipif(not allocators.of_the_machine().startswith("glibc"), reason="needs glibc")


@ON_GLIBC
def test_trimming_is_stock_in_the_host_and_off_in_its_environment(tmp_path, monkeypatch):
    """Of a program that knows nothing of it."""
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    program = tmp_path / "trimmed"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-16")
    assert compiler, "this test needs a C compiler"
    command = [compiler, "-x", "c", "-", "-o", str(program)]
    subprocess.run(command, input=TRIMMED, text=True, check=True)

    def shrunk(environment: Environment) -> tuple[int, int, str]:
        found = environments.located(environment)
        assert found.unavailable == ""
        variables = with_malloc_of(os.environ, found.preload, found.glibc_tunables)
        told = subprocess.run([program], env=variables, capture_output=True, text=True, check=True).stdout
        small, large, tunables = told.split()
        return int(small), int(large), tunables

    small, large, tunables = shrunk(HOST)
    assert small > 50 * 50_000
    assert (large, tunables) == (0, "(null)")  # mapped, each of them, and unmapped: none came from the heap
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=4096")  # the user's own gives way
    small, large, tunables = shrunk(OFFERED[glibc.NO_TRIM])
    assert (small, large) == (0, 0)
    assert tunables == ":".join(["glibc.malloc.trim_threshold=4096", *glibc.TUNABLES])
    assert environments.located(OFFERED[glibc.NO_TRIM]).malloc == "glibc"


@ON_GLIBC
@pytest.mark.parametrize(
    "tunables",
    [
        ("glibc.malloc.no_such_threshold=1",),
        glibc.TUNABLES[:1],  # large blocks are given back all the same
        glibc.TUNABLES[1:],
    ],
)
def test_settings_that_do_not_take_effect_are_an_environment_that_cannot_be_used(monkeypatch, tunables):
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(glibc, "TUNABLES", tunables)
    found = environments.located(OFFERED[glibc.NO_TRIM])
    assert found.unavailable.startswith(f"malloc does not obey {tunables[0]} here; it takes glibc's own")
    assert found.glibc_tunables == ()


@ON_GLIBC
def test_the_users_own_tunables_are_tried_with_these_as_programs_have_them(monkeypatch):
    """With so much room at the heap's top nothing would ever be seen to shrink."""
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.top_pad=200000000")
    found = environments.located(OFFERED[glibc.NO_TRIM])
    assert "here, after your GLIBC_TUNABLES=glibc.malloc.top_pad=200000000; it takes" in found.unavailable
    assert found.glibc_tunables == ()


@ON_GLIBC
def test_another_malloc_does_not_pass_for_glibcs(monkeypatch):
    """It gives nothing back to the heap either, which it never took from."""
    other = next((p for n in SOURCES for p in packages.shared_libraries(packages.table()[n].shared)), None)
    if other is None:
        pytest.skip("no allocator to preload: toll env list names the packages")
    monkeypatch.setenv("LD_PRELOAD", str(other))
    assert f"LD_PRELOAD={other}" in environments.located(OFFERED[glibc.NO_TRIM]).unavailable


def test_a_compilers_programs_can_have_it_too():
    asked = environments.named("gcc-12-O3+glibc-no-trim")
    assert (asked.name, asked.toolset.folder) == ("gcc-12-O3+glibc-no-trim", "gcc-12-O3")
    assert environments.named("host+glibc-no-trim").name == glibc.NO_TRIM
    assert asked.languages == ("C", "C++")


def test_tuned_is_an_environment_for_what_has_anything_to_tune():
    tuned = environments.named("tuned")
    assert (tuned.toolset.folder, tuned.toolset.optimization) == ("tuned", "-O3")
    assert (tuned.toolset.flags, tuned.toolset.tuned) == (("-march=native",), True)
    assert tuned.languages == ("C", "C++", "Go", "Rust", "Haskell")
    both = environments.named("tuned+jemalloc")
    assert (both.name, both.toolset, both.languages) == (
        "tuned+jemalloc",
        tuned.toolset,
        ("C", "C++", "Rust"),
    )
    assert not environments.named("host-O3-native").toolset.tuned
    with pytest.raises(TollError, match="no environment 'tuned-O2'"):
        environments.named("tuned-O2")


@pytest.mark.skipif(not shutil.which("gcc-ar"), reason="link-time optimization needs gcc-ar")
def test_tuned_programs_are_linked_whole():
    assert "-flto" in environments.located(environments.named("tuned")).flags


def test_every_environment_is_known_to_the_table_of_packages():
    assert environments.names() == (
        "host", "glibc-no-trim", "tcmalloc", "jemalloc", "mimalloc", "tuned", "debian13", "debian-testing",
    )  # fmt: skip
    without = (HOST.name, glibc.NO_TRIM, "tuned")  # nothing has to be installed for them
    others = [item for item in environments.OFFERED if item.name not in without and not item.root]
    assert all(packages.table()[item.name].shared for item in others)
    assert all(isinstance(item, Environment) and item.languages for item in others)
