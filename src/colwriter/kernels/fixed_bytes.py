"""PLAIN values that are byte arrays of one width, and BOOLEANs (Parquet specification, Encodings.md, "Plain").

Pages are placed in ``out`` by the rule of ``kernels.plain``. An empty ``validity`` means that every slot holds a value.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    byte_swap,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u64,
    popcount,
    store_u64,
)
from colwriter.kernels.bits import ALL, bits_at, valid_slots
from colwriter.kernels.framing import values_start
from colwriter.kernels.page_table import END, GREATEST, LEAST, NAN_COUNT, SLOT, START


@kernel
def encode_fixed_bytes(
    data: Bytes,
    width: Int,
    validity: Bytes,
    bit_offset: Int,
    lead: Int,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """Values of ``width`` bytes, slot i being ``data[i * width:(i + 1) * width]``, nulls left out; returns the end.

    ``out`` has eight writable bytes after the last value.
    """
    position = np.int64(0)
    size = np.int64(len(data))
    for page in range(len(pages) - 1):
        position = values_start(pages, page, lead, position)
        pages[page, START] = position
        slot = pages[page, SLOT]
        end = pages[page + 1, SLOT]
        while slot < end:
            count = min(np.int64(64), end - slot)
            if len(validity) == 0:
                count = end - slot
            word = valid_slots(validity, bit_offset + slot, min(np.int64(64), count))
            if len(validity) == 0 or popcount(word) == count:
                source = data[slot * width : (slot + count) * width]
                target = out[position : position + len(source)]
                for k in range(len(source)):
                    target[k] = source[k]
                position += count * width
                word = np.uint64(0)
            while word != np.uint64(0):
                start = (slot + count_trailing_zeros(word)) * width
                word &= word - np.uint64(1)
                if start + width + 8 <= size:
                    for k in range(0, width, 8):
                        store_u64(out, position + k, load_u64(data, start + k))
                else:
                    for k in range(width):
                        out[position + k] = data[start + k]
                position += width
            slot += count
        pages[page, END] = position
    return position


@inlined
def _prefix(data: Bytes, start: Int, width: Int) -> Int:
    """The first eight bytes as a number that orders like them; bytes past the value are zero."""
    if start + 8 <= len(data):
        return byte_swap(load_u64(data, start)) & (ALL << np.uint64(max(64 - 8 * width, 0)))
    word = np.uint64(0)
    for k in range(min(width, 8)):
        word |= np.uint64(data[start + k]) << np.uint64(56 - 8 * k)
    return word


@inlined
def _compare(data: Bytes, a: Int, b: Int, width: Int) -> Int:
    """-1, 0 or 1: the bytes from the eighth on of value a sort before those of value b, are the same, or sort after."""
    for k in range(8, width):
        if data[a + k] != data[b + k]:
            return np.int64(-1) if data[a + k] < data[b + k] else np.int64(1)
    return np.int64(0)


@kernel
def min_max_fixed_bytes(
    data: Bytes,
    width: Int,
    signed: bool,
    validity: Bytes,
    bit_offset: Int,
    pages: Int64s,
) -> None:
    """Slots of the least and the greatest value of each page, -1 where there is none.

    Values compare as unsigned bytes, or with ``signed`` as big-endian numbers: those differ in the first bit alone.
    """
    flip = np.uint64(1) << np.uint64(63) if signed else np.uint64(0)
    for page in range(len(pages) - 1):
        least = np.int64(-1)
        greatest = np.int64(-1)
        low = np.uint64(0)
        high = np.uint64(0)
        slot = pages[page, SLOT]
        end = pages[page + 1, SLOT]
        while slot < end:
            count = min(np.int64(64), end - slot)
            word = valid_slots(validity, bit_offset + slot, count)
            while word != np.uint64(0):
                at = slot + count_trailing_zeros(word)
                word &= word - np.uint64(1)
                prefix = _prefix(data, at * width, width) ^ flip
                if least < 0:
                    least = at
                    greatest = at
                    low = prefix
                    high = prefix
                    continue
                if prefix < low or (prefix == low and _compare(data, at * width, least * width, width) < 0):
                    least = at
                    low = prefix
                if prefix > high or (prefix == high and _compare(data, at * width, greatest * width, width) > 0):
                    greatest = at
                    high = prefix
            slot += count
        pages[page, LEAST] = least
        pages[page, GREATEST] = greatest


@inlined
def _pick(bits: Int, mask: Int) -> Int:
    """The bits of ``bits`` where ``mask`` has ones, next to one another from the lowest on."""
    out = np.uint64(0)
    to = np.uint64(0)
    while mask != np.uint64(0):
        # A run of ones at a time: most masks have few.
        start = np.uint64(count_trailing_zeros(mask))
        rest = ~(mask >> start)
        length = np.uint64(count_trailing_zeros(rest))
        ones = ALL >> (np.uint64(64) - length)
        out |= ((bits >> start) & ones) << to
        to += length
        mask = np.uint64(0) if start + length >= np.uint64(64) else mask & (ALL << (start + length))
    return out


@kernel
def encode_bits(
    data: Bytes,
    value_offset: Int,
    validity: Bytes,
    bit_offset: Int,
    lead: Int,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """BOOLEANs: a bit each, least significant first, slot i being bit ``value_offset + i``; returns the end.

    The least and the greatest are 0 or 1, and left alone where a page has no values. ``out`` has sixteen writable
    bytes after the last value.
    """
    position = np.int64(0)
    for page in range(len(pages) - 1):
        position = values_start(pages, page, lead, position)
        pages[page, START] = position
        slot = pages[page, SLOT]
        end = pages[page + 1, SLOT]
        pending = np.uint64(0)
        filled = np.int64(0)
        any_true = np.uint64(0)
        any_false = np.uint64(0)
        while slot < end:
            count = min(np.int64(64), end - slot)
            mask = valid_slots(validity, bit_offset + slot, count)
            bits = bits_at(data, value_offset + slot)
            any_true |= bits & mask
            any_false |= ~bits & mask
            valid = popcount(mask)
            if valid < count:
                bits = _pick(bits, mask)
            elif count < 64:
                bits &= mask
            pending |= bits << np.uint64(filled)
            store_u64(out, position, pending)
            total = filled + valid
            if total >= 64:
                position += 8
                # Shifted in two steps: a shift by 64, where `filled` is 0, is not defined.
                pending = (bits >> np.uint64(1)) >> np.uint64(63 - filled)
                total -= 64
            filled = total
            slot += count
        store_u64(out, position, pending)
        position += (filled + 7) >> 3
        pages[page, END] = position
        if any_true | any_false != np.uint64(0):
            pages[page, LEAST] = 0 if any_false != np.uint64(0) else 1
            pages[page, GREATEST] = 1 if any_true != np.uint64(0) else 0
    return position


@kernel
def min_max_floats(
    values: Array,
    validity: Bytes,
    bit_offset: Int,
    ranges: Int64s,
    infinity: Int,
    pages: Int64s,
) -> None:
    """Bounds of floating-point numbers, given as their bits, and how many of them are not a number.

    Those of a page are the valid slots from ``ranges[page, 0]`` to ``ranges[page, 1]``.
    ``values`` int16, int32 or int64; ``infinity`` the bits above which, but for the sign, there is no number. The
    bounds are keys that order like the numbers: the bits, and those of a negative number with all but the sign flipped.
    Where a page has no number, the least key is above the greatest.
    """
    shift = 8 * values.itemsize - 1
    magnitude = (np.int64(1) << shift) - np.int64(1)
    for page in range(len(ranges)):
        least = np.int64(0x7FFFFFFFFFFFFFFF)
        greatest = ~least
        nan = np.int64(0)
        slot = ranges[page, 0]
        end = ranges[page, 1]
        while slot < end:
            count = min(np.int64(64), end - slot)
            if len(validity) == 0:
                count = end - slot
            word = valid_slots(validity, bit_offset + slot, min(np.int64(64), count))
            if len(validity) == 0 or popcount(word) == count:
                block = values[slot : slot + count]
                for k in range(len(block)):
                    bits = np.int64(block[k])
                    is_nan = (bits & magnitude) > infinity
                    key = bits ^ ((bits >> np.int64(63)) & magnitude)
                    least = min(least, np.int64(0x7FFFFFFFFFFFFFFF) if is_nan else key)
                    greatest = max(greatest, ~np.int64(0x7FFFFFFFFFFFFFFF) if is_nan else key)
                    nan += np.int64(is_nan)
            elif word != np.uint64(0):
                block = values[slot : slot + count]
                for k in range(len(block)):  # nulls are looked at too, and passed over: no branch on each
                    bits = np.int64(block[k])
                    is_valid = (word >> np.uint64(k)) & np.uint64(1) != np.uint64(0)
                    is_nan = (bits & magnitude) > infinity
                    key = bits ^ ((bits >> np.int64(63)) & magnitude)
                    least = min(least, key if is_valid and not is_nan else np.int64(0x7FFFFFFFFFFFFFFF))
                    greatest = max(greatest, key if is_valid and not is_nan else ~np.int64(0x7FFFFFFFFFFFFFFF))
                    nan += np.int64(is_nan and is_valid)
            slot += count
        pages[page, LEAST] = least
        pages[page, GREATEST] = greatest
        pages[page, NAN_COUNT] = nan
