"""``ColumnIndex`` and ``OffsetIndex`` of a column chunk (Parquet specification, PageIndex.md), from its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter.metadata import ColumnIndex, OffsetIndex, PageLocation
from colwriter.pages import Histograms, Pages
from colwriter.statistics import Bound, boundary_order, truncate_max, truncate_min

__all__ = ["PageBounds", "column_index", "offset_index"]

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PageBounds:
    """The least and greatest value of each page that has values, whole, and those of the column chunk.

    ``minima`` and ``maxima`` order as the values do: numbers, or byte strings. ``pack`` gives their bytes.
    """

    minima: list[bytes] | Int64s
    maxima: list[bytes] | Int64s
    number_format: str | None
    is_string: bool

    def least(self) -> bytes | None:
        """The least value of the column chunk, PLAIN without length."""
        if len(self.minima) == 0:
            return None
        return self.pack([min(self.minima)])[0]

    def greatest(self) -> bytes | None:
        """The greatest value of the column chunk, PLAIN without length."""
        if len(self.maxima) == 0:
            return None
        return self.pack([max(self.maxima)])[0]

    def pack(self, values: Any) -> list[bytes]:
        """The bytes of some bounds."""
        if self.number_format is None:
            return list(values)
        width = np.dtype(self.number_format).itemsize
        raw = np.asarray(values).astype(self.number_format).tobytes()
        return [raw[i : i + width] for i in range(0, len(raw), width)]

    def chunk_bounds(self) -> tuple[Bound | None, Bound | None]:
        """Bounds of the column chunk, shortened where they are long."""
        least, greatest = self.least(), self.greatest()
        return (
            None if least is None else self._shorten_min(least),
            None if greatest is None else self._shorten_max(greatest),
        )

    def _shorten_min(self, value: bytes) -> Bound:
        return Bound(value, True) if self.number_format else truncate_min(value, self.is_string)

    def _shorten_max(self, value: bytes) -> Bound:
        return Bound(value, True) if self.number_format else truncate_max(value, self.is_string)

    def page_bounds(self) -> tuple[list[bytes], list[bytes]]:
        """Bounds of the pages, shortened where they are long."""
        minima, maxima = self.pack(self.minima), self.pack(self.maxima)
        if self.number_format is None:
            minima = [self._shorten_min(v).value for v in minima]
            maxima = [self._shorten_max(v).value for v in maxima]
        return minima, maxima


def column_index(pages: Pages, bounds: PageBounds, histograms: Histograms | None) -> ColumnIndex:
    """The column index; with the histograms of each page, if there are any.

    A page without values is a null page, with empty bounds. The order is that of the bounds as they are stored.
    """
    null_pages = (pages.num_values == 0).tolist()
    minima, maxima = bounds.page_bounds()
    if bounds.number_format is None:
        order = boundary_order(minima, maxima)
    else:
        order = boundary_order(bounds.minima, bounds.maxima)
    if any(null_pages):
        stored = zip(minima, maxima, strict=True)
        pairs = [(b"", b"") if null else next(stored) for null in null_pages]
        minima, maxima = [a for a, _ in pairs], [b for _, b in pairs]
    return ColumnIndex(
        null_pages=tuple(null_pages),
        min_values=tuple(minima),
        max_values=tuple(maxima),
        boundary_order=order,
        null_counts=pages.null_counts,
        repetition_level_histograms=None if histograms is None else histograms.repetition,
        definition_level_histograms=None if histograms is None else histograms.definition,
    )


def offset_index(offset: int, sizes: Int64s, first_rows: Int64s, value_bytes: Int64s | None) -> OffsetIndex:
    """The offset index of pages that follow one another from ``offset`` on, ``sizes`` with their headers."""
    offsets = offset + np.cumsum(sizes) - sizes
    locations = zip(offsets.tolist(), sizes.tolist(), first_rows.tolist(), strict=True)
    return OffsetIndex(
        page_locations=tuple(PageLocation(*location) for location in locations),
        unencoded_byte_array_data_bytes=value_bytes,
    )
