"""String and binary views as byte arrays (Arrow columnar format, "Variable-size Binary View Layout").

A view is 16 bytes: the length, then up to 12 bytes of the value; or, of a longer one, its first four bytes, the number
of the buffer that holds it, and where it begins there.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Bytes,
    Int,
    Int64s,
    kernel,
    load_address_u8,
    load_address_u64,
    load_u32,
    load_u64,
    store_u32,
    store_u64,
)

INLINE = 12
# Writable bytes that must follow the last value: whole words are stored.
PADDING = 16
INVALID_VIEW = -1


@kernel
def measure_views(views: Bytes, validity: Bytes, bit_offset: Int, sizes: Int64s, offsets: Int64s) -> Int:
    """Where each value begins when they follow one another: ``offsets`` int64[slots + 1]; null slots take no bytes.

    ``sizes`` int64[buffers] in bytes. Returns their total, or ``INVALID_VIEW`` if one points outside of its buffer.
    """
    total = np.int64(0)
    for slot in range(len(offsets) - 1):
        offsets[slot] = total
        bit = bit_offset + slot
        if len(validity) > 0 and (validity[bit >> 3] >> np.uint8(bit & 7)) & 1 == 0:
            continue
        word = load_u64(views, 16 * slot + 8)
        length = np.int64(np.int32(load_u32(views, 16 * slot)))
        if length > INLINE:
            number = np.int64(np.int32(word & np.uint64(0xFFFFFFFF)))
            start = np.int64(np.int32(word >> np.uint64(32)))
            if number < 0 or number >= len(sizes) or start < 0 or start + length > sizes[number]:
                return INVALID_VIEW
        elif length < 0:
            return INVALID_VIEW
        total += length
    offsets[len(offsets) - 1] = total
    return total


@kernel
def copy_views(views: Bytes, addresses: Int64s, sizes: Int64s, offsets: Int64s, out: Bytes) -> None:
    """Copy the values to their ``offsets`` in ``out``, as ``measure_views`` made and checked them.

    ``addresses`` int64[buffers] of the buffers, of ``sizes`` bytes.
    """
    for slot in range(len(offsets) - 1):
        to = offsets[slot]
        length = offsets[slot + 1] - to
        if length <= INLINE:
            store_u64(out, to, load_u64(views, 16 * slot + 4))
            store_u32(out, to + 8, load_u32(views, 16 * slot + 12))
            continue
        word = load_u64(views, 16 * slot + 8)
        number = np.int64(word & np.uint64(0xFFFFFFFF))
        start = np.int64(word >> np.uint64(32))
        source = addresses[number] + start
        if start + length + 8 <= sizes[number]:
            for k in range(0, length, 8):
                store_u64(out, to + k, load_address_u64(source + k))
        else:
            for k in range(length):
                out[to + k] = load_address_u8(source + k)
