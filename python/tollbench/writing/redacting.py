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
# What is looked through of a longer one: the second, where long secrets in the first leave too little of it.
# Of what comes out, as much as may hold a secret that was cut in two is left out at the end: 8 KiB, more than
# servers take of a header.
_LOOKED_AT: Final = 3 * MOST_TEXT
_LOOKED_AT_MOST: Final = 4 * _LOOKED_AT
_CUT_SECRET: Final = 2 * MOST_TEXT
CUT: Final = f"{WITHHELD} (the rest of this text was cut)"
_KEYS = r"(?:api|access|private|signing)[_-]?key"
_AUTH = r"auth(?:orization|entication)?(?![a-z])"  # and no author
_SECRET_NAME = rf"(?:pass(?:word|wd|phrase)|secret|token|{_KEYS}|{_AUTH}|credentials?|cookie)"
# Quoted text ends at the quote that is escaped as often as the first one: JSON may stand in a text of JSON. A
# word may stand before the secret: "Authorization: Bearer SECRET"; two kinds have several behind it.
_QUOTED = r"(?P<escapes>\\{0,7}+)(?P<quote>[\"'])(?s:.*?)(?<!\\)(?P=escapes)(?P=quote)|\"[^\"]*\"|'[^']*'"
_SCHEME = r"(?:(?:bearer|basic|token|negotiate|ntlm|api-?key)\s++)?"
_SEVERAL = r"(?:digest|aws4-hmac-sha256)[^\S\n][^\n]*+"
# Texts may be made to take long: each pattern begins where a run of letters does, and goes through it once.
_OPTION: Final = re.compile(
    rf"(?i)(?<![\w-])(?=\w*-[\w-]*?{_SECRET_NAME})([\w-]++)([=\s]+)(?:{_SEVERAL}|{_SCHEME}(?:{_QUOTED}|\S+))"
)
_ASSIGNED: Final = re.compile(
    rf"(?i)(?<![\w.-])(?=[\w.-]*?{_SECRET_NAME})([\w.-]++\\{{0,7}}+[\"']?\s*+[=:]\s*+)"
    rf"(?:{_SEVERAL}|{_SCHEME}(?:{_QUOTED}|[^\s,;]+))"
)
# Before all others, which would take the beginning of its run of letters.
_WEB_TOKEN: Final = re.compile(r"(?<![\w-])(?=[\w-]*?\beyJ[\w-]{8})[\w-]++\.[\w-]{8,}+\.[\w-]*")  # of JSON
_FORMS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # of AWS
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b|\bglpat-[\w-]{16,}"
    r"|\bxox[abprs]-[\w-]{10,}|\bsk-[A-Za-z0-9_-]{20,}",
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
    told = ""
    for length in (_LOOKED_AT, _LOOKED_AT_MOST):
        told = _without_forms(text[:length])
        if len(text) <= length:
            return clean(told, lines=True)[:MOST_TEXT]
        told = told[: max(0, len(told) - _CUT_SECRET)]
        if len(told) >= MOST_TEXT:
            return clean(told, lines=True)[:MOST_TEXT]
    return clean(told, lines=True)[: MOST_TEXT - len(CUT)] + CUT


def _without_forms(text: str) -> str:
    text = _WEB_TOKEN.sub(WITHHELD, text)
    text = _FORMS.sub(WITHHELD, text)
    text = _IN_ADDRESS.sub(rf"\1{WITHHELD}@", text)
    text = _OPTION.sub(rf"\1\2{WITHHELD}", text)
    return _ASSIGNED.sub(rf"\1{WITHHELD}", text)
