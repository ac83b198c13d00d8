"""Columns of a kind that are encoded together, in small row groups: the same bytes as one by one."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter
from colwriter import column_writer, row_group_encoder
from colwriter.file_plan import TOGETHER

NUMBERS = (pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.timestamp("us"), pa.int8())
FIXED = (pa.binary(5), pa.binary(16), pa.bool_())
BYTES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
OTHERS = (pa.string_view(), pa.list_(pa.int64()), pa.decimal128(9, 2), pa.null())


def write(table: pa.Table, together: bool, **options: Any) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        if not together:
            patch.setattr(row_group_encoder, "TOGETHER_ROWS", 0)
        sink = io.BytesIO()
        colwriter.write_table(table, sink, **options)
        return sink.getvalue()


def column(rng: np.random.Generator, arrow_type: Any, rows: int, distinct: int, null_share: float) -> pa.Array:
    """Random bits of a type, so NaN and zeros of either sign too, as a slice of a longer array."""
    picks = rng.permutation(distinct)[np.arange(rows + 9) % distinct]
    bitmap = pa.py_buffer(np.packbits(rng.random(rows + 9) >= null_share, bitorder="little"))
    if arrow_type in BYTES:
        lengths = rng.integers(0, 30, distinct)
        letters = rng.integers(ord("a"), ord("d"), (distinct, 30), np.uint8)
        values = [letters[k, : lengths[k]].tobytes() for k in picks]
        offsets = np.cumsum([0, *map(len, values)]).astype("i8" if "large" in str(arrow_type) else "i4")
        buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))]
        return pa.Array.from_buffers(arrow_type, rows + 9, buffers).slice(5, rows)
    pool = rng.integers(0, 256, (distinct, max(arrow_type.bit_width // 8, 1)), np.uint8)
    pool[: distinct // 4] = 0
    pool[: distinct // 8, -1] = 0x80
    return pa.Array.from_buffers(arrow_type, rows + 9, [bitmap, pa.py_buffer(pool[picks].tobytes())]).slice(5, rows)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([1, 2, 7, 8, 9, 63, 64, 65, 300, 1023, 1024, 1025]))
    kinds = draw(st.lists(st.sampled_from((*NUMBERS, *FIXED, *BYTES)), min_size=1, max_size=3))
    columns: list[tuple[pa.Field, pa.Array]] = []
    for k in range(draw(st.integers(0, 40))):
        kind = kinds[rng.integers(len(kinds))]
        null_share = float(rng.choice([0, 0, 0.1, 0.9, 1]))
        distinct = int(rng.choice([1, 3, rows + 9, 4 * rows]))
        array = column(rng, kind, rows, distinct, null_share)
        nullable = array.null_count > 0 or bool(rng.integers(2))
        columns.append((pa.field(f"n{k}", kind, nullable), array))
    for other in draw(st.lists(st.sampled_from(OTHERS), max_size=4)):
        array = pa.array([None] * rows, other)
        columns.insert(int(rng.integers(len(columns) + 1)), (pa.field(f"o{len(columns)}", other), array))
    if not columns:
        columns.append((pa.field("n", pa.int64()), pa.array(range(rows))))
    fields, arrays = zip(*columns, strict=True)
    return pa.Table.from_arrays(list(arrays), schema=pa.schema(fields))


@settings(max_examples=100, deadline=None)
@given(
    tables(),
    st.fixed_dictionaries(
        {
            "use_dictionary": st.booleans(),
            "compression": st.sampled_from(["none", "snappy", "zstd"]),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "write_page_checksum": st.booleans(),
            "row_group_size": st.sampled_from([None, 1, 60, 500]),
            "max_rows_per_page": st.sampled_from([None, 1, 7, 100]),
            "data_page_size": st.sampled_from([None, 40, 1000]),
            "write_statistics": st.booleans(),
            "write_page_index": st.booleans(),
            "size_statistics_level": st.sampled_from(["None", "ColumnChunk", "PageAndColumnChunk"]),
            "float_column_order": st.sampled_from(["TYPE_ORDER", "IEEE_754_TOTAL_ORDER"]),
            "dictionary_pagesize_limit": st.sampled_from([None, 20]),
        }
    ),
)
def test_same_bytes_as_one_by_one(table: pa.Table, options: dict[str, Any]) -> None:
    assert write(table, together=True, **options) == write(table, together=False, **options)


def test_they_are_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one by one: but for what has another type, repeats, or is of too few."""
    rng = np.random.default_rng(0)
    unique = {f"a{k}": rng.permutation(1000) for k in range(20)}
    columns = {**unique, "b": rng.permutation(1000) % 7, "c": ["x"] * 1000, "d": rng.random(1000)}
    columns |= {f"s{k}": [f"{k} {v}" for v in range(1000)] for k in range(TOGETHER)}
    calls: list[int] = []
    original = column_writer.encode_single_pages

    def spy(leaf: Any, descriptors: Any, *rest: Any) -> Any:
        calls.append(len(descriptors))
        return original(leaf, descriptors, *rest)

    monkeypatch.setattr(row_group_encoder, "encode_single_pages", spy)
    table = pa.table(columns)
    data = write(table, together=True)
    assert calls == [20, TOGETHER]
    assert pq.read_table(io.BytesIO(data)).equals(table)
    calls.clear()
    write(pa.table({f"a{k}": range(10) for k in range(TOGETHER - 1)}), together=True)
    assert not calls


def test_offsets_that_run_on_into_the_next_column() -> None:
    """A value that ends behind its own column must not be taken for one of the column that follows it in memory."""

    def array(valid: list[int], offsets: list[int], data: bytes) -> pa.Array:
        buffers = np.packbits(valid, bitorder="little"), np.array(offsets, np.int32), data
        return pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(buffer) for buffer in buffers])

    good = array([0, 0, 0], [0, 9, 9, 9], b"hidden by")
    bad = array([1, 0, 0], [0, 9, 3, 3], b"xyz")  # nulls hide that offsets go down
    for place in (0, 3, 11):
        columns = [good] * 12
        columns[place] = bad
        table = pa.table({f"f{k}": array for k, array in enumerate(columns)})
        with pytest.raises(colwriter.InvalidDataError, match=rf"^f{place}: offsets must not go down"):
            write(table, together=True)


def test_errors_name_the_column() -> None:
    arrays = [pa.array([1, 2, None])] * TOGETHER
    fields = [pa.field(f"f{k}", pa.int64(), nullable=k != 5) for k in range(TOGETHER)]
    with pytest.raises(colwriter.InvalidDataError, match=r"^f5: the field is not nullable, found 1 null"):
        write(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), together=True)
    required = [pa.field(f"f{k}", pa.int64(), nullable=False) for k in range(2 * TOGETHER)]
    arrays = [pa.array([1, 2, 3])] * (2 * TOGETHER - 1) + [pa.array([1, 2, None])]
    with pytest.raises(colwriter.InvalidDataError, match=rf"^f{2 * TOGETHER - 1}: the field is not nullable"):
        write(pa.Table.from_arrays(arrays, schema=pa.schema(required)), together=True)


def test_many_windows_and_row_groups() -> None:
    rows = np.arange(25)
    table = pa.table({f"a{k}": rows * k if k % 3 else (rows * k).astype(np.int32) for k in range(600)})
    data = write(table, together=True, row_group_size=10)
    assert data == write(table, together=False, row_group_size=10)
    assert pq.read_table(io.BytesIO(data)).equals(table)
