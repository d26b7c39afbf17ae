"""Haskell: one file with the modules of languages/haskell, GHC's own libraries only."""

from __future__ import annotations

import shlex
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithExecutable, files_below, told
from tollbench.catalog.packages import older, table

# What cabal builds with where nothing else is said; the threaded runtime is what several CPUs take.
STOCK = ("-O", "-threaded", "-rtsopts")
# A nursery that holds a tree's threads, handed out in chunks: GHC's default of 1 MiB is collected over and
# over while 100,000 threads live, which costs several times what the threads do.
TUNED = ("-O2", "-threaded", "-rtsopts", "-with-rtsopts=-A64m -n4m")


class Haskell(WithExecutable):
    """GHC itself, with the options that cabal gives it."""

    need = "ghc"
    heeded: tuple[str, ...] = ("GHCRTS",)

    def tool(self, place: Path) -> Tool:
        version = told(str(place), "--numeric-version")
        return Tool(place, f"GHC {version}", older("ghc", version, table()[self.need]))

    def sources(self, job: Job) -> list[Path]:
        return [job.source, *files_below(job.root / "languages/haskell", ".hs")]

    def flags(self, job: Job) -> str:
        return shlex.join(["ghc", *_options(job)])

    def steps(self, job: Job) -> list[BuildStep]:
        options = [*_options(job), "-v1"]
        options += ["-package-env", "-"]  # else .ghc.environment.* of this folder or one above
        options += ["-outputdir", str(job.out), f"-i{job.root / 'languages/haskell'}"]
        command = (str(job.tool.path), *options, str(job.source), "-o", str(job.program))
        return [BuildStep(command, job.out)]


def _options(job: Job) -> tuple[str, ...]:
    return TUNED if job.tuned else STOCK
