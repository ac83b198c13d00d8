"""A column of each family of Arrow types by colwriter and by other writers, one thread each.

``python -m benchmarks.families --type decimal`` prints the ratios: as among peers (``benchmarks.peers``), our time over
the peer's. A tenth of the values is null; each writer has its own dictionary rule, and no codec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.common import (
    RANDOM_SEED,
    ROUNDS,
    SIZE,
    WORKLOADS,
    Ratio,
    axis,
    build_array,
    chosen,
    paired_medians,
    use_one_thread,
)
from benchmarks.peers import OURS, PEERS, WRITERS, Case, Comparison, contents

NULL_SHARE = 0.1
CASE = Case("dense-1000")


def _array(arrow_type: Any, values: NDArray[Any], valid: NDArray[np.bool_]) -> pa.Array:
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(arrow_type, len(valid), [bitmap, pa.py_buffer(np.ascontiguousarray(values))])


def _numbers(arrow_type: Any, draw: Callable[[np.random.Generator, int], NDArray[Any]]) -> Callable[..., pa.Array]:
    def build(rng: np.random.Generator, size: int) -> pa.Array:
        return _array(arrow_type, draw(rng, size), rng.random(size) >= NULL_SHARE)

    return build


def _decimals(rng: np.random.Generator, size: int) -> pa.Array:
    words = np.zeros((size, 2), np.int64)
    words[:, 0] = rng.integers(-(10**9), 10**9, size)
    words[:, 1] = words[:, 0] >> 63
    return _array(pa.decimal128(12, 2), words, rng.random(size) >= NULL_SHARE)


def _words(rng: np.random.Generator, size: int) -> pa.Array:
    return build_array(rng, "string", WORKLOADS["dense-1000"], size)


def _texts(form: str, distinct: int | None = None) -> Callable[..., pa.Array]:
    """Strings that are numbers in a form of more than 24 bytes, ``distinct`` different ones, or all different."""

    def build(rng: np.random.Generator, size: int) -> pa.Array:
        numbers = rng.integers(0, 2**62, size if distinct is None else distinct).tolist()
        texts = pa.array([form.format(number) for number in numbers])
        picks = np.arange(size) if distinct is None else rng.integers(0, distinct, size)
        return texts.take(pa.array(picks, mask=rng.random(size) < NULL_SHARE))

    return build


def _structs(rng: np.random.Generator, size: int) -> pa.Array:
    children = [FAMILIES["int64"](rng, size // 2), _words(rng, size // 2)]
    return pa.StructArray.from_arrays(children, ["a", "b"], mask=pa.array(rng.random(size // 2) < NULL_SHARE))


def _codes(rng: np.random.Generator, size: int) -> pa.Array:
    return _words(rng, size).dictionary_encode()


def _lists_of_codes(rng: np.random.Generator, size: int) -> pa.Array:
    offsets = np.sort(rng.integers(0, size + 1, size // 4 + 1)).astype(np.int32)
    offsets[0], offsets[-1] = 0, size
    return pa.ListArray.from_arrays(pa.array(offsets), _codes(rng, size))


def _structs_of_codes(rng: np.random.Generator, size: int) -> pa.Array:
    return pa.StructArray.from_arrays([_codes(rng, size)], ["a"], mask=pa.array(rng.random(size) < NULL_SHARE))


def _chunks_of_codes(rng: np.random.Generator, size: int) -> pa.ChunkedArray:
    """Each with a dictionary of its own, as a reader makes them."""
    words = _words(rng, size)
    return pa.chunked_array([words.slice(at, size // 8).dictionary_encode() for at in range(0, size, size // 8)])


def _maps(rng: np.random.Generator, size: int) -> pa.Array:
    entries = size // 2
    keys = build_array(rng, "string", WORKLOADS["dense-1000"], entries).fill_null("none")
    offsets = np.sort(rng.integers(0, entries + 1, entries // 4 + 1)).astype(np.int32)
    offsets[0], offsets[-1] = 0, entries
    return pa.MapArray.from_arrays(pa.array(offsets), keys, FAMILIES["int64"](rng, entries))


def _fixed_lists(rng: np.random.Generator, size: int) -> pa.Array:
    values = pa.array(rng.standard_normal(size // 8 * 8).astype(np.float32))
    return pa.FixedSizeListArray.from_arrays(values, 8)


FAMILIES: dict[str, Callable[[np.random.Generator, int], pa.Array | pa.ChunkedArray]] = {
    "int32": _numbers(pa.int32(), lambda rng, n: rng.integers(-(2**31), 2**31, n).astype(np.int32)),
    "int64": _numbers(pa.int64(), lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n)),
    "uint16": _numbers(pa.uint16(), lambda rng, n: rng.integers(0, 1000, n).astype(np.uint16)),
    "float": _numbers(pa.float32(), lambda rng, n: rng.standard_normal(n).astype(np.float32)),
    "double": _numbers(pa.float64(), lambda rng, n: np.round(rng.exponential(100, n), 2)),
    "decimal": _decimals,
    "timestamp": _numbers(pa.timestamp("us"), lambda rng, n: np.cumsum(rng.integers(0, 10**6, n))),
    "date": _numbers(pa.date32(), lambda rng, n: rng.integers(10_000, 13_000, n).astype(np.int32)),
    "boolean": _numbers(pa.bool_(), lambda rng, n: np.packbits(rng.random(n) < 0.3, bitorder="little")),
    "binary(16)": _numbers(pa.binary(16), lambda rng, n: rng.integers(0, 256, (n, 16)).astype(np.uint8)),
    "identifiers": _texts("{0:032x}-{0:03x}"),
    "identifiers, 1000": _texts("{0:032x}-{0:03x}", 1000),
    "links, 20000": _texts("https://www.example.com/products/{0}?session={0:x}", 20_000),
    "json": _texts('{{"user": {0}, "event": "click", "ok": true}}'),
    "dictionary": _codes,
    "dictionaries": _chunks_of_codes,
    "list<dictionary>": _lists_of_codes,
    "struct<dictionary>": _structs_of_codes,
    "string_view": lambda rng, size: _words(rng, size).cast(pa.string_view()),
    "struct": _structs,
    "map": _maps,
    "list<list>": lambda rng, size: build_array(rng, "list<list<int64>>", WORKLOADS["dense-1000"], size),
    "fixed-size list": _fixed_lists,
}


@cache
def build_family(name: str) -> pa.Table:
    """A table of one column, named "column"."""
    return pa.table({"column": FAMILIES[name](np.random.default_rng(RANDOM_SEED), SIZE)})


def measure(name: str, rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Comparison:
    """Time colwriter and the peers that are installed and can write the type, in turn."""
    table = build_family(name)
    functions: dict[str, Callable[[], Any]] = {}
    files: dict[str, bytes] = {}
    for writer in (OURS, *peers):
        if WRITERS[writer].installed:
            try:
                write = WRITERS[writer].prepare(table, CASE)
                files[writer] = contents(write())
            except Exception:
                if writer == OURS:
                    raise
                continue  # not every peer has every type
            functions[writer] = write
    times = paired_medians(list(functions.values()), rounds)
    return Comparison(
        seconds=dict(zip(functions, times.medians, strict=True)),
        ratios={writer: times.ratio(0, base=i) for i, writer in enumerate(functions)},
        file_bytes={writer: len(file) for writer, file in files.items()},
    )


@cache
def _ratio(name: str, peer: str) -> Ratio:
    return measure(name, peers=[peer]).ratios[peer]


class Families:
    """Our time over that of the peer."""

    param_names = ("family", "peer")
    params = (axis(*FAMILIES), ["pyarrow", "arro3"])
    unit = "ratio"
    timeout = 300

    def setup(self, family: str, peer: str) -> None:
        use_one_thread()
        if not WRITERS[peer].installed:
            raise NotImplementedError(f"{peer} is not installed")

    def track_to_peer(self, family: str, peer: str) -> float:
        return _ratio(family, peer).median

    def track_to_peer_iqr(self, family: str, peer: str) -> float:
        return _ratio(family, peer).iqr


def main() -> None:
    """Print a line a family: how many times as long a peer takes, and how many times as large its file is."""
    arguments = chosen(__doc__, type=tuple(FAMILIES), peer=PEERS)
    use_one_thread()
    for name in arguments.type:
        found = measure(name, arguments.rounds, arguments.peer)
        parts = [
            f"{writer} {1 / ratio.median:.1f}x {found.file_bytes[writer] / found.file_bytes[OURS]:.2f}"
            for writer, ratio in found.ratios.items()
            if writer != OURS
        ]
        print(f"{name:16} {1e3 * found.seconds[OURS]:6.2f} ms  {'  '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
