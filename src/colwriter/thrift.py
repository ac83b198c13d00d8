"""The Thrift compact protocol for the dataclasses of ``thrift_types``.

The format is that of ``doc/specs/thrift-compact-protocol.md`` in apache/thrift. Reading trusts nothing:
whatever the bytes are, it ends in a struct or a CorruptFileError, in time and memory in proportion to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from operator import index
from struct import Struct
from typing import Any, TypeVar, cast

from colwriter.errors import CorruptFileError, InvalidDataError
from colwriter.thrift_types import BITS, Field, Kind, ThriftUnion, Wire, fields_of

__all__ = ["EncodedStructs", "decode", "encode", "keep"]

_MAX_SHORT_DELTA = 15
_MAX_SHORT_SIZE = 14
_MAX_VARINT_BYTES = 10
# Only fields that are not known here nest without a limit of their own; Parquet's known ones stay below 10.
_MAX_SKIP_DEPTH = 32
_DOUBLE = Struct("<d")

_T = TypeVar("_T")
_Data = bytes | memoryview
_Write = Callable[[bytearray, Any], None]
_Read = Callable[[_Data, int], tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class EncodedStructs:
    """``count`` structs that are encoded already, in place of a sequence of them."""

    count: int
    data: Any

    def __len__(self) -> int:
        return self.count


class _KeptStructs(tuple[_T, ...]):
    """Structs with their bytes, ``data``; otherwise a tuple like others."""

    data: bytes


def keep(structs: Iterable[_T]) -> tuple[_T, ...]:
    """The structs as a tuple that is encoded once, however often it is written."""
    kept = _KeptStructs(structs)
    out = bytearray()
    for struct in kept:
        _struct_writer(cast(Any, type(struct)))(out, struct)
    kept.data = bytes(out)
    return kept


_ENCODED = (EncodedStructs, _KeptStructs)


def encode(value: Any) -> bytes:
    """The bytes of a struct.

    A ``tuple`` field may be any sequence; one of integers a NumPy array of any shape too (row-major), one of structs
    ``EncodedStructs`` too.
    Raises InvalidDataError for an integer that its field cannot hold.
    """
    out = bytearray()
    _struct_writer(cast(Any, type(value)))(out, value)
    return bytes(out)


def decode(cls: type[_T], buffer: bytes | bytearray | memoryview, offset: int = 0) -> tuple[_T, int]:
    """The struct of class cls that starts at offset, and the offset of its end.

    Raises CorruptFileError, naming the struct and its field, when the bytes are not such a struct.
    """
    data = buffer if isinstance(buffer, bytes) else memoryview(buffer).cast("B")
    if offset < 0:
        raise CorruptFileError(f"{cls.__name__}: expected an offset of 0 or more, found {offset}")
    return _struct_reader(cast(Any, cls))(data, offset)


# Writing. Code is generated for each class: a footer may hold 10 000 columns of 70 values each, and a loop
# that interprets the declarations takes 1.6 times as long.


@cache
def _struct_writer(cls: type) -> _Write:
    names: dict[str, Any] = {
        "flat": _flat,
        "pack_double": _DOUBLE.pack,
        "write_header": _write_header,
        "write_i8": _write_i8,
        "write_integer": _write_integer,
        "write_varint": _write_varint,
    }
    exec("\n".join(["def write(out, value):", *_indent(_struct_lines(cls, names))]), names)
    write: _Write = names["write"]
    return write


def _struct_lines(cls: type, names: dict[str, Any]) -> list[str]:
    """Body of ``write(out, value)``; ``names`` receives the functions that it calls."""
    lines = ["put = out.append"]
    union = issubclass(cls, ThriftUnion)
    last: int | None = 0  # id of the field before; None once that depends on the value
    for field in fields_of(cls):
        if not (field.required or union or last is None):
            lines.append(f"last = {last}")
            last = None
        body = [_header_line(field, last)]
        if field.kind.wire is not Wire.TRUE:
            body += _value_lines(field.kind, "v", f"{cls.__name__}.{field.name}", names)
        lines.append(f"v = value.{field.name}")
        if field.required:
            lines += body
            last = field.id
        else:
            after = "return put(0)" if union else f"last = {field.id}"
            lines += ["if v is not None:", *_indent([*body, after])]
    return [*lines, "put(0)"]


def _header_line(field: Field, last: int | None) -> str:
    wire = "(1 if v else 2)" if field.kind.wire is Wire.TRUE else f"{field.kind.wire:d}"
    if last is not None and field.id - last <= _MAX_SHORT_DELTA:
        return f"put({(field.id - last) << 4} | {wire})"
    if last is None and field.id <= _MAX_SHORT_DELTA:
        return f"put(({field.id} - last) << 4 | {wire})"
    return f"write_header(out, {field.id}, {'last' if last is None else last}, {wire})"


def _value_lines(kind: Kind, name: str, where: str, names: dict[str, Any]) -> list[str]:
    wire, of = kind.wire, kind.of
    if wire is Wire.TRUE:
        return [f"put(1 if {name} else 2)"]
    if wire is Wire.I8:
        return [f"write_i8(out, {name}, {where!r})"]
    if wire in BITS:
        large = f"write_integer(out, {name}, {BITS[wire]}, {where!r})"
        return [f"if 0 <= {name} < 64: put({name} << 1)", f"else: {large}"]
    if wire is Wire.DOUBLE:
        return [f"out += pack_double({name})"]
    if wire is Wire.STRUCT:
        names[f"write_{of.__name__}"] = _struct_writer(of)
        return [f"write_{of.__name__}(out, {name})"]
    size = f"len({name})"
    if wire is Wire.BINARY:
        utf8 = [f"{name} = {name}.encode()"] if of is str else []
        return [*utf8, f"if {size} < 128: put({size})", f"else: write_varint(out, {size})", f"out += {name}"]
    elements = [f"for of_{name} in {name}:", *_indent(_value_lines(of, f"of_{name}", where, names))]
    if of.wire is Wire.STRUCT:
        names["ENCODED"] = _ENCODED
        elements = [f"if type({name}) in ENCODED: out += {name}.data", "else:", *_indent(elements)]
    return [
        *([f"{name} = flat({name})"] if of.wire in BITS else []),
        f"if {size} <= {_MAX_SHORT_SIZE}: put({size} << 4 | {of.wire:d})",
        f"else: put({0xF0 | of.wire}); write_varint(out, {size})",
        *elements,
    ]


def _indent(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]


def _flat(values: Any) -> Any:
    return values.reshape(-1).tolist() if hasattr(values, "reshape") else values


def _write_header(out: bytearray, field_id: int, last: int, wire: int) -> None:
    if field_id - last <= _MAX_SHORT_DELTA:
        out.append((field_id - last) << 4 | wire)
    else:
        out.append(wire)
        _write_varint(out, field_id << 1)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _write_integer(out: bytearray, value: int, bits: int, where: str) -> None:
    value = index(value)  # a NumPy integer of fixed width would overflow below
    zigzag = value << 1 if value >= 0 else ~(value << 1)
    if zigzag >> bits:
        raise InvalidDataError(f"{where}: expected an integer of {bits} bits, found {value}")
    while zigzag > 127:  # _write_varint, but half of a footer's integers come here
        out.append(zigzag & 127 | 128)
        zigzag >>= 7
    out.append(zigzag)


def _write_i8(out: bytearray, value: int, where: str) -> None:
    if not -128 <= value < 128:
        raise InvalidDataError(f"{where}: expected an integer of 8 bits, found {value}")
    out.append(value & 255)


# Reading. A reader of a value returns it and the offset of its end. Indexing past the end of the data raises
# IndexError; _struct_reader turns that and _Malformed into a CorruptFileError that names the field.


class _Malformed(Exception):
    """What is wrong with a value."""


@cache
def _struct_reader(cls: type) -> _Read:
    known = {field.id: (field.name, field.kind.wire, _field_reader(field.kind)) for field in fields_of(cls)}
    required = [field.name for field in fields_of(cls) if field.required]
    union = issubclass(cls, ThriftUnion)

    def read(data: _Data, position: int) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        field_id, name = 0, "its first field"
        try:
            while wire := (head := data[position]) & 15:
                position += 1
                if head > 15:
                    field_id += head >> 4
                else:
                    field_id, position = _read_i16(data, position)
                if field_id not in known:
                    name = f"field {field_id}"
                    position = _skip(data, position, wire, 0)
                    continue
                name, expected, read_value = known[field_id]
                if wire == expected:
                    values[name], position = read_value(data, position)
                elif wire == Wire.FALSE and expected is Wire.TRUE:
                    values[name] = False
                else:
                    raise _Malformed(f"expected {expected.name}, found wire type {wire}")
        except IndexError:
            reason = f"the data end in or after it, at byte {len(data)}"
            raise CorruptFileError(f"{cls.__name__}.{name}: {reason}") from None
        except _Malformed as error:
            raise CorruptFileError(f"{cls.__name__}.{name}, at byte {position}: {error}") from None
        for name in required:
            if name not in values:
                raise CorruptFileError(f"{cls.__name__}.{name}: required, but missing before byte {position}")
        if union and len(values) > 1:
            raise CorruptFileError(f"{cls.__name__}: expected one of a union, found {', '.join(values)}")
        return cls(**values), position + 1

    return read


def _field_reader(kind: Kind) -> _Read:
    return _read_true if kind.wire is Wire.TRUE else _reader(kind)


def _reader(kind: Kind) -> _Read:
    if kind.wire is Wire.LIST:
        return _list_reader(kind)
    if kind.wire is Wire.STRUCT:
        return _struct_reader(kind.of)
    if kind.wire is Wire.BINARY:
        return _read_str if kind.of is str else _read_bytes
    if issubclass(kind.of, IntEnum):
        return _enum_reader(kind.of)
    if kind.wire in BITS:
        return _integer_reader(BITS[kind.wire])
    return {Wire.TRUE: _read_bool, Wire.I8: _read_i8, Wire.DOUBLE: _read_double}[kind.wire]


def _list_reader(kind: Kind) -> _Read:
    element: Kind = kind.of
    make = kind.make
    read_element = _reader(element)

    def read(data: _Data, position: int) -> tuple[Any, int]:
        size, wire, position = _read_list_header(data, position)
        # Writers differ in the code of BOOL (THRIFT-5587); of no elements the code says nothing.
        if wire == Wire.FALSE:
            wire = Wire.TRUE
        if size and wire != element.wire:
            raise _Malformed(f"expected a list of {element.wire.name}, found elements of wire type {wire}")
        values = []
        for _ in range(size):
            value, position = read_element(data, position)
            values.append(value)
        return make(values), position

    return read


def _enum_reader(cls: type[IntEnum]) -> _Read:
    members = {int(member): member for member in cls}
    read_integer = _integer_reader(32)

    def read(data: _Data, position: int) -> tuple[Any, int]:
        value, position = read_integer(data, position)
        return members.get(value, value), position

    return read


@cache
def _integer_reader(bits: int) -> _Read:
    def read(data: _Data, position: int) -> tuple[int, int]:
        zigzag, end = data[position], position + 1
        if zigzag > 127:
            zigzag, end = _read_varint(data, position)
            if zigzag >> bits:
                raise _Malformed(f"expected an integer of {bits} bits, found one of {zigzag.bit_length()}")
        return zigzag >> 1 ^ -(zigzag & 1), end

    return read


def _read_varint(data: _Data, position: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[position]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        position += 1
        if shift == 7 * _MAX_VARINT_BYTES:
            raise _Malformed(f"expected a varint of at most {_MAX_VARINT_BYTES} bytes, found a longer one")
    return value | byte << shift, position + 1


_read_i16 = _integer_reader(16)


def _read_true(data: _Data, position: int) -> tuple[bool, int]:
    return True, position  # a field of bool is nothing but its header


def _read_i8(data: _Data, position: int) -> tuple[int, int]:
    byte = data[position]
    return byte - 256 if byte > 127 else byte, position + 1


def _read_bool(data: _Data, position: int) -> tuple[bool, int]:
    byte = data[position]
    if byte > Wire.FALSE:
        raise _Malformed(f"expected 0, 1 or 2 for a bool, found {byte}")
    return byte == Wire.TRUE, position + 1


def _read_double(data: _Data, position: int) -> tuple[float, int]:
    end = _end(data, position, _DOUBLE.size)
    return _DOUBLE.unpack_from(data, position)[0], end


def _read_bytes(data: _Data, position: int) -> tuple[bytes, int]:
    size, position = _read_varint(data, position)
    end = _end(data, position, size)
    return bytes(data[position:end]), end


def _read_str(data: _Data, position: int) -> tuple[str, int]:
    value, end = _read_bytes(data, position)
    try:
        return value.decode(), end
    except UnicodeDecodeError as error:
        raise _Malformed(f"expected UTF-8, found {error.reason} at byte {error.start} of it") from None


def _read_list_header(data: _Data, position: int) -> tuple[int, int, int]:
    """Number of elements, their wire type, and where the first starts."""
    size, wire = data[position] >> 4, data[position] & 15
    position += 1
    if size > _MAX_SHORT_SIZE:
        size, position = _read_varint(data, position)
    _end(data, position, size)  # every element takes at least a byte
    return size, wire, position


def _end(data: _Data, position: int, size: int) -> int:
    """The offset after size bytes; a size that the data cannot hold must not make us allocate or loop."""
    if size > len(data) - position:
        raise _Malformed(f"expected {size} bytes or elements, found {len(data) - position} bytes left")
    return position + size


_FIXED_BYTES = {Wire.TRUE: 0, Wire.FALSE: 0, Wire.I8: 1, Wire.DOUBLE: 8, Wire.UUID: 16}


def _skip(data: _Data, position: int, wire: int, depth: int) -> int:
    """End of a field that is not known here."""
    if depth > _MAX_SKIP_DEPTH:
        raise _Malformed(f"expected at most {_MAX_SKIP_DEPTH} levels of nesting, found more")
    if wire in _FIXED_BYTES:
        return _end(data, position, _FIXED_BYTES[Wire(wire)])
    if wire in BITS:
        return _read_varint(data, position)[1]
    if wire == Wire.BINARY:
        size, position = _read_varint(data, position)
        return _end(data, position, size)
    if wire in (Wire.LIST, Wire.SET):
        size, wire, position = _read_list_header(data, position)
        return _skip_elements(data, position, size, (wire,), depth + 1)
    if wire == Wire.MAP:
        size, position = _read_varint(data, position)
        if size == 0:
            return position
        types = data[position]
        _end(data, position, size)
        return _skip_elements(data, position + 1, size, (types >> 4, types & 15), depth + 1)
    if wire == Wire.STRUCT:
        while wire := (head := data[position]) & 15:
            position = position + 1 if head > 15 else _read_i16(data, position + 1)[1]
            position = _skip(data, position, wire, depth + 1)
        return position + 1
    raise _Malformed(f"wire type {wire} is not known")


def _skip_elements(data: _Data, position: int, size: int, wires: tuple[int, ...], depth: int) -> int:
    for _ in range(size):
        for wire in wires:
            bare = wire in (Wire.TRUE, Wire.FALSE)  # a bool that has no field header to hold it
            position = _end(data, position, 1) if bare else _skip(data, position, wire, depth)
    return position
