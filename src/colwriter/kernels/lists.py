"""Levels of a column of lists of leaves, the most frequent nested column, as packed bits.

Such a column has repetition levels of one bit and definition levels of one or two, and both follow from offsets and
validity bitmaps a word at a time. Levels are appended to registers; a list leaves at most seven bits of each waiting.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u64,
    popcount,
    store_pairs,
    store_u64,
)
from colwriter.kernels.bits import ALL, bits_at

# Readable bytes that must follow the last level.
PADDING = 16
# Lists of at most this many elements take one step: with up to seven bits that wait, two bits a level fit in a word.
SHORT = 28
NONE = np.uint64(0)
ONE = np.uint64(1)
HIDDEN_VALUES = -1
INVALID_OFFSETS = -2
EMPTY_LISTS = -3


@inlined
def _flush(out: Bytes, to: Int, pending: Int, filled: Int, inverted: Int) -> tuple[Int, Int, Int]:
    """Store ``filled`` (at most 63) pending bits, and keep those of the last byte that is not full.

    They are stored as they are, or all ``inverted``.
    """
    store_u64(out, to, pending ^ inverted)
    return to + (filled >> 3), pending >> np.uint64(filled & 56), filled & 7


@inlined
def _interleave(bits: Int) -> Int:
    """The low 32 bits at even places of 64."""
    x = bits & np.uint64(0xFFFFFFFF)
    x = (x | (x << np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    x = (x | (x << np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    x = (x | (x << np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    x = (x | (x << np.uint64(2))) & np.uint64(0x3333333333333333)
    return (x | (x << np.uint64(1))) & np.uint64(0x5555555555555555)


@inlined
def _low(count: Int) -> Int:
    """A mask of the ``count`` (0 to 63) lowest bits."""
    return (ONE << np.uint64(count)) - ONE


@kernel
def count_empty(offsets: Array) -> Int:
    """How many of the lists between ``offsets`` have no elements."""
    total = np.int64(0)
    starts = offsets[: len(offsets) - 1]
    stops = offsets[1 : len(offsets)]
    for k in range(len(starts)):
        total += np.int64(starts[k] == stops[k])
    return total


@kernel
def mark_lists(offsets: Array, count: Int, num_elements: Int, repetition: Bytes, rows: Int64s) -> Int:
    """Repetition levels, one bit each, of ``count`` lists that all have elements; returns how many there are.

    ``rows`` int64[count + 1] takes the first level of each list, which is its first element too, and the end of the
    last one. ``repetition`` needs room for ``PADDING`` bytes more. ``EMPTY_LISTS``: some have no elements, or offsets
    are wrong, which is for ``pack_list_levels`` to tell.
    """
    base = np.int64(offsets[0])
    limit = min(np.int64(offsets[count]), num_elements)
    if base < 0:
        return EMPTY_LISTS
    repetition[:] = 255
    zeros = NONE
    place = np.int64(0)
    for block in range(0, count, 64):
        n = min(count - block, 64)
        starts = offsets[block : block + n]
        stops = offsets[block + 1 : block + 1 + n]
        firsts = rows[block : block + n]
        full = True
        for j in range(n):
            full &= stops[j] > starts[j]
            firsts[j] = np.int64(starts[j]) - base
        if not full or np.int64(stops[n - 1]) > limit:
            return EMPTY_LISTS
        for j in range(n):
            # Each zero is stored with those before it in its word: no branch on which is the last.
            here = firsts[j] >> 6
            zeros = (zeros if here == place else NONE) | (ONE << np.uint64(firsts[j] & 63))
            place = here
            store_u64(repetition, 8 * place, ~zeros)
    rows[count] = np.int64(offsets[count]) - base
    return rows[count]


@kernel
def mark_equal_lists(size: Int, count: Int, repetition: Bytes, rows: Int64s) -> None:
    """As ``mark_lists``, of lists of ``size`` elements each, 1 or more: a word follows from the one before."""
    for i in range(count + 1):
        rows[i] = i * size
    zeros = NONE
    for k in range(0, 64, size):
        zeros |= ONE << np.uint64(k)
    first = np.int64(0)  # of the zeros of a word; there may be none
    for to in range(0, (count * size + 7) >> 3, 8):
        store_u64(repetition, to, ~(zeros << np.uint64(first) if first < 64 else NONE))
        first -= 64 % size
        first += size if first < 0 else 0


@kernel
def pack_list_levels(
    validity: Bytes,
    bit_offset: Int,
    optional: Int,
    offsets: Array,
    count: Int,
    num_elements: Int,
    element_validity: Bytes,
    element_bit_offset: Int,
    element_optional: Int,
    width: Int,
    base: Int,
    level: Int,
    repetition: Bytes,
    definition: Bytes,
    row_levels: Int64s,
    row_slots: Int64s,
) -> Int:
    """Levels of ``count`` lists after ``level`` others; returns how many there are then, or a negative status.

    (See ``shredding.expand_lists``.) ``row_levels`` and ``row_slots``, int64[count + 1], take the first level and the
    first element of each list, counted from ``base``, and the ends of the last one.

    ``optional`` and ``element_optional``: 0 or 1, what the list and its element add to definition levels if they are
    not null. An empty bitmap means that all are valid. ``repetition`` takes one bit a level, ``definition`` ``width``
    (1 or 2); both need room for ``PADDING`` bytes more. The first byte of each is the one in which the first of these
    levels lies, the bits of others in it being ones of ``repetition`` and zeros of ``definition``.

    64 lists at a time: which of them have elements is found by vectors, and so are the places of their levels. Then a
    step takes the null and empty lists up to the next one that has elements, and that list.
    """
    row_slots[count] = np.int64(offsets[count]) - base
    if count == 0:
        row_levels[0] = level
        return np.int64(level)
    every = np.uint64(0x5555555555555555) if width == 2 else ALL
    # Without a bitmap all elements are valid; with one, a set bit turns the level of a null into that of a value.
    # Levels of null and empty lists are the bits of their validity: none is set where ``change`` is not 1.
    from_bits = element_optional == 1 and len(element_validity) > 0
    change = np.uint64(1 if optional else 3)
    unchanged = np.uint64(optional + 1 if from_bits else optional + 1 + element_optional) * every
    a_word = 64 // width
    limit = min(np.int64(offsets[count]), num_elements)
    if np.int64(offsets[0]) < 0:
        return INVALID_OFFSETS
    # Elements after the first of a list are by far the most frequent: bits that wait are the zeros between them.
    repetition[:] = 255
    r_to = np.int64(0)
    zeros = np.uint64(0)
    r_filled = np.int64(level & 7)
    d_to = np.int64(0)
    pending = np.uint64(0)
    d_filled = np.int64((level * width) & 7)
    levels = np.int64(level)
    for block in range(0, count, 64):
        n = min(count - block, 64)
        starts = offsets[block : block + n]
        stops = offsets[block + 1 : block + 1 + n]
        full = np.uint64(0)
        decreasing = False
        for j in range(n):
            full |= np.uint64(stops[j] != starts[j]) << np.uint64(j)
            decreasing |= stops[j] < starts[j]
        first = np.int64(starts[0])
        stop = np.int64(stops[n - 1])
        if decreasing or stop > limit:
            return INVALID_OFFSETS
        empty = ~full
        rows = row_levels[block : block + n]
        slots = row_slots[block : block + n]
        for j in range(n):
            slots[j] = np.int64(starts[j]) - base
            rows[j] = levels - first + np.int64(starts[j]) + popcount(empty & ((ONE << np.uint64(j)) - ONE))
        levels = levels - first + stop + popcount(empty << np.uint64(64 - n))
        valid = ALL
        if len(validity) > 0:
            valid = bits_at(validity, bit_offset + block)
            if full & ~valid != np.uint64(0):
                return HIDDEN_VALUES
        if optional == 0:
            valid = np.uint64(0)
        i = np.int64(0)
        while i < n:  # at most seven bits wait here
            gap = count_trailing_zeros(full >> np.uint64(i))
            of_gap = valid >> np.uint64(i)
            i += gap
            start = first
            span = np.int64(0)
            if i < n:
                start = np.int64(starts[np.uint64(i)])  # not to be tested for an index that counts from the end
                span = np.int64(stops[np.uint64(i)]) - start
            else:
                gap -= i - n
            i += 1
            bits = NONE
            if gap + span <= SHORT:
                # One word, without a branch on the length: short lists have none to foresee.
                if from_bits:
                    bits = bits_at(element_validity, element_bit_offset + start) & _low(span)
                bits = (of_gap & _low(gap)) | (bits << np.uint64(gap))
                word = (unchanged & _low(span * width)) << np.uint64(gap * width)
                zeros |= _low(gap + min(span, 1)) << np.uint64(r_filled)
                r_to, zeros, r_filled = _flush(repetition, r_to, zeros, r_filled + gap + span, ALL)
                pending |= (word ^ (_interleave(bits) * change)) << np.uint64(d_filled)
                d_to, pending, d_filled = _flush(definition, d_to, pending, d_filled + (gap + span) * width, NONE)
                continue
            while gap > 0:
                part = min(gap, SHORT)
                zeros |= _low(part) << np.uint64(r_filled)
                r_to, zeros, r_filled = _flush(repetition, r_to, zeros, r_filled + part, ALL)
                pending |= _interleave(of_gap & _low(part)) << np.uint64(d_filled)
                d_to, pending, d_filled = _flush(definition, d_to, pending, d_filled + part * width, NONE)
                of_gap >>= np.uint64(SHORT)
                gap -= part
            if span == 0:
                continue
            zeros |= ONE << np.uint64(r_filled)
            store_u64(repetition, r_to, ~zeros)
            r_filled += span
            r_to += r_filled >> 3
            whole: Int = min(r_filled & -8, 63)
            zeros >>= np.uint64(whole)
            r_filled &= 7
            # A word from the byte that is not full on, and then whole ones: each is that of its elements, not shifted.
            at = element_bit_offset + start
            if from_bits:
                bits = bits_at(element_validity, at)
            word = pending | ((unchanged ^ (_interleave(bits) * change)) << np.uint64(d_filled))
            store_u64(definition, d_to, word)
            at -= d_filled >> (width - 1)
            d_filled += span * width
            left = d_filled >> 6
            last = d_to + 8 * left
            if from_bits and ((at + left * a_word) >> 3) + 36 <= len(element_validity) and last + 64 <= len(definition):
                # Eight words at a time, some of which are for levels that follow: they are stored again.
                for to in range(d_to + 8, last + 1, 64):
                    store_pairs(definition, to, element_validity, at + a_word, change, unchanged)
                    at += 8 * a_word
                word = load_u64(definition, last) if left > 0 else word
                d_to = last
                left = 0
            for _ in range(left):
                d_to += 8
                at += a_word
                if from_bits:
                    bits = bits_at(element_validity, at)
                word = unchanged ^ (_interleave(bits) * change)
                store_u64(definition, d_to, word)
            d_to += (d_filled & 56) >> 3
            pending = (word >> np.uint64(d_filled & 56)) & _low(d_filled & 7)
            d_filled &= 7
    store_u64(repetition, r_to, ~zeros)
    store_u64(definition, d_to, pending)
    row_levels[count] = levels
    return levels
