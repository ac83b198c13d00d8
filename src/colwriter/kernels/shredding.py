"""Repetition and definition levels of nested columns (Melnik et al., "Dremel", VLDB 2010).

Levels are built from the root to the leaf. At every step the levels so far are an array with one entry for each
entry that the node sees: those of its rows, and one for each null or empty ancestor. An entry whose definition
level is at least ``slot_level`` has a slot in the node's Arrow array (slots follow one another in order); one that
equals ``live`` is defined so far, and takes part in the step. Levels are uint8.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, inlined, kernel, store_u64
from colwriter.kernels.bits import bits_at

# Levels are stored eight at a time: writable bytes that must follow the last level.
PADDING = 16
HIDDEN_VALUES = -1
INVALID_OFFSETS = -2
TOO_MANY_LEVELS = -3
ONES = np.uint64(0x0101010101010101)


@inlined
def _spread(bits: Int) -> Int:
    """Eight bytes of 0 or 1 from the low eight of ``bits``, the first bit lowest."""
    word = (bits & np.uint64(255)) * ONES & np.uint64(0x8040201008040201)
    return ((word + np.uint64(0x7F7F7F7F7F7F7F7F)) >> np.uint64(7)) & ONES


@inlined
def _store_validity(bitmap: Bytes, bit: Int, count: Int, base: Int, out: Bytes, to: Int) -> None:
    """Store ``count`` levels: ``base`` (eight bytes) for a null, one more for a valid slot; up to seven bytes more."""
    for k in range(0, count, 64):
        word = bits_at(bitmap, bit + k)
        for j in range(k, min(k + 64, count), 8):
            store_u64(out, to + j, base + _spread(word))
            word >>= np.uint64(8)


@kernel
def validity_levels(bitmap: Bytes, bit_offset: Int, count: Int, level: Int, out: Bytes) -> None:
    """Definition levels of ``count`` optional slots: ``level`` for a null, ``level + 1`` else."""
    _store_validity(bitmap, bit_offset, count, np.uint64(level) * ONES, out, 0)


@kernel
def apply_validity(
    definition: Bytes, count: Int, slot_level: Int, live: Int, bitmap: Bytes, bit_offset: Int, out: Bytes
) -> None:
    """Raise the levels that equal ``live`` by one where their slot is valid (everywhere, if ``bitmap`` is empty)."""
    bit = bit_offset
    for i in range(count):
        level = definition[i]
        if level >= slot_level:
            valid = len(bitmap) == 0 or (bitmap[bit >> 3] >> np.uint8(bit & 7)) & 1
            if level == live and valid:
                level = np.uint8(level + 1)
            bit += 1
        out[i] = level


@kernel
def intersect_bitmaps(a: Bytes, a_offset: Int, b: Bytes, b_offset: Int, count: Int, out: Bytes) -> None:
    """``out`` (from bit 0) = a & b, for ``count`` bits: a slot under a null struct holds no value."""
    for i in range(0, count, 8):
        out[i >> 3] = np.uint8(bits_at(a, a_offset + i) & bits_at(b, b_offset + i) & np.uint64(255))


@kernel
def expand_lists(
    repetition: Bytes,
    definition: Bytes,
    count: Int,
    slot_level: Int,
    live: Int,
    offsets: Array,
    num_elements: Int,
    repetition_level: Int,
    bitmap: Bytes,
    bit_offset: Int,
    optional: bool,
    repetition_out: Bytes,
    definition_out: Bytes,
) -> Int:
    """Replace each list by its elements; returns the number of levels, or a negative status.

    Entries that equal ``live`` are lists: an empty one stays one entry of that level, an element takes
    ``live + 1``, and one more where elements are ``optional`` and it is valid (``bitmap`` of the elements; empty: all).
    Slot i is elements ``offsets[i]`` to ``offsets[i + 1]``. ``repetition`` may be empty (all 0), as may ``definition``
    (all live). The first element of a list keeps the list's repetition level, others have ``repetition_level``.
    ``HIDDEN_VALUES``: a null list spans elements, which must be taken out first. ``INVALID_OFFSETS``: they go down, or
    past ``num_elements``. ``TOO_MANY_LEVELS``: the outputs are too small.
    """
    element = np.uint64(live + 1 + (1 if optional and len(bitmap) == 0 else 0)) * ONES
    from_bits = optional and len(bitmap) > 0
    repeated = np.uint64(repetition_level) * ONES
    after_first = repeated & ~np.uint64(255)
    all_live = len(definition) == 0
    all_first = len(repetition) == 0
    room = len(definition_out) - PADDING
    last = np.uint64(len(offsets) - 1)
    slot = np.uint64(0)
    to = np.int64(0)
    for i in range(count):
        level = np.uint8(live) if all_live else definition[i]
        first = np.uint8(0) if all_first else repetition[i]
        has_slot = np.int64(level >= slot_level)
        start = np.int64(offsets[slot]) * has_slot
        stop = np.int64(offsets[min(slot + np.uint64(1), last)]) * has_slot
        span = stop - start
        if (start < 0) | (span < 0) | (stop > num_elements):
            return INVALID_OFFSETS
        if (span > 0) & (level != live):
            return HIDDEN_VALUES
        if to + span + 1 > room:
            return TOO_MANY_LEVELS
        slot += np.uint64(has_slot)
        if span <= 8:
            # No branch on whether there are elements: short lists have no length to foresee.
            word = element
            if from_bits:
                word += _spread(bits_at(bitmap, bit_offset + start))
            store_u64(definition_out, to, np.uint64(level) if span == 0 else word)
            store_u64(repetition_out, to, after_first | np.uint64(first))
            to += span + np.int64(span == 0)
            continue
        for k in range(0, span, 8):
            store_u64(repetition_out, to + k, repeated)
        if from_bits:
            _store_validity(bitmap, bit_offset + start, span, element, definition_out, to)
        else:
            for k in range(0, span, 8):
                store_u64(definition_out, to + k, element)
        repetition_out[to] = first
        to += span
    return to


@kernel
def live_elements(
    definition: Bytes,
    count: Int,
    slot_level: Int,
    live: Int,
    offsets: Array,
    num_elements: Int,
    lengths: Int64s,
    mask: Array,
) -> Int:
    """Mark in ``mask`` (bool, one an element) what the lists that equal ``live`` hold; ``lengths`` int64, one a slot.

    Returns the number of marked elements, or ``INVALID_OFFSETS``.
    """
    slot = np.int64(0)
    total = np.int64(0)
    for i in range(count):
        level = np.uint8(live) if len(definition) == 0 else definition[i]
        if level < slot_level:
            continue
        start = np.int64(offsets[slot])
        stop = np.int64(offsets[slot + 1])
        if start < 0 or stop < start or stop > num_elements:
            return INVALID_OFFSETS
        lengths[slot] = 0
        if level == live:
            lengths[slot] = stop - start
            total += stop - start
            for k in range(start, stop):
                mask[k] = True
        slot += 1
    return total
