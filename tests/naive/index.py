"""The page index of a column chunk against its pages (PageIndex.md, parquet.thrift)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from naive.order import Order
from naive.reader import Chunk
from naive.rules import Rules, equal, require
from naive.shred import size_statistics

UNORDERED, ASCENDING, DESCENDING = range(3)
BOUNDARY_ORDERS = ("UNORDERED", "ASCENDING", "DESCENDING")


def check_offset_index(chunk: Chunk, rules: Rules) -> None:
    """Location, first row and unencoded bytes of every page."""
    index = chunk.offset_index
    if index is None:
        require(rules.peer or not rules.page_index or not chunk.pages, "OffsetIndex is missing")
        return
    require(rules.page_index, "OffsetIndex that was not asked for")
    locations = []
    first_row = 0
    for page in chunk.pages:
        size = page.header_size + len(page.body)
        locations.append({"offset": page.offset, "compressed_page_size": size, "first_row_index": first_row})
        first_row += page.leaf.repetition_levels.count(0)
    equal(index["page_locations"], locations, "page_locations")
    rows = [location["first_row_index"] for location in locations]
    require(all(a < b for a, b in pairwise(rows)), f"first_row_index does not rise: {rows}")
    field = "unencoded_byte_array_data_bytes"
    expected = [size_statistics(page.leaf)[field] for page in chunk.pages]
    present = rules.level == "PageAndColumnChunk" and chunk.leaf.is_byte_array
    rules.same_counts(index.get(field), expected if present else None, f"OffsetIndex.{field}")


def check_column_index(chunk: Chunk, order: Order | None, rules: Rules) -> None:
    """Bounds, null counts, boundary order and histograms of every page."""
    index = chunk.column_index
    if index is None:
        expected = rules.page_index and rules.statistics and order is not None and bool(chunk.pages)
        require(rules.peer or not expected or _has_nan_page(chunk, order), "ColumnIndex is missing")
        return
    require(rules.page_index, "ColumnIndex that was not asked for")
    require(chunk.offset_index is not None, "ColumnIndex without OffsetIndex")
    assert order is not None, "ColumnIndex of a type without an order"
    require(not _has_nan_page(chunk, order), "ColumnIndex though all values of a page are NaN")
    pages = len(chunk.pages)
    for field in ("null_pages", "min_values", "max_values"):
        equal(len(index[field]), pages, f"length of ColumnIndex.{field}")
    leaves = [page.leaf for page in chunk.pages]
    nulls = [len(leaf.definition_levels) - len(leaf.values) for leaf in leaves]
    require(rules.peer or "null_counts" in index, "ColumnIndex.null_counts is missing")
    equal(index.get("null_counts", nulls), nulls, "ColumnIndex.null_counts")
    if order.is_float:
        nans = [sum(map(order.is_nan, leaf.values)) for leaf in leaves]
        equal(index.get("nan_counts", nans), nans, "ColumnIndex.nan_counts")
    equal(index["null_pages"], [not leaf.values for leaf in leaves], "ColumnIndex.null_pages")
    _check_bounds(index, chunk, order)
    _check_boundary_order(index, order, rules)
    _check_histograms(index, chunk, rules)


def _has_nan_page(chunk: Chunk, order: Order | None) -> bool:
    """Whether a page holds values and all of them are NaN, which TYPE_ORDER cannot bound."""
    if order is None or not order.is_float or order.name != "TYPE_ORDER":
        return False
    return any(page.leaf.values and all(map(order.is_nan, page.leaf.values)) for page in chunk.pages)


def _check_bounds(index: dict[str, Any], chunk: Chunk, order: Order) -> None:
    for i, page in enumerate(chunk.pages):
        least, most = index["min_values"][i], index["max_values"][i]
        extremes = order.extremes(page.leaf.values)
        if extremes is None:
            if not page.leaf.values:
                equal((least, most), (b"", b""), f"bounds of the null page {i}")
            continue
        for side, stored, extreme in (("min", least, extremes[0]), ("max", most, extremes[1])):
            bound = order.bound(stored)
            if not order.may_shorten:
                equal(repr(bound), repr(extreme), f"{side} of page {i}")
                require(not order.is_nan(bound) or order.key(bound) == order.key(extreme), f"{side} is another NaN")
            order.require_bound(side, bound, extreme)


def _check_boundary_order(index: dict[str, Any], order: Order, rules: Rules) -> None:
    """Without the null pages both lists are in the stated order; UNORDERED is only for lists in neither."""
    stated = index["boundary_order"]
    kept = [i for i, is_null in enumerate(index["null_pages"]) if not is_null]
    keys = [[order.key(order.bound(index[side][i])) for i in kept] for side in ("min_values", "max_values")]
    ascending = all(side == sorted(side) for side in keys)
    descending = all(side == sorted(side, reverse=True) for side in keys)
    fits = {UNORDERED: rules.peer or not kept or not (ascending or descending)}
    fits |= {ASCENDING: ascending, DESCENDING: descending}
    require(fits.get(stated, False), f"boundary_order {stated} ({BOUNDARY_ORDERS}) is not that of {keys}")


def _check_histograms(index: dict[str, Any], chunk: Chunk, rules: Rules) -> None:
    pages = [size_statistics(page.leaf) for page in chunk.pages]
    for kind in ("repetition", "definition"):
        field = f"{kind}_level_histogram"
        counts = [page[field] for page in pages]
        present = rules.level == "PageAndColumnChunk" and None not in counts
        expected = [count for page in counts for count in page] if present else None
        rules.same_counts(index.get(f"{field}s"), expected, f"ColumnIndex.{field}s")
