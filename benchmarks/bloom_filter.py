"""What a Bloom filter costs: a column with and without one, by colwriter and by pyarrow.

``python -m benchmarks.bloom_filter`` prints milliseconds, one thread. pyarrow is told the number of rows as the number
of distinct values, as its documentation recommends; colwriter counts them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import colwriter
from benchmarks.common import (
    RANDOM_SEED,
    ROUNDS,
    SIZE,
    PairedTimes,
    axis,
    build_table,
    chosen,
    paired_medians,
    write_options,
)

FPP = 0.01
UNIQUE = "unique"
SHAPES = tuple(f"{name} {workload}" for workload in (UNIQUE, "seed", "dense-1000") for name in ("int64", "string"))


def build(shape: str) -> pa.Table:
    """A column of a workload; or one without nulls, of values that are all different, of 8 or of 20 bytes."""
    name, _, workload = shape.rpartition(" ")
    if workload != UNIQUE:
        return build_table(name, workload)
    values = np.random.default_rng(RANDOM_SEED).integers(0, 1 << 62, SIZE)
    if name == "int64":
        return pa.table({"column": values})
    return pa.table({"column": [f"{value:020d}" for value in values.tolist()]})


def make_writers(shape: str) -> list[Callable[[], object]]:
    """colwriter without and with a filter, then pyarrow."""
    table = build(shape)
    options = write_options(shape.rpartition(" ")[2], size=table.num_rows)

    def ours(**more: object) -> object:
        return colwriter.write_table(table, pa.BufferOutputStream(), use_threads=False, **options, **more)

    def theirs(**more: object) -> object:
        return pq.write_table(table, pa.BufferOutputStream(), **options, **more)

    counted = {"bloom_filter_options": {"column": {"fpp": FPP}}}
    told = {"bloom_filter_options": {"column": {"fpp": FPP, "ndv": table.num_rows}}}
    return [ours, lambda: ours(**counted), theirs, lambda: theirs(**told)]


def measure(shape: str, rounds: int = ROUNDS) -> PairedTimes:
    """Times of the four writers."""
    return paired_medians(make_writers(shape), rounds)


def num_bytes(shape: str) -> int:
    """Size of colwriter's filter in the file."""
    sink = pa.BufferOutputStream()
    metadata = colwriter.write_table(build(shape), sink, bloom_filter_options={"column": {"fpp": FPP}})
    return sum(chunk.meta_data.bloom_filter_length for group in metadata.row_groups for chunk in group.columns)


class Ratios:
    """With a filter over without."""

    unit = "ratio"
    timeout = 600
    param_names = ("shape",)
    params = (axis(*SHAPES),)

    def setup_cache(self) -> dict[str, PairedTimes]:
        return {shape: measure(shape) for shape in self.params[0]}

    def track_filter(self, times: dict[str, PairedTimes], shape: str) -> float:
        return times[shape].ratio(1).median

    def track_filter_iqr(self, times: dict[str, PairedTimes], shape: str) -> float:
        return times[shape].ratio(1).iqr


def main() -> None:
    """Print the times."""
    arguments = chosen(__doc__, shape=SHAPES)
    for shape in arguments.shape:
        times = measure(shape, arguments.rounds)
        ours, with_filter, theirs, theirs_with_filter = (seconds * 1e3 for seconds in times.medians)
        print(
            f"{shape:<18} {ours:7.2f} ms, with a filter of {num_bytes(shape):9,} bytes {with_filter:7.2f}; "
            f"pyarrow {theirs:7.2f}, {theirs_with_filter:7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
