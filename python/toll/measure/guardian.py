"""Ends the program in flight when toll itself is killed.

A killed toll closes its pipes, and most programs end with their input; one that spins does not. The kernel's
own answer, PR_SET_PDEATHSIG, has to be asked for inside the child: that takes a fork of the whole of toll in
place of vfork at each launch, reaches no grandchildren, and fires when the thread that forked ends. A small
shell that reads a pipe costs a launch next to nothing, knows no threads, and serves all languages.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref

# The end of its input is toll's own end, however it came; "0" stands for no program.
_SCRIPT = 'group=0; while read -r next; do group=$next; done; [ "$group" = 0 ] || kill -s KILL -- "-$group"'


class Guardian:
    """A process of its own, which outlives a killed toll by the moment that it needs."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()  # neither end is inherited by anything else
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # Ctrl-C is not meant for it
            )
        finally:
            os.close(reading)
        self.close = weakref.finalize(self, _close, self._writing, process)

    def watch(self, group: int) -> None:
        """From now on this process group dies with toll; 0: there is none."""
        with contextlib.suppress(BrokenPipeError):  # somebody ended the guardian: a run goes on without
            os.write(self._writing, b"%d\n" % group)


def _close(writing: int, process: subprocess.Popen[bytes]) -> None:
    os.close(writing)
    process.wait()
