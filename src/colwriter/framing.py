"""From encoded levels and values to pages as they stand in the file: assembly, compression, checksums, headers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.compression import Compression
from colwriter.errors import InvalidDataError
from colwriter.metadata import Encoding, PageType
from colwriter.pages import NO_NUMBERS, EncodedLevels, EncodedValues, Pages

__all__ = ["FramedPages", "PageFormat", "Pieces", "checksum", "frame"]

Int64s = NDArray[np.int64]
# Page sizes are int32 in the page header.
MAX_PAGE_BYTES = (1 << 31) - 1
NONE_LARGER: Mapping[int, Any] = {}


class PageFormat(NamedTuple):
    """How pages are written: data page ``version`` 1 or 2, compressed if there is a ``codec``, with a CRC or not."""

    version: int
    codec: Compression | None
    checksums: bool


class Pieces(NamedTuple):
    """Pieces ``data[starts[i]:ends[i]]`` of a buffer, ``size`` bytes of it, that follow one another in the file."""

    data: NDArray[np.uint8]
    starts: Int64s
    ends: Int64s
    size: int


class FramedPages(NamedTuple):
    """Pages as they stand in the file: ``parts`` (bytes or ``Pieces``) follow one another; page i takes ``sizes[i]``.

    ``sizes`` hold the header; ``uncompressed_size`` and ``compressed_size`` are those of all pages, headers too.
    """

    parts: list[Any]
    sizes: Int64s
    uncompressed_size: int
    compressed_size: int


def frame(
    path: str, pages: Pages, levels: tuple[EncodedLevels, EncodedLevels], values: EncodedValues, form: PageFormat
) -> FramedPages:
    """Put levels before values, compress, and put headers before bodies.

    Data page V1 compresses levels and values together. V2 compresses the values alone, and only where that makes them
    smaller (parquet.thrift, ``DataPageHeaderV2.is_compressed``). Raises ``InvalidDataError`` for a page, that is a row,
    of more than 2 GiB in column ``path``.
    """
    repetition, definition = levels
    table = np.empty((3, len(pages)), np.int64)
    bodies, starts, sizes = table[0], table[1], table[2]
    kernels.framing.place_levels(
        repetition.data,
        repetition.starts,
        definition.data,
        definition.starts,
        values.starts,
        form.version == 1,
        values.data,
        bodies,
    )
    compressed = Compressed(values.ends, NO_NUMBERS, NONE_LARGER)
    if form.codec is not None:
        contents = bodies if form.version == 1 else values.starts
        compressed = _compress(values, bodies, contents, form.version, form.codec)
    if len(values.data) > MAX_PAGE_BYTES:
        _check_size(path, values.ends - bodies, compressed.ends - bodies)
    uncompressed_size, compressed_size = kernels.compact.write_page_headers(
        pages.fences,
        repetition.starts,
        definition.starts,
        bodies,
        values.ends,
        compressed.ends,
        compressed.is_compressed,
        _checksums(values.data.data, bodies, compressed) if form.checksums else NO_NUMBERS,
        *_header(form.version, form.checksums, values.encoding),
        values.data,
        starts,
        sizes,
    )
    parts: list[Any] = [Pieces(values.data, starts, compressed.ends, compressed_size)]
    if compressed.larger:
        memory, parts = values.data.data, []
        for page, (head, body) in enumerate(
            zip(_slices(memory, starts, bodies), _slices(memory, bodies, compressed.ends), strict=True)
        ):
            parts += head, compressed.larger.get(page, body)
    return FramedPages(parts, sizes, uncompressed_size, compressed_size)


def _check_size(path: str, *sizes: Int64s) -> None:
    largest = max(int(size.max(initial=0)) for size in sizes)
    if largest > MAX_PAGE_BYTES:
        raise InvalidDataError(f"{path}: a page holds at most {MAX_PAGE_BYTES} bytes, found a row of {largest}")


class Compressed(NamedTuple):
    """Where pages end as they are stored, which of V2 are compressed (1 or 0 each), and bodies that lie elsewhere."""

    ends: Int64s
    is_compressed: Int64s
    larger: Mapping[int, Any]


def _compress(values: EncodedValues, bodies: Int64s, contents: Int64s, version: int, codec: Compression) -> Compressed:
    """Compress each page from ``contents`` on, and put the result where the content was: memory stays one buffer.

    A body that does not fit before the header of the next page, for it got larger, is kept in ``larger``. A page of V2
    is left as it is if it would not get smaller.
    """
    starts, old_ends, first_bytes = contents.tolist(), values.ends.tolist(), bodies.tolist()
    rooms = [body - kernels.compact.MAX_HEADER for body in first_bytes[1:]] + [len(values.data)]
    ends, is_compressed = [], []
    larger: dict[int, Any] = {}
    memory = values.data.data
    for page, (start, end, room) in enumerate(zip(starts, old_ends, rooms, strict=True)):
        result = codec.compress(memory[start:end])
        smaller = len(result) < end - start
        is_compressed.append(int(smaller or version == 1))
        if version == 2 and not smaller:
            ends.append(end)
            continue
        ends.append(start + len(result))
        if ends[-1] <= room:
            memory[start : ends[-1]] = result
        else:
            larger[page] = bytes(memory[first_bytes[page] : start]) + bytes(result)
    return Compressed(np.array(ends, np.int64), np.array(is_compressed if version == 2 else [], np.int64), larger)


class _Header(NamedTuple):
    """What ``write_page_headers`` is told: the numbers of a header, the bytes before each, and those after the last."""

    numbers: Int64s
    pieces: NDArray[np.uint8]
    piece_starts: Int64s


# The header of a field of 32 bits, one further than the field before, in the compact protocol.
I32 = 0x15


@cache
def _header(version: int, checksums: bool, encoding: Encoding) -> _Header:
    """``PageHeader`` of a data page (parquet.thrift): its type, encodings and field headers are the same in all pages.

    Type and sizes are fields 1 to 3, crc 4; data_page_header is field 5, data_page_header_v2 field 8, both structs.
    """

    def integer(value: int) -> bytes:
        return bytes((I32, value << 1))

    field = bytes((I32,))
    page_type = integer(PageType.DATA_PAGE if version == 1 else PageType.DATA_PAGE_V2)
    compact = kernels.compact
    struct = bytes((((5 if version == 1 else 8) - (4 if checksums else 3)) << 4 | 12,))
    fields = [(compact.UNCOMPRESSED_SIZE, page_type + field), (compact.COMPRESSED_SIZE, field)]
    if checksums:
        fields.append((compact.CRC, field))
    fields.append((compact.NUM_VALUES, struct + field))
    if version == 1:
        suffix = integer(encoding) + 2 * integer(Encoding.RLE) + bytes(2)
    else:
        fields += [
            (compact.NUM_NULLS, field),
            (compact.NUM_ROWS, field),
            (compact.DEFINITION_SIZE, integer(encoding) + field),
            (compact.REPETITION_SIZE, field),
        ]
        suffix = bytes((compact.FALSE, 0, 0))
    numbers, prefixes = zip(*fields, strict=True)
    pieces = [*prefixes, suffix]
    starts = np.array([0, *accumulate(map(len, pieces))], np.int64)
    return _Header(np.array(numbers, np.int64), np.frombuffer(b"".join(pieces), np.uint8), starts)


def _checksums(memory: memoryview, bodies: Int64s, compressed: Compressed) -> Int64s:
    """CRCs of the bodies as they are stored."""
    stored = enumerate(_slices(memory, bodies, compressed.ends))
    return np.array([checksum(compressed.larger.get(page, body)) for page, body in stored], np.int64)


def _slices(memory: memoryview, starts: Int64s, ends: Int64s) -> list[Any]:
    return [memory[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def checksum(data: Any) -> int:
    """CRC-32 as zlib computes it, of the bytes as stored, as the signed number of ``PageHeader.crc``."""
    value = zlib.crc32(data)
    return value - (1 << 32) if value >= 1 << 31 else value
