"""What the schema and the options decide of a file, before there is any data.

To work it out takes longer than to write a small file, and who writes one file of a schema writes many: plans are kept.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from colwriter.codes import may_keep_codes
from colwriter.column_writer import check_encoding
from colwriter.compression import make_compression
from colwriter.errors import InvalidDataError, InvalidOptionError, UnsupportedTypeError
from colwriter.metadata import ColumnOrder, Empty
from colwriter.options import ColumnOptions, WriterOptions
from colwriter.schema import ColumnDescriptor, ParquetSchema, parquet_schema
from colwriter.stored import readable_schema, stored_schema
from colwriter.thrift import keep

__all__ = ["TOGETHER", "FilePlan", "TopField", "metadata_text", "plan_file"]

ARROW_SCHEMA_KEY = "ARROW:schema"
# What names of columns may not contain for Spark.
SPARK_FORBIDDEN = re.compile("[ ,;{}()\n\t=]")
# Plans kept; a schema of more fields is worked out anew, since its file takes long anyway and its plan much memory.
KEPT_PLANS = 16
# What lies elsewhere is not to be brought together.
VIEWS = (pa.lib.Type_STRING_VIEW, pa.lib.Type_BINARY_VIEW)
# Columns of a kind that are worth to be encoded together.
TOGETHER = 8
KEPT_FIELDS = 2048
TYPE_ORDER = ColumnOrder(TYPE_ORDER=Empty())
TOTAL_ORDER = ColumnOrder(IEEE_754_TOTAL_ORDER=Empty())


class TopField(NamedTuple):
    """A field of the schema in the type that is shredded, and its leaves.

    ``keep_codes``: which leaves stay as they are if they are dictionary-encoded arrays.
    """

    field: pa.Field
    descriptors: list[ColumnDescriptor]
    options: tuple[ColumnOptions, ...]
    keep_codes: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class FilePlan:
    """``stored``: the schema in the types that are shredded; ``fields`` and ``schema`` are made from it.

    ``kinds``: numbers that are equal for fields whose columns may be encoded together, None for the others; empty if
    none has ``TOGETHER`` fields.
    """

    options: WriterOptions
    stored: pa.Schema
    schema: ParquetSchema
    fields: tuple[TopField, ...]
    key_values: Mapping[str, str]
    column_orders: tuple[ColumnOrder, ...]
    kinds: tuple[int | None, ...]


class _Key:
    """A schema and options as the key of a plan: metadata count, which pyarrow's own comparison leaves out."""

    __slots__ = ("hash", "options", "schema")

    def __init__(self, schema: pa.Schema, options: WriterOptions) -> None:
        self.schema, self.options = schema, options
        self.hash = hash((tuple(schema.names), id(options)))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Key)
            and self.options is other.options
            and self.schema.equals(other.schema, check_metadata=True)
        )


def plan_file(schema: pa.Schema, options: WriterOptions) -> FilePlan:
    """The plan of a file of this schema.

    Raises ``UnsupportedTypeError`` for a field that cannot be written, ``InvalidOptionError`` for an option that does
    not go with the schema.
    """
    try:
        return _plan(schema, options) if len(schema) > KEPT_FIELDS else _kept_plan(_Key(schema, options))
    except RecursionError:
        raise UnsupportedTypeError("schema: a field is nested too deeply for this interpreter to follow") from None


@lru_cache(maxsize=KEPT_PLANS)
def _kept_plan(key: _Key) -> FilePlan:
    return _plan(key.schema, key.options)


def _plan(schema: pa.Schema, options: WriterOptions) -> FilePlan:
    if options.flavor == "spark":
        schema = _spark_schema(schema)
    stored = stored_schema(schema)
    parquet = parquet_schema(stored, options.use_compliant_nested_type, options.types)
    paths = [column.dotted_path for column in parquet.columns]
    options.check_names(paths)
    options.check_types({column.dotted_path: column.leaf.physical_type for column in parquet.columns})
    columns = options.resolve_all(paths)
    for descriptor, column in zip(parquet.columns, columns, strict=True):
        check_encoding(descriptor, column)
    _check_codecs(paths, columns)
    key_values = {metadata_text(key): metadata_text(value) for key, value in (schema.metadata or {}).items()}
    if options.store_schema:
        key_values[ARROW_SCHEMA_KEY] = base64.b64encode(readable_schema(schema).serialize()).decode()
    fields = tuple(
        _top_field(field, given, parquet, parquet.leaves(i), columns)
        for i, (field, given) in enumerate(zip(stored, schema.types, strict=True))
    )
    orders = keep(TOTAL_ORDER if column.leaf.total_order else TYPE_ORDER for column in parquet.columns)
    return FilePlan(options, stored, parquet, fields, key_values, orders, _kinds(fields))


def _kinds(fields: Sequence[TopField]) -> tuple[int | None, ...]:
    """``FilePlan.kinds``: of flat columns of which any value can be stored, and of which nothing special is asked."""
    numbers: dict[Any, int] = {}
    kinds: list[int | None] = []
    for field, (descriptor, *_), (column, *_), _ in fields:
        special = column.encoding_goal or column.bloom_filter or column.page_boundaries is not None
        nested = len(descriptor.path) > 1 or field.type.id in VIEWS
        if special or nested or descriptor.leaf.conversion.make not in ("as is", "widen"):
            kinds.append(None)
        else:
            kinds.append(numbers.setdefault((field.type, field.nullable, column), len(numbers)))
    most = max(Counter(kind for kind in kinds if kind is not None).values(), default=0)
    return tuple(kinds) if most >= TOGETHER else ()


def _check_codecs(paths: list[str], columns: list[ColumnOptions]) -> None:
    """Raise ``InvalidOptionError`` for a level that a codec does not have, with a column that it is for."""
    first = {(column.codec_name, column.compression_level): path for path, column in zip(paths, columns, strict=True)}
    for (codec, level), path in first.items():
        try:
            if codec:
                make_compression(codec, level)
        except InvalidOptionError as error:
            raise error if len(first) == 1 else InvalidOptionError(f"{path}: {error}") from None


def _top_field(
    field: pa.Field, given: pa.DataType, schema: ParquetSchema, leaves: range, columns: list[ColumnOptions]
) -> TopField:
    """``field``, of the type ``given`` as Arrow has it, with what holds for its leaves.

    Where that has a dictionary, nothing is chosen: pyarrow reads PLAIN and RLE_DICTIONARY alone into one.
    """
    descriptors = list(schema.columns[leaves.start : leaves.stop])
    options = tuple(columns[leaves.start : leaves.stop])
    if any(column.encoding_goal for column in options) and "dictionary<" in str(given):
        options = tuple(replace(column, encoding_goal=None) for column in options)
    pairs = zip(descriptors, options, strict=True)
    keep_codes = tuple(column.use_dictionary and may_keep_codes(each.leaf) for each, column in pairs)
    return TopField(field, descriptors, options, keep_codes)


def metadata_text(value: Any) -> str:
    """Keys and values of metadata are strings in the footer, which is UTF-8 (parquet.thrift, ``KeyValue``)."""
    try:
        return value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise InvalidDataError(f"metadata: keys and values must be UTF-8, found {value!r}") from None


def _spark_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with top-level names that Spark takes, as pyarrow changes them."""
    fields = [field.with_name(SPARK_FORBIDDEN.sub("_", field.name)) for field in schema]
    return pa.schema(fields, schema.metadata)
