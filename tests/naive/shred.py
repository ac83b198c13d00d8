"""Record shredding by the rules of the Dremel paper, and the size statistics of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

OPTIONAL = "optional"
REPEATED = "repeated"
# A step from a value to what lies under it in the schema: one of the two words above, or a getter.
Step = str | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf column: a definition and a repetition level per slot, and the values that are not null.

    Text is held as its UTF-8 bytes, the form in which Parquet stores it. A level list is full even where the
    maximum level is 0.
    """

    path: str
    max_definition_level: int
    max_repetition_level: int
    is_byte_array: bool
    definition_levels: list[int]
    repetition_levels: list[int]
    values: list[Any]


def size_statistics(leaf: Leaf) -> dict[str, Any]:
    """SizeStatistics of a leaf by parquet.thrift, with its maximum levels, number of slots and null count.

    A histogram is None where its maximum level is 0, the byte count where the type is not BYTE_ARRAY.
    """
    return {
        "max_repetition_level": leaf.max_repetition_level,
        "max_definition_level": leaf.max_definition_level,
        "num_values": len(leaf.definition_levels),
        "null_count": len(leaf.definition_levels) - len(leaf.values),
        "repetition_level_histogram": _histogram(leaf.repetition_levels, leaf.max_repetition_level),
        "definition_level_histogram": _histogram(leaf.definition_levels, leaf.max_definition_level),
        "unencoded_byte_array_data_bytes": sum(map(len, leaf.values)) if leaf.is_byte_array else None,
    }


def _histogram(levels: list[int], max_level: int) -> list[int] | None:
    return [levels.count(level) for level in range(max_level + 1)] if max_level else None


def shred(pa_type: pa.DataType, nullable: bool, rows: Iterable[Any], name: str = "column") -> list[Leaf]:
    """Levels and values of every leaf of a column, in the order of the file.

    `rows` are Python values as `Array.to_pylist` gives them; a map is a list of pairs. Paths follow the
    compliant naming of LogicalTypes.md: `list.element` and `key_value.key`.
    """
    rows = list(rows)
    return [_fill(leaf, steps, rows) for leaf, steps in _leaves(pa_type, nullable, (name,), ())]


def _leaves(
    pa_type: pa.DataType, nullable: bool, path: tuple[str, ...], steps: tuple[Step, ...]
) -> Iterator[tuple[Leaf, tuple[Step, ...]]]:
    """Every leaf under a field, still empty, with the steps that lead to its values."""
    pa_type = _storage(pa_type)
    if nullable:
        steps += (OPTIONAL,)
    if pa.types.is_struct(pa_type):
        for i in range(pa_type.num_fields):
            child = pa_type.field(i)
            yield from _leaves(child.type, child.nullable, (*path, child.name), (*steps, _member(child.name)))
    elif pa.types.is_map(pa_type):
        yield from _leaves(pa_type.key_type, False, (*path, "key_value", "key"), (*steps, REPEATED, _item(0)))
        value = pa_type.item_field
        value_path = (*path, "key_value", "value")
        yield from _leaves(value.type, value.nullable, value_path, (*steps, REPEATED, _item(1)))
    elif _is_list(pa_type):
        element = pa_type.value_field
        yield from _leaves(element.type, element.nullable, (*path, "list", "element"), (*steps, REPEATED))
    else:
        max_definition_level = sum(step in (OPTIONAL, REPEATED) for step in steps)
        is_byte_array = any(is_type(pa_type) for is_type in _BYTE_ARRAY_TYPES)
        yield (
            Leaf(".".join(path), max_definition_level, steps.count(REPEATED), is_byte_array, [], [], []),
            steps,
        )


def _fill(leaf: Leaf, steps: tuple[Step, ...], rows: list[Any]) -> Leaf:
    leaf = replace(leaf, definition_levels=[], repetition_levels=[], values=[])

    def emit(repetition_level: int, definition_level: int) -> None:
        leaf.repetition_levels.append(repetition_level)
        leaf.definition_levels.append(definition_level)

    def walk(value: Any, at: int, repetition_level: int, definition_level: int, depth: int) -> None:
        for i in range(at, len(steps)):
            step = steps[i]
            if step == OPTIONAL:
                if value is None:
                    return emit(repetition_level, definition_level)
                definition_level += 1
            elif step == REPEATED:
                if not value:
                    return emit(repetition_level, definition_level)
                for k, item in enumerate(value):
                    walk(item, i + 1, depth + 1 if k else repetition_level, definition_level + 1, depth + 1)
                return None
            else:
                assert callable(step)
                value = step(value)
        if value is None:
            raise ValueError(f"{leaf.path}: null in a required field")
        emit(repetition_level, definition_level)
        leaf.values.append(value.encode() if isinstance(value, str) else value)
        return None

    for row in rows:
        walk(row, 0, 0, 0, 0)
    return leaf


def _member(name: str) -> Callable[[Any], Any]:
    return lambda value: value[name]


def _item(index: int) -> Callable[[Any], Any]:
    return lambda pair: pair[index]


def _storage(pa_type: pa.DataType) -> pa.DataType:
    """The type that is shredded: what a dictionary, run-end or extension type holds."""
    while True:
        if isinstance(pa_type, pa.BaseExtensionType):
            pa_type = pa_type.storage_type
        elif pa.types.is_dictionary(pa_type) or pa.types.is_run_end_encoded(pa_type):
            pa_type = pa_type.value_type
        else:
            return pa_type


def _is_list(pa_type: pa.DataType) -> bool:
    return any(is_type(pa_type) for is_type in _LIST_TYPES)


_LIST_TYPES = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_BYTE_ARRAY_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
)
