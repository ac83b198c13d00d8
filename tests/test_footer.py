"""Column chunks put together by kernels have the bytes that the encoder of Thrift gives them."""

from __future__ import annotations

import io
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter
from colwriter import file_writer, thrift
from colwriter import metadata as md
from colwriter.footer import IndexPlaces, encode_column_chunks
from colwriter.thrift import EncodedStructs

I64 = st.integers(0, (1 << 63) - 1)
I32 = st.integers(1, (1 << 31) - 1)
PLACE = st.none() | st.tuples(I64, I32)


@st.composite
def column_metadata(draw: st.DrawFn) -> md.ColumnMetaData:
    return md.ColumnMetaData(
        type=draw(st.sampled_from(list(md.Type))),
        encodings=(md.Encoding.PLAIN, md.Encoding.RLE),
        path_in_schema=tuple(draw(st.lists(st.text(max_size=300), min_size=1, max_size=3))),
        codec=md.CompressionCodec.SNAPPY,
        num_values=draw(I64),
        total_uncompressed_size=draw(I64),
        total_compressed_size=draw(I64),
        data_page_offset=draw(I64),
        dictionary_page_offset=draw(st.none() | I64),
        statistics=draw(st.none() | st.builds(md.Statistics, min_value=st.binary(max_size=70), null_count=I64)),
        bloom_filter_offset=draw(st.none() | I64),
    )


@settings(deadline=None)  # the first example may compile kernels
@given(st.lists(st.tuples(column_metadata(), PLACE, PLACE), min_size=1, max_size=20))
def test_same_bytes(columns: list[tuple[md.ColumnMetaData, tuple[int, int] | None, tuple[int, int] | None]]) -> None:
    chunks = tuple(
        md.ColumnChunk(
            meta_data=metadata,
            **({} if offset is None else {"offset_index_offset": offset[0], "offset_index_length": offset[1]}),
            **({} if column is None else {"column_index_offset": column[0], "column_index_length": column[1]}),
        )
        for metadata, offset, column in columns
    )
    offsets = zip(*((offset or (0, 0)) for _, offset, _ in columns), strict=True)
    indexes = zip(*((column or (0, 0)) for _, _, column in columns), strict=True)
    places = IndexPlaces(*(list(numbers) for numbers in (*offsets, *indexes)))
    encoded = encode_column_chunks([thrift.encode(metadata) for metadata, _, _ in columns], places)
    assert len(encoded) == len(columns)
    group = md.RowGroup(encoded, 1, 2, ordinal=3)  # type: ignore[arg-type]
    assert thrift.encode(group) == thrift.encode(md.RowGroup(chunks, 1, 2, ordinal=3))


def test_encoded_structs_stand_for_a_sequence() -> None:
    values = (md.KeyValue("a", "b"), md.KeyValue("c"))
    encoded = EncodedStructs(2, b"".join(map(thrift.encode, values)))
    footer = md.FileMetaData(1, (), 0, (), key_value_metadata=encoded)  # type: ignore[arg-type]
    assert thrift.encode(footer) == thrift.encode(md.FileMetaData(1, (), 0, (), key_value_metadata=values))


def test_kept_structs_are_a_tuple() -> None:
    values = (md.KeyValue("a", "b"), md.KeyValue("c"))
    kept = thrift.keep(values)
    footer = md.FileMetaData(1, (), 0, (), key_value_metadata=kept)
    same = md.FileMetaData(1, (), 0, (), key_value_metadata=values)
    assert (footer, repr(footer)) == (same, repr(same))
    assert thrift.encode(footer) == thrift.encode(same)
    again = pickle.loads(pickle.dumps(footer))
    assert again == same
    assert thrift.encode(again) == thrift.encode(same)


@pytest.mark.parametrize("options", [{}, {"write_page_index": False}, {"write_statistics": ["a0"]}])
def test_wide_files_are_those_of_narrow_ones(options: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    values = {f"a{i}": pa.array([None, i, 2 * i], pa.int64()) for i in range(5)}
    table = pa.table({**values, "s": ["x", "y", None]})
    files = []
    for wide in (1, 1000):
        monkeypatch.setattr(file_writer, "WIDE", wide)
        sink = io.BytesIO()
        with colwriter.ParquetWriter(sink, table.schema, **options) as writer:
            writer.write_table(table)
            writer.write_table(table, row_group_size=2)
        assert writer.metadata == colwriter.read_metadata(sink.getvalue())
        files.append(sink.getvalue())
    assert files[0] == files[1]
    assert pq.read_table(io.BytesIO(files[0])).num_rows == 6


def test_no_rows_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_writer, "WIDE", 0)
    sink = io.BytesIO()
    assert colwriter.write_table(pa.table({"a": pa.array([], pa.int64())}), sink).row_groups == ()
    assert pq.read_table(io.BytesIO(sink.getvalue())).num_rows == 0
