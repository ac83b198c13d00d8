"""From the columns of a table to the column chunks of its row groups, side by side in threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from colwriter.arena import Arena, give_arena_back, take_arena
from colwriter.column_writer import EncodedChunk, encode_column_chunk, encode_single_pages
from colwriter.encoding_choice import Choices
from colwriter.encodings.dictionary import find_repeats
from colwriter.errors import InvalidDataError
from colwriter.file_plan import TOGETHER, FilePlan, TopField
from colwriter.levels import LeafColumn
from colwriter.options import ColumnOptions
from colwriter.parallel import in_order
from colwriter.shredding import shred
from colwriter.stored import as_stored

__all__ = ["RowGroupEncoder"]

# Rows of a row group from which threads pay: to hand work over takes some fifty microseconds.
THREADED_ROWS = 1 << 15
# Row groups of at most so many rows have columns of a kind among so many neighbours encoded together: what is done once
# for a column chunk takes longer than its data then. See docs/performance.md.
TOGETHER_ROWS = 1 << 10
# Bytes that are brought together for that, at most.
TOGETHER_BYTES = 8 << 20
WINDOW = 256
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
        costs = [column.nbytes // groups for column in self.table.columns] if threads > 1 and count > 1 else []

        def encode(number: int, arena: Arena) -> list[EncodedChunk]:
            return self._encode(number // width, number % width, arena, helpers)

        if count > 1 and min(self.size, self.table.num_rows) <= TOGETHER_ROWS and self.plan.kinds:
            return self._together(groups)
        return in_order(encode, count, threads, lambda number: costs[number % width], sum(costs) + EARLY_BYTES)

    def _together(self, groups: int) -> Iterator[list[EncodedChunk]]:
        """As ``columns``, of small row groups: columns of a kind, among ``WINDOW`` neighbours, are encoded together."""
        width = self.table.num_columns
        for group in range(groups):
            for first in range(0, width, WINDOW):
                window = range(first, min(first + WINDOW, width))
                arena = take_arena()
                try:
                    done = self._encode_kinds(group, window, arena)
                    mark = arena.mark()
                    for i in window:
                        yield done[i] if i in done else self._encode(group, i, arena)
                        arena.give_back(mark)
                finally:
                    give_arena_back(arena)

    def _encode_kinds(self, group: int, window: range, arena: Arena) -> dict[int, list[EncodedChunk]]:
        """The columns of a window that can be encoded together with others."""
        members: dict[int, list[int]] = {}
        for i in window:
            kind = self.plan.kinds[i]
            if kind is not None:
                members.setdefault(kind, []).append(i)
        done: dict[int, list[EncodedChunk]] = {}
        for columns in members.values():
            arrays = [(i, self._array(group, i)) for i in columns]
            # Arrays of codes, and nulls where none may be, are left to the one that knows of them.
            kept = [(i, array) for i, array in arrays if self._is_plain(i, array)]
            if len(kept) >= TOGETHER and sum(array.nbytes for _, array in kept) <= TOGETHER_BYTES:
                with suppress(InvalidDataError):  # of which column, tells the one that encodes them one by one
                    done |= self._encode_kind(kept, arena)
        return done

    def _is_plain(self, i: int, array: pa.Array) -> bool:
        field = self.plan.fields[i].field
        return bool(array.type.id == field.type.id and (field.nullable or array.null_count == 0))

    def _encode_kind(self, columns: list[tuple[int, pa.Array]], arena: Arena) -> dict[int, list[EncodedChunk]]:
        """Columns of a kind: those that need no dictionary, and no more than a page."""
        numbers = [i for i, _ in columns]
        arrays = [array for _, array in columns]
        rows = len(arrays[0])
        top = self.plan.fields[numbers[0]]
        (options,) = top.options
        (leaf,) = shred(pa.concat_arrays(arrays), top.field, top.descriptors, arena)
        if (leaf.offsets[1:] < leaf.offsets[:-1]).any():  # a value might run on into the next column
            return {}
        if options.use_dictionary:
            repeats = find_repeats(leaf, rows, arena)
            if any(repeats):
                rest = [column for column, repeated in zip(columns, repeats, strict=True) if not repeated]
                if len(rest) < TOGETHER:
                    return {}
                numbers = [i for i, _ in rest]
                (leaf,) = shred(pa.concat_arrays([array for _, array in rest]), top.field, top.descriptors, arena)
        descriptors = [self.plan.fields[i].descriptors[0] for i in numbers]
        chunks = encode_single_pages(leaf, descriptors, self.plan.options, options, arena)
        return {} if chunks is None else {i: [chunk] for i, chunk in zip(numbers, chunks, strict=True)}

    def _encode(self, group: int, i: int, arena: Arena, helpers: int = 1) -> list[EncodedChunk]:
        """The column chunks of top-level column ``i`` in a row group, by ``helpers`` threads."""
        first_row = self.first_row + group * self.size
        leaves = zip(self._leaves(group, i, arena, helpers), self.plan.fields[i].options, strict=True)
        return [
            encode_column_chunk(
                leaf,
                self.plan.options,
                column if column.encoding_goal is None else self._chosen(leaf, column, group, i, k, arena),
                arena,
                helpers,
                first_row,
            )
            for k, (leaf, column) in enumerate(leaves)
        ]

    def _array(self, group: int, i: int) -> pa.Array:
        """Top-level column ``i`` of a row group."""
        column = self.table.column(i)
        rows = column if self.size >= len(column) else column.slice(group * self.size, self.size)
        return _contiguous(rows, self.plan.fields[i], self.plan.options.dictionary_pagesize_limit)

    def _leaves(self, group: int, i: int, arena: Arena, threads: int = 1) -> Iterator[LeafColumn]:
        """The leaves of top-level column ``i`` in a row group."""
        top = self.plan.fields[i]
        return shred(self._array(group, i), top.field, top.descriptors, arena, threads)

    def _chosen(
        self, leaf: LeafColumn, options: ColumnOptions, group: int, i: int, k: int, arena: Arena
    ) -> ColumnOptions:
        """The options of leaf ``k`` of top-level column ``i``, with encodings chosen from the data."""

        def leaf_of(row_group: int) -> LeafColumn:
            return next(islice(self._leaves(row_group - self.first_group, i, arena), k, None))

        return self.choices.applied(leaf, options, self.first_group + group, leaf_of, arena)


def _contiguous(column: pa.ChunkedArray, top: TopField, limit: int) -> pa.Array:
    """The column of a row group as one array, checked as far as that is cheap."""
    field = top.field
    column = as_stored(column, field, top.keep_codes, limit)
    try:
        chunks: list[pa.Array] = column.chunks
        for chunk in chunks:
            chunk.validate()
            if chunk.offset < 0:
                raise InvalidDataError(
                    f"{field.name}: the array is not valid Arrow: expected an offset of 0 or more, found {chunk.offset}"
                )
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
