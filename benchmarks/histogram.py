"""Histograms of levels: partial histograms and counters in vector lanes, against one array of counters.

``python -m benchmarks.histogram --pattern skewed`` prints the ratios.

A level that repeats updates a counter that was just stored; the more levels are equal, the longer one array of
counters waits. ``1``, ``2``, ``4`` and ``8`` are the partial histograms of ``count_levels``; ``lanes`` counts each
level but the largest by comparison, sixteen bits a counter, and takes what is left for that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import RANDOM_SEED, ROUNDS, SIZE, Ratio, axis, chosen, paired_medians
from colwriter.kernels import histogram
from colwriter.kernels._jit import kernel
from colwriter.pages import Pages

PATTERNS = ("skewed", "random", "sorted")
MAX_LEVELS = ("1", "2", "3", "8")
LANES = "lanes"
COUNTERS = ("1", "2", "4", "8", LANES)
PAGE_LEVELS = 20_000
# Share of the levels that are equal to the most frequent one.
SKEW = 0.95
# A counter of sixteen bits holds at most this many levels before it is added to the total.
BLOCK = 32_768

Levels = NDArray[np.uint8]
# Pattern, max level, counters.
Key = tuple[str, ...]


@kernel
def count_in_lanes(levels: Levels, level_starts: NDArray[np.int64], histograms: NDArray[np.int64]) -> None:
    """As ``count_levels``: a vector register has a partial counter in each of its lanes."""
    top = histograms.shape[1] - 1
    for page in range(len(level_starts) - 1):
        of_page = levels[level_starts[page] : level_starts[page + 1]]
        left = len(of_page)
        for level in range(top):
            wanted = np.uint8(level)  # compared in eight bits, not widened
            total = np.int64(0)
            for start in range(0, len(of_page), BLOCK):
                block = of_page[start : min(start + BLOCK, len(of_page))]
                count = np.uint16(0)
                for i in range(len(block)):
                    count = np.uint16(count + np.uint16(block[i] == wanted))
                total += np.int64(count)
            histograms[page, level] = total
            left -= total
        histograms[page, top] = left


def build_levels(pattern: str, max_level: int, size: int = SIZE) -> Levels:
    """uint8[size]: ``skewed`` is the second largest level 95 times in 100, as in lists of nulls."""
    rng = np.random.default_rng(RANDOM_SEED)
    levels = rng.integers(0, max_level, size, np.uint8, endpoint=True)
    if pattern == "skewed":
        levels[rng.random(size) < SKEW] = max_level - 1
    return np.sort(levels) if pattern == "sorted" else levels


def make_counter(name: str, levels: Levels, max_level: int) -> Callable[[], NDArray[np.int64]]:
    """A function that counts the levels, page by page, and returns int64[pages, max level + 1]."""
    starts = np.append(np.arange(0, len(levels), PAGE_LEVELS), len(levels))
    histograms = np.empty((len(starts) - 1, max_level + 1), np.int64)
    if name == LANES:

        def count() -> NDArray[np.int64]:
            count_in_lanes(levels, starts, histograms)
            return histograms

        return count
    num_partials = int(name)
    table = Pages.of(starts, starts, starts, starts).table
    partials = np.zeros(num_partials * (max_level + 1), np.int64)

    def count_partially() -> NDArray[np.int64]:
        histogram.count_levels(levels, table, num_partials, partials, histograms)
        return histograms

    return count_partially


def measure(pattern: str, max_level: str, rounds: int = ROUNDS) -> tuple[list[float], dict[str, Ratio]]:
    """Seconds of each way to count, and their ratios to the first."""
    levels = build_levels(pattern, int(max_level))
    times = paired_medians([make_counter(name, levels, int(max_level)) for name in COUNTERS], rounds)
    return times.medians, {name: times.ratio(i) for i, name in enumerate(COUNTERS)}


class Count:
    """Time to count the levels of a column."""

    param_names = ("pattern", "max_level", "counters")
    params = (axis(*PATTERNS), axis(*MAX_LEVELS), axis(*COUNTERS))

    def setup(self, pattern: str, max_level: str, counters: str) -> None:
        self.count = make_counter(counters, build_levels(pattern, int(max_level)), int(max_level))

    def time_count(self, pattern: str, max_level: str, counters: str) -> None:
        self.count()


class Speed:
    """Ratios to the time of one array of counters: less is better."""

    timeout = 600
    unit = "ratio"
    param_names = ("pattern", "max_level", "counters")
    params = (axis(*PATTERNS), axis(*MAX_LEVELS), axis(*COUNTERS[1:]))

    def setup_cache(self) -> dict[Key, Ratio]:
        return {
            (pattern, max_level, name): ratio
            for pattern, max_level in product(*self.params[:2])
            for name, ratio in measure(pattern, max_level)[1].items()
        }

    def track_to_one(self, ratios: dict[Key, Ratio], *key: str) -> float:
        return ratios[key].median

    def track_to_one_iqr(self, ratios: dict[Key, Ratio], *key: str) -> float:
        return ratios[key].iqr


def main() -> None:
    """Print the ratios."""
    arguments = chosen(__doc__, pattern=PATTERNS, max_level=MAX_LEVELS)
    print(f"{'pattern':<8} {'max_level':<9} {'one, ms':>8}  ratio (iqr) of " + ", ".join(COUNTERS[1:]))
    for pattern, max_level in product(arguments.pattern, arguments.max_level):
        medians, ratios = measure(pattern, max_level, arguments.rounds)
        row = "  ".join(f"{ratios[name].median:.3f} ({ratios[name].iqr:.3f})" for name in COUNTERS[1:])
        print(f"{pattern:<8} {max_level:<9} {medians[0] * 1e3:8.3f}  {row}", flush=True)


if __name__ == "__main__":
    main()
