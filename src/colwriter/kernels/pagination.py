"""Where pages start. A page begins where the repetition level is 0, so rows are never split.

A page takes rows while it holds at most ``max_rows`` of them and its levels and values at most ``page_bits``;
a single row above that is a page of its own. Rows are added in blocks, and a block that does not fit is halved.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, count_trailing_zeros, inlined, kernel, load_u64, popcount
from colwriter.kernels.bits import ALL, bits_at

BLOCK_ROWS = 8192
TOO_MANY_PAGES = -1


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


@inlined
def _row_start(repetition: Bytes, width: Int, level: Int, num_levels: Int, rows: Int) -> Int:
    """The level at which the ``rows``-th row after the one that starts at ``level`` starts."""
    position = level + 1
    if width == 1:
        while position < num_levels:
            if rows > 4096 and position & 7 == 0 and position + 4096 <= num_levels:
                # All of the next 4096 levels may start a row: count them without looking where, which vectorises.
                block = repetition[position >> 3 : (position >> 3) + 512]
                repeated = np.int64(0)
                for k in range(64):
                    repeated += popcount(load_u64(block, 8 * k))
                rows -= 4096 - repeated
                position += 4096
                continue
            count = min(np.int64(64), num_levels - position, 64 - (position & 7))
            starts = ~bits_at(repetition, position) & (ALL >> np.uint64(64 - count))
            found = popcount(starts)
            if found < rows:
                rows -= found
                position += count
                continue
            for _ in range(rows - 1):
                starts &= starts - np.uint64(1)
            return position + count_trailing_zeros(starts)
        return num_levels
    while position < num_levels:
        block = repetition[position : min(position + 256, num_levels)]
        starts_in_block = np.uint16(0)
        for i in range(len(block)):
            starts_in_block = np.uint16(starts_in_block + np.uint16(block[i] == 0))
        if np.int64(starts_in_block) < rows:
            rows -= np.int64(starts_in_block)
            position += len(block)
            continue
        for i in range(len(block)):
            if block[i] == 0:
                rows -= 1
                if rows == 0:
                    return position + i
    return num_levels


@inlined
def _count_slots(definition: Bytes, width: Int, slot_level: Int, start: Int, end: Int) -> Int:
    """How many of the levels belong to a slot of the leaf array: those of at least ``slot_level``."""
    total = np.int64(0)
    if width == 1:
        return count_valid(definition, start, end)
    if width == 2:
        even = np.uint64(0x5555555555555555)
        while start < end:
            if start & 3 == 0 and start + 4096 <= end:
                block = definition[start >> 2 : (start >> 2) + 1024]
                for k in range(128):
                    word = load_u64(block, 8 * k)
                    high = word >> np.uint64(1)
                    slots = (word | high if slot_level == 1 else high if slot_level == 2 else word & high) & even
                    total += popcount(slots)
                start += 4096
                continue
            word = bits_at(definition, 2 * start)
            high = word >> np.uint64(1)
            slots = (word | high if slot_level == 1 else high if slot_level == 2 else word & high) & even
            count = min(np.int64(32), end - start, 32 - (start & 3))
            total += popcount(slots & (ALL >> np.uint64(64 - 2 * count)))
            start += count
        return total
    least = np.uint8(slot_level)  # compared in eight bits, not widened
    while start < end:
        block = definition[start : min(start + 32768, end)]
        count = np.uint16(0)
        for i in range(len(block)):
            count = np.uint16(count + np.uint16(block[i] >= least))
        total += np.int64(count)
        start += 32768
    return total


@kernel
def paginate(
    repetition: Bytes,
    repetition_width: Int,
    definition: Bytes,
    definition_width: Int,
    num_levels: Int,
    slot_level: Int,
    validity: Bytes,
    bit_offset: Int,
    offsets: Array,
    level_bits: Int,
    value_bits: Int,
    max_rows: Int,
    page_bits: Int,
    stop_value: Int,
    num_rows: Int,
    rows: Int64s,
    levels: Int64s,
    slots: Int64s,
    values: Int64s,
) -> Int:
    """Cut the rows from ``rows[0]`` on into pages; returns their number.

    ``rows``, ``levels``, ``slots``, ``values`` int64: the first of each in each page, then the end of the last page.
    Element 0 of each is where to start. If ``repetition`` is empty every row is one level, and one slot of the leaf
    array; if not, the levels whose ``definition`` is at least ``slot_level`` are slots. A ``*_width`` is the bits that
    a level takes in the array, 1, 2 or 8.
    Values are the valid slots (``validity`` may be empty: all). A level takes ``level_bits``, a value
    ``value_bits`` and, where ``offsets`` is not empty, the bytes between its slot's offsets. Cutting stops before the
    row that holds value ``stop_value``.
    """
    nested = len(repetition) > 0
    page = 0
    row = rows[0]
    while row < num_rows:
        if page + 1 >= len(rows):
            return TOO_MANY_PAGES
        first_row = row
        level = levels[page]
        slot = slots[page]
        value = values[page]
        bits = np.int64(0)
        step = np.int64(BLOCK_ROWS)
        while row < num_rows and row - first_row < max_rows:
            step = min(step, num_rows - row, max_rows - (row - first_row))
            next_level = level + step
            next_slot = slot + step
            if nested:
                next_level = _row_start(repetition, repetition_width, level, num_levels, step)
                next_slot = slot + _count_slots(definition, definition_width, slot_level, level, next_level)
            next_value = value + next_slot - slot
            if len(validity) > 0:
                next_value = value + count_valid(validity, bit_offset + slot, bit_offset + next_slot)
            more = (next_level - level) * level_bits + (next_value - value) * value_bits
            if len(offsets) > 0:
                more += 8 * (np.int64(offsets[next_slot]) - np.int64(offsets[slot]))
            alone = step == 1 and row == first_row
            if next_value <= stop_value and (bits + more <= page_bits or alone):
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
        rows[page] = row
        levels[page] = level
        slots[page] = slot
        values[page] = value
    return page
