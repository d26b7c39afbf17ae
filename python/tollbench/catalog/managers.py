"""Package managers: which one this system has, and the line that somebody types to install with it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Manager:
    """One of them; `install` are the words before the packages."""

    name: str
    program: str
    install: str


APT = Manager("apt", "apt-get", "apt-get install -y")
MANAGERS = (
    APT,
    Manager("dnf", "dnf", "dnf install -y"),
    Manager("pacman", "pacman", "pacman -S --needed"),
    Manager("zypper", "zypper", "zypper install -y"),
    Manager("apk", "apk", "apk add"),
)


def manager() -> Manager:
    """The first one that is here; apt where none is, whose names are known widest."""
    return next((one for one in MANAGERS if shutil.which(one.program)), APT)
