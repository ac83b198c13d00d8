"""Values in one form, whoever read them, and what two columns of them have in common.

A column is taken apart into leaves. A list is a leaf too, of its lengths, and so is a struct, of where it is not null.
Times are nanoseconds, days are numbers.
"""

from __future__ import annotations

import json
import math
import struct
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9


class Leaf(NamedTuple):
    """``kind`` says what the values are: a number that stands for a time has another kind than a time."""

    kind: str
    values: list[Any]
    arrow_type: Any


def leaves(array: Any) -> list[Leaf]:
    """The leaves of an Arrow array, in its own types."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    return list(_arrow_leaves(array))


def _arrow_leaves(array: Any) -> Iterator[Leaf]:
    arrow_type = array.type
    if pa.types.is_dictionary(arrow_type):
        yield from _arrow_leaves(array.dictionary_decode())
    elif pa.types.is_run_end_encoded(arrow_type):
        yield from _arrow_leaves(pc.run_end_decode(array))
    elif arrow_type.num_fields and not pa.types.is_struct(arrow_type):
        lengths = [None if row is None else len(row) for row in array.to_pylist()] if len(array) else []
        yield Leaf("map" if pa.types.is_map(arrow_type) else "list", lengths, arrow_type)
        if pa.types.is_map(arrow_type):
            array = array.cast(pa.list_(pa.struct([arrow_type.key_field, arrow_type.item_field])))
        yield from _arrow_leaves(array.flatten())
    elif pa.types.is_struct(arrow_type):
        yield Leaf("struct", array.is_valid().to_pylist(), arrow_type)
        for child in array.flatten():
            yield from _arrow_leaves(child)
    else:
        yield Leaf(*_arrow_values(array), arrow_type)


def _arrow_values(array: Any) -> tuple[str, list[Any]]:
    t = array.type
    if isinstance(t, pa.BaseExtensionType):
        kind, values = _arrow_values(array.storage)
        if t.extension_name == "arrow.bool8":
            return "bool", [None if v is None else v != 0 for v in values]
        return {"arrow.uuid": "uuid", "arrow.json": "json"}.get(t.extension_name, kind), values
    if pa.types.is_date(t):
        days = array.cast(pa.int32() if t == pa.date32() else pa.int64()).to_pylist()
        return "date", days if t == pa.date32() else [None if v is None else v // 86_400_000 for v in days]
    if pa.types.is_time(t) or pa.types.is_timestamp(t) or pa.types.is_duration(t):
        kind = "time" if pa.types.is_time(t) else "duration"
        if pa.types.is_timestamp(t):
            kind = "instant" if t.tz else "timestamp"
        numbers = array.cast(pa.int32() if pa.types.is_time32(t) else pa.int64()).to_pylist()
        return kind, [None if v is None else v * NANOSECONDS[t.unit] for v in numbers]
    values = array.to_pylist()
    if pa.types.is_floating(t):
        return "float", [None if v is None else float(v) for v in values]
    for kind, is_kind in _KINDS.items():
        if is_kind(t):
            return kind, values
    raise AssertionError(f"a reader gave Arrow type {t}")


_KINDS: dict[str, Callable[[Any], bool]] = {
    "null": pa.types.is_null,
    "int": pa.types.is_integer,
    "bool": pa.types.is_boolean,
    "text": lambda t: t in (pa.string(), pa.large_string(), pa.string_view()),
    "bytes": lambda t: t in (pa.binary(), pa.large_binary(), pa.binary_view()) or pa.types.is_fixed_size_binary(t),
    "decimal": pa.types.is_decimal,
    "interval": lambda t: t == pa.month_day_nano_interval(),
}


def json_leaves(arrow_type: Any, rows: list[Any]) -> Iterator[Leaf]:
    """The leaves of Python objects, as they are or as columns.mjs prints them: its numbers do not tell types apart."""
    if pa.types.is_dictionary(arrow_type) or pa.types.is_run_end_encoded(arrow_type):
        yield from json_leaves(arrow_type.value_type, rows)
    elif isinstance(arrow_type, pa.BaseExtensionType) or not arrow_type.num_fields:
        yield _json_leaf(arrow_type, rows)
    elif pa.types.is_struct(arrow_type):
        yield Leaf("struct", [row is not None for row in rows], arrow_type)
        for child in arrow_type:
            yield from json_leaves(child.type, [None if row is None else row[child.name] for row in rows])
    elif pa.types.is_map(arrow_type):
        yield Leaf("map", [None if row is None else len(row) for row in rows], arrow_type)
        pairs = [pair for row in rows if row for pair in (row.items() if isinstance(row, dict) else row)]
        yield Leaf("struct", [True] * len(pairs), arrow_type)
        yield from json_leaves(arrow_type.key_type, [key for key, _ in pairs])
        yield from json_leaves(arrow_type.item_type, [item for _, item in pairs])
    else:
        yield Leaf("list", [None if row is None else len(row) for row in rows], arrow_type)
        yield from json_leaves(arrow_type.value_type, [item for row in rows if row is not None for item in row])


def _json_leaf(arrow_type: Any, rows: list[Any]) -> Leaf:
    found = [(None, None) if row is None else _json_value(arrow_type, row) for row in rows]
    kinds = {kind for kind, _ in found if kind}
    return Leaf(" or ".join(sorted(kinds)) or "null", [value for _, value in found], arrow_type)


def _json_value(arrow_type: Any, value: Any) -> tuple[str, Any]:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict) and "$date" in value:
        if pa.types.is_date(arrow_type) and value["$date"] % 86_400_000 == 0:
            return "date", value["$date"] // 86_400_000
        if pa.types.is_timestamp(arrow_type) and arrow_type.unit in ("s", "ms"):
            return "instant" if arrow_type.tz else "timestamp", value["$date"] * 10**6
        return "milliseconds", value["$date"]
    if isinstance(value, dict) and "$bytes" in value:
        return "bytes", bytes.fromhex(value["$bytes"])
    if isinstance(value, dict) and "$number" in value:
        return "float", float(value["$number"])
    if isinstance(value, bool | bytes):
        return "bool" if isinstance(value, bool) else "bytes", value
    if isinstance(value, int | float):
        is_double = isinstance(value, float) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type)
        return "float" if is_double else "int", value
    return ("text", value) if isinstance(value, str) else ("parsed", value)


def _of_unit(expected: int, found: int, arrow_type: Any) -> bool:
    # The format has no seconds, but durations are mere numbers in it.
    unit = "ms" if arrow_type.unit == "s" and not pa.types.is_duration(arrow_type) else arrow_type.unit
    return expected == found * NANOSECONDS[unit]


def _near(expected: Decimal, found: float, _: Any) -> bool:
    """As near as a division of doubles comes."""
    return math.isclose(float(expected), found, rel_tol=2**-51)


def _half(expected: float, found: bytes, _: Any) -> bool:
    return same(expected, float(np.frombuffer(found, np.float16)[0]))


def _is(expected: Any, found: Any, _: Any) -> bool:
    return bool(expected == found)


# When a value of one kind stands for one of another: expected, found.
_STANDS_FOR: dict[tuple[str, str], Callable[[Any, Any, Any], bool]] = {
    ("map", "list"): _is,
    ("instant", "timestamp"): _is,
    ("timestamp", "instant"): _is,
    ("date", "timestamp"): lambda expected, found, _: expected * DAY == found,
    ("duration", "time"): _is,
    **dict.fromkeys([(kind, "int") for kind in ("time", "timestamp", "instant", "duration")], _of_unit),
    **dict.fromkeys(
        [(kind, "milliseconds") for kind in ("timestamp", "instant")],
        lambda expected, found, _: math.trunc(Decimal(expected) / 10**6) == found,
    ),
    ("time", "duration"): _is,
    ("date", "int"): _is,
    ("decimal", "float"): _near,
    ("decimal", "int"): _is,  # of scale 0
    ("float", "bytes"): _half,
    ("int", "float"): _is,
    ("bool", "int"): _is,
    ("uuid", "bytes"): _is,
    ("uuid", "text"): lambda expected, found, _: uuid.UUID(bytes=expected) == uuid.UUID(found),
    ("json", "text"): _is,
    ("json", "bytes"): lambda expected, found, _: expected.encode() == found,
    ("json", "parsed"): lambda expected, found, _: json.loads(expected) == found,
    ("text", "bytes"): lambda expected, found, _: expected.encode() == found,
    ("interval", "bytes"): lambda expected, found, _: (
        struct.pack("<3I", expected[0], expected[1], expected[2] // 10**6) == found
    ),
}


def same(expected: Any, found: Any) -> bool:
    """Equal, and of one sign if they are zeros; any NaN is a NaN."""
    if isinstance(expected, float):
        return isinstance(found, float | int) and repr(float(found)) == repr(expected)
    return type(expected) is type(found) and bool(expected == found)


def _microseconds(kind: str, expected: Any, found: Any) -> bool:
    """Whether a time has lost its nanoseconds."""
    return kind in ("timestamp", "instant") and expected != found and expected // 1000 * 1000 == found


def compare(expected: list[Leaf], found: list[Leaf]) -> str:
    """Either "yes", or the kinds that stand for the ones expected, or "wrong: " and the first difference."""
    if len(expected) != len(found):
        return f"wrong: {[leaf.kind for leaf in found]} for {[leaf.kind for leaf in expected]}"
    forms = []
    for ours, theirs in zip(expected, found, strict=True):
        if len(ours.values) != len(theirs.values):
            return f"wrong: {len(theirs.values)} values for {len(ours.values)}"
        form = None if theirs.kind == ours.kind or not any(v is not None for v in ours.values) else theirs.kind
        is_same_kind = ours.kind == theirs.kind
        stands = _STANDS_FOR.get((ours.kind, theirs.kind))
        for value, read in zip(ours.values, theirs.values, strict=True):
            if value is None and isinstance(read, float) and math.isnan(read):
                form = "NaN for null"
            elif value is None or read is None:
                if value is not read:
                    return f"wrong: {read!r} for {value!r}"
            elif form in (None, "microseconds") and _microseconds(ours.kind, value, read):
                form = "microseconds"
            elif not (stands(value, read, ours.arrow_type) if stands else is_same_kind and same(value, read)):
                return f"wrong: {theirs.kind} {read!r} for {ours.kind} {value!r}"
        if form and form not in forms:
            forms.append(form)
    return ", ".join(forms) or "yes"
