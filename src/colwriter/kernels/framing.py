"""Page framing: levels in front of values, and page headers in front of levels (parquet.thrift, ``PageHeader``)."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, kernel

# Bytes that the header of a data page can take at most (five varints of five bytes, and the field headers).
MAX_HEADER = 64
RLE = 3


@kernel
def _copy_levels(levels: Bytes, start: Int, end: Int, out: Bytes, to: Int) -> None:
    """Data page V1 puts the length of the levels in front of them, in four bytes."""
    size = end - start
    for k in range(4):
        out[to + k] = np.uint8((size >> (8 * k)) & 255)
    source = levels[start:end]
    target = out[to + 4 : to + 4 + size]
    for i in range(len(source)):
        target[i] = source[i]


@kernel
def place_levels(
    repetition: Bytes,
    repetition_starts: Int64s,
    definition: Bytes,
    definition_starts: Int64s,
    value_starts: Int64s,
    out: Bytes,
    body_starts: Int64s,
) -> None:
    """Put each page's levels right before its values. An empty ``*_starts`` means that there are no such levels.

    ``value_starts`` int64[pages], byte positions in ``out``; ``body_starts`` takes where each page's body begins.
    """
    for page in range(len(value_starts)):
        start = value_starts[page]
        if len(definition_starts) > 0:
            start -= 4 + definition_starts[page + 1] - definition_starts[page]
            _copy_levels(definition, definition_starts[page], definition_starts[page + 1], out, start)
        if len(repetition_starts) > 0:
            start -= 4 + repetition_starts[page + 1] - repetition_starts[page]
            _copy_levels(repetition, repetition_starts[page], repetition_starts[page + 1], out, start)
        body_starts[page] = start


@kernel
def _put(out: Bytes, position: Int, field: Int, value: Int) -> Int:
    """An i32 field of the compact protocol: its header (delta and type), then the zigzag varint."""
    out[position] = field
    position += 1
    value = np.uint64((value << 1) ^ (value >> 63))
    while value >= np.uint64(128):
        out[position] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        position += 1
    out[position] = np.uint8(value)
    return position + 1


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
    i32 = np.uint8(0x15)  # the field after the last one, type i32
    for page in range(len(num_levels)):
        base = ends[page] - MAX_HEADER
        position = _put(out, base, i32, np.int64(0))  # DATA_PAGE
        position = _put(out, position, i32, uncompressed[page])
        position = _put(out, position, i32, compressed[page])
        if len(checksums) > 0:
            position = _put(out, position, i32, checksums[page])
            out[position] = 0x1C  # data_page_header, one after crc
        else:
            out[position] = 0x2C  # data_page_header, two after compressed_page_size
        position = _put(out, position + 1, i32, num_levels[page])
        position = _put(out, position, i32, encoding)
        position = _put(out, position, i32, np.int64(RLE))
        position = _put(out, position, i32, np.int64(RLE))
        out[position] = 0
        out[position + 1] = 0
        size = position + 2 - base
        start = ends[page] - size
        for k in range(size - 1, -1, -1):  # up to its place, last byte first: the two overlap
            out[start + k] = out[base + k]
        starts[page] = start
