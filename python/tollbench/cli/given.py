"""What a command line names, for verbs whose options do not all go together."""

from __future__ import annotations

from collections.abc import Collection

import typer


def given(context: typer.Context, *, besides: Collection[str]) -> list[str]:
    """Options and arguments as they are spelled, but for the parameters in `besides`.

    Asked of the command line itself: a list of them by hand forgot some, and those were ignored.
    """
    return [
        next((name for name in param.opts if name.startswith("--")), param.name.upper())
        for param in context.command.params
        if param.name is not None and param.name not in besides and _is_named(context, param.name)
    ]


def _is_named(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"
