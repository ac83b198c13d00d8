"""The distinct values of a leaf, in the order in which they are met, and the index of each value.

Threads share the work where there is much of it, and the result is that of one: the first slots are indexed before the
others. If they have few distinct values, each half of the rest is indexed by a thread of its own, which starts from
those; then what is new in the second half is added to the dictionary of the first. Where that does not fit, the second
half is indexed once more, after the first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import EMPTY, frozen
from colwriter.levels import LeafColumn
from colwriter.parallel import side_by_side

__all__ = ["ByteArrays", "Found", "Numbers", "index_values"]

Indices = NDArray[np.int32]
# Slots from which threads share the work: to hand over half of it takes fifty microseconds. As many more must there be
# for each entry known so far, which the other thread and the joined dictionary need too. See docs/performance.md.
SHARED_SLOTS = 1 << 18
SLOTS_PER_ENTRY = 40
# The share of the slots that is indexed before the others.
FIRST_SHARE = 32
# Of the other slots, those of the thread that asks, in 32nds: it begins earlier, and to wait for the other takes longer
# than to be waited for.
FIRST_HALF = 17


class Found(NamedTuple):
    """Distinct values, values with an index, and bytes of these if they are byte arrays.

    ``entries`` may be a status of ``kernels.dictionary``.
    """

    entries: int
    indexed: int
    value_bytes: int


class Numbers(NamedTuple):
    """At most ``max_entries`` numbers."""

    leaf: LeafColumn
    max_entries: int
    arena: Arena
    values: NDArray[Any]
    table: Indices

    @classmethod
    def make(cls, leaf: LeafColumn, max_entries: int, arena: Arena) -> Numbers:
        """Without any entries yet."""
        size = kernels.dictionary.table_size(max_entries) + kernels.dictionary.BLOCK
        return cls(leaf, max_entries, arena, arena.take(max_entries, leaf.values.dtype), arena.take(size, np.int32))

    def find(self, start: int, end: int, probation: int, known: int, indices: Indices) -> Found:
        """Index the values of slots ``[start, end)``, after the ``known`` first entries, until one does not fit."""
        leaf = self.leaf
        count, indexed = kernels.dictionary.build_fixed(
            leaf.values,
            leaf.validity,
            leaf.bit_offset,
            start,
            end,
            self.max_entries,
            probation,
            known,
            self.table,
            self.values,
            indices,
        )
        return Found(count, indexed, 0)

    def copy(self, known: int) -> Numbers:
        """The ``known`` first entries, to which another thread may add."""
        other = Numbers.make(self.leaf, self.max_entries, self.arena)
        other.values[:known] = self.values[:known]
        return other

    def add(self, known: int, others: Numbers, first: int, mapping: Indices) -> int:
        """Add the ``others`` from ``first`` on to the ``known`` first entries; returns how many there are then.

        ``mapping`` has an item for each of them and takes its index. 0 is returned if not all of them fit.
        """
        values = frozen(others.values[first : first + len(mapping)])
        leaf = self.leaf._replace(values=values, validity=EMPTY)
        found = self._replace(leaf=leaf).find(0, len(values), 0, known, mapping)
        return found.entries if found.indexed == len(mapping) else 0


class ByteArrays(NamedTuple):
    """Byte arrays whose dictionary page takes at most ``limit`` bytes: ``slots`` int64, where each was met first."""

    leaf: LeafColumn
    limit: int
    arena: Arena
    slots: NDArray[np.int64]
    keys: NDArray[np.uint64]
    table: Indices

    @classmethod
    def make(cls, leaf: LeafColumn, limit: int, max_entries: int, arena: Arena) -> ByteArrays:
        """Without any entries yet."""
        keys = arena.take(kernels.dictionary.KEY_WORDS * max_entries, np.uint64)
        table = arena.take(kernels.dictionary.table_size(max_entries) + kernels.dictionary.BLOCK, np.int32)
        return cls(leaf, limit, arena, arena.take(max_entries, np.int64), keys, table)

    def find(self, start: int, end: int, probation: int, known: int, indices: Indices) -> Found:
        """As that of ``Numbers``; if offsets are wrong, ``entries`` is ``kernels.dictionary.INVALID_OFFSETS``."""
        leaf = self.leaf
        count, indexed, value_bytes = kernels.dictionary.build_byte_arrays(
            leaf.offsets,
            leaf.data,
            leaf.validity,
            leaf.bit_offset,
            start,
            end,
            self.limit,
            probation,
            known,
            self.table,
            self.keys,
            self.slots,
            indices,
        )
        return Found(count, indexed, value_bytes)

    def copy(self, known: int) -> ByteArrays:
        """The ``known`` first entries, to which another thread may add."""
        other = ByteArrays.make(self.leaf, self.limit, len(self.slots), self.arena)
        other.slots[:known] = self.slots[:known]
        words = kernels.dictionary.KEY_WORDS * known
        other.keys[:words] = self.keys[:words]
        return other

    def add(self, known: int, others: ByteArrays, first: int, mapping: Indices) -> int:
        """As that of ``Numbers``."""
        return int(
            kernels.merging.merge_byte_arrays(
                self.leaf.offsets,
                self.leaf.data,
                self.limit,
                self.table,
                self.keys,
                self.slots,
                known,
                others.keys[kernels.dictionary.KEY_WORDS * first :],
                others.slots[first:],
                mapping,
            )
        )


def index_values(
    entries: Numbers | ByteArrays, probation: int, num_values: int, indices: Indices, threads: int
) -> Found:
    """Index the values of the leaf, until one does not fit. ``indices`` has room for ``num_values``, which is all.

    ``probation``: see ``kernels.dictionary``.
    """
    leaf = entries.leaf
    slots = leaf.num_slots
    if threads == 1 or probation or slots < SHARED_SLOTS:
        return entries.find(0, slots, probation, 0, indices)
    start = slots // FIRST_SHARE
    first = entries.find(0, start, 0, 0, indices)
    if first.entries < 0 or first.indexed < _values_before(leaf, start):  # wrong, or full
        return first
    if SLOTS_PER_ENTRY * first.entries > slots - SHARED_SLOTS // 2:
        return _index_after(entries, first, start, slots, indices)
    return _index_halves(entries, first, start, num_values, indices, threads)


def _index_halves(
    entries: Numbers | ByteArrays, first: Found, start: int, num_values: int, indices: Indices, threads: int
) -> Found:
    """What is ``first``, before slot ``start``, and what two threads find from there on."""
    slots = entries.leaf.num_slots
    middle = start + (slots - start) * FIRST_HALF // 32
    before = _values_before(entries.leaf, middle)
    others: Any = entries.copy(first.entries)

    def half(number: int) -> Found:
        if number == 0:
            return _index_after(entries, first, start, middle, indices)
        found: Found = others.find(middle, slots, 0, first.entries, indices[before:])
        return found

    found, later = side_by_side(half, (0, 1), threads)
    if found.entries < 0 or found.indexed < before:
        return found
    mapping: Indices = np.arange(max(later.entries, 0), dtype=np.int32)
    count = 0
    if later.indexed == num_values - before:
        count = entries.add(found.entries, others, first.entries, mapping[first.entries :])
    if count == 0:
        return _index_after(entries, found, middle, slots, indices)
    if first.entries < min(found.entries, later.entries):
        kernels.merging.remap(indices[before:num_values], mapping)
    return Found(count, num_values, found.value_bytes + later.value_bytes)


def _index_after(entries: Numbers | ByteArrays, found: Found, start: int, end: int, indices: Indices) -> Found:
    """What was found before slot ``start``, and what is found in ``[start, end)``."""
    more = entries.find(start, end, 0, found.entries, indices[found.indexed :])
    return Found(more.entries, found.indexed + more.indexed, found.value_bytes + more.value_bytes)


def _values_before(leaf: LeafColumn, slot: int) -> int:
    if not len(leaf.validity):
        return slot
    start = leaf.bit_offset
    return int(kernels.pagination.count_valid(leaf.validity, start, start + slot))
