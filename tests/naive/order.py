"""How the values of a column compare, and what bounds them (parquet.thrift, ColumnOrder)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from naive.encodings import (
    BYTE_ARRAY,
    DOUBLE,
    FIXED_LEN_BYTE_ARRAY,
    FLOAT,
    INT32,
    INT64,
    INT96,
    plain,
)
from naive.reader import Column
from naive.rules import require

UINT_CONVERTED_TYPES = (11, 12, 13, 14)
DECIMAL_CONVERTED_TYPE, INTERVAL_CONVERTED_TYPE = 5, 21
UNORDERED_LOGICAL_TYPES = {"VARIANT", "GEOMETRY", "GEOGRAPHY"}


@dataclass(frozen=True, slots=True)
class Order:
    """Turns stored values of a column into something that compares as the column order says."""

    column: Column
    name: str
    key: Callable[[Any], Any]

    @property
    def is_float(self) -> bool:
        logical = self.column.element.get("logicalType", {})
        return self.column.physical_type in (FLOAT, DOUBLE) or "FLOAT16" in logical

    @property
    def may_shorten(self) -> bool:
        """Whether a bound may be shorter than the value: byte strings that stand for no number."""
        numeric = {"DECIMAL", "FLOAT16", "UUID"} & set(self.column.element.get("logicalType", {}))
        return self.column.physical_type in (BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY) and not numeric

    def require_bound(self, side: str, bound: Any, extreme: Any) -> None:
        """Assert that a min or max lies on the right side of the extreme value and is a value of its type."""
        low, high = (bound, extreme) if side == "min" else (extreme, bound)
        require(self.key(low) <= self.key(high), f"{side} {bound!r} is no bound of {extreme!r}")
        if "STRING" in self.column.element.get("logicalType", {}):
            bound.decode()

    def is_nan(self, value: Any) -> bool:
        return self.is_float and math.isnan(_number(value))

    def bound(self, stored: bytes) -> Any:
        """The value of a min or max: PLAIN without a length."""
        if self.column.physical_type == BYTE_ARRAY:
            return stored
        decoded = plain(stored, self.column.physical_type, self.column.type_length, 1)
        require(decoded.end == len(stored), f"min or max of {len(stored)} bytes")
        return decoded.values[0]

    def extremes(self, values: list[Any]) -> tuple[Any, Any] | None:
        """Smallest and largest value as a writer must state them; None when there is nothing to state."""
        numbers = [value for value in values if not self.is_nan(value)]
        if not numbers and self.name == "IEEE_754_TOTAL_ORDER":
            numbers = values  # all of them are NaN
        if not numbers:
            return None
        least, most = min(numbers, key=self.key), max(numbers, key=self.key)
        if self.is_float and self.name == "TYPE_ORDER":
            least = _zero(least, negative=True)
            most = _zero(most, negative=False)
        return least, most


def order_of(column: Column, column_order: dict[str, Any]) -> Order | None:
    """The order of a leaf by its entry of `column_orders`; None where the format defines none."""
    (name,) = column_order
    key = _key(column, name)
    return Order(column, name, key) if key else None


def _key(column: Column, order_name: str) -> Callable[[Any], Any] | None:
    logical = column.element.get("logicalType", {})
    converted = column.element.get("converted_type")
    unordered = UNORDERED_LOGICAL_TYPES & set(logical) or converted == INTERVAL_CONVERTED_TYPE
    if unordered or column.physical_type == INT96:
        return None
    if order_name == "IEEE_754_TOTAL_ORDER":
        require(column.physical_type in (FLOAT, DOUBLE) or "FLOAT16" in logical, f"{order_name} of {column.path}")
        return _total_order
    if column.physical_type in (INT32, INT64):
        by_converted_type = {"isSigned": converted not in UINT_CONVERTED_TYPES}
        if logical.get("INTEGER", by_converted_type)["isSigned"]:
            return int
        mask = (1 << (32 if column.physical_type == INT32 else 64)) - 1
        return lambda value: value & mask
    if column.physical_type in (BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY):
        if "DECIMAL" in logical or converted == DECIMAL_CONVERTED_TYPE:
            return lambda value: int.from_bytes(value, "big", signed=True)
        return _number if "FLOAT16" in logical else bytes
    return _number


def _number(value: Any) -> Any:
    """The number of a FLOAT, DOUBLE, BOOLEAN or of the two bytes of a FLOAT16."""
    return struct.unpack("<e", value)[0] if isinstance(value, bytes) else value


def _zero(value: Any, *, negative: bool) -> Any:
    if _number(value) != 0:
        return value
    zero = -0.0 if negative else 0.0
    return struct.pack("<e", zero) if isinstance(value, bytes) else zero


def _total_order(value: Any) -> int:
    """IEEE 754 totalOrder as an integer: negative values compare by their inverted magnitude."""
    data = value if isinstance(value, bytes) else struct.pack("<d", value)
    bits = int.from_bytes(data, "little", signed=True)
    return bits if bits >= 0 else bits ^ ((1 << (8 * len(data) - 1)) - 1)
