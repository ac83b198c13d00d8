"""Writer options: what holds for a file, and for each of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from colwriter.errors import InvalidOptionError
from colwriter.leaf_types import TypeOptions
from colwriter.metadata import CompressionCodec, Encoding, SortingColumn, Type

__all__ = [
    "AUTO",
    "CODECS",
    "DEFAULT_FPP",
    "UNLIMITED",
    "BloomFilterOptions",
    "ColumnOptions",
    "EncodingGoal",
    "PerColumn",
    "SizeStatisticsLevel",
    "WriterOptions",
]

T = TypeVar("T")

UNLIMITED = 1 << 62
DEFAULT_FPP = 0.05


class SizeStatisticsLevel(Enum):
    """Which size statistics a file carries (parquet.thrift, ``SizeStatistics``)."""

    NONE = "None"
    COLUMN_CHUNK = "ColumnChunk"
    PAGE_AND_COLUMN_CHUNK = "PageAndColumnChunk"

    @classmethod
    def parse(cls, value: object) -> SizeStatisticsLevel:
        """The level of that name; case and underscores do not matter, and ``None`` is the level of that name."""
        if isinstance(value, cls):
            return value
        name = str(value).replace("_", "").lower() if value is None or isinstance(value, str) else ""
        for level in cls:
            if level.value.lower() == name:
                return level
        allowed = ", ".join(repr(level.value) for level in cls)
        raise InvalidOptionError(f"size_statistics_level: expected one of {allowed}, found {value!r}")


class EncodingGoal(Enum):
    """What encodings that are chosen from the data are chosen for (``colwriter.encoding_choice``)."""

    SIZE = "size"
    BALANCED = "balanced"
    SPEED = "speed"


class BloomFilterOptions(NamedTuple):
    """Number of distinct values (None: as many as there are) for which a filter has a false positive probability."""

    ndv: int | None = None
    fpp: float = DEFAULT_FPP


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """What holds for one leaf column.

    With an ``encoding_goal``, encodings are chosen from the data: ``encoding`` is that of a column without values, and
    ``use_dictionary`` says whether a dictionary may be chosen. Without, they are the encodings. ``dictionary_pays``:
    so it was chosen, and is not looked into again.
    """

    codec: CompressionCodec
    codec_name: str
    compression_level: int | None
    use_dictionary: bool
    encoding: Encoding
    write_statistics: bool
    write_page_index: bool
    size_statistics_level: SizeStatisticsLevel
    bloom_filter: BloomFilterOptions | None = None
    encoding_goal: EncodingGoal | None = None
    dictionary_pays: bool = False
    page_boundaries: NDArray[np.int64] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PerColumn(Generic[T]):
    """A default, and other values for some columns. A name stands for the leaf of that dotted path, or all below it."""

    option: str
    default: T
    by_path: Mapping[str, T]

    def resolve(self, path: str) -> T:
        """The value for the leaf ``path``: that of the longest name that is the path or its ancestor."""
        name = path
        while name:
            if name in self.by_path:
                return self.by_path[name]
            name = name.rpartition(".")[0]
        return self.default

    def check_names(self, paths: Iterable[str]) -> None:
        """Every name must stand for a leaf; a typing error must not silently turn an option off."""
        if not self.by_path:
            return
        known = set()
        for path in paths:
            while path:
                known.add(path)
                path = path.rpartition(".")[0]
        for name in self.by_path:
            if name not in known:
                raise InvalidOptionError(
                    f"{name}: {self.option} names a column that is not in the schema; "
                    f"columns: {', '.join(sorted(known))}"
                )


CODECS = {
    "none": (CompressionCodec.UNCOMPRESSED, ""),
    "uncompressed": (CompressionCodec.UNCOMPRESSED, ""),
    "snappy": (CompressionCodec.SNAPPY, "snappy"),
    "gzip": (CompressionCodec.GZIP, "gzip"),
    "brotli": (CompressionCodec.BROTLI, "brotli"),
    "lz4": (CompressionCodec.LZ4_RAW, "lz4_raw"),
    "lz4_raw": (CompressionCodec.LZ4_RAW, "lz4_raw"),
    "zstd": (CompressionCodec.ZSTD, "zstd"),
}

# What an encoding is that is chosen from the data.
AUTO: Literal["AUTO"] = "AUTO"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WriterOptions:
    """The options of one file, which ``keywords.read_options`` makes of what the public functions take.

    Each is equal to itself alone: what is worked out from options is kept for the same keywords, not for the like of
    them.
    """

    row_group_size: int
    max_row_group_bytes: int
    max_row_group_decoded_bytes: int
    data_page_size: int
    data_page_version: int
    max_rows_per_page: int
    max_values_per_page: int
    dictionary_pagesize_limit: int
    store_schema: bool
    write_page_checksum: bool
    use_compliant_nested_type: bool
    sorting_columns: tuple[SortingColumn, ...] | None
    statistics_truncate_length: int
    column_index_truncate_length: int
    types: TypeOptions
    flavor: str | None
    max_threads: int
    codec: PerColumn[str]
    level: PerColumn[int | None]
    dictionary: PerColumn[bool]
    encoding: PerColumn[Encoding | Literal["AUTO"] | None]
    goal: PerColumn[EncodingGoal]
    byte_stream_split: PerColumn[bool]
    statistics: PerColumn[bool]
    page_index: PerColumn[bool]
    size_statistics: PerColumn[SizeStatisticsLevel] = field(repr=False)
    bloom_filter: PerColumn[BloomFilterOptions | None]
    page_boundaries: PerColumn[NDArray[np.int64] | None]

    def check_names(self, paths: Sequence[str]) -> None:
        """Raise ``InvalidOptionError`` where an option names a column that is not among the leaves ``paths``."""
        for value in self._per_column:
            value.check_names(paths)
        for key in self.sorting_columns or ():
            if not 0 <= key.column_idx < len(paths):
                raise InvalidOptionError(
                    f"sorting_columns: column_idx must be one of the {len(paths)} leaf columns, found {key.column_idx}"
                )

    def check_types(self, types: Mapping[str, Type]) -> None:
        """Raise ``InvalidOptionError`` where an option names a leaf, of this path and type, that it cannot hold for."""
        for name, bloom_filter in self.bloom_filter.by_path.items():
            if bloom_filter and types.get(name) is Type.BOOLEAN:
                raise InvalidOptionError(
                    f"{name}: bloom_filter_options: expected a column of another type than BOOLEAN, which is what it is"
                )

    @property
    def _per_column(self) -> tuple[PerColumn[Any], ...]:
        return (
            *(self.codec, self.level, self.dictionary, self.encoding, self.byte_stream_split),
            *(self.statistics, self.page_index, self.size_statistics, self.bloom_filter),
            *(self.goal, self.page_boundaries),
        )

    def resolve_all(self, paths: Sequence[str]) -> list[ColumnOptions]:
        """What holds for each of the leaf columns ``paths``."""
        if paths and not any(option.by_path for option in self._per_column):
            return [self.resolve(paths[0])] * len(paths)
        return [self.resolve(path) for path in paths]

    def resolve(self, path: str) -> ColumnOptions:
        """What holds for the leaf column ``path``."""
        codec, name = CODECS[self.codec.resolve(path)]
        use_dictionary = self.dictionary.resolve(path)
        goal, encoding = None, self.encoding.resolve(path)
        split = self.byte_stream_split.resolve(path)
        if encoding == AUTO:
            if split:
                raise InvalidOptionError(
                    f"{path}: column_encoding is 'auto', and use_byte_stream_split asks for 'BYTE_STREAM_SPLIT'"
                )
            goal, encoding = self.goal.resolve(path), None
        if encoding is not None and use_dictionary:
            raise InvalidOptionError(
                f"{path}: column_encoding is {encoding.name!r}, and use_dictionary asks for a dictionary"
            )
        if split and not use_dictionary:  # a dictionary goes before, as in pyarrow
            if encoding not in (None, Encoding.BYTE_STREAM_SPLIT):
                raise InvalidOptionError(
                    f"{path}: column_encoding is {encoding.name!r}, and use_byte_stream_split asks for "
                    "'BYTE_STREAM_SPLIT'"
                )
            encoding = Encoding.BYTE_STREAM_SPLIT
        return ColumnOptions(
            codec=codec,
            codec_name=name,
            compression_level=self.level.resolve(path) if name else None,
            use_dictionary=use_dictionary,
            encoding=Encoding.PLAIN if encoding is None else encoding,
            write_statistics=self.statistics.resolve(path),
            write_page_index=self.page_index.resolve(path),
            size_statistics_level=self.size_statistics.resolve(path),
            bloom_filter=self.bloom_filter.resolve(path),
            encoding_goal=goal,
            page_boundaries=self.page_boundaries.resolve(path),
        )
