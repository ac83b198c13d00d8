"""What size statistics cost: the time of a file with them against that of the same file without.

``python -m benchmarks.size_statistics --type int64 --workload seed`` prints the ratios.

Page index and min/max statistics are on in all of them, so that only the size statistics differ. A ratio of 1.01 is
a cost of 1 %; asv takes less as better.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmarks.common import (
    ROUNDS,
    SEED,
    TYPES,
    Ratio,
    axis,
    build_table,
    chosen,
    paired_medians,
    use_one_thread,
    write_options,
    write_table,
)

LEVELS = ("None", "ColumnChunk", "PageAndColumnChunk")
# "one page" is how parquet-cpp cut the seed workload when its cost was measured (apache/arrow #45202).
PAGES: dict[str, dict[str, int]] = {
    "one page": {"max_rows_per_page": 1 << 62, "data_page_size": 1 << 30},
    "20000 rows": {"max_rows_per_page": 20_000, "data_page_size": 1 << 20},
}
WORKLOADS = (SEED, "dense-1000")

# Type, workload, pages.
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """One type, workload and way to cut pages; times against ``None``, bytes at ``PageAndColumnChunk``."""

    seconds: float
    column_chunk: Ratio
    page_and_column_chunk: Ratio
    file_bytes: int
    size_statistics_bytes: int


def options(workload: str, pages: str, level: str) -> dict[str, Any]:
    """Options of a file."""
    return write_options(workload) | PAGES[pages] | {"size_statistics_level": level}


def measure(type_name: str, workload: str, pages: str, rounds: int = ROUNDS) -> Cost:
    """Time the three levels in turn."""
    table = build_table(type_name, workload)
    settings = [options(workload, pages, level) for level in LEVELS]
    times = paired_medians([lambda s=s: write_table(table, **s) for s in settings], rounds)  # type: ignore[misc]
    without, _, full = (write_table(table, **s).tell() for s in settings)
    return Cost(times.medians[0], times.ratio(1), times.ratio(2), full, full - without)


class Write:
    """Time of a file."""

    param_names = ("type", "workload", "pages", "level")
    params = (axis(*TYPES), axis(*WORKLOADS), axis(*PAGES), axis(*LEVELS))

    def setup(self, type_name: str, workload: str, pages: str, level: str) -> None:
        use_one_thread()
        self.table = build_table(type_name, workload)
        self.options = options(workload, pages, level)

    def time_write(self, type_name: str, workload: str, pages: str, level: str) -> None:
        write_table(self.table, **self.options)


class Overhead:
    """Ratios to the time without size statistics, all measured once, before the first is reported."""

    timeout = 1800
    unit = "ratio"
    param_names = ("type", "workload", "pages")
    params = (axis(*TYPES), axis(*WORKLOADS), axis(*PAGES))

    def setup_cache(self) -> dict[Key, Cost]:
        use_one_thread()
        return {key: measure(*key) for key in product(*self.params)}

    def track_column_chunk(self, costs: dict[Key, Cost], *key: str) -> float:
        return costs[key].column_chunk.median

    def track_column_chunk_iqr(self, costs: dict[Key, Cost], *key: str) -> float:
        return costs[key].column_chunk.iqr

    def track_page_and_column_chunk(self, costs: dict[Key, Cost], *key: str) -> float:
        return costs[key].page_and_column_chunk.median

    def track_page_and_column_chunk_iqr(self, costs: dict[Key, Cost], *key: str) -> float:
        return costs[key].page_and_column_chunk.iqr

    def track_file_bytes(self, costs: dict[Key, Cost], *key: str) -> int:
        return costs[key].file_bytes

    def track_size_statistics_bytes(self, costs: dict[Key, Cost], *key: str) -> int:
        return costs[key].size_statistics_bytes

    track_file_bytes.unit = track_size_statistics_bytes.unit = "bytes"  # type: ignore[attr-defined]


def main() -> None:
    """Print the ratios."""
    arguments = chosen(__doc__, type=TYPES, workload=WORKLOADS, pages=tuple(PAGES))
    use_one_thread()
    print(f"{'type':<18} {'workload':<11} {'pages':<11} {'None, ms':>9}  ColumnChunk      PageAndColumnChunk   bytes")
    for key in product(arguments.type, arguments.workload, arguments.pages):
        cost = measure(*key, arguments.rounds)
        chunk, page = cost.column_chunk, cost.page_and_column_chunk
        type_name, workload, pages = key
        print(
            f"{type_name:<18} {workload:<11} {pages:<11} {cost.seconds * 1e3:9.3f}  "
            f"{chunk.median:.4f} ({chunk.iqr:.4f})  "
            f"{page.median:.4f} ({page.iqr:.4f})      {cost.size_statistics_bytes} of {cost.file_bytes}",
            flush=True,
        )


if __name__ == "__main__":
    main()
