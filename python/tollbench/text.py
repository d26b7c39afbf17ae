"""Text from outside made harmless: run files are shared and programs print anything, so nothing is trusted.

HTML escaping is jinja2's; here is what no escaping covers: control characters that steer a terminal,
direction marks that make text read other than it is, and letters that nobody sees. `clean` is for reports;
`visible`, for lines that name files, and `shown`, for sentences about something unexpected, let a reader see
what was there; `escaped` is for JSON, which stays the same document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# What is not seen: the controls from U+007F on, surrogates, format characters (directions, joiners, tags),
# line and paragraph separators, and letters without a form. Not U+FE00 to U+FE0F, which choose how a visible
# letter looks. Source: Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt, categories.
_HIDDEN = (
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U00013430-\U00013455\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN = re.compile(f"[\\x00-\\x1f{_HIDDEN}]")
_UNSEEN_IN_LINES = re.compile(f"[\\x00-\\x08\\x0b-\\x1f{_HIDDEN}]")
_UNSEEN_IN_JSON = re.compile(f"[{_HIDDEN}]")  # line breaks stand between its tokens, other controls never do
_COMMAND = re.compile(
    r"`([^`\n]+)`|((?:sudo )?(?:apt-get|apt|pip|npm) install [\w.+:=@/-]+(?: [\w.+:=@/-]+)*)"
)
_ACRONYMS = {
    "cpu": "CPU",
    "cpus": "CPUs",
    "os": "OS",
    "smt": "SMT",
    "aslr": "ASLR",
    "tsc": "TSC",
    "numa": "NUMA",
    "libc": "C library",
    "mhz": "MHz",
    "pids": "process",
}


def clean(text: object, *, lines: bool = False) -> str:
    """The text with everything that cannot be seen replaced by U+FFFD; line breaks stay where `lines`."""
    if lines:
        return _UNSEEN_IN_LINES.sub("\ufffd", str(text))
    words = str(text)
    if words.isascii() and words.isprintable() and "  " not in words:
        return words  # as nearly all of a page's 16,000 are
    return _UNSEEN.sub("\ufffd", re.sub(r"\s+", " ", words))


def visible(text: str) -> str:
    """Lines for a terminal: what cannot be seen is written as an escape, "\\x1b", line breaks stay."""
    return _UNSEEN_IN_LINES.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def escaped(document: str) -> str:
    """The same JSON document, in which what cannot be seen is written as JSON's escapes."""
    return _UNSEEN_IN_JSON.sub(lambda match: json.dumps(match.group())[1:-1], document)


def commands(text: str) -> list[tuple[str, bool]]:
    """Prose and the commands in it as (piece, is a command): what stands in backquotes, or installs."""
    pieces: list[tuple[str, bool]] = []
    end = 0
    for match in _COMMAND.finditer(text):
        if match.start() > end:
            pieces.append((text[end : match.start()], False))
        pieces.append((match.group(1) or match.group(2), True))
        end = match.end()
    if end < len(text):
        pieces.append((text[end:], False))
    return pieces


def headline(text: str) -> tuple[str, str]:
    """The first line, and what follows it (a compiler's output, a stack trace)."""
    first, _, rest = clean(text, lines=True).strip().partition("\n")
    return first, rest.strip("\n")


def humanise(key: str) -> str:
    """A field's name as a label: "usable_cpus" -> "Usable CPUs"."""
    words = [_ACRONYMS.get(word, word) for word in clean(key).replace("_", " ").split(" ")]
    label = " ".join(words)
    return label[:1].upper() + label[1:]


def instant(utc: str) -> str:
    """An ISO 8601 instant in UTC to the second: "2026-03-14 09:26:53 UTC"; other text stays as it is."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)", utc)
    return f"{match[1]} {match[2]} UTC" if match else clean(utc)


def several(count: int, noun: str, plural: str = "") -> str:
    """ "1 case", "12 cases", "2 processes"."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def enumerated(words: Sequence[str]) -> str:
    """ "C", "C and C++", "C, C++ and Rust"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def said(value: Any) -> str:
    """Any value of machine, conditions or footing as one readable line."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{clean(k).replace('_', ' ')} {said(v)}" for k, v in value.items() if said(v))
    if isinstance(value, list | tuple):
        return (
            "; ".join(filter(None, map(said, value)))
            if any(isinstance(item, Mapping) for item in value)
            else ", ".join(filter(None, map(said, value)))
        )
    return clean(value)


def as_text(name: str) -> str:
    """A file's name as text that can be stored and printed: bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def shown(text: str, limit: int = 120) -> str:
    """Text from outside, safe to print in a terminal: escapes made visible, length bounded."""
    told = "".join(
        c.encode("unicode_escape").decode() if _UNSEEN.match(c) or not c.isprintable() else c
        for c in text[: limit + 1]
    )
    return told if len(told) <= limit else told[:limit] + "..."
