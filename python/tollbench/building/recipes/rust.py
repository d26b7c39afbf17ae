"""Rust: a binary of the Cargo.toml beside the source, with the versions of its Cargo.lock."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithExecutable, files_below, told
from tollbench.catalog.tools import ROOT

OLDEST = (1, 85)  # rust-version in the manifests


class Rust(WithExecutable):
    """`cargo build --release --locked`; fetches crates on the first build only."""

    need = "rust"

    def tool(self, place: Path) -> Tool:
        version = " ".join(told(str(place), "--version").split()[1:2]) or "of unknown version"
        numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
        wanted = ".".join(map(str, OLDEST))
        too_old = f"cargo {version} is older than {wanted}" if numbers < OLDEST else ""
        return Tool(place, f"Rust {version}", too_old)

    def sources(self, job: Job) -> list[Path]:
        return files_below(job.root / "languages/rust", ".rs", ".toml") + [
            path for path in job.source.parent.iterdir() if path.suffix in (".rs", ".toml", ".lock")
        ]

    def steps(self, job: Job) -> list[BuildStep]:
        manifest = job.source.with_name("Cargo.toml")
        command = [str(job.tool.path), "build", "--release", "--locked", "--manifest-path", str(manifest)]
        # Where they start and above, Cargo and rustup look for settings, which may name programs to run.
        command += ["--bin", job.source.stem, "--target-dir", str(self._target(job))]
        return [BuildStep(tuple(command), ROOT, {"CARGO_TERM_COLOR": "never"})]

    def finish(self, job: Job) -> None:
        shutil.copy2(self._target(job) / "release" / job.source.stem, job.program)

    def _target(self, job: Job) -> Path:
        """One folder for all binaries of a manifest: they share what they depend on."""
        return job.out.parent / "cargo"
