"""Histograms of repetition and definition levels, page by page (parquet.thrift, ``SizeStatistics``).

Of levels that are an array ``count_levels`` counts all. Levels repeat, and an update of a counter that was just
updated must wait until the store before it can be loaded again: some five cycles for each level. So it deals them to
``num_partials`` partial histograms, in which neighbours never share a counter, and adds these up at the end of each
page (after apache/arrow #45202).

Much is known without the levels. Levels end, on the way from a row to a value, where something is null, or a list is
empty, and no sooner than the page table says: ``count_nulls`` and ``count_empty_lists`` look at each step's own slots,
of which there are fewer than levels, and ``fill_in`` takes the rest from the page table.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, inlined, kernel, load_u64, optimize_for_size
from colwriter.kernels.page_table import LEVEL, ROW, SLOT, VALUE
from colwriter.kernels.pagination import count_valid

# Measured in benchmarks/histogram.py; see docs/performance.md.
NUM_PARTIALS = 4


@kernel
def count_levels(levels: Bytes, pages: Int64s, num_partials: Int, partials: Int64s, histograms: Int64s) -> None:
    """Histogram of each page's levels, for any number of levels.

    ``levels`` uint8, none above ``histograms.shape[1] - 1``; ``pages``: the page table; ``num_partials`` 1, 2,
    4 or 8; ``partials`` int64, scratch of at least ``num_partials * histograms.shape[1]``, all zero before and after;
    ``histograms`` int64[any, max level + 1], of which a row a page is overwritten.
    """
    size = histograms.shape[1]
    last = num_partials - 1
    byte = np.uint64(255)
    p1 = (1 & last) * size
    p2 = (2 & last) * size
    p3 = (3 & last) * size
    p4 = (4 & last) * size
    p5 = (5 & last) * size
    p6 = (6 & last) * size
    p7 = (7 & last) * size
    for page in range(len(pages) - 1):
        i = pages[page, LEVEL]
        end = pages[page + 1, LEVEL]
        while i + 8 <= end:
            word = load_u64(levels, i)
            partials[np.int64(word & byte)] += 1
            partials[p1 + np.int64((word >> np.uint64(8)) & byte)] += 1
            partials[p2 + np.int64((word >> np.uint64(16)) & byte)] += 1
            partials[p3 + np.int64((word >> np.uint64(24)) & byte)] += 1
            partials[p4 + np.int64((word >> np.uint64(32)) & byte)] += 1
            partials[p5 + np.int64((word >> np.uint64(40)) & byte)] += 1
            partials[p6 + np.int64((word >> np.uint64(48)) & byte)] += 1
            partials[p7 + np.int64(word >> np.uint64(56))] += 1
            i += 8
        while i < end:
            partials[np.int64(levels[i])] += 1
            i += 1
        for level in range(size):
            total = np.int64(0)
            for k in range(num_partials):
                total += partials[k * size + level]
                partials[k * size + level] = 0
            histograms[page, level] = total


@kernel
def count_nulls(
    slots: Int64s, column: Int, slot_level: Int, level: Int, validity: Bytes, bit_offset: Int, definition: Int64s
) -> None:
    """Column ``level`` of the histograms: the slots that are not valid, but for those of a level above in the schema.

    Column ``column`` of ``slots``, which has a row for each page and one more, is the first slot of each page, and the
    end; they have levels from ``slot_level`` on.
    ``definition`` int64[pages + 1, max level + 1], whose columns from ``slot_level`` to ``level`` are known.
    """
    for page in range(len(slots) - 1):
        first = bit_offset + slots[page, column]
        end = bit_offset + slots[page + 1, column]
        nulls = end - first - count_valid(validity, first, end)
        for above in range(slot_level, level):
            nulls -= definition[page, above]
        definition[page, level] = nulls


@kernel
def count_empty_lists(
    slots: Int64s,
    column: Int,
    slot_level: Int,
    level: Int,
    repetition_level: Int,
    offsets: Array,
    elements: Int64s,
    repetition: Int64s,
    definition: Int64s,
) -> None:
    """As ``count_nulls``, of slots that are lists: those without elements that are not null have ``level``.

    ``offsets``: one more than slots; null lists span no elements. All elements but the first of each list are counted
    in column ``repetition_level`` of ``repetition``. ``elements`` int64[pages + 1, 1] takes the first element of each
    page, and the end.
    """
    base = np.int64(offsets[0])
    elements[0, 0] = np.int64(offsets[slots[0, column]]) - base
    for page in range(len(slots) - 1):
        start = slots[page, column]
        end = slots[page + 1, column]
        starts = offsets[start:end]
        stops = offsets[start + 1 : end + 1]
        empty = np.int64(0)
        for i in range(len(starts)):
            empty += np.int64(starts[i] == stops[i])
        elements[page + 1, 0] = np.int64(offsets[end]) - base
        repetition[page, repetition_level] = elements[page + 1, 0] - elements[page, 0] - (end - start - empty)
        for null in range(slot_level, level):
            empty -= definition[page, null]
        definition[page, level] = empty


@inlined
def _fill_in_rest(histograms: Int64s, page: Int, first: Int, level: Int, total: Int) -> None:
    """Column ``level``: what is left of ``total`` beside the columns from ``first`` to it."""
    for known in range(first, level):
        total -= histograms[page, known]
    histograms[page, level] = total


@kernel
def fill_in(
    pages: Int64s, slot_level: Int, rows: Bytes, bit_offset: Int, repetition: Int64s, definition: Int64s
) -> None:
    """Complete histograms by what the page table has: rows, levels, slots and values.

    A row starts where the repetition level is 0; a value has the largest definition level; slots have levels from
    ``slot_level`` on. Rows are null, and have level 0, where bits of ``rows`` are not set, if it has any. So the
    largest repetition level, empty lists of slots, which have the level below ``slot_level``, and what is null last,
    which has the level below the largest, are what is left. Other columns must be known. ``pages`` is the page table;
    ``repetition`` and ``definition`` int64[pages + 1, max level + 1], without columns if all are 0. The row after the
    last page takes the sums over the pages.
    """
    optimize_for_size()
    count = np.int64(len(pages)) - 1
    top = definition.shape[1] - 1
    for page in range(count):
        levels = pages[page + 1, LEVEL] - pages[page, LEVEL]
        slots = pages[page + 1, SLOT] - pages[page, SLOT]
        values = pages[page + 1, VALUE] - pages[page, VALUE]
        if len(rows) > 0:
            first = pages[page, ROW]
            end = pages[page + 1, ROW]
            definition[page, 0] = end - first - count_valid(rows, bit_offset + first, bit_offset + end)
        if repetition.shape[1] > 0:
            repetition[page, 0] = pages[page + 1, ROW] - pages[page, ROW]
            _fill_in_rest(repetition, page, np.int64(0), repetition.shape[1] - 1, levels)
        if slot_level > 0:
            _fill_in_rest(definition, page, np.int64(0), slot_level - 1, levels - slots)
        if slot_level < top:
            _fill_in_rest(definition, page, slot_level, top - 1, slots - values)
        definition[page, top] = values
    for histograms in (repetition, definition):
        for level in range(histograms.shape[1]):
            total = np.int64(0)
            for page in range(count):
                total += histograms[page, level]
            histograms[count, level] = total
