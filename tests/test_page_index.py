"""Column index and offset index: the kernels against the Thrift encoder of the structures that readers use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter import thrift
from colwriter.metadata import BoundaryOrder, ColumnIndex, OffsetIndex, PageLocation
from colwriter.page_index import ByteArrayBounds, NumberBounds, column_index, offset_index
from colwriter.pages import Histograms, Pages

ASCENDING, DESCENDING, UNORDERED = BoundaryOrder.ASCENDING, BoundaryOrder.DESCENDING, BoundaryOrder.UNORDERED
# Lists have a long header from 15 elements on; varints grow at every seventh bit.
NUMBERS = st.one_of(st.integers(0, 200), st.sampled_from([63, 64, 8191, 8192, 2**31, 2**40, 2**62]))


def pages(num_levels: list[int], num_values: list[int]) -> Pages:
    fences = [np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) for counts in (num_levels, num_values)]
    return Pages.of(np.array([fences[0], fences[0], fences[0], fences[1]]))


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
    assert offset_index(start, sizes, first_rows, value_bytes if with_bytes else None) == thrift.encode(expected)


def _with_chunk(histogram: np.ndarray | None) -> np.ndarray | None:
    return None if histogram is None else np.vstack([histogram, histogram.sum(axis=0)])


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
    minima, maxima = [r[2].encode()[:64] for r in filled], [r[3].encode()[:64] for r in filled]
    definition = np.array([[r[4], r[5]] for r in rows], np.int64) if kind != "none" else None
    repetition = np.array([[r[5], 1, r[4]] for r in rows], np.int64) if kind == "both" else None
    table = pages(num_levels, num_values)
    bounds = ByteArrayBounds(minima, maxima, False)
    encoded = column_index(table, bounds, Histograms(_with_chunk(repetition), _with_chunk(definition)))
    order = bounds.of_pages(table.num_values == 0)[2]
    low, high = iter(minima), iter(maxima)
    expected = ColumnIndex(
        null_pages=tuple(r[0] for r in rows),
        min_values=tuple(b"" if r[0] else next(low) for r in rows),
        max_values=tuple(b"" if r[0] else next(high) for r in rows),
        boundary_order=order,
        null_counts=table.null_counts,
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
    pages = np.zeros(len(minima), np.bool_)
    assert NumberBounds(np.array(minima, np.int64), np.array(maxima, np.int64), "<i8").of_pages(pages)[2] == order
    texts = [[b"%03d" % (v + 100) for v in values] for values in (minima, maxima)]
    assert ByteArrayBounds(*texts, True).of_pages(pages)[2] == order


def test_bounds_are_stored_little_endian() -> None:
    bounds = NumberBounds(np.array([-1, 2]), np.array([1, 256]), "<i4")
    stored = b"\xff\xff\xff\xff", b"\x02\0\0\0"
    minima, maxima, _ = bounds.of_pages(np.zeros(2, np.bool_))
    assert minima == b"\x19\x28" + b"".join(b"\x04" + v for v in stored)
    assert maxima == b"\x19\x28\x04\x01\0\0\0\x04\0\x01\0\0"
    minima, _, _ = bounds.of_pages(np.array([False, True, False]))
    assert minima == b"\x19\x38\x04\xff\xff\xff\xff\x00\x04\x02\0\0\0"
    least, greatest = bounds.of_chunk()
    assert (least.value, greatest.value) == (b"\xff\xff\xff\xff", b"\0\x01\0\0")
