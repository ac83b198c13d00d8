"""Columns of views are written as those of the same strings are, whether a dictionary is made of them or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
from colwriter import kernels


def written(array: pa.Array, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    cw.write_column(array, sink, store_schema=False, compression="none", **options)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def texts(rng: np.random.Generator, count: int, distinct: int, longest: int) -> list[bytes | None]:
    """``count`` of ``distinct`` values, many of which begin alike; some are null."""
    start = b"the same start"
    lengths = rng.integers(0, longest + 1, distinct)
    pool = [(start + rng.bytes(longest))[:n] if k % 3 else rng.bytes(n) for k, n in enumerate(lengths.tolist())]
    return [None if rng.random() < 0.1 else pool[k] for k in rng.integers(0, distinct, count).tolist()]


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 3000),
    distinct=st.sampled_from([1, 2, 7, 100, 900, 5000]),
    longest=st.sampled_from([0, 4, 12, 13, 22, 23, 24, 25, 31, 40, 200]),
    skip=st.integers(0, 70),
    limit=st.sampled_from([1, 64, 3000, 1 << 20]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_file_is_that_of_the_strings(
    count: int, distinct: int, longest: int, skip: int, limit: int, seed: int
) -> None:
    values = texts(np.random.default_rng(seed), count + skip, distinct, longest)
    options = {"dictionary_pagesize_limit": limit, "max_rows_per_page": 1000}
    expected = written(pa.array(values, pa.binary()).slice(skip), **options)
    assert written(pa.array(values, pa.binary_view()).slice(skip), **options) == expected


def test_where_a_dictionary_pays_it_is_found_in_the_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """No value but those of the dictionary is copied."""
    copied = []
    copy = kernels.views.copy_views

    def watched(views: Any, *more: Any) -> None:
        copied.append(len(views) // 16)
        copy(views, *more)

    monkeypatch.setattr(kernels.views, "copy_views", watched)
    rng = np.random.default_rng(1)
    values = texts(rng, 5000, 40, 30)
    written(pa.array(values, pa.binary_view()))
    assert copied == [len({value for value in values if value is not None})]
    copied.clear()
    written(pa.array([b"%d" % k for k in range(5000)], pa.binary_view()))
    assert copied == [5000]


def test_lists_of_views() -> None:
    rng = np.random.default_rng(2)
    values = texts(rng, 20_000, 50, 40)
    offsets = np.sort(rng.integers(0, 20_001, 3000)).astype(np.int32)
    lists = [
        pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, kind)) for kind in (pa.binary(), pa.binary_view())
    ]
    assert written(lists[1]) == written(lists[0])


def test_values_that_differ_in_one_byte_only() -> None:
    """Of long values a hash stands for most bytes: those that it takes for the same are compared."""
    rng = np.random.default_rng(3)
    for length in (24, 25, 31, 32, 33, 64, 100):
        base = rng.integers(0, 256, length, np.uint8)
        pool = [base.tobytes()]
        for place in range(length):
            other = base.copy()
            other[place] ^= 1
            pool.append(other.tobytes())
        values = [pool[k] for k in rng.integers(0, len(pool), 4000).tolist()]
        sink = pa.BufferOutputStream()
        cw.write_column(pa.array(values, pa.binary_view()), sink)
        assert pq.read_table(pa.BufferReader(sink.getvalue())).column(0).to_pylist() == values


def test_bytes_after_a_short_value_do_not_count() -> None:
    """They should be zero, but are not part of the value."""
    views = np.zeros((4000, 16), np.uint8)
    views[:, 0] = 2
    views[:, 4:6] = list(b"ab")
    views[:, 6:] = np.random.default_rng(4).integers(0, 256, (4000, 10))
    array = pa.Array.from_buffers(pa.binary_view(), 4000, [None, pa.py_buffer(views)])
    sink = pa.BufferOutputStream()
    metadata = cw.write_column(array, sink, compression="none")
    assert metadata.row_groups[0].columns[0].meta_data.total_compressed_size < 400
    assert pq.read_table(pa.BufferReader(sink.getvalue())).column(0).to_pylist() == [b"ab"] * 4000


@pytest.mark.parametrize("under_null", [False, True])
@pytest.mark.parametrize(
    ("length", "buffer", "start"), [(-1, 0, 0), (20, 1, 0), (20, -1, 0), (20, 0, -1), (20, 0, 81), (1 << 30, 0, 0)]
)
def test_a_view_that_points_outside(length: int, buffer: int, start: int, under_null: bool) -> None:
    views = np.zeros((2000, 4), np.int32)
    views[:, 0] = 1
    views[1500] = length, 0, buffer, start
    valid = np.arange(2000) != 1500
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little")) if under_null else None
    array = pa.Array.from_buffers(
        pa.binary_view(), 2000, [bitmap, pa.py_buffer(views), pa.py_buffer(bytes(100))], int(under_null)
    )
    for options in ({}, {"use_dictionary": False}):
        if under_null:
            assert written(array, **options)
        else:
            with pytest.raises(cw.InvalidDataError, match=r"column: .*views of its 1 buffers"):
                written(array, **options)
