"""Values copied in bulk, and one at a time: from how many on is a copy in bulk faster?

``python -m benchmarks.bulk --type int64 string`` prints the ratios.

A *run* is what is copied without a question in between: of numbers the values of a page, or of 64 slots that are all
valid; of ``string`` the bytes of one string, after its length; of ``decimal`` values of 16 bytes whose bytes are turned
around. Ratios are the time in bulk over that one at a time, for runs of one length after another, as many of them as
fill a buffer that stays in the cache. Floats are measured as the bits that they are written as.

``write`` is from Arrow into pages; the other direction comes with a reader of values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import QUICK, RANDOM_SEED, ROUNDS, PairedTimes, Ratio, axis, chosen, paired_medians
from colwriter.kernels._jit import byte_swap, kernel, load_u64, store_u32, store_u64

DIRECTIONS = ("write",)
STRING, DECIMAL = "string", "decimal"
NUMBERS = {"int32": np.int32, "int64": np.int64, "float32": np.int32, "float64": np.int64}
TYPES = (*NUMBERS, STRING, DECIMAL)
LENGTHS = tuple(map(str, (1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096)))
# Values, or bytes of strings: with the output they stay in the cache of a core.
SIZE = 1 << 13
# Times that a call copies all of it, so that the call itself does not count.
SWEEPS = 1 if QUICK else 20
# Bytes of strings: so many that the branch predictor does not learn all lengths by heart.
STRING_BYTES = 1 << 18
# Free bytes after data and output: words are read and stored past the end.
PADDING = 64
BULK, TWO, THREE, ONE = "bulk", "two words", "three words", "one at a time"
FLOOR = "floor"

Array = NDArray[Any]


# The kernels. Runs are of `length` values, one after another; each way stores the same bytes.


@kernel
def numbers_bulk(source: Array, length: int, sweeps: int, out: Array) -> None:
    """As pages without nulls are copied: over slices from 0, which LLVM makes a ``memcpy``."""
    for _ in range(sweeps):
        for start in range(0, len(source) - length + 1, length):
            of_run = source[start : start + length]
            target = out[start : start + length]
            for k in range(len(of_run)):
                target[k] = of_run[k]


@kernel
def numbers_one(source: Array, length: int, sweeps: int, out: Array) -> None:
    """As values are picked out between nulls: each to where the one before ended."""
    for _ in range(sweeps):
        to = 0
        for start in range(0, len(source) - length + 1, length):
            for k in range(start, start + length):
                out[to] = source[k]
                to += 1


@kernel
def strings_bulk(offsets: Array, data: Array, sweeps: int, out: Array) -> None:
    """By ``memcpy``."""
    for _ in range(sweeps):
        to = 0
        for i in range(len(offsets) - 1):
            start = np.int64(offsets[i])
            length = np.int64(offsets[i + 1]) - start
            store_u32(out, to, np.uint32(length))
            to += 4
            of_run = data[start : start + length]
            target = out[to : to + length]
            for k in range(len(of_run)):
                target[k] = of_run[k]
            to += length


@kernel
def strings_two(offsets: Array, data: Array, sweeps: int, out: Array) -> None:
    """By words, past the end: two of them whatever the length, up to 16 bytes."""
    for _ in range(sweeps):
        to = 0
        for i in range(len(offsets) - 1):
            start = np.int64(offsets[i])
            length = np.int64(offsets[i + 1]) - start
            store_u32(out, to, np.uint32(length))
            to += 4
            if length <= 16:
                store_u64(out, to, load_u64(data, start))
                store_u64(out, to + 8, load_u64(data, start + 8))
            else:
                for k in range(0, length, 8):
                    store_u64(out, to + k, load_u64(data, start + k))
            to += length


@kernel
def strings_three(offsets: Array, data: Array, sweeps: int, out: Array) -> None:
    """As strings are written: three words whatever the length, up to 24 bytes (``plain.SHORT``)."""
    for _ in range(sweeps):
        to = 0
        for i in range(len(offsets) - 1):
            start = np.int64(offsets[i])
            length = np.int64(offsets[i + 1]) - start
            store_u32(out, to, np.uint32(length))
            to += 4
            if length <= 24:
                store_u64(out, to, load_u64(data, start))
                store_u64(out, to + 8, load_u64(data, start + 8))
                store_u64(out, to + 16, load_u64(data, start + 16))
            else:
                for k in range(0, length, 8):
                    store_u64(out, to + k, load_u64(data, start + k))
            to += length


@kernel
def strings_one(offsets: Array, data: Array, sweeps: int, out: Array) -> None:
    """Byte by byte."""
    for _ in range(sweeps):
        to = 0
        for i in range(len(offsets) - 1):
            start = np.int64(offsets[i])
            length = np.int64(offsets[i + 1]) - start
            store_u32(out, to, np.uint32(length))
            to += 4
            for k in range(length):
                out[to] = data[start + k]
                to += 1


@kernel
def decimals_bulk(source: Array, length: int, sweeps: int, out: Array) -> None:
    """Both words of each value, from the first value on: LLVM turns several around at once."""
    for _ in range(sweeps):
        for start in range(0, len(source) - 2 * length + 1, 2 * length):
            of_run = source[start : start + 2 * length]
            target = out[start : start + 2 * length]
            for k in range(len(of_run) >> 1):
                target[2 * k] = byte_swap(of_run[2 * k + 1])
                target[2 * k + 1] = byte_swap(of_run[2 * k])


@kernel
def decimals_one(source: Array, length: int, sweeps: int, words: int, out: Array) -> None:
    """A loop that does not know how many words a value has."""
    for _ in range(sweeps):
        for start in range(0, len(source) - words * length + 1, words * length):
            for slot in range(length):
                at = start + words * slot
                for k in range(words):
                    out[at + words - 1 - k] = byte_swap(source[at + k])


# What is measured


class Case(NamedTuple):
    """Ways to copy the same input to ``out``; the last is one at a time."""

    ways: dict[str, Callable[[], None]]
    source: Array
    out: Array


def _bits(type_name: str, size: int) -> Array:
    rng = np.random.default_rng(RANDOM_SEED)
    dtype = NUMBERS.get(type_name, np.uint64)
    info = np.iinfo(dtype)
    words = 2 if type_name == DECIMAL else 1
    return rng.integers(info.min, info.max, words * size, dtype, endpoint=True)


def build(type_name: str, length: int, size: int = SIZE) -> Case:
    """All ways to copy runs of ``length``; strings are half as long to one and a half times that, as they differ."""
    if type_name == STRING:
        rng = np.random.default_rng(RANDOM_SEED)
        lengths = rng.integers(length - length // 2, length + length // 2, STRING_BYTES // (length + 4), endpoint=True)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        data = rng.integers(ord("A"), ord("z"), offsets[-1] + PADDING, np.uint8, endpoint=True)
        out = np.zeros(len(data) + 4 * len(lengths), np.uint8)
        kernels = {BULK: strings_bulk, TWO: strings_two, THREE: strings_three, ONE: strings_one}
        ways = {name: partial(copy, offsets, data, SWEEPS, out) for name, copy in kernels.items()}
        return Case(ways, data, out)
    source = _bits(type_name, size)
    out = np.zeros_like(source)
    arguments = source, length, SWEEPS
    if type_name == DECIMAL:
        return Case(
            {BULK: partial(decimals_bulk, *arguments, out), ONE: partial(decimals_one, *arguments, 2, out)}, source, out
        )
    ways = {BULK: partial(numbers_bulk, *arguments, out), ONE: partial(numbers_one, *arguments, out)}
    return Case(ways, source, out)


def make_floor(case: Case) -> Callable[[], None]:
    """Copies of input and output, into memory in use."""
    pairs = [(array, np.zeros_like(array)) for array in (case.source, case.out)]

    def copy() -> None:
        for _ in range(SWEEPS):
            for array, target in pairs:
                np.copyto(target, array)

    return copy


def measure(type_name: str, length: str, rounds: int = ROUNDS) -> tuple[list[str], PairedTimes]:
    """The ways, the floor last, and their times."""
    case = build(type_name, int(length))
    functions = case.ways | {FLOOR: make_floor(case)}
    return list(functions), paired_medians(list(functions.values()), rounds)


class Ratios:
    """Time of a way over that of one at a time."""

    unit = "ratio"
    timeout = 600
    param_names = ("direction", "type", "length", "way")
    params = (list(DIRECTIONS), axis(*TYPES), axis(*LENGTHS), [BULK, TWO, THREE])

    def setup_cache(self) -> dict[tuple[str, ...], Ratio]:
        found = {}
        for direction, type_name, length in product(*self.params[:3]):
            names, times = measure(type_name, length)
            for i, name in enumerate(names):
                found[direction, type_name, length, name] = times.ratio(i, base=names.index(ONE))
        return found

    def setup(self, ratios: dict[tuple[str, ...], Ratio], *key: str) -> None:
        if key not in ratios:
            raise NotImplementedError(f"{key[1]}: not copied by {key[3]}")

    def track_to_one_at_a_time(self, ratios: dict[tuple[str, ...], Ratio], *key: str) -> float:
        return ratios[key].median

    def track_to_one_at_a_time_iqr(self, ratios: dict[tuple[str, ...], Ratio], *key: str) -> float:
        return ratios[key].iqr


def main() -> None:
    """Print the ratios."""
    arguments = chosen(__doc__, type=TYPES, length=LENGTHS)
    print("type      length  one, µs; ratios (iqr) of the others to it")
    for type_name, length in product(arguments.type, arguments.length):
        names, times = measure(type_name, length, arguments.rounds)
        base = names.index(ONE)
        ratios = {name: times.ratio(i, base) for i, name in enumerate(names) if i != base}
        row = "  ".join(f"{name} {ratio.median:.3f} ({ratio.iqr:.3f})" for name, ratio in ratios.items())
        print(f"{type_name:<9} {length:>6}  {times.medians[base] * 1e6 / SWEEPS:8.2f}  {row}", flush=True)


if __name__ == "__main__":
    main()
