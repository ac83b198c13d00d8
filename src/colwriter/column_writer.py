"""One leaf of one row group, from its values and levels to the bytes and metadata of a column chunk.

``encode_column_chunk`` is the whole of it: pages are cut, levels and values encoded, framed as they stand in the file,
and what was learned on the way becomes statistics and page index. Threads, where there are any, share the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import bloom, thrift
from colwriter.arena import Arena
from colwriter.bloom_filter import BloomFilter
from colwriter.buffers import frozen
from colwriter.compression import make_compression
from colwriter.encodings import byte_stream_split, delta, plain
from colwriter.encodings import dictionary as dictionary_encoding
from colwriter.encodings.dictionary import Dictionary
from colwriter.errors import InvalidOptionError
from colwriter.framing import FramedPages, PageBytes, PageFormat, checksum, frame
from colwriter.kernels.page_table import (
    END,
    HEADER,
    LEAD,
    LENGTH_PREFIX,
    LEVEL,
    NAN_COUNT,
    ROW,
    SLOT,
    STORED_END,
    VALUE,
    VALUE_BYTES,
)
from colwriter.leaf_types import Order, Storage
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
from colwriter.page_index import BoundLengths, column_index, offset_index, page_bounds
from colwriter.pages import (
    NO_HISTOGRAMS,
    EncodedLevels,
    PageLimits,
    Pages,
    count_levels,
    encode_levels,
    hybrid_overhead,
    paginate,
)
from colwriter.parallel import side_by_side
from colwriter.schema import ColumnDescriptor
from colwriter.statistics import chunk_statistics, size_statistics
from colwriter.views import without_views

__all__ = ["ENCODERS", "EncodedChunk", "check_encoding", "encode_column_chunk", "encode_single_pages"]

Bytes = NDArray[np.uint8]
# The encoders of values, and the types that each is for (Encodings.md, "Supported Encodings").
ENCODERS: dict[Encoding, tuple[Callable[..., Bytes], frozenset[Type]]] = {
    Encoding.PLAIN: (plain.encode, frozenset(Type)),
    Encoding.DELTA_BINARY_PACKED: (delta.encode_integers, frozenset({Type.INT32, Type.INT64})),
    Encoding.DELTA_LENGTH_BYTE_ARRAY: (delta.encode_lengths, frozenset({Type.BYTE_ARRAY})),
    Encoding.DELTA_BYTE_ARRAY: (
        delta.encode_byte_arrays,
        frozenset({Type.BYTE_ARRAY, Type.FIXED_LEN_BYTE_ARRAY}),
    ),
    Encoding.BYTE_STREAM_SPLIT: (
        byte_stream_split.encode,
        frozenset({Type.INT32, Type.INT64, Type.FLOAT, Type.DOUBLE, Type.FIXED_LEN_BYTE_ARRAY}),
    ),
    Encoding.RLE: (plain.encode_runs, frozenset({Type.BOOLEAN})),
}
# Pages of which a thread must have this many, and bytes of values that a column must have, for threads to share its
# pages: by codec, for to hand the work over takes fifty microseconds. Without one, what is done of each slot counts as
# so many bytes. Measured, see docs/performance.md.
PAGES_PER_THREAD = 2
SHARED_BYTES = {"": 3 << 20, "snappy": 2 << 20, "lz4_raw": 2 << 20}
SHARED_BYTES_OTHERWISE = 256 << 10
SLOT_BYTES = 3
# Bytes that a byte array is taken to have, where that is all that depends on it.
AVERAGE_LENGTH = 8


class _Encodings(NamedTuple):
    """The encodings of a column chunk, and how many pages there are of each type and encoding, in their order."""

    used: tuple[Encoding, ...]
    stats: tuple[PageEncodingStats, ...]


class EncodedChunk(NamedTuple):
    """A column chunk before its place in the file is known. ``parts`` are its bytes, in order; they lie in an arena."""

    descriptor: ColumnDescriptor
    options: ColumnOptions
    parts: list[Any]
    dictionary_page_size: int
    pages: Pages
    num_values: int
    uncompressed_size: int
    compressed_size: int
    encodings: _Encodings
    statistics: Statistics | None
    size_statistics: SizeStatistics | None
    column_index: bytes | None
    bloom_filter: BloomFilter | None

    def column_metadata(self, offset: int) -> ColumnMetaData:
        """Metadata of the chunk, written at ``offset`` of the file."""
        return ColumnMetaData(
            type=self.descriptor.leaf.physical_type,
            encodings=self.encodings.used,
            path_in_schema=self.descriptor.path,
            codec=self.options.codec,
            num_values=self.num_values,
            total_uncompressed_size=self.uncompressed_size,
            total_compressed_size=self.compressed_size,
            data_page_offset=offset + self.dictionary_page_size,
            dictionary_page_offset=offset if self.dictionary_page_size else None,
            statistics=self.statistics,
            encoding_stats=self.encodings.stats,
            size_statistics=self.size_statistics,
        )

    def offset_index(self, offset: int) -> bytes:
        """Encoded offset index of the chunk, written at ``offset`` of the file."""
        per_page = self.options.size_statistics_level is SizeStatisticsLevel.PAGE_AND_COLUMN_CHUNK
        with_value_bytes = per_page and self.descriptor.leaf.storage is Storage.BYTE_ARRAYS
        return offset_index(self.pages, offset + self.dictionary_page_size, with_value_bytes)


class _Segment(NamedTuple):
    """Neighbouring pages of one encoding, their levels and, in ``data``, their values encoded."""

    pages: Pages
    levels: EncodedLevels
    encoding: Encoding
    data: Bytes


def check_encoding(descriptor: ColumnDescriptor, column: ColumnOptions) -> None:
    """Raise ``InvalidOptionError`` if the encoding that a column shall have is not for its type."""
    found, types = descriptor.leaf.physical_type, ENCODERS[column.encoding][1]
    if found not in types:
        raise InvalidOptionError(
            f"{descriptor.dotted_path}: the encoding {column.encoding.name} can be written for "
            f"{' and '.join(each.name for each in sorted(types))}, found a column of {found.name}"
        )


def encode_column_chunk(
    leaf: LeafColumn, options: WriterOptions, column: ColumnOptions, arena: Arena, threads: int = 1, first_row: int = 0
) -> EncodedChunk:
    """Encode a leaf: dictionary pages first, if a dictionary pays, then those of the column's encoding for the rest.

    ``first_row``: the row of the file that the leaf starts with, for options that name rows.
    """
    # Entries of a dictionary that is the caller's may be equal.
    distinct = leaf.dictionary is None
    if leaf.views is not None:
        leaf = without_views(leaf, options.dictionary_pagesize_limit if column.use_dictionary else 0, arena)
    writer = _ChunkWriter(leaf, options, column, arena, threads, first_row)
    dictionary, segments = writer.segments()
    framed = writer.frame(segments)
    pages = _joined(segments)
    parts, dictionary_page_size, uncompressed_size = writer.dictionary_page(dictionary)
    compressed_size, value_bytes = dictionary_page_size, 0
    for part in framed:
        parts += part.parts
        uncompressed_size += part.uncompressed_size
        compressed_size += part.compressed_size
        value_bytes += part.value_bytes
    bloom_filter = None
    if column.bloom_filter and leaf.descriptor.leaf.storage is not Storage.BITS:
        others = [segment.pages for segment in segments if segment.encoding is not Encoding.RLE_DICTIONARY]
        bloom_filter = bloom.build(leaf, dictionary, others, column.bloom_filter, arena)
    if segments[-1].encoding is not Encoding.RLE_DICTIONARY:
        distinct = False
    return writer.fold(
        pages,
        FramedPages(parts, uncompressed_size, compressed_size, value_bytes),
        _encodings(options, dictionary, segments),
        dictionary_page_size,
        dictionary if distinct else None,
        bloom_filter,
    )


def encode_single_pages(
    leaf: LeafColumn,
    descriptors: Sequence[ColumnDescriptor],
    options: WriterOptions,
    column: ColumnOptions,
    arena: Arena,
) -> list[EncodedChunk] | None:
    """Encode columns that lie one after another in a flat leaf: each becomes a column chunk of one page.

    They have the same options and as many rows each, and no dictionary. The bytes are those of
    ``encode_column_chunk``. None where it is of no use: if one of them needs more pages, or is larger when it is
    compressed than its page has room for. Raises ``InvalidDataError`` for the offsets of any.
    """
    rows = leaf.num_rows // len(descriptors)
    writer = _ChunkWriter(leaf, options, column, arena, 1, 0)
    limits = writer.limits._replace(boundaries=frozen(np.arange(rows, leaf.num_rows, rows)))
    pages = writer.paginate(limits)
    if len(pages) != len(descriptors):
        return None
    segments = writer.encode(pages, 1, column.encoding, ENCODERS[column.encoding][0], leaf)
    (framed,) = writer.frame(segments)
    (data, *_), *others = framed.parts
    if others:
        return None
    table = pages.table
    uncompressed = (table[:-1, END] - table[:-1, HEADER]).tolist()
    compressed = (table[:-1, STORED_END] - table[:-1, HEADER]).tolist()
    value_bytes = table[:-1, VALUE_BYTES].tolist()
    table[:, ROW] = 0  # each page is the first of its column chunk
    encodings = _kept_encodings(options.data_page_version, False, ((column.encoding, 1),))
    chunks = []
    for k, sizes in enumerate(zip(uncompressed, compressed, value_bytes, strict=True)):
        page = Pages(table[k : k + 2])
        alone = FramedPages([PageBytes(data, page, sizes[1])], *sizes)
        of_column = _ChunkWriter(leaf._replace(descriptor=descriptors[k]), options, column, arena, 1, 0)
        chunks.append(of_column.fold(page, alone, encodings))
    return chunks


@dataclass(slots=True)
class _ChunkWriter:
    leaf: LeafColumn
    options: WriterOptions
    column: ColumnOptions
    arena: Arena
    threads: int
    first_row: int

    @property
    def limits(self) -> PageLimits:
        options = self.options
        limits = PageLimits(options.max_rows_per_page, options.max_values_per_page, options.data_page_size)
        boundaries = self.column.page_boundaries
        if boundaries is None:
            return limits
        first, end = np.searchsorted(boundaries, [self.first_row, self.first_row + self.leaf.num_rows])
        return limits._replace(boundaries=frozen(boundaries[first:end] - self.first_row))

    @property
    def format(self) -> PageFormat:
        name, level = self.column.codec_name, self.column.compression_level
        codec = make_compression(name, level) if name else None
        return PageFormat(self.options.data_page_version, codec, self.options.write_page_checksum)

    def segments(self) -> tuple[Dictionary | None, list[_Segment]]:
        """The dictionary, if one pays, and the pages."""
        leaf = self.leaf
        dictionary = None
        segments: list[_Segment] = []
        mark = self.arena.mark()
        if leaf.dictionary is not None:
            dictionary = dictionary_encoding.recode(leaf, self.arena)
        elif self.column.use_dictionary:
            limit, promised = self.options.dictionary_pagesize_limit, self.column.dictionary_pays
            dictionary = dictionary_encoding.build(leaf, limit, self.arena, promised, self.threads)
        if dictionary is not None:
            segments = self.dictionary_segments(dictionary)
            if not segments:
                dictionary = None
        if dictionary is None:  # what was taken to look for one
            self.arena.give_back(mark)
        done = segments[-1].pages if segments else None
        if done is None or done.end(ROW) < leaf.num_rows:
            variable = leaf.descriptor.leaf.storage is Storage.BYTE_ARRAYS
            pages = self.paginate(self.limits, done)
            bits = plain.value_bits(leaf) + (8 * AVERAGE_LENGTH if variable else 0)
            encoding = self.column.encoding
            segments += self.encode(pages, self.parts(pages, bits), encoding, ENCODERS[encoding][0], leaf)
        return dictionary, segments

    def paginate(self, limits: PageLimits, after: Pages | None = None) -> Pages:
        """The pages of the column's own encoding: from the end of others on, or all.

        Other encodings are taken to need what PLAIN does; but for headers and filled-up blocks, none needs more.
        """
        leaf = self.leaf
        variable = leaf.descriptor.leaf.storage is Storage.BYTE_ARRAYS
        overhead = LENGTH_PREFIX + hybrid_overhead(1) if self.column.encoding is Encoding.RLE else 0
        return paginate(leaf, limits, plain.value_bits(leaf), variable, after, overhead=overhead)

    def dictionary_segments(self, dictionary: Dictionary) -> list[_Segment]:
        """The pages whose values are all in the dictionary; none if it does not pay."""
        leaf = self.leaf
        bits = dictionary_encoding.index_bits(dictionary)
        overhead = 1 + hybrid_overhead(bits)  # the first byte is the width
        pages = paginate(leaf, self.limits, bits, False, None, dictionary.num_values, overhead)
        if len(pages) == 0:
            return []
        segments = self.encode(
            pages, self.parts(pages, bits), Encoding.RLE_DICTIONARY, dictionary_encoding.encode, leaf, dictionary
        )
        encoded = [segment.pages for segment in segments]
        if leaf.dictionary is not None or dictionary_encoding.pays(leaf, dictionary, encoded):
            return segments
        return []

    def parts(self, pages: Pages, bits: int) -> int:
        """Threads that the pages are shared among, whose values have ``bits`` bits each."""
        if self.threads == 1:
            return 1
        size = pages.total(VALUE) * bits // 8 + (0 if self.column.codec_name else SLOT_BYTES * pages.total(SLOT))
        if size < SHARED_BYTES.get(self.column.codec_name, SHARED_BYTES_OTHERWISE):
            return 1
        return max(min(self.threads, len(pages) // PAGES_PER_THREAD), 1)

    def encode(
        self, pages: Pages, parts: int, encoding: Encoding, encode_values: Callable[..., Bytes], *source: Any
    ) -> list[_Segment]:
        """Levels and values of the pages in so many parts, each a segment of its own, that threads encode."""

        def encode(some: Pages) -> _Segment:
            levels = encode_levels(self.leaf, some, self.arena)
            room = levels.size + LEAD * len(some)
            data = encode_values(*source, some, room, self.column.write_statistics, self.arena)
            return _Segment(some, levels, encoding, data)

        return [encode(pages)] if parts == 1 else side_by_side(encode, pages.split(parts), self.threads)

    def frame(self, segments: list[_Segment]) -> list[FramedPages]:
        """The pages of each segment as they stand in the file."""
        path, form = self.leaf.descriptor.dotted_path, self.format

        def framed(segment: _Segment) -> FramedPages:
            return frame(path, *segment, form)

        return side_by_side(framed, segments, self.threads if form.codec or form.checksums else 1)

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

    def fold(
        self,
        pages: Pages,
        framed: FramedPages,
        encodings: _Encodings,
        dictionary_page_size: int = 0,
        distinct: Dictionary | None = None,
        bloom_filter: BloomFilter | None = None,
    ) -> EncodedChunk:
        """The column chunk: what is said of all pages, and of each in the column index.

        ``framed``: all parts of the chunk. ``distinct``: a dictionary that has each value of the chunk once.
        """
        leaf, options, column = self.leaf, self.options, self.column
        kind = leaf.descriptor.leaf
        level = column.size_statistics_level
        histograms = NO_HISTOGRAMS if level is SizeStatisticsLevel.NONE else count_levels(leaf, pages, self.arena)
        num_levels = pages.total(LEVEL)
        statistics = index = None
        if column.write_statistics:
            order = kind.order
            nan_count = pages.sum(NAN_COUNT) if order is Order.FLOAT else None
            distinct_count = least = greatest = None
            if distinct is not None:
                distinct_count = dictionary_encoding.distinct_count(distinct, nan_count)
            if order is not Order.UNDEFINED:
                limits = BoundLengths(options.statistics_truncate_length, options.column_index_truncate_length)
                bounds = page_bounds(leaf.dictionary or leaf, pages, limits)
                least, greatest = bounds.least, bounds.greatest
                if column.write_page_index:
                    per_page = NO_HISTOGRAMS if level is not SizeStatisticsLevel.PAGE_AND_COLUMN_CHUNK else histograms
                    index = column_index(pages, bounds, per_page, order is Order.FLOAT, self.arena)
            statistics = chunk_statistics(num_levels - pages.total(VALUE), distinct_count, least, greatest, nan_count)
        sizes = None
        if level is not SizeStatisticsLevel.NONE:
            value_bytes = framed.value_bytes if kind.storage is Storage.BYTE_ARRAYS else None
            sizes = size_statistics(value_bytes, histograms.chunk_repetition, histograms.chunk_definition)
        return EncodedChunk(
            descriptor=leaf.descriptor,
            options=column,
            parts=framed.parts,
            dictionary_page_size=dictionary_page_size,
            pages=pages,
            num_values=num_levels,
            uncompressed_size=framed.uncompressed_size,
            compressed_size=framed.compressed_size,
            encodings=encodings,
            statistics=statistics,
            size_statistics=sizes,
            column_index=index,
            bloom_filter=bloom_filter,
        )


def _encodings(options: WriterOptions, dictionary: Dictionary | None, segments: list[_Segment]) -> _Encodings:
    counts: dict[Encoding, int] = {}
    for segment in segments:
        counts[segment.encoding] = counts.get(segment.encoding, 0) + len(segment.pages)
    return _kept_encodings(options.data_page_version, dictionary is not None, tuple(counts.items()))


@lru_cache(maxsize=1024)
def _kept_encodings(
    data_page_version: int, has_dictionary: bool, counts: tuple[tuple[Encoding, int], ...]
) -> _Encodings:
    """Kept, as columns have few: thousands of them would keep the garbage collector busy. Levels are RLE."""
    data_page = PageType.DATA_PAGE if data_page_version == 1 else PageType.DATA_PAGE_V2
    stats = [PageEncodingStats(PageType.DICTIONARY_PAGE, Encoding.PLAIN, 1)] if has_dictionary else []
    stats += [PageEncodingStats(data_page, encoding, count) for encoding, count in counts]
    return _Encodings(tuple(sorted({each.encoding for each in stats} | {Encoding.RLE})), tuple(stats))


def _joined(segments: list[_Segment]) -> Pages:
    """The page table of all segments, of which each starts where the one before ends."""
    if len(segments) == 1:
        return segments[0].pages
    tables = [segment.pages.table[:-1] for segment in segments]
    return Pages(np.concatenate([*tables, segments[-1].pages.table[-1:]]))
