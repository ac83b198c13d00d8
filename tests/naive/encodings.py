"""The encodings of Encodings.md, decoded one value at a time."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = range(8)
PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED = 0, 2, 3, 4
DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY = 5, 6, 7
RLE_DICTIONARY, BYTE_STREAM_SPLIT = 8, 9

FORMATS = {INT32: "i", INT64: "q", FLOAT: "f", DOUBLE: "d"}
WIDTHS = {INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8}


class Malformed(ValueError):
    """Bytes that the format does not allow."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded values, where their bytes end, and what a reader may forgive but a writer should not do."""

    values: list[Any]
    end: int
    problems: tuple[str, ...] = ()


def uleb128(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned integer of 7-bit groups, lowest first, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed(f"no end of the varint before byte {at}")
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def zigzag(encoded: int) -> int:
    """The signed integer of a zigzag code: 0, -1, 1, -2, 2, ..."""
    return (encoded >> 1) ^ -(encoded & 1)


def unpack_bits(data: bytes, width: int) -> list[int]:
    """Values of `width` bits, lowest bit first; `data` holds whole groups of eight."""
    mask = (1 << width) - 1
    values = []
    for at in range(0, len(data), width):
        group = int.from_bytes(data[at : at + width], "little")
        values += [(group >> (k * width)) & mask for k in range(8)]
    return values


def hybrid(data: bytes, width: int, count: int) -> Decoded:
    """The RLE / bit-packed hybrid, without a length in front; `data` should hold these runs and no more."""
    values: list[int] = []
    problems = []
    at = 0
    while len(values) < count:
        header, at = uleb128(data, at)
        length = header >> 1
        if length == 0:
            problems.append("run of length 0")
        if (length << 3 if header & 1 else length) >= 1 << 31:
            raise Malformed(f"run of {length} is longer than the format allows")
        size = length * width if header & 1 else (width + 7) // 8
        if at + size > len(data):
            raise Malformed(f"run at byte {at} needs {size} bytes, {len(data) - at} are left")
        if header & 1:
            values += unpack_bits(data[at : at + size], width) if width else [0] * (length << 3)
            if any(values[count:]):
                problems.append("padding of a bit-packed run is not 0")
        else:
            value = int.from_bytes(data[at : at + size], "little")
            if value >> width:
                raise Malformed(f"repeated value {value} is wider than {width} bits")
            values += [value] * min(length, count - len(values) + 8)
        allowed = 7 if header & 1 else 0
        if len(values) > count + allowed:
            problems.append(f"run goes past the {count} values of the page")
        at += size
    if at < len(data):
        problems.append(f"{len(data) - at} bytes after the last run")
    return Decoded(values[:count], at, tuple(problems))


def plain(data: bytes, physical_type: int, type_length: int, count: int, at: int = 0) -> Decoded:
    """PLAIN values from `at`."""
    if physical_type == BOOLEAN:
        end = at + (count + 7) // 8
        bits = [data[at + k // 8] >> (k % 8) & 1 for k in range((end - at) * 8)]
        problems = ("padding of PLAIN booleans is not 0",) if any(bits[count:]) else ()
        return Decoded([bit == 1 for bit in bits[:count]], end, problems)
    if physical_type == BYTE_ARRAY:
        values = []
        for _ in range(count):
            if at + 4 > len(data):
                raise Malformed(f"PLAIN byte arrays end inside a length, byte {at}")
            length = int.from_bytes(data[at : at + 4], "little")
            values.append(_take(data, at + 4, length))
            at += 4 + length
        return Decoded(values, at)
    width = WIDTHS.get(physical_type, type_length)
    body = _take(data, at, width * count)
    return Decoded(_fixed(body, physical_type, width), at + len(body))


def _fixed(body: bytes, physical_type: int, width: int) -> list[Any]:
    if physical_type in FORMATS:
        return list(struct.unpack(f"<{len(body) // width}{FORMATS[physical_type]}", body))
    return [body[at : at + width] for at in range(0, len(body), width)]


def _take(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise Malformed(f"{length} bytes wanted at byte {at}, {len(data) - at} are left")
    return bytes(data[at : at + length])


def delta_binary_packed(data: bytes, bits: int, at: int = 0) -> Decoded:
    """DELTA_BINARY_PACKED integers of `bits` bits, wrapping around at that width."""
    block_size, at = uleb128(data, at)
    miniblocks, at = uleb128(data, at)
    count, at = uleb128(data, at)
    first, at = uleb128(data, at)
    if block_size % 128 or not miniblocks or (block_size // miniblocks) % 32:
        raise Malformed(f"blocks of {block_size} values in {miniblocks} miniblocks")
    size = block_size // miniblocks
    problems = []
    values = [zigzag(first)][:count]
    while len(values) < count:
        least, at = uleb128(data, at)
        widths = _take(data, at, miniblocks)
        at += miniblocks
        for width in widths:
            if len(values) >= count:
                if width:
                    problems.append("bit width of a miniblock that is not there is not 0")
                continue
            if width > bits:
                raise Malformed(f"miniblock of {width} bits for {bits}-bit integers")
            body = _take(data, at, size * width // 8)
            at += len(body)
            deltas = unpack_bits(body, width) if width else [0] * size
            if any(deltas[count - len(values) :]):
                problems.append("padding of a miniblock is not 0")
            for delta in deltas[: count - len(values)]:
                values.append(_wrap(values[-1] + zigzag(least) + delta, bits))
    return Decoded(values, at, tuple(problems))


def _wrap(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def delta_length_byte_array(data: bytes, at: int = 0) -> Decoded:
    """DELTA_LENGTH_BYTE_ARRAY: all the lengths, then all the bytes."""
    lengths = delta_binary_packed(data, 32, at)
    at = lengths.end
    values = []
    for length in lengths.values:
        values.append(_take(data, at, length))
        at += length
    return Decoded(values, at, lengths.problems)


def delta_byte_array(data: bytes) -> Decoded:
    """DELTA_BYTE_ARRAY: lengths of the prefix shared with the value before, then the suffixes."""
    prefixes = delta_binary_packed(data, 32)
    suffixes = delta_length_byte_array(data, prefixes.end)
    values: list[bytes] = []
    for prefix, suffix in zip(prefixes.values, suffixes.values, strict=True):
        values.append((values[-1][:prefix] if values else b"") + suffix)
    return Decoded(values, suffixes.end, prefixes.problems + suffixes.problems)


def decode_values(
    data: bytes, encoding: int, physical_type: int, type_length: int, count: int, dictionary: list[Any] | None
) -> Decoded:
    """The values section of a data page in any encoding; `dictionary` is what the dictionary page holds."""
    if encoding in (RLE_DICTIONARY, PLAIN_DICTIONARY):
        decoded = _from_dictionary(data, count, dictionary)
    elif encoding == RLE and physical_type == BOOLEAN:
        length = int.from_bytes(_take(data, 0, 4), "little")
        runs = hybrid(_take(data, 4, length), 1, count)
        decoded = Decoded([bit == 1 for bit in runs.values], 4 + length, runs.problems)
    elif encoding == DELTA_BINARY_PACKED:
        decoded = delta_binary_packed(data, 8 * WIDTHS[physical_type])
    elif encoding == DELTA_LENGTH_BYTE_ARRAY:
        decoded = delta_length_byte_array(data)
    elif encoding == DELTA_BYTE_ARRAY:
        decoded = delta_byte_array(data)
    elif encoding == BYTE_STREAM_SPLIT:
        width = WIDTHS.get(physical_type, type_length)
        joined = bytes(data[k * count + i] for i in range(count) for k in range(width))
        decoded = Decoded(_fixed(joined, physical_type, width), len(joined))
    elif encoding == PLAIN:
        decoded = plain(data, physical_type, type_length, count)
    else:
        raise Malformed(f"encoding {encoding} is not for physical type {physical_type}")
    if len(decoded.values) != count:
        raise Malformed(f"page has {count} non-null slots and {len(decoded.values)} values")
    trailing = len(data) - decoded.end
    problems = decoded.problems + ((f"{trailing} bytes after the values",) if trailing else ())
    return Decoded(decoded.values, decoded.end, problems)


def _from_dictionary(data: bytes, count: int, dictionary: list[Any] | None) -> Decoded:
    if dictionary is None:
        raise Malformed("dictionary encoding without a dictionary page")
    if not data:
        raise Malformed("dictionary indices without their bit width")
    if data[0] > 32:
        raise Malformed(f"dictionary indices of {data[0]} bits")
    runs = hybrid(data[1:], data[0], count)
    beyond = [index for index in runs.values if index >= len(dictionary)]
    if beyond:
        raise Malformed(f"dictionary of {len(dictionary)} values has no index {beyond[0]}")
    return Decoded([dictionary[index] for index in runs.values], 1 + runs.end, runs.problems)
