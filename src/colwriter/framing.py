"""From encoded levels and values to pages as they stand in the file: assembly, compression, checksums, headers."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.compression import compress
from colwriter.errors import InvalidDataError
from colwriter.pages import NO_STARTS, EncodedLevels, EncodedValues, Pages

__all__ = ["FramedPages", "PageFormat", "checksum", "frame"]

Int64s = NDArray[np.int64]
# Page sizes are int32 in the page header.
MAX_PAGE_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class PageFormat:
    """How pages are written: data page ``version`` 1 or 2, compressed if there is a ``codec``, with a CRC or not."""

    version: int
    codec: pa.Codec | None
    checksums: bool


@dataclass(frozen=True, slots=True)
class FramedPages:
    """Pages as they stand in the file: ``parts`` follow one another, and page i is ``sizes[i]`` of their bytes.

    ``sizes`` hold the header; ``uncompressed_size`` is that of all pages, headers too.
    """

    parts: list[Any]
    sizes: Int64s
    uncompressed_size: int


def frame(
    path: str, pages: Pages, levels: tuple[EncodedLevels, EncodedLevels], values: EncodedValues, form: PageFormat
) -> FramedPages:
    """Put levels before values, compress, and put headers before bodies.

    Data page V1 compresses levels and values together. V2 compresses the values alone, and only where that makes them
    smaller (parquet.thrift, ``DataPageHeaderV2.is_compressed``). Raises ``InvalidDataError`` for a page, that is a row,
    of more than 2 GiB in column ``path``.
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
    raw_ends = bodies if form.version == 1 else values.starts
    raw = _slices(memory, bodies, raw_ends)
    contents = _slices(memory, raw_ends, values.ends)
    is_compressed = np.full(len(pages), form.codec is not None, np.int64)
    compressed = uncompressed
    if form.codec is not None:
        contents, kept = _compress(contents, form.codec, keep_larger=form.version == 1)
        is_compressed[kept] = 0
        compressed = raw_ends - bodies + np.array([len(content) for content in contents], np.int64)
    largest = int(max(uncompressed.max(initial=0), compressed.max(initial=0)))
    if largest > MAX_PAGE_BYTES:
        raise InvalidDataError(f"{path}: a page holds at most {MAX_PAGE_BYTES} bytes, found a row of {largest}")
    crcs = NO_STARTS
    if form.checksums:
        crcs = np.array([checksum(*pieces) for pieces in zip(raw, contents, strict=True)], np.int64)

    room = kernels.framing.MAX_HEADER
    if form.codec is None:  # the header has room before the body
        headers, ends = values.data, bodies
    else:
        headers, ends = np.empty(len(pages) * room, np.uint8), np.arange(1, len(pages) + 1, dtype=np.int64) * room
    starts = np.empty(len(pages), np.int64)
    common = (uncompressed, compressed, crcs, headers, ends, starts)
    encoding = int(values.encoding)
    if form.version == 1:
        kernels.framing.write_data_page_headers(pages.num_levels, encoding, *common)
    else:
        kernels.framing.write_data_page_v2_headers(
            pages.num_levels,
            pages.null_counts,
            np.diff(pages.rows),
            encoding,
            definition.starts,
            repetition.starts,
            is_compressed,
            *common,
        )
    header_sizes = ends - starts
    if form.codec is None:
        parts = _slices(memory, starts, values.ends)
    else:
        pieces = zip(_slices(headers.data, starts, ends), raw, contents, strict=True)
        parts = [piece for page in pieces for piece in page if len(piece)]
    return FramedPages(parts, header_sizes + compressed, int((header_sizes + uncompressed).sum()))


def _slices(memory: memoryview, starts: Int64s, ends: Int64s) -> list[Any]:
    return [memory[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _compress(contents: list[Any], codec: pa.Codec, *, keep_larger: bool) -> tuple[list[Any], list[int]]:
    """The compressed contents; those that would not get smaller are left as they are, unless ``keep_larger``."""
    results, kept = [], []
    for page, content in enumerate(contents):
        squeezed = compress(codec, content)
        if not keep_larger and len(squeezed) >= len(content):
            squeezed = content
            kept.append(page)
        results.append(squeezed)
    return results, kept


def checksum(*pieces: Any) -> int:
    """CRC-32 as zlib computes it, of the bytes as stored, as the signed number of ``PageHeader.crc``."""
    value = 0
    for piece in pieces:
        value = zlib.crc32(piece, value)
    return value - (1 << 32) if value >= 1 << 31 else value
