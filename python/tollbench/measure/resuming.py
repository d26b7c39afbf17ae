"""The plan of an interrupted run, read back from its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tollbench.errors import TollError
from tollbench.plan import Plan, Settings
from tollbench.store import CaseRecord, RunFile
from tollbench.text import shown
from tollbench.words import Case, Environment, Workload


def plan_json(plan: Plan) -> dict[str, Any]:
    """What resuming needs beyond the tables: goes into the run's header."""
    return {"settings": plan.settings.to_json()}


def plan_of(run_file: RunFile, workloads: Sequence[Workload], environments: Sequence[Environment]) -> Plan:
    """The plan of an interrupted run; `workloads` and `environments` are those known here.

    Only names, parameters and numbers come from the file. What is executed or preloaded comes from this
    machine's catalogue, because the file may be a stranger's. Raises TollError where something is gone.
    """
    if not run_file.cases():
        raise TollError(
            f"{run_file.path} was interrupted before its plan was stored, or its run has only just begun:"
            " there is nothing to go on with.",
            "Where no run is measuring: delete it, and start a new run with `toll run`.",
        )
    known_workloads = {workload.name: workload for workload in workloads}
    known_environments = {environment.name: environment for environment in environments}
    for kind, wanted, known in (
        ("workload", {item.name for item in run_file.workloads()}, known_workloads.keys()),
        ("environment", {item.name for item in run_file.environments()}, known_environments.keys()),
    ):
        for name in sorted(wanted - known):
            raise TollError(
                f"{run_file.path} measured the {kind} {shown(name)!r}, which does not exist here.",
                "Resume it with the toll and the machine that began it, or start a new run with `toll run`.",
            )
    stored = run_file.header().plan.get("settings")
    return Plan(
        workloads=tuple(known_workloads[item.name] for item in run_file.workloads()),
        environments=tuple(known_environments[item.name] for item in run_file.environments()),
        cases=tuple(_case(record) for record in run_file.cases()),
        settings=Settings.from_json(stored if isinstance(stored, dict) else {}),
    )


def _case(record: CaseRecord) -> Case:
    """Without what became of it."""
    return Case(**{field.name: getattr(record, field.name) for field in fields(Case)})
