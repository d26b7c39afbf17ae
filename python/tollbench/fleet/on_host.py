"""What a host does for a fleet: a file of its own, sent with each job, which needs Python 3.8 alone.

    on_host.py look '{}'                  facts about the host
    on_host.py work job.json              holds the host, brings toll, runs it within a time limit
    on_host.py state '{"identity": ""}'   what became of a run, also of one whose connection was lost
    on_host.py stop '{"identity": ""}'    asks toll to end as Ctrl-C does; the job ends by itself
    on_host.py give '{"identity": ""}'    the result of a run that ended, as bytes
    on_host.py remove '{"identity": "", "folders": []}'  ends what still works for a run, removes its folders

But for `give`, each answer is one line, `toll-fleet: {JSON}`, on standard output: a full disk may take
nothing else. `work` ends with 0 whatever came, since engines fetch nothing from a job that failed. What a run
leaves lies in ~/.cache/toll/fleet/runs/IDENTITY until somebody has fetched it: a job that is asked for again,
because its answer was lost on the way, finds its result there and measures nothing.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import platform
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType
    from typing import IO, Any

MARK = "toll-fleet: "
RESULT = "{result}"  # the word of a command that stands for the file with its result
GIVEN = "toll-fleet-bytes: "
MACHINE_LOCKS = ("/run/lock/toll.lock", "/tmp/toll.lock")  # as toll itself takes them: launching/machine_lock
FLEET_LOCKS = ("/run/lock/toll-fleet.lock", "/tmp/toll-fleet.lock")
OLDEST_PYTHON = (3, 11)
LEAST_FREE_MB = 4.0
INSTALL_S = 900.0
WAIT_S = 1.0  # between two looks at a lock that another run holds, which measures meanwhile
GRACE_S = 20.0  # between asking toll to end and killing it
SETTLED_S = 600.0  # how long after a job's end its engine may still be fetching
KEPT_S = 30 * 86400.0  # how long a result waits for somebody to fetch it
# As home.is_no_part has it: what editors, version control, Python or a crash leave.
_NO_PART = re.compile(
    r"(?:^|/)(?:__pycache__/.*|\.[^/]*|core(?:\.\d+)?|#[^/]*|[^/]*(?:~|\.(?:pyc|swp|orig|rej)))$"
)
_IDENTITY = re.compile(r"[0-9a-f-]{8,64}")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

asked_to_stop = False


class JobEnded(Exception):
    """The job ends here; the words are its status and reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def base() -> Path:
    """Where everything of fleets lies on this host."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path("~/.cache").expanduser()) / "toll" / "fleet"


def run_folder(identity: str) -> Path:
    """Of one run. Raises ValueError for what is no identity, such as a path."""
    if not _IDENTITY.fullmatch(identity):
        raise ValueError("no identity of a run: " + repr(identity))
    return base() / "runs" / identity


def utc() -> str:
    """ISO 8601, by this host's clock."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def tell(answer: dict[str, Any]) -> None:
    """The one line that the other side reads."""
    sys.stdout.write(MARK + json.dumps(answer) + "\n")
    sys.stdout.flush()


# ---- facts


def facts() -> dict[str, Any]:
    """What a controller wants to know before it sends anything."""
    held = [fd for name in FLEET_LOCKS if (fd := open_lock(name)) is not None]
    lock = [[os.fstat(fd).st_dev, os.fstat(fd).st_ino] for fd in held]
    for fd in held:
        os.close(fd)
    return {
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "hostname": platform.node(),
        "boot_id": boot_id(),
        "lock": lock,
        "time": time.time(),
        "free_mb": free_mb(),
        "has": wheels_there(),
    }


def wheels_there() -> list[str]:
    """The first half of the hash of each toll that is unpacked here."""
    with suppress(OSError):
        return [path.name for path in (base() / "toll").iterdir() if len(path.name) == 32][:100]
    return []


def boot_id() -> str:
    """Of the running kernel: two names with one boot and one lock lead to one host."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def free_mb() -> float:
    """On the disk where runs lie, and where engines put theirs: the smaller one."""
    found = []
    for place in (base(), Path(tempfile.gettempdir())):
        while not place.exists():
            place = place.parent
        with suppress(OSError):
            room = os.statvfs(place)
            found.append(room.f_bavail * room.f_frsize / 1e6)
    return min(found) if found else 0.0


# ---- one at a time


def open_lock(name: str) -> int | None:
    """A descriptor, None where this place cannot be used; as toll opens its own lock."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    for attempt in (flags, flags | os.O_CREAT | os.O_EXCL, flags, os.O_RDONLY | flags & ~os.O_RDWR):
        with suppress(OSError):
            fd = os.open(name, attempt, 0o666)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                with suppress(OSError):
                    os.fchmod(fd, 0o666)
                return fd
            os.close(fd)
    return None


def holder(fd: int) -> str:
    """What whoever holds a lock wrote into it."""
    try:
        note = json.loads(os.pread(fd, 4096, 0))
        return f"process {note['pid']}, `{note['command']}`, since {note['started_utc']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that left no note"


def taken(names: Sequence[str], until: float, command: str) -> list[int]:
    """Descriptors of locks that are ours now. Raises JobEnded where somebody else keeps one until then."""
    held = [fd for name in names if (fd := open_lock(name)) is not None]
    for fd in held:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if asked_to_stop:
                    raise JobEnded("stopped", "it was stopped while it waited for this host") from None
                if time.monotonic() >= until:
                    raise JobEnded("busy", "another run measures there: " + holder(fd)) from None
                time.sleep(WAIT_S)
        with suppress(OSError):
            os.ftruncate(fd, 0)
            note = {"pid": os.getpid(), "command": command, "started_utc": utc()}
            os.pwrite(fd, json.dumps(note).encode(), 0)
    return held


# ---- processes


def start_of(pid: int) -> int:
    """When a process began, in the kernel's ticks: with its number it is that process and no later one."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def command_of(pid: int) -> str:
    """Its words; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def children_of(parent: int) -> list[int]:
    """Process ids."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == parent:
                    found.append(int(entry.name))
    return found


def kill_below(pid: int) -> None:
    """All that a process started, and what these started."""
    for child in children_of(pid):
        with suppress(OSError):
            os.kill(child, signal.SIGSTOP)  # it starts nothing more
        kill_below(child)
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)


def die_with_parent() -> None:
    """In a child, before it becomes toll: it is killed when we are."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def woken() -> Iterator[int]:
    """A descriptor that can be read once a signal came, also of a child's end.

    So nobody wakes up to look, beside what is measured.
    """
    bell, rope = os.pipe()
    for end in (bell, rope):
        os.set_blocking(end, False)
    before = signal.signal(signal.SIGCHLD, lambda *_: None), signal.set_wakeup_fd(rope)
    try:
        yield bell
    finally:
        signal.set_wakeup_fd(before[1])
        signal.signal(signal.SIGCHLD, before[0])
        os.close(bell)
        os.close(rope)


def run(
    command: Sequence[str], folder: Path, limit_s: float, out: IO[bytes], err: IO[bytes]
) -> tuple[int, str]:
    """(exit code, how it was ended: "", "late" or "stopped"); negative codes are signals."""
    process = subprocess.Popen(
        command,
        cwd=str(folder),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        preexec_fn=die_with_parent,
        start_new_session=True,
    )
    until, ended_by = time.monotonic() + limit_s, ""
    with woken() as bell:
        while process.poll() is None:
            if not ended_by and (asked_to_stop or time.monotonic() >= until):
                ended_by = "stopped" if asked_to_stop else "late"
                until = time.monotonic() + GRACE_S
                process.send_signal(signal.SIGINT)
            elif ended_by and time.monotonic() >= until:
                kill_below(process.pid)
                process.kill()
                until = time.monotonic() + GRACE_S
            if select.select([bell], [], [], max(0.0, until - time.monotonic()))[0]:
                os.read(bell, 4096)
    kill_below(os.getpid())  # we are the reaper of whatever it left
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    if not ended_by and process.returncode and asked_to_stop:
        ended_by = "stopped"  # a queue that cancels asks all of a job's processes
    return process.returncode, ended_by


# ---- toll


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    found = hashlib.sha256()
    with Path(path).open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            found.update(block)
    return found.hexdigest()


def unpacked(wheel: Path, expected: str) -> Path:
    """The folder with what the wheel holds. Raises JobEnded where it is not the one that was sent."""
    place = base() / "toll" / expected[:32]
    if not place.is_dir():
        if not wheel.is_file():  # it was there when the host was looked at
            raise JobEnded("failed", "the toll that lay there was not the one that was sent, and is removed")
        if digest(wheel) != expected:
            raise JobEnded("failed", "the wheel of toll arrived otherwise than it was sent: its hash differs")
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{place.name}-", dir=str(place.parent)))
        try:
            with zipfile.ZipFile(str(wheel)) as archive:
                archive.extractall(str(fresh))
            with suppress(OSError):  # another host with the same home was quicker
                fresh.rename(place)
        finally:  # also where the disk is full: nobody else would remove it
            shutil.rmtree(str(fresh), ignore_errors=True)
    return place


def fingerprint(package: Path) -> str:
    """Of what is installed, to be held against the wheel's: docs/fleet.md says how it is made."""
    found = hashlib.sha256()
    names = {path.relative_to(package).as_posix(): path for path in package.rglob("*") if path.is_file()}
    for name in sorted(name for name in names if not _NO_PART.search(name)):
        found.update((name + "\0" + digest(names[name]) + "\n").encode())
    return found.hexdigest()


def doctor(command: Sequence[str], log: list[str]) -> dict[str, Any] | None:
    """What `toll doctor --json --brief` says; None where it does not start."""
    try:
        done = subprocess.run(
            [*command, "doctor", "--json", "--brief"],
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        log.append(str(error))
        return None
    log.append(done.stderr.decode("utf-8", "replace")[-2000:])
    try:
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def toll_of(job: dict[str, Any], folder: Path) -> tuple[list[str], dict[str, Any]]:
    """(command that starts toll, what its doctor says). Raises JobEnded."""
    log: list[str] = []
    if job["toll"]:
        command = [job["toll"]]
        found = doctor(command, log)
        if found is None:
            raise JobEnded("failed", job["toll"] + " does not start: " + last_line(log))
        if found.get("toll", {}).get("sources") != job["sources"]:
            said = str(found.get("toll", {}).get("version", "an older one"))
            raise JobEnded("failed", f"another toll is at {job['toll']} ({said}) than here: {job['version']}")
        return command, found
    if sys.version_info < OLDEST_PYTHON:
        have = platform.python_version()
        raise JobEnded(
            "failed",
            f"Python {have} is too old for toll, which needs 3.11: python = ... names another",
        )
    place = unpacked(folder / job["wheel"], job["sha256"])
    if fingerprint(place / "tollbench") != job["sources"]:
        shutil.rmtree(str(place), ignore_errors=True)
        place = unpacked(folder / job["wheel"], job["sha256"])
    start = str(place / "tollbench" / "__main__.py")
    # Homes are shared by hosts of other processors and Pythons, whose environment is of no use here.
    kind = f"{platform.machine()}-{sys.version_info[0]}.{sys.version_info[1]}"
    own = base() / "python" / f"{job['sha256'][:32]}-{kind}"
    for python in (own / "bin" / "python", Path(sys.executable)):
        if python.exists() and (found := doctor([str(python), "-I", start], log)) is not None:
            return [str(python), "-I", start], found
    command = [str(installed(folder / job["wheel"], own)), "-I", start]
    found = doctor(command, log)
    if found is None:
        raise JobEnded("failed", "toll does not start there: " + last_line(log))
    return command, found


def installed(wheel: Path, own: Path) -> Path:
    """The Python of a new environment with all that toll needs, by the host's own pip. Raises JobEnded."""
    own.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f"{own.name}-", dir=str(own.parent)))
    pip = [str(fresh / "bin" / "python"), "-I", "-m", "pip", "install", "--quiet", "--no-input"]
    try:
        for command in ([sys.executable, "-I", "-m", "venv", str(fresh)], [*pip, str(wheel)]):
            done = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALL_S
            )
            if done.returncode:
                said = last_line([(done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")])
                raise JobEnded("failed", "what toll needs cannot be installed there: " + said)
        if own.exists():  # it did not start toll: its Python was updated, or it was damaged
            own.rename(fresh / "before")
        with suppress(OSError):  # another host with the same home was quicker
            fresh.rename(own)
        shutil.rmtree(str(own / "before"), ignore_errors=True)
    except subprocess.TimeoutExpired:
        raise JobEnded("failed", f"what toll needs was not installed within {INSTALL_S:.0f} s") from None
    finally:
        shutil.rmtree(str(fresh), ignore_errors=True)
    return own / "bin" / "python"


def last_line(texts: Sequence[str]) -> str:
    """The last words, which say why."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("toll: ", "ERROR: "))]
    return (errors or lines or ["it said nothing"])[-1][:500]


# ---- the job


def work(job_file: str) -> None:
    """One job from its lock to its answer."""
    here = Path(job_file).resolve().parent
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    sweep()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop_asked)
    answer = {"identity": job["identity"], "host": job["host"], "started": utc(), "facts": facts()}
    try:
        answer.update(held_and_run(job, here, answer))
    except JobEnded as end:
        answer.update(status=end.status, reason=end.reason)
    except OSError as error:
        answer.update(refused(error))
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile) as error:
        answer.update(status="failed", reason=f"{type(error).__name__}: {error}"[:500])
    answer.setdefault("ended", utc())
    with suppress(OSError):
        (here / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    tell(answer)


def stop_asked(_number: int, _frame: FrameType | None) -> None:
    """Ctrl-C at the controller, an engine that cancels, or a host that shuts down."""
    global asked_to_stop
    asked_to_stop = True


def refused(error: OSError) -> dict[str, Any]:
    """Status and reason for what a disk or a folder said."""
    what = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return {"status": "failed", "reason": f"no space: {what} ({free_mb():.0f} MB free)"}
    return {"status": "failed", "reason": f"{what}: {error.filename or ''}"}


def held_and_run(job: dict[str, Any], here: Path, answer: dict[str, Any]) -> dict[str, Any]:
    """The rest of the answer. Raises JobEnded, OSError."""
    if job["boot_id"] and job["boot_id"] != answer["facts"]["boot_id"]:
        raise JobEnded("refused", "the name led to another machine than a moment ago, or it was restarted")
    until = time.monotonic() + job["wait_s"]  # for all locks: a queue's limit counts it once
    try:
        fleet = taken(FLEET_LOCKS, until, "toll fleet, run " + job["identity"])
    except JobEnded as end:
        if end.status == "busy" and alive(note_of(run_folder(job["identity"]))):
            raise JobEnded("sent", "it still works there, for an earlier start") from None
        raise
    try:
        folder = run_folder(job["identity"])
        before = answer_in(folder)
        if before is not None:  # asked for again, as its answer was lost on the way
            deliver(folder, before, here)
            return before
        if free_mb() < LEAST_FREE_MB:
            raise JobEnded("failed", f"no space: {free_mb():.0f} MB free")
        killed = Path(note_of(folder).get("folder", "") or "/nowhere")  # an attempt's, in the engine's folder
        if killed != here and removable(killed):
            shutil.rmtree(str(killed), ignore_errors=True)
        shutil.rmtree(str(folder), ignore_errors=True)
        folder.mkdir(parents=True)
        shell = os.getppid()  # the engine's script, which waits for us
        note = {
            "pid": os.getpid(),
            "start": start_of(os.getpid()),
            "shell": shell,
            "shell_start": start_of(shell),
            "folder": str(here),
            "at": time.time(),
        }
        write_json(folder / "note.json", note)
        machine = taken(MACHINE_LOCKS, until, "toll fleet, run " + job["identity"])
        try:
            command, found = toll_of(job, here)
        finally:
            for fd in machine:
                os.close(fd)
        answer.update(doctor=found, started=utc())
        answer.update(measured(job, here, folder, command))
        answer["ended"] = utc()
        deliver(folder, answer, here)
        if job["keep"]:  # until it was fetched; where the engine shares its folder, it is there already
            write_json(folder / "answer.json", answer)
        else:
            shutil.rmtree(str(folder), ignore_errors=True)
        return answer
    finally:
        for fd in fleet:
            os.close(fd)


def measured(job: dict[str, Any], here: Path, folder: Path, command: list[str]) -> dict[str, Any]:
    """toll, run: its status, reason, and the name and hash of its result."""
    for name in job["inputs"]:
        shutil.copy(str(here / name), str(folder / name))
    result = str(folder / job["result"])
    words = [result if word == RESULT else word for word in job["words"]]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        for before in job["before"]:
            code, ended_by = run(before, folder, job["limit_s"], out, err)
            if code:
                return ended(code, ended_by, folder, job)
        code, ended_by = run([*command, *words], folder / job["start_in"], job["limit_s"], out, err)
    return ended(code, ended_by, folder, job)


def ended(code: int, ended_by: str, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """What toll's end means for a row."""
    said = last_line([(folder / "err").read_text(encoding="utf-8", errors="replace")[-20000:]])
    result = folder / job["result"]
    join_log(result)
    found = {"exit_code": code, "result": job["result"] if result.is_file() else ""}
    if found["result"]:
        found.update(sha256=digest(result), bytes=result.stat().st_size)
    if ended_by == "late":
        return dict(found, status="late", reason=f"its time limit of {job['limit_s']:g} s is over")
    if ended_by == "stopped":
        return dict(found, status="stopped", reason="it was asked to stop")
    if code < 0:
        return dict(found, status="failed", reason=f"toll was killed by signal {-code}")
    if not found["result"] or code not in job["fine"]:
        full = f"no space: {free_mb():.0f} MB free; " if free_mb() < LEAST_FREE_MB else ""
        return dict(found, status="failed", reason=full + said)
    return dict(found, status="ok", reason="")


def join_log(result: Path) -> None:
    """What a killed toll measured last lies in SQLite's log beside its result, and one file is sent."""
    if not Path(str(result) + "-wal").is_file():
        return
    with suppress(ImportError):
        import sqlite3  # a small Python may lack it: then the log is lost

        with suppress(sqlite3.Error):
            connection = sqlite3.connect(str(result))
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            finally:
                connection.close()


def deliver(folder: Path, answer: dict[str, Any], here: Path) -> None:
    """Puts the result where the engine fetches from; a link where one disk has both."""
    name = answer.get("result", "")
    if not name:
        return
    target = here / name
    with suppress(FileNotFoundError):
        target.unlink()
    try:
        os.link(str(folder / name), str(target))
    except OSError:
        shutil.copyfile(str(folder / name), str(target))


# ---- afterwards


def alive(note: dict[str, Any]) -> bool:
    """Whether the process that wrote the note still is."""
    return bool(note) and start_of(int(note["pid"])) == note["start"] != 0


def note_of(folder: Path) -> dict[str, Any]:
    """What a job wrote at its begin; {} without."""
    return read_json(folder / "note.json") or {}


def read_json(path: Path) -> dict[str, Any] | None:
    """Of a file that a job wrote; None where it is not there, or was cut short."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(path: Path, found: dict[str, Any]) -> None:
    """Whole or not at all: whoever finds half a note takes its job for one of long ago."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(found), encoding="utf-8")
    fresh.replace(path)


def stop(asked: dict[str, Any]) -> dict[str, Any]:
    """SIGTERM to the job, which then ends toll as Ctrl-C does."""
    note = note_of(run_folder(asked["identity"]))
    lives = alive(note)
    if lives:
        os.kill(int(note["pid"]), signal.SIGTERM)
        os.kill(int(note["pid"]), signal.SIGCONT)
    return {"alive": lives}


def state(asked: dict[str, Any]) -> dict[str, Any]:
    """What became of a run."""
    folder = run_folder(asked["identity"])
    note = note_of(folder)
    lives = alive(note)
    was = process_state(int(note["pid"])) if lives else ""
    return {
        "alive": lives,
        "process": was,
        "begun": bool(note),
        "answer": answer_in(folder),
        "facts": facts(),
    }


def give(asked: dict[str, Any]) -> None:
    """The result of a run that ended, behind a line that says how many bytes follow."""
    folder = run_folder(asked["identity"])
    name = (answer_in(folder) or {}).get("result", "")
    content = (folder / name).read_bytes() if name else b""
    sys.stdout.write(f"{GIVEN}{len(content)}\n")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def end(note: dict[str, Any]) -> None:
    """Kills a job that still works, all below it, and the script that waits for it; until it is gone."""
    if not alive(note):
        return
    shell = int(note["shell"])
    if shell > 1 and start_of(shell) == note["shell_start"] != 0 and "rfm_job" in command_of(shell):
        with suppress(OSError):
            os.kill(shell, signal.SIGKILL)
    pid = int(note["pid"])
    with suppress(OSError):
        os.kill(pid, signal.SIGSTOP)  # it starts nothing more
    kill_below(pid)
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 10.0
    while alive(note) and process_state(pid) != "Z" and time.monotonic() < until:
        time.sleep(0.05)


def process_state(pid: int) -> str:
    """One letter: proc(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def answer_in(folder: Path) -> dict[str, Any] | None:
    """Of a job that ended; None without."""
    return read_json(folder / "answer.json")


def remove(asked: dict[str, Any]) -> dict[str, Any]:
    """Ends the run, and removes its folders: its own, the engine's that its note names, and those given.

    What it answers is the state before, and what could not be removed.
    """
    told = state(asked)
    folder = run_folder(asked["identity"])
    note = note_of(folder)
    given = asked["folders"]
    if not asked.get("goes_on"):  # else the folders given are of a job that found another one at work
        end(note)
        given = [note.get("folder", ""), *given]
    gone = [str(path) for path in map(Path, filter(None, given)) if removable(path)]
    gone += [] if asked.get("goes_on") else [str(folder)]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return dict(told, left=[path for path in gone if os.path.lexists(path)])


def removable(path: Path) -> bool:
    """Whether it is a folder that an engine made for us in the temporary folder, and nothing else."""
    try:
        status = path.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return ours and path.is_absolute() and path.name.startswith("rfm.") and ".." not in path.parts


def sweep() -> None:
    """What runs left whose connection was lost: the engine's folders soon, results after a month."""
    with suppress(OSError):
        for folder in list((base() / "runs").iterdir()):
            note, changed = note_of(folder), folder.stat().st_mtime
            age = time.time() - float(note.get("at", changed))  # a job that begins just now has no note yet
            if alive(note):
                continue
            ended_s = time.time() - max(changed, float(note.get("at", 0.0)))
            engine = Path(note.get("folder", "") or "/nowhere")
            if ended_s > SETTLED_S and removable(engine):
                shutil.rmtree(str(engine), ignore_errors=True)
            if age > KEPT_S:
                shutil.rmtree(str(folder), ignore_errors=True)


def look(_asked: dict[str, Any]) -> dict[str, Any]:
    """Facts, after what older runs left is removed."""
    sweep()
    return facts()


ACTIONS = {"look": look, "state": state, "stop": stop, "remove": remove}


def main(action: str, given: str) -> None:
    """One action."""
    if action == "work":
        work(given)
    elif action == "give":
        give(json.loads(given))
    else:
        tell(ACTIONS[action](json.loads(given)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
