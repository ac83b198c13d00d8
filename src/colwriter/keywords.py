"""The keywords of the public functions, which have pyarrow's names and meanings: checked once a file."""

from __future__ import annotations

import difflib
import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from colwriter.errors import InvalidOptionError
from colwriter.leaf_types import TypeOptions
from colwriter.metadata import Encoding, SortingColumn
from colwriter.options import (
    AUTO,
    CODECS,
    DEFAULT_FPP,
    UNLIMITED,
    BloomFilterOptions,
    EncodingGoal,
    PerColumn,
    SizeStatisticsLevel,
    WriterOptions,
)
from colwriter.parallel import available_threads

__all__ = ["parse_bool", "read_options"]

T = TypeVar("T")

DEFAULT_ROW_GROUP_SIZE = 1 << 20
DEFAULT_PAGE_SIZE = 1 << 20
DEFAULT_DICTIONARY_SIZE = 1 << 20
DEFAULT_PAGE_ROWS = 20_000
DEFAULT_TRUNCATE_LENGTH = 64
# Page headers count values in an int32 (parquet.thrift, DataPageHeader).
MAX_PAGE_VALUES = (1 << 31) - 1
# Page sizes are int32 in the page header; a page is cut well before (parquet.thrift, PageHeader).
MAX_PAGE_SIZE = 1 << 30

# The values of column_encoding, besides "auto".
_ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        *(Encoding.PLAIN, Encoding.DELTA_BINARY_PACKED, Encoding.DELTA_LENGTH_BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY),
        *(Encoding.BYTE_STREAM_SPLIT, Encoding.RLE),
    )
}

# Options of pyarrow that cannot be set yet, with the values that are accepted; they all mean the same here.
_FIXED: dict[str, tuple[Any, ...]] = {
    "encryption_properties": (None,),
    "use_content_defined_chunking": (False,),
    "writer_engine_version": (None, "V1", "V2"),
}


def _names(option: str, value: object) -> PerColumn[bool]:
    if isinstance(value, bool | np.bool_):
        return PerColumn(option, bool(value), {})
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and all(isinstance(v, str) for v in value):
        return PerColumn(option, False, dict.fromkeys(value, True))
    raise InvalidOptionError(f"{option}: expected a bool or a list of column names, found {value!r}")


def _per_column(option: str, value: object, default: T, parse: Callable[[object], T]) -> PerColumn[T]:
    if isinstance(value, Mapping):
        return PerColumn(option, default, {str(name): _of_column(str(name), parse, v) for name, v in value.items()})
    return PerColumn(option, parse(value), {})


def _of_column(name: str, parse: Callable[[object], T], value: object) -> T:
    try:
        return parse(value)
    except InvalidOptionError as error:
        raise InvalidOptionError(f"{name}: {error}") from None


def _parse_codec(value: object) -> str:
    name = "none" if value is None else value
    if isinstance(name, str) and name.lower() in CODECS:
        return name.lower()
    raise InvalidOptionError(f"compression: expected one of {', '.join(CODECS)}, found {value!r}")


def _parse_level(value: object) -> int | None:
    return None if value is None else _integer("compression_level", value, "an integer")


def _parse_encoding(value: object) -> Encoding | Literal["AUTO"]:
    # RLE_DICTIONARY is asked for by use_dictionary, as in pyarrow.
    name = value.upper() if isinstance(value, str) else ""
    if name == AUTO:
        return AUTO
    if name in _ENCODINGS:
        return _ENCODINGS[name]
    raise InvalidOptionError(
        f"column_encoding: expected one of {', '.join(map(repr, _ENCODINGS))} or 'auto' (the dictionary encoding is "
        f"asked for by use_dictionary), found {value!r}"
    )


def _parse_goal(value: object) -> EncodingGoal:
    for goal in EncodingGoal:
        if value == goal.value:
            return goal
    allowed = ", ".join(repr(goal.value) for goal in EncodingGoal)
    raise InvalidOptionError(f"encoding_goal: expected one of {allowed}, found {value!r}")


def _parse_version(value: object) -> int:
    if value in ("1.0", "2.0"):
        return 1 if value == "1.0" else 2
    raise InvalidOptionError(f"data_page_version: expected '1.0' or '2.0', found {value!r}")


def _one_of(option: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if any(type(value) is type(choice) and value == choice for choice in allowed):
        return value
    raise InvalidOptionError(f"{option}: expected {' or '.join(map(repr, allowed))}, found {value!r}")


def _positive(option: str, value: object, default: int, largest: int = UNLIMITED) -> int:
    if value is None:
        return default
    number = _integer(option, value, "an integer of at least 1")
    if number < 1:
        raise InvalidOptionError(f"{option}: expected an integer of at least 1, found {value!r}")
    return min(number, largest)


def _integer(option: str, value: Any, expected: str) -> int:
    if not isinstance(value, bool):
        with suppress(TypeError):
            return operator.index(value)
    raise InvalidOptionError(f"{option}: expected {expected}, found {value!r}")


def parse_bool(option: str, value: object) -> bool:
    """A bool, of Python or NumPy; what is merely true, as "no" is, is refused with ``InvalidOptionError``."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidOptionError(f"{option}: expected True or False, found {value!r}")


def read_options(**keywords: object) -> WriterOptions:
    """Read the keywords of ``write_table``, which have pyarrow's names; raises ``InvalidOptionError``."""
    # Reading them takes longer than writing a small column. True and 1 are equal, but not the same option.
    key = tuple((name, type(value), value) for name, value in keywords.items())
    try:
        hash(key)
    except TypeError:
        return _read(**keywords)  # type: ignore[arg-type]
    return _read_key(key)


def _read(
    *,
    size_statistics_level: object = SizeStatisticsLevel.PAGE_AND_COLUMN_CHUNK,
    row_group_size: object = None,
    max_row_group_bytes: object = None,
    max_row_group_decoded_bytes: object = None,
    use_dictionary: object = True,
    compression: object = "snappy",
    compression_level: object = None,
    write_statistics: object = True,
    column_encoding: object = None,
    encoding_goal: object = EncodingGoal.BALANCED.value,
    use_byte_stream_split: object = False,
    data_page_size: object = None,
    data_page_version: object = "1.0",
    max_rows_per_page: object = None,
    max_values_per_page: object = None,
    page_boundaries: object = None,
    write_batch_size: object = None,
    dictionary_pagesize_limit: object = None,
    store_schema: bool = True,
    write_page_index: object = True,
    write_page_checksum: bool = False,
    sorting_columns: Sequence[Any] | None = None,
    statistics_truncate_length: object = DEFAULT_TRUNCATE_LENGTH,
    column_index_truncate_length: object = DEFAULT_TRUNCATE_LENGTH,
    use_compliant_nested_type: bool = True,
    use_threads: bool = True,
    max_threads: object = None,
    version: object = "2.6",
    coerce_timestamps: object = None,
    allow_truncated_timestamps: object = False,
    use_deprecated_int96_timestamps: object = None,
    flavor: object = None,
    store_decimal_as_integer: object = False,
    write_time_adjusted_to_utc: object = False,
    bloom_filter_options: object = None,
    float_column_order: object = "TYPE_ORDER",
    **others: object,
) -> WriterOptions:
    _check_others(others)
    _positive("write_batch_size", write_batch_size, 1)  # pyarrow works in batches of it; here it has no effect
    encoding: PerColumn[Encoding | Literal["AUTO"] | None] = PerColumn("column_encoding", None, {})
    if column_encoding is not None:
        encoding = _per_column("column_encoding", column_encoding, None, _parse_encoding)
    return WriterOptions(
        row_group_size=_positive("row_group_size", row_group_size, DEFAULT_ROW_GROUP_SIZE),
        max_row_group_bytes=_positive("max_row_group_bytes", max_row_group_bytes, UNLIMITED),
        max_row_group_decoded_bytes=_positive("max_row_group_decoded_bytes", max_row_group_decoded_bytes, UNLIMITED),
        data_page_size=_positive("data_page_size", data_page_size, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE),
        data_page_version=_parse_version(data_page_version),
        max_rows_per_page=_positive("max_rows_per_page", max_rows_per_page, DEFAULT_PAGE_ROWS),
        max_values_per_page=_positive("max_values_per_page", max_values_per_page, MAX_PAGE_VALUES, MAX_PAGE_VALUES),
        dictionary_pagesize_limit=_positive(
            "dictionary_pagesize_limit", dictionary_pagesize_limit, DEFAULT_DICTIONARY_SIZE, MAX_PAGE_SIZE
        ),
        store_schema=parse_bool("store_schema", store_schema),
        write_page_checksum=parse_bool("write_page_checksum", write_page_checksum),
        use_compliant_nested_type=parse_bool("use_compliant_nested_type", use_compliant_nested_type),
        sorting_columns=_parse_sorting(sorting_columns),
        statistics_truncate_length=_positive("statistics_truncate_length", statistics_truncate_length, UNLIMITED),
        column_index_truncate_length=_positive("column_index_truncate_length", column_index_truncate_length, UNLIMITED),
        types=TypeOptions(
            version=_one_of("version", version, ("2.6", "2.4", "1.0")),
            coerce_timestamps=_one_of("coerce_timestamps", coerce_timestamps, (None, "ms", "us")),
            allow_truncated_timestamps=parse_bool("allow_truncated_timestamps", allow_truncated_timestamps),
            use_int96_timestamps=flavor == "spark"
            if use_deprecated_int96_timestamps is None
            else parse_bool("use_deprecated_int96_timestamps", use_deprecated_int96_timestamps),
            store_decimal_as_integer=parse_bool("store_decimal_as_integer", store_decimal_as_integer),
            write_time_adjusted_to_utc=parse_bool("write_time_adjusted_to_utc", write_time_adjusted_to_utc),
            float_total_order=_parse_float_order(float_column_order),
        ),
        flavor=_one_of("flavor", flavor, (None, "spark")),
        max_threads=_positive("max_threads", max_threads, available_threads(), 1 << 10)
        if parse_bool("use_threads", use_threads)
        else 1,
        codec=_per_column("compression", compression, "none", _parse_codec),
        level=_per_column("compression_level", compression_level, None, _parse_level),
        dictionary=_names("use_dictionary", use_dictionary),
        encoding=encoding,
        goal=_per_column("encoding_goal", encoding_goal, EncodingGoal.BALANCED, _parse_goal),
        byte_stream_split=_names("use_byte_stream_split", use_byte_stream_split),
        statistics=_names("write_statistics", write_statistics),
        page_index=_names("write_page_index", write_page_index),
        size_statistics=_per_column(
            "size_statistics_level",
            size_statistics_level,
            SizeStatisticsLevel.PAGE_AND_COLUMN_CHUNK,
            SizeStatisticsLevel.parse,
        ),
        bloom_filter=_read_bloom_filters(bloom_filter_options),
        page_boundaries=_read_boundaries(page_boundaries),
    )


def _parse_float_order(value: object) -> bool:
    if isinstance(value, str) and value.upper() in ("TYPE_ORDER", "IEEE_754_TOTAL_ORDER"):
        return value.upper() == "IEEE_754_TOTAL_ORDER"
    raise InvalidOptionError(f"float_column_order: expected 'TYPE_ORDER' or 'IEEE_754_TOTAL_ORDER', found {value!r}")


def _read_boundaries(value: object) -> PerColumn[NDArray[np.int64] | None]:
    """A dict by column, or rows for all columns."""
    option = "page_boundaries"
    if isinstance(value, Mapping):
        rows = {str(name): _parse_boundaries(f"{name}: {option}", v) for name, v in value.items()}
        return PerColumn(option, None, rows)
    return PerColumn(option, _parse_boundaries(option, value), {})


def _parse_boundaries(option: str, value: Any) -> NDArray[np.int64] | None:
    if value is None:
        return None
    expected = "rows of the file, integers of at least 0, each above the one before"
    try:
        rows = np.asarray(value)
    except ValueError:  # lists of several lengths
        raise InvalidOptionError(f"{option}: expected {expected}, found {reprlib.repr(value)}") from None
    if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
        raise InvalidOptionError(f"{option}: expected {expected}, found {reprlib.repr(value)}")
    if len(rows) and rows[0] < 0:
        raise InvalidOptionError(f"{option}: expected {expected}, found {rows[0]}")
    (falls,) = np.nonzero(rows[1:] <= rows[:-1])
    if len(falls):
        raise InvalidOptionError(f"{option}: expected {expected}, found {rows[falls[0] + 1]} after {rows[falls[0]]}")
    boundaries = np.minimum(rows.astype(np.uint64), UNLIMITED).astype(np.int64)
    boundaries.setflags(write=False)
    return boundaries


def _read_bloom_filters(value: object) -> PerColumn[BloomFilterOptions | None]:
    """A dict by column, as in pyarrow, or a bool for all columns."""
    option = "bloom_filter_options"
    if isinstance(value, Mapping):
        return PerColumn(
            option, None, {str(name): _parse_bloom_filter(f"{name}: {option}", v) for name, v in value.items()}
        )
    default = None if value is None else _parse_bloom_filter(option, value)
    return PerColumn(option, default, {})


def _parse_bloom_filter(option: str, value: object) -> BloomFilterOptions | None:
    if isinstance(value, bool):
        return BloomFilterOptions() if value else None
    if not isinstance(value, Mapping) or not set(value) <= set(BloomFilterOptions._fields):
        raise InvalidOptionError(
            f"{option}: expected True, False, or a dict with 'ndv', 'fpp' or both, found {value!r}"
        )
    ndv, fpp = value.get("ndv"), value.get("fpp", DEFAULT_FPP)
    if not isinstance(fpp, float | int | np.floating) or not 0 < fpp < 1:
        raise InvalidOptionError(f"{option}: expected an fpp above 0 and below 1, found {fpp!r}")
    return BloomFilterOptions(None if ndv is None else _positive(f"{option}: ndv", ndv, 1), float(fpp))


@lru_cache(maxsize=64)
def _read_key(key: tuple[tuple[str, type, Any], ...]) -> WriterOptions:
    return _read(**{name: value for name, _, value in key})


def _check_others(others: Mapping[str, object]) -> None:
    for name, value in others.items():
        if name not in _FIXED:
            known = [*_FIXED, *(_read.__kwdefaults__ or {})]
            near = difflib.get_close_matches(name, known, 1)
            raise InvalidOptionError(f"{name}: no such option" + (f"; did you mean {near[0]!r}?" if near else ""))
        if not any(type(value) is type(allowed) and value == allowed for allowed in _FIXED[name]):
            raise InvalidOptionError(
                f"{name}: cannot be written yet, expected {' or '.join(map(repr, _FIXED[name]))}, found {value!r}"
            )


def _parse_sorting(columns: Sequence[Any] | None) -> tuple[SortingColumn, ...] | None:
    """pyarrow's ``SortingColumn`` (column_index, descending, nulls_first) or our own; metadata only, as in pyarrow."""
    if columns is None:
        return None
    if not isinstance(columns, Iterable):
        raise InvalidOptionError(f"sorting_columns: expected a list of SortingColumn, found {columns!r}")
    keys = []
    for column in columns:
        try:
            index = column.column_index if hasattr(column, "column_index") else column.column_idx
            key = index, bool(column.descending), bool(column.nulls_first)
        except AttributeError:
            raise InvalidOptionError(f"sorting_columns: expected SortingColumn, found {column!r}") from None
        keys.append(SortingColumn(_integer("sorting_columns", index, "the number of a leaf column"), *key[1:]))
    return tuple(keys)
