"""Page framing: levels in front of values."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel

# Data page V1 puts the length of its levels in front of them, in four bytes; V2 has it in the header.
LENGTH_PREFIX = 4


@inlined
def _place(levels: Bytes, start: Int, end: Int, prefixed: bool, out: Bytes, to: Int) -> Int:
    """Copy encoded levels so that they end at ``to``; returns where they begin."""
    size = end - start
    to -= size
    source = levels[start:end]
    target = out[to : to + size]
    for i in range(len(source)):
        target[i] = source[i]
    if prefixed:
        to -= LENGTH_PREFIX
        for k in range(LENGTH_PREFIX):
            out[to + k] = np.uint8((size >> (8 * k)) & 255)
    return to


@kernel
def place_levels(
    repetition: Bytes,
    repetition_starts: Int64s,
    definition: Bytes,
    definition_starts: Int64s,
    value_starts: Int64s,
    prefixed: bool,
    out: Bytes,
    body_starts: Int64s,
) -> None:
    """Put each page's levels right before its values. An empty ``*_starts`` means that there are no such levels.

    ``value_starts`` int64[pages], byte positions in ``out``; ``body_starts`` takes where each page's body begins.
    """
    for page in range(len(value_starts)):
        start = value_starts[page]
        if len(definition_starts) > 0:
            start = _place(definition, definition_starts[page], definition_starts[page + 1], prefixed, out, start)
        if len(repetition_starts) > 0:
            start = _place(repetition, repetition_starts[page], repetition_starts[page + 1], prefixed, out, start)
        body_starts[page] = start


@kernel
def gather(data: Bytes, starts: Int64s, ends: Int64s, out: Bytes, to: Int) -> Int:
    """Copy ``data[starts[i]:ends[i]]`` one after another to ``out[to:]``; returns the end."""
    for i in range(len(starts)):
        source = data[starts[i] : ends[i]]
        target = out[to : to + len(source)]
        for k in range(len(source)):
            target[k] = source[k]
        to += len(source)
    return to
