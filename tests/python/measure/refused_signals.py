"""A small run of real programs by a toll that may send no signal, in a process of its own.

refused_signals.py FILE ROUNDS

The kernel answers EPERM to each kill(2) from here on, for this process and all that it starts. One of the
contenders leaves a thread at work between its requests.
"""

import json
import os
import struct
import sys
from pathlib import Path

from fake_machine import header_for, plan_for, workload
from runner import PROGRAM

from tollbench.building import sparing_others
from tollbench.building.sparing_others import KillCall
from tollbench.measure import run
from tollbench.store import RunFile
from tollbench.words import Program

UNSTARTED = 77  # this kernel or processor has no filter
FAULTS = {"noisy": "threads_left", "calm": "none", "quiet": "none"}


def every_kill(call: KillCall) -> bytes:
    """As `sparing_others.instructions`, whoever the signal is for."""
    filters = sparing_others
    steps = [
        (filters.LOAD, 0, 0, filters.AT_NUMBER),
        (filters.IF_EQUAL, 0, 1, call.number),
        (filters.RETURN, 0, 0, filters.REFUSE),
        (filters.RETURN, 0, 0, filters.ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def main(path: Path, rounds: int) -> int:
    sparing_others.instructions = every_kill
    if not sparing_others.spare_others():
        return UNSTARTED
    try:
        os.kill(os.getpid(), 0)
    except PermissionError:
        pass
    else:
        raise AssertionError("signals are not refused")
    plan = plan_for(
        workload(*FAULTS),
        launch_s=0.01,
        budget_s=0.0,
        min_launches=rounds,
        max_launches=rounds,
        canary_share=0.0,
    )
    programs = [
        Program("a/b", name, "host", ("/bin/sh", "-c", f'exec "$@" fault={fault} switches=0', "sh", *PROGRAM))
        for name, fault in FAULTS.items()
    ]
    with RunFile.create(path, header_for(plan)) as run_file:
        print(json.dumps(run(plan, programs, run_file)))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
