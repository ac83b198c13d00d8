"""Distinct values found by two threads are those that one finds, in the same order, with the same indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter.arena import Arena
from colwriter.encodings import distinct
from colwriter.levels import LeafColumn
from colwriter.schema import parquet_schema
from colwriter.shredding import shred


def leaf_of(array: pa.Array) -> LeafColumn:
    field = pa.field("column", array.type)
    columns = parquet_schema(pa.schema([field])).columns
    return next(iter(shred(array, field, list(columns), Arena())))


def found(leaf: LeafColumn, limit: int, threads: int) -> tuple[Any, ...]:
    """What ``index_values`` finds: its result, the entries and the indices. Scratch memory is not what it was."""
    arena = Arena()
    num_values = leaf.num_slots - (
        0
        if not len(leaf.validity)
        else int((np.unpackbits(leaf.validity, bitorder="little")[leaf.bit_offset :][: leaf.num_slots] == 0).sum())
    )
    entries: Any
    if len(leaf.offsets):
        entries = distinct.ByteArrays.make(leaf, limit, max(min(limit // 4, num_values), 1), arena)
        entries.keys[:], entries.slots[:] = 0, -1
    else:
        entries = distinct.Numbers.make(leaf, max(min(limit // 8, num_values), 1), arena)
        entries.values[:] = leaf.values[0]
    entries.table[:] = -1
    indices = np.full(num_values + 8, -7, np.int32)
    result = distinct.index_values(entries, 0, num_values, indices, threads)
    kept = entries.slots if len(leaf.offsets) else entries.values
    assert (indices[num_values:] == -7).all()
    return (*map(int, result), kept[: result.entries].tolist(), indices[: result.indexed].tolist())


def numbers(codes: np.ndarray, valid: np.ndarray) -> pa.Array:
    return pa.array(codes.astype(np.int64) * 0x9E3779B97F4A7C1 + 5, mask=~valid)


def texts(codes: np.ndarray, valid: np.ndarray) -> pa.Array:
    """Of up to 40 bytes."""
    pool = [
        ("long enough for no word of a key " * (k % 2) + f"text {k}")[-40 + k % 7 :] for k in range(codes.max() + 1)
    ]
    return pa.array([pool[k] if v else None for k, v in zip(codes.tolist(), valid.tolist(), strict=True)], pa.string())


@pytest.fixture(autouse=True)
def _shared_from_few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "SHARED_SLOTS", 2)
    monkeypatch.setattr(distinct, "SLOTS_PER_ENTRY", 0)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([numbers, texts]),
    st.integers(1, 3000),
    st.integers(1, 500),
    st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    st.integers(0, 70),
    st.sampled_from(["any", "rising", "new in the second half", "new in both"]),
    st.integers(8, 30_000),
    st.integers(0, 2**32),
)
def test_two_threads_find_what_one_finds(
    make: Any, count: int, distinct_values: int, null_share: float, start: int, kind: str, limit: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, distinct_values, count + start)
    if kind == "rising":
        codes.sort()
    elif kind == "new in the second half":
        codes[: -(count // 3)] %= 3
    elif kind == "new in both":
        codes[: start + count // 16] %= 2
    leaf = leaf_of(make(codes, rng.random(len(codes)) >= null_share).slice(start))
    assert found(leaf, limit, 2) == found(leaf, limit, 1)


@pytest.mark.parametrize("make", [numbers, texts])
@pytest.mark.parametrize("null_share", [0.0, 0.2])
def test_a_dictionary_that_is_full_anywhere(make: Any, null_share: float) -> None:
    """One entry more every four slots: it is full in the first slots, at each border, in either half, or never."""
    count = 1600
    valid = np.random.default_rng(1).random(count) >= null_share
    leaf = leaf_of(make(np.arange(count) // 4, valid))
    single = 8 if make is numbers else 4
    ends = set()
    for limit in range(single, 420 * 8 if make is numbers else 420 * 50, single * (5 if make is numbers else 40)):
        two = found(leaf, limit, 2)
        assert two == found(leaf, limit, 1)
        ends.add(two[1] * 10 // max(int(valid.sum()), 1))
    assert ends == set(range(11))
    first = count // distinct.FIRST_SHARE
    middle = first + (count - first) * distinct.FIRST_HALF // 32
    if make is numbers:
        for border in (first, middle):
            for entries in range(border // 4 - 3, border // 4 + 4):
                assert found(leaf, 8 * entries, 2) == found(leaf, 8 * entries, 1)


@pytest.mark.parametrize("make", [numbers, texts])
def test_the_same_entries_in_another_order(make: Any) -> None:
    """Each half finds as many as there are in all: the indices of the second change all the same."""
    first, order = np.zeros(200, np.int64), np.arange(1, 50)
    codes = np.concatenate([first, np.repeat(order, 40), np.repeat(order[::-1], 40)])
    leaf = leaf_of(make(codes, np.ones(len(codes), np.bool_)))
    assert found(leaf, 1 << 20, 2) == found(leaf, 1 << 20, 1)
    assert found(leaf, 1 << 20, 2)[4] == codes.tolist()


def test_few_values_for_each_entry_are_left_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = leaf_of(numbers(np.random.default_rng(2).integers(0, 700, 5000), np.ones(5000, np.bool_)))
    expected = found(leaf, 1 << 20, 1)
    monkeypatch.setattr(distinct, "SLOTS_PER_ENTRY", 1 << 20)
    monkeypatch.setattr(distinct, "side_by_side", None)
    assert found(leaf, 1 << 20, 2) == expected


@pytest.mark.parametrize("at", [3, 100, 600, 1150, 1999])
def test_wrong_offsets_are_found_by_either_thread(at: int) -> None:
    offsets = np.arange(2001, dtype=np.int32)
    data = np.arange(2000, dtype=np.uint8) % 7
    offsets[at] = -1
    leaf = leaf_of(pa.array(["a"] * 2000))
    for array in (offsets, data):
        array.flags.writeable = False
    leaf = leaf._replace(offsets=offsets, data=data)
    assert found(leaf, 1 << 20, 2)[0] == found(leaf, 1 << 20, 1)[0] == -1
