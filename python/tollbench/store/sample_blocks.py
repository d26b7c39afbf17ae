"""How a run file keeps the samples of batches: exact values, each once with how often it occurred.

A block holds consecutive batches of a launch as 32-bit words: the number of batches; for each its place in
the launch and how many parts it has (1, or one for each entry of its cells); for each part how many distinct
values; for each part their keys, the first as it is and the others as steps from the one before; and for each
part how often each value occurred. A key is the bits of a float32 as a whole number in the order of values.
The words' lowest bytes come first, then their second bytes and so on, little-endian, and zstd packs them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from tollbench.errors import TollError
from tollbench.store.records import BatchSamples, SampleCounts

LEVEL = 6  # of zstd: within 3 % of the smallest that it can, at a quarter of a millisecond a million samples
WORDS_A_BLOCK = 1 << 20  # above it a new block begins; one batch has 2 million at most
MOST_WORDS = 1 << 22  # that a reader takes
PACKED_AT_MOST = 16  # bytes that one may stand for: what packs better is stored as it is
ROOM_BYTES = 4096  # small blocks may pack better
PLAIN, ZSTD = "plain", "zstd"

Words = NDArray[np.uint32]
_SIGN = np.uint32(1 << 31)


class BadBlock(ValueError):
    """What is wrong with a block; completes "the samples ..."."""


def blocks(batches: Sequence[BatchSamples | None]) -> Iterator[tuple[int, str, bytes]]:
    """(place of its first batch in the launch, encoding, data) of each block; batches without samples are in
    none."""
    pending: list[tuple[int, BatchSamples]] = []
    words = 0
    for ordinal, batch in enumerate(batches):
        if batch is None:
            continue
        pending.append((ordinal, batch))
        words += 2 * sum(part.values.size for part in batch.parts) + len(batch.parts) + 2
        if words >= WORDS_A_BLOCK:
            yield pending[0][0], *_packed(_words(pending))
            pending, words = [], 0
    if pending:
        yield pending[0][0], *_packed(_words(pending))


def unpacked(encoding: str, data: bytes) -> list[tuple[int, tuple[SampleCounts, ...]]]:
    """(place in the launch, parts) of each batch of a block that anybody may have made; raises BadBlock."""
    return _batches(_joined(_plain(encoding, data)))


def _packed(words: Words) -> tuple[str, bytes]:
    plain = words.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
    packed: bytes = _zstd().compress(plain, LEVEL)
    if len(packed) >= len(plain) or len(plain) > PACKED_AT_MOST * len(packed) + ROOM_BYTES:
        return PLAIN, plain
    return ZSTD, packed


def _plain(encoding: str, data: bytes) -> bytes:
    if encoding == PLAIN:
        return data
    if encoding != ZSTD:
        raise BadBlock("are packed in a way that toll does not know")
    zstd = _zstd()
    try:
        size = zstd.get_frame_info(data).decompressed_size
        if size is None or not 0 < size <= min(4 * MOST_WORDS, PACKED_AT_MOST * len(data) + ROOM_BYTES):
            raise BadBlock("unpack to more than toll writes")
        frame = zstd.ZstdDecompressor()
        plain: bytes = frame.decompress(data, max_length=size)
    except zstd.ZstdError:
        raise BadBlock("cannot be unpacked") from None
    if not frame.eof or frame.unused_data or len(plain) != size:  # cut off, more behind, a length that lies
        raise BadBlock("cannot be unpacked")
    return plain


def _zstd() -> ModuleType:
    """The standard library's module, from Python 3.14 on; late, as a comparison packs nothing."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise TollError(
            f"This Python cannot pack or unpack zstd ({error}), which run files keep samples in.",
            "install toll for another Python, or one that was built with libzstd",
        ) from None
    return zstd


def _joined(plain: bytes) -> Words:
    if len(plain) % 4 or not 4 <= len(plain) <= 4 * MOST_WORDS:
        raise BadBlock("are cut off")
    planes = np.frombuffer(plain, np.uint8).reshape(4, -1)
    return np.ascontiguousarray(planes.T).view("<u4").reshape(-1).astype(np.uint32, copy=False)


def _words(batches: Sequence[tuple[int, BatchSamples]]) -> Words:
    parts = [part for _, batch in batches for part in batch.parts]
    head = [len(batches), *(word for at, batch in batches for word in (at, len(batch.parts)))]
    return np.concatenate(
        [
            np.array([*head, *(part.values.size for part in parts)], np.uint32),
            *(np.diff(_keys(part.values), prepend=np.uint32(0)) for part in parts),
            *(part.counts.astype(np.uint32) for part in parts),
        ]
    )


def _batches(words: Words) -> list[tuple[int, tuple[SampleCounts, ...]]]:
    count = int(words[0])
    head = words[1 : 1 + 2 * count].astype(np.int64)
    places, parts = head[0::2], head[1::2]
    first = 1 + 2 * count  # of the sizes
    number = int(parts.sum())
    sizes = words[first : first + number].astype(np.int64)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    if not (head.size == 2 * count and sizes.size == number and words.size == first + number + 2 * total):
        raise BadBlock("are cut off")
    if not (np.diff(places) > 0).all():
        raise BadBlock("are not in the order of their batches")
    body = words[first + number :]
    values, counts = _values(body[:total], ends - sizes, sizes), body[total:].astype(np.int64)
    if total and not counts.min() > 0:
        raise BadBlock("hold a value that never occurred")
    bounds = np.concatenate([[0], ends]).tolist()
    each = [SampleCounts(values[start:end], counts[start:end]) for start, end in pairwise(bounds)]
    last = np.cumsum(parts).tolist()
    return [
        (place, tuple(each[end - own : end]))
        for place, own, end in zip(places.tolist(), parts.tolist(), last, strict=True)
    ]


def _values(steps: Words, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float32]:
    """Ascending within each part; the first step of a part is from zero."""
    filled = starts[sizes > 0]
    inner = np.ones(steps.size, bool)
    inner[filled] = False
    if not steps[inner].all():
        raise BadBlock("are not in ascending order")
    sums = np.cumsum(steps, dtype=np.uint64)
    keys = sums - np.repeat(sums[filled] - steps[filled], sizes[sizes > 0])
    if keys.size and keys.max() >= 1 << 32:
        raise BadBlock("hold values that are not finite")
    found = keys.astype(np.uint32)
    bits = np.where(found & _SIGN, found ^ _SIGN, ~found)
    values = bits.view(np.float32)
    if not np.isfinite(values).all():
        raise BadBlock("hold values that are not finite")
    return values


def _keys(values: NDArray[np.float32]) -> Words:
    """The bits of a float32 as a number that is the larger, the larger the value."""
    bits = values.astype(np.float32, copy=False).view(np.uint32)
    return np.where(bits & _SIGN, ~bits, bits ^ _SIGN)
