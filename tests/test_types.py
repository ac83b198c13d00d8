"""Every Arrow type: written, read back by pyarrow, and checked by the naive reader, its statistics too."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
from naive import check_file

# By what their bytes may be: any, or days and times of a range, or digits.
ANY_BITS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(), pa.duration("s"), pa.duration("ns")),
    *(pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Paris")),
    *(pa.binary(1), pa.binary(2), pa.binary(3), pa.binary(8), pa.binary(12), pa.binary(16), pa.binary(100)),
]
IN_RANGE: dict[Any, tuple[int, int]] = {
    pa.date64(): (86_400_000, 20_000),
    pa.time32("s"): (1, 86_400),
    pa.time32("ms"): (1, 86_400_000),
    pa.time64("us"): (1, 86_400 * 10**6),
    pa.time64("ns"): (1, 86_400 * 10**9),
    pa.timestamp("s"): (1, 10**10),
    pa.decimal32(9, 2): (1, 10**9),
    pa.decimal64(18, 3): (1, 10**18),
    pa.decimal128(1, 0): (1, 10),
    pa.decimal128(5, 2): (1, 10**5),
    pa.decimal128(18, 2): (1, 10**18),
    pa.decimal128(23, 4): (1, 10**23),
    pa.decimal128(38, 10): (1, 10**38),
    pa.decimal256(39, 5): (1, 10**39),
    pa.decimal256(76, 5): (1, 10**76),
}
TYPES = [*ANY_BITS, *IN_RANGE]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"use_dictionary": False, "compression": "none", "max_rows_per_page": 97},
    {"data_page_version": "2.0", "max_rows_per_page": 65, "store_decimal_as_integer": True},
]


def make(arrow_type: Any, count: int, distinct: int, nulls: float, offset: int, seed: int) -> pa.Array:
    """Random values, ``distinct`` different ones at most, from position ``offset`` of a longer array on."""
    rng = np.random.default_rng(seed)
    total = count + offset
    bits = arrow_type.bit_width
    pick = rng.integers(0, distinct, total)
    if bits == 1:
        data = np.packbits(rng.integers(0, 2, total).astype(np.uint8), bitorder="little")
    elif arrow_type in IN_RANGE:
        factor, limit = IN_RANGE[arrow_type]
        signed = not pa.types.is_time(arrow_type)
        numbers = [int.from_bytes(rng.bytes(33), "little") % limit * factor for _ in range(distinct)]
        numbers = [-n if signed and k % 2 else n for k, n in enumerate(numbers)]
        pool = np.frombuffer(b"".join(n.to_bytes(bits // 8, "little", signed=True) for n in numbers), np.uint8)
        data = pool.reshape(distinct, -1)[pick]
    else:
        data = rng.integers(0, 256, (distinct, bits // 8)).astype(np.uint8)[pick]
        if pa.types.is_floating(arrow_type):  # random bits are rarely one of these
            some = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5]).astype(arrow_type.to_pandas_dtype())
            odd = np.tile(some.view(np.uint8).reshape(6, -1), (total // 6 + 1, 1))[:total]
            data = np.where((rng.random(total) < 0.5)[:, None], odd, data)
    valid = np.packbits(rng.random(total) >= nulls, bitorder="little")
    validity = pa.py_buffer(valid) if nulls else None
    array = pa.Array.from_buffers(arrow_type, total, [validity, pa.py_buffer(np.ascontiguousarray(data))])
    return array.slice(offset)


def same(found: pa.ChunkedArray, expected: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(expected.type):
        return repr(found.to_pylist()) == repr(expected.to_pylist())  # NaN is not equal to NaN, and -0 equals 0
    return bool(found.equals(expected))


def round_trip(array: Any, **options: Any) -> pa.ChunkedArray:
    """Written and read back; the file is right in all that the naive reader can check."""
    sink = pa.BufferOutputStream()
    cw.write_column(array, sink, **options)
    check_file(sink.getvalue().to_pybytes())
    return pq.read_table(pa.BufferReader(sink.getvalue())).column(0)


def as_pyarrow_does(array: Any, **options: Any) -> pa.ChunkedArray:
    """What pyarrow makes of the array: seconds are not a unit of the format, and become milliseconds."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"column": array}), sink, **options)
    return pq.read_table(pa.BufferReader(sink.getvalue())).column(0)


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=["default", "plain", "v2"])
@pytest.mark.parametrize(("count", "distinct", "nulls"), [(0, 1, 0.0), (300, 10, 0.3), (700, 700, 0.0), (130, 3, 1.0)])
def test_types(arrow_type: Any, options: dict[str, Any], count: int, distinct: int, nulls: float) -> None:
    array = make(arrow_type, count, distinct, nulls, 0, count)
    found = round_trip(array, **options)
    expected = as_pyarrow_does(array)
    assert found.type == expected.type
    assert same(found, expected)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(TYPES),
    st.integers(0, 200),
    st.integers(1, 200),
    st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    st.integers(0, 70),
    st.sampled_from(OPTIONS),
    st.sampled_from([1, 3, 64, 20_000]),
    st.integers(0, 2**32),
)
def test_any_length_and_offset(
    arrow_type: Any,
    count: int,
    distinct: int,
    nulls: float,
    offset: int,
    options: dict[str, Any],
    max_rows: int,
    seed: int,
) -> None:
    array = make(arrow_type, count, distinct, nulls, offset, seed)
    found = round_trip(array, **(options | {"max_rows_per_page": max_rows}))
    assert same(found, as_pyarrow_does(array))


@pytest.mark.parametrize("arrow_type", TYPES, ids=str)
def test_in_lists_and_structs(arrow_type: Any) -> None:
    values = make(arrow_type, 200, 50, 0.2, 3, 1)
    offsets = pa.array([0, 0, 3, None, 70, 71, 200], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, values)
    structs = pa.StructArray.from_arrays(
        [values, pa.array(range(200))], ["a", "b"], mask=pa.array([k % 7 == 0 for k in range(200)])
    )
    for array in (lists, structs, lists.slice(2), structs.slice(5)):
        found, expected = round_trip(array), as_pyarrow_does(array)
        if pa.types.is_floating(arrow_type):
            assert repr(found.to_pylist()) == repr(expected.to_pylist())
        else:
            assert found.equals(expected)


class TestFloats:
    """The rules of NaN and of zeros (parquet.thrift, ``Statistics`` and ``ColumnOrder``)."""

    @staticmethod
    def written(values: list[float], **options: Any) -> tuple[Any, Any]:
        sink = pa.BufferOutputStream()
        cw.write_column(pa.array(values, pa.float64()), sink, **options)
        data = sink.getvalue().to_pybytes()
        check_file(data)
        footer = cw.read_metadata(data)
        return footer.row_groups[0].columns[0].meta_data.statistics, cw.read_page_index(data, 0, 0)[0]

    @pytest.mark.parametrize("use_dictionary", [True, False])
    def test_nan_has_no_place_in_bounds(self, use_dictionary: bool) -> None:
        nan = float("nan")
        values = [nan, 1.0, nan, -2.0, 1.0, 1.0, -2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        statistics, index = self.written(values, use_dictionary=use_dictionary)
        assert statistics.nan_count == 2
        assert np.frombuffer(statistics.min_value + statistics.max_value).tolist() == [-2.0, 1.0]
        assert index.nan_counts.tolist() == [2]

    def test_nothing_but_nan(self) -> None:
        statistics, index = self.written([float("nan")] * 3)
        assert (statistics.min_value, statistics.max_value, statistics.nan_count) == (None, None, 3)
        assert index is None

    def test_zeros(self) -> None:
        for values in ([0.0, -0.0], [0.0], [-0.0]):
            statistics, _ = self.written(values)
            assert statistics.min_value == np.float64(-0.0).tobytes()
            assert statistics.max_value == np.float64(0.0).tobytes()


class TestStored:
    """Arrow layouts that hold the values of another type."""

    words = pa.array(["a", "b", None, "a", "c"])
    codes = words.dictionary_encode()

    @pytest.mark.parametrize(
        "array",
        [
            codes,
            codes.slice(1),
            codes.slice(1, 2),
            pa.array([1.5, 2.5, None, 1.5]).dictionary_encode(),
            pa.chunked_array([codes, pa.array(["z", "a"]).dictionary_encode()]),
            pa.ListArray.from_arrays([0, 2, 2, 5], codes).slice(1),
            pa.StructArray.from_arrays([codes, words], ["d", "w"], mask=pa.array([False, True, False, False, True])),
            pc.run_end_encode(pa.array([1, 1, 2, None, None])),
            pc.run_end_encode(pa.array(["x", "x", "y"])).slice(1),
            pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None]), pa.array([b"a" * 16, b"b" * 16], pa.uuid())),
            pa.array([[1, 2], None, [3]], pa.list_view(pa.int64())),
            pa.array([["a", "b"], None, ["c"], []], pa.large_list_view(pa.string_view())).slice(1),
            pa.ListViewArray.from_arrays([3, 0, 1], [2, 1, 0], words),
            pa.array([[("a", 1)], None, [("b", None), ("c", 3)]], pa.map_(pa.string_view(), pa.int8())),
            pa.array([["a", "b"], None], pa.list_(pa.binary_view(), 2)),
            pa.array([b"0123456789abcdef", None], pa.uuid()),
            pa.array(["{}", None], pa.json_()),
            pa.array([1, None], pa.bool8()),
            pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12, dtype=np.float32).reshape(3, 2, 2)),
            pa.nulls(3),
            pa.array([[None], [], None], pa.list_(pa.null())),
        ],
        ids=lambda array: f"{array.type}"[:40],
    )
    def test_values(self, array: Any) -> None:
        assert round_trip(array).to_pylist() == array.to_pylist()

    @pytest.mark.parametrize(
        ("array", "annotation"),
        [
            (pa.array([b"0123456789abcdef", None], pa.uuid()), "UUID"),
            (pa.array(["{}", None], pa.json_()), "JSON"),
            (pa.array(["{}", None], pa.json_(pa.string_view())), "JSON"),
        ],
    )
    def test_annotations(self, array: Any, annotation: str) -> None:
        """For readers that do not look at the Arrow schema; also below lists."""
        for column in (array, pa.ListArray.from_arrays([0, 1, 2], array)):
            cw.write_column(column, sink := pa.BufferOutputStream())
            file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
            assert file.schema.column(0).logical_type.type == annotation
            assert file.read().column(0).to_pylist() == column.to_pylist()

    @pytest.mark.parametrize("bad", [7, -1])
    @pytest.mark.parametrize("use_dictionary", [True, False])
    def test_an_index_out_of_range(self, bad: int, use_dictionary: bool) -> None:
        indices = pa.array([0, 0, 0, bad], pa.int32())
        codes = pa.DictionaryArray.from_arrays(indices, pa.array(["a"]), safe=False)
        with pytest.raises(cw.InvalidDataError, match=r"^column: the array is not valid Arrow"):
            cw.write_column(codes, pa.BufferOutputStream(), use_dictionary=use_dictionary)

    def test_chunks_with_codes_that_are_none(self) -> None:
        """In several chunks they were looked up before they were checked, those under nulls too."""
        for good in ("ab", "aa"):
            codes = [
                pa.Array.from_buffers(
                    pa.uint32(), 8, [pa.py_buffer(b"\x7f"), pa.py_buffer(np.array([0] * 7 + [2**32 - 1], np.uint32))]
                )
                for _ in good
            ]
            chunks = [pa.DictionaryArray.from_arrays(c, pa.array([v])) for c, v in zip(codes, good, strict=True)]
            array = pa.chunked_array(chunks)
            assert round_trip(array).to_pylist() == [*good[0] * 7, None, *good[1] * 7, None]
        for bad in (3, -1, 127):
            wrong, right = (
                pa.DictionaryArray.from_arrays(pa.array(c, pa.int8()), pa.array(["a", "b"]), safe=False)
                for c in ([0, 1, 0, bad, 1, 0], [0, 1, 0, 0])
            )
            for array in (pa.chunked_array([wrong, right]), pa.chunked_array([right, wrong])):
                with pytest.raises(cw.InvalidDataError, match=r"^column: the array is not valid Arrow"):
                    cw.write_column(array, pa.BufferOutputStream())

    def test_chunks_with_a_broken_dictionary(self) -> None:
        offsets = pa.py_buffer(np.array([0, -5, 3], np.int32))
        broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abcdefgh")])
        arrays = [
            pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, 1, 0], pa.int32()), values, safe=False)
            for values in (broken, pa.array(["q", "r"]))
        ]
        for chunks in (arrays, arrays[:1], arrays[::-1]):
            with pytest.raises(cw.InvalidDataError, match=r"^column: "):
                cw.write_column(pa.chunked_array(chunks), pa.BufferOutputStream())

    def test_codes_of_values_that_an_option_stores_otherwise(self) -> None:
        moments = pa.array([0, 10**9, None, 0, 0, 0, 0, 10**9], pa.timestamp("ns")).dictionary_encode()
        found = round_trip(moments, use_deprecated_int96_timestamps=True)
        assert found.cast(pa.timestamp("ns")).to_pylist() == moments.to_pylist()
        prices = pa.array([Decimal("1.50"), None, *[Decimal("2.25")] * 9], pa.decimal128(5, 2)).dictionary_encode()
        assert round_trip(prices, store_decimal_as_integer=True).to_pylist() == prices.to_pylist()

    @pytest.mark.parametrize("use_dictionary", [True, False])
    def test_dictionaries_and_runs_of_views(self, use_dictionary: bool) -> None:
        """Polars gives its categories as views."""
        values = pa.array(["a", "b", "a string of some length"], pa.string_view())
        codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 0, 0, 0, 0]), values)
        ends = pa.array([2, 3, 5], pa.int32())
        runs = pa.RunEndEncodedArray.from_arrays(ends, values)
        for array in (codes, codes.slice(1, 3), pa.ListArray.from_arrays([0, 3, 8], codes), runs, runs.slice(1)):
            assert round_trip(array, use_dictionary=use_dictionary).to_pylist() == array.to_pylist()

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from([pa.string(), pa.large_binary(), pa.int32(), pa.uint64(), pa.timestamp("ms"), pa.int8()]),
        st.sampled_from([pa.int8(), pa.uint16(), pa.int32()]),
        st.integers(1, 40),
        st.integers(0, 300),
        st.integers(0, 9),
        st.sampled_from([1, 64, 20_000]),
        st.sampled_from([0.0, 0.3, 1.0]),
        st.integers(0, 2**32),
    )
    def test_codes(
        self,
        value_type: Any,
        index_type: Any,
        entries: int,
        count: int,
        offset: int,
        max_rows: int,
        nulls: float,
        seed: int,
    ) -> None:
        """Codes pass straight through; entries that no value refers to are not part of the column."""
        rng = np.random.default_rng(seed)
        texts = pa.array([str(10**k) if k % 3 else "é" * k for k in range(entries)])
        is_text = value_type in (pa.string(), pa.large_binary())
        values = texts.cast(value_type) if is_text else pa.array(range(entries)).cast(value_type)
        mask = rng.random(count + offset) < nulls
        indices = pa.array(rng.integers(0, entries, count + offset), index_type, mask=mask)
        codes = pa.DictionaryArray.from_arrays(indices, values).slice(offset)
        for array in (codes, pa.chunked_array([codes, codes.slice(count // 2)])):
            found = round_trip(array, max_rows_per_page=max_rows)
            assert found.to_pylist() == array.to_pylist()


def encodings_of(arrow_type: Any) -> list[str]:
    """The encodings that the physical type has (Encodings.md, "Supported Encodings")."""
    if pa.types.is_boolean(arrow_type):
        return ["RLE"]
    if pa.types.is_fixed_size_binary(arrow_type) or pa.types.is_decimal(arrow_type) or arrow_type == pa.float16():
        return ["DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"]
    return ["BYTE_STREAM_SPLIT"] if pa.types.is_floating(arrow_type) else ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]


@pytest.mark.parametrize(("arrow_type", "encoding"), [(t, e) for t in TYPES for e in encodings_of(t)], ids=str)
@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_encodings(arrow_type: Any, encoding: str, nulls: float) -> None:
    array = make(arrow_type, 500, 500, nulls, 5, 11)
    options = {"column_encoding": encoding, "use_dictionary": False, "max_rows_per_page": 140}
    for version in ("1.0", "2.0"):
        assert same(round_trip(array, data_page_version=version, **options), as_pyarrow_does(array))


@pytest.mark.parametrize("arrow_type", [t for t in TYPES if t != pa.bool_()], ids=str)
@pytest.mark.parametrize("distinct", [10, 300])
def test_bloom_filters(arrow_type: Any, distinct: int) -> None:
    """The naive reader checks every bit."""
    round_trip(make(arrow_type, 300, distinct, 0.2, 5, 7), bloom_filter_options=True)


class TestViews:
    """Views, which may point anywhere, and whose long values lie in several buffers."""

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(st.none() | st.binary(max_size=20) | st.binary(min_size=30, max_size=90), max_size=50),
        st.integers(0, 9),
        st.sampled_from([1, 7, 20_000]),
        st.booleans(),
    )
    def test_values(self, rows: list[bytes | None], offset: int, max_rows: int, use_dictionary: bool) -> None:
        array = pa.concat_arrays([pa.array(rows[:20], pa.binary_view()), pa.array(rows[20:], pa.binary_view())])
        array = array.slice(offset)
        found = round_trip(array, max_rows_per_page=max_rows, use_dictionary=use_dictionary)
        assert found.to_pylist() == rows[offset:]

    @pytest.mark.parametrize(
        "view",
        [
            (20, 0, 0, 90),  # length, prefix, buffer, offset: past the end
            (20, 0, 1, 0),
            (20, 0, -1, 0),
            (20, 0, 0, -5),
            (2**31 - 1, 0, 0, 0),
            (-1, 0, 0, 0),
        ],
    )
    def test_views_that_point_nowhere(self, view: tuple[int, ...]) -> None:
        views = pa.py_buffer(np.array(view, np.int32))
        array = pa.Array.from_buffers(pa.binary_view(), 1, [None, views, pa.py_buffer(bytes(100))])
        with pytest.raises(cw.InvalidDataError, match=r"^column: .*views"):
            cw.write_column(array, pa.BufferOutputStream())

    def test_what_lies_under_a_null_is_not_followed(self) -> None:
        views = pa.py_buffer(np.array([1, 97, 0, 0, 20, 0, 9, 9], np.int32))
        array = pa.Array.from_buffers(pa.binary_view(), 2, [pa.py_buffer(b"\x01"), views, pa.py_buffer(b"x")])
        assert round_trip(array).to_pylist() == [b"a", None]


class TestConverted:
    """Values that Parquet has in another form."""

    def test_coerced_timestamps(self) -> None:
        array = pa.array([0, 1500, None, -1500], pa.timestamp("us"))
        with pytest.raises(cw.InvalidDataError, match=r"^column: .*TIMESTAMP\(MILLIS\).*1970-01-01 00:00:00.001500"):
            round_trip(array, coerce_timestamps="ms")
        options = {"coerce_timestamps": "ms", "allow_truncated_timestamps": True}
        assert round_trip(array, **options).equals(as_pyarrow_does(array, **options))

    @pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
    def test_versions(self, version: str) -> None:
        for array in (pa.array([1, 2**32 - 1], pa.uint32()), pa.array([1000, None, -5000], pa.timestamp("ns"))):
            assert round_trip(array, version=version).equals(as_pyarrow_does(array, version=version))

    def test_what_lies_under_a_null_may_be_anything(self) -> None:
        validity = pa.py_buffer(b"\x01")
        body = pa.py_buffer(np.array([5, 2**62], np.int64))
        for arrow_type in (pa.timestamp("s"), pa.date64()):
            array = pa.Array.from_buffers(arrow_type, 2, [validity, body])
            if arrow_type == pa.date64():
                array = pa.Array.from_buffers(arrow_type, 2, [validity, pa.py_buffer(np.array([0, 7], np.int64))])
            assert round_trip(array).null_count == 1

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (pa.array([1, 2**62], pa.timestamp("s")), r"TIMESTAMP\(MILLIS\).*4611686018427387904"),
            (pa.array([1, -(2**62)], pa.timestamp("s")), r"TIMESTAMP\(MILLIS\)"),
            (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "INTERVAL"),
            (pa.array([(-1, 2, 0)], pa.month_day_nano_interval()), "INTERVAL"),
        ],
    )
    def test_values_that_do_not_fit(self, array: Any, message: str) -> None:
        with pytest.raises(cw.InvalidDataError, match=rf"^column: .*{message}"):
            cw.write_column(array, pa.BufferOutputStream())

    def test_part_of_a_day_is_left_out(self) -> None:
        """As pyarrow does: a date64 between two days is the one towards 1970."""
        array = pa.array([86_400_001, -5, None]).view(pa.date64())
        assert round_trip(array).equals(as_pyarrow_does(array))

    def test_decimals_that_do_not_fit(self) -> None:
        body = pa.py_buffer(np.array([1, 0, 2**40, 0], np.int64))
        array = pa.Array.from_buffers(pa.decimal128(5, 2), 2, [None, body])
        with pytest.raises(cw.InvalidDataError, match=r"^column: .*DECIMAL\(5, 2\).*10995116277\.76"):
            cw.write_column(array, pa.BufferOutputStream())

    def test_intervals(self) -> None:
        found = round_trip(pa.array([(1, 2, 3_000_000), None], pa.month_day_nano_interval()))
        assert found.to_pylist() == [np.array([1, 2, 3], np.uint32).tobytes(), None]

    def test_int96(self) -> None:
        moments = [0, 10**18, None, -5, -(10**17)]
        for unit in ("s", "ms", "us", "ns"):
            scaled = [None if m is None else m // 10 ** (9 - 3 * ["s", "ms", "us", "ns"].index(unit)) for m in moments]
            array = pa.array(scaled, pa.timestamp(unit))
            options = {"use_deprecated_int96_timestamps": True}
            assert round_trip(array, **options).equals(as_pyarrow_does(array, **options))

    def test_adjusted_times(self) -> None:
        array = pa.array([datetime.time(1, 2, 3), None], pa.time64("us"))
        sink = pa.BufferOutputStream()
        cw.write_column(array, sink, write_time_adjusted_to_utc=True)
        assert "isAdjustedToUTC=true" in str(pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema)

    def test_decimals_as_integers(self) -> None:
        array = pa.array([Decimal("1.23"), None, Decimal("-9.99")], pa.decimal128(3, 2))
        sink = pa.BufferOutputStream()
        footer = cw.write_column(array, sink, store_decimal_as_integer=True)
        assert footer.row_groups[0].columns[0].meta_data.type.name == "INT32"
        assert pq.read_table(pa.BufferReader(sink.getvalue())).column(0).to_pylist() == array.to_pylist()


def test_what_is_nested_too_deeply_is_an_error() -> None:
    arrow_type = pa.int64()
    for _ in range(3000):
        arrow_type = pa.struct([("a", arrow_type)])
    with pytest.raises(cw.UnsupportedTypeError, match="nested too deeply"):
        cw.ParquetWriter(pa.BufferOutputStream(), pa.schema([("a", arrow_type)]))


def test_negative_offsets_of_arrays_are_an_error() -> None:
    array = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(bytes(80))], offset=-2)
    with pytest.raises(cw.InvalidDataError, match=r"^a: the array is not valid Arrow: .*0 or more, found -2"):
        cw.write_table(pa.table({"a": array}), pa.BufferOutputStream())
