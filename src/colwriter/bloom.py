"""The Bloom filter of a column chunk (BloomFilter.md): how large it must be, and its making from values or dictionary.

It is made for as many values as there may be, and then folded as far as those that there are allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.bloom_filter import BLOCK_BYTES, MAX_BYTES, BloomFilter
from colwriter.buffers import EMPTY, frozen
from colwriter.encodings.dictionary import Dictionary
from colwriter.encodings.plain import invalid_offsets
from colwriter.kernels.page_table import SLOT, VALUE
from colwriter.leaf_types import Storage
from colwriter.levels import LeafColumn
from colwriter.options import BloomFilterOptions
from colwriter.pages import Pages

__all__ = ["build", "num_bytes"]


def build(
    leaf: LeafColumn, dictionary: Dictionary | None, others: Sequence[Pages], options: BloomFilterOptions, arena: Arena
) -> BloomFilter:
    """The filter of a leaf: of the entries of its dictionary, if any, and the values of the ``others`` of its pages.

    Raises ``InvalidDataError`` where offsets of byte arrays cannot be followed.
    """
    most = sum(pages.total(VALUE) for pages in others) + (dictionary.num_entries if dictionary else 0)
    # There are no more distinct values than that, whatever the option says.
    size = num_bytes(most if options.ndv is None else min(options.ndv, most), options.fpp)
    blocks = arena.take(size // 4, np.uint32)
    blocks[:] = 0
    kind = leaf.descriptor.leaf
    if kind.storage is Storage.BYTE_ARRAYS:
        _insert_byte_arrays(leaf, dictionary, others, blocks)
    elif kind.type_length is not None:
        _insert_fixed_bytes(leaf, dictionary, others, kind.type_length, blocks)
    else:
        _insert_numbers(leaf, dictionary, others, blocks, arena)
    left = kernels.bloom.fold(blocks, options.fpp)
    return BloomFilter(kind.physical_type, blocks[:left].astype("<u4", copy=False).tobytes())


def num_bytes(ndv: int, fpp: float) -> int:
    """The least power of two of bytes, from 32 bytes to 128 MiB, at which ``ndv`` values have that ``fpp``.

    The formula of BloomFilter.md takes blocks for equally full. They are not, and the fuller ones find more than the
    emptier ones find less. The exact expectation, over the Poisson distributed number of values in a block, decides.
    """
    root = min(fpp**0.125, 1 - 2**-53)
    bits = -8 * ndv / math.log1p(-root)
    size = BLOCK_BYTES
    while 8 * size < bits and size < MAX_BYTES:
        size *= 2
    if _expected_fpp(ndv * BLOCK_BYTES / size) > fpp and size < MAX_BYTES:
        size *= 2
    return size


def _expected_fpp(load: float) -> float:
    """The mean of (1 - (31/32)^n)^8 over n, Poisson distributed with mean ``load``, term by term of the binomial."""
    return math.fsum((-1.0) ** k * math.comb(8, k) * math.exp(-load * (1 - (31 / 32) ** k)) for k in range(9))


def _insert_numbers(
    leaf: LeafColumn, dictionary: Dictionary | None, others: Sequence[Pages], blocks: NDArray[np.uint32], arena: Arena
) -> None:
    hashes = arena.take(kernels.bloom.BATCH, np.uint64)
    insert = kernels.bloom.insert_numbers
    if dictionary is not None:
        entries = frozen(dictionary.page.view(dictionary.source.values.dtype))
        insert(entries, EMPTY, 0, 0, len(entries), hashes, blocks)
    for pages in others:
        start, end = _slots(pages)
        insert(leaf.values, leaf.validity, leaf.bit_offset, start, end, hashes, blocks)


def _insert_fixed_bytes(
    leaf: LeafColumn, dictionary: Dictionary | None, others: Sequence[Pages], width: int, blocks: NDArray[np.uint32]
) -> None:
    insert = kernels.bloom.insert_fixed_byte_arrays
    if dictionary is not None:
        insert(frozen(dictionary.page.view()), width, EMPTY, 0, 0, dictionary.num_entries, blocks)
    data = frozen(leaf.values.view(np.uint8)) if len(leaf.values) else leaf.data
    for pages in others:
        insert(data, width, leaf.validity, leaf.bit_offset, *_slots(pages), blocks)


def _insert_byte_arrays(
    leaf: LeafColumn, dictionary: Dictionary | None, others: Sequence[Pages], blocks: NDArray[np.uint32]
) -> None:
    if dictionary is not None:
        kernels.bloom.insert_plain_byte_arrays(frozen(dictionary.page.view()), blocks)
    for pages in others:
        start, end = _slots(pages)
        status = kernels.bloom.insert_byte_arrays(
            leaf.offsets, leaf.data, leaf.validity, leaf.bit_offset, start, end, blocks
        )
        if status < 0:
            raise invalid_offsets(leaf)


def _slots(pages: Pages) -> tuple[int, int]:
    """First slot of the pages, and the end of the last."""
    return pages.first(SLOT), pages.end(SLOT)
