"""Repetition and definition levels of nested columns (Melnik et al., "Dremel", VLDB 2010).

Levels are built from the root to the leaf. At every step the levels so far are an array with one entry for each
entry that the node sees: those of its rows, and one for each null or empty ancestor. An entry whose definition
level is at least ``slot_level`` has a slot in the node's Arrow array (slots follow one another in order); one that
equals ``live`` is defined so far, and takes part in the step. Levels are uint8.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import kernel, store_u64

# Levels are stored eight at a time: writable bytes that must follow the last level.
PADDING = 16
HIDDEN_VALUES = -1
INVALID_OFFSETS = -2
TOO_MANY_LEVELS = -3
ONES = np.uint64(0x0101010101010101)


@kernel
def _spread(bits):  # type: ignore[no-untyped-def]
    """Eight bytes of 0 or 1 from the low eight of ``bits``, the first bit lowest."""
    word = (bits & np.uint64(255)) * ONES & np.uint64(0x8040201008040201)
    return ((word + np.uint64(0x7F7F7F7F7F7F7F7F)) >> np.uint64(7)) & ONES


@kernel
def _byte_at(bitmap, bit):  # type: ignore[no-untyped-def]
    """Eight bits of ``bitmap`` from ``bit`` on; those past its end are zero."""
    byte = bit >> 3
    shift = np.uint64(bit & 7)
    word = np.uint64(bitmap[byte])
    if byte + 1 < len(bitmap):
        word |= np.uint64(bitmap[byte + 1]) << np.uint64(8)
    return word >> shift


@kernel
def validity_levels(bitmap, bit_offset, count, level, out):  # type: ignore[no-untyped-def]
    """Definition levels of ``count`` optional slots: ``level`` for a null, ``level + 1`` else."""
    base = np.uint64(level) * ONES
    for i in range(0, count, 8):
        store_u64(out, i, base + _spread(_byte_at(bitmap, bit_offset + i)))


@kernel
def apply_validity(definition, count, slot_level, live, bitmap, bit_offset, out):  # type: ignore[no-untyped-def]
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
def intersect_bitmaps(a, a_offset, b, b_offset, count, out):  # type: ignore[no-untyped-def]
    """``out`` (from bit 0) = a & b, for ``count`` bits: a slot under a null struct holds no value."""
    for i in range(0, count, 8):
        out[i >> 3] = np.uint8(_byte_at(a, a_offset + i) & _byte_at(b, b_offset + i) & np.uint64(255))


@kernel
def expand_lists(  # type: ignore[no-untyped-def]
    repetition, definition, count, slot_level, live, offsets, num_elements, repetition_level, bitmap, bit_offset,
    optional, repetition_out, definition_out
):
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
    all_live = len(definition) == 0
    all_first = len(repetition) == 0
    room = len(definition_out) - PADDING
    slot = 0
    to = np.int64(0)
    for i in range(count):
        level = np.uint8(live) if all_live else definition[i]
        first = np.uint8(0) if all_first else repetition[i]
        span = np.int64(0)
        if level >= slot_level:
            start = np.int64(offsets[slot])
            span = np.int64(offsets[slot + 1]) - start
            slot += 1
            if span < 0 or start < 0 or start + span > num_elements:
                return INVALID_OFFSETS
            if level != live and span > 0:
                return HIDDEN_VALUES
        if to + span + 1 > room:
            return TOO_MANY_LEVELS
        if span == 0:
            definition_out[to] = level
            repetition_out[to] = first
            to += 1
            continue
        for k in range(0, span, 8):
            store_u64(repetition_out, to + k, repeated)
        if from_bits:
            for k in range(0, span, 8):
                store_u64(definition_out, to + k, element + _spread(_byte_at(bitmap, bit_offset + start + k)))
        else:
            for k in range(0, span, 8):
                store_u64(definition_out, to + k, element)
        repetition_out[to] = first
        to += span
    return to


@kernel
def live_elements(definition, count, slot_level, live, offsets, num_elements, lengths, mask):  # type: ignore[no-untyped-def]
    """Mark in ``mask`` (bool, one an element) what the lists that equal ``live`` hold; ``lengths`` int64, one a slot.

    Returns the number of marked elements, or ``INVALID_OFFSETS``.
    """
    slot = 0
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
