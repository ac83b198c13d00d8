"""Random Arrow columns in awkward memory layouts, with the Python rows they stand for.

The type and the rows come from hypothesis, so that they shrink; what lies in the memory that no row shows
(bytes under null slots, children of null lists, rows outside a slice) comes from the seed of a `Layout`.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

# Numbers by their code in `struct`.
INTEGERS = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.uint8(): "B",
    pa.uint16(): "H",
    pa.uint32(): "I",
    pa.uint64(): "Q",
}
FLOATS = {pa.float32(): "f", pa.float64(): "d"}
NUMBERS = {**INTEGERS, **FLOATS}
# Those of 32 and 64 bits, and byte arrays, are more likely: they take the most paths.
LEAVES = [pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.binary(1), pa.binary(5), pa.binary(17)]
TEXT = (pa.string(), pa.large_string())
BYTES = (pa.binary(), pa.large_binary())
LARGE = (pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_large_list)
MAX_ITEMS = 4
# Longer than any bound that is kept whole; some have no shorter upper bound.
LONG_TEXT = ("x" * 300, "é" * 300, "x" + "\U0010ffff" * 300, "\U0010ffff" * 300, "\ud7ff" * 300, "\x7f" * 300)
LONG_BYTES = (b"x" * 300, b"x" + b"\xff" * 300, b"\xff" * 300)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of a column lie in memory.

    `sliced`: every array at every depth starts and ends inside a longer one; `hidden`: null slots hide bytes
    and children, offsets do not start at 0; `cuts`: rows at which a new chunk begins; `through_ipc`: the buffers
    are read-only and padded, as the IPC reader makes them.
    """

    seed: int
    sliced: bool
    hidden: bool
    cuts: tuple[int, ...]
    through_ipc: bool


PLAIN_LAYOUT = Layout(0, sliced=False, hidden=False, cuts=(), through_ipc=False)


@dataclass(frozen=True, slots=True)
class Case:
    """A field, its rows and the layout of the chunked array that holds them."""

    field: pa.Field
    rows: list[Any]
    layout: Layout

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_arrays([build(self.field.type, self.rows, self.layout)], schema=pa.schema([self.field]))


def layouts(num_rows: int) -> st.SearchStrategy[Layout]:
    """Layouts of a column of `num_rows` rows; two equal cuts make an empty chunk."""
    cuts = st.lists(st.integers(0, num_rows), max_size=3).map(lambda found: tuple(sorted(found)))
    return st.builds(Layout, st.integers(0, 2**32), st.booleans(), st.booleans(), cuts, st.booleans())


@st.composite
def cases(draw: st.DrawFn, max_depth: int = 4, max_rows: int = 30) -> Case:
    """A random column in a random layout."""
    field = pa.field("column", draw(arrow_types(max_depth)), nullable=draw(st.booleans()))
    rows = draw(st.lists(values(field), max_size=max_rows))
    return Case(field, rows, draw(layouts(len(rows))))


def arrow_types(depth: int) -> st.SearchStrategy[pa.DataType]:
    """Types of at most `depth` levels: integers and byte arrays, then lists, structs and maps of them."""
    leaves: st.SearchStrategy[pa.DataType] = st.sampled_from([*LEAVES, *TEXT, *BYTES, *INTEGERS])
    if depth == 1:
        return leaves
    child = arrow_types(depth - 1)
    element = st.builds(pa.field, st.just("element"), child, st.booleans())
    members = st.lists(st.tuples(child, st.booleans()), min_size=1, max_size=3)
    return st.one_of(
        leaves,
        st.builds(pa.list_, element),
        st.builds(pa.large_list, element),
        st.builds(pa.list_, element, st.integers(1, 3)),
        members.map(lambda found: pa.struct([pa.field("abc"[i], *member) for i, member in enumerate(found)])),
        st.builds(
            lambda key, value, nullable: pa.map_(
                pa.field("key", key, nullable=False), pa.field("value", value, nullable)
            ),
            leaves,
            child,
            st.booleans(),
        ),
    )


def values(field: pa.Field) -> st.SearchStrategy[Any]:
    """Values of a field as `to_pylist` shows them, null where the field may be."""
    found = _values(field.type)
    return st.none() | found if field.nullable else found


def _values(pa_type: pa.DataType) -> st.SearchStrategy[Any]:
    if pa_type in INTEGERS:
        signed = INTEGERS[pa_type].islower()
        bits = pa_type.bit_width - signed
        return st.integers(-3 * signed, 3) | st.integers(-(1 << bits) * signed, (1 << bits) - 1)
    if pa_type in FLOATS:  # a NaN is not equal to itself: test_types.py has them
        return st.sampled_from([0.0, -0.0, 1.5]) | st.floats(allow_nan=False, width=pa_type.bit_width)
    if pa.types.is_boolean(pa_type):
        return st.booleans()
    if pa.types.is_fixed_size_binary(pa_type):
        length = pa_type.byte_width
        return st.sampled_from([bytes(length), b"\xff" * length]) | st.binary(min_size=length, max_size=length)
    if pa_type in TEXT:
        return st.sampled_from(["", "a", "ab"]) | st.text(max_size=9) | st.sampled_from(LONG_TEXT)
    if pa_type in BYTES:
        return st.sampled_from([b"", b"\xff"]) | st.binary(max_size=9) | st.sampled_from(LONG_BYTES)
    if pa.types.is_struct(pa_type):
        return st.fixed_dictionaries({child.name: values(child) for child in pa_type})
    if pa.types.is_map(pa_type):
        pairs = st.tuples(values(pa_type.key_field), values(pa_type.item_field))
        return st.lists(pairs, max_size=MAX_ITEMS)
    least, most = 0, MAX_ITEMS
    if pa.types.is_fixed_size_list(pa_type):
        least = most = pa_type.list_size
    return st.lists(values(pa_type.value_field), min_size=least, max_size=most)


def build(pa_type: pa.DataType, rows: list[Any], layout: Layout) -> pa.ChunkedArray:
    """The rows as a chunked array in the given layout."""
    builder = _Builder(random.Random(layout.seed), layout.sliced, layout.hidden)
    bounds = [0, *layout.cuts, len(rows)]
    chunks = [builder.array(pa_type, rows[a:b]) for a, b in pairwise(bounds)]
    if layout.through_ipc:
        chunks = [_through_ipc(chunk) for chunk in chunks]
    array = pa.chunked_array(chunks, pa_type)
    array.validate(full=True)
    assert array.to_pylist() == rows, "the layout shows other rows"
    return array


def _through_ipc(array: pa.Array) -> pa.Array:
    batch = pa.RecordBatch.from_arrays([array], ["column"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pa.ipc.open_stream(pa.py_buffer(sink.getvalue().to_pybytes())) as reader:
        return reader.read_next_batch().column(0)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Makes arrays buffer by buffer, since no function of pyarrow makes awkward ones."""

    rng: random.Random
    sliced: bool
    hidden: bool

    def array(self, pa_type: pa.DataType, rows: list[Any]) -> pa.Array:
        before, after = (self._junk_rows(pa_type, self.sliced) for _ in range(2))
        array = self._whole(pa_type, before + rows + after)
        return array.slice(len(before), len(rows))

    def _whole(self, pa_type: pa.DataType, rows: list[Any]) -> pa.Array:
        validity = self._bitmap([row is not None for row in rows])
        if pa.types.is_struct(pa_type):
            children = [
                self.array(child.type, [self._under_null(child) if row is None else row[child.name] for row in rows])
                for child in pa_type
            ]
            return pa.Array.from_buffers(pa_type, len(rows), [validity], children=children)
        if pa_type in NUMBERS or pa.types.is_boolean(pa_type) or pa.types.is_fixed_size_binary(pa_type):
            zero = bytes(pa_type.byte_width) if pa.types.is_fixed_size_binary(pa_type) else 0
            shown = [self._junk(pa_type) or zero if row is None else row for row in rows]
            if pa_type in NUMBERS:
                body = struct.pack(f"<{len(rows)}{NUMBERS[pa_type]}", *shown)
            elif pa.types.is_boolean(pa_type):
                body = _pack(list(map(bool, shown)))
            else:
                body = b"".join(shown)
            return pa.Array.from_buffers(pa_type, len(rows), [validity, self._buffer(body)])
        if pa.types.is_fixed_size_list(pa_type):
            empty = [None] * pa_type.list_size
            items = [item for row in rows for item in (self._junk(pa_type) or empty if row is None else row)]
            child = self.array(pa_type.value_type, items)
            return pa.Array.from_buffers(pa_type, len(rows), [validity], children=[child])
        return self._variable(pa_type, rows, validity)

    def _variable(self, pa_type: pa.DataType, rows: list[Any], validity: pa.Buffer | None) -> pa.Array:
        """Strings, lists and maps: offsets into something longer."""
        shown = [self._junk(pa_type) if row is None else row for row in (None, *rows, None)]
        parts: list[Any] = [row.encode() if isinstance(row, str) else row or [] for row in shown]
        before, *parts, after = parts
        offsets = [len(before)]
        for part in parts:
            offsets.append(offsets[-1] + len(part))
        code = "q" if any(is_large(pa_type) for is_large in LARGE) else "i"
        buffers = [validity, self._buffer(struct.pack(f"<{len(offsets)}{code}", *offsets))]
        if pa_type in TEXT or pa_type in BYTES:
            buffers.append(self._buffer(b"".join(bytes(part) for part in (before, *parts, after))))
            return pa.Array.from_buffers(pa_type, len(rows), buffers)
        items = [item for part in (before, *parts, after) for item in part]
        if pa.types.is_map(pa_type):
            # Not a slice: pyarrow reads the keys of a map past an offset of its pairs.
            pairs = [{"key": key, "value": value} for key, value in items]
            child = self._whole(pa.struct([pa_type.key_field, pa_type.item_field]), pairs)
        else:
            child = self.array(pa_type.value_type, items)
        return pa.Array.from_buffers(pa_type, len(rows), buffers, children=[child])

    def _bitmap(self, valid: list[bool]) -> pa.Buffer | None:
        """A validity bitmap; without nulls there may be none, and the bits past the end are junk."""
        if all(valid) and self.rng.random() < 0.5:
            return None
        return self._buffer(_pack(valid + [self.hidden] * (-len(valid) % 8)))

    def _buffer(self, data: bytes) -> pa.Buffer:
        """A buffer that may be written to, unlike one over `bytes`."""
        return pa.py_buffer(bytearray(data))

    def _junk_rows(self, pa_type: pa.DataType, wanted: bool) -> list[Any]:
        return [self._value(pa_type) for _ in range(self.rng.randint(0, 3))] if wanted else []

    def _junk(self, pa_type: pa.DataType) -> Any:
        """A value to hide where no row shows it."""
        return self._value(pa_type) if self.hidden else None

    def _under_null(self, field: pa.Field) -> Any:
        """A member of a null struct; one that may not be null holds a value even here."""
        return self._nullable(field) if self.hidden or not field.nullable else None

    def _value(self, pa_type: pa.DataType) -> Any:
        rng = self.rng
        if pa_type in NUMBERS:
            return rng.randint(0, 9)
        if pa.types.is_boolean(pa_type):
            return rng.random() < 0.5
        if pa.types.is_fixed_size_binary(pa_type):
            return rng.randbytes(pa_type.byte_width)
        if pa_type in TEXT:
            return "hidden é"[: rng.randint(0, 8)]
        if pa_type in BYTES:
            return rng.randbytes(rng.randint(0, 5))
        if pa.types.is_struct(pa_type):
            return {child.name: self._nullable(child) for child in pa_type}
        if pa.types.is_map(pa_type):
            key, item = pa_type.key_field, pa_type.item_field
            return [(self._value(key.type), self._nullable(item)) for _ in range(rng.randint(0, 2))]
        is_fixed = pa.types.is_fixed_size_list(pa_type)
        size = pa_type.list_size if is_fixed else rng.randint(0, 2)
        return [self._nullable(pa_type.value_field) for _ in range(size)]

    def _nullable(self, field: pa.Field) -> Any:
        return None if field.nullable and self.rng.random() < 0.3 else self._value(field.type)


def _pack(bits: list[bool]) -> bytes:
    """Bits, the least significant first."""
    padded = bits + [False] * (-len(bits) % 8)
    return bytes(sum(padded[at + k] << k for k in range(8)) for at in range(0, len(padded), 8))


def writer_options() -> st.SearchStrategy[dict[str, Any]]:
    """Options that change how a column becomes pages, and none of its statistics."""
    return st.fixed_dictionaries(
        {
            "use_dictionary": st.booleans(),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "data_page_size": st.sampled_from([1, 40, 2**20]),
            "max_rows_per_page": st.sampled_from([1, 3, 20_000]),
            "max_values_per_page": st.sampled_from([1, 5, None]),
            "page_boundaries": st.one_of(st.none(), st.lists(st.integers(0, 60), unique=True).map(sorted)),
            "dictionary_pagesize_limit": st.sampled_from([1, 40, 2**20]),
            "row_group_size": st.sampled_from([1, 7, 2**20]),
            "compression": st.sampled_from(["none", "snappy", "lz4", "zstd"]),
            "write_page_checksum": st.booleans(),
        }
    )


def has_fixed_size_list(pa_type: pa.DataType) -> bool:
    """Whether a type holds a fixed-size list, which pyarrow cannot read back under nulls."""
    if pa.types.is_fixed_size_list(pa_type):
        return True
    return any(has_fixed_size_list(pa_type.field(i).type) for i in range(pa_type.num_fields))
