"""The Thrift compact protocol, read against the field tables of parquet.thrift.

A reader generated from parquet.thrift skips a field of the wrong type in silence; here that is an error, and
so is a required field that is missing. A field that the tables do not know stays under its number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from naive.encodings import Malformed, uleb128, zigzag

# One struct a line: field number, name, type; `!` marks what the specification requires.
SPECIFICATION = """
Statistics: 1 max binary, 2 min binary, 3 null_count i64, 4 distinct_count i64, 5 max_value binary,
    6 min_value binary, 7 is_max_value_exact bool, 8 is_min_value_exact bool, 9 nan_count i64
SizeStatistics: 1 unencoded_byte_array_data_bytes i64, 2 repetition_level_histogram list<i64>,
    3 definition_level_histogram list<i64>
Empty:
DecimalType: 1 scale i32!, 2 precision i32!
TimeUnit: 1 MILLIS Empty, 2 MICROS Empty, 3 NANOS Empty
TimeType: 1 isAdjustedToUTC bool!, 2 unit TimeUnit!
IntType: 1 bitWidth i8!, 2 isSigned bool!
LogicalType: 1 STRING Empty, 2 MAP Empty, 3 LIST Empty, 4 ENUM Empty, 5 DECIMAL DecimalType, 6 DATE Empty,
    7 TIME TimeType, 8 TIMESTAMP TimeType, 10 INTEGER IntType, 11 UNKNOWN Empty, 12 JSON Empty, 13 BSON Empty,
    14 UUID Empty, 15 FLOAT16 Empty, 16 VARIANT Empty, 17 GEOMETRY Empty, 18 GEOGRAPHY Empty
SchemaElement: 1 type i32, 2 type_length i32, 3 repetition_type i32, 4 name string!, 5 num_children i32,
    6 converted_type i32, 7 scale i32, 8 precision i32, 9 field_id i32, 10 logicalType LogicalType
DataPageHeader: 1 num_values i32!, 2 encoding i32!, 3 definition_level_encoding i32!,
    4 repetition_level_encoding i32!, 5 statistics Statistics
DictionaryPageHeader: 1 num_values i32!, 2 encoding i32!, 3 is_sorted bool
DataPageHeaderV2: 1 num_values i32!, 2 num_nulls i32!, 3 num_rows i32!, 4 encoding i32!,
    5 definition_levels_byte_length i32!, 6 repetition_levels_byte_length i32!, 7 is_compressed bool,
    8 statistics Statistics
PageHeader: 1 type i32!, 2 uncompressed_page_size i32!, 3 compressed_page_size i32!, 4 crc i32,
    5 data_page_header DataPageHeader, 7 dictionary_page_header DictionaryPageHeader,
    8 data_page_header_v2 DataPageHeaderV2
BloomFilterHeader: 1 numBytes i32!, 2 algorithm Empty!, 3 hash Empty!, 4 compression Empty!
KeyValue: 1 key string!, 2 value string
SortingColumn: 1 column_idx i32!, 2 descending bool!, 3 nulls_first bool!
PageEncodingStats: 1 page_type i32!, 2 encoding i32!, 3 count i32!
ColumnMetaData: 1 type i32!, 2 encodings list<i32>!, 3 path_in_schema list<string>!, 4 codec i32!,
    5 num_values i64!, 6 total_uncompressed_size i64!, 7 total_compressed_size i64!,
    8 key_value_metadata list<KeyValue>, 9 data_page_offset i64!, 10 index_page_offset i64,
    11 dictionary_page_offset i64, 12 statistics Statistics, 13 encoding_stats list<PageEncodingStats>,
    14 bloom_filter_offset i64, 15 bloom_filter_length i32, 16 size_statistics SizeStatistics
ColumnChunk: 1 file_path string, 2 file_offset i64!, 3 meta_data ColumnMetaData!, 4 offset_index_offset i64,
    5 offset_index_length i32, 6 column_index_offset i64, 7 column_index_length i32
RowGroup: 1 columns list<ColumnChunk>!, 2 total_byte_size i64!, 3 num_rows i64!,
    4 sorting_columns list<SortingColumn>, 5 file_offset i64, 6 total_compressed_size i64, 7 ordinal i16
ColumnOrder: 1 TYPE_ORDER Empty, 2 IEEE_754_TOTAL_ORDER Empty, 3 INT96_TIMESTAMP_ORDER Empty
FileMetaData: 1 version i32!, 2 schema list<SchemaElement>!, 3 num_rows i64!, 4 row_groups list<RowGroup>!,
    5 key_value_metadata list<KeyValue>, 6 created_by string, 7 column_orders list<ColumnOrder>
PageLocation: 1 offset i64!, 2 compressed_page_size i32!, 3 first_row_index i64!
OffsetIndex: 1 page_locations list<PageLocation>!, 2 unencoded_byte_array_data_bytes list<i64>
ColumnIndex: 1 null_pages list<bool>!, 2 min_values list<binary>!, 3 max_values list<binary>!,
    4 boundary_order i32!, 5 null_counts list<i64>, 6 repetition_level_histograms list<i64>,
    7 definition_level_histograms list<i64>, 8 nan_counts list<i64>
"""
UNIONS = {"LogicalType", "TimeUnit", "ColumnOrder"}

BOOLEAN_TRUE, BOOLEAN_FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGER_BITS = {I16: 16, I32: 32, I64: 64}
CODES = {"bool": BOOLEAN_TRUE, "i8": BYTE, "i16": I16, "i32": I32, "i64": I64, "double": DOUBLE}
CODES |= {"binary": BINARY, "string": BINARY}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct in parquet.thrift."""

    name: str
    type: str
    required: bool


def _parse(specification: str) -> dict[str, dict[int, Field]]:
    structs = {}
    for line in specification.strip().replace("\n    ", " ").splitlines():
        name, _, fields = line.partition(":")
        entries = [entry.split() for entry in fields.split(",") if entry.strip()]
        structs[name] = {int(n): Field(field, type_.rstrip("!"), "!" in type_) for n, field, type_ in entries}
    return structs


STRUCTS = _parse(SPECIFICATION)


@dataclass(frozen=True, slots=True)
class Raw:
    """A value as the wire has it: its type code, and for a struct its fields by number."""

    code: int
    value: Any


def decode(data: bytes, struct_name: str, start: int = 0) -> tuple[dict[Any, Any], int]:
    """The struct that begins at `start`, as a dict by the names of parquet.thrift, and where it ends.

    Raises Malformed for bytes that are no struct, and for fields that are not what parquet.thrift says.
    """
    raw, end = _struct(data, start)
    return _named(raw, struct_name, struct_name), end


def _named(raw: Raw, type_: str, where: str) -> Any:
    """Give a raw value the type that the specification declares for it."""
    if type_.startswith("list<"):
        _require(raw.code == LIST, f"{where}: expected a list, found type code {raw.code}")
        return [_named(item, type_[5:-1], f"{where}[{i}]") for i, item in enumerate(raw.value)]
    if type_ in CODES:
        code = BOOLEAN_TRUE if raw.code == BOOLEAN_FALSE else raw.code
        _require(code == CODES[type_], f"{where}: expected {type_}, found type code {raw.code}")
        return raw.value.decode() if type_ == "string" else raw.value
    _require(raw.code == STRUCT, f"{where}: expected {type_}, found type code {raw.code}")
    fields = STRUCTS[type_]
    missing = [field.name for n, field in fields.items() if field.required and n not in raw.value]
    _require(not missing, f"{where}: required but missing: {missing}")
    _require(type_ not in UNIONS or len(raw.value) == 1, f"{where}: a union sets exactly one field")
    named: dict[Any, Any] = {}
    for n, value in raw.value.items():
        known = fields.get(n)
        named[known.name if known else n] = _named(value, known.type, f"{where}.{known.name}") if known else value
    return named


def _struct(data: bytes, at: int) -> tuple[Raw, int]:
    fields: dict[int, Raw] = {}
    number = 0
    while True:
        header = _byte(data, at)
        at += 1
        if header == 0:
            return Raw(STRUCT, fields), at
        if header >> 4:
            number += header >> 4
        else:
            encoded, at = uleb128(data, at)
            number = zigzag(encoded)
        _require(number not in fields, f"field {number} occurs twice in a struct")
        code = header & 15
        if code in (BOOLEAN_TRUE, BOOLEAN_FALSE):
            fields[number] = Raw(code, code == BOOLEAN_TRUE)
        else:
            fields[number], at = _value(data, at, code)


def _value(data: bytes, at: int, code: int) -> tuple[Raw, int]:
    if code in INTEGER_BITS:
        encoded, at = uleb128(data, at)
        _require(encoded < 1 << INTEGER_BITS[code], f"integer at byte {at} is too wide for type code {code}")
        return Raw(code, zigzag(encoded)), at
    if code == BINARY:
        length, at = uleb128(data, at)
        _require(at + length <= len(data), f"binary at byte {at} runs past the end")
        return Raw(code, bytes(data[at : at + length])), at + length
    if code == LIST:
        return _list(data, at)
    if code == STRUCT:
        return _struct(data, at)
    if code == BYTE:
        return Raw(code, int.from_bytes(data[at : at + 1], "little", signed=True)), at + 1
    if code == DOUBLE:
        return Raw(code, struct.unpack_from("<d", data, at)[0]), at + 8
    raise Malformed(f"type code {code} at byte {at}: not used in Parquet")


def _list(data: bytes, at: int) -> tuple[Raw, int]:
    header = _byte(data, at)
    at += 1
    size, code = header >> 4, header & 15
    if size == 15:
        size, at = uleb128(data, at)
    items = []
    for _ in range(size):
        if code in (BOOLEAN_TRUE, BOOLEAN_FALSE):
            _require(_byte(data, at) in (1, 2), f"boolean at byte {at} is neither 1 nor 2")
            item, at = Raw(code, data[at] == 1), at + 1
        else:
            item, at = _value(data, at, code)
        items.append(item)
    return Raw(LIST, items), at


def _byte(data: bytes, at: int) -> int:
    _require(at < len(data), f"struct runs past the end, byte {at}")
    return data[at]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Malformed(message)
