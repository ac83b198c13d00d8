"""``ColumnIndex`` and ``OffsetIndex`` of a column chunk (Parquet specification, PageIndex.md), from its pages."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import frozen
from colwriter.kernels.page_table import GREATEST, LEAST, SLOT, VALUE
from colwriter.keys import find_nan_extremes, stored_bounds
from colwriter.leaf_types import LeafType, Order, Storage
from colwriter.levels import LeafColumn
from colwriter.pages import Histograms, Pages
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
ZEROS = np.array([0, -1])


class BoundLengths(NamedTuple):
    """Bytes that a bound of byte arrays is shortened to: in the statistics of the chunk, and in the column index."""

    statistics: int
    column_index: int


class PageBounds(NamedTuple):
    """The bounds of pages as the column index stores them, those of the chunk, and the ``BoundaryOrder``.

    ``places`` int64[pages, 4]: where in ``data`` the least value of each page starts, its length, and the same of the
    greatest. They mean nothing for a page without values, and ``least`` and ``greatest`` are None if all pages are.
    ``size``: the bytes of all bounds, at least. They are not ``complete`` where a page has values but no bounds, since
    all of them are NaN.
    """

    data: Bytes
    places: Int64s
    size: int
    order: int
    least: Bound | None
    greatest: Bound | None
    complete: bool = True


def page_bounds(leaf: LeafColumn, pages: Pages, limits: BoundLengths) -> PageBounds:
    """The bounds of the least and greatest values that an encoder found."""
    kind = leaf.descriptor.leaf
    if kind.storage in (Storage.NUMBERS, Storage.BITS):
        return _total_order_bounds(leaf, pages) if kind.total_order else number_bounds(pages, kind)
    places = np.empty((len(pages), 4), np.int64)
    if kind.storage is Storage.BYTE_ARRAYS:
        size, longest = kernels.bounds.locate_byte_arrays(leaf.offsets, pages.table, places)
    else:
        longest = kind.type_length or 0
        places[:, 0::2] = longest * pages.table[:-1, LEAST : GREATEST + 1]
        places[:, 1::2] = longest
        size = 2 * longest * len(pages)
        limits = BoundLengths(longest, longest)  # readers expect bounds of that width
    return byte_array_bounds(pages, PageBounds(leaf.data, places, size, 0, None, None), longest, kind, limits)


def number_bounds(pages: Pages, leaf: LeafType) -> PageBounds:
    """Bounds of numbers, whose keys are in the page table.

    A zero becomes -0 as a minimum and +0 as a maximum of floating-point numbers in TYPE_ORDER (parquet.thrift,
    ``ColumnOrder``).
    """
    extremes = pages.table[:-1, LEAST : GREATEST + 1]
    complete = True
    if leaf.order is Order.FLOAT:
        complete = not _pages_of_nan(pages).any()
        if not leaf.total_order:
            extremes[:] = np.where(extremes == ZEROS, ZEROS[::-1], extremes)
    least, greatest, order = kernels.bounds.compare_numbers(pages.table)
    numbers = stored_bounds(extremes, leaf)
    width = numbers.itemsize
    data = frozen(numbers.reshape(-1).view(np.uint8))
    low = high = None
    if least >= 0:
        low, high = Bound(_item(data, 2 * least, width), True), Bound(_item(data, 2 * greatest + 1, width), True)
    return PageBounds(data, _places(len(pages), width), len(data), order, low, high, complete)


def _pages_of_nan(pages: Pages) -> NDArray[np.bool_]:
    """Which pages have values, but none that is a number."""
    mask: NDArray[np.bool_] = pages.column(LEAST) > pages.column(GREATEST)
    mask &= np.diff(pages.fences(VALUE)) > 0
    return mask


def _total_order_bounds(leaf: LeafColumn, pages: Pages) -> PageBounds:
    """Bounds by IEEE_754_TOTAL_ORDER: of the numbers of a page, or of a chunk, and if it has none, of its NaN."""
    kind = leaf.descriptor.leaf
    of_numbers = number_bounds(pages, kind)
    if of_numbers.complete:
        return of_numbers
    of_nan = _pages_of_nan(pages)
    extremes = find_nan_extremes(leaf.values, leaf.validity, leaf.bit_offset, pages.ranges(SLOT)[of_nan])
    pages.table[:-1, LEAST : GREATEST + 1][of_nan] = extremes
    bounds = number_bounds(pages, kind)
    if of_numbers.least is None:
        return bounds
    return bounds._replace(least=of_numbers.least, greatest=of_numbers.greatest)


@lru_cache
def _places(count: int, width: int) -> Int64s:
    """``PageBounds.places`` of two times ``count`` numbers of ``width`` bytes, one after another."""
    places = np.full((count, 4), width)
    places[:, 0::2] = np.arange(0, 2 * count * width, width).reshape(count, 2)
    return places


def byte_array_bounds(
    pages: Pages, found: PageBounds, longest: int, leaf: LeafType, limits: BoundLengths
) -> PageBounds:
    """Bounds that are byte arrays, which are shortened where they are longer than ``limits``; those of the chunk too.

    ``found``: the whole bounds, of at most ``longest`` bytes. The order is that of the bounds as they are stored.
    Decimals are big-endian numbers.
    """
    is_string = leaf.order is Order.TEXT
    signed = leaf.order is Order.DECIMAL
    data, places, size, *_ = found
    least, greatest, order = kernels.bounds.compare_byte_arrays(pages.table, data, places, signed)
    if least < 0:
        return found
    low = truncate_min(_bytes(data, *places[least, :2]), is_string, limits.statistics)
    high = truncate_max(_bytes(data, *places[greatest, 2:]), is_string, limits.statistics)
    limit = limits.column_index
    if longest > limit:
        filled = np.nonzero(np.diff(pages.fences(VALUE)))[0]
        short: list[bytes] = []
        for least_start, least_length, start, length in places[filled]:
            short.append(truncate_min(_bytes(data, least_start, least_length), is_string, limit).value)
            short.append(truncate_max(_bytes(data, start, length), is_string, limit).value)
        data = np.frombuffer(b"".join(short), np.uint8)
        places = np.zeros_like(places)
        lengths = np.array([len(value) for value in short])
        places[filled, 1::2] = lengths.reshape(-1, 2)
        places[filled, 0::2] = (np.cumsum(lengths) - lengths).reshape(-1, 2)
        size = len(data)
        order = kernels.bounds.compare_byte_arrays(pages.table, data, places, signed)[2]
    return PageBounds(data, places, size, order, low, high)


def _item(data: Bytes, index: int, width: int) -> bytes:
    return data.data[index * width : (index + 1) * width].tobytes()


def _bytes(data: Bytes, start: Any, length: Any) -> bytes:
    return data[start : start + length].tobytes()


def column_index(pages: Pages, bounds: PageBounds, histograms: Histograms, has_nan: bool, arena: Arena) -> bytes | None:
    """The encoded ``ColumnIndex``; with the histograms of each page, and its counts of NaN if the type ``has_nan``.

    None where bounds are not complete: an index needs those of each page that is not a null page (parquet.thrift,
    ``ColumnIndex``).
    """
    if not bounds.complete:
        return None
    repetition, definition, *_ = histograms
    counts = (repetition.shape[1] + definition.shape[1] + has_nan) * len(pages)
    out = arena.take(kernels.compact.index_bound(len(pages), bounds.size, counts))
    size = kernels.compact.encode_column_index(
        pages.table, bounds.data, bounds.places, bounds.order, repetition, definition, has_nan, out
    )
    return out[:size].tobytes()


def offset_index(pages: Pages, offset: int, with_value_bytes: bool) -> bytes:
    """The encoded ``OffsetIndex`` of pages that follow one another from ``offset`` on."""
    out = np.empty(kernels.compact.offset_index_bound(len(pages)), np.uint8)
    size = kernels.compact.encode_offset_index(pages.table, offset, with_value_bytes, out)
    return out[:size].tobytes()
