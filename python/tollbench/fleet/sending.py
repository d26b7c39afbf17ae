"""toll as it is sent to hosts: its wheel, with the hash by which a host knows that it got this one."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import re
import subprocess
import zipfile
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path

from tollbench import home
from tollbench.errors import TollError
from tollbench.interpreters import interpreter
from tollbench.text import shown

_PACKAGE = "tollbench/"
_NAME = re.compile(r"tollbench-([\w.+]+)(?:-\d[\w.]*)?-[\w.]+-[\w.]+-[\w.]+\.whl", re.ASCII)
_LEFT_OUT = ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")  # what an installer adds
_ALWAYS = (1980, 1, 1, 0, 0, 0)  # one content, one hash


@dataclass(frozen=True, slots=True)
class SentToll:
    """A wheel of toll."""

    path: Path
    sha256: str
    sources: str  # as home.fingerprint() is of what is installed of it
    version: str


def wheel_for_hosts(folder: Path, given: Path | None) -> SentToll:
    """The wheel `given`, else one of the toll that runs here, made in `folder`. Raises TollError."""
    make = _of_checkout if home.CHECKOUT else _of_installed
    path = given or make(folder)
    if (named := _NAME.fullmatch(path.name)) is None:
        raise TollError(
            f"{path} is not named as a wheel of toll is, by which pip knows it on the hosts",
            "leave it the name that it was made with: tollbench-VERSION-py3-none-any.whl",
        )
    try:
        with zipfile.ZipFile(path) as archive:
            sources = _fingerprint(archive)
    except (OSError, ValueError, zipfile.BadZipFile, KeyError) as error:
        raise TollError(
            f"{path} is no wheel of toll: {shown(str(error))}", "make one: uvx hatchling build -t wheel"
        ) from None
    return SentToll(path, hashlib.sha256(path.read_bytes()).hexdigest(), sources, named[1])


def _fingerprint(archive: zipfile.ZipFile) -> str:
    """Of the package in a wheel; Raises KeyError where it is another package's."""
    archive.getinfo(f"{_PACKAGE}__main__.py")
    inside = [name.removeprefix(_PACKAGE) for name in archive.namelist() if name.startswith(_PACKAGE)]
    mark = hashlib.sha256()
    for name in sorted(name for name in inside if not (name.endswith("/") or home.is_no_part(name))):
        content = hashlib.sha256(archive.read(f"{_PACKAGE}{name}")).hexdigest()
        mark.update(f"{name}\0{content}\n".encode())
    return mark.hexdigest()


def _of_checkout(folder: Path) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        raise TollError(
            "a wheel of this checkout is sent to the hosts, and hatchling, which makes it, is not installed",
            'install it: pip install "tollbench[fleet]"; or name a wheel: --wheel FILE',
        )
    command = interpreter("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    done = subprocess.run(command, cwd=home.CHECKOUT, capture_output=True, text=True, check=False)
    made = list(folder.glob("*.whl"))
    if done.returncode or len(made) != 1:
        said = (done.stdout + done.stderr).strip().splitlines() or ["it said nothing"]
        raise TollError(f"hatchling made no wheel: {shown(said[-1])}", "make one, and name it: --wheel FILE")
    return made[0]


def _of_installed(folder: Path) -> Path:
    """The wheel again, of what an installer unpacked. Format: PEP 427."""
    try:
        found = importlib.metadata.distribution("tollbench")
    except importlib.metadata.PackageNotFoundError:
        raise TollError("toll does not know how it was installed", "name its wheel: --wheel FILE") from None
    info = f"tollbench-{found.version}.dist-info"
    path = folder / f"tollbench-{found.version}-py3-none-any.whl"
    contents = {
        name: Path(str(found.locate_file(file))).read_bytes()
        for file in found.files or ()
        if (name := file.as_posix()).startswith((_PACKAGE, f"{info}/"))
        and "__pycache__" not in file.parts
        and file.name not in _LEFT_OUT
    }
    record = f"{info}/RECORD"
    lines = [f"{name},{_recorded(content)},{len(content)}" for name, content in sorted(contents.items())]
    contents[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(contents.items()):
            archive.writestr(zipfile.ZipInfo(name, _ALWAYS), content, zipfile.ZIP_DEFLATED)
    return path


def _recorded(content: bytes) -> str:
    return "sha256=" + urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
