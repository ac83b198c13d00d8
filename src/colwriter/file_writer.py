"""``ParquetWriter``: row groups, one column chunk after another, then page indexes and the footer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import accumulate, islice
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa

from colwriter import thrift
from colwriter.bloom_filter import BloomFilter
from colwriter.column_writer import EncodedChunk
from colwriter.encoding_choice import Choices
from colwriter.errors import InvalidDataError, InvalidOptionError
from colwriter.explanation import Explanation, explain_column
from colwriter.file_plan import metadata_text, plan_file
from colwriter.footer import IndexPlaces, encode_column_chunks
from colwriter.framing import PageBytes
from colwriter.inputs import as_reader
from colwriter.keywords import read_options
from colwriter.metadata import (
    ColumnChunk,
    ColumnMetaData,
    FileMetaData,
    KeyValue,
    RowGroup,
)
from colwriter.options import UNLIMITED, WriterOptions
from colwriter.row_group_encoder import RowGroupEncoder
from colwriter.row_groups import ByteLimits
from colwriter.sinks import Sink, open_sink
from colwriter.version import CREATED_BY

__all__ = ["ParquetWriter"]

MAGIC = b"PAR1"
# Columns from which a row group's part of the footer is put together by kernels, which take some 30 microseconds.
WIDE = 64


class _WrittenChunk(NamedTuple):
    """A column chunk in the file; indexes wait for the end of the file, a Bloom filter for that of the row group."""

    metadata: ColumnMetaData
    column_index: bytes | None
    offset_index: bytes | None
    bloom_filter: BloomFilter | None


class _WrittenRowGroup(NamedTuple):
    """A row group in the file; where it is wide, the metadata of its chunks are encoded already."""

    num_rows: int
    file_offset: int
    chunks: list[_WrittenChunk]
    encoded_metadata: list[bytes] | None


class ParquetWriter:
    """Writes one Parquet file, a row group at a time.

    ``where``: a path, where the file appears when it is complete and not before; or a binary file object or
    ``pyarrow.NativeFile``, which stays open. ``schema``: the ``pyarrow.Schema`` of all tables. Options have the names
    and meanings of ``pyarrow.parquet.write_table``; ``size_statistics_level`` is ``"None"``, ``"ColumnChunk"`` or
    ``"PageAndColumnChunk"``, one for all columns or a dict by dotted path; ``bloom_filter_options`` without ``ndv``
    makes filters as large as the data need, and True instead of a dict makes one for every column.
    ``page_boundaries``: rows of the file, counted from 0, at which a page starts, whatever the limits of pages; rising
    integers (a list or an array), for all columns or a dict by dotted path. ``max_values_per_page`` limits the values
    of a page as its header counts them, nulls and empty lists too.
    ``float_column_order``: ``"TYPE_ORDER"``, or ``"IEEE_754_TOTAL_ORDER"`` for bounds of floating-point columns in that
    order. ``metadata_collector``: a list that the footer is added to once the file is complete.
    ``statistics_truncate_length`` and ``column_index_truncate_length`` are the bytes that bounds of byte arrays are
    shortened to, None for whole ones; ``max_row_group_bytes`` and ``max_row_group_decoded_bytes`` end row groups as
    ``write_table`` says. Raises ``InvalidOptionError``, or ``UnsupportedTypeError`` for a column that cannot be
    written.

    As a context manager, the file is finished at the end of the block, and given up if that raises.
    """

    _sink: Sink | None = None
    _error: BaseException | None = None

    def __init__(
        self,
        where: Any,
        schema: pa.Schema,
        filesystem: Any = None,
        *,
        metadata_collector: list[Any] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(schema, pa.Schema):
            raise InvalidOptionError(f"schema: expected a pyarrow.Schema, found {type(schema).__name__}")
        if metadata_collector is not None and not hasattr(metadata_collector, "append"):
            raise InvalidOptionError(f"metadata_collector: expected a list, found {metadata_collector!r}")
        self._metadata_collector = metadata_collector
        self._options = read_options(**options)
        self._input_schema = schema
        self._plan = plan_file(schema, self._options)
        self._choices = Choices(self._options)
        self._key_values: dict[str, str | None] = {**self._plan.key_values}
        self._row_groups: list[_WrittenRowGroup] = []
        self._row_groups_elsewhere: list[RowGroup] = []
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0
        self._written_rows = 0
        encoded, decoded = self._options.max_row_group_bytes, self._options.max_row_group_decoded_bytes
        self._limits = None if encoded == decoded == UNLIMITED else ByteLimits(encoded, decoded, self._plan.stored)
        self._places: list[IndexPlaces] | None = None
        self._metadata: FileMetaData | None = None
        self._sink = open_sink(where, filesystem)
        self._guarded(self._sink.write, MAGIC)

    @property
    def schema(self) -> pa.Schema:
        """The schema that was given."""
        return self._input_schema

    @property
    def metadata(self) -> FileMetaData:
        """The footer, once the writer is closed."""
        if self._places is None:
            raise InvalidOptionError(
                "metadata: known once the writer is closed, found one that is open or was given up"
            )
        if self._metadata is None:
            chunks = (group.chunks for group in self._row_groups)
            self._metadata = self._footer(list(map(_column_chunks, chunks, self._places)))
        return self._metadata

    def explain(self) -> Explanation:
        """How each leaf column is encoded, why, and the bytes that it takes, in the row groups that are written so far.

        For a column whose ``column_encoding`` is ``"auto"`` also the encodings that there were to choose from.
        """
        leaves = (pair for top in self._plan.fields for pair in zip(top.descriptors, top.options, strict=True))
        return Explanation(
            tuple(
                explain_column(
                    *(descriptor, column, self._choices.last(descriptor.path)),
                    [group.chunks[number].metadata for group in self._row_groups],
                )
                for number, (descriptor, column) in enumerate(leaves)
            )
        )

    def write(self, table: Any, row_group_size: int | None = None) -> None:
        """Write a table, or anything that ``write_table`` of the module takes."""
        source = as_reader(table)
        if isinstance(source, pa.Table):
            self.write_table(source, row_group_size)
            return
        for batch in source:
            self.write_batch(batch, row_group_size)

    def write_table(self, table: pa.Table, row_group_size: int | None = None) -> None:
        """Write a table as row groups of at most ``row_group_size`` rows, the last one shorter.

        They also end before they pass ``max_row_group_decoded_bytes``, in Arrow buffers, and, as far as the row groups
        before tell, ``max_row_group_bytes``, in the file; unless a single row does.
        """
        self._require_open()
        if not isinstance(table, pa.Table):
            raise InvalidDataError(f"table: expected a pyarrow.Table, found {type(table).__name__}; write takes others")
        self._check_schema(table.schema)
        self._guarded(self._flush)
        self._guarded(self._write, table, self._size(row_group_size))

    def write_batch(self, batch: pa.RecordBatch, row_group_size: int | None = None) -> None:
        """Add a record batch; a row group is written when ``row_group_size`` rows have come together.

        With ``max_row_group_bytes`` or ``max_row_group_decoded_bytes``, also when more would pass them.
        """
        self._require_open()
        if not isinstance(batch, pa.RecordBatch):
            raise InvalidDataError(f"batch: expected a pyarrow.RecordBatch, found {type(batch).__name__}")
        self._check_schema(batch.schema)
        size = self._size(row_group_size)
        if self._limits is not None:
            self._guarded(self._add, batch, size, self._limits)
            return
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        if self._pending_rows >= size:
            table = pa.Table.from_batches(self._pending, self._input_schema)
            full = self._pending_rows - self._pending_rows % size
            self._guarded(self._write, table.slice(0, full), size)
            self._pending = table.slice(full).to_batches()
            self._pending_rows -= full

    def add_key_value_metadata(self, key_value_metadata: dict[str, str]) -> None:
        """Add to the metadata of the file; a key that is there already gets the new value."""
        self._require_open()
        if not isinstance(key_value_metadata, Mapping):
            raise InvalidOptionError(f"key_value_metadata: expected a mapping, found {key_value_metadata!r}")
        for key, value in key_value_metadata.items():
            self._key_values[metadata_text(key)] = None if value is None else metadata_text(value)

    def append_row_groups(self, metadata: FileMetaData) -> None:
        """Name the row groups of another file in this one's footer, after its own: they must say in which file they are
        (``FileMetaData.with_file_path``).

        Raises ``InvalidDataError`` where the other file has another schema.
        """
        self._require_open()
        if not isinstance(metadata, FileMetaData):
            raise InvalidDataError(f"metadata: expected a colwriter.FileMetaData, found {type(metadata).__name__}")
        expected = self._plan.schema.elements
        if metadata.schema != expected:
            names, found = ([e.name for e in elements[1:]] for elements in (expected, metadata.schema))
            raise InvalidDataError(f"metadata: expected the schema of this file, {names}, found another, {found}")
        self._row_groups_elsewhere += metadata.row_groups

    def close(self) -> None:
        """Finish the file: write what waits, the page indexes and the footer. A second call does nothing.

        Raises ``InvalidOptionError`` if an earlier call failed: there is no file, and no one should think so.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise InvalidOptionError("where: the file was given up after an error, and is not there") from error
        if self._sink is None:
            return
        self._require_open()
        self._guarded(self._finish)
        self._sink = None

    def abort(self) -> None:
        """Give the file up: at a path nothing appears, and what was there stays."""
        self._error = None
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.abort()

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        self.abort()

    def _require_open(self) -> Sink:
        if self._sink is None:
            raise InvalidOptionError("where: the writer is closed, or was given up after an error")
        if self._sink.is_inherited:
            raise InvalidOptionError("where: the file is that of the process that opened it, found a child of it")
        return self._sink

    def _guarded(self, action: Any, *arguments: Any) -> None:
        """Do something that may fail half way, after which the file cannot be finished."""
        try:
            action(*arguments)
        except BaseException as error:
            self.abort()
            self._error = error
            raise

    def _size(self, row_group_size: int | None) -> int:
        if row_group_size is None:
            return self._options.row_group_size
        return read_options(row_group_size=row_group_size).row_group_size

    def _check_schema(self, schema: pa.Schema) -> None:
        if schema.equals(self._input_schema):
            return
        if schema.names != self._input_schema.names:
            raise InvalidDataError(f"table: expected the columns {self._input_schema.names}, found {schema.names}")
        for expected, found in zip(self._input_schema, schema, strict=True):
            if not expected.equals(found):
                raise InvalidDataError(f"{expected.name}: expected {_field_text(expected)}, found {_field_text(found)}")

    def _flush(self) -> None:
        if self._pending:
            table = pa.Table.from_batches(self._pending, self._pending[0].schema)
            self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
            self._write(table, table.num_rows)

    def _add(self, batch: pa.RecordBatch, size: int, limits: ByteLimits) -> None:
        """Add a record batch where row groups have limits in bytes; those that are full are written."""
        table = limits.stored(pa.Table.from_batches([batch]))
        self._pending += table.to_batches()
        self._pending_rows += table.num_rows
        self._pending_bytes += table.nbytes
        if self._pending_rows >= size or self._pending_bytes > limits.most:
            table = pa.Table.from_batches(self._pending, table.schema)
            rest = table.slice(self._write_limited(table, size, limits, is_end=False))
            self._pending, self._pending_rows, self._pending_bytes = rest.to_batches(), rest.num_rows, rest.nbytes

    def _write_limited(self, table: pa.Table, size: int, limits: ByteLimits, is_end: bool = True) -> int:
        """Write row groups that keep to their limits, and return the rows written: all that fill a row group.

        At the end, the rest is a row group too.
        """
        start = 0
        while start < table.num_rows:
            rows = limits.cut(table.slice(start), size)
            end = start + rows.num_rows
            if end == table.num_rows and rows.num_rows < size and not is_end:
                break
            self._write_row_groups(rows, rows.num_rows)
            limits.learn(sum(chunk.metadata.total_compressed_size for chunk in self._row_groups[-1].chunks))
            start = end
        return start

    def _write(self, table: pa.Table, size: int) -> None:
        if self._limits is None:
            self._write_row_groups(table, size)
        else:
            self._write_limited(table, size, self._limits)

    def _write_row_groups(self, table: pa.Table, size: int) -> None:
        """Write row groups of ``size`` rows. Column chunks are encoded in threads, those of the next row group too."""
        if table.num_columns == 0:  # rows without columns cannot be told
            return
        sink = self._require_open()
        first_group, first_row = len(self._row_groups), self._written_rows
        encoder = RowGroupEncoder(self._plan, self._choices, table, size, first_group, first_row)
        columns = encoder.columns()
        for num_rows in encoder.group_sizes():
            self._row_groups.append(_write_row_group(sink, islice(columns, table.num_columns), num_rows))
            self._written_rows += num_rows
        for _ in columns:  # there is no more, and it is done with the arena of the last
            pass

    def _finish(self) -> None:
        self._flush()
        sink = self._require_open()
        columns = [_write_indexes(sink, [chunk.column_index for chunk in group.chunks]) for group in self._row_groups]
        offsets = [_write_indexes(sink, [chunk.offset_index for chunk in group.chunks]) for group in self._row_groups]
        places = [IndexPlaces(*offset, *column) for offset, column in zip(offsets, columns, strict=True)]
        metadata = self._footer(list(map(_encodable_chunks, self._row_groups, places)))
        footer = thrift.encode(metadata)
        sink.write(footer)
        sink.write(len(footer).to_bytes(4, "little") + MAGIC)
        sink.close()
        self._places = places
        if len(self._plan.schema.columns) < WIDE:  # nothing in it is encoded
            self._metadata = metadata
        if self._metadata_collector is not None:
            self._metadata_collector.append(self.metadata)

    def _footer(self, columns: list[Any]) -> FileMetaData:
        """The footer with these column chunks, of which each item is those of a row group."""
        row_groups = tuple(
            _row_group(group, ordinal, chunks, self._options)
            for ordinal, (group, chunks) in enumerate(zip(self._row_groups, columns, strict=True))
        )
        row_groups += tuple(self._row_groups_elsewhere)
        return FileMetaData(
            version=1 if self._options.types.version == "1.0" else 2,
            schema=self._plan.schema.elements,
            num_rows=sum(group.num_rows for group in row_groups),
            row_groups=row_groups,
            key_value_metadata=tuple(KeyValue(k, v) for k, v in self._key_values.items()) or None,
            created_by=CREATED_BY,
            column_orders=self._plan.column_orders,
        )


def _write_row_group(sink: Sink, columns: Iterable[list[EncodedChunk]], num_rows: int) -> _WrittenRowGroup:
    start = sink.position
    chunks: list[_WrittenChunk] = []
    for encoded in columns:
        chunks += [_write_chunk(sink, chunk) for chunk in encoded]
        del encoded  # its memory is free while the next column is encoded
    # Not at the end of the file, where they may also be: those of all row groups could be large.
    chunks = [_write_bloom_filter(sink, chunk) for chunk in chunks]
    metadata = [thrift.encode(chunk.metadata) for chunk in chunks] if len(chunks) >= WIDE else None
    return _WrittenRowGroup(num_rows, start, chunks, metadata)


def _write_chunk(sink: Sink, chunk: EncodedChunk) -> _WrittenChunk:
    offset = sink.position
    for part in chunk.parts:
        if isinstance(part, PageBytes):
            sink.write_pages(part)
        else:
            sink.write(part)
    offset_index = chunk.offset_index(offset) if chunk.options.write_page_index else None
    return _WrittenChunk(chunk.column_metadata(offset), chunk.column_index, offset_index, chunk.bloom_filter)


def _write_bloom_filter(sink: Sink, chunk: _WrittenChunk) -> _WrittenChunk:
    """The chunk without its Bloom filter, and with the place of it."""
    if chunk.bloom_filter is None:
        return chunk
    offset = sink.position
    sink.write(chunk.bloom_filter.header())
    sink.write(chunk.bloom_filter.bitset)
    length = sink.position - offset
    metadata = replace(chunk.metadata, bloom_filter_offset=offset, bloom_filter_length=length)
    return chunk._replace(metadata=metadata, bloom_filter=None)


def _write_indexes(sink: Sink, indexes: list[bytes | None]) -> tuple[list[int], list[int]]:
    """Write the indexes of a row group; offset and length of each, length 0 where there is none."""
    parts = [index or b"" for index in indexes]
    lengths = list(map(len, parts))
    offsets = list(accumulate(lengths[:-1], initial=sink.position))
    sink.write(b"".join(parts))
    return offsets, lengths


def _encodable_chunks(group: _WrittenRowGroup, places: IndexPlaces) -> Any:
    if group.encoded_metadata is None:
        return _column_chunks(group.chunks, places)
    return encode_column_chunks(group.encoded_metadata, places)


def _column_chunks(chunks: list[_WrittenChunk], places: IndexPlaces) -> tuple[ColumnChunk, ...]:
    return tuple(
        ColumnChunk(
            meta_data=chunk.metadata,
            offset_index_offset=offset_index if offset_length else None,
            offset_index_length=offset_length or None,
            column_index_offset=column_index if column_length else None,
            column_index_length=column_length or None,
        )
        for chunk, offset_index, offset_length, column_index, column_length in zip(chunks, *places, strict=True)
    )


def _row_group(group: _WrittenRowGroup, ordinal: int, columns: Any, options: WriterOptions) -> RowGroup:
    return RowGroup(
        columns=columns,
        total_byte_size=sum(chunk.metadata.total_uncompressed_size for chunk in group.chunks),
        num_rows=group.num_rows,
        sorting_columns=options.sorting_columns,
        file_offset=group.file_offset,
        total_compressed_size=sum(chunk.metadata.total_compressed_size for chunk in group.chunks),
        ordinal=ordinal if ordinal < 1 << 15 else None,
    )


def _field_text(field: pa.Field) -> str:
    return f"{field.type}{'' if field.nullable else ' not null'}"
