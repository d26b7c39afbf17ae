"""Whether a compiler with certain flags works here: compiles, links and runs a small C++20 program.

Answers are kept in the user's cache until the compiler changes or a package comes or goes.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock

from tollbench.catalog.machine import processor_mark
from tollbench.catalog.managers import DATABASES, tells_of_changes
from tollbench.catalog.tools import run_tool
from tollbench.home import cache_folder
from tollbench.writing import scratch_folder, write_own

LIMIT_S = 60.0
FILE = "probes.json"

# Uses what the measuring library uses; prints what it was compiled with and against.
PROGRAM = """\
#include <atomic>
#include <concepts>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>
#include <version>
template <std::integral T> T sum(std::span<const T> values) {
  T total{};
  for (T value : values) total += value;
  return total;
}
int main() {
  std::vector<int> values(10, 1);
  std::atomic<int> total{0};
  std::thread adds([&] { total = sum<int>(values); total.notify_all(); });
  total.wait(0);  // in the library itself, which may be older than its headers
  adds.join();
  std::string text = std::to_string(total.load());
#if defined(__clang__)
  std::printf("Clang %d.%d.%d\\n", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  std::printf("GCC %d.%d.%d\\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
#if defined(_LIBCPP_VERSION)
  std::printf("libc++ %d\\n", _LIBCPP_VERSION >= 20000 ? _LIBCPP_VERSION / 10000 : _LIBCPP_VERSION / 1000);
#elif defined(_GLIBCXX_RELEASE)
  std::printf("libstdc++ %d\\n", _GLIBCXX_RELEASE);
#endif
  return text == "10" ? 0 : 1;
}
"""
# Older libraries take an unknown mode in silence and check nothing.
HARDENING = """\
#include <version>
#ifndef _LIBCPP_HARDENING_MODE_FAST
#error libc++ has hardening modes since version 18; this one is older
#endif
"""
_ERROR = re.compile(r"\b(fatal error|error)\b:?|cannot find|undefined reference", re.IGNORECASE)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of it: `reason` is "" where it works."""

    reason: str
    compiler: str = ""  # "GCC 12.2.0"
    library: str = ""  # "libstdc++ 12"


@dataclass(frozen=True, slots=True)
class Inside:
    """Where a compiler lies: on the machine itself, or in a file system of its own."""

    enter: tuple[str, ...] = ()  # goes before a command to run it there
    file_system: str = ""  # its folder


ON_THE_MACHINE = Inside()


def probe(
    compiler: str,
    flags: Sequence[str],
    link_flags: Sequence[str],
    source: str = PROGRAM,
    inside: Inside = ON_THE_MACHINE,
) -> Probe:
    """Compiles, links and runs `source`; takes a second, or nothing where the answer is known."""
    key = _key(compiler, flags, link_flags, source, inside.file_system)
    known = _stored().get(key)
    if isinstance(known, dict) and all(isinstance(known.get(name), str) for name in Probe.__slots__):
        return Probe(known["reason"], known["compiler"], known["library"])
    found = _probed(compiler, flags, link_flags, source, inside.enter)
    # Without a package manager that tells of changes, only good news keeps.
    if not found.reason or tells_of_changes():
        _store(key, found)
    return found


def _probed(
    compiler: str, flags: Sequence[str], link_flags: Sequence[str], source: str, enter: Sequence[str]
) -> Probe:
    with scratch_folder(Path("/tmp") if enter else None) as scratch:  # what a root sees of ours
        folder = str(scratch)
        program = Path(folder, "probe")
        Path(folder, "probe.cpp").write_text(source, encoding="utf-8")
        command = [*enter, compiler, "-std=c++20", *flags, f"{folder}/probe.cpp", "-o", str(program)]
        reason, _ = _run([*command, "-pthread", *link_flags], "the compiler", folder)
        if reason:
            return Probe(reason.replace(f"{folder}/", ""))
        reason, said = _run([*enter, str(program)], "a small program", folder)
    lines = [*said.splitlines(), "", ""]
    return Probe(reason, lines[0], lines[1])


def _run(command: Sequence[str], what: str, folder: str) -> tuple[str, str]:
    """(the reason why it failed or "", what it printed)"""
    try:
        environment = {**os.environ, "LC_ALL": "C"}
        done = run_tool(command, one_stream=True, cwd=Path(folder), env=environment, limit_s=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"{what} did not end within {LIMIT_S:g} s", ""
    except OSError as error:
        return f"{what} could not be started: {error.strerror}", ""
    if done.returncode == 0:
        return "", done.stdout
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    told = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "no message")
    ended = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return (told if lines else f"{what} ended with {ended}")[:300], ""


def _key(
    compiler: str, flags: Sequence[str], link_flags: Sequence[str], source: str, file_system: str
) -> str:
    """Of all that the answer depends on."""
    marks = [_mark(Path(file_system + place)) for place in (compiler, *DATABASES)]
    # The user's cache may be shared between machines, and a virtual one may wake up on another processor.
    marks += [processor_mark()] if any(flag.endswith("=native") for flag in flags) else []
    asked = [platform.node(), os.path.realpath(file_system + compiler), *flags, "|", *link_flags, source]
    return hashlib.sha256("\0".join([*asked, *marks]).encode()).hexdigest()[:32]


def _mark(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size}"


def _stored() -> dict[str, object]:
    try:
        content = json.loads((cache_folder() / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _store(key: str, found: Probe) -> None:
    """Replaces the file at once: a kill leaves the old one. A cache that cannot be written is none."""
    with _lock, suppress(OSError):
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        content = dict(list(_stored().items())[-500:]) | {key: asdict(found)}
        write_own(folder / FILE, json.dumps(content))
