"""Ends the programs in flight when toll itself is killed.

A killed toll closes its pipes, and most programs end with their input; one that spins or is halted does not.
A small shell that waits for the end of a pipe costs a launch next to nothing, knows no threads, and serves
all languages.

Where toll is killed in the moment between a start and `watch`, that program is not known, and ends with its
input or not. The moment is that of vfork: some 0.1 ms, as the child goes on to its program when its parent is
killed meanwhile. The kernel's own answer, PR_SET_PDEATHSIG, has to be asked for inside the child, before its
program begins, and Python offers two ways. A fork of all of toll in place of vfork (preexec_fn) takes 6 to 18
ms a launch in place of 0.14, by the memory that toll has. A program in between (setpriv) is one more exec,
within the time of a command. Either reaches no grandchildren, and kills the program when the thread that
started it ends.
"""

from __future__ import annotations

import functools
import os
import subprocess
import threading
import weakref

# The end of its input is toll's own end, however it came. Only then does it read whom to kill: told of each
# launch through the pipe, it would take a processor while a program is timed. Its output is the file to read,
# as that is the other descriptor which every shell can name.
_SCRIPT = """
while read -r _; do :; done
read -r groups <&1
for group in $groups; do kill -s KILL -- "-$group"; done
"""
_LINE_BYTES = 4095  # with its end one page, which is written as a whole, so that no half is there to read


class Guardian:
    """A process of its own, which outlives a killed toll by the moment that it needs."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._one_at_a_time = threading.Lock()  # an older list written last would lack a program
        self._list = os.memfd_create("toll-guardian")
        reading, writing = os.pipe()  # neither end is inherited by anything else
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=self._list,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # Ctrl-C is not meant for it
            )
        except OSError:
            os.close(writing)
            os.close(self._list)
            raise
        finally:
            os.close(reading)
        self.close = weakref.finalize(self, _close, writing, self._list, process)

    def watch(self, group: int) -> None:
        """From now on this process group dies with toll."""
        with self._one_at_a_time:
            self._groups.add(group)
            self._write()

    def forget(self, group: int) -> None:
        """This one has been ended: its number may become somebody else's."""
        with self._one_at_a_time:
            self._groups.discard(group)
            self._write()

    def _write(self) -> None:
        names = " ".join(map(str, sorted(self._groups))).encode()
        os.pwrite(self._list, names.ljust(_LINE_BYTES) + b"\n", 0)


@functools.cache
def shared_guardian() -> Guardian:
    """One for all who start a process at a time, made when it is first needed."""
    return Guardian()


def _close(writing: int, groups: int, process: subprocess.Popen[bytes]) -> None:
    os.close(writing)
    process.wait()
    os.close(groups)
