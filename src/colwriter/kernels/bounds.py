"""Bounds of pages compared: the least and the greatest of a column chunk, and the ``BoundaryOrder`` (parquet.thrift).

Pages without values have no bounds, and are passed over. Bounds rise, or fall, until a page contradicts it.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, inlined, kernel, optimize_for_size
from colwriter.kernels.page_table import GREATEST, LEAST, VALUE

UNORDERED, ASCENDING, DESCENDING = 0, 1, 2


@inlined
def _order(some: Int, rising: Int, falling: Int) -> Int:
    """The order of bounds that never fell, or never rose; ties count as rising. No bounds have no order."""
    if some and rising:
        return ASCENDING
    return DESCENDING if some and falling else UNORDERED


@kernel
def compare_numbers(pages: Int64s) -> tuple[Int, Int, Int]:
    """(page of the least value, of the greatest, order), by the keys in the page table; -1, -1 if there are none.

    A page whose least value is above its greatest has no bounds either.
    """
    optimize_for_size()
    least: Int = np.int64(-1)
    greatest: Int = np.int64(-1)
    before: Int = np.int64(-1)
    rising = True
    falling = True
    for page in range(len(pages) - 1):
        low = pages[page, LEAST]
        high = pages[page, GREATEST]
        if pages[page, VALUE] == pages[page + 1, VALUE] or low > high:
            continue
        if before < 0:
            least = page
            greatest = page
        else:
            rising &= low >= pages[before, LEAST] and high >= pages[before, GREATEST]
            falling &= low <= pages[before, LEAST] and high <= pages[before, GREATEST]
            if low < pages[least, LEAST]:
                least = page
            if high > pages[greatest, GREATEST]:
                greatest = page
        before = page
    return least, greatest, _order(before >= 0, rising, falling)


@inlined
def _compare(data: Bytes, bounds: Int64s, side: Int, a: Int, b: Int, flip: Int) -> Int:
    """-1, 0 or 1: the bound of page a sorts before that of b, is the same, or sorts after it.

    They compare by unsigned bytes, a prefix first. ``flip`` is what the first byte of each differs in from one that is
    to be compared as unsigned.
    """
    a_start = bounds[a, side]
    b_start = bounds[b, side]
    a_length = bounds[a, side + 1]
    b_length = bounds[b, side + 1]
    for k in range(min(a_length, b_length)):
        x = np.int64(data[a_start + k]) ^ flip
        y = np.int64(data[b_start + k]) ^ flip
        flip = np.int64(0)
        if x != y:
            return np.int64(-1) if x < y else np.int64(1)
    return np.int64(a_length > b_length) - np.int64(a_length < b_length)


@kernel
def locate_byte_arrays(offsets: Array, pages: Int64s, bounds: Int64s) -> tuple[Int, Int]:
    """Where the least and the greatest value of each page lie: ``bounds`` as for ``compare_byte_arrays``.

    Slot i is the byte array from ``offsets[i]`` to ``offsets[i + 1]``. Returns the bytes of all, and of the longest.
    """
    optimize_for_size()
    total = np.int64(0)
    longest = np.int64(0)
    for page in range(len(pages) - 1):
        for side in range(2):
            slot = pages[page, LEAST + side]
            start = np.int64(0)
            length = np.int64(0)
            if slot >= 0:
                start = np.int64(offsets[slot])
                length = np.int64(offsets[slot + 1]) - start
            bounds[page, 2 * side] = start
            bounds[page, 2 * side + 1] = length
            total += length
            longest = max(longest, length)
    return total, longest


@kernel
def compare_byte_arrays(pages: Int64s, data: Bytes, bounds: Int64s, signed: bool) -> tuple[Int, Int, Int]:
    """As ``compare_numbers``, of byte arrays of ``data``.

    ``bounds`` int64[pages, 4]: where the least value of a page starts, its length, and the same of the greatest. With
    ``signed`` they are big-endian numbers of one length.
    """
    optimize_for_size()
    flip = np.int64(128) if signed else np.int64(0)
    extremes = (np.int64(-1), np.int64(-1))
    some = False
    rising = True
    falling = True
    for side in range(0, 4, 2):
        found: Int = np.int64(-1)
        before: Int = np.int64(-1)
        for page in range(len(pages) - 1):
            if pages[page, VALUE] == pages[page + 1, VALUE]:
                continue
            if before < 0:
                found = page
            else:
                step = _compare(data, bounds, side, page, before, flip)
                rising &= step >= 0
                falling &= step <= 0
                step = _compare(data, bounds, side, page, found, flip)
                if (side == 0 and step < 0) or (side == 2 and step > 0):
                    found = page
            before = page
            some = True
        extremes = (extremes[1], found)
    return extremes[0], extremes[1], _order(some, rising, falling)
