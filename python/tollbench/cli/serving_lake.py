"""The pages that `toll lake serve` has: each one question of the lake, asked anew when it is opened."""

from __future__ import annotations

from collections.abc import Mapping

from tollbench.lake.across_machines import across_machines
from tollbench.lake.differing import differing
from tollbench.lake.held_runs import held_cases, held_runs
from tollbench.lake.lake_rows import Asked
from tollbench.lake.lakes import lake_at
from tollbench.lake.opened_lake import OpenedLake
from tollbench.lake.serving import LakeServer
from tollbench.lake.trends import trend
from tollbench.report.lakes import lake_html
from tollbench.text import clean

_HOME = ("all runs", "/")


def server(place: str, port: int) -> LakeServer:
    """Listens already. Raises TollError where there is no lake, or the port is taken."""
    lake = lake_at(place)

    def answering(path: str, asked: Mapping[str, str]) -> str | None:
        pages = {"/": _runs, "/cases": _cases, "/machines": _machines, "/differ": _differ, "/trend": _trend}
        tables = {"/": ("run",), "/trend": ("summary", "machine")}
        page = pages.get(path)
        if page is None:
            return None
        wanted = tables.get(path, ("summary",))
        with lake.reading(wanted) as folder, OpenedLake(folder, wanted) as opened:
            return page(opened, asked)

    return LakeServer(port, lake_html.POLICY, answering, lake_html.refusal)


def _runs(opened: OpenedLake, _asked: Mapping[str, str]) -> str:
    return lake_html.render(held_runs(opened))


def _cases(opened: OpenedLake, asked: Mapping[str, str]) -> str:
    workload = asked.get("workload", "")
    differing_there = lake_html.address({"page": "differ", "workload": workload})
    trail = [_HOME, ("which verdicts differ between machines", differing_there)]
    return lake_html.render(held_cases(opened, Asked.of(workload)), trail)


def _machines(opened: OpenedLake, asked: Mapping[str, str]) -> str:
    return lake_html.render(
        across_machines(opened, _case(asked), asked.get("against", "")), _trail(_case(asked))
    )


def _differ(opened: OpenedLake, asked: Mapping[str, str]) -> str:
    of = Asked.of(asked.get("workload", ""))
    return lake_html.render(differing(opened, of), _trail(of))


def _trend(opened: OpenedLake, asked: Mapping[str, str]) -> str:
    found = trend(opened, _case(asked), asked.get("machine", ""), asked.get("against", ""))
    return lake_html.render(found, _trail(_case(asked)))


def _case(asked: Mapping[str, str]) -> Asked:
    parameters = asked.get("parameters", "").split(" ")
    return Asked.of(
        asked.get("case", ""),
        environment=asked.get("environment", "host"),
        parameters=[each for each in parameters if each],
    )


def _trail(asked: Asked) -> list[tuple[str, str]]:
    return [_HOME, (clean(asked.workload), lake_html.address({"page": "cases", "workload": asked.workload}))]
