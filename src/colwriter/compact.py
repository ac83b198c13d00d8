"""What a chunk says once for every page, in the Thrift compact protocol: headers, column index, offset index.

``thrift.encode`` would do, but for the time: a chunk has tens of pages, and each of them several numbers.
``tests/test_page_index.py`` and ``tests/test_framing.py`` check that it says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels

__all__ = ["BINARY", "BOOL", "STRUCT", "Records", "binary_list", "list_header", "number_lists", "varint"]

Bytes = NDArray[np.uint8]
# Types of list elements in the compact protocol.
BOOL, BINARY, STRUCT = 1, 8, 12


def varint(value: int) -> bytes:
    """An unsigned number in groups of seven bits, lowest first."""
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def list_header(field_header: int, element_type: int, count: int) -> bytes:
    """Header of a field that is a list, and of the list: short up to 14 elements."""
    if count < 15:
        return bytes((field_header, count << 4 | element_type))
    return bytes((field_header, 0xF0 | element_type)) + varint(count)


@dataclass(frozen=True, slots=True)
class Records:
    """A struct of integers: the bytes in front of each, and the most bytes that the whole takes."""

    prefixes: Bytes
    prefix_sizes: NDArray[np.int64]
    room: int

    @classmethod
    def of(cls, prefixes: Sequence[bytes], suffix_size: int) -> Records:
        """Records whose integers have these prefixes, and a suffix of ``suffix_size`` bytes."""
        sizes = np.array([len(prefix) for prefix in prefixes], np.int64)
        table = np.zeros((len(prefixes), max(1, int(sizes.max()))), np.uint8)
        for row, prefix in enumerate(prefixes):
            table[row, : len(prefix)] = list(prefix)
        return cls(table, sizes, kernels.compact.records_bound(1, len(prefixes), int(sizes.sum()) + suffix_size))

    def encode(self, columns: Sequence[Any], suffixes: Bytes) -> bytes:
        """Records one after another; ``columns`` are their integers, int64[records] each."""
        values = np.column_stack(columns)
        out = np.empty(self.room * len(values), np.uint8)
        size = kernels.compact.encode_records(values, self.prefixes, self.prefix_sizes, suffixes, out)
        return out[:size].tobytes()

    def write_headers(
        self, columns: Sequence[Any], suffixes: Bytes, out: Bytes, ends: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Put each record into ``out`` so that it ends at its end, ``room`` bytes before being free; gives starts."""
        values = np.empty((len(ends), len(columns)), np.int64)
        for k, column in enumerate(columns):
            values[:, k] = column
        starts = np.empty(len(ends), np.int64)
        kernels.compact.write_headers(values, self.prefixes, self.prefix_sizes, suffixes, self.room, out, ends, starts)
        return starts


NO_NUMBERS: NDArray[np.int64] = np.empty((0, 0), np.int64)


def number_lists(
    first: tuple[int, NDArray[np.int64]],
    second: tuple[int, NDArray[np.int64]] = (0, NO_NUMBERS),
    third: tuple[int, NDArray[np.int64]] = (0, NO_NUMBERS),
) -> bytes:
    """Fields that are a list<i64>, each given as its field header and int64[any, any]; an empty one is left out."""
    numbers = first[1].size + second[1].size + third[1].size
    out = np.empty(numbers * kernels.compact.MAX_VARINT + 3 * kernels.compact.LIST_HEADER, np.uint8)
    size = kernels.compact.encode_number_lists(*first, *second, *third, out)
    return out[:size].tobytes()


def binary_list(field_header: int, values: Sequence[bytes]) -> bytes:
    """A field that is a list<binary>."""
    parts = [list_header(field_header, BINARY, len(values))]
    for value in values:
        parts += _VARINTS[len(value)] if len(value) < 128 else varint(len(value)), value
    return b"".join(parts)


_VARINTS = [varint(n) for n in range(128)]
