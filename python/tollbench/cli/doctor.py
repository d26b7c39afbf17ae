"""`toll doctor`: what this machine can measure, what is missing, and what makes it noisy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tollbench.cli.console import tell, tell_as_json
from tollbench.errors import TollError

EXAMPLE = "toll doctor --json"


def command(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="With --json: the machine and what makes it noisy alone.")
    ] = False,
) -> None:
    """What this machine can measure, the command that brings what is missing, and what makes it noisy."""
    if brief and not as_json:
        raise TollError("--brief is for programs", "add --json")
    found = examine_briefly() if brief else {**examine_briefly(), **examine_packages()}
    if as_json:
        tell_as_json(found)
    else:
        _print(found)


def examine_briefly() -> dict[str, Any]:
    """machine, conditions, toll {version, sources}: what stands beside what is measured."""
    from tollbench import __version__, home
    from tollbench.catalog import machine

    return {
        "machine": machine.describe(),
        "conditions": machine.conditions(),
        "toll": {"version": __version__, "sources": home.fingerprint()},
    }


def examine_packages() -> dict[str, Any]:
    """needs, missing_command, counters, contenders.

    A need is {name, group, purpose, found, packages, command}: the last brings one that is missing,
    `missing_command` all but the extras.
    """
    from tollbench.catalog import packages

    needs = [need for need in packages.table().values() if need.group != "step"]
    missing = packages.missing(needs)
    return {
        "needs": [
            {
                "name": need.name,
                "group": need.group,
                "purpose": need.purpose,
                "found": need.found(),
                "packages": list(packages.package_names([need])),
                "command": packages.command_for([need]) if need in missing else "",
            }
            for need in needs
        ],
        "missing_command": packages.command_for([need for need in missing if need.group != "extra"]),
        "counters": _counters(),
        "contenders": _contenders(),
    }


def _contenders() -> dict[str, int]:
    from tollbench.building.known import why_not
    from tollbench.catalog import suites
    from tollbench.cli.places import ROOT, build_folder

    told = why_not(build_folder("host"))
    reasons = [told(contender) for workload in suites.load(ROOT) for contender in workload.contenders]
    return {"available": reasons.count(""), "missing": len(reasons) - reasons.count("")}


def _counters() -> str:
    """Whether the kernel offers hardware counters at all: "" where it does, else the reason."""
    from pathlib import Path

    devices = Path("/sys/bus/event_source/devices")
    if not devices.is_dir():
        return "this kernel has no perf events"
    if not any(path.name.startswith("cpu") or "pmu" in path.name for path in devices.iterdir()):
        return "the hypervisor passes no performance counters on"
    return ""


def _print(found: dict[str, Any]) -> None:
    machine, counted = found["machine"], found["contenders"]
    tell(f"{machine['cpu']}, {machine['cpus']} CPUs ({len(machine['usable_cpus'])} usable)")
    layers = "unknown whether a virtual machine"
    tell(f"{machine['os']}, {machine['kernel']}, {machine['libc']}, {machine['virtualization'] or layers}")
    total = counted["available"] + counted["missing"]
    tell(f"\nCan measure {counted['available']} of {total} contenders (toll list shows which).")
    tell(f"Hardware counters: {found['counters'] or 'offered by the kernel'}")
    tell("\nNeeded from the system")
    for need in found["needs"]:
        mark = " " if need["found"] else "-"
        tell(f"  {mark} {need['name']:13} {need['purpose']:58} {need['found'] or 'missing'}")
    if found["missing_command"]:
        tell(f"  What is missing (-) comes with: {found['missing_command']}")
    extras = [need for need in found["needs"] if need["group"] == "extra" and need["command"]]
    if extras:
        tell("\nExtras that are missing: no stable release of Debian has them all")
    for need in extras:
        tell(f"  {need['name']}: {need['command']}")
    noise = found["conditions"]["noise"]
    tell(
        "\nWhat makes this machine noisy"
        if noise
        else "\nNothing makes this machine noisy that toll knows of."
    )
    for finding in noise:
        tell(f"  {finding['name']}: {finding['value']}")
        tell(f"      so    {finding['consequence']}")
        tell(f"      try   {finding['remedy']}")
