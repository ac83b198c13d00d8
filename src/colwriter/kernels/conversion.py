"""Arrow values that are stored in another form: units of time, decimals, INT96 and INTERVAL (LogicalTypes.md).

A kernel converts all slots of a leaf, and gives the first one that holds a value and cannot be converted, or -1. What
lies under a null slot may be anything.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    byte_swap,
    inlined,
    kernel,
    load_u32,
    load_u64,
    store_u32,
    store_u64,
)

# Writable bytes that must follow the last decimal.
DECIMAL_PADDING = 8
NANOSECONDS_A_DAY = 86_400_000_000_000
# The Julian day of 1970-01-01.
JULIAN_EPOCH = 2_440_588


@inlined
def _holds_value(validity: Bytes, bit: Int) -> Int:
    return len(validity) == 0 or (validity[bit >> 3] >> np.uint8(bit & 7)) & 1 == 1


@kernel
def multiply(values: Array, validity: Bytes, bit_offset: Int, factor: Int, largest: Int, out: Array) -> Int:
    """``out[i] = values[i] * factor``, none of them above ``largest``, nor below minus that."""
    most = largest // factor
    for slot in range(len(values)):
        value = np.int64(values[slot])
        out[slot] = value * factor
        if (value > most or value < -most) and _holds_value(validity, bit_offset + slot):
            return slot
    return -1


@kernel
def divide(values: Array, validity: Bytes, bit_offset: Int, divisor: Int, exact: bool, out: Array) -> Int:
    """``out[i] = values[i] / divisor``, towards zero; with ``exact``, nothing may be left."""
    for slot in range(len(values)):
        value = np.int64(values[slot])
        quotient = value // divisor
        rest = value - quotient * divisor
        out[slot] = quotient + np.int64(value < 0 and rest != 0)
        if exact and rest != 0 and _holds_value(validity, bit_offset + slot):
            return slot
    return -1


@inlined
def _turn_around(data: Bytes, words: Int, length: Int, validity: Bytes, bit_offset: Int, out: Bytes) -> Int:
    """``decimals`` of so many words of 64 bits."""
    last = (length - 1) >> 3
    shift = np.int64(64 - 8 * (length - 8 * last))
    for slot in range((len(data) >> 3) // words):
        source = 8 * words * slot
        to = slot * length
        top = np.int64(load_u64(data, source + 8 * last))
        store_u64(out, to, byte_swap(np.uint64(top << shift)))
        for k in range(last - 1, -1, -1):
            store_u64(out, to + length - 8 * (k + 1), byte_swap(load_u64(data, source + 8 * k)))
        fits = (top << shift) >> shift == top
        for k in range(last + 1, words):
            fits &= np.int64(load_u64(data, source + 8 * k)) == top >> 63
        if not fits and _holds_value(validity, bit_offset + slot):
            return slot
    return np.int64(-1)


@kernel
def decimals(data: Bytes, width: Int, length: Int, validity: Bytes, bit_offset: Int, out: Bytes) -> Int:
    """Signed integers of ``width`` bytes, 8, 16 or 32, little-endian, as ``length`` bytes, big-endian.

    Whole words are stored, from the first value to the last: what one store writes too much, the next overwrites, and
    ``out`` has ``DECIMAL_PADDING`` bytes after the last value. A value that needs more bytes cannot be converted.
    """
    if width == 16:  # a loop that knows how many words a value has takes a third of the time
        return _turn_around(data, 2, length, validity, bit_offset, out)
    return _turn_around(data, width >> 3, length, validity, bit_offset, out)


@kernel
def int96(values: Array, validity: Bytes, bit_offset: Int, a_second: Int, out: Bytes) -> Int:
    """Timestamps, ``a_second`` of them a second, as INT96: nanoseconds of the day, and the Julian day."""
    a_day = a_second * 86_400
    for slot in range(len(values)):
        value = np.int64(values[slot])
        day = value // a_day
        nanoseconds = (value - day * a_day) * (NANOSECONDS_A_DAY // a_day)
        store_u64(out, 12 * slot, np.uint64(nanoseconds))
        julian = day + JULIAN_EPOCH
        store_u32(out, 12 * slot + 8, np.uint32(np.uint64(julian) & np.uint64(0xFFFFFFFF)))
        if (julian < 0 or julian >= 1 << 31) and _holds_value(validity, bit_offset + slot):
            return slot
    return -1


@kernel
def intervals(data: Bytes, validity: Bytes, bit_offset: Int, out: Bytes) -> Int:
    """Months, days and nanoseconds as months, days and milliseconds, unsigned and of 32 bits each."""
    for slot in range(len(data) // 16):
        months = np.int64(np.int32(load_u32(data, 16 * slot)))
        days = np.int64(np.int32(load_u32(data, 16 * slot + 4)))
        nanoseconds = np.int64(load_u64(data, 16 * slot + 8))
        milliseconds = nanoseconds // 1_000_000
        store_u32(out, 12 * slot, np.uint32(np.uint64(months) & np.uint64(0xFFFFFFFF)))
        store_u32(out, 12 * slot + 4, np.uint32(np.uint64(days) & np.uint64(0xFFFFFFFF)))
        store_u32(out, 12 * slot + 8, np.uint32(np.uint64(milliseconds) & np.uint64(0xFFFFFFFF)))
        bad = months < 0 or days < 0 or nanoseconds < 0 or milliseconds >= 1 << 32
        if (bad or milliseconds * 1_000_000 != nanoseconds) and _holds_value(validity, bit_offset + slot):
            return slot
    return -1
