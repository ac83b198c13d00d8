"""When a dictionary is used: never one that makes the chunk larger, and always one that clearly pays."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
import naive
from colwriter.metadata import Encoding


def write(column: pa.Array, **options: object) -> tuple[bytes, cw.FileMetaData]:
    sink = io.BytesIO()
    metadata = cw.write_column(column, sink, **{"compression": "none", **options})
    return sink.getvalue(), metadata


def chunk(metadata: cw.FileMetaData):
    return metadata.row_groups[0].columns[0].meta_data


def ints(rng: np.random.Generator, distinct: int, count: int) -> pa.Array:
    return pa.array(rng.integers(-(2**62), 2**62, distinct)[rng.integers(0, distinct, count)])


def strings(rng: np.random.Generator, distinct: int, count: int) -> pa.Array:
    pool = np.array([f"value number {k}" for k in range(distinct)])
    return pa.array(pool[rng.integers(0, distinct, count)])


@pytest.mark.parametrize("make", [ints, strings])
@pytest.mark.parametrize("distinct", [1, 2, 10, 1000, 20_000, 100_000, 300_000])
def test_never_larger_than_plain_nor_than_pyarrow(make, distinct: int) -> None:
    column = make(np.random.default_rng(distinct), distinct, 200_000)
    data, metadata = write(column)
    _, plain = write(column, use_dictionary=False)
    assert chunk(metadata).total_uncompressed_size <= chunk(plain).total_uncompressed_size
    pq.write_table(pa.table({"column": column}), sink := io.BytesIO(), compression="none", write_page_index=True)
    # The name of this writer is longer, and pyarrow lets a dictionary grow somewhat past its limit.
    assert len(data) <= len(sink.getvalue()) * 1.0002 + 8
    assert pq.read_table(io.BytesIO(data))["column"].combine_chunks().equals(column)
    if distinct <= 1000:
        assert chunk(metadata).total_uncompressed_size < chunk(plain).total_uncompressed_size / 4


@pytest.mark.parametrize("make", [ints, strings])
def test_unique_values_stay_plain(make) -> None:
    column = make(np.random.default_rng(1), 10**6, 50_000)
    _, metadata = write(column)
    assert chunk(metadata).dictionary_page_offset is None
    assert [stats.encoding.name for stats in chunk(metadata).encoding_stats] == ["PLAIN"]


def test_full_dictionary_goes_on_in_plain() -> None:
    """arrow size statistics vectors: 20 000 strings, a dictionary of 1 KiB; and repeats before, so that it pays."""
    column = pa.array(["x" * 50, "y" * 50] * 5000 + [str(k) for k in range(20_000)])
    data, metadata = write(column, dictionary_pagesize_limit=1024, max_rows_per_page=3000)
    meta = chunk(metadata)
    assert [(s.page_type.name, s.encoding.name) for s in meta.encoding_stats] == [
        ("DICTIONARY_PAGE", "PLAIN"),
        ("DATA_PAGE", "RLE_DICTIONARY"),
        ("DATA_PAGE", "PLAIN"),
    ]
    assert meta.size_statistics.unencoded_byte_array_data_bytes == 10_000 * 50 + 88_890
    naive.check_file(data)
    _, offsets = cw.read_page_index(data)
    assert offsets.unencoded_byte_array_data_bytes.sum() == 10_000 * 50 + 88_890
    dictionary_page = meta.data_page_offset - meta.dictionary_page_offset
    assert dictionary_page <= 1024 + 64
    assert pq.read_table(io.BytesIO(data))["column"].combine_chunks().equals(column)


def test_rows_are_not_split_where_the_dictionary_ends() -> None:
    lists = pa.array([[k % 7] * 40 for k in range(300)] + [list(range(k, k + 40)) for k in range(0, 9000, 40)])
    data, metadata = write(lists, dictionary_pagesize_limit=800)
    assert len(chunk(metadata).encoding_stats) == 3
    naive.check_file(data)
    assert pq.read_table(io.BytesIO(data))["column"].combine_chunks().equals(lists)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3000),
    st.integers(1, 30_000),
    st.sampled_from([1, 40, 1000, 1 << 20]),
    st.sampled_from([17, 5000, 1 << 20]),
    st.integers(0, 2**32),
)
def test_any_limit(distinct: int, count: int, limit: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for make in (ints, strings):
        values = make(rng, distinct, count)
        column = pa.array(
            [None if null else v for v, null in zip(values.to_pylist(), rng.random(count) < 0.1, strict=True)],
            values.type,
        )
        data, metadata = write(column, dictionary_pagesize_limit=limit, max_rows_per_page=rows)
        _, plain = write(column, use_dictionary=False, max_rows_per_page=rows)
        # Where the dictionary ends a page may have to end early: one header more.
        assert chunk(metadata).total_uncompressed_size <= chunk(plain).total_uncompressed_size + 64
        assert pq.read_table(io.BytesIO(data))["column"].combine_chunks().equals(column)


@pytest.mark.parametrize("period", [3000, 8192, 10_000, 17_000, 20_000, 32_768])
@pytest.mark.parametrize("kind", ["int64", "string", "string_view"])
@pytest.mark.parametrize("options", [{}, {"column_encoding": "auto"}], ids=["default", "auto"])
def test_repeated_data_have_a_dictionary(period: int, kind: str, options: dict[str, str]) -> None:
    """Rows that come again in the same order, whatever the period: a sample must meet some of them twice."""
    rng = np.random.default_rng(period)
    distinct = pa.array(rng.permutation(10 * period)[:period])
    if kind != "int64":
        distinct = pa.array([f"/usr/lib/{v:09}.py" for v in distinct.to_pylist()])
    values = distinct.take(pa.array(np.arange(300_000) % period)).cast(getattr(pa, kind)())
    sink = pa.BufferOutputStream()
    metadata = cw.write_table(pa.table({"a": values}), sink, compression="none", **options)
    (chunk,) = metadata.row_groups[0].columns
    assert chunk.meta_data is not None
    encodings = chunk.meta_data.encodings
    # Differences of integers may be smaller still.
    assert Encoding.RLE_DICTIONARY in encodings or (options and Encoding.DELTA_BINARY_PACKED in encodings)
    assert pq.read_table(sink.getvalue())["a"].equals(pa.chunked_array([values]))
