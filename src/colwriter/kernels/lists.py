"""Levels of a column of lists of leaves, the most frequent nested column, as packed bits.

Such a column has repetition levels of one bit and definition levels of one or two, and both follow from offsets and
validity bitmaps a word at a time. Levels are appended to registers; a list leaves at most seven bits of each waiting.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, inlined, kernel, store_u64
from colwriter.kernels.bits import ALL, bits_at

# Readable bytes that must follow the last level.
PADDING = 16
# Lists of at most this many elements take one step: with up to seven bits that wait, two bits a level fit in a word.
SHORT = 28
HIDDEN_VALUES = -1
INVALID_OFFSETS = -2


@inlined
def _append(out: Bytes, to: Int, pending: Int, filled: Int, word: Int, count: Int) -> tuple[Int, Int, Int]:
    """Append the low ``count`` (1 to 64) bits of ``word``, the others being zero; returns (to, pending, filled)."""
    pending |= word << np.uint64(filled)
    filled += count
    if filled >= 64:
        store_u64(out, to, pending)
        to += 8
        filled -= 64
        pending = (word >> np.uint64(1)) >> np.uint64(count - filled - 1)
    return to, pending, filled


@inlined
def _flush(out: Bytes, to: Int, pending: Int, filled: Int) -> tuple[Int, Int, Int]:
    """Store ``filled`` (at most 63) pending bits, and keep those of the last byte that is not full."""
    store_u64(out, to, pending)
    whole = filled >> 3
    return to + whole, pending >> np.uint64(8 * whole), filled & 7


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
    """A mask of the ``count`` (1 to 64) lowest bits."""
    return ALL >> np.uint64(64 - count)


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
    repetition: Bytes,
    definition: Bytes,
    row_levels: Int64s,
) -> Int:
    """Levels of ``count`` lists; returns how many, or a negative status (see ``shredding.expand_lists``).

    ``row_levels`` int64[count + 1] takes the first level of each list, and the end of the last one.

    ``optional`` and ``element_optional``: 0 or 1, what the list and its element add to definition levels if they are
    not null. An empty bitmap means that all are valid. ``repetition`` takes one bit a level, ``definition`` ``width``
    (1 or 2); both need room for ``PADDING`` bytes more.
    """
    null_element = np.uint64(optional + 1)
    valid_element = np.uint64(optional + 1 + element_optional)
    fives = np.uint64(0x5555555555555555) if width == 2 else ALL
    all_null = null_element * fives if width == 2 else np.uint64(0)
    # Without a bitmap all elements are valid; with one, a set bit turns the level of a null into that of a value.
    change = null_element ^ valid_element
    constant = valid_element * fives if width == 2 else ALL
    a_word = 64 // width
    from_bits = element_optional == 1 and len(element_validity) > 0
    last_bit = max(8 * np.int64(len(element_validity)) - 1, 0)
    r_to = np.int64(0)
    r_pending = np.uint64(0)
    r_filled = np.int64(0)
    d_to = np.int64(0)
    d_pending = np.uint64(0)
    d_filled = np.int64(0)
    levels = np.int64(0)
    i = np.int64(0)
    while i < count:  # at most seven bits wait here
        start = np.int64(offsets[i])
        stop = np.int64(offsets[i + 1])
        span = stop - start
        if span < 0 or start < 0 or stop > num_elements:
            return INVALID_OFFSETS
        if span == 0 and i + 8 < count and np.int64(offsets[i + 8]) == stop:
            # Many null and empty lists that follow one another: all of repetition level 0.
            most = min(count - i, a_word)
            k = 1
            while k < most and np.int64(offsets[i + k + 1]) == stop:
                k += 1
            word = np.uint64(0)
            if optional:
                word = _low(k)
                if len(validity) > 0:
                    word &= bits_at(validity, bit_offset + i)
                if width == 2:
                    word = _interleave(word)
            r_to, r_pending, r_filled = _append(repetition, r_to, r_pending, r_filled, np.uint64(0), k)
            r_to, r_pending, r_filled = _flush(repetition, r_to, r_pending, r_filled)
            d_to, d_pending, d_filled = _append(definition, d_to, d_pending, d_filled, word, k * width)
            d_to, d_pending, d_filled = _flush(definition, d_to, d_pending, d_filled)
            of_run = row_levels[i : i + k]  # a slice has no negative index: the loop vectorises
            for j in range(len(of_run)):
                of_run[j] = levels + j
            levels += k
            i += k
            continue
        row_levels[i] = levels
        valid = np.uint64(optional)
        if len(validity) > 0:
            bit = bit_offset + i
            valid = np.uint64((validity[bit >> 3] >> np.uint8(bit & 7)) & np.uint8(1))
            if valid == np.uint64(0) and span > 0:
                return HIDDEN_VALUES
        if span <= SHORT:
            # One word for each kind of levels, without a branch on the length: short lists have none to foresee.
            n: Int = max(span, 1)
            word = constant
            if from_bits:
                elements = _interleave(bits_at(element_validity, min(element_bit_offset + start, last_bit)))
                word = all_null ^ (elements * change)
            word = word & _low(n * width) if span > 0 else valid
            r_pending |= (_low(n) ^ np.uint64(1)) << np.uint64(r_filled)
            r_to, r_pending, r_filled = _flush(repetition, r_to, r_pending, r_filled + n)
            d_pending |= word << np.uint64(d_filled)
            d_to, d_pending, d_filled = _flush(definition, d_to, d_pending, d_filled + n * width)
            levels += n
            i += 1
            continue
        first = ALL ^ np.uint64(1)
        shift = np.uint64(r_filled)
        for _ in range(span >> 6):
            store_u64(repetition, r_to, r_pending | (first << shift))
            r_pending = (first >> np.uint64(1)) >> (np.uint64(63) - shift)
            r_to += 8
            first = ALL
        rest = span & 63
        if rest > 0:
            r_to, r_pending, r_filled = _append(repetition, r_to, r_pending, r_filled, first & _low(rest), rest)
        shift = np.uint64(d_filled)
        word = constant
        at = element_bit_offset + start
        for _ in range(span // a_word):
            if from_bits:
                word = all_null ^ (_interleave(bits_at(element_validity, at)) * change)
                at += a_word
            store_u64(definition, d_to, d_pending | (word << shift))
            d_pending = (word >> np.uint64(1)) >> (np.uint64(63) - shift)
            d_to += 8
        rest = span % a_word
        if rest > 0:
            if from_bits:
                word = all_null ^ (_interleave(bits_at(element_validity, at)) * change)
            word &= _low(rest * width)
            d_to, d_pending, d_filled = _append(definition, d_to, d_pending, d_filled, word, rest * width)
        r_to, r_pending, r_filled = _flush(repetition, r_to, r_pending, r_filled)
        d_to, d_pending, d_filled = _flush(definition, d_to, d_pending, d_filled)
        levels += span
        i += 1
    store_u64(repetition, r_to, r_pending)
    store_u64(definition, d_to, d_pending)
    row_levels[count] = levels
    return levels
