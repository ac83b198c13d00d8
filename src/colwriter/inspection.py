"""What the metadata of a file say, as one document that JSON can hold, with the specification's names.

Levels have names beside their numbers (``colwriter.level_names``), and bounds are values where the type tells how to
read them (``colwriter.bounds``). What the file does not hold is None.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from colwriter.bounds import as_base64, decode_bound, finite
from colwriter.errors import CorruptFileError, InvalidOptionError
from colwriter.level_names import level_names
from colwriter.metadata import (
    ColumnChunk,
    ColumnIndex,
    ConvertedType,
    FileMetaData,
    Leaf,
    RowGroup,
    SchemaElement,
    SizeStatistics,
    Type,
    leaf_levels,
)
from colwriter.reader import read_metadata, read_page_index
from colwriter.sizes import decoded_size
from colwriter.thrift_types import ThriftUnion

__all__ = ["inspect"]

_BOUNDS = ("min", "max", "min_value", "max_value", "min_values", "max_values")
_PATHS_SHOWN = 10


def inspect(
    source: str | os.PathLike[str] | bytes,
    *,
    column: str | None = None,
    row_group: int | None = None,
    pages: bool = False,
) -> Any:
    """The footer of a file, at a path or in memory, as a dict, and with ``pages`` the page indexes.

    ``column``: only the leaf of that dotted path, or the leaves below it; ``row_group``: only that one. The dict is
    the ``FileMetaData``, where a row group has its number as "row_group" and the bytes that it needs in memory as
    "decoded_size", and with ``pages`` a column chunk its "column_index" and "offset_index". "columns" has for each leaf
    its number, the largest levels, and the name of each level, which is that of the bucket in a histogram.

    Raises ``CorruptFileError``, or ``InvalidOptionError`` for a column or a row group that the file does not have.
    """
    metadata = read_metadata(source)
    leaves = leaf_levels(metadata.schema)
    chosen = _choose(leaves, column)
    if row_group is not None and not 0 <= row_group < len(metadata.row_groups):
        raise InvalidOptionError(
            f"row_group: the file has {len(metadata.row_groups)}, counted from 0, found {row_group}"
        )
    document = _plain(replace(metadata, row_groups=()))
    names = level_names(metadata.schema)
    document["columns"] = [
        {
            "column_idx": number,
            "path": leaves[number].path,
            "type": _type_name(leaves[number].element),
            "max_repetition_level": leaves[number].max_repetition_level,
            "max_definition_level": leaves[number].max_definition_level,
            "repetition_levels": list(names[number].repetition),
            "definition_levels": list(names[number].definition),
        }
        for number in chosen
    ]
    groups = range(len(metadata.row_groups)) if row_group is None else [row_group]
    document["row_groups"] = [_row_group(source, metadata, number, leaves, chosen, pages) for number in groups]
    schema = _arrow_schema(source)
    for number, group in zip(groups, document["row_groups"], strict=True):
        group["decoded_size"] = None if schema is None else decoded_size(metadata, schema, [number])
    return document


def _arrow_schema(source: Any) -> pa.Schema | None:
    """The types that pyarrow reads the columns as; None where it cannot read them."""
    try:
        return pq.read_schema(pa.BufferReader(source) if isinstance(source, bytes) else source)
    except (pa.ArrowException, OSError):
        return None


def _choose(leaves: Sequence[Leaf], column: str | None) -> list[int]:
    chosen = [
        number
        for number, leaf in enumerate(leaves)
        if column is None or leaf.path == column or leaf.path.startswith(f"{column}.")
    ]
    if not chosen and column is not None:
        paths = ", ".join(leaf.path for leaf in leaves[:_PATHS_SHOWN])
        more = ", ..." if len(leaves) > _PATHS_SHOWN else ""
        raise InvalidOptionError(f"column: expected a path of the schema ({paths}{more}), found {column!r}")
    return chosen


def _type_name(element: SchemaElement) -> str:
    """Physical type, and what it stands for: "BYTE_ARRAY (STRING)"."""
    physical = element.type.name if isinstance(element.type, Type) else f"type {element.type}"
    if element.type is Type.FIXED_LEN_BYTE_ARRAY:
        physical += f"[{element.type_length}]"
    meanings = [name for name, _ in _set_members(element.logicalType)]
    if not meanings and isinstance(element.converted_type, ConvertedType):
        meanings = [element.converted_type.name]
    return f"{physical} ({meanings[0]})" if meanings else physical


def _row_group(
    source: Any, metadata: FileMetaData, number: int, leaves: Sequence[Leaf], chosen: list[int], pages: bool
) -> dict[str, Any]:
    group: RowGroup = metadata.row_groups[number]
    if len(group.columns) != len(leaves):
        raise CorruptFileError(
            f"row group {number}: expected {len(leaves)} columns, one a leaf of the schema, found {len(group.columns)}"
        )
    chunks = []
    for leaf_number in chosen:
        leaf = leaves[leaf_number]
        chunk = _chunk(group.columns[leaf_number], leaf)
        if pages:
            column_index, offset_index = read_page_index(source, number, leaf_number, metadata=metadata)
            chunk["column_index"] = None if column_index is None else _column_index(column_index, leaf.element)
            chunk["offset_index"] = _plain(offset_index)
        chunks.append(chunk)
    return {"row_group": number, **_plain(replace(group, columns=())), "columns": chunks}


def _chunk(chunk: ColumnChunk, leaf: Leaf) -> dict[str, Any]:
    document: dict[str, Any] = _plain(chunk)
    if chunk.meta_data is None:
        return document
    if chunk.meta_data.size_statistics is not None:
        _check(chunk.meta_data.size_statistics, leaf)
    statistics = chunk.meta_data.statistics
    if statistics is not None:
        for name in _BOUNDS[:4]:
            value = getattr(statistics, name)
            if value is not None:
                document["meta_data"]["statistics"][name] = decode_bound(value, leaf.element)
    return document


def _check(statistics: SizeStatistics, leaf: Leaf) -> None:
    for name, largest in (
        ("repetition_level_histogram", leaf.max_repetition_level),
        ("definition_level_histogram", leaf.max_definition_level),
    ):
        histogram = getattr(statistics, name)
        if histogram is not None and len(histogram) != largest + 1:
            raise CorruptFileError(f"{leaf.path}: expected {name} of {largest + 1} levels, found {len(histogram)}")


def _column_index(column_index: ColumnIndex, element: SchemaElement) -> dict[str, Any]:
    document: dict[str, Any] = _plain(column_index)
    for name in _BOUNDS[4:]:
        values = zip(getattr(column_index, name), column_index.null_pages, strict=True)
        document[name] = [None if is_null else decode_bound(value, element) for value, is_null in values]
    return document


def _plain(value: Any) -> Any:
    """A Thrift value as JSON can hold it: a struct is a dict, an enum its name, bytes base64."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, ThriftUnion):
        return dict(_set_members(value))
    if is_dataclass(value):
        return dict(_members(value))
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float):
        return finite(value)
    return as_base64(value) if isinstance(value, bytes) else value


def _members(value: Any) -> list[tuple[str, Any]]:
    return [(field.name, _plain(getattr(value, field.name))) for field in fields(value)]


def _set_members(union: ThriftUnion | None) -> list[tuple[str, Any]]:
    return [(name, item) for name, item in _members(union) if item is not None] if union is not None else []
