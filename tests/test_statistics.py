"""Statistics: shortened bounds are still bounds, and counts of distinct values are exact, or absent."""

from __future__ import annotations

import io
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colwriter as cw
from colwriter.metadata import Encoding
from colwriter.statistics import truncate_max, truncate_min
from naive.check import check_file


@pytest.mark.parametrize(
    ("value", "length", "is_string", "least", "greatest"),
    [
        # parquet-java, TestBinaryTruncator.
        (b"abcdef", 3, True, b"abc", b"abd"),
        ("árvíztűrő".encode(), 9, True, "árvízt".encode(), "árvízu".encode()),
        (bytes.fromhex("fffefdfc"), 3, False, bytes.fromhex("fffefd"), bytes.fromhex("fffefe")),
        (bytes.fromhex("fffefdffffffff"), 5, False, bytes.fromhex("fffefdffff"), bytes.fromhex("fffefe")),
        (b"\xff" * 6, 5, False, b"\xff" * 5, b"\xff" * 6),
        # arrow-rs: a character is raised only within its length in bytes.
        (b"a\x7fx", 2, True, b"a\x7f", b"b"),
        ("\u00ff\u00ffx".encode(), 4, True, "\u00ff\u00ff".encode(), "\u00ff\u0100".encode()),
        (b"\x7f\x7fx", 2, True, b"\x7f\x7f", b"\x7f\x7fx"),
        ("\U0010ffff" * 2, 4, True, "\U0010ffff", "\U0010ffff" * 2),
        ("\ud7ffx", 3, True, "\ud7ff", "\ue000"),
        (b"yyyyyyyyy", 8, True, b"yyyyyyyy", b"yyyyyyyz"),
        (b"ab", 2, True, b"ab", b"ab"),
        # A string that is not UTF-8 still has bounds.
        (b"a\x80\x80\x80\x80\x80", 3, True, None, None),
    ],
)
def test_truncation(value, length, is_string, least, greatest) -> None:
    value = value.encode() if isinstance(value, str) else value
    low, high = truncate_min(value, is_string, length), truncate_max(value, is_string, length)
    assert low.value <= value <= high.value
    if least is not None:
        assert low.value == (least.encode() if isinstance(least, str) else least)
        assert high.value == (greatest.encode() if isinstance(greatest, str) else greatest)
    assert low.exact == (low.value == value)
    assert high.exact == (high.value == value)


@given(st.text(max_size=30), st.integers(1, 20))
def test_text_bounds(text: str, length: int) -> None:
    value = text.encode()
    low, high = truncate_min(value, True, length), truncate_max(value, True, length)
    assert low.value <= value <= high.value
    assert low.value.decode() <= text <= high.value.decode()
    assert len(low.value) <= max(length, 4)
    assert (low.exact, high.exact) == (low.value == value, high.value == value)


def test_long_values_of_a_file() -> None:
    table = pa.table({"s": ["b" * 500, "a" * 500, None, "c" + "\U0010ffff" * 100]})
    sink = io.BytesIO()
    metadata = cw.write_table(table, sink)
    statistics = metadata.row_groups[0].columns[0].meta_data.statistics
    assert statistics.min_value == b"a" * 64
    assert not statistics.is_min_value_exact
    assert statistics.max_value == b"d"
    assert not statistics.is_max_value_exact
    assert statistics.null_count == 1
    index, _ = cw.read_page_index(sink.getvalue())
    assert (index.min_values, index.max_values) == ((b"a" * 64,), (b"d",))
    assert pq.read_table(io.BytesIO(sink.getvalue()), filters=[("s", ">", "c")]).num_rows == 1


WORDS = ["żółw" * 30 + "a", "żółw" * 30 + "b", "zebra"]


@pytest.mark.parametrize("length", [1, 3, 64, 1000, None])
def test_truncate_lengths(length: int | None) -> None:
    """Each option shortens its own bounds, between characters, and leaves those of the other alone."""
    table = pa.table(
        {"s": WORDS, "b": [word.encode() for word in WORDS], "f": pa.array([b"x" * 70] * 3, pa.binary(70))}
    )

    def bounds(**options: object) -> tuple[list, list]:
        metadata = cw.write_table(table, sink := io.BytesIO(), max_rows_per_page=1, **options)
        chunks = [column.meta_data.statistics for column in metadata.row_groups[0].columns]
        return chunks, [cw.read_page_index(sink, 0, name)[0] for name in table.column_names]

    default_chunks, default_pages = bounds()
    chunks, pages = bounds(statistics_truncate_length=length)
    assert pages == default_pages
    assert bounds(column_index_truncate_length=length)[0] == default_chunks
    pages = bounds(column_index_truncate_length=length)[1]
    limit = length or 1000
    for name, chunk, page in zip(table.column_names, chunks, pages, strict=True):
        data = [value.encode() if isinstance(value, str) else value for value in table[name].to_pylist()]
        wanted = 70 if name == "f" else limit
        low, high = truncate_min(min(data), name == "s", wanted), truncate_max(max(data), name == "s", wanted)
        assert (chunk.min_value, chunk.is_min_value_exact) == low
        assert (chunk.max_value, chunk.is_max_value_exact) == high
        assert chunk.min_value <= min(data) <= max(data) <= chunk.max_value
        assert list(page.min_values) == [truncate_min(value, name == "s", wanted).value for value in data]
        assert list(page.max_values) == [truncate_max(value, name == "s", wanted).value for value in data]
        if name == "s":
            assert chunk.min_value.decode() <= min(WORDS)


ROWS = 20_000
CODES = np.random.default_rng(0).integers(0, 97, ROWS)
MASK = CODES == 13
TEXTS = [f"text {code}" for code in CODES]
# Columns of 97 values, and of 96 where one is masked.
REPEATED: dict[str, tuple[pa.Array, int]] = {
    "int64": (pa.array(CODES * 10**12), 97),
    "int32": (pa.array(CODES.astype(np.int32), mask=MASK), 96),
    "uint64": (pa.array(CODES.astype(np.uint64) << np.uint64(57), mask=MASK), 96),
    "string": (pa.array(TEXTS, mask=MASK), 96),
    "view": (pa.array(TEXTS, pa.string_view()), 97),
    "nested views": (pa.array([[text] for text in TEXTS], pa.list_(pa.string_view())), 97),
    "fixed": (pa.array([text.encode()[-7:].ljust(7) for text in TEXTS], pa.binary(7)), 97),
    "double": (pa.array(CODES * 0.25 - 5, mask=MASK), 96),
    "float": (pa.array(CODES.astype(np.float32)), 97),
    "half": (pa.array(CODES.astype(np.float16) - np.float16(13), mask=MASK), 96),
    "list": (pa.array([[code] * (code % 3) for code in CODES.tolist()]), 64),
    "decimal": (pa.array(CODES.astype(np.int64)).cast(pa.decimal128(30, 0)), 97),
    "int96": (pa.array(CODES, pa.timestamp("s")), 97),
}


def distinct_count(array: pa.Array, **options: Any) -> int | None:
    """What the file says, which is checked against its values, and what pyarrow and DuckDB say of it."""
    cw.write_table(pa.table({"c": array}), sink := io.BytesIO(), **options)
    check_file(sink.getvalue())
    found = cw.read_metadata(sink).row_groups[0].columns[0].meta_data.statistics.distinct_count
    statistics = pq.read_metadata(sink).row_group(0).column(0).statistics
    if statistics is not None:  # of an INT96 it takes none
        assert (statistics.has_distinct_count, statistics.distinct_count) == (found is not None, found)
    return found


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("max_rows", [100, None])
def test_distinct_count_of_a_dictionary(name: str, max_rows: int | None) -> None:
    array, expected = REPEATED[name]
    options = {"use_deprecated_int96_timestamps": True} if name == "int96" else {}
    assert distinct_count(array, max_rows_per_page=max_rows, **options) == expected
    assert distinct_count(array, use_dictionary=False, **options) is None


def test_distinct_count_of_each_row_group() -> None:
    table = pa.table({"c": [1, 2, 3, 1] * 1000 + [5] * 4000})
    metadata = cw.write_table(table, io.BytesIO(), row_group_size=4000)
    assert [group.columns[0].meta_data.statistics.distinct_count for group in metadata.row_groups] == [3, 1]


def test_no_distinct_count_where_the_dictionary_is_given_up() -> None:
    array = pa.array([*(CODES * 10**12).tolist(), *range(5000)])
    cw.write_table(pa.table({"c": array}), sink := io.BytesIO(), dictionary_pagesize_limit=1000)
    chunk = cw.read_metadata(sink).row_groups[0].columns[0].meta_data
    assert {Encoding.PLAIN, Encoding.RLE_DICTIONARY} <= {stats.encoding for stats in chunk.encoding_stats}
    assert [stats.encoding for stats in chunk.encoding_stats].count(Encoding.PLAIN) == 2  # the dictionary, and pages
    assert chunk.statistics.distinct_count is None


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_no_distinct_count_of_zeros_and_nan(kind: type) -> None:
    """Whether the zeros are one value, and NaN is one or many or none, is a matter of definition."""
    numbers = CODES.astype(kind)
    assert distinct_count(pa.array(numbers)) == 97
    assert distinct_count(pa.array(-numbers)) == 97
    assert distinct_count(pa.array(np.where(CODES == 1, kind(np.inf), numbers))) == 97
    assert distinct_count(pa.array(np.where(CODES == 1, -kind(np.inf), numbers))) == 97
    assert distinct_count(pa.array(np.where(CODES == 1, kind(-0.0), numbers))) is None
    assert distinct_count(pa.array(np.where(CODES == 1, kind(np.nan), numbers))) is None
    assert distinct_count(pa.array(np.where(CODES == 1, -kind(np.nan), numbers))) is None


def test_no_distinct_count_of_a_dictionary_that_may_hold_a_value_twice() -> None:
    codes = pa.array([0, 1, 2, 0] * 100, pa.int32())
    assert distinct_count(pa.DictionaryArray.from_arrays(codes, ["a", "b", "a"])) is None


def test_duckdb_reads_the_distinct_count(tmp_path) -> None:
    cw.write_table(pa.table({"s": TEXTS, "i": range(ROWS)}), tmp_path / "t.parquet")
    with duckdb.connect() as connection:
        query = f"select stats_distinct_count from parquet_metadata('{tmp_path / 't.parquet'}')"
        assert connection.execute(query).fetchall() == [(97,), (None,)]
        query = f"select count(*), count(distinct s) from '{tmp_path / 't.parquet'}' where s > 'text 5'"
        assert connection.execute(query).fetchone() == (
            sum(text > "text 5" for text in TEXTS),
            len({text for text in TEXTS if text > "text 5"}),
        )


@given(st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), None]), min_size=1, max_size=30))
def test_distinct_count_is_exact_or_absent(values: list[float | None]) -> None:
    for kind in (pa.float16(), pa.float64()):
        distinct_count(pa.array(values, kind))
