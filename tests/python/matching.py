"""Patterns in text that must be there."""

from __future__ import annotations

import re


def matched(pattern: str, text: str, flags: int = 0) -> re.Match[str]:
    """`re.search`, failing with the pattern where nothing is found."""
    found = re.search(pattern, text, flags)
    assert found, f"{pattern} is not in the text of {len(text):,} characters"
    return found
