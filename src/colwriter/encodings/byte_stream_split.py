"""BYTE_STREAM_SPLIT (Encodings.md, "Byte Stream Split"): the first byte of all values, then the second of all."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.encodings.plain import find_fixed_extremes, valid_bytes, valid_values
from colwriter.kernels.page_table import VALUE
from colwriter.keys import find_extremes
from colwriter.leaf_types import Storage
from colwriter.levels import LeafColumn
from colwriter.pages import Pages

__all__ = ["encode"]


def encode(leaf: LeafColumn, pages: Pages, room: int, bounds: bool, arena: Arena) -> NDArray[np.uint8]:
    """Encode the values of all pages; see ``colwriter.encodings``."""
    kind = leaf.descriptor.leaf
    if kind.storage is Storage.FIXED_BYTES:
        width = kind.type_length or 0
        values, ranges = valid_bytes(leaf, pages, arena)
        word = math.gcd(width, 8)
        if bounds:
            find_fixed_extremes(leaf, pages)
    else:
        values, ranges = valid_values(leaf, pages, arena)
        word = width = values.itemsize
        if bounds:
            find_extremes(values, ranges, kind.order, pages)
    words = values.view(f"u{word}")
    out = arena.take(pages.total(VALUE) * width + room)
    block = arena.take(kernels.byte_stream_split.BLOCK, words.dtype)
    kernels.byte_stream_split.encode(words, width // word, ranges, block, pages.table, out)
    return out
