"""XXH64 (xxhash_spec.md) and split block Bloom filters (BloomFilter.md), one value and one bit at a time."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from naive.encodings import FORMATS

# The primes as the specification of xxHash writes them, in decimal.
P1, P2, P3 = 11400714785074694791, 14029467366897019727, 1609587929392839161
P4, P5 = 9650029242287828579, 2870177450012600261
MASK = (1 << 64) - 1
SALTS = [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31]


def _rotl(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & MASK


def _round(accumulator: int, lane: int) -> int:
    return _rotl((accumulator + lane * P2) & MASK, 31) * P1 & MASK


def xxh64(data: bytes, seed: int = 0) -> int:
    """The six steps of "XXH64 algorithm description"."""
    rest = data
    if len(data) < 32:
        accumulator = (seed + P5) & MASK
    else:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while len(rest) >= 32:
            words = struct.unpack("<4Q", rest[:32])
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            rest = rest[32:]
        accumulator = sum(_rotl(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            accumulator = ((accumulator ^ _round(0, lane)) * P1 + P4) & MASK
    accumulator = (accumulator + len(data)) & MASK
    while len(rest) >= 8:
        accumulator = (_rotl(accumulator ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * P1 + P4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        accumulator = (_rotl(accumulator ^ int.from_bytes(rest[:4], "little") * P1 & MASK, 23) * P2 + P3) & MASK
        rest = rest[4:]
    for byte in rest:
        accumulator = _rotl(accumulator ^ byte * P5 & MASK, 11) * P1 & MASK
    accumulator = (accumulator ^ accumulator >> 33) * P2 & MASK
    accumulator = (accumulator ^ accumulator >> 29) * P3 & MASK
    return accumulator ^ accumulator >> 32


def bits_of(hashed: int, num_blocks: int) -> set[int]:
    """The bits of a bitset of so many blocks that stand for a hash."""
    block = (hashed >> 32) * num_blocks >> 32
    key = hashed & 0xFFFFFFFF
    return {256 * block + 32 * word + ((key * salt & 0xFFFFFFFF) >> 27) for word, salt in enumerate(SALTS)}


def bitset_of(values: Iterable[bytes], num_bytes: int) -> bytes:
    """The filter of PLAIN values, without the lengths of byte arrays."""
    bitset = bytearray(num_bytes)
    for value in values:
        for bit in bits_of(xxh64(value), num_bytes // 32):
            bitset[bit // 8] |= 1 << bit % 8
    return bytes(bitset)


def plain_bytes(value: Any, physical_type: int) -> bytes:
    """A value in PLAIN, a byte array without its length."""
    return struct.pack(f"<{FORMATS[physical_type]}", value) if physical_type in FORMATS else bytes(value)
