"""What goes in, where it goes, and what is refused."""

from __future__ import annotations

import errno
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import colwriter as cw
from colwriter import arena
from colwriter.sinks import open_sink

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

    def test_views_come_back_as_views(self) -> None:
        table = pa.table({"s": pa.array(["x", None, "a longer string"], pa.string_view())})
        assert written(table).schema.field("s").type == pa.string_view()
        assert written(table).equals(table)

    def test_calls_that_work_for_pyarrow(self) -> None:
        """Positions and values that pyarrow.parquet takes."""
        sink = io.BytesIO()
        metadata = cw.write_table(TABLE, sink, 2, write_batch_size=1024, use_byte_stream_split=[], version="2.4")
        assert [g.num_rows for g in metadata.row_groups] == [2, 1]
        with cw.ParquetWriter(io.BytesIO(), TABLE.schema, None, writer_engine_version="V2") as writer:
            writer.write_table(TABLE, np.int64(1))
        cw.write_table(TABLE, io.BytesIO(), compression="zstd", compression_level=np.int64(3), store_schema=np.True_)

    def test_many_small_batches(self) -> None:
        """Each batch must not be counted again for each batch that follows."""
        batch = TABLE.to_batches()[0]
        with cw.ParquetWriter(io.BytesIO(), TABLE.schema, row_group_size=5000) as writer:
            for _ in range(4000):
                writer.write_batch(batch)
        assert [g.num_rows for g in writer.metadata.row_groups] == [5000, 5000, 2000]

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
        cw.write_table(TABLE, str(tmp_path / "a"), filesystem="file:///")
        with pytest.raises(cw.InvalidOptionError, match="filesystem"):
            cw.write_table(TABLE, "b", filesystem="tree")
        with pytest.raises(cw.InvalidOptionError, match="where: memory"):
            cw.write_table(TABLE, "memory://x")

    def test_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("USERPROFILE", str(tmp_path))
        cw.write_table(TABLE, "~/a.parquet")
        assert pq.read_table(tmp_path / "a.parquet").equals(TABLE)

    @pytest.mark.parametrize("where", [None, 5, "", io.StringIO()])
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
        # Whoever caught the first error must not take the file for written.
        with pytest.raises(cw.InvalidOptionError, match="given up"):
            writer.close()
        writer.close()
        assert list(tmp_path.iterdir()) == []

    def test_a_block_that_swallows_an_error_does_not_end_quietly(self, tmp_path: Path) -> None:
        schema = pa.schema([pa.field("b", pa.int64(), nullable=False)])
        bad = pa.Table.from_arrays([pa.array([None], pa.int64())], schema=schema)
        with pytest.raises(cw.InvalidOptionError, match="given up"):  # noqa: SIM117
            with cw.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
                with pytest.raises(cw.InvalidDataError):
                    writer.write_table(bad)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_a_child_process_leaves_the_file_of_its_parent(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        with cw.ParquetWriter(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
            child = os.fork()
            if child == 0:  # pragma: no cover
                writer.abort()
                os._exit(0)
            os.waitpid(child, 0)
        assert pq.read_table(path).equals(TABLE)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    @pytest.mark.parametrize("method", ["close", "write_table"])
    def test_a_child_process_cannot_finish_the_file_of_its_parent(self, tmp_path: Path, method: str) -> None:
        path = tmp_path / "a.parquet"
        with cw.ParquetWriter(path, TABLE.schema) as writer:
            writer.write_table(TABLE)
            child = os.fork()
            if child == 0:  # pragma: no cover
                status = 1
                with suppress(cw.InvalidOptionError):
                    getattr(writer, method)(*([TABLE] if method == "write_table" else []))
                    status = 2
                os._exit(0 if status == 1 and not path.exists() else 3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            writer.write_table(TABLE)
        assert pq.read_table(path).num_rows == 2 * TABLE.num_rows

    def test_a_buffer_is_given_back_once(self) -> None:
        """A second owner of the same buffer would write over what the first has in it."""
        arena.release_memory()
        sink = open_sink(io.BytesIO())
        sink.close()
        sink.abort()
        assert arena.take_buffer() is not arena.take_buffer()

    def test_half_made_writers_say_nothing(self, recwarn: pytest.WarningsRecorder) -> None:
        with pytest.raises(TypeError):
            cw.ParquetWriter(io.BytesIO(), TABLE.schema, None, None)
        with pytest.raises(cw.InvalidOptionError, match="schema"):
            cw.ParquetWriter(io.BytesIO(), "x")
        assert not recwarn.list

    @pytest.mark.parametrize("length", [1, 240, 255])
    def test_long_names(self, tmp_path: Path, length: int) -> None:
        path = tmp_path / ("n" * length)
        cw.write_table(TABLE, path)
        assert pq.read_table(path).equals(TABLE)

    def test_errors_name_the_file_that_was_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "none" / "a.parquet"
        with pytest.raises(FileNotFoundError) as error:
            cw.write_table(TABLE, path)
        assert error.value.filename == str(path)


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

    def test_views_that_lead_elsewhere(self) -> None:
        """pyarrow's cast follows a view past its buffer, or crashes."""
        for words in ([-5, 0, 0, 0], [20, 0x61616161, 0, 5], [20, 0x61616161, 7, 0]):
            views = pa.py_buffer(np.array(words, np.int32))
            array = pa.Array.from_buffers(pa.string_view(), 1, [None, views, pa.py_buffer(b"a" * 10)])
            with pytest.raises(cw.InvalidDataError, match=r"^column: "):
                cw.write_column(array, io.BytesIO())

    @pytest.mark.parametrize("kind", [pa.string(), pa.list_(pa.int64())])
    def test_wrong_offsets_below_hidden_values(self, kind: pa.DataType) -> None:
        """What a null list hides is filtered out by pyarrow, which trusts offsets."""
        offsets = np.array([0, 1, 2, 3], np.int32)
        if pa.types.is_string(kind):
            inner = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"abc")])
        else:
            inner = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(offsets)], children=[pa.array([1, 2, 3])])
        lists = [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, 1, 2, 3], np.int32))]
        array = pa.Array.from_buffers(pa.list_(kind), 3, lists, children=[inner])
        offsets[1:3] = 10**9, -(10**9)
        with pytest.raises(cw.InvalidDataError, match=r"^column: "):
            cw.write_column(array, io.BytesIO())

    def test_paths_are_those_of_the_file(self) -> None:
        element = pa.field("item", pa.int64(), nullable=False)
        for arrow_type, rows, path in [
            (pa.list_(element), [[1, None]], r"column\.list\.element"),
            (pa.list_(pa.list_(element)), [[[1, None]]], r"column\.list\.element\.list\.element"),
            (pa.struct([pa.field("a", pa.list_(element))]), [{"a": [None]}], r"column\.a\.list\.element"),
            (pa.map_(pa.string(), element), [[("k", None)]], r"column\.key_value\.value"),
        ]:
            loose = pa.array(rows, _all_nullable(arrow_type))
            array = pa.Array.from_buffers(
                arrow_type,
                len(loose),
                loose.buffers()[: 1 if pa.types.is_struct(arrow_type) else 2],
                children=_children(loose, arrow_type),
            )
            with pytest.raises(cw.InvalidDataError, match=rf"^{path}: the field is not nullable, found 1 null"):
                cw.write_column(array, io.BytesIO())


def _all_nullable(arrow_type: pa.DataType) -> pa.DataType:
    if pa.types.is_map(arrow_type):
        return pa.map_(arrow_type.key_type, _all_nullable(arrow_type.item_type))
    if pa.types.is_list(arrow_type):
        return pa.list_(_all_nullable(arrow_type.value_type))
    if pa.types.is_struct(arrow_type):
        return pa.struct([(f.name, _all_nullable(f.type)) for f in (arrow_type.field(0),)])
    return arrow_type


def _children(array: pa.Array, arrow_type: pa.DataType) -> list[pa.Array]:
    """The children of an array, retyped as ``arrow_type`` has them."""
    if pa.types.is_map(arrow_type):
        entries = pa.struct([arrow_type.key_field, arrow_type.item_field])
        return [pa.Array.from_buffers(entries, len(array.keys), [None], children=[array.keys, array.items])]
    child = array.field(0) if pa.types.is_struct(arrow_type) else array.values
    child_type = arrow_type.field(0).type
    if not pa.types.is_nested(child_type):
        return [child]
    return [pa.Array.from_buffers(child_type, len(child), child.buffers()[:2], children=_children(child, child_type))]


UNION = pa.sparse_union([pa.field("a", pa.int64())])


class TestRefused:
    @pytest.mark.parametrize(
        ("arrow_type", "path"),
        [
            (UNION, "x"),
            (pa.binary(0), "x"),
            (pa.list_(UNION), r"x\.list\.element"),
            (pa.struct([("y", pa.list_(UNION))]), r"x\.y\.list\.element"),
            (pa.map_(pa.string(), UNION), r"x\.key_value\.value"),
            (pa.struct([]), "x"),
        ],
    )
    def test_types(self, tmp_path: Path, arrow_type: pa.DataType, path: str) -> None:
        with pytest.raises(cw.UnsupportedTypeError, match=rf"^{path}: cannot write Arrow type") as error:
            cw.ParquetWriter(tmp_path / "a.parquet", pa.schema([("x", arrow_type)]))
        assert isinstance(error.value, TypeError)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("depth", [254, 255, 300])
    def test_nesting_beyond_eight_bits(self, depth: int) -> None:
        """A level above 255 does not fit; before, such a file was silently wrong."""
        field = pa.field("leaf", pa.int64())
        for _ in range(depth):
            field = pa.field("s", pa.struct([field]))
        table = pa.schema([field]).empty_table()
        if depth < 255:
            cw.write_table(table, io.BytesIO())
        else:
            with pytest.raises(cw.UnsupportedTypeError, match=r"^s\.s\..*at most 255 definition levels"):
                cw.write_table(table, io.BytesIO())

    @pytest.mark.parametrize("value", ["x", "99999999999", "-2147483649"])
    def test_field_ids(self, value: str) -> None:
        schema = pa.schema([pa.field("a", pa.int64(), metadata={"PARQUET:field_id": value})])
        with pytest.raises(cw.UnsupportedTypeError, match=r"^a: .*field_id"):
            cw.write_table(schema.empty_table(), io.BytesIO())

    def test_metadata_that_is_not_text(self) -> None:
        with pytest.raises(cw.InvalidDataError, match="UTF-8"):
            cw.write_table(TABLE.replace_schema_metadata({b"k\xff": b"v"}), io.BytesIO())
        with cw.ParquetWriter(io.BytesIO(), TABLE.schema) as writer:
            with pytest.raises(cw.InvalidDataError, match="UTF-8"):
                writer.add_key_value_metadata({"a": b"\xff"})
            with pytest.raises(cw.InvalidOptionError, match="key_value_metadata"):
                writer.add_key_value_metadata(["a"])

    def test_the_wrong_method(self) -> None:
        with cw.ParquetWriter(io.BytesIO(), TABLE.schema) as writer:
            for wrong in (None, TABLE.to_batches()[0], {"a": [1]}):
                with pytest.raises(cw.InvalidDataError, match=r"expected a pyarrow\.Table"):
                    writer.write_table(wrong)
            with pytest.raises(cw.InvalidDataError, match=r"expected a pyarrow\.RecordBatch"):
                writer.write_batch(TABLE)
            writer.write(TABLE.to_batches()[0])
        assert writer.metadata.num_rows == 3

    @pytest.mark.parametrize("name", [None, 5, "\ud800"])
    def test_names(self, name) -> None:
        with pytest.raises(cw.InvalidOptionError, match=r"^name: "):
            cw.write_column([1], io.BytesIO(), name=name)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"store_schema": "False"}, "store_schema: expected True or False"),
            ({"write_page_index": "no"}, "write_page_index"),
            ({"write_page_checksum": {"a": True}}, "write_page_checksum"),
            ({"use_threads": 2}, "use_threads"),
            ({"max_threads": 0}, "max_threads"),
            ({"row_group_size": np.array([2])}, "row_group_size"),
            ({"sorting_columns": pq.SortingColumn(0)}, "sorting_columns"),
            ({"coerce_timestamps": np.array([1, 2])}, "coerce_timestamps"),
            ({"use_deprecated_int96_timestamps": 0}, "use_deprecated_int96_timestamps"),
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
            ({"max_values_per_page": 0}, "max_values_per_page: .*at least 1.*0"),
            ({"float_column_order": "total"}, "float_column_order: .*IEEE_754_TOTAL_ORDER.*'total'"),
            ({"float_column_order": None}, "float_column_order: .*None"),
            ({"page_boundaries": 5}, "^page_boundaries: expected rows of the file.*found 5"),
            ({"page_boundaries": {"a": [0, 10, 10]}}, "^a: page_boundaries: .*found 10 after 10"),
            ({"page_boundaries": {"a": [3, 2]}}, "^a: page_boundaries: .*found 2 after 3"),
            ({"page_boundaries": {"a": [-1, 2]}}, "^a: page_boundaries: .*found -1"),
            ({"page_boundaries": {"a": [0.5]}}, r"^a: page_boundaries: .*found \[0.5\]"),
            ({"page_boundaries": [[1], [2, 3]]}, "^page_boundaries: "),
            ({"page_boundaries": [True]}, "^page_boundaries: "),
            ({"page_boundaries": {"q": [1]}}, "^q: page_boundaries names"),
            ({"row_group_size": 1.5}, "row_group_size"),
            ({"row_group_size": True}, "row_group_size"),
            ({"dictionary_pagesize_limit": "big"}, "dictionary_pagesize_limit"),
            ({"data_page_version": "3.0"}, "data_page_version"),
            ({"size_statistics_level": "Pages"}, "size_statistics_level: .*ColumnChunk.*Pages"),
            ({"size_statistics_level": {"q": "None"}}, "^q: size_statistics_level names"),
            ({"size_statistics_level": 1}, "size_statistics_level"),
            ({"column_encoding": {"a": "DELTA_BINARY_PACKED"}}, "column_encoding"),
            ({"column_encoding": "PLAIN"}, "column_encoding.*use_dictionary"),
            ({"flavor": "hive"}, "flavor: expected None or 'spark', found 'hive'"),
            ({"encryption_properties": 1}, "encryption_properties: cannot be written yet"),
            ({"use_content_defined_chunking": True}, "use_content_defined_chunking: cannot be written yet"),
            ({"metadata_collector": 1}, "metadata_collector: expected a list, found 1"),
            ({"write_page_index": ["q"]}, "^q: write_page_index names"),
            ({"statistics_truncate_length": 0}, "statistics_truncate_length: .* at least 1, found 0"),
            ({"column_index_truncate_length": "x"}, "column_index_truncate_length"),
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

    @pytest.mark.parametrize(
        "table", [None, 5, "abc", [1, 2], {"a": [1], "b": [1, 2]}, {"a": [object()]}, {"a": [2**63]}, pd.Series([1])]
    )
    def test_not_tables(self, table) -> None:
        with pytest.raises(cw.InvalidDataError):
            cw.write_table(table, io.BytesIO())

    @pytest.mark.parametrize(
        "column", [None, 5, np.zeros((2, 2)), [1, "a"], [object()], np.float64(3), [2**63], b"abc", "abc", {1: 2}, {1}]
    )
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


@pytest.mark.parametrize("filesystem", [None, pafs.LocalFileSystem()])
@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_paths_that_no_file_can_have(tmp_path: Path, name: str, filesystem: Any) -> None:
    with pytest.raises(cw.InvalidOptionError, match=r"^where: expected a path, found "):
        cw.ParquetWriter(f"{tmp_path}/{name}", pa.schema([("a", pa.int64())]), filesystem)
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_too_long_is_told_when_the_file_is_opened(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="too long") as caught:
        cw.ParquetWriter(tmp_path / ("x" * 300), pa.schema([("a", pa.int64())]))
    assert caught.value.errno == errno.ENAMETOOLONG
    assert not list(tmp_path.iterdir())
    cw.write_table(pa.table({"a": [1]}), tmp_path / ("x" * 255))
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 255]


def test_files_that_are_opened_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "there"
    path.write_bytes(b"PAR1")
    with path.open("rb") as file, pa.OSFile(str(path), "rb") as native:
        for where in (file, native, pa.BufferReader(b""), io.BufferedReader(io.BytesIO())):
            with pytest.raises(cw.InvalidOptionError, match=r"^where: .*opened for reading"):
                cw.write_table(pa.table({"a": [1]}), where)
    assert path.read_bytes() == b"PAR1"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("compression", {"a": "none", "b": "foo"}, r"^b: compression: expected one of .*found 'foo'$"),
        ("compression_level", {"b": "high"}, r"^b: compression_level: expected an integer, found 'high'$"),
        ("compression_level", {"b": 999}, r"^b: compression_level: snappy has no levels, found 999$"),
        ("column_encoding", {"b": "x"}, r"^b: column_encoding: expected one of "),
        ("encoding_goal", {"b": "x"}, r"^b: encoding_goal: expected one of "),
        ("size_statistics_level", {"b": 3}, r"^b: size_statistics_level: expected one of .*found 3$"),
        ("page_boundaries", {"b": [5, 5]}, r"^b: page_boundaries: .*each above the one before, found 5 after 5$"),
        ("page_boundaries", [0.5] * 100_000, r"^page_boundaries: .{,200}$"),
        ("sorting_columns", [cw.SortingColumn("a", False, False)], r"^sorting_columns: .*leaf column, found 'a'$"),
        ("sorting_columns", [cw.SortingColumn(0.7, False, False)], r"^sorting_columns: .*leaf column, found 0\.7$"),
        ("sorting_columns", [object()], r"^sorting_columns: expected SortingColumn"),
    ],
)
def test_errors_of_options_name_the_column(option: str, value: Any, message: str) -> None:
    with pytest.raises(cw.InvalidOptionError, match=message):
        cw.write_table(pa.table({"a": [1], "b": ["x"]}), io.BytesIO(), **{option: value})
