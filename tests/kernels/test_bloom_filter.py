"""XXH64, and what sets and folds the bits of a Bloom filter, against known hashes and plain Python."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from colwriter.kernels import bloom

# Published by xxHash itself, and by its bindings.
VECTORS = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}
# Around every step of XXH64, which takes 32, 8, 4 bytes and one.
LENGTHS = sorted({step * k + d for step in (4, 8, 32) for k in range(4) for d in (-1, 0, 1) if step * k + d >= 0})
SCRATCH = np.empty(bloom.BATCH, np.uint64)


def frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8) if data else frozen(np.empty(0, np.uint8))


def bitmap(valid: np.ndarray, offset: int) -> np.ndarray:
    return frozen(np.packbits(np.concatenate([np.ones(offset, np.uint8), valid.astype(np.uint8)]), bitorder="little"))


def blocks_for(num_blocks: int) -> np.ndarray:
    return np.zeros(num_blocks * bloom.WORDS, np.uint32)


@pytest.mark.parametrize("data", VECTORS)
def test_known_hashes(data: bytes) -> None:
    assert naive.xxh64(data) == VECTORS[data]
    assert bloom.xxh64(array(data), 0, len(data)) == VECTORS[data]


@pytest.mark.parametrize("length", LENGTHS)
def test_every_length(length: int) -> None:
    """Without a byte to spare on either side, and from the middle of an array."""
    data = np.random.default_rng(length).bytes(length + 7)
    assert bloom.xxh64(array(data[:length]), 0, length) == naive.xxh64(data[:length])
    assert bloom.xxh64(array(data), 7, length) == naive.xxh64(data[7:])


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    assert bloom.xxh64(array(data), 0, len(data)) == naive.xxh64(data)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("null_share", [0.0, 0.05, 0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 127, 500])
def test_numbers(count: int, null_share: float, dtype: type) -> None:
    rng = np.random.default_rng(count)
    info = np.iinfo(dtype)
    values = frozen(rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True))
    valid = rng.random(count) >= null_share
    for start in sorted({0, count // 3}):
        blocks = blocks_for(8)
        bloom.insert_numbers(values, bitmap(valid, 5), 5, start, count, SCRATCH, blocks)
        kept = [value.tobytes() for value in values[start:][valid[start:]]]
        assert blocks.tobytes() == naive.bitset_of(kept, 256)
    blocks = blocks_for(32)
    bloom.insert_numbers(values, array(b""), 0, 0, count, SCRATCH, blocks)
    assert blocks.tobytes() == naive.bitset_of([value.tobytes() for value in values], 1024)


VALUES = st.lists(st.binary(max_size=40), max_size=150)


@settings(max_examples=100, deadline=None)
@given(VALUES, st.integers(0, 12), st.integers(0, 2**32), st.sampled_from([np.int32, np.int64]))
def test_byte_arrays(values: list[bytes], offset: int, seed: int, dtype: type) -> None:
    valid = np.random.default_rng(seed).random(len(values)) < 0.8
    data = array(b"?" * 3 + b"".join(values))
    offsets = frozen(np.cumsum([3, *map(len, values)]).astype(dtype))
    start = len(values) // 3
    blocks = blocks_for(4)
    assert bloom.insert_byte_arrays(offsets, data, bitmap(valid, offset), offset, start, len(values), blocks) == 0
    kept = [values[k] for k in range(start, len(values)) if valid[k]]
    assert blocks.tobytes() == naive.bitset_of(kept, 128)
    page = array(b"".join(struct.pack("<I", len(value)) + value for value in values))
    blocks = blocks_for(4)
    bloom.insert_plain_byte_arrays(page, blocks)
    assert blocks.tobytes() == naive.bitset_of(values, 128)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("offsets", [[-1, 2, 3], [0, 4, 2], [0, 1, 7], [0, 1, 2**31 - 1], [5, 9, 9]])
def test_wrong_offsets_are_not_followed(offsets: list[int], dtype: type) -> None:
    found = frozen(np.array(offsets, dtype))
    status = bloom.insert_byte_arrays(found, array(b"abcdef"), array(b""), 0, 0, 2, blocks_for(1))
    assert status == bloom.INVALID_OFFSETS


@pytest.mark.parametrize("width", [0, 1, 2, 7, 8, 16, 33])
def test_fixed_byte_arrays(width: int) -> None:
    rng = np.random.default_rng(width)
    values = [rng.bytes(width) for _ in range(130)]
    valid = rng.random(130) < 0.7
    blocks = blocks_for(2)
    bloom.insert_fixed_byte_arrays(array(b"".join(values)), width, bitmap(valid, 3), 3, 20, 130, blocks)
    assert blocks.tobytes() == naive.bitset_of([values[k] for k in range(20, 130) if valid[k]], 64)


def measured(blocks: np.ndarray) -> float:
    """Share of random hashes of which all eight bits are set."""
    bits = np.unpackbits(blocks.view(np.uint8), bitorder="little")
    hashes = [naive.xxh64(struct.pack("<q", -k)) for k in range(1, 4001)]
    return sum(all(bits[bit] for bit in naive.bits_of(hashed, len(blocks) // 8)) for hashed in hashes) / 4000


@pytest.mark.parametrize("fpp", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("count", [0, 1, 10, 700, 5000])
def test_folded_is_as_small_as_the_fpp_allows(count: int, fpp: float) -> None:
    values = frozen(np.arange(count))
    blocks = blocks_for(1 << 10)
    bloom.insert_numbers(values, array(b""), 0, 0, count, SCRATCH, blocks)
    left = blocks[: bloom.fold(blocks, fpp)]
    assert left.tobytes() == naive.bitset_of([value.tobytes() for value in values], 4 * len(left))
    assert measured(left) <= 1.3 * fpp + 0.005
    if len(left) > 8:
        half = np.frombuffer(naive.bitset_of([value.tobytes() for value in values], 2 * len(left)), np.uint32)
        assert measured(half) > 0.8 * fpp


def test_a_filter_that_is_too_small_is_not_folded() -> None:
    blocks = np.full(64, 0xFFFFFFFF, np.uint32)
    assert bloom.fold(blocks, 0.99) == 64
    assert blocks.tobytes() == b"\xff" * 256
