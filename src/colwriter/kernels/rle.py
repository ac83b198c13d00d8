"""The RLE/bit-packed hybrid (Parquet specification, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid").

A page's values become runs: ``<varint: length << 1> <value>`` or ``<varint: groups << 1 | 1> <groups of
eight bit-packed values>``. One call encodes all the pages of a column chunk.

The choice of runs: at the start of each group of eight, look how often the next value repeats. From
``minimum_run(bit_width)`` repeats on, a repeated run is never larger than the groups that it replaces,
the header of the bit-packed run that must be opened after it included. A repeated run may end anywhere
and the next group starts there, so groups are not tied to the byte boundaries of a source bitmap.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import (
    Array,
    Bytes,
    Int,
    Int64s,
    count_leading_zeros,
    count_trailing_zeros,
    inlined,
    kernel,
    load_u64,
    pack_pairs,
    store_u64,
)
from colwriter.kernels.bits import bits_at

# Bit-packed runs of at most this many groups have a header of one byte, and of two.
SHORT_GROUPS = 63
MAX_GROUPS = 8191
# Bytes that one page may need beyond its bit-packed values: headers, and stores of whole words.
PAGE_SLACK = 64
# 64-bit words are loaded at any bit of a level array: readable bytes that must follow its last level.
LEVEL_PADDING = 16
# Eight indices are loaded at once: int32 that must follow the last one.
INDEX_PADDING = 8


def hybrid_bound(num_values: Int, num_pages: int, bit_width: int) -> Int:
    """Bytes that ``num_values`` in ``num_pages`` pages can take at most, room for whole-word stores included."""
    return (num_values // 8 + num_pages) * bit_width + num_values // 64 + (num_pages + 1) * PAGE_SLACK


@inlined
def minimum_run(bit_width: Int) -> Int:
    """Repeats from which a repeated run pays."""
    if bit_width == 1:
        return 24
    if bit_width <= 3:
        return 16
    return 8


@inlined
def _write_run(out: Bytes, position: Int, length: Int, value: Int, value_bytes: Int) -> Int:
    """Store a repeated run; returns the position after it."""
    header = length << 1
    while header >= 1 << 14:
        out[position] = np.uint8((header & 127) | 128)
        header >>= 7
        position += 1
    # One byte or two, without a branch: the lengths of runs are not to be foreseen.
    long = np.int64(header >= 128)
    out[position] = np.uint8((header & 127) | (long << 7))
    out[position + 1] = np.uint8(header >> 7)
    position += 1 + long
    for _ in range(value_bytes):
        out[position] = np.uint8(value & 255)
        value >>= 8
        position += 1
    return position


@inlined
def _close_groups(out: Bytes, header: Int, position: Int, groups: Int) -> Int:
    """Store the header of ``groups`` groups that end at ``position``; returns the new end, where there are none."""
    if groups == 0:
        return header
    value = (groups << 1) | 1
    if groups <= SHORT_GROUPS:
        out[header] = np.uint8(value)
        return position
    out[header] = np.uint8((value & 127) | 128)
    out[header + 1] = np.uint8(value >> 7)
    return position


@inlined
def _room_for_groups(out: Bytes, header: Int, position: Int, groups: Int) -> tuple[Int, Int]:
    """Before groups are added: (position, how many may be). One byte is free for the header, and then two.

    When the header gets too small, the groups behind it move up by one byte: ``SHORT_GROUPS`` of them, once.
    """
    if groups < SHORT_GROUPS:
        return position, SHORT_GROUPS - groups
    if groups == SHORT_GROUPS:
        for i in range(position - 1, header, -1):
            out[i + 1] = out[i]
        position += 1
    return position, MAX_GROUPS - groups


@inlined
def _repeats(bitmap: Bytes, bit: Int, end: Int, value: Int) -> Int:
    """How many bits from ``bit`` on, but not past ``end``, equal ``value`` (all ones or all zeros)."""
    start = bit
    while bit < end:
        run = count_trailing_zeros(bits_at(bitmap, bit) ^ value)
        bit += run
        if run < 64:
            break
    return min(bit, end) - start


@inlined
def _runs_of_24(word: Int) -> Int:
    """Where 24 ones start in ``word``, all of them in it."""
    word &= word >> np.uint64(1)
    word &= word >> np.uint64(2)
    word &= word >> np.uint64(4)
    return word & (word >> np.uint64(8)) & (word >> np.uint64(16))


@kernel
def encode_bitmap(bitmap: Bytes, bit_offset: Int, level_starts: Int64s, out: Bytes, out_starts: Int64s) -> Int:
    """Encode the definition levels of an optional flat column, which are the bits of its validity bitmap.

    ``level_starts`` int64[pages + 1]: first level of each page; level i is bit ``bit_offset + i``.
    ``out_starts`` int64[pages + 1] takes where each page's bytes start in ``out``. Returns the bytes written.

    Up to five groups are stored at once, as many as come before the next repeated run (24 is ``minimum_run(1)``).
    """
    position = np.int64(0)
    for page in range(len(level_starts) - 1):
        out_starts[page] = position
        bit = bit_offset + level_starts[page]
        end = bit_offset + level_starts[page + 1]
        header = position
        position += 1
        groups = np.int64(0)
        while bit < end:
            left = end - bit
            word = bits_at(bitmap, bit)
            value = np.uint64(0) - (word & np.uint64(1))
            run = min(count_trailing_zeros(word ^ value), left)
            if run >= 24 or (run == left and groups == 0):
                if run == 64:
                    run += _repeats(bitmap, bit + run, end, value)
                position = _close_groups(out, header, position, groups)
                position = _write_run(out, position, run, np.int64(value & np.uint64(1)), np.int64(1))
                header = position
                position += 1
                groups = np.int64(0)
                bit += run
                continue
            # A run that starts in group k is seen whole if it starts at bit 40 or before.
            starts = (_runs_of_24(word) | _runs_of_24(~word)) & np.uint64(0x0000010101010100)
            position, room = _room_for_groups(out, header, position, groups)
            count = min(count_trailing_zeros(starts | np.uint64(1 << 48)) >> 3, room)
            if left < 8 * count:
                count = (left + 7) >> 3
                if left < 8 * count:
                    word &= (np.uint64(1) << np.uint64(left)) - np.uint64(1)
            store_u64(out, position, word)
            position += count
            groups += count
            bit += 8 * count
            if groups == MAX_GROUPS:
                position = _close_groups(out, header, position, groups)
                header = position
                position += 1
                groups = np.int64(0)
        position = _close_groups(out, header, position, groups)
    out_starts[len(level_starts) - 1] = position
    return position


@inlined
def _repeated_pairs(pairs: Bytes, level: Int, end: Int, value: Int) -> Int:
    """How many two-bit levels from ``level`` on, but not past ``end``, are those of ``value``, a word of one level."""
    start = level
    while level < end:
        run = count_trailing_zeros(bits_at(pairs, 2 * level) ^ value) >> 1
        level += run
        if run < 32:
            break
    return min(level, end) - start


@kernel
def encode_pairs(pairs: Bytes, level_starts: Int64s, out: Bytes, out_starts: Int64s) -> Int:
    """Encode levels packed in two bits each; as ``encode_bitmap``, for whole bytes of ``pairs``.

    Up to three groups are stored at once, as many as come before the next repeated run (16 is ``minimum_run(2)``).
    """
    even = np.uint64(0x5555555555555555)
    position = np.int64(0)
    for page in range(len(level_starts) - 1):
        out_starts[page] = position
        level = level_starts[page]
        end = level_starts[page + 1]
        header = position
        position += 1
        groups = np.int64(0)
        while level < end:
            left = end - level
            word = bits_at(pairs, 2 * level)
            value = (word & np.uint64(3)) * even
            run = min(count_trailing_zeros(word ^ value) >> 1, left)
            if run >= 16 or (run == left and groups == 0):
                if run == 32:
                    run += _repeated_pairs(pairs, level + run, end, value)
                position = _close_groups(out, header, position, groups)
                position = _write_run(out, position, run, np.int64(word & np.uint64(3)), np.int64(1))
                header = position
                position += 1
                groups = np.int64(0)
                level += run
                continue
            # same: bit 2k says that levels k and k + 1 are equal; a run of 16 is 15 of them.
            same = ~(word ^ (word >> np.uint64(2)))
            same &= (same >> np.uint64(1)) & (even >> np.uint64(2))
            same &= same >> np.uint64(2)
            same &= same >> np.uint64(4)
            same &= same >> np.uint64(8)
            same &= same >> np.uint64(14)
            # A run that starts in group k is seen whole if it starts at level 16, bit 32, or before.
            starts = (same & np.uint64(0x0000000100010000)) | np.uint64(1 << 48)
            position, room = _room_for_groups(out, header, position, groups)
            count = min(count_trailing_zeros(starts) >> 4, room)
            if left < 8 * count:
                count = (left + 7) >> 3
                if left < 8 * count:
                    word &= (np.uint64(1) << np.uint64(2 * left)) - np.uint64(1)
            store_u64(out, position, word)
            position += 2 * count
            groups += count
            level += 8 * count
            if groups == MAX_GROUPS:
                position = _close_groups(out, header, position, groups)
                header = position
                position += 1
                groups = np.int64(0)
        position = _close_groups(out, header, position, groups)
    out_starts[len(level_starts) - 1] = position
    return position


@inlined
def _pack_masks(bit_width: Int) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Masks and shifts of the three steps that pack eight bytes of ``bit_width`` bits each, lane by lane."""
    w = np.uint64(bit_width)
    one = np.uint64(1)
    field = (one << w) - one
    pair = (one << (w + w)) - one
    quad = (one << (np.uint64(4) * w)) - one
    low1 = field * np.uint64(0x0001000100010001)
    high1 = (field << w) * np.uint64(0x0001000100010001)
    low2 = pair * np.uint64(0x0000000100000001)
    high2 = (pair << (w + w)) * np.uint64(0x0000000100000001)
    return low1, high1, low2, high2, quad, quad << (np.uint64(4) * w)


@kernel
def encode_levels(levels: Bytes, level_starts: Int64s, bit_width: Int, out: Bytes, out_starts: Int64s) -> Int:
    """Encode levels that exist as an array, of ``bit_width`` 1 to 8 bits.

    ``levels`` uint8, with ``LEVEL_PADDING`` readable bytes after the last level; ``level_starts`` int64[pages + 1].
    ``out_starts`` int64[pages + 1] takes where each page's bytes start in ``out``. Returns the bytes written.
    """
    low1, high1, low2, high2, low3, high3 = _pack_masks(bit_width)
    shift1 = np.uint64(8 - bit_width)
    shift2 = np.uint64(16 - 2 * bit_width)
    shift3 = np.uint64(32 - 4 * bit_width)
    least = minimum_run(bit_width)
    position = np.int64(0)
    for page in range(len(level_starts) - 1):
        out_starts[page] = position
        i = level_starts[page]
        end = level_starts[page + 1]
        header = position
        position += 1
        groups = np.int64(0)
        while i < end:
            word = load_u64(levels, i)
            splat = (word & np.uint64(255)) * np.uint64(0x0101010101010101)
            left = end - i
            run = count_trailing_zeros(word ^ splat) >> 3
            if run == 8 or (run >= left and groups == 0):
                while run < left:
                    step = count_trailing_zeros(load_u64(levels, i + run) ^ splat) >> 3
                    run += step
                    if step < 8:
                        break
                run = min(run, left)
                if run >= least or (run == left and groups == 0):
                    position = _close_groups(out, header, position, groups)
                    position = _write_run(out, position, run, np.int64(word & np.uint64(255)), np.int64(1))
                    header = position
                    position += 1
                    groups = np.int64(0)
                    i += run
                    continue
            if left < 8:
                word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
            position, _ = _room_for_groups(out, header, position, groups)
            word = (word & low1) | ((word >> shift1) & high1)
            word = (word & low2) | ((word >> shift2) & high2)
            word = (word & low3) | ((word >> shift3) & high3)
            store_u64(out, position, word)
            position += bit_width
            groups += 1
            if groups == MAX_GROUPS:
                position = _close_groups(out, header, position, groups)
                header = position
                position += 1
                groups = np.int64(0)
            i += 8
        position = _close_groups(out, header, position, groups)
    out_starts[len(level_starts) - 1] = position
    return position


@kernel
def encode_constant(level: Int, level_starts: Int64s, out: Bytes, out_starts: Int64s) -> Int:
    """Encode levels that are all ``level``: one repeated run a page."""
    position = np.int64(0)
    for page in range(len(level_starts) - 1):
        out_starts[page] = position
        position = _write_run(out, position, level_starts[page + 1] - level_starts[page], level, np.int64(1))
    out_starts[len(level_starts) - 1] = position
    return position


@inlined
def _store_group(out: Bytes, position: Int, width: Int, a: Int, b: Int, c: Int, d: Int) -> None:
    """Store four pairs of values of ``width`` (1 to 28) bits each; whole words are stored, so zeros follow."""
    two = width << np.uint64(1)
    if width <= np.uint64(16):
        a |= b << two
        c |= d << two
        store_u64(out, position, a)
        store_u64(out, position + 8, np.uint64(0))
        # Four odd widths end in the middle of a byte, whose other half is stored again.
        half = np.uint64(4) * (width & np.uint64(1))
        bits = np.uint64(4) * width - half
        c = (c << half) | ((a >> bits) & np.uint64(15) if half else np.uint64(0))
        store_u64(out, position + np.int64(bits >> np.uint64(3)), c)
        return
    pending = a
    filled = two
    for word in (b, c, d):
        store_u64(out, position, pending)
        whole = filled >> np.uint64(3)
        position += np.int64(whole)
        filled -= whole << np.uint64(3)
        pending = ((pending >> (np.uint64(8) * whole - np.uint64(8))) >> np.uint64(8)) | (word << filled)
        filled += two
    store_u64(out, position, pending)


@kernel
def encode_indices(
    indices: Array,
    value_starts: Int64s,
    least_width: Int,
    lead: Int64s,
    alignment: Int,
    out: Bytes,
    starts: Int64s,
    ends: Int64s,
) -> Int:
    """Encode dictionary indices: a byte with the bit width, then the hybrid (Encodings.md, "Dictionary Encoding").

    A page's indices have as many bits as its largest needs, and ``least_width`` at least: the first pages know only
    some of the dictionary. ``indices`` int32 of all the pages, none above 2 to the power of 28, with ``INDEX_PADDING``
    more after them; ``value_starts`` int64[pages + 1]; the other arguments are those of every values encoder (see
    ``kernels.plain``). Returns the end of the last page.
    """
    end_of_page = np.int64(0)
    for page in range(len(value_starts) - 1):
        position = (end_of_page + lead[page] + alignment - 1) // alignment * alignment
        starts[page] = position
        of_page = indices[value_starts[page] : value_starts[page + 1]]
        largest = np.int32(0)
        for i in range(len(of_page)):
            largest = np.int32(largest | of_page[i])
        bit_width = max(least_width, 64 - count_leading_zeros(np.uint64(largest)))
        least = minimum_run(bit_width)
        value_bytes = (bit_width + 7) // 8
        width = np.uint64(bit_width)
        out[position] = np.uint8(bit_width)
        header = position + 1
        position += 2
        groups = np.int64(0)
        i = value_starts[page]
        end = value_starts[page + 1]
        while i < end:
            left = end - i
            a, b, c, d, alike = pack_pairs(indices, i, left, width)
            if alike == np.uint64(255) or (left < 8 and groups == 0):
                run = np.int64(1)
                while run < left and indices[i + run] == indices[i]:
                    run += 1
                if run >= least or (run == left and groups == 0):
                    position = _close_groups(out, header, position, groups)
                    position = _write_run(out, position, run, np.int64(indices[i]), value_bytes)
                    header = position
                    position += 1
                    groups = np.int64(0)
                    i += run
                    continue
            _store_group(out, position, width, a, b, c, d)
            position += bit_width
            groups += 1
            if groups == SHORT_GROUPS:  # the second byte of a header hardly pays for wide values
                position = _close_groups(out, header, position, groups)
                header = position
                position += 1
                groups = np.int64(0)
            i += 8
        position = _close_groups(out, header, position, groups)
        ends[page] = position
        end_of_page = position
    return end_of_page
