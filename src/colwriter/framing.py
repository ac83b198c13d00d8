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
from colwriter.kernels.page_table import (
    BODY,
    CRC,
    DEFINITION_BYTES,
    END,
    HEADER,
    IS_COMPRESSED,
    MAX_HEADER,
    REPETITION_BYTES,
    START,
    STORED_END,
)
from colwriter.metadata import Encoding, PageType
from colwriter.pages import EncodedLevels, Pages

__all__ = ["FramedPages", "PageBytes", "PageFormat", "checksum", "frame"]

Int64s = NDArray[np.int64]
# Page sizes are int32 in the page header.
MAX_PAGE_BYTES = (1 << 31) - 1
NONE_LARGER: Mapping[int, Any] = {}


class PageFormat(NamedTuple):
    """How pages are written: data page ``version`` 1 or 2, compressed if there is a ``codec``, with a CRC or not."""

    version: int
    codec: Compression | None
    checksums: bool


class PageBytes(NamedTuple):
    """Pages as they are stored, in ``data``, from the header of each to the end of its body: ``size`` bytes of it."""

    data: NDArray[np.uint8]
    pages: Pages
    size: int


class FramedPages(NamedTuple):
    """Pages as they stand in the file: ``parts`` (bytes or ``PageBytes``) follow one another.

    ``uncompressed_size`` and ``compressed_size`` are the bytes of all pages, with their headers, ``value_bytes`` those
    of byte arrays without their lengths.
    """

    parts: list[Any]
    uncompressed_size: int
    compressed_size: int
    value_bytes: int


def frame(
    path: str,
    pages: Pages,
    levels: EncodedLevels,
    encoding: Encoding,
    data: NDArray[np.uint8],
    form: PageFormat,
) -> FramedPages:
    """Put levels before values, which are in ``data``, compress, and put headers before bodies.

    Data page V1 compresses levels and values together. V2 compresses the values alone, and only where that makes them
    smaller (parquet.thrift, ``DataPageHeaderV2.is_compressed``). Raises ``InvalidDataError`` for a page, that is a row,
    of more than 2 GiB in column ``path``.
    """
    first_version = form.version == 1
    kernels.framing.place_levels(levels.repetition, levels.definition, first_version, pages.table, data)
    larger = NONE_LARGER
    if form.codec is not None:
        larger = _compress(pages, data, BODY if first_version else START, form)
    if len(data) > MAX_PAGE_BYTES:
        _check_size(path, pages)
    if form.checksums:
        pages.table[:-1, CRC] = [checksum(larger.get(k, body)) for k, body in enumerate(_slices(data, pages, BODY))]
    flagged = not first_version and form.codec is not None
    uncompressed_size, compressed_size, value_bytes = kernels.compact.write_page_headers(
        *_header(form.version, form.checksums, encoding), flagged, pages.table, data
    )
    parts: list[Any] = [PageBytes(data, pages, compressed_size)]
    if larger:
        parts = []
        for page, whole in enumerate(_slices(data, pages, HEADER)):
            parts.append(whole)
            if page in larger:
                header, body = pages.table[page, [HEADER, BODY]].tolist()
                parts[-1:] = whole[: body - header], larger[page]
    return FramedPages(parts, uncompressed_size, compressed_size, value_bytes)


def _check_size(path: str, pages: Pages) -> None:
    ends = np.maximum(pages.column(END), pages.column(STORED_END))
    largest = int((ends - pages.column(BODY)).max(initial=0))
    if largest > MAX_PAGE_BYTES:
        raise InvalidDataError(f"{path}: a page holds at most {MAX_PAGE_BYTES} bytes, found a row of {largest}")


def _compress(pages: Pages, data: NDArray[np.uint8], content: int, form: PageFormat) -> Mapping[int, Any]:
    """Compress each page from column ``content`` of the page table on, and put the result there.

    A body that does not fit before the header of the next page, for it got larger, is returned, by page. A page of V2
    is left as it is if it would not get smaller.
    """
    assert form.codec is not None
    table = pages.table
    compress = form.codec.compress
    first_bytes = table[:-1, BODY].tolist()
    rooms = [body - MAX_HEADER for body in first_bytes[1:]] + [len(data)]
    places = zip(first_bytes, table[:-1, content].tolist(), table[:-1, END].tolist(), rooms, strict=True)
    ends, is_compressed = [], []
    larger: dict[int, Any] = {}
    memory = data.data
    for page, (body, start, end, room) in enumerate(places):
        result = compress(memory[start:end])
        smaller = len(result) < end - start
        is_compressed.append(smaller)
        if form.version == 2 and not smaller:
            ends.append(end)
            continue
        ends.append(start + len(result))
        if ends[-1] <= room:
            memory[start : ends[-1]] = result
        else:
            larger[page] = bytes(memory[body:start]) + bytes(result)
    table[:-1, STORED_END] = ends
    if form.version == 2:
        table[:-1, IS_COMPRESSED] = is_compressed
    return larger


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
        fields.append((CRC, field))
    fields.append((compact.NUM_VALUES, struct + field))
    if version == 1:
        suffix = integer(encoding) + 2 * integer(Encoding.RLE) + bytes(2)
    else:
        fields += [
            (compact.NUM_NULLS, field),
            (compact.NUM_ROWS, field),
            (DEFINITION_BYTES, integer(encoding) + field),
            (REPETITION_BYTES, field),
        ]
        suffix = bytes((compact.FALSE, 0, 0))
    numbers, prefixes = zip(*fields, strict=True)
    pieces = [*prefixes, suffix]
    starts = np.array([0, *accumulate(map(len, pieces))], np.int64)
    return _Header(np.array(numbers, np.int64), np.frombuffer(b"".join(pieces), np.uint8), starts)


def _slices(data: NDArray[np.uint8], pages: Pages, column: int) -> list[Any]:
    """The bytes of each page as it is stored, from a column of the page table on."""
    memory = data.data
    starts, ends = pages.column(column).tolist(), pages.column(STORED_END).tolist()
    return [memory[start:end] for start, end in zip(starts, ends, strict=True)]


def checksum(data: Any) -> int:
    """CRC-32 as zlib computes it, of the bytes as stored, as the signed number of ``PageHeader.crc``."""
    value = zlib.crc32(data)
    return value - (1 << 32) if value >= 1 << 31 else value
