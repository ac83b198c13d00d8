"""Threads: the same bytes whatever their number, several writers at once, errors, and after a fork."""

from __future__ import annotations

import io
import os
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import colwriter as cw
from colwriter import arena, column_writer, packed_lists, row_group_encoder
from colwriter.encodings import distinct
from colwriter.parallel import available_threads, in_order, pool

ROWS = 60_000


def table(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    numbers = pa.array(rng.integers(0, 50, ROWS), mask=rng.random(ROWS) < 0.1)
    offsets = np.sort(rng.integers(0, ROWS + 1, ROWS // 3)).astype(np.int32)
    return pa.table(
        {
            "few": numbers.take(pa.array(rng.permutation(ROWS))),
            "many": rng.integers(0, 2**60, ROWS),
            "text": [str(v) for v in rng.integers(0, 9999, ROWS)],
            "list": pa.concat_arrays(
                [
                    pa.ListArray.from_arrays(offsets, numbers),
                    pa.array([None] * (ROWS - len(offsets) + 1), pa.list_(pa.int64())),
                ]
            ),
        }
    )


def written(data: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    cw.write_table(data, sink, **options)
    return sink.getvalue()


@pytest.fixture
def _always_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share the pages of a column however small it is."""
    monkeypatch.setattr(column_writer, "SHARED_BYTES", {})
    monkeypatch.setattr(column_writer, "SHARED_BYTES_OTHERWISE", 0)
    monkeypatch.setattr(column_writer, "PAGES_PER_THREAD", 1)


@pytest.mark.usefixtures("_always_shared")
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_bytes_do_not_depend_on_threads(codec: str) -> None:
    data = table(1)
    options = {"compression": codec, "row_group_size": 40_000, "write_page_checksum": True}
    one = written(data, use_threads=False, **options)
    for threads in (1, 2, 5):
        assert written(data, max_threads=threads, **options) == one
    assert pq.read_table(io.BytesIO(one)).equals(data)
    options["max_rows_per_page"] = 3000
    for name in data.column_names:  # a single column has its threads for itself
        column = data.select([name])
        assert written(column, max_threads=3, **options) == written(column, use_threads=False, **options)


@pytest.mark.parametrize("more", [-1, 0, 1, 77])
@pytest.mark.parametrize("limit", [1 << 20, 9500, 7200, 1500])
def test_bytes_of_one_column_do_not_depend_on_threads(more: int, limit: int) -> None:
    """About as many slots as two threads look for distinct values in.

    One more is met every 200 slots, of 1000: with a low limit the dictionary is full in the first half or the second.
    """
    rng = np.random.default_rng(more + 1)
    count = distinct.SHARED_SLOTS + more
    codes = np.minimum(rng.integers(0, 1000, count), 50 + np.arange(count) // 200)
    numbers = pa.array(codes * 7919, mask=rng.random(count) < 0.1)
    for column in (numbers, numbers.cast(pa.string()), numbers.cast(pa.float64())):
        data = pa.table({"column": column})
        one = written(data, use_threads=False, dictionary_pagesize_limit=limit)
        assert written(data, max_threads=2, dictionary_pagesize_limit=limit) == one
        assert pq.read_table(io.BytesIO(one)).equals(data)


@pytest.mark.parametrize("more", [-1, 0, 1, 77])
@pytest.mark.parametrize("nulls", [0.0, 0.4])
def test_bytes_of_one_column_of_lists_do_not_depend_on_threads(more: int, nulls: float) -> None:
    rng = np.random.default_rng(more + 1)
    count = packed_lists.SHARED_LISTS + more
    spans = np.where(rng.random(count) < nulls, 0, rng.integers(0, 4, count))
    elements = pa.array(rng.integers(0, 99, int(spans.sum())), mask=rng.random(int(spans.sum())) < nulls)
    offsets = np.concatenate([[0], np.cumsum(spans)])
    mask = pa.array(rng.random(count) < nulls) if nulls else None
    for offset_type, lists in ((np.int32, pa.ListArray), (np.int64, pa.LargeListArray)):
        data = pa.table({"column": lists.from_arrays(offsets.astype(offset_type), elements)})
        one = written(data, use_threads=False)
        assert written(data, max_threads=2) == one
        assert pq.read_table(io.BytesIO(one)).equals(data.cast(pq.read_schema(io.BytesIO(one))))
        if mask is not None:  # some null lists hide elements
            data = pa.table({"column": lists.from_arrays(offsets.astype(offset_type), elements, mask=mask)})
            assert written(data, max_threads=2) == written(data, use_threads=False)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(2, 400), st.integers(0, 60), st.floats(0, 1), st.booleans(), st.integers(0, 9), st.integers(0, 2**32)
)
def test_lists_packed_by_two_threads(
    monkeypatch: pytest.MonkeyPatch, count: int, longest: int, empty: float, nulls: bool, start: int, seed: int
) -> None:
    monkeypatch.setattr(packed_lists, "SHARED_LISTS", 2)
    rng = np.random.default_rng(seed)
    spans = np.where(rng.random(count + start) < empty, 0, rng.integers(0, longest + 1, count + start))
    total = int(spans.sum())
    elements = pa.array(rng.integers(0, 9, total), mask=rng.random(total) < 0.5 if nulls else None)
    offsets = np.concatenate([[0], np.cumsum(spans)]).astype(np.int32)
    mask = pa.array((spans == 0) & (rng.random(len(spans)) < 0.5)) if nulls else None
    data = pa.table({"column": pa.ListArray.from_arrays(offsets, elements, mask=mask).slice(start)})
    options = {"max_rows_per_page": 150}
    with monkeypatch.context() as patch:
        patch.setattr(row_group_encoder, "THREADED_ROWS", 1)
        assert written(data, max_threads=2, **options) == written(data, use_threads=False, **options)


@pytest.mark.parametrize("at", [1, 40, 64, 99])
def test_wrong_list_offsets_in_either_half(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    monkeypatch.setattr(packed_lists, "SHARED_LISTS", 2)
    monkeypatch.setattr(row_group_encoder, "THREADED_ROWS", 1)
    offsets = np.arange(101, dtype=np.int32) * 3
    offsets[at] = 10_000
    lists = pa.Array.from_buffers(
        pa.list_(pa.int64()), 100, [None, pa.py_buffer(offsets)], children=[pa.array(range(300))]
    )
    with pytest.raises(cw.InvalidDataError, match="offsets"):
        written(pa.table({"column": lists}), max_threads=2)


# gzip's codec keeps the state of its compressor: one for all threads gave corrupt pages.
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_writers_in_threads(codec: str) -> None:
    tables = [table(seed) for seed in range(2)]
    expected = [written(data, compression=codec) for data in tables]
    wrong = []

    def work(which: int) -> None:
        for _ in range(5):
            if written(tables[which], compression=codec) != expected[which]:
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_error_in_a_thread(tmp_path) -> None:
    data = table(2)
    schema = pa.schema(
        [*data.schema, pa.field("bad", pa.int64(), nullable=False), data.schema.field("many").with_name("last")]
    )
    bad = pa.array([None] + [1] * (ROWS - 1))
    broken = pa.Table.from_arrays([*data.columns, bad, data["many"]], schema=schema)
    for _ in range(3):
        with pytest.raises(cw.InvalidDataError, match=r"^bad: "):
            cw.write_table(broken, tmp_path / "a.parquet", max_threads=4)
        assert list(tmp_path.iterdir()) == []
    assert pq.read_table(io.BytesIO(written(data, max_threads=4))).equals(data)


def test_in_order_bounds_what_is_at_work() -> None:
    lock, at_work, most = threading.Lock(), [0], [0]

    def work(i: int, scratch: arena.Arena) -> int:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        scratch.take(100)[:] = i % 256
        return i

    results = []
    for result in in_order(work, 50, 3):
        results.append(result)
        with lock:
            at_work[0] -= 1
    assert results == list(range(50))
    assert most[0] <= 5


def test_a_consumer_that_stops_gives_arenas_back() -> None:
    arena.release_memory()
    for result in in_order(lambda i, scratch: i, 50, 3):
        if result == 5:
            break
    free = [arena.take_arena() for _ in range(8)]
    assert len({id(a) for a in free}) == 8


def test_pools_are_shared() -> None:
    assert pool(2) is pool(2)
    assert available_threads() >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_fork() -> None:
    """A child has none of its parent's threads, nor a lock that one of them held."""
    data = table(3)
    expected = written(data, max_threads=2)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:  # pragma: no cover
        same = written(data, max_threads=2) == expected
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
