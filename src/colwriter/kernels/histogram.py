"""Histograms of repetition and definition levels, page by page (parquet.thrift, ``SizeStatistics``).

Levels repeat, and an update of a counter that was just updated must wait until the store before it can be
loaded again: some five cycles for each level. Two ways around it, after apache/arrow #45202:

* ``count_levels`` deals the levels to ``num_partials`` partial histograms, so that neighbours never share a
  counter, and adds them up at the end of each page;
* ``count_missing`` counts one level after another by comparison, in as many partial counters as a vector register
  has lanes.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel, load_u64
from colwriter.kernels.pagination import LEVELS, ROWS, SLOTS, VALUES, count_valid

# Measured in benchmarks/histogram.py; see docs/performance.md.
NUM_PARTIALS = 4
# A lane of _count_bytes holds at most this many levels before it is added to the total.
BLOCK = 32768


@kernel
def count_levels(levels: Bytes, level_starts: Int64s, num_partials: Int, partials: Int64s, histograms: Int64s) -> None:
    """Histogram of each page's levels, for any number of levels.

    ``levels`` uint8, none above ``histograms.shape[1] - 1``; ``level_starts`` int64[pages + 1]; ``num_partials`` 1, 2,
    4 or 8; ``partials`` int64, scratch of at least ``num_partials * histograms.shape[1]``, all zero before and after;
    ``histograms`` int64[pages, max level + 1], overwritten.
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
    for page in range(len(level_starts) - 1):
        i = level_starts[page]
        end = level_starts[page + 1]
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


@inlined
def _count_bytes(levels: Bytes, start: Int, end: Int, level: Int) -> Int:
    """How many of the levels ``[start, end)``, a byte each, are ``level``."""
    wanted = np.uint8(level)  # compared in eight bits, not widened
    total = np.int64(0)
    while start < end:
        block = levels[start : min(start + BLOCK, end)]  # a slice has no negative index: the loop vectorises
        count = np.uint16(0)
        for i in range(len(block)):
            count = np.uint16(count + np.uint16(block[i] == wanted))
        total += np.int64(count)
        start += BLOCK
    return total


@kernel
def known_levels(fences: Int64s, slot_level: Int, repetition: Int64s, definition: Int64s) -> None:
    """Fill in the columns of histograms that need no counting, since the page table has them.

    A row starts where the repetition level is 0; a value has the largest definition level; a slot without a value has
    the one below, if ``slot_level``, the least that slots have, is that. ``fences`` int64[4, pages + 1] as in
    ``paginate``; ``repetition`` and ``definition`` int64[pages + 1, max level + 1], without columns if all are 0. The
    row after the last page takes the sums over the pages.
    """
    pages = fences.shape[1] - 1
    top = definition.shape[1] - 1
    for page in range(pages + 1):
        start = page if page < pages else 0
        end = page + 1 if page < pages else pages
        if repetition.shape[1] > 0:
            repetition[page, 0] = fences[ROWS, end] - fences[ROWS, start]
        if top > 0:
            values = fences[VALUES, end] - fences[VALUES, start]
            definition[page, top] = values
            if slot_level == top - 1:
                definition[page, top - 1] = fences[SLOTS, end] - fences[SLOTS, start] - values


@kernel
def levels_of_lists(
    fences: Int64s, slot_level: Int, row_validity: Bytes, bit_offset: Int, repetition: Int64s, definition: Int64s
) -> None:
    """Histograms of a column whose rows are lists of leaves: nothing is counted but the null lists of each page.

    The levels below ``slot_level`` (1 or 2) are those of null lists, if lists are optional, and of empty ones. The
    validity bitmap of the rows, empty if there are no nulls, tells one from the other. The rest is as in
    ``known_levels``.
    """
    pages = fences.shape[1] - 1
    all_nulls = np.int64(0)
    for page in range(pages + 1):
        start = page if page < pages else 0
        end = page + 1 if page < pages else pages
        rows = fences[ROWS, end] - fences[ROWS, start]
        levels = fences[LEVELS, end] - fences[LEVELS, start]
        slots = fences[SLOTS, end] - fences[SLOTS, start]
        nulls = all_nulls
        if page < pages and len(row_validity) > 0:
            first = bit_offset + fences[ROWS, page]
            nulls = rows - count_valid(row_validity, first, first + rows)
            all_nulls += nulls
        repetition[page, 0] = rows
        repetition[page, 1] = levels - rows
        if slot_level == 2:
            definition[page, 0] = nulls
        definition[page, slot_level - 1] = levels - slots - nulls
        values = fences[VALUES, end] - fences[VALUES, start]
        if definition.shape[1] > slot_level + 1:
            definition[page, slot_level] = slots - values
        definition[page, definition.shape[1] - 1] = values


@kernel
def count_missing(levels: Bytes, level_starts: Int64s, first: Int, end: Int, histograms: Int64s) -> None:
    """Complete histograms of which all but the columns ``[first, end)`` are known: the last of them is what is left.

    ``histograms`` int64[pages + 1, max level + 1]; the row after the last page takes the sum over the pages.
    ``levels`` uint8. Each column is counted by comparison.
    """
    pages = len(level_starts) - 1
    histograms[pages, first:end] = 0
    for page in range(pages):
        start = level_starts[page]
        stop = level_starts[page + 1]
        for level in range(first, end - 1):
            histograms[page, level] = _count_bytes(levels, start, stop, level)
        left = stop - start
        for level in range(histograms.shape[1]):
            if level != end - 1:
                left -= histograms[page, level]
        histograms[page, end - 1] = left
        for level in range(first, end):
            histograms[pages, level] += histograms[page, level]
