"""`toll list`: what can be measured, and what is missing for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from tollbench.cli.console import tell, tell_as_json
from tollbench.text import several

EXAMPLE = "toll list tasks --json"


def command(
    selection: Annotated[
        list[str] | None,
        typer.Argument(help="topic, topic/workload or topic/workload/contender; * and ? stand for anything"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: schemas/list.schema.json.")] = False,
) -> None:
    """What can be measured here: every workload and contender, and why one cannot."""
    rows = _rows(selection or [])
    if as_json:
        tell_as_json(rows)
    else:
        _print(rows)


def _rows(names: list[str]) -> list[dict[str, Any]]:
    from tollbench.building.known import why_not
    from tollbench.catalog import environments, suites
    from tollbench.cli.places import ROOT, build_folder
    from tollbench.plan.selection import select

    # A contender that only a root has is judged there.
    told = {name: why_not(build_folder(name)) for name in ("host", *environments.ROOTS)}
    roots = {name: environments.located(environments.named(name)).unavailable for name in environments.ROOTS}
    rows = []
    for workload, contenders in select(suites.load(ROOT), names):
        for contender in contenders:
            own = set(contender.environments) & set(roots)
            where = min(own) if own and own == set(contender.environments) else "host"
            reason = roots.get(where) or told[where](contender)
            rows.append(
                {
                    "workload": workload.name,
                    "contender": contender.name,
                    "language": contender.language,
                    "library": contender.library,
                    "available": not reason,
                    "reason": reason,
                    "question": workload.question,
                    "kind": str(workload.kind),
                    "unit": workload.unit,
                    "per": workload.per,
                    "parameters": {p.name: list(p.defaults) for p in workload.parameters} | _own(contender),
                    "needs": list(contender.needs),
                    "environments": list(contender.environments),
                    "source": str(contender.source.relative_to(ROOT)),
                    "note": contender.note,
                }
            )
    return rows


def _own(contender: Any) -> dict[str, list[Any]]:
    return {name: [value] for name, value in contender.parameters.items()}


def _print(rows: list[dict[str, Any]]) -> None:
    """A heading a topic, a workload below it, and its contenders by library.

    Every line of a contender names its library, so that grep finds all contenders of one.
    """
    for number, (topic, of_topic) in enumerate(_together(rows, _topic).items()):
        workloads = _together(of_topic, lambda row: row["workload"])
        apart = "\n" if number else ""
        tell(f"{apart}{topic}: {several(len(workloads), 'workload')}")
        for workload, contenders in workloads.items():
            tell(f"  {workload}  {contenders[0]['question']}")
            _print_contenders(contenders)
    absent = sum(not row["available"] for row in rows)
    if absent:
        tell(f"{absent} of {len(rows)} cannot be measured yet (-); toll doctor shows what is missing")


def _print_contenders(rows: list[dict[str, Any]]) -> None:
    library_width = max(len(row["library"]) for row in rows)
    width = max(len(row["contender"]) for row in rows)
    for library, contenders in _together(rows, lambda row: row["library"]).items():
        for row in contenders:
            mark = " " if row["available"] else "-"
            what = f"{row['language']}{_where(row)}" if row["available"] else row["reason"]
            tell(f"    {mark} {library:{library_width}}  {row['contender']:{width}}  {what}")


def _topic(row: dict[str, Any]) -> str:
    return str(row["workload"]).partition("/")[0]


def _together(
    rows: list[dict[str, Any]], of: Callable[[dict[str, Any]], str]
) -> dict[str, list[dict[str, Any]]]:
    """The rows by what `of` says of each, in the order in which that is first said."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(of(row), []).append(row)
    return found


def _where(row: dict[str, Any]) -> str:
    """Where a contender is measured unless other environments are asked for; most only as the machine is."""
    return "" if row["environments"] == ["host"] else f" in {', '.join(row['environments'])}"
