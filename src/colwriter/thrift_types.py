"""How a dataclass declares the fields of a Thrift struct: ``name: Annotated[type, field id]``.

The type is one of ``bool``, ``I8``, ``I16``, ``I32``, ``I64``, ``float``, ``str``, ``bytes``, an ``IntEnum``,
such a dataclass, or ``tuple[type, ...]`` for a list; ``type | None`` makes the field optional.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


class Wire(IntEnum):
    """Type codes. A bool field has the code of its value, a list of bool that of TRUE."""

    STOP = 0
    TRUE = 1
    FALSE = 2
    I8 = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12
    UUID = 13


BITS = {Wire.I16: 16, Wire.I32: 32, Wire.I64: 64}
"""Width of the integers that are written as zigzag varints."""

I8 = Annotated[int, Wire.I8]
I16 = Annotated[int, Wire.I16]
I32 = Annotated[int, Wire.I32]
I64 = Annotated[int, Wire.I64]


@dataclass(frozen=True, slots=True)
class Converted:
    """``Annotated[cls, Converted(tuple[I64, ...], make)]``: a list whose Python form is ``make(values)``."""

    wire_type: Any
    make: Callable[[list[Any]], Any]


class ThriftUnion:
    """Base of a union: one field is set, or none if a newer writer set one that is not known here."""

    __slots__ = ()

    def __repr__(self) -> str:
        values = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in values if v is not None)})"


@dataclass(frozen=True, slots=True)
class Kind:
    """Type of a value; ``of`` is a list's element Kind, else the class: bool, str, an enum, a struct ..."""

    wire: Wire
    of: Any
    make: Callable[[list[Any]], Any] = tuple


@dataclass(frozen=True, slots=True)
class Field:
    """A declared field; ``required`` when its type does not allow None."""

    id: int
    name: str
    kind: Kind
    required: bool


@cache
def fields_of(cls: type) -> tuple[Field, ...]:
    """Fields of a dataclass in the order of their ids, in which their headers are shortest."""
    found = []
    for name, hint in get_type_hints(cls, include_extras=True).items():
        declared, *marks = get_args(hint)
        field_id = next(mark for mark in marks if type(mark) is int)
        optional = get_origin(declared) in (Union, UnionType)
        found.append(Field(field_id, name, _kind(hint), required=not optional))
    return tuple(sorted(found, key=lambda field: field.id))


def _kind(hint: Any) -> Kind:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        for mark in arguments[1:]:
            if isinstance(mark, Wire):
                return Kind(mark, int)
            if isinstance(mark, Converted):
                return Kind(Wire.LIST, _kind(mark.wire_type).of, mark.make)
        return _kind(arguments[0])
    if origin in (Union, UnionType):
        return _kind(next(argument for argument in arguments if argument is not type(None)))
    if origin is tuple:
        return Kind(Wire.LIST, _kind(arguments[0]))
    if issubclass(hint, IntEnum):
        return Kind(Wire.I32, hint)
    simple = {bool: Wire.TRUE, float: Wire.DOUBLE, str: Wire.BINARY, bytes: Wire.BINARY}
    return Kind(simple.get(hint, Wire.STRUCT), hint)
