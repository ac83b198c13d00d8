"""Row groups that end by their size in bytes."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colwriter as cw

RNG = np.random.default_rng(7)
ROWS = 4000


def skewed(largest: int = 2000) -> pa.Array:
    """Strings whose lengths follow a power law, the long ones together in the middle, and nulls."""
    lengths = np.minimum(RNG.pareto(0.7, ROWS) * 4, largest).astype(int)
    lengths[ROWS // 2 : ROWS // 2 + 200] = largest
    return pa.array([None if n == 0 else RNG.bytes(n).hex()[:n] for n in lengths])


TABLES = {
    "numbers": pa.table({"i": np.arange(ROWS), "b": pa.array(np.arange(ROWS) % 3 == 0)}),
    "skewed": pa.table({"i": np.arange(ROWS), "s": skewed()}),
    "lists": pa.table({"l": pa.array([[1.5] * (k % 7 if k % 500 else 3000) for k in range(ROWS)])}),
    "nulls": pa.table({"n": pa.nulls(ROWS, pa.int64()), "s": pa.nulls(ROWS, pa.string())}),
    "dictionary": pa.table({"d": pa.array([f"{k % 50:0400}" for k in range(ROWS)]).dictionary_encode()}),
    "views": pa.table({"v": skewed().cast(pa.string_view())}),
}
STORED = {"dictionary": pa.string(), "views": pa.large_string()}


def groups(table: pa.Table, how: str = "table", **options: object) -> tuple[cw.FileMetaData, list[pa.Table]]:
    """The footer, and the rows of each row group, which together are those of the table."""
    with cw.ParquetWriter(sink := io.BytesIO(), table.schema, **options) as writer:
        if how == "table":
            writer.write_table(table)
        else:
            for batch in table.to_batches(max_chunksize=100 if how == "batches" else 3000):
                writer.write_batch(batch)
    assert pq.read_table(sink).to_pydict() == table.to_pydict()
    starts = np.cumsum([0] + [group.num_rows for group in writer.metadata.row_groups])
    return writer.metadata, [table.slice(a, b - a) for a, b in zip(starts[:-1], starts[1:], strict=True)]


def decoded(name: str, rows: pa.Table) -> int:
    schema = pa.schema([(field.name, STORED.get(name, field.type)) for field in rows.schema])
    return rows.cast(schema).nbytes


@pytest.mark.parametrize("how", ["table", "batches", "large batches"])
@pytest.mark.parametrize("limit", [5_000, 100_000])
@pytest.mark.parametrize("name", TABLES)
def test_decoded_bytes(name: str, limit: int, how: str) -> None:
    """No row group of more than one row passes the limit, and none could have had the first row of the next."""
    table = TABLES[name]
    _, found = groups(table, how, max_row_group_decoded_bytes=limit)
    start = 0
    for rows in found:
        assert rows.num_rows == 1 or decoded(name, rows) <= limit
        if start + rows.num_rows < table.num_rows:
            # Each record batch has an offset more than rows, and a byte that is not full.
            slack = 0 if how == "table" else 0.05 * limit
            assert decoded(name, table.slice(start, rows.num_rows + 1)) > limit - slack
        start += rows.num_rows


@pytest.mark.parametrize("how", ["table", "batches"])
@pytest.mark.parametrize("name", TABLES)
def test_encoded_bytes(name: str, how: str) -> None:
    """An estimate: row groups are seldom larger than the limit, and few are much smaller once one is written."""
    limit = 50_000
    options = {"use_dictionary": False, "compression": "none" if name == "skewed" else "zstd", "max_rows_per_page": 100}
    whole, _ = groups(TABLES[name], how, **options)
    metadata, found = groups(TABLES[name], how, max_row_group_bytes=limit, **options)
    sizes = [group.total_compressed_size for group in metadata.row_groups]
    assert max(sizes) <= 1.2 * limit or max(rows.num_rows for rows in found) == 1
    assert len(sizes) <= 2 + 2 * whole.row_groups[0].total_compressed_size // limit


def test_whichever_comes_first() -> None:
    table = TABLES["numbers"]
    metadata, _ = groups(table, row_group_size=1000, max_row_group_decoded_bytes=4 * ROWS, max_row_group_bytes=10**9)
    assert [group.num_rows for group in metadata.row_groups] == [1000] * 4
    metadata, _ = groups(table, row_group_size=3000, max_row_group_decoded_bytes=8 * 1000 + 125)
    assert [group.num_rows for group in metadata.row_groups] == [1000] * 4
    metadata, _ = groups(table, row_group_size=3000, max_row_group_decoded_bytes=1)
    assert [group.num_rows for group in metadata.row_groups] == [1] * ROWS


def test_encoded_bytes_follow_the_data() -> None:
    """Rows that compress well, then rows that do not: those are more than was foretold, but for two row groups only."""
    text = ["x" * 100] * 20_000 + [RNG.bytes(50).hex() for _ in range(20_000)]
    table = pa.table({"s": text})
    metadata, _ = groups(table, max_row_group_bytes=100_000, use_dictionary=False, compression="snappy")
    sizes = [group.total_compressed_size for group in metadata.row_groups]
    assert sizes[0] < 20_000
    assert sum(size > 102_000 for size in sizes) <= 2
    assert all(90_000 < size < 102_000 for size in sizes[3:-1])


def test_waiting_rows_are_one_row_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups are written as soon as they are full, however long the stream is."""
    waiting = []
    batch = pa.record_batch({"i": np.arange(100)})
    with cw.ParquetWriter(io.BytesIO(), batch.schema, max_row_group_decoded_bytes=10_000) as writer:
        for _ in range(100):
            writer.write_batch(batch)
            waiting.append(sum(part.num_rows for part in writer._pending))
    assert max(waiting) <= 1250


def test_invalid_data_gives_the_file_up(tmp_path) -> None:
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int8()), pa.array(["a"]), safe=False)
    path = tmp_path / "a.parquet"
    with pytest.raises(cw.InvalidDataError, match=r"^d: "):
        cw.write_table(pa.table({"d": broken}), path, max_row_group_bytes=10)
    assert not list(tmp_path.iterdir())
