"""Levels of lists of leaves as packed bits, by two threads where there are many lists.

The second half of the lists is packed into bytes of its own, the first of which is that in which the levels of the
first half end; then these are put behind them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import Bitmap
from colwriter.parallel import side_by_side

__all__ = ["PackedLevels", "PackedLists", "pack_levels"]

Bytes = NDArray[np.uint8]
Int64s = NDArray[np.int64]
# Lists from which two threads share the work: to hand over half of it takes fifty microseconds.
SHARED_LISTS = 1 << 17


class PackedLists(NamedTuple):
    """What ``kernels.lists.pack_list_levels`` takes of ``num_lists`` lists and their elements."""

    lists: Bitmap
    optional: int
    offsets: NDArray[Any]
    num_lists: int
    num_elements: int
    elements: Bitmap
    element_optional: int
    width: int


class PackedLevels(NamedTuple):
    """``num_levels`` levels, or a status of ``kernels.lists``; ``rows`` are those of ``levels.LeafColumn``."""

    num_levels: int
    repetition: Bytes
    definition: Bytes
    rows: tuple[Int64s, Int64s]


def pack_levels(source: PackedLists, arena: Arena, threads: int) -> PackedLevels:
    """The levels of all lists; the same for any number of threads."""
    rows = arena.take(source.num_lists + 1, np.int64), arena.take(source.num_lists + 1, np.int64)
    room = _most_levels(source, 0, source.num_lists)
    if threads == 1 or source.num_lists < SHARED_LISTS:
        return _pack(source, 0, source.num_lists, 0, room, rows, arena)
    middle = source.num_lists // 2
    offsets = source.offsets
    before = int(offsets[middle]) - int(offsets[0]) + int(kernels.lists.count_empty(offsets[: middle + 1]))

    def half(number: int) -> PackedLevels:
        if number == 0:
            return _pack(source, 0, middle, 0, room, rows, arena)
        return _pack(
            source, middle, source.num_lists, before, _most_levels(source, middle, source.num_lists), rows, arena
        )

    first, second = side_by_side(half, (0, 1), threads)
    if first.num_levels < 0 or second.num_levels < 0:
        return first._replace(num_levels=min(first.num_levels, second.num_levels))
    # In the byte that both have, the bits of the other are ones of repetition levels, and zeros of definition levels.
    for bits, more, width, join in (
        (first.repetition, second.repetition, 1, np.bitwise_and),
        (first.definition, second.definition, source.width, np.bitwise_or),
    ):
        at, end = before * width >> 3, (second.num_levels * width + 7) >> 3
        more[0] = join(more[0], bits[at])
        bits[at:end] = more[: end - at]
    return first._replace(num_levels=second.num_levels)


def _most_levels(source: PackedLists, start: int, end: int) -> int:
    """No fewer than lists ``[start, end)`` have."""
    span = max(int(source.offsets[end]) - int(source.offsets[start]), 0)
    return end - start + min(span, source.num_elements)


def _pack(
    source: PackedLists, start: int, end: int, before: int, room: int, rows: tuple[Int64s, Int64s], arena: Arena
) -> PackedLevels:
    """The levels of lists ``[start, end)``, which follow ``before`` others; ``room`` is for so many."""
    repetition = arena.take(room // 8 + kernels.lists.PADDING)
    definition = arena.take(room * source.width // 8 + kernels.lists.PADDING)
    row_levels, row_slots = rows
    count = kernels.lists.pack_list_levels(
        source.lists.bits,
        source.lists.offset + start,
        source.optional,
        source.offsets[start : end + 1],
        end - start,
        source.num_elements,
        source.elements.bits,
        source.elements.offset,
        source.element_optional,
        source.width,
        int(source.offsets[0]),
        before,
        repetition,
        definition,
        row_levels[start : end + 1],
        row_slots[start : end + 1],
    )
    return PackedLevels(int(count), repetition, definition, rows)
