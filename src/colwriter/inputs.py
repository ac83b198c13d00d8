"""What may be written: everything that speaks Arrow, NumPy arrays and Python lists, as ``pyarrow`` tables."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa

from colwriter.errors import ColwriterError, InvalidDataError, UnsupportedTypeError
from colwriter.schema import is_list

__all__ = ["as_column", "as_reader", "without_views"]


def as_column(column: Any, name: str) -> pa.ChunkedArray:
    """One column: an Arrow array or chunked array, anything that exports one, a NumPy array or a list."""
    try:
        if isinstance(column, pa.ChunkedArray):
            return column
        if isinstance(column, pa.Array):
            return pa.chunked_array([column])
        if isinstance(column, np.ndarray) and column.ndim != 1:
            raise InvalidDataError(f"{name}: expected a one-dimensional array, found shape {column.shape}")
        if isinstance(column, str | bytes | bytearray | Mapping | Set):
            raise TypeError("its items have no order, or are not values of a column")
        if hasattr(column, "__arrow_c_stream__"):
            return pa.chunked_array(column)
        array = pa.array(column)
        return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    except ColwriterError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InvalidDataError(
            f"{name}: expected an Arrow array, a NumPy array or a list, found {type(column).__name__}: {error}"
        ) from error


def as_reader(table: Any) -> pa.Table | pa.RecordBatchReader:
    """A table, or a reader of record batches, of anything tabular."""
    if isinstance(table, pa.Table | pa.RecordBatchReader):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    try:
        if type(table).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(table)  # keeps the index, and what pandas notes of its types
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table)
        if isinstance(table, Mapping) or hasattr(table, "__arrow_c_array__"):
            return pa.table(table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InvalidDataError(f"table: {type(table).__name__} cannot be read as a table: {error}") from error
    raise InvalidDataError(
        "table: expected a Table, RecordBatch, RecordBatchReader, a mapping of columns, or an object with "
        f"__arrow_c_stream__ or __arrow_c_array__, found {type(table).__name__}"
    )


def without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with string views and binary views as large strings and binaries, which hold the same values."""
    old_types = schema.types
    types = [_without_views(arrow_type) for arrow_type in old_types]
    if all(map(operator.is_, types, old_types)):
        return schema
    fields = [field.with_type(arrow_type) for field, arrow_type in zip(schema, types, strict=True)]
    return pa.schema(fields, schema.metadata)


def _without_views(arrow_type: pa.DataType) -> pa.DataType:
    if arrow_type.id == pa.lib.Type_STRING_VIEW:
        return pa.large_string()
    if arrow_type.id == pa.lib.Type_BINARY_VIEW:
        return pa.large_binary()
    if not pa.types.is_nested(arrow_type):
        return arrow_type
    if is_list(arrow_type):
        element = arrow_type.value_field.with_type(_without_views(arrow_type.value_type))
        if pa.types.is_fixed_size_list(arrow_type):
            return pa.list_(element, arrow_type.list_size)
        return pa.large_list(element) if pa.types.is_large_list(arrow_type) else pa.list_(element)
    if pa.types.is_struct(arrow_type):
        return pa.struct(
            [f.with_type(_without_views(f.type)) for f in map(arrow_type.field, range(arrow_type.num_fields))]
        )
    if pa.types.is_map(arrow_type):
        key, item = arrow_type.key_field, arrow_type.item_field
        return pa.map_(
            key.with_type(_without_views(key.type)),
            item.with_type(_without_views(item.type)),
            arrow_type.keys_sorted,
        )
    return arrow_type


def cast_views(column: pa.ChunkedArray, target: pa.Field) -> pa.ChunkedArray:
    """The column in the type that ``without_views`` gave its field."""
    if column.type == target.type:
        return column
    try:
        column.validate(full=True)  # pyarrow would follow a view wherever it leads
        return column.cast(target.type)
    except pa.ArrowInvalid as error:
        raise InvalidDataError(f"{target.name}: the array is not valid Arrow: {error}") from error
    except pa.ArrowException as error:
        raise UnsupportedTypeError(f"{target.name}: cannot write Arrow type {column.type}: {error}") from error
