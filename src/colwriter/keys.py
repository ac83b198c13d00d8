"""Keys of numbers: int64 that order like the values, whatever the order of the type (parquet.thrift, ``ColumnOrder``).

Signed integers are their own keys. An unsigned one of 64 bits has the highest bit flipped. A floating-point number has
its bits, and if it is negative all of them but the sign flipped, so that -0 is -1 and +0 is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.buffers import EMPTY, frozen
from colwriter.kernels.page_table import COLUMNS, GREATEST, LEAST
from colwriter.leaf_types import LeafType, Order
from colwriter.metadata import Type
from colwriter.pages import Pages

__all__ = ["find_float_extremes", "find_nan_extremes", "integer_keys", "stored_bounds"]

Int64s = NDArray[np.int64]
_HIGHEST_BIT = np.int64(-(1 << 63))
# How a bound of each physical type is stored: little endian.
_STORED: dict[Type, np.dtype[Any]] = {
    Type.BOOLEAN: np.dtype("u1"),
    Type.INT32: np.dtype("<i4"),
    Type.INT64: np.dtype("<i8"),
    Type.FLOAT: np.dtype("<i4"),
    Type.DOUBLE: np.dtype("<i8"),
    Type.FIXED_LEN_BYTE_ARRAY: np.dtype("<i2"),
}
_INFINITY = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}


def integer_keys(values: NDArray[Any], order: Order) -> NDArray[Any]:
    """Keys of integers, int32 or int64 bits; the values themselves where they are signed."""
    if order is not Order.UNSIGNED:
        return values
    if values.itemsize == 8:
        return values ^ _HIGHEST_BIT
    return values.view(np.uint32).astype(np.int64)


def find_extremes(values: NDArray[Any], ranges: Int64s, order: Order, pages: Pages) -> None:
    """Fill in the least and the greatest key of each page, whose numbers lie side by side, and how many are NaN.

    ``values`` int16, int32 or int64 bits; ``ranges`` int64[pages, 2]: where those of a page start and end.
    """
    if order is Order.FLOAT:
        find_float_extremes(values, EMPTY, 0, ranges, pages)
        return
    if order is Order.UNSIGNED:
        values = frozen(values.view(f"u{values.itemsize}"))
    kernels.plain.min_max_fixed(values, ranges, pages.table)
    if values.dtype == np.uint64:
        pages.table[:-1, LEAST : GREATEST + 1] ^= _HIGHEST_BIT


def find_float_extremes(
    bits: NDArray[Any], validity: NDArray[np.uint8], bit_offset: int, ranges: Int64s, pages: Pages
) -> None:
    """Fill in the least and the greatest key of each page, and its number of NaN, which have no key.

    A page is the valid slots from its start to its end, ``ranges`` int64[pages, 2]. One that holds nothing but NaN has
    a least key above the greatest.
    """
    infinity = _INFINITY[bits.itemsize]
    kernels.fixed_bytes.min_max_floats(bits, validity, bit_offset, ranges, infinity, pages.table)


def find_nan_extremes(bits: NDArray[Any], validity: NDArray[np.uint8], bit_offset: int, ranges: Int64s) -> Int64s:
    """The least and the greatest key of pages that hold NaN alone, as int64[pages, 2]; else as ``find_float_extremes``.

    In the total order of IEEE 754 they have keys as all numbers have.
    """
    table = np.empty((len(ranges), COLUMNS), np.int64)
    largest = (1 << (8 * bits.itemsize - 1)) - 1
    kernels.fixed_bytes.min_max_floats(bits, validity, bit_offset, ranges, largest, table)
    return table[:, LEAST : GREATEST + 1]


def stored_bounds(extremes: Int64s, leaf: LeafType) -> NDArray[Any]:
    """Bounds int64[pages, 2], minima and maxima as keys, in the form in which they are stored."""
    dtype = _STORED[leaf.physical_type]
    if leaf.order is Order.UNSIGNED and dtype.itemsize == 8:
        extremes = extremes ^ _HIGHEST_BIT
    if leaf.order is Order.FLOAT:
        magnitude = (1 << (8 * dtype.itemsize - 1)) - 1
        extremes = extremes ^ ((extremes >> 63) & magnitude)
    return extremes.astype(dtype, order="C")
