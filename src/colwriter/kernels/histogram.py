"""Histograms of repetition and definition levels, page by page (parquet.thrift, ``SizeStatistics``).

Levels repeat, and an update of a counter that was just updated must wait until the store before it can be
loaded again: some five cycles for each level. Two ways around it, after apache/arrow #45202:

* ``count_levels`` deals the levels to ``num_partials`` partial histograms, so that neighbours never share a
  counter, and adds them up at the end of each page;
* ``count_level`` counts one level by comparison, in as many partial counters as a vector register has lanes.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, kernel, load_u64, popcount

# Measured in benchmarks/histogram.py; see docs/performance.md.
NUM_PARTIALS = 4
# A lane of count_level holds at most this many levels before it is added to the total.
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


@kernel
def count_level(levels: Bytes, level_starts: Int64s, level: Int, histograms: Int64s) -> None:
    """How often ``level`` is met in each page, into ``histograms[:, level]``."""
    for page in range(len(level_starts) - 1):
        total = np.int64(0)
        start = level_starts[page]
        end = level_starts[page + 1]
        while start < end:
            block = levels[start : min(start + BLOCK, end)]  # a slice has no negative index: the loop vectorises
            count = np.uint16(0)
            for i in range(len(block)):
                count = np.uint16(count + np.uint16(block[i] == level))
            total += np.int64(count)
            start += BLOCK
        histograms[page, level] = total


@kernel
def count_pair_level(pairs: Bytes, level_starts: Int64s, level: Int, histograms: Int64s) -> None:
    """As ``count_level``, of levels packed in two bits each: 32 at a time."""
    even = np.uint64(0x5555555555555555)
    other = np.uint64(level) * even
    for page in range(len(level_starts) - 1):
        start = level_starts[page]
        end = level_starts[page + 1]
        # Whole words from a byte boundary on, so that the loop vectorises; the levels before and after one by one.
        words = max(end - ((start + 3) & ~3), 0) >> 5
        first = ((start + 3) & ~3) >> 2
        whole = pairs[first : first + 8 * words]
        total = np.int64(0)
        for k in range(words):
            different = load_u64(whole, 8 * k) ^ other
            total += popcount(~(different | (different >> np.uint64(1))) & even)
        for i in range(start, min(4 * first, end)):
            total += np.int64((pairs[i >> 2] >> np.uint8(2 * (i & 3))) & 3 == level)
        for i in range(max(4 * first + 32 * words, start), end):
            total += np.int64((pairs[i >> 2] >> np.uint8(2 * (i & 3))) & 3 == level)
        histograms[page, level] = total
