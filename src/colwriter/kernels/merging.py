"""Dictionaries of parts of a column made one, in the order in which their values are met.

Entries of a later part that an earlier one does not have come after those of the earlier, in their own order, which is
that in which the whole column meets them.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, kernel
from colwriter.kernels.dictionary import (
    BLOCK,
    FIRST_TABLE_BITS,
    KEY_WORDS,
    ONE,
    SHORT,
    THREE,
    TWO,
    following,
    grown,
    hash_words,
    page_bytes,
    refill,
    same_bytes,
)


@kernel
def merge_byte_arrays(
    offsets: Array,
    data: Bytes,
    max_bytes: Int,
    table: Array,
    keys: Array,
    entries: Array,
    known: Int,
    other_keys: Array,
    other_entries: Array,
    mapping: Array,
) -> Int:
    """Add the entries of another dictionary to the ``known`` of this one; returns how many there are then.

    ``mapping`` int32, one for each of the others, takes their indices in this one. If they do not all fit, or there
    are none, 0 is returned. The rest is as in ``build_byte_arrays``.
    """
    num_entries = np.int64(known)
    capacity = np.int64(len(table) - BLOCK)
    bits = grown(np.int64(FIRST_TABLE_BITS), num_entries, capacity)
    if num_entries == 0:
        keys[2] = np.uint64(0)
    refill(table, keys, num_entries, bits)
    dictionary_bytes = page_bytes(offsets, entries, num_entries)
    for k in range(len(mapping)):
        other = np.uint64(KEY_WORDS * k)
        one = other_keys[other]
        two = other_keys[other + ONE]
        three = other_keys[other + TWO]
        slot = np.uint64(other_entries[k])
        first = np.int64(offsets[slot])
        last = np.int64(offsets[slot + ONE])
        at = hash_words(one, two, three) >> np.uint64(64 - bits)
        while True:
            index = np.uint64(table[at])
            key = np.uint64(KEY_WORDS) * index
            same = (keys[key] == one) & (keys[key + ONE] == two) & (keys[key + TWO] == three)
            if last - first > SHORT and same:
                same = same_bytes(data, first, np.int64(keys[key + THREE]), last - first)
            if same or index == np.uint64(0):
                break
            at = following(at, bits)
        if not same or num_entries == 0:
            dictionary_bytes += 4 + last - first
            if dictionary_bytes > max_bytes:
                return np.int64(0)
            index = np.uint64(num_entries)
            entries[index] = np.int64(slot)
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
        mapping[k] = np.int32(index)
    return num_entries


@kernel
def remap(indices: Array, mapping: Array) -> None:
    """Replace each index by what ``mapping`` says of it."""
    for i in range(len(indices)):
        indices[i] = mapping[np.uint64(indices[i])]
