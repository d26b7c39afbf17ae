"""Text from outside in Markdown."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@$&-])")


def escaped(text: str) -> str:
    """Text that Markdown, and a mention or a link in it, cannot make anything of."""
    return _SPECIAL.sub(r"\\\1", text)
