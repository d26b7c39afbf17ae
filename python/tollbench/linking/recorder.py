"""Stands in for a linker: keeps what is needed to repeat the link, then becomes the real linker.

The user's build starts it by its path, in an environment that is not toll's: it uses the standard library
alone, and whatever goes wrong in it must not keep the build from linking.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

_TOKEN = re.compile(r"""(?:[^\s\\"']|\\.|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')+""", re.DOTALL)
_PIECE = re.compile(r"""\\(.)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\\"']+)""", re.DOTALL)
_OUTPUT = re.compile(r"(?:-o(?!format)|--output=)(.+)", re.DOTALL)
_WITH_VALUE = ("-z", "-m", "-L", "-l", "-h", "-soname", "-rpath", "-plugin", "-e", "-u", "-T")
_OF_OPTION = re.compile(r"-[^=]*=(.+)", re.DOTALL)
_DEEPEST = 8  # response files in response files


def main() -> None:
    """Called as: recorder.py FOLDER NAME ARGUMENTS; FOLDER holds the wrapper called NAME."""
    folder, name, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    real = real_linker(folder, name)
    if real is None:
        print(f"{name}: not found", file=sys.stderr)
        sys.exit(127)
    if not {"-v", "-V", "--version", "--help"} & set(arguments):
        try:
            record(folder, real, expanded(arguments))
        except Exception as problem:  # the build goes on, and toll says later why it cannot link again
            with contextlib.suppress(OSError), open(f"{folder}/../trouble", "a", encoding="utf-8") as file:
                file.write(f"{problem}\n")
    os.execv(real, [real, *arguments])


def real_linker(folder: str, name: str) -> str | None:
    """What the compiler would have started."""
    others = [place for place in os.environ.get("COMPILER_PATH", "").split(":") if place]
    others = [place for place in others if place.rstrip("/") != folder]
    asked = _compilers_own(name, others)
    places = others + ([] if asked is not None else os.environ.get("PATH", os.defpath).split(":"))
    found = [os.path.join(place, name) for place in places if place]
    found = [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]
    return found[0] if found else asked


def _compilers_own(name: str, others: list[str]) -> str | None:
    """Clang, which tells its linker nothing of the folders where it looks for one, can be asked."""
    try:
        parent = os.readlink(f"/proc/{os.getppid()}/exe")
    except OSError:
        return None
    if "clang" not in os.path.basename(parent):
        return None
    without = {key: value for key, value in os.environ.items() if key != "COMPILER_PATH"}
    asking = [parent, f"-print-prog-name={name}"]
    told = subprocess.run(asking, env={**without, "COMPILER_PATH": ":".join(others)}, capture_output=True)
    path = os.fsdecode(told.stdout).strip()
    return path if os.path.isabs(path) and os.access(path, os.X_OK) else None


def expanded(arguments: list[str], depth: int = 0) -> list[str]:
    """The arguments with those in the place of response files, by the rules of GNU's libiberty."""
    made: list[str] = []
    for argument in arguments:
        if argument.startswith("@") and depth < _DEEPEST and os.path.isfile(argument[1:]):
            with open(argument[1:], "rb") as file:
                text = os.fsdecode(file.read())
            made += expanded([_unquoted(token) for token in _TOKEN.findall(text)], depth + 1)
        else:
            made.append(argument)
    return made


def _unquoted(token: str) -> str:
    return "".join(
        escaped or plain or re.sub(r"\\(.)", r"\1", double or single, flags=re.DOTALL)
        for escaped, double, single, plain in _PIECE.findall(token)
    )


def output_of(arguments: list[str]) -> str:
    """The file that a link writes."""
    output = "a.out"
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if before in ("-o", "--output"):
            output = argument
        elif before not in _WITH_VALUE and (found := _OUTPUT.fullmatch(argument)):
            output = found.group(1)
    return output


def record(folder: str, linker: str, arguments: list[str]) -> None:
    """Writes down one link, and keeps its inputs."""
    output = output_of(arguments)
    with open(f"{folder}/../program", encoding="utf-8") as file:
        stem = os.path.basename(json.load(file)).split(".")[0]
    likely = stem in os.path.basename(output)
    kept = f"{folder}/../links/{time.time_ns():020d}-{os.getpid()}"
    os.makedirs(kept)
    inputs: dict[str, dict[str, object]] = {}
    for argument in arguments:
        found = _OF_OPTION.fullmatch(argument)
        path = found.group(1) if found else argument
        if path not in inputs and path != output and (told := _kept(path, kept, len(inputs), likely)):
            inputs[path] = told
    told = {
        "linker": linker,
        "arguments": arguments,
        "output": output,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "inputs": inputs,
    }
    with open(f"{kept}/link.part", "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.rename(f"{kept}/link.part", f"{kept}/link.json")


def _kept(path: str, folder: str, number: int, likely: bool) -> dict[str, object] | None:
    """An input as it is now: its size, its time, and where its bytes stay when the build removes it.

    A second name for the file costs nothing. Where there can be none (another file system, somebody else's
    file), bytes are copied only of what nobody else will keep, or of the program that is wanted.
    """
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    told: dict[str, object] = {"bytes": state.st_size, "modified_ns": state.st_mtime_ns}
    whole = os.path.realpath(path)
    if whole.startswith(("/usr/", "/lib/", "/lib64/", "/nix/", "/opt/")):
        return told
    copy = f"{folder}/{number}-{os.path.basename(path)[-160:]}"
    try:
        os.link(whole, copy)
    except OSError as error:
        temporary = whole.startswith((os.environ.get("TMPDIR") or "/tmp", "/tmp/", "/var/tmp/"))
        if not (likely or temporary):
            return told
        if error.errno == errno.ENOSPC:
            raise
        shutil.copy2(whole, copy)
    return {**told, "copy": os.path.realpath(copy)}


if __name__ == "__main__":
    main()
