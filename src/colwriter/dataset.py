"""A table as many files, in a folder for each value of its partition columns."""

from __future__ import annotations

import io
import os
import posixpath
import secrets
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from colwriter.api import write_table
from colwriter.buffers import pick
from colwriter.errors import InvalidDataError, InvalidOptionError, UnsupportedTypeError
from colwriter.file_writer import ParquetWriter
from colwriter.inputs import as_reader
from colwriter.metadata import FileMetaData
from colwriter.sinks import as_filesystem
from colwriter.stored import as_stored, stored_schema, without_views

__all__ = ["WrittenFile", "write_to_dataset"]

BEHAVIORS = ("overwrite_or_ignore", "error", "delete_matching")


class WrittenFile(NamedTuple):
    """A file of a dataset: its path, its footer, where ``file_path`` is relative to the root, and its bytes."""

    path: str
    metadata: FileMetaData
    size: int


def write_to_dataset(
    table: Any,
    root_path: str | os.PathLike[str],
    partition_cols: Sequence[str] | None = None,
    filesystem: Any = None,
    *,
    basename_template: str | None = None,
    existing_data_behavior: str = "overwrite_or_ignore",
    file_visitor: Callable[[WrittenFile], object] | None = None,
    metadata_collector: list[Any] | None = None,
    **options: Any,
) -> None:
    """Write a table as a dataset: a file for each combination of values of the partition columns.

    The file of ``year`` 2024 and ``kind`` null is ``year=2024/kind=__HIVE_DEFAULT_PARTITION__/...`` below
    ``root_path``; partition columns are not in the files. Names of files are ``basename_template`` with 0 for ``{i}``,
    by default one that no other call uses. ``existing_data_behavior``: what is there stays unless it has the same name
    ("overwrite_or_ignore"), is an error ("error"), or is deleted where a folder gets a new file ("delete_matching").
    ``file_visitor`` is called with the ``WrittenFile`` of each file, and its footer added to ``metadata_collector``.
    ``table`` and ``options`` are those of ``write_table``; a stream is read to its end first.

    Files appear when all of them are complete. Raises what ``write_table`` raises; then there are no new files or
    folders, and what was there is untouched, unless a file system fails while files are given their names.
    """
    source = as_reader(table)
    columns = _partition_columns(source.schema, partition_cols)
    basename = _basename(basename_template)
    if existing_data_behavior not in BEHAVIORS:
        expected = ", ".join(map(repr, BEHAVIORS))
        raise InvalidOptionError(f"existing_data_behavior: expected {expected}, found {existing_data_behavior!r}")
    if metadata_collector is not None and not hasattr(metadata_collector, "append"):
        raise InvalidOptionError(f"metadata_collector: expected a list, found {metadata_collector!r}")
    files, root = _root(root_path, filesystem)
    kept = [k for k, name in enumerate(source.schema.names) if name not in columns]
    schema = pa.schema([source.schema.field(k) for k in kept], source.schema.metadata)
    ParquetWriter(io.BytesIO(), schema, **options).abort()  # options that are wrong are so before there is a folder
    if existing_data_behavior == "error" and _entries(files, root):
        raise InvalidOptionError(f"existing_data_behavior: 'error' expects no data at {root}, found some")

    data = source if isinstance(source, pa.Table) else source.read_all()
    if columns:
        _validate(data)
    takeable = [_takeable(data.column(k)) for k in kept] if columns else []
    with _staging(files) as stage:
        written = []
        for folder, rows in _partitions(data, columns):
            path = posixpath.join(root, folder, basename)
            part = data
            if rows is not None:
                arrays = [_take(column, rows) for column in takeable]
                part = pa.Table.from_arrays(arrays, schema=schema)
            with files.open_output_stream(stage(path), compression=None) as stream:
                metadata = write_table(part, stream, **options)
                size = stream.tell()
            written.append(WrittenFile(path, metadata.with_file_path(posixpath.join(folder, basename)), size))
        old = []
        if existing_data_behavior == "delete_matching":
            ours = {stage(file.path) for file in written} | {file.path for file in written}
            old = [
                entry
                for file in written
                for entry in _entries(files, posixpath.dirname(file.path))
                if entry.path not in ours
            ]
        for file in written:
            files.move(stage(file.path), file.path)
    for entry in old:
        (files.delete_dir if entry.type is pafs.FileType.Directory else files.delete_file)(entry.path)
    for file in written:
        if metadata_collector is not None:
            metadata_collector.append(file.metadata)
        if file_visitor is not None:
            file_visitor(file)


def _partition_columns(schema: pa.Schema, columns: Any) -> list[str]:
    names: list[str] = [columns] if isinstance(columns, str) else list(columns or ())
    for name in names:
        if schema.names.count(name) != 1:
            raise InvalidOptionError(f"partition_cols: expected columns of the table, {schema.names}, found {name!r}")
        if "/" in name:
            raise InvalidOptionError(f"partition_cols: expected names of folders, without '/', found {name!r}")
    if len(set(names)) < len(names):
        raise InvalidOptionError(f"partition_cols: expected each column once, found {names}")
    return names


def _basename(template: object) -> str:
    if template is None:
        template = f"{uuid.uuid4().hex}-{{i}}.parquet"
    if not isinstance(template, str) or template.count("{i}") != 1 or "/" in template:
        raise InvalidOptionError(f"basename_template: expected a name with '{{i}}' once and no '/', found {template!r}")
    return template.replace("{i}", "0")


def _root(root_path: Any, filesystem: Any) -> tuple[pafs.FileSystem, str]:
    try:
        path = os.fsdecode(root_path)
    except TypeError:
        raise InvalidOptionError(f"root_path: expected a path, found {type(root_path).__name__}") from None
    if filesystem is not None:
        return as_filesystem(filesystem), path
    if "://" not in path:
        return pafs.LocalFileSystem(), os.path.expanduser(path)
    try:
        found: tuple[pafs.FileSystem, str] = pafs.FileSystem.from_uri(path)
    except pa.ArrowInvalid as error:
        raise InvalidOptionError(f"root_path: {path} is not a URI that pyarrow knows: {error}") from error
    return found


def _entries(files: pafs.FileSystem, folder: str) -> list[pafs.FileInfo]:
    """What lies in a folder, if there is one."""
    return list(files.get_file_info(pafs.FileSelector(folder, allow_not_found=True)))


def _partitions(table: pa.Table, columns: list[str]) -> Iterator[tuple[str, pa.Array | None]]:
    """The folder of each partition, relative to the root, and its rows in their order, None for all."""
    if not columns:
        yield "", None
        return
    import pyarrow.dataset as pads  # which imports pandas

    schema = stored_schema(pa.schema([table.schema.field(name) for name in columns]))
    # Numbers for names, so that none can be that of the rows.
    keys = {str(k): without_views(as_stored(table[field.name], field)) for k, field in enumerate(schema)}
    try:
        grouped = pa.table(keys | {"rows": np.arange(table.num_rows)}).group_by(list(keys), use_threads=False)
        groups = grouped.aggregate([("rows", "list")])
        partitioning = pads.partitioning(schema, flavor="hive")
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedTypeError(f"{', '.join(columns)}: cannot be partition columns: {error}") from error
    folders: dict[str, list[pa.Array]] = {}
    for k in range(groups.num_rows):
        is_here = pc.scalar(True)
        for number, name in enumerate(columns):
            value = groups[str(number)][k]
            is_here &= pc.field(name) == value if value.is_valid else pc.field(name).is_null()
        # Two keys may have one name: null, and the text that is its name.
        folders.setdefault(partitioning.format(is_here)[0], []).append(groups["rows_list"][k].values)
    for folder, rows in folders.items():
        yield folder, pa.concat_arrays(rows)


def _validate(data: pa.Table) -> None:
    """Check all arrays: to group and to take is to follow offsets, views and run ends wherever they lead."""
    for name, column in zip(data.column_names, data.columns, strict=True):
        try:
            column.validate(full=True)
        except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
            raise InvalidDataError(f"{name}: the array is not valid Arrow: {error}") from error


def _takeable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, as one chunk where pyarrow cannot take rows of its type (views, run-end encoded)."""
    try:
        column.slice(0, 0).take(pa.array([], pa.int64()))
    except pa.ArrowNotImplementedError:
        return pa.chunked_array([column.combine_chunks()])
    return column


def _take(column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    try:
        return column.take(rows)
    except pa.ArrowNotImplementedError:
        return pa.chunked_array([pick(column.chunk(0), rows.to_numpy())])


@contextmanager
def _staging(files: pafs.FileSystem) -> Iterator[Callable[[str], str]]:
    """A function that gives each path a temporary one beside it, in a folder that is made if there is none.

    After an error, what is at the temporary paths is removed, and so are the folders that were made.
    """
    temporary: dict[str, str] = {}
    made: list[str] = []

    def make(folder: str) -> None:
        if folder and files.get_file_info(folder).type is pafs.FileType.NotFound:
            make(posixpath.dirname(folder))
            files.create_dir(folder, recursive=False)
            made.append(folder)

    def stage(path: str) -> str:
        if path not in temporary:
            folder = posixpath.dirname(path)
            make(folder)
            # Readers of datasets pass over names that begin with a dot.
            temporary[path] = posixpath.join(folder, f".colwriter-{secrets.token_hex(6)}.tmp")
        return temporary[path]

    try:
        yield stage
    except BaseException:
        for path in temporary.values():
            with suppress(OSError):
                files.delete_file(path)
        for folder in reversed(made):
            with suppress(OSError):
                if not _entries(files, folder):
                    files.delete_dir(folder)
        raise
