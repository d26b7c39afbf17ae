"""What the last build in a folder knew about each contender, for those who do not want to build."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tollbench.building import languages
from tollbench.catalog.libraries import why_unavailable
from tollbench.catalog.packages import command_for, need_named
from tollbench.words import Contender

FAILURES = "failures.json"  # target -> reason of the last build
INDEX = "contenders.json"


def entries(folder: Path) -> list[dict[str, Any]]:
    """CMake's contenders.json as it stands; [] before the first configuration."""
    content = _read(folder / INDEX)
    found = content.get("contenders", []) if isinstance(content, dict) else content
    return [entry for entry in found or [] if isinstance(entry, dict)]


def failures(folder: Path) -> dict[str, str]:
    """Targets that the last build could not make, with the reason."""
    content = _read(folder / FAILURES)
    return content if isinstance(content, dict) else {}


def why_not(folder: Path) -> Callable[[Contender], str]:
    """A function from contender to the reason why it cannot be measured, "" where it can.

    The build knows best; a contender that it has not seen is judged by the libraries that lie here.
    """
    index = {(entry.get("workload"), entry.get("contender")): entry for entry in entries(folder)}
    failed = failures(folder)

    def reason(contender: Contender) -> str:
        if languages.takes(contender):
            return languages.why_not(contender, folder)
        entry = index.get((contender.workload, contender.name))
        if entry is None:
            return why_unavailable(contender)
        if not entry.get("target"):
            return reason_on_host(entry)
        return failed.get(entry["target"], "")

    return reason


def reason_on_host(entry: Mapping[str, Any]) -> str:
    """Why CMake left a contender out, and the command of this system's package manager that helps."""
    reason = str(entry.get("reason") or "CMake left it out without a reason")
    need = need_named(str(entry.get("missing", "")))
    return f"{reason}; next: {command_for([need])}" if need else reason


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
