"""The footer, from column metadata that were encoded when their chunks were written.

What is left for the end of the file is where the page indexes lie: four numbers a chunk, which one kernel call encodes
for all columns of a row group. Nothing is encoded twice, and a wide table's file is closed in little time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from colwriter import kernels
from colwriter.thrift import EncodedStructs

__all__ = ["IndexPlaces", "encode_column_chunks"]


class IndexPlaces(NamedTuple):
    """Where the indexes of the columns of a row group lie, a number for each column; length 0: there is none."""

    offset_index_offsets: list[int]
    offset_index_lengths: list[int]
    column_index_offsets: list[int]
    column_index_lengths: list[int]


# ``ColumnChunk`` (parquet.thrift): file_offset is field 2 and always 0, meta_data field 3, a struct.
_BEFORE = b"\x26\x00\x1c"
# Fields 4 to 7: offsets are of 64 bits, lengths of 32. Which rows of ``IndexPlaces`` a chunk has, and field headers:
# without indexes, with an offset index, with a column index, with both.
_FIELDS: list[tuple[list[int], list[int]]] = [
    ([], []),
    ([0, 1], [0x16, 0x15]),
    ([2, 3], [0x36, 0x15]),
    ([0, 1, 2, 3], [0x16, 0x15, 0x16, 0x15]),
]
# Four varints of 10 bytes at most, with their field headers, and the end of the struct.
_ROOM = 4 * 11 + 1
_GAP = bytes(_ROOM)


def encode_column_chunks(metadata: list[bytes], places: IndexPlaces) -> EncodedStructs:
    """The ``ColumnChunk``s of a row group: ``metadata`` are their encoded ``ColumnMetaData``, in schema order."""
    count = len(metadata)
    # Each of them, then room in which what follows it will end; then all are moved together.
    spread = np.frombuffer(bytearray(_BEFORE + (_GAP + _BEFORE).join(metadata) + _GAP), np.uint8)
    starts, ends = pieces = np.empty((2, 2 * count), np.int64)
    sizes = np.fromiter(map(len, metadata), np.int64, count) + len(_BEFORE)
    np.cumsum(sizes + _ROOM, out=ends[1::2])
    np.subtract(ends[1::2], _ROOM, out=ends[::2])
    np.subtract(ends[::2], sizes, out=starts[::2])
    numbers = np.array(places, np.int64)
    kinds = 1 * (numbers[1] > 0) + 2 * (numbers[3] > 0)
    for kind in np.unique(kinds).tolist():
        of_kind = np.flatnonzero(kinds == kind)
        rows, headers = _FIELDS[kind]
        first = np.empty(len(of_kind), np.int64)
        kernels.compact.write_headers(
            np.ascontiguousarray(numbers[rows][:, of_kind]),
            np.array(headers, np.uint8),
            _ROOM,
            ends[2 * of_kind + 1],
            spread,
            first,
        )
        starts[2 * of_kind + 1] = first
    out = np.empty(int((pieces[1] - pieces[0]).sum()), np.uint8)
    kernels.framing.gather(spread, starts, ends, out)
    return EncodedStructs(count, out.data)
