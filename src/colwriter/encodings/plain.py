"""PLAIN (Encodings.md, "Plain"): values one after another, byte arrays after their length in four bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import ALIGNMENT, Arena
from colwriter.buffers import frozen
from colwriter.errors import InvalidDataError
from colwriter.keys import find_extremes
from colwriter.leaf_types import Order, Storage
from colwriter.levels import EMPTY, LeafColumn
from colwriter.metadata import Encoding
from colwriter.pages import NO_NUMBERS, EncodedValues, Lead, Pages

__all__ = ["encode", "fixed_extremes", "fixed_offsets", "invalid_offsets", "valid_bytes", "valid_values", "value_bits"]

# No room for the least and greatest values: they are not looked for.
NO_EXTREMES: NDArray[np.int64] = np.empty((2, 0), np.int64)


def value_bits(leaf: LeafColumn) -> int:
    """Bits of a value; for a byte array those of its length."""
    storage = leaf.descriptor.leaf.storage
    if storage is Storage.NUMBERS:
        return 8 * int(leaf.values.itemsize)
    return {Storage.BYTE_ARRAYS: 32, Storage.BITS: 1}.get(storage) or 8 * (leaf.descriptor.leaf.type_length or 0)


def encode(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode the values of all pages; the least and greatest of each are looked for if ``bounds``."""
    storage = leaf.descriptor.leaf.storage
    if storage is Storage.NUMBERS:
        return _numbers(leaf, pages, lead, bounds, arena)
    if storage is Storage.BYTE_ARRAYS:
        return _byte_arrays(leaf, pages, lead, bounds, arena)
    return _bits(leaf, pages, lead, arena) if storage is Storage.BITS else _fixed(leaf, pages, lead, bounds, arena)


def _numbers(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    width = int(leaf.values.itemsize)
    table = np.zeros((4, len(pages)), np.int64)
    starts, ends, extremes = table[0], table[1], table[2:]
    size = pages.total(3) * width + lead.total
    out = arena.take((size + (len(pages) + 1) * ALIGNMENT + kernels.plain.OUT_PADDING) // 8 * 8)
    typed = out.view(leaf.values.dtype)
    order = leaf.descriptor.leaf.order
    kernels.plain.encode_fixed(
        leaf.values,
        leaf.validity,
        leaf.bit_offset,
        pages.slots,
        lead.of_pages,
        ALIGNMENT,
        typed,
        starts,
        ends,
        extremes if bounds and order is Order.SIGNED else NO_EXTREMES,
    )
    nan_counts = None
    if bounds and order is not Order.SIGNED:
        nan_counts = find_extremes(frozen(typed), starts // width, ends // width, order, extremes)
    return EncodedValues(Encoding.PLAIN, out, starts, ends, extremes, None, nan_counts)


def valid_values(leaf: LeafColumn, pages: Pages, arena: Arena) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of the pages with no nulls between them, and where those of each page start, for other encodings.

    Without nulls they are used where they lie. Both arrays cannot be written to.
    """
    if len(leaf.validity) == 0:
        return leaf.values, pages.slots
    width = int(leaf.values.itemsize)
    starts, ends, lead = np.zeros((3, len(pages)), np.int64)
    values = arena.take(pages.total(3) + kernels.plain.OUT_PADDING, leaf.values.dtype)
    kernels.plain.encode_fixed(
        leaf.values, leaf.validity, leaf.bit_offset, pages.slots, lead, width, values, starts, ends, NO_EXTREMES
    )
    return frozen(values), pages.values - pages.values[0]


def valid_bytes(leaf: LeafColumn, pages: Pages, arena: Arena) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """As ``valid_values``, of byte arrays of one width."""
    if len(leaf.validity) == 0:
        return leaf.data, pages.slots
    width = leaf.descriptor.leaf.type_length or 0
    starts, ends, lead = np.zeros((3, len(pages)), np.int64)
    out = arena.take(pages.total(3) * width + kernels.plain.OUT_PADDING)
    kernels.fixed_bytes.encode_fixed_bytes(
        leaf.data, width, leaf.validity, leaf.bit_offset, pages.slots, lead, out, starts, ends
    )
    return frozen(out), pages.values - pages.values[0]


def _byte_arrays(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    starts, ends, minima, maxima = table = np.zeros((4, len(pages)), np.int64)
    # What null slots span is room that is not needed; a file of valid offsets never needs more.
    span = max(int(leaf.offsets[pages.slots[-1]]) - int(leaf.offsets[pages.slots[0]]), 0)
    size = min(span, len(leaf.data)) + 4 * pages.total(3) + lead.total
    out = arena.take(size + kernels.plain.OUT_PADDING)
    end = kernels.plain.encode_byte_arrays(
        leaf.offsets,
        leaf.data,
        leaf.validity,
        leaf.bit_offset,
        pages.slots,
        lead.of_pages,
        1,
        bounds,
        out,
        starts,
        ends,
        minima,
        maxima,
    )
    if end < 0:
        raise invalid_offsets(leaf)
    value_bytes: NDArray[np.int64] = ends - starts - 4 * pages.num_values
    return EncodedValues(Encoding.PLAIN, out, starts, ends, table[2:], value_bytes, None)


def _fixed(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    width = leaf.descriptor.leaf.type_length or 0
    starts, ends = np.empty((2, len(pages)), np.int64)
    out = arena.take(pages.total(3) * width + lead.total + kernels.plain.OUT_PADDING)
    kernels.fixed_bytes.encode_fixed_bytes(
        leaf.data, width, leaf.validity, leaf.bit_offset, pages.slots, lead.of_pages, out, starts, ends
    )
    extremes = fixed_extremes(leaf, pages) if bounds else np.zeros((2, len(pages)), np.int64)
    return EncodedValues(Encoding.PLAIN, out, starts, ends, extremes, None, None)


def fixed_offsets(leaf: LeafColumn) -> NDArray[Any]:
    """Offsets of byte arrays of one width, as others have them."""
    width = leaf.descriptor.leaf.type_length or 0
    end = leaf.num_slots * width
    dtype: type[Any] = np.int32 if end < 1 << 31 else np.int64
    return frozen(np.arange(0, end + 1, width, dtype=dtype))


def fixed_extremes(leaf: LeafColumn, pages: Pages) -> NDArray[np.int64]:
    """Slots of the least and the greatest value of each page, of byte arrays of one width; -1 where there is none."""
    extremes = np.full((2, len(pages)), -1, np.int64)
    order = leaf.descriptor.leaf.order
    if order is not Order.UNDEFINED:
        kernels.fixed_bytes.min_max_fixed_bytes(
            leaf.data,
            leaf.descriptor.leaf.type_length or 0,
            order is Order.DECIMAL,
            leaf.validity,
            leaf.bit_offset,
            pages.slots,
            extremes[0],
            extremes[1],
        )
    return extremes


def _bits(leaf: LeafColumn, pages: Pages, lead: Lead, arena: Arena) -> EncodedValues:
    starts, ends, minima, maxima = table = np.zeros((4, len(pages)), np.int64)
    out = arena.take(pages.total(3) // 8 + len(pages) + lead.total + kernels.plain.OUT_PADDING)
    kernels.fixed_bytes.encode_bits(
        leaf.data,
        leaf.value_offset,
        leaf.validity,
        leaf.bit_offset,
        pages.slots,
        lead.of_pages,
        out,
        starts,
        ends,
        minima,
        maxima,
    )
    return EncodedValues(Encoding.PLAIN, out, starts, ends, table[2:], None, None)


def invalid_offsets(leaf: LeafColumn) -> InvalidDataError:
    """Offsets of byte arrays that cannot be followed."""
    return InvalidDataError(
        f"{leaf.descriptor.dotted_path}: offsets must not go down nor past the {len(leaf.data)} bytes of the data, "
        "found some that do"
    )


def encode_runs(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode BOOLEANs as RLE: the hybrid of runs and bit-packed groups, after its length in four bytes."""
    packed = _bits(leaf, pages, lead, arena)
    # All values of all pages, side by side, for one encoder of bitmaps.
    whole = Pages(pages.fences[:, [0, -1]])
    bits = _bits(leaf, whole, Lead(np.zeros(1, np.int64), 0), arena)
    fences = pages.values - pages.values[0]
    count = len(pages)
    runs = arena.take(kernels.rle.hybrid_bound(pages.total(3), count, 1))
    run_starts = np.empty(count + 1, np.int64)
    kernels.rle.encode_bitmap(frozen(bits.data), 0, fences, runs, run_starts)
    prefix = kernels.framing.LENGTH_PREFIX
    ends = np.cumsum(lead.of_pages + np.diff(run_starts) + prefix)
    out = arena.take(int(run_starts[-1]) + prefix * count + lead.total + kernels.plain.OUT_PADDING)
    starts = np.empty(count, np.int64)
    kernels.framing.place_levels(EMPTY, NO_NUMBERS, frozen(runs), run_starts, ends, True, out, starts)
    return EncodedValues(Encoding.RLE, out, starts, ends, packed.extremes, None, None)
