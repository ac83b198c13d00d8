"""Arrow layouts that hold the values of another type: dictionaries, run-end encoded, list view and extension arrays.

They are brought into the plain layout of their values before they are shredded; codes of dictionaries may stay.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from colwriter.buffers import list_buffers, pick
from colwriter.codes import with_one_dictionary
from colwriter.errors import InvalidDataError, UnsupportedTypeError
from colwriter.schema import is_list

__all__ = ["as_stored", "readable_schema", "stored_schema", "without_views"]

_DICTIONARY, _RUN_END_ENCODED = pa.lib.Type_DICTIONARY, pa.lib.Type_RUN_END_ENCODED
# The types that hold what views hold.
_LARGE = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_UNREADABLE = ("run_end_encoded", "dictionary<values=extension")
_LIST_VIEW, _LARGE_LIST_VIEW = pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in the types that are shredded."""
    old_types = schema.types
    types = [_stored(arrow_type) for arrow_type in old_types]
    if all(map(operator.is_, types, old_types)):
        return schema
    fields = [field.with_type(arrow_type) for field, arrow_type in zip(schema, types, strict=True)]
    return pa.schema(fields, schema.metadata)


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that readers find in the file: without what they do not restore, but end at.

    That is run-end encoding, in Polars, and dictionaries of extension types, in pyarrow.
    """
    unreadable = [any(text in str(arrow_type) for text in _UNREADABLE) for arrow_type in schema.types]
    if not any(unreadable):
        return schema
    stored = stored_schema(schema)
    fields = [b if bad else a for a, b, bad in zip(schema, stored, unreadable, strict=True)]
    return pa.schema(fields, schema.metadata)


def _stored(arrow_type: Any) -> pa.DataType:
    """The type whose layout the values are brought into; the type itself if it needs no change."""
    if arrow_type.id in (_DICTIONARY, _RUN_END_ENCODED):
        return _LARGE.get(arrow_type.value_type) or _stored(arrow_type.value_type)
    if isinstance(arrow_type, pa.BaseExtensionType):
        # One that is a plain leaf keeps its name, for which the format may have an annotation.
        own = arrow_type.storage_type  # another object each time
        storage = _stored(own)
        return arrow_type if storage is own and not pa.types.is_nested(storage) else storage
    if not pa.types.is_nested(arrow_type):
        return arrow_type
    if arrow_type.id in (_LIST_VIEW, _LARGE_LIST_VIEW):
        return _list_of(arrow_type.id == _LARGE_LIST_VIEW, _stored_field(arrow_type.value_field))
    old_fields = [arrow_type.field(i) for i in range(arrow_type.num_fields)]
    fields = [_stored_field(field) for field in old_fields]
    if all(map(operator.is_, fields, old_fields)):
        return arrow_type
    if is_list(arrow_type):
        if pa.types.is_fixed_size_list(arrow_type):
            return pa.list_(fields[0], arrow_type.list_size)
        return _list_of(pa.types.is_large_list(arrow_type), fields[0])
    if pa.types.is_map(arrow_type):
        key, item = _stored_field(arrow_type.key_field), _stored_field(arrow_type.item_field)
        return pa.map_(key, item, arrow_type.keys_sorted)
    return pa.struct(fields) if pa.types.is_struct(arrow_type) else arrow_type


def _list_of(large: bool, element: pa.Field) -> pa.DataType:
    return pa.large_list(element) if large else pa.list_(element)


def _stored_field(field: pa.Field) -> pa.Field:
    arrow_type = field.type
    stored = _stored(arrow_type)
    return field if stored is arrow_type else field.with_type(stored)


def as_stored(column: pa.ChunkedArray, target: pa.Field, keep: Iterable[bool] = (), limit: int = 0) -> pa.ChunkedArray:
    """The column in the type that ``stored_schema`` gave its field.

    Leaves for which ``keep`` says so, in the order of the schema, stay dictionary-encoded if one dictionary of at most
    ``limit`` bytes can be that of the column chunk; all arrays have the same then.

    Raises ``InvalidDataError`` where the arrays are not valid Arrow.
    """
    if column.type.equals(target.type):
        return column
    try:
        column.validate()
        arrays = _Conversion(deque(keep), limit).convert(column.chunks, target.type)
        return pa.chunked_array(arrays, None if arrays else target.type)
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise InvalidDataError(f"{target.name}: the array is not valid Arrow: {error}") from error
    except pa.ArrowException as error:
        raise UnsupportedTypeError(f"{target.name}: cannot write Arrow type {column.type}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Conversion:
    """Walks the arrays of a column side by side, depth first. ``keep``: of the leaves to come, see ``as_stored``."""

    keep: deque[bool]
    limit: int

    def convert(self, arrays: list[Any], target: Any) -> list[Any]:
        if not arrays:
            return arrays
        arrow_type = arrays[0].type
        if arrow_type.equals(target):
            self.pass_leaves(target)
            return arrays
        if isinstance(arrow_type, pa.BaseExtensionType):
            return self.convert([array.storage for array in arrays], target)
        if arrow_type.id == _DICTIONARY:
            codes = with_one_dictionary(arrays, self.limit) if self.pass_leaves(target) else None
            return codes or self.without_leaves().convert([_decode(array) for array in arrays], target)
        if arrow_type.id == _RUN_END_ENCODED:
            return self.convert([_run_end_decode(array) for array in arrays], target)
        if arrow_type.id in (_LIST_VIEW, _LARGE_LIST_VIEW):
            return self.lists([_list_of_view(array) for array in arrays], target)
        if not pa.types.is_nested(arrow_type):
            self.pass_leaves(target)
            return [_checked(array).cast(target) for array in arrays]
        return self.structs(arrays, target) if pa.types.is_struct(arrow_type) else self.lists(arrays, target)

    def structs(self, arrays: list[Any], target: Any) -> list[Any]:
        children = [
            self.convert([array.field(i) for array in arrays], target.field(i).type) for i in range(target.num_fields)
        ]
        fields = [target.field(i).with_type(child[0].type) for i, child in enumerate(children)]
        return [
            pa.StructArray.from_arrays(of_array, fields=fields, mask=array.is_null() if array.null_count else None)
            for array, *of_array in zip(arrays, *children, strict=True)
        ]

    def lists(self, arrays: list[Any], target: Any) -> list[Any]:
        starts, buffers, used = zip(*map(_used_elements, arrays), strict=True)
        elements = self.convert(list(used), target.field(0).type)
        with_elements = _with_elements(target, elements[0].type)
        return [
            pa.Array.from_buffers(with_elements, len(array), of_array, offset=start, children=[child])
            for array, start, of_array, child in zip(arrays, starts, buffers, elements, strict=True)
        ]

    def pass_leaves(self, target: Any) -> bool:
        """Go past the leaves of a type; whether it is one, and may keep its codes."""
        passed = [self.keep.popleft() for _ in range(min(_num_leaves(target), len(self.keep)))]
        return passed == [True]

    def without_leaves(self) -> _Conversion:
        """For what has been passed."""
        return _Conversion(deque(), self.limit)


def _num_leaves(arrow_type: Any) -> int:
    if not pa.types.is_nested(arrow_type):
        return 1
    return sum(_num_leaves(arrow_type.field(i).type) for i in range(arrow_type.num_fields))


def _checked(array: Any) -> Any:
    """The array, which pyarrow can follow: it would go wherever a view or an index leads."""
    array.validate(full=True)
    return array


def _decode(array: Any) -> pa.Array:
    values = _checked(array).dictionary
    large = _LARGE.get(values.type)
    if large is not None:  # pyarrow cannot take views
        array = pa.DictionaryArray.from_arrays(array.indices, values.cast(large), safe=False)
    return array.dictionary_decode()


def _run_end_decode(array: Any) -> pa.Array:
    large = _LARGE.get(_checked(array).type.value_type)
    if large is not None:
        runs = pa.RunEndEncodedArray.from_arrays(array.run_ends, array.values.cast(large))
        array = runs.slice(array.offset, len(array))
    return pc.run_end_decode(array)


def _used_elements(array: Any) -> tuple[int, list[Any], pa.Array]:
    """Lists without the elements before and behind those that they span: (offset, buffers, elements)."""
    bits = array.buffers()[0]
    skipped = array.offset >> 3
    start = array.offset - 8 * skipped
    bits = bits and bits.slice(skipped)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return start, [bits], array.values.slice(8 * skipped * size, (start + len(array)) * size)
    offsets, values = list_buffers(array)
    first, end = int(offsets[0]), int(offsets[len(array)])
    if first != end and not 0 <= first < end <= len(values):
        raise pa.ArrowInvalid(f"lists from {first} to {end} of {len(values)} elements")
    of_slice = np.zeros(start + len(offsets), offsets.dtype)
    np.subtract(offsets, first, out=of_slice[start:])
    return start, [bits, pa.py_buffer(of_slice)], values.slice(min(first, len(values)), end - first)


def _with_elements(target: Any, elements: Any) -> pa.DataType:
    """The type of lists ``target`` with elements of another type."""
    if elements.equals(target.field(0).type):
        return target
    if pa.types.is_map(target):
        return pa.map_(elements.field(0), elements.field(1), target.keys_sorted)
    field = target.value_field.with_type(elements)
    if pa.types.is_fixed_size_list(target):
        return pa.list_(field, target.list_size)
    return _list_of(pa.types.is_large_list(target), field)


def _list_of_view(array: Any) -> pa.Array:
    """A list view as a list. (A cast of pyarrow 26 leaves the last offset out.)

    Elements are taken in the order of the lists, and those of null lists left out.
    """
    large = _checked(array).type.id == _LARGE_LIST_VIEW
    dtype: Any = np.int64 if large else np.int32
    sizes, offsets = array.sizes.to_numpy().astype(np.int64), array.offsets.to_numpy().astype(np.int64)
    if array.null_count:
        sizes[array.is_null().to_numpy(zero_copy_only=False)] = 0
    ends = np.concatenate(([0], np.cumsum(sizes)))
    if ends[-1] > np.iinfo(dtype).max:
        raise pa.ArrowInvalid(f"lists of {ends[-1]} elements need a large_list")
    elements = np.arange(ends[-1]) + np.repeat(offsets - ends[:-1], sizes)
    mask = array.is_null() if array.null_count else None
    kind = pa.LargeListArray if large else pa.ListArray
    plain_type = _list_of(large, array.type.value_field)
    return kind.from_arrays(ends.astype(dtype), pick(array.values, elements), type=plain_type, mask=mask)


def without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """String and binary views as large strings and binaries: pyarrow cannot group by views, and counts them wrong."""
    large = _LARGE.get(column.type)
    return column if large is None else column.cast(large)
