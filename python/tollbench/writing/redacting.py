"""What goes into a lake or a fleet's rows is read by others: no secret of the user's, nothing that steers a
terminal.

Sentences of programs and builds may quote what stands in the environment. Withheld is what has the form of a
key or password, and whatever equals the value of a variable of this environment whose name speaks of a
secret.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from tollbench.text import clean

WITHHELD: Final = "[withheld]"
MOST_TEXT: Final = 4096  # characters of any one text
# What is looked through of a longer one. Of what comes out, as much as may hold a secret that was cut in two
# is left out at the end: 8 KiB, more than servers take of a header.
_LOOKED_AT: Final = 3 * MOST_TEXT
_CUT_SECRET: Final = 2 * MOST_TEXT
_KEYS = r"(?:api|access|private|signing)[_-]?key"
_AUTH = r"auth(?:orization|entication)?(?![a-z])"  # and no author
_SECRET_NAME = rf"(?:pass(?:word|wd|phrase)|secret|token|{_KEYS}|{_AUTH}|credentials?|cookie)"
# Texts may be made to take long: each pattern begins where a run of letters does, and goes through it once.
_OPTION: Final = re.compile(
    rf"(?i)(?<![\w-])(?=\w*-[\w-]*?{_SECRET_NAME})([\w-]++)([=\s]+)(\"[^\"]*\"|'[^']*'|\S+)"
)
_ASSIGNED: Final = re.compile(
    rf"(?i)(?<![\w.-])(?=[\w.-]*?{_SECRET_NAME})([\w.-]++[\"']?\s*+[=:]\s*+)(\"[^\"]*\"|'[^']*'|[^\s,;]+)"
)
_FORMS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # of AWS
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bsk-[A-Za-z0-9_-]{20,}"
    r"|(?<![\w-])(?=[\w-]*?\beyJ[\w-]{8})[\w-]++\.[\w-]{8,}+\.[\w-]*",  # a JSON web token
    re.DOTALL,
)
_IN_ADDRESS: Final = re.compile(r"(?i)(?<=[a-z0-9+.-])(://)[^/\s@:]*+:[^/\s@]*+@")
_TELLING: Final = re.compile(rf"(?i){_SECRET_NAME}|key|pwd|dsn|database_url")
_PLACES: Final = frozenset({"PWD", "OLDPWD"})  # of a shell: folders, no passwords
_SHORTEST: Final = 6  # characters of a variable's value: shorter ones are words of any text


def secrets_here(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Values of variables whose name speaks of a secret, longest first."""
    found = {
        value
        for name, value in environment.items()
        if name not in _PLACES and _TELLING.search(name) and len(value) >= _SHORTEST and not value.isdigit()
    }
    return tuple(sorted(found, key=len, reverse=True))


def harmless(value: Any, secrets: tuple[str, ...] | None = None) -> Any:
    """The value, all of its texts without secrets and letters that nobody sees, and none longer than allowed.

    Numbers, truth values, instants and None stay; what is none of these is None.
    """
    known = secrets_here() if secrets is None else secrets
    if isinstance(value, str):
        return _text(value, known)
    if value is None or isinstance(value, bool | int | float | datetime):
        return value
    if isinstance(value, Mapping):
        return {_text(str(name), known): _member(name, each, known) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(each, known) for each in value]
    return None


def harmless_json(value: Any, secrets: tuple[str, ...] | None = None) -> str:
    """The value as JSON, made harmless before it is written: a text that is JSON must stay so."""
    return json.dumps(harmless(value, secrets), sort_keys=True, separators=(",", ":"))


def _member(name: object, value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str) and re.search(_SECRET_NAME, str(name), re.IGNORECASE):
        return WITHHELD
    return harmless(value, secrets)


def _text(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, WITHHELD)
    is_cut, text = len(text) > _LOOKED_AT, text[:_LOOKED_AT]
    text = _FORMS.sub(WITHHELD, text)
    text = _IN_ADDRESS.sub(rf"\1{WITHHELD}@", text)
    text = _OPTION.sub(rf"\1\2{WITHHELD}", text)
    text = _ASSIGNED.sub(rf"\1{WITHHELD}", text)
    text = text[: max(0, len(text) - _CUT_SECRET)] if is_cut else text
    return clean(text, lines=True)[:MOST_TEXT]
