"""Reading bitmaps 64 bits at a time (Arrow columnar format, "Validity bitmaps": least significant bit first)."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, inlined, load_u64

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def bits_at(bitmap: Bytes, bit: Int) -> Int:
    """The 64 bits of ``bitmap`` from ``bit`` on; those past its end are zero. ``bit`` must lie in the bitmap."""
    byte = bit >> 3
    shift = np.uint64(bit & 7)
    if byte + 9 <= len(bitmap):
        word = load_u64(bitmap, byte) >> shift
        # Shifted in two steps: a shift by 64, where `shift` is 0, is not defined.
        return word | ((np.uint64(bitmap[byte + 8]) << np.uint64(1)) << (np.uint64(63) - shift))
    word = np.uint64(0)
    for k in range(min(8, len(bitmap) - byte)):
        word |= np.uint64(bitmap[byte + k]) << np.uint64(8 * k)
    return word >> shift


@inlined
def valid_slots(bitmap: Bytes, bit: Int, count: Int) -> Int:
    """Which of ``count`` (1 to 64) slots hold a value, the first in the lowest bit; an empty bitmap means all."""
    all_of_them = ALL >> np.uint64(64 - count)
    if len(bitmap) == 0:
        return all_of_them
    return bits_at(bitmap, bit) & all_of_them
