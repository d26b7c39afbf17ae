"""Rust: a binary of the Cargo.toml beside the source, with the versions of its Cargo.lock."""

from __future__ import annotations

import errno
import os
import shutil
import tomllib
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithExecutable, files_below, told
from tollbench.catalog.machine import processor_mark
from tollbench.catalog.packages import older, table
from tollbench.catalog.tools import ROOT

TUNED = "tuned"  # a profile of the manifests
NATIVE = "-Ctarget-cpu=native"
BUILD_DIR = "CARGO_BUILD_BUILD_DIR"


class Rust(WithExecutable):
    """`cargo build --release --locked`; fetches crates on the first build only.

    Tuned by the manifest's profile `tuned`, and for this processor's own instructions.
    """

    need = "rust"
    # Others of Cargo's, such as CARGO_BUILD_JOBS and CARGO_TARGET_DIR, decide nothing about the code.
    heeded: tuple[str, ...] = (
        "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_TARGET_*_RUSTFLAGS",
        "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC*", "CARGO_BUILD_TARGET",
        "CARGO_TARGET_*_LINKER", "CARGO_INCREMENTAL", "CARGO_BUILD_INCREMENTAL", "CARGO_PROFILE_*",
    )  # fmt: skip

    def tool(self, place: Path) -> Tool:
        said = told(str(place), "--version")
        version = " ".join(said.split()[1:2]) or "of unknown version"
        return Tool(place, f"Rust {version}", older("cargo", version, table()[self.need]), said)

    def sources(self, job: Job) -> list[Path]:
        return files_below(job.root / "languages/rust", ".rs", ".toml") + [
            path for path in job.source.parent.iterdir() if path.suffix in (".rs", ".toml", ".lock")
        ]

    def flags(self, job: Job) -> str:
        try:
            manifest = tomllib.loads(job.source.with_name("Cargo.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError):  # Cargo says what is wrong with it
            manifest = {}
        profiles = manifest.get("profile", {})
        # Of a profile that the manifest does not have, and of what it leaves out, Cargo's own values hold.
        of_ours = profiles.get("release", {}) | (profiles.get(TUNED, {}) if job.tuned else {})
        changed = [f"{name}={value}" for name, value in of_ours.items() if name != "inherits"]
        native = [f"RUSTFLAGS={NATIVE}"] if job.tuned else []
        return " ".join([*native, "cargo build", *_profile(job), *changed])

    def steps(self, job: Job) -> list[BuildStep]:
        manifest = job.source.with_name("Cargo.toml")
        command = [str(job.tool.path), "build", *_profile(job), "--locked", "--manifest-path", str(manifest)]
        # Where they start and above, Cargo and rustup look for settings, which may name programs to run.
        command += ["--bin", job.source.stem, "--target-dir", str(self._target(job))]
        # Of the two, which a user may have set, Cargo heeds the encoded one.
        native = {"RUSTFLAGS": NATIVE, "CARGO_ENCODED_RUSTFLAGS": NATIVE} if job.tuned else {}
        variables = {"CARGO_TERM_COLOR": "never", **self._crates(job), **native}
        return [BuildStep(tuple(command), ROOT, variables)]

    def begin(self, job: Job) -> None:
        for path in self._made(job):
            path.unlink()

    def finish(self, job: Job) -> None:
        made = self._made(job)
        if len(made) > 1:
            raise FileExistsError(errno.EEXIST, "one for each of several targets", str(self._target(job)))
        shutil.copy2(made[0] if made else self._expected(job), job.program)

    def _expected(self, job: Job) -> Path:
        return self._target(job) / (TUNED if job.tuned else "release") / job.source.stem

    def _made(self, job: Job) -> list[Path]:
        """Where cargo puts it: a target that the user chose, in a file too, has a folder of its own."""
        expected = self._expected(job)
        below = self._target(job).glob(f"*/{expected.parent.name}/{expected.name}")
        return [path for path in (expected, *below) if path.is_file()]

    def _target(self, job: Job) -> Path:
        """One folder for all binaries of a manifest, whose names are its own."""
        return job.out.parent / f"cargo{_for_processor(job)}"

    def _crates(self, job: Job) -> dict[str, str]:
        """One folder for what all manifests depend on: fib took 14.7 s of CPU time, after it nqueens 0.8.

        Cargo has that word since 1.91 and does without before. A user's own folder is left to be theirs.
        """
        own, mark = os.environ.get(BUILD_DIR), _for_processor(job)
        if own is None:
            return {BUILD_DIR: str(job.out.parents[2] / f"crates{mark}")}
        return {BUILD_DIR: f"{own}/toll{mark}"} if mark else {}


def _for_processor(job: Job) -> str:
    """Behind a folder's name: cargo holds code for `native` for up to date on any processor."""
    own = [value for name, value in os.environ.items() if name.endswith("RUSTFLAGS")]
    asks = job.tuned or any("native" in flags for flags in own)
    return f"-{processor_mark()}" if asks else ""


def _profile(job: Job) -> tuple[str, ...]:
    return ("--profile", TUNED) if job.tuned else ("--release",)
