"""The RLE/bit-packed hybrid: golden bytes, an independent decoder, and sizes around every internal constant."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive.encodings as oracle
from colwriter.kernels import rle
from colwriter.kernels.page_table import DEFINITION_BYTES, END, LEAD, START
from page_tables import page_table, pages_of

# Groups of 8; headers of one byte below 64 groups, of two up to 8191; minimum runs 8, 16, 24; words of 64 bits.
EDGES = sorted(
    {
        max(n + d, 0)
        for n in (0, 8, 16, 24, 32, 63 * 8, 64 * 8, 65 * 8, 8191 * 8, 8192 * 8, 1 << 14)
        for d in (-9, -1, 0, 1, 7)
    }
)


def decode(data: bytes, width: int, count: int) -> list[int]:
    """The values of a page, which must be these runs and nothing else."""
    decoded = oracle.hybrid(bytes(data), width, count)
    assert decoded.end == len(data)
    assert not decoded.problems
    return decoded.values


def page_starts(cuts: list[int], count: int) -> np.ndarray:
    return np.array(sorted({0, count, *(c % (count + 1) for c in cuts)}), np.int64)


def encode_levels(levels: np.ndarray, width: int, starts: np.ndarray) -> list[bytes]:
    padded = np.concatenate([levels, np.full(rle.LEVEL_PADDING, 0xAA, np.uint8)])
    out = np.full(rle.hybrid_bound(len(levels), len(starts) - 1, width), 0x55, np.uint8)
    table = page_table(starts)
    size = rle.encode_levels(padded, width, table, DEFINITION_BYTES, out)
    assert size <= len(out)
    return levels_of(table, out, size)


def levels_of(table: np.ndarray, out: np.ndarray, size: int) -> list[bytes]:
    """The encoded levels of each page, which follow one another."""
    fences = np.concatenate([[0], np.cumsum(table[:-1, DEFINITION_BYTES])])
    assert fences[-1] == size
    return [out[a:b].tobytes() for a, b in pairwise(fences)]


def encode_bitmap(bits: np.ndarray, offset: int, starts: np.ndarray) -> list[bytes]:
    bitmap = np.packbits(np.concatenate([np.ones(offset, np.uint8), bits]), bitorder="little")
    return encode_packed(bitmap, offset, 1, len(bits), starts)


def encode_packed(data: np.ndarray, offset: int, width: int, count: int, starts: np.ndarray) -> list[bytes]:
    """The pages, which do not depend on what the memory held before, nor on what follows it."""
    size = rle.hybrid_bound(count, len(starts) - 1, width)
    found = []
    for fill in (0, 0x55, 0xFF):
        memory = np.full(size + 4096, fill, np.uint8)
        out, table = memory[:size], page_table(starts)
        written = rle.encode_packed(data, offset, width, table, DEFINITION_BYTES, out)
        assert written <= size
        assert (memory[size:] == fill).all()
        found.append(levels_of(table, out, written))
    assert found[0] == found[1] == found[2]
    return found[0]


def encode_indices(indices: np.ndarray, width: int, starts: np.ndarray) -> list[bytes]:
    pages = len(starts) - 1
    out = np.full(rle.hybrid_bound(len(indices), pages, width) + pages * (LEAD + 3) + 64, 0x55, np.uint8)
    table = page_table(starts, 3)
    padded = np.concatenate([indices, np.full(rle.INDEX_PADDING, 0x0AAAAAAA, np.int32)])
    rle.encode_indices(padded, 1, table, out)
    assert (table[:-1, START] == np.append(0, table[:-2, END]) + LEAD + 3).all()
    return pages_of(table, out)


def runs(rng: np.random.Generator, count: int, values: int, longest: int) -> np.ndarray:
    """Values in runs of random lengths: never periodic."""
    if count == 0:
        return np.zeros(0, np.int64)
    lengths = rng.integers(1, longest + 1, count)
    return np.repeat(rng.integers(0, values, count), lengths)[:count]


def test_golden_specification_example() -> None:
    """Encodings.md: the numbers 0 to 7 in three bits are 10001000 11000110 11111010, after the header of one group."""
    levels = np.arange(8, dtype=np.uint8)
    assert encode_levels(levels, 3, np.array([0, 8]))[0] == bytes([0x03, 0b10001000, 0b11000110, 0b11111010])


def test_golden_runs() -> None:
    one = np.ones(100, np.uint8)
    assert encode_levels(one, 1, np.array([0, 100])) == [bytes([0xC8, 0x01, 0x01])]
    assert encode_bitmap(one, 3, np.array([0, 100])) == [bytes([0xC8, 0x01, 0x01])]
    assert encode_indices(np.full(100, 300, np.int32), 9, np.array([0, 100])) == [bytes([9, 0xC8, 0x01, 0x2C, 0x01])]
    # 16 levels that differ: one bit-packed run of two groups.
    alternating = np.arange(16, dtype=np.uint8) % 2
    assert encode_levels(alternating, 1, np.array([0, 16])) == [bytes([0x05, 0xAA, 0xAA])]
    assert encode_bitmap(alternating, 5, np.array([0, 16])) == [bytes([0x05, 0xAA, 0xAA])]


def test_constant_pages() -> None:
    out = np.zeros(100, np.uint8)
    table = page_table([0, 5, 70_000])
    first, second = levels_of(table, out, rle.encode_constant(3, table, DEFINITION_BYTES, out))
    assert decode(first, 2, 5) == [3] * 5
    assert decode(second, 2, 69_995) == [3] * 69_995


@pytest.mark.parametrize("longest", [1, 12, 40, 3000])
@pytest.mark.parametrize("count", EDGES)
def test_sizes_around_constants(count: int, longest: int) -> None:
    rng = np.random.default_rng(count * 31 + longest)
    starts = page_starts([count // 3], count)
    for width in (1, 2, 5):
        levels = runs(rng, count, 1 << width, longest).astype(np.uint8)
        for page, data in enumerate(encode_levels(levels, width, starts)):
            a, b = starts[page], starts[page + 1]
            assert decode(data, width, b - a) == levels[a:b].tolist()
    bits = runs(rng, count, 2, longest).astype(np.uint8)
    for page, data in enumerate(encode_bitmap(bits, 5, starts)):
        a, b = starts[page], starts[page + 1]
        assert decode(data, 1, b - a) == bits[a:b].tolist()


def encode_pairs(levels: np.ndarray, starts: np.ndarray) -> list[bytes]:
    bits = np.stack([levels & 1, levels >> 1], axis=1).ravel()
    packed = np.packbits(bits.astype(np.uint8), bitorder="little")
    return encode_packed(packed, 0, 2, len(levels), starts)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.integers(0, 2000), st.sampled_from(EDGES)),
    st.lists(st.integers(0, 2000), max_size=4),
    st.sampled_from([1, 3, 14, 15, 16, 17, 40, 300, 3000]),
    st.integers(0, 2**32),
)
def test_pairs(count: int, cuts: list[int], longest: int, seed: int) -> None:
    starts = page_starts(cuts, count)
    levels = runs(np.random.default_rng(seed), count, 4, longest).astype(np.uint8)
    for page, data in enumerate(encode_pairs(levels, starts)):
        a, b = starts[page], starts[page + 1]
        assert decode(data, 2, b - a) == levels[a:b].tolist()
        assert len(data) <= (b - a + 7) // 8 * 2 + 2 + (b - a) // 512


# Of packed levels: the least runs, 24 and 16; marks that one load shows, 56; groups of one step, in 64 and 120 bits;
# runs of more marks than two loads show; bit-packed runs of 63 groups and of 8191.
LENGTHS = sorted(
    {n + d for n in (8, 16, 24, 32, 56, 64, 80, 104, 112, 120, 128, 136, 504, 512) for d in (-1, 0, 1)}
    | {65_528, 70_001}
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(LENGTHS), st.booleans()), max_size=12),
    st.integers(0, 70),
    st.lists(st.integers(0, 200_000), max_size=3),
    st.integers(0, 2**32),
)
def test_packed_levels_around_constants(
    stretches: list[tuple[int, bool]], offset: int, cuts: list[int], seed: int
) -> None:
    """Runs and random levels by turns, of lengths around constants; a page's bytes depend on nothing beside it."""
    rng = np.random.default_rng(seed)
    parts = [np.full(n, rng.integers(0, 4)) if is_run else rng.integers(0, 4, n) for n, is_run in stretches]
    levels = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.uint8)
    starts = page_starts(cuts, len(levels))
    bits = encode_bitmap(levels & 1, offset, starts)
    pairs = encode_pairs(levels, starts)
    for page in range(len(starts) - 1):
        part = levels[starts[page] : starts[page + 1]]
        assert decode(bits[page], 1, len(part)) == (part & 1).tolist()
        assert decode(pairs[page], 2, len(part)) == part.tolist()
        alone = np.array([0, len(part)])
        assert encode_bitmap(part & 1, 0, alone) == [bits[page]]
        assert encode_pairs(part, alone) == [pairs[page]]


@pytest.mark.parametrize("density", [0.1, 0.5, 0.9])
def test_packed_levels_of_any_length(density: float) -> None:
    """The last step may look beyond the page for the next run: of 1812 random levels it once did not stop."""
    rng = np.random.default_rng(3)
    for count in [*range(1, 700), *range(1750, 1900)]:
        bits = (rng.random(count) < density).astype(np.uint8)
        (data,) = encode_bitmap(bits, 3, np.array([0, count]))
        assert decode(data, 1, count) == bits.tolist()
        (data,) = encode_pairs(bits * 2, np.array([0, count]))
        assert decode(data, 2, count) == (bits * 2).tolist()


@pytest.mark.parametrize("length", [1, 2, 23, 24, 25, 79, 80, 81, 135, 136, 137, 20_000])
@pytest.mark.parametrize("value", [0, 1, 3])
def test_golden_packed_runs(length: int, value: int) -> None:
    """A page of one value is one run, however short."""
    levels = np.full(length, value, np.uint8)
    header = [length << 1] if length < 64 else [(length << 1) & 127 | 128, (length << 1) >> 7]
    header = header if length < 8192 else [(length << 1) & 127 | 128, (length >> 6) & 127 | 128, length >> 13]
    assert encode_pairs(levels, np.array([0, length])) == [bytes([*header, value])]
    assert encode_bitmap(levels & 1, 3, np.array([0, length])) == [bytes([*header, value & 1])]


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2000),
    st.integers(1, 8),
    st.integers(0, 70),
    st.lists(st.integers(0, 2000), max_size=4),
    st.sampled_from([1, 3, 9, 30, 300]),
    st.integers(0, 2**32),
)
def test_levels_and_bitmaps(count: int, width: int, offset: int, cuts: list[int], longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = page_starts(cuts, count)
    levels = runs(rng, count, 1 << width, longest).astype(np.uint8)
    for page, data in enumerate(encode_levels(levels, width, starts)):
        a, b = starts[page], starts[page + 1]
        assert decode(data, width, b - a) == levels[a:b].tolist()
        assert len(data) <= (b - a + 7) // 8 * width + 2 + (b - a) // 512
    bits = levels & 1
    for page, data in enumerate(encode_bitmap(bits, offset, starts)):
        a, b = starts[page], starts[page + 1]
        assert decode(data, 1, b - a) == bits[a:b].tolist()
        assert len(data) <= (b - a + 7) // 8 + 2 + (b - a) // 512


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 1500),
    st.integers(1, 28),
    st.lists(st.integers(0, 1500), max_size=4),
    st.sampled_from([1, 3, 9, 30, 300]),
    st.integers(0, 2**32),
)
def test_indices(count: int, width: int, cuts: list[int], longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = page_starts(cuts, count)
    indices = runs(rng, count, 1 << width, longest).astype(np.int32)
    for page, data in enumerate(encode_indices(indices, width, starts)):
        a, b = starts[page], starts[page + 1]
        needed = max(int(indices[a:b].max(initial=0)).bit_length(), 1)
        assert data[0] == needed
        assert decode(data[1:], needed, b - a) == indices[a:b].tolist()
