"""Metadata as bytes: a stream that grows, a size that is found out first, and bytes that are kept.

``python -m benchmarks.footer --shape "1000 x 10"`` prints the times.

``stream`` is ``thrift.encode``, which appends to a bytearray. ``sized`` encodes once for the size, and again into a
buffer of that size. ``kept`` encodes once, keeps the bytes of each struct, and copies them into such a buffer.
``writer`` is what the writer does: column metadata are encoded when a row group is written, and put together with the
places of their indexes at the end; ``close`` is that end alone. ``pyarrow`` is ``write_metadata_file`` of the same
footer, which it holds as structs of C++. The ``floor`` is a copy of the bytes.

Page headers are those of as many pages, key-value metadata of as many keys, as a row group has columns; the writer
encodes page headers with one kernel call. ``closing`` is ``close`` of a whole file: page indexes and footer.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import colwriter
from benchmarks.common import QUICK, PairedTimes, Ratio, axis, chosen, paired_medians
from colwriter import kernels
from colwriter import metadata as md
from colwriter.footer import IndexPlaces, encode_column_chunks
from colwriter.framing import _header
from colwriter.kernels.page_table import BODY, COLUMNS, END, HEADER, LEVEL, MAX_HEADER, STORED_END
from colwriter.thrift import EncodedStructs, encode

FOOTER, HEADERS, KEYS = KINDS = ("footer", "page headers", "key values")
# Of a whole file.
CLOSING = "closing"
# Columns and row groups.
SHAPES = ("10 x 1", "10 x 10", "1000 x 1", "1000 x 10", "10000 x 1", "10000 x 10")
STREAM, SIZED, KEPT, WRITER, CLOSE, PYARROW, FLOOR = (
    *("stream", "sized", "kept", "writer", "close", "pyarrow", "floor"),
)
ROUNDS = 2 if QUICK else 7

Write = Callable[[], Any]


# Data


def _column(number: int, group: int) -> md.ColumnChunk:
    """An int64 column with a dictionary and its page index, as the writer describes it."""
    offset = 4 + 10_000 * (group * 10_000 + number)
    metadata = md.ColumnMetaData(
        type=md.Type.INT64,
        encodings=(md.Encoding.PLAIN, md.Encoding.RLE, md.Encoding.RLE_DICTIONARY),
        path_in_schema=(f"column {number}",),
        codec=md.CompressionCodec.SNAPPY,
        num_values=20_000 + number,
        total_uncompressed_size=30_000 + number,
        total_compressed_size=9_000 + number,
        data_page_offset=offset + 700,
        dictionary_page_offset=offset,
        statistics=md.Statistics(
            null_count=number,
            min_value=struct.pack("<q", number),
            max_value=struct.pack("<q", number << 40),
            is_min_value_exact=True,
            is_max_value_exact=True,
        ),
        encoding_stats=(
            md.PageEncodingStats(md.PageType.DICTIONARY_PAGE, md.Encoding.PLAIN, 1),
            md.PageEncodingStats(md.PageType.DATA_PAGE, md.Encoding.RLE_DICTIONARY, 1),
        ),
        size_statistics=md.SizeStatistics(definition_level_histogram=(number, 20_000)),
    )
    place = (1 << 40) + 100 * (group * 10_000 + number)
    return md.ColumnChunk(
        meta_data=metadata,
        offset_index_offset=place + (1 << 30),
        offset_index_length=20,
        column_index_offset=place,
        column_index_length=40,
    )


def build_footer(columns: int, groups: int) -> md.FileMetaData:
    """A footer of int64 columns."""
    leaves = (
        md.SchemaElement(name=f"column {i}", type=md.Type.INT64, repetition_type=md.FieldRepetitionType.OPTIONAL)
        for i in range(columns)
    )
    return md.FileMetaData(
        version=1,
        schema=(md.SchemaElement(name="schema", num_children=columns), *leaves),
        num_rows=20_000 * groups,
        row_groups=tuple(
            md.RowGroup(tuple(_column(i, group) for i in range(columns)), 1 << 30, 20_000, ordinal=group)
            for group in range(groups)
        ),
        created_by="benchmark",
        column_orders=(md.ColumnOrder(TYPE_ORDER=md.Empty()),) * columns,
    )


def build_headers(count: int) -> list[md.PageHeader]:
    """Headers of dictionary pages of 20 000 values."""
    inner = md.DataPageHeader(20_000, md.Encoding.RLE_DICTIONARY, md.Encoding.RLE, md.Encoding.RLE)
    return [md.PageHeader(md.PageType.DATA_PAGE, 30_000 + i, 9_000 + i, data_page_header=inner) for i in range(count)]


def build_keys(count: int) -> list[md.KeyValue]:
    """Keys and values of some twenty letters."""
    return [md.KeyValue(f"the key of number {i}", f"the value of number {i}") for i in range(count)]


# Ways to encode structs, one after another


def stream(structs: Sequence[Any]) -> bytearray:
    """Into a bytearray that grows."""
    out = bytearray()
    for value in structs:
        out += encode(value)
    return out


def sized(structs: Sequence[Any]) -> bytearray:
    """Once for the size, and again into its place."""
    out = bytearray(sum(len(encode(value)) for value in structs))
    position = 0
    for value in structs:
        data = encode(value)
        out[position : position + len(data)] = data
        position += len(data)
    return out


def kept(structs: Sequence[Any]) -> bytearray:
    """Once, and the bytes into their place."""
    parts = list(map(encode, structs))
    out = bytearray(sum(map(len, parts)))
    position = 0
    for data in parts:
        out[position : position + len(data)] = data
        position += len(data)
    return out


# Ways to encode a footer


def with_chunks(footer: md.FileMetaData, encode_chunks: Callable[[Sequence[Any]], Any]) -> bytes:
    """The footer, its column chunks encoded by a function."""
    groups = []
    for group in footer.row_groups:
        chunks: Any = EncodedStructs(len(group.columns), encode_chunks(group.columns))
        groups.append(md.RowGroup(chunks, group.total_byte_size, group.num_rows, ordinal=group.ordinal))
    return encode(_with_groups(footer, groups))


def _with_groups(footer: md.FileMetaData, groups: Sequence[md.RowGroup]) -> md.FileMetaData:
    return md.FileMetaData(
        footer.version,
        footer.schema,
        footer.num_rows,
        tuple(groups),
        created_by=footer.created_by,
        column_orders=footer.column_orders,
    )


def encoded_metadata(footer: md.FileMetaData) -> list[list[bytes]]:
    """What the writer has of each row group before the end of the file."""
    return [[encode(chunk.meta_data) for chunk in group.columns] for group in footer.row_groups]


def index_places(footer: md.FileMetaData) -> list[IndexPlaces]:
    """Where the page indexes of each row group lie."""
    names = ("offset_index_offset", "offset_index_length", "column_index_offset", "column_index_length")
    return [
        IndexPlaces(*([getattr(chunk, name) for chunk in group.columns] for name in names))
        for group in footer.row_groups
    ]


def close(footer: md.FileMetaData, metadata: list[list[bytes]], places: list[IndexPlaces]) -> bytes:
    """What is left for the end of the file."""
    groups = []
    for group, of_group, its_places in zip(footer.row_groups, metadata, places, strict=True):
        chunks: Any = encode_column_chunks(of_group, its_places)
        groups.append(md.RowGroup(chunks, group.total_byte_size, group.num_rows, ordinal=group.ordinal))
    return encode(_with_groups(footer, groups))


def make_pyarrow(footer: bytes) -> Write:
    """pyarrow's own structs of the footer, encoded."""
    file = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    metadata = pq.read_metadata(pa.BufferReader(file))

    def write() -> pa.Buffer:
        sink = pa.BufferOutputStream()
        metadata.write_metadata_file(sink)
        return sink.getvalue()

    return write


def make_kernel(structs: list[md.PageHeader]) -> Write:
    """Page headers by one kernel call, each at the end of its room."""
    count = len(structs)
    header = _header(1, False, md.Encoding.RLE_DICTIONARY)
    num_values = [h.data_page_header.num_values for h in structs]  # type: ignore[union-attr]
    table = np.zeros((count + 1, COLUMNS), np.int64)
    np.cumsum(num_values, out=table[1:, LEVEL])
    bodies = MAX_HEADER * np.arange(1, count + 1)
    table[:-1, BODY] = bodies
    table[:-1, END] = bodies + [h.uncompressed_page_size for h in structs]
    table[:-1, STORED_END] = bodies + [h.compressed_page_size for h in structs]
    out = np.empty(bodies[-1], np.uint8)

    def write() -> bytes:
        kernels.compact.write_page_headers(*header, False, table, out)
        return out[table[0, HEADER] : bodies[0]].tobytes()

    return write


def make_floor(data: bytes) -> Write:
    """A copy into memory in use."""
    source = np.frombuffer(data, np.uint8)
    return partial(np.copyto, np.zeros_like(source), source)


def make_ways(kind: str, shape: str) -> dict[str, Write]:
    """Ways to encode the same metadata."""
    columns, groups = map(int, shape.split(" x "))
    if kind != FOOTER:
        structs: list[Any] = build_headers(columns) if kind == HEADERS else build_keys(columns)
        ways: dict[str, Write] = {way.__name__: partial(way, structs) for way in (stream, sized, kept)}
        if kind == HEADERS:
            ways[WRITER] = make_kernel(structs)
        return ways | {FLOOR: make_floor(bytes(stream(structs)))}
    footer = build_footer(columns, groups)
    metadata, places = encoded_metadata(footer), index_places(footer)
    data = encode(footer)
    return {
        STREAM: partial(encode, footer),
        SIZED: partial(with_chunks, footer, sized),
        KEPT: partial(with_chunks, footer, kept),
        WRITER: lambda: close(footer, encoded_metadata(footer), places),
        CLOSE: partial(close, footer, metadata, places),
        PYARROW: make_pyarrow(data),
        FLOOR: make_floor(data),
    }


def measure(kind: str, shape: str, rounds: int = ROUNDS) -> tuple[list[str], PairedTimes]:
    """Names of the ways, and their times."""
    ways = make_ways(kind, shape)
    number = max(1, 1000 // int(shape.split()[0]) // int(shape.split()[2]))
    return list(ways), paired_medians(list(ways.values()), rounds, number=number, warmups=1)


class Ratios:
    """Time of a way over that of ``stream``."""

    unit = "ratio"
    timeout = 900
    param_names = ("kind", "shape", "way")
    params = (list(KINDS), axis(*SHAPES[:4], *(() if QUICK else SHAPES[4:])), [SIZED, KEPT, WRITER, CLOSE, PYARROW])

    def setup_cache(self) -> dict[tuple[str, ...], Ratio]:
        found = {}
        for kind, shape in product(*self.params[:2]):
            names, times = measure(kind, shape)
            for i, name in enumerate(names):
                found[kind, shape, name] = times.ratio(i)
        return found

    def setup(self, ratios: dict[tuple[str, ...], Ratio], *key: str) -> None:
        if key not in ratios:
            raise NotImplementedError(f"{key[0]}: {key[2]} is a way to encode footers")

    def track_to_stream(self, ratios: dict[tuple[str, ...], Ratio], *key: str) -> float:
        return ratios[key].median

    def track_to_stream_iqr(self, ratios: dict[tuple[str, ...], Ratio], *key: str) -> float:
        return ratios[key].iqr


def measure_closing(shape: str, rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds that ``close`` of a file takes, which writes page indexes and footer: medians of ours and pyarrow's."""
    columns, groups = map(int, shape.split(" x "))
    table = pa.table({f"column {i}": pa.array([None, *range(1, 10)], pa.int64()) for i in range(columns)})
    times: dict[str, list[float]] = {}
    for _ in range(rounds + 1):
        for module in (colwriter, pq):
            writer = module.ParquetWriter(
                pa.BufferOutputStream(), table.schema, store_schema=False, write_page_index=True
            )
            for _ in range(groups):
                writer.write_table(table)
            start = time.perf_counter()
            writer.close()
            times.setdefault(module.__name__, []).append(time.perf_counter() - start)
    return {name: float(np.median(of_all[1:])) for name, of_all in times.items()}


def main() -> None:
    """Print the times."""
    arguments = chosen(__doc__, kind=(*KINDS, CLOSING), shape=SHAPES)
    rounds = min(arguments.rounds, ROUNDS)
    for kind, shape in product(arguments.kind, arguments.shape):
        if kind == CLOSING:
            if not shape.startswith("10000"):  # takes a second for each 10 000 column chunks
                row = "  ".join(f"{name} {t * 1e3:.4g}" for name, t in measure_closing(shape, rounds).items())
                print(f"{kind:<12} {shape:<10} ms: {row}", flush=True)
            continue
        if kind != FOOTER and not shape.endswith(" x 1"):
            continue
        names, times = measure(kind, shape, rounds)
        row = "  ".join(f"{name} {seconds * 1e3:.4g}" for name, seconds in zip(names, times.medians, strict=True))
        print(f"{kind:<12} {shape:<10} ms: {row}", flush=True)


if __name__ == "__main__":
    main()
