"""Shredding: an Arrow column to its leaves, each with its values and levels.

Levels stay lazy as long as they can. A flat optional column has none of its own: its definition levels are the
bits of its validity bitmap, or all the same. They become arrays where a list, or a null struct, makes them so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import (
    EMPTY,
    Bitmap,
    frozen,
    leaf_buffers,
    list_buffers,
    pick,
    validity_bitmap,
)
from colwriter.errors import InvalidDataError
from colwriter.levels import CONSTANT, LeafColumn, Levels, Lists, Nulls, flatten
from colwriter.packed_lists import PackedLists, pack_levels
from colwriter.schema import ColumnDescriptor, is_list

__all__ = ["shred"]

Bytes = NDArray[np.uint8]
Int64s = NDArray[np.int64]
_ALL_VALID = Bitmap(EMPTY, 0)
_NO_ROWS = frozen(np.empty(0, np.int64)), frozen(np.empty(0, np.int64))


class _Levels(NamedTuple):
    """Levels down to a node: ``live`` is the definition level of an entry that is defined so far.

    Without ``definition``, entries are one lower where ``valid`` has a zero (and all live if ``valid`` is None).
    ``valid``: which slots, counted since the last list, have no null among the node and its ancestors. ``steps``: as
    of a ``LeafColumn``, all of them.
    """

    num_rows: int
    num_levels: int
    slot_level: int
    live: int
    max_repetition: int
    repetition: Bytes
    definition: Bytes
    valid: Bitmap | None
    steps: tuple[Nulls | Lists, ...] = ()


def shred(
    array: pa.Array, field: pa.Field, columns: list[ColumnDescriptor], arena: Arena, threads: int = 1
) -> Iterator[LeafColumn]:
    """Yield the leaves of one top-level column, in the order of ``columns``, its descriptors.

    Arrays of levels lie in ``arena``. Raises ``InvalidDataError`` where a required field has nulls, or for offsets
    that cannot be followed.
    """
    if not _is_nested(field.type):
        yield _flat_leaf(array, field, columns[0], arena)
        return
    root = _Levels(len(array), len(array), 0, 0, 0, EMPTY, EMPTY, None)
    shredder = _Shredder(deque(columns), arena, threads)
    yield from shredder.field(array, field, root, 1)


def _flat_leaf(array: pa.Array, field: pa.Field, descriptor: ColumnDescriptor, arena: Arena) -> LeafColumn:
    """A leaf at the top of the schema: a row is one level and one slot, and its levels are its validity bitmap."""
    valid = validity_bitmap(array)
    if valid is None:
        valid, definition = _ALL_VALID, CONSTANT
    elif field.nullable:
        definition = Levels(valid.bits, 1, valid.offset)
    else:
        raise InvalidDataError(f"{descriptor.dotted_path}: the field is not nullable, found {array.null_count} null(s)")
    rows = len(array)
    dictionary = None
    if array.type.id == pa.lib.Type_DICTIONARY:
        array, dictionary = _with_dictionary(array, descriptor, valid, arena)
    values, offsets, data, value_offset, views = leaf_buffers(array, descriptor, valid, arena)
    levels = *_NO_ROWS, CONSTANT, definition
    counts = rows, rows, rows, 0
    return LeafColumn(descriptor, *counts, *levels, *valid, values, offsets, data, value_offset, dictionary, views)


def _with_dictionary(
    array: Any, descriptor: ColumnDescriptor, valid: Bitmap, arena: Arena
) -> tuple[pa.Array, LeafColumn | None]:
    """A dictionary-encoded array and its entries; if no slot holds a value, an array of nulls, which needs none."""
    used = len(array)
    if len(valid.bits):
        used = kernels.pagination.count_valid(valid.bits, valid.offset, valid.offset + len(array))
    if not used:
        return pa.nulls(len(array), array.type.value_type), None
    entries = pa.field(descriptor.path[-1], array.type.value_type)
    return array, flatten(_flat_leaf(array.dictionary, entries, descriptor, arena), arena)


@dataclass(slots=True)
class _Shredder:
    """Walks an array depth first. ``columns`` are the leaves to come; ``depth`` is the length of a node's path."""

    columns: deque[ColumnDescriptor]
    arena: Arena
    threads: int

    def path(self, depth: int) -> str:
        """The path of the node that is walked: the first leaf to come is at or below it."""
        return ".".join(self.columns[0].path[:depth])

    def field(self, array: pa.Array, field: pa.Field, levels: _Levels, depth: int) -> Iterator[LeafColumn]:
        if field.nullable:
            levels = self.optional(levels, validity_bitmap(array))
        elif array.null_count:
            self.check_required(levels, validity_bitmap(array), depth)
        yield from self.value(array, field.type, levels, depth)

    def value(self, array: pa.Array, arrow_type: pa.DataType, levels: _Levels, depth: int) -> Iterator[LeafColumn]:
        if is_list(arrow_type):
            if depth == 1 and not _is_nested(arrow_type.value_type):
                leaf = self.full_lists(array, levels) or self.packed_list(array, arrow_type.value_field, levels)
                if leaf is not None:
                    yield leaf
                    return
            child, inner = self.expand(array, arrow_type.value_field, levels, depth)
            yield from self.value(child, arrow_type.value_type, inner, depth + 2)
        elif pa.types.is_map(arrow_type):
            entries = pa.field("key_value", pa.struct([arrow_type.key_field, arrow_type.item_field]), nullable=False)
            child, inner = self.expand(array, entries, levels, depth)
            yield from self.struct(child, entries.type, inner, depth + 1)
        elif pa.types.is_struct(arrow_type):
            yield from self.struct(array, arrow_type, levels, depth)
        else:
            yield self.leaf(array, levels)

    def struct(self, array: pa.Array, arrow_type: pa.DataType, levels: _Levels, depth: int) -> Iterator[LeafColumn]:
        for i in range(arrow_type.num_fields):
            child = arrow_type.field(i)
            yield from self.field(array.field(i), child, levels, depth + 1)

    def leaf(self, array: pa.Array, levels: _Levels) -> LeafColumn:
        descriptor = self.columns.popleft()
        valid = levels.valid or _ALL_VALID
        if len(levels.definition):
            definition = Levels(levels.definition, 8)
        elif levels.valid is None:
            definition = CONSTANT
        elif levels.live == 1:
            definition = Levels(valid.bits, 1, valid.offset)
        else:
            definition = Levels(self.definition(levels), 8)
        rows = _NO_ROWS
        if len(levels.repetition):
            rows = self.arena.take(levels.num_rows + 1, np.int64), self.arena.take(levels.num_rows + 1, np.int64)
            kernels.pagination.locate_rows(
                levels.repetition, definition.data, levels.num_levels, levels.slot_level, *rows
            )
        repetition = Levels(levels.repetition, 8)
        return _leaf_column(descriptor, array, levels, rows, repetition, definition, valid, self.arena)

    def full_lists(self, array: pa.Array, levels: _Levels) -> LeafColumn | None:
        """As ``packed_list``, where no list is null or empty, nor an element null; None if one is.

        Definition levels are all the same then, and levels are slots.
        """
        if levels.valid is not None:
            return None
        values = array.values
        if values.null_count:
            return None
        mark = self.arena.mark()
        rows = self.arena.take(levels.num_levels + 1, np.int64)
        size = array.type.list_size if pa.types.is_fixed_size_list(array.type) else 0
        start, count = array.offset * size, levels.num_levels * size
        if 0 < count <= len(values) - start:
            repetition = self.arena.take(count // 8 + kernels.lists.PADDING)
            kernels.lists.mark_equal_lists(size, levels.num_levels, repetition, rows)
        else:
            offsets, values = list_buffers(array)
            start, end = int(offsets[0]), int(offsets[levels.num_levels])
            repetition = self.arena.take(min(max(end - start, 0), len(values)) // 8 + kernels.lists.PADDING)
            count = int(kernels.lists.mark_lists(offsets, levels.num_levels, len(values), repetition, rows))
            if count < 0:
                self.arena.give_back(mark)
                return None
        inner = _Levels(levels.num_rows, count, levels.live + 1, 0, 1, EMPTY, EMPTY, None)
        packed = Levels(frozen(repetition), 1), CONSTANT
        child = values.slice(start, count)
        return _leaf_column(self.columns.popleft(), child, inner, (rows, rows), *packed, _ALL_VALID, self.arena)

    def packed_list(self, array: pa.Array, element: pa.Field, levels: _Levels) -> LeafColumn | None:
        """The leaf of a list of leaves at the top of a column; None if elements are hidden, or offsets wrong."""
        offsets, values = list_buffers(array)
        span = max(int(offsets[len(array)]) - int(offsets[0]), 0)
        width = 1 if levels.live + 1 + element.nullable == 1 else 2
        lists = levels.valid or _ALL_VALID
        elements = (validity_bitmap(values) if element.nullable else None) or _ALL_VALID
        source = PackedLists(
            lists, levels.live, offsets, levels.num_levels, len(values), elements, int(element.nullable), width
        )
        count, repetition, definition, rows = pack_levels(source, self.arena, self.threads)
        child, valid = values, elements
        if span < len(values):
            child = values.slice(int(offsets[0]), span)
            valid = (validity_bitmap(child) if element.nullable else None) or _ALL_VALID
        if count < 0 or (not element.nullable and child.null_count):
            return None
        inner = _Levels(levels.num_rows, count, levels.live + 1, 0, 1, EMPTY, EMPTY, None, levels.steps)
        packed = Levels(frozen(repetition), 1), Levels(frozen(definition), width)
        return _leaf_column(self.columns.popleft(), child, inner, rows, *packed, valid, self.arena)

    def definition(self, levels: _Levels) -> Bytes:
        """The definition levels as an array, which they may not be yet."""
        if len(levels.definition) or not levels.num_levels:
            return levels.definition
        out: Bytes = self.arena.take(levels.num_levels + kernels.shredding.PADDING)
        if levels.valid is None:
            out[:] = levels.live
        else:
            kernels.shredding.validity_levels(
                levels.valid.bits, levels.valid.offset, levels.num_levels, levels.live - 1, out
            )
        return frozen(out)

    def optional(self, levels: _Levels, valid: Bitmap | None) -> _Levels:
        """One definition level more, for entries that are live and valid."""
        cumulative = self.intersect(levels, valid)
        steps = levels.steps
        if valid is not None and cumulative is not None:
            steps += (Nulls(levels.slot_level, levels.live, *cumulative),)
        if len(levels.definition) == 0 and levels.valid is None:
            rows, count, slot_level, live, deepest, repetition, definition, *_ = levels
            return _Levels(rows, count, slot_level, live + 1, deepest, repetition, definition, valid, steps)
        definition = self.definition(levels)
        out: Bytes = self.arena.take(levels.num_levels + kernels.shredding.PADDING)
        bitmap = valid or _ALL_VALID
        kernels.shredding.apply_validity(
            definition, levels.num_levels, levels.slot_level, levels.live, bitmap.bits, bitmap.offset, out
        )
        return levels._replace(live=levels.live + 1, definition=frozen(out), valid=cumulative, steps=steps)

    def intersect(self, levels: _Levels, valid: Bitmap | None) -> Bitmap | None:
        if levels.valid is None or valid is None:
            return levels.valid or valid
        # A slot is at most one level, so there are no more slots than levels.
        bits = (8 * len(each.bits) - each.offset for each in (levels.valid, valid))
        slots = min(levels.num_levels, *bits)
        out: Bytes = self.arena.take(slots // 8 + 1)
        kernels.shredding.intersect_bitmaps(
            levels.valid.bits, levels.valid.offset, valid.bits, valid.offset, slots, out
        )
        return Bitmap(frozen(out), 0)

    def check_required(self, levels: _Levels, valid: Bitmap | None, depth: int) -> None:
        """A required field may be null only where an ancestor is."""
        assert valid is not None
        live = levels.live
        raised = self.optional(levels, valid)
        before = self.definition(levels)[: levels.num_levels]
        after = self.definition(raised)[: levels.num_levels]
        nulls = int(np.count_nonzero(before == live) - np.count_nonzero(after == live + 1))
        if nulls:
            raise InvalidDataError(f"{self.path(depth)}: the field is not nullable, found {nulls} null(s)")

    def expand(self, array: pa.Array, element: pa.Field, levels: _Levels, depth: int) -> tuple[pa.Array, _Levels]:
        """Lists to their elements: the array of the elements, and their levels."""
        offsets, values = list_buffers(array)
        definition = levels.definition if levels.valid is None else self.definition(levels)
        out = self.expand_lists(definition, offsets, values, element, levels)
        if isinstance(out, int) and out == kernels.shredding.HIDDEN_VALUES:
            offsets, values = self.without_hidden(definition, offsets, values, levels, self.path(depth))
            out = self.expand_lists(definition, offsets, values, element, levels)
        if isinstance(out, int):
            raise _invalid_offsets(self.path(depth), len(values))
        repetition, new_definition, count = out
        child = values.slice(int(offsets[0]), int(offsets[len(array)]) - int(offsets[0]))
        live = levels.live + 1 + int(element.nullable)
        if not element.nullable and child.null_count:
            name = self.path(depth + (1 if pa.types.is_map(array.type) else 2))
            raise InvalidDataError(f"{name}: the field is not nullable, found {child.null_count} null(s)")
        repetition_level = levels.max_repetition + 1
        steps: tuple[Nulls | Lists, ...] = (
            *levels.steps,
            Lists(levels.slot_level, levels.live, repetition_level, offsets),
        )
        valid = validity_bitmap(child) if element.nullable else None
        if valid is not None:
            steps += (Nulls(levels.live + 1, levels.live + 1, *valid),)
        return child, _Levels(
            num_rows=levels.num_rows,
            num_levels=count,
            slot_level=levels.live + 1,
            live=live,
            max_repetition=repetition_level,
            repetition=repetition,
            definition=new_definition,
            valid=valid,
            steps=steps,
        )

    def expand_lists(
        self, definition: Bytes, offsets: NDArray[Any], values: pa.Array, element: pa.Field, levels: _Levels
    ) -> tuple[Bytes, Bytes, int] | int:
        padding = kernels.shredding.PADDING
        span = max(int(offsets[len(offsets) - 1]) - int(offsets[0]), 0)
        room = levels.num_levels + min(span, len(values)) + padding
        repetition_out: Bytes = self.arena.take(room)
        definition_out: Bytes = self.arena.take(room)
        valid = (validity_bitmap(values) if element.nullable else None) or _ALL_VALID
        count = kernels.shredding.expand_lists(
            levels.repetition,
            definition,
            levels.num_levels,
            levels.slot_level,
            levels.live,
            offsets,
            len(values),
            levels.max_repetition + 1,
            valid.bits,
            valid.offset,
            element.nullable,
            repetition_out,
            definition_out,
        )
        if count < 0:
            return int(count)
        return frozen(repetition_out), frozen(definition_out), int(count)

    def without_hidden(
        self,
        definition: Bytes,
        offsets: NDArray[Any],
        values: pa.Array,
        levels: _Levels,
        path: str,
    ) -> tuple[NDArray[Any], pa.Array]:
        """Take the elements out that only null lists span: they are not part of the column (Arrow columnar format)."""
        mask = np.zeros(len(values), np.bool_)
        lengths = np.zeros(len(offsets) - 1, np.int64)
        total = kernels.shredding.live_elements(
            definition, levels.num_levels, levels.slot_level, levels.live, offsets, len(values), lengths, mask
        )
        if total < 0:
            raise _invalid_offsets(path, len(values))
        packed = np.zeros(len(offsets), offsets.dtype)
        np.cumsum(lengths, out=packed[1:])
        try:
            values.validate(full=True)  # pyarrow would follow offsets wherever they lead
        except pa.ArrowInvalid as error:
            raise InvalidDataError(f"{path}: the array is not valid Arrow: {error}") from error
        return frozen(packed), pick(values, np.flatnonzero(mask))


def _is_nested(arrow_type: pa.DataType) -> bool:
    return bool(pa.types.is_nested(arrow_type))


def _leaf_column(
    descriptor: ColumnDescriptor,
    array: pa.Array,
    levels: _Levels,
    rows: tuple[Int64s, Int64s],
    repetition: Levels,
    definition: Levels,
    valid: Bitmap,
    arena: Arena,
) -> LeafColumn:
    dictionary = None
    if array.type.id == pa.lib.Type_DICTIONARY:
        array, dictionary = _with_dictionary(array, descriptor, valid, arena)
    buffers = leaf_buffers(array, descriptor, valid, arena)
    follow = descriptor.max_definition_level - 1, levels.slot_level - 1
    return LeafColumn(
        descriptor=descriptor,
        num_rows=levels.num_rows,
        num_levels=levels.num_levels,
        num_slots=len(array),
        slot_level=levels.slot_level,
        row_levels=frozen(rows[0]),
        row_slots=frozen(rows[1]),
        repetition_levels=repetition,
        definition_levels=definition,
        validity=valid.bits,
        bit_offset=valid.offset,
        values=buffers.values,
        offsets=buffers.offsets,
        data=buffers.data,
        value_offset=buffers.bit_offset,
        dictionary=dictionary,
        views=buffers.views,
        steps=levels.steps and tuple(step for step in levels.steps if step.level not in follow),
    )


def _invalid_offsets(path: str, size: int) -> InvalidDataError:
    return InvalidDataError(
        f"{path}: offsets must not go down nor past the {size} items of the data, found some that do"
    )
