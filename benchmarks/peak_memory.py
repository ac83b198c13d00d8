"""Peak memory of a process that writes a stream of row groups, of which it never holds two.

asv's figure is that of the whole process: subtract ``peakmem_reference`` (a process that has imported, and nothing
else), or ``peakmem_generate`` (one that also makes the same row groups) to see what the writer itself takes.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import colwriter
from benchmarks.common import QUICK, RANDOM_SEED, axis

MEBIBYTE = 1 << 20
ROW_GROUPS = 4
STRING_LENGTH = 8
# An int64, an offset, and a string.
ROW_BYTES = 8 + 4 + STRING_LENGTH
SCALE = 16 if QUICK else 1

SCHEMA = pa.schema({"number": pa.int64(), "text": pa.string()})


def row_group(number: int, mebibytes: int) -> pa.Table:
    """A table of so many MiB in Arrow (a sixteenth in a quick run), made without memory besides its own."""
    rng = np.random.default_rng([RANDOM_SEED, number])
    rows = mebibytes * MEBIBYTE // ROW_BYTES // SCALE
    numbers = rng.integers(0, 1 << 62, rows, np.int64)
    offsets = np.arange(0, STRING_LENGTH * rows + 1, STRING_LENGTH, dtype=np.int32)
    data = rng.integers(ord("A"), ord("z"), STRING_LENGTH * rows, np.uint8, endpoint=True)
    text = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(data))
    return pa.Table.from_arrays([pa.array(numbers), text], schema=SCHEMA)


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
