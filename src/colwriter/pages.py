"""Pages are rows of a table of numbers, and a stage fills some columns of it for all pages of a column chunk at once.

A stage is one function: ``paginate`` makes the table (``Pages``), ``encode_levels``, an encoder of
``colwriter.encodings`` and ``colwriter.framing.frame`` fill in the columns that ``kernels.page_table`` names, and
``count_levels`` makes histograms. No stage changes what one before it filled in, but that ``page_index.page_bounds``
puts the keys of bounds that are stored instead of those that were found, of zeros and NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import frozen
from colwriter.kernels.page_table import (
    COLUMNS,
    DEFINITION_BYTES,
    LENGTH_PREFIX,
    LEVEL,
    REPETITION_BYTES,
    ROW,
    SLOT,
    VALUE,
)
from colwriter.levels import EMPTY, LeafColumn, Levels, Nulls

__all__ = [
    "EncodedLevels",
    "Histograms",
    "Pages",
    "bit_width",
    "count_levels",
    "encode_levels",
    "hybrid_overhead",
    "paginate",
]

Int64s = NDArray[np.int64]
# To count levels takes as long as this many steps, and one more for so many levels; see docs/performance.md.
COUNTING_STEPS = 8
LEVELS_A_STEP = 512


def bit_width(level: int) -> int:
    """Bits of a level or dictionary index of at most ``level`` (Encodings.md)."""
    return level.bit_length()


@dataclass(slots=True)
class Pages:
    """Pages that follow one another: ``table`` int64[pages + 1, COLUMNS], a page table (``kernels.page_table``).

    A page's levels are what the format calls num_values; its values are those that are not null.
    """

    table: Int64s

    @classmethod
    def of(cls, rows: ArrayLike, levels: ArrayLike, slots: ArrayLike, values: ArrayLike) -> Pages:
        """Pages with these fences: the first row, level, slot and value of each, and the ends of the last."""
        fences = np.array((rows, levels, slots, values), np.int64)
        table = np.zeros((fences.shape[1], COLUMNS), np.int64)
        table[:, [ROW, LEVEL, SLOT, VALUE]] = fences.T
        return cls(table)

    def __len__(self) -> int:
        return len(self.table) - 1

    def fences(self, column: int) -> Int64s:
        """int64[pages + 1]: the first row, level, slot or value of each page, and the end of the last."""
        fences: Int64s = self.table[:, column]
        return fences

    def column(self, column: int) -> Int64s:
        """int64[pages]: any other column of the page table."""
        values: Int64s = self.table[:-1, column]
        return values

    def ranges(self, column: int) -> Int64s:
        """int64[pages, 2]: the fences of each page."""
        fences = self.table[:, column]
        return np.stack((fences[:-1], fences[1:]), axis=1)

    def first(self, column: int) -> int:
        """The first row, level, slot or value."""
        return int(self.table.item(0, column))

    def end(self, column: int) -> int:
        """The end of the rows, levels, slots or values."""
        return int(self.table.item(-1, column))

    def total(self, column: int) -> int:
        """Rows, levels, slots or values of all pages."""
        table = self.table
        return int(table.item(-1, column) - table.item(0, column))

    def sum(self, column: int) -> int:
        """Sum of a column over the pages."""
        return int(np.add.reduce(self.table[:-1, column]))

    def split(self, parts: int) -> list[Pages]:
        """The pages in up to ``parts`` runs of about as many each; the first has an eighth more than the others.

        It is for the thread that asks, which begins earlier, and would wait longer for the others than they for it.
        """
        ends = [0, *range(17, 17 + 15 * parts, 15)]
        cuts = [len(self) * end // ends[-1] for end in ends]
        return [Pages(self.table[a : b + 1]) for a, b in pairwise(cuts) if b > a]


NO_BOUNDARIES: Int64s = frozen(np.empty(0, np.int64))


class PageLimits(NamedTuple):
    """What ends a page: the most that it holds, and rows of the leaf, int64 and rising, at which one starts."""

    max_rows: int
    max_levels: int
    max_bytes: int
    boundaries: Int64s = NO_BOUNDARIES


def paginate(
    leaf: LeafColumn,
    limits: PageLimits,
    value_bits: int,
    variable: bool,
    after: Pages | None = None,
    stop_value: int = 1 << 62,
    overhead: int = 0,
) -> Pages:
    """Cut a leaf into pages, from the end of the pages ``after``, up to the row that holds value ``stop_value``.

    A value is taken to need ``value_bits``, and with ``variable`` the bytes of its byte array besides; all values of a
    page ``overhead`` bytes more than that.
    """
    descriptor = leaf.descriptor
    level_bits, of_levels = _level_sizes(descriptor.max_repetition_level, descriptor.max_definition_level)
    overhead += of_levels
    if overhead:  # long bit-packed runs have a header every 8191 groups
        overhead += limits.max_bytes >> 12
    page_bits = max(8 * (limits.max_bytes - overhead), 1)
    capacity = _page_capacity(leaf, limits, page_bits, level_bits, value_bits, variable)
    while True:
        table = np.zeros((capacity, COLUMNS), np.int64)
        if after is not None:
            table[0] = after.table[-1]
        count = kernels.pagination.paginate(
            leaf.row_levels,
            leaf.row_slots,
            leaf.validity,
            leaf.bit_offset,
            leaf.offsets if variable else leaf.offsets[:0],
            level_bits,
            value_bits,
            limits.max_rows,
            limits.max_levels,
            page_bits,
            limits.boundaries,
            stop_value,
            leaf.num_rows,
            table,
        )
        if count >= 0:
            return Pages(table[: count + 1])
        capacity *= 4


@lru_cache(maxsize=1024)
def _level_sizes(*largest: int) -> tuple[int, int]:
    """Bits of the levels of one entry, and bytes that those of a page take beside them."""
    widths = [bit_width(level) for level in largest if level]
    return sum(widths), sum(LENGTH_PREFIX + hybrid_overhead(width) for width in widths)


def hybrid_overhead(width: int) -> int:
    """Bytes that levels or indices of so many bits need beyond those bits: a header, and the rest of a group of eight.

    A repeated run never takes more than the bits that it stands for.
    """
    return 2 + width


def _page_capacity(
    leaf: LeafColumn, limits: PageLimits, page_bits: int, level_bits: int, value_bits: int, variable: bool
) -> int:
    """A guess at the number of pages: two neighbours together always pass one of the limits."""
    bits = leaf.num_levels * level_bits + leaf.num_slots * value_bits
    if variable and len(leaf.offsets):
        bits += 8 * max(int(leaf.offsets[leaf.num_slots]) - int(leaf.offsets[0]), 0)
    by_size = 2 * (bits // page_bits + 1)
    by_rows = leaf.num_rows // limits.max_rows + 1 + len(limits.boundaries)
    by_levels = 2 * (leaf.num_levels // limits.max_levels)
    return int(min(by_size + by_rows + by_levels, leaf.num_rows)) + 2


class Histograms(NamedTuple):
    """How often each level is met: int64[any, max level + 1], a row for each page, and those of the column chunk.

    Those of a level that is always 0 have no columns. ``KNOWN`` are those of a flat optional column: it has the levels
    of nulls and of values, which the page table counts.
    """

    repetition: Int64s
    definition: Int64s
    chunk_repetition: tuple[int, ...] | None
    chunk_definition: tuple[int, ...] | None


NO_HISTOGRAM: Int64s = np.empty((0, 0), np.int64)
NO_HISTOGRAMS = Histograms(NO_HISTOGRAM, NO_HISTOGRAM, None, None)
KNOWN: Int64s = np.empty((0, 2), np.int64)
NO_NULLS = Nulls(0, 0, EMPTY, 0)


def count_levels(leaf: LeafColumn, pages: Pages, arena: Arena) -> Histograms:
    """Histograms of the levels of each page, from the steps of the leaf, or counted where steps are many for them."""
    deepest, top = leaf.descriptor.max_repetition_level, leaf.descriptor.max_definition_level
    if deepest == 0 and top <= 1:
        if top == 0:
            return NO_HISTOGRAMS
        values = pages.total(VALUE)
        return Histograms(NO_HISTOGRAM, KNOWN, None, (pages.total(LEVEL) - values, values))
    repetition = np.zeros((len(pages) + 1, deepest + 1), np.int64) if deepest else NO_HISTOGRAM
    definition = np.zeros((len(pages) + 1, top + 1), np.int64)
    if len(leaf.steps) > COUNTING_STEPS + leaf.num_levels // LEVELS_A_STEP:
        _count(leaf.definition_levels, pages, definition, arena)
        if deepest:
            _count(leaf.repetition_levels, pages, repetition, arena)
    else:
        step = leaf.steps[0] if len(leaf.steps) == 1 else None
        rows = step if isinstance(step, Nulls) and step.level == 0 else NO_NULLS
        if rows is NO_NULLS:  # most nested columns have rows that are null, and no other step
            _take_steps(leaf, pages, repetition, definition)
        kernels.histogram.fill_in(pages.table, leaf.slot_level, rows.bits, rows.bit_offset, repetition, definition)
    of_chunk = tuple(repetition[-1].tolist()) if deepest else None
    return Histograms(repetition, definition, of_chunk, tuple(definition[-1].tolist()))


def _take_steps(leaf: LeafColumn, pages: Pages, repetition: Int64s, definition: Int64s) -> None:
    """Fill in the columns of histograms that the steps of a leaf say, each of which looks at slots of its own."""
    slots, column = pages.table, ROW
    for step in leaf.steps:
        if step.slot_level == leaf.slot_level:  # below the last list, which is no step
            slots, column = pages.table, SLOT
        if isinstance(step, Nulls):
            kernels.histogram.count_nulls(slots, column, *step, definition)
        else:
            elements = np.empty((len(slots), 1), np.int64)
            kernels.histogram.count_empty_lists(slots, column, *step, elements, repetition, definition)
            slots, column = elements, 0


def _count(levels: Levels, pages: Pages, histograms: Int64s, arena: Arena) -> None:
    """Count levels that are an array."""
    partials = arena.take(kernels.histogram.NUM_PARTIALS * histograms.shape[1], np.int64)
    partials[:] = 0
    kernels.histogram.count_levels(levels.data, pages.table, kernels.histogram.NUM_PARTIALS, partials, histograms)
    np.add.reduce(histograms[:-1], out=histograms[-1])


class EncodedLevels(NamedTuple):
    """The encoded levels of pages, one page after another: the data are empty where all levels of the column are 0.

    How many each page has is in the page table; ``size`` is their sum.
    """

    repetition: NDArray[np.uint8]
    definition: NDArray[np.uint8]
    size: int


def encode_levels(leaf: LeafColumn, pages: Pages, arena: Arena) -> EncodedLevels:
    """Repetition and definition levels of all pages in the RLE/bit-packed hybrid."""
    descriptor = leaf.descriptor
    repetition = definition = EMPTY
    size = 0
    if descriptor.max_repetition_level:
        repetition, size = _encode(
            leaf.repetition_levels, descriptor.max_repetition_level, pages, REPETITION_BYTES, arena
        )
    if descriptor.max_definition_level:
        definition, more = _encode(
            leaf.definition_levels, descriptor.max_definition_level, pages, DEFINITION_BYTES, arena
        )
        size += more
    return EncodedLevels(repetition, definition, size)


def _encode(levels: Levels, largest: int, pages: Pages, column: int, arena: Arena) -> tuple[NDArray[np.uint8], int]:
    """The encoded levels, and their bytes."""
    rle = kernels.rle
    width = bit_width(largest)
    data = levels.data
    out = arena.take(rle.hybrid_bound(pages.total(LEVEL) if len(data) else 0, len(pages), width))
    if len(data) == 0:
        size = rle.encode_constant(largest, pages.table, column, out)
    elif levels.width <= 2:
        size = rle.encode_packed(data, levels.offset, levels.width, pages.table, column, out)
    else:
        size = rle.encode_levels(data, width, pages.table, column, out)
    return frozen(out), size
