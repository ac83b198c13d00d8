"""What is said of each page, in the Thrift compact protocol: page header, column index, offset index (parquet.thrift).

Integers are zigzag varints. The header of a field is its distance to the field before and its type, in one byte.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel, optimize_for_size
from colwriter.kernels.page_table import (
    BODY,
    END,
    HEADER,
    IS_COMPRESSED,
    LEVEL,
    MAX_HEADER,
    NAN_COUNT,
    ROW,
    STORED_END,
    VALUE,
    VALUE_BYTES,
)

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
# The numbers of a page header: columns of the page table, or these, which follow from several.
UNCOMPRESSED_SIZE, COMPRESSED_SIZE, NUM_VALUES, NUM_NULLS, NUM_ROWS = range(-5, 0)


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


@kernel
def write_headers(numbers: Int64s, fields: Bytes, room: Int, ends: Int64s, out: Bytes, starts: Int64s) -> None:
    """Encode structs of integers, so that each ends at its ``ends``; ``starts`` takes where it begins.

    A struct is its ``numbers`` int64[numbers, structs], each after its field header, ``fields`` uint8[numbers], then a
    zero. ``room`` bytes before each end are free.
    """
    optimize_for_size()
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
    numbers: Int64s, pieces: Bytes, piece_starts: Int64s, flagged: bool, pages: Int64s, out: Bytes
) -> tuple[Int, Int, Int]:
    """Encode the ``PageHeader`` of each page so that it ends where its body begins.

    Returns the bytes of all pages with their headers, before compression and after it, and those of their byte arrays.
    The header is the ``numbers``,
    each a column of the page table or one of those above, after its piece of ``pieces``, which begin at
    ``piece_starts`` int64[numbers + 2]; and the last piece, whose first byte says whether the page is compressed if it
    is ``flagged``, as in V2.
    """
    optimize_for_size()
    uncompressed = np.int64(0)
    compressed = np.int64(0)
    value_bytes = np.int64(0)
    for page in range(len(pages) - 1):
        levels = pages[page + 1, LEVEL] - pages[page, LEVEL]
        body = pages[page, BODY]
        start = body - MAX_HEADER
        to = start
        for row in range(len(numbers) + 1):
            piece = to
            for k in range(piece_starts[row], piece_starts[row + 1]):
                out[to] = pieces[k]
                to += 1
            if row == len(numbers):
                if flagged:
                    out[piece] = FALSE - pages[page, IS_COMPRESSED]
                break
            number = levels
            kind = numbers[row]
            if kind >= 0:
                number = pages[page, kind]
            elif kind == UNCOMPRESSED_SIZE:
                number = pages[page, END] - body
            elif kind == COMPRESSED_SIZE:
                number = pages[page, STORED_END] - body
            elif kind == NUM_NULLS:
                number = levels - (pages[page + 1, VALUE] - pages[page, VALUE])
            elif kind == NUM_ROWS:
                number = pages[page + 1, ROW] - pages[page, ROW]
            to = zigzag(number, out, to)
        start = _move_up(start, to, body, out)
        pages[page, HEADER] = start
        uncompressed += pages[page, END] - start
        compressed += pages[page, STORED_END] - start
        value_bytes += pages[page, VALUE_BYTES]
    return uncompressed, compressed, value_bytes


@kernel
def encode_column_index(
    pages: Int64s,
    data: Bytes,
    bounds: Int64s,
    order: Int,
    repetition: Int64s,
    definition: Int64s,
    has_nan: bool,
    out: Bytes,
) -> Int:
    """Encode a ``ColumnIndex``; returns its length.

    ``bounds`` int64[pages, 4]: where in ``data`` the least value of each page starts, its length, and the same of the
    greatest; a page without values is a null page, with empty bounds. ``repetition`` and ``definition`` int64[any, max
    level + 1], of which a row a page is written; without columns they are left out, and two columns without rows are
    the levels without and with a value, which the page table has. Counts of NaN are written if the type ``has_nan``.
    """
    optimize_for_size()
    count = np.int64(len(pages)) - 1
    to = _list(LIST_FIELD, BOOL, count, out, np.int64(0))
    for page in range(count):  # a bool in a list: 1 true, 2 false
        out[to] = 1 if pages[page, VALUE] == pages[page + 1, VALUE] else 2
        to += 1
    for side in range(0, 4, 2):
        to = _list(LIST_FIELD, BINARY, count, out, to)
        for page in range(count):
            start = bounds[page, side]
            length = bounds[page, side + 1]
            if pages[page, VALUE] == pages[page + 1, VALUE]:
                length = np.int64(0)
            to = varint(np.uint64(length), out, to)
            for k in range(length):
                out[to + k] = data[start + k]
            to += length
    out[to] = 0x15
    out[to + 1] = order << 1
    to = _list(LIST_FIELD, I64, count, out, to + 2)
    for page in range(count):
        nulls = pages[page + 1, LEVEL] - pages[page, LEVEL] - (pages[page + 1, VALUE] - pages[page, VALUE])
        to = zigzag(nulls, out, to)
    skipped = np.int64(0)
    for which in range(3):
        counts = repetition
        first = np.int64(0)
        if which == 1:
            counts = definition
        columns = np.int64(counts.shape[1])
        is_known = len(counts) == 0
        if which == 2:
            counts = pages
            first = np.int64(NAN_COUNT)
            columns = np.int64(has_nan)
            is_known = False
        if columns == 0:
            skipped += 1
            continue
        to = _list(LIST_FIELD + (skipped << 4), I64, count * columns, out, to)
        skipped = np.int64(0)
        for page in range(count):
            for column in range(first, first + columns):
                number = pages[page + 1, VALUE] - pages[page, VALUE]
                if not is_known:
                    number = counts[page, column]
                elif column == 0:
                    number = pages[page + 1, LEVEL] - pages[page, LEVEL] - number
                to = zigzag(number, out, to)
    out[to] = 0
    return to + 1


@kernel
def encode_offset_index(pages: Int64s, offset: Int, with_value_bytes: bool, out: Bytes) -> Int:
    """Encode the ``OffsetIndex`` of pages that follow one another from ``offset``; returns its length."""
    optimize_for_size()
    count = np.int64(len(pages)) - 1
    to = _list(LIST_FIELD, STRUCT, count, out, np.int64(0))
    for page in range(count):
        size = pages[page, STORED_END] - pages[page, HEADER]
        out[to] = 0x16
        to = zigzag(offset, out, to + 1)
        out[to] = 0x15
        to = zigzag(size, out, to + 1)
        out[to] = 0x16
        to = zigzag(pages[page, ROW], out, to + 1)
        out[to] = 0
        to += 1
        offset += size
    if with_value_bytes:
        to = _list(LIST_FIELD, I64, count, out, to)
        for page in range(count):
            to = zigzag(pages[page, VALUE_BYTES], out, to)
    out[to] = 0
    return to + 1
