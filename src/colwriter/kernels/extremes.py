"""The least and the greatest of the byte arrays of a page, ``CHUNK`` values at a time.

Nearly all values lie between two that were met before. What tells is a key of each, made and compared by vectors: seven
bytes after those that all values so far begin with, and how many bytes are left. Only values whose key is the least or
the greatest of its chunk, and not within what was met before, are compared byte by byte: one or two of a chunk at most
where values are sorted, and mostly none where they are not.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    byte_swap,
    count_trailing_zeros,
    inlined,
    load_u64,
    popcount,
    prefetch,
)
from colwriter.kernels.bits import ALL, valid_slots

CHUNK = 64
# Slots of which those that hold a value are picked out at once, so many of each 64 in a step without a branch.
PICKED = 2048
STEP = 8
# Picking out some of many values is too irregular for the processor to foresee which lines of memory come next, so they
# are asked for this many slots before; measured on data that are in no cache.
AHEAD = 1024
# int64 that a kernel works in: slots that were picked, and words and lengths of a chunk.
SCRATCH = PICKED + STEP + 2 * CHUNK
# Of a key, its last byte: bytes of the value that are left, where this is eight or more.
LONG = np.uint64(8)
LAST_BYTE = np.uint64(255)
NONE = np.uint64(0)
ONE = np.uint64(1)


@inlined
def pick_slots(offsets: Array, validity: Bytes, bit_offset: Int, slot: Int, end: Int, picked: Int64s) -> Int:
    """The slots of ``[slot, end)``, at most ``PICKED``, that hold a value; returns how many ``picked`` takes.

    It has room for ``STEP`` more. Lines of ``offsets`` are asked for.
    """
    total = np.int64(0)
    while slot < end:
        count = min(np.int64(64), end - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        valid = popcount(word)
        if valid == 64:
            block = picked[total : total + 64]
            for k in range(len(block)):
                block[k] = slot + k
        else:
            for k in range(0, 64, 64 // offsets.itemsize):
                prefetch(offsets, slot + AHEAD + k)
            to = np.uint64(total)
            while True:  # once at least: whether there are any is not to be foreseen either
                for k in range(STEP):
                    picked[to + np.uint64(k)] = slot + count_trailing_zeros(word)
                    word &= word - ONE
                if word == NONE:
                    break
                to += np.uint64(STEP)
        total += valid
        slot += count
    return total


@inlined
def shared_prefix(data: Bytes, a: Int, b: Int, limit: Int) -> Int:
    """How many of the first ``limit`` bytes from ``a`` and from ``b`` on are the same."""
    shared = np.int64(0)
    last = max(a, b)
    while shared < limit:
        if last + shared + 8 <= len(data):
            differs = load_u64(data, a + shared) ^ load_u64(data, b + shared)
            if differs != NONE:
                shared += count_trailing_zeros(differs) >> 3
                break
            shared += 8  # a constant, so that the next load does not wait for this one
        elif data[a + shared] == data[b + shared]:
            shared += 1
        else:
            break
    return min(shared, limit)


@inlined
def less(offsets: Array, data: Bytes, a: Int, b: Int) -> Int:
    """Whether the value of slot a sorts before that of slot b.

    They compare by unsigned bytes, a prefix before what it begins (parquet.thrift, ``TypeDefinedOrder``).
    """
    a_start = np.int64(offsets[a])
    b_start = np.int64(offsets[b])
    a_length = np.int64(offsets[a + 1]) - a_start
    b_length = np.int64(offsets[b + 1]) - b_start
    shorter = min(a_length, b_length)
    shared = shared_prefix(data, a_start, b_start, shorter)
    if shared < shorter:
        return data[a_start + shared] < data[b_start + shared]
    return a_length < b_length


@inlined
def first_word(data: Bytes, start: Int, length: Int) -> Int:
    """The first eight bytes of a value, the first in the lowest place; past a shorter one, whatever they are."""
    if start + 8 <= len(data):
        return load_u64(data, start)
    word = NONE
    for k in range(min(np.int64(8), length)):
        word |= np.uint64(data[start + k]) << np.uint64(8 * k)
    return word


@inlined
def _key(word: Int, length: Int) -> Int:
    """A number that orders as a value of ``length`` bytes does: seven of ``word``, then the length up to ``LONG``.

    Where two are the same, so are the values, unless both are ``LONG``.
    """
    kept = min(np.uint64(length), LONG)
    # Bits past the value: 0 to 64 of them, without a branch. One shift by 64 would not be defined.
    half = np.uint64(32) - (kept << np.uint64(2))
    bits = (byte_swap(word) >> half) >> half
    return (((bits << half) << half) & ~LAST_BYTE) | kept


@inlined
def note_value(
    data: Bytes, start: Int, length: Int, like: Int, shared: Int, words: Int64s, lengths: Int64s, k: Int
) -> Int:
    """Note value ``k`` of a chunk, for ``widen``; whether it does not begin with the ``shared`` bytes at ``like``."""
    if shared > 0 and (length < shared or shared_prefix(data, like, start, shared) < shared):
        return True
    words[k] = np.int64(first_word(data, start + shared, length - shared))
    lengths[k] = length - shared
    return False


@inlined
def widen(
    offsets: Array,
    data: Bytes,
    slots: Int64s,
    words: Int64s,
    lengths: Int64s,
    strange: Int,
    least: Int,
    greatest: Int,
    shared: Int,
    low: Int,
    high: Int,
) -> tuple[Int, Int, Int, Int, Int]:
    """(``least``, ``greatest``, ``shared``, ``low``, ``high``) with the values of ``slots``, one at least, besides.

    ``least`` and ``greatest`` are slots, -1 if there was no value; all values between them begin with the same
    ``shared`` bytes, and ``low`` and ``high`` are their keys after these. ``strange``: some value of the chunk does not
    begin with them. It is outside, and so fewer bytes are shared after it: that is rare.
    """
    smallest = ALL
    largest = NONE
    words = words[: len(slots)]
    for k in range(len(words)):
        key = _key(np.uint64(words[k]), lengths[k])
        words[k] = np.int64(key)
        smallest = min(smallest, key)
        largest = max(largest, key)
    if least < 0:
        least = slots[0]
        greatest = least
        low = np.uint64(words[0])
        high = low
    candidates = NONE
    if strange:
        candidates = ALL >> np.uint64(CHUNK - len(words))
    else:
        if smallest < low or (smallest == low and (low & LAST_BYTE) == LONG):
            for k in range(len(words)):
                candidates |= np.uint64(np.uint64(words[k]) == smallest) << np.uint64(k)
        if largest > high or (largest == high and (high & LAST_BYTE) == LONG):
            for k in range(len(words)):
                candidates |= np.uint64(np.uint64(words[k]) == largest) << np.uint64(k)
    if candidates == NONE:
        return least, greatest, shared, low, high
    while candidates != NONE:
        slot = slots[count_trailing_zeros(candidates)]
        candidates &= candidates - ONE
        if less(offsets, data, slot, least):
            least = slot
        elif less(offsets, data, greatest, slot):
            greatest = slot
    first = np.int64(offsets[least])
    first_length = np.int64(offsets[least + 1]) - first
    last = np.int64(offsets[greatest])
    last_length = np.int64(offsets[greatest + 1]) - last
    shared = shared_prefix(data, first, last, min(first_length, last_length))
    low = _key(first_word(data, first + shared, first_length - shared), first_length - shared)
    high = _key(first_word(data, last + shared, last_length - shared), last_length - shared)
    return least, greatest, shared, low, high
