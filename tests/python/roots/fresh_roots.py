"""Fresh Debian systems of other releases, for tests that install toll where nobody prepared anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tollbench.building import making_roots
from tollbench.catalog.environments.roots import Root
from tollbench.interpreters import interpreter

RELEASES = ("bookworm", "trixie", "testing")  # Debian 12, 13, and what comes next
BROUGHT = ("ca-certificates", "python3", "python3-venv")  # no compiler
NOBODY = 65534
# Mounts what programs need, for these processes alone, and becomes the command in the root.
ENTER = """\
for folder in proc sys dev; do mount --rbind /$folder "$1/$folder"; done
root=$1 user=$2 folder=$3; shift 3
exec chroot --userspec="$user:$user" "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"""


def why_not() -> str:
    """ "" where roots can be made and entered here."""
    if os.geteuid() != 0:
        return "only root enters another root as another user"
    missing = [name for name in ("mmdebstrap", "unshare", "chroot", "apt-get") if shutil.which(name) is None]
    return f"{' and '.join(missing)}: not installed" if missing else ""


@dataclass(frozen=True)
class FreshRoot:
    """A file system, and processes in it."""

    folder: Path

    def run(
        self, command: Sequence[str], *, cwd: str, user: int = NOBODY, limit_s: float = 280.0
    ) -> subprocess.CompletedProcess[str]:
        """The command in the folder `cwd` of the root, with a bare environment and the host's own index."""
        variables = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": cwd,
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
        }
        return subprocess.run(
            ["unshare", "--mount", "/bin/sh", "-ec", ENTER, "sh", str(self.folder), str(user), cwd, *command],
            cwd="/",
            env=variables | pip_variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    def home(self, name: str, user: int = NOBODY) -> Path:
        """A folder of that user, seen from outside."""
        made = self.folder / "home" / name
        made.mkdir()
        os.chown(made, user, user)
        return made


def made(release: str, target: Path) -> FreshRoot:
    """Makes it from the mirror of the host's own apt. Raises AssertionError with what mmdebstrap said."""
    command = making_roots.command(Root(release, release, release, BROUGHT), making_roots.host_mirror())
    command[1:1] = ['--aptopt=Acquire::Check-Valid-Until "false"']  # as a mirror's testing may be
    archive = target / f"{release}.tar"
    command[command.index("-")] = str(archive)
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    folder = target / release
    folder.mkdir()
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder), "--exclude=./dev/*"], cwd="/", check=True)
    archive.unlink()
    as_outside(folder)
    return FreshRoot(folder)


def as_outside(folder: Path) -> None:
    """The host's own words on names, and the certificates that its pip trusts."""
    shutil.copy2("/etc/resolv.conf", folder / "etc/resolv.conf")
    for value in pip_variables().values():
        if Path(value).is_file():
            place = folder / value.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(value, place)


def pip_variables() -> dict[str, str]:
    """What the host's pip is configured with, as variables; folders of the host are not in the root."""
    listed = subprocess.run(
        interpreter("-m", "pip", "config", "list"), cwd="/", capture_output=True, text=True, check=False
    )
    found = re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", listed.stdout, re.MULTILINE)
    return {
        f"PIP_{name.upper().replace('-', '_')}": value for name, value in found if not Path(value).is_dir()
    }
