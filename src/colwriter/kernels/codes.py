"""Arrays that are dictionary-encoded already: their codes become the indices of the dictionary page.

An index counts the entries that are referred to, in the order in which they are first met, as if the values had been
encoded here; entries of the Arrow dictionary that no value refers to are not part of the column.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, count_trailing_zeros, kernel
from colwriter.kernels.bits import valid_slots
from colwriter.kernels.page_table import VALUE, VALUE_BYTES

INVALID_CODE = -1


@kernel
def recode(
    codes: Array, validity: Bytes, bit_offset: Int, mapping: Array, entries: Int64s, indices: Array
) -> tuple[Int, Int]:
    """(entries, values): how many entries of the dictionary are met, and how many slots hold a value.

    ``codes`` int32 of each slot; ``mapping`` int32, scratch of one an entry of the Arrow dictionary, all 0. ``entries``
    takes the codes that are met, ``indices`` int32 that of each value. A code that no entry has is ``INVALID_CODE``.
    """
    num_entries = np.int64(0)
    num_values = np.int64(0)
    slot = np.int64(0)
    size = np.int64(len(mapping))
    while slot < len(codes):
        count = min(np.int64(64), len(codes) - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        while word != np.uint64(0):
            code = np.int64(codes[slot + count_trailing_zeros(word)])
            word &= word - np.uint64(1)
            if code < 0 or code >= size:
                return INVALID_CODE, num_values
            index = mapping[code]
            if index == 0:
                entries[num_entries] = code
                num_entries += 1
                index = np.int32(num_entries)
                mapping[code] = index
            indices[num_values] = np.int32(index - 1)
            num_values += 1
        slot += count
    return num_entries, num_values


@kernel
def sum_entry_lengths(indices: Array, lengths: Array, pages: Int64s) -> None:
    """Bytes of the values of each page; ``lengths`` int32 of the entries."""
    for page in range(len(pages) - 1):
        total = np.int64(0)
        of_page = indices[pages[page, VALUE] : pages[page + 1, VALUE]]
        for k in range(len(of_page)):
            total += np.int64(lengths[of_page[k]])
        pages[page, VALUE_BYTES] = total
