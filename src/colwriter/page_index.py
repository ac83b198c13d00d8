"""``ColumnIndex`` and ``OffsetIndex`` of a column chunk (Parquet specification, PageIndex.md), from its pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter.compact import BINARY, BOOL, STRUCT, Records, binary_list, list_header, number_lists
from colwriter.metadata import BoundaryOrder
from colwriter.pages import Histograms, Pages
from colwriter.statistics import Bound, boundary_order, truncate_max, truncate_min

__all__ = ["ByteArrayBounds", "NumberBounds", "PageBounds", "column_index", "offset_index"]

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NumberBounds:
    """The least and greatest value of each page that has values, int64[pages], stored as numbers of ``dtype``."""

    minima: Int64s
    maxima: Int64s
    dtype: str

    def of_chunk(self) -> tuple[Bound | None, Bound | None]:
        """Bounds of the column chunk."""
        if len(self.minima) == 0:
            return None, None
        return Bound(self._bytes(self.minima.min()), True), Bound(self._bytes(self.maxima.max()), True)

    def of_pages(self, null_pages: NDArray[np.bool_]) -> tuple[bytes, bytes, BoundaryOrder]:
        """Fields 2 and 3 of the column index, minima and maxima of all pages, and their order."""
        order = boundary_order(self.minima, self.maxima)
        if len(self.minima) == len(null_pages):
            return self._list(self.minima), self._list(self.maxima), order
        return (
            _binary_list(self._each(self.minima), null_pages),
            _binary_list(self._each(self.maxima), null_pages),
            order,
        )

    def _list(self, values: Int64s) -> bytes:
        """A list<binary> of values of one width: each after its length."""
        width = np.dtype(self.dtype).itemsize
        table = np.empty((len(values), 1 + width), np.uint8)
        table[:, 0] = width
        table[:, 1:] = values.astype(self.dtype).view(np.uint8).reshape(-1, width)
        return list_header(0x19, BINARY, len(values)) + table.tobytes()

    def _each(self, values: Int64s) -> list[bytes]:
        packed = values.astype(self.dtype)
        return list(packed.view(f"V{packed.itemsize}").tolist())

    def _bytes(self, values: Any) -> bytes:
        return bytes(values.astype(self.dtype).tobytes())


@dataclass(frozen=True, slots=True)
class ByteArrayBounds:
    """The least and greatest value of each page that has values, whole; they are shortened where they are stored."""

    minima: list[bytes]
    maxima: list[bytes]
    is_string: bool

    def of_chunk(self) -> tuple[Bound | None, Bound | None]:
        """Bounds of the column chunk."""
        if not self.minima:
            return None, None
        return truncate_min(min(self.minima), self.is_string), truncate_max(max(self.maxima), self.is_string)

    def of_pages(self, null_pages: NDArray[np.bool_]) -> tuple[bytes, bytes, BoundaryOrder]:
        """Fields 2 and 3 of the column index, minima and maxima of all pages, and their order."""
        minima = [truncate_min(value, self.is_string).value for value in self.minima]
        maxima = [truncate_max(value, self.is_string).value for value in self.maxima]
        return _binary_list(minima, null_pages), _binary_list(maxima, null_pages), boundary_order(minima, maxima)


def _binary_list(values: list[bytes], null_pages: NDArray[np.bool_]) -> bytes:
    """The bounds of the pages that have some, and an empty one for each null page."""
    if len(values) < len(null_pages):
        rest = iter(values)
        values = [b"" if null else next(rest) for null in null_pages.tolist()]
    return binary_list(0x19, values)


PageBounds = NumberBounds | ByteArrayBounds


def column_index(pages: Pages, bounds: PageBounds, histograms: Histograms | None) -> bytes:
    """The encoded ``ColumnIndex``; with the histograms of each page, if there are any.

    A page without values is a null page, with empty bounds. The order is that of the bounds as they are stored.
    """
    null_pages = pages.num_values == 0
    minima, maxima, order = bounds.of_pages(null_pages)
    # A field header is the distance to the field before, and the type: 9 a list, 5 an i32.
    parts = [
        list_header(0x19, BOOL, len(pages)),
        np.where(null_pages, 1, 2).astype(np.uint8).tobytes(),
        minima,
        maxima,
        bytes((0x15, order << 1)),
        _counts(pages, histograms),
    ]
    return b"".join([*parts, b"\0"])


def _counts(pages: Pages, histograms: Histograms | None) -> bytes:
    """Fields 5 to 7: null counts and histograms, those that there are."""
    null_counts = (0x19, pages.null_counts.reshape(1, -1))
    if histograms is None or histograms.definition is None:  # without definition levels there is no repetition level
        return number_lists(null_counts)
    if histograms.repetition is None:
        return number_lists(null_counts, (0x29, histograms.definition[:-1]))
    return number_lists(null_counts, (0x19, histograms.repetition[:-1]), (0x19, histograms.definition[:-1]))


@cache
def _page_location() -> Records:
    return Records.of([b"\x16", b"\x15", b"\x16"], 1)  # offset, compressed_page_size, first_row_index


def offset_index(offset: int, sizes: Int64s, first_rows: Int64s, value_bytes: Int64s | None) -> bytes:
    """The encoded ``OffsetIndex`` of pages that follow one another from ``offset`` on, ``sizes`` with their headers."""
    offsets = np.cumsum(sizes)
    offsets += offset - sizes
    locations = _page_location().encode((offsets, sizes, first_rows), np.zeros((len(sizes), 1), np.uint8))
    parts = [list_header(0x19, STRUCT, len(sizes)), locations]
    if value_bytes is not None:
        parts.append(number_lists((0x19, value_bytes.reshape(1, -1))))
    return b"".join([*parts, b"\0"])
