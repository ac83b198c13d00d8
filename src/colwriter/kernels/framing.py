"""Page framing: levels in front of values, and page headers in front of levels (parquet.thrift, ``PageHeader``)."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, kernel

# Bytes that the header of a data page can take at most: nine varints of five bytes, and the field headers.
MAX_HEADER = 64
RLE = 3
# Data page V1 puts the length of its levels in front of them, in four bytes; V2 has it in the header.
LENGTH_PREFIX = 4


@kernel
def _place(levels: Bytes, start: Int, end: Int, prefixed: bool, out: Bytes, to: Int) -> Int:
    """Copy encoded levels so that they end at ``to``; returns where they begin."""
    size = end - start
    to -= size
    source = levels[start:end]
    target = out[to : to + size]
    for i in range(len(source)):
        target[i] = source[i]
    if prefixed:
        to -= LENGTH_PREFIX
        for k in range(LENGTH_PREFIX):
            out[to + k] = np.uint8((size >> (8 * k)) & 255)
    return to


@kernel
def place_levels(
    repetition: Bytes,
    repetition_starts: Int64s,
    definition: Bytes,
    definition_starts: Int64s,
    value_starts: Int64s,
    prefixed: bool,
    out: Bytes,
    body_starts: Int64s,
) -> None:
    """Put each page's levels right before its values. An empty ``*_starts`` means that there are no such levels.

    ``value_starts`` int64[pages], byte positions in ``out``; ``body_starts`` takes where each page's body begins.
    """
    for page in range(len(value_starts)):
        start = value_starts[page]
        if len(definition_starts) > 0:
            start = _place(definition, definition_starts[page], definition_starts[page + 1], prefixed, out, start)
        if len(repetition_starts) > 0:
            start = _place(repetition, repetition_starts[page], repetition_starts[page + 1], prefixed, out, start)
        body_starts[page] = start


@kernel
def _put(out: Bytes, position: Int, value: Int) -> Int:
    """An i32 field that follows the one before: its header in the compact protocol, then the zigzag varint."""
    out[position] = 0x15
    position += 1
    value = np.uint64((value << 1) ^ (value >> 63))
    while value >= np.uint64(128):
        out[position] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        position += 1
    out[position] = np.uint8(value)
    return position + 1


@kernel
def _put_start(
    page_type: Int, uncompressed: Int, compressed: Int, checksums: Int64s, page: Int, field: Int, out: Bytes, to: Int
) -> Int:
    """The fields of ``PageHeader`` up to the header of struct ``field``; returns the position after it."""
    to = _put(out, to, page_type)
    to = _put(out, to, uncompressed)
    to = _put(out, to, compressed)
    last_field = 3
    if len(checksums) > 0:
        to = _put(out, to, checksums[page])
        last_field = 4
    out[to] = np.uint8(((field - last_field) << 4) | 12)
    return to + 1


@kernel
def _close(out: Bytes, start: Int, to: Int, end: Int) -> Int:
    """End both structs, and move the header from ``[start, to)`` up to where it ends at ``end``; returns its start."""
    out[to] = 0
    out[to + 1] = 0
    size = to + 2 - start
    for k in range(size - 1, -1, -1):  # last byte first: the two places overlap
        out[end - size + k] = out[start + k]
    return end - size


@kernel
def write_data_page_headers(
    num_levels: Int64s,
    encoding: Int,
    uncompressed: Int64s,
    compressed: Int64s,
    checksums: Int64s,
    out: Bytes,
    ends: Int64s,
    starts: Int64s,
) -> None:
    """Write the header of each data page V1 so that it ends at ``ends[page]``; ``starts`` takes where it begins.

    ``num_levels``, ``uncompressed``, ``compressed`` int64[pages]; ``checksums`` int64[pages] or empty.
    """
    for page in range(len(num_levels)):
        start = ends[page] - MAX_HEADER
        to = _put_start(0, uncompressed[page], compressed[page], checksums, page, 5, out, start)
        to = _put(out, to, num_levels[page])
        to = _put(out, to, encoding)
        to = _put(out, to, RLE)
        to = _put(out, to, RLE)
        starts[page] = _close(out, start, to, ends[page])


@kernel
def write_data_page_v2_headers(
    num_levels: Int64s,
    num_nulls: Int64s,
    num_rows: Int64s,
    encoding: Int,
    definition_starts: Int64s,
    repetition_starts: Int64s,
    is_compressed: Int64s,
    uncompressed: Int64s,
    compressed: Int64s,
    checksums: Int64s,
    out: Bytes,
    ends: Int64s,
    starts: Int64s,
) -> None:
    """As ``write_data_page_headers``, of data pages V2; ``is_compressed`` int64[pages], 0 or 1."""
    for page in range(len(num_levels)):
        start = ends[page] - MAX_HEADER
        to = _put_start(3, uncompressed[page], compressed[page], checksums, page, 8, out, start)
        to = _put(out, to, num_levels[page])
        to = _put(out, to, num_nulls[page])
        to = _put(out, to, num_rows[page])
        to = _put(out, to, encoding)
        has_definition = len(definition_starts) > 0
        to = _put(out, to, definition_starts[page + 1] - definition_starts[page] if has_definition else 0)
        has_repetition = len(repetition_starts) > 0
        to = _put(out, to, repetition_starts[page + 1] - repetition_starts[page] if has_repetition else 0)
        out[to] = np.uint8(0x11 if is_compressed[page] else 0x12)  # a bool is in the type of its field header
        starts[page] = _close(out, start, to + 1, ends[page])
