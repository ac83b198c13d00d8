"""``ColumnIndex`` and ``OffsetIndex`` of a column chunk (Parquet specification, PageIndex.md), from its pages."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import frozen
from colwriter.keys import find_nan_extremes, stored_bounds
from colwriter.leaf_types import LeafType, Order, Storage
from colwriter.levels import LeafColumn
from colwriter.pages import NO_HISTOGRAM, NO_NUMBERS, Histograms, Pages
from colwriter.statistics import Bound, truncate_max, truncate_min

__all__ = [
    "BoundLengths",
    "PageBounds",
    "byte_array_bounds",
    "column_index",
    "number_bounds",
    "offset_index",
    "page_bounds",
]

Bytes = NDArray[np.uint8]
Int64s = NDArray[np.int64]
# The keys of a zero that is not stored as a minimum, +0, nor as a maximum, -0: each is stored as the other.
ZEROS = np.array([[0], [-1]])


class BoundLengths(NamedTuple):
    """Bytes that a bound of byte arrays is shortened to: in the statistics of the chunk, and in the column index."""

    statistics: int
    column_index: int


class PageBounds(NamedTuple):
    """The bounds of pages as the column index stores them, those of the chunk, and the ``BoundaryOrder``.

    ``starts`` and ``lengths`` int64[2, pages]: where in ``data`` the least value of each page lies, and the greatest.
    They mean nothing for a page without values, and ``least`` and ``greatest`` are None if all pages are. ``size``: the
    bytes of all bounds, at least. They are not ``complete`` where a page has values but no bounds, since all of them
    are NaN.
    """

    data: Bytes
    starts: Int64s
    lengths: Int64s
    size: int
    order: int
    least: Bound | None
    greatest: Bound | None
    complete: bool = True


def page_bounds(leaf: LeafColumn, pages: Pages, extremes: Int64s, limits: BoundLengths) -> PageBounds:
    """The bounds that a values encoder found: ``EncodedValues.extremes``."""
    kind = leaf.descriptor.leaf
    if kind.total_order:
        return _total_order_bounds(leaf, pages, extremes)
    if kind.storage in (Storage.NUMBERS, Storage.BITS):
        return number_bounds(pages, extremes, kind)
    if kind.storage is Storage.BYTE_ARRAYS:
        starts = leaf.offsets[extremes].astype(np.int64)
        lengths = leaf.offsets[extremes + 1] - starts
        lengths[extremes < 0] = 0  # a page without values
    else:
        width = kind.type_length or 0
        starts, lengths = extremes * width, np.where(extremes < 0, 0, width)
        limits = BoundLengths(width, width)  # readers expect bounds of that width
    return byte_array_bounds(pages, leaf.data, starts, lengths, kind, limits)


def number_bounds(pages: Pages, extremes: Int64s, leaf: LeafType) -> PageBounds:
    """Bounds int64[2, pages], minima and maxima as keys, of numbers.

    A zero becomes -0 as a minimum and +0 as a maximum of floating-point numbers in TYPE_ORDER (parquet.thrift,
    ``ColumnOrder``).
    """
    complete = True
    if leaf.order is Order.FLOAT:
        complete = not _pages_of_nan(pages, extremes).any()
        if not leaf.total_order:
            extremes = np.where(extremes == ZEROS, ZEROS[::-1], extremes)
    least, greatest, order = kernels.bounds.compare_numbers(pages.fences, extremes)
    numbers = stored_bounds(extremes, leaf)
    data = frozen(numbers.reshape(-1).view(np.uint8))
    low = high = None
    if least >= 0:
        low, high = Bound(numbers[0, least].tobytes(), True), Bound(numbers[1, greatest].tobytes(), True)
    return PageBounds(data, *_places(len(pages), numbers.itemsize), len(data), order, low, high, complete)


def _pages_of_nan(pages: Pages, extremes: Int64s) -> NDArray[np.bool_]:
    """Which pages have values, but none that is a number."""
    mask: NDArray[np.bool_] = (extremes[0] > extremes[1]) & (pages.num_values > 0)
    return mask


def _total_order_bounds(leaf: LeafColumn, pages: Pages, extremes: Int64s) -> PageBounds:
    """Bounds by IEEE_754_TOTAL_ORDER: of the numbers of a page, or of a chunk, and if it has none, of its NaN."""
    kind = leaf.descriptor.leaf
    of_numbers = number_bounds(pages, extremes, kind)
    if of_numbers.complete:
        return of_numbers
    of_nan = _pages_of_nan(pages, extremes)
    starts, ends = pages.slots[:-1][of_nan], pages.slots[1:][of_nan]
    extremes = extremes.copy()
    extremes[:, of_nan] = find_nan_extremes(leaf.values, leaf.validity, leaf.bit_offset, starts, ends)
    bounds = number_bounds(pages, extremes, kind)
    if of_numbers.least is None:
        return bounds
    return bounds._replace(least=of_numbers.least, greatest=of_numbers.greatest)


@lru_cache
def _places(count: int, width: int) -> tuple[Int64s, Int64s]:
    """Starts and lengths of two times ``count`` numbers of ``width`` bytes, one after another."""
    return np.arange(0, 2 * count * width, width).reshape(2, count), np.full((2, count), width)


def byte_array_bounds(
    pages: Pages, data: Bytes, starts: Int64s, lengths: Int64s, leaf: LeafType, limits: BoundLengths
) -> PageBounds:
    """Bounds that are byte arrays of ``data``, which are shortened where they are longer than ``limits``.

    The order is that of the bounds as they are stored. Decimals are big-endian numbers.
    """
    is_string = leaf.order is Order.TEXT
    signed = leaf.order is Order.DECIMAL
    least, greatest, order = kernels.bounds.compare_byte_arrays(pages.fences, data, starts, lengths, signed)
    if least < 0:
        return PageBounds(data, starts, lengths, 0, order, None, None)
    low = truncate_min(_bytes(data, starts[0, least], lengths[0, least]), is_string, limits.statistics)
    high = truncate_max(_bytes(data, starts[1, greatest], lengths[1, greatest]), is_string, limits.statistics)
    limit = limits.column_index
    if (lengths > limit).any():
        filled = np.nonzero(pages.num_values)[0]
        short = [truncate_min(_bytes(data, starts[0, k], lengths[0, k]), is_string, limit).value for k in filled]
        short += [truncate_max(_bytes(data, starts[1, k], lengths[1, k]), is_string, limit).value for k in filled]
        data = np.frombuffer(b"".join(short), np.uint8)
        lengths = np.zeros_like(lengths)
        lengths[:, filled] = np.array([len(value) for value in short]).reshape(2, len(filled))
        starts = (np.cumsum(lengths) - lengths.reshape(-1)).reshape(lengths.shape)
        order = kernels.bounds.compare_byte_arrays(pages.fences, data, starts, lengths, signed)[2]
    return PageBounds(data, starts, lengths, int(lengths.sum()), order, low, high)


def _bytes(data: Bytes, start: Any, length: Any) -> bytes:
    return data[start : start + length].tobytes()


def column_index(
    pages: Pages, bounds: PageBounds, histograms: Histograms, nan_counts: Int64s | None, arena: Arena
) -> bytes | None:
    """The encoded ``ColumnIndex``; with the histograms of each page and its counts of NaN, if there are any.

    None where bounds are not complete: an index needs those of each page that is not a null page (parquet.thrift,
    ``ColumnIndex``).
    """
    if not bounds.complete:
        return None
    repetition, definition = histograms
    out = arena.take(
        kernels.compact.index_bound(len(pages), bounds.size, repetition.size + definition.size + len(pages))
    )
    size = kernels.compact.encode_column_index(
        pages.fences,
        bounds.data,
        bounds.starts,
        bounds.lengths,
        bounds.order,
        repetition,
        definition,
        NO_HISTOGRAM if nan_counts is None else nan_counts.reshape(-1, 1),
        out,
    )
    return out[:size].tobytes()


def offset_index(offset: int, sizes: Int64s, pages: Pages, value_bytes: Int64s | None) -> bytes:
    """The encoded ``OffsetIndex`` of pages that follow one another from ``offset`` on, ``sizes`` with their headers."""
    out = np.empty(kernels.compact.offset_index_bound(len(pages)), np.uint8)
    size = kernels.compact.encode_offset_index(
        offset, sizes, pages.fences, NO_NUMBERS if value_bytes is None else value_bytes, out
    )
    return out[:size].tobytes()
