"""Makes and removes roots (tollbench.catalog.environments.roots) with mmdebstrap.

Packages come from the mirror of the host's own apt configuration. The file system arrives as an archive,
unpacked under the user's own name, so that nobody needs more rights to remove it than to make it. It is
made beside its final place and moved there last: whatever ends the making, there is a whole root or none.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tollbench.catalog.environments import roots
from tollbench.catalog.environments.roots import MADE, TESTING, Root
from tollbench.catalog.tools import run_tool
from tollbench.errors import TollError
from tollbench.writing import alone, delete_tree

OnLine = Callable[[str], None]
PACKAGES = "packages"  # in made.json: the version of each
_WHICH_VERSIONS = f"name the {MADE} of that root as this toll made it; a copy will do"
_FIELD = re.compile(r"^(Package|Status|Version): (.*)$", re.MULTILINE)
# Debian Policy 5.6.1 and 5.6.12.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_VERSION = re.compile(r"[A-Za-z0-9.+~:-]*[A-Za-z0-9.+~]")
_NOT_THERE = re.compile(r"Version '([^']+)' for '([^']+)' was not found")
_FORWARDED = re.compile(r'^Acquire::(https?::Proxy|Check-Valid-Until|Check-Date)[^ ]* "[^"]+";$')


def make(
    root: Root,
    *,
    mirror: str = "",
    versions: Mapping[str, str] | None = None,
    on_line: OnLine = lambda _line: None,
) -> bool:
    """Makes the root; False where it is there already. Raises TollError with what would help.

    With `versions` of packages, by name, of these and no others. An interrupt leaves nothing behind.
    """
    target = roots.place(root.name)
    with _alone(target.parent):
        for left in target.parent.glob(".making-*"):  # of a making that was killed, and may not be dead yet
            with contextlib.suppress(OSError):
                if left.is_dir() and not left.is_symlink():
                    delete_tree(left)
        if roots.is_made(root.name):
            _check_versions(root.name, versions)
            return False
        if os.path.lexists(target):
            _own(target)  # said before anything is fetched
        mirror = mirror or host_mirror()
        with tempfile.TemporaryDirectory(prefix=".making-", dir=target.parent) as scratch:
            folder = Path(scratch, root.name)
            (folder / "root").mkdir(parents=True)
            making = command(root, mirror, versions)
            _unpack(making, folder / "root", on_line, _working_place(Path(scratch)))
            made = {"recipe": roots.described(root), "mirror": mirror}
            made[PACKAGES] = installed(folder / "root")
            (folder / MADE).write_text(json.dumps(made, indent=1), encoding="utf-8")
            if os.path.lexists(target):  # made of other packages
                _delete(_own(target))
            folder.rename(target)
    return True


def remove(name: str) -> bool:
    """Removes the root; False where there is none."""
    target = roots.place(name)
    if not os.path.lexists(target):
        return False
    with _alone(target.parent):
        _own(target)
        # Out of its place first: half a root must not pass for one.
        going = target.with_name(f".making-{name}-{os.getpid()}")
        target.rename(going)
        _delete(going)
    return True


def size_bytes(name: str) -> int:
    """What it occupies on disk."""
    total = 0
    for folder, _, files in os.walk(roots.place(name)):
        for file in files:
            with contextlib.suppress(OSError):
                total += os.lstat(Path(folder, file)).st_blocks * 512
    return total


def command(root: Root, mirror: str, versions: Mapping[str, str] | None = None) -> list[str]:
    """What makes it, as an archive on standard output; of these versions, where there are some."""
    # A mirror's testing index may be past its date: its signature is what counts.
    options_of = dict.fromkeys((TESTING, f"{TESTING}-updates"), "[check-valid-until=no] ")
    suites = [root.release, f"{root.release}-updates", *([TESTING] if root.testing_packages else [])]
    sources = [f"deb {options_of.get(suite, '')}{mirror} {suite} main" for suite in suites]
    wanted = [f"{name}={version}" for name, version in versions.items()] if versions else []
    packages = ",".join(wanted or (*root.packages, *root.testing_packages, *root.compilers))
    options = ["--variant=apt", "--format=tar", f"--include={packages}"]
    options += [f'--aptopt=APT::Default-Release "{root.release}"', '--aptopt=APT::Install-Recommends "false"']
    options += [f"--aptopt={line}" for line in _forwarded()]
    # Documents in every language are a third of it.
    options += ["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*"]
    options += ["--dpkgopt=path-exclude=/usr/share/man/*"]
    return ["mmdebstrap", *options, root.release, "-", *sources]


def installed(file_system: Path) -> dict[str, str]:
    """The version of every package in there, by name; none where nothing tells."""
    try:
        text = (file_system / "var/lib/dpkg/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    fields = [dict(_FIELD.findall(paragraph)) for paragraph in text.split("\n\n")]
    here = [one for one in fields if one.get("Status", "").endswith(" installed")]
    return {one["Package"]: one["Version"] for one in here}


def versions_of(path: Path, root: Root) -> dict[str, str]:
    """The versions that `root` was made of, from its `made.json`. Raises TollError where it tells none."""
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TollError(f"{path} cannot be read: {error}", _WHICH_VERSIONS) from None
    if not isinstance(made, dict) or made.get("recipe") != roots.described(root):
        raise TollError(f"{path} is not of the root {root.name} as toll makes it today", _WHICH_VERSIONS)
    told = made.get(PACKAGES)
    found: dict[str, str] = told if isinstance(told, dict) else {}
    good = all(
        isinstance(version, str) and _PACKAGE.fullmatch(name) and _VERSION.fullmatch(version)
        for name, version in found.items()
    )
    if not good or not {*root.packages, *root.testing_packages} <= found.keys():
        raise TollError(f"{path} does not tell the versions of all packages", _WHICH_VERSIONS)
    return found


def _check_versions(name: str, versions: Mapping[str, str] | None) -> None:
    """Raises TollError where the root that is there was made of others."""
    if versions is None or versions == installed(roots.file_system(name)):
        return
    raise TollError(
        f"{name} is there already, of other versions of its packages",
        f"remove it first: toll env remove {name}",
    )


def host_mirror() -> str:
    """The Debian archive that the host's own apt uses. Raises TollError where it uses none."""
    form = "$(REPO_URI) $(ORIGIN) $(LABEL)"
    done = _asked("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    found = [line.split(" ")[0] for line in done.splitlines() if line.endswith(" Debian Debian")]
    if not found:
        raise TollError(
            "a root takes its packages from the Debian mirror that apt uses here, and apt knows none",
            "run apt-get update where this is Debian; elsewhere name one: toll env add NAME --mirror URI",
        )
    return found[0].rstrip("/")


def _forwarded() -> list[str]:
    """The host's own words on proxies and dates, without which its mirror may be out of reach."""
    return [line.rstrip(";") for line in _asked("apt-config", "dump").splitlines() if _FORWARDED.match(line)]


def _asked(*words: str) -> str:
    try:
        return run_tool(words).stdout
    except OSError:
        return ""


def _working_place(scratch: Path) -> dict[str, str]:
    """Where mmdebstrap works, which holds a second root when it is killed: in what the next start sweeps.

    Only of the superuser: in a user's namespace it needs a folder that others may enter.
    """
    return {**os.environ, "TMPDIR": str(scratch)} if os.geteuid() == 0 else dict(os.environ)


def _dying_with_us() -> list[str]:
    """In front of mmdebstrap: where toll is killed it ends, with what it started and what it mounted.

    Else it works on in what the next start sweeps, and the superuser's /proc, /sys and /dev stay mounted
    there. Others get no namespaces of ours: mmdebstrap makes its own for them.
    """
    dying = ["setpriv", "--pdeathsig", "KILL", "--"]
    alone_inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    offers = [[*dying, *alone_inside]] if os.geteuid() == 0 else []
    return next((words for words in [*offers, dying] if _works(words)), [])


def _works(words: list[str]) -> bool:
    try:
        return run_tool([*words, "true"]).returncode == 0
    except OSError:
        return False


def _unpack(making: list[str], target: Path, on_line: OnLine, environment: Mapping[str, str]) -> None:
    """Runs mmdebstrap into tar. Both end with us, and mmdebstrap is given the time to clean up."""
    making = [*_dying_with_us(), *making]
    words = ["tar", "--extract", "--no-same-owner", "--exclude=./dev/*", "-C", str(target)]
    try:
        maker = subprocess.Popen(
            making, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=False, start_new_session=True, cwd="/", env=environment,
        )  # fmt: skip
    except FileNotFoundError:
        raise TollError("mmdebstrap is not installed", "sudo apt-get install -y mmdebstrap") from None
    assert maker.stdout is not None
    assert maker.stderr is not None
    said: list[str] = []
    with maker, subprocess.Popen(words, stdin=maker.stdout, cwd="/") as taker:
        try:
            maker.stdout.close()
            for raw in maker.stderr:
                line = raw.decode("utf-8", "replace").strip()
                said.append(line)
                on_line(line)
            failed = maker.wait() or taker.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(maker.pid, signal.SIGINT)
            taker.terminate()
            maker.wait()
            raise
    if failed:
        raise _explained(said)


def _explained(said: list[str]) -> TollError:
    """What mmdebstrap said last, and what would help."""
    if gone := next(filter(None, map(_NOT_THERE.search, said)), None):
        return TollError(
            f"the mirror does not have {gone[2]} {gone[1]}, or not any more",
            "name one that keeps old versions: --mirror URI; or leave --versions out, for those of today",
        )
    told = next((line for line in said if line.startswith(("E:", "Err:"))), (said or ["no message"])[-1])
    step = "check the network and the mirror, then run the same command again"
    if any("newuidmap" in line or "subuid" in line or "unshare" in line for line in said):
        step = "run it as root, or give this user subordinate ids: sudo usermod --add-subuids 100000-165535"
        step += " --add-subgids 100000-165535 $USER"
    return TollError(f"mmdebstrap could not make the root: {told}", step)


def _delete(folder: Path) -> None:
    """Raises TollError where it stays."""
    try:
        delete_tree(folder)
    except OSError as error:
        raise TollError(
            f"{error.filename or folder} cannot be removed: {error.strerror}",
            f"unmount what is mounted in {folder} (findmnt lists it), then remove that folder",
        ) from None


def _own(target: Path) -> Path:
    """The folder, which toll made and may delete. Raises TollError for what somebody else put there."""
    if target.is_symlink() or not (target / MADE).is_file():
        raise TollError(
            f"{target} is nothing that toll made: it stays as it is",
            "move it away, or name another cache folder: XDG_CACHE_HOME=/path",
        )
    return target


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two makers of one root: the second waits, then finds it made."""
    with contextlib.ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(alone(folder / ".lock"))
        except OSError as error:
            raise TollError(
                f"cannot write to {folder}: {error.strerror}",
                "name another cache folder: XDG_CACHE_HOME=/path",
            ) from None
        yield
