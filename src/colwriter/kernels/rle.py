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
    zero_words,
)
from colwriter.kernels.bits import ALL, bits_at
from colwriter.kernels.framing import values_start
from colwriter.kernels.page_table import END, LEAD, LEVEL, START, VALUE

# Bit-packed runs of at most this many groups have a header of one byte, and of two.
SHORT_GROUPS = 63
MAX_GROUPS = 8191
# Bytes that one page may need beyond its bit-packed values: headers, and stores and loads of up to eight words.
PAGE_SLACK = 64
# 64-bit words are loaded at any bit of a level array: readable bytes that must follow its last level.
LEVEL_PADDING = 16
# Bytes that encoded packed levels may be ahead of their own bits: headers, a run, and a store of a whole word.
MARKS_AHEAD = 32
ONE = np.uint64(1)
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
    """Store a repeated run, of a value of up to four bytes; returns the position after it. Eight bytes are stored."""
    header = np.uint64(length << 1)
    while header >= np.uint64(1 << 14):
        out[position] = np.uint8((header & np.uint64(127)) | np.uint64(128))
        header >>= np.uint64(7)
        position += 1
    # One byte or two, without a branch: the lengths of runs are not to be foreseen.
    long = np.int64(header >= np.uint64(128))
    shift = np.uint64(8 + 8 * long)
    header = (header & np.uint64(127)) | np.uint64(long << 7) | ((header >> np.uint64(7)) << np.uint64(8))
    store_u64(out, position, header | (np.uint64(value) << shift))
    return position + 1 + long + value_bytes


@inlined
def _close_groups(out: Bytes, header: Int, position: Int, groups: Int) -> Int:
    """Store the header of ``groups`` groups that end at ``position``; returns the new end, where there are none."""
    value = (groups << 1) | 1
    first = np.uint64(header)  # a negative index would count from the end, and to look for it takes longer
    if groups > SHORT_GROUPS:
        out[first] = np.uint8((value & 127) | 128)
        out[first + ONE] = np.uint8(value >> 7)
        return position
    out[first] = np.uint8(value)
    return position if groups > 0 else header


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
def _breaks(word: Int, after: Int, w: Int, seven: Int) -> Int:
    """Where not ``minimum_run(w)`` equal levels of ``w`` (1 or 2) bits start in ``word``; ``seven`` is 7 times ``w``.

    ``after`` are the bits that follow those of ``word``, 32 at least. Of two-bit levels the even places count.
    """
    full = np.uint64(64)
    differs = word ^ ((word >> w) | (after << (full - w)))
    after ^= after >> w
    # Of 24 equal bits 23 equal the next one, of 16 equal pairs 30 bits equal the next but one: 1 + 1 + 2 + 4 + 8 + 7 w.
    for k in (1, 2, 4, 8):
        by = np.uint64(k)
        differs |= (differs >> by) | (after << (full - by))
        after |= after >> by
    return differs | (differs >> seven) | (after << (full - seven))


@kernel
def encode_packed(data: Bytes, bit_offset: Int, width: Int, pages: Int64s, column: Int, out: Bytes) -> Int:
    """Encode levels of ``width`` (1 or 2) bits, the first at ``bit_offset`` of ``data``; returns the bytes written.

    One bit each are the definition levels of an optional flat column: its validity bitmap. ``pages`` is the page table,
    of which ``column`` takes the bytes of each page; they follow one another in ``out``. Lengths are in bits here.

    Where no run can start is found for a whole page first, by vectors, and marked in the end of the room that the page
    has in ``out``: encoded levels are at most headers ahead of their own bits (``MARKS_AHEAD``), and so never reach
    marks that are still to be read. Then each step takes the groups of up to 128 bits, and the repeated run after them
    if there is one. Neither that nor their lengths decide a branch, for on random data none of them is to be foreseen.
    """
    w = np.uint64(width)
    seven = np.uint64(7 * width)
    field = (ONE << w) - ONE
    every = ALL // field
    group = 8 * width
    group_starts = ALL // ((ONE << np.uint64(group)) - ONE)
    last_group = ONE << np.uint64(64 - group)
    least = minimum_run(width) * width
    position = np.int64(0)
    for page in range(len(pages) - 1):
        first = position
        start = bit_offset + pages[page, LEVEL] * width
        count = pages[page + 1, LEVEL] - pages[page, LEVEL]
        marks = position + (count >> 6) + MARKS_AHEAD
        possible = max(count * width - least + 1, 0)
        words = (possible + 63) >> 6
        byte = start >> 3
        shift = np.uint64(start & 7)
        # Words of which 16 bytes can be loaded: this loop vectorises.
        whole = min(max((len(data) - byte - 8) >> 3, 0), words)
        for j in range(whole):
            word = load_u64(data, byte + 8 * j)
            after = load_u64(data, byte + 8 * j + 8)
            word = (word >> shift) | ((after << ONE) << (np.uint64(63) - shift))
            store_u64(out, marks + 8 * j, _breaks(word, after >> shift, w, seven))
        after = np.uint64(0)
        for j in range(words, whole - 1, -1):
            word = bits_at(data, start + 64 * j)
            store_u64(out, marks + 8 * j, _breaks(word, after, w, seven))
            after = word
        # Nor where too little of the page is left.
        last = marks + (possible >> 3)
        store_u64(out, last, np.uint64(out[last]) | (ALL << np.uint64(possible & 7)))
        # A step from the last level on may look 112 bits further, and ``least`` of them were not possible.
        store_u64(out, last + 8, ALL)
        store_u64(out, last + 16, ALL)

        header = position
        position += 1
        groups = np.int64(0)
        mark = 8 * marks  # the one of the next level, as a bit of ``out``
        to_data = start - mark
        end = mark + count * width
        while mark < end:
            byte = (mark + to_data) >> 3
            shift = np.uint64((mark + to_data) & 7)
            word = np.uint64(0)
            word2 = np.uint64(0)
            if byte + 16 <= len(data):
                word = load_u64(data, byte)
                word2 = load_u64(data, byte + 8)
            else:
                for k in range(len(data) - 1, byte - 1, -1):
                    word2 = (word2 << np.uint64(8)) | (word >> np.uint64(56))
                    word = (word << np.uint64(8)) | np.uint64(data[k])
            word = (word >> shift) | ((word2 << ONE) << (np.uint64(63) - shift))
            word2 >>= shift
            # A load shows 57 marks at least, and so all those where groups start.
            at = mark >> 3
            shift = np.uint64(mark & 7)
            literal = count_trailing_zeros(~(load_u64(out, at) >> shift) & group_starts)
            literal2 = count_trailing_zeros((~(load_u64(out, at + 8) >> shift) & group_starts) | last_group)
            literal += literal2 if literal == 64 else np.int64(0)
            run = mark + literal
            at = run >> 3
            shift = np.uint64(run & 7)
            ones = count_trailing_zeros(load_u64(out, at) >> shift)
            if ones >= 56:
                # The marks that follow, eight words at a time: how long a run is is not to be foreseen.
                at += 7
                zeros = zero_words(out, at)
                while zeros == 8:
                    at += 64
                    zeros = zero_words(out, at)
                at += 8 * zeros
                ones = 8 * at + count_trailing_zeros(load_u64(out, at)) - run
            length = ((ones + least - 1) & -width) if ones > 0 else np.int64(0)
            if run >= end:
                run = end
                literal = end - mark
                length = np.int64(0)
                if literal < 64:
                    word &= (ONE << np.uint64(literal)) - ONE
                else:
                    word2 &= (ONE << np.uint64(literal - 64)) - ONE
                repeated = (word & field) * every
                if groups == 0 and literal < least and ((word ^ repeated) << np.uint64(64 - literal)) == np.uint64(0):
                    run = mark
                    length = literal
                    literal = np.int64(0)
            added = (literal + group - 1) >> (width + 2)
            if groups + added > SHORT_GROUPS:
                if groups <= SHORT_GROUPS:  # two bytes for the header: the groups behind it move up
                    moved = load_u64(out, header + 1)
                    for k in range(header + 2, position + 1, 8):
                        next_moved = load_u64(out, k + 7)
                        store_u64(out, k, moved)
                        moved = next_moved
                    position += 1
                elif groups + added > MAX_GROUPS:
                    header = _close_groups(out, header, position, groups)
                    position = header + 1
                    groups = np.int64(0)
            store_u64(out, position, word)
            store_u64(out, position + 8, word2)
            position += added * width
            groups += added
            # The run, after all, where there is none: what is stored lies behind ``position``.
            value_bit = np.uint64(min(run, end - width) + to_data)
            value = (np.uint64(data[value_bit >> np.uint64(3)]) >> (value_bit & np.uint64(7))) & field
            closed = _close_groups(out, header, position, groups)
            closed = _write_run(out, closed, length >> (width - 1), value, np.int64(1))
            found = np.int64(length > 0)
            header += (closed - header) * found
            position += (closed + 1 - position) * found
            groups *= 1 - found
            mark = run + length
        position = _close_groups(out, header, position, groups)
        pages[page, column] = position - first
    return position


@inlined
def _pack_masks(bit_width: Int) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Masks and shifts of the three steps that pack eight bytes of ``bit_width`` bits each, lane by lane."""
    w = np.uint64(bit_width)
    one = ONE
    field = (one << w) - one
    pair = (one << (w + w)) - one
    quad = (one << (np.uint64(4) * w)) - one
    low1 = field * np.uint64(0x0001000100010001)
    high1 = (field << w) * np.uint64(0x0001000100010001)
    low2 = pair * np.uint64(0x0000000100000001)
    high2 = (pair << (w + w)) * np.uint64(0x0000000100000001)
    return low1, high1, low2, high2, quad, quad << (np.uint64(4) * w)


@kernel
def encode_levels(levels: Bytes, bit_width: Int, pages: Int64s, column: Int, out: Bytes) -> Int:
    """Encode levels that exist as an array, of ``bit_width`` 1 to 8 bits; else as ``encode_packed``.

    ``levels`` uint8, with ``LEVEL_PADDING`` readable bytes after the last level.
    """
    low1, high1, low2, high2, low3, high3 = _pack_masks(bit_width)
    shift1 = np.uint64(8 - bit_width)
    shift2 = np.uint64(16 - 2 * bit_width)
    shift3 = np.uint64(32 - 4 * bit_width)
    least = minimum_run(bit_width)
    position = np.int64(0)
    for page in range(len(pages) - 1):
        first = position
        i = pages[page, LEVEL]
        end = pages[page + 1, LEVEL]
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
                    position = _write_run(out, position, run, word & np.uint64(255), np.int64(1))
                    header = position
                    position += 1
                    groups = np.int64(0)
                    i += run
                    continue
            if left < 8:
                word &= (ONE << np.uint64(8 * left)) - ONE
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
        pages[page, column] = position - first
    return position


@kernel
def encode_constant(level: Int, pages: Int64s, column: Int, out: Bytes) -> Int:
    """Encode levels that are all ``level``: one repeated run a page. Else as ``encode_packed``."""
    position = np.int64(0)
    for page in range(len(pages) - 1):
        count = pages[page + 1, LEVEL] - pages[page, LEVEL]
        end = _write_run(out, position, count, np.uint64(level), np.int64(1))
        pages[page, column] = end - position
        position = end
    return position


@inlined
def _store_group(out: Bytes, position: Int, width: Int, a: Int, b: Int, c: Int, d: Int) -> None:
    """Store four pairs of values of ``width`` (1 to 28) bits each; whole words are stored, so zeros follow."""
    two = width << ONE
    if width <= np.uint64(16):
        a |= b << two
        c |= d << two
        store_u64(out, position, a)
        store_u64(out, position + 8, np.uint64(0))
        # Four odd widths end in the middle of a byte, whose other half is stored again.
        half = np.uint64(4) * (width & ONE)
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
    least_width: Int,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """Encode dictionary indices: a byte with the bit width, then the hybrid (Encodings.md, "Dictionary Encoding").

    A page's indices have as many bits as its largest needs, and ``least_width`` at least: the first pages know only
    some of the dictionary. ``indices`` int32 of all the pages, none above 2 to the power of 28, with ``INDEX_PADDING``
    more after them; pages are placed in ``out`` as in ``kernels.plain``. Returns the end of the last page.
    """
    end_of_page = np.int64(0)
    for page in range(len(pages) - 1):
        position = values_start(pages, page, LEAD, end_of_page)
        pages[page, START] = position
        of_page = indices[pages[page, VALUE] : pages[page + 1, VALUE]]
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
        i = pages[page, VALUE]
        end = pages[page + 1, VALUE]
        while i < end:
            left = end - i
            a, b, c, d, alike = pack_pairs(indices, i, left, width)
            if alike == np.uint64(255) or (left < 8 and groups == 0):
                run = np.int64(1)
                while run < left and indices[i + run] == indices[i]:
                    run += 1
                if run >= least or (run == left and groups == 0):
                    position = _close_groups(out, header, position, groups)
                    position = _write_run(out, position, run, np.uint64(indices[i]), value_bytes)
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
        pages[page, END] = position
        end_of_page = position
    return end_of_page
