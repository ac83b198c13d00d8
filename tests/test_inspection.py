"""The document of `inspect`: names of levels, bounds as values, and files of every writer."""

from __future__ import annotations

import base64
import datetime
import io
import json
import uuid
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import colwriter as cw
from colwriter.bounds import decode_bound, finite
from colwriter.inspection import inspect
from colwriter.level_names import level_names
from colwriter.metadata import ConvertedType, FieldRepetitionType, SchemaElement, Type
from colwriter.thrift import encode
from strategies import cases, writer_options

OPTIONAL, REPEATED = FieldRepetitionType.OPTIONAL, FieldRepetitionType.REPEATED


def _write(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    cw.write_table(table, sink, **options)
    return sink.getvalue()


def _names(arrow_type: pa.DataType, nullable: bool = True) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    schema = pa.schema([pa.field("c", arrow_type, nullable)])
    metadata = cw.read_metadata(_write(schema.empty_table()))
    return {found.path: (found.repetition, found.definition) for found in level_names(metadata.schema)}


# Names of levels


def test_names_of_flat_columns() -> None:
    assert _names(pa.int64()) == {"c": (("new row",), ("null", "value"))}
    assert _names(pa.int64(), nullable=False) == {"c": (("new row",), ("value",))}


def test_names_of_lists() -> None:
    names = {"c.list.element": (("new row", "next element of c"), ("null list", "empty list", "null element", "value"))}
    assert _names(pa.list_(pa.int64())) == names
    required = pa.list_(pa.field("element", pa.string(), False))
    assert _names(required, nullable=False)["c.list.element"][1] == ("empty list", "value")


def test_names_say_where_when_two_depths_can_miss_the_same() -> None:
    ((repetition, definition),) = _names(pa.list_(pa.list_(pa.int64()))).values()
    assert repetition == ("new row", "next element of c", "next element of c.list.element")
    assert definition == (
        "null list at c",
        "empty list at c",
        "null list at c.list.element",
        "empty list at c.list.element",
        "null element",
        "value",
    )


def test_names_of_structs() -> None:
    names = _names(pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("x", pa.int64())])))]))
    assert names["c.a"] == (("new row",), ("null struct 'c'", "null field 'a'", "value"))
    assert names["c.b.list.element.x"] == (
        ("new row", "next element of c.b"),
        ("null struct 'c'", "null list", "empty list", "null element", "null field 'x'", "value"),
    )


def test_names_of_maps() -> None:
    names = _names(pa.map_(pa.string(), pa.list_(pa.int64())))
    assert names["c.key_value.key"] == (("new row", "next entry of c"), ("null map", "empty map", "value"))
    assert names["c.key_value.value.list.element"] == (
        ("new row", "next entry of c", "next element of c.key_value.value"),
        ("null map", "empty map", "null list", "empty list", "null element", "value"),
    )
    assert _names(pa.map_(pa.string(), pa.int64()))["c.key_value.value"][1][2:] == ("null map value", "value")


def _group(name: str, repetition: FieldRepetitionType, children: int, **more: Any) -> SchemaElement:
    return SchemaElement(name=name, repetition_type=repetition, num_children=children, **more)


def _leaf(name: str, repetition: FieldRepetitionType, **more: Any) -> SchemaElement:
    return SchemaElement(name=name, repetition_type=repetition, type=Type.INT64, **more)


def test_names_of_repeated_fields_without_annotation() -> None:
    root = SchemaElement(name="root", num_children=2)
    schema = [root, _leaf("tags", REPEATED), _group("links", REPEATED, 1), _leaf("to", OPTIONAL)]
    tags, links = level_names(schema)
    assert (tags.repetition, tags.definition) == (("new row", "next element of tags"), ("empty list", "value"))
    assert (links.path, links.repetition[1]) == ("links.to", "next element of links")
    assert links.definition == ("empty list", "null field 'to'", "value")


@pytest.mark.parametrize("name", ["array", "c_tuple"])
def test_names_where_the_repeated_group_is_the_element(name: str) -> None:
    outer = _group("c", OPTIONAL, 1, converted_type=ConvertedType.LIST)
    schema = [SchemaElement(name="root", num_children=1), outer, _group(name, REPEATED, 1), _leaf("x", OPTIONAL)]
    assert level_names(schema)[0].definition == ("null list", "empty list", "null field 'x'", "value")
    pair = [*schema[:2], _group("bag", REPEATED, 2), schema[3], _leaf("y", OPTIONAL)]
    assert level_names(pair)[1].definition == ("null list", "empty list", "null field 'y'", "value")
    wrapped = [*schema[:2], _group("bag", REPEATED, 1), schema[3]]
    assert level_names(wrapped)[0].definition == ("null list", "empty list", "null element", "value")


def test_names_of_a_field_beside_an_empty_group() -> None:
    schema = [SchemaElement(name="root", num_children=2), _group("none", OPTIONAL, 0), _leaf("x", OPTIONAL)]
    assert [(found.path, found.definition) for found in level_names(schema)] == [("x", ("null", "value"))]


@settings(deadline=None, max_examples=150)
@given(cases(), writer_options())
def test_every_bucket_has_one_name(case: Any, options: dict[str, Any]) -> None:
    document = inspect(_write(case.table, **options), pages=True)
    json.dumps(document, allow_nan=False)
    for group in document["row_groups"]:
        assert group["decoded_size"] is not None
        for column, chunk in zip(document["columns"], group["columns"], strict=True):
            assert len(set(column["definition_levels"])) == column["max_definition_level"] + 1
            assert len(set(column["repetition_levels"])) == column["max_repetition_level"] + 1
            sizes = chunk["meta_data"]["size_statistics"]
            for kind in ("definition", "repetition"):
                histogram = sizes and sizes[f"{kind}_level_histogram"]
                assert not histogram or len(histogram) == len(column[f"{kind}_levels"])


# Bounds


def _bounds(array: pa.Array, **options: Any) -> tuple[Any, Any]:
    """Least and greatest value, of a file by pyarrow."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": array}), sink, **options)
    document = inspect(sink.getvalue())
    statistics = document["row_groups"][0]["columns"][0]["meta_data"]["statistics"]
    return statistics["min_value"], statistics["max_value"]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([-5, 7], pa.int32()), (-5, 7)),
        (pa.array([-(2**63), 2**63 - 1]), (-(2**63), 2**63 - 1)),
        (pa.array([1, 2**64 - 1], pa.uint64()), (1, 2**64 - 1)),
        (pa.array([200, 100], pa.uint8()), (100, 200)),
        (pa.array([True, False]), (False, True)),
        (pa.array([0.1, 2.5], pa.float32()), (0.1, 2.5)),
        (pa.array([-0.5, float("inf")]), (-0.5, "Infinity")),
        (pa.array([1.5, -2.5], pa.float16()), (-2.5, 1.5)),
        (pa.array(["é", "a"]), ("a", "é")),
        (pa.array([b"\xff", b"\x00"]), ({"base64": "AA=="}, {"base64": "/w=="})),
        (pa.array([datetime.date(2024, 2, 29), datetime.date(1, 1, 1)]), ("0001-01-01", "2024-02-29")),
        (pa.array([0, 1500], pa.timestamp("ms")), ("1970-01-01T00:00:00.000", "1970-01-01T00:00:01.500")),
        (pa.array([-1, 1], pa.timestamp("us", "UTC")), ("1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000001Z")),
        (pa.array([1, 2], pa.timestamp("ns")), ("1970-01-01T00:00:00.000000001", "1970-01-01T00:00:00.000000002")),
        (pa.array([1, 86_399_999], pa.time32("ms")), ("00:00:00.001", "23:59:59.999")),
        (pa.array([Decimal("-12.34"), Decimal("0.05")]), ("-12.34", "0.05")),
        (pa.array([Decimal(10) ** 37, Decimal(-1)], pa.decimal128(38, 0)), ("-1", "1" + "0" * 37)),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_bounds_are_values(array: pa.Array, expected: tuple[Any, Any]) -> None:
    assert _bounds(array) == expected


def test_bounds_of_integers_that_are_decimals() -> None:
    array = pa.array([Decimal("-1.5"), Decimal("2.5")], pa.decimal128(9, 2))
    assert _bounds(array, store_decimal_as_integer=True) == ("-1.50", "2.50")


@pytest.mark.parametrize(
    ("converted_type", "expected"),
    [
        (ConvertedType.TIME_MICROS, "00:00:00.000009Z"),
        (ConvertedType.TIMESTAMP_MILLIS, "1970-01-01T00:00:00.009Z"),
        (ConvertedType.UINT_64, 9),
        (None, 9),
    ],
)
def test_bounds_of_converted_types(converted_type: ConvertedType | None, expected: Any) -> None:
    element = _leaf("c", OPTIONAL, converted_type=converted_type)
    assert decode_bound((9).to_bytes(8, "little"), element) == expected


def test_uuid_bounds() -> None:
    value = uuid.uuid4()
    assert _bounds(pa.array([value.bytes], pa.uuid())) == (str(value), str(value))


@pytest.mark.parametrize(
    ("element", "value"),
    [
        (_leaf("c", OPTIONAL), b"abc"),
        (SchemaElement(name="c", type=Type.BOOLEAN), b""),
        (SchemaElement(name="c", type=Type.INT32, converted_type=ConvertedType.DATE), b"\xff\xff\xff\x7f"),
        (SchemaElement(name="c", type=Type.BYTE_ARRAY, converted_type=ConvertedType.UTF8), b"\xff"),
        (SchemaElement(name="c", type=Type.BYTE_ARRAY, converted_type=ConvertedType.DECIMAL), b""),
        (SchemaElement(name="c", type=Type.INT96), bytes(12)),
    ],
)
def test_bytes_that_do_not_fit_the_type_stay_bytes(element: SchemaElement, value: bytes) -> None:
    assert decode_bound(value, element) == {"base64": base64.b64encode(value).decode()}


def test_times_that_no_clock_shows_stay_numbers() -> None:
    time = _leaf("c", OPTIONAL, converted_type=ConvertedType.TIME_MICROS)
    timestamp = _leaf("c", OPTIONAL, converted_type=ConvertedType.TIMESTAMP_MICROS)
    assert decode_bound((86_400_000_000).to_bytes(8, "little"), time) == 86_400_000_000
    assert decode_bound((1 << 63).to_bytes(8, "little"), timestamp) == -(1 << 63)


# Documents


LISTS = pa.table({"name": ["a", "bb", None, "c"], "tags": [["x", None], None, [], ["yy"]]})


def _by_pyarrow(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_index=True, **options)
    return sink.getvalue()


@pytest.mark.parametrize("write", [_write, _by_pyarrow])
def test_document_has_the_names_and_numbers_of_the_specification(write: Any) -> None:
    data = write(LISTS, row_group_size=2, compression="zstd")
    document = inspect(data, pages=True)
    footer = pq.ParquetFile(io.BytesIO(data)).metadata
    assert document["num_rows"] == 4
    assert document["created_by"] == footer.created_by
    assert document["schema"][0]["num_children"] == 2
    assert document["schema"][1] | {"logicalType": {"STRING": {}}, "type": "BYTE_ARRAY"} == document["schema"][1]
    assert [group["row_group"] for group in document["row_groups"]] == [0, 1]
    name, tags = document["row_groups"][0]["columns"]
    assert name["meta_data"]["codec"] == "ZSTD"
    assert name["meta_data"]["path_in_schema"] == ["name"]
    assert name["meta_data"]["total_compressed_size"] == footer.row_group(0).column(0).total_compressed_size
    assert name["meta_data"]["statistics"]["max_value"] == "bb"
    assert name["meta_data"]["size_statistics"] == {
        "unencoded_byte_array_data_bytes": 3,
        "repetition_level_histogram": None,
        "definition_level_histogram": [0, 2],
    }
    assert tags["meta_data"]["size_statistics"]["repetition_level_histogram"] == [2, 1]
    assert tags["meta_data"]["size_statistics"]["definition_level_histogram"] == [1, 0, 1, 1]
    assert tags["column_index"]["definition_level_histograms"] == [[1, 0, 1, 1]]
    assert tags["column_index"]["max_values"] == ["x"]
    assert tags["offset_index"]["unencoded_byte_array_data_bytes"] == [1]
    assert tags["offset_index"]["page_locations"][0]["first_row_index"] == 0
    second = document["row_groups"][1]["columns"][1]["meta_data"]["size_statistics"]
    assert second["definition_level_histogram"] == [0, 1, 0, 1]


def test_null_pages_have_no_bounds() -> None:
    data = _write(pa.table({"c": pa.array([None, None, 5, 6], pa.int64())}), max_rows_per_page=2)
    index = inspect(data, pages=True)["row_groups"][0]["columns"][0]["column_index"]
    assert (index["null_pages"], index["min_values"], index["max_values"]) == ([True, False], [None, 5], [None, 6])
    assert index["boundary_order"] == "ASCENDING"


def test_filters() -> None:
    data = _write(LISTS, row_group_size=2)
    document = inspect(data, column="tags", row_group=1)
    assert [column["path"] for column in document["columns"]] == ["tags.list.element"]
    assert document["columns"][0]["column_idx"] == 1
    (group,) = document["row_groups"]
    assert group["row_group"] == 1
    assert [chunk["meta_data"]["path_in_schema"] for chunk in group["columns"]] == [["tags", "list", "element"]]
    assert "offset_index" not in group["columns"][0]
    with pytest.raises(cw.InvalidOptionError, match=r"name, tags\.list\.element.*found 'tag'"):
        inspect(data, column="tag")
    with pytest.raises(cw.InvalidOptionError, match="the file has 2, counted from 0, found 2"):
        inspect(data, row_group=2)


def _duckdb(path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT range AS i, [range, NULL] AS l FROM range(100)) TO '{path}' (FORMAT PARQUET)")


def _polars(path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"i": range(100), "l": [[i, None] for i in range(100)]}).write_parquet(path)


def _arro3(path: Path) -> None:
    arro3 = pytest.importorskip("arro3.io")
    arro3.write_parquet(pa.table({"i": range(100), "l": [[i, None] for i in range(100)]}), str(path))


@pytest.mark.parametrize("write", [_duckdb, _polars, _arro3])
def test_files_of_other_writers(write: Any, tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    write(path)
    document = inspect(path, pages=True)
    assert document["num_rows"] == 100
    first, second = document["row_groups"][0]["columns"]
    assert first["meta_data"]["statistics"]["max_value"] == 99
    assert second["meta_data"]["num_values"] == 200
    assert document["columns"][1]["repetition_levels"] == ["new row", "next element of l"]
    if write is _duckdb:
        assert (second["offset_index"], second["column_index"]) == (None, None)
        assert second["meta_data"]["size_statistics"] is None
    if write is _arro3:
        assert second["meta_data"]["size_statistics"]["definition_level_histogram"][-2:] == [100, 100]


def test_histogram_of_the_wrong_length_is_corrupt() -> None:
    data = _write(pa.table({"c": [1, None]}))
    metadata = cw.read_metadata(data)
    group = metadata.row_groups[0]
    chunk = group.columns[0]
    sizes = replace(chunk.meta_data.size_statistics, definition_level_histogram=(1, 1, 0))
    chunk = replace(chunk, meta_data=replace(chunk.meta_data, size_statistics=sizes))
    footer = encode(replace(metadata, row_groups=(replace(group, columns=(chunk,)),)))
    broken = data[:-8] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(cw.CorruptFileError, match="c: expected definition_level_histogram of 2 levels, found 3"):
        inspect(broken)


def test_numbers_that_json_lacks_are_text() -> None:
    assert [finite(np.float64(x)) for x in ("nan", "inf", "-inf", "1e300")] == ["NaN", "Infinity", "-Infinity", 1e300]
