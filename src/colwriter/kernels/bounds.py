"""Bounds of pages compared: the least and the greatest of a column chunk, and the ``BoundaryOrder`` (parquet.thrift).

Pages without values have no bounds, and are passed over. Bounds rise, or fall, until a page contradicts it.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel
from colwriter.kernels.pagination import VALUES

UNORDERED, ASCENDING, DESCENDING = 0, 1, 2


@inlined
def _order(some: Int, rising: Int, falling: Int) -> Int:
    """The order of bounds that never fell, or never rose; ties count as rising. No bounds have no order."""
    if some and rising:
        return ASCENDING
    return DESCENDING if some and falling else UNORDERED


@kernel
def compare_numbers(fences: Int64s, extremes: Int64s) -> tuple[Int, Int, Int]:
    """(page of the least value, of the greatest, order) of minima and maxima, int64[2, pages]; -1, -1 if none.

    A page whose minimum is above its maximum has no bounds either.
    """
    minima = extremes[0]
    maxima = extremes[1]
    least: Int = np.int64(-1)
    greatest: Int = np.int64(-1)
    before: Int = np.int64(-1)
    rising = True
    falling = True
    for page in range(len(minima)):
        if fences[VALUES, page] == fences[VALUES, page + 1] or minima[page] > maxima[page]:
            continue
        if before < 0:
            least = page
            greatest = page
        else:
            rising &= minima[page] >= minima[before] and maxima[page] >= maxima[before]
            falling &= minima[page] <= minima[before] and maxima[page] <= maxima[before]
            if minima[page] < minima[least]:
                least = page
            if maxima[page] > maxima[greatest]:
                greatest = page
        before = page
    return least, greatest, _order(before >= 0, rising, falling)


@inlined
def _compare(data: Bytes, starts: Int64s, lengths: Int64s, a: Int, b: Int, flip: Int) -> Int:
    """-1, 0 or 1: byte array a sorts before b, is the same, or sorts after it, by unsigned bytes, a prefix first.

    ``flip`` is what the first byte of each differs in from one that is to be compared as unsigned.
    """
    for k in range(min(lengths[a], lengths[b])):
        x = np.int64(data[starts[a] + k]) ^ flip
        y = np.int64(data[starts[b] + k]) ^ flip
        flip = np.int64(0)
        if x != y:
            return np.int64(-1) if x < y else np.int64(1)
    return np.int64(lengths[a] > lengths[b]) - np.int64(lengths[a] < lengths[b])


@kernel
def compare_byte_arrays(
    fences: Int64s, data: Bytes, starts: Int64s, lengths: Int64s, signed: bool
) -> tuple[Int, Int, Int]:
    """As ``compare_numbers``, of byte arrays of ``data``: ``starts`` and ``lengths`` int64[2, pages], minima first.

    With ``signed`` they are big-endian numbers of one length.
    """
    flip = np.int64(128) if signed else np.int64(0)
    extremes = (np.int64(-1), np.int64(-1))
    some = False
    rising = True
    falling = True
    for side in range(2):
        found: Int = np.int64(-1)
        before: Int = np.int64(-1)
        for page in range(starts.shape[1]):
            if fences[VALUES, page] == fences[VALUES, page + 1]:
                continue
            if before < 0:
                found = page
            else:
                step = _compare(data, starts[side], lengths[side], page, before, flip)
                rising &= step >= 0
                falling &= step <= 0
                step = _compare(data, starts[side], lengths[side], page, found, flip)
                if (side == 0 and step < 0) or (side == 1 and step > 0):
                    found = page
            before = page
            some = True
        extremes = (extremes[1], found)
    return extremes[0], extremes[1], _order(some, rising, falling)
