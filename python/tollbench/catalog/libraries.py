"""Which of the libraries that contenders need are on this machine, before anything was built."""

from __future__ import annotations

from tollbench.catalog.packages import command_for, table
from tollbench.words import Contender


def why_unavailable(contender: Contender) -> str:
    """What is missing for this contender and the command that brings it; "" where nothing is.

    A need that packages.toml does not know, or calls an extra, counts as there: only the build can tell.
    """
    known = (table()[name] for name in contender.needs if name in table())
    needs = [need for need in known if need.group != "extra"]
    absent = [need for need in needs if need.found() is None]
    if not absent:
        return ""
    return f"{', '.join(need.name for need in absent)} not found; next: {command_for(absent)}"
