"""Bounds of pages of dictionary indices: the least and the greatest of the entries that each page refers to."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, byte_swap, inlined, kernel, load_u64
from colwriter.kernels.dictionary import FIRST_MASKS
from colwriter.kernels.extremes import less, shared_prefix
from colwriter.kernels.page_table import GREATEST, LEAST, VALUE


@inlined
def _has_both(indices: Array, a: Int, b: Int) -> Int:
    """Whether ``indices`` has both ``a`` and ``b``: they are looked for in blocks, without a branch in a block."""
    found = np.int32(0)
    for start in range(0, len(indices), 512):
        block = indices[start : start + 512]
        for i in range(len(block)):
            found |= np.int32(block[i] == a) | (np.int32(block[i] == b) << np.int32(1))
        if found == 3:
            break
    return found == 3


@kernel
def min_max_indices_fixed(
    indices: Array,
    entries: Array,
    pages: Int64s,
) -> None:
    """Least and greatest entry that each page refers to; left alone where a page has no values.

    Most pages of a dictionary of few entries refer to the least and the greatest of all, soon after they start.
    """
    least = np.int32(0)
    greatest = np.int32(0)
    for k in range(len(entries)):
        least = np.int32(k) if entries[k] < entries[least] else least
        greatest = np.int32(k) if entries[k] > entries[greatest] else greatest
    for page in range(len(pages) - 1):
        of_page = indices[pages[page, VALUE] : pages[page + 1, VALUE]]
        if len(of_page) == 0:
            continue
        if _has_both(of_page, least, greatest):
            pages[page, LEAST] = entries[least]
            pages[page, GREATEST] = entries[greatest]
            continue
        low = entries[np.uint64(of_page[0])]
        high = low
        for i in range(len(of_page)):
            value = entries[np.uint64(of_page[i])]
            low = value if value < low else low
            high = value if value > high else high
        pages[page, LEAST] = low
        pages[page, GREATEST] = high


@inlined
def _prefix(data: Bytes, start: Int, length: Int) -> Int:
    """The first eight bytes as a number that orders like them; bytes past the value are zero."""
    if start + 8 <= len(data):
        return byte_swap(load_u64(data, start) & FIRST_MASKS[np.uint64(min(length, 8))])
    word = np.uint64(0)
    for k in range(min(length, 8)):
        word |= np.uint64(data[start + k]) << np.uint64(56 - 8 * k)
    return word


@kernel
def min_max_indices_byte_arrays(
    offsets: Array,
    data: Bytes,
    indices: Array,
    entries: Array,
    seen: Array,
    prefixes: Array,
    pages: Int64s,
) -> None:
    """Slots of the least and greatest value that each page refers to (-1: none).

    ``seen`` int32 and ``prefixes`` uint64 are scratch of one an entry: most comparisons need no more than a prefix, of
    eight bytes after those that all entries share, which are what the least and the greatest share.
    """
    num_entries = len(entries)
    seen[:num_entries] = -1
    least = np.int32(0)
    greatest = np.int32(0)
    for k in range(num_entries):
        start = np.int64(offsets[entries[k]])
        prefix = _prefix(data, start, np.int64(offsets[entries[k] + 1]) - start)
        prefixes[k] = prefix
        if prefix <= prefixes[least] and (prefix < prefixes[least] or less(offsets, data, entries[k], entries[least])):
            least = np.int32(k)
        if prefix >= prefixes[greatest] and (
            prefix > prefixes[greatest] or less(offsets, data, entries[greatest], entries[k])
        ):
            greatest = np.int32(k)
    if num_entries > 0:
        first = np.int64(offsets[entries[least]])
        last = np.int64(offsets[entries[greatest]])
        shortest = min(np.int64(offsets[entries[least] + 1]) - first, np.int64(offsets[entries[greatest] + 1]) - last)
        shared = shared_prefix(data, first, last, shortest)
        if shared > 0:
            for k in range(num_entries):
                start = np.int64(offsets[entries[k]]) + shared
                prefixes[k] = _prefix(data, start, np.int64(offsets[entries[k] + 1]) - start)
    for page in range(len(pages) - 1):
        of_page = indices[pages[page, VALUE] : pages[page + 1, VALUE]]
        pages[page, LEAST] = -1
        pages[page, GREATEST] = -1
        if len(of_page) == 0:
            continue
        if _has_both(of_page, least, greatest):
            pages[page, LEAST] = entries[least]
            pages[page, GREATEST] = entries[greatest]
            continue
        low = prefixes[np.uint64(of_page[0])]
        high = low
        for i in range(len(of_page)):
            prefix = prefixes[np.uint64(of_page[i])]
            low = prefix if prefix < low else low
            high = prefix if prefix > high else high
        for i in range(len(of_page)):
            index = np.uint64(of_page[i])
            prefix = prefixes[index]
            if (low < prefix) & (prefix < high) or seen[index] == page:
                continue
            seen[index] = page
            slot = entries[index]
            if prefix == low and (pages[page, LEAST] < 0 or less(offsets, data, slot, pages[page, LEAST])):
                pages[page, LEAST] = slot
            if prefix == high and (pages[page, GREATEST] < 0 or less(offsets, data, pages[page, GREATEST], slot)):
                pages[page, GREATEST] = slot
