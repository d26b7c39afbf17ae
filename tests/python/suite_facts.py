"""Compares what a program tells about a workload (`PROGRAM describe`) with suite.toml.

Standard library only: ctest uses it for C++, pytest for the other languages.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tollbench.catalog.suite_rules import LIBRARY


def differences(suites: Path, told: dict[str, Any]) -> list[str]:
    """What one entry of a description says otherwise than its suite, a sentence each."""
    where = f"{told['workload']} {told['contender']}"
    suite = tomllib.loads((suites / told["workload"] / "suite.toml").read_text(encoding="utf-8"))
    if told["contender"] not in suite["contenders"]:
        return [f"{where}: not in suite.toml"]
    contender = suite["contenders"][told["contender"]]
    declared = suite.get("parameters", {})
    offered = {parameter["name"]: parameter for parameter in told["parameters"]}
    pairs = [(fact, told[fact], suite[fact]) for fact in ("kind", "unit", "per")]
    pairs.append(("library", told["library"], contender.get("library", LIBRARY)))
    pairs.append(("parameters", list(offered), list(declared)))
    for name in filter(offered.__contains__, declared):
        told_of, said_of = offered[name], declared[name]
        pairs += [(f"{name}: {fact}", told_of[fact], said_of[fact]) for fact in ("unit", "meaning")]
        known = defaults(said_of["default"], contender.get("parameters", {}).get(name))
        if told_of["default"] not in known:
            pairs.append((f"{name}: default", told_of["default"], " or ".join(known)))
    wrong = (pair for pair in pairs if pair[1] != pair[2])
    return [f"{where}: {fact}: {ours!r}, suite.toml: {theirs!r}" for fact, ours, theirs in wrong]


def defaults(measured: int | str | list[int | str], own: int | str | None) -> list[str]:
    """What a program may take by default: one of the values that toll measures, or the contender's own."""
    values = [*measured] if isinstance(measured, list) else [measured]
    if "1..2*cpus" in values:
        values.append("cpus")  # one of those that it stands for
    if own is not None:
        values.append(own)
    return [str(value) for value in values]
