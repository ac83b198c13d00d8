"""Bounds of statistics, which are bytes in the file, as the values that they stand for."""

from __future__ import annotations

import base64
import uuid
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from colwriter.metadata import ConvertedType, SchemaElement, TimeUnit, Type

__all__ = ["as_base64", "decode_bound", "finite"]

_NUMBERS = {Type.INT32: "<i4", Type.INT64: "<i8", Type.FLOAT: "<f4", Type.DOUBLE: "<f8"}
_UNSIGNED = (ConvertedType.UINT_8, ConvertedType.UINT_16, ConvertedType.UINT_32, ConvertedType.UINT_64)
_TEXT = (ConvertedType.UTF8, ConvertedType.ENUM, ConvertedType.JSON)
_UNITS: dict[int | None, Any] = {
    ConvertedType.TIME_MILLIS: "ms",
    ConvertedType.TIME_MICROS: "us",
    ConvertedType.TIMESTAMP_MILLIS: "ms",
    ConvertedType.TIMESTAMP_MICROS: "us",
}
_TIMES = (ConvertedType.TIME_MILLIS, ConvertedType.TIME_MICROS)


def as_base64(value: bytes) -> dict[str, str]:
    """Bytes of unknown meaning, in a form that JSON can hold and that no string can be taken for."""
    return {"base64": base64.b64encode(value).decode()}


def decode_bound(value: bytes, element: SchemaElement) -> Any:
    """A bound, in the PLAIN encoding without length, of the leaf ``element``, as a value that JSON can hold.

    Numbers are int or float ("NaN", "Infinity" and "-Infinity" are strings), dates and times ISO 8601, decimals and
    UUIDs strings. Where the type does not tell what the bytes mean, or they do not fit it, ``{"base64": ...}``.
    """
    try:
        decoded = _decode(value, element)
    except (ValueError, OverflowError):
        decoded = None
    return as_base64(value) if decoded is None else decoded


def _decode(value: bytes, element: SchemaElement) -> Any:
    if element.type is Type.BOOLEAN:
        return bool(value[0]) if len(value) == 1 else None
    if element.type in _NUMBERS:
        dtype = np.dtype(_NUMBERS[element.type])
        if len(value) != dtype.itemsize:
            return None
        if dtype.kind == "f":
            return finite(np.frombuffer(value, dtype)[0])
        signed = int.from_bytes(value, "little", signed=True)
        return _annotated_int(signed, int.from_bytes(value, "little"), element)
    return _decode_bytes(value, element)


def finite(number: Any) -> float | str:
    """A floating-point number in a form that JSON can hold, which has no NaN and no infinity."""
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return float(str(number))  # the shortest text that reads back as this number, also of a 4-byte one


def _annotated_int(signed: int, unsigned: int, element: SchemaElement) -> Any:
    logical, converted = element.logicalType, element.converted_type
    if converted in _UNSIGNED or (logical is not None and logical.INTEGER is not None and not logical.INTEGER.isSigned):
        return unsigned
    if converted is ConvertedType.DATE or (logical is not None and logical.DATE is not None):
        return date.fromordinal(date(1970, 1, 1).toordinal() + signed).isoformat()
    if _is_decimal(element):
        return _decimal(signed, element)
    return _time(signed, element)


def _time(number: int, element: SchemaElement) -> int | str:
    logical, converted = element.logicalType, element.converted_type
    annotation = None if logical is None else logical.TIME or logical.TIMESTAMP
    if annotation is not None and logical is not None:
        unit, is_utc, is_day = _unit(annotation.unit), annotation.isAdjustedToUTC, logical.TIMESTAMP is not None
    else:  # the converted types mean UTC
        unit, is_utc, is_day = _UNITS.get(converted), True, converted not in _TIMES
    text = "NaT" if unit is None else str(np.datetime64(number, unit))
    if text == "NaT" or not (is_day or text.startswith("1970-01-01T")):
        return number
    return (text if is_day else text.partition("T")[2]) + "Z" * is_utc


def _unit(unit: TimeUnit) -> Any:
    for name, short in (("MILLIS", "ms"), ("MICROS", "us"), ("NANOS", "ns")):
        if getattr(unit, name) is not None:
            return short
    return None


def _decode_bytes(value: bytes, element: SchemaElement) -> Any:
    logical, converted = element.logicalType, element.converted_type
    if _is_decimal(element):
        return _decimal(int.from_bytes(value, "big", signed=True), element) if value else None
    if element.type is Type.BYTE_ARRAY:
        is_text = logical is not None and (logical.STRING or logical.ENUM or logical.JSON) is not None
        return value.decode() if is_text or converted in _TEXT else None
    if element.type is Type.FIXED_LEN_BYTE_ARRAY and logical is not None:
        if logical.UUID is not None and len(value) == 16:
            return str(uuid.UUID(bytes=value))
        if logical.FLOAT16 is not None and len(value) == 2:
            return finite(np.frombuffer(value, "<f2")[0])
    return None


def _is_decimal(element: SchemaElement) -> bool:
    logical = element.logicalType
    return element.converted_type is ConvertedType.DECIMAL or (logical is not None and logical.DECIMAL is not None)


def _decimal(unscaled: int, element: SchemaElement) -> str:
    logical = element.logicalType
    scale = logical.DECIMAL.scale if logical is not None and logical.DECIMAL is not None else element.scale or 0
    digits = tuple(map(int, str(abs(unscaled))))
    return f"{Decimal((int(unscaled < 0), digits, -scale)):f}"
