"""What a host answers and how its row changes, without an engine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
import simulated

from tollbench.cli import fleet_asking, fleet_running
from tollbench.errors import TollError
from tollbench.fleet import queued, reframe_engine, running
from tollbench.fleet.contact import Contact, NoContact
from tollbench.fleet.fleet_folder import JOURNAL, FleetFolder, FleetRequest, StoredHost
from tollbench.fleet.fleets import HostAnswer, HostFacts, HostRow, HostState, HostStatus
from tollbench.fleet.hosts import Host
from tollbench.fleet.looking import Looked
from tollbench.fleet.sending import SentToll
from tollbench.launching.interrupt import Interrupt

RUN = "00000000-0000-4000-8000-00000000000{}"
SENT = SentToll(Path("toll.whl"), "0" * 64, "x", "1")


def stored(name: str, **changes: object) -> StoredHost:
    usual = {"name": name, "ssh": name, "python": "python3", "toll": "", "engine": "ssh", "access": ()}
    return StoredHost.model_validate(usual | changes)


def session(tmp_path: Path, *hosts: StoredHost, kind: str = "run") -> running.FleetSession:
    request = FleetRequest.model_validate(
        {"run": RUN.format(0), "kind": kind, "words": ["run", "{identity}", "x{identity}"], "limit_s": 1.0,
         "wait_s": 0.0, "sources": "x", "version": "1", "hosts": [host.model_dump() for host in hosts]}
    )  # fmt: skip
    folder = FleetFolder.create(tmp_path / "fleet", request)
    return running.FleetSession(folder, Contact(), Interrupt(), lambda _: None)


def result(tmp_path: Path, identity: str, name: str) -> tuple[Path, HostAnswer]:
    """A folder as an engine fetched it, with a sound run file, and the answer that names it."""
    stage = tmp_path / identity
    stage.mkdir(exist_ok=True)
    toll = simulated.write_fake_toll(stage, 0.0, machine_lock="")
    path = stage / f"{name}.toll"
    path.unlink(missing_ok=True)
    subprocess.run([toll, "run", "--output", path, "--identity", identity], check=True, cwd=stage)
    content = path.read_bytes()
    answer = HostAnswer(
        identity=identity, host=name, status=HostStatus.OK, result=path.name, bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )  # fmt: skip
    return stage, answer


def test_hosts_of_one_kind_are_told_their_parts_and_the_level_that_all_parts_need(tmp_path):
    hosts = [stored("one", kind="m7"), stored("two"), stored("three", kind="m7")]
    asking = session(tmp_path, *hosts, kind="compare")
    asking.files = (tmp_path / "commits.bundle",)
    asking._looked |= {host.name: Looked(host.host(), HostFacts()) for host in hosts}
    assert len(asking._placed(hosts[0].host(), SENT).job.words) == 3
    asking.folder.request = asking.folder.request.model_copy(update={"spread": True})
    told = {host.name: asking._placed(host.host(), SENT).job.words[3:] for host in hosts}
    assert told == {
        "one": ("--share", "1/2", "--level", "0.975000"),
        "two": ("--share", "1/1", "--level", "0.950000"),
        "three": ("--share", "2/2", "--level", "0.975000"),
    }


def test_no_two_hosts_results_have_one_name(tmp_path):
    """The second attempt of a host beside another host that is called so."""
    fleet = session(tmp_path, stored("gpu"), stored("gpu-2"))
    files: dict[tuple[str, int], str] = {}
    for host, attempt in (("gpu-2", 1), ("gpu", 2), ("gpu", 1)):
        row = HostRow(host=host, run=RUN.format(len(files) + 1), attempt=attempt)
        stage, answer = result(tmp_path, row.run, host)
        told = fleet._answered(row, answer, stage)
        assert told.status is HostStatus.OK, told.reason
        files[host, attempt] = told.file
        fleet.folder.set(told)
    assert len(set(files.values())) == 3
    assert sorted(path.name for path in (tmp_path / "fleet").glob("*.toll")) == sorted(files.values())
    fleet.folder.close()
    assert FleetFolder.read(tmp_path / "fleet").rows["gpu"].file == files["gpu", 1]


def test_no_hosts_result_is_the_journal(tmp_path):
    fleet = session(tmp_path, stored("fleet"), kind="compare")
    names = {f"fleet{again}.{ending}" for again in ("", "+2") for ending in ("toll", "jsonl")}
    assert JOURNAL not in names
    fleet.folder.close()


def test_an_unsound_result_takes_no_other_ones_place(tmp_path):
    fleet = session(tmp_path, stored("one"))
    row = HostRow(host="one", run=RUN.format(1))
    stage, answer = result(tmp_path, row.run, "one")
    kept = fleet._answered(row, answer, stage)
    before = (tmp_path / "fleet" / kept.file).read_bytes()
    (stage / "one.toll").write_bytes(b"nonsense")
    bad = answer.model_copy(update={"bytes": 8, "sha256": hashlib.sha256(b"nonsense").hexdigest()})
    assert fleet._answered(row, bad, stage).status is HostStatus.REFUSED
    assert (tmp_path / "fleet" / kept.file).read_bytes() == before
    assert sorted(path.name for path in (tmp_path / "fleet").iterdir()) == [JOURNAL, "one.toll"]


def test_all_went_well_without_a_result_is_refused(tmp_path):
    fleet = session(tmp_path, stored("one"))
    row = HostRow(host="one", run=RUN.format(1))
    answer = HostAnswer(identity=row.run, host="one", status=HostStatus.OK)
    told = fleet._answered(row, answer, None)
    assert (told.status, told.file) == (HostStatus.REFUSED, "")
    assert "names no result" in told.reason


def test_secrets_in_a_hosts_words_do_not_reach_the_row(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED_TOKEN", "planted-secret-1")
    fleet = session(tmp_path, stored("one"))
    row = HostRow(host="one", run=RUN.format(1))
    said = "pip: https://me:hidden-word@index/simple planted-secret-1 --api-key=hidden-word"
    answer = HostAnswer(identity=row.run, host="one", status=HostStatus.FAILED, reason=said)
    told = fleet._answered(row, answer, None).reason
    assert "hidden-word" not in told
    assert "planted-secret" not in told
    assert told.startswith("pip: https://")


def test_what_a_host_says_at_length_is_kept_in_part(tmp_path):
    fleet = session(tmp_path, stored("one"))
    machine = {"cpu": "x" * 2000, "cpus": 4, "kernel": "y" * 2000}
    answer = HostAnswer.model_validate(
        {"identity": RUN.format(1), "host": "one", "status": "failed", "doctor": {"machine": machine}}
    )
    row = fleet._answered(HostRow(host="one", run=RUN.format(1)), answer, None)
    fleet.contact = Told(HostState(left=("/tmp/x", *("y" * 2000,) * 5000)))
    fleet.folder.set(fleet.cleaned(Host("one", "one"), row, ["/tmp/" + "z" * 3000]))
    fleet.folder.close()
    (found,) = FleetFolder.read(tmp_path / "fleet").found().hosts
    assert (found.status, found.machine, len(found.left)) == (HostStatus.FAILED, "x" * 2000, 100)


def test_a_queue_gives_a_job_the_time_that_was_asked_for(tmp_path):
    node = stored("n1", ssh="", engine="squeue", access=("--nodelist=n1",))
    fleet = session(tmp_path, node)
    asked = {"limit_s": 3600.0, "wait_s": 60.0, "setup_s": 7200.0}
    fleet.folder.request = fleet.folder.request.model_copy(update=asked)
    fleet._looked["n1"] = Looked(node.host())
    placed = fleet._placed(node.host(), SENT)
    partition = reframe_engine.configuration(tmp_path, {"h0": placed}, ())["systems"][0]["partitions"][0]
    assert partition["time_limit"] == "3h1m0s"
    fleet.folder.close()


def test_one_fleet_is_measured_by_one_toll(tmp_path):
    fleet = session(tmp_path, stored("one"), stored("two"))
    fleet._looked["one"] = Looked(Host("one", "one"), HostFacts())
    assert fleet._placed(Host("one", "one"), SENT).job.sources == "x"
    fleet.folder.close()
    again = running.FleetSession(
        FleetFolder.resume(tmp_path / "fleet"),
        Told(HostFacts(system="Linux", free_mb=1e6)),
        Interrupt(),
        print,
    )
    other = SentToll(Path("toll.whl"), "0" * 64, "another", "2")
    with pytest.raises(TollError, match="were sent another toll"):
        again.run(lambda: other, again.folder.found().missing())
    assert again.folder.rows["one"].sources == "x"
    again.folder.close()


class Told(Contact):
    """Hosts that all answer so."""

    answer: object

    def __init__(self, answer):
        super().__init__()
        object.__setattr__(self, "answer", answer)

    def ask(self, host, action, given, model):
        return self.answer


def test_folders_that_may_be_left_are_not_forgotten_when_a_host_is_asked_again(tmp_path):
    fleet = session(tmp_path, stored("one"))
    before = HostRow(host="one", status=HostStatus.LOST, run=RUN.format(1), left=("/tmp/rfm.x",))
    fleet.folder.set(before)
    fleet._looked["one"] = Looked(Host("one", "one"), HostFacts())
    placed = fleet._placed(Host("one", "one"), SENT)
    assert placed.job.identity == before.run
    assert fleet.folder.rows["one"].left == before.left
    assert placed.job.words == ("run", before.run, "x{identity}")


def test_a_journal_with_half_a_line_in_it_never_comes_about(tmp_path):
    """The disk takes a part of a line, and has room again for the next one."""
    fleet = session(tmp_path, stored("one"), stored("two"))
    journal = fleet.folder.journal
    assert journal is not None

    class Short:
        """Takes half of what it is given, once."""

        full = True

        def write(self, line: bytes) -> int | None:
            assert journal is not None
            taken = journal.write(line[: len(line) // 2] if self.full else line)
            self.full = False
            return taken

        def __getattr__(self, name: str) -> object:
            return getattr(journal, name)

    fleet.folder.journal = Short()  # type: ignore[assignment]
    with pytest.raises(TollError, match="No space left"):
        fleet.folder.set(HostRow(host="one", status=HostStatus.OK, run=RUN.format(1)))
    fleet.folder.set(HostRow(host="two", status=HostStatus.OK, run=RUN.format(2)))
    journal.close()
    rows = FleetFolder.read(tmp_path / "fleet").rows
    assert [rows[name].status for name in ("one", "two")] == [HostStatus.PLANNED, HostStatus.OK]


@pytest.mark.parametrize(
    "changes",
    [
        {"ssh": "-oProxyCommand=touch x"},
        {"python": "python3; touch x"},
        {"toll": "$(touch x)"},
        {"name": "../up"},
        {"engine": "local"},
        {"access": ["--a\n#SBATCH --b"]},
    ],
)
def test_a_journal_of_a_strangers_holds_no_commands(tmp_path, changes):
    fleet = session(tmp_path, stored("one"))
    fleet.folder.close()
    path = tmp_path / "fleet" / JOURNAL
    request = json.loads(path.read_text())
    request["hosts"][0] |= changes
    path.write_text(json.dumps(request) + "\n")
    with pytest.raises(TollError, match="is not sound"):
        FleetFolder.read(tmp_path / "fleet")


def test_where_slurm_does_not_answer_nothing_is_sent_twice(tmp_path, monkeypatch):
    """A job of an earlier start may still wait or work."""
    (tmp_path / "squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm' >&2\nexit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    access = ("--partition=lab", "--nodelist=n1")
    fleet = session(tmp_path, stored("n1", ssh="", engine="squeue", access=access))
    row = HostRow(host="n1", status=HostStatus.SENT, run=RUN.format(1))
    fleet.folder.set(row)
    left = tmp_path / "fleet/engine-1"
    left.mkdir()
    with pytest.raises(TollError, match="Unable to contact"):
        fleet.run(lambda: SENT, [row])
    assert fleet.folder.rows["n1"] == row
    assert left.is_dir()
    (tmp_path / "squeue").write_text(f"#!/bin/sh\necho toll-{row.run}\n")
    assert queued.waiting([row.run, RUN.format(2)]) == {row.run}


def test_a_host_that_measures_is_asked_less_and_less(tmp_path, monkeypatch):
    fleet = session(tmp_path, stored("one"))
    asked: list[float] = []
    now = [0.0]

    def ask(*_: object) -> HostState:
        asked.append(now[0])
        if len(asked) > 8:
            raise NoContact("gone")
        return HostState(alive=True, begun=True, process="S")

    monkeypatch.setattr(Contact, "ask", ask)
    monkeypatch.setattr(time, "sleep", lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    row = fleet._after_the_connection(Host("one", "one"), HostRow(host="one", run=RUN.format(1)))
    assert row.status is HostStatus.LOST
    assert [round(b - a) for a, b in pairwise(asked)][:7] == [3, 6, 12, 24, 48, 60, 60]


@pytest.mark.parametrize(("python", "toll"), [("/opt/py; touch x", ""), ("/opt/py", "a b")])
def test_words_of_the_command_line_are_held_against_the_same_forms(python, toll):
    with pytest.raises(TollError, match="no path that every shell takes"):
        fleet_asking.hosts(None, "lab", python, toll)
    with pytest.raises(TollError, match="begins with ~"):
        fleet_asking.hosts(None, "lab", "~/python3", "")


def test_what_cannot_be_stored_is_a_sentence():
    words = ("compare", "--build", "x" * 200_000)
    asked = fleet_asking.FleetAsked("compare", words, (Host("one", "one"),), None, "1h", "", "20m", "")
    with pytest.raises(TollError, match="cannot be sent to hosts"):
        fleet_running._request(asked)
