"""``ColumnIndex`` and ``OffsetIndex`` of a column chunk (Parquet specification, PageIndex.md), from its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.pages import NO_STARTS, Histograms, Pages
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

    def of_pages(self) -> tuple[tuple[Bytes, Int64s], tuple[Bytes, Int64s], int]:
        """Minima and maxima of the pages, each as bytes and where each of them starts, and their order."""
        starts = np.arange(len(self.minima) + 1, dtype=np.int64) * np.dtype(self.dtype).itemsize
        minima, maxima = (np.frombuffer(self._bytes(v), np.uint8) for v in (self.minima, self.maxima))
        return (minima, starts), (maxima, starts), boundary_order(self.minima, self.maxima)

    def _bytes(self, values: Any) -> bytes:
        return bytes(values.astype(self.dtype).tobytes())


Bytes = NDArray[np.uint8]


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

    def of_pages(self) -> tuple[tuple[Bytes, Int64s], tuple[Bytes, Int64s], int]:
        """Minima and maxima of the pages, each as bytes and where each of them starts, and their order."""
        minima = [truncate_min(value, self.is_string).value for value in self.minima]
        maxima = [truncate_max(value, self.is_string).value for value in self.maxima]
        return _joined(minima), _joined(maxima), boundary_order(minima, maxima)


PageBounds = NumberBounds | ByteArrayBounds


def _joined(values: list[bytes]) -> tuple[Bytes, Int64s]:
    starts = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(value) for value in values], out=starts[1:])
    return np.frombuffer(b"".join(values), np.uint8), starts


def column_index(pages: Pages, bounds: PageBounds, histograms: Histograms | None, arena: Arena) -> bytes:
    """The encoded ``ColumnIndex``; with the histograms of each page, if there are any.

    A page without values is a null page, with empty bounds. The order is that of the bounds as they are stored.
    """
    (minima, minimum_starts), (maxima, maximum_starts), order = bounds.of_pages()
    repetition = definition = NO_STARTS
    if histograms is not None:
        repetition = NO_STARTS if histograms.repetition is None else histograms.repetition.ravel()
        definition = NO_STARTS if histograms.definition is None else histograms.definition.ravel()
    levels = len(repetition) + len(definition) + len(pages)
    out = arena.take(kernels.indexes.column_index_bound(len(pages), len(minima) + len(maxima), levels))
    size = kernels.indexes.encode_column_index(
        pages.num_values,
        pages.null_counts,
        minima,
        minimum_starts,
        maxima,
        maximum_starts,
        int(order),
        repetition,
        definition,
        out,
    )
    return out[:size].tobytes()


def offset_index(offset: int, sizes: Int64s, first_rows: Int64s, value_bytes: Int64s | None) -> bytes:
    """The encoded ``OffsetIndex`` of pages that follow one another from ``offset`` on, ``sizes`` with their headers."""
    out = np.empty(kernels.indexes.offset_index_bound(len(sizes)), np.uint8)
    no_bytes = NO_STARTS if value_bytes is None else value_bytes
    size = kernels.indexes.encode_offset_index(offset, sizes, first_rows, no_bytes, out)
    return out[:size].tobytes()
