"""Arrow arrays as NumPy views of their buffers, checked as far as that is cheap, and read-only.

Kernels are compiled for read-only inputs alone, since most Arrow buffers are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.errors import InvalidDataError
from colwriter.leaf_types import LeafType, Storage
from colwriter.metadata import Type
from colwriter.schema import ColumnDescriptor

__all__ = [
    "EMPTY",
    "Bitmap",
    "LeafBuffers",
    "Views",
    "flatten_views",
    "frozen",
    "leaf_buffers",
    "list_buffers",
    "pick",
    "validity_bitmap",
]

Bytes = NDArray[np.uint8]


class Bitmap(NamedTuple):
    """A validity bitmap: slot i is valid where bit ``offset + i`` of ``bits`` is set."""

    bits: Bytes
    offset: int


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Kernels are compiled for read-only inputs alone."""
    array.setflags(write=False)
    return array


EMPTY: Bytes = frozen(np.empty(0, np.uint8))
_NO_OFFSETS = frozen(np.empty(0, np.int32))


def _view(buffer: Any, dtype: Any, start: int, count: int) -> NDArray[Any]:
    """Items ``[start, start + count)`` of a buffer, read-only.

    Raises ``InvalidDataError`` if the buffer is too small.
    """
    itemsize = np.dtype(dtype).itemsize
    size = 0 if buffer is None else buffer.size
    if start < 0 or (start + count) * itemsize > size:
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
    if array.type.id == pa.lib.Type_NA:  # which has no buffers
        return Bitmap(frozen(np.zeros((len(array) + 7) >> 3, np.uint8)), 0)
    start = array.offset >> 3
    count = ((array.offset + len(array) + 7) >> 3) - start
    return Bitmap(_view(array.buffers()[0], np.uint8, start, count), array.offset & 7)


def _offsets(array: pa.Array, dtype: Any) -> NDArray[Any]:
    buffer = array.buffers()[1]
    if len(array) == 0 and (buffer is None or buffer.size == 0):  # an empty array may leave them out
        return frozen(np.zeros(1, dtype))
    return _view(buffer, dtype, array.offset, len(array) + 1)


def pick(array: pa.Array, slots: NDArray[Any]) -> pa.Array:
    """The slots of an array, in that order. pyarrow 26 has no ``take`` of views, nor of what holds them."""
    try:
        return array.take(pa.array(slots))
    except pa.ArrowNotImplementedError:
        # Slots that follow one another are a slice, and slices can be joined.
        cuts = np.flatnonzero(np.diff(slots) != 1) + 1
        bounds = [0, *cuts.tolist(), len(slots)]
        runs = [array.slice(int(slots[a]), b - a) for a, b in pairwise(bounds) if b > a]
        return pa.concat_arrays(runs) if runs else array.slice(0, 0)


def list_buffers(array: pa.Array) -> tuple[NDArray[Any], pa.Array]:
    """Offsets, one more than lists, and the elements that they refer to."""
    arrow_type = array.type
    if pa.types.is_fixed_size_list(arrow_type):
        size, end = arrow_type.list_size, array.offset + len(array)
        offsets = np.arange(array.offset, end + 1, dtype=np.int32 if end * size < 1 << 31 else np.int64)
        offsets *= size
        return frozen(offsets), array.values
    return _offsets(array, np.int64 if pa.types.is_large_list(arrow_type) else np.int32), array.values


class Views(NamedTuple):
    """Views of byte arrays, 16 bytes each, and the buffers that they point into.

    ``addresses`` and ``sizes`` int64[buffers + 1] are those of ``slots`` and then of the buffers, which ``owner`` keeps
    alive.
    """

    slots: Bytes
    addresses: NDArray[np.int64]
    sizes: NDArray[np.int64]
    owner: list[Any]

    @classmethod
    def make(cls, slots: Bytes, buffers: list[Any]) -> Views:
        """Views into buffers of pyarrow, of which some may be None."""
        found = [(0, 0) if buffer is None else (buffer.address, buffer.size) for buffer in buffers]
        addresses, sizes = np.array([(slots.ctypes.data, len(slots)), *found], np.int64).T.copy()
        return cls(slots, addresses, sizes, buffers)


class LeafBuffers(NamedTuple):
    """What a leaf holds, in the form in which it is stored; what its ``Storage`` does not have is empty.

    ``values``: numbers, int16, int32 or int64; floating-point numbers as their bits. ``offsets`` and ``data``: byte
    arrays; fixed bytes and bits have ``data`` alone, in which the bit of slot 0 is at ``bit_offset``. ``views``: byte
    arrays that are views, and have neither yet. Of a dictionary-encoded array, ``values`` are its codes, int32.
    """

    values: NDArray[Any]
    offsets: NDArray[Any]
    data: Bytes
    bit_offset: int
    views: Views | None = None


def _codes(array: Any, arena: Arena) -> NDArray[np.int32]:
    """The codes of a dictionary-encoded array, as int32."""
    codes = array.indices
    dtype = np.dtype(codes.type.to_pandas_dtype())
    values = _view(codes.buffers()[1], dtype, codes.offset, len(codes))
    if dtype == np.int32:
        return values
    out = arena.take(len(codes), np.int32)
    out[:] = values
    return frozen(out)


_DTYPES: dict[Type, Any] = {
    Type.INT32: np.int32,
    Type.INT64: np.int64,
    Type.FLOAT: np.int32,
    Type.DOUBLE: np.int64,
    Type.FIXED_LEN_BYTE_ARRAY: np.int16,
}


def leaf_buffers(array: Any, descriptor: ColumnDescriptor, valid: Bitmap, arena: Arena) -> LeafBuffers:
    """The values of a leaf as they are stored; those that have another form in Arrow are converted into ``arena``.

    ``valid``: which slots hold a value. Raises ``InvalidDataError`` for a value that has no such form.
    """
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    leaf = descriptor.leaf
    if array.type.id == pa.lib.Type_DICTIONARY:
        return LeafBuffers(_codes(array, arena), _NO_OFFSETS, EMPTY, 0)
    if array.type.id in (pa.lib.Type_STRING_VIEW, pa.lib.Type_BINARY_VIEW):
        _, views, *data = array.buffers()
        slots = _view(views, np.uint8, 16 * array.offset, 16 * len(array))
        return LeafBuffers(EMPTY, _NO_OFFSETS, EMPTY, 0, Views.make(slots, data))
    if leaf.storage is Storage.BYTE_ARRAYS:
        large = array.type.id in (pa.lib.Type_LARGE_STRING, pa.lib.Type_LARGE_BINARY)
        data = array.buffers()[2]
        size = 0 if data is None else data.size
        return LeafBuffers(EMPTY, _offsets(array, np.int64 if large else np.int32), _view(data, np.uint8, 0, size), 0)
    if leaf.conversion.make == "as is":
        if leaf.storage is Storage.BITS:
            start = array.offset >> 3
            count = ((array.offset + len(array) + 7) >> 3) - start
            bits = _view(array.buffers()[1], np.uint8, start, count)
            return LeafBuffers(EMPTY, _NO_OFFSETS, bits, array.offset & 7)
        if leaf.storage is Storage.FIXED_BYTES:
            width = array.type.byte_width
            data = _view(array.buffers()[1], np.uint8, array.offset * width, len(array) * width)
            return LeafBuffers(EMPTY, _NO_OFFSETS, data, 0)
        values = _view(array.buffers()[1], _DTYPES[leaf.physical_type], array.offset, len(array))
        return LeafBuffers(values, _NO_OFFSETS, EMPTY, 0)
    converted, bad = _CONVERSIONS[leaf.conversion.make](array, leaf, valid, arena)
    if bad >= 0:
        raise InvalidDataError(
            f"{descriptor.dotted_path}: expected values of {array.type} that {leaf.description} can hold, "
            f"found {_text(array[bad])}"
        )
    converted = frozen(converted)
    if leaf.storage is Storage.NUMBERS:
        return LeafBuffers(converted, _NO_OFFSETS, EMPTY, 0)
    return LeafBuffers(EMPTY, _NO_OFFSETS, converted, 0)


def flatten_views(views: Views, valid: Bitmap, arena: Arena) -> tuple[NDArray[np.int64], Bytes] | None:
    """Views as byte arrays: offsets and data, without what null slots hold; None if one points outside its buffer."""
    offsets = arena.take(len(views.slots) // 16 + 1, np.int64)
    total = kernels.views.measure_views(views.slots, *valid, views.addresses, views.sizes, offsets)
    if total < 0:
        return None
    out = arena.take(total + kernels.views.PADDING)
    kernels.views.copy_views(views.slots, views.addresses, views.sizes, offsets, out)
    return frozen(offsets), frozen(out)[:total]


def _text(scalar: Any) -> str:
    try:
        return str(scalar)
    except (OverflowError, ValueError):  # out of the range of Python's datetime
        return repr(scalar.value)


_Converted = tuple[NDArray[Any], int]


def _nulls(array: Any, leaf: LeafType, valid: Bitmap, arena: Arena) -> _Converted:
    return np.zeros(0, _DTYPES[leaf.physical_type]), -1


def _widen(array: Any, leaf: LeafType, valid: Bitmap, arena: Arena) -> _Converted:
    out = arena.take(len(array), _DTYPES[leaf.physical_type])
    out[:] = _view(array.buffers()[1], leaf.conversion.source, array.offset, len(array))
    return out, -1


def _scale(array: Any, leaf: LeafType, valid: Bitmap, arena: Arena) -> _Converted:
    conversion = leaf.conversion
    out = arena.take(len(array), _DTYPES[leaf.physical_type])
    values = _view(array.buffers()[1], conversion.source, array.offset, len(array))
    if conversion.factor > 0:
        largest = int(np.iinfo(out.dtype).max)
        return out, kernels.conversion.multiply(values, *valid, conversion.factor, largest, out)
    return out, kernels.conversion.divide(values, *valid, -conversion.factor, not conversion.allow_truncated, out)


def _decimal(array: Any, leaf: LeafType, valid: Bitmap, arena: Arena) -> _Converted:
    width = leaf.conversion.source
    data = _view(array.buffers()[1], np.uint8, array.offset * width, len(array) * width)
    if width == 4:
        narrow = data.view(np.int32)
        data, width = arena.take(len(array), np.int64), 8
        data[:] = narrow
        data = frozen(data.view(np.uint8))
    length = leaf.type_length or np.dtype(_DTYPES[leaf.physical_type]).itemsize
    out = arena.take(len(array) * length + kernels.conversion.DECIMAL_PADDING)
    bad = kernels.conversion.decimals(data, width, length, *valid, out)
    if leaf.storage is Storage.FIXED_BYTES:
        return out[: len(array) * length], bad
    numbers = arena.take(len(array), _DTYPES[leaf.physical_type])
    numbers[:] = data.view(f"<i{length}")[:: width // length]
    return numbers, bad


def _int96(array: Any, leaf: LeafType, valid: Bitmap, arena: Arena) -> _Converted:
    values = _view(array.buffers()[1], np.int64, array.offset, len(array))
    out = arena.take(12 * len(array))
    return out, kernels.conversion.int96(values, *valid, leaf.conversion.factor, out)


def _interval(array: Any, leaf: LeafType, valid: Bitmap, arena: Arena) -> _Converted:
    data = _view(array.buffers()[1], np.uint8, 16 * array.offset, 16 * len(array))
    out = arena.take(12 * len(array))
    return out, kernels.conversion.intervals(data, *valid, out)


_CONVERSIONS = {
    "nulls": _nulls,
    "widen": _widen,
    "scale": _scale,
    "decimal": _decimal,
    "int96": _int96,
    "interval": _interval,
}
