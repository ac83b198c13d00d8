"""The memory that a file needs once it is decoded, told by its footer alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from colwriter.metadata import ColumnMetaData, FileMetaData, Leaf, SizeStatistics, Type, leaf_levels

__all__ = ["decoded_size"]


def decoded_size(metadata: FileMetaData, schema: pa.Schema, row_groups: Iterable[int] | None = None) -> int | None:
    """Bytes of the Arrow buffers that the row groups, by default all, become when they are read as ``schema``.

    Row groups are taken to become one array a column, and each nullable field to have a validity bitmap, which a
    reader may leave out where there are no nulls. None where the footer does not tell, because size statistics are
    absent, or because the memory of a type does not follow from them (dictionaries and views).
    """
    numbers = range(len(metadata.row_groups)) if row_groups is None else row_groups
    groups = [metadata.row_groups[number] for number in numbers]
    leaves: list[_Leaf] = []
    for number, leaf in enumerate(leaf_levels(metadata.schema)):
        found = _sum([group.columns[number].meta_data for group in groups], leaf)
        if found is None:
            return None
        leaves.append(found)
    leaves.reverse()  # the next one is the last
    length = sum(group.num_rows for group in groups)
    total = 0
    for field in schema:
        for part in _buffers(field, length, 0, 0, leaves):
            if part is None:
                return None
            total += part
    return total


@dataclass(frozen=True, slots=True)
class _Leaf:
    """How often each level of a leaf is met, and the bytes of its byte arrays."""

    repetition: Sequence[int]
    definition: Sequence[int]
    value_bytes: int

    def entries(self, definition: int, lists: int) -> int:
        """Entries of the array that lies in ``lists`` lists: each starts at a level up to that, and is defined so far.

        Levels above ``lists`` go on with a list deeper inside, so they are always defined so far, and can be taken off.
        """
        return sum(self.definition[definition:]) - sum(self.repetition[lists + 1 :])


def _sum(chunks: Sequence[ColumnMetaData | None], leaf: Leaf) -> _Leaf | None:
    repetition = [0] * (leaf.max_repetition_level + 1)
    definition = [0] * (leaf.max_definition_level + 1)
    value_bytes = 0
    for chunk in chunks:
        counts = None if chunk is None else _counts(chunk, leaf)
        if counts is None:
            return None
        repetition = [a + b for a, b in zip(repetition, counts.repetition, strict=True)]
        definition = [a + b for a, b in zip(definition, counts.definition, strict=True)]
        value_bytes += counts.value_bytes
    return _Leaf(repetition, definition, value_bytes)


def _counts(chunk: ColumnMetaData, leaf: Leaf) -> _Leaf | None:
    """What a chunk counts. A histogram that a writer may leave out follows (parquet.thrift, SizeStatistics)."""
    size = chunk.size_statistics or SizeStatistics()
    repetition: Sequence[int] | None = size.repetition_level_histogram
    definition: Sequence[int] | None = size.definition_level_histogram
    value_bytes = size.unencoded_byte_array_data_bytes if leaf.element.type is Type.BYTE_ARRAY else 0
    nulls = None if chunk.statistics is None else chunk.statistics.null_count
    if repetition is None and leaf.max_repetition_level == 0:
        repetition = (chunk.num_values,)
    if definition is None and leaf.max_definition_level == 0:
        definition = (chunk.num_values,)
    if definition is None and leaf.max_definition_level == 1 and nulls is not None:
        definition = (nulls, chunk.num_values - nulls)
    if repetition is None or definition is None or value_bytes is None:
        return None
    if (len(repetition), len(definition)) != (leaf.max_repetition_level + 1, leaf.max_definition_level + 1):
        return None
    return _Leaf(repetition, definition, value_bytes)


def _buffers(field: pa.Field, length: int, definition: int, lists: int, leaves: list[_Leaf]) -> Iterator[int | None]:
    """Sizes of the buffers of a field whose array has ``length`` entries; None for one that is not known."""
    arrow_type = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    if field.nullable:
        definition += 1
        yield 0 if pa.types.is_null(arrow_type) else _bitmap(length)
    if pa.types.is_struct(arrow_type):
        for child in _children(arrow_type):
            yield from _buffers(child, length, definition, lists, leaves)
    elif pa.types.is_nested(arrow_type):
        if not leaves or pa.types.is_union(arrow_type):
            yield None
            return
        if pa.types.is_fixed_size_list(arrow_type):
            length *= arrow_type.list_size
        else:
            yield (length + 1) * (8 if pa.types.is_large_list(arrow_type) else 4)
            length = leaves[-1].entries(definition + 1, lists + 1)
        for child in _children(arrow_type):
            yield from _buffers(child, length, definition + 1, lists + 1, leaves)
    else:
        yield _values(arrow_type, length, leaves.pop()) if leaves else None


def _children(arrow_type: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(arrow_type):
        return [arrow_type.key_field, arrow_type.item_field]
    return [arrow_type.field(number) for number in range(arrow_type.num_fields)]


def _values(arrow_type: Any, length: int, leaf: _Leaf) -> int | None:
    if pa.types.is_string(arrow_type) or pa.types.is_binary(arrow_type):
        return (length + 1) * 4 + leaf.value_bytes
    if pa.types.is_large_string(arrow_type) or pa.types.is_large_binary(arrow_type):
        return (length + 1) * 8 + leaf.value_bytes
    if pa.types.is_null(arrow_type):
        return 0
    if pa.types.is_dictionary(arrow_type):
        return None
    try:
        bits: int = length * arrow_type.bit_width
    except ValueError:
        return None
    return -(-bits // 8)


def _bitmap(length: int) -> int:
    return -(-length // 8)
