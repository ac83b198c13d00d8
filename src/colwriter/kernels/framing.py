"""Page framing: levels in front of values."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Bytes, Int, Int64s, inlined, kernel
from colwriter.kernels.page_table import (
    BODY,
    DEFINITION_BYTES,
    END,
    HEADER,
    LENGTH_PREFIX,
    REPETITION_BYTES,
    START,
    STORED_END,
)


@inlined
def values_start(pages: Int64s, page: Int, lead: Int, end: Int) -> Int:
    """Where the values of a page start in the output of an encoder, if those of the page before end at ``end``.

    The page's levels are put between, and ``lead`` bytes besides: ``LEAD`` for a page of the file.
    """
    return end + lead + pages[page, REPETITION_BYTES] + pages[page, DEFINITION_BYTES]


@inlined
def _place(levels: Bytes, start: Int, size: Int, prefixed: bool, out: Bytes, to: Int) -> Int:
    """Copy encoded levels, if there are such, so that they end at ``to``; returns where they begin."""
    if len(levels) == 0:
        return to
    to -= size
    source = levels[start : start + size]
    target = out[to : to + size]
    for i in range(len(source)):
        target[i] = source[i]
    if prefixed:
        to -= LENGTH_PREFIX
        for k in range(LENGTH_PREFIX):
            out[to + k] = np.uint8((size >> (8 * k)) & 255)
    return to


@kernel
def place_levels(repetition: Bytes, definition: Bytes, prefixed: bool, pages: Int64s, out: Bytes) -> None:
    """Put each page's levels right before its values in ``out``: that is its body, which is not compressed yet.

    ``repetition`` and ``definition``: the encoded levels of all ``pages``, one page after another.
    """
    first_repetition = np.int64(0)
    first_definition = np.int64(0)
    for page in range(len(pages) - 1):
        size = pages[page, DEFINITION_BYTES]
        start = _place(definition, first_definition, size, prefixed, out, pages[page, START])
        first_definition += size
        size = pages[page, REPETITION_BYTES]
        pages[page, BODY] = _place(repetition, first_repetition, size, prefixed, out, start)
        first_repetition += size
        pages[page, STORED_END] = pages[page, END]


@inlined
def _append(data: Bytes, start: Int, end: Int, out: Bytes, to: Int) -> Int:
    """Copy ``data[start:end]`` to ``out[to:]``; returns the end."""
    source = data[start:end]
    target = out[to : to + len(source)]
    for k in range(len(source)):
        target[k] = source[k]
    return to + end - start


@kernel
def gather_pages(data: Bytes, pages: Int64s, page: Int, out: Bytes, to: Int) -> tuple[Int, Int]:
    """Copy pages from ``page`` on, as they are stored, with their headers, one after another to ``out[to:]``.

    Returns the first one for which there is no room, and the end.
    """
    while page < len(pages) - 1:
        start = pages[page, HEADER]
        end = pages[page, STORED_END]
        if to + end - start > len(out):
            break
        to = _append(data, start, end, out, to)
        page += 1
    return page, to


@kernel
def gather(data: Bytes, starts: Int64s, ends: Int64s, out: Bytes) -> Int:
    """Copy ``data[starts[i]:ends[i]]`` one after another to ``out``; returns the end."""
    to = np.int64(0)
    for i in range(len(starts)):
        to = _append(data, starts[i], ends[i], out, to)
    return to
