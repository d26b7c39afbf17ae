"""A malloc that is linked in and hidden is found, and its program has no count of allocations."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from compiled import compiled

from tollbench.compare import MeasuringOptions, WrittenSide, resolve, subject_of
from tollbench.compare.counters import BY_MALLOC, Amount
from tollbench.compare.counting_sides import counter_for
from tollbench.counting.own_allocators import hidden_in

OWN_MALLOC = r"""
#include <cstddef>
#include <sys/mman.h>
#define TEXT_OF(x) #x
#define QUOTED(x) TEXT_OF(x)
#define HIDDEN extern "C" __attribute__((visibility(QUOTED(VISIBILITY)), noinline))
static char* pool;
static std::size_t used;
HIDDEN void* NAME(std::size_t bytes) noexcept {
  if (!pool) pool = static_cast<char*>(mmap(nullptr, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void* block = pool + used;
  used += (bytes + 15) / 16 * 16;
  return block;
}
#ifdef TEXT
const char* volatile told = TEXT;
#endif
int main() { return NAME(40) == nullptr; }
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def counts(path: Path, cache: Path) -> dict[str, Amount | str]:
    kind, sides = resolve([WrittenSide(str(path)), WrittenSide(str(path))], "command")
    counter = counter_for(subject_of(kind, sides, MeasuringOptions(60.0)), cache)
    assert counter is not None
    return dict(counter.read(0, "command", BY_MALLOC))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-DNAME=malloc", "-DVISIBILITY=hidden"), "brings a malloc of its own that is hidden (malloc)"),
        (("-DNAME=malloc", "-DVISIBILITY=hidden", "-flto"), "brings a malloc of its own that is hidden"),
        (("-DNAME=je_malloc", "-DVISIBILITY=default"), "brings an allocator of its own (je_malloc)"),
        (("-DNAME=mi_malloc", "-DVISIBILITY=hidden"), "brings an allocator of its own (mi_malloc)"),
        (
            ("-DNAME=mine", "-DVISIBILITY=hidden", "-s", '-DTEXT="<jemalloc>: no"'),
            "brings an allocator of its own (jemalloc, by its texts)",
        ),
        (("-DNAME=malloc", "-DVISIBILITY=hidden", "-s"), "is stripped, takes memory by mmap"),
        (("-DNAME=malloc", "-DVISIBILITY=default", "-rdynamic"), "brings a malloc of its own, which comes"),
    ],
)
def test_an_allocator_that_is_linked_in_is_told(
    tmp_path: Path, cache: Path, options: tuple[str, ...], told: str
) -> None:
    found = counts(compiled(tmp_path, "p", OWN_MALLOC, "-fno-builtin", *options), cache)
    assert set(found) == BY_MALLOC
    assert all(told in str(reason) for reason in found.values()), found


def test_an_allocator_within_a_library_or_a_child_is_told(tmp_path: Path, cache: Path) -> None:
    hidden = ("-fno-builtin", "-DNAME=malloc", "-DVISIBILITY=hidden")
    library = compiled(tmp_path, "libown.so", OWN_MALLOC, *hidden, "-Dmain=work", "-fPIC", "-shared")
    text = "int work(); int main() { return work(); }"
    path = compiled(tmp_path, "user", text, "-Wl,--no-as-needed", str(library))
    reason = str(counts(path, cache)["allocations"])
    assert "a malloc of its own that is hidden (malloc), in libown.so" in reason
    child = compiled(tmp_path, "child", OWN_MALLOC, *hidden)
    text = f'#include <cstdlib>\nint main() {{ return std::system("{child}"); }}'
    parent = compiled(tmp_path, "parent", text)
    assert "brings a malloc of its own that is hidden" in str(counts(parent, cache)["allocations"])


@pytest.mark.parametrize("options", [(), ("-s",), ("-static-libstdc++", "-static-libgcc")])
def test_what_asks_libc_is_counted(tmp_path: Path, cache: Path, options: tuple[str, ...]) -> None:
    text = "#include <cstdlib>\n#include <sys/mman.h>\nint main() { mmap(0, 9, 1, 34, -1, 0); BODY }"
    body = "-DBODY=return *new volatile int(0) + (std::malloc(3) == nullptr);"
    found = counts(compiled(tmp_path, "p", text, "-O0", body, *options), cache)
    assert isinstance(found["allocations"], Amount)
    pool = "-static-libstdc++" in options  # of the C++ library, made by an initialiser of the program
    assert found["allocations"].value == 2 + pool


def test_what_ends_unseen_has_no_count(tmp_path: Path, cache: Path) -> None:
    path = compiled(tmp_path, "p", "#include <cstdlib>\nint main() { std::quick_exit(0); }")
    assert "did not tell what it allocated" in str(counts(path, cache)["allocations"])


def test_system_programs_bring_none() -> None:
    found = [shutil.which(name) for name in ("ls", "python3", "git", "g++", "ld", "sh")]
    assert [hidden_in([path]) for path in found if path] == [""] * len([path for path in found if path])


def test_what_is_no_program_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n")
    (tmp_path / "cut").write_bytes(Path("/bin/sh").read_bytes()[:5000])
    for name in ("text", "cut", "nowhere"):
        assert hidden_in([str(tmp_path / name)]) == ""


def test_a_go_program_is_told(tmp_path: Path) -> None:
    if (go := shutil.which("go")) is None:
        pytest.skip("Go is not installed")
    (tmp_path / "p.go").write_text("package main\nfunc main() {}\n")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    subprocess.run([go, "build", "p.go"], cwd=tmp_path, env=environment, check=True)
    assert "is a Go program" in hidden_in([str(tmp_path / "p")])
