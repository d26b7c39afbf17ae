"""Package managers: which one this system has, and the line that somebody types to install with it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


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


# Files that managers write whenever a package comes or goes: dpkg, rpm before and since Fedora 36, with what
# its database has not taken over yet, Berkeley's of older ones, the folders of portage, xbps and pacman, and
# apk before and since version 3.
DATABASES = (
    "/var/lib/dpkg/status",
    "/var/lib/rpm/rpmdb.sqlite",
    "/var/lib/rpm/rpmdb.sqlite-wal",
    "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/usr/lib/sysimage/rpm/rpmdb.sqlite-wal",
    "/usr/lib/sysimage/rpm/Packages.db",
    "/var/lib/rpm/Packages",
    "/var/db/pkg",
    "/var/db/xbps",
    "/var/lib/pacman/local",
    "/lib/apk/db/installed",
    "/usr/lib/apk/db/installed",
)


def tells_of_changes(file_system: str = "") -> bool:
    """Whether a package that comes or goes shows in one of the databases."""
    return any(Path(file_system + place).exists() for place in DATABASES)
