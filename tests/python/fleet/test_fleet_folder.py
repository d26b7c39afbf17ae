"""A fleet's run on the disk: what a kill leaves, who holds it, and what a stranger may have written."""

from __future__ import annotations

import os

import pytest

from tollbench.errors import TollError
from tollbench.fleet.fleet_folder import JOURNAL, FleetFolder, FleetRequest, StoredHost
from tollbench.fleet.fleets import HostRow, HostStatus

RUN = "00000000-0000-4000-8000-000000000001"


def request(*names: str) -> FleetRequest:
    hosts = [
        StoredHost(name=name, ssh=name, python="python3", toll="", engine="ssh", access=()) for name in names
    ]
    return FleetRequest(
        run=RUN, kind="run", words=("run",), limit_s=1.0, wait_s=0.0, sources="x", version="1",
        hosts=tuple(hosts),
    )  # fmt: skip


def test_the_last_line_of_a_host_is_its_row(tmp_path):
    folder = FleetFolder.create(tmp_path / "fleet", request("one", "two"))
    folder.set(HostRow(host="one", status=HostStatus.SENT, run=RUN))
    folder.set(HostRow(host="one", status=HostStatus.OK, run=RUN, file="one.toll"))
    folder.close()
    again = FleetFolder.read(tmp_path / "fleet")
    assert [row.status for row in again.found().hosts] == [HostStatus.OK, HostStatus.PLANNED]
    assert [row.host for row in again.found().missing()] == ["two"]


def test_a_line_that_a_kill_cut_is_passed_over_and_removed(tmp_path):
    folder = FleetFolder.create(tmp_path / "fleet", request("one"))
    folder.set(HostRow(host="one", status=HostStatus.SENT, run=RUN))
    folder.close()
    journal = tmp_path / "fleet" / JOURNAL
    with journal.open("ab") as file:
        file.write(b'{"host": "one", "sta')
    assert FleetFolder.read(tmp_path / "fleet").rows["one"].status is HostStatus.SENT
    again = FleetFolder.resume(tmp_path / "fleet")
    again.set(HostRow(host="one", status=HostStatus.OK, run=RUN))
    again.close()
    assert FleetFolder.read(tmp_path / "fleet").rows["one"].status is HostStatus.OK


def test_one_controller_at_a_time_goes_on_with_it(tmp_path):
    folder = FleetFolder.create(tmp_path / "fleet", request("one"))
    with pytest.raises(TollError, match="another toll goes on"):
        FleetFolder.resume(tmp_path / "fleet")
    assert FleetFolder.read(tmp_path / "fleet").request == folder.request
    folder.close()
    FleetFolder.resume(tmp_path / "fleet").close()


def test_another_users_folder_is_shown_and_not_gone_on_with(tmp_path, monkeypatch):
    FleetFolder.create(tmp_path / "fleet", request("one")).close()
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert FleetFolder.read(tmp_path / "fleet").rows
    with pytest.raises(TollError, match="is another user's"):
        FleetFolder.resume(tmp_path / "fleet")


def test_a_folder_that_is_there_is_never_written_to(tmp_path):
    with pytest.raises(TollError, match="is there already"):
        FleetFolder.create(tmp_path, request("one"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        b'{"host": "../up"}\n',
        b'{"host": "three", "status": "splendid"}\n',
        b'{"host": ["one"]}\n',
        b"[1, 2]\n",
        b"\xff\xfe\n",
    ],
)
def test_a_journal_that_is_not_sound_is_a_sentence(tmp_path, line):
    FleetFolder.create(tmp_path / "fleet", request("one")).close()
    with (tmp_path / "fleet" / JOURNAL).open("ab") as file:
        file.write(line)
    with pytest.raises(TollError, match="is not sound"):
        FleetFolder.read(tmp_path / "fleet")


@pytest.mark.parametrize(
    "line",
    [
        b'{"host": "one", "status": "splendid"}\n',
        b'{"host": "one", "file": "/etc/passwd"}\n',
        b'{"host": "one", "machine": "' + b"x" * 3000 + b'"}\n',
    ],
)
def test_an_unsound_line_of_one_host_is_passed_over_and_said(tmp_path, line):
    folder = FleetFolder.create(tmp_path / "fleet", request("one", "two"))
    folder.set(HostRow(host="one", status=HostStatus.SENT, run=RUN))
    folder.close()
    with (tmp_path / "fleet" / JOURNAL).open("ab") as file:
        file.write(line * 2)
    folder = FleetFolder.resume(tmp_path / "fleet")
    folder.set(HostRow(host="two", status=HostStatus.OK, run=RUN, file="two.toll"))
    folder.close()
    one, two = FleetFolder.read(tmp_path / "fleet").found().hosts
    assert (one.status, one.run, one.file) == (HostStatus.SENT, RUN, "")
    assert one.notes == ("a line of the journal on it is not sound, and was passed over",)
    assert (two.status, two.notes) == (HostStatus.OK, ())


def test_a_row_that_could_not_be_read_again_is_not_written(tmp_path):
    folder = FleetFolder.create(tmp_path / "fleet", request("one"))
    row = HostRow(host="one", status=HostStatus.LOST, run=RUN).model_copy(update={"machine": "x" * 3000})
    folder.set(row)
    folder.close()
    (found,) = FleetFolder.read(tmp_path / "fleet").found().hosts
    assert (found.status, found.run, found.machine) == (HostStatus.LOST, RUN, "")
    assert found.reason.startswith("its machine cannot be kept")


def test_a_folder_of_something_else_is_a_sentence(tmp_path):
    for read in (FleetFolder.read, FleetFolder.resume):
        with pytest.raises(TollError, match="no fleet's run"):
            read(tmp_path)
    (tmp_path / JOURNAL).touch()
    with pytest.raises(TollError, match="is empty"):
        FleetFolder.read(tmp_path)
