"""The programs that are judged: the operations in each framework, made anew. None of them is toll's."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tollbench.launching.environment import own_environment

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/peers"
BUILD = ROOT / "build/peers"
OPERATIONS: tuple[str, ...] = (
    "hash_map_lookup",
    "tree_lookup",
    "atomic_add",
    "uncontended_lock",
    "new_delete",
    "short_string",
    "sort_512",
    "sum_4096",
    "allocation_heavy",
    "memory_bound",
)
IN_GO = ("hash_map_lookup", "atomic_add", "uncontended_lock", "short_string", "sort_512", "sum_4096")
IN_RUST = (*IN_GO, "tree_lookup", "new_delete")
GO_MODULE = "module operations\n\ngo 1.24\n"
CARGO_MANIFEST = """[package]
name = "operations"
version = "0.1.0"
edition = "2021"
[lib]
bench = false
[dev-dependencies]
criterion = { version = "=0.5.1", default-features = false }
[[bench]]
name = "operations"
harness = false
"""


@dataclass(frozen=True)
class Judgement:
    """Of a tool: the second side is slower (1), faster (-1) or not different (0)."""

    direction: int
    more: Mapping[str, Any] = field(default_factory=dict)  # what a tool says besides, for the raw file


class Missing(Exception):
    """Why a tool cannot take part."""


def words_of(*words: object, **variables: object) -> str:
    """What a command line prints; it has to succeed."""
    environment = {**own_environment(), **{name: str(value) for name, value in variables.items()}}
    command = [str(word) for word in words]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-120:]}")
    return done.stdout


def compiled(name: str, *flags: str) -> Path:
    """An executable of this folder, made anew. Raises Missing."""
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / name
    operations = f"-I{ROOT / 'suites/reference/operations'}"
    words = ["g++", "-std=c++20", "-O2", operations, f"{SOURCES / name}.cpp", "-o", str(target), "-pthread"]
    built([*words, *flags], Path.cwd())  # the flags may name folders from here
    return target


def go_benchmarks() -> Path:
    """A Go test binary. Raises Missing."""
    folder = emptied("go")
    (folder / "go.mod").write_text(GO_MODULE)
    shutil.copy(SOURCES / "operations_test.go", folder)
    built(["go", "test", "-c", "-o", "operations.test", "."], folder)
    return folder / "operations.test"


def criterion_benchmarks() -> Path:
    """A Criterion.rs executable. Raises Missing."""
    folder = emptied("criterion")
    for name in ("benches", "src"):
        (folder / name).mkdir()
    (folder / "Cargo.toml").write_text(CARGO_MANIFEST)
    (folder / "src/lib.rs").touch()
    shutil.copy(SOURCES / "operations.rs", folder / "benches")
    told = built(["cargo", "bench", "--no-run", "--target-dir", "target", "--message-format=json"], folder)
    artifacts = [json.loads(line) for line in told.splitlines()]
    (made,) = {
        each["executable"]
        for each in artifacts
        if each.get("executable") and each["target"]["name"] == "operations"
    }
    return Path(made)


def emptied(name: str) -> Path:
    """A folder for what a language's own tool builds."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def built(words: Sequence[str], folder: Path) -> str:
    """What a command says that builds a program. Raises Missing with the first error that it names."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{words[0]}: {error}") from None
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "the compiler failed")
        raise Missing(f"does not build: {first.strip()[-120:]}")
    return done.stdout


def per_mille(slowdown: float) -> int:
    return round(slowdown * 1000)


class CommandLines:
    """An operation as a process of about 50 ms."""

    def __init__(self) -> None:
        self._program = compiled("command")
        self._blocks: dict[str, int] = {}

    def words(self, operation: str, slowdown: float) -> tuple[str, ...]:
        if operation not in self._blocks:
            self._blocks[operation] = int(words_of(self._program, operation, 0, 0))
        return str(self._program), operation, str(self._blocks[operation]), str(per_mille(slowdown))
