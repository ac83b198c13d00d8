"""One leaf of one row group, from its values and levels to the bytes and metadata of a column chunk."""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import thrift
from colwriter.arena import Arena
from colwriter.compression import make_compression
from colwriter.encodings import dictionary as dictionary_encoding
from colwriter.encodings import plain
from colwriter.encodings.dictionary import Dictionary
from colwriter.framing import FramedPages, PageFormat, checksum, frame
from colwriter.levels import LeafColumn
from colwriter.metadata import (
    ColumnMetaData,
    DictionaryPageHeader,
    Encoding,
    PageEncodingStats,
    PageHeader,
    PageType,
    SizeStatistics,
    Statistics,
    Type,
)
from colwriter.options import ColumnOptions, SizeStatisticsLevel, WriterOptions
from colwriter.page_index import ByteArrayBounds, NumberBounds, PageBounds, column_index, offset_index
from colwriter.pages import (
    EncodedLevels,
    EncodedValues,
    PageLimits,
    Pages,
    count_levels,
    encode_levels,
    paginate,
    value_lead,
)
from colwriter.parallel import pool
from colwriter.schema import ColumnDescriptor
from colwriter.statistics import chunk_statistics, size_statistics

__all__ = ["EncodedChunk", "encode_column_chunk"]

Int64s = NDArray[np.int64]
_BothLevels = tuple[EncodedLevels, EncodedLevels]


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """A column chunk before its place in the file is known. ``parts`` are its bytes, in order; they lie in an arena."""

    descriptor: ColumnDescriptor
    options: ColumnOptions
    parts: list[Any]
    dictionary_page_size: int
    page_sizes: Int64s
    first_rows: Int64s
    value_bytes: Int64s | None
    num_values: int
    uncompressed_size: int
    encoding_stats: tuple[PageEncodingStats, ...]
    statistics: Statistics | None
    size_statistics: SizeStatistics | None
    column_index: bytes | None

    @property
    def compressed_size(self) -> int:
        """Bytes of the chunk in the file."""
        return self.dictionary_page_size + int(self.page_sizes.sum())

    def column_metadata(self, offset: int) -> ColumnMetaData:
        """Metadata of the chunk, written at ``offset`` of the file."""
        encodings = {stats.encoding for stats in self.encoding_stats} | {Encoding.RLE}
        return ColumnMetaData(
            type=self.descriptor.physical_type,
            encodings=tuple(sorted(encodings)),
            path_in_schema=self.descriptor.path,
            codec=self.options.codec,
            num_values=self.num_values,
            total_uncompressed_size=self.uncompressed_size,
            total_compressed_size=self.compressed_size,
            data_page_offset=offset + self.dictionary_page_size,
            dictionary_page_offset=offset if self.dictionary_page_size else None,
            statistics=self.statistics,
            encoding_stats=self.encoding_stats,
            size_statistics=self.size_statistics,
        )

    def offset_index(self, offset: int) -> bytes:
        """Encoded offset index of the chunk, written at ``offset`` of the file."""
        per_page = self.options.size_statistics_level is SizeStatisticsLevel.PAGE_AND_COLUMN_CHUNK
        value_bytes = self.value_bytes if per_page else None
        return offset_index(offset + self.dictionary_page_size, self.page_sizes, self.first_rows, value_bytes)


@dataclass(frozen=True, slots=True)
class _Segment:
    """Neighbouring pages of one encoding."""

    pages: Pages
    values: EncodedValues
    framed: FramedPages


def encode_column_chunk(
    leaf: LeafColumn, options: WriterOptions, column: ColumnOptions, arena: Arena, threads: int = 1
) -> EncodedChunk:
    """Encode a leaf: dictionary pages first, if a dictionary pays, then PLAIN ones for the rest."""
    writer = _ChunkWriter(leaf, options, column, arena, threads)
    dictionary, segments = writer.segments()
    pages = _join([segment.pages for segment in segments])
    value_bytes = _concatenate([segment.values.value_bytes for segment in segments])
    parts, dictionary_page_size, uncompressed_size = writer.dictionary_page(dictionary)
    stats = [PageEncodingStats(PageType.DICTIONARY_PAGE, Encoding.PLAIN, 1)] if dictionary is not None else []
    data_page = PageType.DATA_PAGE if options.data_page_version == 1 else PageType.DATA_PAGE_V2
    for segment in segments:
        parts += segment.framed.parts
        uncompressed_size += segment.framed.uncompressed_size
        stats.append(PageEncodingStats(data_page, segment.values.encoding, len(segment.pages)))

    level = column.size_statistics_level
    histograms = None if level is SizeStatisticsLevel.NONE else count_levels(leaf, pages, arena)
    per_page = level is SizeStatisticsLevel.PAGE_AND_COLUMN_CHUNK
    statistics = index = None
    if column.write_statistics:
        bounds = _bounds(leaf, segments)
        statistics = chunk_statistics(int(pages.null_counts.sum()), *bounds.of_chunk())
        if options.write_page_index:
            index = column_index(pages, bounds, histograms if per_page else None)
    return EncodedChunk(
        descriptor=leaf.descriptor,
        options=column,
        parts=parts,
        dictionary_page_size=dictionary_page_size,
        page_sizes=np.concatenate([segment.framed.sizes for segment in segments]),
        first_rows=pages.rows[:-1],
        value_bytes=value_bytes,
        num_values=leaf.num_levels,
        uncompressed_size=uncompressed_size,
        encoding_stats=tuple(stats),
        statistics=statistics,
        size_statistics=None
        if histograms is None
        else size_statistics(value_bytes, histograms.repetition, histograms.definition),
        column_index=index,
    )


@dataclass(frozen=True, slots=True)
class _ChunkWriter:
    leaf: LeafColumn
    options: WriterOptions
    column: ColumnOptions
    arena: Arena
    threads: int

    @property
    def limits(self) -> PageLimits:
        return PageLimits(self.options.max_rows_per_page, self.options.data_page_size)

    @property
    def format(self) -> PageFormat:
        name, level = self.column.codec_name, self.column.compression_level
        codec = make_compression(name, level) if name else None
        return PageFormat(self.options.data_page_version, codec, self.options.write_page_checksum)

    def segments(self) -> tuple[Dictionary | None, list[_Segment]]:
        """The dictionary, if one pays, and the pages."""
        leaf = self.leaf
        dictionary = None
        segments = []
        if self.column.use_dictionary:
            limit = self.options.dictionary_pagesize_limit
            dictionary = dictionary_encoding.build(leaf, limit, self.arena)
        if dictionary is not None:
            segment = self.dictionary_segment(dictionary)
            if segment is None:
                dictionary = None
            else:
                segments.append(segment)
        done = segments[-1].pages if segments else None
        if done is None or done.rows[-1] < leaf.num_rows:
            variable = leaf.descriptor.physical_type is Type.BYTE_ARRAY
            pages = paginate(leaf, self.limits, plain.value_bits(leaf), variable, done)
            levels, values = self.encode(pages, plain.encode, leaf)
            segments.append(_Segment(pages, values, self.frame(pages, levels, values)))
        return dictionary, segments

    def dictionary_segment(self, dictionary: Dictionary) -> _Segment | None:
        """The pages whose values are all in the dictionary, or None if it does not pay."""
        leaf = self.leaf
        bits = dictionary_encoding.index_bits(dictionary)
        pages = paginate(leaf, self.limits, bits, False, stop_value=dictionary.num_values)
        if len(pages) == 0:
            return None
        levels, values = self.encode(pages, dictionary_encoding.encode, leaf, dictionary)
        if not dictionary_encoding.pays(leaf, dictionary, values, pages):
            return None
        return _Segment(pages, values, self.frame(pages, levels, values))

    def encode(self, pages: Pages, encode_values: Any, *source: Any) -> tuple[_BothLevels, EncodedValues]:
        """Levels and values of the pages, side by side if there are threads for both."""
        room = value_lead(self.leaf, pages)
        if self.threads == 1:
            levels = encode_levels(self.leaf, pages, self.arena)
            return levels, encode_values(*source, pages, room, self.column.write_statistics, self.arena)
        future = pool(self.threads).submit(encode_levels, self.leaf, pages, self.arena)
        try:
            values = encode_values(*source, pages, room, self.column.write_statistics, self.arena)
        finally:
            wait([future])  # it uses the arena
        return future.result(), values

    def frame(self, pages: Pages, levels: _BothLevels, values: EncodedValues) -> FramedPages:
        return frame(self.leaf.descriptor.dotted_path, pages, levels, values, self.format, self.threads)

    def dictionary_page(self, dictionary: Dictionary | None) -> tuple[list[Any], int, int]:
        """The dictionary page: its parts, its size in the file, and that before compression, both with the header."""
        if dictionary is None:
            return [], 0, 0
        page = dictionary.page.data
        form = self.format
        body = page if form.codec is None else form.codec.compress(page)
        header = thrift.encode(
            PageHeader(
                type=PageType.DICTIONARY_PAGE,
                uncompressed_page_size=len(page),
                compressed_page_size=len(body),
                crc=checksum(body) if form.checksums else None,
                dictionary_page_header=DictionaryPageHeader(dictionary.num_entries, Encoding.PLAIN),
            )
        )
        return [header, body], len(header) + len(body), len(header) + len(page)


def _join(tables: list[Pages]) -> Pages:
    """Pages of several segments, each of which starts where the one before ends."""
    if len(tables) == 1:
        return tables[0]
    return Pages.of(
        np.array(
            [
                np.concatenate([part[1:] if k else part for k, part in enumerate(parts)])
                for parts in zip(*(table.fences for table in tables), strict=True)
            ]
        )
    )


def _concatenate(arrays: list[Int64s | None]) -> Int64s | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None


def _bounds(leaf: LeafColumn, segments: list[_Segment]) -> PageBounds:
    """The bounds of the pages that have values."""
    filled = np.concatenate([segment.pages.num_values for segment in segments]) > 0
    minima = np.concatenate([segment.values.minima for segment in segments])[filled]
    maxima = np.concatenate([segment.values.maxima for segment in segments])[filled]
    if leaf.descriptor.physical_type is not Type.BYTE_ARRAY:
        return NumberBounds(minima, maxima, leaf.values.dtype.newbyteorder("<").str)
    return ByteArrayBounds(_byte_arrays(leaf, minima), _byte_arrays(leaf, maxima), leaf.descriptor.is_string)


def _byte_arrays(leaf: LeafColumn, slots: Int64s) -> list[bytes]:
    starts, ends = leaf.offsets[slots].tolist(), leaf.offsets[slots + 1].tolist()
    return [leaf.data[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]
