"""Go: one file and the package in languages/go, built with the toolchain's defaults."""

from __future__ import annotations

import re
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithExecutable, files_below, told
from tollbench.catalog.packages import older, table


class Go(WithExecutable):
    """`go build FILE` inside languages/go, whose module the file imports as "toll".

    A go.mod's version is the oldest that will do, and with it come the runtime's defaults of then: of
    goroutines' threads, of timers. So each toolchain builds by one that names its own.
    """

    need = "go"
    heeded: tuple[str, ...] = (
        "GOFLAGS", "GOOS", "GOARCH", "GO386", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GODEBUG", "GOGC",
        "GOMEMLIMIT", "GOMAXPROCS", "CGO_ENABLED",
    )  # fmt: skip

    def tool(self, place: Path) -> Tool:
        # As it builds: by another GOTOOLCHAIN of the user's, the row would name a toolchain that did not.
        words = told(str(place), "version", GOTOOLCHAIN="local").split()
        version = words[2] if len(words) > 2 else ""
        return Tool(place, version, older("go", version.removeprefix("go"), table()[self.need]))

    def sources(self, job: Job) -> list[Path]:
        return [job.source, *files_below(job.root / "languages/go", ".go", ".mod")]

    def flags(self, job: Job) -> str:
        language = _language(job)
        return f"go build (go.mod: go {language})" if language else "go build"

    def begin(self, job: Job) -> None:
        if language := _language(job):
            _module(job).write_text(f"module toll\n\ngo {language}\n", encoding="utf-8")

    def steps(self, job: Job) -> list[BuildStep]:
        options = ["-trimpath", "-buildvcs=false", "-o", str(job.program)]
        options += [f"-modfile={_module(job)}"] if _language(job) else []
        command = (str(job.tool.path), "build", *options, str(job.source))
        # The toolchain that was found is the one that is named in the row: it fetches no other.
        return [BuildStep(command, job.root / "languages/go", {"GOTOOLCHAIN": "local", "GOWORK": "off"})]


def _language(job: Job) -> str:
    """1.26 of go1.26.8 and go1.27-devel_2f6426834c; "" of a toolchain that does not say."""
    found = re.match(r"go(\d+\.\d+)", job.tool.version)
    return found[1] if found else ""


def _module(job: Job) -> Path:
    return job.out / "go.mod"
