"""Every invariant of the format that can be seen in a file, asserted."""

from __future__ import annotations

import re
from typing import Any

from naive.bloom import bitset_of, plain_bytes
from naive.encodings import PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY
from naive.index import check_column_index, check_offset_index
from naive.order import Order, order_of
from naive.reader import DATA_PAGE, DATA_PAGE_V2, Chunk, File, chunk_start, read_file
from naive.rules import SIZE_FIELDS, Rules, equal, require
from naive.shred import Leaf, size_statistics
from naive.thrift import decode

CREATED_BY = re.compile(r"\S.* version \S+ \(build \S+\)")
# ConvertedType that must stand beside a LogicalType, for those that do not depend on its parameters.
CONVERTED_TYPES = {"STRING": 0, "MAP": 1, "LIST": 3, "ENUM": 4, "DECIMAL": 5, "DATE": 6, "JSON": 19}
INTEGER_CONVERTED_TYPES = {(8, False): 11, (16, False): 12, (32, False): 13, (64, False): 14}
INTEGER_CONVERTED_TYPES |= {(8, True): 15, (16, True): 16, (32, True): 17, (64, True): 18}


def check_file(
    data: bytes,
    level: str = "PageAndColumnChunk",
    *,
    peer: bool = False,
    page_index: bool = True,
    statistics: bool = True,
) -> File:
    """Assert that a file keeps the invariants of the format, and give it back decoded.

    `level` ("None", "ColumnChunk", "PageAndColumnChunk") says which size statistics must be there and which
    must not. `page_index` and `statistics` say whether the writer was asked for them. `peer` forgives the
    habits of other writers: empty lists in place of absent ones, V2 pages counted as V1 in encoding_stats,
    a short created_by, a boundary order that says less than is true.
    Raises AssertionError, or Malformed for bytes that do not decode.
    """
    file = read_file(data)
    check(file, Rules(level, peer, page_index, statistics))
    return file


def check(file: File, rules: Rules) -> None:
    """Assert that what a decoded file says of itself is true of its pages."""
    _check_footer(file, rules)
    orders = [order_of(column, order) for column, order in zip(file.columns, file.footer["column_orders"], strict=True)]
    for i, (group, chunks) in enumerate(zip(file.footer["row_groups"], file.row_groups, strict=True)):
        try:
            _check_row_group(group, i, chunks, rules)
            for chunk, order in zip(chunks, orders, strict=True):
                _check_chunk(chunk, group["num_rows"], order, rules)
                _check_bloom_filter(chunk, file.data)
        except AssertionError as error:
            error.add_note(f"in row group {i}")
            raise
    _check_regions(file)


def _check_footer(file: File, rules: Rules) -> None:
    footer = file.footer
    require(footer["version"] in (1, 2), f"version is {footer['version']}")
    rows = sum(group["num_rows"] for group in footer["row_groups"])
    equal(footer["num_rows"], rows, "num_rows of the file")
    equal(len(footer.get("column_orders", [])), len(file.columns), "length of column_orders")
    created_by = footer.get("created_by", "")
    require(rules.peer or bool(CREATED_BY.fullmatch(created_by)), f"created_by {created_by!r} does not parse")
    names = [".".join(column.path) for column in file.columns]
    equal(len(set(names)), len(names), "number of distinct leaf paths")
    for element in footer["schema"]:
        for logical, parameters in element.get("logicalType", {}).items():
            expected = CONVERTED_TYPES.get(logical)
            if logical == "INTEGER":
                expected = INTEGER_CONVERTED_TYPES[parameters["bitWidth"], parameters["isSigned"]]
            if expected is not None:
                equal(element.get("converted_type"), expected, f"converted_type of {element['name']}")


def _check_row_group(group: dict[str, Any], ordinal: int, chunks: tuple[Chunk, ...], rules: Rules) -> None:
    metas = [chunk.metadata["meta_data"] for chunk in chunks]
    uncompressed = sum(meta["total_uncompressed_size"] for meta in metas)
    compressed = sum(meta["total_compressed_size"] for meta in metas)
    equal(group["total_byte_size"], uncompressed, "total_byte_size")
    what = "total_compressed_size of the row group"
    require(rules.peer or "total_compressed_size" in group, f"{what} is missing")
    equal(group.get("total_compressed_size", compressed), compressed, what)
    equal(group.get("ordinal", ordinal), ordinal, "ordinal")
    if metas and "file_offset" in group:
        equal(group["file_offset"], chunk_start(metas[0]), "file_offset of the row group")
    for sorting in group.get("sorting_columns", []):
        require(0 <= sorting["column_idx"] < len(chunks), f"no leaf {sorting['column_idx']} to sort by")


def _check_chunk(chunk: Chunk, num_rows: int, order: Order | None, rules: Rules) -> None:
    try:
        _check_pages(chunk, rules)
        _check_sizes(chunk)
        _check_encodings(chunk, rules)
        _check_counts(chunk, num_rows)
        meta = chunk.metadata["meta_data"]
        _check_statistics(meta.get("statistics"), chunk.leaf, order, rules)
        _check_size_statistics(meta, chunk, rules)
        check_offset_index(chunk, rules)
        check_column_index(chunk, order, rules)
    except AssertionError as error:
        error.add_note(f"in column {'.'.join(chunk.column.path)}")
        raise


def _check_pages(chunk: Chunk, rules: Rules) -> None:
    for page in chunk.all_pages:
        require(rules.peer or not page.problems, f"page at {page.offset}: {', '.join(page.problems)}")
    if chunk.dictionary:
        num_values = chunk.dictionary.data_header["num_values"]
        equal(num_values, len(chunk.dictionary.leaf.values), "num_values of the dictionary page")
    rows_stay_whole = not rules.peer or chunk.offset_index is not None
    for page in chunk.pages:
        leaf, header = page.leaf, page.data_header
        equal(header["num_values"], len(leaf.definition_levels), "num_values of the page")
        require(rules.peer or header["num_values"] > 0, f"page at {page.offset} is empty")
        if page.header["type"] == DATA_PAGE_V2:
            equal(header["num_nulls"], len(leaf.definition_levels) - len(leaf.values), "num_nulls")
            equal(header["num_rows"], leaf.repetition_levels.count(0), "num_rows of the page")
        if rows_stay_whole or page.header["type"] == DATA_PAGE_V2:
            equal(leaf.repetition_levels[:1], [0], f"first repetition level of the page at {page.offset}")


def _check_sizes(chunk: Chunk) -> None:
    meta = chunk.metadata["meta_data"]
    pages = chunk.all_pages
    headers = sum(page.header_size for page in pages)
    compressed = headers + sum(page.header["compressed_page_size"] for page in pages)
    uncompressed = headers + sum(page.header["uncompressed_page_size"] for page in pages)
    equal(meta["total_compressed_size"], compressed, "total_compressed_size")
    equal(meta["total_uncompressed_size"], uncompressed, "total_uncompressed_size")
    if chunk.pages:
        equal(meta["data_page_offset"], chunk.pages[0].offset, "data_page_offset")
    if chunk.dictionary:
        equal(meta.get("dictionary_page_offset"), chunk.dictionary.offset, "dictionary_page_offset")
    else:
        require("dictionary_page_offset" not in meta, "dictionary_page_offset without a dictionary page")
    require("file_path" not in chunk.metadata, "file_path is set")
    equal(chunk.metadata["file_offset"], 0, "deprecated file_offset of the column chunk")
    require("index_page_offset" not in meta, "index_page_offset is set")


def _check_encodings(chunk: Chunk, rules: Rules) -> None:
    meta = chunk.metadata["meta_data"]
    present = {page.encoding for page in chunk.all_pages}
    if chunk.column.max_definition_level and chunk.pages:
        present.add(RLE)
    listed = meta["encodings"]
    equal(len(set(listed)), len(listed), "number of distinct encodings")
    require(present <= set(listed) <= present | {RLE}, f"encodings {listed}, in the pages {sorted(present)}")
    counts: dict[tuple[int, int], int] = {}
    for page in chunk.all_pages:
        page_type = page.header["type"]
        if rules.peer and page_type == DATA_PAGE_V2:
            page_type = DATA_PAGE
        key = page_type, page.encoding
        counts[key] = counts.get(key, 0) + 1
    stats = meta.get("encoding_stats")
    require(rules.peer or not counts or stats is not None, "encoding_stats is missing")
    if stats is not None:
        equal({(s["page_type"], s["encoding"]): s["count"] for s in stats}, counts, "encoding_stats")
        equal(len(stats), len(counts), "length of encoding_stats")
    in_dictionary = [page for page in chunk.pages if page.encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY)]
    if not rules.peer:
        require(PLAIN_DICTIONARY not in present, "PLAIN_DICTIONARY is deprecated")
        require(bool(in_dictionary) or not chunk.dictionary, "no page uses the dictionary")
        require(not chunk.dictionary or chunk.dictionary.encoding == PLAIN, "dictionary page is not PLAIN")


def _check_counts(chunk: Chunk, num_rows: int) -> None:
    levels = [len(page.leaf.definition_levels) for page in chunk.pages]
    equal(chunk.metadata["meta_data"]["num_values"], sum(levels), "num_values of the column chunk")
    rows = sum(page.leaf.repetition_levels.count(0) for page in chunk.pages)
    equal(rows, num_rows, "rows of the column chunk")


def _check_statistics(stats: dict[str, Any] | None, leaf: Leaf, order: Order | None, rules: Rules) -> None:
    if stats is None:
        require(rules.peer or not rules.statistics or not leaf.definition_levels, "statistics are missing")
        return
    nulls = len(leaf.definition_levels) - len(leaf.values)
    require(rules.peer or "null_count" in stats, "null_count is missing")
    equal(stats.get("null_count", nulls), nulls, "null_count")
    distinct = stats.get("distinct_count")
    require(distinct is None or distinct == len(set(leaf.values)), f"distinct_count is {distinct}")
    extremes = order.extremes(leaf.values) if order else None
    if order is None or extremes is None:
        bounds = {"min", "max", "min_value", "max_value"} & set(stats)
        require(not bounds, f"{sorted(bounds)} of a column that has none")
        return
    require(rules.peer or {"min_value", "max_value"} <= set(stats), "min_value or max_value is missing")
    _check_bound(stats, "min", extremes[0], order)
    _check_bound(stats, "max", extremes[1], order)
    if order.is_float:
        nans = sum(order.is_nan(value) for value in leaf.values)
        require(rules.peer or "nan_count" in stats, "nan_count is missing")
        equal(stats.get("nan_count", nans), nans, "nan_count")
    else:
        require("nan_count" not in stats, "nan_count of a column without floating point")


def _check_bound(stats: dict[str, Any], side: str, extreme: Any, order: Order) -> None:
    stored = stats.get(f"{side}_value")
    if stored is None:
        return
    equal(stats.get(side, stored), stored, f"deprecated {side}")
    bound = order.bound(stored)
    exact = stats.get(f"is_{side}_value_exact")
    if exact or not order.may_shorten:
        equal(repr(bound), repr(extreme), f"exact {side}_value")
        require(not order.is_nan(bound) or order.key(bound) == order.key(extreme), f"{side}_value is another NaN")
        require(exact is not False, f"is_{side}_value_exact is false for a type that is never shortened")
    order.require_bound(side, bound, extreme)


def _check_size_statistics(meta: dict[str, Any], chunk: Chunk, rules: Rules) -> None:
    if rules.level == "None":
        require("size_statistics" not in meta, "size_statistics at level None")
        return
    expected = size_statistics(chunk.leaf)
    pages = [size_statistics(page.leaf) for page in chunk.pages]
    stated = meta.get("size_statistics", {})
    unknown = [field for field in stated if isinstance(field, int)]
    require(not unknown, f"size_statistics has fields {unknown}")
    for field in SIZE_FIELDS:
        want = expected[field] if chunk.pages else stated.get(field)
        rules.same_counts(stated.get(field), want, f"size_statistics.{field}")
        if want is None or not pages:
            continue
        total = (
            [sum(counts) for counts in zip(*(page[field] for page in pages), strict=True)]
            if isinstance(want, list)
            else sum(page[field] for page in pages)
        )
        equal(total, want, f"sum over the pages of {field}")


def _check_bloom_filter(chunk: Chunk, data: bytes) -> None:
    """A filter holds the bits of every value, and no other."""
    meta = chunk.metadata["meta_data"]
    if "bloom_filter_offset" not in meta:
        return
    header, at = decode(data, "BloomFilterHeader", meta["bloom_filter_offset"])
    size = header["numBytes"]
    require(size >= 32 and size & (size - 1) == 0, f"Bloom filter of {size} bytes")
    values = {plain_bytes(value, chunk.column.physical_type) for value in chunk.leaf.values}
    require(data[at : at + size] == bitset_of(values, size), f"Bloom filter of {'.'.join(chunk.column.path)}")


def _check_regions(file: File) -> None:
    """Chunks, bloom filters and indexes lie one after another and leave no byte of the file unexplained."""
    regions = []
    for chunk in (chunk for group in file.row_groups for chunk in group):
        meta = chunk.metadata["meta_data"]
        name = ".".join(chunk.column.path)
        regions.append((chunk_start(meta), meta["total_compressed_size"], f"pages of {name}"))
        for index in ("column_index", "offset_index"):
            if f"{index}_offset" in chunk.metadata:
                size = chunk.metadata[f"{index}_length"]
                regions.append((chunk.metadata[f"{index}_offset"], size, f"{index} of {name}"))
        if "bloom_filter_offset" in meta:
            start = meta["bloom_filter_offset"]
            header, end = decode(file.data, "BloomFilterHeader", start)
            size = end + header["numBytes"] - start
            equal(meta.get("bloom_filter_length", size), size, f"bloom_filter_length of {name}")
            regions.append((start, size, f"bloom filter of {name}"))
    starts = [start for start, _, what in regions if what.startswith("pages")]
    equal(starts, sorted(starts), "order of the column chunks")
    at = len(b"PAR1")
    for start, size, what in sorted(regions):
        equal(start, at, f"start of {what}")
        at = start + size
    equal(file.footer_offset, at, "start of the footer")
