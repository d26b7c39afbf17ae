"""A lake in object storage, against a local server that speaks S3."""

from __future__ import annotations

import io
import json
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import obstore
import pytest
from made_lakes import added, run, run_id, started
from moto.server import ThreadedMotoServer
from obstore.store import LocalStore

from tollbench.errors import TollError
from tollbench.interpreters import interpreter
from tollbench.lake import compacting, leases, object_lake, object_store
from tollbench.lake.across_machines import across_machines
from tollbench.lake.held_runs import held_runs
from tollbench.lake.lake_folder import Added, LakeFolder
from tollbench.lake.lake_rows import Asked
from tollbench.lake.lake_schema import TABLES, VERSION
from tollbench.lake.lakes import FolderLake, lake_made_at
from tollbench.lake.object_lake import ObjectLake
from tollbench.lake.object_store import Changed, Held, ObjectStore
from tollbench.lake.opened_lake import OpenedLake

MAIN = Path(__file__).resolve().parents[3] / "python/tollbench/__main__.py"
BUCKET = "lakes"
SECRET = "planted-secret-of-a-bucket"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


def environment(endpoint: str, folder: Path) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


@pytest.fixture
def client(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    for name, value in environment(endpoint, tmp_path).items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    yield client
    for key in keys(client):
        client.delete_object(Bucket=BUCKET, Key=key)


@pytest.fixture
def lake(client: Any) -> ObjectLake:
    return ObjectLake.make(f"s3://{BUCKET}/lab")


def keys(client: Any) -> list[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    return [each["Key"] for page in pages for each in page.get("Contents", ())]


def ask(lake: ObjectLake | FolderLake) -> dict[str, Any]:
    found = {}
    tables = ("summary", "run")
    with lake.reading(tables) as folder, OpenedLake(folder, tables) as opened:
        found["machines"] = across_machines(opened, Asked.of("tasks/made/one")).model_dump()
        found["runs"] = held_runs(opened).model_dump()
        assert not opened.notes
    return found


def made(folder: Path, number: int, **changes: Any) -> Path:
    return run(folder, number, {"one": 100.0, "two": 120.0 + number}, **changes)


def test_it_answers_what_a_folder_answers_also_once_it_was_compacted(
    lake: ObjectLake, client: Any, tmp_path: Path
) -> None:
    folder = FolderLake(LakeFolder.make(tmp_path / "lake"))
    for number in range(1, 6):
        path = made(tmp_path, number, **started(number % 2 + 1))
        assert added(lake, path) is added(folder, path) is Added.ADDED
    expected = ask(folder)
    assert ask(lake) == expected
    assert len(expected["runs"]["runs"]) == 5
    there = {key.removeprefix("lab/") for key in keys(client)}
    assert there == {str(each.relative_to(tmp_path / "lake")) for each in files(tmp_path / "lake")}
    done = lake.compact()
    assert (done.runs, done.files_after) == (5, 2 * (len(TABLES) - 1))
    assert ask(lake) == expected
    assert ask(ObjectLake.open(lake.called)) == expected
    assert not [key for key in keys(client) if run_id(1) in key and key.endswith(".parquet")]
    assert added(lake, made(tmp_path, 6)) is Added.ADDED
    assert len(ask(lake)["runs"]["runs"]) == 6


def toll(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(interpreter(str(MAIN), *arguments), capture_output=True, text=True, check=False)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_here_is_not_fetched_again_and_what_changed_is(
    lake: ObjectLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        added(lake, made(tmp_path, number))
    fetched: list[str] = []
    copy = ObjectStore.copy

    def counted(self: ObjectStore, held: Held, sink: Any) -> None:
        fetched.append(held.key)
        copy(self, held, sink)

    monkeypatch.setattr(ObjectStore, "copy", counted)
    ask(lake)
    assert len(fetched) == 4
    fetched.clear()
    first = ask(lake)
    assert not fetched
    (held,) = (tmp_path / "cache/toll/lakes").iterdir()
    one, other = sorted(held.glob("lake/summary/*/*/*"))
    one.write_bytes(b"short")  # as a full disk leaves it
    other.unlink()
    assert ask(lake) == first
    assert len(fetched) == 2


def test_a_large_object_comes_in_pieces_of_one_state(
    client: Any, lake: ObjectLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "_PIECE_BYTES", 1000)
    content = random.Random(1).randbytes(4321)
    client.put_object(Bucket=BUCKET, Key="lab/large", Body=content)
    store = ObjectStore(lake.called)
    held = store.held("large")
    assert held is not None
    sink = io.BytesIO()
    store.copy(held, sink)
    assert sink.getvalue() == content
    client.put_object(Bucket=BUCKET, Key="lab/large", Body=content[::-1])
    with pytest.raises(Changed):
        store.copy(held, sink)
    client.delete_object(Bucket=BUCKET, Key="lab/large")
    with pytest.raises(Changed):
        store.copy(held, sink)


def test_a_run_of_which_more_is_known_takes_its_place(lake: ObjectLake, tmp_path: Path) -> None:
    path = made(tmp_path, 1, finished_utc=None)
    assert added(lake, path) is Added.ADDED
    assert added(lake, path) is Added.ALREADY
    path.unlink()
    assert added(lake, made(tmp_path, 1)) is Added.GROWN
    assert len(ask(lake)["runs"]["runs"]) == 1
    assert lake.compact().runs == 1


def test_what_an_older_toll_added_goes_when_the_run_grows(
    lake: ObjectLake, client: Any, tmp_path: Path
) -> None:
    path = made(tmp_path, 1, finished_utc=None)
    added(lake, path)
    older = set()
    for key in keys(client):
        if key.endswith(f".v{VERSION}.parquet"):
            renamed = key.replace(f".v{VERSION}.", f".v{VERSION - 1}.")
            client.copy_object(Bucket=BUCKET, Key=renamed, CopySource={"Bucket": BUCKET, "Key": key})
            older.add(renamed)
            client.delete_object(Bucket=BUCKET, Key=key)
    assert older
    path.unlink()
    assert added(lake, made(tmp_path, 1)) is Added.GROWN
    assert not older & set(keys(client))
    assert len(ask(lake)["runs"]["runs"]) == 1


def test_many_who_add_at_once_add_each_run_once(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_LOOKED_S", 0.05)
    paths = [made(tmp_path, number) for number in (1, 2, 3)]
    found: list[Added] = []

    def add(path: Path) -> None:
        found.append(added(ObjectLake.open(lake.called), path))

    threads = [threading.Thread(target=add, args=(path,)) for path in paths * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [Added.ADDED] * 3 + [Added.ALREADY] * 6
    assert len(ask(lake)["runs"]["runs"]) == 3
    assert not [key for key in keys(client) if key.endswith(".lock")]


def test_what_questions_read_is_put_together_once_there_are_many(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "MOST_LOOSE", 3)
    for number in range(1, 4):
        added(lake, made(tmp_path, number))
    assert lake.tidy() == 0
    added(lake, made(tmp_path, 4))
    before = ask(lake)
    client.put_object(Bucket=BUCKET, Key="lab/compacting.lock", Body=b"another toll")
    assert lake.tidy() == 0  # it is at it
    client.delete_object(Bucket=BUCKET, Key="lab/compacting.lock")
    assert lake.tidy() == 4
    assert ask(lake) == before
    assert len([key for key in keys(client) if key.startswith("lab/summary/")]) == 1
    assert len([key for key in keys(client) if key.startswith("lab/launch/")]) == 4


def test_a_killed_tolls_lease_is_taken_over_once_it_does_not_change(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_LOOKED_S", 0.05)
    monkeypatch.setattr(leases, "LEASE_S", 1.0)
    monkeypatch.setattr(leases, "REQUEST_S", 0.1)
    client.put_object(Bucket=BUCKET, Key=f"lab/runs/{run_id(1)}.lock", Body=b"of a killed toll")
    said: list[str] = []
    path = made(tmp_path, 1)
    assert added(ObjectLake.open(lake.called, said.append), path) is Added.ADDED
    assert said == [f"another toll is at work in {lake.called}: waiting for it"]
    assert f"lab/runs/{run_id(1)}.lock" not in keys(client)


def test_a_lease_that_is_renewed_is_not_taken_over(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in {"_LOOKED_S": 0.02, "LEASE_S": 0.6, "RENEWED_S": 0.05, "REQUEST_S": 0.1}.items():
        monkeypatch.setattr(leases, name, seconds)
    store, order = ObjectStore(lake.called), []
    waiting = threading.Event()

    def second() -> None:
        with leases.lease(store, "one.lock", wait=True, on_wait=lambda _: waiting.set()):
            order.append("second")

    thread = threading.Thread(target=second)
    with leases.lease(store, "one.lock", wait=True, on_wait=lambda _: None) as held:
        thread.start()
        assert waiting.wait(10)
        thread.join(1.5)  # longer than a lease is good for
        order.append("first")
        held.check()
    thread.join()
    assert order == ["first", "second"]


def test_a_renewal_of_which_nobody_could_say_whether_it_was_done_keeps_the_lease(
    lake: ObjectLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWED_S", 0.05)
    put, head, cut = obstore.put, obstore.head, threading.Event()

    def done_and_not_told(store: Any, key: str, *rest: Any, **options: Any) -> Any:
        done = put(store, key, *rest, **options)
        if not cut.is_set():
            cut.set()
            monkeypatch.setattr(obstore, "head", unreachable)
            raise obstore.exceptions.GenericError("the answer was lost")
        return done

    def unreachable(*_: Any) -> Any:
        monkeypatch.setattr(obstore, "head", head)
        raise obstore.exceptions.GenericError("the network is away")

    store = ObjectStore(lake.called)
    with leases.lease(store, "one.lock", wait=True, on_wait=lambda _: None) as held:
        monkeypatch.setattr(obstore, "put", done_and_not_told)
        assert cut.wait(10)
        threading.Event().wait(0.5)  # several renewals
        held.check()
    assert store.held("one.lock") is None


def test_who_lost_its_lease_writes_nothing_more(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWED_S", 0.02)
    path, put_table = made(tmp_path, 1), ObjectLake._put_table

    def while_another_takes_over(self: ObjectLake, key: str, path: Path, over: Held | None) -> None:
        put_table(self, key, path, over)
        client.put_object(Bucket=BUCKET, Key=f"lab/runs/{run_id(1)}.lock", Body=b"mine")
        threading.Event().wait(0.5)

    monkeypatch.setattr(ObjectLake, "_put_table", while_another_takes_over)
    with pytest.raises(TollError, match="another toll may go on with it"):
        added(lake, path)
    there = keys(client)
    assert claim(client, 1)["coming"] is True
    assert f"lab/runs/{run_id(1)}.lock" in there  # the other's
    assert len([key for key in there if key.endswith(".parquet")]) == 1


def test_a_stalled_toll_puts_no_older_table_over_a_newer_one(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped once it has looked at its lease; another one takes that over meanwhile, with more."""
    older = made(tmp_path, 1, finished_utc=None)
    older.rename(tmp_path / "older.toll")
    newer, check = made(tmp_path, 1), leases.Lease.check

    def stops(self: leases.Lease) -> None:
        check(self)
        monkeypatch.setattr(leases.Lease, "check", check)
        client.delete_object(Bucket=BUCKET, Key=f"lab/runs/{run_id(1)}.lock")  # it was taken over, and ended
        assert added(ObjectLake.open(lake.called), newer) is Added.ADDED

    monkeypatch.setattr(leases.Lease, "check", stops)
    with pytest.raises(TollError, match="another toll added the same run"):
        added(lake, tmp_path / "older.toll")
    told = json.loads(client.get_object(Bucket=BUCKET, Key=f"lab/runs/{run_id(1)}.json")["Body"].read())
    assert told["finished"] is True
    with lake.reading(("run",)) as folder, OpenedLake(folder, ("run",)) as opened:
        (row,) = opened.ask("SELECT finished_utc FROM run").to_pylist()
    assert row["finished_utc"] is not None  # the newer one's


def claim(client: Any, number: int) -> Any:
    return json.loads(client.get_object(Bucket=BUCKET, Key=f"lab/runs/{run_id(number)}.json")["Body"].read())


@pytest.mark.parametrize("at", [2, 4, 10])  # a table, another one, the claim
def test_what_failed_in_the_middle_leaves_no_run(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The network goes for good: nothing can be looked up or removed either, and nothing is there in half.

    Who adds it as another host's then finds what is left, and leaves no second machine.
    """
    path, put, count = made(tmp_path, 1), obstore.put, 0

    def fails(store: Any, key: str, *rest: Any, **options: Any) -> Any:
        nonlocal count
        count += not key.endswith("lock")
        if count <= at - 1:
            return put(store, key, *rest, **options)
        raise obstore.exceptions.GenericError("the network went away")

    monkeypatch.setattr(obstore, "put", fails)
    with pytest.raises(TollError, match="the network went away"):
        added(lake, path, host="wrong")
    monkeypatch.undo()
    for name, value in environment(client.meta.endpoint_url, tmp_path).items():
        monkeypatch.setenv(name, value)
    wrong = claim(client, 1)
    assert wrong["coming"] is True
    assert added(lake, path, host="right") is Added.ADDED
    assert claim(client, 1)["machine"] != wrong["machine"]
    assert [key for key in keys(client) if wrong["machine"] in key] == []
    assert len(ask(lake)["runs"]["runs"]) == 1


ANSWERS: dict[str, type[BaseException]] = {
    "lost": obstore.exceptions.GenericError,
    "of a second try": obstore.exceptions.PreconditionError,
    "cut by Ctrl-C": KeyboardInterrupt,
}


@pytest.mark.parametrize("answer", sorted(ANSWERS))
@pytest.mark.parametrize("what", ["claim", "manifest"])
def test_a_write_that_was_done_counts_whatever_became_of_its_answer(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, what: str
) -> None:
    for number in (1, 2):
        added(lake, made(tmp_path, number))
    put, name = obstore.put, f"runs/{run_id(3)}.json" if what == "claim" else "compacted.json"

    def done_and_not_told(store: Any, key: str, *rest: Any, **options: Any) -> Any:
        done = put(store, key, *rest, **options)
        if key == name and b'"coming"' not in rest[0]:
            raise ANSWERS[answer](answer)
        return done

    monkeypatch.setattr(obstore, "put", done_and_not_told)
    third = made(tmp_path, 3)
    with suppress(KeyboardInterrupt):
        added(lake, third) if what == "claim" else lake.compact()
    monkeypatch.setattr(obstore, "put", put)
    runs = 3 if what == "claim" else 2
    for _ in range(2):
        assert len(ask(lake)["runs"]["runs"]) == runs
        for key in keys(client):
            if key.endswith(".lock"):  # of Ctrl-C
                client.delete_object(Bucket=BUCKET, Key=key)
        lake.compact()
    assert added(lake, third) is (Added.ALREADY if what == "claim" else Added.ADDED)


def test_a_table_that_another_toll_put_there_is_neither_ours_nor_removed(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came behind our look, and is larger than what is read back."""
    put_table, other = ObjectLake._put_table, b"x" * (3 << 20)

    def behind_another(self: ObjectLake, key: str, path: Path, over: Held | None) -> None:
        if key.startswith("launch/"):
            client.put_object(Bucket=BUCKET, Key=f"lab/{key}", Body=other)
        put_table(self, key, path, over)

    monkeypatch.setattr(ObjectLake, "_put_table", behind_another)
    with pytest.raises(TollError, match="another toll added the same run"):
        added(lake, made(tmp_path, 1))
    (key,) = (key for key in keys(client) if key.startswith("lab/launch/"))
    assert client.get_object(Bucket=BUCKET, Key=key)["Body"].read() == other


def test_a_reader_keeps_what_it_began_with_whatever_others_fetch_beside_it(
    lake: ObjectLake, tmp_path: Path
) -> None:
    for number in range(1, 4):
        added(lake, made(tmp_path, number))
    with lake.reading(("summary",)) as folder:
        lake.compact()  # as another machine does
        with lake.reading(("run",)), OpenedLake(folder, ("summary",)) as opened:
            assert len(across_machines(opened, Asked.of("tasks/made/one")).rows) == 3
            assert opened.notes == []


def test_a_damaged_copy_is_fetched_again_and_a_damaged_object_is_named(
    lake: ObjectLake, client: Any, tmp_path: Path
) -> None:
    for number in (1, 2):
        added(lake, made(tmp_path, number))
    expected = ask(lake)
    (held,) = (tmp_path / "cache/toll/lakes").iterdir()
    for path in held.glob("lake/summary/*/*/*"):
        path.write_bytes(b"x" * path.stat().st_size)
    assert ask(lake) == expected
    key = next(key for key in keys(client) if key.startswith("lab/summary/"))
    client.put_object(Bucket=BUCKET, Key=key, Body=b"x" * 5000)
    with lake.reading(("summary",)) as folder, OpenedLake(folder, ("summary",)) as opened:
        assert len(across_machines(opened, Asked.of("tasks/made/one")).rows) == 1
        assert opened.notes == [f"s3://{BUCKET}/{key} is half-written, and left out: add its run again"]
    with pytest.raises(TollError, match=f"^s3://{BUCKET}/{key} is not what toll writes"):
        lake.compact()


def test_a_manifest_that_changed_meanwhile_is_not_written_over(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        added(lake, made(tmp_path, number))
    expected = ask(lake)
    real = compacting.compact
    other = json.dumps({"files": {}, "runs": [], "brief": []})

    def while_another_does(folder: LakeFolder, *rest: Any) -> Any:
        client.put_object(Bucket=BUCKET, Key="lab/compacted.json", Body=other.encode())
        return real(folder, *rest)

    monkeypatch.setattr(compacting, "compact", while_another_does)
    with pytest.raises(TollError, match="compacted s3://lakes/lab at the same time"):
        lake.compact()
    assert ask(lake) == expected  # what was put there does not count, and goes with the next compaction
    lake.compact()
    assert len([key for key in keys(client) if key.startswith("lab/summary/")]) == 1
    assert ask(lake) == expected


def test_compaction_fetches_no_month_that_has_nothing_to_put_together(
    lake: ObjectLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(lake, made(tmp_path, 1, **started(1)))
    lake.compact()
    added(lake, made(tmp_path, 2, **started(2)))
    added(lake, made(tmp_path, 3, **started(3) | {"finished_utc": None}))
    shutil.rmtree(lake._cache)
    fetched, copy = set(), ObjectStore.copy

    def counted(self: ObjectStore, held: Held, sink: Any) -> None:
        fetched.add(held.key.split("/")[2])
        copy(self, held, sink)

    monkeypatch.setattr(ObjectStore, "copy", counted)
    assert lake.compact().runs == 1
    assert fetched == {"by_month=2026-02"}
    monkeypatch.setattr(ObjectStore, "copy", copy)
    assert len(ask(lake)["runs"]["runs"]) == 3


def test_what_a_killed_compaction_left_is_not_read_and_goes(
    lake: ObjectLake, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        added(lake, made(tmp_path, number))
    expected = ask(lake)
    with monkeypatch.context() as killed:
        killed.setattr(ObjectStore, "delete", lambda *_: None)  # before it removed anything
        lake.compact()
    client.delete_object(Bucket=BUCKET, Key="lab/compacting.lock")
    client.put_object(
        Bucket=BUCKET,
        Key=f"lab/summary/by_machine=all/by_month=2026-01/compacted-{'0' * 16}.v{VERSION}.parquet",
        Body=b"half",
    )
    assert len([key for key in keys(client) if key.startswith("lab/summary/")]) > 2
    assert ask(lake) == expected
    lake.compact()
    assert len([key for key in keys(client) if key.startswith("lab/summary/")]) == 1
    assert ask(lake) == expected


def test_a_strangers_objects_do_not_leave_the_copy(lake: ObjectLake, client: Any, tmp_path: Path) -> None:
    added(lake, made(tmp_path, 1))
    for name in ("by_machine=x/by_month=2026-01/x.v1.parquet", "x.parquet", "by_machine=all/a/b/c.parquet"):
        client.put_object(Bucket=BUCKET, Key=f"lab/summary/{name}", Body=b"stranger")
    before = {path for path in tmp_path.rglob("*") if "cache" not in path.parts}
    ask(lake)
    assert {path for path in tmp_path.rglob("*") if "cache" not in path.parts} == before
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"stranger"]
    client.put_object(Bucket=BUCKET, Key="lab/summary/../../outside", Body=b"stranger")
    with pytest.raises(TollError, match="illegal character sequence"):
        ask(lake)
    client.delete_object(Bucket=BUCKET, Key="lab/summary/../../outside")
    assert {path for path in tmp_path.rglob("*") if "cache" not in path.parts} == before


def test_more_than_the_disk_has_is_not_fetched(
    lake: ObjectLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(lake, made(tmp_path, 1))
    monkeypatch.setattr(object_lake, "_KEPT_FREE_BYTES", 1 << 62)
    with pytest.raises(TollError, match="MB to fetch"):
        ask(lake)


def test_a_lake_of_a_newer_toll_and_a_place_with_something_else(lake: ObjectLake, client: Any) -> None:
    client.put_object(
        Bucket=BUCKET, Key="lab/toll-lake.json", Body=json.dumps({"toll_lake": 1, "schema": VERSION + 1})
    )
    with pytest.raises(TollError, match=r"s3://lakes/lab was written by a newer toll"):
        ObjectLake.make(lake.called)
    client.put_object(Bucket=BUCKET, Key="photos/cat.jpg", Body=b"cat")
    with pytest.raises(TollError, match=r"is no lake, and cat\.jpg lies in it"):
        lake_made_at(f"s3://{BUCKET}/photos")
    assert "photos/toll-lake.json" not in keys(client)


def test_the_verbs_take_it_and_say_what_is_wrong(client: Any, tmp_path: Path) -> None:
    place = f"s3://{BUCKET}/by-hand"
    path = made(tmp_path, 1)
    assert toll("lake", "runs", "--lake", place).stderr.startswith(f"toll: {place} is no lake")
    assert "added (machine m" in toll("lake", "add", str(path), "--lake", place).stdout
    table = toll("lake", "query", "SELECT count(*) AS n FROM launch", "--lake", place, "--json")
    assert json.loads(table.stdout)["rows"] == [[42]]  # 20 rounds of two rows, and the canary's two
    assert "run-1 · Made 1, 4 CPUs" in toll("report", "--lake", place).stdout
    assert toll("lake", "compact", "--lake", place).stdout.startswith("1 run compacted")
    for wrong, said in {
        "s3://no-such-bucket/lab": "names no bucket",
        "ftp://somewhere/lab": "is no place of a lake",
        "s3://": "is no place that toll can read",
    }.items():
        done = toll("lake", "runs", "--lake", wrong)
        assert done.returncode == 2
        assert said in done.stderr
        assert SECRET not in done.stderr


@pytest.mark.parametrize("address", ["localhost:9000", "objects.lab", "http://", "file:///etc"])
def test_an_address_that_is_none_is_a_sentence(
    client: Any, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    done = toll("lake", "runs", "--lake", f"s3://{BUCKET}/lab")
    assert done.returncode == 2
    assert done.stderr.startswith("toll: AWS_ENDPOINT_URL is no address of a server")


def test_a_server_that_does_not_answer_is_a_sentence(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    done = toll("lake", "runs", "--lake", f"s3://{BUCKET}/lab")
    assert done.returncode == 2
    assert "next: look at the address and the network" in done.stderr
    assert SECRET not in done.stderr


# Leases of seconds instead of minutes, and few runs that are many: for commands that are killed.
HURRIED = """
import sys
sys.path.insert(0, {python!r})
from tollbench.lake import compacting, leases
leases.LEASE_S, leases.RENEWED_S, leases.REQUEST_S, compacting.MOST_LOOSE = 6.0, 0.5, 1, 4
from tollbench.__main__ import start
start()
"""


@pytest.mark.proof  # it kills commands at work, and waits for their leases
@pytest.mark.slow
def test_whatever_is_killed_at_whatever_moment_each_run_is_there_once(client: Any, tmp_path: Path) -> None:
    place, chance, runs = f"s3://{BUCKET}/killed", random.Random(5), 12
    paths = [str(made(tmp_path, number, **started(number % 2 + 1))) for number in range(1, runs + 1)]
    code = HURRIED.format(python=str(MAIN.parents[1]))

    def begun(*words: str) -> subprocess.Popen[str]:
        command = interpreter("-c", code, "lake", *words, "--lake", place)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def at_work(number: int) -> tuple[int, str]:
        words = ("compact",) if number % 8 == 7 else ("add", chance.choice(paths))
        process = begun(*words)
        killing = threading.Timer(chance.uniform(0.6, 2.5), process.kill)
        if chance.random() < 0.3:
            killing.start()
        said = process.communicate()[1]
        killing.cancel()
        return process.returncode, said

    with begun("add", paths[0]) as first:
        assert first.wait() == 0
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(at_work, range(40)))
    assert {code for code, _ in ended} <= {0, -9}, [said for code, said in ended if code not in (0, -9)]
    assert sum(code == -9 for code, _ in ended) >= 4
    last = begun("add", *paths)
    assert last.wait() == 0, last.communicate()
    for table, rows in {"summary": 2, "launch": 42, "run": 1}.items():
        for compacted in (False, True):
            asked = begun("query", f"SELECT count(*), count(DISTINCT run) FROM {table}", "--json")
            assert json.loads(asked.communicate()[0])["rows"] == [[rows * runs, runs]], (table, compacted)
            assert begun("compact").wait() == 0
    assert not [key for key in keys(client) if key.endswith(".lock")]


def test_many_are_removed_where_the_first_is_not_there(tmp_path: Path) -> None:
    """As in stores that remove one a request, which S3 is not: a folder is one."""
    (tmp_path / "there").write_text("")
    store = ObjectStore.__new__(ObjectStore)
    store.url, store._obstore = tmp_path.as_uri(), obstore
    store._store = LocalStore(tmp_path)
    store.delete(["gone", "also gone", "there"])
    assert list(tmp_path.iterdir()) == []
