"""Datasets: folders as pyarrow names them, files that every reader of datasets takes, and no half of one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import colwriter as cw

TABLE = pa.table(
    {
        "year": pa.array([2023, 2024, None, 2023, 2024, 2024]),
        "x": pa.array([1, 2, 3, 4, 5, None]),
        "kind": ["a b", "ż/%", "a b", None, "ż/%", "a=b"],
        "l": [["p"], [], None, ["q", None], ["r"], ["s"]],
    }
)
KEYS = {
    "integers": pa.array([1, None, -3]),
    "strings": ["a b/ż%=", "", None],
    "null's name": ["__HIVE_DEFAULT_PARTITION__", "a", None],
    "booleans": [True, None, False],
    "floats": pa.array([1.5, float("nan"), -0.0]),
    "dates": [dt.date(2020, 1, 1), None, None],
    "timestamps": [dt.datetime(2020, 1, 1, 3, 4, 5, 6), None, None],
    "zones": pa.array([dt.datetime(2020, 1, 1, 3), None, None], pa.timestamp("ms", "UTC")),
    "times": [dt.time(1, 2, 3), None, None],
    "bytes": [b"a", b"\xff", None],
    "decimals": [Decimal("1.50"), None, Decimal("-2.00")],
    "dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
    "views": pa.array(["a", "é", None], pa.string_view()),
    "nulls": pa.nulls(3),
}


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def by_x(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: (row["x"] is None, row["x"]))


@pytest.mark.parametrize("keys", KEYS)
def test_folders_are_those_of_pyarrow(keys: str, tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3], "key": KEYS[keys]})
    cw.write_to_dataset(table, tmp_path / "ours", ["key"], basename_template="part-{i}.parquet")
    pq.write_to_dataset(table, tmp_path / "theirs", ["key"], basename_template="part-{i}.parquet")
    found = files(tmp_path / "ours")
    if keys == "null's name":
        assert len(found) == 2
        assert sum(pq.read_metadata(tmp_path / "ours" / path).num_rows for path in found) == 3
    assert found == files(tmp_path / "theirs")
    for path in found:
        assert pq.ParquetFile(tmp_path / "ours" / path).schema_arrow.names == ["x"]


def test_readers(tmp_path: Path) -> None:
    cw.write_to_dataset(TABLE, tmp_path / "d", partition_cols=["year", "kind"], compression="zstd")
    expected = by_x(TABLE.to_pylist())
    partitioning = ds.partitioning(pa.schema([TABLE.schema.field("year"), TABLE.schema.field("kind")]), flavor="hive")
    read = ds.dataset(tmp_path / "d", partitioning=partitioning).to_table()
    assert by_x(read.select(TABLE.column_names).to_pylist()) == expected
    frame = pl.read_parquet(tmp_path / "d/**/*.parquet", hive_partitioning=True).select(TABLE.column_names)
    assert by_x(frame.to_dicts()) == expected
    query = "select year, x, kind, l from read_parquet(?, hive_partitioning=true)"
    with duckdb.connect() as connection:
        rows = connection.execute(query, [f"{tmp_path}/d/**/*.parquet"]).fetchall()
    assert by_x([dict(zip(TABLE.column_names, row, strict=True)) for row in rows]) == expected


def test_views(tmp_path: Path) -> None:
    """Polars gives views, also in lists, of which pyarrow cannot take rows."""
    frame = pl.DataFrame({"k": ["a", "b", None, "a"], "s": ["x", None, "a string of some length", "y"]})
    frame = frame.with_columns(l=pl.concat_list("s", "k"), x=pl.int_range(4))
    cw.write_to_dataset(frame, tmp_path, ["k"])
    read = pl.read_parquet(tmp_path / "**/*.parquet", hive_partitioning=True).select(frame.columns).sort("x")
    assert read.equals(frame)
    assert pq.read_schema(next(tmp_path.rglob("*.parquet"))).field("s").type == pa.string_view()


def test_run_end_encoded(tmp_path: Path) -> None:
    runs = pc.run_end_encode(pa.array([1, 1, 2, 3]))
    cw.write_to_dataset(pa.table({"k": [1, 2, 1, 2], "r": runs}), tmp_path, ["k"])
    assert pl.read_parquet(tmp_path / "**/*.parquet", hive_partitioning=True).sort("r")["r"].to_list() == [1, 1, 2, 3]


def test_names_that_come_twice(tmp_path: Path) -> None:
    twice = pa.table([[1], [2], [3]], names=["a", "a", "k"])
    cw.write_to_dataset(twice, tmp_path, ["k"])
    assert pq.ParquetFile(next(tmp_path.rglob("*.parquet"))).schema_arrow.names == ["a", "a"]
    with pytest.raises(cw.InvalidOptionError, match="partition_cols: expected columns of the table"):
        cw.write_to_dataset(twice, tmp_path, ["a"])


def test_one_file(tmp_path: Path) -> None:
    for _ in range(2):  # names of their own, so that the second call adds a file
        cw.write_to_dataset(TABLE.to_reader(), str(tmp_path / "a/b"))
    assert len(files(tmp_path / "a/b")) == 2
    assert ds.dataset(tmp_path / "a/b").to_table().equals(pa.concat_tables([TABLE, TABLE]))
    cw.write_to_dataset(TABLE.slice(0, 0), tmp_path / "empty", ["year"])
    assert not (tmp_path / "empty").exists()


def test_metadata(tmp_path: Path) -> None:
    """The sidecar file that names all row groups, as pyarrow's documentation makes it."""
    footers, visited = [], []
    cw.write_to_dataset(TABLE, tmp_path, ["year"], metadata_collector=footers, file_visitor=visited.append)
    assert [file.metadata for file in visited] == footers
    assert all(Path(file.path).stat().st_size == file.size for file in visited)
    assert sorted(str(Path(file.path).relative_to(tmp_path)) for file in visited) == files(tmp_path)
    cw.write_metadata(TABLE.drop_columns("year").schema, tmp_path / "_metadata", footers)
    named = ds.parquet_dataset(tmp_path / "_metadata", partitioning="hive")
    assert by_x(named.to_table().select(TABLE.column_names).to_pylist()) == by_x(TABLE.to_pylist())
    assert pq.read_metadata(tmp_path / "_metadata").num_rows == TABLE.num_rows
    with pytest.raises(cw.InvalidDataError, match="expected the schema of this file"):
        cw.write_metadata(TABLE.schema, tmp_path / "other", footers)
    with pytest.raises(cw.InvalidDataError, match=r"expected a colwriter\.FileMetaData, found int"):
        cw.write_metadata(TABLE.schema, tmp_path / "other", [1])
    assert not (tmp_path / "other").exists()


def test_existing_data(tmp_path: Path) -> None:
    def write(table: pa.Table, behavior: str, name: str = "a-{i}.parquet") -> None:
        cw.write_to_dataset(table, tmp_path, ["year"], basename_template=name, existing_data_behavior=behavior)

    write(TABLE, "error")
    before = files(tmp_path)
    with pytest.raises(cw.InvalidOptionError, match=r"existing_data_behavior: 'error' expects no data at .*, found"):
        write(TABLE, "error")
    write(TABLE.slice(0, 1), "overwrite_or_ignore", "b-{i}.parquet")
    assert files(tmp_path) == sorted([*before, "year=2023/b-0.parquet"])
    write(TABLE.slice(0, 1), "overwrite_or_ignore")
    assert pq.read_metadata(tmp_path / "year=2023/a-0.parquet").num_rows == 1
    (tmp_path / "year=2023/folder").mkdir()
    (tmp_path / "year=2023/folder/file").write_bytes(b"")
    write(TABLE.slice(0, 1), "delete_matching", "c-{i}.parquet")
    assert files(tmp_path) == sorted(["year=2023/c-0.parquet", *before[1:]])
    write(TABLE, "delete_matching", "c-{i}.parquet")
    assert all(path.endswith("c-0.parquet") for path in files(tmp_path))


def test_filesystems(tmp_path: Path) -> None:
    import fsspec

    cw.write_to_dataset(TABLE, "d", ["year"], pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem()))
    cw.write_to_dataset(TABLE, f"file://{tmp_path}/e", "year")
    assert len(files(tmp_path / "d")) == len(files(tmp_path / "e")) == 3
    memory = fsspec.filesystem("memory")
    cw.write_to_dataset(TABLE, "/root", ["year"], memory)
    assert len(memory.find("/root")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"partition_cols": ["z"]}, r"partition_cols: expected columns of the table, .*found 'z'"),
        ({"partition_cols": ["x", "x"]}, "partition_cols: expected each column once"),
        ({"partition_cols": ["l"]}, "^l: cannot be partition columns"),
        ({"basename_template": "a.parquet"}, "basename_template: .*found 'a.parquet'"),
        ({"basename_template": "../{i}.parquet"}, "basename_template"),
        ({"existing_data_behavior": "append"}, "existing_data_behavior: .*found 'append'"),
        ({"metadata_collector": 1}, "metadata_collector: expected a list"),
        ({"compresion": "zstd"}, "compresion: no such option"),
        ({"filesystem": 1}, "filesystem"),
    ],
)
def test_refused(arguments: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(cw.ColwriterError, match=message):
        cw.write_to_dataset(TABLE, tmp_path / "d", **arguments)
    with pytest.raises(cw.InvalidOptionError, match="root_path"):
        cw.write_to_dataset(TABLE, 5)
    with pytest.raises(cw.InvalidOptionError, match="without '/'"):
        cw.write_to_dataset(pa.table({"../x": [1], "y": [1]}), tmp_path, ["../x"])
    assert not list(tmp_path.iterdir())


def test_error_in_the_last_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing new is there, not even a folder, and old files are as they were."""
    (tmp_path / "year=2023").mkdir()
    (tmp_path / "year=2023/a-0.parquet").write_bytes(b"old")
    from colwriter import dataset

    calls = []

    def fail(*arguments: object, **options: object) -> cw.FileMetaData:
        calls.append(1)
        if len(calls) == 3:
            raise OSError("no space")
        return cw.write_table(*arguments, **options)

    monkeypatch.setattr(dataset, "write_table", fail)
    with pytest.raises(OSError, match="no space"):
        cw.write_to_dataset(
            TABLE, tmp_path, ["year"], basename_template="a-{i}.parquet", existing_data_behavior="delete_matching"
        )
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["year=2023", "year=2023/a-0.parquet"]
    assert (tmp_path / "year=2023/a-0.parquet").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["k", "v"])
def test_broken_arrays(tmp_path: Path, name: str) -> None:
    """To group by an array and to take its rows is to follow it: it is checked before."""
    offsets = pa.py_buffer(np.array([0, -5, 3, 8], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abcdefgh")])
    runs = pa.Array.from_buffers(
        pa.run_end_encoded(pa.int32(), pa.int64()),
        3,
        [None],
        children=[pa.array([3, 1, 4], pa.int32()), pa.array([1, 2, 3])],
    )
    for array in (broken, runs):
        table = pa.table({"k": pa.array([0, 1, 0]), "v": pa.array([1, 2, 3])} | {name: array})
        with pytest.raises(cw.InvalidDataError, match=rf"^{name}: the array is not valid Arrow"):
            cw.write_to_dataset(table, tmp_path, ["k"])
        assert not list(tmp_path.iterdir())


def test_rows_without_columns(tmp_path: Path) -> None:
    metadata = cw.write_table(pa.table({"a": [1, 2]}).select([]), tmp_path / "a.parquet")
    assert metadata.num_rows == 0
    assert pq.read_table(tmp_path / "a.parquet").num_columns == 0
