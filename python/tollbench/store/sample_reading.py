"""The operations of a run that were timed one by one, read from files of every version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tollbench.store.checked_rows import Rows
from tollbench.store.records import BatchSamples, SampleCounts, Samples
from tollbench.store.sample_blocks import BadBlock, unpacked
from tollbench.store.untrusted import MAX_VALUE_BYTES, CheckedRow, has_table, refuse

MAX_KEY = 64  # characters of a cell's name
MAX_SAMPLES = 1 << 26  # of one launch, where they are wanted one by one
MAX_DISTINCT = 1 << 23  # values of one launch
_BLOCK_COLUMNS = ("ordinal", "encoding", "length", "data")

Cells = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Sampled:
    """One batch that has samples: counted by value, or as they were taken in files before version 4."""

    warmup: bool
    counted: BatchSamples | None
    as_taken: Samples | None
    cells: Cells

    @property
    def total(self) -> int:
        return self.counted.total if self.counted else len(self._array)

    @property
    def _array(self) -> Samples:
        return np.empty(0, np.float32) if self.as_taken is None else self.as_taken

    def one_by_one(self) -> Samples:
        return (
            np.concatenate([part.expanded() for part in self.counted.parts]) if self.counted else self._array
        )

    def by_value(self) -> BatchSamples:
        return self.counted or BatchSamples.of(self._array, self.cells)


class SampleReader(Rows):
    """What a run file says of single operations."""

    _lies_still = False  # whether this object, too, writes nothing to it

    def samples(self, launch_id: int, *, warmup: bool = False) -> Samples:
        """The individually timed operations of one launch, nanoseconds, as float32 of shape (n,).

        Batch after batch; within one, and within each part that its cells name, ascending, or in the order in
        which they were taken in files before version 4. Warm-up is left out unless `warmup` asks for it.
        """
        kept = [each for each in self._sampled(launch_id) if warmup or not each.warmup]
        if sum(each.total for each in kept) > MAX_SAMPLES:
            raise refuse(self.path, f"holds more than {MAX_SAMPLES} samples of launch {launch_id}")
        return np.concatenate([np.empty(0, np.float32), *(each.one_by_one() for each in kept)])

    def counted_samples(self, launch_id: int) -> tuple[tuple[BatchSamples, ...], tuple[BatchSamples, ...]]:
        """The samples of each warm-up batch of a launch, and of each other batch, counted by value."""
        found = self._sampled(launch_id)
        return (
            tuple(each.by_value() for each in found if each.warmup),
            tuple(each.by_value() for each in found if not each.warmup),
        )

    def cells(self, launch_id: int, *, warmup: bool = False) -> Cells:
        """What the samples of one launch belong to: (key, how many), consecutive, as long as `samples`.

        () where the program said nothing of cells. Warm-up is left out unless `warmup` asks for it.
        """
        return tuple(
            cell for each in self._sampled(launch_id) if warmup or not each.warmup for cell in each.cells
        )

    def _sampled(self, launch_id: int) -> list[_Sampled]:
        """The batches of a launch that have samples, in their order."""
        query = "SELECT id, ordinal, warmup FROM batch WHERE launch_id = ? ORDER BY ordinal"
        batches = self._rows("batch", ("id", "ordinal", "warmup"), query, (launch_id,))
        cells, counted = self._cells(launch_id), self._counted(launch_id)
        as_taken = self._as_taken(launch_id)
        found = []
        for row in batches:
            number, told = row.integer("id"), cells.pop(row.integer("id"), None)
            parts, array = counted.pop(row.integer("ordinal"), None), as_taken.get(number)
            if parts is not None and array is not None:
                raise row.fail("ordinal", "is that of two sets of samples")
            belonging = () if told is None else _belonging(told)
            if told is not None and sum(count for _, count in belonging) != _total(parts, array):
                raise told.fail("cells", "counts another number of samples than there are")
            if parts is not None:
                found.append(
                    _Sampled(bool(row.integer("warmup")), _joined(told, belonging, parts), None, belonging)
                )
            elif array is not None:
                found.append(_Sampled(bool(row.integer("warmup")), None, array, belonging))
        if counted:
            raise refuse(
                self.path, f"is not sound: launch {launch_id} has samples of batches that it did not do"
            )
        return found

    def _counted(self, launch_id: int) -> dict[int, tuple[SampleCounts, ...]]:
        """The parts of each batch, by its place in the launch."""
        query = """SELECT ordinal, encoding, length(data), data FROM sample_block
            WHERE launch_id = ? ORDER BY ordinal"""
        found: dict[int, tuple[SampleCounts, ...]] = {}
        distinct = 0
        for row in self._rows("sample_block", _BLOCK_COLUMNS, query, (launch_id,)):
            try:
                batches = unpacked(row.text("encoding"), row.blob("data"))
            except BadBlock as bad:
                raise row.fail("data", f"is not sound: the samples {bad}") from None
            if row.integer("ordinal") != (batches[0][0] if batches else -1):
                raise row.fail("ordinal", "is not that of its first batch")
            if any(place in found for place, _ in batches):
                raise row.fail("ordinal", "is that of two sets of samples")
            found.update(batches)
            distinct += sum(part.values.size for _, parts in batches for part in parts)
            if distinct > MAX_DISTINCT:
                raise row.fail("data", f"makes it more than {MAX_DISTINCT} different values of one launch")
        return found

    def _holds(self, table: Literal["sample", "cells"]) -> bool:
        """Whether any launch has rows there: hardly any file does, and two questions a launch add up."""
        return not self._lies_still or table in self._filled

    @cached_property
    def _filled(self) -> set[str]:
        query = "SELECT ? WHERE EXISTS (SELECT 1 FROM {})"
        there = [table for table in ("sample", "cells") if has_table(table, self._version)]
        return {name for table in there for (name,) in self._iterate(query.format(table), (table,))}

    def _as_taken(self, launch_id: int) -> dict[int, Samples]:
        """Of files before version 4: the samples by the batch's id."""
        query = """
            SELECT s.batch_id, s.count, s.dtype, length(s.data), s.data
            FROM sample s JOIN batch b ON b.id = s.batch_id WHERE b.launch_id = ? ORDER BY b.ordinal"""
        columns = ("batch_id", "count", "dtype", "length", "data")
        rows = self._rows("sample", columns, query, (launch_id,)) if self._holds("sample") else ()
        return {row.integer("batch_id"): _samples(row) for row in rows}

    def _cells(self, launch_id: int) -> dict[int, CheckedRow]:
        query = """SELECT c.batch_id, c.cells FROM cells c JOIN batch b ON b.id = c.batch_id
            WHERE b.launch_id = ?"""
        rows = self._rows("cells", ("batch_id", "cells"), query, (launch_id,)) if self._holds("cells") else ()
        return {row.integer("batch_id"): row for row in rows}


def _total(parts: tuple[SampleCounts, ...] | None, array: Samples | None) -> int:
    if parts is not None:
        return sum(part.total for part in parts)
    return 0 if array is None else len(array)


def _joined(told: CheckedRow | None, belonging: Cells, parts: tuple[SampleCounts, ...]) -> BatchSamples:
    """Parts with what they belong to."""
    if told is None:
        return BatchSamples((SampleCounts.together(parts),))
    if [part.total for part in parts] != [count for _, count in belonging]:
        raise told.fail("cells", "counts another number of samples than there are")
    return BatchSamples(parts, tuple(key for key, _ in belonging))


def _belonging(row: CheckedRow) -> Cells:
    cells = row.json("cells")
    if not isinstance(cells, list):
        raise row.fail("cells", "is not a JSON array")
    for cell in cells:
        match cell:
            case [str(key), int(count)] if len(key) <= MAX_KEY and count >= 0 and not isinstance(count, bool):
                pass
            case _:
                raise row.fail("cells", "holds an entry that is not [text, whole number]")
    return tuple((key, count) for key, count in cells)


def _samples(row: CheckedRow) -> Samples:
    count, length = row.integer("count"), row.integer("length")
    if row.text("dtype") != "<f4":
        raise row.fail("dtype", "is not '<f4'")
    if length != 4 * count or length > MAX_VALUE_BYTES:
        raise row.fail("data", f"has {length} bytes for {count} samples of 4 bytes")
    values = np.frombuffer(row.blob("data"), dtype="<f4").astype(np.float32, copy=False)
    if not np.isfinite(values).all():
        raise row.fail("data", "holds values that are not finite")
    return values
