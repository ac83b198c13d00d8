"""Where pages end: limits in bytes, rows and values, and boundaries that were asked for."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colwriter as cw
from naive.check import check_file
from naive.reader import Chunk

ROWS = 3000
RNG = np.random.default_rng(1)
LENGTHS = RNG.integers(0, 6, ROWS)
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)
WIDE = RNG.integers(-(2**62), 2**62, int(OFFSETS[-1]))
MASK = RNG.random(ROWS) < 0.4
COLUMNS = {
    "integers": pa.array(WIDE[:ROWS]),
    "nulls": pa.array(WIDE[:ROWS], mask=MASK),
    "booleans": pa.array(RNG.random(ROWS) < 0.5, mask=MASK),
    "strings": pa.array(["x" * int(k) for k in RNG.integers(0, 40, ROWS)], mask=MASK),
    "dictionary": pa.array(RNG.integers(0, 300, ROWS) * 10**12, mask=MASK),
    "halves": pa.array(RNG.random(ROWS).astype(np.float16)),
    "lists": pa.ListArray.from_arrays(pa.array(OFFSETS), pa.array(WIDE)),
    "texts": pa.ListArray.from_arrays(pa.array(OFFSETS), pa.array([f"{k % 7919}" for k in WIDE.tolist()])),
}


def chunks_of(table: Any, **options: Any) -> list[list[Chunk]]:
    """The column chunks of each row group, checked, of a file that pyarrow reads back."""
    cw.write_table(table, sink := io.BytesIO(), **options)
    assert pq.read_table(sink).equals(table)
    return [list(group) for group in check_file(sink.getvalue()).row_groups]


def rows_of(chunk: Chunk) -> list[int]:
    """The number of rows of each page."""
    return [page.leaf.repetition_levels.count(0) for page in chunk.pages]


def starts_of(chunk: Chunk) -> list[int]:
    """The first row of each page."""
    return np.cumsum([0, *rows_of(chunk)])[:-1].tolist()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("limit", [40, 100, 999, 5000])
@pytest.mark.parametrize("name", COLUMNS)
def test_no_page_has_more_bytes_unless_one_row_has(name: str, limit: int, version: str) -> None:
    table = pa.table({"c": COLUMNS[name]})
    for use_dictionary in (True, False):
        options = {"data_page_size": limit, "data_page_version": version, "compression": "none"}
        [[chunk]] = chunks_of(table, use_dictionary=use_dictionary, **options)
        sizes = [page.header["uncompressed_page_size"] for page in chunk.pages]
        for size, rows in zip(sizes, rows_of(chunk), strict=True):
            assert size <= limit or rows == 1
        if limit == 5000 and len(sizes) > 1:  # and pages are not much smaller than they may be
            assert sizes[0] > 0.85 * limit


@pytest.mark.parametrize("limit", [300, 4000])
def test_encoded_booleans_keep_the_limit(limit: int) -> None:
    options = {"use_dictionary": False, "column_encoding": "RLE", "data_page_size": limit, "compression": "none"}
    [[chunk]] = chunks_of(pa.table({"c": pa.array(RNG.random(50_000) < 0.5)}), **options)
    assert max(page.header["uncompressed_page_size"] for page in chunk.pages) <= limit


@pytest.mark.parametrize("limit", [40, 300, 5000])
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("integers", "DELTA_BINARY_PACKED"),
        ("nulls", "DELTA_BINARY_PACKED"),
        ("strings", "DELTA_LENGTH_BYTE_ARRAY"),
        ("texts", "DELTA_BYTE_ARRAY"),
    ],
)
def test_delta_encodings_pass_the_limit_by_blocks_alone(name: str, encoding: str, limit: int) -> None:
    options = {"use_dictionary": False, "column_encoding": encoding, "data_page_size": limit, "compression": "none"}
    [[chunk]] = chunks_of(pa.table({"c": COLUMNS[name]}), **options)
    assert max(page.header["uncompressed_page_size"] for page in chunk.pages) <= limit * 1.04 + 1024


@pytest.mark.parametrize("limit", [1, 3, 64, 1000, 10_000])
def test_no_page_has_more_values_unless_one_row_has(limit: int) -> None:
    [[lists, flat]] = chunks_of(pa.table({"l": COLUMNS["lists"], "i": COLUMNS["nulls"]}), max_values_per_page=limit)
    for chunk in (lists, flat):
        values = [page.data_header["num_values"] for page in chunk.pages]
        assert all(count <= limit or rows == 1 for count, rows in zip(values, rows_of(chunk), strict=True))
        levels = [max(int(n), 1) for n in LENGTHS] if chunk is lists else [1] * ROWS
        at = 0
        for rows in rows_of(chunk)[:-1]:  # a page takes as many rows as it may
            assert sum(levels[at : at + rows + 1]) > limit
            at += rows


@pytest.mark.parametrize("kind", [list, tuple, np.array, pa.array, lambda rows: np.array(rows, np.uint16)])
def test_pages_start_at_boundaries(kind: Any) -> None:
    rows = [0, 5, 100, 101, 2047, 2999]
    table = pa.table({"i": COLUMNS["integers"], "s": COLUMNS["strings"], "l": COLUMNS["lists"]})
    [chunks] = chunks_of(table, page_boundaries=kind(rows))
    assert [starts_of(chunk) for chunk in chunks] == [rows] * 3
    [chunks] = chunks_of(table, page_boundaries={"i": kind(rows[1:3]), "l.list.element": kind(rows[2:]), "s": []})
    assert [starts_of(chunk) for chunk in chunks] == [[0, 5, 100], [0], [0, *rows[2:]]]


def test_boundaries_of_a_parent_are_those_of_its_leaves() -> None:
    table = pa.table({"s": [{"a": k, "b": str(k)} for k in range(40)], "i": range(40)})
    [chunks] = chunks_of(table, page_boundaries={"s": [7, 13], "s.b": [20]})
    assert [starts_of(chunk) for chunk in chunks] == [[0, 7, 13], [0, 20], [0]]


@pytest.mark.parametrize("max_threads", [1, 2])
def test_boundaries_are_rows_of_the_file(max_threads: int) -> None:
    rows = [10, 1000, 1001, 1999, 2400, 5000, 10**18]
    table = pa.table({"i": COLUMNS["integers"], "l": COLUMNS["lists"]})
    groups = chunks_of(table, page_boundaries=rows, row_group_size=1000, max_threads=max_threads)
    assert [[starts_of(chunk) for chunk in chunks] for chunks in groups] == [
        [[0, 10]] * 2,
        [[0, 1, 999]] * 2,
        [[0, 400]] * 2,
    ]


def test_boundaries_do_not_depend_on_how_rows_come() -> None:
    table = pa.table({"i": COLUMNS["nulls"]})
    rows = [100, 1234, 2500]
    for options in ({}, {"max_row_group_decoded_bytes": 6000}, {"row_group_size": 700}):
        sink = io.BytesIO()
        with cw.ParquetWriter(sink, table.schema, page_boundaries=rows, **options) as writer:
            writer.write_table(table.slice(0, 900))
            for start in range(900, 2000, 90):
                writer.write_batch(table.slice(start, min(90, 2000 - start)).to_batches()[0])
            writer.write_table(table.slice(2000))
        starts, first = [], 0
        for group in check_file(sink.getvalue()).row_groups:
            starts += [first + row for row in starts_of(group[0])]
            first += sum(rows_of(group[0]))
        assert set(rows) <= set(starts)
        assert first == ROWS
        assert pq.read_table(sink).equals(table)


def test_limits_split_what_lies_between_boundaries() -> None:
    table = pa.table({"i": COLUMNS["integers"]})
    options: dict[str, Any] = {"use_dictionary": False, "compression": "none", "page_boundaries": [10, 1000]}
    [[chunk]] = chunks_of(table, max_rows_per_page=400, **options)
    assert starts_of(chunk) == [0, 10, 410, 810, 1000, 1400, 1800, 2200, 2600]
    [[chunk]] = chunks_of(table, data_page_size=4096, **options)
    assert {0, 10, 1000} < set(starts_of(chunk))
    assert max(page.header["uncompressed_page_size"] for page in chunk.pages) <= 4096


def test_boundaries_hold_where_a_dictionary_is_given_up() -> None:
    values: Sequence[int] = [*(k % 20 * 10**12 for k in range(2000)), *WIDE[:1000].tolist()]
    rows = np.arange(0, ROWS, 100)
    [[chunk]] = chunks_of(pa.table({"i": values}), page_boundaries=rows, dictionary_pagesize_limit=1000)
    assert len({page.encoding for page in chunk.pages}) == 2
    assert set(rows.tolist()) <= set(starts_of(chunk))


def test_pages_by_the_values_of_a_sort_key() -> None:
    """Each page holds one value of the key, which its bounds then tell, and other columns are cut at the same rows."""
    key = np.sort(RNG.integers(0, 30, ROWS))
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    table = pa.table({"key": key, "value": COLUMNS["strings"]})
    cw.write_table(table, sink := io.BytesIO(), page_boundaries=starts)
    for column in ("key", "value"):
        bounds, places = cw.read_page_index(sink, column=column)
        assert bounds is not None
        assert places is not None
        found = [place.first_row_index for place in places.page_locations]
        assert found == starts.tolist()
        if column == "key":
            assert bounds.min_values == bounds.max_values
    assert [b - a for a, b in pairwise([*found, ROWS])] == np.unique(key, return_counts=True)[1].tolist()


@pytest.mark.parametrize(
    "sizes", [[10] * 300, [3_000_000, *[10] * 200], [*[10] * 99, 1_100_000, *[10] * 99], [40_000] * 90]
)
def test_pages_that_do_not_fit_the_buffer_of_the_file(sizes: list[int]) -> None:
    """Small pages are gathered up to a buffer at a time; one that is larger than it goes to the file by itself."""
    rng = np.random.default_rng(0)
    values = [rng.bytes(size) for size in sizes]
    sink = pa.BufferOutputStream()
    options = {"use_dictionary": False, "compression": "none", "data_page_size": 1, "write_page_checksum": True}
    cw.write_table(pa.table({"a": pa.array(values, pa.binary())}), sink, **options)
    file = pq.ParquetFile(sink.getvalue(), page_checksum_verification=True)
    assert file.read()["a"].to_pylist() == values
    offsets = cw.read_page_index(sink.getvalue(), row_group=0, column="a")[1].page_locations
    assert len(offsets) == len(sizes)
