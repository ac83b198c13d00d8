"""Arrow arrays as NumPy views of their buffers, checked as far as that is cheap, and read-only.

Kernels are compiled for read-only inputs alone, since most Arrow buffers are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from colwriter.errors import InvalidDataError
from colwriter.metadata import Type
from colwriter.schema import ColumnDescriptor

__all__ = ["EMPTY", "Bitmap", "frozen", "leaf_buffers", "list_buffers", "validity_bitmap"]

Bytes = NDArray[np.uint8]


class Bitmap(NamedTuple):
    """A validity bitmap: slot i is valid where bit ``offset + i`` of ``bits`` is set."""

    bits: Bytes
    offset: int


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Kernels are compiled for read-only inputs alone."""
    array.flags.writeable = False
    return array


EMPTY: Bytes = frozen(np.empty(0, np.uint8))
_NO_OFFSETS = frozen(np.empty(0, np.int32))


def _view(buffer: Any, dtype: Any, start: int, count: int) -> NDArray[Any]:
    """Items ``[start, start + count)`` of a buffer, read-only.

    Raises ``InvalidDataError`` if the buffer is too small.
    """
    itemsize = np.dtype(dtype).itemsize
    size = 0 if buffer is None else buffer.size
    if (start + count) * itemsize > size:
        raise InvalidDataError(f"a buffer of {(start + count) * itemsize} bytes was expected, found {size} bytes")
    if count == 0:
        array = np.empty(0, dtype)
    else:
        array = np.frombuffer(buffer, dtype, count, start * itemsize)
        if not array.flags.aligned:
            array = array.copy()
    return frozen(array)


def validity_bitmap(array: pa.Array) -> Bitmap | None:
    """The validity bitmap of an array, or None if it has no nulls."""
    if array.null_count == 0:
        return None
    start = array.offset >> 3
    count = ((array.offset + len(array) + 7) >> 3) - start
    return Bitmap(_view(array.buffers()[0], np.uint8, start, count), array.offset & 7)


def _offsets(array: pa.Array, dtype: Any) -> NDArray[Any]:
    buffer = array.buffers()[1]
    if len(array) == 0 and (buffer is None or buffer.size == 0):  # an empty array may leave them out
        return frozen(np.zeros(1, dtype))
    return _view(buffer, dtype, array.offset, len(array) + 1)


def list_buffers(array: pa.Array) -> tuple[NDArray[Any], pa.Array]:
    """Offsets, one more than lists, and the elements that they refer to."""
    arrow_type = array.type
    if pa.types.is_fixed_size_list(arrow_type):
        size = arrow_type.list_size
        offsets = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * size
        if len(array.values) < 1 << 31:
            offsets = offsets.astype(np.int32)
        return frozen(offsets), array.values
    return _offsets(array, np.int64 if pa.types.is_large_list(arrow_type) else np.int32), array.values


def leaf_buffers(array: pa.Array, descriptor: ColumnDescriptor) -> tuple[NDArray[Any], NDArray[Any], Bytes]:
    """Values, offsets and data of a leaf; those that its type does not have are empty."""
    if descriptor.physical_type is Type.BYTE_ARRAY:
        large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
        data = array.buffers()[2]
        return (
            EMPTY,
            _offsets(array, np.int64 if large else np.int32),
            _view(data, np.uint8, 0, 0 if data is None else data.size),
        )
    dtype = np.int32 if descriptor.physical_type is Type.INT32 else np.int64
    return _view(array.buffers()[1], dtype, array.offset, len(array)), _NO_OFFSETS, EMPTY
