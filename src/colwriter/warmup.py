"""Compiling every kernel ahead of time, by writing small tables of each kind to memory."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numba.core import event
from numba.core.dispatcher import Dispatcher

from colwriter import kernels
from colwriter.api import write_table
from colwriter.column_writer import ENCODERS
from colwriter.encodings.distinct import SHARED_SLOTS
from colwriter.errors import UnsupportedTypeError
from colwriter.packed_lists import SHARED_LISTS
from colwriter.schema import parquet_schema

__all__ = ["WarmupReport", "dispatchers", "silence_notice", "warmup"]

# Above the number of values up to which the writer takes no sample before it builds a dictionary.
_ROWS = 10_000
# Above the number of steps from which the writer counts levels.
_DEPTH = 40
_CANDIDATES = [
    *(pa.int32(), pa.int64(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary()),
    *(pa.bool_(), pa.int8(), pa.int16(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("us")),
    *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.duration("us")),
    *(pa.decimal128(9, 2), pa.decimal128(18, 2), pa.decimal128(38, 2), pa.decimal256(76, 2), pa.binary(16)),
]
_OPTIONS: list[dict[str, Any]] = [
    {"bloom_filter_options": True},
    {"data_page_version": "2.0", "compression": "none", "write_page_checksum": True},
    {"use_dictionary": False, "compression": "none", "bloom_filter_options": True},
    {"use_dictionary": False, "data_page_version": "2.0", "max_rows_per_page": 100},
]

_Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class WarmupReport:
    """How many kernels were compiled, how many loaded, in how many seconds, and the folder of the cache, if any."""

    compiled: int
    loaded: int
    seconds: float
    cache: Path | None


def warmup(on_progress: _Progress = lambda done, total, doing: None) -> WarmupReport:
    """Compile every kernel for all types that it can meet, or load it from the cache.

    ``on_progress`` is called with the steps done, the number of steps, and what is being compiled or written.
    """
    start = time.perf_counter()
    steps = [(table, options) for table in _tables() for options in _OPTIONS]
    steps += _encodings()
    steps += [(table, {"max_threads": 2}) for table in _shared()]
    silence_notice()
    watch = _Watch(on_progress, len(steps))
    with event.install_listener("numba:compile", watch):
        for number, (table, options) in enumerate(steps):
            watch.step(number, f"writing {str(table.schema.field(0).type)[:30]}")
            write_table(table, pa.BufferOutputStream(), **options)
    on_progress(len(steps), len(steps), "done")
    stats = [dispatcher.stats for dispatcher in dispatchers()]
    loaded = sum(sum(found.cache_hits.values()) for found in stats)
    folders = {Path(found.cache_path) for found in stats if found.cache_path}
    return WarmupReport(watch.compiled, loaded, time.perf_counter() - start, min(folders, default=None))


def silence_notice() -> None:
    """Let the notice that kernels are being compiled, which is given once in a process, go nowhere."""
    data = {"dispatcher": kernels.bits.bits_at}
    with redirect_stderr(io.StringIO()), event.trigger_event("numba:compile", data):
        pass


class _Watch(event.Listener):
    """Counts the kernels that are compiled, and tells which one is."""

    def __init__(self, on_progress: _Progress, total: int) -> None:
        self._on_progress = on_progress
        self._total = total
        self._done = 0
        self.compiled = 0

    def step(self, done: int, doing: str) -> None:
        self._done = done
        self._on_progress(done, self._total, doing)

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("colwriter."):
            self.compiled += 1
            self.step(self._done, f"compiling {function.__module__.rpartition('.')[2]}.{function.__name__}")

    def on_end(self, event: event.Event) -> None:
        pass


def dispatchers() -> list[Any]:
    """All kernels."""
    modules = [getattr(kernels, name) for name in kernels.MODULES]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}
    return list(found.values())


def _tables() -> Iterator[pa.Table]:
    """Tables of one column that between them meet every kernel. All nulls have something under them."""
    for leaf in _CANDIDATES:
        if _is_writable(leaf):
            few, unique = _leaf(leaf, 50), _leaf(leaf, _ROWS)
            for values in (few, unique, _with_nulls(few), _with_nulls(unique)):
                yield from _with_and_without_nulls(values)
            for values in (few, _with_nulls(few)):
                yield from _with_and_without_nulls(_lists(pa.list_(leaf), values))
            required = pa.list_(pa.field("element", leaf, nullable=False))
            yield from _with_and_without_nulls(_lists(required, unique))
    yield from map(_table, _nested())


def _encodings() -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    """A column of each type in each encoding that it can have."""
    for leaf in filter(_is_writable, _CANDIDATES):
        table = _table(_with_nulls(_leaf(leaf, 50)))
        (column,) = parquet_schema(table.schema).columns
        for encoding, (_, types) in ENCODERS.items():
            if column.leaf.physical_type in types:
                yield table, {"use_dictionary": False, "column_encoding": encoding.name}
        yield table, {"column_encoding": "auto"}


def _shared() -> Iterator[pa.Table]:
    """Columns of which two threads take a half each, and find what the other does not."""
    slots = np.arange(SHARED_SLOTS)
    codes = np.where(slots < SHARED_SLOTS // 2, slots % 50, 80 - slots % 50)
    codes[: SHARED_SLOTS // 16] = 0
    for leaf in (pa.string(), pa.large_string()):
        yield _table(pa.array([f"{k}" for k in range(100)]).cast(leaf).take(pa.array(codes)))
    for offset_type, kind in (("i4", pa.list_), ("i8", pa.large_list)):
        offsets = np.arange(SHARED_LISTS + 1).astype(offset_type)
        values = pa.nulls(SHARED_LISTS, pa.int64())
        buffers = [None, pa.py_buffer(offsets)]
        yield _table(pa.Array.from_buffers(kind(pa.int64()), SHARED_LISTS, buffers, children=[values]))


def _with_and_without_nulls(array: pa.Array) -> Iterator[pa.Table]:
    """The array as a required column, an optional one without nulls, and one with nulls."""
    if array.null_count == 0:
        yield _table(array, nullable=False)
        yield _table(array)
    yield _table(_with_nulls(array))


def _table(array: pa.Array, nullable: bool = True) -> pa.Table:
    return pa.Table.from_arrays([array], schema=pa.schema([pa.field("column", array.type, nullable)]))


def _nested() -> Iterator[pa.Array]:
    """What is above the leaf takes the same kernels for any leaf."""
    values = _with_nulls(_leaf(pa.int64(), 50))
    lists = _with_nulls(_lists(pa.list_(pa.int64()), values))
    large = _with_nulls(_lists(pa.large_list(pa.int64()), values))
    yield _lists(pa.large_list(pa.int64()), _leaf(pa.int64(), 50))  # none null nor empty
    yield from (large, _with_nulls(_lists(pa.list_(lists.type), lists)))
    yield _with_nulls(_lists(pa.large_list(large.type), large))
    yield pa.Array.from_buffers(pa.list_(pa.int64(), 4), _ROWS // 4, [_bitmap(_ROWS // 4)], children=[values])
    entries = pa.StructArray.from_arrays([_leaf(pa.int64(), 50), values], ["key", "value"])
    yield _with_nulls(_lists(pa.map_(pa.int64(), pa.int64()), entries))
    for _ in range(_DEPTH):
        nested = pa.struct([("member", values.type)])
        values = pa.Array.from_buffers(nested, len(values), [_bitmap(len(values))], children=[values])
    yield values


def _is_writable(arrow_type: pa.DataType) -> bool:
    try:
        parquet_schema(pa.schema([("column", arrow_type)]))
    except UnsupportedTypeError:
        return False
    return True


def _leaf(arrow_type: Any, distinct: int) -> pa.Array:
    """Numbers or texts, ``distinct`` different ones, in no order."""
    numbers = np.arange(_ROWS) * 7919 % distinct
    if pa.types.is_date64(arrow_type):
        numbers *= 86_400_000  # whole days
    try:
        bits = arrow_type.bit_width
    except ValueError:
        return pa.array([f"{number:015}" for number in numbers.tolist()]).cast(arrow_type)
    if bits == 1:
        values = np.packbits(numbers % 2, bitorder="little")
    else:
        values = np.zeros((_ROWS, bits // 8), np.uint8)
        width = min(bits // 8, 8)
        values[:, :width] = numbers[:, None].view(np.uint8)[:, :width]
    return pa.Array.from_buffers(arrow_type, _ROWS, [None, pa.py_buffer(values)])


def _bitmap(length: int) -> pa.Buffer:
    """A validity bitmap with every third entry null."""
    return pa.py_buffer(np.packbits(np.arange(length) % 3 > 0, bitorder="little"))


def _with_nulls(array: pa.Array) -> pa.Array:
    """The array with every third entry null, and the values that were there still under it."""
    nested = [array.values] if pa.types.is_nested(array.type) else None
    own = 2 if nested else len(array.buffers())
    return pa.Array.from_buffers(
        array.type, len(array), [_bitmap(len(array)), *array.buffers()[1:own]], children=nested
    )


def _lists(arrow_type: pa.DataType, values: pa.Array) -> pa.Array:
    """Lists, or maps, of four entries each."""
    offsets = np.arange(0, len(values) + 1, 4).astype("i8" if pa.types.is_large_list(arrow_type) else "i4")
    return pa.Array.from_buffers(arrow_type, len(offsets) - 1, [None, pa.py_buffer(offsets)], children=[values])
