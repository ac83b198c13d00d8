"""Dictionaries: distinct values in the order in which they are met, and an index for each value.

(Parquet specification, Encodings.md, "Dictionary Encoding".) Values are the valid slots; an empty ``validity`` means
all.

The hash table is open addressing with linear probing over indices. 0 says that there is nothing, or entry 0, which is
not in the table: it is found where its probes end. So any slot of the table may be followed without a look whether it
is taken, and 64 slots of the column are looked up at once, without a branch for each: what is not where its first probe
leads is a miss. The misses come after that, one by one: they are in another place, or new. (A misprediction costs more
than two such look-ups.) The table starts small, so that few distinct values stay in the first cache, and is a sixteenth
full at most, so that misses are few, until it has all the slots that it may have.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    count_leading_zeros,
    count_trailing_zeros,
    hash_stripe,
    inlined,
    kernel,
    load_u8,
    load_u64,
    popcount,
    prefetch,
    same_stripe,
    store_u32,
    store_u64,
)
from colwriter.kernels.bits import ALL, valid_slots

FIRST_TABLE_BITS = 10
GROWTH_BITS = 2
# Slots of the table for an entry, at least: what does not lie where it is looked for first costs a branch.
SLOTS_PER_ENTRY = 16
# Address bits of a table up to which it stays in a near cache: the slots of a larger one are asked for ahead.
CACHED_BITS = 16
INVALID_OFFSETS = -1
# Slots that are looked up at once; a table of numbers has room after it for where they lead.
BLOCK = 64
# What is kept of an entry to compare it with: three words of ``words_of``, and where its bytes begin.
KEY_WORDS = 4
# Bytes of a longer value that are looked at together.
STRIPE = 64
# Bytes of a value up to which its words say all of it.
SHORT = 23
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
LONG = np.uint64(1 << 63)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SECOND_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
# Of the three words at a value of at most ``SHORT`` bytes, those bits that belong to it, by its length.
FIRST_MASKS, SECOND_MASKS, THIRD_MASKS = np.array(
    [[(1 << (8 * min(max(length - skip, 0), 8))) - 1 for length in range(SHORT + 1)] for skip in (0, 8, 16)], np.uint64
)


def table_size(max_entries: int) -> int:
    """Slots that the table for ``max_entries`` can grow to: at most half of them are taken."""
    return max(1 << (2 * max_entries + 1).bit_length(), 1 << FIRST_TABLE_BITS)


@inlined
def clear(table: Array, bits: Int) -> None:
    """A loop: to assign to a slice takes longer to compile."""
    for k in range(1 << bits):
        table[np.uint64(k)] = np.int32(0)


@inlined
def grown(bits: Int, num_entries: Int, capacity: Int) -> Int:
    """The number of address bits that the table should have; ``capacity`` slots are the most."""
    while SLOTS_PER_ENTRY * num_entries > (1 << bits) and (1 << bits) < capacity:
        bits = min(bits + GROWTH_BITS, 63 - count_leading_zeros(np.uint64(capacity)))
    return bits


@inlined
def hash_word(word: Int) -> Int:
    """A hash of a 64-bit value whose high bits depend on all of it."""
    word = (word ^ (word >> np.uint64(32))) * MULTIPLIER
    return word ^ (word >> np.uint64(32))


@inlined
def _place(value: Int, bits: Int) -> Int:
    """Where to look first for a number in a table of ``1 << bits`` slots.

    By one multiplication alone, numbers in equal steps may meet in few places: decimal fractions did.
    """
    word = np.uint64(value) * SECOND_MULTIPLIER
    return ((word ^ (word >> np.uint64(32))) * SECOND_MULTIPLIER) >> np.uint64(64 - bits)


@inlined
def following(at: Int, bits: Int) -> Int:
    """Where to look after ``at``."""
    return (at + ONE) & ((ONE << np.uint64(bits)) - ONE)


@inlined
def _refill_fixed(table: Array, entries: Array, num_entries: Int, bits: Int) -> None:
    """Put all entries into the table of ``1 << bits`` slots."""
    clear(table, bits)
    for k in range(num_entries):
        at = _place(entries[np.uint64(k)], bits)
        while table[at] != 0:
            at = following(at, bits)
        table[at] = np.int32(k)


@inlined
def short_words(data: Bytes, start: Int, length: Int) -> tuple[Int, Int, Int]:
    """The words of a value of at most ``SHORT`` bytes, where ``SHORT + 1`` can be read."""
    first = load_u64(data, start) & FIRST_MASKS[np.uint64(length)]
    second = load_u64(data, start + 8) & SECOND_MASKS[np.uint64(length)]
    third = load_u64(data, start + 16) & THIRD_MASKS[np.uint64(length)]
    return first, second, third | (np.uint64(length) << np.uint64(56))


@inlined
def words_of(data: Bytes, start: Int, length: Int, left: Int) -> tuple[Int, Int, Int]:
    """The three words that stand for a value: up to ``SHORT`` bytes they are it, and its length in the last byte.

    Of a longer value, they are its first eight bytes, a hash of it, and its length with a bit that marks it. ``left``
    bytes can be read from ``start`` on. ``data`` may be an address, from which ``start`` counts.
    """
    if length <= SHORT:
        if left > SHORT:
            return short_words(data, start, length)
        first = np.uint64(0)
        second = np.uint64(0)
        third = np.uint64(length) << np.uint64(56)
        for k in range(length):
            byte = np.uint64(load_u8(data, start + k)) << np.uint64(8 * (k & 7))
            first |= byte if k < 8 else np.uint64(0)
            second |= byte if k & 8 else np.uint64(0)
            third |= byte if k & 16 else np.uint64(0)
        return first, second, third
    rest = np.uint64(length)
    k = 0
    while k + STRIPE < length:
        rest = (rest ^ hash_stripe(data, start + k, STRIPE)) * MULTIPLIER
        k += STRIPE
    rest = hash_word(rest ^ hash_stripe(data, start + max(length - STRIPE, 0), min(length, STRIPE)))
    return load_u64(data, start), rest, np.uint64(length) | LONG


@inlined
def hash_words(first: Int, second: Int, third: Int) -> Int:
    """A hash whose high bits depend on all the words."""
    return ((first * MULTIPLIER + second) * SECOND_MULTIPLIER + third) * MULTIPLIER


@inlined
def refill(table: Array, keys: Array, num_entries: Int, bits: Int) -> None:
    """Put all entries, of which ``keys`` has the words, into the table of ``1 << bits`` slots."""
    clear(table, bits)
    for k in range(num_entries):
        key = np.uint64(KEY_WORDS * k)
        at = hash_words(keys[key], keys[key + ONE], keys[key + TWO]) >> np.uint64(64 - bits)
        while table[at] != 0:
            at = following(at, bits)
        table[at] = np.int32(k)


@inlined
def same_bytes(data: Bytes, a: Int, b: Int, length: Int) -> Int:
    """Whether two values of that length, more than ``SHORT`` bytes, are the same. ``data`` may be an address."""
    k = 0
    while k + STRIPE < length:
        if not same_stripe(data, a + k, b + k, STRIPE):
            return False
        k += STRIPE
    last = max(length - STRIPE, 0)
    return same_stripe(data, a + last, b + last, min(length, STRIPE))


@kernel
def build_fixed(
    values: Array,
    validity: Bytes,
    bit_offset: Int,
    start: Int,
    end: Int,
    max_entries: Int,
    probation: Int,
    known: Int,
    table: Array,
    entries: Array,
    indices: Array,
) -> tuple[Int, Int]:
    """Index the values of slots ``[start, end)`` until one does not fit; returns (entries, values indexed).

    ``entries`` takes the distinct values after the ``known`` that it has already, ``indices`` int32 the index of each
    value; ``table`` int32, scratch of ``table_size(max_entries) + BLOCK``. After ``probation`` values, and each time
    that they have doubled since, the dictionary must have paid so far, or (0, 0) is returned; ``probation`` 0: it need
    not.
    """
    num_entries = np.int64(known)
    capacity = np.int64(len(table) - BLOCK)
    bits = grown(np.int64(FIRST_TABLE_BITS), num_entries, capacity)
    _refill_fixed(table, entries, num_entries, bits)
    num_values = np.uint64(0)
    slot = start
    while slot < end:
        count = min(np.int64(BLOCK), end - slot)
        valid = valid_slots(validity, bit_offset + slot, count)
        before = num_values
        block = values[slot : slot + count]
        places = table[capacity : capacity + count]
        for k in range(len(block)):
            places[k] = np.int32(_place(block[k], bits))
        if bits > CACHED_BITS:
            for k in range(len(block)):
                prefetch(table, np.int64(places[k]))
        misses = np.uint64(0)
        word = valid
        while word != np.uint64(0):
            bit = np.uint64(count_trailing_zeros(word))
            word &= word - ONE
            value = values[np.uint64(slot) + bit]
            index = np.uint64(table[np.uint64(places[bit])])
            misses |= np.uint64(entries[index] != value) << bit
            indices[num_values] = np.int32(index)
            num_values += ONE
        if num_entries == 0:
            misses = valid
        while misses != np.uint64(0):
            bit = np.uint64(count_trailing_zeros(misses))
            misses &= misses - ONE
            value = values[np.uint64(slot) + bit]
            at = _place(value, bits)
            index = np.uint64(table[at])
            while index != np.uint64(0) and entries[index] != value:
                at = following(at, bits)
                index = np.uint64(table[at])
            this = before + np.uint64(popcount(valid & ((ONE << bit) - ONE)))
            if index == np.uint64(0) and (num_entries == 0 or entries[index] != value):
                if num_entries == max_entries:
                    return num_entries, np.int64(this)
                index = np.uint64(num_entries)
                entries[index] = value
                table[at] = np.int32(index)
                num_entries += 1
                wanted = grown(bits, num_entries, capacity)
                if wanted != bits:
                    bits = wanted
                    _refill_fixed(table, entries, num_entries, bits)
            indices[this] = np.int32(index)
        if np.uint64(probation - 1) < num_values:
            while np.uint64(probation) <= num_values:
                probation *= 2
            index_bits = 64 - count_leading_zeros(np.uint64(num_entries))
            width = 8 * entries.itemsize
            if num_entries * width + np.int64(num_values) * index_bits > np.int64(num_values) * width:
                return 0, 0
        slot += count
    return num_entries, np.int64(num_values)


@inlined
def page_bytes(offsets: Array, entries: Array, num_entries: Int) -> Int:
    """Bytes of the entries, and four for the length of each."""
    total = 4 * num_entries
    for k in range(num_entries):
        slot = np.uint64(entries[k])
        total += np.int64(offsets[slot + ONE]) - np.int64(offsets[slot])
    return total


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
    known: Int,
    table: Array,
    keys: Array,
    entries: Array,
    indices: Array,
) -> tuple[Int, Int, Int]:
    """Index the byte arrays of slots ``[start, end)`` until one does not fit; returns (entries, values, value bytes).

    The dictionary page takes at most ``max_bytes``, four for the length of each entry included. ``entries`` int64 takes
    the slot where each entry was met first, after the ``known`` that it has already, ``indices`` int32 the index of
    each value; ``keys`` uint64, ``KEY_WORDS`` an entry; ``table`` and ``probation`` as in ``build_fixed``. If offsets
    are wrong, entries is ``INVALID_OFFSETS``.
    """
    num_entries = np.int64(known)
    capacity = np.int64(len(table) - BLOCK)
    places = table[capacity:]
    bits = grown(np.int64(FIRST_TABLE_BITS), num_entries, capacity)
    if num_entries == 0:
        keys[2] = np.uint64(0)
    refill(table, keys, num_entries, bits)
    size = np.uint64(len(data))
    readable = np.uint64(max(len(data) - SHORT, 0))
    num_values = np.uint64(0)
    dictionary_bytes = page_bytes(offsets, entries, num_entries)
    value_bytes = np.int64(0)
    slot = start
    while slot < end:
        count = min(np.int64(64), end - slot)
        valid = valid_slots(validity, bit_offset + slot, count)
        before = num_values
        misses = np.uint64(0)
        long = np.uint64(0)
        num_long = 0
        word = valid
        while word != np.uint64(0):
            bit = np.uint64(count_trailing_zeros(word))
            word &= word - ONE
            here = np.uint64(slot) + bit
            first = np.int64(offsets[here])
            last = np.int64(offsets[here + ONE])
            length = last - first
            value_bytes += length
            index = np.uint64(0)
            same = False
            if np.uint64(length) <= np.uint64(SHORT) and np.uint64(first) < readable:
                one, two, three = short_words(data, first, length)
                index = np.uint64(table[hash_words(one, two, three) >> np.uint64(64 - bits)])
                key = np.uint64(KEY_WORDS) * index
                same = (keys[key] == one) & (keys[key + ONE] == two) & (keys[key + TWO] == three)
            elif np.uint64(first) > np.uint64(last) or np.uint64(last) > size:
                return INVALID_OFFSETS, np.int64(num_values), value_bytes
            elif length > SHORT:
                one, two, three = words_of(data, first, length, np.int64(len(data)) - first)
                place = np.int64(hash_words(one, two, three) >> np.uint64(64 - bits))
                prefetch(table, place)
                places[num_long] = np.int32(place)
                num_long += 1
                long |= ONE << bit
            misses |= np.uint64(not same) << bit
            indices[num_values] = np.int32(index)
            num_values += ONE
        if num_entries == 0:
            misses = valid
            long = np.uint64(0)
            num_long = 0
        # What a long value may be lies anywhere, behind three look-ups: each of them is done for all such values of the
        # block before the next one, so that what they ask of memory overlaps.
        for k in range(num_long):
            index = np.uint64(table[np.uint64(places[k])])
            places[k] = np.int32(index)
            prefetch(keys, np.int64(np.uint64(KEY_WORDS) * index))
        for k in range(num_long):
            key = np.uint64(KEY_WORDS) * np.uint64(places[k])
            prefetch(data, np.int64(keys[key + THREE]))
        k = 0
        while long != np.uint64(0):
            bit = np.uint64(count_trailing_zeros(long))
            long &= long - ONE
            here = np.uint64(slot) + bit
            first = np.int64(offsets[here])
            length = np.int64(offsets[here + ONE]) - first
            index = np.uint64(places[k])
            k += 1
            key = np.uint64(KEY_WORDS) * index
            if keys[key + TWO] == np.uint64(length) | LONG:
                misses ^= np.uint64(same_bytes(data, first, np.int64(keys[key + THREE]), length)) << bit
            indices[before + np.uint64(popcount(valid & ((ONE << bit) - ONE)))] = np.int32(index)
        while misses != np.uint64(0):
            bit = np.uint64(count_trailing_zeros(misses))
            misses &= misses - ONE
            here = np.uint64(slot) + bit
            first = np.int64(offsets[here])
            last = np.int64(offsets[here + ONE])
            length = last - first
            one, two, three = words_of(data, first, length, np.int64(len(data)) - first)
            at = hash_words(one, two, three) >> np.uint64(64 - bits)
            while True:
                index = np.uint64(table[at])
                key = np.uint64(KEY_WORDS) * index
                same = (keys[key] == one) & (keys[key + ONE] == two) & (keys[key + TWO] == three)
                if length > SHORT and same:
                    same = same_bytes(data, first, np.int64(keys[key + THREE]), length)
                if same or index == np.uint64(0):
                    break
                at = following(at, bits)
            this = before + np.uint64(popcount(valid & ((ONE << bit) - ONE)))
            if not same or num_entries == 0:
                dictionary_bytes += 4 + length
                if dictionary_bytes > max_bytes:
                    rest = valid & (ALL << bit)
                    while rest != np.uint64(0):
                        here = np.uint64(slot + count_trailing_zeros(rest))
                        rest &= rest - ONE
                        value_bytes -= np.int64(offsets[here + ONE]) - np.int64(offsets[here])
                    return num_entries, np.int64(this), value_bytes
                index = np.uint64(num_entries)
                entries[index] = np.int64(here)
                key = np.uint64(KEY_WORDS) * index
                keys[key] = one
                keys[key + ONE] = two
                keys[key + TWO] = three
                keys[key + THREE] = np.uint64(first)
                table[at] = np.int32(index)
                num_entries += 1
                wanted = grown(bits, num_entries, capacity)
                if wanted != bits:
                    bits = wanted
                    refill(table, keys, num_entries, bits)
            indices[this] = np.int32(index)
        if np.uint64(probation - 1) < num_values:
            while np.uint64(probation) <= num_values:
                probation *= 2
            index_bits = 64 - count_leading_zeros(np.uint64(num_entries))
            values = np.int64(num_values)
            if 8 * dictionary_bytes + values * index_bits > 8 * (value_bytes + 4 * values):
                return 0, 0, value_bytes
        slot += count
    return num_entries, np.int64(num_values), value_bytes


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
