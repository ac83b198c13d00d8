"""Bloom filters of whole files: what they say, how large they are, who else reads them, and what is refused."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import colwriter as cw
import naive
from colwriter.bloom import num_bytes
from colwriter.cli import app
from colwriter.display import size
from colwriter.errors import CorruptFileError, InvalidDataError, InvalidOptionError
from colwriter.keywords import read_options
from colwriter.metadata import (
    BloomFilterAlgorithm,
    BloomFilterCompression,
    BloomFilterHash,
    BloomFilterHeader,
    Empty,
    Type,
)
from colwriter.thrift import encode
from readers import READERS
from strategies import Case, cases, writer_options

FILTERS = st.sampled_from([True, {"fpp": 0.001}, {"ndv": 1}, {"ndv": 5000, "fpp": 0.2}])


def written(table: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    cw.write_table(table, sink, **options)
    return sink.getvalue()


def column(data: Any, **options: Any) -> cw.BloomFilter:
    """The filter of a file of one column and one row group."""
    found = cw.read_bloom_filter(written({"c": data}, **{"bloom_filter_options": True} | options))
    assert found is not None
    return found


def random_values(count: int, distinct: int, kind: str) -> pa.Array:
    rng = np.random.default_rng(count)
    values = rng.integers(-(2**31), 2**31, distinct)[rng.integers(0, distinct, count)]
    if kind == "string":
        return pa.array([f"value {value}" for value in values.tolist()])
    return pa.array(values, kind)


def measured_fpp(bloom_filter: cw.BloomFilter, kind: str) -> float:
    """Share of values found that are not there: numbers that are larger, texts that begin in another way."""
    absent: Any = [f"absent {k}" for k in range(4000)] if kind == "string" else range(2**40, 2**40 + 4000)
    return sum(map(bloom_filter.might_contain, absent)) / 4000


@settings(max_examples=80, deadline=None)
@given(cases(), writer_options(), FILTERS)
def test_a_filter_holds_what_its_column_chunk_holds(case: Case, options: dict[str, Any], wanted: Any) -> None:
    """Of any type, with nulls at any depth, in any layout: `check_file` compares every bit."""
    if pa.types.is_boolean(case.field.type):  # refused, where it is asked for by name
        return
    data = written(case.table, bloom_filter_options={"column": wanted}, **options)
    file = naive.check_file(data)
    for number, chunks in enumerate(file.row_groups):
        for leaf, chunk in enumerate(chunks):
            found = cw.read_bloom_filter(data, number, leaf)
            if chunk.column.physical_type == naive.encodings.BOOLEAN:
                assert found is None
                continue
            assert found is not None
            assert all(map(found.might_contain, chunk.leaf.values))


@pytest.mark.parametrize("kind", ["int32", "int64", "string"])
@pytest.mark.parametrize(
    ("distinct", "limit"), [(100, 2**20), (20_000, 2**20), (20_000, 50_000)], ids=["few", "many", "partial dictionary"]
)
def test_dictionary_or_not_the_bits_are_the_same(kind: str, distinct: int, limit: int) -> None:
    values = random_values(50_000, distinct, kind)
    one = column(values, dictionary_pagesize_limit=limit)
    other = column(values, use_dictionary=False, use_threads=False)
    assert one == other
    assert all(map(one.might_contain, values.to_pylist()))


def test_what_nulls_hide_is_not_in_the_filter() -> None:
    values = np.arange(1000)
    array = pa.Array.from_buffers(pa.int64(), 1000, [pa.py_buffer(b"\x55" * 125), pa.py_buffer(values)])
    naive.check_file(written({"c": array}, bloom_filter_options=True))
    assert column(pa.nulls(1000, pa.string())).bitset == bytes(32)


@pytest.mark.parametrize("kind", ["int64", "string"])
@pytest.mark.parametrize("fpp", [0.1, 0.05, 0.01])
@pytest.mark.parametrize("options", [{}, {"ndv": 1 << 20}], ids=["counted", "folded"])
def test_the_fpp_is_kept(options: dict[str, Any], fpp: float, kind: str) -> None:
    """By the least filter that keeps it: half of it would not, which a filter folded once more shows."""
    values = random_values(20_000, 30_000, kind)
    found = column(values, bloom_filter_options={"c": {"fpp": fpp, **options}}, use_dictionary=False)
    assert found.fpp <= fpp
    assert measured_fpp(found, kind) <= 1.2 * fpp
    assert measured_fpp(found, kind) == pytest.approx(found.fpp, abs=0.01)
    words = np.frombuffer(found.bitset, np.uint32).reshape(-1, 2, 8)
    half = dataclasses.replace(found, bitset=(words[:, 0] | words[:, 1]).tobytes())
    assert half.fpp > fpp
    assert all(map(half.might_contain, values.to_pylist()))


def test_an_ndv_that_is_too_small_bounds_the_size() -> None:
    found = column(random_values(20_000, 20_000, "int64"), bloom_filter_options={"c": {"ndv": 100, "fpp": 0.01}})
    assert len(found.bitset) == num_bytes(100, 0.01) == 256


@pytest.mark.parametrize("fpp", [0.3, 0.05, 0.01, 1e-3, 1e-6])
@pytest.mark.parametrize("ndv", [1, 30, 1000, 65_536, 10**6, 2 * 10**6])
def test_size_is_that_of_the_specification_or_twice(ndv: int, fpp: float) -> None:
    bits = -8 * ndv / np.log(1 - fpp ** (1 / 8))
    least = max(32, 2 ** int(np.ceil(np.log2(bits / 8))))
    assert num_bytes(ndv, fpp) in (least, 2 * least)


def test_size_has_limits() -> None:
    assert num_bytes(0, 0.05) == 32
    assert num_bytes(1 << 62, 0.05) == 128 << 20
    assert num_bytes(1000, 5e-324) == 128 << 20
    assert num_bytes(1000, 1 - 2**-53) <= 256


@pytest.mark.parametrize("kind", ["int32", "int64", "string"])
@pytest.mark.parametrize("distinct", [10, 1000, 50_000])
def test_pyarrow_writes_the_same_bits(kind: str, distinct: int) -> None:
    """Compared at the smaller of two sizes: it takes the formula of the specification for the truth."""
    if "bloom_filter_options" not in (pq.write_table.__doc__ or ""):
        pytest.skip("this pyarrow writes no Bloom filters")
    values = random_values(50_000, distinct, kind)
    options = {"c": {"ndv": 50_000, "fpp": 0.05}}
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": values}), sink, bloom_filter_options=options)
    theirs = cw.read_bloom_filter(sink.getvalue())
    assert theirs is not None
    assert all(map(theirs.might_contain, values.to_pylist()))
    words = np.frombuffer(column(values, bloom_filter_options=options).bitset, np.uint32)
    if len(words) * 4 == 2 * len(theirs.bitset):
        words = np.bitwise_or.reduce(words.reshape(-1, 2, 8), axis=1).ravel()
    assert words.tobytes() == theirs.bitset


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three row groups, four columns, and no filter for the last."""
    path = tmp_path_factory.mktemp("bloom") / "file.parquet"
    names = {"int32": "int32", "int64": "int64", "string": "string", "none": "int64"}
    table = pa.table({name: random_values(3000, 3000, kind) for name, kind in names.items()})
    wanted = {"int32": True, "int64": {"fpp": 0.001}, "string": {"fpp": 0.001, "ndv": 3000}, "none": False}
    cw.write_table(table, path, row_group_size=1000, bloom_filter_options=wanted)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_readers_still_read_the_values(reader: str, file: Path) -> None:
    found = READERS[reader](file)
    expected = pq.read_table(file).to_pydict()
    assert found == expected
    assert expected["int64"] == random_values(3000, 3000, "int64").to_pylist()


def test_duckdb_probes(file: Path) -> None:
    """It says of each row group whether the filter excludes a value."""
    duckdb = pytest.importorskip("duckdb")
    table = pq.read_table(file)

    def excluded(name: str, value: Any) -> list[bool]:
        rows = connection.execute("SELECT * FROM parquet_bloom_probe(?, ?, ?)", [str(file), name, value]).fetchall()
        return [row[-1] for row in sorted(rows, key=lambda row: row[1])]

    with duckdb.connect() as connection:
        for name, absent in (("int32", 2**30 + 1), ("int64", 2**40), ("string", "absent")):
            values = table.column(name).to_pylist()
            for row in range(0, 3000, 170):
                assert not excluded(name, values[row])[row // 1000]
            found = [excluded(name, f"{absent}{k}" if name == "string" else absent + k) for k in range(30)]
            assert np.mean(found) > 0.8
            ours = [cw.read_bloom_filter(file, group, name) for group in range(3)]
            for k in range(30):
                value = f"{absent}{k}" if name == "string" else absent + k
                assert found[k] == [not one.might_contain(value) for one in ours if one is not None]
        assert len(excluded("none", 1)) in (0, 3)


def test_filters_lie_after_their_row_group(file: Path) -> None:
    naive.check_file(file.read_bytes())
    groups = cw.read_metadata(file).row_groups
    for group, following in zip(groups, groups[1:], strict=False):
        chunks = [chunk.meta_data for chunk in group.columns if chunk.meta_data]
        places = [
            (chunk.bloom_filter_offset, chunk.bloom_filter_length) for chunk in chunks if chunk.bloom_filter_offset
        ]
        assert len(places) == 3
        assert (chunks[0].dictionary_page_offset or chunks[0].data_page_offset) == group.file_offset
        assert following.file_offset == max(offset + (length or 0) for offset, length in places)
    assert cw.read_bloom_filter(file, 0, "none") is None


def test_bytes_do_not_depend_on_threads() -> None:
    columns = {"a": "int64", "b": "string", "c": "int32"}
    table = pa.table({name: random_values(100_000, 60_000, kind) for name, kind in columns.items()})
    for some in (table, table.select(["a"]), table.select(["b"])):
        one, two = (written(some, bloom_filter_options=True, max_threads=threads) for threads in (1, 4))
        assert one == two


def test_wrong_offsets_are_refused() -> None:
    offsets = np.array([0, 2, 1 << 30, 3], np.int32)
    array = pa.Array.from_buffers(pa.binary(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"abcdef")])
    with pytest.raises(InvalidDataError, match="c: "):
        column(array, use_dictionary=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": True}, "x: bloom_filter_options names a column that is not in the schema"),
        ({"a.z": True}, "a.z: bloom_filter_options names a column that is not in the schema"),
        ({"c": {"fpp": 0}}, "c: bloom_filter_options: expected an fpp above 0 and below 1, found 0"),
        ({"c": {"fpp": 1.0}}, "c: bloom_filter_options: expected an fpp above 0 and below 1, found 1.0"),
        ({"c": {"fpp": float("nan")}}, "c: bloom_filter_options: expected an fpp above 0 and below 1, found nan"),
        ({"c": {"fpp": True}}, "c: bloom_filter_options: expected an fpp above 0 and below 1, found True"),
        ({"c": {"fpp": "0.1"}}, "c: bloom_filter_options: expected an fpp above 0 and below 1, found '0.1'"),
        ({"c": {"ndv": 0}}, "c: bloom_filter_options: ndv: expected an integer of at least 1, found 0"),
        ({"c": {"ndv": 1.5}}, "c: bloom_filter_options: ndv: expected an integer of at least 1, found 1.5"),
        ({"c": {"nvd": 3}}, "c: bloom_filter_options: expected True, False, or a dict with 'ndv', 'fpp' or both"),
        ({"c": 5}, "c: bloom_filter_options: expected True, False, or a dict with 'ndv', 'fpp' or both, found 5"),
        (5, "bloom_filter_options: expected True, False, or a dict with 'ndv', 'fpp' or both, found 5"),
    ],
)
def test_options_that_are_refused(options: Any, message: str) -> None:
    table = pa.table({"a": [{"b": 1}], "c": [1]})
    with pytest.raises(InvalidOptionError) as error:
        written(table, bloom_filter_options=options)
    assert str(error.value).startswith(message)


def test_a_boolean_column_is_refused_by_name() -> None:
    """All columns, or all below a struct, leave it out; a name that is its own is a mistake."""
    types = {"a": Type.INT64, "s.b": Type.BOOLEAN}
    for wanted in (True, {"s": True}, {"s.b": False}):
        read_options(bloom_filter_options=wanted).check_types(types)
    with pytest.raises(InvalidOptionError, match=r"^s\.b: bloom_filter_options: expected .* BOOLEAN"):
        read_options(bloom_filter_options={"s.b": True}).check_types(types)


def test_a_name_stands_for_all_leaves_below() -> None:
    table = pa.table({"a": [{"b": 1, "c": "x"}], "d": [1]})
    data = written(table, bloom_filter_options={"a": True, "a.c": False})
    assert [cw.read_bloom_filter(data, 0, leaf) is not None for leaf in ("a.b", "a.c", "d")] == [True, False, False]
    for none in (None, False, {}):
        assert written(table, bloom_filter_options=none) == written(table)


def test_the_command_line_shows_how_large_they_are(file: Path) -> None:
    sizes = [
        chunk.meta_data.bloom_filter_length or 0
        for group in cw.read_metadata(file).row_groups
        for chunk in group.columns[:1]
        if chunk.meta_data
    ]
    shown = CliRunner().invoke(app, ["inspect", str(file), "--column", "int32"]).output
    assert f"Bloom filters: 3, {size(sum(sizes))}" in shown
    assert "Bloom" not in CliRunner().invoke(app, ["inspect", str(file), "--column", "none"]).output


def test_values_that_can_be_asked_for() -> None:
    numbers = column(pa.array([-1, 5], pa.int32()))
    assert all(map(numbers.might_contain, (-1, 2**32 - 1, 5, np.int64(5))))
    assert not any(map(numbers.might_contain, (2**32, -(2**31) - 1, 10**30)))
    texts = column(pa.array(["", "né"]))
    assert all(map(texts.might_contain, ("", "né", "né".encode(), memoryview("né".encode()))))
    for found, value in ((numbers, "5"), (numbers, 5.0), (numbers, None), (texts, 5), (texts, None)):
        with pytest.raises(InvalidOptionError, match=r"^value: expected one that a column of "):
            found.might_contain(value)


@pytest.mark.parametrize(("kind", "absent"), [(pa.float32(), 3.5), (pa.float64(), 0.1)])
def test_floats_of_other_writers(kind: pa.DataType, absent: float) -> None:
    if "bloom_filter_options" not in (pq.write_table.__doc__ or ""):
        pytest.skip("this pyarrow writes no Bloom filters")
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": pa.array([1.5, -2.25], kind)}), sink, bloom_filter_options={"c": {"fpp": 1e-4}})
    found = cw.read_bloom_filter(sink.getvalue())
    assert found is not None
    assert [found.might_contain(value) for value in (1.5, -2.25, absent)] == [True, True, False]


def _header(num_bytes: int = 32, **changes: Any) -> bytes:
    block, xxhash = BloomFilterAlgorithm(BLOCK=Empty()), BloomFilterHash(XXHASH=Empty())
    whole = BloomFilterHeader(num_bytes, block, xxhash, BloomFilterCompression(UNCOMPRESSED=Empty()))
    return encode(dataclasses.replace(whole, **changes))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (_header(0), "expected a Bloom filter of blocks of 32 bytes, found 0"),
        (_header(-32), "expected a Bloom filter of blocks of 32 bytes, found -32"),
        (_header(33), "expected a Bloom filter of blocks of 32 bytes, found 33"),
        (_header(2**30), "bytes more at the end of the file"),
        (_header(hash=BloomFilterHash()), "expected a Bloom filter of"),
        (b"\xff" * 16, "BloomFilterHeader"),
    ],
)
def test_filters_that_contradict_themselves(header: bytes, message: str) -> None:
    data = written({"c": [1, 2]}, bloom_filter_options=True)
    metadata = cw.read_metadata(data).row_groups[0].columns[0].meta_data
    assert metadata is not None
    start = metadata.bloom_filter_offset
    assert start is not None
    with pytest.raises(CorruptFileError, match=r"^c: ") as error:
        cw.read_bloom_filter(data[:start] + header + data[start + len(header) :])
    assert message in str(error.value)
