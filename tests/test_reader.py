"""Reading footers and page indexes: of pyarrow's files, of files that contradict themselves, of mutilated files."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from fastparquet import ParquetFile
from fastparquet.cencoding import from_buffer
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter import metadata as md
from colwriter import reader
from colwriter.errors import CorruptFileError, InvalidOptionError
from colwriter.reader import read_bloom_filter, read_metadata, read_page_index
from colwriter.thrift import encode
from colwriter.thrift_types import fields_of

NESTED = pa.struct([pa.field("x", pa.int32(), nullable=False), ("y", pa.list_(pa.list_(pa.string())))])
TABLES = {
    "flat": pa.table(
        {
            "i": pa.array([None, 3, 1, 2] * 15),
            "s": pa.array(["a", None, "", "ccc"] * 15),
            "f": pa.array([0.5, None, -1.5, 2.0] * 15, pa.float32()),
            "b": pa.array([True, False, None, True] * 15),
            "d": pa.array([1, 2, 3, None] * 15, pa.decimal128(9, 2)),
            "t": pa.array([1, 2, 3, None] * 15, pa.timestamp("us", "UTC")),
        },
        metadata={"key": "value"},
    ),
    "required": pa.table([pa.array(["foo", "bar"])], pa.schema([pa.field("s", pa.string(), nullable=False)])),
    "list": pa.table({"l": pa.array([[1, None], None, [], [2, 3, 4]] * 15)}),
    "nested": pa.table(
        {
            "n": pa.array([{"x": 1, "y": [["a"], None, []]}, None, {"x": 2, "y": None}] * 9, NESTED),
            "m": pa.array([[("k", 1)], None, []] * 9, pa.map_(pa.string(), pa.int16())),
        }
    ),
    "no columns": pa.table({}),
    "no rows": pa.table({"i": pa.array([], pa.int64())}),
}
NAMES = list(TABLES)


@cache
def written(name: str) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLES[name], sink, write_page_index=True, max_rows_per_page=7, row_group_size=20)
    return bytes(sink.getvalue())


def leaves_of(data: bytes) -> list[md.Leaf]:
    return md.leaf_levels(read_metadata(data).schema)


# Where a file comes from


SOURCES: dict[str, Callable[[Path], Any]] = {
    "str": str,
    "PathLike": lambda path: path,
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "Buffer": lambda path: pa.py_buffer(path.read_bytes()),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "BufferReader": lambda path: pa.BufferReader(path.read_bytes()),
    "OSFile": lambda path: pa.OSFile(str(path)),
    "memory map": lambda path: pa.memory_map(str(path)),
    "file": lambda path: path.open("rb"),
    "unbuffered file": lambda path: path.open("rb", buffering=0),
}


@pytest.mark.parametrize("open_source", SOURCES.values(), ids=SOURCES.keys())
def test_sources(open_source: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "flat.parquet"
    path.write_bytes(written("flat"))
    source = open_source(path)
    is_file = hasattr(source, "seek")
    if is_file:
        source.seek(5)
    assert read_metadata(source) == read_metadata(written("flat"))
    assert read_page_index(source, 1, "s") == read_page_index(written("flat"), 1, "s")
    if is_file:
        assert not source.closed
        assert source.tell() == 5
        source.close()


def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "flat.parquet").write_bytes(written("flat"))
    filesystem = pa.fs.SubTreeFileSystem(str(tmp_path), pa.fs.LocalFileSystem())
    assert read_metadata("flat.parquet", filesystem=filesystem) == read_metadata(written("flat"))
    assert read_page_index("flat.parquet", filesystem=filesystem) == read_page_index(written("flat"))
    with pytest.raises(InvalidOptionError, match="filesystem: expected together with a path, found it with bytes"):
        read_metadata(written("flat"), filesystem=filesystem)


def test_position_is_kept_after_an_error() -> None:
    file = io.BytesIO(b"not a Parquet file")
    file.seek(3)
    with pytest.raises(CorruptFileError):
        read_metadata(file)
    assert file.tell() == 3


@pytest.mark.parametrize("source", [42, None, io.StringIO("PAR1")])
def test_sources_that_are_not_files(source: Any) -> None:
    with pytest.raises(InvalidOptionError, match="source: expected a path, a buffer or a seekable binary file, found"):
        read_metadata(source)


class ShortReads(io.BytesIO):
    """Returns one byte a read, and counts the bytes."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(min(1, size or 0))
        self.count += len(data)
        return data


def test_reads_the_footer_only_and_survives_short_reads() -> None:
    file = ShortReads(written("flat"))
    assert read_metadata(file) == read_metadata(written("flat"))
    assert file.count == int.from_bytes(written("flat")[-8:-4], "little") + 8


# What is not a Parquet file


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a Parquet file: expected at least 12 bytes, found 0"),
        (b"PAR1PAR1", "not a Parquet file: expected at least 12 bytes, found 8"),
        (b"a,b\n1,2\n3,4\n5,6\n", "not a Parquet file: expected b'PAR1' at its end, found b'5,6\\n'"),
        (b"PAR1" + b"\x05\0\0\0PAR1", "expected a footer of at most 0 bytes, found one of 5"),
        (b"PAR1" + b"\xff\xff\xff\xffPAR1", "expected a footer of at most 0 bytes, found one of 4294967295"),
        (b"PAR1" + b"\0\0\0\0PAR1", "FileMetaData.its first field: the data end"),
        (b"PARE" + bytes(20) + b"\x14\0\0\0PARE", "the footer is encrypted"),
    ],
)
def test_not_parquet(data: bytes, message: str) -> None:
    with pytest.raises(CorruptFileError) as error:
        read_metadata(data)
    assert str(error.value).startswith(message)


def test_encrypted_columns() -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Kms(encryption.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            return base64.b64encode(key_bytes)

    properties = encryption.CryptoFactory(lambda _: Kms()).file_encryption_properties(
        encryption.KmsConnectionConfig(),
        encryption.EncryptionConfiguration(footer_key="f", column_keys={"c": ["s"]}, plaintext_footer=True),
    )
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"i": [1], "s": ["a"]}), sink, encryption_properties=properties, write_page_index=True)
    data = bytes(sink.getvalue())
    assert read_page_index(data, 0, "i")[0] is not None
    with pytest.raises(CorruptFileError, match=r"^s: the column is encrypted"):
        read_page_index(data, 0, "s")


# Against pyarrow and fastparquet


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_agrees(name: str) -> None:
    ours, theirs = read_metadata(written(name)), pq.read_metadata(io.BytesIO(written(name)))
    assert (ours.num_rows, ours.created_by) == (theirs.num_rows, theirs.created_by)
    assert {kv.key: kv.value for kv in ours.key_value_metadata or ()} == {
        key.decode(): value.decode() for key, value in (theirs.metadata or {}).items()
    }
    assert len(ours.row_groups) == theirs.num_row_groups
    for i, group in enumerate(ours.row_groups):
        row_group = theirs.row_group(i)
        assert (group.num_rows, group.total_byte_size) == (row_group.num_rows, row_group.total_byte_size)
        assert len(group.columns) == row_group.num_columns
        for j, chunk in enumerate(group.columns):
            compare_chunk(chunk, row_group.column(j))


def compare_chunk(chunk: md.ColumnChunk, column: pq.ColumnChunkMetaData) -> None:
    meta = chunk.meta_data
    assert meta is not None
    assert ".".join(meta.path_in_schema) == column.path_in_schema
    assert (meta.type.name, meta.codec.name) == (column.physical_type, column.compression)
    assert {encoding.name for encoding in meta.encodings} == set(column.encodings)
    for name in ("num_values", "total_uncompressed_size", "total_compressed_size", "dictionary_page_offset"):
        assert getattr(meta, name) == getattr(column, name)
    assert (meta.statistics is not None) == column.is_stats_set
    if meta.statistics is not None:
        assert meta.statistics.null_count == column.statistics.null_count
    assert (chunk.column_index_offset is not None) == column.has_column_index
    assert (chunk.offset_index_offset is not None) == column.has_offset_index


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_reads_our_encoding_of_its_footer(name: str) -> None:
    data = written(name)
    length = int.from_bytes(data[-8:-4], "little")
    footer = encode(read_metadata(data))
    rewritten = data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    ours, theirs = (pq.read_metadata(io.BytesIO(file)).to_dict() for file in (rewritten, data))
    assert ours | {"serialized_size": 0} == theirs | {"serialized_size": 0}
    tables = [pq.read_table(io.BytesIO(file)) for file in (rewritten, data)]
    assert tables[0].equals(tables[1], check_metadata=True)


@pytest.mark.parametrize("name", NAMES)
def test_levels_agree_with_pyarrow(name: str) -> None:
    schema = pq.read_metadata(io.BytesIO(written(name))).schema
    theirs = [schema.column(i) for i in range(len(schema))]
    assert [leaf[:3] for leaf in leaves_of(written(name))] == [
        (column.path, column.max_definition_level, column.max_repetition_level) for column in theirs
    ]


def raw(value: Any) -> Any:
    """Values by field id, text as bytes, no empty histograms: what fastparquet gives, and what we give."""
    if dataclasses.is_dataclass(value):
        present = {field.id: getattr(value, field.name) for field in fields_of(type(value))}
        return {i: raw(v) for i, v in present.items() if v is not None}
    if isinstance(value, dict):
        return {i: raw(v) for i, v in value.items() if isinstance(i, int) and v != []}
    if isinstance(value, list | tuple | np.ndarray):
        return [raw(v) for v in np.ravel(value)] if isinstance(value, np.ndarray) else [raw(v) for v in value]
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("name", ["flat", "required", "list", "nested"])
def test_fastparquet_agrees(name: str) -> None:
    data = written(name)
    assert raw(ParquetFile(io.BytesIO(data)).fmd.contents) == raw(read_metadata(data))


def test_a_footer_that_is_known_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written("flat")
    metadata = read_metadata(data)
    expected = read_page_index(data, 1, "s")
    monkeypatch.setattr(reader, "_read_footer", None)
    assert read_page_index(data, 1, "s", metadata=metadata) == expected
    assert read_bloom_filter(data, 1, "s", metadata=metadata) is None
    with pytest.raises(InvalidOptionError, match=r"metadata: expected a colwriter\.FileMetaData, found str"):
        read_page_index(data, metadata="flat.parquet")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["flat", "required", "list", "nested"])
def test_fastparquet_agrees_on_the_page_index(name: str) -> None:
    data = written(name)
    for i, group in enumerate(read_metadata(data).row_groups):
        for j, chunk in enumerate(group.columns):
            column_index, offset_index = read_page_index(data, i, j)
            start, length = chunk.offset_index_offset or 0, chunk.offset_index_length or 0
            assert raw(from_buffer(data[start : start + length], "OffsetIndex").contents) == raw(offset_index)
            start, length = chunk.column_index_offset or 0, chunk.column_index_length or 0
            # It cannot read a list of bool: without null_pages, each of one byte, all ids are one lower. It also
            # makes text of bounds, so these are left out.
            assert column_index is not None
            rest = data[start + 2 + len(column_index.null_pages) : start + length]
            expected = {field_id - 1: value for field_id, value in raw(column_index).items() if field_id > 3}
            theirs = raw(from_buffer(rest, "ColumnIndex").contents)
            assert {field_id: value for field_id, value in theirs.items() if field_id > 2} == expected


def test_page_index_of_integers() -> None:
    column_index, offset_index = read_page_index(written("flat"), 1, "i")
    assert column_index is not None
    assert offset_index is not None
    starts = [20 + location.first_row_index for location in offset_index.page_locations]
    assert len(starts) == 3
    values = TABLES["flat"]["i"].to_pylist()
    rows = [values[start:end] for start, end in pairwise([*starts, 40])]
    present = [[value for value in page if value is not None] for page in rows]
    assert column_index.min_values == tuple(min(page).to_bytes(8, "little") for page in present)
    assert column_index.max_values == tuple(max(page).to_bytes(8, "little") for page in present)
    np.testing.assert_array_equal(column_index.null_counts, [page.count(None) for page in rows])
    histograms = [[page.count(None), len(page) - page.count(None)] for page in rows]
    np.testing.assert_array_equal(column_index.definition_level_histograms, histograms)


def test_page_index_of_nested_strings() -> None:
    """Histograms counted by hand; one row a page, two rows a row group."""
    rows = [
        [["a"], ["a", "a"], ["a", "a", "a"]],  # definition 5 x 6, repetition 0 1 2 1 2 2
        [["foo", "bar", None]],  # definition 5 5 4, repetition 0 2 2
        [],  # definition 1, repetition 0
        [[], [None], None],  # definition 3 4 2, repetition 0 1 1
    ]
    sink = pa.BufferOutputStream()
    table = pa.table({"c": pa.array(rows, pa.list_(pa.list_(pa.string())))})
    pq.write_table(table, sink, write_page_index=True, max_rows_per_page=1, row_group_size=2)
    data = bytes(sink.getvalue())
    column_index, offset_index = read_page_index(data, 0, "c.list.element.list.element")
    assert column_index is not None
    assert offset_index is not None
    np.testing.assert_array_equal(column_index.definition_level_histograms, [[0, 0, 0, 0, 0, 6], [0, 0, 0, 0, 1, 2]])
    np.testing.assert_array_equal(column_index.repetition_level_histograms, [[1, 2, 3], [1, 0, 2]])
    np.testing.assert_array_equal(column_index.null_counts, [0, 1])
    np.testing.assert_array_equal(offset_index.unencoded_byte_array_data_bytes, [6, 6])
    assert [location.first_row_index for location in offset_index.page_locations] == [0, 1]
    column_index, offset_index = read_page_index(data, 1, 0)
    assert column_index is not None
    assert offset_index is not None
    np.testing.assert_array_equal(column_index.definition_level_histograms, [[0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0]])
    np.testing.assert_array_equal(column_index.repetition_level_histograms, [[1, 0, 0], [1, 2, 0]])
    assert column_index.null_pages == (True, True)
    assert {array.dtype for array in vars_of_arrays(column_index)} == {np.dtype(np.int64)}


def vars_of_arrays(value: Any) -> list[Any]:
    values = [getattr(value, field.name) for field in dataclasses.fields(value)]
    return [v for v in values if isinstance(v, np.ndarray)]


def test_empty_lists_are_absent() -> None:
    """parquet-cpp writes empty histograms for levels that are always 0."""
    data = written("required")
    meta = read_metadata(data).row_groups[0].columns[0].meta_data
    assert meta is not None
    assert meta.size_statistics == md.SizeStatistics(6, None, None)
    column_index, offset_index = read_page_index(data)
    assert column_index is not None
    assert offset_index is not None
    assert column_index.definition_level_histograms is None
    assert column_index.repetition_level_histograms is None
    np.testing.assert_array_equal(offset_index.unencoded_byte_array_data_bytes, [6])


def test_no_page_index() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLES["flat"], sink, write_page_index=False)
    assert read_page_index(sink.getvalue()) == (None, None)
    assert read_page_index(written("no rows")) == (None, None)


# The caller's choice of a column chunk


@pytest.mark.parametrize(
    ("row_group", "column", "message"),
    [
        (3, 0, "row_group: expected 0 to 2, found 3"),
        (-1, 0, "row_group: expected 0 to 2, found -1"),
        (0, 6, "column: expected 0 to 5, found 6"),
        (0, -1, "column: expected 0 to 5, found -1"),
        (0, "x", r"column: expected the path of a leaf \(i, s, f, b, d, t\), found 'x'"),
    ],
)
def test_no_such_column_chunk(row_group: int, column: int | str, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"^{message}$"):
        read_page_index(written("flat"), row_group, column)


def test_no_row_group() -> None:
    with pytest.raises(InvalidOptionError, match="row_group: expected none, as the file has none, found 0"):
        read_page_index(assemble(row_groups=()))


# Files that contradict themselves

ELEMENT = [
    md.SchemaElement(name="schema", num_children=1),
    md.SchemaElement(name="l", repetition_type=md.FieldRepetitionType.OPTIONAL, num_children=1),
    md.SchemaElement(name="list", repetition_type=md.FieldRepetitionType.REPEATED, num_children=1),
    md.SchemaElement(name="element", repetition_type=md.FieldRepetitionType.OPTIONAL, type=md.Type.BYTE_ARRAY),
]
COLUMN_INDEX = md.ColumnIndex(
    null_pages=(False, True),
    min_values=(b"a", b""),
    max_values=(b"long", b""),
    boundary_order=md.BoundaryOrder.ASCENDING,
    null_counts=np.array([1, 2]),
    repetition_level_histograms=np.array([3, 1, 2, 0]),
    definition_level_histograms=np.array([1, 0, 0, 3, 2, 0, 0, 0]),
    nan_counts=np.array([0, 0]),
)
OFFSET_INDEX = md.OffsetIndex(
    (md.PageLocation(4, 10, 0), md.PageLocation(14, 10, 3)), unencoded_byte_array_data_bytes=np.array([7, 0])
)


def assemble(
    column_index: md.ColumnIndex | None = COLUMN_INDEX,
    offset_index: md.OffsetIndex | None = OFFSET_INDEX,
    **changes: Any,
) -> bytes:
    """A file of one column chunk of five rows; changes are to ColumnChunk, RowGroup or FileMetaData."""
    first = b"" if column_index is None else encode(column_index)
    second = b"" if offset_index is None else encode(offset_index)
    chunk = md.ColumnChunk(
        column_index_offset=None if column_index is None else 4,
        column_index_length=None if column_index is None else len(first),
        offset_index_offset=None if offset_index is None else 4 + len(first),
        offset_index_length=None if offset_index is None else len(second),
    )

    def changed(value: Any) -> Any:
        names = [field.name for field in dataclasses.fields(value) if field.name in changes]
        return dataclasses.replace(value, **{name: changes.pop(name) for name in names})

    group = changed(md.RowGroup((changed(chunk),), 0, 5))
    footer = encode(changed(md.FileMetaData(1, tuple(ELEMENT), 5, (group,))))
    assert not changes
    return b"PAR1" + first + second + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def test_assembled_file() -> None:
    column_index, offset_index = read_page_index(assemble(), 0, "l.list.element")
    assert offset_index == OFFSET_INDEX
    assert column_index == dataclasses.replace(
        COLUMN_INDEX,
        repetition_level_histograms=np.array([[3, 1], [2, 0]]),
        definition_level_histograms=np.array([[1, 0, 0, 3], [2, 0, 0, 0]]),
    )
    assert read_page_index(assemble(column_index=None)) == (None, OFFSET_INDEX)


def pages(*first_rows: int) -> tuple[md.PageLocation, ...]:
    return tuple(md.PageLocation(4, 10, row) for row in first_rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_values": (b"a",)}, "expected 2 min_values, as many as null_pages, found 1"),
        ({"max_values": (b"a",) * 3}, "expected 2 max_values, as many as null_pages, found 3"),
        ({"null_pages": (False,) * 3}, "expected 3 min_values, as many as null_pages, found 2"),
        ({"null_counts": np.array([1])}, "expected null_counts of 2 pages, found 1 numbers"),
        ({"null_counts": np.array([1, -2])}, "expected null_counts of 0 or more, found -2"),
        ({"nan_counts": np.arange(3)}, "expected nan_counts of 2 pages, found 3 numbers"),
        (
            {"repetition_level_histograms": np.arange(2)},
            "expected repetition_level_histograms of 2 levels x 2 pages, found 2 numbers",
        ),
        (
            {"definition_level_histograms": np.arange(7)},
            "expected definition_level_histograms of 4 levels x 2 pages, found 7 numbers",
        ),
        (
            {"definition_level_histograms": np.arange(8) - 4},
            "expected definition_level_histograms of 0 or more, found -4",
        ),
    ],
)
def test_column_index_contradicts_itself(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CorruptFileError, match=f"^l.list.element: {message}$"):
        read_page_index(assemble(dataclasses.replace(COLUMN_INDEX, **change)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_locations": pages(1, 3)}, "expected first_row_index 0 for the first page, found 1"),
        ({"page_locations": pages(0, 0)}, "expected first_row_index of page 0 below the next page's 0, found 0"),
        ({"page_locations": pages(0, 4, 3)}, "expected first_row_index of page 1 below the next page's 3, found 4"),
        (
            {"page_locations": pages(0, 5)},
            "expected first_row_index of page 1 below num_rows of the row group, 5, found 5",
        ),
        ({"page_locations": ()}, "expected first_row_index 0 for the first page, found no page for 5 rows"),
        (
            {"page_locations": pages(0, 1, 2), "unencoded_byte_array_data_bytes": None},
            "expected 2 page_locations, as many as null_pages, found 3",
        ),
        (
            {"unencoded_byte_array_data_bytes": np.arange(3)},
            "expected unencoded_byte_array_data_bytes of 2 pages, found 3 numbers",
        ),
        (
            {"unencoded_byte_array_data_bytes": np.array([0, -1])},
            "expected unencoded_byte_array_data_bytes of 0 or more, found -1",
        ),
    ],
)
def test_offset_index_contradicts_itself(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CorruptFileError, match=f"^l.list.element: {message}$"):
        read_page_index(assemble(offset_index=dataclasses.replace(OFFSET_INDEX, **change)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset_index": None}, "l.list.element: expected an OffsetIndex beside the ColumnIndex, found none"),
        ({"column_index_offset": -1}, "l.list.element: expected the ColumnIndex inside the file of .*offset -1 and"),
        ({"column_index_length": -1}, "l.list.element: expected the ColumnIndex inside the file of .*length -1"),
        ({"column_index_length": None}, "l.list.element: expected the ColumnIndex inside the file of .*length None"),
        ({"offset_index_offset": 2**62}, "l.list.element: expected the OffsetIndex inside the file of"),
        ({"offset_index_length": 5}, "l.list.element: PageLocation.compressed_page_size.*: the data end"),
        ({"columns": ()}, "row group 0: expected 1 columns, one a leaf of the schema, found 0"),
        ({"num_rows": 3}, "l.list.element: expected first_row_index of page 1 below num_rows .*, 3, found 3"),
        ({"schema": ()}, "schema: expected a root, found no element"),
    ],
)
def test_file_contradicts_itself(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CorruptFileError, match=f"^{message}"):
        read_page_index(assemble(**changes))


def test_pages_in_another_file() -> None:
    with pytest.raises(
        InvalidOptionError, match=r"^l.list.element: expected the file that holds its pages, 'a.parquet'"
    ):
        read_page_index(assemble(file_path="a.parquet"))


# Hostile schemas

OPTIONAL = md.FieldRepetitionType.OPTIONAL


def group(children: int | None, name: str = "g") -> md.SchemaElement:
    return md.SchemaElement(name=name, repetition_type=OPTIONAL, num_children=children)


LEAF = md.SchemaElement(name="leaf", repetition_type=OPTIONAL, type=md.Type.INT32)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([group(2**31 - 1), LEAF], "schema: expected 2147483646 elements more by num_children, found the end"),
        ([group(1), group(2), LEAF], "schema: expected 1 elements more by num_children, found the end"),
        ([group(1), LEAF, LEAF], "leaf: expected the end of the schema, found this element more"),
        ([group(-1), LEAF], "schema: expected a type or num_children, found None and -1"),
        ([group(1), group(-5)], "g: expected a type or num_children, found None and -5"),
        ([group(1), group(None)], "g: expected a type or num_children, found None and None"),
        (
            [group(1), dataclasses.replace(LEAF, num_children=1)],
            "leaf: expected a type or num_children, found .* and 1",
        ),
        ([group(1), dataclasses.replace(LEAF, repetition_type=None)], "leaf: expected a repetition_type, found None"),
        ([group(1), dataclasses.replace(LEAF, repetition_type=3)], "leaf: expected a repetition_type, found 3"),
        (
            [group(1), *[group(1)] * 50_000],
            "schema: expected paths of 67108864 characters, found more",
        ),
        ([group(1), group(1000, "x" * 300_000), *[LEAF] * 1000], "schema: expected paths of 67108864 characters"),
    ],
)
def test_hostile_schemas(schema: list[md.SchemaElement], message: str) -> None:
    with pytest.raises(CorruptFileError, match=f"^{message}"):
        md.leaf_levels(schema)


def test_deep_schema_and_empty_groups() -> None:
    deep = [group(1), *[group(1)] * 1500, LEAF]
    assert md.leaf_levels(deep) == [("g." * 1500 + "leaf", 1501, 0, LEAF)]
    assert md.leaf_levels([group(2), group(0), LEAF]) == [("leaf", 1, 0, LEAF)]
    no_children = dataclasses.replace(LEAF, num_children=0)
    assert md.leaf_levels([group(1), no_children]) == [("leaf", 1, 0, no_children)]


# Mutilated files


@st.composite
def mutilated(draw: st.DrawFn) -> bytes:
    """A file of pyarrow's with its magic and a right length of the footer, but changed before that."""
    data = written(draw(st.sampled_from(["flat", "required", "list", "nested"])))
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    changed = bytearray(data[:-8])
    begin = draw(st.sampled_from([4, start]))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(begin, len(changed) - 1))
        cut = draw(st.integers(0, 3))
        changed[place : place + cut] = draw(st.binary(max_size=4) | st.just(b"\xff" * 10))
        begin = min(begin, len(changed) - 1)
    length = max(len(changed) - start, 0)
    return bytes(changed) + length.to_bytes(4, "little") + b"PAR1"


@given(data=mutilated())
@settings(max_examples=500, deadline=None)
def test_mutilated_files(data: bytes) -> None:
    with contextlib.suppress(CorruptFileError):
        metadata = read_metadata(data)
        encode(metadata)
        for column in range(len(md.leaf_levels(metadata.schema))):
            for row_group in range(len(metadata.row_groups)):
                with contextlib.suppress(CorruptFileError, InvalidOptionError):
                    read_page_index(data, row_group, column)


@pytest.mark.parametrize("name", ["flat", "required", "list", "nested"])
def test_footers_that_are_cut_short(name: str) -> None:
    data = written(name)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for end in range(start, len(data) - 8):
        with pytest.raises(CorruptFileError, match=r"^\w+(\.\w+)?"):
            read_metadata(b"PAR1" + data[start:end] + (end - start).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (("0", 0), "^row_group: expected an integer, found '0'"),
        ((None, 0), "^row_group: expected an integer, found None"),
        ((0, 0.5), "^column: expected an integer, or the path of a leaf, found 0.5"),
        ((0, None), "^column: expected an integer, or the path of a leaf, found None"),
    ],
)
def test_what_is_no_number(chosen: tuple[Any, Any], message: str) -> None:
    pq.write_table(pa.table({"a": [1]}), sink := io.BytesIO())
    for read in (read_page_index, read_bloom_filter):
        with pytest.raises(InvalidOptionError, match=message):
            read(sink, *chosen)


def test_a_path_that_no_file_can_have() -> None:
    with pytest.raises(InvalidOptionError, match=r"^source: expected a path, found "):
        read_metadata("a\0b")
