"""What the metadata of a Parquet file say: its footer, and the page index or Bloom filter of a column chunk.

Only these bytes are read. What contradicts itself is a CorruptFileError.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import prod
from operator import index
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from colwriter.bloom_filter import MAX_HEADER_BYTES, BloomFilter, decode_header
from colwriter.errors import CorruptFileError, InvalidOptionError
from colwriter.metadata import ColumnChunk, ColumnIndex, FileMetaData, Leaf, OffsetIndex, RowGroup, leaf_levels
from colwriter.thrift import decode

__all__ = ["read_bloom_filter", "read_metadata", "read_page_index"]

_MAGIC = b"PAR1"
_ENCRYPTED_MAGIC = b"PARE"
_TAIL_BYTES = 8  # length of the footer, magic
_MAX_PATHS_SHOWN = 10

_T = TypeVar("_T")


def read_metadata(source: Any, *, filesystem: Any = None) -> FileMetaData:
    """The footer of a Parquet file.

    source is a path, a file in memory (bytes, bytearray, memoryview, pyarrow.Buffer), or a seekable binary
    file object, whose position is kept; filesystem is a pyarrow.fs.FileSystem for a path.
    Raises CorruptFileError when it is not a Parquet file, or its footer is encrypted.
    """
    with _open(source, filesystem) as file:
        return _read_footer(file, _size(file))


def read_page_index(
    source: Any,
    row_group: int = 0,
    column: int | str = 0,
    *,
    filesystem: Any = None,
    metadata: FileMetaData | None = None,
) -> tuple[ColumnIndex | None, OffsetIndex | None]:
    """The page index of a column chunk; None for what the file does not hold.

    source and filesystem are those of ``read_metadata``; column is the number of a leaf or its dotted path. With
    ``metadata``, what ``read_metadata`` returns, the footer is not read again: who reads the indexes of many column
    chunks should give it.
    null_counts, nan_counts and unencoded_byte_array_data_bytes are int64 of shape (number of pages,),
    the level histograms int64 of shape (number of pages, maximum level + 1).
    Raises InvalidOptionError when there is no such row group or column, CorruptFileError when the index does
    not agree with itself, the schema, or the number of rows.
    """
    with _open(source, filesystem) as file:
        size = _size(file)
        leaf, group, chunk = _choose(_footer(file, size, metadata), row_group, column)
        path = leaf.path
        column_index = _read_struct(file, size, path, ColumnIndex, chunk.column_index_offset, chunk.column_index_length)
        offset_index = _read_struct(file, size, path, OffsetIndex, chunk.offset_index_offset, chunk.offset_index_length)
    if offset_index is not None:
        _check_offset_index(path, offset_index, group.num_rows)
    if column_index is not None:
        column_index = _shaped(leaf, column_index, offset_index)
    return column_index, offset_index


def read_bloom_filter(
    source: Any,
    row_group: int = 0,
    column: int | str = 0,
    *,
    filesystem: Any = None,
    metadata: FileMetaData | None = None,
) -> BloomFilter | None:
    """The Bloom filter of a column chunk, or None if it has none. Parameters are those of ``read_page_index``.

    Raises InvalidOptionError when there is no such row group or column, CorruptFileError when the filter does not lie
    in the file, or is of a kind that parquet.thrift does not know.
    """
    with _open(source, filesystem) as file:
        size = _size(file)
        leaf, _, chunk = _choose(_footer(file, size, metadata), row_group, column)
        if chunk.meta_data is None or chunk.meta_data.bloom_filter_offset is None:
            return None
        offset = chunk.meta_data.bloom_filter_offset
        try:
            if not 0 <= offset < size:
                raise CorruptFileError(
                    f"expected the Bloom filter inside the file of {size} bytes, found it at {offset}"
                )
            num_bytes, header_bytes = decode_header(_read(file, offset, min(MAX_HEADER_BYTES, size - offset)))
            return BloomFilter(chunk.meta_data.type, _read(file, offset + header_bytes, num_bytes))
        except CorruptFileError as error:
            raise CorruptFileError(f"{leaf.path}: {error}") from None


# The file


@contextmanager
def _open(source: Any, filesystem: Any) -> Iterator[Any]:
    """A seekable binary file; the caller's own stays open, at the position that it had."""
    kind = type(source).__name__
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        try:
            file = open(path, "rb") if filesystem is None else filesystem.open_input_file(path)  # noqa: SIM115
        except ValueError as error:  # null characters, or none that the file system has
            raise InvalidOptionError(f"source: expected a path, found {path!r}: {error}") from None
        with file:
            yield file
    elif filesystem is not None:
        raise InvalidOptionError(f"filesystem: expected together with a path, found it with {kind}")
    elif isinstance(source, bytes | bytearray | memoryview | pa.Buffer):
        yield pa.BufferReader(source)
    elif hasattr(source, "seek") and not isinstance(source, io.TextIOBase):
        position = source.tell()
        try:
            yield source
        finally:
            source.seek(position)
    else:
        raise InvalidOptionError(f"source: expected a path, a buffer or a seekable binary file, found {kind}")


def _size(file: Any) -> int:
    file.seek(0, os.SEEK_END)
    size: int = file.tell()
    return size


def _read(file: Any, offset: int, length: int) -> bytes:
    file.seek(offset)
    pieces = []
    while length > 0 and (piece := file.read(length)):  # an unbuffered file may return less than is asked for
        pieces.append(piece)
        length -= len(piece)
    if length:
        raise CorruptFileError(f"expected {length} bytes more at the end of the file, found its end")
    return b"".join(pieces)


def _footer(file: Any, size: int, known: FileMetaData | None) -> FileMetaData:
    if known is None:
        return _read_footer(file, size)
    if not isinstance(known, FileMetaData):
        raise InvalidOptionError(f"metadata: expected a colwriter.FileMetaData, found {type(known).__name__}")
    return known


def _read_footer(file: Any, size: int) -> FileMetaData:
    # Magic, pages, FileMetaData, its length as a little-endian uint32, magic (README.md, File format).
    minimum = len(_MAGIC) + _TAIL_BYTES
    if size < minimum:
        raise CorruptFileError(f"not a Parquet file: expected at least {minimum} bytes, found {size}")
    tail = _read(file, size - _TAIL_BYTES, _TAIL_BYTES)
    if tail[4:] == _ENCRYPTED_MAGIC:
        raise CorruptFileError("the footer is encrypted (magic PARE); encrypted files cannot be read")
    if tail[4:] != _MAGIC:
        raise CorruptFileError(f"not a Parquet file: expected {_MAGIC!r} at its end, found {tail[4:]!r}")
    length = int.from_bytes(tail[:4], "little")
    if length > size - minimum:
        raise CorruptFileError(f"expected a footer of at most {size - minimum} bytes, found one of {length} bytes")
    return decode(FileMetaData, _read(file, size - _TAIL_BYTES - length, length))[0]


def _read_struct(file: Any, size: int, path: str, cls: type[_T], offset: int | None, length: int | None) -> _T | None:
    if offset is None and length is None:
        return None
    if offset is None or length is None or offset < 0 or length < 0 or offset + length > size:
        raise CorruptFileError(
            f"{path}: expected the {cls.__name__} inside the file of {size} bytes, "
            f"found offset {offset} and length {length}"
        )
    try:
        return decode(cls, _read(file, offset, length))[0]
    except CorruptFileError as error:
        raise CorruptFileError(f"{path}: {error}") from None


# Which column chunk


def _choose(metadata: FileMetaData, row_group: int, column: int | str) -> tuple[Leaf, RowGroup, ColumnChunk]:
    group = metadata.row_groups[_position("row_group", row_group, len(metadata.row_groups))]
    leaves = leaf_levels(metadata.schema)
    if len(group.columns) != len(leaves):
        raise CorruptFileError(
            f"row group {row_group}: expected {len(leaves)} columns, one a leaf of the schema, "
            f"found {len(group.columns)}"
        )
    number = _leaf_number(column, leaves)
    leaf, chunk = leaves[number], group.columns[number]
    _check_readable(leaf.path, chunk)
    return leaf, group, chunk


def _position(option: str, value: int, count: int) -> int:
    try:
        position = index(value)
    except TypeError:
        kinds = "an integer" if option == "row_group" else "an integer, or the path of a leaf"
        raise InvalidOptionError(f"{option}: expected {kinds}, found {value!r}") from None
    if not 0 <= position < count:
        expected = f"0 to {count - 1}" if count else "none, as the file has none"
        raise InvalidOptionError(f"{option}: expected {expected}, found {value}")
    return position


def _leaf_number(column: int | str, leaves: Sequence[Leaf]) -> int:
    if not isinstance(column, str):
        return _position("column", column, len(leaves))
    for number, leaf in enumerate(leaves):
        if leaf.path == column:
            return number
    paths = ", ".join(leaf.path for leaf in leaves[:_MAX_PATHS_SHOWN])
    more = ", ..." if len(leaves) > _MAX_PATHS_SHOWN else ""
    raise InvalidOptionError(f"column: expected the path of a leaf ({paths}{more}), found {column!r}")


def _check_readable(path: str, chunk: ColumnChunk) -> None:
    if chunk.crypto_metadata is not None:
        raise CorruptFileError(f"{path}: the column is encrypted; encrypted columns cannot be read")
    if chunk.file_path is not None:
        raise InvalidOptionError(f"{path}: expected the file that holds its pages, {chunk.file_path!r}")


# The page index against itself, the schema and the row group


def _check_offset_index(path: str, offset_index: OffsetIndex, num_rows: int) -> None:
    locations = offset_index.page_locations
    starts = [*(location.first_row_index for location in locations), num_rows]
    if starts[0] != 0:
        found = starts[0] if locations else f"no page for {num_rows} rows"
        raise CorruptFileError(f"{path}: expected first_row_index 0 for the first page, found {found}")
    for page, (start, end) in enumerate(pairwise(starts)):
        if start >= end:
            what = "the next page's" if page + 1 < len(locations) else "num_rows of the row group,"
            raise CorruptFileError(f"{path}: expected first_row_index of page {page} below {what} {end}, found {start}")
    _reshaped(path, offset_index, "unencoded_byte_array_data_bytes", (len(locations),))


def _shaped(leaf: Leaf, column_index: ColumnIndex, offset_index: OffsetIndex | None) -> ColumnIndex:
    """The index with histograms of shape (number of pages, maximum level + 1)."""
    path, pages = leaf.path, len(column_index.null_pages)
    if offset_index is None:
        raise CorruptFileError(f"{path}: expected an OffsetIndex beside the ColumnIndex, found none")
    lengths = {
        "min_values": len(column_index.min_values),
        "max_values": len(column_index.max_values),
        "page_locations": len(offset_index.page_locations),
    }
    for name, length in lengths.items():
        if length != pages:
            raise CorruptFileError(f"{path}: expected {pages} {name}, as many as null_pages, found {length}")
    shapes: dict[str, tuple[int, ...]] = {
        "null_counts": (pages,),
        "nan_counts": (pages,),
        "repetition_level_histograms": (pages, leaf.max_repetition_level + 1),
        "definition_level_histograms": (pages, leaf.max_definition_level + 1),
    }
    arrays: dict[str, Any] = {name: _reshaped(path, column_index, name, shape) for name, shape in shapes.items()}
    return replace(column_index, **arrays)


def _reshaped(
    path: str, page_index: ColumnIndex | OffsetIndex, name: str, shape: tuple[int, ...]
) -> npt.NDArray[np.int64] | None:
    values: npt.NDArray[np.int64] | None = getattr(page_index, name)
    if values is None:
        return None
    if values.size != prod(shape):
        sides = " levels x ".join(str(side) for side in reversed(shape))
        raise CorruptFileError(f"{path}: expected {name} of {sides} pages, found {values.size} numbers")
    if values.min(initial=0) < 0:
        raise CorruptFileError(f"{path}: expected {name} of 0 or more, found {values.min()}")
    return values.reshape(shape)
