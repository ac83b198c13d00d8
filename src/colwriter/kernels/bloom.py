"""Split block Bloom filters (Parquet specification, BloomFilter.md), and XXH64, the hash that they are made of.

A filter is an array of blocks, each of eight words (uint32 of an array that is all zero at first). The upper half of a
hash picks the block, the lower half one bit in each word of it.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u32,
    load_u64,
    make_bit_setter,
    popcount,
)
from colwriter.kernels.bits import valid_slots

WORDS = 8
# Slots that are looked at together: those of a word of the validity bitmap.
BATCH = 64
# Of these, up to so many valid ones are hashed one by one.
FEW = 8
INVALID_OFFSETS = -1
SALT = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], np.uint32
)
_set_bits = make_bit_setter(SALT)
# The primes of XXH64 (xxhash_spec.md).
PRIME_1 = np.uint64(0x9E3779B185EBCA87)
PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
PRIME_3 = np.uint64(0x165667B19E3779F9)
PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
PRIME_5 = np.uint64(0x27D4EB2F165667C5)


@inlined
def _rotated(word: Int, bits: Int) -> Int:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@inlined
def _round(lane: Int, word: Int) -> Int:
    return _rotated(lane + word * PRIME_2, np.int64(31)) * PRIME_1


@inlined
def _avalanche(state: Int) -> Int:
    state = (state ^ (state >> np.uint64(33))) * PRIME_2
    state = (state ^ (state >> np.uint64(29))) * PRIME_3
    return state ^ (state >> np.uint64(32))


@inlined
def _with_8_bytes(state: Int, word: Int) -> Int:
    return _rotated(state ^ _round(np.uint64(0), word), np.int64(27)) * PRIME_1 + PRIME_4


@inlined
def _with_4_bytes(state: Int, word: Int) -> Int:
    return _rotated(state ^ (word * PRIME_1), np.int64(23)) * PRIME_2 + PRIME_3


@kernel
def xxh64(data: Bytes, start: Int, length: Int) -> Int:
    """XXH64, with the seed 0, of ``data[start:start + length]`` as uint64 (xxhash_spec.md, "XXH64 algorithm")."""
    at = start
    end = start + length
    state = PRIME_5
    if length >= 32:
        one, two, three, four = PRIME_1 + PRIME_2, PRIME_2, np.uint64(0), np.uint64(0) - PRIME_1
        while at + 32 <= end:
            one = _round(one, load_u64(data, at))
            two = _round(two, load_u64(data, at + 8))
            three = _round(three, load_u64(data, at + 16))
            four = _round(four, load_u64(data, at + 24))
            at += 32
        state = _rotated(one, np.int64(1)) + _rotated(two, np.int64(7))
        state += _rotated(three, np.int64(12)) + _rotated(four, np.int64(18))
        for lane in (one, two, three, four):
            state = (state ^ _round(np.uint64(0), lane)) * PRIME_1 + PRIME_4
    state += np.uint64(length)
    while at + 8 <= end:
        state = _with_8_bytes(state, load_u64(data, at))
        at += 8
    if at + 4 <= end:
        state = _with_4_bytes(state, np.uint64(load_u32(data, at)))
        at += 4
    while at < end:
        state = _rotated(state ^ (np.uint64(data[at]) * PRIME_5), np.int64(11)) * PRIME_1
        at += 1
    return _avalanche(state)


@inlined
def _hash_number(value: Int, width: Int) -> Int:
    """XXH64 of the four or eight bytes of a number."""
    if width == 8:
        return _avalanche(_with_8_bytes(PRIME_5 + np.uint64(8), np.uint64(value)))
    return _avalanche(_with_4_bytes(PRIME_5 + np.uint64(4), np.uint64(np.uint32(value))))


@inlined
def _insert(hashed: Int, blocks: Array) -> None:
    """Set the eight bits of a hash (BloomFilter.md, "Algorithm")."""
    block = ((hashed >> np.uint64(32)) * np.uint64(len(blocks) // WORDS)) >> np.uint64(32)
    _set_bits(blocks, block * np.uint64(WORDS), np.uint32(hashed & np.uint64(0xFFFFFFFF)))


@kernel
def insert_numbers(
    values: Array, validity: Bytes, bit_offset: Int, start: Int, end: Int, hashes: Array, blocks: Array
) -> None:
    """Insert the values, of four or eight bytes, of the valid slots of ``[start, end)``.

    An empty ``validity`` means all; ``hashes`` uint64 is scratch of ``BATCH``.
    """
    width = np.int64(values.itemsize)
    slot = start
    while slot < end:
        count = min(np.int64(BATCH), end - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        if popcount(word) <= FEW:
            while word != np.uint64(0):
                _insert(_hash_number(values[slot + count_trailing_zeros(word)], width), blocks)
                word &= word - np.uint64(1)
        else:  # many: hash all slots, valid or not, since a loop without a branch vectorises
            source = values[slot : slot + count]
            for k in range(len(source)):
                hashes[k] = _hash_number(source[k], width)
            while word != np.uint64(0):
                _insert(hashes[count_trailing_zeros(word)], blocks)
                word &= word - np.uint64(1)
        slot += count


@kernel
def insert_fixed_byte_arrays(
    data: Bytes, width: Int, validity: Bytes, bit_offset: Int, start: Int, end: Int, blocks: Array
) -> None:
    """Insert the byte arrays of ``width`` bytes of the valid slots of ``[start, end)``."""
    slot = start
    while slot < end:
        count = min(np.int64(BATCH), end - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        while word != np.uint64(0):
            _insert(xxh64(data, (slot + count_trailing_zeros(word)) * width, width), blocks)
            word &= word - np.uint64(1)
        slot += count


@kernel
def insert_byte_arrays(
    offsets: Array, data: Bytes, validity: Bytes, bit_offset: Int, start: Int, end: Int, blocks: Array
) -> Int:
    """Insert the byte arrays of the valid slots of ``[start, end)``; slot i is ``data[offsets[i]:offsets[i + 1]]``.

    Offsets are not trusted: where one goes down or past the data, nothing is read and ``INVALID_OFFSETS`` is returned.
    """
    size = np.int64(len(data))
    slot = start
    while slot < end:
        count = min(np.int64(BATCH), end - slot)
        word = valid_slots(validity, bit_offset + slot, count)
        while word != np.uint64(0):
            at = slot + count_trailing_zeros(word)
            word &= word - np.uint64(1)
            first = np.int64(offsets[at])
            length = np.int64(offsets[at + 1]) - first
            if first < 0 or length < 0 or first + length > size:
                return INVALID_OFFSETS
            _insert(xxh64(data, first, length), blocks)
        slot += count
    return np.int64(0)


@kernel
def insert_plain_byte_arrays(page: Bytes, blocks: Array) -> None:
    """Insert byte arrays that stand each after its length in four bytes: the entries of a dictionary page."""
    at = np.int64(0)
    while at < len(page):
        length = np.int64(load_u32(page, at))
        _insert(xxh64(page, at + 4, length), blocks)
        at += 4 + length


@kernel
def fold(blocks: Array, fpp: float) -> Int:
    """Halve the filter while that keeps the false positive probability at or below ``fpp``; returns the words left.

    A block of half a filter is the union of two neighbours, for half the number of blocks halves the product that picks
    one. A value that is not in the filter is found in a block with the product, over its words, of the share of bits
    set; ``fpp`` bounds the mean over blocks. The product is an integer of at most 40 bits, the sum one of 62.
    """
    num_blocks = np.int64(len(blocks) // WORDS)
    while num_blocks > 1:
        half = num_blocks // 2
        most = fpp * np.float64(half) * 2.0**40
        total = np.int64(0)
        for block in range(half):
            product = np.int64(1)
            for k in range(2 * WORDS * block, 2 * WORDS * block + WORDS):
                product *= popcount(np.uint64(blocks[k] | blocks[k + WORDS]))
            total += product
            if np.float64(total) > most:
                return num_blocks * WORDS
        for block in range(half):
            for k in range(WORDS):
                at = 2 * WORDS * block + k
                blocks[WORDS * block + k] = blocks[at] | blocks[at + WORDS]
        num_blocks = half
    return num_blocks * WORDS
