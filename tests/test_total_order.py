"""Bounds of floating-point numbers by IEEE_754_TOTAL_ORDER (parquet.thrift, ``ColumnOrder``)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
from colwriter.keywords import read_options
from colwriter.metadata import ColumnOrder, Empty
from naive.check import check_file

TOTAL = {"float_column_order": "IEEE_754_TOTAL_ORDER"}
KINDS: dict[Any, Any] = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}
NAN = float("nan")


def bounds(array: pa.Array, **options: Any) -> tuple[Any, Any, bytes]:
    """Statistics and column index of a column, and the file, which is checked."""
    cw.write_table(pa.table({"c": array}), sink := io.BytesIO(), **(TOTAL | options))
    check_file(sink.getvalue())
    statistics = cw.read_metadata(sink).row_groups[0].columns[0].meta_data.statistics
    return statistics, cw.read_page_index(sink, 0, 0)[0], sink.getvalue()


def bits(number: Any) -> bytes:
    return number.tobytes()


def nans(kind: Any, *payloads: int) -> np.ndarray:
    """NaN with these bits in place of the lowest; with a negative number, those below the highest, and the sign."""
    width = 8 * kind().itemsize
    quiet = int(np.array(np.nan, kind).view(KINDS[kind])) & ((1 << (width - 1)) - 1)
    return np.array([quiet | abs(k) | ((k < 0) << (width - 1)) for k in payloads], KINDS[kind]).view(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"max_rows_per_page": 2}])
def test_zeros_keep_their_signs(kind: Any, options: dict[str, Any]) -> None:
    for values, least, greatest in (
        ([0.0, 0.0], 0.0, 0.0),
        ([-0.0] * 8, -0.0, -0.0),
        ([0.0, -0.0] * 4, -0.0, 0.0),
        ([0.0, 1.0] * 4, 0.0, 1.0),
        ([-1.0, -0.0] * 4, -1.0, -0.0),
    ):
        statistics, index, _ = bounds(pa.array(np.array(values, kind)), **options)
        assert (statistics.min_value, statistics.max_value) == (bits(kind(least)), bits(kind(greatest)))
        assert (statistics.nan_count, index.nan_counts.sum()) == (0, 0)
        if "max_rows_per_page" not in options:
            assert (*index.min_values, *index.max_values) == (statistics.min_value, statistics.max_value)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_have_bounds_without_nan(kind: Any) -> None:
    values = np.concatenate([nans(kind, 0, -1), np.array([-np.inf, 1.0, 3.0], kind)])
    statistics, index, _ = bounds(pa.array(values))
    assert (statistics.min_value, statistics.max_value) == (bits(kind(-np.inf)), bits(kind(3.0)))
    assert (statistics.nan_count, index.nan_counts.tolist()) == (2, [2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masked", [False, True])
def test_pages_of_nan_have_bounds_that_are_nan(kind: Any, masked: bool) -> None:
    """Of pages of NaN alone the least and the greatest in total order; the bounds of the chunk are numbers."""
    pages = [nans(kind, 1, -2, 3), np.array([2.0, 5.0, np.nan], kind), nans(kind, 7, 4, 4), nans(kind, -1, -3, -2)]
    mask = np.array([False, masked, False] * 4)
    statistics, index, _ = bounds(pa.array(np.concatenate(pages), mask=mask), max_rows_per_page=3)
    assert index.nan_counts.tolist() == ([2, 1, 2, 2] if masked else [3, 1, 3, 3])
    assert (statistics.min_value, statistics.max_value) == (bits(kind(2.0)), bits(kind(2.0 if masked else 5.0)))
    least = [nans(kind, 1 if masked else -2), np.array([2.0], kind), nans(kind, 4), nans(kind, -2 if masked else -3)]
    greatest = [nans(kind, 3), np.array([2.0 if masked else 5.0], kind), nans(kind, 7), nans(kind, -1)]
    assert index.min_values == tuple(map(bits, least))
    assert index.max_values == tuple(map(bits, greatest))
    # By the default order there is no column index, and no bound is NaN.
    cw.write_table(pa.table({"c": np.concatenate(pages)}), sink := io.BytesIO(), max_rows_per_page=3)
    assert cw.read_page_index(sink)[0] is None


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_nan_have_bounds_that_are_nan(kind: Any) -> None:
    extreme = np.array([-1], f"i{kind().itemsize}").view(kind)  # every bit set, the least there is
    for values, least, greatest in (
        (nans(kind, 5, 1, 2), nans(kind, 1), nans(kind, 5)),
        (nans(kind, -5, 1, -2), nans(kind, -5), nans(kind, 1)),
        (extreme, extreme, extreme),
    ):
        for options in ({}, {"use_dictionary": False, "max_rows_per_page": 1}):
            statistics, index, _ = bounds(pa.array(values), **options)
            assert (statistics.min_value, statistics.max_value) == (bits(least), bits(greatest))
            assert statistics.nan_count == index.nan_counts.sum() == len(values)


def test_the_footer_names_the_order_of_floats_alone() -> None:
    table = pa.table({"i": [1], "f": [1.5], "s": ["x"], "l": pa.array([[1.5]], pa.list_(pa.float16()))})
    typed, total = ColumnOrder(TYPE_ORDER=Empty()), ColumnOrder(IEEE_754_TOTAL_ORDER=Empty())
    written = cw.write_table(table, sink := io.BytesIO(), **TOTAL)
    assert written.column_orders == (typed, total, typed, total)
    assert cw.read_metadata(sink).column_orders == (typed, total, typed, total)
    check_file(sink.getvalue())
    assert cw.write_table(table, io.BytesIO()).column_orders == (typed,) * 4
    assert read_options(float_column_order="ieee_754_total_order").types.float_total_order


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, NAN, -NAN, np.inf, -np.inf, None]), min_size=1, max_size=40),
    st.sampled_from([1, 3, 40]),
    st.sampled_from([pa.float16(), pa.float32(), pa.float64()]),
    st.sampled_from(["BYTE_STREAM_SPLIT", "PLAIN", None]),
)
def test_any_pages(values: list[float | None], max_rows: int, kind: pa.DataType, encoding: str | None) -> None:
    options = {"max_rows_per_page": max_rows}
    if encoding:
        options |= {"column_encoding": encoding, "use_dictionary": False}
    _, index, data = bounds(pa.array(values, kind), **options)
    assert index is not None
    assert repr(pq.read_table(io.BytesIO(data))["c"].to_pylist()) == repr(pa.array(values, kind).to_pylist())


def test_readers_that_do_not_know_the_order(tmp_path: Path) -> None:
    """pyarrow sees no bounds, Polars and DuckDB use them; all find what they look for."""
    path = tmp_path / "t.parquet"
    numbers = [-0.0, 0.0, 1.5, 7.0, -3.0, 2.0] * 500
    cw.write_table(pa.table({"f": numbers}), path, row_group_size=500, max_rows_per_page=50, **TOTAL)
    assert not pq.read_metadata(path).row_group(0).column(0).statistics.has_min_max
    for least in (-5.0, -0.0, 0.0, 2.0, 6.0, 8.0):
        expected = sum(number >= least for number in numbers)
        assert pq.read_table(path, filters=[("f", ">=", least)]).num_rows == expected
        assert len(pl.scan_parquet(path).filter(pl.col("f") >= least).collect()) == expected
        with duckdb.connect() as connection:
            assert connection.execute(f"select count(*) from '{path}' where f >= {least}").fetchone() == (expected,)
