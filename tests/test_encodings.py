"""Columns in the encodings that are asked for: values, metadata, readers, and what is refused."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
import naive
from colwriter import column_writer
from readers import READERS
from strategies import Case, cases, writer_options

INTEGER_ENCODINGS = ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")
BYTE_ARRAY_ENCODINGS = ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
NUM_ROWS = 400


def encodings_of(pa_type: pa.DataType) -> tuple[str, ...]:
    if pa.types.is_boolean(pa_type):
        return "PLAIN", "RLE"
    if pa.types.is_floating(pa_type):
        return "PLAIN", "BYTE_STREAM_SPLIT"
    if pa.types.is_fixed_size_binary(pa_type):
        return "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"
    return INTEGER_ENCODINGS if pa.types.is_integer(pa_type) else BYTE_ARRAY_ENCODINGS


def write(table: pa.Table, **options: Any) -> tuple[bytes, cw.FileMetaData]:
    sink = io.BytesIO()
    metadata = cw.write_table(table, sink, **{"use_dictionary": False, **options})
    return sink.getvalue(), metadata


def _table() -> pa.Table:
    """Columns of every type and every nullness, each twice: once for each encoding that its type can have."""
    rng = random.Random(11)

    def rows(make: Callable[[], Any], null_share: float) -> list[Any]:
        return [None if rng.random() < null_share else make() for _ in range(NUM_ROWS)]

    def text() -> str:
        return rng.choice(["", "prefix ", "naïve ☃ " * 3]) + str(rng.randrange(1000))

    def items(make: Callable[[], Any]) -> Callable[[], list[Any]]:
        return lambda: rows(make, 0.2)[: rng.randrange(5)]

    makers: dict[pa.DataType, Callable[[], Any]] = {
        pa.int32(): lambda: rng.choice([7, rng.randrange(-(2**31), 2**31)]),
        pa.int64(): lambda: rng.choice([-(2**63), 2**63 - 1, rng.randrange(1000)]),
        pa.string(): text,
        pa.large_binary(): lambda: text().encode() + rng.choice([b"", b"\xff\x00"]),
    }
    columns = {}
    for pa_type, make in makers.items():
        for encoding in encodings_of(pa_type):
            for name, made, arrow_type, null_share in (
                ("required", make, pa_type, 0.0),
                ("optional", make, pa_type, 0.3),
                ("null", make, pa_type, 1.0),
                ("list", items(make), pa.list_(pa_type), 0.2),
            ):
                field = pa.field(f"{name} {pa_type} {encoding}", arrow_type, nullable=null_share > 0)
                columns[field] = pa.array(rows(made, null_share), arrow_type)
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(list(columns)))


TABLE = _table()
ENCODINGS = {name: name.rpartition(" ")[2] for name in TABLE.column_names}
PAGES = {"default pages": {}, "tiny pages": {"data_page_size": 200, "max_rows_per_page": 37}}
FILES = {
    f"V{version[0]}, {codec}, {pages}": {
        "data_page_version": version,
        "compression": codec,
        "column_encoding": ENCODINGS,
        **PAGES[pages],
    }
    for version, codec, pages in product(("1.0", "2.0"), ("none", "zstd"), PAGES)
}
# fastparquet reads some of these encodings wrong, and crashes on others, in files of pyarrow too.
KNOWING = [name for name in READERS if name != "fastparquet"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes a file of FILES when it is first asked for."""
    folder = tmp_path_factory.mktemp("encodings")
    paths: dict[str, Path] = {}

    def file(name: str) -> Path:
        if name not in paths:
            paths[name] = folder / f"{len(paths)}.parquet"
            cw.write_table(TABLE, paths[name], use_dictionary=False, row_group_size=NUM_ROWS - 60, **FILES[name])
        return paths[name]

    return file


@pytest.mark.parametrize(("name", "reader"), list(product(FILES, KNOWING)))
def test_every_reader_reads_the_same_values(name: str, reader: str, written: Callable[[str], Path]) -> None:
    found = READERS[reader](written(name))
    assert list(found) == TABLE.column_names
    for column, rows in found.items():
        assert rows == TABLE.column(column).to_pylist(), column


@pytest.mark.parametrize("name", FILES)
def test_the_oracle_finds_nothing_wrong(name: str, written: Callable[[str], Path]) -> None:
    data = written(name).read_bytes()
    naive.check_file(data)
    for group in cw.read_metadata(io.BytesIO(data)).row_groups:
        for chunk in group.columns:
            meta = chunk.meta_data
            encoding = ENCODINGS[meta.path_in_schema[0]]
            assert [stats.encoding.name for stats in meta.encoding_stats] == [encoding]
            assert {each.name for each in meta.encodings} == {encoding, "RLE"}
            assert meta.dictionary_page_offset is None


def test_statistics_are_those_of_plain() -> None:
    for options in PAGES.values():
        _, encoded = write(TABLE, column_encoding=ENCODINGS, **options)
        _, plain = write(TABLE, **options)
        for some, other in zip(encoded.row_groups[0].columns, plain.row_groups[0].columns, strict=True):
            assert some.meta_data.statistics == other.meta_data.statistics
            assert some.meta_data.size_statistics == other.meta_data.size_statistics
            assert some.column_index_length == other.column_index_length


def leaf_types(arrow_type: pa.DataType) -> list[pa.DataType]:
    children = [arrow_type.field(i).type for i in range(arrow_type.num_fields)]
    return [leaf for child in children for leaf in leaf_types(child)] if children else [arrow_type]


@settings(max_examples=150, deadline=None)
@given(cases(), writer_options(), st.integers(0, 1))
def test_any_column(case: Case, options: dict[str, Any], choice: int) -> None:
    options["use_dictionary"] = False
    as_plain, metadata = write(case.table, **options)
    encodings = {
        ".".join(element.path_in_schema): encodings_of(leaf)[choice]
        for element, leaf in zip(
            (chunk.meta_data for group in metadata.row_groups[:1] for chunk in group.columns),
            leaf_types(case.field.type),
            strict=False,
        )
    }
    encoded, _ = write(case.table, column_encoding=encodings, **options)
    naive.check_file(encoded)
    for some, other in zip(naive.read_file(encoded).row_groups, naive.read_file(as_plain).row_groups, strict=True):
        for chunk, plain in zip(some, other, strict=True):
            assert repr(chunk.leaf) == repr(plain.leaf)
            # Pages are cut in the same places, but where RLE needs a few bytes more than bits do.
            if "RLE" not in encodings.values():
                assert [len(page.leaf.values) for page in chunk.pages] == [
                    len(page.leaf.values) for page in plain.pages
                ]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("count", [1, 33, 128, 129, 5000])
def test_pages_are_hardly_larger_than_plain(count: int, dtype: type) -> None:
    """Random numbers are the worst: each block has the least of its differences and four widths besides."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(count)
    column = rng.integers(info.min, info.max, count, dtype, endpoint=True)
    _, metadata = write(pa.table({"a": column}), column_encoding="DELTA_BINARY_PACKED", compression="none")
    meta = metadata.row_groups[0].columns[0].meta_data
    blocks, padding = -(-count // 128), 63 * column.itemsize
    assert meta.total_uncompressed_size <= column.nbytes + 14 * blocks + padding + 100


def test_fewer_bytes_where_the_encoding_is_for_the_data() -> None:
    times = pa.array(np.cumsum(np.random.default_rng(1).integers(900, 1100, 50_000)))
    paths = pa.array([f"https://example.org/{k // 100:05}/page-{k}" for k in range(50_000)])
    for column, encoding, factor in (
        (times, "DELTA_BINARY_PACKED", 7),
        (paths, "DELTA_LENGTH_BYTE_ARRAY", 1.1),
        (paths, "DELTA_BYTE_ARRAY", 10),
    ):
        table = pa.table({"a": column})
        encoded, plain = (
            len(write(table, column_encoding=name, compression="none")[0]) for name in (encoding, "PLAIN")
        )
        assert encoded * factor < plain
        sink = io.BytesIO()
        pq.write_table(
            table, sink, column_encoding=encoding, use_dictionary=False, compression="none", write_page_index=True
        )
        assert encoded < len(sink.getvalue()) * 1.001


def test_bytes_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_writer, "SHARED_BYTES", {})
    monkeypatch.setattr(column_writer, "SHARED_BYTES_OTHERWISE", 0)
    table = pa.concat_tables([TABLE] * 90)
    options = {"column_encoding": ENCODINGS, "max_rows_per_page": 900, "data_page_size": 9000}
    assert write(table, max_threads=3, **options)[0] == write(table, use_threads=False, **options)[0]
    one = table.select(["optional string DELTA_BYTE_ARRAY"])
    options["column_encoding"] = "DELTA_BYTE_ARRAY"
    assert write(one, max_threads=3, **options)[0] == write(one, use_threads=False, **options)[0]


# Options

SMALL = pa.table({"i": pa.array([1, 2, 2]), "s": ["a", "b", None], "n": [{"i": 1}, None, {"i": 3}]})


def used(**options: Any) -> dict[str, str]:
    """The last encoding of each column."""
    _, metadata = write(SMALL, **options)
    chunks = (chunk.meta_data for chunk in metadata.row_groups[0].columns)
    return {".".join(meta.path_in_schema): meta.encoding_stats[-1].encoding.name for meta in chunks}


def test_names_of_encodings_and_of_columns() -> None:
    plain = {"i": "PLAIN", "s": "PLAIN", "n.i": "PLAIN"}
    assert used() == plain
    assert used(column_encoding="Plain") == plain
    assert used(column_encoding={"i": "delta_binary_packed"}) == plain | {"i": "DELTA_BINARY_PACKED"}
    assert used(column_encoding={"n": "byte_stream_SPLIT"}) == plain | {"n.i": "BYTE_STREAM_SPLIT"}
    assert used(use_byte_stream_split=["i"]) == plain | {"i": "BYTE_STREAM_SPLIT"}
    assert used(use_byte_stream_split=["i"], column_encoding={"s": "DELTA_BYTE_ARRAY"}) == plain | {
        "i": "BYTE_STREAM_SPLIT",
        "s": "DELTA_BYTE_ARRAY",
    }
    assert used(use_byte_stream_split=["i"], column_encoding={"i": "BYTE_STREAM_SPLIT"})["i"] == "BYTE_STREAM_SPLIT"


def test_a_dictionary_goes_before_byte_stream_split() -> None:
    table = pa.table({"i": [1, 2] * 500, "s": ["a", "b"] * 500})
    for options in ({"use_dictionary": True}, {"use_dictionary": ["s"]}):
        _, metadata = write(table, use_byte_stream_split=True, **options)
        found = [chunk.meta_data.encoding_stats[-1].encoding.name for chunk in metadata.row_groups[0].columns]
        assert found == [
            "RLE_DICTIONARY" if options["use_dictionary"] is True else "BYTE_STREAM_SPLIT",
            "RLE_DICTIONARY",
        ]


def test_what_does_not_fit_in_the_dictionary_is_plain() -> None:
    column = pa.array(["x" * 50, "y" * 50] * 5000 + [str(k) for k in range(20_000)])
    _, metadata = write(
        pa.table({"s": column}), use_dictionary=True, use_byte_stream_split=True, dictionary_pagesize_limit=1024
    )
    stats = metadata.row_groups[0].columns[0].meta_data.encoding_stats
    assert [each.encoding.name for each in stats] == ["PLAIN", "RLE_DICTIONARY", "PLAIN"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"column_encoding": "DELTA"},
            "column_encoding: expected one of 'PLAIN', .*'BYTE_STREAM_SPLIT'.*found 'DELTA'",
        ),
        ({"column_encoding": "RLE_DICTIONARY"}, "column_encoding: .*asked for by use_dictionary"),
        ({"column_encoding": {"i": 5}}, "column_encoding: .*found 5"),
        ({"column_encoding": {"q": "PLAIN"}}, "^q: column_encoding names a column that is not in the schema"),
        ({"column_encoding": "DELTA_BINARY_PACKED"}, "^s: .*DELTA_BINARY_PACKED .*INT32 and INT64, found.* BYTE_ARRAY"),
        ({"column_encoding": {"n": "DELTA_BYTE_ARRAY"}}, r"^n\.i: .*DELTA_BYTE_ARRAY .*BYTE_ARRAY, found.* INT64"),
        ({"column_encoding": {"i": "DELTA_LENGTH_BYTE_ARRAY"}}, "^i: .*DELTA_LENGTH_BYTE_ARRAY"),
        ({"use_byte_stream_split": True}, "^s: .*BYTE_STREAM_SPLIT .*found a column of BYTE_ARRAY"),
        ({"use_byte_stream_split": "i"}, "use_byte_stream_split: expected a bool or a list"),
        ({"use_byte_stream_split": ["q"]}, "^q: use_byte_stream_split names a column"),
        (
            {"use_byte_stream_split": ["i"], "column_encoding": {"i": "PLAIN"}},
            "^i: column_encoding is 'PLAIN', and use_byte_stream_split",
        ),
        (
            {"use_dictionary": ["i"], "column_encoding": {"i": "DELTA_BINARY_PACKED"}},
            "^i: column_encoding is 'DELTA_BINARY_PACKED', and use_dictionary asks for a dictionary",
        ),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"old")
    with pytest.raises(cw.InvalidOptionError, match=message):
        cw.write_table(SMALL, path, **{"use_dictionary": False, **options})
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("encoding", BYTE_ARRAY_ENCODINGS)
def test_offsets_are_not_trusted(encoding: str) -> None:
    for offsets in ([0, 5, 3, 8], [0, 99, 99, 8]):
        buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abcdefgh")]
        table = pa.table({"s": pa.Array.from_buffers(pa.binary(), 3, buffers)})
        with pytest.raises(cw.InvalidDataError, match=r"^s: offsets"):
            write(table, column_encoding=encoding)
