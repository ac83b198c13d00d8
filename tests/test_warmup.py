"""After a warmup, no write compiles anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from colwriter.display import show_warmup
from colwriter.warmup import WarmupReport

TESTS = Path(__file__).parent

# In a process of its own, where nothing has been compiled or loaded by other tests. A kernel has one signature for
# each combination of types that it was compiled or loaded for, so that a warm cache cannot hide one that is missing.
CODE = """
import io
from hypothesis import given, settings
from strategies import cases, writer_options
import pyarrow as pa
import colwriter as cw
from colwriter.warmup import dispatchers, warmup

def signatures():
    return {(d.py_func.__module__, d.py_func.__name__, s) for d in dispatchers() for s in d.signatures}

report = warmup()
before = signatures()
assert report.compiled + report.loaded >= len(before) > 30, report

@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(cases(), writer_options())
def write(case, options):
    cw.write_table(case.table, io.BytesIO(), **options)

def deep(depth, leaf):
    return leaf if depth == 0 else pa.list_(pa.struct([("a", deep(depth - 1, leaf))]))

write()
for arrow_type in (pa.int32(), pa.int64(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
    numbers = pa.array(range(30_000)).cast(pa.string())
    for column in (numbers, pa.array([str(i % 7) for i in range(30_000)])):
        column = column.cast(arrow_type)
        for options in ({}, {"use_dictionary": False}, {"write_statistics": False}, {"dictionary_pagesize_limit": 99}):
            options["bloom_filter_options"] = True
            cw.write_column(column, io.BytesIO(), nullable=False, **options)
            cw.write_column(column.slice(5, 20_000), io.BytesIO(), data_page_version="2.0", **options)
    integer = pa.types.is_integer(arrow_type)
    names = "DELTA_BINARY_PACKED BYTE_STREAM_SPLIT" if integer else "DELTA_LENGTH_BYTE_ARRAY DELTA_BYTE_ARRAY"
    for encoding in names.split():
        for column in (numbers.cast(arrow_type), pa.nulls(10, arrow_type), pa.nulls(0, arrow_type)):
            table = pa.table({"c": column})
            cw.write_table(table, io.BytesIO(), use_dictionary=False, column_encoding=encoding)
            cw.write_table(table, io.BytesIO(), use_dictionary=False, column_encoding=encoding, max_threads=3)
    for column in (numbers.cast(arrow_type), pa.array([None, "1", "2"] * 5000).cast(arrow_type)):
        for nullable in (True, False)[: 2 - bool(column.null_count)]:
            cw.write_column(column, io.BytesIO(), nullable=nullable, column_encoding="auto", compression="zstd")
    cw.write_table(pa.schema([("c", deep(20, arrow_type))]).empty_table(), io.BytesIO())
    cw.write_table(pa.table({"c": pa.nulls(10, deep(20, arrow_type))}), io.BytesIO(), row_group_size=3)
    cw.write_table(pa.table({"c": pa.nulls(10, arrow_type)}), io.BytesIO(), size_statistics_level="ColumnChunk")
codes = [0] * 40_000 + [i % 99 for i in range(130_000)] + [100 - i % 99 for i in range(130_000)]
for arrow_type in (pa.int64(), pa.int32(), pa.string(), pa.large_string(), pa.float64(), pa.binary(), pa.date32()):
    column = pa.array(codes, pa.int32()).cast(pa.string() if pa.types.is_binary(arrow_type) else arrow_type)
    column = column.cast(arrow_type)
    offsets = list(range(len(column) + 1))
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), column)
    for array in (column, lists, lists.cast(pa.large_list(arrow_type))):
        cw.write_table(pa.table({"c": array}), io.BytesIO(), max_threads=2)
print(sorted(map(str, signatures() - before)))
"""


def _run(*arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    command = [sys.executable, *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "compiling kernels" not in result.stderr
    return result.stdout


def test_no_write_compiles_after_a_warmup() -> None:
    assert _run("-c", CODE) == "[]\n"


def test_a_second_warmup_finds_all_in_the_cache() -> None:
    _run("-m", "colwriter", "warmup")
    second = _run("-m", "colwriter", "warmup")
    assert second.startswith("nothing to compile: ")
    folder = second.rpartition("cached in ")[2].strip()
    assert list(Path(folder).glob("*.nbi"))


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (WarmupReport(1, 0, 0.26, None), "compiled 1 kernel in 0.3 s, not cached: no folder for it can be written\n"),
        (WarmupReport(80, 2, 9.0, Path("/c")), "compiled 80 kernels in 9.0 s, cached in /c\n"),
        (
            WarmupReport(0, 40, 0.5, Path("/c")),
            "nothing to compile: 40 kernels, and what they call, loaded in 0.5 s, cached in /c\n",
        ),
    ],
)
def test_report_is_one_line(report: Any, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_warmup(report)
    assert capsys.readouterr().out == line.replace("/c", str(Path("/c")))
