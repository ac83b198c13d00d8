"""A Parquet file decoded from its bytes: footer, every page of every column chunk, page indexes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from naive.encodings import (
    BIT_PACKED,
    BYTE_ARRAY,
    RLE,
    Decoded,
    Malformed,
    decode_values,
    hybrid,
    plain,
)
from naive.shred import Leaf
from naive.thrift import decode

MAGIC = b"PAR1"
DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)
REQUIRED, OPTIONAL, REPEATED = range(3)
CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


@dataclass(frozen=True, slots=True)
class Column:
    """A leaf of the schema."""

    path: tuple[str, ...]
    element: dict[str, Any]
    max_definition_level: int
    max_repetition_level: int

    @property
    def physical_type(self) -> int:
        return int(self.element["type"])

    @property
    def type_length(self) -> int:
        return int(self.element.get("type_length", 0))

    def leaf(self, repetition_levels: list[int], definition_levels: list[int], values: list[Any]) -> Leaf:
        """A shredded leaf of this column."""
        return Leaf(
            ".".join(self.path),
            self.max_definition_level,
            self.max_repetition_level,
            self.physical_type == BYTE_ARRAY,
            definition_levels,
            repetition_levels,
            values,
        )


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the file holds it, and what is in it; a dictionary page has no levels.

    `offset` is that of the header in the file; `body` is as stored; `problems` are what a reader forgives.
    """

    header: dict[str, Any]
    offset: int
    header_size: int
    body: bytes
    leaf: Leaf
    problems: tuple[str, ...]

    @property
    def end(self) -> int:
        return self.offset + self.header_size + len(self.body)

    @property
    def data_header(self) -> dict[str, Any]:
        """The header of the page's own kind."""
        kinds = ("data_page_header", "dictionary_page_header", "data_page_header_v2")
        return next(self.header[kind] for kind in kinds if kind in self.header)

    @property
    def encoding(self) -> int:
        return int(self.data_header["encoding"])


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column chunk: its ColumnChunk struct, its pages in the order of the file and its page index."""

    column: Column
    metadata: dict[str, Any]
    dictionary: Page | None
    pages: tuple[Page, ...]
    column_index: dict[str, Any] | None
    offset_index: dict[str, Any] | None

    @property
    def all_pages(self) -> tuple[Page, ...]:
        """The dictionary page, if there is one, and the data pages."""
        return (self.dictionary, *self.pages) if self.dictionary else self.pages

    @property
    def leaf(self) -> Leaf:
        """The whole column chunk as one leaf."""
        repetition_levels = [level for page in self.pages for level in page.leaf.repetition_levels]
        definition_levels = [level for page in self.pages for level in page.leaf.definition_levels]
        values = [value for page in self.pages for value in page.leaf.values]
        return self.column.leaf(repetition_levels, definition_levels, values)


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file: its bytes, FileMetaData, where that starts, leaf columns and chunks by row group."""

    data: bytes
    footer: dict[str, Any]
    footer_offset: int
    columns: tuple[Column, ...]
    row_groups: tuple[tuple[Chunk, ...], ...]


def read_file(data: bytes) -> File:
    """Decode a whole file. Raises Malformed where the bytes are not what the format says."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise Malformed("no PAR1 at both ends")
    footer_length = int.from_bytes(data[-8:-4], "little")
    footer_offset = len(data) - 8 - footer_length
    if footer_offset < 4:
        raise Malformed(f"footer of {footer_length} bytes in a file of {len(data)}")
    footer, end = decode(data, "FileMetaData", footer_offset)
    if end != len(data) - 8:
        raise Malformed(f"{len(data) - 8 - end} bytes between FileMetaData and its length")
    columns = tuple(leaf_columns(footer["schema"]))
    row_groups = []
    for group in footer["row_groups"]:
        if len(group["columns"]) != len(columns):
            raise Malformed(f"row group of {len(group['columns'])} chunks, schema of {len(columns)} leaves")
        chunks = zip(columns, group["columns"], strict=True)
        row_groups.append(tuple(_read_chunk(data, column, chunk) for column, chunk in chunks))
    return File(data, footer, footer_offset, columns, tuple(row_groups))


def leaf_columns(schema: list[dict[str, Any]]) -> list[Column]:
    """The leaves of a flattened schema, depth first, with their maximum levels."""
    leaves: list[Column] = []

    def visit(at: int, path: tuple[str, ...], definition_level: int, repetition_level: int) -> int:
        element = schema[at]
        if at > 0:
            repetition = element.get("repetition_type")
            if repetition not in (REQUIRED, OPTIONAL, REPEATED):
                raise Malformed(f"{element['name']}: repetition_type is {repetition}")
            path += (element["name"],)
            definition_level += repetition != REQUIRED
            repetition_level += repetition == REPEATED
        if ("type" in element) == ("num_children" in element):
            raise Malformed(f"{element['name']}: neither a leaf nor a group")
        if "type" in element:
            leaves.append(Column(path, element, definition_level, repetition_level))
            return at + 1
        at += 1
        for _ in range(element["num_children"]):
            at = visit(at, path, definition_level, repetition_level)
        return at

    if visit(0, (), 0, 0) != len(schema):
        raise Malformed("schema elements after the last child of the root")
    return leaves


def _read_chunk(data: bytes, column: Column, chunk: dict[str, Any]) -> Chunk:
    meta = chunk["meta_data"]
    if tuple(meta["path_in_schema"]) != column.path or meta["type"] != column.physical_type:
        raise Malformed(f"{column.path}: chunk of {meta['path_in_schema']}, type {meta['type']}")
    dictionary: Page | None = None
    pages: list[Page] = []
    for page in _pages(data, column, meta):
        if page.header["type"] == DICTIONARY_PAGE:
            if dictionary or pages:
                raise Malformed(f"{column.path}: dictionary page at {page.offset} is not the first page")
            dictionary = page
        else:
            pages.append(page)
    return Chunk(
        column,
        chunk,
        dictionary,
        tuple(pages),
        _index(data, chunk, "column_index", "ColumnIndex"),
        _index(data, chunk, "offset_index", "OffsetIndex"),
    )


def _index(data: bytes, chunk: dict[str, Any], field: str, struct_name: str) -> dict[str, Any] | None:
    start, length = chunk.get(f"{field}_offset"), chunk.get(f"{field}_length")
    if start is None and length is None:
        return None
    if start is None or length is None:
        raise Malformed(f"{field}: offset {start}, length {length}")
    index, end = decode(data, struct_name, start)
    if end != start + length:
        raise Malformed(f"{field}: {length} bytes in the footer, {end - start} in the file")
    return index


def chunk_start(meta: dict[str, Any]) -> int:
    """Where the first page of a column chunk is."""
    return int(meta.get("dictionary_page_offset", meta["data_page_offset"]))


def _pages(data: bytes, column: Column, meta: dict[str, Any]) -> Iterator[Page]:
    at = chunk_start(meta)
    end = at + meta["total_compressed_size"]
    dictionary: list[Any] | None = None
    while at < end:
        header, body_at = decode(data, "PageHeader", at)
        body = data[body_at : body_at + header["compressed_page_size"]]
        if len(body) != header["compressed_page_size"] or body_at + len(body) > end:
            raise Malformed(f"{column.path}: page at {at} runs past the end of its chunk")
        if "crc" in header and header["crc"] & 0xFFFFFFFF != zlib.crc32(body):
            raise Malformed(f"{column.path}: checksum of the page at {at} is wrong")
        page = Page(header, at, body_at - at, body, column.leaf([], [], []), ())
        if header["type"] == DICTIONARY_PAGE:
            page = _dictionary_page(page, column, meta["codec"])
            dictionary = page.leaf.values
        elif header["type"] == DATA_PAGE:
            page = _data_page(page, column, meta["codec"], dictionary)
        elif header["type"] == DATA_PAGE_V2:
            page = _data_page_v2(page, column, meta["codec"], dictionary)
        else:
            raise Malformed(f"{column.path}: page at {at} is of type {header['type']}")
        yield page
        at = page.end


def _decompress(body: bytes, codec: int, size: int) -> bytes:
    if codec == 0 or not (body or size):
        out = body
    elif codec in CODECS:
        out = pa.Codec(CODECS[codec]).decompress(body, size, asbytes=True)
    else:
        raise Malformed(f"codec {codec} is not supported here")
    if len(out) != size:
        raise Malformed(f"page of {size} bytes decompresses to {len(out)}")
    return out


def _dictionary_page(page: Page, column: Column, codec: int) -> Page:
    header = page.header["dictionary_page_header"]
    data = _decompress(page.body, codec, page.header["uncompressed_page_size"])
    decoded = plain(data, column.physical_type, column.type_length, header["num_values"])
    problems = (f"{len(data) - decoded.end} bytes after the dictionary",) if decoded.end < len(data) else ()
    return replace(page, leaf=column.leaf([], [], decoded.values), problems=problems)


def _data_page(page: Page, column: Column, codec: int, dictionary: list[Any] | None) -> Page:
    header = page.header["data_page_header"]
    data = _decompress(page.body, codec, page.header["uncompressed_page_size"])
    repetition = _levels_v1(data, column.max_repetition_level, header, "repetition_level_encoding")
    data = data[repetition.end :]
    definition = _levels_v1(data, column.max_definition_level, header, "definition_level_encoding")
    return _with_values(page, column, (repetition, definition), data[definition.end :], dictionary)


def _levels_v1(data: bytes, max_level: int, header: dict[str, Any], encoding_field: str) -> Decoded:
    count = header["num_values"]
    if max_level == 0:
        return Decoded([0] * count, 0)
    if header[encoding_field] != RLE:
        raise Malformed(f"{encoding_field} is {header[encoding_field]}, not RLE (BIT_PACKED is {BIT_PACKED})")
    length = int.from_bytes(data[:4], "little")
    if 4 + length > len(data):
        raise Malformed(f"levels of {length} bytes in a page of {len(data)}")
    return replace(_levels(data[4 : 4 + length], max_level, count), end=4 + length)


def _data_page_v2(page: Page, column: Column, codec: int, dictionary: list[Any] | None) -> Page:
    header = page.header["data_page_header_v2"]
    repetition_end = header["repetition_levels_byte_length"]
    definition_end = repetition_end + header["definition_levels_byte_length"]
    size = page.header["uncompressed_page_size"] - definition_end
    if definition_end > len(page.body) or size < 0:
        raise Malformed(f"levels of {definition_end} bytes in a page of {len(page.body)}")
    count = header["num_values"]
    levels = (
        _levels(page.body[:repetition_end], column.max_repetition_level, count),
        _levels(page.body[repetition_end:definition_end], column.max_definition_level, count),
    )
    codec = codec if header.get("is_compressed", True) else 0
    values = _decompress(page.body[definition_end:], codec, size)
    return _with_values(page, column, levels, values, dictionary)


def _levels(data: bytes, max_level: int, count: int) -> Decoded:
    decoded = hybrid(data, max_level.bit_length(), count) if max_level else Decoded([0] * count, 0)
    if max(decoded.values, default=0) > max_level:
        raise Malformed(f"level {max(decoded.values)} in a column whose maximum is {max_level}")
    if not max_level and data:
        raise Malformed(f"{len(data)} bytes of levels for a maximum level of 0")
    return decoded


def _with_values(
    page: Page, column: Column, levels: tuple[Decoded, Decoded], data: bytes, dictionary: list[Any] | None
) -> Page:
    repetition, definition = levels
    count = definition.values.count(column.max_definition_level)
    decoded = decode_values(data, page.encoding, column.physical_type, column.type_length, count, dictionary)
    leaf = column.leaf(repetition.values, definition.values, decoded.values)
    return replace(page, leaf=leaf, problems=repetition.problems + definition.problems + decoded.problems)
