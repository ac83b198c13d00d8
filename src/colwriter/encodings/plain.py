"""PLAIN (Encodings.md, "Plain"): values one after another, byte arrays after their length in four bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import ALIGNMENT, Arena
from colwriter.buffers import frozen
from colwriter.errors import InvalidDataError
from colwriter.kernels.page_table import (
    BODY,
    DEFINITION_BYTES,
    END,
    LEAD,
    LENGTH_PREFIX,
    REPETITION_BYTES,
    SLOT,
    START,
    VALUE,
)
from colwriter.keys import find_extremes
from colwriter.leaf_types import Order, Storage
from colwriter.levels import EMPTY, LeafColumn
from colwriter.pages import Pages

__all__ = [
    "encode",
    "find_fixed_extremes",
    "fixed_offsets",
    "invalid_offsets",
    "valid_bytes",
    "valid_values",
    "value_bits",
]

Bytes = NDArray[np.uint8]


def value_bits(leaf: LeafColumn) -> int:
    """Bits of a value; for a byte array those of its length."""
    storage = leaf.descriptor.leaf.storage
    if storage is Storage.NUMBERS:
        return 8 * int(leaf.values.itemsize)
    return {Storage.BYTE_ARRAYS: 32, Storage.BITS: 1}.get(storage) or 8 * (leaf.descriptor.leaf.type_length or 0)


def encode(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    """Encode the values of all pages; see ``colwriter.encodings``."""
    storage = leaf.descriptor.leaf.storage
    if storage is Storage.NUMBERS:
        return _numbers(leaf, pages, room, bounds, arena)
    if storage is Storage.BYTE_ARRAYS:
        return _byte_arrays(leaf, pages, room, bounds, arena)
    return _bits(leaf, pages, room, arena) if storage is Storage.BITS else _fixed(leaf, pages, room, bounds, arena)


def _numbers(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    width = int(leaf.values.itemsize)
    size = pages.total(VALUE) * width + room
    out = arena.take((size + (len(pages) + 1) * ALIGNMENT + kernels.plain.OUT_PADDING) // 8 * 8)
    typed = out.view(leaf.values.dtype)
    order = leaf.descriptor.leaf.order
    signed = order is Order.SIGNED
    kernels.plain.encode_fixed(
        leaf.values, leaf.validity, leaf.bit_offset, LEAD, ALIGNMENT, bounds and signed, pages.table, typed
    )
    if bounds and not signed:
        find_extremes(frozen(typed), pages.table[:-1, START : END + 1] // width, order, pages)
    return out


def valid_values(leaf: LeafColumn, pages: Pages, arena: Arena) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of the pages with no nulls between them, and the range of those of each page, for other encodings.

    Without nulls they are used where they lie, and cannot be written to. Ranges are int64[pages, 2].
    """
    if len(leaf.validity) == 0:
        return leaf.values, pages.ranges(SLOT)
    width = int(leaf.values.itemsize)
    values = arena.take(pages.total(VALUE) + kernels.plain.OUT_PADDING, leaf.values.dtype)
    kernels.plain.encode_fixed(leaf.values, leaf.validity, leaf.bit_offset, 0, width, False, _slots(pages), values)
    return frozen(values), pages.ranges(VALUE) - pages.first(VALUE)


def valid_bytes(leaf: LeafColumn, pages: Pages, arena: Arena) -> tuple[Bytes, NDArray[np.int64]]:
    """As ``valid_values``, of byte arrays of one width."""
    if len(leaf.validity) == 0:
        return leaf.data, pages.ranges(SLOT)
    width = leaf.descriptor.leaf.type_length or 0
    out = arena.take(pages.total(VALUE) * width + kernels.plain.OUT_PADDING)
    kernels.fixed_bytes.encode_fixed_bytes(leaf.data, width, leaf.validity, leaf.bit_offset, 0, _slots(pages), out)
    return frozen(out), pages.ranges(VALUE) - pages.first(VALUE)


def _slots(pages: Pages) -> NDArray[np.int64]:
    """A page table that has slots and nothing else, so that the values of pages are put side by side."""
    table = np.zeros_like(pages.table)
    table[:, SLOT] = pages.fences(SLOT)
    return table


def _byte_arrays(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    # What null slots span is room that is not needed; a file of valid offsets never needs more.
    span = max(int(leaf.offsets[pages.end(SLOT)]) - int(leaf.offsets[pages.first(SLOT)]), 0)
    size = min(span, len(leaf.data)) + 4 * pages.total(VALUE) + room
    out = arena.take(size + kernels.plain.OUT_PADDING)
    scratch = arena.take(kernels.extremes.SCRATCH, np.int64)
    end = kernels.plain.encode_byte_arrays(
        leaf.offsets, leaf.data, leaf.validity, leaf.bit_offset, bounds, scratch, pages.table, out
    )
    if end < 0:
        raise invalid_offsets(leaf)
    return out


def _fixed(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    width = leaf.descriptor.leaf.type_length or 0
    out = arena.take(pages.total(VALUE) * width + room + kernels.plain.OUT_PADDING)
    kernels.fixed_bytes.encode_fixed_bytes(leaf.data, width, leaf.validity, leaf.bit_offset, LEAD, pages.table, out)
    if bounds:
        find_fixed_extremes(leaf, pages)
    return out


def fixed_offsets(leaf: LeafColumn) -> NDArray[Any]:
    """Offsets of byte arrays of one width, as others have them."""
    width = leaf.descriptor.leaf.type_length or 0
    end = leaf.num_slots * width
    dtype: type[Any] = np.int32 if end < 1 << 31 else np.int64
    return frozen(np.arange(0, end + 1, width, dtype=dtype))


def find_fixed_extremes(leaf: LeafColumn, pages: Pages) -> None:
    """Fill in the slots of the least and the greatest value of each page, of byte arrays of one width."""
    order = leaf.descriptor.leaf.order
    if order is not Order.UNDEFINED:
        kernels.fixed_bytes.min_max_fixed_bytes(
            leaf.data,
            leaf.descriptor.leaf.type_length or 0,
            order is Order.DECIMAL,
            leaf.validity,
            leaf.bit_offset,
            pages.table,
        )


def _bits(leaf: LeafColumn, pages: Pages, room: int, arena: Arena, lead: int = LEAD) -> Bytes:
    out = arena.take(pages.total(VALUE) // 8 + len(pages) + room + kernels.plain.OUT_PADDING)
    kernels.fixed_bytes.encode_bits(
        leaf.data, leaf.value_offset, leaf.validity, leaf.bit_offset, lead, pages.table, out
    )
    return out


def invalid_offsets(leaf: LeafColumn) -> InvalidDataError:
    """Offsets of byte arrays that cannot be followed."""
    return InvalidDataError(
        f"{leaf.descriptor.dotted_path}: offsets must not go down nor past the {len(leaf.data)} bytes of the data, "
        "found some that do"
    )


def encode_runs(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> Bytes:
    """Encode BOOLEANs as RLE: the hybrid of runs and bit-packed groups, after its length in four bytes."""
    # All values of all pages, side by side, for one encoder of bitmaps, which takes them for levels.
    fences = pages.fences(VALUE) - pages.first(VALUE)
    runs = Pages.of(fences, fences, fences, fences)
    whole = Pages(_slots(pages)[[0, -1]])
    whole.table[1, VALUE] = fences[-1]
    bits = _bits(leaf, whole, 0, arena, 0)
    encoded = arena.take(kernels.rle.hybrid_bound(int(fences[-1]), len(pages), 1))
    size = kernels.rle.encode_packed(frozen(bits), 0, 1, runs.table, DEFINITION_BYTES, encoded)
    _bits(leaf, pages, room, arena)  # for the least and the greatest
    levels = pages.column(REPETITION_BYTES) + pages.column(DEFINITION_BYTES)
    ends = np.cumsum(LEAD + levels + LENGTH_PREFIX + runs.column(DEFINITION_BYTES))
    runs.table[:-1, START] = ends
    out = arena.take(size + LENGTH_PREFIX * len(pages) + room + kernels.plain.OUT_PADDING)
    kernels.framing.place_levels(EMPTY, frozen(encoded), True, runs.table, out)
    pages.table[:-1, START], pages.table[:-1, END] = runs.column(BODY), ends
    return out
