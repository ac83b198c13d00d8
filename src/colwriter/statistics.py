"""Bounds and counts: ``Statistics`` and ``SizeStatistics`` (parquet.thrift)."""

from __future__ import annotations

from typing import NamedTuple

from colwriter.metadata import SizeStatistics, Statistics

__all__ = [
    "Bound",
    "chunk_statistics",
    "size_statistics",
    "truncate_max",
    "truncate_min",
]


class Bound(NamedTuple):
    """A lower or upper bound; ``exact`` when it is a value of the data."""

    value: bytes
    exact: bool


def truncate_min(value: bytes, is_string: bool, length: int) -> Bound:
    """A prefix of at most ``length`` bytes, which sorts before what it begins; a string is cut between characters."""
    if len(value) <= length:
        return Bound(value, True)
    return Bound(_prefix(value, is_string, length), False)


def truncate_max(value: bytes, is_string: bool, length: int) -> Bound:
    """A prefix with its last character, or byte, one higher; the whole value where none can be raised."""
    if len(value) <= length:
        return Bound(value, True)
    prefix = _prefix(value, is_string, length)
    raised = _next_string(prefix) if is_string else _next_bytes(prefix)
    return Bound(value, True) if raised is None else Bound(raised, False)


def _prefix(value: bytes, is_string: bool, length: int) -> bytes:
    end = length
    # UTF-8 continuation bytes are 10xxxxxx; at most three of them belong to one character.
    while is_string and end > max(length - 4, 0) and value[end] & 0xC0 == 0x80:
        end -= 1
    return value[:end]


def _next_bytes(prefix: bytes) -> bytes | None:
    for i in range(len(prefix) - 1, -1, -1):
        if prefix[i] < 0xFF:
            return prefix[:i] + bytes([prefix[i] + 1])
    return None


def _next_string(prefix: bytes) -> bytes | None:
    """A string of whole characters, no longer in bytes, that sorts after every string that begins with ``prefix``."""
    try:
        text = prefix.decode()
    except UnicodeDecodeError:  # not UTF-8 after all: any bytes that sort higher will do
        return _next_bytes(prefix)
    for i in range(len(text) - 1, -1, -1):
        code = ord(text[i]) + 1
        if 0xD800 <= code <= 0xDFFF:
            code = 0xE000
        if code <= 0x10FFFF and len(chr(code).encode()) == len(text[i].encode()):
            return (text[:i] + chr(code)).encode()
    return None


def chunk_statistics(
    null_count: int,
    distinct_count: int | None,
    least: Bound | None = None,
    greatest: Bound | None = None,
    nan_count: int | None = None,
) -> Statistics:
    """Statistics of a column chunk; bounds are None where it has no value that has any."""
    if least is None or greatest is None:
        return Statistics(null_count=null_count, distinct_count=distinct_count, nan_count=nan_count)
    return Statistics(
        null_count=null_count,
        distinct_count=distinct_count,
        min_value=least.value,
        max_value=greatest.value,
        is_min_value_exact=least.exact,
        is_max_value_exact=greatest.exact,
        nan_count=nan_count,
    )


def size_statistics(
    value_bytes: int | None, repetition: tuple[int, ...] | None, definition: tuple[int, ...] | None
) -> SizeStatistics | None:
    """Size statistics of a column chunk; None where there is nothing to say.

    ``value_bytes``: of byte arrays; ``repetition``, ``definition``: histograms, None where the largest level is 0.
    """
    if value_bytes is None and definition is None:
        return None
    return SizeStatistics(value_bytes, repetition, definition)
