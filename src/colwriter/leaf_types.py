"""Arrow types to Parquet leaf types: physical type, annotation, order of values, and how the values get there.

Rules: LogicalTypes.md and, where that leaves a choice, what parquet-cpp writes, since Arrow readers expect it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from colwriter.metadata import (
    ConvertedType,
    DecimalType,
    Empty,
    IntType,
    LogicalType,
    TimestampType,
    TimeType,
    TimeUnit,
    Type,
)

__all__ = ["Conversion", "LeafType", "Order", "Storage", "TypeOptions", "leaf_type"]


class Storage(Enum):
    """What a leaf is made of: numbers of 16, 32 or 64 bits, byte arrays, byte arrays of one width, or single bits."""

    NUMBERS = "numbers"
    BYTE_ARRAYS = "byte arrays"
    FIXED_BYTES = "fixed bytes"
    BITS = "bits"


class Order(Enum):
    """How values compare (parquet.thrift, ``ColumnOrder``, TypeDefinedOrder)."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    BYTES = "bytes"
    TEXT = "text"
    DECIMAL = "decimal"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Conversion:
    """How stored numbers come from Arrow's: ``make`` names it, in ``colwriter.buffers``.

    ``source``: the Arrow values' dtype, for decimals their bytes. ``factor``: stored values are so many times as large,
    or, if it is negative, so many times smaller, which has to be exact unless ``allow_truncated``.
    """

    make: str
    source: Any = None
    factor: int = 1
    allow_truncated: bool = False


@dataclass(frozen=True, slots=True)
class LeafType:
    """A leaf of the schema as the format sees it. ``type_length``: bytes of FIXED_LEN_BYTE_ARRAY and INT96.

    ``total_order``: floating-point numbers have the bounds of IEEE_754_TOTAL_ORDER, not those of TYPE_ORDER.
    """

    physical_type: Type
    storage: Storage
    order: Order
    conversion: Conversion
    type_length: int | None = None
    converted_type: ConvertedType | None = None
    logical_type: LogicalType | None = None
    scale: int | None = None
    precision: int | None = None
    total_order: bool = False

    @property
    def description(self) -> str:
        """The type for an error message."""
        length = "" if self.type_length is None else f"({self.type_length})"
        if self.precision is not None:
            return f"DECIMAL({self.precision}, {self.scale}) in {self.physical_type.name}{length}"
        logical = self.logical_type
        timed = logical and (logical.TIMESTAMP or logical.TIME)
        if timed:
            unit = next(name for name in ("MILLIS", "MICROS", "NANOS") if getattr(timed.unit, name))
            return f"{type(timed).__name__.removesuffix('Type').upper()}({unit})"
        return (self.converted_type or self.physical_type).name


@dataclass(frozen=True, slots=True)
class TypeOptions:
    """Options that choose among the leaf types of an Arrow type; names and meanings are pyarrow's, if it has them."""

    version: str = "2.6"
    coerce_timestamps: str | None = None
    allow_truncated_timestamps: bool = False
    use_int96_timestamps: bool = False
    store_decimal_as_integer: bool = False
    write_time_adjusted_to_utc: bool = False
    float_total_order: bool = False


_AS_IS = Conversion("as is")


def _number(
    physical: Type,
    order: Order = Order.SIGNED,
    conversion: Conversion = _AS_IS,
    logical: LogicalType | None = None,
    converted: ConvertedType | None = None,
) -> LeafType:
    return LeafType(physical, Storage.NUMBERS, order, conversion, converted_type=converted, logical_type=logical)


def _integer(bits: int, signed: bool) -> LeafType:
    """Integers that Parquet has as annotated INT32 and INT64 (LogicalTypes.md, "Numeric Types")."""
    kind = "INT" if signed else "UINT"
    conversion = _AS_IS if bits >= 32 else Conversion("widen", np.dtype(f"{'i' if signed else 'u'}{bits // 8}"))
    return _number(
        Type.INT64 if bits == 64 else Type.INT32,
        Order.SIGNED if signed else Order.UNSIGNED,
        conversion,
        LogicalType(INTEGER=IntType(bits, signed)),
        ConvertedType[f"{kind}_{bits}"],
    )


def _byte_array(order: Order, logical: LogicalType | None = None, converted: ConvertedType | None = None) -> LeafType:
    return LeafType(Type.BYTE_ARRAY, Storage.BYTE_ARRAYS, order, _AS_IS, converted_type=converted, logical_type=logical)


def _fixed_bytes(length: int, order: Order, logical: LogicalType | None = None) -> LeafType:
    return LeafType(Type.FIXED_LEN_BYTE_ARRAY, Storage.FIXED_BYTES, order, _AS_IS, length, logical_type=logical)


_TEXT = _byte_array(Order.TEXT, LogicalType(STRING=Empty()), ConvertedType.UTF8)
_BYTES = _byte_array(Order.BYTES)
_DATE = LogicalType(DATE=Empty())
_MILLISECONDS_A_DAY = 86_400_000

_PLAIN_TYPES: dict[int, LeafType] = {
    pa.lib.Type_NA: _number(Type.INT32, Order.SIGNED, Conversion("nulls"), LogicalType(UNKNOWN=Empty())),
    pa.lib.Type_BOOL: LeafType(Type.BOOLEAN, Storage.BITS, Order.UNSIGNED, _AS_IS),
    pa.lib.Type_INT8: _integer(8, True),
    pa.lib.Type_INT16: _integer(16, True),
    pa.lib.Type_INT32: _number(Type.INT32),
    pa.lib.Type_INT64: _number(Type.INT64),
    pa.lib.Type_UINT8: _integer(8, False),
    pa.lib.Type_UINT16: _integer(16, False),
    pa.lib.Type_UINT32: _integer(32, False),
    pa.lib.Type_UINT64: _integer(64, False),
    pa.lib.Type_HALF_FLOAT: LeafType(
        Type.FIXED_LEN_BYTE_ARRAY,
        Storage.NUMBERS,
        Order.FLOAT,
        _AS_IS,
        type_length=2,
        logical_type=LogicalType(FLOAT16=Empty()),
    ),
    pa.lib.Type_FLOAT: _number(Type.FLOAT, Order.FLOAT),
    pa.lib.Type_DOUBLE: _number(Type.DOUBLE, Order.FLOAT),
    pa.lib.Type_DATE32: _number(Type.INT32, logical=_DATE, converted=ConvertedType.DATE),
    pa.lib.Type_DATE64: _number(
        Type.INT32,
        conversion=Conversion("scale", np.dtype(np.int64), -_MILLISECONDS_A_DAY, allow_truncated=True),
        logical=_DATE,
        converted=ConvertedType.DATE,
    ),
    pa.lib.Type_DURATION: _number(Type.INT64),
    pa.lib.Type_STRING: _TEXT,
    pa.lib.Type_LARGE_STRING: _TEXT,
    pa.lib.Type_STRING_VIEW: _TEXT,
    pa.lib.Type_BINARY_VIEW: _BYTES,
    pa.lib.Type_BINARY: _BYTES,
    pa.lib.Type_LARGE_BINARY: _BYTES,
    pa.lib.Type_INTERVAL_MONTH_DAY_NANO: LeafType(
        Type.FIXED_LEN_BYTE_ARRAY,
        Storage.FIXED_BYTES,
        Order.UNDEFINED,
        Conversion("interval"),
        12,
        ConvertedType.INTERVAL,
    ),
}

_UNITS = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_TIME_UNITS = {
    "ms": TimeUnit(MILLIS=Empty()),
    "us": TimeUnit(MICROS=Empty()),
    "ns": TimeUnit(NANOS=Empty()),
}


def _factor(source: str, target: str) -> int:
    """What ``Conversion.factor`` turns one unit of time into the other."""
    a, b = _UNITS[source], _UNITS[target]
    return b // a if b >= a else -(a // b)


def _rescaled(source: str, target: str, dtype: Any, allow_truncated: bool = False) -> Conversion:
    factor = _factor(source, target)
    return _AS_IS if factor == 1 else Conversion("scale", np.dtype(dtype), factor, allow_truncated)


def _time(arrow_type: Any, options: TypeOptions) -> LeafType:
    adjusted = options.write_time_adjusted_to_utc
    unit = "ms" if arrow_type.unit == "s" else arrow_type.unit
    # The converted types mean times that are adjusted to UTC (LogicalTypes.md, "TIME").
    converted = {"ms": ConvertedType.TIME_MILLIS, "us": ConvertedType.TIME_MICROS}.get(unit) if adjusted else None
    narrow = arrow_type.id == pa.lib.Type_TIME32
    return _number(
        Type.INT32 if narrow else Type.INT64,
        conversion=_rescaled(arrow_type.unit, unit, np.int32 if narrow else np.int64),
        logical=LogicalType(TIME=TimeType(adjusted, _TIME_UNITS[unit])),
        converted=converted,
    )


def _timestamp(arrow_type: Any, options: TypeOptions) -> LeafType:
    """TIMESTAMP; with a zone, the values are adjusted to UTC. Seconds are not a unit of the format."""
    if options.use_int96_timestamps:
        conversion = Conversion("int96", np.dtype(np.int64), _UNITS[arrow_type.unit])
        return LeafType(Type.INT96, Storage.FIXED_BYTES, Order.UNDEFINED, conversion, 12)
    unit = options.coerce_timestamps or arrow_type.unit
    if unit == "s":
        unit = "ms"
    allow_truncated = options.allow_truncated_timestamps
    if unit == "ns" and options.version != "2.6":  # nanoseconds came with format 2.6
        unit, allow_truncated = "us", False
    adjusted = arrow_type.tz is not None
    converted = {"ms": ConvertedType.TIMESTAMP_MILLIS, "us": ConvertedType.TIMESTAMP_MICROS}.get(unit)
    return _number(
        Type.INT64,
        conversion=_rescaled(arrow_type.unit, unit, np.int64, allow_truncated),
        logical=LogicalType(TIMESTAMP=TimestampType(adjusted, _TIME_UNITS[unit])),
        converted=converted if adjusted else None,
    )


def decimal_length(precision: int) -> int:
    """Bytes that a decimal of so many digits needs, as a signed number."""
    largest: int = 10**precision - 1
    return (largest.bit_length() + 8) // 8


def _decimal(arrow_type: Any, options: TypeOptions) -> LeafType:
    """DECIMAL in FIXED_LEN_BYTE_ARRAY, big-endian; as an integer where it fits one and that is asked for."""
    precision, scale, width = arrow_type.precision, arrow_type.scale, arrow_type.byte_width
    physical, storage, order, length = Type.FIXED_LEN_BYTE_ARRAY, Storage.FIXED_BYTES, Order.DECIMAL, None
    if options.store_decimal_as_integer and precision <= 18:
        physical = Type.INT32 if precision <= 9 else Type.INT64
        storage, order = Storage.NUMBERS, Order.SIGNED
    else:
        length = decimal_length(precision)
    return LeafType(
        physical,
        storage,
        order,
        Conversion("decimal", width),
        length,
        ConvertedType.DECIMAL,
        LogicalType(DECIMAL=DecimalType(scale, precision)),
        scale,
        precision,
    )


def _fixed_size_binary(arrow_type: Any, options: TypeOptions) -> LeafType | None:
    return _fixed_bytes(arrow_type.byte_width, Order.BYTES) if arrow_type.byte_width else None


_PARAMETRIC: dict[int, Callable[[Any, TypeOptions], LeafType | None]] = {
    pa.lib.Type_TIME32: _time,
    pa.lib.Type_TIME64: _time,
    pa.lib.Type_TIMESTAMP: _timestamp,
    pa.lib.Type_DECIMAL32: _decimal,
    pa.lib.Type_DECIMAL64: _decimal,
    pa.lib.Type_DECIMAL128: _decimal,
    pa.lib.Type_DECIMAL256: _decimal,
    pa.lib.Type_FIXED_SIZE_BINARY: _fixed_size_binary,
}

_UINT32_IN_FORMAT_1 = _number(Type.INT64, conversion=Conversion("widen", np.dtype(np.uint32)))
# Extension types that the format has an annotation for; others are written as their storage.
_EXTENSIONS: dict[str, LeafType] = {
    "arrow.uuid": _fixed_bytes(16, Order.BYTES, LogicalType(UUID=Empty())),
    "arrow.json": _byte_array(Order.TEXT, LogicalType(JSON=Empty()), ConvertedType.JSON),
}


def leaf_type(arrow_type: Any, options: TypeOptions) -> LeafType | None:
    """The leaf that an Arrow type becomes; None for a nested type, and for one that cannot be written."""
    if isinstance(arrow_type, pa.BaseExtensionType):
        return _EXTENSIONS.get(arrow_type.extension_name) or leaf_type(arrow_type.storage_type, options)
    if arrow_type.id == pa.lib.Type_UINT32 and options.version == "1.0":
        return _UINT32_IN_FORMAT_1
    parametric = _PARAMETRIC.get(arrow_type.id)
    leaf = parametric(arrow_type, options) if parametric else _PLAIN_TYPES.get(arrow_type.id)
    if options.float_total_order and leaf is not None and leaf.order is Order.FLOAT:
        return replace(leaf, total_order=True)
    return leaf
