"""Samples of values that are spread over a column, and what they tell about it."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, inlined, kernel, prefetch
from colwriter.kernels.dictionary import INVALID_OFFSETS, SECOND_MULTIPLIER, hash_words, words_of


@inlined
def _scattered(k: Int) -> Int:
    """A number of [0, 1) for each ``k``, as if at random.

    One multiplication does not do: its numbers keep away from one another, and so do the places in the period of
    periodic data that are picked by them, so that no value is met twice.
    """
    word = np.uint64(k + 1) * SECOND_MULTIPLIER
    word = (word ^ (word >> np.uint64(32))) * SECOND_MULTIPLIER
    return np.float64(word >> np.uint64(32)) / np.float64(1 << 32)


@kernel
def scatter(out: Array) -> None:
    """Fill float64[any] with numbers of [0, 1), as if at random, and always the same."""
    for k in range(len(out)):
        out[k] = _scattered(k)


@inlined
def _sampled_slots(validity: Bytes, bit_offset: Int, start: Int, end: Int, slots: Int64s) -> Int:
    """Pick ``len(slots)`` slots of ``[start, end)``, which has no fewer, and keep those with a value; returns how many.

    Each has a stratum, where it is picked as if at random: equal steps would meet the period of periodic data.
    """
    stratum = np.float64(end - start) / np.float64(len(slots))
    met = np.uint64(0)
    for k in range(len(slots)):
        slot = start + np.int64((np.float64(k) + _scattered(k)) * stratum)
        bit = bit_offset + slot
        slots[met] = slot
        met += np.uint64(1) if len(validity) == 0 else np.uint64((validity[bit >> 3] >> np.uint8(bit & 7)) & 1)
    return np.int64(met)


@kernel
def sample_fixed(values: Array, validity: Bytes, bit_offset: Int, start: Int, end: Int, sample: Int64s) -> Int:
    """The values of ``len(sample)`` slots spread over ``[start, end)``, which has no fewer; returns their number."""
    met = _sampled_slots(validity, bit_offset, start, end, sample)
    for k in range(met):
        sample[k] = np.int64(values[sample[k]])
    return met


@kernel
def hash_slots(
    offsets: Array, data: Bytes, validity: Bytes, bit_offset: Int, start: Int, end: Int, hashes: Array
) -> Int:
    """As ``sample_fixed``, the hashes of byte arrays; or ``INVALID_OFFSETS``."""
    size = np.uint64(len(data))
    met = _sampled_slots(validity, bit_offset, start, end, hashes)
    for k in range(met):
        prefetch(data, np.int64(offsets[hashes[k]]))
    for k in range(met):
        first = np.int64(offsets[hashes[k]])
        last = np.int64(offsets[hashes[k] + 1])
        if np.uint64(first) > np.uint64(last) or np.uint64(last) > size:
            return np.int64(INVALID_OFFSETS)
        one, two, three = words_of(data, first, last - first, len(data) - first)
        hashes[k] = np.int64(hash_words(one, two, three))
    return met


@kernel
def count_classes(values: Int64s) -> tuple[Int, Int, Int]:
    """(distinct, once, twice): how many values differ, and how many of those are met once and twice.

    ``values`` int64, equal ones side by side.
    """
    distinct = np.int64(0)
    once = np.int64(0)
    twice = np.int64(0)
    met = np.int64(0)
    for i in range(len(values)):
        met += 1
        if i + 1 == len(values) or values[i + 1] != values[i]:
            distinct += 1
            once += met == 1
            twice += met == 2
            met = np.int64(0)
    return distinct, once, twice
