"""What goes in, where it goes, and what is refused."""

from __future__ import annotations

import io
import os
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import colwriter as cw

TABLE = pa.table({"a": pa.array([1, None, 3]), "b": ["x", "", None], "c": [[1], None, []]})


def read(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


def written(table: object, **options: object) -> pa.Table:
    sink = io.BytesIO()
    cw.write_table(table, sink, **options)
    return read(sink.getvalue())


class OnlyStream:
    """Something that speaks the Arrow C stream interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, batch: pa.RecordBatch | pa.Array) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


class TestInputs:
    @pytest.mark.parametrize(
        "make",
        [
            lambda t: t,
            lambda t: t.to_batches()[0],
            lambda t: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(max_chunksize=2)),
            OnlyStream,
            lambda t: OnlyArray(t.to_batches()[0]),
            lambda t: dict(zip(t.column_names, t.columns, strict=True)),
        ],
    )
    def test_tables(self, make) -> None:
        assert written(make(TABLE)).equals(TABLE)

    def test_empty_reader_and_empty_table(self) -> None:
        reader = pa.RecordBatchReader.from_batches(TABLE.schema, [])
        assert written(reader).equals(TABLE.slice(0, 0))
        assert written(TABLE.slice(0, 0)).equals(TABLE.slice(0, 0))
        assert written(pa.table({})).num_columns == 0

    def test_polars(self) -> None:
        frame = pl.DataFrame({"a": [1, None, 3], "s": ["x", None, "żółw"], "l": [["a"], None, []]})
        sink = io.BytesIO()
        cw.write_table(frame, sink)
        assert pl.read_parquet(io.BytesIO(sink.getvalue())).equals(frame)
        cw.write_column(frame["s"], sink := io.BytesIO(), name="s")
        assert read(sink.getvalue())["s"].to_pylist() == ["x", None, "żółw"]

    def test_duckdb_and_pandas(self) -> None:
        relation = duckdb.sql("select range as a, range::varchar as s from range(3)")
        assert written(relation).to_pydict() == {"a": [0, 1, 2], "s": ["0", "1", "2"]}
        frame = pd.DataFrame({"a": [1, 2], "s": ["x", "y"]})
        sink = io.BytesIO()
        cw.write_table(frame, sink)
        assert pd.read_parquet(io.BytesIO(sink.getvalue())).equals(frame)

    @pytest.mark.parametrize(
        "column",
        [
            [1, None, 3],
            np.array([1, 2, 3]),
            np.arange(10)[::3],
            pa.array([1, 2]),
            pa.chunked_array([[1], [], [2, None]]),
            OnlyArray(pa.array([5, None])),
            pl.Series([1, None]),
            [[1, 2], [], None],
            pa.array(["a", None]).slice(1),
            [],
        ],
    )
    def test_columns(self, column) -> None:
        if isinstance(column, list) and not column:
            column = pa.array(column, pa.int64())
        sink = io.BytesIO()
        metadata = cw.write_column(column, sink, name="x")
        expected = column.batch if isinstance(column, OnlyArray) else column
        expected = expected.to_pylist() if hasattr(expected, "to_pylist") else list(expected)
        assert read(sink.getvalue())["x"].to_pylist() == expected
        assert metadata.num_rows == len(expected)

    def test_big_endian_and_unaligned_memory(self) -> None:
        big = np.array([1, -2, 3], ">i8")
        with pytest.raises(cw.InvalidDataError, match="column"):
            cw.write_column(big, io.BytesIO())
        memory = pa.py_buffer(b"?" + np.arange(5).tobytes()).slice(1)
        array = pa.Array.from_buffers(pa.int64(), 5, [None, memory])
        cw.write_column(array, sink := io.BytesIO())
        assert read(sink.getvalue())["column"].to_pylist() == [0, 1, 2, 3, 4]

    def test_input_is_not_changed(self) -> None:
        values = np.arange(1000)
        cw.write_column(values, io.BytesIO())
        assert values.flags.writeable
        assert (values == np.arange(1000)).all()


class TestOutputs:
    def test_paths(self, tmp_path: Path) -> None:
        for where in (tmp_path / "a.parquet", str(tmp_path / "b.parquet")):
            cw.write_table(TABLE, where)
            assert pq.read_table(where).equals(TABLE)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]

    def test_objects_stay_open(self, tmp_path: Path) -> None:
        sink = io.BytesIO()
        cw.write_table(TABLE, sink)
        assert not sink.closed
        with pa.BufferOutputStream() as stream:
            cw.write_table(TABLE, stream)
            assert read(stream.getvalue().to_pybytes()).equals(TABLE)
        with open(tmp_path / "raw", "wb", buffering=0) as raw:
            cw.write_table(TABLE, raw)
        assert pq.read_table(tmp_path / "raw").equals(TABLE)
        with open(tmp_path / "buffered", "wb") as buffered:
            cw.write_table(TABLE, buffered)
            assert pq.read_table(tmp_path / "buffered").equals(TABLE)  # flushed, though open
        with pa.OSFile(str(tmp_path / "native"), "wb") as native:
            cw.write_table(TABLE, native)
        assert pq.read_table(tmp_path / "native").equals(TABLE)

    def test_short_writes(self) -> None:
        class Slow(io.RawIOBase):
            data = b""

            def writable(self) -> bool:
                return True

            def write(self, data) -> int:
                self.data += bytes(data[:7])
                return min(len(data), 7)

        sink = Slow()
        cw.write_table(TABLE, sink)
        assert read(sink.data).equals(TABLE)

    @pytest.mark.parametrize("answer", [0, -1, 10**9, "all", None])
    def test_writes_that_go_nowhere(self, answer: object) -> None:
        """A file that takes nothing must not be asked for ever, nor be taken for complete."""

        class Strange(io.RawIOBase):
            def write(self, data) -> object:
                return answer

        with pytest.raises(OSError, match=r"^where: the file took .* of \d+ bytes"):
            cw.write_table(TABLE, Strange())

    def test_a_file_object_may_return_nothing(self) -> None:
        class Silent:
            data = b""

            def write(self, data) -> None:
                self.data += bytes(data)

        sink = Silent()
        cw.write_table(TABLE, sink)
        assert read(sink.data).equals(TABLE)

    def test_offsets_count_from_where_the_file_starts(self) -> None:
        """A file object that already holds something gets a file that is right by itself."""
        sink = io.BytesIO()
        sink.write(b"before")
        cw.write_table(TABLE, sink)
        assert read(sink.getvalue()[6:]).equals(TABLE)

    def test_filesystems(self, tmp_path: Path) -> None:
        local = pafs.LocalFileSystem()
        cw.write_table(TABLE, str(tmp_path / "a"), filesystem=local)
        tree = pafs.SubTreeFileSystem(str(tmp_path), local)
        cw.write_table(TABLE, "b", filesystem=tree)
        cw.write_table(TABLE, (tmp_path / "c").as_uri())
        for name in "abc":
            assert pq.read_table(tmp_path / name).equals(TABLE)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]
        with pytest.raises(cw.InvalidOptionError, match="filesystem"):
            cw.write_table(TABLE, "b", filesystem="tree")

    @pytest.mark.parametrize("where", [None, 5, io.StringIO()])
    def test_no_place(self, where) -> None:
        with pytest.raises(cw.InvalidOptionError, match="where"):
            cw.write_table(TABLE, where)

    def test_directories(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="directory"):
            cw.write_table(TABLE, tmp_path)
        with pytest.raises(FileNotFoundError):
            cw.write_table(TABLE, tmp_path / "none" / "a.parquet")

    @pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
    def test_permissions_and_links(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target", tmp_path / "link"
        old = os.umask(0o027)
        try:
            cw.write_table(TABLE, target)
        finally:
            os.umask(old)
        assert target.stat().st_mode & 0o777 == 0o640
        target.chmod(0o604)
        link.symlink_to(target)
        cw.write_table(TABLE, link)
        assert link.is_symlink()
        assert target.stat().st_mode & 0o777 == 0o604
        cw.write_table(TABLE, os.devnull)
        assert not os.path.isfile(os.devnull)


class TestFailures:
    """After any failure a path has no new file, and an old one is untouched."""

    def failing_batches(self, error: BaseException):
        yield TABLE.to_batches()[0]
        raise error

    @pytest.mark.parametrize("error", [RuntimeError("no more"), KeyboardInterrupt(), MemoryError()])
    @pytest.mark.parametrize("exists", [False, True])
    def test_input_fails(self, tmp_path: Path, error: BaseException, exists: bool) -> None:
        path = tmp_path / "a.parquet"
        if exists:
            path.write_bytes(b"old")
        with pytest.raises(type(error)), cw.ParquetWriter(path, TABLE.schema) as writer:
            for batch in self.failing_batches(error):
                writer.write_table(pa.Table.from_batches([batch]))
        assert [p.read_bytes() for p in tmp_path.iterdir()] == ([b"old"] if exists else [])

    def test_disk_full(self) -> None:
        class Full(io.BytesIO):
            def write(self, data) -> int:
                if self.tell() + len(data) > 100:
                    raise OSError("no space left on device")
                return super().write(data)

        with pytest.raises(OSError, match="no space"):
            cw.write_table(TABLE, Full())

    def test_bad_data_in_a_later_column(self, tmp_path: Path) -> None:
        schema = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
        table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([1, None])], schema=schema)
        with pytest.raises(cw.InvalidDataError, match=r"^b: .*not nullable.*1 null"):
            cw.write_table(table, tmp_path / "a.parquet")
        assert list(tmp_path.iterdir()) == []

    def test_a_writer_that_is_dropped_leaves_nothing(self, tmp_path: Path) -> None:
        writer = cw.ParquetWriter(tmp_path / "a.parquet", TABLE.schema)
        writer.write_table(TABLE)
        del writer
        assert list(tmp_path.iterdir()) == []

    def test_after_an_error_the_writer_is_closed(self, tmp_path: Path) -> None:
        writer = cw.ParquetWriter(tmp_path / "a.parquet", pa.schema([pa.field("b", pa.int64(), nullable=False)]))
        bad = pa.Table.from_arrays([pa.array([None], pa.int64())], schema=writer.schema)
        with pytest.raises(cw.InvalidDataError):
            writer.write_table(bad)
        with pytest.raises(cw.InvalidOptionError, match="given up"):
            writer.write_table(bad)
        writer.close()
        assert list(tmp_path.iterdir()) == []


class TestInvalidArrays:
    """pyarrow checks the first and last offset when an array is made; what other libraries hand over may be worse."""

    OFFSETS = ([0, 5, 3, 8], [0, 2, 4, 99], [-4, 2, 4, 8], [0, 100, 2, 8], [0, 2, -3, 8])

    @pytest.mark.parametrize("offsets", OFFSETS)
    @pytest.mark.parametrize("dictionary", [False, True])
    @pytest.mark.parametrize("kind", [pa.string(), pa.large_binary()])
    def test_byte_array_offsets(self, offsets: list[int], dictionary: bool, kind: pa.DataType) -> None:
        memory = np.array([0, 1, 2, 8], np.int64 if pa.types.is_large_binary(kind) else np.int32)
        array = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(memory), pa.py_buffer(b"abcdefgh")])
        memory[:] = offsets
        with pytest.raises(cw.InvalidDataError, match=r"^column"):
            cw.write_column(array, io.BytesIO(), use_dictionary=dictionary)

    @pytest.mark.parametrize("offsets", OFFSETS)
    @pytest.mark.parametrize("validity", [None, 0b101])
    @pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int64())])
    def test_list_offsets(self, offsets: list[int], validity: int | None, kind: pa.DataType) -> None:
        memory = np.array([0, 1, 2, 8], np.int64 if pa.types.is_large_list(kind) else np.int32)
        bitmap = None if validity is None else pa.py_buffer(bytes([validity]))
        array = pa.Array.from_buffers(kind, 3, [bitmap, pa.py_buffer(memory)], children=[pa.array(range(8))])
        memory[:] = offsets
        with pytest.raises(cw.InvalidDataError, match=r"^column"):
            cw.write_column(array, io.BytesIO())

    def test_offsets_of_an_inner_list(self) -> None:
        memory = np.array([0, 1, 2, 8], np.int32)
        inner = pa.Array.from_buffers(
            pa.list_(pa.int64()), 3, [None, pa.py_buffer(memory)], children=[pa.array(range(8))]
        )
        outer = pa.ListArray.from_arrays(pa.array([0, 1, None, 3], pa.int32()), inner)
        memory[:] = [0, 7, 2, 8]
        with pytest.raises(cw.InvalidDataError, match=r"^column\.list"):
            cw.write_column(outer, io.BytesIO())


class TestRefused:
    @pytest.mark.parametrize(
        ("arrow_type", "path"),
        [
            (pa.float64(), "x"),
            (pa.bool_(), "x"),
            (pa.list_(pa.float32()), r"x\.list\.element"),
            (pa.struct([("y", pa.list_(pa.timestamp("us")))]), r"x\.y\.list\.element"),
            (pa.map_(pa.string(), pa.date32()), r"x\.key_value\.value"),
            (pa.struct([]), "x"),
            (pa.dictionary(pa.int32(), pa.string()), "x"),
            (pa.null(), "x"),
        ],
    )
    def test_types(self, tmp_path: Path, arrow_type: pa.DataType, path: str) -> None:
        table = pa.schema([("x", arrow_type)]).empty_table()
        with pytest.raises(cw.UnsupportedTypeError, match=rf"^{path}: .*{type(arrow_type).__name__[:0]}") as error:
            cw.write_table(table, tmp_path / "a.parquet")
        assert isinstance(error.value, TypeError)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"compression": "lzo"}, "compression: .*snappy.*lzo"),
            ({"compression": {"a": "zip"}}, "compression"),
            ({"compression": {"z": "zstd"}}, "^z: compression names a column"),
            ({"compression": "zstd", "compression_level": 99}, "compression_level: zstd .*99"),
            ({"compression": "snappy", "compression_level": 1}, "compression_level: snappy"),
            ({"compression_level": "high"}, "compression_level"),
            ({"use_dictionary": ["nope"]}, "^nope: use_dictionary names"),
            ({"use_dictionary": "a"}, "use_dictionary"),
            ({"write_statistics": 3}, "write_statistics"),
            ({"data_page_size": 0}, "data_page_size: .*at least 1.*0"),
            ({"max_rows_per_page": -1}, "max_rows_per_page"),
            ({"row_group_size": 1.5}, "row_group_size"),
            ({"row_group_size": True}, "row_group_size"),
            ({"dictionary_pagesize_limit": "big"}, "dictionary_pagesize_limit"),
            ({"data_page_version": "3.0"}, "data_page_version"),
            ({"size_statistics_level": "Pages"}, "size_statistics_level: .*ColumnChunk.*Pages"),
            ({"size_statistics_level": {"q": "None"}}, "^q: size_statistics_level names"),
            ({"size_statistics_level": 1}, "size_statistics_level"),
            ({"column_encoding": {"a": "DELTA_BINARY_PACKED"}}, "column_encoding"),
            ({"column_encoding": "PLAIN"}, "column_encoding.*use_dictionary"),
            ({"flavor": "spark"}, "flavor"),
            ({"compresion": "zstd"}, "compresion: no such option; did you mean 'compression'"),
            ({"sorting_columns": [pq.SortingColumn(9)]}, "sorting_columns: .*9"),
            ({"sorting_columns": ["a"]}, "sorting_columns"),
        ],
    )
    def test_options(self, tmp_path: Path, options: dict, message: str) -> None:
        path = tmp_path / "a.parquet"
        path.write_bytes(b"old")
        with pytest.raises(cw.InvalidOptionError, match=message) as error:
            cw.write_table(TABLE, path, **options)
        assert isinstance(error.value, ValueError)
        assert path.read_bytes() == b"old"

    @pytest.mark.parametrize("table", [None, 5, "abc", [1, 2], {"a": [1], "b": [1, 2]}, {"a": [object()]}])
    def test_not_tables(self, table) -> None:
        with pytest.raises(cw.InvalidDataError):
            cw.write_table(table, io.BytesIO())

    @pytest.mark.parametrize("column", [None, 5, np.zeros((2, 2)), [1, "a"], [object()], np.float64(3)])
    def test_not_columns(self, column) -> None:
        with pytest.raises(cw.InvalidDataError, match=r"^x: expected"):
            cw.write_column(column, io.BytesIO(), name="x")

    def test_schema_mismatch(self) -> None:
        with cw.ParquetWriter(io.BytesIO(), TABLE.schema) as writer:
            with pytest.raises(cw.InvalidDataError, match="expected the columns"):
                writer.write_table(TABLE.select(["a", "b"]))
            with pytest.raises(cw.InvalidDataError, match="b: expected string, found int64"):
                writer.write_table(TABLE.set_column(1, "b", pa.array([1, 2, 3])))
            writer.write_table(TABLE)


class TestParquetWriter:
    def test_row_groups(self) -> None:
        sink = io.BytesIO()
        with cw.ParquetWriter(sink, TABLE.schema, row_group_size=2) as writer:
            with pytest.raises(cw.InvalidOptionError, match="metadata"):
                _ = writer.metadata
            writer.write_table(TABLE)
            writer.write_table(TABLE, row_group_size=100)
            for _ in range(3):
                writer.write_batch(TABLE.to_batches()[0])
            writer.add_key_value_metadata({"who": "me"})
        assert [g.num_rows for g in writer.metadata.row_groups] == [2, 1, 3, 2, 2, 2, 2, 1]
        table = read(sink.getvalue())
        assert table.drop_columns([]).equals(pa.concat_tables([TABLE] * 5))
        assert pq.ParquetFile(io.BytesIO(sink.getvalue())).metadata.metadata[b"who"] == b"me"
        assert cw.read_metadata(sink.getvalue()) == writer.metadata

    def test_key_values_and_field_ids(self) -> None:
        field = pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "7", "unit": "m"})
        table = pa.table([pa.array([1])], schema=pa.schema([field], metadata={"k": "v"}))
        back = written(table)
        assert back.schema.metadata[b"k"] == b"v"
        assert back.schema.field("a").metadata == {b"PARQUET:field_id": b"7", b"unit": b"m"}
        assert written(table, store_schema=False).schema.field("a").metadata == {b"PARQUET:field_id": b"7"}

    def test_names_of_list_elements(self) -> None:
        sink = io.BytesIO()
        table = pa.table({"l": pa.array([[1]], pa.list_(pa.field("item", pa.int64())))})
        cw.write_table(table, sink, use_compliant_nested_type=False)
        assert cw.read_metadata(sink.getvalue()).row_groups[0].columns[0].meta_data.path_in_schema[-1] == "item"
        cw.write_table(table, sink := io.BytesIO())
        assert cw.read_metadata(sink.getvalue()).row_groups[0].columns[0].meta_data.path_in_schema[-1] == "element"

    def test_sorting_columns(self) -> None:
        sink = io.BytesIO()
        cw.write_table(TABLE, sink, sorting_columns=[pq.SortingColumn(1, descending=True)])
        assert pq.read_metadata(io.BytesIO(sink.getvalue())).row_group(0).sorting_columns == (
            pq.SortingColumn(1, descending=True, nulls_first=False),
        )

    def test_options_per_column(self) -> None:
        table = pa.table({"a": [1, 1, 1] * 50, "b": ["x", "y", "x"] * 50, "c": [[1, 1], [], [2]] * 50})
        sink = io.BytesIO()
        metadata = cw.write_table(
            table,
            sink,
            compression={"a": "zstd", "c": "gzip"},
            compression_level={"a": 3},
            use_dictionary=["b"],
            write_statistics=["c"],
            size_statistics_level={"b": "None"},
        )
        a, b, c = (column.meta_data for column in metadata.row_groups[0].columns)
        assert [m.codec.name for m in (a, b, c)] == ["ZSTD", "UNCOMPRESSED", "GZIP"]
        assert [m.dictionary_page_offset is None for m in (a, b, c)] == [True, False, True]
        assert [m.statistics is None for m in (a, b, c)] == [True, True, False]
        assert [m.size_statistics is None for m in (a, b, c)] == [False, True, False]
        # Without statistics there are no bounds for a column index; pages still have their offsets.
        assert cw.read_page_index(sink.getvalue(), 0, "a")[0] is None
        assert cw.read_page_index(sink.getvalue(), 0, "a")[1] is not None
        assert read(sink.getvalue()).equals(table)

    def test_level_names(self) -> None:
        for name in ("ColumnChunk", "column_chunk", "COLUMNCHUNK", cw.SizeStatisticsLevel.COLUMN_CHUNK):
            cw.write_table(TABLE, sink := io.BytesIO(), size_statistics_level=name)
            column_index, _ = cw.read_page_index(sink.getvalue())
            assert column_index.definition_level_histograms is None
        for name in ("None", "none", None):
            metadata = cw.write_table(TABLE, io.BytesIO(), size_statistics_level=name)
            assert metadata.row_groups[0].columns[0].meta_data.size_statistics is None
