"""A split block Bloom filter as a file holds it: a header, and the bitset (BloomFilter.md, "File Format")."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np

from colwriter import kernels
from colwriter.errors import CorruptFileError, InvalidOptionError
from colwriter.metadata import (
    BloomFilterAlgorithm,
    BloomFilterCompression,
    BloomFilterHash,
    BloomFilterHeader,
    Empty,
    Type,
)
from colwriter.thrift import decode, encode

__all__ = ["BLOCK_BYTES", "MAX_BYTES", "MAX_HEADER_BYTES", "BloomFilter", "decode_header"]

BLOCK_BYTES = 32
# What parquet-cpp and arrow-rs make and read at most.
MAX_BYTES = 128 << 20
# A header is sixteen bytes or so; room for fields to come.
MAX_HEADER_BYTES = 256

_ALGORITHM = BloomFilterAlgorithm(BLOCK=Empty())
_HASH = BloomFilterHash(XXHASH=Empty())
_COMPRESSION = BloomFilterCompression(UNCOMPRESSED=Empty())
_INTEGERS = {Type.INT32: 32, Type.INT64: 64}
_FLOATS = {Type.FLOAT: "<f", Type.DOUBLE: "<d"}


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """The values of a column chunk, or rather: which values are not among them.

    ``bitset`` is blocks of 32 bytes; ``fpp``, the false positive probability, is computed from it.
    """

    physical_type: Type
    bitset: bytes = field(repr=False)

    def might_contain(self, value: Any) -> bool:
        """False if no value of the column chunk is ``value``; True if one is, or, with probability ``fpp``, if none is.

        ``value`` is what the file stores: an int, a float, bytes or str; of a date, say, its number of days. Raises
        ``InvalidOptionError`` where it is not of the column's type.
        """
        data = self._plain(value)
        if data is None:
            return False
        # With a byte more, since NumPy makes no array of none.
        hashed = int(kernels.bloom.xxh64(np.frombuffer(data + b"\0", np.uint8), 0, len(data)))
        block = (hashed >> 32) * (len(self.bitset) // BLOCK_BYTES) >> 32
        words = struct.unpack_from("<8I", self.bitset, BLOCK_BYTES * block)
        bits = [(hashed * salt & 0xFFFFFFFF) >> 27 for salt in kernels.bloom.SALT.tolist()]
        return all(word >> bit & 1 for word, bit in zip(words, bits, strict=True))

    @property
    def fpp(self) -> float:
        """The probability that ``might_contain`` is True for a value that is not there."""
        shares = np.bitwise_count(np.frombuffer(self.bitset, "<u4").reshape(-1, 8)) / 32
        return float(shares.prod(axis=1).mean())

    def header(self) -> bytes:
        """The encoded ``BloomFilterHeader``, which goes before the bitset."""
        return encode(BloomFilterHeader(len(self.bitset), _ALGORITHM, _HASH, _COMPRESSION))

    def _plain(self, value: Any) -> bytes | None:
        """The bytes of the value in PLAIN, without a length; None if the type has no such value."""
        try:
            if self.physical_type in _INTEGERS:
                bits = _INTEGERS[self.physical_type]
                number = index(value)  # signed, or unsigned: the type says no more than how many bits there are
                fits = -1 << (bits - 1) <= number < 1 << bits
                return (number % (1 << bits)).to_bytes(bits // 8, "little") if fits else None
            if self.physical_type in _FLOATS:
                return struct.pack(_FLOATS[self.physical_type], value)
            return value.encode() if isinstance(value, str) else bytes(memoryview(value))
        except (TypeError, struct.error, OverflowError):
            raise InvalidOptionError(
                f"value: expected one that a column of {self.physical_type.name} holds, found {value!r}"
            ) from None


def decode_header(data: bytes) -> tuple[int, int]:
    """Bytes of the bitset, and bytes of the header before it; ``CorruptFileError`` for another kind of filter."""
    header, end = decode(BloomFilterHeader, data)
    if (header.algorithm, header.hash, header.compression) != (_ALGORITHM, _HASH, _COMPRESSION):
        raise CorruptFileError(
            f"expected a Bloom filter of {_ALGORITHM}, {_HASH} and {_COMPRESSION}, "
            f"found {header.algorithm}, {header.hash} and {header.compression}"
        )
    if header.numBytes <= 0 or header.numBytes % BLOCK_BYTES:
        raise CorruptFileError(f"expected a Bloom filter of blocks of {BLOCK_BYTES} bytes, found {header.numBytes}")
    return header.numBytes, end
