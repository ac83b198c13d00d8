"""Peak memory of a process that writes a stream of row groups, of which it never holds two.

asv's figure is that of the whole process: subtract ``peakmem_reference`` (a process that has imported, and nothing
else), or ``peakmem_generate`` (one that also makes the same row groups) to see what the writer itself takes.

``python -m benchmarks.peak_memory --gibibytes 1 2`` prints that difference for files of one column, of which tables of
128 MiB are written, as one row group or as four. The aim is one row group's bytes in the file, and 64 MiB.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import colwriter
from benchmarks.common import QUICK, RANDOM_SEED, axis, chosen

MEBIBYTE = 1 << 20
ROW_GROUPS = 4
STRING_LENGTH = 8
# An int64; an offset, and a string.
ROW_BYTES = {"number": 8, "text": 4 + STRING_LENGTH}
COLUMNS = {"int64": ["number"], "string": ["text"], "both": ["number", "text"]}
SCALE = 16 if QUICK else 1

SCHEMA = pa.schema({"number": pa.int64(), "text": pa.string()})


def row_group(number: int, mebibytes: int, columns: str = "both") -> pa.Table:
    """A table of so many MiB in Arrow (a sixteenth in a quick run), made without memory besides its own."""
    rng = np.random.default_rng([RANDOM_SEED, number])
    names = COLUMNS[columns]
    rows = mebibytes * MEBIBYTE // sum(ROW_BYTES[name] for name in names) // SCALE
    arrays: list[pa.Array] = []
    if "number" in names:
        arrays.append(pa.array(rng.integers(0, 1 << 62, rows, np.int64)))
    if "text" in names:
        offsets = np.arange(0, STRING_LENGTH * rows + 1, STRING_LENGTH, dtype=np.int32)
        data = rng.integers(ord("A"), ord("z"), STRING_LENGTH * rows, np.uint8, endpoint=True)
        arrays.append(pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(data)))
    return pa.Table.from_arrays(arrays, schema=pa.schema([SCHEMA.field(name) for name in names]))


class PeakMemory:
    """Row groups of 64 and 256 MiB, written to nowhere with the options that a user gets."""

    timeout = 600
    param_names = ("mebibytes",)
    params = (axis("64", "256"),)

    def peakmem_reference(self, mebibytes: str) -> None:
        pass

    def peakmem_generate(self, mebibytes: str) -> None:
        for number in range(ROW_GROUPS):
            row_group(number, int(mebibytes))

    def peakmem_write(self, mebibytes: str) -> None:
        with open(os.devnull, "wb") as sink, colwriter.ParquetWriter(sink, SCHEMA) as writer:
            for number in range(ROW_GROUPS):
                writer.write_table(row_group(number, int(mebibytes)), row_group_size=1 << 40)

    def peakmem_write_pyarrow(self, mebibytes: str) -> None:
        with open(os.devnull, "wb") as sink, pq.ParquetWriter(sink, SCHEMA) as writer:
            for number in range(ROW_GROUPS):
                writer.write_table(row_group(number, int(mebibytes)), row_group_size=1 << 40)


# By itself

TABLE_MEBIBYTES = 128
ALLOWED = 64


def peak_of_file(columns: str, gibibytes: int, threads: int, row_groups: int, write: bool) -> tuple[float, float]:
    """Peak of this process, and bytes in the file of a row group, both in MiB, after that many GiB of tables.

    ``row_groups`` of each table; without ``write`` the tables are made, and a small file, only.
    """
    written = 0
    options: dict[str, Any] = {"use_threads": threads > 1, "compression": "none"}
    count = gibibytes * 1024 // TABLE_MEBIBYTES
    schema = pa.schema([SCHEMA.field(name) for name in COLUMNS[columns]])
    with open(os.devnull, "wb") as sink, colwriter.ParquetWriter(sink, schema, **options) as writer:
        for number in range(count):
            table = row_group(number, TABLE_MEBIBYTES, columns)
            if number == 0:
                load_code(table, options)
            if write:
                writer.write_table(table, row_group_size=-(-table.num_rows // row_groups))
            del table
        if write:
            writer.close()
            groups = writer.metadata.row_groups
            written = sum(group.total_compressed_size or 0 for group in groups) // len(groups)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, written / MEBIBYTE


def load_code(table: pa.Table, options: dict[str, Any]) -> None:
    """Numba, LLVM and the kernels take memory of their own, once in a process."""
    for rows in (1000, 300_000):
        colwriter.write_table(table.slice(0, rows), pa.BufferOutputStream(), **options)


def _in_a_process(*arguments: Any) -> tuple[float, float]:
    """A peak is that of a process, and never goes down."""
    code = f"from benchmarks.peak_memory import *; import json; print(json.dumps(peak_of_file(*{arguments!r})))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    peak, row_group_mebibytes = json.loads(found.splitlines()[-1])
    return peak, row_group_mebibytes


def main() -> None:
    """Print what the writer takes above its input."""
    axes = {"columns": tuple(COLUMNS), "gibibytes": ("1", "2"), "threads": ("1", "2"), "groups": ("1", "4")}
    arguments = chosen(__doc__, **axes)
    print("columns  GiB  threads  row group, MiB  above the input, MiB  aim")
    for columns, size, threads, groups in product(*(getattr(arguments, name) for name in axes)):
        case = columns, int(size), int(threads), int(groups)
        made, _ = _in_a_process(*case, False)
        peak, row_group_mebibytes = _in_a_process(*case, True)
        aim = row_group_mebibytes + ALLOWED
        print(
            f"{columns:<8} {size:>3} {threads:>8} {row_group_mebibytes:15.0f} {peak - made:21.0f} {aim:4.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
