"""From encoded levels and values to pages as they stand in the file: assembly, compression, checksums, headers."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.compact import Records
from colwriter.compression import Compression
from colwriter.errors import InvalidDataError
from colwriter.metadata import Encoding
from colwriter.pages import MAX_HEADER, EncodedLevels, EncodedValues, Pages
from colwriter.parallel import pool

__all__ = ["FramedPages", "PageFormat", "Pieces", "checksum", "frame"]

Int64s = NDArray[np.int64]
# Page sizes are int32 in the page header.
MAX_PAGE_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class PageFormat:
    """How pages are written: data page ``version`` 1 or 2, compressed if there is a ``codec``, with a CRC or not."""

    version: int
    codec: Compression | None
    checksums: bool


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces ``data[starts[i]:ends[i]]`` of a buffer that follow one another in the file."""

    data: NDArray[np.uint8]
    starts: Int64s
    ends: Int64s


@dataclass(frozen=True, slots=True)
class FramedPages:
    """Pages as they stand in the file: ``parts`` (bytes or ``Pieces``) follow one another; page i takes ``sizes[i]``.

    ``sizes`` hold the header; ``uncompressed_size`` is that of all pages, headers too.
    """

    parts: list[Any]
    sizes: Int64s
    uncompressed_size: int


def frame(
    path: str,
    pages: Pages,
    levels: tuple[EncodedLevels, EncodedLevels],
    values: EncodedValues,
    form: PageFormat,
    threads: int = 1,
) -> FramedPages:
    """Put levels before values, compress, and put headers before bodies.

    Data page V1 compresses levels and values together. V2 compresses the values alone, and only where that makes them
    smaller (parquet.thrift, ``DataPageHeaderV2.is_compressed``). Raises ``InvalidDataError`` for a page, that is a row,
    of more than 2 GiB in column ``path``. Pages are compressed by ``threads`` threads.
    """
    repetition, definition = levels
    bodies = np.empty(len(pages), np.int64)
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
    uncompressed = values.ends - bodies
    ends, is_compressed = values.ends, np.zeros(len(pages), np.int64)
    larger: dict[int, Any] = {}
    if form.codec is not None:
        contents = bodies if form.version == 1 else values.starts
        ends, is_compressed, larger = _compress(values, bodies, contents, form, threads)
    compressed = ends - bodies
    _check_size(path, uncompressed, compressed)
    memory = values.data.data
    crcs: list[Int64s] = []
    if form.checksums:
        stored = [larger.get(page, content) for page, content in enumerate(_slices(memory, bodies, ends))]
        crcs.append(np.array([checksum(content) for content in stored], np.int64))

    sizes = [uncompressed, compressed, *crcs]
    records = _header(form.version, form.checksums)
    if form.version == 1:
        fields = [0, *sizes, pages.num_levels, int(values.encoding), int(Encoding.RLE), int(Encoding.RLE)]
        suffixes = np.zeros((len(pages), 2), np.uint8)
    else:
        counts = (pages.num_levels, pages.null_counts, pages.num_rows)
        fields = [3, *sizes, *counts, int(values.encoding), definition.encoded_sizes, repetition.encoded_sizes]
        suffixes = np.zeros((len(pages), 3), np.uint8)
        suffixes[:, 0] = 0x12 - is_compressed  # a bool is in the type of its field header: 1 true, 2 false
    starts = records.write_headers(fields, suffixes, values.data, bodies)
    parts: list[Any] = [Pieces(values.data, starts, ends)]
    if larger:
        headers = _slices(memory, starts, bodies)
        pieces = zip(headers, _slices(memory, bodies, ends), strict=True)
        parts = [part for k, (header, body) in enumerate(pieces) for part in (header, larger.get(k, body))]
    header_sizes = bodies - starts
    return FramedPages(parts, header_sizes + compressed, int((header_sizes + uncompressed).sum()))


def _check_size(path: str, *sizes: Int64s) -> None:
    largest = max(int(size.max(initial=0)) for size in sizes)
    if largest > MAX_PAGE_BYTES:
        raise InvalidDataError(f"{path}: a page holds at most {MAX_PAGE_BYTES} bytes, found a row of {largest}")


def _compress(
    values: EncodedValues, bodies: Int64s, contents: Int64s, form: PageFormat, threads: int
) -> tuple[Int64s, Int64s, dict[int, Any]]:
    """Compress each page from ``contents`` on, and put the result where the content was: memory stays one buffer.

    Returns where the pages end now, which of them are compressed (V2 keeps those that would not get smaller), and the
    bodies that do not fit before the header of the next page, by page: compressed, they are larger.
    """
    assert form.codec is not None
    ends, is_compressed = values.ends.copy(), np.zeros(len(bodies), np.int64)
    room = np.append(bodies[1:] - MAX_HEADER, len(values.data))
    larger: dict[int, Any] = {}
    sources = _slices(values.data.data, contents, values.ends)
    squeezed = map(form.codec.compress, sources) if threads == 1 else pool(threads).map(form.codec.compress, sources)
    for page, (source, result) in enumerate(zip(sources, squeezed, strict=True)):
        if form.version == 2 and len(result) >= len(source):
            continue
        is_compressed[page] = 1
        start = int(contents[page])
        ends[page] = start + len(result)
        if ends[page] <= room[page]:
            values.data[start : ends[page]] = result
        else:
            larger[page] = values.data[int(bodies[page]) : start].tobytes() + bytes(result)
    return ends, is_compressed, larger


@cache
def _header(version: int, checksums: bool) -> Records:
    """``PageHeader`` of a data page (parquet.thrift): fields that follow one another have the header 0x15, an i32.

    Type and sizes are fields 1 to 3, crc 4; data_page_header is field 5, data_page_header_v2 field 8, both structs.
    """
    struct = bytes((((5 if version == 1 else 8) - (4 if checksums else 3)) << 4 | 12, 0x15))
    outer = [b"\x15"] * (4 if checksums else 3)
    inner = [b"\x15"] * (3 if version == 1 else 5)
    return Records.of([*outer, struct, *inner], 2 if version == 1 else 3)


def _slices(memory: memoryview, starts: Int64s, ends: Int64s) -> list[Any]:
    return [memory[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def checksum(data: Any) -> int:
    """CRC-32 as zlib computes it, of the bytes as stored, as the signed number of ``PageHeader.crc``."""
    value = zlib.crc32(data)
    return value - (1 << 32) if value >= 1 << 31 else value
