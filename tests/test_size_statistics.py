"""Levels, values and size statistics of the writer against the oracle: random columns and hard sizes."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import colwriter as cw
import naive
import strategies
from colwriter import kernels, pages

LEVELS = ("None", "ColumnChunk", "PageAndColumnChunk")


def _as_stored(value: Any, physical_type: int) -> Any:
    """An unsigned integer has the bits of a signed one of the physical type: 1 is INT32, 2 INT64."""
    if not isinstance(value, int) or physical_type not in (1, 2):
        return value
    half = 1 << (31 if physical_type == 1 else 63)
    return (value + half) % (2 * half) - half


def _check(field: pa.Field, rows: list[Any], table: pa.Table, level: str, **options: Any) -> naive.File:
    """Write a table of one column: the file keeps every invariant, and the oracle and pyarrow read the rows."""
    if strategies.has_fixed_size_list(field.type):
        # pyarrow reads a fixed-size list back as a list, unless the Arrow schema is in the file.
        options["store_schema"] = False
    sink = io.BytesIO()
    cw.write_table(table, sink, size_statistics_level=level, **options)
    file = naive.check_file(sink.getvalue(), level)
    for i, leaf in enumerate(naive.shred(field.type, field.nullable, rows, field.name)):
        parts = [chunks[i].leaf for chunks in file.row_groups]
        assert all(part.path == leaf.path for part in parts)
        assert list(chain.from_iterable(part.definition_levels for part in parts)) == leaf.definition_levels
        assert list(chain.from_iterable(part.repetition_levels for part in parts)) == leaf.repetition_levels
        stored = [_as_stored(value, file.columns[i].physical_type) for value in leaf.values]
        assert list(chain.from_iterable(part.values for part in parts)) == stored
    read = pq.read_table(io.BytesIO(sink.getvalue()), page_checksum_verification=True)
    assert read.column(field.name).to_pylist() == rows
    return file


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.cases(), st.sampled_from(LEVELS), strategies.writer_options())
def test_random_columns(case: strategies.Case, level: str, options: dict[str, Any]) -> None:
    _check(case.field, case.rows, case.table, level, **options)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.cases(), strategies.writer_options())
def test_random_columns_whose_levels_are_counted(case: strategies.Case, options: dict[str, Any]) -> None:
    """With two steps or more, levels are arrays; few columns that are random have as many as it takes to count them."""
    with patch.multiple(pages, COUNTING_STEPS=1, LEVELS_A_STEP=1 << 40):
        _check(case.field, case.rows, case.table, "PageAndColumnChunk", **options)


@pytest.mark.parametrize("size", [20, 4000])
def test_deep_columns_are_counted_where_levels_are_few(size: int) -> None:
    rng = random.Random(size)
    depth = 6

    def items(depth: int) -> Any:
        if depth == 0:
            return rng.choice([None, rng.randrange(9)])
        if rng.random() < 0.1:
            return None
        return [{"a": items(depth - 1)} if rng.random() < 0.9 else None for _ in range(rng.randint(0, 3))]

    pa_type = pa.int32()
    for _ in range(depth):
        pa_type = pa.list_(pa.struct([("a", pa_type)]))
    rows = [items(depth) for _ in range(size)]
    field = pa.field("column", pa_type)
    table = pa.Table.from_arrays([pa.array(rows, pa_type)], schema=pa.schema([field]))
    with patch.object(kernels.histogram, "count_levels", wraps=kernels.histogram.count_levels) as counted:
        _check(field, rows, table, "PageAndColumnChunk", max_rows_per_page=7)
    assert counted.called == (size == 20)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.cases(max_depth=2, max_rows=12), min_size=2, max_size=4), strategies.writer_options())
def test_columns_do_not_meet_each_other(cases: list[strategies.Case], options: dict[str, Any]) -> None:
    num_rows = min(len(case.rows) for case in cases)
    columns = [case.table.column(0).slice(0, num_rows) for case in cases]
    fields = [case.field.with_name(f"column {i}") for i, case in enumerate(cases)]
    sink = io.BytesIO()
    cw.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), sink, **options)
    file = naive.check_file(sink.getvalue())
    leaves = [
        leaf
        for field, column in zip(fields, columns, strict=True)
        for leaf in naive.shred(field.type, field.nullable, column.to_pylist(), field.name)
    ]
    for i, leaf in enumerate(leaves):
        parts = [chunks[i].leaf for chunks in file.row_groups]
        assert list(chain.from_iterable(part.definition_levels for part in parts)) == leaf.definition_levels
        stored = [_as_stored(value, file.columns[i].physical_type) for value in leaf.values]
        assert list(chain.from_iterable(part.values for part in parts)) == stored


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.cases(max_depth=3), st.data())
def test_the_chunk_statistics_do_not_depend_on_layout_or_pages(case: strategies.Case, data: st.DataObject) -> None:
    plain = strategies.build(case.field.type, case.rows, strategies.PLAIN_LAYOUT)
    schema = pa.schema([case.field])
    expected = cw.write_table(pa.Table.from_arrays([plain], schema=schema), io.BytesIO())
    options = data.draw(strategies.writer_options()) | {"row_group_size": 2**20}
    found = cw.write_table(case.table, io.BytesIO(), **options)
    assert _size_statistics(found) == _size_statistics(expected)


def _size_statistics(metadata: cw.FileMetaData) -> list[Any]:
    """What is said of each column chunk, but for the count of distinct values, which dictionaries tell."""
    return [
        (
            chunk.meta_data.size_statistics,
            chunk.meta_data.num_values,
            chunk.meta_data.statistics and replace(chunk.meta_data.statistics, distinct_count=None),
        )
        for group in metadata.row_groups
        for chunk in group.columns
        if chunk.meta_data
    ]


# Data that repeats would hide a writer that counts one block over and over: everything below is random.


def _optional(count: int, null_share: float, cardinality: int, seed: int) -> list[int | None]:
    rng = random.Random(seed)
    return [None if rng.random() < null_share else rng.randrange(cardinality) for _ in range(count)]


def _runs(count: int, longest: int, seed: int) -> list[int | None]:
    """Runs of nulls and of one value, of random lengths, between stretches of noise."""
    rng = random.Random(seed)
    rows: list[int | None] = []
    while len(rows) < count:
        length = rng.randint(1, longest)
        kind = rng.random()
        if kind < 0.4:
            rows += [rng.choice([None, rng.randrange(1000)])] * length
        else:
            rows += _optional(length, 0.5, 1000, rng.randrange(2**32))
    return rows[:count]


def _nested(num_levels: int, seed: int) -> list[Any]:
    """Rows of list<list<int64>> that have at least `num_levels` levels together."""
    rng = random.Random(seed)

    def items(depth: int) -> Any:
        if rng.random() < 0.15:
            return None
        return [items(depth - 1) for _ in range(rng.randint(0, 6))] if depth else rng.randrange(-50, 50)

    rows: list[Any] = []
    found = 0
    while found < num_levels:
        rows.append(items(2))
        found += sum(len(inner or [None]) for inner in rows[-1] or [None])
    return rows


def _full_lists(count: int, seed: int) -> list[Any]:
    """Lists of one to nine values."""
    rng = random.Random(seed)
    return [[rng.randrange(1000) for _ in range(rng.randint(1, 9))] for _ in range(count)]


BIG: dict[str, tuple[pa.DataType, Callable[[], list[Any]]]] = {
    "one row of 20000 elements": (pa.list_(pa.int64()), lambda: [_optional(20_000, 0.3, 9, 1)]),
    "one row of 20000 strings": (
        pa.list_(pa.string()),
        lambda: [[None if v is None else "x" * v for v in _optional(20_000, 0.3, 9, 2)]],
    ),
    "one row of 70000 elements": (pa.list_(pa.int64()), lambda: [_optional(70_000, 0.4, 2**20, 9)]),
    "rows around one of 20000 elements": (
        pa.list_(pa.int64()),
        lambda: [[1], None, _optional(20_000, 0.3, 10**6, 3), [], [2, None]],
    ),
    "full lists": (pa.list_(pa.int64()), lambda: _full_lists(9000, 10)),
    "full lists, then an empty one": (pa.list_(pa.int64()), lambda: [*_full_lists(9000, 11), []]),
    "fixed-size lists of 7": (pa.list_(pa.int32(), 7), lambda: [[k % 997 - j for j in range(7)] for k in range(9000)]),
    "16384 nulls, then 16384 values": (pa.int64(), lambda: [None] * 16384 + list(range(16384))),
    "16384 values, then 16384 nulls": (pa.int64(), lambda: list(range(16384)) + [None] * 16384),
    "16384 nulls, then one value": (pa.int64(), lambda: [None] * 16384 + [7]),
    "70000 random definition levels": (pa.int64(), lambda: _optional(70_000, 0.5, 2**40, 4)),
    "70000 rare values": (pa.int64(), lambda: _optional(70_000, 0.999, 2**40, 5)),
    "70000 random levels of two lists": (pa.list_(pa.list_(pa.int64())), lambda: _nested(70_000, 6)),
    "70000 levels in runs": (pa.int64(), lambda: _runs(70_000, 3000, 7)),
    "70000 strings of 300 kinds": (
        pa.string(),
        lambda: [None if v is None else f"{v:x}" * (v % 4) for v in _optional(70_000, 0.1, 300, 8)],
    ),
}


@pytest.mark.parametrize(
    "options",
    [
        {"data_page_version": "1.0", "use_dictionary": False},
        {"data_page_version": "2.0", "use_dictionary": True},
        {"data_page_size": 3000, "use_dictionary": True},
        {"max_rows_per_page": 999, "use_dictionary": False},
    ],
    ids=["V1 plain", "V2 dictionary", "pages of 3000 bytes", "pages of 999 rows"],
)
@pytest.mark.parametrize("name", BIG)
def test_big_columns(name: str, options: dict[str, Any]) -> None:
    pa_type, make = BIG[name]
    rows = make()
    field = pa.field("column", pa_type)
    table = pa.Table.from_arrays([pa.array(rows, pa_type)], schema=pa.schema([field]))
    _check(field, rows, table, "PageAndColumnChunk", **options)


# A bit-packed run holds groups of 8 values; its header takes one byte to 63 groups and two to 8191.
SIZES = sorted(
    {n + d for n in (63 * 8, 64 * 8, 8191 * 8, *(2**k for k in range(3, 17))) for d in (-1, 0, 1)} | {1, 2, 5, 65_543}
)


@pytest.mark.parametrize("count", SIZES)
def test_sizes_at_which_the_hybrid_encoding_turns(count: int) -> None:
    noise = _optional(count, 0.5, 10, count)
    runs = _runs(count, max(2, count // 5), count)
    columns = {
        "noise": noise,
        "runs": runs,
        "noise then a run": [*noise[: count // 2], *[None] * count][:count],
    }
    columns["a run then noise"] = [*[3] * (count // 3), *noise][:count]
    for name, rows in columns.items():
        field = pa.field(name, pa.int64())
        table = pa.Table.from_arrays([pa.array(rows, pa.int64())], schema=pa.schema([field]))
        _check(field, rows, table, "ColumnChunk", use_dictionary=True, max_rows_per_page=2**30)


@pytest.mark.parametrize("cardinality", [1, 2, 3, 4, 5, 255, 256, 257, 4097])
def test_every_width_of_dictionary_indices(cardinality: int) -> None:
    rng = random.Random(cardinality)
    rows = [rng.randrange(cardinality) for _ in range(9001)]
    rows[:cardinality] = range(cardinality)
    field = pa.field("column", pa.int64(), nullable=False)
    table = pa.Table.from_arrays([pa.array(rows, pa.int64())], schema=pa.schema([field]))
    file = _check(field, rows, table, "PageAndColumnChunk", use_dictionary=True)
    assert file.row_groups[0][0].dictionary is not None


def test_a_dictionary_that_grows_too_big_changes_no_statistic() -> None:
    rows = [str(i) for i in range(20_000)]
    field = pa.field("column", pa.string())
    table = pa.Table.from_arrays([pa.array(rows)], schema=pa.schema([field]))
    options = {"use_dictionary": True, "dictionary_pagesize_limit": 1024, "data_page_size": 4096}
    file = _check(field, rows, table, "PageAndColumnChunk", **options)
    (chunk,) = file.row_groups[0]
    assert chunk.metadata["meta_data"]["size_statistics"]["unencoded_byte_array_data_bytes"] == 88_890


def test_a_file_without_rows() -> None:
    field = pa.field("column", pa.list_(pa.string()))
    table = pa.Table.from_arrays([pa.array([], field.type)], schema=pa.schema([field]))
    file = _check(field, [], table, "PageAndColumnChunk")
    assert [page for chunks in file.row_groups for chunk in chunks for page in chunk.all_pages] == []
