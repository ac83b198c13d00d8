"""Arrays that are dictionary-encoded already, at any depth: their codes become indices, or their values are decoded."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
from colwriter import stored
from naive import check_file
from strategies import Case, arrow_types, build, has_fixed_size_list, layouts, values, writer_options

INDEX_TYPES = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
REPEATED = 5


def encoded(array: Any, rng: random.Random, index_type: Any) -> Any:
    """The array with all of its leaves dictionary-encoded, buffer by buffer: what null lists hide stays there."""
    arrow_type = array.type
    if not pa.types.is_nested(arrow_type):
        return _encoded_leaf(array, rng, index_type)
    if pa.types.is_struct(arrow_type):
        children = [encoded(array.field(i), rng, index_type) for i in range(arrow_type.num_fields)]
        fields = [arrow_type.field(i).with_type(child.type) for i, child in enumerate(children)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    child = encoded(array.values, rng, index_type)
    if pa.types.is_map(arrow_type):
        new_type: Any = pa.map_(*(child.type.field(i) for i in range(2)))
    elif pa.types.is_fixed_size_list(arrow_type):
        new_type = pa.list_(arrow_type.value_field.with_type(child.type), arrow_type.list_size)
    else:
        make = pa.large_list if pa.types.is_large_list(arrow_type) else pa.list_
        new_type = make(arrow_type.value_field.with_type(child.type))
    buffers = array.buffers()[: 1 if pa.types.is_fixed_size_list(arrow_type) else 2]
    return pa.Array.from_buffers(new_type, len(array), buffers, offset=array.offset, children=[child])


def _encoded_leaf(array: Any, rng: random.Random, index_type: Any) -> Any:
    """In a random order, with entries that no value has, that are there twice, or that are null."""
    shown = array.to_pylist()
    entries = list(dict.fromkeys(shown))
    if rng.random() < 0.5:
        entries = [entry for entry in entries if entry is not None]
        entries += rng.choices(entries, k=2) if entries else []
    rng.shuffle(entries)
    places: dict[Any, list[int]] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry, []).append(place)
    before = rng.randint(0, 9)
    junk = 2 ** (index_type.bit_width - 1) - 1
    codes, valid = [junk] * before, [False] * before
    for value in shown:
        found = places.get(value)
        is_null = found is None or (value is None and rng.random() < 0.5)
        valid.append(not is_null)
        codes.append(junk if is_null or found is None else rng.choice(found))
    bits = pa.py_buffer(np.packbits(np.array(valid, np.bool_), bitorder="little"))
    bitmap = None if all(valid) else bits
    data = pa.py_buffer(np.array(codes, index_type.to_pandas_dtype()))
    indices = pa.Array.from_buffers(index_type, len(codes), [bitmap, data])
    return pa.DictionaryArray.from_arrays(indices, pa.array(entries, array.type), safe=False).slice(before)


def written(column: Any, field: pa.Field | None = None, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    if field is None:
        cw.write_column(column, sink, **options)
    else:
        table = pa.Table.from_arrays([column], schema=pa.schema([field.with_type(column.type)]))
        cw.write_table(table, sink, **options)
    data: bytes = sink.getvalue().to_pybytes()
    return data


@st.composite
def repeated_cases(draw: st.DrawFn) -> Case:
    """Rows that come several times, so that dictionaries pay."""
    field = pa.field("column", draw(arrow_types(3)), nullable=draw(st.booleans()))
    rows = draw(st.lists(values(field), min_size=1, max_size=8)) * REPEATED
    return Case(field, rows, draw(layouts(len(rows))))


@settings(max_examples=150, deadline=None)
@given(repeated_cases(), st.sampled_from(INDEX_TYPES), st.integers(0, 2**32), writer_options())
def test_any_column(case: Case, index_type: Any, seed: int, options: dict[str, Any]) -> None:
    """Chunks with dictionaries of their own, of all leaves of a random column in a random layout."""
    plain = build(case.field.type, case.rows, case.layout)
    rng = random.Random(seed)
    chunks = [encoded(chunk, rng, index_type) for chunk in plain.chunks]
    # pyarrow fails to read a required dictionary under null structs, so it is not told that there was one.
    data = written(pa.chunked_array(chunks), case.field, store_schema=False, **options)
    check_file(data)
    if not has_fixed_size_list(case.field.type):
        assert pq.read_table(pa.BufferReader(data), schema=pa.schema([case.field])).column(0).to_pylist() == case.rows


WORDS = pa.array(["b", "a", "unused", "d"])
CODES = pa.array([1, 0, None, 3, 1, 1, 0, 3, 3, None, 1, 0] * 2, pa.int8())
LEAF = pa.DictionaryArray.from_arrays(CODES, WORDS)
OFFSETS = pa.array([0, 6, None, 8, 24], pa.int32())
KEYS = pa.array([str(k) for k in range(24)])

NESTED = [
    LEAF,
    pa.ListArray.from_arrays(OFFSETS, LEAF),
    pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), LEAF),
    pa.FixedSizeListArray.from_arrays(LEAF, 3),
    pa.StructArray.from_arrays([LEAF, KEYS], ["codes", "keys"], mask=pa.array([False, True] * 12)),
    pa.MapArray.from_arrays(OFFSETS, KEYS, LEAF),
    pa.MapArray.from_arrays([0, 5, 24], LEAF.fill_null("d"), KEYS),
    pa.ListArray.from_arrays([0, 2, 4], pa.ListArray.from_arrays(OFFSETS, LEAF)),
    pa.ListArray.from_arrays([0, 5, 24], pa.StructArray.from_arrays([LEAF], ["codes"])),
]


@pytest.fixture
def no_decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(array: Any) -> Any:
        raise AssertionError(f"{array.type} was decoded")

    monkeypatch.setattr(stored, "_decode", decode)


@pytest.mark.usefixtures("no_decoding")
class TestCodesAreKept:
    @pytest.mark.parametrize("array", NESTED, ids=lambda array: str(array.type)[:60])
    def test_wherever_the_dictionary_is_the_leaf(self, array: Any) -> None:
        """The same as the values; entries that no value refers to are not part of the file."""
        for column in (array, array.slice(1), pa.chunked_array([array, array.slice(1), array.slice(0, 0)])):
            data = written(column)
            check_file(data)
            assert b"unused" not in data
            assert pq.read_table(pa.BufferReader(data)).column(0).to_pylist() == column.to_pylist()

    @pytest.mark.parametrize("array", NESTED, ids=lambda array: str(array.type)[:60])
    @pytest.mark.parametrize("entries", [["d", "q", "r", "a"], ["b", "a", "unused", None], ["a", "a", "a", "a"]])
    def test_chunks_with_other_dictionaries(self, array: Any, entries: list[str | None]) -> None:
        if pa.types.is_map(array.type) and array.type.key_type != pa.string() and None in entries:
            pytest.skip("keys may not be null")
        values = pa.array(entries, pa.string())
        other = _with_dictionary(array, values)
        for column in (pa.chunked_array([array, other, other, array]), pa.chunked_array([other])):
            data = written(column)
            check_file(data)
            assert pq.read_table(pa.BufferReader(data)).column(0).to_pylist() == column.to_pylist()

    @pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), pa.large_string(), pa.json_(), pa.uint64()])
    def test_kinds_of_entries(self, kind: Any) -> None:
        numbers = pa.array([3, 1, 2, 7], pa.uint64())
        values = numbers if kind == pa.uint64() else pa.array(["3", "1", "2", "7"]).cast(kind)
        changed = (pa.array(values.to_pylist()[::-1]) if kind == pa.uint64() else pa.array(list("5713"))).cast(kind)
        for array in (LEAF, pa.ListArray.from_arrays(OFFSETS, LEAF)):
            first, second = (_with_dictionary(array, entries) for entries in (values, changed))
            for column in (pa.chunked_array([first]), pa.chunked_array([first, second])):
                data = written(column)
                check_file(data)
                expected = [column.chunk(0).type, column.to_pylist()]
                assert [column.type, pq.read_table(pa.BufferReader(data)).column(0).to_pylist()] == expected

    def test_what_null_lists_hide_is_no_value(self) -> None:
        """Nor what null structs do: the words there are in no dictionary page."""
        offsets, bits = (pa.py_buffer(np.array(a, t)) for a, t in (([0, 2, 4, 12], np.int32), ([5], np.uint8)))
        hidden = pa.DictionaryArray.from_arrays(pa.array([0, 0, 2, 2, *[0] * 8], pa.int8()), WORDS)
        lists = pa.Array.from_buffers(pa.list_(hidden.type), 3, [bits, offsets], children=[hidden])
        structs = pa.StructArray.from_arrays(
            [hidden], ["codes"], mask=pa.array([False, False, True, True] + [False] * 8)
        )
        for array in (lists, structs):
            data = written(array)
            check_file(data)
            assert b"unused" not in data
            assert pq.read_table(pa.BufferReader(data)).column(0).to_pylist() == array.to_pylist()

    def test_without_values(self) -> None:
        """There is no dictionary page then, as of other columns without values."""
        nothing = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1], pa.int8()), WORDS.slice(0, 2))
        for array in (
            pa.StructArray.from_arrays([nothing], ["codes"], mask=pa.array([True] * 4)),
            pa.DictionaryArray.from_arrays(pa.nulls(9, pa.int8()), WORDS),
            pa.ListArray.from_arrays([0, 4, 4], pa.DictionaryArray.from_arrays(pa.nulls(4, pa.int8()), WORDS[:2])),
        ):
            data = written(array)
            assert check_file(data).row_groups[0][0].dictionary is None
            assert pq.read_table(pa.BufferReader(data)).column(0).to_pylist() == array.to_pylist()


def _with_dictionary(array: Any, entries: Any) -> Any:
    """The array with other entries in its dictionaries."""
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, entries)
    if pa.types.is_struct(array.type):
        children = [_with_dictionary(array.field(i), entries) for i in range(array.type.num_fields)]
        fields = [array.type.field(i).with_type(child.type) for i, child in enumerate(children)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())
    if not pa.types.is_nested(array.type):
        return array
    child = _with_dictionary(array.values, entries)
    new_type = pa.list_(child.type)
    if pa.types.is_map(array.type):
        new_type = pa.map_(*(child.type.field(i) for i in range(2)))
    elif pa.types.is_fixed_size_list(array.type):
        new_type = pa.list_(child.type, array.type.list_size)
    elif pa.types.is_large_list(array.type):
        new_type = pa.large_list(child.type)
    buffers = array.buffers()[: 1 if pa.types.is_fixed_size_list(array.type) else 2]
    return pa.Array.from_buffers(new_type, len(array), buffers, offset=array.offset, children=[child])


@pytest.mark.parametrize("bad", [7, -1])
@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_code_that_no_entry_has(bad: int, chunks: int, use_dictionary: bool) -> None:
    codes = pa.array([0, 1, 0, 0, 1, 1, 0, bad, None], pa.int16())
    leaf = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    good = pa.DictionaryArray.from_arrays(pa.array([1, 0, 0, 1, 0, 0, 0, 0, 0], pa.int16()), pa.array(["c", "a"]))
    for array, right in (
        (leaf, good),
        (pa.ListArray.from_arrays([0, 4, 9], leaf), pa.ListArray.from_arrays([0, 4, 9], good)),
        (pa.StructArray.from_arrays([leaf], ["x"]), pa.StructArray.from_arrays([good], ["x"])),
    ):
        with pytest.raises(cw.InvalidDataError, match=r"^column[.a-z]*: the array is not valid Arrow"):
            written(pa.chunked_array([right, array][-chunks:]), use_dictionary=use_dictionary)


def test_offsets_of_lists_of_codes_that_cannot_be_followed() -> None:
    for wrong in ([0, 9, 5], [3, 2, 6]):
        buffers = [None, pa.py_buffer(np.array(wrong, np.int32))]
        for chunks in ([LEAF], [LEAF, _with_dictionary(LEAF, WORDS[::-1])]):
            arrays = [pa.Array.from_buffers(pa.list_(LEAF.type), 2, buffers, children=[chunk]) for chunk in chunks]
            with pytest.raises(cw.InvalidDataError, match=r"^column: "):
                written(pa.chunked_array(arrays))


@pytest.mark.parametrize(
    "entries",
    [
        pa.array([1.5, float("nan"), None, -0.0]),
        pa.array([True, False, True, None]),
        pa.array([b"abcd", b"efgh", b"ijkl", b"mnop"], pa.binary(4)),
        pa.array([1, 2, None, 4], pa.decimal128(20, 2)),
        pa.array([[1], [2, 3], None, []], pa.list_(pa.int32())),
        pa.array([1, 2, 3, 2**30], pa.timestamp("s")),
        pa.array([0, 86_400_000, 2 * 86_400_000, 3 * 86_400_000], pa.date64()),
        pa.array([1, 2, 3, 4], pa.decimal32(5, 2)),
        pa.nulls(4),
    ],
    ids=lambda entries: str(entries.type),
)
def test_values_of_every_kind(entries: Any) -> None:
    """Those whose codes cannot be kept are decoded."""
    for array in NESTED:
        if pa.types.is_map(array.type) and array.type.key_type != pa.string() and entries.null_count:
            continue
        first, second = (_with_dictionary(array, each) for each in (entries, entries.take(pa.array([3, 2, 1, 0]))))
        for column in (pa.chunked_array([first]), pa.chunked_array([first, second])):
            try:
                expected = repr(column.to_pylist())
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                continue
            data = written(column, store_decimal_as_integer=True)
            check_file(data)
            found = pq.read_table(pa.BufferReader(data)).column(0)
            assert repr(found.to_pylist()) == expected


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"column_encoding": "auto"}])
def test_dictionaries_of_the_null_type(options: dict[str, Any]) -> None:
    """They have an entry, and no values."""
    codes = pa.array([None, None]).dictionary_encode(null_encoding="encode")
    struct = pa.StructArray.from_arrays([codes], ["x"])
    for column in (codes, pa.chunked_array([codes, codes]), pa.ListArray.from_arrays([0, 1, 2], codes), struct):
        found = pq.read_table(pa.BufferReader(written(column, **options))).column(0)
        assert found.to_pylist() == column.to_pylist()
