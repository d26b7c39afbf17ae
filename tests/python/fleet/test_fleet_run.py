"""`toll fleet` through ReFrame, with stand-ins of ssh: rows, what is left, what is asked again."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_hosts import RUN, FakeHosts
from jsonschema import Draft202012Validator

from checkouts import ROOT
from tollbench.cli import fleet_asking, fleet_running
from tollbench.cli.run import Profile
from tollbench.errors import TollError
from tollbench.fleet import reframe_engine, running
from tollbench.fleet.fleet_folder import FleetFolder
from tollbench.fleet.fleets import HostRow
from tollbench.store import RunFile

HOSTS = ("one", "two", "unknown", "gone", "locked", "failing", "lying", "evil")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Hosts of which some do not answer, one fails at its work, and one sends nonsense; measured once."""
    hosts = FakeHosts(tmp_path_factory.mktemp("fleet"), HOSTS)
    file = hosts.write(failing=hosts.failing(), lying=hosts.lying())
    for name in ("gone.down", "locked.refuses", "evil.evil"):
        (hosts.folder / "hosts" / name).touch()
    shutil.rmtree(hosts.folder / "hosts/unknown")
    secret = {"PLANTED_TOKEN": "planted-secret-1", "SSHPASS": "planted-secret-2"}
    done = hosts.toll(*RUN, "--hosts", str(file), "--output", "first", "--json", **secret)
    assert done.stdout, done.stderr
    return hosts, done, {row["host"]: row for row in json.loads(done.stdout)["hosts"]}


def test_each_host_is_a_row_with_its_result_or_its_reason(mixed):
    hosts, done, rows = mixed
    assert done.returncode == 3, done.stderr
    assert {name: row["status"] for name, row in rows.items()} == {
        "one": "ok", "two": "ok", "unknown": "unreachable", "gone": "unreachable", "locked": "unreachable",
        "failing": "failed", "lying": "refused", "evil": "lost",
    }  # fmt: skip
    assert "Could not resolve hostname unknown" in rows["unknown"]["reason"]
    assert "No route to host" in rows["gone"]["reason"]
    assert "Permission denied (publickey)" in rows["locked"]["reason"]
    assert rows["failing"]["reason"] == "toll: it cannot be built here"
    assert "is not a run file" in rows["lying"]["reason"]
    assert not rows["lying"]["file"]
    for name in ("one", "two"):
        with RunFile.open(hosts.folder / "work/runs/first" / rows[name]["file"]) as run_file:
            assert run_file.header().uuid == rows[name]["run"]
        assert rows[name]["noise"] == [{"name": "load", "value": "a test"}]
        assert rows[name]["started"] <= rows[name]["ended"]


def test_what_a_host_answers_is_no_command_here(mixed):
    """The engine puts the folder's name that a host answers into a command of a shell."""
    hosts, _, rows = mixed
    assert not (hosts.folder / "hosts/pwned").exists()
    assert rows["evil"]["reason"] == "the connection ended before its job began"


def test_a_sound_run_file_of_another_run_is_refused(mixed):
    hosts, _, rows = mixed
    folder = hosts.folder / "work/runs/first"
    request, file = FleetFolder.read(folder).request, folder / rows["one"]["file"]
    one, two = (HostRow.model_validate(rows[name]) for name in ("one", "two"))
    running.check_result(request, file, one)
    with pytest.raises(TollError, match="of another run"):
        running.check_result(request, file, two)


def test_what_is_printed_follows_its_schema(mixed):
    _, done, _ = mixed
    schema = json.loads((ROOT / "schemas/fleet.schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(done.stdout))


def test_nothing_is_left_on_hosts_and_none_of_the_users_secrets_goes_anywhere(mixed):
    hosts, done, _ = mixed
    assert hosts.left() == []
    planted = b"planted-secret"
    files = [path for path in hosts.folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if planted in path.read_bytes()] == []
    assert "planted-secret" not in done.stdout + done.stderr


def test_resume_asks_only_for_what_is_missing(mixed):
    hosts, _, before = mixed
    (hosts.folder / "hosts/gone.down").unlink()
    begun = len(hosts.begun())
    after = hosts.rows("run", "--resume", "first")
    assert len(hosts.begun()) == begun + 1
    assert after["gone"]["status"] == "ok"
    for name in ("one", "two"):
        assert after[name] == before[name]
    assert [after[name]["attempt"] for name in ("gone", "failing")] == [1, 2]
    assert after["failing"]["run"] != before["failing"]["run"]


@pytest.mark.slow  # it waits for hosts to end
def test_ctrl_c_stops_all_hosts_and_keeps_what_has_arrived(tmp_path):
    hosts = FakeHosts(tmp_path, ("one", "two"))
    file = hosts.write(60.0)
    process = subprocess.Popen(
        hosts.command(*RUN, "--hosts", str(file), "--output", "cut", "--json"), cwd=tmp_path / "work",
        env=hosts.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while len(hosts.begun()) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    rows = json.loads(told)["hosts"]
    assert [row["status"] for row in rows] == ["stopped", "stopped"]
    assert all((tmp_path / "work/runs/cut" / row["file"]).is_file() for row in rows)
    assert hosts.left() == []


@pytest.mark.slow  # it waits for what goes on there
def test_a_killed_controller_loses_nothing_and_nothing_is_measured_twice(tmp_path):
    hosts = FakeHosts(tmp_path, ("one", "two"))
    file = hosts.write(15.0)  # of 6 s, one had ended on a busy machine before it was asked
    process = subprocess.Popen(
        hosts.command(*RUN, "--hosts", str(file), "--output", "killed"), cwd=tmp_path / "work",
        env=hosts.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while len(hosts.begun()) < 2 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.wait()
    rows = hosts.rows("fetch", "killed")
    assert {row["status"] for row in rows.values()} == {"sent"}
    done = hosts.toll("run", "--resume", "killed", "--json")
    assert done.returncode in (0, 3), done.stderr
    while [row for row in hosts.rows("fetch", "killed").values() if row["status"] in ("sent", "busy")]:
        time.sleep(0.2)
    rows = hosts.rows("status", "killed")
    assert {row["status"] for row in rows.values()} == {"ok"}, rows
    assert sorted(hosts.begun()) == sorted(row["run"] for row in rows.values())
    assert hosts.left() == []


@pytest.mark.slow  # one waits for the other
def test_two_controllers_never_measure_one_host_at_the_same_time(tmp_path):
    hosts = FakeHosts(tmp_path, ("one", "two"))
    file = hosts.write(2.0)
    both = [
        subprocess.Popen(
            hosts.command(*RUN, "--hosts", str(file), "--output", name, "--wait", "5m", "--json"),
            cwd=tmp_path / "work", env=hosts.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]  # fmt: skip
    rows = [row for process in both for row in json.loads(process.communicate(timeout=250)[0])["hosts"]]
    assert [row["status"] for row in rows] == ["ok"] * 4, rows
    moments = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    at = {(what, identity): moment for what, _, identity, moment in moments}
    for name in hosts.names:
        first, second = sorted(
            (at["begin", row["run"]], at["end", row["run"]]) for row in rows if row["host"] == name
        )
        assert first[1] <= second[0]


USAGE: list[tuple[Callable[[Path], object], str]] = [
    (lambda _: fleet_asking.hosts(None, "", "python3", ""), "either the hosts of a file or the nodes"),
    (lambda file: fleet_asking.hosts(file, "lab", "python3", ""), "either the hosts of a file or the nodes"),
    (lambda file: fleet_asking.hosts(file, "", "python3", "/toll"), "are for --slurm"),
    (lambda _: fleet_asking.run_words(["no/such"], Profile.QUICK, None, None, "", "", None), "no/such"),
    (lambda _: asked(limit="soon").limit_s, "not a length of time"),
    (lambda file: fleet_running.told(str(file.parent / "nothing"), as_json=False), "no fleet's run"),
    (lambda file: fleet_running.fetched(str(file.parent / "nothing"), as_json=False), "no fleet's run"),
    (lambda _: fleet_asking.compare_words(["HEAD"], "make", "b", {}, 0.01, "", "auto", 0), "two revisions"),
    (lambda _: fleet_asking.compare_words(["a", "b"], "", "b", {}, 0.01, "", "auto", 0), "needs --build"),
    (
        lambda _: fleet_asking.compare_words(["no-such", "b"], "m", "b", {}, 0.01, "", "auto", 0),
        "names no commit",
    ),
    (
        lambda _: fleet_asking.compare_words(["a", "b"], "m", "b", {}, 0.01, "", "auto", 1),
        "number of layouts",
    ),
    (
        lambda _: fleet_asking.run_words(["latency/wakeup"], Profile.QUICK, None, None, "", "", 2),
        "--layouts 2 is neither",
    ),
    (lambda _: fleet_asking.refuse_new_plan("folder", "run", ["--limit"]), "takes no new ones"),
]


def asked(limit: str) -> fleet_asking.FleetAsked:
    return fleet_asking.FleetAsked("run", (), (), None, limit, "", "20m", "")


@pytest.mark.parametrize(("ask", "said"), USAGE)
def test_wrong_usage_is_a_sentence(tmp_path, ask, said):
    file = tmp_path / "lab.toml"
    file.write_text("[hosts.one]\n")
    with pytest.raises(TollError, match=said) as caught:
        ask(file)
    assert caught.value.code == 2
    assert caught.value.next_step


def test_layouts_are_asked_of_every_host_and_drawn_there(tmp_path, monkeypatch):
    """With one seed for all hosts, what its layouts do to a change would pass for the change."""
    monkeypatch.chdir(tmp_path)
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], check=True)
    terms = (["HEAD", "HEAD"], "make", "./b", {"--budget": "9s"}, 0.01, "", "auto")
    asked, _ = fleet_asking.compare_words(*terms, 16)
    assert asked[asked.index("--layouts") + 1] == "16"
    assert "--seed" not in asked
    assert "--layouts" not in fleet_asking.compare_words(*terms, 0)[0]
    price_list = (["latency/wakeup"], Profile.QUICK, None, None, "", "")
    asked = fleet_asking.run_words(*price_list, 1)
    assert asked[asked.index("--layouts") + 1] == "1"
    assert "--layouts" not in fleet_asking.run_words(*price_list, None)


def test_without_reframe_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(TollError, match="ReFrame, which is not installed") as caught:
        reframe_engine.check_installed()
    assert "pip install" in caught.value.next_step
