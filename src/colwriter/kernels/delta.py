"""Delta encodings (Parquet specification, Encodings.md: "Delta Encoding", "Delta-length byte array", "Delta Strings").

Pages are placed in ``out`` as in ``kernels.plain``. A page's integers become a header and blocks of differences, each
less the smallest of its block and packed in as many bits as the largest of its miniblock needs.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    count_leading_zeros,
    inlined,
    kernel,
    store_u64,
)
from colwriter.kernels.bits import ALL
from colwriter.kernels.compact import MAX_VARINT, varint, zigzag
from colwriter.kernels.extremes import (
    CHUNK,
    NONE,
    PICKED,
    SCRATCH,
    STEP,
    note_value,
    pick_slots,
    shared_prefix,
    widen,
)
from colwriter.kernels.framing import values_start
from colwriter.kernels.page_table import END, GREATEST, LEAD, LEAST, SLOT, START, VALUE_BYTES
from colwriter.kernels.plain import INVALID_OFFSETS, copy_value

# Parts of a block, its miniblocks.
MINIBLOCKS = 4
# The varints of a block size and of a number of miniblocks, then of a count and of the first value.
PAGE_HEADER = 3 + 2 * MAX_VARINT
BLOCK_HEADER = MAX_VARINT + MINIBLOCKS


def block_size(width: int) -> int:
    """Values of a block, for integers of ``width`` bytes: 128 or 256, as in parquet-cpp and arrow-rs."""
    return 32 * width


def delta_bound(num_values: int, num_pages: int, width: int) -> int:
    """Bytes that integers of ``width`` bytes, ``num_values`` in ``num_pages`` pages, can take at most."""
    block = block_size(width)
    blocks = num_values // block + num_pages
    return num_pages * (PAGE_HEADER + block // MINIBLOCKS * width) + blocks * BLOCK_HEADER + num_values * width


@inlined
def _join(lanes64: Array, count: Int, lane: Int, bits: Int, ones: Int) -> None:
    """Join neighbours among the first ``count`` words: lanes of ``lane`` bits, ``bits`` of them used, become half as
    many of twice the bits. ``ones``: a bit where each of the new lanes begins."""
    low = ones * ((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    high = low << np.uint64(bits)
    gap = np.uint64(lane - bits)
    for k in range(count):
        lanes64[k] = (lanes64[k] & low) | ((lanes64[k] >> gap) & high)


@inlined
def _pack(
    words: Array, lanes8: Bytes, lanes16: Array, lanes32: Array, lanes64: Array, width: Int, out: Bytes, position: Int
) -> None:
    """Store ``words`` uint64[32 or 64], of ``width`` bits each, one after another.

    They go to lanes of 8, 16 or 32 bits, and neighbouring lanes of a 64-bit word are joined until it is one lane. Each
    word is then stored from the byte in which it starts, with the end of the word before: at most 71 bits, and those
    after the 64th come with the next word.
    """
    lane = np.int64(64)
    if width <= 8:
        lane = np.int64(8)
        for k in range(len(words)):
            lanes8[k] = np.uint8(words[k])
    elif width <= 16:
        lane = np.int64(16)
        for k in range(len(words)):
            lanes16[k] = np.uint16(words[k])
    elif width <= 32:
        lane = np.int64(32)
        for k in range(len(words)):
            lanes32[k] = np.uint32(words[k])
    else:
        for k in range(len(words)):
            lanes64[k] = words[k]
    count = (lane * len(words)) >> 6
    bits = np.int64(width)
    while lane < 64:
        ones = np.uint64(1)
        if lane == 8:
            ones = np.uint64(0x0001000100010001)
        elif lane == 16:
            ones = np.uint64(0x0000000100000001)
        _join(lanes64, count, lane, bits, ones)
        lane += lane
        bits += bits
    before = np.uint64(0)
    bit = np.int64(0)
    for k in range(count):
        word = lanes64[k]
        shift = bit & 7
        # Shifted in two steps: a shift by 64 is not defined.
        end = (before >> np.uint64(1)) >> np.uint64(bits - 1 - shift)
        store_u64(out, position + (bit >> 3), (word << np.uint64(shift)) | end)
        before = word
        bit += bits


@kernel
def encode_page(
    values: Array,
    deltas: Array,
    words: Array,
    lanes8: Bytes,
    lanes16: Array,
    lanes32: Array,
    lanes64: Array,
    out: Bytes,
    position: Int,
) -> Int:
    """The integers of one page, from ``position`` on; returns where they end.

    ``values`` int32 or int64. ``deltas``, of their type, where differences wrap around, has room for a block; ``words``
    uint64 for a miniblock, as the lanes, which are four views of the same memory.
    """
    mask = ALL >> np.uint64(64 - 8 * values.itemsize)
    block = np.int64(len(deltas))
    miniblock = np.int64(len(words))
    count = np.int64(len(values))
    position = varint(np.uint64(block), out, position)
    out[position] = np.uint8(MINIBLOCKS)
    position = varint(np.uint64(count), out, position + 1)
    position = zigzag(np.int64(values[0]) if count > 0 else np.int64(0), out, position)
    for start in range(np.int64(1), count, block):
        some = min(block, count - start)
        later = values[start : start + some]
        earlier = values[start - 1 : start - 1 + some]
        for k in range(len(later)):
            deltas[k] = later[k] - earlier[k]
        least = deltas[0]
        for k in range(some):
            least = min(least, deltas[k])
        for k in range(some, block):
            deltas[k] = least  # padding: bits that are zero, and widths too
        position = zigzag(np.int64(least), out, position)
        widths = position
        position += MINIBLOCKS
        for m in range(MINIBLOCKS):
            of_miniblock = deltas[m * miniblock : (m + 1) * miniblock]
            used = np.uint64(0)
            for k in range(len(words)):  # not a constant, which would be unrolled before it could become vectors
                word = np.uint64(of_miniblock[k] - least) & mask
                words[k] = word
                used |= word
            width = 64 - count_leading_zeros(used)
            out[widths + m] = np.uint8(width)
            if width > 0:
                _pack(words, lanes8, lanes16, lanes32, lanes64, width, out, position)
                position += (miniblock >> 3) * width
    return position


@kernel
def encode_integers(
    values: Array,
    ranges: Int64s,
    deltas: Array,
    words: Array,
    lanes8: Bytes,
    lanes16: Array,
    lanes32: Array,
    lanes64: Array,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """DELTA_BINARY_PACKED: the values of page i are ``values[ranges[i, 0]:ranges[i, 1]]``, without nulls."""
    position = np.int64(0)
    for page in range(len(ranges)):
        position = values_start(pages, page, LEAD, position)
        pages[page, START] = position
        position = encode_page(
            values[ranges[page, 0] : ranges[page, 1]],
            deltas,
            words,
            lanes8,
            lanes16,
            lanes32,
            lanes64,
            out,
            position,
        )
        pages[page, END] = position
    return position


@kernel
def encode_byte_arrays(
    offsets: Array,
    data: Bytes,
    validity: Bytes,
    bit_offset: Int,
    prefixed: bool,
    bounds: bool,
    scratch: Int64s,
    places: Int64s,
    prefixes: Array,
    suffixes: Array,
    deltas: Array,
    words: Array,
    lanes8: Bytes,
    lanes16: Array,
    lanes32: Array,
    lanes64: Array,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """DELTA_BYTE_ARRAY, or if not ``prefixed`` DELTA_LENGTH_BYTE_ARRAY, which is the same without the prefixes.

    Slots, nulls, bounds, ``scratch`` and the result are those of ``plain.encode_byte_arrays``, and offsets are not
    trusted either. ``places`` int64, ``prefixes`` and ``suffixes`` int32 have room for the values of the largest page.
    """
    size = np.int64(len(data))
    picked = scratch[: PICKED + STEP]
    chunk_words = scratch[PICKED + STEP : PICKED + STEP + CHUNK]
    chunk_lengths = scratch[PICKED + STEP + CHUNK : SCRATCH]
    end_of_value = np.int64(0)
    position = np.int64(0)
    for page in range(len(pages) - 1):
        position = values_start(pages, page, LEAD, position)
        pages[page, START] = position
        end = pages[page + 1, SLOT]
        total = np.int64(0)
        num_values = np.int64(0)
        before = np.int64(0)
        before_length = np.int64(0)
        least: Int = np.int64(-1)
        greatest: Int = np.int64(-1)
        shared = np.int64(0)
        low = NONE
        high = NONE
        for slot in range(pages[page, SLOT], end, PICKED):
            count = pick_slots(offsets, validity, bit_offset, slot, min(slot + PICKED, end), picked)
            for chunk in range(0, count, CHUNK):
                slots = picked[chunk : min(chunk + CHUNK, count)]
                like = np.int64(offsets[max(least, 0)])
                strange = shared < 0  # it is not: a literal would be of another type
                for k in range(len(slots)):
                    at = np.uint64(slots[k])
                    start = np.int64(offsets[at])
                    length = np.int64(offsets[at + np.uint64(1)]) - start
                    if start < end_of_value or length < 0 or start + length > size:
                        return INVALID_OFFSETS
                    end_of_value = start + length
                    total += length
                    prefix = np.int64(0)
                    if prefixed:
                        prefix = shared_prefix(data, before, start, min(before_length, length))
                        prefixes[num_values] = prefix
                        before = start
                        before_length = length
                    places[num_values] = start + prefix
                    suffixes[num_values] = length - prefix
                    num_values += 1
                    if bounds:
                        strange |= note_value(data, start, length, like, shared, chunk_words, chunk_lengths, k)
                if bounds:
                    least, greatest, shared, low, high = widen(
                        *(offsets, data, slots, chunk_words, chunk_lengths, strange),
                        *(least, greatest, shared, low, high),
                    )
        if prefixed:
            position = encode_page(
                prefixes[:num_values], deltas, words, lanes8, lanes16, lanes32, lanes64, out, position
            )
        position = encode_page(suffixes[:num_values], deltas, words, lanes8, lanes16, lanes32, lanes64, out, position)
        if not prefixed and num_values > 0 and end_of_value - places[0] == total:
            source = data[places[0] : end_of_value]
            target = out[position : position + total]
            for k in range(len(source)):
                target[k] = source[k]
            position += total
        else:
            for i in range(num_values):
                copy_value(data, places[i], np.int64(suffixes[i]), out, position)
                position += suffixes[i]
        pages[page, END] = position
        pages[page, LEAST] = least
        pages[page, GREATEST] = greatest
        pages[page, VALUE_BYTES] = total
    return position
