"""PLAIN values of all the pages of a column chunk (Parquet specification, Encodings.md, "Plain").

Every values encoder places its pages in ``out`` by the same rule: it leaves bytes free before a page's values
(``page_table.values_start``), where the page's header and levels are put later. It takes the slots or values of a page
from the page table ``pages``, and fills in where those of the page start and end in ``out``, in bytes. Rows of the page
table need not be the first of the column chunk.

Where nulls are dropped, the valid slots are read off 64 bits of the validity bitmap at a time. An empty
``validity`` means that every slot holds a value.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u64,
    popcount,
    prefetch,
    store_u32,
    store_u64,
)
from colwriter.kernels.bits import valid_slots
from colwriter.kernels.extremes import (
    AHEAD,
    CHUNK,
    NONE,
    ONE,
    PICKED,
    SCRATCH,
    STEP,
    note_value,
    pick_slots,
    widen,
)
from colwriter.kernels.framing import values_start
from colwriter.kernels.page_table import END, GREATEST, LEAD, LEAST, SLOT, START, VALUE, VALUE_BYTES

# Readable and writable bytes that must follow the last value in `out`: whole words are stored past its end.
OUT_PADDING = 64
INVALID_OFFSETS = -1
# Strings up to so many bytes are three words, whatever their length: a branch that has lengths on both of its sides is
# not to be foreseen. A word more than is needed costs a twentieth.
SHORT = 24


@inlined
def _min_max(values: Array, pages: Int64s, page: Int) -> None:
    """The least and the greatest of some values, if there are any, as those of a page."""
    if len(values) == 0:
        return
    least = values[0]
    greatest = values[0]
    for i in range(len(values)):  # of a slice, which has no negative index: it vectorises
        least = min(least, values[i])
        greatest = max(greatest, values[i])
    pages[page, LEAST] = least
    pages[page, GREATEST] = greatest


@kernel
def encode_fixed(
    values: Array,
    validity: Bytes,
    bit_offset: Int,
    lead: Int,
    alignment: Int,
    bounds: bool,
    pages: Int64s,
    out: Array,
) -> None:
    """Values of fixed width, nulls left out.

    ``values`` and ``out`` have the same dtype; a page starts at a multiple of ``alignment``, which is a multiple of its
    size. Slot i is ``values[i]``, valid where bit ``bit_offset + i`` is set. With ``bounds``, the least and the
    greatest of each page that has values are found, as signed integers. ``lead``: see ``values_start``.
    """
    width = values.itemsize
    end_of_page = np.int64(0)
    for page in range(len(pages) - 1):
        start = (values_start(pages, page, lead, end_of_page) + alignment - 1) // alignment * alignment
        to = start // width
        slot = pages[page, SLOT]
        end = pages[page + 1, SLOT]
        if len(validity) == 0:
            source = values[slot:end]
            target = out[to : to + len(source)]
            for k in range(len(source)):
                target[k] = source[k]
            to += end - slot
            slot = end
        while slot < end:
            count = min(np.int64(64), end - slot)
            word = valid_slots(validity, bit_offset + slot, count)
            valid = popcount(word)
            if valid == 64:
                source = values[slot : slot + 64]
                target = out[to : to + 64]
                for k in range(len(source)):
                    target[k] = source[k]
                to += 64
            else:
                for k in range(0, 64, 64 // width):
                    prefetch(values, slot + AHEAD + k)
                if slot + 64 < len(values):
                    # Valid or not, ``STEP`` at once: how many there are is not to be foreseen.
                    first = np.uint64(to)
                    while True:
                        for k in range(STEP):
                            out[first + np.uint64(k)] = values[np.uint64(slot + count_trailing_zeros(word))]
                            word &= word - ONE
                        if word == NONE:
                            break
                        first += np.uint64(STEP)
                    to += valid
                while word != NONE:
                    out[to] = values[slot + count_trailing_zeros(word)]
                    to += 1
                    word &= word - ONE
            slot += count
        end_of_page = to * width
        pages[page, START] = start
        pages[page, END] = end_of_page
        if bounds:
            _min_max(out[start // width : to], pages, page)


@kernel
def min_max_fixed(values: Array, ranges: Int64s, pages: Int64s) -> None:
    """Least and greatest of ``values[ranges[page, 0]:ranges[page, 1]]``; untouched where a page has no values."""
    for page in range(len(ranges)):
        _min_max(values[ranges[page, 0] : ranges[page, 1]], pages, page)


@inlined
def copy_value(data: Bytes, start: Int, length: Int, out: Bytes, position: Int) -> None:
    """Copy a value; up to seven bytes past its end, or any up to the ``OUT_PADDING``th, may be written besides."""
    if length <= SHORT and start + SHORT <= len(data):  # most are: their lengths are not to be foreseen
        for k in range(0, SHORT, 8):
            store_u64(out, position + k, load_u64(data, start + k))
    elif length <= OUT_PADDING and start + OUT_PADDING <= len(data):
        for k in range(0, OUT_PADDING, 8):
            store_u64(out, position + k, load_u64(data, start + k))
    elif start + length + 8 <= len(data):
        for k in range(0, length, 8):
            store_u64(out, position + k, load_u64(data, start + k))
    else:
        for k in range(length):
            out[position + k] = data[start + k]


@kernel
def encode_byte_arrays(
    offsets: Array,
    data: Bytes,
    validity: Bytes,
    bit_offset: Int,
    bounds: bool,
    scratch: Int64s,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """Values of variable length, each after its length in four bytes; nulls left out.

    Slot i is ``data[offsets[i]:offsets[i + 1]]``. With ``bounds``, the slots of each page's least and greatest value
    are found (-1 where there is none). Offsets are not trusted: where one goes down or past the data, nothing is read
    and ``INVALID_OFFSETS`` is returned. Returns the end of the last page. ``scratch``: int64[``extremes.SCRATCH``].
    """
    size = np.int64(len(data))
    before = np.int64(0)
    end_of_page = np.int64(0)
    picked = scratch[: PICKED + STEP]
    words = scratch[PICKED + STEP : PICKED + STEP + CHUNK]
    lengths = scratch[PICKED + STEP + CHUNK : SCRATCH]
    for page in range(len(pages) - 1):
        first = values_start(pages, page, LEAD, end_of_page)
        position = first
        end = pages[page + 1, SLOT]
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
                    stop = np.int64(offsets[at + np.uint64(1)])
                    length = stop - start
                    if start < before or length < 0 or stop > size:
                        return INVALID_OFFSETS
                    before = stop
                    store_u32(out, position, np.uint32(length))
                    position += 4
                    copy_value(data, start, length, out, position)
                    position += length
                    if bounds:
                        strange |= note_value(data, start, length, like, shared, words, lengths, k)
                if bounds:
                    least, greatest, shared, low, high = widen(
                        offsets, data, slots, words, lengths, strange, least, greatest, shared, low, high
                    )
        end_of_page = position
        pages[page, START] = first
        pages[page, END] = position
        pages[page, LEAST] = least
        pages[page, GREATEST] = greatest
        pages[page, VALUE_BYTES] = position - first - 4 * (pages[page + 1, VALUE] - pages[page, VALUE])
    return end_of_page


@kernel
def sum_lengths(offsets: Array, validity: Bytes, bit_offset: Int, pages: Int64s) -> None:
    """Bytes of the valid byte arrays of each page; what null slots may span is left out."""
    for page in range(len(pages) - 1):
        total = np.int64(0)
        for slot in range(pages[page, SLOT], pages[page + 1, SLOT]):
            bit = bit_offset + slot
            if len(validity) == 0 or (validity[bit >> 3] >> np.uint8(bit & 7)) & 1:
                total += np.int64(offsets[slot + 1]) - np.int64(offsets[slot])
        pages[page, VALUE_BYTES] = total
