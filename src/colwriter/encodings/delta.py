"""DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY (Encodings.md, "Delta Encoding", "Delta-length byte
array", "Delta Strings"): differences of integers, of lengths, and of byte arrays to the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import frozen
from colwriter.encodings.plain import fixed_extremes, fixed_offsets, invalid_offsets, valid_values
from colwriter.keys import find_extremes, find_float_extremes
from colwriter.leaf_types import Storage
from colwriter.levels import LeafColumn
from colwriter.metadata import Encoding
from colwriter.pages import EncodedValues, Lead, Pages

__all__ = ["encode_byte_arrays", "encode_integers", "encode_lengths"]

_Array = NDArray[Any]
_Scratch = tuple[_Array, _Array, _Array, _Array, _Array, _Array]
# A length of a byte array is an int32.
LENGTH = np.dtype(np.int32)


def _scratch(dtype: np.dtype[Any], arena: Arena) -> _Scratch:
    """What the kernels work in: the differences of a block, a miniblock, and lanes of 8 to 64 bits that are packed."""
    block = kernels.delta.block_size(dtype.itemsize)
    deltas = arena.take(block, dtype)
    words, lanes = (arena.take(block // kernels.delta.MINIBLOCKS, np.uint64) for _ in range(2))
    return deltas, words, lanes.view(np.uint8), lanes.view(np.uint16), lanes.view(np.uint32), lanes


def encode_integers(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode INT32 or INT64 as DELTA_BINARY_PACKED; the least and greatest of each page are found if ``bounds``."""
    starts, ends, _, _ = table = np.zeros((4, len(pages)), np.int64)
    values, fences = valid_values(leaf, pages, arena)
    size = kernels.delta.delta_bound(pages.total(3), len(pages), values.itemsize) + lead.total
    out = arena.take(size + kernels.plain.OUT_PADDING)
    kernels.delta.encode_integers(values, fences, lead.of_pages, *_scratch(values.dtype, arena), out, starts, ends)
    if bounds:
        find_extremes(values, fences[:-1], fences[1:], leaf.descriptor.leaf.order, table[2:])
    return EncodedValues(Encoding.DELTA_BINARY_PACKED, out, starts, ends, table[2:], None, None)


def encode_lengths(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode byte arrays as DELTA_LENGTH_BYTE_ARRAY: the lengths of a page, then its bytes."""
    return _byte_arrays(Encoding.DELTA_LENGTH_BYTE_ARRAY, leaf, pages, lead, bounds, arena)


def encode_byte_arrays(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode byte arrays as DELTA_BYTE_ARRAY: what each shares with the one before is left out."""
    return _byte_arrays(Encoding.DELTA_BYTE_ARRAY, leaf, pages, lead, bounds, arena)


def _byte_arrays(
    encoding: Encoding, leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena
) -> EncodedValues:
    prefixed = encoding is Encoding.DELTA_BYTE_ARRAY
    fixed = leaf.descriptor.leaf.type_length is not None
    if fixed:
        data = frozen(leaf.values.view(np.uint8)) if len(leaf.values) else leaf.data
        leaf = leaf._replace(offsets=fixed_offsets(leaf), data=data)
    starts, ends, minima, maxima, value_bytes = table = np.zeros((5, len(pages)), np.int64)
    # As for PLAIN, what null slots span is room that is not needed.
    span = max(int(leaf.offsets[pages.slots[-1]]) - int(leaf.offsets[pages.slots[0]]), 0)
    lengths = kernels.delta.delta_bound(pages.total(3), len(pages), LENGTH.itemsize)
    out = arena.take(
        min(span, len(leaf.data)) + (2 if prefixed else 1) * lengths + lead.total + kernels.plain.OUT_PADDING
    )
    most = int(pages.num_values.max(initial=0))
    end = kernels.delta.encode_byte_arrays(
        leaf.offsets,
        leaf.data,
        leaf.validity,
        leaf.bit_offset,
        pages.slots,
        lead.of_pages,
        prefixed,
        bounds and not fixed,
        arena.take(most, np.int64),
        arena.take(most if prefixed else 0, LENGTH),
        arena.take(most, LENGTH),
        *_scratch(LENGTH, arena),
        out,
        starts,
        ends,
        minima,
        maxima,
        value_bytes,
    )
    if end < 0:
        raise invalid_offsets(leaf)
    if leaf.descriptor.leaf.storage is Storage.NUMBERS:  # FLOAT16
        nan_counts = np.zeros(len(pages), np.int64)
        if bounds:
            fences = pages.slots[:-1], pages.slots[1:]
            find_float_extremes(leaf.values, leaf.validity, leaf.bit_offset, *fences, table[2:4], nan_counts)
        return EncodedValues(encoding, out, starts, ends, table[2:4], None, nan_counts)
    if fixed:
        extremes = fixed_extremes(leaf, pages) if bounds else table[2:4]
        return EncodedValues(encoding, out, starts, ends, extremes, None, None)
    return EncodedValues(encoding, out, starts, ends, table[2:4], value_bytes, None)
