"""Column index and offset index in the Thrift compact protocol, from arrays with one item a page.

A file has one of each for every column chunk, with several numbers a page; the structures of
``colwriter.metadata`` say the same, and are what a reader makes of these bytes.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, kernel

# A 64-bit varint takes ten bytes; a list header eleven at most.
VARINT = 10
I64 = 6
BINARY = 8
BOOL = 1
STRUCT = 12


def offset_index_bound(pages: int) -> int:
    """Bytes that ``encode_offset_index`` writes at most."""
    return 64 + pages * (4 * VARINT + 4)


def column_index_bound(pages: int, bound_bytes: int, levels: int) -> int:
    """Bytes that ``encode_column_index`` writes at most, with ``levels`` numbers in histograms and counts."""
    return 128 + bound_bytes + (3 * pages + levels) * VARINT


@kernel
def _varint(out: Bytes, to: Int, value: Int) -> Int:
    value = np.uint64(value)
    while value >= np.uint64(128):
        out[to] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        to += 1
    out[to] = np.uint8(value)
    return to + 1


@kernel
def _zigzag(out: Bytes, to: Int, value: Int) -> Int:
    return _varint(out, to, (value << 1) ^ (value >> 63))


@kernel
def _list(out: Bytes, to: Int, field_header: Int, element_type: Int, count: Int) -> Int:
    """Header of a field that is a list, and of the list: short up to 14 elements."""
    out[to] = np.uint8(field_header)
    if count < 15:
        out[to + 1] = np.uint8((count << 4) | element_type)
        return to + 2
    out[to + 1] = np.uint8(0xF0 | element_type)
    return _varint(out, to + 2, count)


@kernel
def _numbers(out: Bytes, to: Int, field_header: Int, values: Int64s) -> Int:
    to = _list(out, to, field_header, I64, len(values))
    for i in range(len(values)):
        to = _zigzag(out, to, values[i])
    return to


@kernel
def encode_offset_index(offset: Int, sizes: Int64s, first_rows: Int64s, value_bytes: Int64s, out: Bytes) -> Int:
    """``OffsetIndex`` of pages of ``sizes`` bytes that follow one another from ``offset`` on; returns its length.

    ``value_bytes`` may be empty: there are none.
    """
    to = _list(out, 0, 0x19, STRUCT, len(sizes))  # page_locations
    for page in range(len(sizes)):
        out[to] = 0x16  # offset
        to = _zigzag(out, to + 1, offset)
        out[to] = 0x15  # compressed_page_size
        to = _zigzag(out, to + 1, sizes[page])
        out[to] = 0x16  # first_row_index
        to = _zigzag(out, to + 1, first_rows[page])
        out[to] = 0
        to += 1
        offset += sizes[page]
    if len(value_bytes) > 0:
        to = _numbers(out, to, 0x19, value_bytes)  # unencoded_byte_array_data_bytes
    out[to] = 0
    return to + 1


@kernel
def _binaries(out: Bytes, to: Int, num_values: Int64s, data: Bytes, starts: Int64s) -> Int:
    """A list of binary: the next of the byte strings for a page with values, an empty one for a null page."""
    to = _list(out, to, 0x19, BINARY, len(num_values))
    at = 0
    for page in range(len(num_values)):
        if num_values[page] == 0:
            out[to] = 0
            to += 1
            continue
        length = starts[at + 1] - starts[at]
        to = _varint(out, to, length)
        for k in range(starts[at], starts[at + 1]):
            out[to] = data[k]
            to += 1
        at += 1
    return to


@kernel
def encode_column_index(
    num_values: Int64s,
    null_counts: Int64s,
    minima: Bytes,
    minimum_starts: Int64s,
    maxima: Bytes,
    maximum_starts: Int64s,
    boundary_order: Int,
    repetition: Int64s,
    definition: Int64s,
    out: Bytes,
) -> Int:
    """``ColumnIndex``; returns its length.

    A page without values is a null page. Bound i of the pages that have values is ``minima[starts[i]:starts[i + 1]]``.
    ``repetition`` and ``definition``: histograms, page after page; empty where there are none.
    """
    to = _list(out, 0, 0x19, BOOL, len(num_values))  # null_pages
    for page in range(len(num_values)):
        out[to] = np.uint8(1 if num_values[page] == 0 else 2)
        to += 1
    to = _binaries(out, to, num_values, minima, minimum_starts)
    to = _binaries(out, to, num_values, maxima, maximum_starts)
    out[to] = 0x15
    to = _zigzag(out, to + 1, boundary_order)
    to = _numbers(out, to, 0x19, null_counts)
    last = 5
    if len(repetition) > 0:
        to = _numbers(out, to, 0x19, repetition)
        last = 6
    if len(definition) > 0:
        to = _numbers(out, to, ((7 - last) << 4) | 9, definition)
    out[to] = 0
    return to + 1
