"""What a host does with a job, with a toll of its own: once, alone, within its time, and nothing is left."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import simulated
from made_runs import header, launch

from tollbench import home
from tollbench.fleet import on_host
from tollbench.interpreters import interpreter
from tollbench.store import RunFile
from tollbench.words import Purpose

IDENTITY = "00000000-0000-4000-8000-00000000000a"


class OneHost:
    """A host that is a folder; on_host.py is started there as an engine does."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.toll = simulated.write_fake_toll(folder, seconds, machine_lock="")
        self.script = folder / "on_host.py"
        text = Path(on_host.__file__).read_text()
        for name in ("/run/lock/toll", "/tmp/toll"):
            text = text.replace(name, f"{folder}/{name.strip('/').replace('/', '-')}")
        self.script.write_text(text)
        self.numbers = itertools.count()

    def job(self, **changes):
        """A folder with a job, as an engine makes it."""
        place = self.folder / f"rfm.{next(self.numbers)}"
        place.mkdir()
        usual = {
            "identity": IDENTITY, "host": "one", "toll": str(self.toll), "wheel": "", "sha256": "",
            "sources": home.fingerprint(), "version": "1",
            "words": ["run", "--output", "{result}", "--identity", IDENTITY], "before": [],
            "inputs": [], "start_in": "", "result": "result.toll", "fine": [0, 1, 3], "limit_s": 30.0,
            "wait_s": 0.0, "boot_id": "", "keep": True,
        }  # fmt: skip
        (place / "job.json").write_text(json.dumps({**usual, **changes}))
        return place

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            interpreter("-S", str(self.script), *words), cwd="/", text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")},
        )  # fmt: skip

    def answer(self, process):
        told, errors = process.communicate(timeout=60)
        assert told.startswith(on_host.MARK), errors
        return json.loads(told.removeprefix(on_host.MARK))

    def work(self, **changes):
        place = self.job(**changes)
        answer = self.answer(self.start("work", str(place / "job.json")))
        return place, answer

    def ask(self, action, **given):
        return self.answer(self.start(action, json.dumps({"identity": IDENTITY, "folders": [], **given})))

    def begun(self):
        log = self.folder / "log.jsonl"
        return log.read_text().count("begin") if log.exists() else 0

    @contextmanager
    def working(self, **changes):
        """While toll works."""
        place = self.job(**changes)
        process = self.start("work", str(place / "job.json"))
        while not self.begun() and process.poll() is None:
            time.sleep(0.02)
        yield place, process
        process.kill()
        process.communicate()


def test_a_job_that_is_asked_for_twice_is_measured_once(tmp_path):
    host = OneHost(tmp_path, 0.05)
    first, answer = host.work()
    assert (answer["status"], answer["reason"]) == ("ok", "")
    second, again = host.work()
    assert host.begun() == 1
    assert again == answer
    results = [(place / "result.toll").read_bytes() for place in (first, second)]
    assert results[0] == results[1]
    told = host.ask("remove", folders=[str(first), str(second)])
    assert told["left"] == []
    assert not list(tmp_path.glob("rfm.*"))
    assert not list(tmp_path.glob("cache/toll/fleet/runs/*"))


def test_what_is_not_as_it_was_sent_is_a_reason(tmp_path):
    host = OneHost(tmp_path, 0.0)
    wheel = {"toll": "", "wheel": "toll.whl", "sha256": "0" * 64}
    place = host.job(**wheel)
    (place / "toll.whl").write_bytes(b"something else")
    answers = [
        host.answer(host.start("work", str(place / "job.json"))),
        host.work(sources="0" * 64)[1],
        host.work(boot_id="another")[1],
        host.work(toll="/nowhere/toll")[1],
    ]
    assert [answer["status"] for answer in answers] == ["failed", "failed", "refused", "failed"]
    assert "its hash differs" in answers[0]["reason"]
    assert "another toll is at" in answers[1]["reason"]
    assert "another machine" in answers[2]["reason"]
    assert "does not start" in answers[3]["reason"]
    assert host.begun() == 0


def test_its_time_is_limited_and_what_was_measured_is_kept(tmp_path):
    host = OneHost(tmp_path, 60.0)
    place, answer = host.work(limit_s=1.0)
    assert (answer["status"], answer["reason"]) == ("late", "its time limit of 1 s is over")
    assert (place / "result.toll").is_file()


def test_one_run_at_a_time_and_the_other_is_told_who_has_the_host(tmp_path):
    host = OneHost(tmp_path, 60.0)
    with host.working():
        other = IDENTITY.replace("a", "b")
        _, answer = host.work(identity=other)
        assert answer["status"] == "busy"
        assert IDENTITY in answer["reason"]
        assert host.begun() == 1


def test_asked_to_stop_it_ends_toll_and_delivers(tmp_path):
    host = OneHost(tmp_path, 60.0)
    with host.working() as (place, process):
        assert host.ask("stop")["alive"]
        answer = host.answer(process)
        assert answer["status"] == "stopped"
        assert (place / "result.toll").is_file()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_job_that_was_killed_or_halted_leaves_no_process_and_no_folder(tmp_path, number):
    host = OneHost(tmp_path, 60.0)
    with host.working() as (place, process):
        process.send_signal(number)
        told = host.ask("remove", folders=[str(place)])
        assert (told["begun"], told["answer"]) == (True, None)
        assert told["left"] == []
        assert not place.exists()
        process.wait(timeout=20)
    until = time.monotonic() + 20
    while (lives := still_running(host.folder)) and time.monotonic() < until:
        time.sleep(0.05)
    assert lives == []


def test_what_a_killed_attempt_left_goes_when_its_job_is_asked_for_again(tmp_path):
    host = OneHost(tmp_path, 60.0)
    with host.working() as (place, process):
        process.kill()
        process.wait()
    assert place.is_dir()
    again, answer = host.work(limit_s=0.5)
    assert answer["status"] == "late"
    assert not place.exists()
    assert again.is_dir()


def test_nobody_wakes_up_beside_what_is_measured(tmp_path):
    """A job waits for its toll without looking: it is not switched to ten times a second."""
    host = OneHost(tmp_path, 60.0)
    with host.working() as (_, process):
        time.sleep(0.5)  # until it has come to rest
        before = switches(process.pid)
        time.sleep(2.0)
        assert switches(process.pid) - before <= 2


def switches(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def make_wheel(path: Path, main: str) -> dict[str, str]:
    """A wheel whose toll is `main`, and what a job says of it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tollbench/__main__.py", main)
    digest = hashlib.sha256(main.encode()).hexdigest()
    sources = hashlib.sha256(f"__main__.py\0{digest}\n".encode()).hexdigest()
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"toll": "", "wheel": path.name, "sha256": sha256, "sources": sources}


def test_a_wheel_that_a_full_disk_cut_short_leaves_nothing(tmp_path, monkeypatch):
    job = make_wheel(tmp_path / "toll.whl", "pass")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def full(self, path):
        (Path(path) / "half").write_text("half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", full)
    with pytest.raises(OSError, match="No space"):
        on_host.unpacked(tmp_path / "toll.whl", job["sha256"])
    assert list((tmp_path / "cache/toll/fleet/toll").iterdir()) == []


def test_an_environment_that_does_not_start_toll_any_more_is_replaced(tmp_path, monkeypatch):
    """Its Python was updated: the folder is there, and a new one could not take its name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = on_host.base() / "python" / "x"
    (own / "bin").mkdir(parents=True)
    (own / "bin/python").symlink_to("/nowhere/python")

    def run(command, **_):
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir()
            (Path(command[-1]) / "bin/python").write_text("new")
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(subprocess, "run", run)
    assert on_host.installed(tmp_path / "toll.whl", own).read_text() == "new"
    assert [path.name for path in own.parent.iterdir()] == ["x"]
    assert sorted(path.name for path in own.iterdir()) == ["bin"]


def test_what_nobody_foresaw_is_a_reason(tmp_path):
    host = OneHost(tmp_path, 0.0)
    place = host.job(toll="", wheel="toll.whl", sha256=hashlib.sha256(b"no zip").hexdigest())
    (place / "toll.whl").write_bytes(b"no zip")
    answer = host.answer(host.start("work", str(place / "job.json")))
    assert (answer["status"], answer["reason"]) == ("failed", "BadZipFile: File is not a zip file")


def test_braces_in_a_users_command_stay_as_they_are(tmp_path):
    host = OneHost(tmp_path, 0.0)
    words = ["run", "--filter", "{folder}/x{result}", "--output", "{result}", "--identity", IDENTITY]
    place, answer = host.work(words=words)
    assert answer["status"] == "ok"
    with RunFile.open(place / "result.toll") as run_file:
        assert "--filter {folder}/x{result} --output /" in run_file.header().command_line


def still_running(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(folder) in command and "fake_toll" in command:
                found.append(command)
    return found


def test_only_folders_of_engines_and_runs_are_ever_removed(tmp_path):
    host = OneHost(tmp_path, 0.0)
    precious = tmp_path / "precious"
    precious.mkdir()
    link = tmp_path / "rfm.link"
    link.symlink_to(precious)
    told = host.ask("remove", folders=[str(precious), str(link), str(tmp_path / "rfm.0/../precious")])
    assert precious.is_dir()
    assert link.is_symlink()
    assert told["left"] == []


@pytest.mark.parametrize("identity", ["", "../../x", "a" * 100, "/etc"])
def test_an_identity_that_is_a_path_is_none(identity):
    with pytest.raises(ValueError, match="no identity"):
        on_host.run_folder(identity)


def test_what_a_killed_toll_measured_is_in_the_one_file_that_is_sent(tmp_path):
    """Its last launches lie in SQLite's log beside the run file."""
    made, host = tmp_path / "made.toll", tmp_path / "host"
    host.mkdir()
    (host / "err").touch()
    with RunFile.create(made, header()) as run_file:
        run_file.append(launch(None, Purpose.CANARY, 0))
        for end in ("", "-wal"):
            shutil.copyfile(f"{made}{end}", host / f"result.toll{end}")
    job = {"result": "result.toll", "fine": [0], "limit_s": 1.0}
    found = on_host.ended(-9, "", host, job)
    assert sorted(path.name for path in host.iterdir()) == ["err", "result.toll"]
    sent = tmp_path / "sent.toll"
    shutil.copyfile(host / "result.toll", sent)
    assert found["sha256"] == hashlib.sha256(sent.read_bytes()).hexdigest()
    with RunFile.open(sent) as run_file:
        assert run_file.launch_count() == 1


@pytest.mark.parametrize("note", ["", "{"])
def test_a_job_that_begins_just_now_is_not_swept_away(tmp_path, monkeypatch, note):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = on_host.run_folder(IDENTITY)
    folder.mkdir(parents=True)
    if note:
        (folder / "note.json").write_text(note)
    on_host.sweep()
    assert folder.is_dir()
    long_ago = time.time() - on_host.KEPT_S - 60.0
    os.utime(folder, (long_ago, long_ago))
    on_host.sweep()
    assert not folder.exists()


def test_a_job_waits_for_all_locks_together_as_long_as_it_was_told(tmp_path, monkeypatch):
    until = []

    def end(*_):
        raise on_host.JobEnded("failed", "here")

    def taken(_names, end, _command):
        until.append(end)
        return []

    monkeypatch.setattr(on_host, "taken", taken)
    monkeypatch.setattr(on_host, "toll_of", end)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    job, before = {"boot_id": "", "wait_s": 60.0, "identity": IDENTITY}, time.monotonic()
    with pytest.raises(on_host.JobEnded, match="here"):
        on_host.held_and_run(job, tmp_path, {"facts": on_host.facts()})
    assert len(until) == 2
    assert until[0] == until[1] >= before + 60.0


def test_a_host_without_room_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(on_host, "free_mb", lambda: 1.0)
    monkeypatch.setattr(on_host, "FLEET_LOCKS", ())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    job = {"boot_id": "", "wait_s": 0.0, "identity": IDENTITY}
    with pytest.raises(on_host.JobEnded, match="no space: 1 MB free"):
        on_host.held_and_run(job, tmp_path, {"facts": on_host.facts()})
