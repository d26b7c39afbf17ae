"""What a user asks for: names with wildcards, and values for parameters."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Self

from tollbench.catalog import environments
from tollbench.catalog.suite_rules import headline_of
from tollbench.errors import TollError
from tollbench.words import Contender, Environment, Workload

ALL = "all"


@dataclass(frozen=True, slots=True)
class Selection:
    """`names` are topic, topic/workload or topic/workload/contender with * and ?; () is every headline."""

    names: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # parameter -> values, still text
    environments: tuple[str, ...] = ()  # (): those that each contender names; ("all",): all on offer

    @classmethod
    def parse(
        cls, names: Sequence[str] = (), settings: Sequence[str] = (), environments: Sequence[str] = ()
    ) -> Self:
        """From the command line: names, settings such as "tasks=10000,100000", environments "host,tcmalloc".

        Raises TollError.
        """
        values: dict[str, tuple[str, ...]] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            items = tuple(item.strip() for item in text.split(","))
            if not (name.strip() and equals and all(items)):
                raise TollError(
                    f"{setting!r} is not a setting.", "Write --set NAME=VALUE or --set NAME=VALUE,VALUE."
                )
            values[name.strip()] = values.get(name.strip(), ()) + items
        asked = [name.strip() for text in environments for name in text.split(",")]
        if not all(asked):
            raise TollError(
                "--env names no environment, or none between two commas.",
                "Write --env NAME,NAME or --env all.",
            )
        chosen = tuple(dict.fromkeys(asked))
        return cls(tuple(name.strip().rstrip("/") for name in names), values, chosen)

    def with_value(self, name: str, value: str) -> Self:
        """The same with one value for the parameter `name`, which may hold commas. Raises TollError."""
        if name in self.values:
            raise TollError(f"{name} is given twice: by --{name} and by --set.", "Leave one of them out.")
        return replace(self, values={**self.values, name: (value,)})


def select(
    workloads: Sequence[Workload], names: Sequence[str]
) -> list[tuple[Workload, tuple[Contender, ...]]]:
    """The workloads asked for with the contenders asked for, in the catalogue's order. Raises TollError.

    A name that matches nothing offers the nearest ones.
    """
    for name in names:
        _check(name, workloads)
    chosen = []
    for workload in workloads:
        contenders = tuple(c for c in workload.contenders if _asked(f"{workload.name}/{c.name}", names))
        if contenders:
            chosen.append((workload, contenders))
    return chosen


def by_name(workloads: Sequence[Workload]) -> tuple[str, ...]:
    """What `headlines` leaves out: topics of which nothing is left, and single workloads of others."""

    def topic(workload: Workload) -> str:
        return workload.name.partition("/")[0]

    measured = {topic(one) for one in workloads if not one.by_name_only}
    left_out = (one for one in workloads if one.by_name_only)
    return tuple(dict.fromkeys(one.name if topic(one) in measured else topic(one) for one in left_out))


def headlines(workloads: Sequence[Workload]) -> list[tuple[Workload, tuple[Contender, ...]]]:
    """Each workload with its headline: few enough that a first run builds and measures all in minutes.

    Those that are measured by name only are left out.
    """
    chosen = []
    for workload in workloads:
        if workload.by_name_only:
            continue
        names = headline_of(workload.headline, (contender.name for contender in workload.contenders))
        if contenders := tuple(c for c in workload.contenders if c.name in names):
            chosen.append((workload, contenders))
    return chosen


def select_environments(offered: Sequence[Environment], names: Sequence[str]) -> tuple[Environment, ...]:
    """The environments asked for, those on offer first, then compilers in the order asked for.

    Without names all on offer. Raises TollError for a name that means nothing.
    """
    known = {environment.name: environment for environment in offered}
    others = [environments.named(name) for name in names if name not in (*known, ALL)]
    chosen = {item.name: item for item in (*offered, *others)}
    wanted = {*names, *(item.name for item in others)}
    return tuple(
        item
        for item in chosen.values()
        if not names or item.name in wanted or (ALL in names and item.name in known)
    )


def _asked(full_name: str, names: Sequence[str]) -> bool:
    return not names or any(_matches(full_name, name) for name in names)


def _matches(full_name: str, pattern: str) -> bool:
    """Whether the first parts of topic/workload/contender match the pattern's parts one by one."""
    parts, wanted = full_name.split("/"), pattern.split("/")
    return len(wanted) <= len(parts) and all(map(fnmatchcase, parts, wanted))


def _check(name: str, workloads: Sequence[Workload]) -> None:
    full_names = [f"{workload.name}/{c.name}" for workload in workloads for c in workload.contenders]
    if name and any(_matches(full_name, name) for full_name in full_names):
        return
    empty = [w.name for w in workloads if not w.contenders and _matches(w.name, name)]
    if empty:
        raise TollError(f"{empty[0]} has no contenders yet.", f"Add one: `toll new {empty[0]} NAME`.")
    level = name.count("/")
    known = {"/".join(full_name.split("/")[: level + 1]) for full_name in full_names}
    words = ("topic", "workload", "contender")
    what = f"There is no {words[min(level, 2)]} {name!r}."
    raise TollError(
        what, nearest(name, sorted(known), f"See what there is with `toll list`. Names: {_some(known)}.")
    )


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """A sentence that offers the names closest to a mistyped one, or `otherwise`."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}? `toll list` shows all." if close else otherwise


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:8]) + (", ..." if len(ordered) > 8 else "")
