"""Records of integers in the Thrift compact protocol, one a page: page headers, page locations, lists of numbers.

A record is its integers as zigzag varints, each after the bytes of ``prefixes`` (its field header), and the bytes of
``suffixes`` (stop bytes, mostly) at the end.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel

# A varint of 64 bits.
MAX_VARINT = 10
# A field header, and the header of a list.
LIST_HEADER = 2 + MAX_VARINT
# The type i64 of list elements.
I64 = 6


def records_bound(num_records: int, num_integers: int, extra: int) -> int:
    """Bytes of ``num_records`` of ``num_integers`` at most, ``extra`` being the prefixes and suffixes of one."""
    return num_records * (num_integers * MAX_VARINT + extra)


@inlined
def _zigzag(number: Int, out: Bytes, to: Int) -> Int:
    value = np.uint64((number << 1) ^ (number >> 63))
    while value >= np.uint64(128):
        out[to] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        to += 1
    out[to] = np.uint8(value)
    return to + 1


@inlined
def _number_list(field_header: Int, values: Int64s, out: Bytes, to: Int) -> Int:
    count = np.int64(values.size)
    if count == 0:
        return to
    out[to] = np.uint8(field_header)
    if count < 15:
        out[to + 1] = np.uint8((count << 4) | I64)
        to += 2
    else:
        out[to + 1] = np.uint8(0xF0 | I64)
        to += 2
        while count >= 128:
            out[to] = np.uint8((count & 127) | 128)
            count >>= 7
            to += 1
        out[to] = np.uint8(count)
        to += 1
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            to = _zigzag(values[row, column], out, to)
    return to


@kernel
def encode_number_lists(
    first_header: Int, first: Int64s, second_header: Int, second: Int64s, third_header: Int, third: Int64s, out: Bytes
) -> Int:
    """Fields that are a list<i64>, each with its field header; an empty one is left out. Returns the length.

    The arrays are int64[any, any], taken row after row.
    """
    to = _number_list(first_header, first, out, np.int64(0))
    to = _number_list(second_header, second, out, to)
    return _number_list(third_header, third, out, to)


@inlined
def _record(
    values: Int64s, row: Int, prefixes: Bytes, prefix_sizes: Int64s, suffixes: Bytes, out: Bytes, to: Int
) -> Int:
    for column in range(values.shape[1]):
        for k in range(prefix_sizes[column]):
            out[to] = prefixes[column, k]
            to += 1
        to = _zigzag(values[row, column], out, to)
    for k in range(suffixes.shape[1]):
        out[to] = suffixes[row, k]
        to += 1
    return to


@kernel
def encode_records(values: Int64s, prefixes: Bytes, prefix_sizes: Int64s, suffixes: Bytes, out: Bytes) -> Int:
    """Encode records one after another; returns their length.

    ``values`` int64[records, integers]; ``prefixes`` uint8[integers, most], of which ``prefix_sizes`` int64[integers]
    are used; ``suffixes`` uint8[records, bytes].
    """
    to = np.int64(0)
    for row in range(len(values)):
        to = _record(values, row, prefixes, prefix_sizes, suffixes, out, to)
    return to


@kernel
def write_headers(
    values: Int64s,
    prefixes: Bytes,
    prefix_sizes: Int64s,
    suffixes: Bytes,
    room: Int,
    out: Bytes,
    ends: Int64s,
    starts: Int64s,
) -> None:
    """Encode records of at most ``room`` bytes so that each ends at its ``ends``; ``starts`` takes where it begins."""
    for row in range(len(values)):
        start = ends[row] - room
        size = _record(values, row, prefixes, prefix_sizes, suffixes, out, start) - start
        for k in range(size - 1, -1, -1):  # up to its place, last byte first: the two overlap
            out[ends[row] - size + k] = out[start + k]
        starts[row] = ends[row] - size
