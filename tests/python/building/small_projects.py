"""Projects of a few files that toll's build driver builds as if they were its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

_PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/never"}],
}


def small_project(folder: Path, cmake: str, sources: Mapping[str, str]) -> Path:
    """Its root, in a folder whose name needs quoting; `sources` by file name."""
    root = folder / "a project"
    root.mkdir()
    files = {"CMakeLists.txt": cmake, "CMakePresets.json": json.dumps(_PRESETS), **sources}
    for name, text in files.items():
        (root / name).write_text(text)
    return root
