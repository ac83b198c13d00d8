"""`decoded_size` against the arrays that pyarrow decodes."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import colwriter as cw
from colwriter.sizes import decoded_size
from strategies import cases, has_fixed_size_list, writer_options

ROWS: list[Any] = [[1, None, 3], None, [], [4]]


def _write(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    cw.write_table(table, sink, **options)
    return sink.getvalue()


def _needed(array: Any, field: pa.Field) -> int:
    """Bytes of the buffers of a decoded array, from its lengths and the types, with a bitmap where it is nullable."""
    pa_type, length = field.type, len(array)
    bitmap = -(-length // 8) if field.nullable else 0
    if pa.types.is_struct(pa_type):
        return bitmap + sum(_needed(array.field(i), pa_type.field(i)) for i in range(pa_type.num_fields))
    if pa.types.is_fixed_size_list(pa_type):
        return bitmap + _needed(array.values[: length * pa_type.list_size], pa_type.value_field)
    if pa.types.is_primitive(pa_type) or pa.types.is_fixed_size_binary(pa_type):
        return bitmap + -(-length * pa_type.bit_width // 8)
    width = 8 if str(pa_type).startswith("large") else 4
    offsets = bitmap + (length + 1) * width
    if pa.types.is_map(pa_type):
        return offsets + _needed(array.keys, pa_type.key_field) + _needed(array.items, pa_type.item_field)
    if pa.types.is_list(pa_type) or pa.types.is_large_list(pa_type):
        return offsets + _needed(array.flatten(), pa_type.value_field)
    return offsets + sum(
        len(value.encode() if isinstance(value, str) else value) for value in array.to_pylist() if value
    )


@settings(deadline=None, max_examples=300)
@given(cases(), writer_options())
def test_size_is_that_of_the_decoded_arrays(case: Any, options: dict[str, Any]) -> None:
    if has_fixed_size_list(case.field.type):
        return
    data = _write(case.table, **options)
    read = pq.ParquetFile(io.BytesIO(data)).read()
    told = decoded_size(cw.read_metadata(data), read.schema)
    assert told == _needed(read.column(0).combine_chunks(), read.schema.field(0))
    assert read.num_rows == 0 or told >= read.nbytes


@pytest.mark.parametrize("value_type", [pa.int32(), pa.int64(), pa.string(), pa.large_binary()])
def test_size_of_fixed_size_lists(value_type: pa.DataType) -> None:
    rows = [["1", "23"], ["4", "5"]] if not pa.types.is_integer(value_type) else [[1, 2], [3, 4]]
    table = pa.table({"column": pa.array(rows, pa.list_(pa.string(), 2) if rows[0][0] == "1" else None)})
    table = table.cast(pa.schema([pa.field("column", pa.list_(value_type, 2))]))
    read = pq.ParquetFile(io.BytesIO(_write(table))).read()
    field = read.schema.field(0)
    assert decoded_size(cw.read_metadata(_write(table)), read.schema) == _needed(read.column(0).chunk(0), field)


def test_row_groups_can_be_asked_for_one_by_one() -> None:
    table = pa.table({"column": pa.array(ROWS)})
    metadata = cw.read_metadata(_write(table, row_group_size=2))
    # [1, None, 3], None: 1 + 12 bytes of lists, 1 + 24 of elements; [], [4]: 1 + 12, and 1 + 8.
    assert decoded_size(metadata, table.schema, [0]) == 38
    assert decoded_size(metadata, table.schema, [1]) == 22
    # Both as one array: one offset and one byte of each bitmap less.
    assert decoded_size(metadata, table.schema) == 38 + 22 - 4 - 1 - 1


def test_not_known_without_size_statistics() -> None:
    for column in (["a"], ROWS, [{"a": [1]}]):
        table = pa.table({"column": column})
        metadata = cw.read_metadata(_write(table, size_statistics_level="None"))
        assert decoded_size(metadata, table.schema) is None
    mixed = pa.table({"a": [1], "b": ["x"]})
    assert decoded_size(cw.read_metadata(_write(mixed, size_statistics_level={"a": "None"})), mixed.schema) == 19
    assert decoded_size(cw.read_metadata(_write(mixed, size_statistics_level={"b": "None"})), mixed.schema) is None


def test_flat_numbers_are_known_from_other_counts() -> None:
    for schema in (pa.schema([pa.field("a", pa.int64(), False)]), pa.schema([("a", pa.int64())])):
        table = pa.table({"a": range(9)}).cast(schema)
        data = _write(table, size_statistics_level="None")
        assert decoded_size(cw.read_metadata(data), schema) == 72 + 2 * schema.field(0).nullable
    nothing = _write(table, size_statistics_level="None", write_statistics=False)
    assert decoded_size(cw.read_metadata(nothing), schema) is None


def test_types_whose_memory_does_not_follow() -> None:
    metadata = cw.read_metadata(_write(pa.table({"a": ["x", "y"]})))
    assert decoded_size(metadata, pa.schema([("a", pa.dictionary(pa.int32(), pa.string()))])) is None
    assert decoded_size(metadata, pa.schema([("a", pa.string_view())])) is None
    assert decoded_size(metadata, pa.schema([("a", pa.string()), ("b", pa.string())])) is None


def test_types_of_other_writers() -> None:
    columns = {
        "flags": pa.array([True, None, False] * 5),
        "small": pa.array([1, 2, None] * 5, pa.int8()),
        "price": pa.array([1.5, None, 2.5] * 5),
        "day": pa.array([1, None, 3] * 5, pa.date32()),
        "money": pa.array([1, None, 3] * 5).cast(pa.decimal128(38, 2)),
        "hash": pa.array([b"ab", None, b"cd"] * 5, pa.binary(2)),
        "nothing": pa.nulls(15),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    schema = pq.read_schema(io.BytesIO(sink.getvalue()))
    assert schema == pa.table(columns).schema
    bitmaps = 6 * 2
    values = 2 + 15 + 15 * 8 + 15 * 4 + 15 * 16 + 15 * 2 + 0
    assert decoded_size(cw.read_metadata(sink.getvalue()), schema) == bitmaps + values
