"""Shortened bounds: still bounds, still whole characters, and honest about whether they are exact."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import colwriter as cw
from colwriter.statistics import truncate_max, truncate_min


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
