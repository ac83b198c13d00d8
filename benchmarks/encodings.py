"""Each encoding against pyarrow writing the same one: time, and size of the file.

``python -m benchmarks.encodings --data paths`` prints the ratios.

A ratio is our time over pyarrow's: 0.25 is four times as fast. No dictionary, no codec, one thread, page index and
min/max statistics in both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import (
    RANDOM_SEED,
    ROUNDS,
    SIZE,
    Ratio,
    axis,
    chosen,
    paired_medians,
    random_int64s,
    random_strings,
    use_one_thread,
    write_table,
)

INTEGER_ENCODINGS = ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")
BYTE_ARRAY_ENCODINGS = ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
ENCODINGS = ("PLAIN", *INTEGER_ENCODINGS[1:], *BYTE_ARRAY_ENCODINGS[1:])

# Data and encoding.
Key = tuple[str, ...]


def _small(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.integers(0, 1000, SIZE, np.int32))


def _times(rng: np.random.Generator) -> pa.Array:
    return pa.array(np.cumsum(rng.integers(0, 1000, SIZE)))


def _times_with_nulls(rng: np.random.Generator) -> pa.Array:
    return pa.array(np.cumsum(rng.integers(0, 1000, SIZE)), mask=rng.random(SIZE) < 0.1)


def _paths(rng: np.random.Generator) -> pa.Array:
    return pa.array([f"https://example.org/{k // 50:06}/item-{k}" for k in range(SIZE)])


# int64 over the full range; int32 below 1000; rising int64, without nulls and with 10 %; strings of 0 to 20 letters;
# sorted ones of some 30, most of which each has from the one before.
DATA: dict[str, Callable[[np.random.Generator], pa.Array]] = {
    "random": lambda rng: random_int64s(rng, np.ones(SIZE, np.bool_)),
    "small": _small,
    "times": _times,
    "times-nulls": _times_with_nulls,
    "letters": lambda rng: random_strings(rng, np.ones(SIZE, np.bool_)),
    "paths": _paths,
}


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds of colwriter, its time over pyarrow's, and the bytes of both files."""

    seconds: float
    ratio: Ratio
    file_bytes: int
    pyarrow_bytes: int


@cache
def build(name: str) -> pa.Table:
    """A table of one column, named "column"."""
    return pa.table({"column": DATA[name](np.random.default_rng(RANDOM_SEED))})


def fits(name: str, encoding: str) -> bool:
    """Whether the data have a type that the encoding is for."""
    is_integer = pa.types.is_integer(build(name)["column"].type)
    return encoding in (INTEGER_ENCODINGS if is_integer else BYTE_ARRAY_ENCODINGS)


def make_writers(name: str, encoding: str) -> list[Callable[[], pa.BufferOutputStream]]:
    """pyarrow, and colwriter."""
    table = build(name)
    options = {
        "column_encoding": encoding,
        "use_dictionary": False,
        "compression": "none",
        "store_schema": False,
        "write_page_index": True,
        "row_group_size": SIZE,
    }

    def write_with_pyarrow() -> pa.BufferOutputStream:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, **options)
        return sink

    return [write_with_pyarrow, lambda: write_table(table, **options)]


def measure(name: str, encoding: str, rounds: int = ROUNDS) -> Result:
    """Time both in turn."""
    writers = make_writers(name, encoding)
    times = paired_medians(writers, rounds)
    theirs, ours = (write().tell() for write in writers)
    return Result(times.medians[1], times.ratio(1), ours, theirs)


class Ratios:
    """Our time, and our bytes, over pyarrow's."""

    timeout = 1800
    unit = "ratio"
    param_names = ("data", "encoding")
    params = (axis(*DATA), axis(*ENCODINGS))

    def setup_cache(self) -> dict[Key, Result]:
        use_one_thread()
        return {key: measure(*key) for key in product(*self.params) if fits(*key)}

    def setup(self, results: dict[Key, Result], *key: str) -> None:
        if key not in results:
            raise NotImplementedError  # how asv is told that there is no such combination

    def track_time(self, results: dict[Key, Result], *key: str) -> float:
        return results[key].ratio.median

    def track_time_iqr(self, results: dict[Key, Result], *key: str) -> float:
        return results[key].ratio.iqr

    def track_bytes(self, results: dict[Key, Result], *key: str) -> float:
        return results[key].file_bytes / results[key].pyarrow_bytes


def main() -> None:
    """Print the ratios."""
    arguments = chosen(__doc__, data=tuple(DATA), encoding=ENCODINGS)
    use_one_thread()
    print(f"{'data':<12} {'encoding':<24} {'ms':>7}  to pyarrow (iqr)   bytes, of pyarrow")
    for key in product(arguments.data, arguments.encoding):
        if not fits(*key):
            continue
        result = measure(*key, arguments.rounds)
        name, encoding = key
        print(
            f"{name:<12} {encoding:<24} {result.seconds * 1e3:7.2f}  {result.ratio.median:.3f} ({result.ratio.iqr:.3f})"
            f"      {result.file_bytes:>9}, {result.pyarrow_bytes}",
            flush=True,
        )


if __name__ == "__main__":
    main()
