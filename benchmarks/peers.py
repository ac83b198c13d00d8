"""The same file by colwriter and by other writers, one thread each.

``python -m benchmarks.peers --type int64 --case seed`` prints the ratios.

What can be set is set alike: one row group, page index, no ARROW:schema, zstd at level 1; docs/benchmarks.md has the
rest. The seed workload is PLAIN without a dictionary (Polars and its own choice excepted), the dense ones are left to
each writer's dictionary. Each writer starts from its own form of the data, made beforehand, and writes to memory,
DuckDB to a file in memory.

asv takes less as better, so the ratios that it tracks are *our time over the peer's*: 0.2 is five times as fast. The
``floor`` among the peers is a copy of the input and of the file's bytes into memory that is in use already: what a
writer that does nothing else would take.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import (
    DENSE,
    ROUNDS,
    SEED,
    Ratio,
    axis,
    build_table,
    chosen,
    paired_medians,
    use_one_thread,
    write_options,
    write_table,
)

TYPES = ("int64", "string", "list<int64>", "list<string>")
OURS = "colwriter"
FLOOR = "floor"
ZSTD_LEVEL = 1
MEMORY_FOLDER = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, a codec, and whether a column is one page (parquet-cpp's benchmark) or has 20 000 rows a page."""

    workload: str
    codec: str = "none"
    one_page: bool = False

    @property
    def name(self) -> str:
        name = self.workload if self.codec == "none" else f"{self.workload} {self.codec}"
        return f"{name} one page" if self.one_page else name

    @property
    def page_rows(self) -> int:
        return 1 << 40 if self.one_page else 20_000

    @property
    def compression_level(self) -> int | None:
        return ZSTD_LEVEL if self.codec == "zstd" else None

    @property
    def plain(self) -> bool:
        return self.workload == SEED


CASES = {
    case.name: case
    for case in (
        Case(SEED),
        Case(SEED, one_page=True),
        *(Case(w, c) for w in DENSE for c in ("none", "snappy", "zstd")),
    )
}

# A pa.BufferOutputStream, or the path of a file.
Written = Any
# Writes one file a call.
Write = Callable[[], Written]


def contents(written: Written) -> bytes:
    """The bytes of a file."""
    file: bytes = written.read_bytes() if isinstance(written, Path) else written.getvalue().to_pybytes()
    return file


# Writers: each takes a table and a case, and makes what it writes from


def _colwriter(table: pa.Table, case: Case) -> Write:
    options = write_options(case.workload, case.codec, table.num_rows) | {"max_rows_per_page": case.page_rows}
    return lambda: write_table(table, compression_level=case.compression_level, **options)


def _pyarrow(table: pa.Table, case: Case) -> Write:
    options = write_options(case.workload, case.codec, table.num_rows) | {"max_rows_per_page": case.page_rows}

    def write() -> Written:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression_level=case.compression_level, **options)
        return sink

    return write


def _polars(table: pa.Table, case: Case) -> Write:
    import polars

    frame = polars.DataFrame(polars.from_arrow(table))
    codec: Any = "uncompressed" if case.codec == "none" else case.codec

    def write() -> Written:
        sink = pa.BufferOutputStream()
        frame.write_parquet(
            sink, compression=codec, compression_level=case.compression_level, row_group_size=table.num_rows
        )
        return sink

    return write


def _arro3(table: pa.Table, case: Case) -> Write:
    from arro3.io import write_parquet

    codec = {"none": "uncompressed", "zstd": f"zstd({ZSTD_LEVEL})"}.get(case.codec, case.codec)

    def write() -> Written:
        sink = pa.BufferOutputStream()
        write_parquet(
            table,
            sink,
            compression=codec,
            dictionary_enabled=not case.plain,
            data_page_row_count_limit=case.page_rows,
            max_row_group_size=table.num_rows,
            skip_arrow_metadata=True,
        )
        return sink

    return write


def _duckdb(table: pa.Table, case: Case) -> Write:
    import duckdb

    in_memory = MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix="colwriter-", dir=MEMORY_FOLDER if in_memory else None))
    path = folder / "file.parquet"
    connection = duckdb.connect()
    connection.execute("PRAGMA threads=1")
    connection.register("source", table)
    connection.execute("CREATE TABLE data AS SELECT * FROM source")
    connection.unregister("source")
    options = {
        "FORMAT": "parquet",
        "COMPRESSION": "uncompressed" if case.codec == "none" else case.codec,
        # DuckDB makes row groups of whole vectors of 2048 rows.
        "ROW_GROUP_SIZE": max(table.num_rows, 2048),
    }
    if case.compression_level is not None:
        options["COMPRESSION_LEVEL"] = case.compression_level
    if case.plain:
        options["DICTIONARY_SIZE_LIMIT"] = 0
    statement = f"COPY data TO '{path}' ({', '.join(f'{name} {value}' for name, value in options.items())})"

    def write() -> Written:
        connection.execute(statement)
        return path

    weakref.finalize(write, shutil.rmtree, folder)
    return write


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer, and the module that it needs."""

    module: str
    prepare: Callable[[pa.Table, Case], Write]

    @property
    def installed(self) -> bool:
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:  # of the package that should hold the module
            return False


WRITERS = {
    OURS: Writer("colwriter", _colwriter),
    "pyarrow": Writer("pyarrow", _pyarrow),
    "polars": Writer("polars", _polars),
    "arro3": Writer("arro3.io", _arro3),
    "duckdb": Writer("duckdb", _duckdb),
}
PEERS = tuple(name for name in WRITERS if name != OURS)


def make_floor(table: pa.Table, file: bytes) -> Callable[[], None]:
    """A copy of the table's buffers and the file's bytes to where the copies before went."""
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    buffers = [buffer for chunk in chunks for buffer in chunk.buffers() if buffer is not None]
    sources = [np.frombuffer(data, np.uint8) for data in (*buffers, file) if len(data)]
    copies = [source.copy() for source in sources]

    def copy() -> None:
        for source, target in zip(sources, copies, strict=True):
            np.copyto(target, source)

    return copy


# Measuring


@dataclass(frozen=True, slots=True)
class Comparison:
    """One type and case: seconds, our time over a peer's, and bytes of the files, by writer."""

    seconds: dict[str, float]
    ratios: dict[str, Ratio]
    file_bytes: dict[str, int]


def measure(type_name: str, case: Case, rounds: int = ROUNDS, peers: Sequence[str] = PEERS) -> Comparison:
    """Time colwriter, the peers that are installed, and the floor, in turn."""
    table = build_table(type_name, case.workload)
    names = [OURS, *(name for name in peers if WRITERS[name].installed)]
    functions: dict[str, Callable[[], Any]] = {name: WRITERS[name].prepare(table, case) for name in names}
    files = {name: contents(function()) for name, function in functions.items()}
    functions[FLOOR] = make_floor(table, files[OURS])
    times = paired_medians(list(functions.values()), rounds)
    return Comparison(
        seconds=dict(zip(functions, times.medians, strict=True)),
        ratios={name: times.ratio(0, base=i) for i, name in enumerate(functions)},
        file_bytes={name: len(file) for name, file in files.items()},
    )


def _require(writer: str) -> None:
    """asv leaves out a benchmark whose setup raises NotImplementedError."""
    if writer in WRITERS and not WRITERS[writer].installed:
        raise NotImplementedError(f"{writer} is not installed")


@cache
def _prepared(writer: str, type_name: str, case: str) -> Callable[[], Any]:
    """Kept, as asv calls ``setup`` before each sample."""
    table = build_table(type_name, CASES[case].workload)
    if writer == FLOOR:
        return make_floor(table, contents(_colwriter(table, CASES[case])()))
    return WRITERS[writer].prepare(table, CASES[case])


class Files:
    """Time of a file by each writer."""

    rounds = 1
    param_names = ("writer", "type", "case")
    params = (list(WRITERS), axis(*TYPES), axis(*CASES))

    def setup(self, writer: str, type_name: str, case: str) -> None:
        _require(writer)
        use_one_thread()
        self.write = _prepared(writer, type_name, case)

    def time_write(self, writer: str, type_name: str, case: str) -> None:
        self.write()


class Floor:
    """Time to copy the input and the file."""

    rounds = 1
    param_names = ("type", "case")
    params = (axis(*TYPES), axis(*CASES))

    def setup(self, type_name: str, case: str) -> None:
        self.copy = _prepared(FLOOR, type_name, case)

    def time_copy(self, type_name: str, case: str) -> None:
        self.copy()


class Ratios:
    """Our time over each peer's, and over the floor."""

    timeout = 3600
    unit = "ratio"
    param_names = ("peer", "type", "case")
    params = ([*PEERS, FLOOR], axis(*TYPES), axis(*CASES))

    def setup_cache(self) -> dict[tuple[str, str], Comparison]:
        use_one_thread()
        return {(type_name, case): measure(type_name, CASES[case]) for type_name, case in product(*self.params[1:])}

    def setup(self, comparisons: dict[tuple[str, str], Comparison], peer: str, *key: str) -> None:
        _require(peer)

    def track_to_peer(self, comparisons: dict[Any, Comparison], peer: str, *key: str) -> float:
        return comparisons[key].ratios[peer].median

    def track_to_peer_iqr(self, comparisons: dict[Any, Comparison], peer: str, *key: str) -> float:
        return comparisons[key].ratios[peer].iqr


class FileBytes:
    """Bytes of the file of each writer."""

    unit = "bytes"
    param_names = Files.param_names
    params = Files.params

    def setup(self, writer: str, type_name: str, case: str) -> None:
        _require(writer)
        self.write = _prepared(writer, type_name, case)

    def track_file_bytes(self, writer: str, type_name: str, case: str) -> int:
        return len(contents(self.write()))


def main() -> None:
    """Print the ratios, both ways."""
    arguments = chosen(__doc__, type=TYPES, case=tuple(CASES), peer=PEERS)
    use_one_thread()
    for type_name, case in product(arguments.type, arguments.case):
        comparison = measure(type_name, CASES[case], arguments.rounds, arguments.peer)
        print(f"{type_name}, {case}")
        for name, seconds in comparison.seconds.items():
            ratio = comparison.ratios[name]
            file_bytes = comparison.file_bytes.get(name, "")
            print(
                f"  {name:<10} {seconds * 1e3:9.3f} ms {file_bytes:>9} bytes   ours over it {ratio.median:.3f} "
                f"({ratio.iqr:.3f}), it over ours {1 / ratio.median:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
