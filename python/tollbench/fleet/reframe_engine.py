"""ReFrame, driven: one partition a host, one job each, and the deadlines that it lacks.

What was found about it by trying (docs/fleet.md): two jobs at once on one host where a partition has two; no
time limit over ssh; nothing fetched from a job that failed; one ssh after another while jobs are handed out,
so that a host which does not answer holds up all others. Hence one partition a host, `ssh` and `scp` that end
by themselves, jobs that end with 0, and hosts that were looked at before.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tollbench.errors import TollError
from tollbench.fleet.hosts import PINNED, Host
from tollbench.interpreters import interpreter
from tollbench.launching.interrupt import Interrupt
from tollbench.launching.spawned import Spawned

HERE: Final = Path(__file__).parent
_SYSTEM, _CASE = "fleet", "FleetCase"
_DONE: Final = re.compile(r"\[\s*(?:OK|FAIL|ABORT|SKIP|ERROR)\s*\].*@fleet:(h\d+)\b")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./~+-]+")
MARK: Final = "toll-fleet: "
_MOST_BYTES: Final = 4 << 20
_HANDED_OUT_S: Final = 30.0  # for one ssh that makes a folder
_START = """\
# Started by the engine on a host: this folder's on_host.py with the Python that was asked for.
cd "$(dirname "$0")" || exit 0
if ! command -v "$1" >/dev/null 2>&1; then
    answer='"status": "failed", "reason": "there is no Python there: '"$1"'"'
    sed 's|"status": ""|'"$answer"'|' unanswered.json >answer.json
    exit 0
fi
exec "$1" -I -S on_host.py work job.json
"""

_MADE = "made.tsv"  # ssh's word for a host, and the folder that ReFrame made there
_STOP = "stop"  # once it is there, no ssh host is given a job any more
_SCP = """\
#!/bin/sh
exec timeout -k 5 {limit} {real} "$@"
"""
_SSH = """\
#!/bin/sh
for word; do
    if [ "$word" = mktemp ]; then
        [ ! -e {stop} ] || exit 1
        folder=$(timeout -k 5 {made_within} {real} "$@") || exit 1
        # The engine puts it into commands of a shell here, and a host may answer what it likes.
        case $folder in "" | -* | *[!A-Za-z0-9_./+-]*) exit 1 ;; esac
        printf '%s\\t%s\\n' "$host" "$folder" >>{made}
        printf '%s\\n' "$folder"
        exit 0
    fi
    host=$word
done
exec timeout -k 5 {limit} {real} "$@"
"""


@dataclass(frozen=True, slots=True)
class HostJob:
    """What on_host.py is to do; its fields are those of job.json."""

    identity: str
    host: str
    toll: str
    wheel: str  # name of its file
    sha256: str
    sources: str
    version: str
    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...]  # commands that come first
    inputs: tuple[str, ...]  # names of files
    start_in: str  # a folder that one of the commands made; empty: the run's own
    result: str  # name of the file that toll writes
    fine: tuple[int, ...]  # exit codes of a toll that did its work
    limit_s: float
    wait_s: float
    boot_id: str  # of the kernel that was looked at; empty: whichever
    keep: bool  # the result, until it was fetched


@dataclass(frozen=True, slots=True)
class Placed:
    """A job, its host, and the files that go with it."""

    job: HostJob
    host: Host
    files: tuple[Path, ...]
    setup_s: float  # to bring toll there, and its result back
    queue_s: float = 0.0  # how long a queue may keep it waiting; 0: there is none
    marks: tuple[str, ...] = ()  # words for the queue, by which it is known later


def check_installed() -> None:
    """Raises TollError where ReFrame is not there."""
    if importlib.util.find_spec("reframe") is None:
        raise TollError(
            "toll fleet drives ReFrame, which is not installed",
            'install it: pip install "tollbench[fleet]", or pip install ReFrame-HPC where toll is',
        )


class Engine:
    """One start of ReFrame in a folder of its own, which every node must see where there is a queue."""

    def __init__(self, folder: Path, ssh_options: Sequence[str], deadline_s: float) -> None:
        self.folder = folder
        self._ssh_options = ssh_options
        self._deadline_s = deadline_s
        self._name_of: dict[str, str] = {}
        self._spawned: Spawned | None = None
        self._output = bytearray()

    def start(self, jobs: Sequence[Placed]) -> None:
        """Raises TollError, OSError, LaunchFailed."""
        if not _PLAIN.fullmatch(str(self.folder)):
            raise TollError(
                f"the engine cannot work below {self.folder}: it hands that name to a shell",
                "use a folder whose name has letters, digits and ._+-/ alone: --output, or TMPDIR",
            )
        parts = {f"h{number:05}": placed for number, placed in enumerate(jobs)}
        self._name_of = {part: placed.host.name for part, placed in parts.items()}
        sent, programs = self.folder / "sent", self.folder / "bin"
        sent.mkdir()
        programs.mkdir()
        shutil.copyfile(HERE / "on_host.py", sent / "on_host.py")
        (sent / "start.sh").write_text(_START, encoding="utf-8")
        shutil.copyfile(HERE / "engine_case.py", self.folder / "fleet_case.py")
        (self.folder / "jobs.json").write_text(json.dumps(_described(parts)), encoding="utf-8")
        config = configuration(self.folder, parts, self._ssh_options)
        (self.folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
        for name, text in _programs(self._deadline_s, self.folder).items():
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o700)
        self._spawned = Spawned(
            interpreter(
                "-c", "import sys; from reframe.frontend.cli import main; sys.exit(main())",
                "--config-file=config.yaml", "--checkpath=fleet_case.py", "--run", f"--system={_SYSTEM}",
                "--prefix=work", "--keep-stage-files", "--nocolor", "--exec-policy=async",
            ),
            _environment(programs),
            stdin=subprocess.DEVNULL,
            folder=self.folder,
        )  # fmt: skip
        for pipe in (self._spawned.popen.stdout, self._spawned.popen.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._spawned.poll.register(pipe.fileno())

    def ended_hosts(self, interrupt: Interrupt) -> Iterator[str]:
        """Names of hosts whose jobs have ended, as they do; "" now and then, so that others have a turn."""
        assert self._spawned is not None
        process = self._spawned.popen
        open_pipes = {pipe.fileno() for pipe in (process.stdout, process.stderr) if pipe is not None}
        self._spawned.poll.register(interrupt.fd)
        while open_pipes:
            for fd, _ in self._spawned.poll.poll(1000):
                if fd in open_pipes and (block := _read(fd)) is not None:
                    if block:
                        yield from self._hosts_in(block)
                    else:
                        open_pipes.discard(fd)
                        self._spawned.poll.unregister(fd)
                elif fd == interrupt.fd:
                    self._spawned.poll.unregister(fd)
            yield ""

    def _hosts_in(self, block: bytes) -> Iterator[str]:
        self._output += block
        *lines, rest = bytes(self._output).split(b"\n")
        self._output = bytearray(rest)
        for line in lines:
            found = _DONE.search(line.decode("utf-8", "replace"))
            if found and found[1] in self._name_of:
                yield self._name_of[found[1]]

    def hand_out_no_more(self) -> None:
        """ssh hosts that have no job yet get none."""
        (self.folder / _STOP).touch()

    def cancel(self) -> None:
        """As Ctrl-C in ReFrame: jobs in queues are cancelled."""
        assert self._spawned is not None
        self._spawned.popen.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Nothing of it runs any more."""
        if self._spawned is not None:
            self._spawned.end()
            self._spawned = None

    def stage(self, host: str) -> Path:
        """Where what a host left was put."""
        (part,) = (part for part, name in self._name_of.items() if name == host)
        return stage_of(self.folder, part)

    def answer(self, host: str) -> str:
        """The host's last word, as JSON; empty without one."""
        return answer_in(self.stage(host))

    def sent_to(self, host: Host) -> list[str]:
        """The folders that ReFrame made on an ssh host, and leaves there."""
        lines = [line.split("\t") for line in plain_text(self.folder / _MADE).splitlines()]
        return [words[1] for words in lines if len(words) == 2 and words[0] == host.ssh]


def stage_of(folder: Path, part: str) -> Path:
    """Where an engine in `folder` puts what the host of a partition leaves."""
    return folder / "work" / "stage" / _SYSTEM / part / "builtin" / _CASE


def answer_in(stage: Path) -> str:
    """A host's last word, as JSON; empty without one."""
    if text := plain_text(stage / "answer.json"):
        return text
    lines = plain_text(stage / "rfm_job.out").splitlines()
    return next((line.removeprefix(MARK) for line in reversed(lines) if line.startswith(MARK)), "")


def plain_text(path: Path) -> str:
    """Of a file that a host may have made: no link, not too long; empty where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")


def _read(fd: int) -> bytes | None:
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None


def _described(parts: Mapping[str, Placed]) -> dict[str, Any]:
    return {
        part: {
            "job": asdict(placed.job),
            "python": placed.host.python,
            "files": [str(file) for file in placed.files],
            "queue_s": placed.queue_s,
        }
        for part, placed in parts.items()
    }


def configuration(folder: Path, parts: Mapping[str, Placed], ssh_options: Sequence[str]) -> dict[str, Any]:
    """ReFrame's configuration: nothing of it is written elsewhere than in `folder`."""
    rate = _polls_a_second(parts.values())
    return {
        "systems": [
            {
                "name": _SYSTEM,
                "hostnames": [".*"],
                "partitions": [_partition(part, placed, ssh_options) for part, placed in parts.items()],
            }
        ],
        "environments": [{"name": "builtin"}],
        "logging": [
            {
                "level": "info",  # else every word that is not told costs a walk through the stack
                "handlers": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
            }
        ],
        "general": [
            {
                "report_file": str(folder / "report.json"),
                "topology_prefix": str(folder / "topology"),
                "generate_file_reports": False,
                "poll_rate_max": rate,
                "poll_rate_min": rate,
                "poll_rate_decay": 0.0,  # with it, several seconds pass between two polls
                "resolve_module_conflicts": False,
            }
        ],
        "storage": [{"enable": False}],
    }


def _polls_a_second(jobs: Collection[Placed]) -> float:
    """How often ReFrame looks whether jobs have ended: at all of them, by a squeue each in a queue."""
    queued = sum(not placed.host.by_ssh for placed in jobs)
    return min(2.0, 200.0 / len(jobs), 4.0 / max(1, queued))


def _partition(name: str, placed: Placed, ssh_options: Sequence[str]) -> dict[str, Any]:
    host, seconds = placed.host, int(placed.job.limit_s + placed.job.wait_s + placed.setup_s)
    found: dict[str, Any] = {
        "name": name,
        "scheduler": host.engine,
        "launcher": "local",
        "environs": ["builtin"],
        "max_jobs": 1,
        "processor": {"num_cpus": 1},  # so that ReFrame does not look for it
        "access": [*PINNED.get(host.engine, ()), *host.access, *placed.marks],
    }
    if host.by_ssh:
        return found | {"access": list(ssh_options), "sched_options": {"ssh_hosts": [host.ssh]}}
    return found | {"time_limit": f"{seconds // 3600}h{seconds % 3600 // 60}m{seconds % 60}s"}


def _programs(deadline_s: float, folder: Path) -> dict[str, str]:
    """What ReFrame finds before the system's own: ssh and scp with an end; no rsync, which hosts may lack."""
    found = {"rsync": "#!/bin/sh\nexit 1\n"}
    for name, text in (("ssh", _SSH), ("scp", _SCP)):
        if (real := shutil.which(name)) is not None:
            limits = {"limit": f"{deadline_s:.0f}", "made_within": f"{_HANDED_OUT_S:.0f}"}
            places = {"made": shlex.quote(str(folder / _MADE)), "stop": shlex.quote(str(folder / _STOP))}
            found[name] = text.format(real=shlex.quote(real), **places, **limits)
    return found


def _environment(programs: Path) -> dict[str, str]:
    """The user's own, for ssh and the queue's commands; nothing that configures ReFrame or Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RFM_", "PYTHON", "SBATCH_"))
    }
    return {
        **kept,
        "PATH": f"{programs}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
