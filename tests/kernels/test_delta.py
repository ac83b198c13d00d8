"""Delta encodings against the examples of Encodings.md, and the decoders of the oracle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter.kernels import delta, extremes, plain
from colwriter.kernels.page_table import END, GREATEST, LEAD, LEAST, START, VALUE_BYTES
from naive.encodings import Decoded, delta_binary_packed, delta_byte_array, delta_length_byte_array
from page_tables import page_table, pages_of

LEVEL_BYTES = 7
# Around the ends of miniblocks and blocks: the first value of a page is in none of them.
COUNTS = (
    0,
    1,
    2,
    31,
    32,
    33,
    34,
    63,
    64,
    65,
    127,
    128,
    129,
    130,
    160,
    161,
    162,
    255,
    256,
    257,
    258,
    320,
    321,
    322,
    385,
    386,
    512,
    513,
    514,
)
DTYPES = (np.int32, np.int64)


def _scratch(dtype: type) -> tuple[np.ndarray, ...]:
    block = delta.block_size(np.dtype(dtype).itemsize)
    lanes = np.zeros(block // delta.MINIBLOCKS, np.uint64)
    views = [lanes.view(kind) for kind in (np.uint8, np.uint16, np.uint32)]
    return np.zeros(block, dtype), np.zeros_like(lanes), *views, lanes


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def encode_integers(values: np.ndarray, cuts: tuple[int, ...] = ()) -> list[bytes]:
    """The pages of values that are cut at ``cuts``."""
    fences = np.array([0, *sorted(cuts), len(values)], np.int64)
    pages = len(fences) - 1
    size = delta.delta_bound(len(values), pages, values.itemsize) + pages * (LEAD + LEVEL_BYTES)
    out = np.full(size + plain.OUT_PADDING, 0xAA, np.uint8)
    table = page_table(fences, LEVEL_BYTES)
    ranges = np.stack((fences[:-1], fences[1:]), axis=1)
    last = delta.encode_integers(_frozen(values.copy()), ranges, *_scratch(values.dtype), table, out)
    assert last == table[-2, END] <= size
    assert (table[:-1, START] == np.append(0, table[:-2, END]) + LEAD + LEVEL_BYTES).all()
    return pages_of(table, out)


def check_integers(values: np.ndarray, cuts: tuple[int, ...] = ()) -> None:
    bits = 8 * values.itemsize
    for data, (start, end) in zip(
        encode_integers(values, cuts), pairwise([0, *sorted(cuts), len(values)]), strict=True
    ):
        assert delta_binary_packed(data, bits) == Decoded(values[start:end].tolist(), len(data))


def encode_byte_arrays(
    values: list[bytes | None], prefixed: bool, cuts: tuple[int, ...] = (), dtype: type = np.int32, hidden: bytes = b""
) -> list[tuple[bytes, int, int, int]]:
    """Pages of values: their bytes, the slots of the least and the greatest, and the bytes of the values."""
    slots = [hidden if value is None else value for value in values]
    data = np.frombuffer(b"?" * 3 + b"".join(slots), np.uint8)
    offsets = _frozen(np.cumsum([3, *map(len, slots)]).astype(dtype))
    valid = np.array([value is not None for value in values], np.uint8)
    validity = np.packbits(np.concatenate([np.ones(5, np.uint8), valid]), bitorder="little")
    fences = np.array([0, *sorted(cuts), len(values)], np.int64)
    pages = len(fences) - 1
    size = 2 * delta.delta_bound(len(values), pages, 4) + len(data) + pages * (LEAD + LEVEL_BYTES)
    out = np.full(size + plain.OUT_PADDING, 0xAA, np.uint8)
    table = page_table(fences, LEVEL_BYTES)
    lengths = np.zeros((2, len(values)), np.int32)
    last = delta.encode_byte_arrays(
        offsets,
        data,
        _frozen(validity),
        5,
        prefixed,
        True,
        np.zeros(extremes.SCRATCH, np.int64),
        np.zeros(len(values), np.int64),
        *lengths,
        *_scratch(np.int32),
        table,
        out,
    )
    assert last == table[-2, END] <= size
    found = table[:-1, [LEAST, GREATEST, VALUE_BYTES]].tolist()
    return [(data, *of_page) for data, of_page in zip(pages_of(table, out), found, strict=True)]


def _shared(a: bytes, b: bytes) -> int:
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def check_byte_arrays(values: list[bytes | None], cuts: tuple[int, ...] = (), **layout: object) -> None:
    for prefixed, decode in ((False, delta_length_byte_array), (True, delta_byte_array)):
        pages = encode_byte_arrays(values, prefixed, cuts, **layout)
        for (data, least, greatest, total), (start, end) in zip(
            pages, pairwise([0, *sorted(cuts), len(values)]), strict=True
        ):
            kept = [value for value in values[start:end] if value is not None]
            assert decode(data) == Decoded(kept, len(data))
            assert total == sum(map(len, kept))
            if prefixed:
                shared = [_shared(*pair) for pair in pairwise(kept)]
                assert delta_binary_packed(data, 32).values == [0, *shared][: len(kept)]
            if kept:
                assert (values[least], values[greatest]) == (min(kept), max(kept))
            else:
                assert least == greatest == -1


# The examples of Encodings.md, whose block of 8 values in one miniblock is not allowed: 128 or 256 in four instead.
HEADER = "80 01 04"
LONG_HEADER = "80 02 04"


@pytest.mark.parametrize(
    ("values", "rest", "padding"),
    [
        ([1, 2, 3, 4, 5], "05 02  02 00 00 00 00", 0),
        ([7, 5, 3, 1, 2, 3, 4, 5], "08 0e  03 02 00 00 00  c0 3f", 2),
        ([], "00 00", 0),
        ([-1], "01 01", 0),
    ],
)
def test_integers_of_the_specification(values: list[int], rest: str, padding: int) -> None:
    """``padding``: bits of each value, to the end of a miniblock of 32 or 64 of them."""
    for dtype, header, miniblock in ((np.int32, HEADER, 32), (np.int64, LONG_HEADER, 64)):
        expected = bytes.fromhex(header + rest) + bytes(max(padding * miniblock // 8 - 2, 0))
        assert encode_integers(np.array(values, dtype)) == [expected]


def test_lengths_of_the_specification() -> None:
    ((data, *_),) = encode_byte_arrays([b"Hello", b"World", b"Foobar", b"ABCDEF"], prefixed=False)
    lengths = bytes.fromhex(f"{HEADER} 04 0a  00 01 00 00 00  02 00 00 00")
    assert data == lengths + b"HelloWorldFoobarABCDEF"


def test_prefixes_of_the_specification() -> None:
    ((data, *_),) = encode_byte_arrays([b"axis", b"axle", b"babble", b"babyhood"], prefixed=True)
    # Differences 2, -2, 3 less -2 in three bits, and -2, 4, -1 less -2 too.
    prefixes = bytes.fromhex(f"{HEADER} 04 00  03 03 00 00 00  44 01 00 00" + "00" * 8)
    suffixes = bytes.fromhex(f"{HEADER} 04 08  03 03 00 00 00  70 00 00 00" + "00" * 8)
    assert data == prefixes + suffixes + b"axislebabbleyhood"


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_width(dtype: type) -> None:
    size = 8 * np.dtype(dtype).itemsize
    rng = np.random.default_rng(size)
    for width in range(size + 1):
        count = COUNTS[width % len(COUNTS)] + 140
        numbers = rng.integers(0, 2**64 - 1, count, np.uint64, endpoint=True) >> np.uint64(64 - max(width, 1))
        numbers *= np.uint64(width > 0)
        numbers[40:60] = 0  # a miniblock of another width, and the least difference is known
        with np.errstate(over="ignore"):
            check_integers(np.cumsum(numbers.astype(dtype), dtype=dtype))
            check_integers(numbers.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", COUNTS)
def test_every_count(count: int, dtype: type) -> None:
    info = np.iinfo(dtype)
    values = np.random.default_rng(count).integers(info.min, info.max, count, dtype, endpoint=True)
    check_integers(values)
    check_integers(values >> 20)
    check_integers(values, (count // 3, count // 3, count))


@pytest.mark.parametrize(("dtype", "header", "size"), [(np.int32, HEADER, 32), (np.int64, LONG_HEADER, 64)])
def test_width_of_a_miniblock_is_that_of_its_largest_difference(dtype: type, header: str, size: int) -> None:
    steps = np.ones(8 * size, dtype)
    steps[[size - 1, size, 2 * size + 17]] = 2, 9, 128
    (data,) = encode_integers(np.cumsum(np.append(0, steps), dtype=dtype))
    count = {32: "81 02", 64: "81 04"}[size]  # 257, 513; then the first value, 0, and the least difference, 1
    assert data[:7] == bytes.fromhex(header + count + "00 02")
    assert list(data[7:11]) == [1, 4, 7, 0]
    assert data[11 + size // 8 * (1 + 4 + 7) :] == bytes.fromhex("02 00 00 00 00")


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 3),
    st.sampled_from([-(2**63), 2**63 - 1, -(2**31), 2**31 - 1, 2**31, 2**32, 0]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBERS, max_size=300), st.lists(st.floats(0, 1), max_size=3), st.sampled_from(DTYPES))
def test_any_integers(numbers: list[int], cuts: list[float], dtype: type) -> None:
    values = np.array(numbers, np.int64).astype(dtype)
    check_integers(values, tuple(int(cut * len(values)) for cut in cuts))


# Prefixes around the words of eight bytes that are compared at once, lengths around the 32 bytes that are copied.
STEMS = [b"", b"a", b"abcdefg", b"abcdefgh", b"abcdefghi", "naïve ☃ ".encode() * 3, b"\x00" * 40, b"\xff" * 33]
VALUES = st.none() | st.builds(
    lambda stem, cut, rest: stem[:cut] + rest, st.sampled_from(STEMS), st.integers(0, 40), st.binary(max_size=9)
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(VALUES, max_size=150),
    st.lists(st.floats(0, 1), max_size=3),
    st.sampled_from(DTYPES),
    st.sampled_from([b"", b"hidden"]),
)
def test_any_byte_arrays(values: list[bytes | None], cuts: list[float], dtype: type, hidden: bytes) -> None:
    check_byte_arrays(values, tuple(int(cut * len(values)) for cut in cuts), dtype=dtype, hidden=hidden)


@pytest.mark.parametrize("count", COUNTS)
def test_byte_arrays_of_every_count(count: int) -> None:
    rng = np.random.default_rng(count)
    values: list[bytes | None] = [f"{k:04}".encode() * int(rng.integers(0, 12)) for k in range(count)]
    check_byte_arrays(values, (count // 2,))
    check_byte_arrays([None] * count)
    check_byte_arrays([b""] * count)
    check_byte_arrays([b"the same each time, and longer than 32 bytes"] * count)


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize("offsets", [[0, 5, 3, 8], [0, 2, 4, 99], [-4, 2, 4, 8], [4, 2, 6, 8]])
def test_wrong_offsets_are_a_status(offsets: list[int], prefixed: bool) -> None:
    lengths = np.zeros((2, 3), np.int32)
    status = delta.encode_byte_arrays(
        _frozen(np.array(offsets, np.int32)),
        _frozen(np.zeros(8, np.uint8)),
        _frozen(np.zeros(0, np.uint8)),
        0,
        prefixed,
        True,
        np.zeros(extremes.SCRATCH, np.int64),
        np.zeros(3, np.int64),
        *lengths,
        *_scratch(np.int32),
        page_table([0, 3]),
        np.zeros(500, np.uint8),
    )
    assert status == plain.INVALID_OFFSETS
