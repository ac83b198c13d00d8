"""Scratch memory that is kept, and memory that is new for each column chunk.

``python -m benchmarks.arenas --type int64 --rows 1000000`` prints the times and the bytes.

``build`` is from Arrow to the pages of a column chunk, ``serialise`` from there to a file: framed pages, page indexes
and the footer into memory that is in use. ``fresh`` has a new arena, and a new buffer of the sink, for each of them;
``reused`` those of the file before, as the writer does. Bytes are what Python and NumPy have allocated more than
before, at its peak (``tracemalloc``). The ``floor`` is a copy of what a step reads and of what it makes into memory in
use; of ``serialise``, that reads pages and makes a file of them, one copy.

glibc keeps what is freed, up to 32 MiB, so that fresh memory is not always new to the process. ``--source system``
makes it ask the system for each block and give it back, as in a process that writes for the first time; ``--source
malloc`` leaves glibc as it is.
"""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import colwriter
from benchmarks.common import RANDOM_SEED, ROUNDS, PairedTimes, axis, build_table, chosen, paired_medians
from benchmarks.families import FAMILIES
from colwriter import arena
from colwriter.column_writer import EncodedChunk, encode_column_chunk
from colwriter.file_writer import _write_chunk, _WrittenRowGroup
from colwriter.shredding import shred

# The types, and of what their data are drawn: a family, or a type of ``build_table``.
OF_FAMILY = {"int32": "int32", "decimal128": "decimal", "boolean": "boolean"}
DRAWN = {"int64": "int64", "string": "string", "binary": "string"}
LISTS = {"list<int64>": "list<int64>", "list<string>": "list<string>"}
TYPES = OF_FAMILY | DRAWN | LISTS
ROWS = ("10000", "1000000")
BUILD, SERIALISE, _ = STEPS = ("build", "serialise", "both")
# Of blocks from so many bytes on glibc asks the system; the number of this setting is that of malloc.h.
FROM = {"system": 1 << 17, "malloc": 1 << 25}
M_MMAP_THRESHOLD = -3
# Few nulls: what is written is about as large as what is read.
WORKLOAD = "dense-half"


def build(type_name: str, rows: int) -> pa.Table:
    """A column with so many rows; lists have three elements each, so there are three times as many of those."""
    if type_name in OF_FAMILY:
        return pa.table({"column": FAMILIES[OF_FAMILY[type_name]](np.random.default_rng(RANDOM_SEED), rows)})
    elements = 3 * rows if type_name in LISTS else rows
    table = build_table(TYPES[type_name], WORKLOAD, elements)
    return table.cast(pa.schema([("column", pa.binary())])) if type_name == "binary" else table


@dataclass(slots=True)
class Steps:
    """Both steps of writing a table of one column, PLAIN and not compressed, so that memory counts for most."""

    table: pa.Table
    options: dict[str, Any]
    target: pa.Buffer

    def open(self) -> colwriter.ParquetWriter:
        return colwriter.ParquetWriter(pa.FixedSizeBufferWriter(self.target), self.table.schema, **self.options)

    def build(self, writer: colwriter.ParquetWriter, scratch: arena.Arena) -> EncodedChunk:
        """Pages of the column, in the arena."""
        (descriptor,) = writer._plan.schema.columns
        (leaf,) = shred(self.table["column"].chunk(0), self.table.schema.field(0), [descriptor], scratch)
        return encode_column_chunk(leaf, writer._options, writer._plan.fields[0].options[0], scratch)

    def serialise(self, writer: colwriter.ParquetWriter, chunk: EncodedChunk) -> None:
        """A file of these pages."""
        assert writer._sink is not None
        written = [_write_chunk(writer._sink, chunk)]
        writer._row_groups.append(_WrittenRowGroup(self.table.num_rows, 4, written, None))
        writer.close()


def make_steps(type_name: str, rows: str) -> Steps:
    table = build(type_name, int(rows))
    options = {"use_dictionary": False, "compression": "none", "store_schema": False, "write_page_index": True}
    sink = pa.BufferOutputStream()
    colwriter.write_table(table, sink, use_threads=False, row_group_size=1 << 30, **options)
    # Touched, so that writing there faults no page in.
    target = pa.py_buffer(bytearray(sink.getvalue().to_pybytes()))
    return Steps(table, options | {"use_threads": False}, target)


def get_memory_from(source: str) -> None:
    """Where large blocks come from; nothing is done where there is no glibc."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, FROM[source])


def make_functions(steps: Steps, step: str) -> list[Callable[[], object]]:
    """The step with fresh memory, and with memory that is kept; the floor."""
    pages = steps.build(steps.open(), arena.Arena())

    def run() -> None:
        writer = steps.open()
        if step == SERIALISE:
            steps.serialise(writer, pages)
            return
        scratch = arena.take_arena()
        chunk = steps.build(writer, scratch)
        if step != BUILD:
            steps.serialise(writer, chunk)
        del chunk
        arena.give_arena_back(scratch)

    def fresh() -> None:
        """Idle memory is put aside, for the others, and what is made meanwhile is not kept."""
        idle, buffers = arena._free[:], arena._free_buffers[:]
        arena.release_memory()
        run()
        arena._free[:], arena._free_buffers[:] = idle, buffers

    buffers = [np.frombuffer(b, np.uint8) for b in steps.table["column"].chunk(0).buffers() if b is not None and b.size]
    file = np.frombuffer(steps.target, np.uint8)
    sources = {BUILD: [*buffers, file], SERIALISE: [file]}.get(step, [*buffers, file, file])
    pairs = [(np.array(source), source) for source in sources]

    def floor() -> None:
        for target, source in pairs:
            np.copyto(target, source)

    return [fresh, run, floor]


def allocated(function: Callable[[], object]) -> int:
    """Bytes that the function allocates, those that are freed again too, as long as the others live."""
    function()
    tracemalloc.start()
    try:
        function()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@dataclass(frozen=True, slots=True)
class Measured:
    """Times of fresh, reused and floor, and bytes of the first two."""

    times: PairedTimes
    fresh_bytes: int
    reused_bytes: int


def measure(type_name: str, rows: str, step: str, rounds: int = ROUNDS, source: str = "system") -> Measured:
    """Both ways of one step."""
    get_memory_from(source)
    fresh, reused, floor = make_functions(make_steps(type_name, rows), step)
    number = 20 if int(rows) < 100_000 else 1
    times = paired_medians([fresh, reused, floor], rounds, number=number)
    return Measured(times, allocated(fresh), allocated(reused))


class Ratios:
    """Time, and bytes, of memory that is kept over those of fresh memory."""

    unit = "ratio"
    timeout = 900
    param_names = ("type", "rows", "step")
    params = (axis(*TYPES), list(ROWS), list(STEPS))

    def setup_cache(self) -> dict[tuple[str, ...], Measured]:
        return {key: measure(*key) for key in product(*self.params)}

    def track_reused(self, measured: dict[tuple[str, ...], Measured], *key: str) -> float:
        return measured[key].times.ratio(1).median

    def track_reused_iqr(self, measured: dict[tuple[str, ...], Measured], *key: str) -> float:
        return measured[key].times.ratio(1).iqr

    def track_bytes(self, measured: dict[tuple[str, ...], Measured], *key: str) -> float:
        return measured[key].reused_bytes / measured[key].fresh_bytes


def main() -> None:
    """Print times and bytes."""
    arguments = chosen(__doc__, type=tuple(TYPES), rows=ROWS, step=STEPS, source=tuple(FROM))
    print("source type         rows     step        fresh, ms   reused    floor  fresh/reused  bytes: fresh    reused")
    for source, type_name, rows, step in product(arguments.source, arguments.type, arguments.rows, arguments.step):
        found = measure(type_name, rows, step, arguments.rounds, source)
        fresh, reused, floor = (seconds * 1e3 for seconds in found.times.medians)
        ratio = found.times.ratio(0, base=1)
        print(
            f"{source} {type_name:<12} {rows:>7}  {step:<10} {fresh:10.3f} {reused:8.3f} {floor:8.3f}   "
            f"{ratio.median:.2f} ({ratio.iqr:.2f})  {found.fresh_bytes:>12} {found.reused_bytes:>9}",
            flush=True,
        )


if __name__ == "__main__":
    main()
