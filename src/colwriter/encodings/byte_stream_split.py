"""BYTE_STREAM_SPLIT (Encodings.md, "Byte Stream Split"): the first byte of all values, then the second of all."""

from __future__ import annotations

import numpy as np

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.encodings.plain import valid_values
from colwriter.levels import LeafColumn
from colwriter.metadata import Encoding
from colwriter.pages import EncodedValues, Lead, Pages

__all__ = ["encode"]


def encode(leaf: LeafColumn, pages: Pages, lead: Lead, bounds: bool, arena: Arena) -> EncodedValues:
    """Encode the values of all pages; the least and greatest of each are looked for if ``bounds``."""
    starts, ends, minima, maxima = table = np.zeros((4, len(pages)), np.int64)
    values, fences = valid_values(leaf, pages, arena)
    words = values.view(f"u{values.itemsize}")
    out = arena.take(pages.total(3) * words.itemsize + lead.total)
    block = arena.take(kernels.byte_stream_split.BLOCK, words.dtype)
    kernels.byte_stream_split.encode(words, 1, fences, lead.of_pages, block, out, starts, ends)
    if bounds:
        kernels.plain.min_max_fixed(values, fences[:-1], fences[1:], minima, maxima)
    return EncodedValues(Encoding.BYTE_STREAM_SPLIT, out, starts, ends, table[2:], None)
