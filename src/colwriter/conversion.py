"""Files of other formats to Parquet, a record batch at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from colwriter.errors import InvalidDataError, InvalidOptionError, UnsupportedTypeError
from colwriter.explanation import Explanation
from colwriter.file_writer import ParquetWriter
from colwriter.options import AUTO
from colwriter.schema import children, parquet_schema
from colwriter.sizes import decoded_size
from colwriter.stored import stored_schema

__all__ = ["PER_COLUMN", "InputFormat", "Source", "Written", "convert", "open_source", "writer_options"]

# Options whose values are "value" for all columns or "column=value", with what other columns have then.
PER_COLUMN: dict[str, Any] = {
    "compression": "snappy",
    "compression_level": None,
    "size_statistics_level": "PageAndColumnChunk",
    "column_encoding": None,
    "encoding_goal": "balanced",
    "page_boundaries": None,
    "bloom_filter_options": None,
}
# The types of CSV and JSON are inferred from the first block.
_BLOCK_SIZE = 1 << 22
_BATCH_ROWS = 1 << 16
_ARROW_FILE, _FEATHER_V1 = b"ARROW1", b"FEA1"


class InputFormat(StrEnum):
    """Formats that can be read."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    ARROW = "arrow"
    PARQUET = "parquet"


_SUFFIXES = {
    ".csv": InputFormat.CSV,
    ".tsv": InputFormat.TSV,
    ".json": InputFormat.JSON,
    ".jsonl": InputFormat.JSON,
    ".ndjson": InputFormat.JSON,
    ".arrow": InputFormat.ARROW,
    ".arrows": InputFormat.ARROW,
    ".feather": InputFormat.ARROW,
    ".ipc": InputFormat.ARROW,
    ".parquet": InputFormat.PARQUET,
    ".pq": InputFormat.PARQUET,
}
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file as record batches, each with how much of ``total`` has been read with it."""

    schema: pa.Schema
    total: int
    batches: Iterator[tuple[pa.RecordBatch, int]]


@contextmanager
def open_source(path: Path, input_format: InputFormat | None = None) -> Iterator[Source]:
    """Open a file, whose format is that of its suffix unless it is given.

    CSV and JSON lines may be compressed (.gz, .bz2, .zst). Raises ``InvalidOptionError`` for an unknown suffix,
    ``InvalidDataError`` with the path for a file that cannot be read, and ``OSError``.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes] or [""]
    codec = _COMPRESSED.get(suffixes[-1])
    suffix = suffixes[-1] if codec is None else suffixes[-2] if len(suffixes) > 1 else ""
    input_format = input_format or _SUFFIXES.get(suffix)
    if input_format is None:
        names = ", ".join(InputFormat)
        raise InvalidOptionError(f"format: the suffix of {path.name!r} does not tell it; expected one of {names}")
    with path.open("rb") as plain_file:
        magic = plain_file.read(len(_ARROW_FILE))
    with pa.OSFile(str(path), "rb") as file:
        with _unreadable(path):
            source = _open(file, magic, input_format, codec)
        yield replace(source, batches=_named(path, source.batches))


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InvalidDataError(f"{path}: {error}") from error


def _named(path: Path, batches: Iterator[tuple[pa.RecordBatch, int]]) -> Iterator[tuple[pa.RecordBatch, int]]:
    with _unreadable(path):
        yield from batches


def _open(file: pa.NativeFile, magic: bytes, input_format: InputFormat, codec: str | None) -> Source:
    if input_format is InputFormat.PARQUET:
        return _parquet(file)
    if input_format is InputFormat.ARROW:
        if magic.startswith(_FEATHER_V1):
            raise pa.ArrowInvalid("Feather version 1 cannot be read; write it again with pyarrow.feather, version 2")
        return _arrow_file(file) if magic == _ARROW_FILE else _stream(pa.ipc.open_stream(file), file)
    stream = file if codec is None else pa.CompressedInputStream(file, codec)
    if input_format is InputFormat.JSON:
        from pyarrow import json

        return _stream(json.open_json(stream, json.ReadOptions(block_size=_BLOCK_SIZE)), file)
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter="\t" if input_format is InputFormat.TSV else ",")
    return _stream(csv.open_csv(stream, csv.ReadOptions(block_size=_BLOCK_SIZE), parse), file)


def _stream(reader: pa.RecordBatchReader, file: pa.NativeFile) -> Source:
    return Source(reader.schema, file.size(), ((batch, file.tell()) for batch in reader))


def _arrow_file(file: pa.NativeFile) -> Source:
    reader = pa.ipc.open_file(file)
    count = reader.num_record_batches
    return Source(reader.schema, count, ((reader.get_batch(number), number + 1) for number in range(count)))


def _parquet(file: pa.NativeFile) -> Source:
    from pyarrow import parquet

    reader = parquet.ParquetFile(file)

    def batches() -> Iterator[tuple[pa.RecordBatch, int]]:
        rows = 0
        for batch in reader.iter_batches(_BATCH_ROWS):
            rows += batch.num_rows
            yield batch, rows

    return Source(reader.schema_arrow, reader.metadata.num_rows, batches())


@dataclass(frozen=True, slots=True)
class Written:
    """A Parquet file. Sizes in bytes; ``decoded_size`` as its footer tells it, None if that does not.

    ``explanation``: how its columns are encoded.
    """

    path: Path
    num_rows: int
    row_groups: int
    file_size: int
    decoded_size: int | None
    explanation: Explanation


def convert(source: Source, output: Path, options: Mapping[str, Any], on_progress: Callable[[int], None]) -> Written:
    """Write a source to a Parquet file.

    ``options`` are those of ``ParquetWriter``, with lists of texts for those in ``PER_COLUMN`` (see
    ``writer_options``). Raises ``UnsupportedTypeError`` that names all columns of types that cannot be written.
    """
    _check_types(source.schema)
    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output.parent))
    with ParquetWriter(output, source.schema, **writer_options(options, source.schema)) as writer:
        for batch, done in source.batches:
            writer.write_batch(batch)
            on_progress(done)
    on_progress(source.total)
    footer = writer.metadata
    decoded = decoded_size(footer, stored_schema(source.schema))
    size = output.stat().st_size
    return Written(output, footer.num_rows, len(footer.row_groups), size, decoded, writer.explain())


def _check_types(schema: pa.Schema) -> None:
    wrong = [f"{path} ({found})" for field in schema for path, found in _unsupported(field, field.name)]
    if wrong:
        what = "a column" if len(wrong) == 1 else f"{len(wrong)} columns"
        raise UnsupportedTypeError(f"{', '.join(wrong)}: {what} of a type that cannot be written yet")


def _unsupported(field: pa.Field, path: str) -> list[tuple[str, pa.DataType]]:
    """Paths and types of what cannot be written: the field, or of a struct the members that are at fault."""
    try:
        parquet_schema(stored_schema(pa.schema([field])))
    except UnsupportedTypeError:
        members = children(field.type) if pa.types.is_struct(field.type) else []
        wrong = [item for child in members for item in _unsupported(child, f"{path}.{child.name}")]
        return wrong or [(path, field.type)]
    return []


def writer_options(given: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Options as the command line has them, as ``ParquetWriter`` takes them.

    A text "column=value" holds for that column; one without "=" for all others. Columns with a ``column_encoding`` get
    no dictionary, unless that is "auto" or ``use_dictionary`` is given too.
    """
    options = dict(given)
    for name, default in PER_COLUMN.items():
        if name in given:
            # There are no Bloom filters of booleans.
            fields = [f for f in schema if name != "bloom_filter_options" or not pa.types.is_boolean(f.type)]
            options[name] = _per_column(name, given[name], default, [field.name for field in fields])
    encoding = options.get("column_encoding")
    if encoding is not None and "use_dictionary" not in given:
        by_name = encoding if isinstance(encoding, dict) else dict.fromkeys(schema.names, encoding)
        paths = [column.dotted_path for column in parquet_schema(stored_schema(schema)).columns]
        options["use_dictionary"] = [path for path in paths if _encoding_of(path, by_name).upper() == AUTO]
    return options


def _encoding_of(path: str, by_name: Mapping[str, str]) -> str:
    """The ``column_encoding`` of a leaf, by the longest name of it or an ancestor; "auto" allows what none allows."""
    while path and path not in by_name:
        path = path.rpartition(".")[0]
    return by_name.get(path, AUTO)


def _per_column(option: str, texts: Sequence[str], default: Any, columns: Sequence[str]) -> Any:
    parse = _PARSERS.get(option, _as_it_is)
    by_column: dict[str, Any] = {}
    for text in texts:
        column, equals, value = text.rpartition("=")
        if equals:
            by_column[column] = parse(option, value)
        else:
            default = parse(option, value)
    if not by_column and not isinstance(default, dict):
        return default
    # The name of a whole column is the shortest that its leaves have, so that any other name goes before it.
    others = {} if default is None else dict.fromkeys(columns, default)
    return others | by_column


def _parse_int(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidOptionError(f"{option}: expected an integer, found {text!r}") from None


def _as_it_is(option: str, text: str) -> str:
    return text


def _parse_rows(option: str, text: str) -> list[int]:
    return [_parse_int(option, row) for row in text.split(",")]


def _parse_fpp(option: str, text: str) -> dict[str, float]:
    try:
        return {"fpp": float(text)}
    except ValueError:
        raise InvalidOptionError(f"{option}: expected a number above 0 and below 1, found {text!r}") from None


# What the texts of an option say, where they are no values yet.
_PARSERS: dict[str, Callable[[str, str], Any]] = {
    "compression_level": _parse_int,
    "page_boundaries": _parse_rows,
    "bloom_filter_options": _parse_fpp,
}
