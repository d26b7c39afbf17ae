"""Go: one file and the package in languages/go, built with the toolchain's defaults."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithExecutable, files_below, told
from tollbench.catalog.machine import processor_features
from tollbench.catalog.packages import older, table

# What each level of GOAMD64 adds (go.dev/wiki/MinimumRequirements), in the kernel's words: abm is LZCNT, pni
# SSE3, and with xsave it is the kernel that says that it keeps the wider registers.
_AMD64 = (
    ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"),
    ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"),
    ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
)
# Of Arm's 64 bits the compiler asks for these two alone, whatever the version before them.
_ARM64 = {"lse": ("atomics",), "crypto": ("aes", "pmull", "sha1", "sha2")}
_FIRST_WITH_GOARM64 = (1, 23)


class Go(WithExecutable):
    """`go build FILE` inside languages/go, whose module the file imports as "toll".

    A go.mod's version is the oldest that will do, and with it come the runtime's defaults of then: of
    goroutines' threads, of timers. So each toolchain builds by one that names its own.

    Tuned for this processor's own instructions, as far as Go has a word for them.
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
        own = [f"{name}={value}" for name, value in _for_processor(job).items()]
        return " ".join([*own, "go build", *([f"(go.mod: go {language})"] if language else [])])

    def begin(self, job: Job) -> None:
        if language := _language(job):
            _module(job).write_text(f"module toll\n\ngo {language}\n", encoding="utf-8")

    def steps(self, job: Job) -> list[BuildStep]:
        options = ["-trimpath", "-buildvcs=false", "-o", str(job.program)]
        options += [f"-modfile={_module(job)}"] if _language(job) else []
        command = (str(job.tool.path), "build", *options, str(job.source))
        # The toolchain that was found is the one that is named in the row: it fetches no other.
        variables = {"GOTOOLCHAIN": "local", "GOWORK": "off", **_for_processor(job)}
        return [BuildStep(command, job.root / "languages/go", variables)]


def _language(job: Job) -> str:
    """1.26 of go1.26.8 and go1.27-devel_2f6426834c; "" of a toolchain that does not say."""
    found = re.match(r"go(\d+\.\d+)", job.tool.version)
    return found[1] if found else ""


def _for_processor(job: Job) -> dict[str, str]:
    """What is to Go what -march=native is to GCC; nothing where it knows no more than all have."""
    if not job.tuned:
        return {}
    features, machine = processor_features(), platform.machine()
    if machine == "x86_64":
        return {"GOAMD64": amd64_level(features)}
    numbers = tuple(int(part) for part in _language(job).split(".") if part)
    if machine == "aarch64" and numbers >= _FIRST_WITH_GOARM64:
        return {"GOARM64": arm64_level(features)}
    return {}


def amd64_level(features: frozenset[str]) -> str:
    """The highest one whose instructions, and those of all below it, are there."""
    level = 1
    for needed in _AMD64:
        if not features.issuperset(needed):
            break
        level += 1
    return f"v{level}"


def arm64_level(features: frozenset[str]) -> str:
    """Version 8.0, which all have, with what Go's compiler takes from later ones."""
    return ",".join(["v8.0", *(name for name, needed in _ARM64.items() if features.issuperset(needed))])


def _module(job: Job) -> Path:
    return job.out / "go.mod"
