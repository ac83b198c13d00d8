"""The functions that write a whole file in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from colwriter.errors import InvalidDataError, InvalidOptionError
from colwriter.file_writer import ParquetWriter
from colwriter.inputs import as_column, as_reader
from colwriter.keywords import parse_bool
from colwriter.metadata import FileMetaData

__all__ = ["write_column", "write_metadata", "write_table"]


def write_table(
    table: Any, where: Any, row_group_size: int | None = None, *, filesystem: Any = None, **options: Any
) -> FileMetaData:
    """Write a table to a Parquet file, and return its footer.

    ``table``: a pyarrow Table, RecordBatch or RecordBatchReader, a mapping of names to columns, a pandas data frame,
    or any object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (Polars, DuckDB, arro3, nanoarrow ...).
    ``where`` and ``options`` are those of ``ParquetWriter``.

    Raises ``UnsupportedTypeError``, ``InvalidOptionError`` or ``InvalidDataError``; after any error a path has no
    new file, and an old one is untouched.
    """
    source = as_reader(table)
    with ParquetWriter(where, source.schema, filesystem, row_group_size=row_group_size, **options) as writer:
        writer.write(source)
    return writer.metadata


def write_column(
    column: Any,
    where: Any,
    *,
    name: str = "column",
    nullable: bool = True,
    filesystem: Any = None,
    **options: Any,
) -> FileMetaData:
    """Write one column to a Parquet file, and return its footer.

    ``column``: a pyarrow Array or ChunkedArray, an object with ``__arrow_c_array__`` or ``__arrow_c_stream__`` (a
    Polars series), a NumPy array of one dimension, or a list. ``nullable``: whether the column is optional. Otherwise
    as ``write_table``.
    """
    try:
        name.encode()
    except (AttributeError, UnicodeEncodeError):
        raise InvalidOptionError(f"name: expected a string of Unicode characters, found {name!r}") from None
    array = as_column(column, name)
    schema = pa.schema([pa.field(name, array.type, parse_bool("nullable", nullable))])
    try:
        table = pa.Table.from_arrays([array], schema=schema)
    except pa.ArrowInvalid as error:
        raise InvalidDataError(f"{name}: the array is not valid Arrow: {error}") from error
    return write_table(table, where, filesystem=filesystem, **options)


def write_metadata(
    schema: pa.Schema,
    where: Any,
    metadata_collector: Iterable[FileMetaData] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> None:
    """Write a file without rows: the ``_common_metadata`` of a dataset, or its ``_metadata``, with all row groups.

    ``schema``: that of the files, thus without partition columns. ``metadata_collector``: footers of the files, which
    ``write_to_dataset`` collects, or ``write_table`` if ``FileMetaData.with_file_path`` then says where each file is.
    Otherwise as ``write_table``; ``InvalidDataError`` where a file has another schema.
    """
    with ParquetWriter(where, schema, filesystem, **options) as writer:
        for metadata in metadata_collector or ():
            writer.append_row_groups(metadata)
