"""A lake's answer as a page: no script, nothing that is loaded, links to other pages of the same server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from markupsafe import Markup

from tollbench.lake.lake_answers import LakeAnswer, LakeRuns
from tollbench.report.lakes.lake_lines import sheet
from tollbench.report.page_files import PageFiles
from tollbench.text import clean

FILES = PageFiles(Path(__file__).parent / "page")
# In the page itself too, but for frame-ancestors, which only a header may say.
POLICY_OF_PAGE = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
POLICY = f"{POLICY_OF_PAGE}; frame-ancestors 'none'"


def render(answer: LakeAnswer, trail: Sequence[tuple[str, str]] = ()) -> str:
    """The whole page as one text. `trail` is the way back: names and addresses of pages above it."""
    told = sheet(answer)
    workloads = [(clean(name), address({"page": "cases", "workload": name})) for name in _workloads(answer)]
    rows = [
        [
            (column.cells[at], address(column.links[at]) if column.links else "", column.right)
            for column in told.columns
        ]
        for at in range(len(told.columns[0].cells) if told.columns else 0)
    ]
    return FILES.templates.get_template("lake.html.j2").render(
        style=Markup(FILES.text("lake.css")),
        policy=POLICY_OF_PAGE,
        title=told.title,
        sentences=[] if workloads else told.sentences,
        warnings=[clean(warning) for warning in told.warnings],
        workloads=workloads,
        heads=[(column.title.strip(), column.right) for column in told.columns],
        rows=rows,
        marked=[*told.marked, *([False] * (len(rows) - len(told.marked)))],
        notes=told.notes,
        trail=trail,
    )


def refusal(what: str, step: str) -> str:
    """The page of an error: what happened, and what to do next."""
    return FILES.templates.get_template("lake.html.j2").render(
        style=Markup(FILES.text("lake.css")), policy=POLICY_OF_PAGE,
        title=clean(what), sentences=[clean(step)], warnings=[],
        workloads=[], heads=[], rows=[], marked=[], notes=[], trail=[("all runs", "/")],
    )  # fmt: skip


def address(link: Mapping[str, str]) -> str:
    """Of a page, with what it asks."""
    asked = {name: value for name, value in link.items() if name != "page" and value}
    return f"/{link['page']}?{urlencode(asked)}"


def _workloads(answer: LakeAnswer) -> Sequence[str]:
    return answer.workloads if isinstance(answer, LakeRuns) else ()
