"""From the columns of a table to the column chunks of its row groups, side by side in threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from colwriter.arena import Arena
from colwriter.column_writer import EncodedChunk, encode_column_chunk
from colwriter.encoding_choice import Choices
from colwriter.errors import InvalidDataError
from colwriter.file_plan import FilePlan, TopField
from colwriter.levels import LeafColumn
from colwriter.options import ColumnOptions
from colwriter.parallel import in_order
from colwriter.shredding import shred
from colwriter.stored import as_stored

__all__ = ["RowGroupEncoder"]

# Rows of a row group from which threads pay: to hand work over takes some fifty microseconds.
THREADED_ROWS = 1 << 15
# Bytes, besides those of a row group, that column chunks of row groups ahead may be made from.
EARLY_BYTES = 24 << 20


@dataclass(slots=True)
class RowGroupEncoder:
    """The row groups of a table, of ``size`` rows each but the last.

    ``first_group`` and ``first_row``: how many row groups and rows the file has before.
    """

    plan: FilePlan
    choices: Choices
    table: pa.Table
    size: int
    first_group: int
    first_row: int

    def group_sizes(self) -> list[int]:
        """Rows of each row group."""
        return [min(self.size, self.table.num_rows - start) for start in range(0, self.table.num_rows, self.size)]

    def columns(self) -> Iterator[list[EncodedChunk]]:
        """The column chunks of each top-level column, of one row group after another.

        What is made for one is valid until the next is asked for. Threads work ahead, in the next row groups too.
        """
        width, groups = self.table.num_columns, -(-self.table.num_rows // self.size)
        count = width * groups
        threads = self.plan.options.max_threads if min(self.size, self.table.num_rows) >= THREADED_ROWS else 1
        # A column chunk that is alone has threads of its own.
        helpers = threads if count == 1 else 1
        columns: list[Any] = self.table.columns
        costs = [column.nbytes // groups for column in columns] if threads > 1 and count > 1 else []

        def encode(number: int, arena: Arena) -> list[EncodedChunk]:
            group, i = divmod(number, width)
            first_row = self.first_row + group * self.size
            leaves = zip(self._leaves(columns[i], group, i, arena, helpers), self.plan.fields[i].options, strict=True)
            return [
                encode_column_chunk(
                    leaf,
                    self.plan.options,
                    column
                    if column.encoding_goal is None
                    else self._chosen(leaf, column, columns[i], group, i, k, arena),
                    arena,
                    helpers,
                    first_row,
                )
                for k, (leaf, column) in enumerate(leaves)
            ]

        return in_order(encode, count, threads, lambda number: costs[number % width], sum(costs) + EARLY_BYTES)

    def _leaves(
        self, column: pa.ChunkedArray, group: int, i: int, arena: Arena, threads: int = 1
    ) -> Iterator[LeafColumn]:
        """The leaves of top-level column ``i`` in a row group."""
        top = self.plan.fields[i]
        rows = column if self.size >= len(column) else column.slice(group * self.size, self.size)
        array = _contiguous(rows, top, self.plan.options.dictionary_pagesize_limit)
        return shred(array, top.field, top.descriptors, arena, threads)

    def _chosen(
        self,
        leaf: LeafColumn,
        options: ColumnOptions,
        column: pa.ChunkedArray,
        group: int,
        i: int,
        k: int,
        arena: Arena,
    ) -> ColumnOptions:
        """The options of leaf ``k`` of top-level column ``i``, with encodings chosen from the data."""

        def leaf_of(row_group: int) -> LeafColumn:
            return next(islice(self._leaves(column, row_group - self.first_group, i, arena), k, None))

        return self.choices.applied(leaf, options, self.first_group + group, leaf_of, arena)


def _contiguous(column: pa.ChunkedArray, top: TopField, limit: int) -> pa.Array:
    """The column of a row group as one array, checked as far as that is cheap."""
    field = top.field
    column = as_stored(column, field, top.keep_codes, limit)
    try:
        chunks: list[pa.Array] = column.chunks
        for chunk in chunks:
            chunk.validate()
        if len(chunks) == 1:
            return chunks[0]
        array = column.combine_chunks()
        if not isinstance(array, pa.ChunkedArray):
            return array
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        raise InvalidDataError(f"{field.name}: the array is not valid Arrow: {error}") from error
    raise InvalidDataError(
        f"{field.name}: a row group of {field.type} holds at most 2 GiB, found more; write fewer rows in a row group, "
        "or a large_ type"
    )
