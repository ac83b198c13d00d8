"""The page table: pages are rows of arrays, and a stage fills some columns for all pages of a column chunk at once.

A stage is one function. It takes what the stage before made, and changes nothing that it was given:
``paginate`` → ``Pages``, ``count_levels`` → ``Histograms``, ``encode_levels`` → ``EncodedLevels``, a values encoder of
``colwriter.encodings`` → ``EncodedValues``, ``colwriter.framing.frame`` → ``FramedPages``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.levels import EMPTY, LeafColumn, Levels
from colwriter.metadata import Encoding

__all__ = [
    "EncodedLevels",
    "EncodedValues",
    "Histograms",
    "Pages",
    "bit_width",
    "count_levels",
    "encode_levels",
    "paginate",
]

Int64s = NDArray[np.int64]
# Bytes to keep free for a page header: at most ten varints of ten bytes, with their field headers and stop bytes.
MAX_HEADER = 128
NO_STARTS: Int64s = np.empty(0, np.int64)
# Up to this many levels are cheaper to count one by one, by comparison; see docs/performance.md.
COMPARED_LEVELS = 24


def bit_width(level: int) -> int:
    """Bits of a level or dictionary index of at most ``level`` (Encodings.md)."""
    return level.bit_length()


@dataclass(frozen=True, slots=True)
class Pages:
    """Where pages start: rows, levels, slots and values, int64[pages + 1] each, the last one being where all end.

    ``num_*`` int64[pages]: how many of each a page has. Its levels are what the format calls num_values; its values are
    those that are not null. ``null_counts``: the levels that stand for no value (parquet-format #476: null and empty
    lists count).
    """

    rows: Int64s
    levels: Int64s
    slots: Int64s
    values: Int64s
    num_rows: Int64s
    num_levels: Int64s
    num_slots: Int64s
    num_values: Int64s
    null_counts: Int64s

    @classmethod
    def of(cls, fences: Int64s) -> Pages:
        """Pages of rows, levels, slots and values: int64[4, pages + 1]."""
        counts = fences[:, 1:] - fences[:, :-1]
        rows, levels, slots, values = fences
        num_rows, num_levels, num_slots, num_values = counts
        return cls(rows, levels, slots, values, num_rows, num_levels, num_slots, num_values, num_levels - num_values)

    @property
    def fences(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Rows, levels, slots and values, as ``of`` takes them."""
        return self.rows, self.levels, self.slots, self.values

    def __len__(self) -> int:
        return len(self.num_rows)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What ends a page."""

    max_rows: int
    max_bytes: int


def paginate(
    leaf: LeafColumn,
    limits: PageLimits,
    value_bits: int,
    variable: bool,
    after: Pages | None = None,
    stop_value: int = 1 << 62,
) -> Pages:
    """Cut a leaf into pages, from the end of the pages ``after``, up to the row that holds value ``stop_value``.

    A value is taken to need ``value_bits``, and with ``variable`` the bytes of its byte array besides.
    """
    descriptor = leaf.descriptor
    level_bits = bit_width(descriptor.max_definition_level) + bit_width(descriptor.max_repetition_level)
    capacity = _page_capacity(leaf, limits, level_bits, value_bits, variable)
    while True:
        rows, levels, slots, values = fences = np.empty((4, capacity), np.int64)
        fences[:, 0] = 0
        if after is not None:
            fences[:, 0] = after.rows[-1], after.levels[-1], after.slots[-1], after.values[-1]
        pages = kernels.pagination.paginate(
            leaf.row_levels,
            leaf.row_slots,
            leaf.validity,
            leaf.bit_offset,
            leaf.offsets if variable else leaf.offsets[:0],
            level_bits,
            value_bits,
            limits.max_rows,
            8 * limits.max_bytes,
            stop_value,
            leaf.num_rows,
            rows,
            levels,
            slots,
            values,
        )
        if pages >= 0:
            return Pages.of(fences[:, : pages + 1])
        capacity *= 4


def _page_capacity(leaf: LeafColumn, limits: PageLimits, level_bits: int, value_bits: int, variable: bool) -> int:
    """A guess at the number of pages: two neighbours together always pass one of the limits."""
    bits = leaf.num_levels * level_bits + leaf.num_slots * value_bits
    if variable and len(leaf.offsets):
        bits += 8 * max(int(leaf.offsets[leaf.num_slots]) - int(leaf.offsets[0]), 0)
    by_size = 2 * (bits // (8 * limits.max_bytes) + 1)
    by_rows = leaf.num_rows // limits.max_rows + 1
    return int(min(by_size + by_rows, leaf.num_rows)) + 2


@dataclass(frozen=True, slots=True)
class Histograms:
    """How often each level is met: int64[pages + 1, max level + 1], None where the largest level is 0.

    The row after the last page is that of the column chunk, the sum over its pages.
    """

    repetition: Int64s | None
    definition: Int64s | None


def count_levels(leaf: LeafColumn, pages: Pages, arena: Arena) -> Histograms:
    """Histograms of the levels of each page. What is known is not counted: rows, slots, values, and one level."""
    descriptor = leaf.descriptor
    count = len(pages)
    repetition = definition = None
    if descriptor.max_repetition_level:
        repetition = np.empty((count + 1, descriptor.max_repetition_level + 1), np.int64)
        repetition[:-1, 0] = pages.num_rows
        _count(leaf.repetition_levels, pages, repetition, 1, descriptor.max_repetition_level + 1, arena)
    top = descriptor.max_definition_level
    if top:
        definition = np.empty((count + 1, top + 1), np.int64)
        if top == 1 and leaf.slot_level == 0:
            kernels.histogram.two_levels(pages.num_slots, pages.num_values, definition)
            return Histograms(repetition, definition)
        definition[:-1, top] = pages.num_values
        unknown = top
        if leaf.slot_level == top - 1:
            unknown = top - 1  # slots without a value
            np.subtract(pages.num_slots, pages.num_values, out=definition[:-1, unknown])
        _count(leaf.definition_levels, pages, definition, 0, unknown, arena)
    return Histograms(repetition, definition)


def _count(levels: Levels, pages: Pages, histograms: Int64s, first: int, end: int, arena: Arena) -> None:
    """Fill in the columns ``[first, end)`` of the histograms, the others being known, and the row of the chunk."""
    if len(levels.data) == 0:  # all the largest, which is known
        histograms[:-1, first:end] = 0
    elif end - first > COMPARED_LEVELS:
        partials = arena.take(kernels.histogram.NUM_PARTIALS * histograms.shape[1], np.int64)
        partials[:] = 0
        kernels.histogram.count_levels(
            levels.data, pages.levels, kernels.histogram.NUM_PARTIALS, partials, histograms[:-1]
        )
    else:
        kernels.histogram.count_missing(levels.data, levels.width, pages.levels, first, end, histograms)
        return
    np.add.reduce(histograms[:-1], out=histograms[-1])


@dataclass(frozen=True, slots=True)
class EncodedLevels:
    """The encoded levels of all pages, one page after another; ``starts`` int64[pages + 1], empty if there are none."""

    data: NDArray[np.uint8]
    starts: Int64s

    @property
    def encoded_sizes(self) -> Int64s | int:
        """Bytes of the levels of each page."""
        return self.starts[1:] - self.starts[:-1] if len(self.starts) else 0


NO_LEVELS = EncodedLevels(EMPTY, NO_STARTS)


def encode_levels(leaf: LeafColumn, pages: Pages, arena: Arena) -> tuple[EncodedLevels, EncodedLevels]:
    """Repetition and definition levels of all pages in the RLE/bit-packed hybrid."""
    descriptor = leaf.descriptor
    return (
        _encode(leaf.repetition_levels, pages, descriptor.max_repetition_level, arena),
        _encode(leaf.definition_levels, pages, descriptor.max_definition_level, arena),
    )


def _encode(levels: Levels, pages: Pages, largest: int, arena: Arena) -> EncodedLevels:
    if largest == 0:
        return NO_LEVELS
    starts = np.empty(len(pages) + 1, np.int64)
    width = bit_width(largest)
    count = int(pages.levels[-1] - pages.levels[0]) if len(levels.data) else 0
    out = arena.take(kernels.rle.hybrid_bound(count, len(pages), width))
    if count == 0:
        kernels.rle.encode_constant(largest, pages.levels, out, starts)
    elif levels.width == 1:
        kernels.rle.encode_bitmap(levels.data, levels.offset, pages.levels, out, starts)
    elif levels.width == 2:
        kernels.rle.encode_pairs(levels.data, pages.levels, out, starts)
    else:
        kernels.rle.encode_levels(levels.data, pages.levels, width, out, starts)
    out.flags.writeable = False
    return EncodedLevels(out, starts)


@dataclass(frozen=True, slots=True)
class EncodedValues:
    """The encoded values of all pages: page i is ``data[starts[i]:ends[i]]``, with room for levels and header before.

    ``minima`` and ``maxima`` int64[pages]: the bounds of each page that has values; of byte arrays, their slots.
    ``value_bytes`` int64[pages]: bytes of the byte arrays without their lengths; None for other types.
    """

    encoding: Encoding
    data: NDArray[np.uint8]
    starts: Int64s
    ends: Int64s
    minima: Int64s
    maxima: Int64s
    value_bytes: Int64s | None


def value_lead(leaf: LeafColumn, pages: Pages) -> Int64s:
    """Bytes to leave free before the values of each page: for its header, and the most that its levels can take."""
    lead = np.full(len(pages), MAX_HEADER, np.int64)
    for largest in (leaf.descriptor.max_repetition_level, leaf.descriptor.max_definition_level):
        if largest:
            bound = kernels.rle.hybrid_bound(pages.num_levels, 1, bit_width(largest))
            lead += kernels.framing.LENGTH_PREFIX + bound
    return lead
