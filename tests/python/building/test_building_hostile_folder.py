"""Tools that look at the folder where they start, and at those above, find nothing of a stranger's there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from checkouts import ROOT, copy_checkout
from hostile_folder import HostileFolder
from tollbench.building import configuring
from tollbench.building.recipes import RECIPES, Job
from tollbench.catalog import machine, packages
from tollbench.catalog.environments.probing import probe
from tollbench.catalog.tools import run_tool
from tollbench.words import Toolset

SOURCES = {
    "Go": ("go.go", 'package main\n\nimport _ "toll"\n\nfunc main() {}\n'),
    "Rust": ("plain.rs", "fn main() {}\n"),
    "Java": ("plain.java", "class Plain { public static void main(String[] words) {} }\n"),
    "Kotlin": ("plain.kt", "fun main() {}\n"),
    "Erlang": ("plain.erl", "-module(plain).\n-export([main/0]).\nmain() -> ok.\n"),
    "Haskell": ("plain.hs", "main :: IO ()\nmain = pure ()\n"),
}
PACKAGE = 'name = "plain"\nversion = "0.1.0"\n'
MANIFEST = f'[package]\n{PACKAGE}edition = "2021"\n[[bin]]\nname = "plain"\npath = "plain.rs"\n'


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileFolder:
    made = HostileFolder(tmp_path / "hostile")
    monkeypatch.chdir(made.folder)
    return made


def tell_tools(hostile: HostileFolder, folder: Path) -> None:
    """Settings that make each tool run a stranger's program, or refuse to work."""
    evil = folder / "evil"
    for name in ("rustc", "cargo", "go"):
        hostile.program(evil / "bin" / name)
    (folder / ".cargo").mkdir()
    (folder / ".cargo/config.toml").write_text(f'[build]\nrustc-wrapper = "{evil}/bin/rustc"\n')
    (folder / "rust-toolchain.toml").write_text(f'[toolchain]\npath = "{evil}"\n')
    (folder / "Cargo.toml").write_text("[workspace]\nmembers = []\n")
    (folder / "go.mod").write_text("module stranger\n\ngo 1.99\n\ntoolchain go1.99.0\n")
    (folder / "go.work").write_text("go 1.99\n")
    (folder / ".mvn").mkdir()
    (folder / ".mvn/maven.config").write_text("--no-such-option\n")
    (folder / ".mvn/jvm.config").write_text("-XX:NoSuchOption\n")
    if shutil.which("ghc"):
        version = run_tool(["ghc", "--numeric-version"]).stdout.strip()
        for cpu in ("x86_64", "aarch64"):
            (folder / f".ghc.environment.{cpu}-linux-{version}").write_text("clear-package-db\n")
    services = folder / "META-INF/services"
    services.mkdir(parents=True)
    (services / "javax.annotation.processing.Processor").write_text("Stranger\n")


def test_describing_the_machine_asks_no_tool_in_the_current_folder(hostile: HostileFolder) -> None:
    tell_tools(hostile, hostile.folder)
    told = {item["name"]: item["version"] for item in machine.compilers()}
    assert hostile.ran() == []
    assert all("PWNED" not in version for version in told.values())
    assert [name for name, version in told.items() if not version] == []


def test_a_tool_runs_elsewhere_unless_it_is_told(hostile: HostileFolder) -> None:
    assert run_tool(["pwd", "-P"]).stdout == "/\n"
    assert run_tool(["pwd", "-P"], cwd=hostile.folder).stdout.strip() == str(hostile.folder.resolve())


def test_a_compiler_is_tried_elsewhere(hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty entry of CPATH is the current folder: its `version` would be what <version> includes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(hostile.folder.parent / "cache"))
    monkeypatch.setenv("CPATH", ":/usr/include")
    (hostile.folder / "version").write_text("#error PWNED\n")
    assert probe("c++", (), ()).reason == ""


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_no_recipe_looks_above_the_checkout(
    language: str, hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = RECIPES[language]
    place = packages.table()[recipe.need].found()
    needs = (recipe.need, *recipe.besides)
    if place is None or not all(packages.table()[need].found() for need in needs):
        pytest.skip(f"{' or '.join(needs)} is not installed")
    tell_tools(hostile, hostile.folder)
    monkeypatch.setenv("CLASSPATH", f"{hostile.folder}:.")
    root = hostile.folder / "checkout"
    shutil.copytree(ROOT / "languages", root / "languages")
    name, text = SOURCES[language]
    source = root / "suites/topic/workload" / name
    source.parent.mkdir(parents=True)
    source.write_text(text)
    if language == "Rust":
        own = (ROOT / "suites/tasks/skynet/Cargo.toml").read_text()
        workspace = own[own.index("[workspace]") :]
        (source.parent / "Cargo.toml").write_text(f"{MANIFEST}{workspace}")
        (source.parent / "Cargo.lock").write_text(f"version = 3\n\n[[package]]\n{PACKAGE}")
    job = Job(recipe.tool(Path(place)), root, source, root / "build/out" / name, root / "build/program")
    job.out.mkdir(parents=True)
    recipe.begin(job)
    for step in recipe.steps(job):
        environment = {**os.environ, **step.environment}
        done = run_tool(step.command, one_stream=True, cwd=step.cwd, env=environment, limit_s=120)
        assert hostile.ran() == [], done.stdout
        assert done.returncode == 0, done.stdout


def test_cmake_and_what_it_starts_read_nothing_of_the_current_folder(
    hostile: HostileFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Presets and a project of a stranger; and Python that CMake starts imports the real modules."""
    hostile.with_modules()
    for name, value in hostile.environment().items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
    presets = {"version": 3, "configurePresets": [{"name": "release", "generator": "stranger's"}]}
    for name in ("CMakePresets.json", "CMakeUserPresets.json"):
        (hostile.folder / name).write_text(json.dumps(presets))
    (hostile.folder / "CMakeLists.txt").write_text("message(FATAL_ERROR PWNED)\n")
    root = copy_checkout(tmp_path / "check out")
    lines: list[str] = []
    configuring.configure(root, tmp_path / "build", Toolset(), lines.append)
    assert not any("PWNED" in line for line in lines)
    assert hostile.ran() == []
    assert (tmp_path / "build/toll_suites.cmake").read_text()
