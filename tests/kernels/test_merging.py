"""Dictionaries of parts made one, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter.kernels import dictionary, merging

# Values of each way to be compared: up to 8, 16 and 23 bytes, and longer ones that differ in their last bytes alone.
POOL = [
    b"",
    b"\0",
    b"a",
    b"a\0",
    *(b"abcdefghijklmnopqrstuvwxyz"[:n] + b"%d" % k for n in (5, 14, 21, 26) for k in range(9)),
]


def build(values: list[bytes], start: int, end: int, max_bytes: int, room: int, pool: tuple) -> tuple:
    """Entries and their keys of a part of the values."""
    table, keys = scratch(room)
    entries, indices = np.full(room, -1, np.int64), np.zeros(end - start, np.int32)
    count, indexed, _ = dictionary.build_byte_arrays(
        *pool, np.zeros(0, np.uint8), 0, start, end, max_bytes, 0, 0, table, keys, entries, indices
    )
    assert indexed == end - start
    return count, keys, entries


def scratch(room: int) -> tuple[np.ndarray, np.ndarray]:
    table = np.full(dictionary.table_size(room) + dictionary.BLOCK, -1, np.int32)
    return table, np.zeros(room * dictionary.KEY_WORDS, np.uint64)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(POOL), max_size=90),
    st.integers(0, 90),
    st.integers(0, 700),
    st.sampled_from([np.int32, np.int64]),
)
def test_merge_byte_arrays(values: list[bytes], cut: int, max_bytes: int, dtype: type) -> None:
    cut = min(cut, len(values))
    data = np.frombuffer(b"?" + b"".join(values), np.uint8)
    pool = np.cumsum([1, *map(len, values)]).astype(dtype), data
    room = len(values) + 1
    count, keys, entries = build(values, 0, cut, 1 << 20, room, pool)
    others, other_keys, other_entries = build(values, cut, len(values), 1 << 20, room, pool)
    table, _ = scratch(room)
    mapping = np.full(others, -1, np.int32)
    found = merging.merge_byte_arrays(*pool, max_bytes, table, keys, entries, count, other_keys, other_entries, mapping)
    expected = {value: k for k, value in enumerate(dict.fromkeys(values))}
    if sum(4 + len(value) for value in expected) > max_bytes and len(expected) > count:
        assert found == 0
        return
    assert found == len(expected)
    assert [values[slot] for slot in entries[:found]] == list(expected)
    assert mapping.tolist() == [expected[values[slot]] for slot in other_entries[:others]]


def test_many_entries_are_merged_in_order() -> None:
    """The table grows more than once meanwhile."""
    rng = np.random.default_rng(4)
    values = [b"number %d" % k for k in rng.integers(0, 30_000, 40_000)]
    pool = np.cumsum([0, *map(len, values)]).astype(np.int32), np.frombuffer(b"".join(values), np.uint8)
    count, keys, entries = build(values, 0, 500, 1 << 20, 40_000, pool)
    others, other_keys, other_entries = build(values, 500, 40_000, 1 << 20, 40_000, pool)
    table, _ = scratch(40_000)
    mapping = np.zeros(others, np.int32)
    found = merging.merge_byte_arrays(*pool, 1 << 20, table, keys, entries, count, other_keys, other_entries, mapping)
    expected = {value: k for k, value in enumerate(dict.fromkeys(values))}
    assert [values[slot] for slot in entries[:found]] == list(expected)
    assert mapping.tolist() == [expected[values[slot]] for slot in other_entries[:others]]


def test_remap() -> None:
    indices = np.array([3, 0, 1, 3, 2], np.int32)
    merging.remap(indices, np.array([0, 7, 5, 9], np.int32))
    assert indices.tolist() == [9, 0, 7, 9, 5]
