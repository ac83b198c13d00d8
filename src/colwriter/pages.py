"""The page table: pages are rows of arrays, and a stage fills some columns for all pages of a column chunk at once.

A stage is one function. It takes what the stage before made, and changes nothing that it was given:
``paginate`` → ``Pages``, ``count_levels`` → ``Histograms``, ``encode_levels`` → ``EncodedLevels``, a values encoder of
``colwriter.encodings`` → ``EncodedValues``, ``colwriter.framing.frame`` → ``FramedPages``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import frozen
from colwriter.levels import EMPTY, LeafColumn, Levels, Nulls
from colwriter.metadata import Encoding

__all__ = [
    "EncodedLevels",
    "EncodedValues",
    "Histograms",
    "Pages",
    "bit_width",
    "count_levels",
    "encode_levels",
    "hybrid_overhead",
    "paginate",
]

Int64s = NDArray[np.int64]
NO_NUMBERS: Int64s = np.empty(0, np.int64)
# To count levels takes as long as this many steps, and one more for so many levels; see docs/performance.md.
COUNTING_STEPS = 8
LEVELS_A_STEP = 512


def bit_width(level: int) -> int:
    """Bits of a level or dictionary index of at most ``level`` (Encodings.md)."""
    return level.bit_length()


@dataclass(frozen=True, slots=True)
class Pages:
    """Where pages start: ``fences`` int64[4, pages + 1], the first row, level, slot and value of each, and the end.

    ``num_*`` int64[pages]: how many of each a page has. Its levels are what the format calls num_values; its values are
    those that are not null. ``null_counts``: the levels that stand for no value (parquet-format #476: null and empty
    lists count).
    """

    fences: Int64s

    @property
    def rows(self) -> Int64s:
        """First row of each page, and the end of the last."""
        return self._row(0)

    @property
    def levels(self) -> Int64s:
        """First level of each page, and the end of the last."""
        return self._row(1)

    @property
    def slots(self) -> Int64s:
        """First slot of each page, and the end of the last."""
        return self._row(2)

    @property
    def values(self) -> Int64s:
        """First value of each page, and the end of the last."""
        return self._row(3)

    @property
    def num_rows(self) -> Int64s:
        """Rows of each page."""
        return self._counts(0)

    @property
    def num_levels(self) -> Int64s:
        """Levels of each page."""
        return self._counts(1)

    @property
    def num_slots(self) -> Int64s:
        """Slots of each page."""
        return self._counts(2)

    @property
    def num_values(self) -> Int64s:
        """Values of each page."""
        return self._counts(3)

    @property
    def null_counts(self) -> Int64s:
        """Levels without a value of each page."""
        return self.num_levels - self.num_values

    def _row(self, row: int) -> Int64s:
        fences: Int64s = self.fences[row]
        return fences

    def _counts(self, row: int) -> Int64s:
        counts: Int64s = self.fences[row, 1:] - self.fences[row, :-1]
        return counts

    def __len__(self) -> int:
        return int(self.fences.shape[1]) - 1

    def total(self, row: int) -> int:
        """Rows (0), levels (1), slots (2) or values (3) of all pages."""
        return int(self.fences[row, -1] - self.fences[row, 0])

    def split(self, parts: int) -> list[Pages]:
        """The pages in up to ``parts`` runs of about as many each; the first has an eighth more than the others.

        It is for the thread that asks, which begins earlier, and would wait longer for the others than they for it.
        """
        ends = [0, *range(17, 17 + 15 * parts, 15)]
        cuts = [len(self) * end // ends[-1] for end in ends]
        return [Pages(self.fences[:, a : b + 1]) for a, b in pairwise(cuts) if b > a]


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
        fences = np.zeros((4, capacity), np.int64)
        if after is not None:
            fences[:, 0] = after.fences[:, -1]
        pages = kernels.pagination.paginate(
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
            fences,
        )
        if pages >= 0:
            return Pages(np.ascontiguousarray(fences[:, : pages + 1]))
        capacity *= 4


@lru_cache(maxsize=1024)
def _level_sizes(*largest: int) -> tuple[int, int]:
    """Bits of the levels of one entry, and bytes that those of a page take beside them."""
    widths = [bit_width(level) for level in largest if level]
    return sum(widths), sum(kernels.framing.LENGTH_PREFIX + hybrid_overhead(width) for width in widths)


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
    """How often each level is met: int64[pages + 1, max level + 1], without columns where the largest level is 0.

    The row after the last page is that of the column chunk, the sum over its pages.
    """

    repetition: Int64s
    definition: Int64s


NO_HISTOGRAM: Int64s = np.empty((0, 0), np.int64)
NO_HISTOGRAMS = Histograms(NO_HISTOGRAM, NO_HISTOGRAM)


def count_levels(leaf: LeafColumn, pages: Pages, arena: Arena) -> Histograms:
    """Histograms of the levels of each page, from the steps of the leaf, or counted where steps are many for them."""
    deepest, top = leaf.descriptor.max_repetition_level, leaf.descriptor.max_definition_level
    if top == 0:
        return NO_HISTOGRAMS
    repetition = np.zeros((len(pages) + 1, deepest + 1), np.int64) if deepest else NO_HISTOGRAM
    definition = np.zeros((len(pages) + 1, top + 1), np.int64)
    if leaf.steps:
        if len(leaf.steps) > COUNTING_STEPS + leaf.num_levels // LEVELS_A_STEP:
            _count(leaf.definition_levels, pages, definition, arena)
            if deepest:
                _count(leaf.repetition_levels, pages, repetition, arena)
            return Histograms(repetition, definition)
        _take_steps(leaf, pages, repetition, definition)
    kernels.histogram.fill_in(pages.fences, leaf.slot_level, repetition, definition)
    return Histograms(repetition, definition)


def _take_steps(leaf: LeafColumn, pages: Pages, repetition: Int64s, definition: Int64s) -> None:
    """Fill in the columns of histograms that the steps of a leaf say, each of which looks at slots of its own."""
    slots = pages.rows
    for step in leaf.steps:
        if step.slot_level == leaf.slot_level:  # below the last list, which is no step
            slots = pages.slots
        if isinstance(step, Nulls):
            kernels.histogram.count_nulls(slots, *step, definition)
        else:
            elements = np.empty(len(slots), np.int64)
            kernels.histogram.count_empty_lists(slots, *step, elements, repetition, definition)
            slots = elements


def _count(levels: Levels, pages: Pages, histograms: Int64s, arena: Arena) -> None:
    """Count levels that are an array."""
    partials = arena.take(kernels.histogram.NUM_PARTIALS * histograms.shape[1], np.int64)
    partials[:] = 0
    kernels.histogram.count_levels(levels.data, pages.levels, kernels.histogram.NUM_PARTIALS, partials, histograms[:-1])
    np.add.reduce(histograms[:-1], out=histograms[-1])


class EncodedLevels(NamedTuple):
    """The encoded levels of all pages, one page after another; ``starts`` int64[pages + 1], empty if there are none."""

    data: NDArray[np.uint8]
    starts: Int64s

    @property
    def encoded_sizes(self) -> Int64s | int:
        """Bytes of the levels of each page."""
        return self.starts[1:] - self.starts[:-1] if len(self.starts) else 0


NO_LEVELS = EncodedLevels(EMPTY, NO_NUMBERS)


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
    count = pages.total(1) if len(levels.data) else 0
    out = arena.take(kernels.rle.hybrid_bound(count, len(pages), width))
    if count == 0:
        kernels.rle.encode_constant(largest, pages.levels, out, starts)
    elif levels.width == 1:
        kernels.rle.encode_bitmap(levels.data, levels.offset, pages.levels, out, starts)
    elif levels.width == 2:
        kernels.rle.encode_pairs(levels.data, pages.levels, out, starts)
    else:
        kernels.rle.encode_levels(levels.data, pages.levels, width, out, starts)
    return EncodedLevels(frozen(out), starts)


class EncodedValues(NamedTuple):
    """The encoded values of all pages: page i is ``data[starts[i]:ends[i]]``, with room for levels and header before.

    ``extremes`` int64[2, pages]: the least and the greatest value of each page that has values; of byte arrays, their
    slots. Numbers are given as keys that order like them (see ``colwriter.keys``).
    ``value_bytes`` int64[pages]: bytes of the byte arrays without their lengths; None for other types.
    ``nan_counts`` int64[pages]: how many values are not a number; None where the type has no such.
    """

    encoding: Encoding
    data: NDArray[np.uint8]
    starts: Int64s
    ends: Int64s
    extremes: Int64s
    value_bytes: Int64s | None
    nan_counts: Int64s | None


class Lead(NamedTuple):
    """Bytes to leave free before the values of each page, for its header and levels: int64[pages], and their sum."""

    of_pages: Int64s
    total: int


def value_lead(levels: tuple[EncodedLevels, EncodedLevels], pages: Pages) -> Lead:
    """What the header of each page, and these levels with their lengths, take at most."""
    count = len(pages)
    fixed = kernels.compact.MAX_HEADER + 2 * kernels.framing.LENGTH_PREFIX
    lead: Int64s | None = None
    total = count * fixed
    for kind in levels:
        if len(kind.starts):
            sizes = kind.starts[1:] - kind.starts[:-1]
            lead = sizes + (fixed if lead is None else lead)
            total += int(kind.starts[-1])
    if lead is None:
        lead = np.empty(count, np.int64)
        lead.fill(fixed)
    return Lead(lead, total)
