"""The Thrift structs of a Parquet file as frozen dataclasses.

Names, field ids and types are those of ``parquet.thrift`` in apache/parquet-format; ``Annotated[type, id]``
declares a field, and one whose type allows None is optional. Reading keeps an enum value that is not known
here as a plain int, and drops a struct field that is not known here.
"""

# ruff: noqa: N815 - the names are the specification's

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from colwriter.parquet_types import BoundaryOrder as BoundaryOrder
from colwriter.parquet_types import CompressionCodec as CompressionCodec
from colwriter.parquet_types import ConvertedType as ConvertedType
from colwriter.parquet_types import DecimalType as DecimalType
from colwriter.parquet_types import EdgeInterpolationAlgorithm as EdgeInterpolationAlgorithm
from colwriter.parquet_types import Empty as Empty
from colwriter.parquet_types import Encoding as Encoding
from colwriter.parquet_types import FieldRepetitionType as FieldRepetitionType
from colwriter.parquet_types import GeographyType as GeographyType
from colwriter.parquet_types import GeometryType as GeometryType
from colwriter.parquet_types import IntType as IntType
from colwriter.parquet_types import Leaf as Leaf
from colwriter.parquet_types import LogicalType as LogicalType
from colwriter.parquet_types import PageType as PageType
from colwriter.parquet_types import SchemaElement as SchemaElement
from colwriter.parquet_types import TimestampType as TimestampType
from colwriter.parquet_types import TimeType as TimeType
from colwriter.parquet_types import TimeUnit as TimeUnit
from colwriter.parquet_types import Type as Type
from colwriter.parquet_types import VariantType as VariantType
from colwriter.parquet_types import leaf_levels as leaf_levels
from colwriter.thrift_types import I16, I32, I64, Converted, ThriftUnion


def _int64_array(values: list[int]) -> npt.NDArray[np.int64] | None:
    return np.array(values, dtype=np.int64) if values else None


def _counts(values: list[int]) -> tuple[int, ...] | None:
    return tuple(values) or None


# An empty list says as little as none; parquet-cpp writes one for the histogram of a level that is always 0.
Histogram = Annotated[tuple[int, ...], Converted(tuple[I64, ...], _counts)]
# One or more numbers a page, of which there may be very many.
Int64Array = Annotated[npt.NDArray[np.int64], Converted(tuple[I64, ...], _int64_array)]


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right)


def _equal(left: Any, right: object) -> bool:
    """Equality of two dataclasses that hold arrays."""
    names = [field.name for field in fields(left)]
    return type(left) is type(right) and all(_same(getattr(left, n), getattr(right, n)) for n in names)


@dataclass(frozen=True, slots=True)
class SizeStatistics:
    """Size of a column chunk once decoded; item i of a histogram counts the values of level i."""

    unencoded_byte_array_data_bytes: Annotated[I64 | None, 1] = None
    repetition_level_histogram: Annotated[Histogram | None, 2] = None
    definition_level_histogram: Annotated[Histogram | None, 3] = None


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """Smallest and largest coordinates of the shapes in a GEOMETRY or GEOGRAPHY column."""

    xmin: Annotated[float, 1]
    xmax: Annotated[float, 2]
    ymin: Annotated[float, 3]
    ymax: Annotated[float, 4]
    zmin: Annotated[float | None, 5] = None
    zmax: Annotated[float | None, 6] = None
    mmin: Annotated[float | None, 7] = None
    mmax: Annotated[float | None, 8] = None


@dataclass(frozen=True, slots=True)
class GeospatialStatistics:
    """Bounding box and the WKB type codes of the shapes in a column chunk."""

    bbox: Annotated[BoundingBox | None, 1] = None
    geospatial_types: Annotated[tuple[I32, ...] | None, 2] = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Bounds (PLAIN, byte arrays without length) and counts of a page or column chunk; None: not known."""

    max: Annotated[bytes | None, 1] = None
    min: Annotated[bytes | None, 2] = None
    null_count: Annotated[I64 | None, 3] = None
    distinct_count: Annotated[I64 | None, 4] = None
    max_value: Annotated[bytes | None, 5] = None
    min_value: Annotated[bytes | None, 6] = None
    is_max_value_exact: Annotated[bool | None, 7] = None
    is_min_value_exact: Annotated[bool | None, 8] = None
    nan_count: Annotated[I64 | None, 9] = None


@dataclass(frozen=True, slots=True)
class DataPageHeader:
    """Header of a DATA_PAGE; num_values counts nulls too."""

    num_values: Annotated[I32, 1]
    encoding: Annotated[Encoding, 2]
    definition_level_encoding: Annotated[Encoding, 3]
    repetition_level_encoding: Annotated[Encoding, 4]
    statistics: Annotated[Statistics | None, 5] = None


@dataclass(frozen=True, slots=True)
class DictionaryPageHeader:
    """Header of a DICTIONARY_PAGE."""

    num_values: Annotated[I32, 1]
    encoding: Annotated[Encoding, 2]
    is_sorted: Annotated[bool | None, 3] = None


@dataclass(frozen=True, slots=True)
class DataPageHeaderV2:
    """Header of a DATA_PAGE_V2; is_compressed None means true, and levels are never compressed."""

    num_values: Annotated[I32, 1]
    num_nulls: Annotated[I32, 2]
    num_rows: Annotated[I32, 3]
    encoding: Annotated[Encoding, 4]
    definition_levels_byte_length: Annotated[I32, 5]
    repetition_levels_byte_length: Annotated[I32, 6]
    is_compressed: Annotated[bool | None, 7] = None
    statistics: Annotated[Statistics | None, 8] = None


@dataclass(frozen=True, slots=True)
class PageHeader:
    """What precedes a page. Sizes are in bytes, without this header; crc is the page's CRC-32 as an i32."""

    type: Annotated[PageType, 1]
    uncompressed_page_size: Annotated[I32, 2]
    compressed_page_size: Annotated[I32, 3]
    crc: Annotated[I32 | None, 4] = None
    data_page_header: Annotated[DataPageHeader | None, 5] = None
    index_page_header: Annotated[Empty | None, 6] = None
    dictionary_page_header: Annotated[DictionaryPageHeader | None, 7] = None
    data_page_header_v2: Annotated[DataPageHeaderV2 | None, 8] = None


@dataclass(frozen=True, slots=True, repr=False)
class BloomFilterAlgorithm(ThriftUnion):
    """How a value sets bits."""

    BLOCK: Annotated[Empty | None, 1] = None


@dataclass(frozen=True, slots=True, repr=False)
class BloomFilterHash(ThriftUnion):
    """Hash of the PLAIN value."""

    XXHASH: Annotated[Empty | None, 1] = None


@dataclass(frozen=True, slots=True, repr=False)
class BloomFilterCompression(ThriftUnion):
    """Compression of the bitset."""

    UNCOMPRESSED: Annotated[Empty | None, 1] = None


@dataclass(frozen=True, slots=True)
class BloomFilterHeader:
    """What precedes the bitset of a Bloom filter."""

    numBytes: Annotated[I32, 1]
    algorithm: Annotated[BloomFilterAlgorithm, 2]
    hash: Annotated[BloomFilterHash, 3]
    compression: Annotated[BloomFilterCompression, 4]


@dataclass(frozen=True, slots=True)
class KeyValue:
    """Metadata of the application."""

    key: Annotated[str, 1]
    value: Annotated[str | None, 2] = None


@dataclass(frozen=True, slots=True)
class SortingColumn:
    """One key of the order of rows in a row group; column_idx counts leaves."""

    column_idx: Annotated[I32, 1]
    descending: Annotated[bool, 2]
    nulls_first: Annotated[bool, 3]


@dataclass(frozen=True, slots=True)
class PageEncodingStats:
    """Number of pages of one type and encoding in a column chunk."""

    page_type: Annotated[PageType, 1]
    encoding: Annotated[Encoding, 2]
    count: Annotated[I32, 3]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMetaData:
    """A column chunk. Sizes are in bytes, with page headers and dictionary page; offsets are the file's."""

    type: Annotated[Type, 1]
    encodings: Annotated[tuple[Encoding, ...], 2]
    path_in_schema: Annotated[tuple[str, ...], 3]
    codec: Annotated[CompressionCodec, 4]
    num_values: Annotated[I64, 5]
    total_uncompressed_size: Annotated[I64, 6]
    total_compressed_size: Annotated[I64, 7]
    key_value_metadata: Annotated[tuple[KeyValue, ...] | None, 8] = None
    data_page_offset: Annotated[I64, 9]
    index_page_offset: Annotated[I64 | None, 10] = None
    dictionary_page_offset: Annotated[I64 | None, 11] = None
    statistics: Annotated[Statistics | None, 12] = None
    encoding_stats: Annotated[tuple[PageEncodingStats, ...] | None, 13] = None
    bloom_filter_offset: Annotated[I64 | None, 14] = None
    bloom_filter_length: Annotated[I32 | None, 15] = None
    size_statistics: Annotated[SizeStatistics | None, 16] = None
    geospatial_statistics: Annotated[GeospatialStatistics | None, 17] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChunk:
    """A column chunk and where its page index lies. Reading keeps only the presence of crypto_metadata."""

    file_path: Annotated[str | None, 1] = None
    file_offset: Annotated[I64, 2] = 0
    meta_data: Annotated[ColumnMetaData | None, 3] = None
    offset_index_offset: Annotated[I64 | None, 4] = None
    offset_index_length: Annotated[I32 | None, 5] = None
    column_index_offset: Annotated[I64 | None, 6] = None
    column_index_length: Annotated[I32 | None, 7] = None
    crypto_metadata: Annotated[Empty | None, 8] = None


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The column chunks of a range of rows, in schema order; total_byte_size is uncompressed."""

    columns: Annotated[tuple[ColumnChunk, ...], 1]
    total_byte_size: Annotated[I64, 2]
    num_rows: Annotated[I64, 3]
    sorting_columns: Annotated[tuple[SortingColumn, ...] | None, 4] = None
    file_offset: Annotated[I64 | None, 5] = None
    total_compressed_size: Annotated[I64 | None, 6] = None
    ordinal: Annotated[I16 | None, 7] = None


@dataclass(frozen=True, slots=True, repr=False)
class ColumnOrder(ThriftUnion):
    """The order that min and max values of a leaf are taken in."""

    TYPE_ORDER: Annotated[Empty | None, 1] = None
    IEEE_754_TOTAL_ORDER: Annotated[Empty | None, 2] = None
    INT96_TIMESTAMP_ORDER: Annotated[Empty | None, 3] = None


@dataclass(frozen=True, slots=True)
class FileMetaData:
    """The footer."""

    version: Annotated[I32, 1]
    schema: Annotated[tuple[SchemaElement, ...], 2]
    num_rows: Annotated[I64, 3]
    row_groups: Annotated[tuple[RowGroup, ...], 4]
    key_value_metadata: Annotated[tuple[KeyValue, ...] | None, 5] = None
    created_by: Annotated[str | None, 6] = None
    column_orders: Annotated[tuple[ColumnOrder, ...] | None, 7] = None

    def with_file_path(self, path: str) -> FileMetaData:
        """The same footer with ``path`` as the file of each column chunk, relative to the file that will name it."""
        groups = (
            replace(group, columns=tuple(replace(column, file_path=path) for column in group.columns))
            for group in self.row_groups
        )
        return replace(self, row_groups=tuple(groups))


@dataclass(frozen=True, slots=True)
class PageLocation:
    """Where a data page lies: offset in the file, bytes with its header, its first row in the row group."""

    offset: Annotated[I64, 1]
    compressed_page_size: Annotated[I32, 2]
    first_row_index: Annotated[I64, 3]


@dataclass(frozen=True, slots=True)
class OffsetIndex:
    """Where the data pages of a column chunk lie, and how many bytes the BYTE_ARRAY values of each have."""

    page_locations: Annotated[tuple[PageLocation, ...], 1]
    unencoded_byte_array_data_bytes: Annotated[Int64Array | None, 2] = None

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """Statistics of the data pages of a column chunk, one item a page.

    A histogram is int64 of shape (number of pages, maximum level + 1), which ``read_page_index`` gives it;
    the file and so ``decode`` have it flat, page after page, and ``encode`` takes both.
    """

    null_pages: Annotated[tuple[bool, ...], 1]
    min_values: Annotated[tuple[bytes, ...], 2]
    max_values: Annotated[tuple[bytes, ...], 3]
    boundary_order: Annotated[BoundaryOrder, 4]
    null_counts: Annotated[Int64Array | None, 5] = None
    repetition_level_histograms: Annotated[Int64Array | None, 6] = None
    definition_level_histograms: Annotated[Int64Array | None, 7] = None
    nan_counts: Annotated[Int64Array | None, 8] = None

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)
