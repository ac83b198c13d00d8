"""Dictionaries: distinct values in the order in which they are met, and an index for each value.

(Parquet specification, Encodings.md, "Dictionary Encoding".) The hash table is open addressing with linear probing over
``index + 1`` (0: free). It starts small, so that few distinct values stay in the first cache, and grows eightfold when
a quarter full: a probe that misses costs a branch that was not foreseen, more than the memory. Values are the valid
slots; an empty ``validity`` means all.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    byte_swap,
    count_leading_zeros,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u64,
    store_u32,
    store_u64,
)
from colwriter.kernels.bits import valid_slots

FIRST_TABLE_BITS = 10
GROWTH_BITS = 3
INVALID_OFFSETS = -1
# What is kept of an entry to compare it with: its first two words (of a long one, the second is a hash of the rest),
# its length, and its hash.
KEY_WORDS = 4
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
# MASKS[n]: the low n bytes.
MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)


def table_size(max_entries: int) -> int:
    """Slots that the table for ``max_entries`` can grow to: at most half of them are taken."""
    return max(1 << (2 * max_entries + 1).bit_length(), 1 << FIRST_TABLE_BITS)


@inlined
def _grown(bits: Int, num_entries: Int, capacity: Int) -> Int:
    """The number of address bits that the table should have; ``capacity`` slots are the most."""
    if 4 * num_entries > (1 << bits):
        while bits < 62 and (1 << bits) < capacity and 4 * num_entries > (1 << bits):
            bits = min(bits + GROWTH_BITS, 63 - count_leading_zeros(np.uint64(capacity)))
    return bits


@inlined
def _hash(word: Int) -> Int:
    """A hash of a 64-bit value whose high bits depend on all of it."""
    word = (word ^ (word >> np.uint64(32))) * MULTIPLIER
    return word ^ (word >> np.uint64(32))


@inlined
def _place(hashed: Int, bits: Int) -> Int:
    """Where to look first in a table of ``1 << bits`` slots."""
    return np.int64((hashed * MULTIPLIER) >> np.uint64(64 - bits))


@inlined
def _words(data: Bytes, start: Int, length: Int) -> tuple[Int, Int]:
    """The two words that stand for a value: its bytes, up to sixteen; the first eight and a hash of the rest else."""
    if length <= 16:
        if start + 16 <= len(data):
            return (
                load_u64(data, start) & MASKS[min(length, 8)],
                load_u64(data, start + 8) & MASKS[max(length - 8, 0)],
            )
        first = np.uint64(0)
        second = np.uint64(0)
        for k in range(min(length, 8)):
            first |= np.uint64(data[start + k]) << np.uint64(8 * k)
        for k in range(8, length):
            second |= np.uint64(data[start + k]) << np.uint64(8 * (k - 8))
        return first, second
    # Two sums that do not wait for one another; the last word overlaps the one before.
    even = np.uint64(length)
    odd = load_u64(data, start + length - 8)
    k = 8
    while k + 16 < length:
        even = (even ^ load_u64(data, start + k)) * MULTIPLIER
        odd = (odd ^ load_u64(data, start + k + 8)) * SECOND_MULTIPLIER
        k += 16
    if k + 8 < length:
        even = (even ^ load_u64(data, start + k)) * MULTIPLIER
    return load_u64(data, start), _hash(even ^ (odd >> np.uint64(29)) ^ (odd << np.uint64(31)))


@inlined
def _hash_words(first: Int, second: Int, length: Int) -> Int:
    return _hash(first * SECOND_MULTIPLIER + ((second ^ np.uint64(length)) * MULTIPLIER ^ (second >> np.uint64(29))))


@inlined
def _same_bytes(data: Bytes, a: Int, b: Int, length: Int) -> Int:
    """Whether two values of ``length`` bytes, more than sixteen, are the same."""
    for k in range(0, length - 8, 8):
        if load_u64(data, a + k) != load_u64(data, b + k):
            return False
    return load_u64(data, a + length - 8) == load_u64(data, b + length - 8)


@inlined
def _sampled_slot(k: Int, wanted: Int, start: Int, end: Int, validity: Bytes, bit_offset: Int) -> Int:
    """The slot of sample ``k`` of ``wanted`` from ``[start, end)``, or -1 if there is none, or it is null.

    Each sample has a stratum, where it is picked by hash: equal steps would meet the period of periodic data.
    """
    low = start + k * (end - start) // wanted
    high = start + (k + 1) * (end - start) // wanted
    if high <= low:
        return np.int64(-1)
    slot = low + np.int64(_hash(np.uint64(k + 1)) >> np.uint64(1)) % (high - low)
    bit = bit_offset + slot
    if len(validity) > 0 and (validity[bit >> 3] >> np.uint8(bit & 7)) & 1 == 0:
        return np.int64(-1)
    return slot


@kernel
def sample_fixed(
    values: Array, validity: Bytes, bit_offset: Int, start: Int, end: Int, seen: Array, used: Bytes
) -> tuple[Int, Int]:
    """Look at up to ``len(seen) // 4`` slots spread over ``[start, end)``; returns (values met, distinct among them).

    ``seen`` int64 and ``used`` uint8 are scratch of one length, a power of two; ``used`` all zero before and after.
    """
    wanted = len(seen) // 4
    mask = np.uint64(len(seen) - 1)
    met = np.int64(0)
    distinct = np.int64(0)
    for k in range(wanted):
        slot = _sampled_slot(k, wanted, start, end, validity, bit_offset)
        if slot < 0:
            continue
        met += 1
        value = np.int64(values[slot])
        at = _hash(np.uint64(value)) & mask
        while used[np.int64(at)] and seen[np.int64(at)] != value:
            at = (at + np.uint64(1)) & mask
        if not used[np.int64(at)]:
            used[np.int64(at)] = 1
            seen[np.int64(at)] = value
            distinct += 1
    used[:] = 0
    return met, distinct


@kernel
def hash_slots(
    offsets: Array, data: Bytes, validity: Bytes, bit_offset: Int, start: Int, end: Int, hashes: Array
) -> Int:
    """Hashes of the byte arrays at up to ``len(hashes)`` slots spread over ``[start, end)``; returns how many."""
    wanted = len(hashes)
    size = np.int64(len(data))
    met = np.int64(0)
    for k in range(wanted):
        slot = _sampled_slot(k, wanted, start, end, validity, bit_offset)
        if slot < 0:
            continue
        first = np.int64(offsets[slot])
        length = np.int64(offsets[slot + 1]) - first
        if first < 0 or length < 0 or first + length > size:
            return INVALID_OFFSETS
        one, two = _words(data, first, length)
        hashes[met] = np.int64(_hash_words(one, two, length))
        met += 1
    return met


@kernel
def build_fixed(
    values: Array,
    validity: Bytes,
    bit_offset: Int,
    start: Int,
    end: Int,
    max_entries: Int,
    probation: Int,
    table: Array,
    entries: Array,
    indices: Array,
) -> tuple[Int, Int]:
    """Index the values of slots ``[start, end)`` until one does not fit; returns (entries, values indexed).

    ``entries`` takes the distinct values, ``indices`` int32 the index of each value; ``table`` int32, scratch of
    ``table_size(max_entries)``. After ``probation`` values, and each time that they have doubled since, the
    dictionary must have paid so far, or (0, 0) is returned; ``probation`` 0: it need not.
    """
    bits = np.int64(FIRST_TABLE_BITS)
    table[: 1 << bits] = 0
    num_entries = np.int64(0)
    num_values = np.int64(0)
    slot = start
    while slot < end:
        count = min(np.int64(64), end - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        while word != np.uint64(0):
            value = values[slot + count_trailing_zeros(word)]
            word &= word - np.uint64(1)
            at = _place(np.uint64(value), bits)
            index: Int = table[at]
            while index != 0 and entries[index - 1] != value:
                at = (at + 1) & ((1 << bits) - 1)
                index = table[at]
            if index == 0:
                if num_entries == max_entries:
                    return num_entries, num_values
                entries[num_entries] = value
                num_entries += 1
                index = np.int32(num_entries)
                table[at] = index
                grown = _grown(bits, num_entries, len(table))
                if grown != bits:
                    bits = grown
                    table[: 1 << bits] = 0
                    for k in range(num_entries):
                        at = _place(np.uint64(entries[k]), bits)
                        while table[at] != 0:
                            at = (at + 1) & ((1 << bits) - 1)
                        table[at] = np.int32(k + 1)
            indices[num_values] = np.int32(index - 1)
            num_values += 1
            if num_values == probation:
                probation *= 2
                index_bits = 64 - count_leading_zeros(np.uint64(num_entries))
                width = 8 * entries.itemsize
                if num_entries * width + num_values * index_bits > num_values * width:
                    return 0, 0
        slot += count
    return num_entries, num_values


@kernel
def build_byte_arrays(
    offsets: Array,
    data: Bytes,
    validity: Bytes,
    bit_offset: Int,
    start: Int,
    end: Int,
    max_bytes: Int,
    probation: Int,
    table: Array,
    keys: Array,
    entries: Array,
    indices: Array,
) -> tuple[Int, Int, Int]:
    """Index the byte arrays of slots ``[start, end)`` until one does not fit; returns (entries, values, value bytes).

    The dictionary page takes at most ``max_bytes``, four for the length of each entry included. ``entries`` int64 takes
    the slot where each entry was met first, ``indices`` int32 the index of each value; ``keys`` uint64, scratch of
    ``KEY_WORDS`` an entry; ``table`` and ``probation`` as in ``build_fixed``. If offsets are wrong, entries is
    ``INVALID_OFFSETS``.
    """
    bits = np.int64(FIRST_TABLE_BITS)
    table[: 1 << bits] = 0
    size = np.int64(len(data))
    num_entries = np.int64(0)
    num_values = np.int64(0)
    dictionary_bytes = np.int64(0)
    value_bytes = np.int64(0)
    slot = start
    while slot < end:
        count = min(np.int64(64), end - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        while word != np.uint64(0):
            here = slot + count_trailing_zeros(word)
            word &= word - np.uint64(1)
            first = np.int64(offsets[here])
            length = np.int64(offsets[here + 1]) - first
            if first < 0 or length < 0 or first + length > size:
                return INVALID_OFFSETS, num_values, value_bytes
            one, two = _words(data, first, length)
            hashed = _hash_words(one, two, length)
            at = _place(hashed, bits)
            index: Int = table[at]
            while index != 0:
                key = KEY_WORDS * (np.int64(index) - 1)
                same = keys[key] == one and keys[key + 1] == two and keys[key + 2] == np.uint64(length)
                if same and (length <= 16 or _same_bytes(data, first, np.int64(offsets[entries[index - 1]]), length)):
                    break
                at = (at + 1) & ((1 << bits) - 1)
                index = table[at]
            if index == 0:
                dictionary_bytes += 4 + length
                if dictionary_bytes > max_bytes:
                    return num_entries, num_values, value_bytes
                entries[num_entries] = here
                key = KEY_WORDS * np.int64(num_entries)
                keys[key] = one
                keys[key + 1] = two
                keys[key + 2] = np.uint64(length)
                keys[key + 3] = hashed
                num_entries += 1
                index = np.int32(num_entries)
                table[at] = index
                grown = _grown(bits, num_entries, len(table))
                if grown != bits:
                    bits = grown
                    table[: 1 << bits] = 0
                    for k in range(num_entries):
                        at = _place(keys[KEY_WORDS * k + 3], bits)
                        while table[at] != 0:
                            at = (at + 1) & ((1 << bits) - 1)
                        table[at] = np.int32(k + 1)
            indices[num_values] = np.int32(index - 1)
            num_values += 1
            value_bytes += length
            if num_values == probation:
                probation *= 2
                index_bits = 64 - count_leading_zeros(np.uint64(num_entries))
                if 8 * dictionary_bytes + num_values * index_bits > 8 * (value_bytes + 4 * num_values):
                    return 0, 0, value_bytes
        slot += count
    return num_entries, num_values, value_bytes


@kernel
def write_byte_array_entries(offsets: Array, data: Bytes, entries: Array, num_entries: Int, out: Bytes) -> Int:
    """PLAIN encode the entries, for the dictionary page; returns the bytes written. ``out`` has room for 64 more."""
    position = np.int64(0)
    size = np.int64(len(data))
    for k in range(num_entries):
        first = np.int64(offsets[entries[k]])
        length = np.int64(offsets[entries[k] + 1]) - first
        store_u32(out, position, np.uint32(length))
        position += 4
        if first + length + 8 <= size:
            for i in range(0, length, 8):
                store_u64(out, position + i, load_u64(data, first + i))
        else:
            for i in range(length):
                out[position + i] = data[first + i]
        position += length
    return position


@kernel
def min_max_indices_fixed(
    indices: Array,
    value_starts: Int64s,
    entries: Array,
    num_entries: Int,
    seen: Array,
    minima: Array,
    maxima: Array,
) -> None:
    """Least and greatest entry that each page refers to. ``seen`` int32, scratch of one an entry."""
    seen[:num_entries] = -1
    for page in range(len(value_starts) - 1):
        met = np.int64(0)
        of_page = indices[value_starts[page] : value_starts[page + 1]]
        for i in range(len(of_page)):
            index = of_page[i]
            if seen[index] == page:
                continue
            seen[index] = page
            value = entries[index]
            if met == 0:
                minima[page] = value
                maxima[page] = value
            minima[page] = min(minima[page], value)
            maxima[page] = max(maxima[page], value)
            met += 1
            if met == num_entries:
                break


@inlined
def _less(offsets: Array, data: Bytes, a: Int, b: Int) -> Int:
    """Whether the value of slot a sorts before that of slot b, as unsigned bytes."""
    a_start = np.int64(offsets[a])
    b_start = np.int64(offsets[b])
    a_length = np.int64(offsets[a + 1]) - a_start
    b_length = np.int64(offsets[b + 1]) - b_start
    for k in range(min(a_length, b_length)):
        if data[a_start + k] != data[b_start + k]:
            return data[a_start + k] < data[b_start + k]
    return a_length < b_length


@inlined
def _prefix(data: Bytes, start: Int, length: Int) -> Int:
    """The first eight bytes as a number that orders like them; bytes past the value are zero."""
    one, _ = _words(data, start, min(length, 8))
    return byte_swap(one)


@kernel
def min_max_indices_byte_arrays(
    offsets: Array,
    data: Bytes,
    indices: Array,
    value_starts: Int64s,
    entries: Array,
    num_entries: Int,
    seen: Array,
    prefixes: Array,
    minima: Array,
    maxima: Array,
) -> None:
    """Slots of the least and greatest value that each page refers to (-1: none).

    ``seen`` as above; ``prefixes`` uint64, scratch of one an entry: most comparisons need no more than that.
    """
    seen[:num_entries] = -1
    for k in range(num_entries):
        start = np.int64(offsets[entries[k]])
        prefixes[k] = _prefix(data, start, np.int64(offsets[entries[k] + 1]) - start)
    for page in range(len(value_starts) - 1):
        least = np.int64(-1)
        greatest = np.int64(-1)
        least_prefix = np.uint64(0)
        greatest_prefix = np.uint64(0)
        met = 0
        of_page = indices[value_starts[page] : value_starts[page + 1]]
        for i in range(len(of_page)):
            index = of_page[i]
            if seen[index] == page:
                continue
            seen[index] = page
            prefix = prefixes[index]
            if met == 0:
                least = entries[index]
                greatest = least
                least_prefix = prefix
                greatest_prefix = prefix
            else:
                if prefix <= least_prefix and (prefix < least_prefix or _less(offsets, data, entries[index], least)):
                    least = entries[index]
                    least_prefix = prefix
                if prefix >= greatest_prefix and (
                    prefix > greatest_prefix or _less(offsets, data, greatest, entries[index])
                ):
                    greatest = entries[index]
                    greatest_prefix = prefix
            met += 1
            if met == num_entries:
                break
        minima[page] = least
        maxima[page] = greatest
