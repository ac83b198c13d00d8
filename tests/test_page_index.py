"""Column index and offset index: the kernels against the Thrift encoder of the structures that readers use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter import thrift
from colwriter.arena import Arena
from colwriter.buffers import frozen
from colwriter.kernels.page_table import GREATEST, HEADER, LEAST, STORED_END, VALUE, VALUE_BYTES
from colwriter.leaf_types import LeafType, TypeOptions, leaf_type
from colwriter.metadata import BoundaryOrder, ColumnIndex, OffsetIndex, PageLocation
from colwriter.page_index import BoundLengths, PageBounds, byte_array_bounds, column_index, number_bounds, offset_index
from colwriter.pages import NO_HISTOGRAM, NO_HISTOGRAMS, Histograms, Pages
from colwriter.statistics import truncate_max, truncate_min

ASCENDING, DESCENDING, UNORDERED = BoundaryOrder.ASCENDING, BoundaryOrder.DESCENDING, BoundaryOrder.UNORDERED
LEAVES = {np.int32: leaf_type(pa.int32(), TypeOptions()), np.int64: leaf_type(pa.int64(), TypeOptions())}
BYTES = leaf_type(pa.binary(), TypeOptions())
LIMITS = BoundLengths(statistics=64, column_index=32)
# Lists have a long header from 15 elements on; varints grow at every seventh bit.
NUMBERS = st.one_of(st.integers(0, 200), st.sampled_from([63, 64, 8191, 8192, 2**31, 2**40, 2**62]))


def pages(num_levels: list[int], num_values: list[int]) -> Pages:
    fences = [np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) for counts in (num_levels, num_values)]
    return Pages.of(fences[0], fences[0], fences[0], fences[1])


def pages_of_rows(first_rows: list[int]) -> Pages:
    return Pages.of(*[[*first_rows, 2**62]] * 4)


def bounds_of(table: Pages, minima: list[int], maxima: list[int], leaf: LeafType = LEAVES[np.int64]) -> PageBounds:
    table.table[:-1, LEAST], table.table[:-1, GREATEST] = minima, maxima
    return number_bounds(table, leaf)


def byte_bounds(table: Pages, minima: list[bytes], maxima: list[bytes], leaf: LeafType = BYTES) -> PageBounds:
    """Bounds of the pages that have values, the others having none, in a buffer with something between them."""
    sides = zip(minima, maxima, strict=True)
    flat = [value for count in np.diff(table.fences(VALUE)) for value in (next(sides) if count else (b"", b""))]
    lengths = np.array([len(value) for value in flat], np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    data = frozen(np.frombuffer(b"".join(value + b"\xfe" for value in flat), np.uint8))
    places = np.stack((starts, lengths), axis=1).reshape(-1, 4)
    found = PageBounds(data, places, int(lengths.sum()), 0, None, None)
    return byte_array_bounds(table, found, int(lengths.max(initial=0)), leaf, LIMITS)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 2**31 - 1), NUMBERS, NUMBERS), min_size=1, max_size=40), NUMBERS, st.booleans()
)
def test_offset_index(rows: list[tuple[int, int, int]], start: int, with_bytes: bool) -> None:
    sizes, first_rows, value_bytes = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    offsets = start + np.cumsum(sizes) - sizes
    expected = OffsetIndex(
        tuple(PageLocation(*map(int, row)) for row in zip(offsets, sizes, first_rows, strict=True)),
        value_bytes if with_bytes else None,
    )
    table = pages_of_rows(first_rows.tolist())
    table.table[:-1, [STORED_END, VALUE_BYTES]] = np.stack((sizes + 7, value_bytes), axis=1)
    table.table[:-1, HEADER] = 7
    assert offset_index(table, start, with_bytes) == thrift.encode(expected)


def naive_order(minima: list, maxima: list) -> BoundaryOrder:
    if minima == sorted(minima) and maxima == sorted(maxima):
        return ASCENDING if minima else UNORDERED
    falling = minima == sorted(minima)[::-1] and maxima == sorted(maxima)[::-1]
    return DESCENDING if falling else UNORDERED


def _with_chunk(histogram: np.ndarray | None) -> np.ndarray:
    return NO_HISTOGRAM if histogram is None else np.vstack([histogram, histogram.sum(axis=0)])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 300), st.text(max_size=80), st.text(max_size=80), NUMBERS, NUMBERS),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(["none", "definition", "both"]),
)
def test_column_index(rows: list, kind: str) -> None:
    num_values = [0 if null else 1 + extra for null, extra, *_ in rows]
    num_levels = [n + extra for n, (_, extra, *_) in zip(num_values, rows, strict=True)]
    filled = [row for row in rows if not row[0]]
    minima, maxima = [r[2].encode() for r in filled], [r[3].encode() for r in filled]
    definition = np.array([[r[4], r[5]] for r in rows], np.int64) if kind != "none" else None
    repetition = np.array([[r[5], 1, r[4]] for r in rows], np.int64) if kind == "both" else None
    table = pages(num_levels, num_values)
    bounds = byte_bounds(table, minima, maxima)
    histograms = Histograms(_with_chunk(repetition), _with_chunk(definition), None, None)
    encoded = column_index(table, bounds, histograms, False, Arena())
    stored = [truncate_min(v, False, 32).value for v in minima], [truncate_max(v, False, 32).value for v in maxima]
    order = naive_order(*stored)
    low, high = map(iter, stored)
    if filled:
        assert bounds.least == truncate_min(min(minima), False, 64)
        assert bounds.greatest == truncate_max(max(maxima), False, 64)
    else:
        assert (bounds.least, bounds.greatest) == (None, None)
    expected = ColumnIndex(
        null_pages=tuple(r[0] for r in rows),
        min_values=tuple(b"" if r[0] else next(low) for r in rows),
        max_values=tuple(b"" if r[0] else next(high) for r in rows),
        boundary_order=order,
        null_counts=np.array(num_levels) - num_values,
        repetition_level_histograms=repetition,
        definition_level_histograms=definition,
    )
    assert encoded == thrift.encode(expected)


@pytest.mark.parametrize(
    ("minima", "maxima", "order"),
    [
        # arrow-rs, page_index tests; null pages are left out before.
        ([-10, -5, -5], [10, 11, 11], ASCENDING),
        ([10, 5, -5], [11, 11, 0], DESCENDING),
        ([10, 10], [11, 11], ASCENDING),
        ([], [], UNORDERED),
        ([-10], [10], ASCENDING),
        ([10, 11, -5], [11, 16, 0], UNORDERED),
        ([1, 2, 3], [9, 8, 7], UNORDERED),
        ([0, 0, 0], [6, 5, 4], DESCENDING),
    ],
)
def test_boundary_order(minima: list[int], maxima: list[int], order: BoundaryOrder) -> None:
    table = pages([1] * len(minima), [1] * len(minima))
    assert bounds_of(table, minima, maxima).order == order
    texts = [[b"%03d" % (v + 100) for v in values] for values in (minima, maxima)]
    assert byte_bounds(table, *texts).order == order
    # Pages without values, wherever they are, say nothing.
    some = [0, *(1 for _ in minima), 0]
    spread = pages([1] * len(some), some)
    assert bounds_of(spread, [99, *minima, -99], [-99, *maxima, 99]).order == order
    assert byte_bounds(spread, *texts).order == order


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=3), st.binary(max_size=3)), min_size=1, max_size=5))
def test_order_of_byte_arrays(rows: list[tuple[bytes, bytes]]) -> None:
    minima, maxima = map(list, zip(*rows, strict=True))
    bounds = byte_bounds(pages([1] * len(rows), [1] * len(rows)), minima, maxima)
    assert bounds.order == naive_order(minima, maxima)
    assert (bounds.least.value, bounds.greatest.value) == (min(minima), max(maxima))


def test_bounds_are_stored_little_endian() -> None:
    table = pages([1, 2, 1], [1, 0, 1])
    bounds = bounds_of(table, [-1, 7, 2], [1, 7, 256], LEAVES[np.int32])
    assert (bounds.least.value, bounds.greatest.value) == (b"\xff\xff\xff\xff", b"\0\x01\0\0")
    encoded = column_index(table, bounds, NO_HISTOGRAMS, False, Arena())
    expected = ColumnIndex(
        (False, True, False),
        (b"\xff\xff\xff\xff", b"", b"\2\0\0\0"),
        (b"\1\0\0\0", b"", b"\0\1\0\0"),
        ASCENDING,
        np.array([0, 2, 0]),
    )
    assert encoded == thrift.encode(expected)
