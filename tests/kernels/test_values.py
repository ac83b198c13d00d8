"""PLAIN values, bounds and dictionaries against plain Python."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter.kernels import dictionary, extremes, index_bounds, plain, sampling
from colwriter.kernels._jit import hash_stripe, kernel, same_stripe
from colwriter.kernels.page_table import END, GREATEST, LEAD, LEAST, START, VALUE, VALUE_BYTES
from page_tables import page_table, pages_of


def bitmap(valid: np.ndarray, offset: int) -> np.ndarray:
    return np.packbits(np.concatenate([np.ones(offset, np.uint8), valid.astype(np.uint8)]), bitorder="little")


def byte_arrays(values: list[bytes], dtype: type = np.int32) -> tuple[np.ndarray, np.ndarray]:
    """Offsets that do not start at 0, and data without a byte to spare behind the last value."""
    data = np.frombuffer(b"?" * 3 + b"".join(values), np.uint8)
    return np.cumsum([3, *map(len, values)]).astype(dtype), data


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("null_share", [0.0, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 127, 1000])
def test_fixed(count: int, null_share: float, dtype: type) -> None:
    rng = np.random.default_rng(count)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, count, dtype=dtype)
    valid = rng.random(count) >= null_share
    starts = np.array(sorted({0, count // 3, count}), np.int64)
    pages = len(starts) - 1
    lead, level_bytes = 60, 40
    out = np.zeros((count + (pages + 1) * 32 + 64), dtype)
    table = page_table(starts, level_bytes)
    table[:, LEAST : GREATEST + 1] = 7
    plain.encode_fixed(values, bitmap(valid, 3), 3, lead, 64, True, table, out)
    again = page_table(starts)
    again[:, LEAST : GREATEST + 1] = 7
    plain.min_max_fixed(out, table[:-1, START : END + 1] // values.itemsize, again)
    extremes = table[:-1, LEAST : GREATEST + 1]
    assert (again[:-1, LEAST : GREATEST + 1] == extremes).all()
    before = 0
    for page, data in enumerate(pages_of(table, out.view(np.uint8))):
        kept = values[starts[page] : starts[page + 1]][valid[starts[page] : starts[page + 1]]]
        assert table[page, START] % 64 == 0
        assert table[page, START] >= before + lead + level_bytes
        before = table[page, END]
        assert data == kept.tobytes()
        expected_extremes = [kept.min(), kept.max()] if len(kept) else [7, 7]
        assert extremes[page].tolist() == expected_extremes
    without = page_table(starts)
    plain.encode_fixed(values, np.zeros(0, np.uint8), 0, 0, values.itemsize, False, without, out)
    assert pages_of(without, out.view(np.uint8)) == [values[a:b].tobytes() for a, b in pairwise(starts)]
    assert (without[:, LEAST : GREATEST + 1] == 0).all()
    assert without[:-1, END].tolist() == (starts[1:] * values.itemsize).tolist()  # side by side


# Lengths around the eight-byte words, and the 24 and 64 bytes that are copied at once; values that begin alike.
VALUES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.builds(
            lambda shared, rest: b"/usr/lib/python3/dist-packages/"[:shared] + rest,
            st.integers(0, 31),
            st.binary(max_size=4) | st.binary(min_size=30, max_size=45),
        ),
        st.sampled_from([b"x" * n for n in (23, 24, 25, 63, 64, 65, 130)]),
        st.sampled_from([b"", b"\x00", b"a", b"a\x00", b"abcdefgh", b"abcdefgh\x00", b"abcdefgi", b"\xff" * 17]),
        st.builds(
            lambda length, last: b"abcdefghijklmnopqrstuvwxyz"[:length] + last,
            st.integers(5, 26),
            st.binary(max_size=1),
        ),
    ),
    max_size=120,
)


@st.composite
def orders(draw: st.DrawFn) -> list[bytes]:
    """Values that come again, in any order or a sorted one: more than a chunk, and than slots are picked at once."""
    pool = draw(VALUES.filter(len))
    count = draw(st.sampled_from([extremes.CHUNK, 2 * extremes.CHUNK, extremes.PICKED])) + draw(st.integers(-3, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = [pool[k] for k in rng.integers(0, len(pool), draw(st.sampled_from([1, 3])) * count)]
    order = draw(st.sampled_from(["any", "rising", "falling", "last alone"]))
    if order == "last alone":
        return [values[0]] * (len(values) - 1) + [pool[-1]]
    return values if order == "any" else sorted(values, reverse=order == "falling")


@settings(max_examples=300, deadline=None)
@given(VALUES | orders(), st.integers(0, 12), st.integers(0, 2**32), st.sampled_from([np.int32, np.int64]))
def test_byte_arrays(values: list[bytes], offset: int, seed: int, dtype: type) -> None:
    valid = np.random.default_rng(seed).random(len(values)) < [0.05, 0.8, 1][seed % 3]
    offsets, data = byte_arrays(values, dtype)
    starts = np.array(sorted({0, len(values) // 3, len(values)}), np.int64)
    pages = len(starts) - 1
    out = np.zeros(len(data) + 4 * len(values) + pages * (LEAD + 9) + plain.OUT_PADDING, np.uint8)
    bits = bitmap(valid, offset)
    # The page table counts values, of which there are as many as valid slots.
    table = page_table(starts, 9)
    table[:, VALUE] = np.concatenate([[0], np.cumsum(valid)])[starts]
    summed = table.copy()
    plain.encode_byte_arrays(offsets, data, bits, offset, True, np.zeros(extremes.SCRATCH, np.int64), table, out)
    plain.sum_lengths(offsets, bits, offset, summed)
    for page, found in enumerate(pages_of(table, out)):
        slots = [k for k in range(starts[page], starts[page + 1]) if valid[k]]
        kept = [values[k] for k in slots]
        assert found == b"".join(struct.pack("<I", len(v)) + v for v in kept)
        assert table[page, VALUE_BYTES] == summed[page, VALUE_BYTES] == sum(map(len, kept))
        least, greatest = table[page, LEAST : GREATEST + 1]
        if kept:
            assert values[least] == min(kept)
            assert values[greatest] == max(kept)
        else:
            assert least == greatest == -1


@pytest.mark.parametrize("offsets", [[0, 5, 3, 8], [0, 2, 4, 99], [-4, 2, 4, 8], [4, 2, 6, 8]])
def test_wrong_offsets_are_a_status(offsets: list[int]) -> None:
    array = np.array(offsets, np.int32)
    data = np.zeros(8, np.uint8)
    none = np.zeros(0, np.uint8)
    out = np.zeros(500, np.uint8)
    scratch = np.zeros(extremes.SCRATCH, np.int64)
    status = plain.encode_byte_arrays(array, data, none, 0, True, scratch, page_table([0, 3]), out)
    assert status == plain.INVALID_OFFSETS
    keys = np.zeros(8 * dictionary.KEY_WORDS, np.uint64)
    table = np.zeros(dictionary.table_size(8) + dictionary.BLOCK, np.int32)
    entries, indices = np.zeros(8, np.int64), np.zeros(8, np.int32)
    assert (
        dictionary.build_byte_arrays(array, data, none, 0, 0, 3, 1000, 0, 0, table, keys, entries, indices)[0]
        == dictionary.INVALID_OFFSETS
    )
    assert sampling.hash_slots(array, data, none, 0, 0, 3, np.zeros(3, np.int64)) == dictionary.INVALID_OFFSETS


# The table starts with 1024 slots and grows when a sixteenth full, fourfold.
@pytest.mark.parametrize("distinct", [1, 2, 63, 64, 65, 66, 256, 257, 1024, 1025, 4097, 17_000])
@pytest.mark.parametrize("max_entries", [1, 512, 10_000, 20_000])
def test_fixed_dictionary(distinct: int, max_entries: int) -> None:
    rng = np.random.default_rng(distinct)
    pool = rng.integers(-(2**63), 2**63 - 1, distinct, dtype=np.int64)
    values = np.concatenate([pool, rng.choice(pool, 3000)])
    valid = rng.random(len(values)) < 0.9
    table = np.zeros(dictionary.table_size(max_entries) + dictionary.BLOCK, np.int32)
    entries, indices = np.zeros(max_entries, np.int64), np.zeros(len(values), np.int32)
    count, indexed = dictionary.build_fixed(
        values, bitmap(valid, 2), 2, 0, len(values), max_entries, 0, 0, table, entries, indices
    )
    expected: dict[int, int] = {}
    wanted = []
    for value in values[valid].tolist():
        if value not in expected and len(expected) == max_entries:
            break
        wanted.append(expected.setdefault(value, len(expected)))
    assert entries[:count].tolist() == list(expected)
    assert indices[:indexed].tolist() == wanted
    starts = np.array(sorted({0, indexed // 3, indexed}), np.int64)
    pages = page_table(starts)
    index_bounds.min_max_indices_fixed(indices, entries[:count], pages)
    kept = values[valid]
    for page in range(len(starts) - 1):
        part = kept[starts[page] : starts[page + 1]]
        if len(part):
            assert pages[page, LEAST : GREATEST + 1].tolist() == [part.min(), part.max()]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-3, 40) | st.integers(-(2**63), 2**63 - 1), max_size=300),
    st.floats(0, 1),
    st.integers(1, 50),
    st.integers(0, 9),
    st.integers(0, 300),
    st.integers(0, 2**32),
)
def test_fixed_dictionary_of_any_values(
    numbers: list[int], null_share: float, max_entries: int, offset: int, cut: int, seed: int
) -> None:
    """New values among the 64 slots that are looked up at once, also the same one twice; zeros; a full dictionary.

    And begun again at any slot, with the entries before it.
    """
    values = np.array(numbers, np.int64)
    valid = np.random.default_rng(seed).random(len(values)) >= null_share
    table = np.full(dictionary.table_size(max_entries) + dictionary.BLOCK, -1, np.int32)
    # What scratch holds must not matter: it may well be the first value.
    entries, indices = np.full(max_entries, values[0] if numbers else 0), np.full(len(values), -1, np.int32)
    slots, middle = (values, bitmap(valid, offset), offset), min(cut, len(values))
    count, indexed = dictionary.build_fixed(*slots, 0, middle, max_entries, 0, 0, table, entries, indices)
    if indexed == valid[:middle].sum():
        table[:] = -1
        rest = dictionary.build_fixed(
            *slots, middle, len(values), max_entries, 0, count, table, entries, indices[indexed:]
        )
        count, indexed = rest[0], indexed + rest[1]
    expected: dict[int, int] = {}
    wanted = []
    for value in values[valid].tolist():
        if value not in expected and len(expected) == max_entries:
            break
        wanted.append(expected.setdefault(value, len(expected)))
    assert entries[:count].tolist() == list(expected)
    assert indices[:indexed].tolist() == wanted


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 300), st.integers(0, 3000), st.integers(0, 50), st.floats(0, 1), st.integers(0, 2**32))
def test_sample(wanted: int, more: int, start: int, null_share: float, seed: int) -> None:
    """One slot of each stratum, if it holds a value: all of them if there are as many as are wanted."""
    count = wanted + more
    valid = np.random.default_rng(seed).random(start + count) >= null_share
    bits = bitmap(valid, 3)
    values = np.arange(start + count, dtype=np.int32)
    sample, all_of_them, hashes = np.full((3, wanted), -1, np.int64)
    met = sampling.sample_fixed(values, bits, 3, start, start + count, sample)
    assert sampling.sample_fixed(values, bits[:0], 3, start, start + count, all_of_them) == wanted
    strata = np.arange(wanted + 1) * count
    assert (all_of_them - start >= strata[:-1] // wanted).all()
    assert (all_of_them - start < -(-strata[1:] // wanted)).all()
    assert sample[:met].tolist() == all_of_them[valid[all_of_them]].tolist()
    offsets, data = byte_arrays([b"%d" % value for value in values.tolist()])
    assert sampling.hash_slots(offsets, data, bits, 3, start, start + count, hashes) == met
    assert len(set(hashes[:met].tolist())) == len(set(sample[:met].tolist()))


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("probation", [1, 63, 64, 65, 500])
def test_probation(probation: int, width: int) -> None:
    """What does not repeat is given up by the end of the 64 slots in which probation ends; what repeats is kept."""
    dtype = np.int32 if width == 4 else np.int64
    for values, kept in (np.arange(2000), False), (np.arange(2000) // 100, True):
        table = np.zeros(dictionary.table_size(2000) + dictionary.BLOCK, np.int32)
        entries, indices = np.zeros(2000, dtype), np.full(2000, -1, np.int32)
        found = dictionary.build_fixed(
            values.astype(dtype), np.zeros(0, np.uint8), 0, 0, 2000, 2000, probation, 0, table, entries, indices
        )
        assert found == ((20, 2000) if kept else (0, 0))
        assert kept or (indices >= 0).sum() < probation + 64


# Least and greatest of all are looked for in blocks of 512 values.
@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.lists(st.sampled_from([0, 1, 511, 512, 513, 1023, 1024, 1025]) | st.integers(0, 3000), max_size=4),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_bounds_of_indices(
    count: int, num_entries: int, cuts: list[int], ordered: bool, alike: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, num_entries, count).astype(np.int32)
    if ordered:  # most pages refer to neither the least nor the greatest
        indices.sort()
    starts = np.array([0, *sorted(min(cut, count) for cut in cuts), count], np.int64)
    numbers, arrays = page_table(starts), page_table(starts)
    entries = np.sort(rng.integers(-(2**63), 2**63 - 1, num_entries)) if ordered else rng.permutation(num_entries)
    index_bounds.min_max_indices_fixed(indices, entries, numbers)
    texts = [(b"prefix of eight and more " if alike else b"") + b"%d" % entry for entry in entries.tolist()]
    offsets, data = byte_arrays(texts)
    seen, prefixes = np.zeros(num_entries, np.int32), np.zeros(num_entries, np.uint64)
    slots = np.arange(num_entries)
    index_bounds.min_max_indices_byte_arrays(offsets, data, indices, slots, seen, prefixes, arrays)
    for page in range(len(starts) - 1):
        used = indices[starts[page] : starts[page + 1]]
        first, last = arrays[page, LEAST : GREATEST + 1]
        if len(used) == 0:
            assert first == last == -1
            continue
        assert numbers[page, LEAST : GREATEST + 1].tolist() == [entries[used].min(), entries[used].max()]
        of_page = [texts[k] for k in used]
        assert (texts[first], texts[last]) == (min(of_page), max(of_page))


@settings(max_examples=200, deadline=None)
@given(VALUES, st.floats(0, 1), st.integers(0, 9), st.integers(0, 200), st.integers(0, 170), st.integers(0, 2**32))
def test_byte_array_dictionary(
    pool: list[bytes], null_share: float, offset: int, max_bytes: int, cut: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    slots = pool + [pool[k] for k in rng.integers(0, len(pool), 50)] if pool else []
    offsets, data = byte_arrays(slots)
    valid = rng.random(len(slots)) >= null_share
    values = [value for value, there in zip(slots, valid.tolist(), strict=True) if there]
    room = len(values) + 1
    table = np.full(dictionary.table_size(room) + dictionary.BLOCK, -1, np.int32)
    keys = np.zeros(room * dictionary.KEY_WORDS, np.uint64)
    entries, indices = np.full(room, -1, np.int64), np.full(room, -1, np.int32)
    scratch = table, keys, entries
    source, middle = (offsets, data, bitmap(valid, offset), offset), min(cut, len(slots))
    count, indexed, total = dictionary.build_byte_arrays(*source, 0, middle, max_bytes, 0, 0, *scratch, indices)
    if indexed == valid[:middle].sum():
        table[:] = -1
        rest = dictionary.build_byte_arrays(
            *source, middle, len(slots), max_bytes, 0, count, *scratch, indices[indexed:]
        )
        count, indexed, total = rest[0], indexed + rest[1], total + rest[2]
    expected: dict[bytes, int] = {}
    wanted, used = [], 0
    for value in values:
        if value not in expected:
            if used + 4 + len(value) > max_bytes:
                break
            used += 4 + len(value)
        wanted.append(expected.setdefault(value, len(expected)))
    assert [slots[k] for k in entries[:count]] == list(expected)
    assert indices[:indexed].tolist() == wanted
    assert total == sum(len(values[k]) for k in range(indexed))
    page = np.zeros(used + plain.OUT_PADDING, np.uint8)
    size = dictionary.write_byte_array_entries(offsets, data, entries, count, page)
    assert page[:size].tobytes() == b"".join(struct.pack("<I", len(v)) + v for v in expected)
    starts = np.array(sorted({0, indexed // 3, indexed}), np.int64)
    seen = np.zeros(count, np.int32)
    prefixes = np.zeros(count, np.uint64)
    pages = page_table(starts)
    index_bounds.min_max_indices_byte_arrays(offsets, data, indices, entries[:count], seen, prefixes, pages)
    for k in range(len(starts) - 1):
        part = values[starts[k] : starts[k + 1]]
        least, greatest = pages[k, LEAST : GREATEST + 1]
        if part:
            assert (slots[least], slots[greatest]) == (min(part), max(part))
        else:
            assert least == greatest == -1


@pytest.mark.parametrize("length", [24, 25, 40, 63, 64, 65, 127, 128, 129, 130, 300])
def test_dictionary_of_long_values_that_differ_in_one_byte(length: int) -> None:
    """Each byte counts, in values that lie amid the data and at its end, where no stripe can be read whole."""
    rng = np.random.default_rng(length)
    first = rng.bytes(length)
    changed = [first[:k] + bytes([first[k] ^ 0x80]) + first[k + 1 :] for k in range(length)]
    distinct = [first, *changed, first[:-1], first + b"\0"]
    values = distinct + [distinct[k] for k in rng.permutation(len(distinct))]
    offsets, data = byte_arrays(values)
    room = len(values)
    table = np.full(dictionary.table_size(room) + dictionary.BLOCK, -1, np.int32)
    keys = np.zeros(room * dictionary.KEY_WORDS, np.uint64)
    entries, indices = np.full(room, -1, np.int64), np.full(room, -1, np.int32)
    none = np.zeros(0, np.uint8)
    count, indexed, _ = dictionary.build_byte_arrays(
        offsets, data, none, 0, 0, room, 1 << 30, 0, 0, table, keys, entries, indices
    )
    assert (count, indexed) == (len(distinct), room)
    assert [values[slot] for slot in entries[:count]] == distinct
    assert [distinct[index] for index in indices.tolist()] == values


@pytest.mark.parametrize("count", range(16, 65))
def test_stripes(count: int) -> None:
    """Their hash and their comparison by vectors against plain Python; no byte around them counts."""
    rng = np.random.default_rng(count)
    value = rng.bytes(count)
    data = np.frombuffer(b"?" + value + b"!?" + value, np.uint8).copy()
    expected = 0
    for k in range(8):
        at = min(k // 2 * 16, count - 16) + k % 2 * 8
        word = int.from_bytes(value[at : at + 8], "little")
        keyed = word ^ ((k + 1) * 0x9E3779B97F4A7C15 % (1 << 64))
        expected += (keyed & 0xFFFFFFFF) * (keyed >> 32) + word
    assert _hash_stripe(data, 1, count) == _hash_stripe(data.ctypes.data, 1, count) == expected % (1 << 64)
    for where in (data, data.ctypes.data):
        assert _same_stripe(where, 1, count + 3, count)
        for k in range(count):
            data[1 + k] ^= 1
            assert not _same_stripe(where, 1, count + 3, count)
            data[1 + k] ^= 1


@kernel
def _hash_stripe(data: np.ndarray, start: int, count: int) -> int:
    return hash_stripe(data, start, count)


@kernel
def _same_stripe(data: np.ndarray, a: int, b: int, count: int) -> int:
    return same_stripe(data, a, b, count)
