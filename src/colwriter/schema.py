"""Arrow schema to Parquet schema: ``SchemaElement``s depth first, and a descriptor for each leaf (LogicalTypes.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from colwriter.errors import UnsupportedTypeError
from colwriter.leaf_types import LeafType, TypeOptions, leaf_type
from colwriter.metadata import ConvertedType, Empty, FieldRepetitionType, LogicalType, SchemaElement, Type
from colwriter.thrift import keep

__all__ = ["ColumnDescriptor", "ParquetSchema", "children", "is_list", "parquet_schema"]

DEFAULT_TYPES = TypeOptions()
FIELD_ID = b"PARQUET:field_id"
# Levels are kept, and packed, in eight bits.
MAX_LEVEL = 255


@dataclass(frozen=True, slots=True)
class ColumnDescriptor:
    """A leaf column: its place in the schema and the largest levels that it can have."""

    path: tuple[str, ...]
    leaf: LeafType
    max_definition_level: int
    max_repetition_level: int

    @property
    def dotted_path(self) -> str:
        """The path as options and errors spell it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class ParquetSchema:
    """The schema of a file, both as the footer holds it and as the writer uses it.

    ``field_ends``: the number of leaf columns up to the end of each top-level field.
    """

    elements: tuple[SchemaElement, ...]
    columns: tuple[ColumnDescriptor, ...]
    field_ends: tuple[int, ...]

    def leaves(self, field: int) -> range:
        """The numbers of the leaf columns of a top-level field."""
        return range(self.field_ends[field - 1] if field else 0, self.field_ends[field])


def is_list(arrow_type: pa.DataType) -> bool:
    """Whether the type becomes a LIST group."""
    return bool(
        pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type) or pa.types.is_fixed_size_list(arrow_type)
    )


def children(arrow_type: pa.DataType) -> list[pa.Field]:
    """The fields below a nested type, as Arrow stores them."""
    return [arrow_type.field(i) for i in range(arrow_type.num_fields)]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a field stands: its path, and the levels of a value that is defined down to its parent."""

    path: tuple[str, ...]
    definition: int
    repetition: int
    compliant: bool
    types: TypeOptions

    def below(self, name: str, definition: int, repetition: int = 0) -> _Place:
        levels = self.definition + definition, self.repetition + repetition
        return _Place((*self.path, name), *levels, self.compliant, self.types)


def parquet_schema(
    schema: pa.Schema, use_compliant_nested_type: bool = True, types: TypeOptions = DEFAULT_TYPES
) -> ParquetSchema:
    """The Parquet schema of ``schema``; ``UnsupportedTypeError`` with the path of a field that cannot be written.

    The element of a list is called ``element``, as LogicalTypes.md asks, or with ``use_compliant_nested_type`` false as
    its Arrow field. ``types`` chooses among the types that a leaf may have.
    """
    elements = [SchemaElement(name="schema", num_children=len(schema))]
    columns: list[ColumnDescriptor] = []
    root = _Place((), 0, 0, use_compliant_nested_type, types)
    field_ends = []
    for field in schema:
        for part in _field(field, root):
            (elements if isinstance(part, SchemaElement) else columns).append(part)  # type: ignore[arg-type]
        field_ends.append(len(columns))
    return ParquetSchema(keep(elements), tuple(columns), tuple(field_ends))


def _field(field: pa.Field, parent: _Place, name: str | None = None) -> Iterator[SchemaElement | ColumnDescriptor]:
    name = field.name if name is None else name
    optional = FieldRepetitionType.OPTIONAL if field.nullable else FieldRepetitionType.REQUIRED
    place = parent.below(name, int(field.nullable))
    field_id = _field_id(field, place)
    arrow_type = field.type
    leaf = leaf_type(arrow_type, place.types)
    if leaf is not None:
        if place.definition > MAX_LEVEL:
            raise UnsupportedTypeError(
                f"{'.'.join(place.path)}: nested too deep: at most {MAX_LEVEL} definition levels can be written, "
                f"found {place.definition}"
            )
        yield SchemaElement(
            name=name,
            type=leaf.physical_type,
            type_length=leaf.type_length if leaf.physical_type is Type.FIXED_LEN_BYTE_ARRAY else None,
            repetition_type=optional,
            converted_type=leaf.converted_type,
            scale=leaf.scale,
            precision=leaf.precision,
            logicalType=leaf.logical_type,
            field_id=field_id,
        )
        yield ColumnDescriptor(place.path, leaf, place.definition, place.repetition)
    elif is_list(arrow_type):
        yield SchemaElement(
            name=name,
            repetition_type=optional,
            num_children=1,
            converted_type=ConvertedType.LIST,
            logicalType=LogicalType(LIST=Empty()),
            field_id=field_id,
        )
        yield SchemaElement(name="list", repetition_type=FieldRepetitionType.REPEATED, num_children=1)
        element = "element" if place.compliant else arrow_type.value_field.name
        yield from _field(arrow_type.value_field, place.below("list", 1, 1), element)
    elif pa.types.is_map(arrow_type):
        yield SchemaElement(
            name=name,
            repetition_type=optional,
            num_children=1,
            converted_type=ConvertedType.MAP,
            logicalType=LogicalType(MAP=Empty()),
            field_id=field_id,
        )
        yield SchemaElement(name="key_value", repetition_type=FieldRepetitionType.REPEATED, num_children=2)
        entry = place.below("key_value", 1, 1)
        yield from _field(arrow_type.key_field, entry, "key" if place.compliant else None)
        yield from _field(arrow_type.item_field, entry, "value" if place.compliant else None)
    elif pa.types.is_struct(arrow_type) and arrow_type.num_fields > 0:
        yield SchemaElement(name=name, repetition_type=optional, num_children=arrow_type.num_fields, field_id=field_id)
        for child in children(arrow_type):
            yield from _field(child, place)
    else:
        raise UnsupportedTypeError(
            f"{'.'.join(place.path)}: cannot write Arrow type {arrow_type}, for which Parquet has no form"
        )


def _field_id(field: pa.Field, place: _Place) -> int | None:
    value = (field.metadata or {}).get(FIELD_ID)
    if value is None:
        return None
    try:
        field_id = int(value)
    except ValueError:
        field_id = 1 << 31
    if not -(1 << 31) <= field_id < 1 << 31:
        raise UnsupportedTypeError(
            f"{'.'.join(place.path)}: field metadata PARQUET:field_id must be an integer of 32 bits, found {value!r}"
        )
    return field_id
