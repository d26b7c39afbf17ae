"""Which machine a run was measured on: what it states of itself, in full, and nothing else.

Two runs are of one machine only where all of this is the same, and the host's name that the user gave with
it. A new kernel, firmware or microcode makes another machine: what it costs may have changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tollbench.analysis.stated import stated
from tollbench.lake.lake_schema import LABEL
from tollbench.writing.redacting import harmless, secrets_here

MOST_HOST = 100  # characters


@dataclass(frozen=True, slots=True)
class StatedMachine:
    """What a run says of its machine."""

    id: str  # "m" and 20 hexadecimal digits
    host: str  # as the user named it; "" where nobody did
    stated: Mapping[str, Any]  # of which the id is made
    described: Mapping[str, Any]  # all of it

    @classmethod
    def of(cls, machine: Mapping[str, Any], host: str = "") -> StatedMachine:
        """From a run's description, which may be a stranger's: unknown keys and types are left out."""
        # The same whoever adds it: no variable of this environment is looked for here, as it is below.
        described = {harmless(name, ()): harmless(value, ()) for name, value in machine.items()}
        said = stated(described)
        text = json.dumps({"host": host, **said}, sort_keys=True, separators=(",", ":"))
        known = secrets_here()
        return cls(
            f"m{hashlib.sha256(text.encode()).hexdigest()[:20]}", host, harmless(said, known),
            harmless(described, known),
        )  # fmt: skip

    def label(self) -> dict[str, Any]:
        """The columns by which other tables name it."""
        row = self.row()
        return {field.name: row[field.name] for field in LABEL}

    def row(self) -> dict[str, Any]:
        """The columns of table `machine` besides those that every table has."""
        texts = ("cpu", "architecture", "product", "microcode", "firmware", "kernel", "virtualization")
        wholes = ("cpus", "usable_cpus", "packages", "cores", "threads_per_core", "numa_nodes")
        return {
            "host": self.host,
            **{name: _text(self.stated.get(name)) for name in texts},
            **{name: _whole(self.stated.get(name)) for name in (*wholes, "memory_bytes", "page_bytes")},
            **{name: _json(self.stated.get(name)) for name in ("caches", "frequency_mhz", "mitigations")},
            **{name: _text(self.described.get(name)) for name in ("os", "libc")},
            "stated": _json(self.stated),
            "described": _json(self.described),
        }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True)
