"""What `toll run` is asked for, checked: lengths of time, texts, and what changes about a profile."""

from __future__ import annotations

import math
import re
import secrets
import stat
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tollbench.errors import TollError
from tollbench.plan import PROFILES, Settings
from tollbench.words import FEWEST_CODE_LAYOUTS, MOST_CODE_LAYOUTS

# Generous: counting the words of 1 GB with a map takes a minute on two idle CPUs, several on busy ones.
READING_S_PER_GB = 600.0
LONGEST_LAUNCH_S = 86_400.0  # no setting allows more
UNITS_S = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line changes about a profile; None leaves it as it is."""

    profile: str
    budget_s: float | None
    precision: float | None
    seed: int | None
    layouts: int | None = None


def seconds(text: str) -> float:
    """ "90", "60s", "5m", "1.5h" as seconds. Raises TollError for anything else and for 0."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", text.strip().lower())
    value = float(match.group(1)) * UNITS_S.get(match.group(2), math.nan) if match else math.nan
    if not 0 < value < 1e9:
        raise TollError(f"{text!r} is not a length of time", "write for example --budget 60s, 5m or 1h")
    return value


def precision(text: str) -> float:
    """ "2%", "2 %" and "0.02" as a share. Raises TollError for anything else, 0 and what is not below 1.

    A bare number is a share, as it is in `toll compare --threshold`: "2" is refused rather than guessed.
    """
    number = text.strip().removesuffix("%").rstrip()
    try:
        share = float(number) / (100.0 if number != text.strip() else 1.0)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise TollError(
            f"--precision {text!r} is not a share between 0 and 1", "write for example 1%, or 0.01 for 1 %"
        )
    return share


def text_file(path: str) -> str:
    """The absolute path of a file that --input names. Raises TollError where there is nothing to read."""
    try:
        file = Path(path).expanduser().absolute()
        str(file).encode()
        kind = file.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # opening a pipe would wait for a writer
            raise TollError(f"{path!r} is not a file", "name a text file: --input FILE")
        with file.open("rb") as text:
            begins = text.read(1)
    except (OSError, ValueError, RuntimeError) as error:  # the last: the home of a user who does not exist
        why = getattr(error, "strerror", None) or str(error)
        raise TollError(f"cannot read {path!r}: {why}", "name a text file: --input FILE") from None
    if not begins:
        raise TollError(f"{path!r} is empty: there is nothing to count", "name a text file: --input FILE")
    return str(file)


def settings_of(wishes: Wishes) -> Settings:
    """The profile's settings with the user's wishes. Raises TollError for impossible ones."""
    if wishes.seed is not None and not 0 <= wishes.seed < 2**63:
        raise TollError(
            f"--seed {wishes.seed} is not between 0 and {2**63 - 1}", "leave it out: a seed is drawn then"
        )
    settings = PROFILES[wishes.profile]
    layouts = settings.layouts if wishes.layouts is None else wishes.layouts
    if layouts != 1 and not FEWEST_CODE_LAYOUTS <= layouts <= MOST_CODE_LAYOUTS:
        raise TollError(
            f"--layouts {layouts} is neither 1 nor between {FEWEST_CODE_LAYOUTS} and {MOST_CODE_LAYOUTS}",
            f"1 measures programs as they were linked; without the option it is {settings.layouts}, and where"
            " layouts differ much, fewer tell no row of ten from another",
        )
    return replace(
        settings,
        seed=wishes.seed if wishes.seed is not None else secrets.randbelow(2**31),
        precision=settings.precision if wishes.precision is None else wishes.precision,
        budget_s=settings.budget_s if wishes.budget_s is None else wishes.budget_s,
        layouts=layouts,
    )


def with_time_to_read(settings: Settings, texts: Sequence[str]) -> Settings:
    """A launch's limit grows with the text, all of which it counts several times."""
    wanted_s = settings.time_limit_s + READING_S_PER_GB * max(map(_bytes_in, texts), default=0) / 1e9
    return replace(settings, time_limit_s=min(wanted_s, LONGEST_LAUNCH_S))


def _bytes_in(path: str) -> int:
    """0 where nothing can be read: the programs say why."""
    try:
        return Path(path).stat().st_size if path else 0
    except (OSError, ValueError):
        return 0


def identity(text: str) -> str:
    """A UUID as it is stored. Raises TollError for anything else."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise TollError(f"--identity {text!r} is no UUID", "leave it out: a new one is made then") from None
