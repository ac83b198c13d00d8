"""Where pages start. A page begins where the repetition level is 0, so rows are never split.

A page takes rows while it holds at most ``max_rows`` of them, at most ``max_levels``, and at most ``page_bits`` of
levels and values, and no row of ``boundaries`` starts; a single row above a limit is a page of its own. Rows are added
in blocks, and a block that does not fit is halved.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    count_trailing_zeros,
    kernel,
    load_u64,
    optimize_for_size,
    popcount,
)
from colwriter.kernels.page_table import LEVEL, ROW, SLOT, VALUE

BLOCK_ROWS = 8192
TOO_MANY_PAGES = -1
ONE = np.uint64(1)


@kernel
def count_valid(bitmap: Bytes, start: Int, end: Int) -> Int:
    """Number of set bits of ``bitmap[start:end]``, in bits."""
    if start >= end:
        return 0
    first = start >> 3
    last = (end - 1) >> 3
    head = (np.uint64(0xFF) << np.uint64(start & 7)) & np.uint64(0xFF)
    tail = np.uint64(0xFF) >> np.uint64(7 - ((end - 1) & 7))
    if first == last:
        return popcount(np.uint64(bitmap[first]) & head & tail)
    total = popcount(np.uint64(bitmap[first]) & head) + popcount(np.uint64(bitmap[last]) & tail)
    byte = first + 1
    while byte + 8 <= last:
        total += popcount(load_u64(bitmap, byte))
        byte += 8
    while byte < last:
        total += popcount(np.uint64(bitmap[byte]))
        byte += 1
    return total


@kernel
def locate_rows(
    repetition: Bytes, definition: Bytes, num_levels: Int, slot_level: Int, row_levels: Int64s, row_slots: Int64s
) -> None:
    """The first level and the first slot of each row, and the end of the last one: int64[rows + 1] each.

    ``repetition`` and ``definition`` uint8; a level of at least ``slot_level`` has a slot of the leaf array.
    """
    row = np.uint64(0)
    slot = np.int64(0)
    least = np.uint8(slot_level)
    for block in range(0, num_levels, 64):
        count: Int = min(num_levels - block, 64)
        repetitions = repetition[block : block + count]
        definitions = definition[block : block + count]
        starts = np.uint64(0)
        slots = np.uint64(0)
        for k in range(count):
            starts |= np.uint64(repetitions[k] == 0) << np.uint64(k)
            slots |= np.uint64(definitions[k] >= least) << np.uint64(k)
        while starts != np.uint64(0):
            k = count_trailing_zeros(starts)
            starts &= starts - ONE
            row_levels[row] = block + k
            row_slots[row] = slot + popcount(slots & ((ONE << np.uint64(k)) - ONE))
            row += ONE
        slot += popcount(slots)
    row_levels[row] = num_levels
    row_slots[row] = slot


@kernel
def paginate(
    row_levels: Int64s,
    row_slots: Int64s,
    validity: Bytes,
    bit_offset: Int,
    offsets: Array,
    level_bits: Int,
    value_bits: Int,
    max_rows: Int,
    max_levels: Int,
    page_bits: Int,
    boundaries: Int64s,
    stop_value: Int,
    num_rows: Int,
    pages: Int64s,
) -> Int:
    """Cut the rows from that of ``pages[0]`` on into pages; returns their number.

    ``pages`` int64[any, ``COLUMNS``]: the page table takes the first row, level, slot and value of each page, then the
    ends of the last page. ``row_levels`` and ``row_slots`` int64[rows + 1] say where rows start; without them,
    each row is one level and one slot. Values are the valid slots (``validity`` may be empty: all). A level takes
    ``level_bits``, a value ``value_bits`` and, where ``offsets`` is not empty, the bytes between its slot's offsets.
    ``boundaries``: rows, rising, at which a page starts in any case.
    Cutting stops before the row that holds value ``stop_value``.
    """
    optimize_for_size()
    nested = len(row_levels) > 0
    page = np.int64(0)
    boundary = np.int64(0)
    row = pages[page, ROW]
    while row < num_rows:
        if page + 1 >= len(pages):
            return TOO_MANY_PAGES
        first_row = row
        while boundary < len(boundaries) and boundaries[boundary] <= row:
            boundary += 1
        end_row: Int = min(num_rows, row + max_rows)
        if boundary < len(boundaries):
            end_row = min(end_row, boundaries[boundary])
        first_level = pages[page, LEVEL]
        level = first_level
        slot = pages[page, SLOT]
        value = pages[page, VALUE]
        bits = np.int64(0)
        step = np.int64(BLOCK_ROWS)
        while row < end_row:
            step = min(step, end_row - row)
            next_level = row_levels[row + step] if nested else row + step
            next_slot = row_slots[row + step] if nested else row + step
            next_value = value + next_slot - slot
            if len(validity) > 0:
                next_value = value + count_valid(validity, bit_offset + slot, bit_offset + next_slot)
            more = (next_level - level) * level_bits + (next_value - value) * value_bits
            if len(offsets) > 0:
                more += 8 * (np.int64(offsets[next_slot]) - np.int64(offsets[slot]))
            fits = bits + more <= page_bits and next_level - first_level <= max_levels
            alone = step == 1 and row == first_row
            if next_value <= stop_value and (fits or alone):
                row += step
                level = next_level
                slot = next_slot
                value = next_value
                bits += more
            elif step == 1:
                break
            else:
                step >>= 1
        if row == first_row:
            break
        page += 1
        pages[page, ROW] = row
        pages[page, LEVEL] = level
        pages[page, SLOT] = slot
        pages[page, VALUE] = value
    return page
