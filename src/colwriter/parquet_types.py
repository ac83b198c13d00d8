"""The enums, logical types and schema elements of ``parquet.thrift`` in apache/parquet-format."""

# ruff: noqa: N815 - the names are the specification's

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, NamedTuple

from colwriter.errors import CorruptFileError
from colwriter.thrift_types import I8, I32, ThriftUnion


class Type(IntEnum):
    """Physical types."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class ConvertedType(IntEnum):
    """Type annotations of old readers; written beside ``LogicalType`` where one corresponds."""

    UTF8 = 0
    MAP = 1
    MAP_KEY_VALUE = 2
    LIST = 3
    ENUM = 4
    DECIMAL = 5
    DATE = 6
    TIME_MILLIS = 7
    TIME_MICROS = 8
    TIMESTAMP_MILLIS = 9
    TIMESTAMP_MICROS = 10
    UINT_8 = 11
    UINT_16 = 12
    UINT_32 = 13
    UINT_64 = 14
    INT_8 = 15
    INT_16 = 16
    INT_32 = 17
    INT_64 = 18
    JSON = 19
    BSON = 20
    INTERVAL = 21


class FieldRepetitionType(IntEnum):
    """How often a field occurs in its parent: once, at most once, any number of times."""

    REQUIRED = 0
    OPTIONAL = 1
    REPEATED = 2


class Encoding(IntEnum):
    """Encodings of values and levels (Encodings.md)."""

    PLAIN = 0
    PLAIN_DICTIONARY = 2
    RLE = 3
    BIT_PACKED = 4
    DELTA_BINARY_PACKED = 5
    DELTA_LENGTH_BYTE_ARRAY = 6
    DELTA_BYTE_ARRAY = 7
    RLE_DICTIONARY = 8
    BYTE_STREAM_SPLIT = 9
    ALP = 10


class CompressionCodec(IntEnum):
    """Page compression (Compression.md)."""

    UNCOMPRESSED = 0
    SNAPPY = 1
    GZIP = 2
    LZO = 3
    BROTLI = 4
    LZ4 = 5
    ZSTD = 6
    LZ4_RAW = 7


class PageType(IntEnum):
    """What a page holds; selects the header struct in ``PageHeader``."""

    DATA_PAGE = 0
    INDEX_PAGE = 1
    DICTIONARY_PAGE = 2
    DATA_PAGE_V2 = 3


class BoundaryOrder(IntEnum):
    """Order of ``ColumnIndex.min_values`` and ``max_values``, null pages left out."""

    UNORDERED = 0
    ASCENDING = 1
    DESCENDING = 2


class EdgeInterpolationAlgorithm(IntEnum):
    """How edges of a GEOGRAPHY run between two points (Geospatial.md)."""

    SPHERICAL = 0
    VINCENTY = 1
    THOMAS = 2
    ANDOYER = 3
    KARNEY = 4


@dataclass(frozen=True, slots=True)
class Empty:
    """Any struct without fields (``StringType``, ``TypeDefinedOrder`` ...): its presence says it all."""


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Parameters of DECIMAL: the value is the stored integer times 10 to the power of -scale."""

    scale: Annotated[I32, 1]
    precision: Annotated[I32, 2]


@dataclass(frozen=True, slots=True, repr=False)
class TimeUnit(ThriftUnion):
    """Unit of TIME and TIMESTAMP."""

    MILLIS: Annotated[Empty | None, 1] = None
    MICROS: Annotated[Empty | None, 2] = None
    NANOS: Annotated[Empty | None, 3] = None


@dataclass(frozen=True, slots=True)
class TimestampType:
    """Parameters of TIMESTAMP."""

    isAdjustedToUTC: Annotated[bool, 1]
    unit: Annotated[TimeUnit, 2]


@dataclass(frozen=True, slots=True)
class TimeType:
    """Parameters of TIME."""

    isAdjustedToUTC: Annotated[bool, 1]
    unit: Annotated[TimeUnit, 2]


@dataclass(frozen=True, slots=True)
class IntType:
    """Parameters of INTEGER: 8, 16, 32 or 64 bits."""

    bitWidth: Annotated[I8, 1]
    isSigned: Annotated[bool, 2]


@dataclass(frozen=True, slots=True)
class VariantType:
    """Parameters of VARIANT."""

    specification_version: Annotated[I8 | None, 1] = None


@dataclass(frozen=True, slots=True)
class GeometryType:
    """Parameters of GEOMETRY; no crs means OGC:CRS84."""

    crs: Annotated[str | None, 1] = None


@dataclass(frozen=True, slots=True)
class GeographyType:
    """Parameters of GEOGRAPHY; no crs means OGC:CRS84, no algorithm SPHERICAL."""

    crs: Annotated[str | None, 1] = None
    algorithm: Annotated[EdgeInterpolationAlgorithm | None, 2] = None


@dataclass(frozen=True, slots=True, repr=False)
class LogicalType(ThriftUnion):
    """What the values of a physical type, or the children of a group, mean (LogicalTypes.md)."""

    STRING: Annotated[Empty | None, 1] = None
    MAP: Annotated[Empty | None, 2] = None
    LIST: Annotated[Empty | None, 3] = None
    ENUM: Annotated[Empty | None, 4] = None
    DECIMAL: Annotated[DecimalType | None, 5] = None
    DATE: Annotated[Empty | None, 6] = None
    TIME: Annotated[TimeType | None, 7] = None
    TIMESTAMP: Annotated[TimestampType | None, 8] = None
    INTEGER: Annotated[IntType | None, 10] = None
    UNKNOWN: Annotated[Empty | None, 11] = None
    JSON: Annotated[Empty | None, 12] = None
    BSON: Annotated[Empty | None, 13] = None
    UUID: Annotated[Empty | None, 14] = None
    FLOAT16: Annotated[Empty | None, 15] = None
    VARIANT: Annotated[VariantType | None, 16] = None
    GEOMETRY: Annotated[GeometryType | None, 17] = None
    GEOGRAPHY: Annotated[GeographyType | None, 18] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaElement:
    """A node of the schema tree, which is stored depth first; a leaf has a type, a group has num_children."""

    type: Annotated[Type | None, 1] = None
    type_length: Annotated[I32 | None, 2] = None
    repetition_type: Annotated[FieldRepetitionType | None, 3] = None
    name: Annotated[str, 4]
    num_children: Annotated[I32 | None, 5] = None
    converted_type: Annotated[ConvertedType | None, 6] = None
    scale: Annotated[I32 | None, 7] = None
    precision: Annotated[I32 | None, 8] = None
    field_id: Annotated[I32 | None, 9] = None
    logicalType: Annotated[LogicalType | None, 10] = None


class Leaf(NamedTuple):
    """A leaf of the schema: dotted path without the root, maximum levels, and its element."""

    path: str
    max_definition_level: int
    max_repetition_level: int
    element: SchemaElement


# Definition and repetition levels that a node adds to those of its parent (README.md, Nested Encoding).
_LEVELS: dict[int | None, tuple[int, int]] = {
    FieldRepetitionType.REQUIRED: (0, 0),
    FieldRepetitionType.OPTIONAL: (1, 0),
    FieldRepetitionType.REPEATED: (1, 1),
}
# Each path repeats the names above it, so that a small hostile footer could ask for very many characters.
_MAX_PATH_CHARACTERS = 1 << 26


def leaf_levels(schema: Sequence[SchemaElement]) -> list[Leaf]:
    """The leaves of a schema, in the order of the columns of a row group.

    Raises CorruptFileError when the elements are not one tree, stored depth first.
    """
    if not schema:
        raise CorruptFileError("schema: expected a root, found no element")
    leaves: list[Leaf] = []
    # Of the groups that are open, from the root on: name, levels, children that are still to come.
    names, levels, left = [""], [(0, 0)], [_num_children(schema[0], "schema") or 0]
    characters = 0
    for element in schema[1:]:
        while left and left[-1] == 0:
            del names[-1], levels[-1], left[-1]
        path = ".".join([*names[1:], element.name])
        characters += len(path)
        if not left:
            raise CorruptFileError(f"{path}: expected the end of the schema, found this element more")
        if characters > _MAX_PATH_CHARACTERS:
            raise CorruptFileError(f"schema: expected paths of {_MAX_PATH_CHARACTERS} characters, found more")
        own = _LEVELS.get(element.repetition_type)
        if own is None:
            raise CorruptFileError(f"{path}: expected a repetition_type, found {element.repetition_type}")
        left[-1] -= 1
        definition, repetition = levels[-1][0] + own[0], levels[-1][1] + own[1]
        children = _num_children(element, path)
        if children is None:
            leaves.append(Leaf(path, definition, repetition, element))
        else:
            names.append(element.name)
            levels.append((definition, repetition))
            left.append(children)
    if any(left):
        raise CorruptFileError(f"schema: expected {sum(left)} elements more by num_children, found the end")
    return leaves


def _num_children(element: SchemaElement, path: str) -> int | None:
    """Number of children of a group; None for a leaf."""
    children = element.num_children
    if element.type is not None and not children:
        return None
    if element.type is None and children is not None and children >= 0:
        return children
    raise CorruptFileError(f"{path}: expected a type or num_children, found {element.type!r} and {children}")
