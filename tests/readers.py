"""Parquet readers that share no code with each other, behind one signature.

Each takes a path and gives the rows of every column as `pyarrow.Table.to_pylist` would: a map is a list of pairs.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

INTEROP = Path(__file__).parent / "interop"

Rows = dict[str, list[Any]]


def read_pyarrow(path: Path) -> Rows:
    """Arrow C++, with every page checksum verified."""
    return _columns(pq.read_table(path, page_checksum_verification=True))


def read_arro3(path: Path) -> Rows:
    """Rust parquet crate."""
    arro3_io = pytest.importorskip("arro3.io")
    return _columns(pa.table(arro3_io.read_parquet(str(path)).read_all()))


def read_polars(path: Path) -> Rows:
    """The Rust reader of Polars."""
    polars = pytest.importorskip("polars")
    found: Rows = polars.read_parquet(path).to_dict(as_series=False)
    return _as_pylist(path, found)


def read_duckdb(path: Path) -> Rows:
    """The C++ reader of DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        cursor = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    return _as_pylist(path, {name: [row[i] for row in rows] for i, name in enumerate(names)})


def read_fastparquet(path: Path) -> Rows:
    """Python and Cython. Only flat columns: of nested ones it reads lists and maps of one level, and no structs."""
    fastparquet = pytest.importorskip("fastparquet")
    flat = [field.name for field in pq.read_schema(path) if field.type.num_fields == 0]
    frame = fastparquet.ParquetFile(io.BytesIO(path.read_bytes())).to_pandas(columns=flat)
    return {name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in flat}


def read_hyparquet(path: Path) -> Rows:
    """JavaScript, on node."""
    columns: Rows = hyparquet(path)["columns"]
    return _as_pylist(path, columns)


READERS: dict[str, Callable[[Path], Rows]] = {
    "pyarrow": read_pyarrow,
    "arro3": read_arro3,
    "polars": read_polars,
    "duckdb": read_duckdb,
    "fastparquet": read_fastparquet,
    "hyparquet": read_hyparquet,
}


@cache
def hyparquet(path: Path) -> dict[str, Any]:
    """What hyparquet finds in a file, as interop/read.mjs prints it: `columns` and `chunks`.

    Skips the test without node, or before `npm install` in tests/interop.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (INTEROP / "node_modules").exists():
        pytest.skip("hyparquet is not installed: run `npm install` in tests/interop")
    command = [node, str(INTEROP / "read.mjs"), str(path)]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def _columns(table: pa.Table) -> Rows:
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _as_pylist(path: Path, columns: Rows) -> Rows:
    """Bring maps, bytes and text into the form of `to_pylist`, by the Arrow schema that pyarrow sees."""
    schema = pq.read_schema(path)
    return {name: [_value(schema.field(name).type, row) for row in rows] for name, rows in columns.items()}


def _value(pa_type: pa.DataType, value: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_map(pa_type):
        pairs = value.items() if isinstance(value, dict) else [tuple(pair.values()) for pair in value]
        return [(_value(pa_type.key_type, key), _value(pa_type.item_type, item)) for key, item in pairs]
    if pa.types.is_struct(pa_type):
        return {child.name: _value(child.type, value[child.name]) for child in pa_type}
    if pa_type.num_fields == 1:
        return [_value(pa_type.value_type, item) for item in value]
    return bytes.fromhex(value["$bytes"]) if isinstance(value, dict) else value
