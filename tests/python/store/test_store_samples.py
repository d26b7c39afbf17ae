"""Samples are kept as exact values with their counts: nothing but their order is lost, in little room."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_runs import as_version_3, launch, make, measured

from tollbench.store import BatchSamples, RunFile, SampleCounts
from tollbench.store import sample_blocks as kept
from tollbench.words import Batch

zstd = kept._zstd()

FLOATS = st.floats(-1e3, 1e9, width=32) | st.sampled_from([0.0, -0.0, 1e-45, 3.4e38, -3.4e38])
PARTS = st.lists(st.lists(FLOATS, max_size=30), min_size=1, max_size=4)
BATCHES = st.lists(st.none() | PARTS, min_size=1, max_size=5)


def batch_of(parts: list[list[float]]) -> BatchSamples:
    arrays = [np.array(part, np.float32) for part in parts]
    cells = [(f"{number}>9", len(part)) for number, part in enumerate(arrays)]
    return BatchSamples.of(np.concatenate(arrays), cells if len(arrays) > 1 else ())


def plain(*words: int) -> bytes:
    return np.array(words, "<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


@settings(max_examples=300, deadline=None)
@given(drawn=BATCHES)
def test_every_value_comes_back_as_often_as_it_occurred(drawn: list[list[list[float]] | None]) -> None:
    stored = [None if parts is None else batch_of(parts) for parts in drawn]
    found = {
        place: parts
        for _, encoding, data in kept.blocks(stored)
        for place, parts in kept.unpacked(encoding, data)
    }
    assert found.keys() == {place for place, parts in enumerate(drawn) if parts is not None}
    for place, parts in found.items():
        wanted = drawn[place] or []
        # As bits, but for the sign of zero: equal numbers, and as many.
        assert [part.expanded().tobytes() for part in parts] == [
            np.sort(np.array(part, np.float32) + np.float32(0)).tobytes() for part in wanted
        ]


@given(parts=PARTS)
def test_parts_together_are_all_their_samples(parts: list[list[float]]) -> None:
    counted = [SampleCounts.of(np.array(part, np.float32)) for part in parts]
    together = SampleCounts.together(counted)
    assert together.expanded().tolist() == sorted(
        float(np.float32(value)) + 0.0 for part in parts for value in part
    )
    assert (np.diff(together.values) > 0).all()
    assert SampleCounts.together([]).total == 0


def fine_clock(rng: np.random.Generator, samples: int, typical_ns: float, scatter: float) -> np.ndarray:
    """Operations as a clock of 2.6 GHz reads them: most alike, one in a hundred far away."""
    ns = typical_ns * np.exp(scatter * rng.standard_normal(samples))
    ns[rng.random(samples) < 0.01] *= rng.lognormal(2.0, 1.5, 1)
    return (np.round(ns * 2.596) / 2.596).astype(np.float32)


@pytest.mark.parametrize(
    ("typical_ns", "scatter", "samples", "most_bytes"),
    [
        (40.0, 0.3, 50_000, 0.05),  # an allocation
        (60_000.0, 0.2, 5_000, 2.0),  # waking a thread: nearly all different
    ],
)
def test_a_hundred_million_samples_take_at_most_200_megabytes(
    typical_ns: float, scatter: float, samples: int, most_bytes: float
) -> None:
    rng = np.random.default_rng(1)
    batches = [BatchSamples.of(fine_clock(rng, samples, typical_ns, scatter)) for _ in range(6)]
    size = sum(len(data) for _, _, data in kept.blocks(batches))
    assert size / (6 * samples) <= most_bytes <= 2.0


def test_samples_of_long_launches_are_kept_in_several_blocks() -> None:
    rng = np.random.default_rng(2)
    arrays = [rng.random(250_000, np.float32) for _ in range(5)]
    blocks = list(kept.blocks([None, *map(BatchSamples.of, arrays)]))
    assert [first for first, _, _ in blocks] == [1, 4]
    parts = [part for _, encoding, data in blocks for _, (part,) in kept.unpacked(encoding, data)]
    assert all(
        np.array_equal(part.expanded(), np.sort(array)) for part, array in zip(parts, arrays, strict=True)
    )


def test_what_packs_beyond_all_measure_is_stored_as_it_is() -> None:
    """A reader takes no block that unpacks to far more than it is."""
    steady = BatchSamples.of(np.arange(1 << 23, (1 << 23) + 500_000).astype(np.float32))
    ((_, encoding, data),) = kept.blocks([steady])
    assert encoding == kept.PLAIN
    ((_, (part,)),) = kept.unpacked(encoding, data)
    assert np.array_equal(part.values, steady.parts[0].values)
    with pytest.raises(kept.BadBlock, match="more than toll writes"):
        kept.unpacked(kept.ZSTD, zstd.compress(data))


INFINITE = 0x7F800000 | 1 << 31  # the key of infinity


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "cut off"),
        (b"abc", "cut off"),
        (plain(1), "cut off"),
        (plain(1, 0, 1), "cut off"),
        (plain(1, 0, 1, 2, 5, 5, 1), "cut off"),
        (plain(2**32 - 1, 0, 1), "cut off"),
        (plain(1, 0, 2**32 - 1, 1, 1, 1), "cut off"),
        (plain(1, 0, 1, 2**32 - 1, 5, 1), "cut off"),
        (plain(2, 3, 1, 3, 1, 1, 1, 5, 5, 1, 1), "not in the order"),
        (plain(1, 0, 1, 2, 2**31, 0, 1, 1), "not in ascending order"),
        (plain(1, 0, 1, 1, 2**31, 0), "never occurred"),
        (plain(1, 0, 1, 1, INFINITE, 1), "not finite"),
        (plain(1, 0, 1, 1, 5, 1), "not finite"),
        (plain(1, 0, 1, 2, 2**31 + 5, 2**31, 1, 1), "not finite"),
    ],
)
def test_a_stranger_s_block_is_refused(data: bytes, words: str) -> None:
    for encoding, packed in ((kept.PLAIN, data), (kept.ZSTD, zstd.compress(data))):
        with pytest.raises(kept.BadBlock, match=words if data else "cut off|unpack"):
            kept.unpacked(encoding, packed)


@settings(max_examples=300, deadline=None)
@given(
    drawn=PARTS,
    changes=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=6),
    packed=st.booleans(),
)
def test_flipped_bytes_of_a_block_are_refused_or_sound(
    drawn: list[list[float]], changes: list[tuple[float, int]], packed: bool
) -> None:
    ((_, encoding, data),) = kept.blocks([batch_of(drawn)])
    damaged = bytearray(data)
    for place, value in changes:
        damaged[int(place * len(data))] = value
    try:
        found = kept.unpacked(encoding if packed else kept.PLAIN, bytes(damaged))
    except kept.BadBlock:
        return
    for part in (part for _, parts in found for part in parts):
        assert np.isfinite(part.values).all()
        assert (np.diff(part.values) > 0).all()
        assert (part.counts > 0).all()


def test_a_frame_that_hides_its_length_is_refused() -> None:
    hidden = zstd.compress(bytes(1 << 20), options={zstd.CompressionParameter.content_size_flag: 0})
    with pytest.raises(kept.BadBlock):
        kept.unpacked(kept.ZSTD, hidden)
    lying = bytearray(zstd.compress(bytes(1 << 20)))
    at = lying.find(struct.pack("<I", 1 << 20))
    lying[at : at + 4] = struct.pack("<I", 64)
    with pytest.raises(kept.BadBlock):
        kept.unpacked(kept.ZSTD, bytes(lying))


def test_a_frame_that_is_cut_off_or_has_more_behind_it_is_refused() -> None:
    packed = zstd.compress(plain(1, 0, 1, 1, 2**31, 1))
    assert kept.unpacked(kept.ZSTD, packed)
    for damaged in (packed[:-3], packed[:5], packed + packed, packed + b"x"):
        with pytest.raises(kept.BadBlock, match="cannot be unpacked"):
            kept.unpacked(kept.ZSTD, damaged)


def test_a_file_of_version_3_is_read_in_the_order_of_taking_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "old.toll"
    with make(path) as run_file:
        run_file.finish("interrupt")
        array = np.array([7.0, 1.0, 4.0, 4.0, 2.0], np.float32)
        batch = Batch(5, 5, 1.0, 1.0, 0, 0, 0, 0, 1, 0)
        stored = run_file.append(launch(round=9, batches=(batch,)), [array])
    with RunFile.open(path) as run_file:
        counted = run_file.counted_samples(stored)[1]
        assert run_file.samples(stored).tolist() == [1.0, 2.0, 4.0, 4.0, 7.0]
    as_version_3(path, seed=5)
    with RunFile.open(path) as run_file:
        as_taken = run_file.samples(stored).tolist()
        assert as_taken != sorted(as_taken)
        (again,) = run_file.counted_samples(stored)[1]
        assert again.parts[0].values.tolist() == counted[0].parts[0].values.tolist()
    with RunFile.resume(path) as run_file:
        later = run_file.append(*measured(8))
        assert run_file.samples(stored).tolist() == as_taken
        assert run_file.samples(later).tolist() == [2.5, 3.0, 8.0]
