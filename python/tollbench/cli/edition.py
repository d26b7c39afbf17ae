"""Which toll this is, as what it measures names it: the version, and what tells one commit from the next."""

from __future__ import annotations

from functools import cache

import tollbench
from tollbench import home

_DIGITS = 10


@cache
def edition() -> str:
    """ "0.1.0+1a2b3c4d5e": behind the plus are the first digits of `home.fingerprint`.

    Each file of toll is read for it, once.
    """
    return f"{tollbench.__version__}+{home.fingerprint()[:_DIGITS]}"


def is_this_edition(told: str) -> bool:
    """Whether a file that names its toll so may be of this one: older files name the version alone."""
    return told == (edition() if "+" in told else tollbench.__version__)
