"""A sample of a leaf's values: a few runs of neighbours, and an estimate of how many values there are that differ.

Neighbours, since differences and codecs live off them; a few runs, since a column is not everywhere the same. Where the
runs lie depends on the number of slots alone, so that the same column has the same sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.buffers import EMPTY, Views, frozen
from colwriter.encodings.dictionary import SAMPLE_SIZE, sample_values
from colwriter.encodings.plain import invalid_offsets, value_bits
from colwriter.leaf_types import Storage
from colwriter.levels import LeafColumn, flatten
from colwriter.pages import Pages

__all__ = ["Sample", "count_values", "estimate_distinct", "take_sample"]

Int64s = NDArray[np.int64]
RUNS = 4
# Values of a sample: one in ``SHARE`` of all, between these limits; eight times as many if they are bits.
SHARE = 64
LEAST_VALUES, MOST_VALUES = 1 << 10, 1 << 12
MOST_BYTES = 1 << 18
# Slots of a run, at most, for each value that is wanted: a column of which less has values is not worth the search.
MOST_SLOTS = 64
# Bytes of a view.
VIEW = 16


class Sample(NamedTuple):
    """``leaf``: the slots of the runs, one run after another, as a leaf of its own; ``pages``: a page for each run.

    ``num_values`` are those of the sample, no null counted. ``spread``: what the sample is of; of views, single slots
    that are spread over all of it.
    """

    leaf: LeafColumn
    pages: Pages
    num_values: int
    spread: LeafColumn


def count_values(leaf: LeafColumn) -> int:
    """Slots that hold a value."""
    if len(leaf.validity) == 0:
        return leaf.num_slots
    start = leaf.bit_offset
    return int(kernels.pagination.count_valid(leaf.validity, start, start + leaf.num_slots))


def take_sample(leaf: LeafColumn, num_values: int, arena: Arena) -> Sample:
    """A sample of a leaf that has ``num_values`` values, at least one; the sample itself may turn out to have none.

    Raises ``InvalidDataError`` for offsets or views that cannot be followed.
    """
    spread = leaf if leaf.views is None else _spread(leaf, arena)
    runs = _runs(leaf, num_values, _value_bytes(spread))
    slots = _sums(end - start for start, end in runs)
    validity, values = EMPTY, slots
    if len(leaf.validity):
        valid = [_bits(leaf.validity, leaf.bit_offset, run) for run in runs]
        values = _sums(int(np.count_nonzero(bits)) for bits in valid)
        if values[-1] < slots[-1]:
            validity = _packed(valid)
    count = slots[-1]
    sample = leaf._replace(
        num_rows=count,
        num_levels=count,
        num_slots=count,
        validity=validity,
        bit_offset=0,
        value_offset=0,
        **_slots(leaf, runs),
    )
    return Sample(flatten(sample, arena), Pages.of(slots, slots, slots, values), values[-1], spread)


def _sums(counts: Iterable[int]) -> list[int]:
    """0, the first of the counts, the sum of the first two, and so on."""
    return list(accumulate(counts, initial=0))


def _spread(leaf: LeafColumn, arena: Arena) -> LeafColumn:
    """Slots of views that are spread over a leaf, as byte arrays: a part of them is looked up faster than all."""
    assert leaf.views is not None
    total = leaf.num_slots
    steps = np.arange(min(SAMPLE_SIZE, total))
    slots = ((steps + _scattered(len(steps))) * (total / len(steps))).astype(np.int64)
    validity = leaf.validity
    if len(validity):
        bits = slots + leaf.bit_offset
        validity = _packed([validity[bits >> 3] >> (bits & 7) & 1])
    views = frozen(leaf.views.slots.reshape(-1, VIEW)[slots].reshape(-1))
    found = leaf._replace(
        num_slots=len(slots), validity=validity, bit_offset=0, views=Views.make(views, leaf.views.owner)
    )
    return flatten(found, arena)


def _runs(leaf: LeafColumn, num_values: int, value_bytes: float) -> list[tuple[int, int]]:
    """First slot and end of each run, one in each of as many parts of the leaf, at a place that has no period."""
    total = leaf.num_slots
    times = 8 if leaf.descriptor.leaf.storage is Storage.BITS else 1
    wanted = min(max(num_values / SHARE, times * LEAST_VALUES), times * MOST_VALUES)
    wanted = min(wanted, MOST_BYTES / value_bytes)
    length = max(int(wanted / RUNS * min(total / num_values, MOST_SLOTS)), 1)
    if RUNS * length >= total:
        return [(0, total)]
    part = total / RUNS
    starts = ((np.arange(RUNS) + _scattered(RUNS) * (1 - length / part)) * part).astype(np.int64)
    return [(start, start + length) for start in starts.tolist()]


def _scattered(count: int) -> NDArray[np.float64]:
    """float64[count] of [0, 1), as if at random, but the same each time."""
    out = np.empty(count)
    kernels.sampling.scatter(out)
    return out


def _value_bytes(leaf: LeafColumn) -> float:
    """Bytes of a value, those of byte arrays on average."""
    size = value_bits(leaf) / 8
    if leaf.descriptor.leaf.storage is Storage.BYTE_ARRAYS:
        size += max(int(leaf.offsets[leaf.num_slots]) - int(leaf.offsets[0]), 0) / max(count_values(leaf), 1)
    return size


def _bits(bitmap: NDArray[np.uint8], offset: int, run: tuple[int, int]) -> NDArray[np.uint8]:
    """The bits of a run, a byte each."""
    start, end = offset + run[0], offset + run[1]
    bits = np.unpackbits(bitmap[start >> 3 : (end + 7) >> 3], bitorder="little")
    return bits[start & 7 : (start & 7) + end - start]


def _packed(bits: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    return frozen(np.packbits(np.concatenate(bits), bitorder="little"))


def _slots(leaf: LeafColumn, runs: list[tuple[int, int]]) -> dict[str, Any]:
    """What the slots of the runs hold, in the fields of ``LeafColumn``."""
    storage = leaf.descriptor.leaf.storage
    if storage is Storage.NUMBERS:
        return {"values": frozen(np.concatenate([leaf.values[start:end] for start, end in runs]))}
    if storage is Storage.BITS:
        return {"data": _packed([_bits(leaf.data, leaf.value_offset, run) for run in runs])}
    if leaf.views is not None:
        views = leaf.views.slots.reshape(-1, VIEW)
        some = frozen(np.concatenate([views[start:end] for start, end in runs]).reshape(-1))
        return {"views": Views.make(some, leaf.views.owner)}
    offsets, data, base = [], [], 0
    for start, end in runs:
        of_run = leaf.offsets[start : end + 1]
        first, last = int(of_run[0]), int(of_run[-1])
        if not 0 <= first <= last <= len(leaf.data):
            raise invalid_offsets(leaf)
        offsets.append(of_run[:-1] - (first - base))
        data.append(leaf.data[first:last])
        base += last - first
    offsets.append(np.array([base], leaf.offsets.dtype))
    return {"offsets": frozen(np.concatenate(offsets)), "data": frozen(np.concatenate(data))}


def estimate_distinct(leaf: LeafColumn, num_values: int, arena: Arena) -> float:
    """How many different values a leaf of numbers or byte arrays has, from values spread over all of it.

    Chao's estimate (A. Chao, "Nonparametric estimation of the number of classes in a population", 1984), from how many
    are met once and how many twice. It is exact on average where all values are equally frequent; else it says too few.
    """
    sample = sample_values(leaf, arena)
    sample.sort()
    distinct, once, twice = kernels.sampling.count_classes(sample)
    return float(min(distinct + once * (once - 1) / (2 * (twice + 1)), num_values))
