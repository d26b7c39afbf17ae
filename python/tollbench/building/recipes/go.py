"""Go: one file and the package in languages/go, built with the toolchain's defaults."""

from __future__ import annotations

from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithExecutable, files_below, told
from tollbench.catalog.packages import older, table


class Go(WithExecutable):
    """`go build FILE` inside languages/go, whose module the file imports as "toll"."""

    need = "go"
    heeded: tuple[str, ...] = (
        "GOFLAGS", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GODEBUG", "GOGC", "GOMEMLIMIT", "CGO_ENABLED",
    )  # fmt: skip

    def tool(self, place: Path) -> Tool:
        # As it builds: by another GOTOOLCHAIN of the user's, the row would name a toolchain that did not.
        words = told(str(place), "version", GOTOOLCHAIN="local").split()
        version = words[2] if len(words) > 2 else ""
        return Tool(place, version, older("go", version.removeprefix("go"), table()[self.need]))

    def sources(self, job: Job) -> list[Path]:
        return [job.source, *files_below(job.root / "languages/go", ".go", ".mod")]

    def flags(self, job: Job) -> str:  # noqa: ARG002
        return "go build"

    def steps(self, job: Job) -> list[BuildStep]:
        options = ("-trimpath", "-buildvcs=false", "-o", str(job.program))
        command = (str(job.tool.path), "build", *options, str(job.source))
        # The toolchain that was found is the one that is named in the row: it fetches no other.
        return [BuildStep(command, job.root / "languages/go", {"GOTOOLCHAIN": "local", "GOWORK": "off"})]
