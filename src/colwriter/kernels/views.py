"""String and binary views as byte arrays (Arrow columnar format, "Variable-size Binary View Layout").

A view is 16 bytes: the length, then up to 12 bytes of the value; or, of a longer one, its first four bytes, the number
of the buffer that holds it, and where it begins there.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    count_leading_zeros,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u8,
    load_u32,
    load_u64,
    prefetch,
    store_u64,
)
from colwriter.kernels.bits import valid_slots
from colwriter.kernels.dictionary import (
    FIRST_TABLE_BITS,
    KEY_WORDS,
    LONG,
    ONE,
    SHORT,
    THREE,
    TWO,
    clear,
    following,
    grown,
    hash_words,
    refill,
    same_bytes,
    short_words,
    table_size,
    words_of,
)

INLINE = 12
# Writable bytes that must follow the last value: whole words are stored.
PADDING = 24
INVALID_VIEW = -1
__all__ = ["KEY_WORDS", "PADDING", "copy_views", "index_views", "measure_views", "table_size"]


@inlined
def _length(views: Bytes, slot: Int) -> Int:
    return np.int64(np.int32(load_u32(views, 16 * slot)))


@inlined
def _locate(views: Bytes, slot: Int, length: Int, addresses: Int64s, sizes: Int64s) -> tuple[Int, Int]:
    """Address of a value of that length, and how many bytes can be read from there on: -1 if the view is wrong.

    The views are the first of the buffers, and cases are told apart by masks, so that there is no branch on where a
    value lies: random lengths decide it. (LLVM makes a branch of what is loaded in one of two cases.)
    """
    word = load_u64(views, 16 * slot + 8)
    outside = np.int64(0) - np.int64(length > INLINE)  # all ones, or 0
    number = ((word & np.uint64(0xFFFFFFFF)) + ONE) & np.uint64(outside)
    start = (np.int64(np.int32(word >> np.uint64(32))) & outside) | ((16 * slot + 4) & ~outside)
    wrong = (number >= np.uint64(len(sizes))) | (length < 0) | (start < 0)
    number = np.uint64(0) if wrong else number
    left = np.int64(-1) if wrong else sizes[number] - start
    return addresses[number] + start, left


@kernel
def measure_views(
    views: Bytes, validity: Bytes, bit_offset: Int, addresses: Int64s, sizes: Int64s, offsets: Int64s
) -> Int:
    """Where each value begins when they follow one another: ``offsets`` int64[slots + 1]; null slots take no bytes.

    ``addresses`` and ``sizes`` int64 are those of ``views`` and then of the buffers. Returns the total of bytes, or
    ``INVALID_VIEW`` if a view points outside of them.
    """
    total = np.int64(0)
    count = len(offsets) - 1
    for block in range(0, count, 64):
        n: Int = min(np.int64(64), count - block)
        valid = valid_slots(validity, bit_offset + block, n)
        wrong = False
        for k in range(n):
            is_valid = np.int64((valid >> np.uint64(k)) & ONE)
            length = _length(views, block + k) * is_valid
            _, left = _locate(views, block + k, length, addresses, sizes)
            wrong |= (left < length) | (left < 0)
            offsets[block + k] = total
            total += length
        if wrong:
            return INVALID_VIEW
    offsets[count] = total
    return total


@kernel
def copy_views(views: Bytes, addresses: Int64s, sizes: Int64s, offsets: Int64s, out: Bytes) -> None:
    """Copy the values to their ``offsets`` in ``out``, as ``measure_views`` made and checked them."""
    for slot in range(len(offsets) - 1):
        to = offsets[slot]
        length = offsets[slot + 1] - to
        at, left = _locate(views, slot, length, addresses, sizes)
        if (length <= PADDING) & (left >= PADDING):
            for k in range(0, PADDING, 8):
                store_u64(out, to + k, load_u64(at, k))
        elif length + 8 <= left:
            for k in range(0, length, 8):
                store_u64(out, to + k, load_u64(at, k))
        else:
            for k in range(length):
                out[to + k] = load_u8(at, k)


@kernel
def index_views(
    views: Bytes,
    validity: Bytes,
    bit_offset: Int,
    addresses: Int64s,
    sizes: Int64s,
    max_bytes: Int,
    probation: Int,
    table: Array,
    keys: Array,
    entries: Int64s,
    codes: Array,
) -> Int:
    """The index of each value among the distinct ones; returns how many there are, 0 if they do not clearly pay.

    ``codes`` int32[slots] takes the indices, ``entries`` int64 the slot where each distinct value was met first. The
    rest is as in ``dictionary.build_byte_arrays``, whose way of looking up this is: the dictionary takes at most
    ``max_bytes``, and must have saved a sixteenth after ``probation`` values, each time that they have doubled since,
    and at the end.
    ``addresses`` and ``sizes`` int64 are those of ``views`` and then of the buffers. ``INVALID_VIEW`` if a view points
    outside of them.
    """
    bits = np.int64(FIRST_TABLE_BITS)
    clear(table, bits)
    keys[2] = np.uint64(0)
    num_entries = np.int64(0)
    num_values = np.int64(0)
    dictionary_bytes = np.int64(0)
    value_bytes = np.int64(0)
    for block in range(0, len(codes), 64):
        valid = valid_slots(validity, bit_offset + block, min(np.int64(64), len(codes) - block))
        misses = np.uint64(0)
        long = np.uint64(0)
        word = valid
        while word != np.uint64(0):
            bit = count_trailing_zeros(word)
            word &= word - ONE
            slot = block + bit
            length = _length(views, slot)
            at, left = _locate(views, slot, length, addresses, sizes)
            if (left < length) | (left < 0):
                return INVALID_VIEW
            index = np.uint64(0)
            same = False
            if (length <= SHORT) & (left > SHORT):
                one, two, three = short_words(at, 0, length)
                index = np.uint64(table[hash_words(one, two, three) >> np.uint64(64 - bits)])
                key = np.uint64(KEY_WORDS) * index
                same = (keys[key] == one) & (keys[key + ONE] == two) & (keys[key + TWO] == three)
            elif length > SHORT:
                one, two, three = words_of(at, 0, length, left)
                index = hash_words(one, two, three) >> np.uint64(64 - bits)
                prefetch(table, np.int64(index))
                long |= ONE << np.uint64(bit)
            misses |= np.uint64(not same) << np.uint64(bit)
            codes[slot] = np.int32(index)
            value_bytes += length
            num_values += 1
        if num_entries == 0:
            misses = valid
            long = np.uint64(0)
        word = long
        while word != np.uint64(0):
            slot = block + count_trailing_zeros(word)
            word &= word - ONE
            index = np.uint64(table[np.uint64(codes[slot])])
            codes[slot] = np.int32(index)
            prefetch(keys, np.int64(np.uint64(KEY_WORDS) * index))
        word = long
        while word != np.uint64(0):
            slot = block + count_trailing_zeros(word)
            word &= word - ONE
            prefetch(np.int64(keys[np.uint64(KEY_WORDS) * np.uint64(codes[slot]) + THREE]), 0)
        while long != np.uint64(0):
            bit = count_trailing_zeros(long)
            long &= long - ONE
            length = _length(views, block + bit)
            key = np.uint64(KEY_WORDS) * np.uint64(codes[block + bit])
            if keys[key + TWO] == np.uint64(length) | LONG:
                at, _ = _locate(views, block + bit, length, addresses, sizes)
                misses ^= np.uint64(same_bytes(at, 0, np.int64(keys[key + THREE]) - at, length)) << np.uint64(bit)
        while misses != np.uint64(0):
            slot = block + count_trailing_zeros(misses)
            misses &= misses - ONE
            length = _length(views, slot)
            at, left = _locate(views, slot, length, addresses, sizes)
            one, two, three = words_of(at, 0, length, left)
            place = hash_words(one, two, three) >> np.uint64(64 - bits)
            while True:
                index = np.uint64(table[place])
                key = np.uint64(KEY_WORDS) * index
                same = (keys[key] == one) & (keys[key + ONE] == two) & (keys[key + TWO] == three)
                if same and length > SHORT:
                    same = same_bytes(at, 0, np.int64(keys[key + THREE]) - at, length)
                if same or index == np.uint64(0):
                    break
                place = following(place, bits)
            if not same or num_entries == 0:
                dictionary_bytes += 4 + length
                if dictionary_bytes > max_bytes:
                    return np.int64(0)
                index = np.uint64(num_entries)
                entries[index] = slot
                key = np.uint64(KEY_WORDS) * index
                keys[key] = one
                keys[key + ONE] = two
                keys[key + TWO] = three
                keys[key + THREE] = np.uint64(at)
                table[place] = np.int32(index)
                num_entries += 1
                wanted = grown(bits, num_entries, len(table))
                if wanted != bits:
                    bits = wanted
                    refill(table, keys, num_entries, bits)
            codes[slot] = np.int32(index)
        if num_values >= probation or block + 64 >= len(codes):
            while probation <= num_values:
                probation *= 2
            index_bits = 64 - count_leading_zeros(np.uint64(num_entries))
            if 16 * (8 * dictionary_bytes + num_values * index_bits) > 15 * 8 * (value_bytes + 4 * num_values):
                return np.int64(0)
    return num_entries
