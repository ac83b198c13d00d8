"""PLAIN (Encodings.md, "Plain"): values one after another, byte arrays after their length in four bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import ALIGNMENT, Arena
from colwriter.buffers import frozen
from colwriter.errors import InvalidDataError
from colwriter.levels import LeafColumn
from colwriter.metadata import Encoding, Type
from colwriter.pages import EncodedValues, Lead, Pages

__all__ = ["encode", "invalid_offsets", "valid_values", "value_bits"]


def value_bits(leaf: LeafColumn) -> int:
    """Bits of a value; for a byte array those of its length."""
    return 32 if leaf.descriptor.physical_type is Type.BYTE_ARRAY else 8 * int(leaf.values.itemsize)


def encode(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode the values of all pages; the least and greatest of each are looked for if ``bounds``."""
    if leaf.descriptor.physical_type is Type.BYTE_ARRAY:
        return _byte_arrays(leaf, pages, lead, bounds, arena)
    width = int(leaf.values.itemsize)
    starts, ends, minima, maxima = table = np.zeros((4, len(pages)), np.int64)
    size = pages.total(3) * width + lead.total
    out = arena.take((size + (len(pages) + 1) * ALIGNMENT + kernels.plain.OUT_PADDING) // 8 * 8)
    typed = out.view(leaf.values.dtype)
    kernels.plain.encode_fixed(
        leaf.values, leaf.validity, leaf.bit_offset, pages.slots, lead.of_pages, ALIGNMENT, typed, starts, ends
    )
    if bounds:
        kernels.plain.min_max_fixed(frozen(typed), starts // width, ends // width, minima, maxima)
    return EncodedValues(Encoding.PLAIN, out, starts, ends, table[2:], None)


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
        leaf.values, leaf.validity, leaf.bit_offset, pages.slots, lead, width, values, starts, ends
    )
    return frozen(values), pages.values - pages.values[0]


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
    return EncodedValues(Encoding.PLAIN, out, starts, ends, table[2:], ends - starts - 4 * pages.num_values)


def invalid_offsets(leaf: LeafColumn) -> InvalidDataError:
    """Offsets of byte arrays that cannot be followed."""
    return InvalidDataError(
        f"{leaf.descriptor.dotted_path}: offsets must not go down nor past the {len(leaf.data)} bytes of the data, "
        "found some that do"
    )
