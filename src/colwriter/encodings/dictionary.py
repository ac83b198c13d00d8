"""RLE_DICTIONARY (Encodings.md, "Dictionary Encoding"), and whether it pays.

A sample says whether a dictionary is likely to pay. If not, it is on probation: what repeats near the start of the
chunk may be worth one, but it is given up as soon as it costs more than it saves. A dictionary is built until it is
full; the rest of the chunk is PLAIN. It is kept only if it, and the indices into it, take fewer bytes than the values
would (``pays``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.encodings.distinct import ByteArrays, Numbers, index_values
from colwriter.encodings.plain import find_fixed_extremes, fixed_offsets, invalid_offsets, value_bits
from colwriter.errors import InvalidDataError
from colwriter.kernels.page_table import END, SLOT, START, VALUE, VALUE_BYTES
from colwriter.keys import find_float_extremes, integer_keys
from colwriter.leaf_types import Order, Storage
from colwriter.levels import LeafColumn
from colwriter.options import UNLIMITED
from colwriter.pages import Pages, bit_width

__all__ = [
    "Dictionary",
    "build",
    "covered_values",
    "distinct_count",
    "encode",
    "find_repeats",
    "index_bits",
    "pays",
    "recode",
    "sample_values",
]

SAMPLE_SIZE = 2048
# Fewer values than this are not worth a sample.
SMALL = 4 * SAMPLE_SIZE
# Values after which a dictionary that is not likely to pay must have paid.
PROBATION = 1024
# An index has a bit even if there is one entry: some readers do not expect none.
LEAST_WIDTH = 1


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Distinct values, and the index of each of the first ``num_values`` values of the leaf (with padding after them).

    ``entries``: the values, or for byte arrays the slots of ``source`` that hold them. ``value_bytes``: bytes of the
    byte arrays that have an index, without their lengths.
    """

    source: LeafColumn
    entries: NDArray[Any]
    indices: NDArray[np.int32]
    num_values: int
    page: NDArray[np.uint8]
    value_bytes: int

    @property
    def num_entries(self) -> int:
        """Number of distinct values."""
        return len(self.entries)


def distinct_count(dictionary: Dictionary, nan_count: int | None) -> int | None:
    """How many of the entries, of different bytes, are different values; None if that is a matter of definition.

    So it is with several zeros, or NaN, of floating-point numbers, of which alone there is a ``nan_count``.
    """
    if nan_count is not None:
        bits = dictionary.page.view(f"u{dictionary.page.nbytes // dictionary.num_entries}")
        if nan_count > 0 or np.count_nonzero(bits << 1) < dictionary.num_entries - 1:  # the sign is shifted out
            return None
    return dictionary.num_entries


def index_bits(dictionary: Dictionary) -> int:
    """Bits of the largest index."""
    return max(bit_width(dictionary.num_entries - 1), LEAST_WIDTH)


def build(leaf: LeafColumn, limit: int, arena: Arena, promised: bool = False, threads: int = 1) -> Dictionary | None:
    """A dictionary whose page takes at most ``limit`` bytes, or None where none will pay.

    If it is ``promised`` that one will, no sample is taken. It is the same for any number of
    ``threads``.
    """
    num_values = leaf.num_slots
    if len(leaf.validity):
        start = leaf.bit_offset
        num_values = kernels.pagination.count_valid(leaf.validity, start, start + leaf.num_slots)
    storage = leaf.descriptor.leaf.storage
    if num_values == 0 or storage is Storage.BITS:
        return None
    if storage is Storage.NUMBERS:
        return _build_fixed(leaf, num_values, limit, arena, promised, threads)
    if storage is Storage.BYTE_ARRAYS:
        return _build_byte_arrays(leaf, num_values, limit, arena, promised, threads)
    return _build_fixed_bytes(leaf, num_values, limit, arena, promised, threads)


def find_repeats(leaf: LeafColumn, rows: int, arena: Arena) -> list[bool]:
    """Whether a value comes twice among each ``rows`` slots of a leaf; else no dictionary of them pays.

    Raises ``InvalidDataError`` for offsets that cannot be followed.
    """
    storage = leaf.descriptor.leaf.storage
    if storage is Storage.BITS:  # which have no dictionary
        return [False] * (leaf.num_slots // rows)
    if storage is Storage.FIXED_BYTES:
        leaf = leaf._replace(offsets=fixed_offsets(leaf))
    entries: Numbers | ByteArrays
    if storage is Storage.NUMBERS:
        entries = Numbers.make(leaf, rows, arena)
    else:
        entries = ByteArrays.make(leaf, UNLIMITED, rows, arena)
    indices = arena.take(rows + kernels.rle.INDEX_PADDING, np.int32)
    found = [entries.find(start, start + rows, 0, 0, indices) for start in range(0, leaf.num_slots, rows)]
    if any(each.entries < 0 for each in found):
        raise invalid_offsets(leaf)
    return [each.entries < each.indexed for each in found]


def recode(leaf: LeafColumn, arena: Arena) -> Dictionary | None:
    """The dictionary of a leaf that is dictionary-encoded already: the entries that it refers to.

    None if it refers to none. Raises ``InvalidDataError`` for a code that no entry has.
    """
    source = leaf.dictionary
    assert source is not None
    mapping = arena.take(source.num_slots, np.int32)
    mapping[:] = 0
    slots = arena.take(source.num_slots, np.int64)
    indices = arena.take(leaf.num_slots + kernels.rle.INDEX_PADDING, np.int32)
    count, num_values = kernels.codes.recode(leaf.values, leaf.validity, leaf.bit_offset, mapping, slots, indices)
    if count < 0:
        raise InvalidDataError(
            f"{leaf.descriptor.dotted_path}: the array is not valid Arrow: expected indices of its "
            f"{source.num_slots} dictionary entries, found some that are none"
        )
    if count == 0:
        return None
    slots = slots[:count]
    indices = indices[: num_values + kernels.rle.INDEX_PADDING]
    if leaf.descriptor.leaf.storage is Storage.NUMBERS:
        entries = source.values[slots]
        return Dictionary(source, entries, indices, num_values, entries.view(np.uint8), 0)
    page, _ = _write_entries(source, slots, arena)
    return Dictionary(source, slots, indices, num_values, page, 0)


def _write_entries(source: LeafColumn, slots: NDArray[np.int64], arena: Arena) -> tuple[NDArray[np.uint8], int]:
    """The dictionary page of byte arrays, and the bytes of those without their lengths."""
    starts = source.offsets[slots].astype(np.int64)
    lengths = source.offsets[slots + 1] - starts
    if len(slots) and (lengths.min() < 0 or starts.min() < 0 or int((starts + lengths).max()) > len(source.data)):
        raise invalid_offsets(source)
    total = int(lengths.sum())
    page = arena.take(total + 4 * len(slots) + kernels.plain.OUT_PADDING)
    size = kernels.dictionary.write_byte_array_entries(source.offsets, source.data, slots, len(slots), page)
    return page[:size], total


def _build_fixed_bytes(
    leaf: LeafColumn, num_values: int, limit: int, arena: Arena, promised: bool, threads: int
) -> Dictionary | None:
    """As of byte arrays, whose lengths are not written."""
    width = leaf.descriptor.leaf.type_length or 0
    dictionary = _build_byte_arrays(
        leaf._replace(offsets=fixed_offsets(leaf)), num_values, limit, arena, promised, threads
    )
    if dictionary is None:
        return None
    page = leaf.data.reshape(-1, width)[dictionary.entries].reshape(-1)
    return replace(dictionary, page=page, value_bytes=0)


def _promising(met: int, distinct: int, num_values: int, width: float, limit: int) -> bool:
    """Whether a sample of ``met`` values, ``distinct`` of them, lets expect that a dictionary pays.

    Drawn from D values that are equally frequent, a sample of n meets about n² / 2D twice (the birthday problem).
    Values of unequal frequency meet more often, so D is then an underestimate, and the dictionary is tried.
    """
    if met < 32:
        return True
    twice = met - distinct
    entries = met * met / (2 * twice) if twice else float("inf")
    entries, covered = covered_values(min(entries, num_values), num_values, limit / width)
    bits = bit_width(max(int(entries) - 1, 0))
    return entries * width + covered * bits / 8 < 0.95 * covered * width


def covered_values(entries: float, num_values: int, most: float) -> tuple[float, float]:
    """Of ``num_values`` values, ``entries`` of them distinct, how many a dictionary of ``most`` entries holds at most.

    Returns the entries that it has, and the values. They are drawn as in ``_promising``.
    """
    if entries <= most:
        return entries, float(num_values)
    # Full after about `most` entries; until then hardly a value came twice if entries is much larger.
    return most, min(float(num_values), -entries * float(np.log1p(-min(most / entries, 0.999999))))


def sample_values(leaf: LeafColumn, arena: Arena) -> NDArray[np.int64]:
    """The values of ``SAMPLE_SIZE`` slots that are spread over a leaf; of byte arrays, their hashes."""
    sample: NDArray[np.int64] = arena.take(min(SAMPLE_SIZE, leaf.num_slots), np.int64)
    slots = leaf.validity, leaf.bit_offset, 0, leaf.num_slots, sample
    if leaf.descriptor.leaf.storage is Storage.NUMBERS:
        met = kernels.sampling.sample_fixed(leaf.values, *slots)
    else:
        met = kernels.sampling.hash_slots(leaf.offsets, leaf.data, *slots)
    if met < 0:
        raise invalid_offsets(leaf)
    return sample[:met]


def _distinct(sample: NDArray[np.int64]) -> int:
    """How many different numbers there are; it puts them in order. (``np.unique`` takes three times as long.)"""
    sample.sort()
    return int(np.count_nonzero(sample[1:] != sample[:-1])) + 1 if len(sample) else 0


def _build_fixed(
    leaf: LeafColumn, num_values: int, limit: int, arena: Arena, promised: bool, threads: int
) -> Dictionary | None:
    width = int(leaf.values.itemsize)
    max_entries = min(limit // width, num_values)
    if max_entries == 0:
        return None
    probation = 0
    if num_values > SMALL and not promised:
        sample = sample_values(leaf, arena)
        if not _promising(len(sample), _distinct(sample), num_values, width, limit):
            probation = PROBATION
    entries = Numbers.make(leaf, max_entries, arena)
    indices = arena.take(num_values + kernels.rle.INDEX_PADDING, np.int32)
    count, indexed, _ = index_values(entries, probation, num_values, indices, threads)
    if count == 0 or count == indexed:  # each value once: its page alone is what the values are in PLAIN
        return None
    values = entries.values[:count]
    return Dictionary(
        leaf, values, indices[: indexed + kernels.rle.INDEX_PADDING], int(indexed), values.view(np.uint8), 0
    )


def _build_byte_arrays(
    leaf: LeafColumn, num_values: int, limit: int, arena: Arena, promised: bool, threads: int
) -> Dictionary | None:
    max_entries = min(limit // 4, num_values)
    if max_entries == 0:
        return None
    span = max(int(leaf.offsets[leaf.num_slots]) - int(leaf.offsets[0]), 0)
    probation = 0
    if num_values > SMALL and not promised:
        sample = sample_values(leaf, arena)
        if not _promising(len(sample), _distinct(sample), num_values, span / num_values + 4, limit):
            probation = PROBATION
    entries = ByteArrays.make(leaf, limit, max_entries, arena)
    indices = arena.take(num_values + kernels.rle.INDEX_PADDING, np.int32)
    count, indexed, value_bytes = index_values(entries, probation, num_values, indices, threads)
    if count < 0:
        raise invalid_offsets(leaf)
    if count == 0 or count == indexed:
        return None
    page = arena.take(min(limit, span + 4 * count) + kernels.plain.OUT_PADDING)
    size = kernels.dictionary.write_byte_array_entries(leaf.offsets, leaf.data, entries.slots, count, page)
    return Dictionary(
        leaf,
        entries.slots[:count],
        indices[: indexed + kernels.rle.INDEX_PADDING],
        int(indexed),
        page[:size],
        int(value_bytes),
    )


def encode(
    leaf: LeafColumn,
    dictionary: Dictionary,
    pages: Pages,
    room: int,
    bounds: bool,
    arena: Arena,
) -> NDArray[np.uint8]:
    """Encode the indices of all pages: a byte with their width, then the RLE/bit-packed hybrid."""
    size = kernels.rle.hybrid_bound(pages.total(VALUE), len(pages), index_bits(dictionary))
    out = arena.take(size + room + kernels.plain.OUT_PADDING)
    kernels.rle.encode_indices(dictionary.indices, LEAST_WIDTH, pages.table, out)
    _find_value_bytes(leaf, dictionary, pages)
    if bounds and leaf.descriptor.leaf.order is Order.FLOAT:
        find_float_extremes(leaf.values, leaf.validity, leaf.bit_offset, pages.ranges(SLOT), pages)
    elif bounds:
        _find_extremes(leaf, dictionary, pages, arena)
    return out


def _find_extremes(leaf: LeafColumn, dictionary: Dictionary, pages: Pages, arena: Arena) -> None:
    """The least and the greatest of the entries that each page refers to."""
    storage, leaf = leaf.descriptor.leaf.storage, dictionary.source
    if storage is Storage.FIXED_BYTES:
        find_fixed_extremes(leaf, pages)
        return
    if storage is Storage.BYTE_ARRAYS:
        kernels.index_bounds.min_max_indices_byte_arrays(
            leaf.offsets,
            leaf.data,
            dictionary.indices,
            dictionary.entries,
            arena.take(dictionary.num_entries, np.int32),
            arena.take(dictionary.num_entries, np.uint64),
            pages.table,
        )
    else:
        keys = integer_keys(dictionary.entries, leaf.descriptor.leaf.order)
        kernels.index_bounds.min_max_indices_fixed(dictionary.indices, keys, pages.table)


def _find_value_bytes(leaf: LeafColumn, dictionary: Dictionary, pages: Pages) -> None:
    """Bytes of the byte arrays of each page. If null slots span none, it is the distance between offsets."""
    if leaf.descriptor.leaf.storage is not Storage.BYTE_ARRAYS:
        return
    if leaf.dictionary is not None:
        source, slots = dictionary.source, dictionary.entries
        lengths = np.asarray(source.offsets[slots + 1] - source.offsets[slots], np.int32)
        kernels.codes.sum_entry_lengths(dictionary.indices, lengths, pages.table)
        return
    span = int(leaf.offsets[leaf.num_slots]) - int(leaf.offsets[0])
    if span == dictionary.value_bytes:  # all values are in it, and null slots span no bytes
        pages.table[:-1, VALUE_BYTES] = np.diff(leaf.offsets[pages.fences(SLOT)])
    else:
        kernels.plain.sum_lengths(leaf.offsets, leaf.validity, leaf.bit_offset, pages.table)


def pays(leaf: LeafColumn, dictionary: Dictionary, encoded: Iterable[Pages]) -> bool:
    """Whether the dictionary page and the indices are smaller than the same values in PLAIN."""
    indices = plain = 0
    for pages in encoded:
        indices += pages.sum(END) - pages.sum(START)
        plain += pages.total(VALUE) * value_bits(leaf) // 8
        if leaf.descriptor.leaf.storage is Storage.BYTE_ARRAYS:
            plain += pages.sum(VALUE_BYTES)
    return len(dictionary.page) + indices < plain
