"""The command line: of the start script, which runs this file by its path, of `python -m`, and of a wheel.

Python puts the current folder on its path for `-m`, and for an empty entry of PYTHONPATH: a stranger's
`typer.py` there would be imported for the real one. So it goes before anything else is imported; what is
imported here and in `tollbench/__init__.py` is part of the interpreter itself (docs/security.md).
"""

import gc
import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # where toll itself lies
COULD_NOT_START = 2  # tollbench.errors.Exit.USAGE, which may be what cannot be imported
# New objects before Python looks for cycles among them, and how often before it looks among older ones. What
# toll imports and reads stays, so that its own 700 looks at the same ones again and again: 5 % of a report.
COLLECTED_EVERY = (100_000, 20, 20)


def leave_the_current_folder() -> None:
    """From now on nothing is imported from the current folder, and no program is found in it.

    Unless toll itself lies there. What PATH names relative to it is forgotten for toll's children too.
    """
    if not __package__:  # started by its path, which without -I puts the folder of the rooms on Python's path
        rooms = os.path.join(HOME, "tollbench")
        sys.path[:] = [HOME, *(entry for entry in sys.path if os.path.realpath(entry) not in (HOME, rooms))]
    if not sys.flags.isolated:
        sys.path[:] = without_relative(sys.path, os.environ.get("PYTHONPATH", ""), _here())
    if "PATH" in os.environ:
        absolute = [entry for entry in os.environ["PATH"].split(os.pathsep) if os.path.isabs(entry)]
        os.environ["PATH"] = os.pathsep.join(absolute) or os.defpath


def without_relative(entries: list[str], python_path: str, here: str) -> list[str]:
    """`entries` of sys.path without the folder `here` and what `python_path` names relative to it.

    Only those before the standard library are looked at: the others are of the interpreter's installation,
    which may be where somebody stands.
    """
    relative = [entry for entry in python_path.split(os.pathsep) if not os.path.isabs(entry)]
    named = {os.path.realpath(os.path.join(here, entry)) for entry in ("", *relative)} - {HOME}
    library = os.path.dirname(os.__file__)
    end = entries.index(library) if library in entries else len(entries)
    return [entry for entry in entries[:end] if os.path.realpath(entry) not in named] + entries[end:]


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def start() -> int:
    """Runs one command line and returns its exit code."""
    gc.set_threshold(*COLLECTED_EVERY)
    leave_the_current_folder()
    if sys.version_info < (3, 11):  # noqa: UP036  not everything that runs it has asked the wheel
        have = ".".join(map(str, sys.version_info[:2]))
        sys.stderr.write(f"toll: Python {have} is too old\n  next: install toll with Python 3.11 or later\n")
        return COULD_NOT_START
    try:
        from tollbench.cli import main
        from tollbench.cli.streams import guard_streams
    except (ImportError, MemoryError, OSError) as error:  # Python itself would end with 1: a regression
        os.write(2, f"toll: cannot start: {error or type(error).__name__}\n".encode("utf-8", "replace"))
        os.write(2, b"  next: look whether this checkout is whole, and whether there is memory left\n")
        return COULD_NOT_START
    guard_streams()
    return main()


if __name__ == "__main__":
    sys.exit(start())
