"""Whether CMake may be started: where it can start no process, it kills all that its user may kill.

Seen with CMake 3.25.1: where fork(2) is refused in execute_process(), its clean-up sends SIGKILL to process
-1, which is everybody. A limit of processes (ulimit -u, a container's pids.max) that is reached is enough.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tollbench.errors import MORE_PROCESSES, TollError

# A compiler that CMake tries: cmake, ninja, a shell, g++, cc1plus or collect2 and ld; and as many again.
FEWEST = 16
_WAITING: Sequence[str] = ("cat",)  # until its input ends


def check_room_for_processes() -> None:
    """Raises TollError where FEWEST processes cannot be alive at once beside those that there are."""
    alive: list[subprocess.Popen[bytes]] = []
    try:
        while len(alive) < FEWEST:
            one = subprocess.Popen(_WAITING, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/")
            alive.append(one)
    except OSError as error:
        raise TollError(
            f"nothing was built: only {len(alive)} more processes can be started here ({error.strerror}), and"
            f" building needs {FEWEST}",
            MORE_PROCESSES,
        ) from None
    finally:
        for process in alive:
            process.kill()
        for process in alive:
            process.communicate()
