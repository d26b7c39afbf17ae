"""Writes sbom.cdx.json, the software bill of materials (CycloneDX 1.6), from the lock file and third_party.

    PYTHONPATH=python .venv/bin/python tests/python/sbom.py

It is generated: `tests/python/test_sbom.py` holds it against the lock file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BILL = ROOT / "sbom.cdx.json"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)(?: ; ([^\\]+?))? \\$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def pinned(lock: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """(name, version, marker, sha256 of each file) of each pin."""
    entry: tuple[str, str, str, list[str]] | None = None
    for line in lock.splitlines():
        if found := _PIN.match(line):
            if entry:
                yield entry
            entry = (found[1], found[2], found[3] or "", [])
        elif entry and (each := _HASH.search(line)):
            entry[3].append(each[1])
    if entry:
        yield entry


def bill() -> dict[str, object]:
    """The whole document; the same for the same lock file."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    components = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            # Files of all platforms; an installation takes one of them.
            "properties": [{"name": "toll:sha256", "value": value} for value in sorted(hashes)]
            + ([{"name": "toll:only-where", "value": marker}] if marker else []),
        }
        for name, version, marker, hashes in pinned(lock)
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "tollbench", "bom-ref": "tollbench"}},
        "components": [*components, *vendored()],
    }


def vendored() -> Iterator[dict[str, object]]:
    """What lies in third_party: version and hash as its README.md says, which a test holds."""
    for readme in sorted((ROOT / "third_party").glob("*/README.md")):
        text, name = readme.read_text(encoding="utf-8"), readme.parent.name
        version = re.search(r"^\s+version\s+(\S+)$", text, re.MULTILINE)
        digest = re.search(r"^\s+sha256\s+([0-9a-f]{64})", text, re.MULTILINE)
        licence = re.search(r"Apache License 2\.0", text)
        if not (version and digest and licence):
            raise ValueError(f"{readme} lacks a version, a hash or a licence")
        yield {
            "type": "library",
            "name": name,
            "version": version[1],
            "purl": f"pkg:npm/{name}@{version[1]}",
            "bom-ref": f"pkg:npm/{name}@{version[1]}",
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "hashes": [{"alg": "SHA-256", "content": digest[1]}],
        }


def written() -> str:
    """As it lies in the checkout."""
    return json.dumps(bill(), indent=1) + "\n"


if __name__ == "__main__":
    BILL.write_text(written(), encoding="utf-8")
