"""The same file with one thread and with two: a table of eight columns, and columns of one row group and of four.

``python -m benchmarks.threads`` prints the ratios. A ratio is the time with two threads over that with one: 0.5 is the
best that there can be, and needs two processors that nothing else uses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

import colwriter
from benchmarks.common import ROUNDS, PairedTimes, axis, build_table, chosen, paired_medians, write_options

THREADS = 2
TABLE = "8 columns"
COLUMNS = ("int64", "string", "list<int64>")
ROW_GROUPS = 4
MANY = f", {ROW_GROUPS} row groups"
SHAPES = (
    TABLE,
    *(f"{name} {workload}{many}" for many in ("", MANY) for workload in ("seed", "dense-1000") for name in COLUMNS),
)


def build(shape: str) -> pa.Table:
    """Eight columns of 1000 different values each, int64 and string in turn; or the column that is named."""
    if shape != TABLE:
        name, _, workload = shape.removesuffix(MANY).rpartition(" ")
        table = build_table(name, workload)
        return pa.concat_tables([table] * ROW_GROUPS).combine_chunks() if shape.endswith(MANY) else table
    columns = [build_table(name, "dense-1000")["column"] for name in ("int64", "string")]
    return pa.table({f"column {i}": columns[i % 2] for i in range(8)})


def make_writer(table: pa.Table, workload: str, row_groups: int, threads: int) -> Callable[[], object]:
    """One file to memory a call."""
    options = write_options(workload, size=table.num_rows // row_groups)

    def write() -> object:
        return colwriter.write_table(table, pa.BufferOutputStream(), max_threads=threads, **options)

    return write


def make_writers(shape: str) -> list[Callable[[], object]]:
    """With one thread, and with two."""
    workload = "dense-1000" if shape == TABLE else shape.removesuffix(MANY).rpartition(" ")[2]
    row_groups = ROW_GROUPS if shape.endswith(MANY) else 1
    return list(map(partial(make_writer, build(shape), workload, row_groups), (1, THREADS)))


def measure(shape: str, rounds: int = ROUNDS) -> PairedTimes:
    """Times with one thread and with two."""
    return paired_medians(make_writers(shape), rounds)


class Ratios:
    """Two threads over one."""

    unit = "ratio"
    timeout = 600
    param_names = ("shape",)
    params = (axis(*SHAPES),)

    def setup_cache(self) -> dict[str, PairedTimes]:
        return {shape: measure(shape) for shape in self.params[0]}

    def track_two_threads(self, times: dict[str, PairedTimes], shape: str) -> float:
        return times[shape].ratio(1).median

    def track_two_threads_iqr(self, times: dict[str, PairedTimes], shape: str) -> float:
        return times[shape].ratio(1).iqr


def main() -> None:
    """Print the ratios."""
    arguments = chosen(__doc__, shape=SHAPES)
    for shape in arguments.shape:
        times = measure(shape, arguments.rounds)
        one, two = (seconds * 1e3 for seconds in times.medians)
        ratio = times.ratio(1)
        print(
            f"{shape:<36} {one:8.3f} ms, {THREADS} threads {two:8.3f} ms: {ratio.median:.3f} ({ratio.iqr:.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
