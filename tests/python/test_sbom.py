"""What toll consists of: each download by hash, a bill of materials that is up to date, vendored files."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

import sbom
from toll_test import audit

ROOT = sbom.ROOT


def test_the_bill_of_materials_is_up_to_date() -> None:
    assert sbom.BILL.read_text(encoding="utf-8") == sbom.written(), "run tests/python/sbom.py"
    components = json.loads(sbom.BILL.read_text())["components"]
    names = {each["name"] for each in components}
    declared = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert names == {*declared, *(path.name for path in (ROOT / "third_party").iterdir())}
    assert len({each["bom-ref"] for each in components}) == len(components)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-test.lock"])
def test_every_pin_has_a_hash(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = list(sbom.pinned(text))
    assert len(pins) == len(re.findall(r"^[A-Za-z0-9]", text, re.MULTILINE))
    assert [name for name, _, _, hashes in pins if not hashes] == []
    assert not re.search(r"git\+|https?://|^-e |^--(extra-)?index-url", text, re.MULTILINE)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-test.lock"])
def test_machines_without_a_wheel_of_the_newest_decoder_have_an_older_one(lock: str) -> None:
    """Releases after 1.17 have none for 64-bit Arm, and toll could not set itself up there without Rust."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = {marker: version for name, version, marker, _ in sbom.pinned(text) if name == "iced-x86"}
    assert set(pins) == {"platform_machine == 'x86_64'", "platform_machine != 'x86_64'"}
    assert pins["platform_machine != 'x86_64'"] == "1.17.0"


def test_what_is_vendored_is_what_its_page_says() -> None:
    found = list(sbom.vendored())
    assert found
    for folder, each in zip(sorted((ROOT / "third_party").iterdir()), found, strict=True):
        digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.js")}
        assert digests == {item["content"] for item in each["hashes"]}  # type: ignore[attr-defined]
        assert "Apache License" in (folder / "LICENSE").read_text(encoding="utf-8")


def test_cargo_lock_files_have_checksums() -> None:
    locks = sorted(ROOT.glob("suites/*/*/Cargo.lock"))
    assert locks
    for lock in locks:
        packages = lock.read_text(encoding="utf-8").split("[[package]]")[1:]
        assert [each for each in packages if "source =" in each and "checksum =" not in each] == []
        assert all("registry+" in each for each in packages if "source =" in each)


BAD: dict[str, object] = {"name": "c", "version": "3", "vulns": [{"id": "CVE-1"}]}
KNOWN: dict[str, object] = {"name": "a", "version": "1", "vulns": []}
UNKNOWN: dict[str, object] = {"name": "b", "skip_reason": "not found"}
ANSWERS = [
    ("No known vulnerabilities found", 0, 0, "2 packages audited, 1 not known to the database: No known"),
    (
        "Found 2 known vulnerabilities in 1 package",
        1,
        1,
        "Found 2 known vulnerabilities in 1 package; c 3: CVE-1",
    ),
    ("requests.exceptions.ConnectionError: Max retries exceeded", 1, 0, "skipped"),
    ("Found 1 known vulnerability in 1 package; HTTPError for another", 1, 1, "Found 1"),
    ("error: invalid requirement", 1, 1, "invalid"),
]


@pytest.mark.parametrize(("said", "status", "expected", "told"), ANSWERS)
def test_an_audit_fails_for_what_is_known_and_for_nothing_else(
    tmp_path, said, status, expected, told
) -> None:
    lines: list[str] = []
    answering = auditor(tmp_path, said, [KNOWN, UNKNOWN, BAD if "Found 2" in said else KNOWN], status)
    assert audit.main(answering, lines.append) == expected
    assert len(lines) == 2
    assert all(told in line for line in lines)


def auditor(folder: Path, said: str, packages: list[dict[str, object]], status: int) -> str:
    """A pip-audit that answers so."""
    (folder / "answer").write_text(json.dumps({"dependencies": packages, "fixes": []}))
    tool = folder / "pip-audit"
    tool.write_text(f"#!/bin/sh\ncat '{folder}/answer'\necho '{said}' >&2\nexit {status}\n")
    tool.chmod(0o755)
    return str(tool)


def test_an_audit_that_could_ask_about_nothing_is_no_sound_one(tmp_path) -> None:
    lines: list[str] = []
    answering = auditor(tmp_path, "No known vulnerabilities found", [UNKNOWN, UNKNOWN], 0)
    assert audit.main(answering, lines.append) == 0
    assert [line for line in lines if not line.startswith("skipped")] == []
    assert "nobody knew any of its 2 packages" in lines[0]


def test_an_audit_without_its_tool_says_so() -> None:
    lines: list[str] = []
    assert audit.main(None, lines.append) == 0
    assert "skipped" in lines[0]
