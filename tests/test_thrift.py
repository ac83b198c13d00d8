"""The Thrift compact protocol: bytes worked out by hand from its specification, round trips, hostile bytes."""

from __future__ import annotations

import contextlib
import dataclasses
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from fastparquet.cencoding import from_buffer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colwriter import metadata as md
from colwriter.errors import CorruptFileError, InvalidDataError
from colwriter.thrift import decode, encode
from colwriter.thrift_types import Converted, Kind, ThriftUnion, Wire, fields_of

STRUCTS = [
    cls for cls in vars(md).values() if isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls is not Converted
]

GOLDEN = {
    "i64, i32; ids 1, 2, 3": (md.PageLocation(4, 29, 0), "16 08  15 3a  16 00  00"),
    "zigzag of several bytes (the specification's 50399)": (
        md.PageLocation(-25200, 0, 0),
        "16 df8903  15 00  16 00  00",
    ),
    "one byte ends at 63, two start at 64": (md.PageLocation(63, 64, -64), "16 7e  15 8001  16 7f  00"),
    "largest and smallest": (
        md.PageLocation(2**63 - 1, -(2**31), -(2**63)),
        "16 feffffffffffffffff01  15 ffffffff0f  16 ffffffffffffffffff01  00",
    ),
    "bool in the header": (md.SortingColumn(1, True, False), "15 02  11  12  00"),
    "i8 is one plain byte": (md.IntType(-2, True), "13 fe  11  00"),
    "i16": (md.RowGroup((), 0, 0, ordinal=300), "19 0c  16 00  16 00  44 d804  00"),
    "double, little endian": (
        md.BoundingBox(1.0, -2.0, 0.0, 0.5),
        "17 000000000000f03f  17 00000000000000c0  17 0000000000000000  17 000000000000e03f  00",
    ),
    "string as UTF-8, binary": (md.KeyValue("k", "\u00e9"), "18 01 6b  18 02 c3a9  00"),
    "empty string is not absent": (md.KeyValue("", ""), "18 00  18 00  00"),
    "length of two bytes": (md.KeyValue("a" * 200), "18 c801 " + "61" * 200 + " 00"),
    "ids skipped": (md.Statistics(null_count=0, nan_count=5), "36 00  66 0a  00"),
    "ids out of the order of the arguments": (
        md.SchemaElement(name="a", type=md.Type.INT64, repetition_type=md.FieldRepetitionType.OPTIONAL),
        "15 04  25 02  18 01 61  00",
    ),
    "delta of 15": (md.LogicalType(FLOAT16=md.Empty()), "fc 00  00"),
    "long form from 16": (md.LogicalType(VARIANT=md.VariantType(1)), "0c 20 13 01 00  00"),
    "long form 18": (md.LogicalType(GEOGRAPHY=md.GeographyType()), "0c 24 00  00"),
    "list of 14": (md.GeospatialStatistics(geospatial_types=(1,) * 14), "29 e5 " + "02" * 14 + " 00"),
    "list of 15": (md.GeospatialStatistics(geospatial_types=(1,) * 15), "29 f5 0f " + "02" * 15 + " 00"),
    "list of bool, binary, i64": (
        md.ColumnIndex((True, False), (b"", b"a"), (b"", b"b"), md.BoundaryOrder.ASCENDING, np.array([3, 64])),
        "19 21 01 02  19 28 00 01 61  19 28 00 01 62  15 02  19 26 06 8001  00",
    ),
    "list of structs": (
        md.OffsetIndex((md.PageLocation(4, 29, 0),), np.array([7])),
        "19 1c 16 08 15 3a 16 00 00  19 16 0e  00",
    ),
    "union": (md.ColumnOrder(TYPE_ORDER=md.Empty()), "1c 00  00"),
    "union of which nothing is known": (md.ColumnOrder(), "00"),
    "header of a data page": (
        md.PageHeader(
            md.PageType.DATA_PAGE,
            100,
            60,
            data_page_header=md.DataPageHeader(9, md.Encoding.PLAIN, md.Encoding.RLE, md.Encoding.RLE),
        ),
        "15 00  15 c801  15 78  2c 15 12 15 00 15 06 15 06 00  00",
    ),
    "header of a Bloom filter": (
        md.BloomFilterHeader(
            32,
            md.BloomFilterAlgorithm(BLOCK=md.Empty()),
            md.BloomFilterHash(XXHASH=md.Empty()),
            md.BloomFilterCompression(UNCOMPRESSED=md.Empty()),
        ),
        "15 40  1c 1c 00 00  1c 1c 00 00  1c 1c 00 00  00",
    ),
}


@pytest.mark.parametrize(("value", "wire"), GOLDEN.values(), ids=GOLDEN.keys())
def test_golden_bytes(value: Any, wire: str) -> None:
    expected = bytes.fromhex(wire)
    assert encode(value) == expected
    assert decode(type(value), expected) == (value, len(expected))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_decode_starts_and_ends_inside_a_buffer(kind: type) -> None:
    buffer = kind(b"\xff\xff" + encode(md.PageLocation(4, 29, 0)) + b"\xff")
    assert decode(md.PageLocation, buffer, 2) == (md.PageLocation(4, 29, 0), 9)


READ_ONLY = {
    "long form where the short one would do": (md.KeyValue, "08 02 01 6b  00", md.KeyValue("k")),
    "list of bool with type 2, false as 0": (
        md.ColumnIndex,
        "19 22 01 00  19 28 00 00  19 28 00 00  15 00  00",
        md.ColumnIndex((True, False), (b"", b""), (b"", b""), md.BoundaryOrder.UNORDERED),
    ),
    "empty list of any type": (
        md.GeospatialStatistics,
        "29 00  00",
        md.GeospatialStatistics(geospatial_types=()),
    ),
    "empty histogram is absent": (
        md.SizeStatistics,
        "29 06  19 26 02 04  00",
        md.SizeStatistics(None, None, (1, 2)),
    ),
    "empty counts are absent": (md.OffsetIndex, "19 0c  19 06  00", md.OffsetIndex(())),
    "enum value that is not known": (
        md.DictionaryPageHeader,
        "15 00  15 c801  00",
        md.DictionaryPageHeader(0, 100),
    ),
    "union field that is not known": (md.ColumnOrder, "fc 00  00", md.ColumnOrder()),
    "fields that are not known": (
        md.KeyValue,
        "18 01 6b"
        "  21 11 12 13 7f 14 01 15 ffff7f 16 01 17 0000000000000000 18 02 ffff"  # scalars, ids 3 to 10
        "  19 21 01 00  1a 23 0102  19 17 0000000000000000  19 18 01 61  19 2c 00 15 00 00"  # lists, a set
        "  1b 00  1b 02 58 00 01 61 02 01 62  1b 01 1c 01 00  1c 1c 00 11 00"  # maps, a struct
        "  1d 00000000000000000000000000000000  00",
        md.KeyValue("k"),
    ),
}


@pytest.mark.parametrize(("cls", "wire", "value"), READ_ONLY.values(), ids=READ_ONLY.keys())
def test_reads_what_other_writers_write(cls: type, wire: str, value: Any) -> None:
    assert decode(cls, bytes.fromhex(wire)) == (value, len(bytes.fromhex(wire)))


def test_enum_values_are_members_when_known() -> None:
    header, _ = decode(md.DictionaryPageHeader, bytes.fromhex("15 00  15 14  00"))
    assert header.encoding is md.Encoding.ALP


def test_encode_takes_arrays_of_any_shape_and_numpy_integers() -> None:
    lists = md.ColumnIndex((False, False), (b"", b""), (b"", b""), md.BoundaryOrder.UNORDERED)
    flat = dataclasses.replace(lists, definition_level_histograms=np.array([1, 2, 300, 4]))
    shaped = dataclasses.replace(lists, definition_level_histograms=np.array([[1, 2], [300, 4]]))
    assert encode(shaped) == encode(flat)
    chunk = md.SizeStatistics(np.uint8(200), np.array([5, -6]))  # type: ignore[arg-type]
    assert encode(chunk) == encode(md.SizeStatistics(200, (5, -6)))


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (md.PageLocation(0, 2**31, 0), "PageLocation.compressed_page_size"),
        (md.PageLocation(2**63, 0, 0), "PageLocation.offset"),
        (md.PageLocation(-(2**63) - 1, 0, 0), "PageLocation.offset"),
        (md.RowGroup((), 0, 0, ordinal=32768), "RowGroup.ordinal"),
        (md.IntType(128, True), "IntType.bitWidth"),
        (md.SizeStatistics(None, (2**63,)), "SizeStatistics.repetition_level_histogram"),
    ],
)
def test_encode_refuses_integers_that_do_not_fit(value: Any, where: str) -> None:
    with pytest.raises(InvalidDataError, match=f"{where}: expected an integer of"):
        encode(value)


def test_equality_of_structs_with_arrays() -> None:
    index = md.OffsetIndex((), np.array([1, 2]))
    assert index == md.OffsetIndex((), np.array([1, 2]))
    assert index != md.OffsetIndex((), np.array([1, 3]))
    assert index != md.OffsetIndex((), None)
    assert md.OffsetIndex((), None) != index
    assert index != "index"


def test_union_shows_only_what_is_set() -> None:
    assert (
        repr(md.LogicalType(DECIMAL=md.DecimalType(2, 9))) == "LogicalType(DECIMAL=DecimalType(scale=2, precision=9))"
    )
    assert repr(md.TimeUnit()) == "TimeUnit()"


# Round trips of every struct

BITS = {Wire.I8: 8, Wire.I16: 16, Wire.I32: 32, Wire.I64: 64}


def values_of(kind: Kind) -> st.SearchStrategy[Any]:
    if kind.wire is Wire.LIST:
        size = 3 if kind.of.wire is Wire.STRUCT else 17
        absent_if_empty = kind.make([]) is None
        return st.lists(values_of(kind.of), min_size=int(absent_if_empty), max_size=size).map(kind.make)
    if kind.wire is Wire.STRUCT:
        return structs(kind.of)
    if kind.of is int:
        largest = 2 ** (BITS[kind.wire] - 1) - 1
        return st.integers(-66, 66) | st.integers(-largest - 1, largest)
    if kind.wire is Wire.I32:
        return st.sampled_from(kind.of) | st.integers(100, 200)
    simple = {
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        str: st.text(max_size=140),
        bytes: st.binary(),
    }
    return simple[kind.of]


@cache
def structs(cls: type) -> st.SearchStrategy[Any]:
    fields = {field.name: values_of(field.kind) for field in fields_of(cls)}
    if issubclass(cls, ThriftUnion):
        return st.one_of(st.builds(cls, **{name: values}) for name, values in fields.items())
    optional = {field.name for field in fields_of(cls) if not field.required}
    return st.builds(cls, **{n: st.none() | values if n in optional else values for n, values in fields.items()})


@pytest.mark.parametrize("cls", STRUCTS, ids=lambda cls: cls.__name__)
@given(data=st.data())
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_round_trip(cls: type, data: st.DataObject) -> None:
    value = data.draw(structs(cls))
    wire = encode(value)
    assert decode(cls, b"?" + wire + b"?", 1) == (value, len(wire) + 1)


def raw(value: Any) -> Any:
    """What fastparquet gives: values by field id, text as bytes."""
    if dataclasses.is_dataclass(value):
        present = {field.id: getattr(value, field.name) for field in fields_of(type(value))}
        return {i: raw(v) for i, v in present.items() if v is not None}
    if isinstance(value, dict):
        return {key: raw(v) for key, v in value.items() if key not in ("i32", "i32list", "children")}
    if isinstance(value, list | tuple | np.ndarray):
        return [raw(v) for v in value]
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("cls", [md.PageHeader, md.OffsetIndex, md.KeyValue])
@given(data=st.data())
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_fastparquet_reads_the_same(cls: type, data: st.DataObject) -> None:
    value = data.draw(structs(cls))
    assert raw(from_buffer(encode(value), cls.__name__).contents) == raw(value)


# Hostile bytes

HOSTILE = {
    "nothing": (md.PageLocation, "", "PageLocation.its first field: the data end"),
    "cut in a varint": (md.PageLocation, "16 80", "PageLocation.offset: the data end"),
    "cut before the stop": (md.KeyValue, "18 01 6b", "KeyValue.key: the data end"),
    "cut in a string": (md.KeyValue, "18 05 6b", "KeyValue.key.*: expected 5 bytes or elements, found 1"),
    "cut in a double": (
        md.BoundingBox,
        "17 00000000",
        "BoundingBox.xmin.*: expected 8 bytes or elements, found 4",
    ),
    "cut in the id": (md.KeyValue, "08", "KeyValue.its first field: the data end"),
    "string of 2**62 bytes": (
        md.KeyValue,
        "18 " + "80" * 8 + "40 00",
        "KeyValue.key.*: expected 4611686018427387904",
    ),
    "list of 2**31 - 1": (
        md.OffsetIndex,
        "19 fc ffffffff07 00",
        "OffsetIndex.page_locations.*: expected 2147483647",
    ),
    "list of a negative size": (
        md.OffsetIndex,
        "19 fc ffffffff0f 00",
        "OffsetIndex.page_locations.*: expected 42949",
    ),
    "list longer than the data": (
        md.OffsetIndex,
        "19 ec 00",
        "OffsetIndex.page_locations.*: expected 14 bytes or el",
    ),
    "varint of 11 bytes": (
        md.PageLocation,
        "16 " + "80" * 10 + "00",
        "PageLocation.offset.*: expected a varint of",
    ),
    "i64 of 65 bits": (
        md.PageLocation,
        "16 ffffffffffffffffff03",
        "PageLocation.offset.*: expected an integer of 64",
    ),
    "i32 of 33 bits": (
        md.DictionaryPageHeader,
        "15 ffffffff1f",
        "DictionaryPageHeader.num_values.*integer of 32",
    ),
    "enum of 33 bits": (
        md.DictionaryPageHeader,
        "15 00 15 ffffffff1f",
        "DictionaryPageHeader.encoding.*of 32",
    ),
    "i16 of 17 bits": (md.RowGroup, "74 ffff07", "RowGroup.ordinal.*: expected an integer of 16 bits"),
    "field id of 17 bits": (
        md.KeyValue,
        "08 ffff07",
        "KeyValue.its first field.*: expected an integer of 16",
    ),
    "i32 for an i64": (md.PageLocation, "15 00", "PageLocation.offset.*: expected I64, found wire type 5"),
    "bool for an i64": (md.PageLocation, "11 00", "PageLocation.offset.*: expected I64, found wire type 1"),
    "i32 for a bool": (
        md.SortingColumn,
        "15 00 15 00",
        "SortingColumn.descending.*: expected TRUE, found wire type 5",
    ),
    "list of i32 for i64": (
        md.SizeStatistics,
        "29 15 00 00",
        "SizeStatistics.repetition_level_histogram.*: expected a",
    ),
    "list of bool holds a 3": (md.ColumnIndex, "19 11 03 00", "ColumnIndex.null_pages.*: expected 0, 1 or 2"),
    "list of bool is one of i8": (
        md.ColumnIndex,
        "19 13 01 00",
        "ColumnIndex.null_pages.*: expected a list of TRUE",
    ),
    "text is not UTF-8": (md.KeyValue, "18 02 c328", "KeyValue.key.*: expected UTF-8"),
    "required field is missing": (md.PageLocation, "16 00 00", "PageLocation.compressed_page_size: required"),
    "two of a union": (
        md.ColumnOrder,
        "1c 00 1c 00 00",
        "ColumnOrder: expected one of a union, found TYPE_ORDER, IEEE",
    ),
    "inside a list": (md.OffsetIndex, "19 1c 16 00 00 00", "PageLocation.compressed_page_size: required"),
    "wire type that does not exist": (md.KeyValue, "3e 00", "KeyValue.field 3.*: wire type 14 is not known"),
    "skipped: deep structs": (
        md.KeyValue,
        "3c " + "1c" * 100_000,
        "KeyValue.field 3.*: expected at most 32 levels",
    ),
    "skipped: deep lists": (
        md.KeyValue,
        "39 " + "19" * 100_000,
        "KeyValue.field 3.*: expected at most 32 levels",
    ),
    "skipped: list of 2**60 i8": (
        md.KeyValue,
        "39 f3 " + "80" * 8 + "10 00",
        "KeyValue.field 3.*: expected 1152921504",
    ),
    "skipped: map of 2**60": (
        md.KeyValue,
        "3b " + "80" * 8 + "10 33 00",
        "KeyValue.field 3.*: expected 1152921504",
    ),
    "skipped: cut map": (md.KeyValue, "3b 01", "KeyValue.field 3.*: the data end"),
    "skipped: cut list of bool": (
        md.KeyValue,
        "39 21 01",
        "KeyValue.field 3.*: expected 2 bytes or elements, found 1",
    ),
    "skipped: cut UUID": (md.KeyValue, "3d 00", "KeyValue.field 3.*: expected 16 bytes or elements, found 1"),
}


@pytest.mark.parametrize(("cls", "wire", "message"), HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_hostile_bytes(cls: type, wire: str, message: str, kind: type) -> None:
    with pytest.raises(CorruptFileError, match=rf"^{message}"):
        decode(cls, kind(bytes.fromhex(wire)))


@pytest.mark.parametrize("offset", [-7, 7, 2**70])
def test_offset_outside_the_buffer(offset: int) -> None:
    with pytest.raises(CorruptFileError, match=r"^PageLocation"):
        decode(md.PageLocation, encode(md.PageLocation(0, 0, 0)), offset)


@pytest.mark.parametrize("wire", ["19 fc ffffffff07", "1b ffffffff07 33", "18 ffffffff07"])
def test_absurd_sizes_allocate_nothing(wire: str) -> None:
    data = bytes.fromhex(wire) + bytes(1000)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptFileError):
            decode(md.OffsetIndex, data)
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("cls", STRUCTS, ids=lambda cls: cls.__name__)
@given(data=st.binary(max_size=40))
@settings(max_examples=50)
def test_any_bytes_give_a_struct_or_corrupt_file_error(cls: type, data: bytes) -> None:
    with contextlib.suppress(CorruptFileError):
        value, end = decode(cls, data)
        assert 0 < end <= len(data)
        assert encode(decode(cls, encode(value))[0]) == encode(value)
