"""Java: one file with languages/java, by a kit of version 21 or later."""

from __future__ import annotations

import re
from pathlib import Path

from tollbench.building.recipes.parts import BuildStep, Job, Tool, WithWrapper, files_below, starter
from tollbench.catalog.toolchains import feature, newest_jdk

FOREIGN_FUNCTIONS_FINAL = 22  # before, calling getrusage is a preview feature


class Java(WithWrapper):
    """The main class is the file's name with a capital: skynet.java holds Skynet."""

    need = "jdk"
    heeded: tuple[str, ...] = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS", "_JAVA_OPTIONS")
    # Switches and numbers. Properties (-D) and what agents are told may be passwords.
    plain: re.Pattern[str] | None = re.compile(
        r"-X(mx|ms|mn|ss)\d+[kKmMgGtT]?|-X(int|comp|mixed)|-XX:([-+]\w+|\w+=\d[\d.]*[kKmMgGtT]?)"
    )

    def tool(self, place: Path) -> Tool:
        found = newest_jdk()
        return Tool(place, f"JDK {found[1]}" if found else "")

    def sources(self, job: Job) -> list[Path]:
        return [job.source, *files_below(job.root / "languages/java", ".java")]

    def steps(self, job: Job) -> list[BuildStep]:
        # On the class path, by default the current folder, javac also looks for processors, which it runs.
        classes = str(job.out / "classes")
        options = ["-d", classes, "-nowarn", "-proc:none", "-cp", classes, *self.preview_of_compiler(job)]
        command = (str(job.tool.path), *options, *map(str, sorted(self.sources(job))))
        return [BuildStep(command, job.out)]

    def flags(self, job: Job) -> str:
        return " ".join(["javac; java", *self.preview(job)])

    def wrapper(self, job: Job) -> str:
        java = str(job.tool.path.with_name("java"))
        options = ["--enable-native-access=ALL-UNNAMED", *self.preview(job)]
        return starter(java, *options, "-cp", str(job.out / "classes"), job.source.stem.capitalize())

    def preview_of_compiler(self, job: Job) -> list[str]:
        """Words of javac's, which wants to be told a release with them."""
        return [*found, "--release", str(self._feature(job))] if (found := self.preview(job)) else []

    def preview(self, job: Job) -> list[str]:
        """Words of both, where what programs call is not final yet."""
        return ["--enable-preview"] if self._feature(job) < FOREIGN_FUNCTIONS_FINAL else []

    def _feature(self, job: Job) -> int:
        return feature(job.tool.version.removeprefix("JDK "))
