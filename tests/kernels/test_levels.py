"""Shredding, pagination and histograms against plain loops."""

from __future__ import annotations

from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter.kernels import bits, histogram, lists, pagination, shredding
from colwriter.kernels.page_table import LEVEL, ROW, SLOT, VALUE
from colwriter.pages import Pages
from page_tables import page_table

# 64-bit words, blocks of 256 (row starts), 8192 rows a step.
EDGES = sorted({max(n + d, 0) for n in (0, 8, 64, 128, 256, 8192, 32_768, 65_536) for d in (-1, 0, 1, 9)})


NO_ROWS = np.zeros(0, np.int64)
NO_BITS = np.zeros(0, np.uint8)
BOUNDARIES = st.lists(st.integers(0, 450), unique=True, max_size=8).map(sorted)


def bitmap(values: np.ndarray, offset: int) -> np.ndarray:
    return np.packbits(np.concatenate([np.ones(offset, np.uint8), values.astype(np.uint8)]), bitorder="little")


@pytest.mark.parametrize("count", EDGES)
@pytest.mark.parametrize("max_level", [1, 2, 3, 8, 255])
def test_histograms_agree_with_a_plain_count(count: int, max_level: int) -> None:
    rng = np.random.default_rng(count + max_level)
    # Skewed: most levels are the largest, as in real columns.
    levels = np.where(rng.random(count) < 0.8, max_level, rng.integers(0, max_level + 1, count)).astype(np.uint8)
    starts = np.array(sorted({0, count // 7, count // 2, count}), np.int64)
    expected = [np.bincount(levels[a:b], minlength=max_level + 1) for a, b in zip(starts, starts[1:], strict=False)]
    for partials in (1, 2, 4, 8):
        counted = np.full((len(starts) - 1, max_level + 1), -1, np.int64)
        scratch = np.zeros(partials * (max_level + 1), np.int64)
        histogram.count_levels(levels, page_table(starts), partials, scratch, counted)
        assert np.array_equal(counted, np.reshape(expected, counted.shape))
        assert not scratch.any()


@pytest.mark.parametrize(
    ("max_level", "levels", "expected"),
    [
        # apache/arrow size_statistics_test.cc, and the trigger of apache/arrow #50778 (a block counted twice).
        (1, [0, 1, 1, 1, 0], [2, 3]),
        (2, [0, 1, 2, 2, 0], [2, 1, 2]),
        (1, [0] * 16_384 + [1] * 16_384, [16_384, 16_384]),
        (1, [1] * 16_384 + [0], [1, 16_384]),
        (1, [0] + [1] * 32_768, [1, 32_768]),
    ],
)
def test_known_histograms(max_level: int, levels: list[int], expected: list[int]) -> None:
    array = np.array(levels, np.uint8)
    starts = np.array([0, len(array)], np.int64)
    counted = np.zeros((1, max_level + 1), np.int64)
    histogram.count_levels(array, page_table(starts), 4, np.zeros(4 * (max_level + 1), np.int64), counted)
    assert counted.tolist() == [expected]


@numba.njit
def call_bits_at(data, bit, count):  # type: ignore[no-untyped-def]
    """What kernels inline cannot be called from Python."""
    return bits.bits_at(data, bit), bits.valid_slots(data, bit, count)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.integers(0, 70), st.integers(0, 2**32))
def test_bits(count: int, offset: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 2, count)
    data = bitmap(values, offset)
    for bit in range(count):
        known = values[bit : bit + 64]
        some = min(len(known), 17)
        word, slots = (int(w) for w in call_bits_at(data, offset + bit, some))
        assert [(word >> k) & 1 for k in range(len(known))] == known.tolist()
        assert slots == word & ((1 << some) - 1)
    assert int(call_bits_at(np.zeros(1, np.uint8), 0, 64)[1]) == 0
    for start, end in [(0, count), (count // 3, count), (count // 3, 2 * count // 3), (count, count)]:
        assert pagination.count_valid(data, offset + start, offset + end) == values[start:end].sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(0, 20), st.integers(0, 2**32))
def test_validity_levels(count: int, offset: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 2, count)
    out = np.full(count + shredding.PADDING, 99, np.uint8)
    shredding.validity_levels(bitmap(values, offset), offset, count, 3, out)
    assert out[:count].tolist() == (values + 3).tolist()


def naive_pages(
    sizes: list[int],
    levels: list[int],
    values: list[int],
    limits: tuple[int, int, int],
    boundaries: list[int],
    stop_value: int,
) -> list[int]:
    """First row of each page, and the end: a page takes rows while it is within limits, and one row at least."""
    max_rows, max_levels, limit = limits
    fences, used, held, seen = [0], 0, 0, 0
    for row, size in enumerate(sizes):
        if seen + values[row] > stop_value:
            break
        full = row - fences[-1] >= max_rows or used + size > limit or held + levels[row] > max_levels
        if row > fences[-1] and (full or row in boundaries):
            fences.append(row)
            used = held = 0
        used += size
        held += levels[row]
        seen += values[row]
    else:
        row = len(sizes)
    return [*fences, row] if row > fences[-1] else fences


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 400),
    st.sampled_from([1, 7, 100, 1 << 40]),
    st.sampled_from([1, 64, 1000, 1 << 40]),
    BOUNDARIES,
    st.sampled_from([0, 10, 1 << 40]),
    st.integers(0, 15),
    st.integers(0, 2**32),
)
def test_pages_of_flat_byte_arrays(
    count: int, max_rows: int, limit: int, boundaries: list[int], stop_value: int, offset: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    valid = rng.integers(0, 2, count)
    lengths = rng.integers(0, 30, count) * valid
    offsets = np.concatenate([[5], 5 + np.cumsum(lengths)]).astype(np.int32)
    sizes = [1 + int(v) * (32 + 8 * int(n)) for v, n in zip(valid, lengths, strict=True)]
    table = page_table([0] * (count + 3))
    limits = max_rows, 1 << 40, 8 * limit
    pages = pagination.paginate(
        *(NO_ROWS, NO_ROWS, bitmap(valid, offset), offset, offsets, 1, 32),
        *(*limits, np.array(boundaries, np.int64), stop_value, count, table),
    )
    expected = naive_pages(sizes, [1] * count, valid.tolist(), limits, boundaries, stop_value)
    found = table[: pages + 1]
    assert found[:, ROW].tolist() == found[:, LEVEL].tolist() == found[:, SLOT].tolist() == expected
    assert found[:, VALUE].tolist() == [int(valid[:row].sum()) for row in expected]


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 300),
    st.sampled_from([1, 7, 100, 1 << 40]),
    st.sampled_from([1, 10, 300, 1 << 40]),
    st.sampled_from([1, 64, 1000, 1 << 40]),
    BOUNDARIES,
    st.sampled_from([1, 4, 400]),
    st.integers(0, 2**32),
)
def test_pages_of_lists_start_at_rows(
    count: int, max_rows: int, max_levels: int, limit: int, boundaries: list[int], longest: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest + 1, count)
    levels = np.maximum(lengths, 1)
    first = np.concatenate([[0], np.cumsum(levels)])
    repetition = np.ones(first[-1], np.uint8)
    repetition[first[:-1]] = 0
    definition = np.ones(first[-1], np.uint8)
    definition[first[:-1][lengths == 0]] = 0
    sizes = [int(n) * 2 + int(v) * 64 for n, v in zip(levels, lengths, strict=True)]
    table = page_table([0] * (count + 3))
    offsets = np.zeros(0, np.int32)
    none = np.zeros(0, np.uint8)
    row_levels, row_slots = np.zeros((2, count + 1), np.int64)
    pagination.locate_rows(repetition, definition, len(definition), 1, row_levels, row_slots)
    assert row_levels.tolist() == first.tolist()
    assert row_slots.tolist() == [0, *np.cumsum(lengths).tolist()]
    limits = max_rows, max_levels, 8 * limit
    pages = pagination.paginate(
        *(row_levels, row_slots, none, 0, offsets, 2, 64),
        *(*limits, np.array(boundaries, np.int64), 1 << 60, count, table),
    )
    expected = naive_pages(sizes, levels.tolist(), lengths.tolist(), limits, boundaries, 1 << 60)
    found = table[: pages + 1]
    assert found[:, ROW].tolist() == expected
    assert found[:, LEVEL].tolist() == first[expected].tolist()
    assert found[:, SLOT].tolist() == [int(lengths[:row].sum()) for row in expected]


def test_too_many_pages_is_a_status() -> None:
    none = np.zeros(0, np.uint8)
    result = pagination.paginate(
        *(NO_ROWS, NO_ROWS, none, 0, np.zeros(0, np.int32), 1, 64),
        *(1, 1, 8, NO_ROWS, 1 << 60, 10, page_table([0] * 3)),
    )
    assert result == pagination.TOO_MANY_PAGES


def naive_list_levels(
    spans: list[int], valid: list[int], optional: int, elements: list[int], element_optional: int
) -> tuple[list[int], list[int]]:
    repetition, definition, at = [], [], 0
    for span, is_valid in zip(spans, valid, strict=True):
        if span == 0:
            repetition.append(0)
            definition.append(is_valid if optional else 0)
        for k in range(span):
            repetition.append(int(k > 0))
            definition.append(optional + 1 + (elements[at] if element_optional else 0))
            at += 1
    return repetition, definition


def unpack(data: np.ndarray, width: int, count: int) -> list[int]:
    bits = np.unpackbits(data, bitorder="little")[: count * width].reshape(count, width)
    return (bits * (1 << np.arange(width))).sum(axis=1).tolist()


# Lists go by 64; one with the null and empty ones before it is a step of up to 28 levels, or of words of 32 or 64, or
# of eight words.
@settings(max_examples=400, deadline=None)
@given(
    st.one_of(st.integers(0, 150), st.sampled_from([63, 64, 65, 127, 128, 129])),
    st.sampled_from([0, 1]),
    st.sampled_from([0, 1]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 0.9, 0.97, 1.0]),
    st.sampled_from([0, 3, 27, 28, 29, 32, 40, 64, 150, 300, 1000]),
    st.sampled_from([np.int32, np.int64]),
    st.integers(0, 20),
    st.integers(0, 2**32),
)
def test_packed_list_levels(
    count: int,
    optional: int,
    element_optional: int,
    list_nulls: bool,
    element_nulls: bool,
    empty_share: float,
    longest: int,
    dtype: type,
    before: int,
    seed: int,
) -> None:
    """After as many other levels as ``before``; those in the same byte are ones and zeros."""
    before *= count > 0  # without lists nothing is stored
    rng = np.random.default_rng(seed)
    spans = np.where(rng.random(count) < empty_share, 0, rng.integers(0, longest + 1, count))
    spans[rng.random(count) < 0.1 * (empty_share < 0.9)] = 28
    valid = np.where(spans == 0, rng.integers(0, 2, count), 1) if list_nulls and optional else np.ones(count, np.int64)
    total = int(spans.sum())
    elements = rng.integers(0, 2, total) if element_nulls and element_optional else np.ones(total, np.int64)
    offset, element_offset, first = (int(v) for v in rng.integers(0, 9, 3))
    offsets = (first + np.concatenate([[0], np.cumsum(spans)])).astype(dtype)
    none = np.zeros(0, np.uint8)
    width = 1 if optional + element_optional == 0 else 2
    repetition = np.full((total + count) // 8 + lists.PADDING, 0xAA, np.uint8)
    definition = np.full((total + count) * width // 8 + lists.PADDING, 0xAA, np.uint8)
    assert lists.count_empty(offsets) == np.count_nonzero(spans == 0)
    row_levels, row_slots = np.zeros((2, count + 1), np.int64)
    levels = lists.pack_list_levels(
        bitmap(valid, offset) if list_nulls and optional else none,
        offset,
        optional,
        offsets,
        count,
        first + total,
        bitmap(np.concatenate([np.ones(first, np.int64), elements]), element_offset)
        if element_nulls and element_optional
        else none,
        element_offset,
        element_optional,
        width,
        first,
        before,
        repetition,
        definition,
        row_levels,
        row_slots,
    )
    expected = naive_list_levels(spans.tolist(), valid.tolist(), optional, elements.tolist(), element_optional)
    assert levels == before + len(expected[0])
    row_levels -= before
    levels -= before
    others = before & 7, before * width & 7
    assert unpack(repetition, 1, others[0] + levels) == [1] * others[0] + expected[0]
    assert np.unpackbits(definition, bitorder="little")[: others[1]].sum() == 0
    definition = np.packbits(np.unpackbits(definition, bitorder="little")[others[1] :], bitorder="little")
    assert unpack(definition, width, levels) == expected[1]
    rows = np.flatnonzero(np.array(expected[0]) == 0)
    assert row_levels.tolist() == [*rows, levels]
    assert row_slots.tolist() == (offsets - first).tolist()

    # The histograms of two pages follow from the page table and the validity of the lists.
    row_fences = np.array(sorted({0, count // 3, count}), np.int64)
    level_fences, slot_fences = row_levels[row_fences], row_slots[row_fences]
    value_fences = np.concatenate([[0], np.cumsum(elements)])[slot_fences]
    pages = Pages.of(row_fences, level_fences, slot_fences, value_fences)
    counted = np.full((len(row_fences), 2), -1), np.full((len(row_fences), optional + element_optional + 2), -1)
    if optional:
        counted[1][:, 0] = 0
    if list_nulls and optional:
        histogram.count_nulls(pages.table, ROW, 0, 0, bitmap(valid, offset), offset, counted[1])
        again = counted[0].copy(), np.full_like(counted[1], -1)
        histogram.fill_in(pages.table, optional + 1, bitmap(valid, offset), offset, *again)
    histogram.fill_in(pages.table, optional + 1, none, 0, *counted)
    if list_nulls and optional:
        assert all((a == b).all() for a, b in zip(again, counted, strict=True))
    ends = [*level_fences.tolist(), 0]
    for page in range(len(row_fences)):
        part = slice(ends[page], ends[page + 1]) if page + 1 < len(row_fences) else slice(None)
        for levels_of, counts in zip(expected, counted, strict=True):
            assert counts[page].tolist() == [levels_of[part].count(level) for level in range(counts.shape[1])]


@settings(max_examples=100, deadline=None)
@given(
    count=st.integers(0, 300),
    longest=st.sampled_from([1, 2, 5, 64, 65, 200]),
    dtype=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_full_lists_are_marked(count: int, longest: int, dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spans = rng.integers(1, longest + 1, count)
    first, total = int(rng.integers(0, 9)), int(spans.sum())
    offsets = (first + np.concatenate([[0], np.cumsum(spans)])).astype(dtype)
    repetition = np.full(total // 8 + lists.PADDING, 0xAA, np.uint8)
    rows = np.full(count + 1, -1)
    assert lists.mark_lists(offsets, count, first + total, repetition, rows) == total
    assert rows.tolist() == (offsets - first).tolist()
    assert unpack(repetition, 1, total) == [int(k > 0) for span in spans for k in range(span)]
    if count:
        empty = offsets.copy()
        at = int(rng.integers(0, count))
        empty[at + 1 :] -= spans[at].astype(dtype)
        statuses = [lists.mark_lists(empty, count, first + total, repetition, rows)]
        statuses.append(lists.mark_lists(offsets, count, first + total - 1, repetition, rows))
        offsets[at] += total + 1
        statuses.append(lists.mark_lists(offsets, count, first + total, repetition, rows))
        offsets[0] = -1
        statuses.append(lists.mark_lists(offsets, count, first + total, repetition, rows))
        assert statuses == [lists.EMPTY_LISTS] * 4


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.integers(1, 70), st.sampled_from([127, 128, 129, 1000])), st.integers(0, 300))
def test_equal_lists_are_marked(size: int, count: int) -> None:
    repetition = np.full(size * count // 8 + lists.PADDING, 0xAA, np.uint8)
    rows = np.full(count + 1, -1)
    lists.mark_equal_lists(size, count, repetition, rows)
    assert rows.tolist() == list(range(0, size * count + 1, size))
    assert unpack(repetition, 1, size * count) == [int(k > 0) for k in range(size)] * count


def expanded(
    levels: list[tuple[int, int]], spans: list[int], slot_level: int, live: int, repeated: int, valid: list[int] | None
) -> list[tuple[int, int]]:
    """Repetition and definition levels of the elements, one list after another; ``valid`` None: required elements."""
    out = []
    slots, element = iter(spans), 0
    for first, level in levels:
        span = next(slots) if level >= slot_level else 0
        if span == 0:
            out.append((first, level))
        for k in range(span):
            above = 1 if valid is None else 1 + valid[element]
            out.append((repeated if k else first, live + above))
            element += 1
    return out


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(0, 300),
    longest=st.sampled_from([0, 1, 3, 8, 9, 17, 70]),
    empty_share=st.sampled_from([0.0, 0.3, 0.9]),
    elements=st.sampled_from(["required", "all valid", "some null"]),
    is_root=st.booleans(),
    dtype=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_lists_are_expanded(
    count: int, longest: int, empty_share: float, elements: str, is_root: bool, dtype: type, seed: int
) -> None:
    """Levels of a list two levels down, some of whose ancestors are null, or of one that is at the root."""
    rng = np.random.default_rng(seed)
    slot_level, live, repeated = (0, 1, 1) if is_root else (2, 4, 2)
    definition = np.full(count, live, np.uint8) if is_root else rng.integers(0, live + 1, count).astype(np.uint8)
    repetition = np.zeros(count, np.uint8) if is_root else rng.integers(0, 2, count).astype(np.uint8)
    of_slots = definition[definition >= slot_level]
    spans = np.where((rng.random(len(of_slots)) < empty_share) | (of_slots != live), 0, 1)
    spans *= rng.integers(0, longest + 1, len(of_slots))
    first, bit_offset = (int(v) for v in rng.integers(0, 9, 2))
    total = int(spans.sum())
    offsets = (first + np.concatenate([[0], np.cumsum(spans)])).astype(dtype)
    valid = rng.integers(0, 2, total) if elements == "some null" else np.ones(total, np.int64)
    none = np.zeros(0, np.uint8)
    out = np.full((2, total + count + shredding.PADDING), 0xAA, np.uint8)
    levels = shredding.expand_lists(
        none if is_root else repetition,
        none if is_root else definition,
        count,
        slot_level,
        live,
        offsets,
        first + total,
        repeated,
        bitmap(np.concatenate([np.ones(first, np.int64), valid]), bit_offset) if elements == "some null" else none,
        bit_offset,
        elements != "required",
        out[0],
        out[1],
    )
    pairs = list(zip(repetition.tolist(), definition.tolist(), strict=True))
    is_valid = None if elements == "required" else valid.tolist()
    expected = expanded(pairs, spans.tolist(), slot_level, live, repeated, is_valid)
    assert levels == len(expected)
    assert list(zip(*out[:, :levels].tolist(), strict=True)) == expected


@pytest.mark.parametrize("offsets", [[0, 5, 3, 8], [0, 2, 4, 99], [-4, 2, 4, 8], [0, 0, 4, 9]])
def test_wrong_offsets_of_expanded_lists_are_a_status(offsets: list[int]) -> None:
    none = np.zeros(0, np.uint8)
    out = np.zeros((2, 200), np.uint8)
    definition = np.array([1, 0, 1, 1], np.uint8)
    for levels in (none, definition):
        status = shredding.expand_lists(
            none, levels, 3 + (len(levels) > 0), 1, 1, np.array(offsets, np.int32), 8, 1, none, 0, True, *out
        )
        assert status == shredding.INVALID_OFFSETS


def test_elements_of_a_null_list_are_a_status() -> None:
    none = np.zeros(0, np.uint8)
    out = np.zeros((2, 200), np.uint8)
    offsets = np.array([0, 2, 5], np.int32)
    definition = np.array([1, 0], np.uint8)
    status = shredding.expand_lists(none, definition, 2, 0, 1, offsets, 5, 1, none, 0, True, *out)
    assert status == shredding.HIDDEN_VALUES


@pytest.mark.parametrize("offsets", [[0, 5, 3, 8], [0, 2, 4, 99], [-4, 2, 4, 8], [0, 100, 2, 8], [0, 0, 4, 3]])
def test_wrong_list_offsets_are_a_status(offsets: list[int]) -> None:
    none = np.zeros(0, np.uint8)
    out = np.zeros(100, np.uint8)
    array = np.array(offsets, np.int32)
    rows = np.zeros((2, 4), np.int64)
    status = lists.pack_list_levels(none, 0, 1, array, 3, 8, none, 0, 1, 2, 0, 0, out, out.copy(), *rows)
    assert status == lists.INVALID_OFFSETS


def test_offsets_that_go_down_later_are_a_status() -> None:
    """What comes before does not write past the room for the elements that the first and the last offset span."""
    none = np.zeros(0, np.uint8)
    offsets = np.concatenate([np.arange(65) * 100, [10]]).astype(np.int32)
    out = np.zeros(100, np.uint8)
    repetition, definition = out[:40], out[40:80]
    rows = np.zeros((2, 66), np.int64)
    packed = repetition, definition, *rows
    status = lists.pack_list_levels(none, 0, 1, offsets, 65, 10_000, none, 0, 1, 2, 0, 0, *packed)
    assert status == lists.INVALID_OFFSETS
    assert not out[80:].any()


def test_hidden_values_are_a_status() -> None:
    none = np.zeros(0, np.uint8)
    out = np.zeros(100, np.uint8)
    array = np.array([0, 2, 5], np.int32)
    valid = np.array([0b01], np.uint8)
    rows = np.zeros((2, 3), np.int64)
    status = lists.pack_list_levels(valid, 0, 1, array, 2, 8, none, 0, 1, 2, 0, 0, out, out.copy(), *rows)
    assert status == lists.HIDDEN_VALUES


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 300),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from([np.int32, np.int64]),
    st.integers(0, 2**32),
)
def test_nulls_and_empty_lists_of_pages(count: int, num_pages: int, empty_share: float, dtype: type, seed: int) -> None:
    """Lists in a struct in a struct, each of which may be null: levels 2, 3, 4, and 5 where they are empty."""
    rng = np.random.default_rng(seed)
    level = np.where(rng.random(count) < 0.5, 5, rng.integers(2, 6, count))
    spans = np.where((level < 5) | (rng.random(count) < empty_share), 0, rng.integers(0, 70, count))
    offset, first = (int(v) for v in rng.integers(0, 9, 2))
    offsets = (first + np.concatenate([[0], np.cumsum(spans)])).astype(dtype)
    slots = np.sort(np.concatenate([[0, count], rng.integers(0, count + 1, num_pages - 1)]))
    repetition, definition = np.full((num_pages + 1, 4), -1), np.full((num_pages + 1, 9), -1)
    elements, table = np.full((num_pages + 1, 1), -1), page_table(slots)
    for null in (2, 3, 4):
        histogram.count_nulls(table, SLOT, 2, null, bitmap(level > null, offset), offset, definition)
    histogram.count_empty_lists(table, SLOT, 2, 5, 3, offsets, elements, repetition, definition)
    ends = np.concatenate([[0], np.cumsum(spans)])
    assert elements[:, 0].tolist() == ends[slots].tolist()
    for page, (a, b) in enumerate(pairwise(slots.tolist())):
        of_page = level[a:b].tolist()
        empty = sum(found == 5 and span == 0 for found, span in zip(of_page, spans[a:b].tolist(), strict=True))
        nulls = [of_page.count(null) for null in (2, 3, 4)]
        assert definition[page].tolist() == [-1, -1, *nulls, empty, -1, -1, -1]
        rest = sum(max(span - 1, 0) for span in spans[a:b].tolist())
        assert repetition[page].tolist() == [-1, -1, -1, rest]


def test_what_the_page_table_fills_in() -> None:
    counted = np.zeros((4, 2), np.int64)
    slots, values = np.array([0, 5, 8, 17]), np.array([0, 5, 5, 9])
    none = np.zeros((0, 0), np.int64)
    histogram.fill_in(Pages.of(slots, slots, slots, values).table, 0, NO_BITS, 0, none, counted)
    assert counted.tolist() == [[0, 5], [3, 0], [5, 4], [8, 9]]
    # Two lists deep, slots from level 3 on: levels 0, 1 and 3 are counted before, 2 and 4 are what is left.
    rows, levels = np.array([0, 2, 3, 9]), np.array([0, 9, 15, 40])
    repetition, definition = np.full((4, 3), -1), np.full((4, 6), -1)
    repetition[:3, 1] = 4, 1, 7
    definition[:3, [0, 1, 3]] = [1, 0, 0], [0, 2, 1], [6, 3, 2]
    histogram.fill_in(Pages.of(rows, levels, slots, values).table, 3, NO_BITS, 0, repetition, definition)
    assert repetition.tolist() == [[2, 4, 3], [1, 1, 4], [6, 7, 12], [9, 12, 19]]
    assert definition.tolist() == [
        [1, 0, 3, 0, 0, 5],
        [0, 2, 1, 1, 2, 0],
        [6, 3, 7, 2, 3, 4],
        [7, 5, 11, 3, 5, 9],
    ]
    # Slots are values: what is left for the level below is empty lists.
    definition = np.full((4, 3), -1)
    definition[:, 0] = 1
    histogram.fill_in(Pages.of(rows, levels, slots, slots).table, 2, NO_BITS, 0, none, definition)
    assert definition.tolist() == [[1, 3, 5], [1, 2, 3], [1, 15, 9], [3, 20, 17]]
