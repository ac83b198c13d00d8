"""Leaves that are views: as codes of a dictionary where one pays, else as byte arrays one after another.

Most views are of short strings, or of few different ones, and a dictionary of those is found where they lie. To copy
all values first would take longer than the rest of the work.
"""

from __future__ import annotations

import numpy as np

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import EMPTY, Views, frozen
from colwriter.levels import LeafColumn, flatten, invalid_views

__all__ = ["without_views"]

# Values after which the dictionary must have paid. One that does not at first is left to byte arrays, whose sample says
# more.
PROBATION = 1024
# Fewer than this are soon copied, and what frames the indices of a page counts.
SMALL = 256


def without_views(leaf: LeafColumn, limit: int, arena: Arena) -> LeafColumn:
    """The leaf as one that is dictionary-encoded, if the dictionary takes at most ``limit`` bytes and pays.

    Otherwise as one of byte arrays. Raises ``InvalidDataError`` for a view that points outside its buffer.
    """
    views = leaf.views
    assert views is not None
    most = min(limit // 4, leaf.num_slots)
    if most == 0 or leaf.num_slots < SMALL:
        return flatten(leaf, arena)
    entries = arena.take(most, np.int64)
    codes = arena.take(leaf.num_slots, np.int32)
    count = kernels.views.index_views(
        views.slots,
        leaf.validity,
        leaf.bit_offset,
        views.addresses,
        views.sizes,
        limit,
        PROBATION,
        arena.take(kernels.views.table_size(most), np.int32),
        arena.take(kernels.views.KEY_WORDS * most, np.uint64),
        entries,
        codes,
    )
    if count < 0:
        raise invalid_views(leaf)
    if count == 0:
        return flatten(leaf, arena)
    of_entries = Views.make(frozen(views.slots.reshape(-1, 16)[entries[:count]].reshape(-1)), views.owner)
    distinct = leaf._replace(num_slots=count, validity=EMPTY, bit_offset=0, views=of_entries)
    return leaf._replace(values=frozen(codes), dictionary=flatten(distinct, arena), views=None)
