"""Encodings that are chosen from the data: which, how well their costs are estimated, and what is told about them."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
import naive
from colwriter import encoding_choice, row_group_encoder
from colwriter.arena import Arena
from colwriter.encoding_choice import Choice, _spread_indices
from colwriter.encodings import dictionary
from colwriter.explanation import ColumnExplanation, Explanation
from colwriter.metadata import Encoding
from readers import read_arro3, read_duckdb, read_polars, read_pyarrow
from strategies import Case, cases, writer_options

ROWS = 60_000
GOALS = ("size", "balanced", "speed")
AUTO = {"column_encoding": "auto"}


def rng() -> np.random.Generator:
    return np.random.default_rng(17)


def _sentences(count: int) -> list[str]:
    words = np.array(["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "others", "look"])
    return [" ".join(row) for row in words[rng().integers(0, len(words), (count, 9))].tolist()]


def _steps(count: int) -> pa.Array:
    return pa.array(np.cumsum(rng().integers(0, 1000, count)))


def _runs_of(values: Any) -> pa.Array:
    """Each value some thousand times in a row, in runs of lengths that have no period."""
    return pa.array(np.repeat(values, rng().integers(500, 3000, len(values))))


# Data that are made for one encoding, with the codec and the goal that let it win.
MADE_FOR: dict[str, tuple[Callable[[], pa.Array], str, str, Encoding]] = {
    "rising": (lambda: _steps(ROWS), "none", "balanced", Encoding.DELTA_BINARY_PACKED),
    "rising, int32": (
        lambda: _steps(ROWS).cast(pa.int32()),
        "snappy",
        "balanced",
        Encoding.DELTA_BINARY_PACKED,
    ),
    "timestamps": (
        lambda: _steps(ROWS).cast(pa.timestamp("us")),
        "zstd",
        "balanced",
        Encoding.DELTA_BINARY_PACKED,
    ),
    "doubles of few exponents": (
        lambda: pa.array(1 + rng().random(ROWS)),
        "zstd",
        "balanced",
        Encoding.BYTE_STREAM_SPLIT,
    ),
    "floats": (
        lambda: pa.array((1 + rng().random(ROWS)).astype(np.float32)),
        "zstd",
        "balanced",
        Encoding.BYTE_STREAM_SPLIT,
    ),
    "random": (
        lambda: pa.array(rng().integers(-(2**63), 2**63 - 1, ROWS)),
        "zstd",
        "balanced",
        Encoding.PLAIN,
    ),
    "random, no codec": (
        lambda: pa.array(rng().integers(-(2**63), 2**63 - 1, ROWS)),
        "none",
        "size",
        Encoding.PLAIN,
    ),
    "paths": (
        lambda: pa.array([f"https://example.org/{k // 50:06}/item-{k}" for k in range(ROWS)]),
        "none",
        "balanced",
        Encoding.DELTA_BYTE_ARRAY,
    ),
    "hexadecimal": (
        lambda: pa.array([f"{k:016x}" for k in rng().integers(0, 2**62, ROWS).tolist()]),
        "zstd",
        "balanced",
        Encoding.DELTA_LENGTH_BYTE_ARRAY,
    ),
    "constant": (lambda: pa.array([7] * ROWS), "none", "balanced", Encoding.RLE_DICTIONARY),
    "constant text": (lambda: pa.array(["seven"] * ROWS), "zstd", "size", Encoding.RLE_DICTIONARY),
    "few texts": (
        lambda: pa.array(["ant", "bee", "cat"]).take(pa.array(rng().integers(0, 3, ROWS))),
        "snappy",
        "balanced",
        Encoding.RLE_DICTIONARY,
    ),
    "few integers, far apart": (
        lambda: pa.array(rng().integers(0, 100, ROWS) ** 8),
        "snappy",
        "balanced",
        Encoding.RLE_DICTIONARY,
    ),
    "booleans in runs": (
        lambda: _runs_of(np.arange(40) % 2 == 0),
        "none",
        "balanced",
        Encoding.RLE,
    ),
    "booleans in no order": (lambda: pa.array(rng().random(ROWS) < 0.5), "none", "balanced", Encoding.PLAIN),
}


def write(table: pa.Table, **options: Any) -> tuple[bytes, Explanation]:
    sink = io.BytesIO()
    with cw.ParquetWriter(sink, table.schema, **{**AUTO, **options}) as writer:
        writer.write_table(table)
    return sink.getvalue(), writer.explain()


def explained(array: Any, **options: Any) -> ColumnExplanation:
    (column,) = write(pa.table({"a": array}), **options)[1].columns
    return column


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("name", list(MADE_FOR))
def test_data_made_for_an_encoding_get_it(name: str, nulls: bool) -> None:
    make, codec, goal, expected = MADE_FOR[name]
    array = make()
    if nulls:
        array = pc.if_else(pa.array(rng().random(len(array)) < 0.2), None, array)
    column = explained(array, compression=codec, encoding_goal=goal)
    assert column.encodings == (expected,)
    assert expected in [candidate.encoding for candidate in column.candidates]
    data, _ = write(pa.table({"a": array}), compression=codec, encoding_goal=goal)
    assert pq.read_table(io.BytesIO(data))["a"].combine_chunks().equals(array)


@pytest.mark.parametrize("arrow_type", [pa.string_view(), pa.large_string(), pa.binary_view()])
def test_byte_arrays_of_any_layout_get_the_same(arrow_type: pa.DataType) -> None:
    for name in ("paths", "few texts", "hexadecimal"):
        make, codec, goal, expected = MADE_FOR[name]
        texts = make().take(pa.array([None, *range(ROWS)], pa.int32()))
        array = texts.cast(pa.binary()).cast(arrow_type) if "binary" in str(arrow_type) else texts.cast(arrow_type)
        column, same = (explained(each, compression=codec, encoding_goal=goal) for each in (array, texts))
        assert column.encodings == (expected,)
        for one, other in zip(column.candidates, same.candidates, strict=True):
            assert one.estimated_bytes == pytest.approx(other.estimated_bytes, rel=0.05, abs=500)


def encoded_size(array: pa.Array, encoding: Encoding, codec: str) -> int:
    """Bytes of a column chunk in this encoding, without nulls or a page index."""
    options: dict[str, Any] = {"compression": codec, "write_statistics": False}
    if encoding is not Encoding.RLE_DICTIONARY:
        options |= {"use_dictionary": False, "column_encoding": encoding.name}
    table = pa.Table.from_arrays([array], schema=pa.schema([pa.field("a", array.type, nullable=False)]))
    metadata = cw.write_table(table, io.BytesIO(), **options)
    return metadata.row_groups[0].columns[0].meta_data.total_compressed_size


@st.composite
def _columns(draw: st.DrawFn) -> pa.Array:
    """Columns that are alike from start to end, of values whose number, spread and order vary."""
    seeded = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(20_000, 100_000))
    distinct = draw(st.sampled_from([1, 3, 100, 3000, 10_000_000]))
    spread = draw(st.sampled_from([1, 77, 10**6 + 3]))
    picks = seeded.integers(0, distinct, count)
    if draw(st.booleans()):
        picks.sort()
    kind = draw(st.sampled_from(["int64", "int32", "double", "string"]))
    if kind == "string":
        return pa.array([f"{'x' * (pick % 7)}-{pick * spread}" for pick in picks.tolist()])
    if kind == "double":
        return pa.array(picks / spread)
    return pa.array(picks * spread if kind == "int64" else picks.astype(np.int32))


@settings(max_examples=40, deadline=None)
@given(_columns(), st.sampled_from(["none", "snappy", "zstd", "lz4"]))
def test_estimates_are_within_a_factor_of_what_is_written(array: pa.Array, codec: str) -> None:
    """1.5 of all candidates, besides two bits a value: short runs have more headers of blocks."""
    column = explained(array, compression=codec)
    for candidate in column.candidates:
        actual = encoded_size(array, candidate.encoding, codec)
        slack = len(array) // 4 + 500
        assert actual / 1.5 - slack < candidate.estimated_bytes < actual * 1.5 + slack, (candidate, actual)


@settings(max_examples=25, deadline=None)
@given(_columns(), st.sampled_from(["none", "snappy", "zstd"]))
def test_size_is_never_much_worse_than_the_default(array: pa.Array, codec: str) -> None:
    table = pa.table({"a": array})
    default = cw.write_table(table, io.BytesIO(), compression=codec).row_groups[0].columns[0].meta_data
    for goal in ("size", "balanced"):
        column = explained(array, compression=codec, encoding_goal=goal)
        assert column.bytes_written < 1.1 * default.total_compressed_size + 4000


@settings(max_examples=60, deadline=None)
@given(cases(), writer_options(), st.sampled_from(GOALS), st.integers(1, 400))
def test_any_column_comes_back(case: Case, options: dict[str, Any], goal: str, times: int) -> None:
    """Of any type, layout and length: with too few values to choose from, and with enough."""
    table = pa.concat_tables([case.table] * times)
    options["row_group_size"] = max(options["row_group_size"] or 1, 3000)
    chosen, _ = write(table, encoding_goal=goal, **options)
    naive.check_file(chosen)
    plain = io.BytesIO()
    cw.write_table(table, plain, **{**options, "use_dictionary": False})
    groups = naive.read_file(plain.getvalue()).row_groups
    for some, other in zip(naive.read_file(chosen).row_groups, groups, strict=True):
        assert [repr(chunk.leaf) for chunk in some] == [repr(chunk.leaf) for chunk in other]


def _all_types() -> dict[str, pa.Array]:
    numbers = np.arange(5000) * 7919 % 3001
    integers = pa.array(numbers)
    types: list[pa.DataType] = [
        *(pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()),
        *(
            pa.date32(),
            pa.time32("ms"),
            pa.time64("us"),
            pa.timestamp("s"),
            pa.timestamp("ns", "UTC"),
            pa.duration("ms"),
        ),
        *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()),
    ]
    found: dict[str, pa.Array] = {}
    for arrow_type in types:
        if arrow_type in (pa.date32(), pa.time32("ms")):
            found[str(arrow_type)] = integers.cast(pa.int32()).cast(arrow_type)
        elif pa.types.is_large_binary(arrow_type) or "binary" in str(arrow_type):
            found[str(arrow_type)] = integers.cast(pa.string()).cast(pa.binary()).cast(arrow_type)
        else:
            found[str(arrow_type)] = integers.cast(arrow_type)
    found["int8"] = pa.array(numbers % 100, pa.int8())
    found["uint8"] = pa.array(numbers % 200, pa.uint8())
    found["bool"] = pa.array(numbers % 3 == 0)
    found["halffloat"] = pa.array(numbers.astype(np.float16))
    found["date64"] = pa.array(numbers * 86_400_000, pa.date64())
    found["fixed"] = pa.array([b"%012d" % number for number in numbers.tolist()], pa.binary(12))
    found["decimal"] = pa.array([Decimal(number) / 4 for number in numbers.tolist()], pa.decimal128(9, 2))
    found["interval"] = pa.array([(number, 1, 2_000_000) for number in numbers.tolist()], pa.month_day_nano_interval())
    found["null"] = pa.nulls(5000)
    found["dictionary"] = integers.cast(pa.string()).dictionary_encode()
    found["list"] = pa.array([[number, None] for number in numbers.tolist()])
    found["struct"] = pa.StructArray.from_arrays([integers, found["string"]], ["a", "b"])
    found["map"] = pa.array([[("k", number)] for number in numbers.tolist()], pa.map_(pa.string(), pa.int64()))
    return found


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("goal", GOALS)
def test_no_type_is_refused(goal: str, codec: str) -> None:
    columns = _all_types()
    bitmap = pa.py_buffer(np.packbits(np.arange(5000) % 3 > 0, bitorder="little"))
    flat = [
        name for name, array in columns.items() if array.type.num_fields == 0 and name not in ("null", "dictionary")
    ]
    half = pa.table(
        {name: pa.Array.from_buffers(columns[name].type, 5000, [bitmap, *columns[name].buffers()[1:]]) for name in flat}
    )
    for table in (pa.table(columns), half, half.slice(0, 0), pa.table(columns).slice(3, 1)):
        data, explanation = write(table, compression=codec, encoding_goal=goal, store_decimal_as_integer=True)
        assert len(explanation.columns) >= table.num_columns
        found = pq.read_table(io.BytesIO(data))
        expected = io.BytesIO()
        cw.write_table(table, expected, compression=codec, store_decimal_as_integer=True)
        assert found.equals(pq.read_table(expected))


@pytest.mark.parametrize("read", [read_pyarrow, read_polars, read_duckdb, read_arro3])
@pytest.mark.parametrize("goal", GOALS)
def test_what_is_chosen_is_read(goal: str, read: Callable[[Path], dict[str, list[Any]]], tmp_path: Path) -> None:
    table = pa.table({name: make().slice(0, 12_000) for name, (make, *_) in MADE_FOR.items()})
    assert len({column.encodings for column in write(table, encoding_goal=goal)[1].columns}) > 3
    path = tmp_path / "a.parquet"
    path.write_bytes(write(table, encoding_goal=goal, compression="zstd")[0])
    assert read(path) == {name: table[name].to_pylist() for name in table.column_names}


def test_bytes_do_not_depend_on_threads() -> None:
    table = pa.table({name: make().slice(0, 40_000) for name, (make, *_) in MADE_FOR.items()})
    for codec in ("none", "zstd"):
        files = {
            write(table, compression=codec, max_threads=threads, row_group_size=35_000)[0] for threads in (1, 2, 3, 2)
        }
        assert len(files) == 1
    many = pa.table({"a": _steps(400_000)})
    options = {"compression": "zstd", "row_group_size": 33_000}
    assert len({write(many, max_threads=threads, **options)[0] for threads in (1, 2, 5)}) == 1
    single = pa.table({"a": _sentences(200_000)})
    assert len({write(single, compression="zstd", max_threads=threads)[0] for threads in (1, 2)}) == 1


def _encodings(data: bytes) -> list[Encoding]:
    """Of the last pages of each row group."""
    groups = cw.read_metadata(io.BytesIO(data)).row_groups
    return [group.columns[0].meta_data.encoding_stats[-1].encoding for group in groups]


def test_choice_is_made_from_every_eighth_row_group() -> None:
    size = 2000
    rising, random = _steps(4 * size), pa.array(rng().integers(-(2**63), 2**63 - 1, 10 * size))
    table = pa.table({"a": pa.concat_arrays([rising, random, rising])})
    expected = [Encoding.DELTA_BINARY_PACKED] * 8 + [Encoding.PLAIN] * 8 + [Encoding.DELTA_BINARY_PACKED] * 2
    data, explanation = write(table, compression="none", row_group_size=size)
    assert _encodings(data) == expected
    assert explanation.columns[0].encodings == (Encoding.DELTA_BINARY_PACKED, Encoding.PLAIN)
    sink = io.BytesIO()
    with cw.ParquetWriter(sink, table.schema, compression="none", row_group_size=size, **AUTO) as writer:
        for start in range(0, table.num_rows, 3 * size):
            writer.write_table(table.slice(start, 3 * size))
    assert sink.getvalue() == data


def test_row_group_without_values_leaves_the_choice_to_the_others() -> None:
    table = pa.table({"a": pa.concat_arrays([pa.nulls(ROWS, pa.int64()), _steps(ROWS)])})
    data, explanation = write(table, compression="none", row_group_size=ROWS)
    assert _encodings(data) == [Encoding.PLAIN, Encoding.DELTA_BINARY_PACKED]
    assert explanation.columns[0].candidates


@pytest.mark.parametrize("name", ["rising", "nested"])
def test_row_groups_that_are_encoded_before_the_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever row group is encoded first, the choice is made from the same one."""
    size = 2000
    values = pa.concat_arrays([_steps(size), pa.array(rng().integers(-(2**63), 2**63 - 1, 8 * size)), _steps(size)])
    if name == "nested":
        offsets = pa.array(np.arange(0, len(values) + 1, 2), pa.int32())
        pairs = pa.StructArray.from_arrays([values, values], ["x", "y"])
        values = pa.ListArray.from_arrays(offsets, pairs)
    table = pa.table({"a": values})
    data, _ = write(table, compression="zstd", row_group_size=size, max_threads=1)

    def backwards(work: Callable[..., Any], count: int, *_: Any) -> Any:
        arena = Arena()
        yield from reversed([work(k, arena) for k in reversed(range(count))])

    monkeypatch.setattr(row_group_encoder, "in_order", backwards)
    assert write(table, compression="zstd", row_group_size=size)[0] == data


def test_values_that_are_rare_are_found() -> None:
    rare = np.zeros(ROWS * 4, np.bool_)
    rare[rng().choice(len(rare), 6000, replace=False)] = True
    column = explained(pc.if_else(pa.array(rare), _steps(len(rare)), None), compression="none")
    assert column.encodings == (Encoding.DELTA_BINARY_PACKED,)
    # All in one place, where no run of the sample may be.
    lump = np.zeros(ROWS * 4, np.bool_)
    lump[:2000] = True
    assert explained(pc.if_else(pa.array(lump), _steps(len(lump)), None)).bytes_written


def test_dictionary_that_overflows_is_followed_by_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary of the first values, and DELTA_BINARY_PACKED for the rest, which rise."""
    choice = Choice((), Encoding.RLE_DICTIONARY, Encoding.DELTA_BINARY_PACKED, True, "so be it", ROWS)
    monkeypatch.setattr(encoding_choice, "choose", lambda *_: choice)
    array = pa.concat_arrays([pa.array(rng().integers(0, 50, 4 * ROWS) ** 9), _steps(ROWS)])
    column = explained(array, compression="none", dictionary_pagesize_limit=4000)
    assert column.encodings == (Encoding.RLE_DICTIONARY, Encoding.DELTA_BINARY_PACKED)
    assert column.reason == "balanced: so be it"


def codec_of(array: pa.Array, **options: Any) -> str:
    sink = pa.BufferOutputStream()
    metadata = cw.write_column(array, sink, **AUTO, **options)
    assert pq.read_table(pa.BufferReader(sink.getvalue()))["column"].combine_chunks().equals(array)
    (chunk,) = metadata.row_groups[0].columns
    return chunk.meta_data.codec.name


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip"])
def test_codec_that_gains_nothing_is_left_out(codec: str) -> None:
    assert codec_of(pa.array(rng().integers(-(2**63), 2**63 - 1, ROWS)), compression=codec) == "UNCOMPRESSED"
    # Indices of 1024 entries that are equally frequent have no bit to spare.
    column = pa.array(rng().permutation(ROWS) % 1024 * 7**15)
    assert codec_of(column, compression=codec) == "UNCOMPRESSED"
    assert f"not compressed, as {codec} makes it hardly smaller" in explained(column, compression=codec).reason
    assert codec_of(pa.array(_sentences(ROWS)), compression=codec, use_dictionary=False) == codec.upper()
    assert codec_of(pa.array(_sentences(500)), compression=codec) == codec.upper()  # too few to look at


def test_codec_that_gains_a_little_is_kept_for_size_alone() -> None:
    """One value in eighty is the same: for each, the codec saves some of its eight bytes, half a hundredth of all."""
    values = rng().integers(-(2**63), 2**63 - 1, 1 << 18)
    values[::80] = values[0]
    options = {"compression": "gzip", "use_dictionary": False}
    codecs = {goal: codec_of(pa.array(values), encoding_goal=goal, **options) for goal in GOALS}
    assert codecs == {"size": "GZIP", "balanced": "UNCOMPRESSED", "speed": "UNCOMPRESSED"}
    values[::6] = values[0]
    codecs = {goal: codec_of(pa.array(values), encoding_goal=goal, **options) for goal in GOALS}
    assert set(codecs.values()) == {"GZIP"}


def test_dictionary_that_was_chosen_is_not_looked_into_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(dictionary, "sample_values", fail)
    assert explained(pa.array(rng().integers(0, 300, ROWS) ** 5)).encodings == (Encoding.RLE_DICTIONARY,)
    with pytest.raises(AssertionError):
        cw.write_column(pa.array(rng().integers(0, 300, ROWS)), pa.BufferOutputStream())


@given(st.integers(1, 5000), st.integers(1, 20_000))
def test_indices_spread_over_more_entries_keep_their_order(count: int, entries: int) -> None:
    spread = _spread_indices(np.arange(count, dtype=np.int32), count, entries)
    assert spread.dtype == np.int32
    assert spread.min() >= 0
    assert spread.max() < entries
    if entries >= count:
        assert (np.diff(spread) > 0).all()
    else:
        assert (np.diff(spread) >= 0).all()


def test_dictionaries_of_arrow_are_readable() -> None:
    """pyarrow reads PLAIN and RLE_DICTIONARY alone into a dictionary."""
    texts = pa.array([f"{k:016x}" for k in rng().integers(0, 2**62, 5000).tolist()])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(5001), pa.int32()), texts.dictionary_encode())
    table = pa.table({"texts": texts.dictionary_encode(), "lists": lists, "numbers": _steps(5000).dictionary_encode()})
    data, explanation = write(table, compression="none", encoding_goal="size")
    assert {column.encodings for column in explanation.columns} <= {(Encoding.PLAIN,), (Encoding.RLE_DICTIONARY,)}
    found = pq.read_table(io.BytesIO(data))
    assert found.to_pydict() == table.to_pydict()
    assert found.schema.field("texts").type == table.schema.field("texts").type


def test_goals() -> None:
    array = pa.array(rng().integers(0, 1000, ROWS))
    sizes = {goal: explained(array, compression="zstd", encoding_goal=goal) for goal in GOALS}
    times = {
        goal: next(each.nanoseconds for each in column.candidates if each.encoding in column.encodings)
        for goal, column in sizes.items()
    }
    assert sizes["size"].bytes_written <= sizes["balanced"].bytes_written
    assert times["speed"] <= times["balanced"]
    assert sizes["speed"].encodings == (Encoding.DELTA_BINARY_PACKED,)
    assert sizes["size"].encodings == (Encoding.RLE_DICTIONARY,)


def test_no_dictionary_where_there_shall_be_none() -> None:
    table = pa.table({"a": ["x", "y"] * ROWS, "b": ["x", "y"] * ROWS})
    _, explanation = write(table, use_dictionary=["b"])
    first, second = explanation.columns
    assert Encoding.RLE_DICTIONARY not in (*first.encodings, *(each.encoding for each in first.candidates))
    assert second.encodings == (Encoding.RLE_DICTIONARY,)


def test_other_columns_keep_what_they_are_given() -> None:
    table = pa.table({"a": _steps(ROWS), "b": _steps(ROWS), "c": _steps(ROWS)})
    options = {"column_encoding": {"a": "Auto", "b": "BYTE_STREAM_SPLIT"}, "use_dictionary": ["a", "c"]}
    data, explanation = write(table, compression="none", **options)
    assert [column.encodings for column in explanation.columns] == [
        (Encoding.DELTA_BINARY_PACKED,),
        (Encoding.BYTE_STREAM_SPLIT,),
        (Encoding.PLAIN,),
    ]
    assert [bool(column.candidates) for column in explanation.columns] == [True, False, False]
    assert explanation.columns[1].reason == "by the options: BYTE_STREAM_SPLIT"
    assert explanation.columns[2].reason == "by the options: a dictionary where it pays, else PLAIN"
    chunks = cw.read_metadata(io.BytesIO(data)).row_groups[0].columns
    assert [column.bytes_written for column in explanation.columns] == [
        chunk.meta_data.total_compressed_size for chunk in chunks
    ]


def test_explanation_of_a_file_that_is_being_written() -> None:
    schema = pa.schema([("a", pa.int64()), ("s", pa.struct([("t", pa.string())]))])
    writer = cw.ParquetWriter(io.BytesIO(), schema, **AUTO)
    assert [column.path for column in writer.explain().columns] == ["a", "s.t"]
    assert writer.explain().columns[0] == ColumnExplanation("a", (), (), "balanced: nothing is written", 0)
    table = pa.table({"a": range(ROWS), "s": [{"t": str(k)} for k in range(ROWS)]}, schema)
    writer.write_table(table)
    before = writer.explain()
    writer.write_table(table)
    writer.close()
    after = writer.explain()
    for one, two in zip(before.columns, after.columns, strict=True):
        assert one.bytes_written < two.bytes_written
        assert one.encodings == two.encodings
        for a, b in zip(one.candidates, two.candidates, strict=True):
            assert b.estimated_bytes == pytest.approx(2 * a.estimated_bytes, abs=1)
    lines = str(after).splitlines()
    assert lines[0].startswith("a: DELTA_BINARY_PACKED, ")
    assert sum(line.startswith("  * ") for line in lines) == 2
    assert len(lines) == 2 + sum(len(column.candidates) for column in after.columns)


def test_few_values_are_written_as_without_a_choice() -> None:
    table = pa.table({"a": range(1000), "b": ["x"] * 1000})
    data, explanation = write(table)
    sink = io.BytesIO()
    cw.write_table(table, sink)
    assert data == sink.getvalue()
    assert {column.reason for column in explanation.columns} == {"balanced: fewer than 1024 values"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding_goal": "small"}, "encoding_goal: expected one of 'size', 'balanced', 'speed', found 'small'"),
        ({"encoding_goal": {"q": "size"}}, "^q: encoding_goal names a column that is not in the schema"),
        ({"use_byte_stream_split": True}, "^a: column_encoding is 'auto', and use_byte_stream_split asks"),
        ({"column_encoding": "automatic"}, "column_encoding: expected one of .* or 'auto'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(cw.InvalidOptionError, match=message):
        cw.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet", **{**AUTO, **options})
    assert not list(tmp_path.iterdir())


def test_offsets_that_are_wrong_are_told() -> None:
    offsets = np.arange(0, 4 * (ROWS + 1), 4, np.int32)
    offsets[ROWS // 7 : ROWS - 5] += 10**6
    data = pa.py_buffer(b"abcd" * ROWS)
    array = pa.Array.from_buffers(pa.binary(), ROWS, [None, pa.py_buffer(offsets), data])
    assert all(a <= b for a, b in pairwise(offsets.tolist()[: ROWS // 8]))
    with pytest.raises(cw.InvalidDataError, match=r"^a: "):
        write(pa.table({"a": array}))
