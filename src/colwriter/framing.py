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
    memory = values.data.data
    compressed, is_compressed = uncompressed, np.zeros(len(pages), np.int64)
    raw: list[Any] = []
    contents: list[Any] = []
    crcs: list[Int64s] = []
    if form.codec is not None or form.checksums:
        raw_ends = bodies if form.version == 1 else values.starts
        raw = _slices(memory, bodies, raw_ends)
        contents = _slices(memory, raw_ends, values.ends)
        if form.codec is not None:
            contents, smaller = _compress(contents, form.codec, threads, keep_larger=form.version == 1)
            is_compressed[smaller] = 1
            compressed = raw_ends - bodies + np.array([len(content) for content in contents], np.int64)
        if form.checksums:
            crcs.append(np.array([checksum(*pieces) for pieces in zip(raw, contents, strict=True)], np.int64))
    largest = int(max(uncompressed.max(initial=0), compressed.max(initial=0)))
    if largest > MAX_PAGE_BYTES:
        raise InvalidDataError(f"{path}: a page holds at most {MAX_PAGE_BYTES} bytes, found a row of {largest}")

    if form.codec is None:  # the header has room before the body
        headers, ends = values.data, bodies
    else:
        headers = np.empty(len(pages) * MAX_HEADER, np.uint8)
        ends = np.arange(1, len(pages) + 1, dtype=np.int64) * MAX_HEADER
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
    starts = records.write_headers(fields, suffixes, headers, ends)
    header_sizes = ends - starts
    parts: list[Any]
    if form.codec is None:
        parts = [Pieces(values.data, starts, values.ends)]
    else:
        pieces = zip(_slices(headers.data, starts, ends), raw, contents, strict=True)
        parts = [piece for page in pieces for piece in page if len(piece)]
    return FramedPages(parts, header_sizes + compressed, int((header_sizes + uncompressed).sum()))


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


def _compress(
    contents: list[Any], codec: Compression, threads: int, *, keep_larger: bool
) -> tuple[list[Any], list[int]]:
    """The compressed contents, and which are compressed: without ``keep_larger``, only those that get smaller."""
    results, smaller = [], []
    apply = map if threads == 1 else pool(threads).map
    for page, (content, squeezed) in enumerate(zip(contents, apply(codec.compress, contents), strict=True)):
        if keep_larger or len(squeezed) < len(content):
            smaller.append(page)
            content = squeezed
        results.append(content)
    return results, smaller


def checksum(*pieces: Any) -> int:
    """CRC-32 as zlib computes it, of the bytes as stored, as the signed number of ``PageHeader.crc``."""
    value = 0
    for piece in pieces:
        value = zlib.crc32(piece, value)
    return value - (1 << 32) if value >= 1 << 31 else value
