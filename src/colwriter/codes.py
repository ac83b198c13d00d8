"""Dictionary-encoded arrays whose codes are kept: all arrays of a column chunk get one dictionary."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from colwriter.leaf_types import LeafType, Order, Storage

__all__ = ["may_keep_codes", "with_one_dictionary"]

# pyarrow cannot join views.
_JOINABLE = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def may_keep_codes(leaf: LeafType) -> bool:
    """Whether codes can be indices. Bounds of floating-point numbers and fixed bytes are found among the values.

    Of the null type there are none.
    """
    has_values = leaf.storage in (Storage.NUMBERS, Storage.BYTE_ARRAYS) and leaf.conversion.make != "nulls"
    return has_values and leaf.order is not Order.FLOAT


def with_one_dictionary(arrays: list[Any], limit: int) -> list[Any] | None:
    """The arrays with codes of one dictionary, each of whose entries is a value; None if it does not pay.

    It does not if it takes more than ``limit`` bytes, or has so many entries that values are hardly met twice.
    Dictionaries are joined, and values are not looked at; codes under nulls may be anything. (Not so in pyarrow's
    ``unify_dictionaries``.) An entry that is there twice is one: pyarrow cannot read such a dictionary.

    Raises ``pa.ArrowInvalid`` for a dictionary, and ``pa.ArrowIndexError`` for a code, that cannot be followed.
    """
    slots = sum(map(len, arrays))
    dictionaries: list[Any] = []
    numbers: list[int] = []
    for array in arrays:
        found = array.dictionary
        if found.nbytes > limit:
            return None
        found.validate(full=True)  # to compare is to follow it
        if not dictionaries or not found.equals(dictionaries[-1]):
            dictionaries.append(found)
        numbers.append(len(dictionaries) - 1)
    if sum(map(len, dictionaries)) > slots:
        return None
    try:
        joined = pa.concat_arrays([_joinable(each) for each in dictionaries]).dictionary_encode()
    except pa.ArrowNotImplementedError:  # small decimals, in pyarrow 26
        return None
    # The page of byte arrays has their lengths too.
    if joined.dictionary.nbytes + 4 * len(joined.dictionary) > limit or 2 * len(joined.dictionary) > slots:
        return None
    if len(joined.dictionary) == len(dictionaries[0]) == len(joined) and arrays[0].type.index_type.bit_width <= 32:
        return arrays
    starts = list(accumulate(map(len, dictionaries), initial=0))
    code_of = [joined.indices.slice(start, len(each)) for start, each in zip(starts, dictionaries, strict=False)]
    return [
        pa.DictionaryArray.from_arrays(_recoded(array.indices, code_of[number]), joined.dictionary, safe=False)
        for number, array in zip(numbers, arrays, strict=True)
    ]


def _recoded(codes: Any, code_of: Any) -> pa.Array:
    """The code of each code, int32; -1 for one that is none, which is found out where values are looked for."""
    if code_of.null_count:
        return code_of.take(codes)
    # Where there are nulls, pyarrow's ``take`` takes seven times as long.
    bits, data = codes.buffers()
    dtype = np.dtype(f"u{codes.type.bit_width // 8}")
    found = np.frombuffer(data, dtype, len(codes), codes.offset * dtype.itemsize) if len(codes) else np.empty(0, dtype)
    if dtype.itemsize == 8:
        found = np.minimum(found, len(code_of)).astype(np.int64)
    start = codes.offset & 7
    out = np.zeros(start + len(codes), np.int32)
    np.take(np.append(code_of.to_numpy(), np.int32(-1)), found, mode="clip", out=out[start:])
    bits = bits and bits.slice(codes.offset >> 3)
    return pa.Array.from_buffers(pa.int32(), len(codes), [bits, pa.py_buffer(out)], offset=start)


def _joinable(dictionary: Any) -> pa.Array:
    if isinstance(dictionary, pa.ExtensionArray):
        dictionary = dictionary.storage
    target = _JOINABLE.get(dictionary.type)
    return dictionary if target is None else dictionary.cast(target)
