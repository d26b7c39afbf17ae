"""Where programs are built and run: the machine as it is, compilers and flags, allocators in front of malloc,
roots.

`OFFERED` have a name of their own; compilers are without number and named by what they are made of
(`named`). What an environment's name says is known without looking at the machine; `located` adds what this
machine has for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from tollbench.catalog.environments import allocators, compilers, glibc, roots
from tollbench.catalog.environments.names import ALLOCATORS, TUNED, named, taken_apart
from tollbench.errors import TollError
from tollbench.words import HOST, Environment

__all__ = [
    "COMPILERS",
    "OFFERED",
    "ROOTS",
    "expanded",
    "including",
    "located",
    "named",
    "names",
]

ROOTS = roots.NAMES
COMPILERS = "compilers"  # stands for every compiler that works here

OFFERED: tuple[Environment, ...] = (HOST, *map(named, (*ALLOCATORS, TUNED, *roots.NAMES)))


def names() -> tuple[str, ...]:
    """Of every environment with a name of its own, usable here or not; the host is the first."""
    return tuple(environment.name for environment in OFFERED)


def including(asked: Iterable[str]) -> tuple[Environment, ...]:
    """Those on offer, and those of `asked` that are compilers' names; what makes no sense is left out."""
    known = {environment.name: environment for environment in OFFERED}
    for name in asked:
        with suppress(TollError):
            environment = named(name)
            known.setdefault(environment.name, environment)
    return tuple(known.values())


def expanded(asked: Iterable[str]) -> tuple[str, ...]:
    """The names with "compilers" replaced by those that work here, each with libc++ where it has it."""
    found: list[str] = []
    for name in asked:
        found += [item.name for item in compilers.working()] if name == COMPILERS else [name]
    return tuple(dict.fromkeys(found))


def located(environment: Environment) -> Environment:
    """The environment with what this machine has for it: compiler, versions, the allocator's library.

    Where something is missing or does not work, `unavailable` says why and what to do. Compiles and runs a
    small program the first time (`tollbench.catalog.environments.probing` keeps the answers).
    """
    if environment.root:
        environment = roots.located(environment)
        compiler = environment.name.partition(":")[2]
        if not compiler or environment.unavailable:
            return environment
        return compilers.located_in_root(environment, taken_apart(compiler))
    parts = None if environment == HOST else taken_apart(environment.name)
    if parts is None or not parts.allocator:
        environment = replace(environment, allocator=allocators.of_the_machine())
    if parts is None:
        return environment
    if parts.toolset != HOST.name:
        environment = compilers.located(environment, parts)
    if not parts.allocator or environment.unavailable:
        return environment
    if parts.has("m32"):
        return replace(environment, unavailable=f"no 32-bit {parts.allocator} is looked for; leave out -m32")
    if parts.allocator == glibc.NO_TRIM:
        return glibc.not_trimming(replace(environment, allocator=allocators.of_the_machine()))
    return allocators.preloaded(environment, parts.allocator)
