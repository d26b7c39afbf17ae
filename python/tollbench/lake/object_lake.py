"""A lake in object storage: the same files under the same names, and a copy of what is read of it here.

A question reads the copy, in the user's cache, once it is what the store has: so DuckDB sees files of this
machine alone, and asking again fetches nothing. A run is written by `LakeFolder` into a folder of its own,
beside copies of the objects that decide, and goes up from there; so does what is put together. What decides,
a run's claim and the manifest, is only ever written over what was read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from tollbench.errors import TollError
from tollbench.home import cache_folder
from tollbench.lake import compacting
from tollbench.lake.compacting import Compacted, Progress
from tollbench.lake.lake_folder import (
    ALL,
    COMPACTING,
    HEAD,
    MANIFEST,
    MOST_JSON_BYTES,
    RUNS,
    SAMPLES,
    Added,
    LakeFolder,
    coming_text,
    head_text,
    older_versions,
    telling,
    told_by_key,
)
from tollbench.lake.lake_schema import BRIEF, MARKER, TABLES
from tollbench.lake.leases import Lease, OnWait, lease
from tollbench.lake.object_store import MOST_AT_ONCE_BYTES, Changed, Held, ObjectStore
from tollbench.lake.tables_of_run import LakeRun
from tollbench.text import shown
from tollbench.writing import alone, scratch_folder, sweep_scratch, write_own
from tollbench.writing.whole import whole

_INDEX: Final = "index.json"  # of the copy: key -> tag, and the file's state
_AT_ONCE: Final = 16  # requests
_LARGE_BYTES: Final = 1 << 20
_LARGE_AT_ONCE: Final = 4
_KEPT_FREE_BYTES: Final = 512 << 20
_TRIES: Final = 20
_OWN: Final = (HEAD, MANIFEST, COMPACTING)
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class _SeenStore:
    """The store at one moment, and its copy."""

    copy: LakeFolder
    listed: Mapping[str, Held]  # all files of the tables asked for, also those that do not count
    manifest: Held | None


class ObjectLake:
    """A lake below a URL."""

    def __init__(self, url: str, on_wait: OnWait = lambda _: None) -> None:
        self._store, self._on_wait = ObjectStore(url), on_wait
        self.called = self._store.url
        which = f"{self.called} {os.environ.get('AWS_ENDPOINT_URL', '')}"
        self._cache = cache_folder() / "lakes" / hashlib.sha256(which.encode()).hexdigest()[:20]

    @classmethod
    def open(cls, url: str, on_wait: OnWait = lambda _: None) -> ObjectLake:
        """Raises TollError where there is no lake, or one that this toll cannot read."""
        lake = cls(url, on_wait)
        with telling(lake.called), scratch_folder() as scratch:
            lake._brought(scratch, HEAD)
            LakeFolder.open(scratch, lake.called)
        return lake

    @classmethod
    def make(cls, url: str, on_wait: OnWait = lambda _: None) -> ObjectLake:
        """The lake below `url`, made where there is none. Raises TollError, also where other things lie."""
        lake = cls(url, on_wait)
        store = lake._store
        if store.held(HEAD) is None:
            stranger = next((held.key for held in store.listed() if not _is_of_a_lake(held.key)), None)
            if stranger is not None:
                raise TollError(
                    f"{lake.called} is no lake, and {shown(stranger, 60)} lies in it",
                    "name a place in which nothing is, or a new one",
                )
            with suppress(Changed):  # another toll made it right now
                store.put(HEAD, head_text().encode(), None)
        return cls.open(url, on_wait)

    def add(self, run: LakeRun) -> Added:
        """Puts a run into the lake. Raises TollError; the lake then is as it was, and the run file anyway."""
        claim = f"{RUNS}/{run.run}.json"
        # Samples may come to a run that is there: compacted meanwhile, they would not count.
        uncompacted = self._leased(COMPACTING) if SAMPLES in run.tables else nullcontext()
        with (
            uncompacted,
            self._leased(f"{RUNS}/{run.run}.lock") as held,
            telling(self.called),
            scratch_folder() as scratch,
        ):
            self._brought(scratch, HEAD)
            self._brought(scratch, MANIFEST)
            before = self._brought(scratch, claim)
            folder = LakeFolder.open(scratch, self.called)
            left = folder.left_behind(run.run)
            outcome = folder.add(run)
            if outcome is Added.ADDED:
                before = self._announced(run, claim, before, left, held)
            if outcome is not Added.ALREADY:
                self._put_run(scratch, claim, before, held, fresh=outcome is Added.ADDED)
            return outcome

    @contextmanager
    def reading(self, tables: Sequence[str]) -> Iterator[LakeFolder]:
        """These tables as the store has them now, in a folder that nobody else changes. Raises TollError."""
        with self._beside_the_copy() as scratch:
            with self._copied(tables) as seen:
                _link(seen.copy.root, scratch, tables)
            yield LakeFolder.open(scratch, self.called)

    def compact(self, on_file: Progress = lambda *_: None) -> Compacted:
        """As `compacting.compact`."""
        return self._put_together(
            tuple(TABLES), lambda folder: compacting.compact(folder, on_file), wait=True
        )

    def tidy(self, on_file: Progress = lambda *_: None) -> int:
        """As `compacting.tidy`."""
        if len(self._loose()) <= compacting.MOST_LOOSE:
            return 0
        with suppress(BlockingIOError):  # another toll is at it
            return self._put_together(
                BRIEF, lambda folder: compacting.tidy(folder, compacting.MOST_LOOSE, on_file), wait=False
            )
        return 0

    def _leased(self, key: str, *, wait: bool = True) -> AbstractContextManager[Lease]:
        return lease(self._store, key, wait=wait, on_wait=self._on_wait)

    @contextmanager
    def _beside_the_copy(self) -> Iterator[Path]:
        """A folder on the copy's own disk, where linking costs nothing; what a kill left of them goes."""
        with telling(self.called):
            self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            sweep_scratch(self._cache)
        with scratch_folder(self._cache) as scratch:
            yield scratch

    def _loose(self) -> set[str]:
        """Runs of which questions read files of their own."""
        with telling(self.called), scratch_folder() as scratch:
            self._brought(scratch, MANIFEST)
            manifest = LakeFolder(scratch, self.called).manifest()
        found = (told_by_key(held.key) for held in self._store.listed(MARKER))
        return {
            told[3] for told in found if told and told[1] != ALL and manifest.counts(MARKER, told[1], told[3])
        }

    def _brought(self, folder: Path, key: str) -> Held | None:
        """One small object under its own name in a folder; where the store has none, none is there either."""
        found = self._store.get(key, MOST_JSON_BYTES)
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if found is None:
            path.unlink(missing_ok=True)
            return None
        write_own(path, found[0])
        return found[1]

    def _announced(
        self, run: LakeRun, claim: str, before: Held | None, left: Sequence[str], held: Lease
    ) -> Held:
        """The claim that says that the run comes, once what an earlier kill left of it is gone."""
        held.check()
        self._store.delete(left)
        try:
            return self._store.put(claim, coming_text(run).encode(), before)
        except Changed:
            raise self._crossed("added the same run to") from None

    def _put_run(self, scratch: Path, claim: str, before: Held | None, held: Lease, *, fresh: bool) -> None:
        """Tables first, the one that questions read behind them, the claim last; each over what was there.

        After a failure its tables stay: who adds the run next writes over them, and may have done so already.
        """
        keys = sorted(_keys_in(scratch), key=lambda key: key.startswith(f"{MARKER}/"))
        try:
            with ThreadPoolExecutor(_AT_ONCE) as pool:  # all at first: who stalls behind that is too late
                there = dict(zip(keys, pool.map(self._store.held, keys), strict=True))
            for key in keys:
                held.check()
                self._put_table(key, scratch / key, there[key])
            held.check()
            if not fresh:  # an older toll's files of it, which whoever reads the bucket would count
                self._store.delete(map(str, older_versions(map(Path, keys))))
            self._store.put(claim, (scratch / claim).read_bytes(), before)
        except Changed:
            raise self._crossed("added the same run to") from None

    def _put_table(self, key: str, path: Path, over: Held | None) -> None:
        """Raises Changed where it is not what it was, but for tables too large for one request."""
        if path.stat().st_size > MOST_AT_ONCE_BYTES:
            self._store.put_in_parts(key, path)
        else:
            self._store.put(key, path.read_bytes(), over, patient=True)

    def _crossed(self, did: str) -> TollError:
        """What another toll did meanwhile."""
        return TollError(
            f"another toll {did} {self.called} at the same time",
            "type the command again: what is there already is passed over",
        )

    @contextmanager
    def _copied(self, tables: Sequence[str], months: Collection[str] | None = None) -> Iterator[_SeenStore]:
        """The copy is the store's state of one moment, and stays so for the block. Raises TollError.

        With `months` these are: what it has of others may be older.
        """
        folder = self._cache / "lake"
        with _telling(self._cache):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with alone(self._cache / "lock"):
                for _ in range(_TRIES):
                    if (seen := self._looked(folder, tables, months)) is not None:
                        yield seen
                        return
        raise TollError(f"{self.called} changes while it is read", "ask again")

    def _looked(
        self, folder: Path, tables: Sequence[str], months: Collection[str] | None
    ) -> _SeenStore | None:
        """None where the store changed meanwhile."""
        self._brought(folder, HEAD)
        manifest = self._brought(folder, MANIFEST)
        copy = LakeFolder.open(folder, self.called)
        listed = {
            held.key: held
            for table in tables
            for held in self._store.listed(table)
            if told_by_key(held.key) is not None
        }
        after = self._store.held(MANIFEST)
        if (after and after.tag) != (manifest and manifest.tag):
            return None  # files that the older one names may be gone by now
        counts = _counting(copy)
        wanted = {key: held for key, held in listed.items() if counts(key)}
        if not self._fetched(folder, {key: held for key, held in wanted.items() if _is_of(key, months)}):
            return None
        for key in _keys_in(folder, tables):
            if key not in wanted:
                (folder / key).unlink()
        return _SeenStore(copy, listed, manifest)

    def _fetched(self, folder: Path, wanted: Mapping[str, Held]) -> bool:
        """Brings what the copy lacks. False where something of it changed or went meanwhile."""
        index = _index(self._cache)
        lacking = [
            held for key, held in wanted.items() if index.get(key) != [held.tag, *_state(folder / key)]
        ]
        size, free = sum(held.size for held in lacking), shutil.disk_usage(folder).free
        if size > free - _KEPT_FREE_BYTES:
            raise TollError(
                f"{self.called} has {size >> 20:,} MB to fetch, and {folder} has room for {free >> 20:,} MB",
                "make room, or set XDG_CACHE_HOME to a larger disk",
            )

        def fetch(held: Held) -> None:
            path = folder / held.key
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole(path, lambda *_: None, of_user=False) as sink:
                self._store.copy(held, sink)
            index[held.key] = [held.tag, *_state(path)]

        large = any(held.size > _LARGE_BYTES for held in lacking)
        try:
            with ThreadPoolExecutor(_LARGE_AT_ONCE if large else _AT_ONCE) as pool:
                list(pool.map(fetch, lacking))
        except Changed:
            return False
        finally:  # what has come need not come again
            if lacking:
                write_own(self._cache / _INDEX, json.dumps(index) + "\n")
        return True

    def _put_together(self, tables: Sequence[str], work: Callable[[LakeFolder], Done], *, wait: bool) -> Done:
        """Lets `work` compact a folder of what the store has, and brings the store to what came of it."""
        with (
            self._leased(COMPACTING, wait=wait) as held,
            telling(self.called),
            self._beside_the_copy() as scratch,
        ):
            found = (told_by_key(each.key) for table in tables for each in self._store.listed(table))
            loose = [(told[2], told[3]) for told in found if told and told[1] != ALL]
            own = {run for _, run in loose}
            (scratch / RUNS).mkdir()
            with ThreadPoolExecutor(_AT_ONCE) as pool:  # before the files are listed: see compacting.compact
                list(pool.map(lambda run: self._brought(scratch, f"{RUNS}/{run}.json"), own))
            finished = LakeFolder(scratch, self.called).finished(own)
            months = {month for month, run in loose if run in finished}  # others stay as they are
            with self._copied(tables, months) as seen:
                _link(seen.copy.root, scratch, tables, months)
            before = _content(scratch / MANIFEST)
            done = work(LakeFolder(scratch, self.called))
            if _content(scratch / MANIFEST) != before:
                self._put_merged(scratch, seen, held)
            return done

    def _put_merged(self, scratch: Path, seen: _SeenStore, held: Lease) -> None:
        """New files, then the manifest, which says that they count; then what it has replaced goes.

        Once that manifest may be there, new files stay: what does not count goes with the next compaction.
        """
        fresh = [key for key in _keys_in(scratch) if key not in seen.listed]
        try:
            for key in fresh:
                held.check()
                self._put_table(key, scratch / key, None)
            held.check()
        except BaseException:
            with suppress(TollError):
                self._store.delete(fresh)
            raise
        try:
            self._store.put(MANIFEST, (scratch / MANIFEST).read_bytes(), seen.manifest)
        except Changed:  # another's manifest may be made from ours: nothing of it goes
            raise self._crossed("compacted") from None
        counts = _counting(LakeFolder(scratch, self.called))
        self._store.delete(key for key in seen.listed if not counts(key))


def _counting(lake: LakeFolder) -> Callable[[str], bool]:
    """Whether a file counts, by its key."""
    manifest = lake.manifest()

    def counts(key: str) -> bool:
        told = told_by_key(key)
        return told is not None and manifest.counts(told[0], told[1], told[3])

    return counts


def _is_of_a_lake(key: str) -> bool:
    return key in _OWN or key.startswith(f"{RUNS}/") or told_by_key(key) is not None


def _keys_in(folder: Path, tables: Iterable[str] = tuple(TABLES)) -> list[str]:
    """Of a folder's files those of tables."""
    there = (
        path.relative_to(folder).as_posix() for table in tables for path in folder.glob(f"{table}/*/*/*")
    )
    return sorted(key for key in there if told_by_key(key) is not None)


def _is_of(key: str, months: Collection[str] | None) -> bool:
    """Whether a file is of one of them; None: of any."""
    return months is None or ((told := told_by_key(key)) is not None and told[2] in months)


def _link(source: Path, target: Path, tables: Iterable[str], months: Collection[str] | None = None) -> None:
    """The same lake once more, at no cost where both lie on one disk: files are replaced, never changed."""
    keys = (key for key in _keys_in(source, tables) if _is_of(key, months))
    for key in (HEAD, MANIFEST, *keys):
        if (source / key).exists():
            (target / key).parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source / key, target / key)
            except OSError:
                shutil.copyfile(source / key, target / key)


def _index(cache: Path) -> dict[str, list[object]]:
    """Empty where it was damaged: then everything is fetched once more."""
    with suppress(OSError, ValueError):
        told = json.loads((cache / _INDEX).read_text())
        return told if isinstance(told, dict) else {}
    return {}


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _state(path: Path) -> tuple[int, ...]:
    """By which a file of the copy is known to be as it was fetched; empty where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ino


@contextmanager
def _telling(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TollError(
            f"cannot keep a copy of the lake in {cache}: {error.strerror or error}",
            "make room, or set XDG_CACHE_HOME to another folder",
        ) from None
