"""The document of ``colwriter.inspection``, for a terminal."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from colwriter.display import count, new_table, plural, printable, size

__all__ = ["render"]

_BAR_WIDTH = 20
_BOUND_WIDTH = 24
_DATA_PAGES = ("DATA_PAGE", "DATA_PAGE_V2")

Document = dict[str, Any]


def render(name: str, document: Document) -> Iterator[RenderableType]:
    """The file, its row groups, its columns over all row groups shown, and the pages if the document has them."""
    yield _file(name, document)
    groups, columns = document["row_groups"], document["columns"]
    if not groups:
        return
    yield _row_groups(document)
    yield ""
    chunks = [[group["columns"][number] for group in groups] for number in range(len(columns))]
    yield _columns(columns, chunks)
    for column, of_column in zip(columns, chunks, strict=True):
        yield _column(column, of_column)
    for group in groups:
        for column, chunk in zip(columns, group["columns"], strict=True):
            if "offset_index" in chunk:
                yield _pages(f"row group {group['row_group']}, {printable(column['path'])}", chunk)


def _file(name: str, document: Document) -> RenderableType:
    pairs = document["key_value_metadata"] or []
    found = [f"{printable(pair['key'])} ({size(len(pair['value'] or ''))})" for pair in pairs]
    lines = [
        f"{plural(document['num_rows'], 'row')}, format version {document['version']}",
        f"created_by: {printable(document['created_by'] or 'absent')}",
        f"key_value_metadata: {', '.join(found) or 'absent'}",
    ]
    return Group(Text(printable(name), style="bold"), *(f"  {line}" for line in lines), "")


def _row_groups(document: Document) -> Table:
    table = new_table("Row groups", (), ("row group", "rows", "in the file", "uncompressed", "decoded"), ("sorted by",))
    paths = {column["column_idx"]: printable(column["path"]) for column in document["columns"]}
    for group in document["row_groups"]:
        keys = [
            f"{paths.get(key['column_idx'], 'column ' + str(key['column_idx']))}{' descending' * key['descending']}"
            for key in group["sorting_columns"] or []
        ]
        sizes = group["total_compressed_size"], group["total_byte_size"], group["decoded_size"]
        table.add_row(f"{group['row_group']}", count(group["num_rows"]), *map(_size, sizes), ", ".join(keys) or "–")
    return table


def _size(num_bytes: int | None) -> str:
    return "–" if num_bytes is None else size(num_bytes)


def _columns(columns: Sequence[Document], chunks: Sequence[Sequence[Document]]) -> Table:
    table = new_table("Columns", ("path",), ("values", "nulls", "pages", "in the file", "uncompressed"))
    for column, of_column in zip(columns, chunks, strict=True):
        metadata = [chunk["meta_data"] for chunk in of_column]
        if None in metadata:
            table.add_row(printable(column["path"]), "encrypted")
            continue
        table.add_row(
            printable(column["path"]),
            count(_sum([found["num_values"] for found in metadata])),
            count(_sum([found["statistics"] and found["statistics"]["null_count"] for found in metadata])),
            count(_sum([_num_pages(found) for found in metadata])),
            _size(_sum([found["total_compressed_size"] for found in metadata])),
            _size(_sum([found["total_uncompressed_size"] for found in metadata])),
        )
    return table


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _data_pages(metadata: Document) -> list[Document]:
    return [stats for stats in metadata["encoding_stats"] or [] if stats["page_type"] in _DATA_PAGES]


def _num_pages(metadata: Document) -> int | None:
    pages = _data_pages(metadata)
    return sum(stats["count"] for stats in pages) if pages else None


def _value_encodings(metadata: Document) -> list[str | int]:
    """Encodings of the data pages; where the footer does not tell them apart, all."""
    return [stats["encoding"] for stats in _data_pages(metadata)] or metadata["encodings"]


def _column(column: Document, chunks: Sequence[Document]) -> RenderableType:
    """What the footer knows of one column: statistics of a single chunk, and histograms summed over all chunks."""
    metadata = [chunk["meta_data"] or {} for chunk in chunks]
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    alignment: list[JustifyMethod] = ["right", "left", "right", "right", "left"]
    for justify in alignment:
        table.add_column(justify=justify)
    sizes = [found.get("size_statistics") for found in metadata]
    for name in ("repetition_level", "definition_level"):
        histograms = [found and found[f"{name}_histogram"] for found in sizes]
        if all(histograms):
            counts = [sum(level) for level in zip(*histograms, strict=True)]
            _add_histogram(table, f"{name}_histogram", column[f"{name}s"], counts)
    codecs = dict.fromkeys(str(found["codec"]) for found in metadata if found)
    encodings = dict.fromkeys(str(encoding) for found in metadata if found for encoding in _value_encodings(found))
    lines = [f"{column['type']}, codec {', '.join(codecs)}, encodings {', '.join(encodings)}", *_statistics(metadata)]
    value_bytes = _sum([found and found["unencoded_byte_array_data_bytes"] for found in sizes])
    if value_bytes is not None:
        lines.append(f"unencoded_byte_array_data_bytes: {value_bytes:,}")
    bloom_filters = [found["bloom_filter_length"] for found in metadata if found.get("bloom_filter_length")]
    if bloom_filters:
        lines.append(f"Bloom filters: {len(bloom_filters)}, {size(sum(bloom_filters))}")
    absent = _absent(chunks)
    if absent:
        lines.append(f"absent: {', '.join(absent)}")
    title = Text(printable(column["path"]), style="bold")
    return Group("", title, *(f"  {line}" for line in lines), *[Padding(table, (0, 0, 0, 2))] * (table.row_count > 0))


def _add_histogram(table: Table, title: str, names: Sequence[str], counts: Sequence[int]) -> None:
    table.add_row("", Text(title, style="dim"))
    total = sum(counts)
    for level, (name, number) in enumerate(zip(names, counts, strict=True)):
        share = number / total if total else 0
        bar = Text("█" * max(round(_BAR_WIDTH * share), int(number > 0)), style="cyan")
        table.add_row(f"{level}", printable(name), count(number), f"{share:.1%}", bar)


def _statistics(metadata: Sequence[Document]) -> Iterator[str]:
    if len(metadata) != 1 or not metadata[0].get("statistics"):
        return
    statistics = metadata[0]["statistics"]
    for name, old_name in (("min_value", "min"), ("max_value", "max")):
        if statistics[name] is not None:
            shortened = " (shortened)" if statistics[f"is_{name}_exact"] is False else ""
            yield f"{name}: {_shown(statistics[name], 80)}{shortened}"
        elif statistics[old_name] is not None:
            yield f"{old_name}: {_shown(statistics[old_name], 80)}"
    if statistics["distinct_count"] is not None:
        yield f"distinct_count: {statistics['distinct_count']:,}"


def _absent(chunks: Sequence[Document]) -> list[str]:
    """What some chunk does not hold, by the names of the specification."""
    found = {
        "statistics": all((chunk["meta_data"] or {}).get("statistics") for chunk in chunks),
        "size_statistics": all((chunk["meta_data"] or {}).get("size_statistics") for chunk in chunks),
        "column_index": all(chunk["column_index_offset"] is not None for chunk in chunks),
        "offset_index": all(chunk["offset_index_offset"] is not None for chunk in chunks),
    }
    return [name for name, present in found.items() if not present]


def _shown(value: Any, width: int = _BOUND_WIDTH) -> str:
    """A bound, cut to ``width`` characters; bytes in hexadecimal digits."""
    if isinstance(value, dict):
        text = f"0x{base64.b64decode(value['base64']).hex()}"
    else:
        text = printable(value) if isinstance(value, str) else str(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _pages(title: str, chunk: Document) -> RenderableType:
    column_index, offset_index = chunk["column_index"], chunk["offset_index"]
    if offset_index is None:
        return Group("", Text(title, style="bold"), "  no offset_index: the file does not tell where its pages are")
    locations = offset_index["page_locations"]
    index = column_index or {}
    order = f", boundary_order {column_index['boundary_order']}" if column_index else ", no column_index"
    numbers = ("page", "first row", "offset", "bytes", "value bytes", "nulls")
    pages = new_table(f"\n{title}: {plural(len(locations), 'page')}{order}", (), numbers, ("min", "max"))
    value_bytes = offset_index["unencoded_byte_array_data_bytes"]
    for number, location in enumerate(locations):
        pages.add_row(
            f"{number}",
            count(location["first_row_index"]),
            count(location["offset"]),
            count(location["compressed_page_size"]),
            count(_item(value_bytes, number)),
            count(_item(index.get("null_counts"), number)),
            *(_bound(index, name, number) for name in ("min_values", "max_values")),
        )
    histograms = index.get("repetition_level_histograms"), index.get("definition_level_histograms")
    if histograms == (None, None):
        return Group(pages, "\n  no level histograms of pages")
    levels = new_table("", (), ("page",), ("repetition_level_histogram", "definition_level_histogram"))
    for number in range(len(locations)):
        levels.add_row(f"{number}", *(_levels(_item(found, number)) for found in histograms))
    return Group(pages, "", levels)


def _item(values: Sequence[Any] | None, number: int) -> Any:
    return None if values is None else values[number]


def _bound(index: Document, name: str, number: int) -> str:
    value = _item(index.get(name), number)
    return "–" if value is None else _shown(value)


def _levels(counts: Sequence[int] | None) -> str:
    return "–" if counts is None else "  ".join(f"{level}: {number:,}" for level, number in enumerate(counts))
