"""Arrow layouts that hold the values of another type: dictionaries, run-end encoded, list view and extension arrays.

They are brought into the plain layout of their values before they are shredded.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from colwriter.buffers import pick
from colwriter.errors import InvalidDataError, UnsupportedTypeError
from colwriter.leaf_types import LeafType, Order, Storage
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


def as_stored(
    column: pa.ChunkedArray, target: pa.Field, codes_of: LeafType | None = None, limit: int = 0
) -> pa.ChunkedArray:
    """The column in the type that ``stored_schema`` gave its field.

    A dictionary-encoded column of the leaf type ``codes_of`` stays as it is if its dictionary takes at most ``limit``
    bytes and can be that of the column chunk.

    Raises ``InvalidDataError`` where the arrays are not valid Arrow.
    """
    if column.type.equals(target.type):
        return column
    try:
        if codes_of is not None and _has_codes(column, codes_of, limit):
            return _with_one_dictionary(column)
        column.validate(full=True)  # pyarrow would follow a view, or an index, wherever it leads
        return pa.chunked_array([_convert(chunk, target.type) for chunk in column.chunks], target.type)
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise InvalidDataError(f"{target.name}: the array is not valid Arrow: {error}") from error
    except pa.ArrowException as error:
        raise UnsupportedTypeError(f"{target.name}: cannot write Arrow type {column.type}: {error}") from error


def _has_codes(column: pa.ChunkedArray, kind: LeafType, limit: int) -> bool:
    """Whether the codes of a column can be its indices: of integers or byte arrays, each entry a value.

    A dictionary that is larger than the column would be no smaller than the values, and without values there is none.
    """
    arrow_type = column.type
    if arrow_type.id != _DICTIONARY or arrow_type.index_type.bit_width > 32 or column.null_count == len(column):
        return False
    if kind.storage not in (Storage.NUMBERS, Storage.BYTE_ARRAYS) or kind.order is Order.FLOAT:
        return False
    first = column.chunk(0).dictionary
    if first.null_count or first.nbytes + 4 * len(first) > limit or 2 * len(first) > len(column):
        return False
    first.validate(full=True)
    for chunk in column.chunks[1:]:
        chunk.dictionary.validate(full=True)  # to compare is to follow it
        if not chunk.dictionary.equals(first):
            return False
    return True


def _with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as one chunk. Not by pyarrow, which looks codes up that lie under nulls, or are none."""
    if column.num_chunks == 1:
        return column
    first = column.chunk(0)
    codes = pa.concat_arrays([chunk.indices for chunk in column.chunks])
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, first.dictionary, safe=False)])


def _list_of_view(array: Any, target: Any) -> pa.Array:
    """A list view as a list, of type ``target``. (A cast of pyarrow 26 leaves the last offset out.)

    Elements are taken in the order of the lists, and those of null lists left out.
    """
    large = array.type.id == _LARGE_LIST_VIEW
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
    values = _convert(array.values, target.value_type)
    values = pick(values, elements)
    return kind.from_arrays(ends.astype(dtype), values, type=target, mask=mask)


def _convert(array: Any, target: Any) -> pa.Array:
    arrow_type = array.type
    if arrow_type.equals(target):
        return array
    if isinstance(arrow_type, pa.BaseExtensionType):
        return _convert(array.storage, target)
    if arrow_type.id == _DICTIONARY:
        values = array.dictionary
        large = _LARGE.get(values.type)
        if large is not None:  # pyarrow cannot take views
            array = pa.DictionaryArray.from_arrays(array.indices, values.cast(large), safe=False)
        return _convert(array.dictionary_decode(), target)
    if arrow_type.id == _RUN_END_ENCODED:
        large = _LARGE.get(arrow_type.value_type)
        if large is not None:
            runs = pa.RunEndEncodedArray.from_arrays(array.run_ends, array.values.cast(large))
            array = runs.slice(array.offset, len(array))
        return _convert(pc.run_end_decode(array), target)
    if arrow_type.id in (_LIST_VIEW, _LARGE_LIST_VIEW):
        return _list_of_view(array, target)
    if not pa.types.is_nested(arrow_type):
        return array.cast(target)
    if pa.types.is_struct(arrow_type):
        children = [_convert(array.field(i), target.field(i).type) for i in range(target.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)
    if pa.types.is_map(arrow_type):
        entries = pa.struct([target.key_field, target.item_field])
    else:
        entries = target.value_type
    child = _convert(array.values, entries)
    buffers = array.buffers()[: 1 if pa.types.is_fixed_size_list(arrow_type) else 2]
    return pa.Array.from_buffers(target, len(array), buffers, offset=array.offset, children=[child])


def without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """String and binary views as large strings and binaries: pyarrow cannot group by views, and counts them wrong."""
    large = _LARGE.get(column.type)
    return column if large is None else column.cast(large)
