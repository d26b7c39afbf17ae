"""Java development kits on this machine: they lie beside each other, and PATH may name an old one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

JDK_FOLDERS = ("/usr/lib/jvm", "/usr/local/lib/jvm", "/opt", "~/.sdkman/candidates/java", "~/.jdks")


def newest_jdk() -> tuple[Path, str] | None:
    """Home and version of the newest kit with a compiler, or None. Reads its release file; runs nothing."""
    found = [(_key(version), home, version) for home in _homes() if (version := _version(home))]
    if not found:
        return None
    _, home, version = max(found)
    return home, version


def feature(version: str) -> int:
    """25 of "25.0.3", 8 of "1.8.0_402"; 0 where it is no version."""
    numbers = _key(version)
    return numbers[1] if numbers[:1] == (1,) and len(numbers) > 1 else (numbers or (0,))[0]


def _homes() -> Iterator[Path]:
    if (home := Path(os.environ.get("JAVA_HOME", ""))).is_absolute():
        yield home
    if compiler := shutil.which("javac"):
        yield Path(compiler).resolve().parents[1]
    for folder in JDK_FOLDERS:
        with suppress(RuntimeError):  # a user without a home
            yield from sorted(path.parent for path in Path(folder).expanduser().glob("*/release"))


def _version(home: Path) -> str:
    """The kit's JAVA_VERSION; "" where it has no compiler or no release file."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    told = re.search(r'^JAVA_VERSION="(.+?)"$', text, re.MULTILINE)
    return told.group(1) if told and os.access(home / "bin/javac", os.X_OK) else ""


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
