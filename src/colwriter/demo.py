"""A demonstration on nested data that every machine has: the installed Python distributions and their files."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata as distributions
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import RenderableType
from rich.table import Table

from colwriter.api import write_table
from colwriter.display import console, count, new_table, progress, size
from colwriter.metadata import FileMetaData
from colwriter.options import SizeStatisticsLevel
from colwriter.parallel import available_threads
from colwriter.reader import read_metadata, read_page_index
from colwriter.sizes import decoded_size

__all__ = ["Measured", "collect", "measure", "render", "repeat_for", "run"]

ENTRIES = 1_000_000
ROUNDS = 5
SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("version", pa.string()),
        ("requirements", pa.list_(pa.string())),
        ("files", pa.list_(pa.string())),
        ("file_sizes", pa.list_(pa.int64())),
    ]
)
PYARROW = "pyarrow"


@dataclass(frozen=True, slots=True)
class Measured:
    """One file. Sizes are in bytes; ``footer_size`` is what the footer says of ``decoded_size``, None if nothing."""

    writer: str
    path: Path
    pages: int
    file_size: int
    footer_size: int | None
    decoded_size: int
    equal: bool
    milliseconds: float


def run(folder: Path, repeat: int | None) -> bool:
    """Collect, measure and show; whether every file reads back equal."""
    folder.mkdir(parents=True, exist_ok=True)
    distinct = collect()
    repeat = repeat or repeat_for(distinct)
    table = pa.concat_tables([distinct] * repeat).combine_chunks()
    with progress("demo") as update:
        files = measure(table, folder, update)
    console().print(*render(len(distinct), repeat, table, files), sep="\n")
    return all(file.equal for file in files)


def collect() -> pa.Table:
    """One row for each installed distribution; a list is null where the distribution does not tell."""
    rows = []
    for found in distributions.distributions():
        files = found.files
        rows.append(
            {
                "name": _header(found, "Name"),
                "version": _header(found, "Version"),
                "requirements": found.requires,
                "files": None if files is None else [str(file) for file in files],
                "file_sizes": None if files is None else [file.size for file in files],
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def _header(found: distributions.Distribution, name: str) -> str | None:
    values: list[str] = found.metadata.get_all(name) or []
    return values[0] if values else None


def repeat_for(table: pa.Table) -> int:
    """How often to repeat the rows so that about a million files are written."""
    entries = file_entries(table)
    return max(round(ENTRIES / entries), 1) if entries else 1


def file_entries(table: pa.Table) -> int:
    """Number of files in all rows."""
    return len(table["files"].combine_chunks().flatten())


def measure(table: pa.Table, folder: Path, on_progress: Callable[[int, int, str], None]) -> list[Measured]:
    """Write the table at each level of size statistics, and with pyarrow, and read the files back."""
    writers = {level.value: _writer(level) for level in SizeStatisticsLevel}
    writers[PYARROW] = _write_with_pyarrow
    paths = {name: folder / f"distributions.{name}.parquet" for name in writers}
    total = len(writers) * (ROUNDS + 1)
    times: dict[str, list[float]] = {name: [] for name in writers}
    # The first round compiles kernels and is not counted; writers take turns, so that all meet the same machine.
    for turn in range(total):
        name = list(writers)[turn % len(writers)]
        on_progress(turn, total, f"writing with {name}")
        start = time.perf_counter()
        writers[name](table, paths[name])
        times[name].append(1000 * (time.perf_counter() - start))
    return [_examine(name, paths[name], table, median(times[name][1:])) for name in writers]


def _writer(level: SizeStatisticsLevel) -> Callable[[pa.Table, Path], Any]:
    return lambda table, path: write_table(table, path, size_statistics_level=level)


def _write_with_pyarrow(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, write_page_index=True)


def _examine(name: str, path: Path, table: pa.Table, milliseconds: float) -> Measured:
    footer = read_metadata(path)
    read = pq.ParquetFile(path).read()
    return Measured(
        writer=name,
        path=path,
        pages=_pages(path, footer),
        file_size=path.stat().st_size,
        footer_size=decoded_size(footer, pq.read_schema(path)),
        decoded_size=read.nbytes,
        equal=read.equals(table),
        milliseconds=milliseconds,
    )


def _pages(path: Path, footer: FileMetaData) -> int:
    pages = 0
    for row_group, group in enumerate(footer.row_groups):
        for column in range(len(group.columns)):
            _, offset_index = read_page_index(path, row_group, column, metadata=footer)
            pages += len(offset_index.page_locations) if offset_index is not None else 0
    return pages


def render(distinct: int, repeat: int, table: pa.Table, files: list[Measured]) -> Iterator[RenderableType]:
    """What was measured, for a terminal. ``distinct``: rows before they were repeated."""
    yield (
        f"{count(distinct)} installed distributions, repeated {repeat} times: {count(len(table))} rows with "
        f"{count(file_entries(table))} files."
    )
    if repeat > 1:
        yield "That is small data; rows that are repeated compress better than as many different ones would."
    yield ""
    yield _table(files)
    yield ""
    told, decoded = files[-2].footer_size or 0, files[-2].decoded_size
    yield (
        "Decoded size: the level histograms in the footer count the entries of every array, and so the bytes of its "
        "values, offsets and validity bitmap; unencoded_byte_array_data_bytes are those of its strings. "
        f"The footer says {count(told)} bytes; pyarrow decodes the file to {count(decoded)}, "
        f"{_difference(decoded, told)}."
    )
    yield ""
    yield (
        f"Times: median of {ROUNDS} rounds in turn, kernels compiled before, default options: colwriter "
        f"with up to {available_threads()} threads, pyarrow {pa.__version__}, which has one, with its page index on. "
        f"They are this machine's ({platform.machine()}, {os.cpu_count()} CPUs) on these data; others differ."
    )


def _difference(decoded: int, told: int) -> str:
    if decoded == told:
        return "the same"
    share = abs(decoded - told) / told if told else 1
    if decoded > told:
        return f"{share:.2%} more"
    return f"{share:.2%} less, since it leaves out validity bitmaps where nothing is null"


def _table(files: list[Measured]) -> Table:
    smallest, baseline = files[0].file_size, files[-1]
    numbers = ("pages", "file", "size statistics", "decoded", "read back", "written in")
    table = new_table("Levels of size statistics, and pyarrow", ("",), numbers)
    table.columns[0].no_wrap = True
    for file in files:
        extra = file.file_size - smallest
        table.add_row(
            file.writer,
            count(file.pages),
            size(file.file_size),
            "" if file is baseline else f"{count(extra)} B, {extra / smallest:.2%}",
            "not known" if file.footer_size is None else size(file.footer_size),
            "equal" if file.equal else "DIFFERENT",
            f"{file.milliseconds:.1f} ms, {baseline.milliseconds / file.milliseconds:.1f}×",
            end_section=file is files[-2],
        )
    return table
