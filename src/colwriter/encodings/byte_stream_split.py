"""BYTE_STREAM_SPLIT (Encodings.md, "Byte Stream Split"): the first byte of all values, then the second of all."""

from __future__ import annotations

import math

import numpy as np

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.encodings.plain import fixed_extremes, valid_bytes, valid_values
from colwriter.keys import find_extremes
from colwriter.leaf_types import Storage
from colwriter.levels import LeafColumn
from colwriter.metadata import Encoding
from colwriter.pages import EncodedValues, Lead, Pages

__all__ = ["encode"]


def encode(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode the values of all pages; the least and greatest of each are looked for if ``bounds``."""
    starts, ends, _, _ = table = np.zeros((4, len(pages)), np.int64)
    extremes = table[2:]
    nan_counts = None
    kind = leaf.descriptor.leaf
    if kind.storage is Storage.FIXED_BYTES:
        width = kind.type_length or 0
        values, fences = valid_bytes(leaf, pages, arena)
        word = math.gcd(width, 8)
        if bounds:
            extremes = fixed_extremes(leaf, pages)
    else:
        values, fences = valid_values(leaf, pages, arena)
        word = width = values.itemsize
        if bounds:
            nan_counts = find_extremes(values, fences[:-1], fences[1:], kind.order, extremes)
    words = values.view(f"u{word}")
    out = arena.take(pages.total(3) * width + lead.total)
    block = arena.take(kernels.byte_stream_split.BLOCK, words.dtype)
    kernels.byte_stream_split.encode(words, width // word, fences, lead.of_pages, block, out, starts, ends)
    return EncodedValues(Encoding.BYTE_STREAM_SPLIT, out, starts, ends, extremes, None, nan_counts)
