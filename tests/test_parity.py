"""Each argument of pyarrow's writers has its effect here, or a line in docs/parity.md that says what differs."""

from __future__ import annotations

import datetime as dt
import inspect
import io
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colwriter as cw
from colwriter import keywords as writer_options
from colwriter.metadata import Encoding, PageHeader
from colwriter.thrift import decode

PAGE = Path(__file__).parents[1] / "docs/parity.md"
ROWS = 50_000
TABLE = pa.table(
    {
        "i": pa.array([None if k % 10 == 0 else k for k in range(ROWS)]),
        "s": [f"{k * k % 997:09}" for k in range(ROWS)],
        "ns": pa.array([k * 1000 for k in range(ROWS)], pa.timestamp("ns")),
        "us": pa.array([k * 1_000_000 for k in range(ROWS)], pa.timestamp("us", "UTC")),
        "time": pa.array([dt.time(1, 2, 3)] * ROWS),
        "dec": pa.array([Decimal("1.50")] * ROWS, pa.decimal128(9, 2)),
        "u": pa.array(range(ROWS), pa.uint32()),
        "l": [[k] for k in range(ROWS)],
        "a b": [1] * ROWS,
    }
)
# Each option with values that have an effect, and the aspects of a file that both writers must then agree about.
CASES: list[tuple[dict[str, Any], str]] = [
    ({"version": "1.0"}, "types"),
    ({"version": "2.4"}, "types"),
    ({"use_dictionary": False}, "encodings"),
    ({"use_dictionary": ["s", "dec"]}, "encodings"),
    ({"compression": "zstd"}, "codecs"),
    ({"compression": "NONE"}, "codecs"),
    ({"compression": {"s": "gzip", "i": "lz4"}}, "codecs"),
    ({"compression": "gzip", "compression_level": 1}, "codecs"),
    ({"write_statistics": False}, "statistics"),
    ({"write_statistics": ["i", "u"]}, "statistics"),
    ({"use_deprecated_int96_timestamps": True}, "types"),
    ({"coerce_timestamps": "ms", "allow_truncated_timestamps": True}, "types"),
    ({"flavor": "spark"}, "types names"),
    ({"flavor": "spark", "use_deprecated_int96_timestamps": False}, "names"),
    ({"data_page_size": 10_000}, "many_pages"),
    ({"data_page_version": "2.0"}, "page_types"),
    ({"use_compliant_nested_type": False}, "names"),
    ({"dictionary_pagesize_limit": 2000}, "plain_pages"),
    ({"store_schema": False}, "keys"),
    ({"write_page_index": False}, "indexes"),
    ({"write_page_checksum": True}, "checksums"),
    ({"sorting_columns": [pq.SortingColumn(0, True, False), pq.SortingColumn(6)]}, "sorting"),
    ({"store_decimal_as_integer": True}, "types"),
    ({"write_time_adjusted_to_utc": True}, "types"),
    ({"max_rows_per_page": 1000}, "pages"),
    ({"row_group_size": 7000}, "row_groups"),
    ({"use_byte_stream_split": ["i"], "use_dictionary": False}, "encodings"),
    ({"column_encoding": {"i": "DELTA_BINARY_PACKED"}, "use_dictionary": ["s", "dec"]}, "encodings"),
]
# Arguments without an aspect in the footer, and the tests that use them.
TESTED_ELSEWHERE = {
    **dict.fromkeys(["table", "where", "filesystem", "allow_truncated_timestamps"], "test_api, test_types"),
    **dict.fromkeys(["root_path", "partition_cols", "basename_template", "file_visitor"], "test_dataset"),
    **dict.fromkeys(["existing_data_behavior"], "test_dataset"),
}


def aspects(data: bytes) -> dict[str, Any]:
    """What a file says, of what options change."""
    file = pq.ParquetFile(io.BytesIO(data))
    footer, schema = file.metadata, file.schema
    chunks = [footer.row_group(0).column(k) for k in range(footer.num_columns)]
    ours = [column.meta_data for column in cw.read_metadata(io.BytesIO(data)).row_groups[0].columns]
    headers = [decode(PageHeader, data, chunk.data_page_offset)[0] for chunk in ours]
    pages = None
    if chunks[0].has_offset_index:
        indexes = [cw.read_page_index(io.BytesIO(data), 0, chunk.path_in_schema)[1] for chunk in chunks]
        pages = [[place.first_row_index for place in index.page_locations] for index in indexes]
    return {
        "types": [
            (chunk.physical_type, str(schema.column(k).logical_type), schema.column(k).converted_type)
            for k, chunk in enumerate(chunks)
        ],
        "names": [chunk.path_in_schema for chunk in chunks],
        "encodings": [set(chunk.encodings) for chunk in chunks],
        "plain_pages": (headers[0].type, Encoding.PLAIN)
        in {(stats.page_type, stats.encoding) for stats in ours[1].encoding_stats},
        "page_types": [header.type for header in headers],
        "checksums": [header.crc is not None for header in headers],
        "codecs": [chunk.compression for chunk in chunks],
        "statistics": [
            chunk.statistics and (chunk.statistics.min, chunk.statistics.max, chunk.statistics.null_count)
            for chunk in chunks
        ],
        "indexes": [(chunk.has_column_index, chunk.has_offset_index) for chunk in chunks],
        "pages": pages,
        "many_pages": pages and [len(rows) > 3 for rows in pages],
        "keys": sorted(footer.metadata or {}),
        "sorting": footer.row_group(0).sorting_columns,
        "row_groups": [footer.row_group(k).num_rows for k in range(footer.num_row_groups)],
    }


def said(write: Any, **options: Any) -> dict[str, Any]:
    write(TABLE, sink := io.BytesIO(), **({"write_page_index": True} | options))
    return aspects(sink.getvalue())


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return said(cw.write_table)


def test_default(plain: dict[str, Any]) -> None:
    theirs = said(pq.write_table)
    del theirs["encodings"]  # here a dictionary has to pay
    assert plain | theirs == plain


@pytest.mark.parametrize(("options", "names"), CASES, ids=str)
def test_effect(options: dict[str, Any], names: str, plain: dict[str, Any]) -> None:
    ours, theirs = said(cw.write_table, **options), said(pq.write_table, **options)
    for name in names.split():
        assert ours[name] == theirs[name]
        assert ours[name] != plain[name]


def section(title: str) -> set[str]:
    """The names that a section of the page has lines for."""
    text = PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^- `(\w+)`:", text, re.MULTILINE))


def parameters(*functions: Any) -> dict[str, Any]:
    return {
        name: parameter.default
        for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }


THEIRS = parameters(pq.write_to_dataset, pq.ParquetWriter, pq.write_table)
OURS = {
    **writer_options._read.__kwdefaults__,
    **{name: allowed[0] for name, allowed in writer_options._FIXED.items()},
    **parameters(cw.write_to_dataset, cw.ParquetWriter, cw.write_table),
}


@pytest.mark.parametrize("name", THEIRS)
def test_argument(name: str) -> None:
    effective = {option for options, _ in CASES for option in options}
    listed = name in section("Arguments")
    assert listed or name in effective or name in TESTED_ELSEWHERE
    if not listed or name == "flavor":
        assert name in OURS
        assert OURS[name] == THEIRS[name] or name == "existing_data_behavior"  # None stands for the default there


def test_page_lists_what_there_is() -> None:
    assert section("Arguments") <= set(THEIRS)
    assert section("Only here") == set(OURS) - set(THEIRS)


@pytest.mark.parametrize("name", ["write_statistics", "write_page_index"])
def test_list_of_columns(name: str) -> None:
    """Options that pyarrow has for a file, or for a list of columns."""
    metadata = cw.write_table(TABLE, io.BytesIO(), **{name: ["s", "l"]})
    for column in metadata.row_groups[0].columns:
        wanted = column.meta_data.path_in_schema[0] in ("s", "l")
        assert (column.column_index_offset is not None) == wanted
        assert (column.offset_index_offset is not None) == (wanted or name == "write_statistics")
        assert (column.meta_data.statistics is not None) == (wanted or name == "write_page_index")


@pytest.mark.parametrize("path", ["a.parquet", None])
def test_metadata_collector(path: str | None, tmp_path: Path) -> None:
    """A footer is collected when its file is complete, and not if there is none."""
    footers: list[cw.FileMetaData] = []
    metadata = cw.write_table(TABLE, tmp_path / path if path else io.BytesIO(), metadata_collector=footers)
    assert footers == [metadata]
    writer = cw.ParquetWriter(io.BytesIO(), TABLE.schema, metadata_collector=footers)
    with pytest.raises(cw.InvalidDataError), writer:
        writer.write_table(pa.table({"x": [1]}))
    assert footers == [metadata]


def test_sidecar_files(tmp_path: Path) -> None:
    """As pyarrow's documentation makes _metadata: write, set the path of each file, write the sidecar."""
    footers: list[cw.FileMetaData] = []
    for name in ("a.parquet", "b.parquet"):
        cw.write_table(TABLE, tmp_path / name, metadata_collector=footers, row_group_size=30_000)
        footers[-1] = footers[-1].with_file_path(name)
    cw.write_metadata(TABLE.schema, tmp_path / "_metadata", footers)
    cw.write_metadata(TABLE.schema, tmp_path / "_common_metadata")
    again = [cw.read_metadata(tmp_path / name).with_file_path(name) for name in ("a.parquet", "b.parquet")]
    cw.write_metadata(TABLE.schema, tmp_path / "again", again)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "_metadata").read_bytes()
    found = pq.read_metadata(tmp_path / "_metadata")
    assert (found.num_rows, found.num_row_groups) == (2 * ROWS, 4)
    assert [found.row_group(k).column(0).file_path for k in range(4)] == ["a.parquet"] * 2 + ["b.parquet"] * 2
    assert pq.read_schema(tmp_path / "_common_metadata").equals(TABLE.schema)


def test_spark() -> None:
    """Tables keep their names, and so do the columns below; options name the columns as they are in the file."""
    table = pa.table({"a b": [1], "c;{}()\n\t=,d": [{"e f": 2}]})
    with cw.ParquetWriter(sink := io.BytesIO(), table.schema, flavor="spark", write_statistics=["a_b"]) as writer:
        writer.write_table(table)
        writer.write_batch(table.to_batches()[0])
    read = pq.read_table(sink)
    pq.write_table(table, theirs := io.BytesIO(), flavor="spark")
    assert read.schema.equals(pq.read_schema(theirs))
    assert read.schema.names == ["a_b", "c_________d"]
    assert read.to_pydict() == {"a_b": [1, 1], "c_________d": [{"e f": 2}] * 2}
