"""What is said of each page, in the Thrift compact protocol: page header, column index, offset index (parquet.thrift).

Integers are zigzag varints. The header of a field is its distance to the field before and its type, in one byte.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel
from colwriter.kernels.pagination import LEVELS, ROWS, VALUES

# A varint of 64 bits.
MAX_VARINT = 10
# A field header, and the header of a list.
LIST_HEADER = 2 + MAX_VARINT
# The header of the next field, a list, and types of list elements. Typed: a literal of Python compiles a helper once
# more for each value.
LIST_FIELD = np.int64(0x19)
BOOL, I64, BINARY, STRUCT = np.int64(1), np.int64(6), np.int64(8), np.int64(12)
# The header of a field that is a bool, one further than the field before: the type is the value.
TRUE, FALSE = 0x11, 0x12
# Bytes to keep free for a page header: at most ten varints of ten bytes, with their field headers and stop bytes.
MAX_HEADER = 128
# The numbers of a page header.
NUMBERS = range(8)
(
    UNCOMPRESSED_SIZE,
    COMPRESSED_SIZE,
    CRC,
    NUM_VALUES,
    NUM_NULLS,
    NUM_ROWS,
    DEFINITION_SIZE,
    REPETITION_SIZE,
) = NUMBERS


def index_bound(num_pages: int, bound_bytes: int, num_counts: int) -> int:
    """Bytes of a column index at most: ``num_counts`` numbers in its histograms, ``bound_bytes`` in its bounds."""
    return 8 * LIST_HEADER + num_pages * (1 + 3 * MAX_VARINT) + bound_bytes + num_counts * MAX_VARINT


def offset_index_bound(num_pages: int) -> int:
    """Bytes of an offset index at most."""
    return 3 * LIST_HEADER + num_pages * (4 * MAX_VARINT + 4)


@inlined
def varint(value: Int, out: Bytes, to: Int) -> Int:
    while value >= np.uint64(128):
        out[to] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        to += 1
    out[to] = np.uint8(value)
    return to + 1


@inlined
def zigzag(number: Int, out: Bytes, to: Int) -> Int:
    return varint(np.uint64((number << 1) ^ (number >> 63)), out, to)


@inlined
def _list(field: Int, element: Int, count: Int, out: Bytes, to: Int) -> Int:
    """The header of a field that is a list, and of the list: short up to 14 elements."""
    out[to] = np.uint8(field)
    out[to + 1] = np.uint8((min(count, 15) << 4) | element)
    return to + 2 if count < 15 else varint(np.uint64(count), out, to + 2)


@inlined
def _move_up(start: Int, to: Int, end: Int, out: Bytes) -> Int:
    """Move ``out[start:to]`` so that it ends at ``end``; returns where it begins then."""
    for k in range(to - start):  # the last byte first: the two overlap
        out[end - 1 - k] = out[to - 1 - k]
    return end - (to - start)


@inlined
def _between(starts: Int64s, page: Int) -> Int:
    """Bytes of a page, by where those of each page start; 0 where there are none at all."""
    return starts[page + 1] - starts[page] if len(starts) > 0 else np.int64(0)


@kernel
def write_headers(numbers: Int64s, fields: Bytes, room: Int, ends: Int64s, out: Bytes, starts: Int64s) -> None:
    """Encode structs of integers, so that each ends at its ``ends``; ``starts`` takes where it begins.

    A struct is its ``numbers`` int64[numbers, structs], each after its field header, ``fields`` uint8[numbers], then a
    zero. ``room`` bytes before each end are free.
    """
    for i in range(len(ends)):
        start = ends[i] - room
        to = start
        for row in range(len(numbers)):
            out[to] = fields[row]
            to = zigzag(numbers[row, i], out, to + 1)
        out[to] = 0
        starts[i] = _move_up(start, to + 1, ends[i], out)


@kernel
def write_page_headers(
    fences: Int64s,
    repetition_starts: Int64s,
    definition_starts: Int64s,
    bodies: Int64s,
    whole_ends: Int64s,
    ends: Int64s,
    is_compressed: Int64s,
    crcs: Int64s,
    numbers: Int64s,
    pieces: Bytes,
    piece_starts: Int64s,
    out: Bytes,
    starts: Int64s,
    sizes: Int64s,
) -> tuple[Int, Int]:
    """Encode the ``PageHeader`` of each page so that it ends where its body begins, at ``bodies``.

    Returns the bytes of all pages with their headers, before compression and after it. A body ends at ``ends`` as it is
    stored, and would end at ``whole_ends`` if it were not compressed. The header is the ``numbers``, each one of
    ``NUMBERS``, after its piece of ``pieces``, which begin at ``piece_starts`` int64[numbers + 2]; and the last piece,
    whose first byte says in V2 that the page ``is_compressed``, where there are such (else the array is empty).
    ``starts`` takes where the header begins, ``sizes`` the bytes from there to the end of the page.
    """
    uncompressed = np.int64(0)
    compressed = np.int64(0)
    for page in range(len(ends)):
        levels = fences[LEVELS, page + 1] - fences[LEVELS, page]
        body = bodies[page]
        start = body - MAX_HEADER
        to = start
        for row in range(len(numbers) + 1):
            piece = to
            for k in range(piece_starts[row], piece_starts[row + 1]):
                out[to] = pieces[k]
                to += 1
            if row == len(numbers):
                if len(is_compressed) > 0:
                    out[piece] = FALSE - is_compressed[page]
                break
            kind = numbers[row]
            number = levels
            if kind == UNCOMPRESSED_SIZE:
                number = whole_ends[page] - body
            elif kind == COMPRESSED_SIZE:
                number = ends[page] - body
            elif kind == CRC:
                number = crcs[page]
            elif kind == NUM_NULLS:
                number = levels - (fences[VALUES, page + 1] - fences[VALUES, page])
            elif kind == NUM_ROWS:
                number = fences[ROWS, page + 1] - fences[ROWS, page]
            elif kind == DEFINITION_SIZE:
                number = _between(definition_starts, page)
            elif kind == REPETITION_SIZE:
                number = _between(repetition_starts, page)
            to = zigzag(number, out, to)
        start = _move_up(start, to, body, out)
        starts[page] = start
        sizes[page] = ends[page] - start
        uncompressed += whole_ends[page] - start
        compressed += ends[page] - start
    return uncompressed, compressed


@kernel
def encode_column_index(
    fences: Int64s,
    data: Bytes,
    bound_starts: Int64s,
    bound_lengths: Int64s,
    order: Int,
    repetition: Int64s,
    definition: Int64s,
    nan_counts: Int64s,
    out: Bytes,
) -> Int:
    """Encode a ``ColumnIndex``; returns its length.

    ``fences`` as in ``paginate``. ``bound_starts`` and ``bound_lengths`` int64[2, pages]: where in ``data`` the least
    and the greatest value of each page lie; a page without values is a null page, with empty bounds. ``repetition``
    and ``definition`` int64[any, max level + 1], of which a row a page is written; without columns they are left out.
    ``nan_counts`` int64[pages, 1], likewise.
    """
    pages = np.int64(fences.shape[1] - 1)
    to = _list(LIST_FIELD, BOOL, pages, out, np.int64(0))
    for page in range(pages):  # a bool in a list: 1 true, 2 false
        out[to] = 1 if fences[VALUES, page] == fences[VALUES, page + 1] else 2
        to += 1
    for side in range(2):
        to = _list(LIST_FIELD, BINARY, pages, out, to)
        for page in range(pages):
            start = bound_starts[side, page]
            length = bound_lengths[side, page]
            if fences[VALUES, page] == fences[VALUES, page + 1]:
                length = np.int64(0)
            to = varint(np.uint64(length), out, to)
            for k in range(length):
                out[to + k] = data[start + k]
            to += length
    out[to] = 0x15
    out[to + 1] = order << 1
    to = _list(LIST_FIELD, I64, pages, out, to + 2)
    for page in range(pages):
        nulls = fences[LEVELS, page + 1] - fences[LEVELS, page] - (fences[VALUES, page + 1] - fences[VALUES, page])
        to = zigzag(nulls, out, to)
    skipped = np.int64(0)
    for which in range(3):
        counts = repetition
        if which == 1:
            counts = definition
        elif which == 2:
            counts = nan_counts
        columns = np.int64(counts.shape[1])
        if columns == 0:
            skipped += 1
            continue
        to = _list(LIST_FIELD + (skipped << 4), I64, pages * columns, out, to)
        skipped = np.int64(0)
        for page in range(pages):
            for column in range(columns):
                to = zigzag(counts[page, column], out, to)
    out[to] = 0
    return to + 1


@kernel
def encode_offset_index(offset: Int, sizes: Int64s, fences: Int64s, value_bytes: Int64s, out: Bytes) -> Int:
    """Encode the ``OffsetIndex`` of pages of ``sizes`` bytes, one after another from ``offset``; returns its length.

    ``value_bytes`` int64[pages], or empty where there are none to tell.
    """
    pages = np.int64(len(sizes))
    to = _list(LIST_FIELD, STRUCT, pages, out, np.int64(0))
    for page in range(pages):
        out[to] = 0x16
        to = zigzag(offset, out, to + 1)
        out[to] = 0x15
        to = zigzag(sizes[page], out, to + 1)
        out[to] = 0x16
        to = zigzag(fences[ROWS, page], out, to + 1)
        out[to] = 0
        to += 1
        offset += sizes[page]
    if len(value_bytes) > 0:
        to = _list(LIST_FIELD, I64, pages, out, to)
        for page in range(pages):
            to = zigzag(value_bytes[page], out, to)
    out[to] = 0
    return to + 1
