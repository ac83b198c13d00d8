"""Size statistics of columns worked out beforehand, by the oracle and by the writer at every level."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import colwriter as cw
import naive

LEVELS = ("None", "ColumnChunk", "PageAndColumnChunk")
PAGES = {
    "a row a page": {"max_rows_per_page": 1},
    "tiny pages": {"data_page_size": 16},
    "default pages": {},
}
HISTOGRAMS = ("repetition_level_histogram", "definition_level_histogram")
BYTES = "unencoded_byte_array_data_bytes"
# The oracle takes long over files of thousands of pages: long vectors get pages this much longer.
MANY_ROWS = 1000


def _load() -> dict[str, dict[str, Any]]:
    """The vectors by name, with their type and rows as objects."""
    vectors = {}
    for vector in json.loads((Path(__file__).parent / "data" / "size_statistics.json").read_text("utf-8")):
        vector["type"] = eval(vector["type"], {"pa": pa})
        if isinstance(vector["rows"], str):
            vector["rows"] = eval(vector["rows"])
        vectors[vector["name"]] = vector
    return vectors


VECTORS = _load()


def _arrow(pa_type: pa.DataType, value: Any) -> Any:
    """A value of JSON as pyarrow takes it: a pair of a map is a tuple."""
    if value is None:
        return None
    if pa.types.is_struct(pa_type):
        return {child.name: _arrow(child.type, value[child.name]) for child in pa_type}
    if pa.types.is_map(pa_type):
        return [(_arrow(pa_type.key_type, key), _arrow(pa_type.item_type, item)) for key, item in value]
    if pa.types.is_list(pa_type) or pa.types.is_fixed_size_list(pa_type):
        return [_arrow(pa_type.value_type, item) for item in value]
    return value


def _table(vector: dict[str, Any]) -> pa.Table:
    field = pa.field("column", vector["type"], nullable=vector["nullable"])
    rows = [_arrow(field.type, row) for row in vector["rows"]]
    return pa.Table.from_arrays([pa.array(rows, field.type)], schema=pa.schema([field]))


def _stated(statistics: cw.SizeStatistics | None, field: str) -> Any:
    """A field of SizeStatistics in the form of the vectors; the struct itself may be absent."""
    value = getattr(statistics, field, None)
    return value if value is None or isinstance(value, int) else list(value)


@pytest.mark.parametrize("name", VECTORS)
def test_the_oracle_agrees(name: str) -> None:
    vector = VECTORS[name]
    leaves = naive.shred(vector["type"], vector["nullable"], vector["rows"])
    assert [naive.size_statistics(leaf) for leaf in leaves] == vector["leaves"]


@pytest.mark.parametrize("use_dictionary", [True, False], ids=["dictionary", "plain"])
@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", VECTORS)
def test_the_writer_agrees(name: str, level: str, pages: str, use_dictionary: bool) -> None:
    vector = VECTORS[name]
    factor = MANY_ROWS if len(vector["rows"]) > MANY_ROWS else 1
    options = {option: limit * factor for option, limit in PAGES[pages].items()}
    sink = io.BytesIO()
    metadata = cw.write_table(
        _table(vector), sink, size_statistics_level=level, use_dictionary=use_dictionary, **options
    )
    file = naive.check_file(sink.getvalue(), level)
    (chunks,) = file.row_groups
    shredded = naive.shred(vector["type"], vector["nullable"], vector["rows"])
    assert [chunk.leaf for chunk in chunks] == shredded
    for i, leaf in enumerate(vector["leaves"]):
        meta = metadata.row_groups[0].columns[i].meta_data
        assert meta is not None
        assert meta.num_values == leaf["num_values"]
        assert meta.statistics is not None
        assert meta.statistics.null_count == leaf["null_count"]
        wanted = leaf if level != "None" else dict.fromkeys(leaf)
        for field in (*HISTOGRAMS, BYTES):
            assert _stated(meta.size_statistics, field) == wanted[field]
        if level == "None":
            assert meta.size_statistics is None
        _check_pages(sink, i, leaf if level == "PageAndColumnChunk" else dict.fromkeys(leaf), len(chunks[i].pages))
    if options.get("max_rows_per_page") == 1:
        assert {len(chunk.pages) for chunk in chunks} == {len(vector["rows"])}


def _check_pages(sink: io.BytesIO, column: int, leaf: dict[str, Any], num_pages: int) -> None:
    """The statistics of the pages add up to those of the column chunk, or are not there."""
    column_index, offset_index = cw.read_page_index(sink, row_group=0, column=column)
    assert column_index is not None
    assert offset_index is not None
    for field in HISTOGRAMS:
        pages = getattr(column_index, f"{field}s")
        if leaf[field] is None:
            assert pages is None
        else:
            assert pages.dtype == np.int64
            assert pages.shape == (num_pages, len(leaf[field]))
            assert pages.sum(axis=0).tolist() == leaf[field]
    num_bytes = offset_index.unencoded_byte_array_data_bytes
    if leaf[BYTES] is None:
        assert num_bytes is None
    else:
        assert num_bytes is not None
        assert num_bytes.dtype == np.int64
        assert num_bytes.shape == (num_pages,)
        assert num_bytes.sum() == leaf[BYTES]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", VECTORS)
def test_a_column_is_a_table_of_one_column(name: str, level: str) -> None:
    table = _table(VECTORS[name])
    as_column, as_table = io.BytesIO(), io.BytesIO()
    nullable = VECTORS[name]["nullable"]
    from_column = cw.write_column(table.column(0), as_column, nullable=nullable, size_statistics_level=level)
    from_table = cw.write_table(table, as_table, size_statistics_level=level)
    assert from_column.schema == from_table.schema
    assert as_column.getvalue() == as_table.getvalue()
    assert cw.read_metadata(as_column) == from_column == from_table
