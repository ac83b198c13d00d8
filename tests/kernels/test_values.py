"""PLAIN values, bounds and dictionaries against plain Python."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colwriter.kernels import dictionary, index_bounds, plain, sampling


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
    lead = np.full(pages, 100, np.int64)
    out = np.zeros((count + (pages + 1) * 32 + 64), dtype)
    begin, end = np.zeros((2, pages), np.int64)
    extremes = np.full((2, pages), 7, np.int64)
    plain.encode_fixed(values, bitmap(valid, 3), 3, starts, lead, 64, out, begin, end, extremes)
    width = values.itemsize
    again = np.full((2, pages), 7, np.int64)
    plain.min_max_fixed(out, begin // width, end // width, again)
    assert (again == extremes).all()
    least, greatest = extremes
    for page in range(pages):
        kept = values[starts[page] : starts[page + 1]][valid[starts[page] : starts[page + 1]]]
        assert begin[page] % 64 == 0
        assert out.view(np.uint8)[begin[page] : end[page]].tobytes() == kept.tobytes()
        expected_extremes = (kept.min(), kept.max()) if len(kept) else (7, 7)
        assert (least[page], greatest[page]) == expected_extremes
    without = np.empty((2, 0), np.int64)
    plain.encode_fixed(values, np.zeros(0, np.uint8), 0, starts, lead, 64, out, begin, end, without)
    for page in range(pages):
        expected = values[starts[page] : starts[page + 1]].tobytes()
        assert out.view(np.uint8)[begin[page] : end[page]].tobytes() == expected


# Lengths around the eight-byte words and the sixteen bytes that are copied at once.
VALUES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([b"", b"\x00", b"a", b"a\x00", b"abcdefgh", b"abcdefgh\x00", b"abcdefgi", b"\xff" * 17]),
        st.builds(
            lambda length, last: b"abcdefghijklmnopqrstuvwxyz"[:length] + last,
            st.integers(5, 26),
            st.binary(max_size=1),
        ),
    ),
    max_size=120,
)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.integers(0, 12), st.integers(0, 2**32), st.sampled_from([np.int32, np.int64]))
def test_byte_arrays(values: list[bytes], offset: int, seed: int, dtype: type) -> None:
    valid = np.random.default_rng(seed).random(len(values)) < 0.8
    offsets, data = byte_arrays(values, dtype)
    starts = np.array(sorted({0, len(values) // 3, len(values)}), np.int64)
    pages = len(starts) - 1
    lead = np.full(pages, 9, np.int64)
    out = np.zeros(len(data) + 4 * len(values) + int(lead.sum()) + plain.OUT_PADDING, np.uint8)
    begin, end, least, greatest, total = np.zeros((5, pages), np.int64)
    bits = bitmap(valid, offset)
    plain.encode_byte_arrays(offsets, data, bits, offset, starts, lead, 1, True, out, begin, end, least, greatest)
    plain.sum_lengths(offsets, bits, offset, starts, total)
    for page in range(pages):
        slots = [k for k in range(starts[page], starts[page + 1]) if valid[k]]
        kept = [values[k] for k in slots]
        assert out[begin[page] : end[page]].tobytes() == b"".join(struct.pack("<I", len(v)) + v for v in kept)
        assert total[page] == sum(map(len, kept))
        if kept:
            assert values[least[page]] == min(kept)
            assert values[greatest[page]] == max(kept)
        else:
            assert least[page] == greatest[page] == -1


@pytest.mark.parametrize("offsets", [[0, 5, 3, 8], [0, 2, 4, 99], [-4, 2, 4, 8], [4, 2, 6, 8]])
def test_wrong_offsets_are_a_status(offsets: list[int]) -> None:
    array = np.array(offsets, np.int32)
    data = np.zeros(8, np.uint8)
    none = np.zeros(0, np.uint8)
    out = np.zeros(500, np.uint8)
    begin, end, least, greatest = np.zeros((4, 1), np.int64)
    starts, lead = np.array([0, 3]), np.zeros(1, np.int64)
    status = plain.encode_byte_arrays(array, data, none, 0, starts, lead, 1, True, out, begin, end, least, greatest)
    assert status == plain.INVALID_OFFSETS
    keys = np.zeros(8 * dictionary.KEY_WORDS, np.uint64)
    table = np.zeros(dictionary.table_size(8), np.int32)
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
    least, greatest = np.zeros((2, len(starts) - 1), np.int64)
    index_bounds.min_max_indices_fixed(indices, starts, entries, count, least, greatest)
    kept = values[valid]
    for page in range(len(starts) - 1):
        part = kept[starts[page] : starts[page + 1]]
        if len(part):
            assert (least[page], greatest[page]) == (part.min(), part.max())


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
    least, greatest = np.zeros((2, len(starts) - 1), np.int64)
    entries = np.sort(rng.integers(-(2**63), 2**63 - 1, num_entries)) if ordered else rng.permutation(num_entries)
    index_bounds.min_max_indices_fixed(indices, starts, entries, num_entries, least, greatest)
    texts = [(b"prefix of eight and more " if alike else b"") + b"%d" % entry for entry in entries.tolist()]
    offsets, data = byte_arrays(texts)
    first, last = np.zeros((2, len(starts) - 1), np.int64)
    seen, prefixes = np.zeros(num_entries, np.int32), np.zeros(num_entries, np.uint64)
    slots = np.arange(num_entries)
    index_bounds.min_max_indices_byte_arrays(
        offsets, data, indices, starts, slots, num_entries, seen, prefixes, first, last
    )
    for page in range(len(starts) - 1):
        used = indices[starts[page] : starts[page + 1]]
        if len(used) == 0:
            assert first[page] == last[page] == -1
            continue
        assert (least[page], greatest[page]) == (entries[used].min(), entries[used].max())
        of_page = [texts[k] for k in used]
        assert (texts[first[page]], texts[last[page]]) == (min(of_page), max(of_page))


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
    table = np.full(dictionary.table_size(room), -1, np.int32)
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
    least, greatest = np.zeros((2, len(starts) - 1), np.int64)
    seen = np.zeros(count, np.int32)
    prefixes = np.zeros(count, np.uint64)
    index_bounds.min_max_indices_byte_arrays(
        offsets, data, indices, starts, entries, count, seen, prefixes, least, greatest
    )
    for k in range(len(starts) - 1):
        part = values[starts[k] : starts[k + 1]]
        if part:
            assert (slots[least[k]], slots[greatest[k]]) == (min(part), max(part))
        else:
            assert least[k] == greatest[k] == -1
