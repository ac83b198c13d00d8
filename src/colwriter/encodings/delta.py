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
from colwriter.encodings.plain import find_fixed_extremes, fixed_offsets, invalid_offsets, valid_values
from colwriter.kernels.page_table import SLOT, VALUE
from colwriter.keys import find_extremes, find_float_extremes
from colwriter.leaf_types import Storage
from colwriter.levels import LeafColumn
from colwriter.pages import Pages

__all__ = ["encode_byte_arrays", "encode_integers", "encode_lengths"]

Bytes = NDArray[np.uint8]
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


def encode_integers(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    """Encode INT32 or INT64 as DELTA_BINARY_PACKED; see ``colwriter.encodings``."""
    values, ranges = valid_values(leaf, pages, arena)
    size = kernels.delta.delta_bound(pages.total(VALUE), len(pages), values.itemsize) + room
    out = arena.take(size + kernels.plain.OUT_PADDING)
    kernels.delta.encode_integers(values, ranges, *_scratch(values.dtype, arena), pages.table, out)
    if bounds:
        find_extremes(values, ranges, leaf.descriptor.leaf.order, pages)
    return out


def encode_lengths(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    """Encode byte arrays as DELTA_LENGTH_BYTE_ARRAY: the lengths of a page, then its bytes."""
    return _byte_arrays(leaf, pages, room, bounds, arena, prefixed=False)


def encode_byte_arrays(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    """Encode byte arrays as DELTA_BYTE_ARRAY: what each shares with the one before is left out."""
    return _byte_arrays(leaf, pages, room, bounds, arena, prefixed=True)


def _byte_arrays(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena, prefixed: bool) -> Bytes:
    fixed = leaf.descriptor.leaf.type_length is not None
    if fixed:
        data = frozen(leaf.values.view(np.uint8)) if len(leaf.values) else leaf.data
        leaf = leaf._replace(offsets=fixed_offsets(leaf), data=data)
    # As for PLAIN, what null slots span is room that is not needed.
    span = max(int(leaf.offsets[pages.end(SLOT)]) - int(leaf.offsets[pages.first(SLOT)]), 0)
    lengths = kernels.delta.delta_bound(pages.total(VALUE), len(pages), LENGTH.itemsize)
    size = min(span, len(leaf.data)) + (2 if prefixed else 1) * lengths + room
    out = arena.take(size + kernels.plain.OUT_PADDING)
    most = int(np.diff(pages.fences(VALUE)).max(initial=0))
    end = kernels.delta.encode_byte_arrays(
        leaf.offsets,
        leaf.data,
        leaf.validity,
        leaf.bit_offset,
        prefixed,
        bounds and not fixed,
        arena.take(kernels.extremes.SCRATCH, np.int64),
        arena.take(most, np.int64),
        arena.take(most if prefixed else 0, LENGTH),
        arena.take(most, LENGTH),
        *_scratch(LENGTH, arena),
        pages.table,
        out,
    )
    if end < 0:
        raise invalid_offsets(leaf)
    if bounds and leaf.descriptor.leaf.storage is Storage.NUMBERS:  # FLOAT16
        find_float_extremes(leaf.values, leaf.validity, leaf.bit_offset, pages.ranges(SLOT), pages)
    elif bounds and fixed:
        find_fixed_extremes(leaf, pages)
    return out
