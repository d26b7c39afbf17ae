"""Text from outside in Markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@$&-])")
_LINKED = re.compile(r"(?<=[@#])(?=\w)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


def escaped(text: str) -> str:
    """Text that Markdown, and a mention or a link in it, cannot make anything of."""
    return _SPECIAL.sub(r"\\\1", unlinked(text))


def unlinked(text: str) -> str:
    """Mentions, issues and addresses with a zero-width space: GitHub links them after it has unescaped."""
    return _LINKED.sub("\u200b", text)
