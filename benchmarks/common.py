"""Seeded data, one way to write it, and paired timing: what all benchmarks share.

``COLWRITER_BENCH_QUICK=1`` makes the data small and the parameters few. That shows that everything runs; its times
mean nothing.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import colwriter

__all__ = [
    "DENSE",
    "QUICK",
    "RANDOM_SEED",
    "ROUNDS",
    "SEED",
    "SIZE",
    "TYPES",
    "WORKLOADS",
    "PairedTimes",
    "Ratio",
    "Workload",
    "axis",
    "build_array",
    "build_table",
    "chosen",
    "paired_medians",
    "random_int64s",
    "random_lists",
    "random_strings",
    "use_one_thread",
    "write_options",
    "write_table",
]

QUICK = os.environ.get("COLWRITER_BENCH_QUICK", "0") not in ("", "0")
# Elements of a column.
SIZE = 1 << 16 if QUICK else 1 << 20
# A multiple of 2, 3, 5 and 6, so that each function has each place in the order equally often.
ROUNDS = 2 if QUICK else 30
RANDOM_SEED = 42

TYPES = ("int64", "string", "list<int64>", "list<string>", "list<list<int64>>")


@dataclass(frozen=True, slots=True)
class Workload:
    """How the data of a column are drawn.

    ``null_share`` holds for values and for lists; ``distinct_share`` and ``distinct`` give the number of different
    values, as a share of all elements or as it is, and all are different where both are None; a list has
    ``list_length`` elements on average, null lists counted.
    """

    null_share: float
    list_length: int
    distinct: int | None = None
    distinct_share: float | None = None

    def num_distinct(self, size: int) -> int | None:
        """Different values among ``size`` elements, None for no limit."""
        return self.distinct if self.distinct_share is None else int(self.distinct_share * size)


# The data of apache/arrow's size_stats_benchmark.cc (#45085), after which size statistics are judged.
SEED = "seed"
# 10, 1000 and (at full size) 524 288 different values, repeated.
DENSE = ("dense-10", "dense-1000", "dense-half")
WORKLOADS = {
    SEED: Workload(null_share=0.95, list_length=10),
    "dense-10": Workload(null_share=0.1, list_length=3, distinct=10),
    "dense-1000": Workload(null_share=0.1, list_length=3, distinct=1000),
    "dense-half": Workload(null_share=0.1, list_length=3, distinct_share=0.5),
}


def axis(*values: str) -> list[str]:
    """The values of a benchmark's parameter; in a quick run the first and the last."""
    return [values[0], values[-1]] if QUICK and len(values) > 2 else list(values)


# Data


def random_int64s(rng: np.random.Generator, valid: NDArray[np.bool_]) -> pa.Array:
    """int64 over the full range, in the slots of nulls too."""
    info = np.iinfo(np.int64)
    values = rng.integers(info.min, info.max, len(valid), np.int64, endpoint=True)
    bitmap = np.packbits(valid, bitorder="little")
    return pa.Array.from_buffers(pa.int64(), len(valid), [pa.py_buffer(bitmap), pa.py_buffer(values)])


def random_strings(rng: np.random.Generator, valid: NDArray[np.bool_]) -> pa.Array:
    """Strings of 0 to 20 bytes 'A' to 'z'; nulls have no bytes."""
    lengths = rng.integers(0, 20, len(valid), np.int32, endpoint=True) * valid
    offsets = np.zeros(len(valid) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = rng.integers(ord("A"), ord("z"), offsets[-1], np.uint8, endpoint=True)
    buffers = [np.packbits(valid, bitorder="little"), offsets, data]
    return pa.Array.from_buffers(pa.string(), len(valid), [pa.py_buffer(buffer) for buffer in buffers])


def random_lists(rng: np.random.Generator, elements: pa.Array, num_lists: int, null_share: float) -> pa.Array:
    """``elements`` cut at random into lists that hold all of them.

    Offsets are uniform, sorted, the first 0 and the last the number of elements. A null list begins where the next
    valid one does and so has no span: the valid lists share all elements.
    """
    offsets = np.sort(rng.integers(0, len(elements), num_lists + 1, np.int32, endpoint=True))
    offsets[0], offsets[-1] = 0, len(elements)
    null = rng.random(num_lists + 1) < null_share
    null[0] = null[-1] = False
    next_valid = np.minimum.accumulate(np.where(null, len(elements), offsets)[::-1])[::-1]
    return pa.ListArray.from_arrays(pa.array(next_valid.astype(np.int32)), elements, mask=pa.array(null[:-1]))


def _repeated(rng: np.random.Generator, pool: pa.Array, valid: NDArray[np.bool_]) -> pa.Array:
    """Values of ``pool``, each at least once, in random order."""
    num_valid = int(valid.sum())
    picks = np.concatenate([np.arange(len(pool)), rng.integers(0, len(pool), num_valid - len(pool))])
    rng.shuffle(picks)
    indices = np.zeros(len(valid), np.int64)
    indices[valid] = picks
    return pool.take(pa.array(indices, mask=~valid))


def build_array(rng: np.random.Generator, type_name: str, workload: Workload, size: int) -> pa.Array:
    """A column of the type ``type_name`` with ``size`` elements in its innermost array."""
    if type_name.startswith("list<"):
        elements = build_array(rng, type_name.removeprefix("list<").removesuffix(">"), workload, size)
        return random_lists(rng, elements, len(elements) // workload.list_length, workload.null_share)
    draw = {"int64": random_int64s, "string": random_strings}[type_name]
    valid = rng.random(size) >= workload.null_share
    distinct = workload.num_distinct(size)
    if distinct is None:
        return draw(rng, valid)
    # Short strings repeat, so more are drawn than are needed.
    pool = pc.unique(draw(rng, np.ones(2 * distinct + 100, np.bool_)))[:distinct]
    return _repeated(rng, pool, valid)


@cache
def build_table(type_name: str, workload_name: str, size: int = SIZE) -> pa.Table:
    """A table of one column, named "column". Kept, as asv calls ``setup`` before each sample."""
    rng = np.random.default_rng(RANDOM_SEED)
    return pa.table({"column": build_array(rng, type_name, WORKLOADS[workload_name], size)})


# Writing


def write_options(workload_name: str, codec: str = "none", size: int = SIZE) -> dict[str, Any]:
    """What pyarrow and colwriter are both told: the seed workload is PLAIN, the dense ones may have a dictionary."""
    return {
        "use_dictionary": workload_name != SEED,
        "compression": codec,
        "store_schema": False,
        "write_page_index": True,
        "row_group_size": size,
    }


def write_table(table: pa.Table, **options: Any) -> pa.BufferOutputStream:
    """Write to memory that is new, as a user's first file is, in one thread."""
    sink = pa.BufferOutputStream()
    colwriter.write_table(table, sink, use_threads=False, **options)
    return sink


def use_one_thread() -> None:
    """One thread for each library; before Polars is imported, which reads its setting once."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    pa.set_cpu_count(1)
    polars = sys.modules.get("polars")
    if polars is not None and polars.thread_pool_size() != 1:
        raise RuntimeError("Polars was imported before use_one_thread, and has more than one thread")


# Timing


@dataclass(frozen=True, slots=True)
class Ratio:
    """Median and interquartile range of the ratios of times measured side by side."""

    median: float
    iqr: float


@dataclass(frozen=True, slots=True)
class PairedTimes:
    """Seconds of each function in each round, float64[rounds, functions]."""

    times: NDArray[np.float64]

    @property
    def medians(self) -> list[float]:
        """Seconds, one for each function."""
        medians: list[float] = np.median(self.times, axis=0).tolist()
        return medians

    def ratio(self, function: int, base: int = 0) -> Ratio:
        """Time of ``function`` over that of ``base``, round by round."""
        ratios = self.times[:, function] / self.times[:, base]
        low, median, high = np.percentile(ratios, [25, 50, 75])
        return Ratio(float(median), float(high - low))


def paired_medians(
    functions: Sequence[Callable[[], object]],
    rounds: int = ROUNDS,
    *,
    number: int = 1,
    warmups: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> PairedTimes:
    """Time functions in turn, in one process: what slows the machine for a while slows all of them.

    The order rotates from round to round, and turns around when each function was first once, so that none has always
    the same one before it. A time is that of ``number`` calls, over ``number``.
    """
    count = len(functions)
    times = np.empty((rounds, count))
    for function in functions:
        for _ in range(warmups):
            function()
    with _garbage_collector_off():
        for turn in range(rounds):
            order = [(turn + k) % count for k in range(count)]
            for i in reversed(order) if turn // count % 2 else order:
                function = functions[i]
                start = clock()
                for _ in range(number):
                    function()
                times[turn, i] = (clock() - start) / number
    return PairedTimes(times)


@contextmanager
def _garbage_collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# Command line


def chosen(description: str | None, **axes: Sequence[str]) -> argparse.Namespace:
    """Arguments of a module that runs by itself: for each axis the values wanted, all unless said, and ``rounds``."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, values in axes.items():
        parser.add_argument(f"--{name}", nargs="+", choices=values, default=list(values), metavar=name.upper())
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    return parser.parse_args()
