"""What a file costs before its data do: ten rows of one column, and of a thousand columns.

``python -m benchmarks.overhead`` prints the ratios. As among peers, a ratio is our time over pyarrow's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import QUICK, ROUNDS, PairedTimes, chosen, paired_medians, use_one_thread, write_table

ROWS = 10
OPTIONS = {"store_schema": False, "write_page_index": True}


@dataclass(frozen=True, slots=True)
class Shape:
    """Columns of a table, and how many files make one time that a clock can tell."""

    columns: int
    files: int


SHAPES = {"1 column": Shape(1, 10 if QUICK else 200), "1000 columns": Shape(1000, 1)}


def build(columns: int) -> pa.Table:
    """Ten rows of int64, one of them null, in each column."""
    column = pa.array([None, *range(1, ROWS)], pa.int64())
    return pa.table({f"column {i}": column for i in range(columns)})


def make_writers(table: pa.Table) -> dict[str, Callable[[], object]]:
    """One file a call."""
    return {
        "colwriter": lambda: write_table(table, **OPTIONS),
        "pyarrow": lambda: pq.write_table(table, pa.BufferOutputStream(), **OPTIONS),
    }


def measure(shape: str, rounds: int = ROUNDS) -> PairedTimes:
    """Times of colwriter and of pyarrow."""
    writers = make_writers(build(SHAPES[shape].columns))
    return paired_medians(list(writers.values()), rounds, number=SHAPES[shape].files)


class Files:
    """Time of one file."""

    param_names = ("shape", "writer")
    params = (list(SHAPES), ["colwriter", "pyarrow"])

    def setup(self, shape: str, writer: str) -> None:
        use_one_thread()
        self.write = make_writers(build(SHAPES[shape].columns))[writer]

    def time_write(self, shape: str, writer: str) -> None:
        self.write()


class Ratios:
    """Our time over pyarrow's."""

    unit = "ratio"
    timeout = 600
    param_names = ("shape",)
    params = (list(SHAPES),)

    def setup_cache(self) -> dict[str, PairedTimes]:
        use_one_thread()
        return {shape: measure(shape) for shape in SHAPES}

    def track_to_pyarrow(self, times: dict[str, PairedTimes], shape: str) -> float:
        return times[shape].ratio(0, base=1).median

    def track_to_pyarrow_iqr(self, times: dict[str, PairedTimes], shape: str) -> float:
        return times[shape].ratio(0, base=1).iqr


def main() -> None:
    """Print the ratios."""
    arguments = chosen(__doc__, shape=tuple(SHAPES))
    use_one_thread()
    for shape in arguments.shape:
        times = measure(shape, arguments.rounds)
        ratio = times.ratio(0, base=1)
        ours, theirs = (seconds * 1e3 for seconds in times.medians)
        print(f"{shape:<13} {ours:.4f} ms, pyarrow {theirs:.4f} ms: {ratio.median:.3f} ({ratio.iqr:.3f})", flush=True)


if __name__ == "__main__":
    main()
