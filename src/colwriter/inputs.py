"""What may be written: everything that speaks Arrow, NumPy arrays and Python lists, as ``pyarrow`` tables."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa

from colwriter.errors import ColwriterError, InvalidDataError

__all__ = ["as_column", "as_reader"]


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
