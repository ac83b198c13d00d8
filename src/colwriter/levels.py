"""A leaf of a column: its values, as they are stored, and its levels (Melnik et al., "Dremel", VLDB 2010)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter.arena import Arena
from colwriter.buffers import (
    EMPTY,
    Bitmap,
    Views,
    flatten_views,
)
from colwriter.errors import InvalidDataError
from colwriter.schema import ColumnDescriptor

__all__ = ["EMPTY", "LeafColumn", "Levels", "Lists", "Nulls", "flatten", "invalid_views"]

Bytes = NDArray[np.uint8]
Int64s = NDArray[np.int64]


class Levels(NamedTuple):
    """Levels of a leaf, each in ``width`` bits (1, 2 or 8) of ``data``, the first at bit ``offset``.

    There are readable bytes after the last level. Without ``data`` all levels are the same, the largest of a definition
    level and 0 of a repetition level.
    """

    data: Bytes
    width: int
    offset: int = 0


CONSTANT = Levels(EMPTY, 8)


class Nulls(NamedTuple):
    """Slots from definition level ``slot_level`` on, of which those that are null here, and no sooner, have ``level``.

    ``bits`` and ``bit_offset``: a bitmap of those that go on, without a null so far.
    """

    slot_level: int
    level: int
    bits: Bytes
    bit_offset: int


class Lists(NamedTuple):
    """Slots from definition level ``slot_level`` on that are lists: an empty one has ``level``.

    Elements after the first of a list have ``repetition_level``. Null lists span none.
    """

    slot_level: int
    level: int
    repetition_level: int
    offsets: NDArray[Any]


class LeafColumn(NamedTuple):
    """The leaf of one column chunk, not encoded yet.

    Slots are the entries of the leaf's Arrow array; a slot with a null ancestor or null itself holds no value, which is
    what ``validity`` says (empty: all slots do). Every definition level of at least ``slot_level`` has one slot.
    ``row_levels`` and ``row_slots`` int64[rows + 1]: where rows start; empty if a row is one level and one slot.
    ``values``, ``offsets``, ``data`` and ``value_offset`` hold the slots (see ``LeafBuffers``). Of a dictionary-encoded
    array, ``values`` are its codes, int32, and the slots of ``dictionary`` its entries. Byte arrays may be ``views``
    still, see ``flatten``. ``steps``: where levels end on the way from a row to a slot, but for the last list, and what
    is null last: these follow from the others.
    """

    descriptor: ColumnDescriptor
    num_rows: int
    num_levels: int
    num_slots: int
    slot_level: int
    row_levels: Int64s
    row_slots: Int64s
    repetition_levels: Levels
    definition_levels: Levels
    validity: Bytes
    bit_offset: int
    values: NDArray[Any]
    offsets: NDArray[Any]
    data: Bytes
    value_offset: int
    dictionary: LeafColumn | None = None
    views: Views | None = None
    steps: tuple[Nulls | Lists, ...] = ()


def flatten(leaf: LeafColumn, arena: Arena) -> LeafColumn:
    """The leaf with offsets and data in ``arena`` instead of views, if it has any.

    Raises ``InvalidDataError`` for a view that points outside its buffer.
    """
    if leaf.views is None:
        return leaf
    flat = flatten_views(leaf.views, Bitmap(leaf.validity, leaf.bit_offset), arena)
    if flat is None:
        raise invalid_views(leaf)
    return leaf._replace(offsets=flat[0], data=flat[1], views=None)


def invalid_views(leaf: LeafColumn) -> InvalidDataError:
    """Views that cannot be followed."""
    buffers = 0 if leaf.views is None else len(leaf.views.owner)
    return InvalidDataError(
        f"{leaf.descriptor.dotted_path}: the array is not valid Arrow: expected views of its {buffers} buffers, found "
        "some that point outside of them"
    )
