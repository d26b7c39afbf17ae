"""A small run of real programs in a process of its own, for tests that kill it.

runner.py FILE LOCK [HOLD_AFTER]

After its HOLD_AFTER-th launch it waits for the end of its standard input.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fake_machine import CANARY, header_for, plan_for, workload

from tollbench.interpreters import interpreter
from tollbench.launching.child import Limits
from tollbench.launching.clock import SystemClock
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.machine_lock import machine_lock
from tollbench.launching.process import Process, ProcessLauncher
from tollbench.measure import run
from tollbench.measure.events import Event, LaunchDone
from tollbench.store import RunFile
from tollbench.words import Program

PROGRAM = tuple(interpreter("-S", str(Path(__file__).parents[1] / "fakes" / "program.py")))
ROUNDS = 6
LAUNCH_S = 0.001
CONTENDERS = ("fast", "slow")


class TellingLauncher(ProcessLauncher):
    """Prints what happens, for the test to read."""

    def __init__(self, interrupt: Interrupt, hold_after: int) -> None:
        super().__init__(interrupt)
        self._hold_after = hold_after
        self._begun = 0

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        folder: Path | None = None,
    ) -> Process:
        self._begun += 1
        print("starting", flush=True)
        return super().start(command, environment, limits, folder)

    def tell(self, event: Event) -> None:
        if isinstance(event, LaunchDone):
            print("stored", event.launches, flush=True)
            if 0 < self._hold_after <= self._begun:
                sys.stdin.read()


def main(path: Path, lock: Path, hold_after: int) -> None:
    plan = plan_for(
        workload(*CONTENDERS),
        launch_s=LAUNCH_S,
        budget_s=0.0,
        max_launches=ROUNDS,
        min_launches=ROUNDS,
        canary_share=0.2,
    )
    programs = [Program("a/b", name, "host", PROGRAM) for name in CONTENDERS]
    opened = RunFile.resume(path) if path.exists() else RunFile.create(path, header_for(plan))
    with (
        Interrupt() as interrupt,
        machine_lock(SystemClock(), interrupt=interrupt, files=[lock]),
        opened as run_file,
    ):
        launcher = TellingLauncher(interrupt, hold_after)
        print(
            run(
                plan,
                programs,
                run_file,
                launcher=launcher,
                canary=CANARY_PROGRAM,
                on_event=launcher.tell,
                interrupt=interrupt,
            )
        )


# The fake program's answer is 7 a time, whatever it is called.
CANARY_PROGRAM = type(CANARY)(Program("toll/canary", "canary", "host", PROGRAM), answer=7)

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
