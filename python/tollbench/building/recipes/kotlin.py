"""Kotlin: one file with the classes of languages/java; compiler and libraries by languages/kotlin/pom.xml."""

from __future__ import annotations

import hashlib
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tollbench.building.recipes.java import Java
from tollbench.building.recipes.parts import BuildStep, Job, starter
from tollbench.catalog.toolchains import newest_jdk
from tollbench.catalog.tools import ROOT as ANYWHERE

_COMPILER = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
_BYTECODE = "21"  # what the oldest JDK runs
_POM = "{http://maven.apache.org/POM/4.0.0}"


class Kotlin(Java):
    """The main function is the file's: cachecalc.kt holds CachecalcKt. Maven fetches for the first build."""

    need = "kotlin"
    besides: tuple[str, ...] = ("jdk",)

    def version(self, job: Job) -> str:
        return f"{_libraries(job)['kotlinx-coroutines-core-jvm']} on {job.tool.version}"

    def sources(self, job: Job) -> list[Path]:
        return [*super().sources(job), _pom(job)]

    def steps(self, job: Job) -> list[BuildStep]:
        jars, compiler, classes = _jars(job), _jars(job, "compiler"), job.out / "classes"
        java = str(_bin() / "java")
        harness = sorted(path for path in super().sources(job) if path != job.source)
        libraries = os.pathsep.join(map(str, (classes, *(jars / f"{name}.jar" for name in _libraries(job)))))
        return [
            self._fetched(job, jars, "runtime"),
            self._fetched(job, compiler, "provided"),
            BuildStep(
                (str(_bin() / "javac"), "-d", str(classes), "-nowarn", "-proc:none", "-cp", str(classes),
                 *self.preview_of_compiler(job), *map(str, harness)),
                job.out,
            ),
            BuildStep(
                (java, "-cp", f"{compiler}/*{os.pathsep}{jars}/*", _COMPILER, "-no-stdlib", "-no-reflect",
                 "-nowarn", "-jvm-target", _BYTECODE, "-cp", libraries, "-d", str(classes), str(job.source)),
                job.out,
            ),
        ]  # fmt: skip

    def flags(self, job: Job) -> str:
        versions = " ".join(f"{name} {version}" for name, version in sorted(_libraries(job).items()))
        return f"kotlinc -jvm-target {_BYTECODE}; java {versions}"

    def wrapper(self, job: Job) -> str:
        options = ["--enable-native-access=ALL-UNNAMED", *self.preview(job)]
        places = f"{job.out / 'classes'}{os.pathsep}{_jars(job)}/*"
        return starter(str(_bin() / "java"), *options, "-cp", places, f"{job.source.stem.capitalize()}Kt")

    @staticmethod
    def _fetched(job: Job, folder: Path, scope: str) -> BuildStep:
        """Maven looks for its own settings beside the file that it is given, and finds those of toll.

        It is told the kit that toll found, which `java` need not be.
        """
        words = (f"-DoutputDirectory={folder}", f"-DincludeScope={scope}", "-Dmdep.stripVersion=true")
        copies = ("--quiet", "--file", str(_pom(job)), "dependency:copy-dependencies", *words)
        return BuildStep((str(job.tool.path), *copies), ANYWHERE, {"JAVA_HOME": str(_bin().parent)})


def _pom(job: Job) -> Path:
    return job.root / "languages/kotlin/pom.xml"


def _jars(job: Job, what: str = "jars") -> Path:
    """A folder for each text of the file: names have no version in them, and what is there is kept."""
    return job.out / f"{what}-{hashlib.sha256(_pom(job).read_bytes()).hexdigest()[:8]}"


def _bin() -> Path:
    found = newest_jdk()
    return (found[0] if found else Path("/")) / "bin"  # without one the need is missing, and nothing is built


def _libraries(job: Job) -> dict[str, str]:
    """What programs stand on, with its version, as the file declares it."""
    project = ElementTree.parse(_pom(job)).getroot()
    return {
        one.findtext(f"{_POM}artifactId", ""): one.findtext(f"{_POM}version", "")
        for one in project.iter(f"{_POM}dependency")
        if one.find(f"{_POM}scope") is None
    }
