"""The oracle itself: against the Dremel paper, bytes worked out by hand, and files that pyarrow writes."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naive

# The Document schema and the two records of the Dremel paper (Melnik et al. 2010, figure 2). A repeated field
# is a required list of required elements: one definition and one repetition level, as in the paper.


def required(name: str, pa_type: pa.DataType) -> pa.Field:
    return pa.field(name, pa_type, nullable=False)


def repeated(name: str, pa_type: pa.DataType) -> pa.Field:
    return required(name, pa.list_(required("element", pa_type)))


LANGUAGE = pa.struct([required("Code", pa.string()), pa.field("Country", pa.string())])
DOCUMENT = pa.struct(
    [
        required("DocId", pa.int64()),
        pa.field("Links", pa.struct([repeated("Backward", pa.int64()), repeated("Forward", pa.int64())])),
        repeated("Name", pa.struct([repeated("Language", LANGUAGE), pa.field("Url", pa.string())])),
    ]
)
DOCUMENTS = [
    {
        "DocId": 10,
        "Links": {"Backward": [], "Forward": [20, 40, 60]},
        "Name": [
            {
                "Language": [{"Code": "en-us", "Country": "us"}, {"Code": "en", "Country": None}],
                "Url": "http://A",
            },
            {"Language": [], "Url": "http://B"},
            {"Language": [{"Code": "en-gb", "Country": "gb"}], "Url": None},
        ],
    },
    {
        "DocId": 20,
        "Links": {"Backward": [10, 30], "Forward": [80]},
        "Name": [{"Language": [], "Url": "http://C"}],
    },
]
# path: (repetition levels, definition levels, values), figure 3 of the paper.
DREMEL_COLUMNS = {
    "DocId": ([0, 0], [0, 0], [10, 20]),
    "Links.Backward": ([0, 0, 1], [1, 2, 2], [10, 30]),
    "Links.Forward": ([0, 1, 1, 0], [2, 2, 2, 2], [20, 40, 60, 80]),
    "Name.Language.Code": ([0, 2, 1, 1, 0], [2, 2, 1, 2, 1], [b"en-us", b"en", b"en-gb"]),
    "Name.Language.Country": ([0, 2, 1, 1, 0], [3, 2, 1, 3, 1], [b"us", b"gb"]),
    "Name.Url": ([0, 1, 1, 0], [2, 2, 1, 2], [b"http://A", b"http://B", b"http://C"]),
}


def test_shred_gives_the_columns_of_the_dremel_paper() -> None:
    leaves = naive.shred(DOCUMENT, False, DOCUMENTS, "Document")
    found = {
        leaf.path.removeprefix("Document.").replace(".list.element", ""): (
            leaf.repetition_levels,
            leaf.definition_levels,
            leaf.values,
        )
        for leaf in leaves
    }
    assert found == DREMEL_COLUMNS
    assert leaves[3].path == "Document.Name.list.element.Language.list.element.Code"
    assert [(leaf.max_repetition_level, leaf.max_definition_level) for leaf in leaves] == [
        (0, 0),
        (1, 2),
        (1, 2),
        (2, 2),
        (2, 3),
        (1, 2),
    ]


def test_shred_of_a_map_and_its_paths() -> None:
    key, value = naive.shred(pa.map_(pa.string(), pa.int32()), True, [[("k", 1), ("kk", None)], [], None], "m")
    assert (key.path, value.path) == ("m.key_value.key", "m.key_value.value")
    assert (key.definition_levels, key.repetition_levels) == ([2, 2, 1, 0], [0, 1, 0, 0])
    assert (value.definition_levels, value.values) == ([3, 2, 1, 0], [1])
    assert naive.size_statistics(key)["unencoded_byte_array_data_bytes"] == 3


def test_shred_refuses_a_null_in_a_required_field() -> None:
    with pytest.raises(ValueError, match="column: null in a required field"):
        naive.shred(pa.int64(), False, [1, None])


# Encodings

HYBRID = {
    "the example of Encodings.md: 0 to 7 in 3 bits": ("03 88c6fa", 3, [0, 1, 2, 3, 4, 5, 6, 7]),
    "a repeated value": ("c801 04", 3, [4] * 100),
    "a repeated value of two bytes": ("06 2c01", 9, [300] * 3),
    "two kinds of runs": ("03 88c6fa 06 07", 3, [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7]),
    "a last group that is not full": ("03 11", 1, [1, 0, 0, 0, 1]),
    "no bits: only headers": ("0a", 0, [0] * 5),
    "nothing": ("", 1, []),
}


@pytest.mark.parametrize("case", HYBRID)
def test_hybrid_decodes(case: str) -> None:
    data, width, values = HYBRID[case]
    stored = bytes.fromhex(data)
    assert naive.hybrid(stored, width, len(values)) == naive.Decoded(values, len(stored))


@pytest.mark.parametrize(
    ("data", "width", "count", "problem"),
    [
        ("06 01 00", 1, 3, "1 bytes after the last run"),
        ("03 31", 1, 5, "padding of a bit-packed run is not 0"),
        ("05 1100", 1, 5, "run goes past the 5 values of the page"),
        ("08 01", 1, 3, "run goes past the 3 values of the page"),
        ("00 01 06 01", 1, 3, "run of length 0"),
    ],
)
def test_hybrid_reports_what_a_writer_should_not_do(data: str, width: int, count: int, problem: str) -> None:
    assert problem in naive.hybrid(bytes.fromhex(data), width, count).problems


@pytest.mark.parametrize(
    ("data", "width", "count", "error"),
    [
        ("05 11", 1, 16, "needs 2 bytes, 1 are left"),
        ("06", 1, 3, "needs 1 bytes, 0 are left"),
        ("06 01", 1, 4, "no end of the varint"),
        ("06 02", 1, 3, "wider than 1 bits"),
        ("8080808010 01", 1, 3, "longer than the format allows"),
    ],
)
def test_hybrid_refuses_broken_runs(data: str, width: int, count: int, error: str) -> None:
    with pytest.raises(naive.Malformed, match=error):
        naive.hybrid(bytes.fromhex(data), width, count)


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ("8001 04 05 02 02 00000000", [1, 2, 3, 4, 5]),
        ("8001 04 08 0e 03 02000000 c03f000000000000", [7, 5, 3, 1, 2, 3, 4, 5]),
        ("8001 04 00 00", []),
    ],
)
def test_delta_binary_packed_decodes(data: str, values: list[int]) -> None:
    stored = bytes.fromhex(data)
    assert naive.delta_binary_packed(stored, 32) == naive.Decoded(values, len(stored))


# Thrift


def test_thrift_reads_by_the_names_of_the_specification() -> None:
    data = bytes.fromhex("191c 16 08 15 c801 16 00 00 1916 0e 00")
    expected = {
        "page_locations": [{"offset": 4, "compressed_page_size": 100, "first_row_index": 0}],
        "unencoded_byte_array_data_bytes": [7],
    }
    assert naive.decode(b"??" + data, "OffsetIndex", 2) == (expected, 2 + len(data))


@pytest.mark.parametrize(
    ("data", "struct", "error"),
    [
        ("15 00 00", "OffsetIndex", "expected a list"),
        ("00", "OffsetIndex", "required but missing"),
        ("16 02 15 00 15 00 00", "DictionaryPageHeader", "num_values: expected i32"),
        ("15 02 05 02 00 00", "DictionaryPageHeader", "occurs twice"),
        ("00", "ColumnOrder", "exactly one field"),
        ("15", "SizeStatistics", "no end of the varint"),
    ],
)
def test_thrift_refuses_what_a_generated_reader_would_skip(data: str, struct: str, error: str) -> None:
    with pytest.raises(naive.Malformed, match=error):
        naive.decode(bytes.fromhex(data), struct)


# Files of pyarrow

NAN = float("nan")


def _random(seed: int) -> dict[str, tuple[pa.DataType, Callable[[], Any]]]:
    """A type and a source of values for every kind of leaf."""
    rng = random.Random(seed)
    return {
        "bool": (pa.bool_(), lambda: rng.random() < 0.5),
        "int8": (pa.int8(), lambda: rng.randint(-128, 127)),
        "int32": (pa.int32(), lambda: rng.randint(-(2**31), 2**31 - 1)),
        "uint32": (pa.uint32(), lambda: rng.randint(0, 2**32 - 1)),
        "int64": (pa.int64(), lambda: rng.randint(-(2**63), 2**63 - 1)),
        "uint64": (pa.uint64(), lambda: rng.randint(0, 2**64 - 1)),
        "few int64": (pa.int64(), lambda: rng.choice([-1, 0, 5])),
        "float": (pa.float32(), lambda: rng.choice([0.0, -0.0, 1.5, NAN, float("inf")])),
        "double": (pa.float64(), lambda: rng.choice([0.0, -0.0, -2.5, NAN])),
        "float16": (pa.float16(), lambda: rng.choice([0.0, -0.0, 1.5, -2.0])),
        "decimal": (pa.decimal128(30, 2), lambda: Decimal(rng.randint(-(10**6), 10**6)) / 100),
        "date": (pa.date32(), lambda: rng.randint(-(10**5), 10**5)),
        "timestamp": (pa.timestamp("us", "UTC"), lambda: rng.randint(-(10**15), 10**15)),
        "string": (pa.string(), lambda: "".join(rng.choices("abcdé", k=rng.randint(0, 12)))),
        "binary": (pa.large_binary(), lambda: rng.randbytes(rng.randint(0, 9))),
        "fixed binary": (pa.binary(5), lambda: rng.randbytes(5)),
        "dictionary": (pa.dictionary(pa.int8(), pa.string()), lambda: rng.choice(["a", "bc", ""])),
        "null": (pa.null(), lambda: None),
        "list<string>": (pa.list_(pa.string()), lambda: ["x" * rng.randint(0, 3)] * rng.randint(0, 4)),
    }


def _rows(make: Callable[[], Any], count: int, seed: int) -> list[Any]:
    rng = random.Random(seed)
    return [make() if rng.random() < 0.8 else None for _ in range(count)]


def _write(array: pa.Array, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"column": array}), sink, **options)
    return sink.getvalue()


@pytest.mark.parametrize("kind", _random(0))
def test_files_of_pyarrow_pass(kind: str) -> None:
    pa_type, make = _random(1)[kind]
    rows = _rows(make, 900, 2)
    array = pa.array(rows, pa_type)
    (shredded,) = naive.shred(pa_type, True, array.to_pylist())
    for dictionary, version, codec, page_index in itertools.product(
        (True, False), ("1.0", "2.0"), ("none", "snappy", "gzip", "brotli", "lz4", "zstd"), (True, False)
    ):
        data = _write(
            array,
            use_dictionary=dictionary,
            data_page_version=version,
            compression=codec,
            write_page_index=page_index,
            write_page_checksum=page_index,
            max_rows_per_page=70,
            row_group_size=500,
        )
        file = naive.check_file(data, peer=True, page_index=page_index)
        (first,), (second,) = file.row_groups
        assert first.leaf.definition_levels + second.leaf.definition_levels == shredded.definition_levels
        assert first.leaf.repetition_levels + second.leaf.repetition_levels == shredded.repetition_levels
        if kind in ("bool", "int8", "int32", "int64", "double", "string", "binary", "list<string>"):
            assert repr(first.leaf.values + second.leaf.values) == repr(shredded.values)


@pytest.mark.parametrize(
    ("encoding", "kind", "number"),
    [
        *[("DELTA_BINARY_PACKED", kind, 5) for kind in ("int8", "int32", "int64", "uint64", "date")],
        *[("DELTA_LENGTH_BYTE_ARRAY", kind, 6) for kind in ("string", "binary")],
        *[("DELTA_BYTE_ARRAY", kind, 7) for kind in ("string", "binary", "fixed binary")],
        *[("BYTE_STREAM_SPLIT", kind, 9) for kind in ("double", "float16", "int32", "fixed binary")],
        ("RLE", "bool", 3),
    ],
)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_encoding_of_pyarrow_is_decoded(encoding: str, kind: str, number: int, version: str) -> None:
    pa_type, make = _random(3)[kind]
    array = pa.array(_rows(make, 1000, 4), pa_type)
    options = {"use_dictionary": False, "data_page_version": version, "max_rows_per_page": 300}
    encoded = naive.read_file(_write(array, column_encoding={"column": encoding}, **options))
    as_plain = naive.read_file(_write(array, **options))
    pages = encoded.row_groups[0][0].pages
    assert {page.encoding for page in pages} == {number}
    assert not [page.problems for page in pages if page.problems]
    assert repr(encoded.row_groups[0][0].leaf) == repr(as_plain.row_groups[0][0].leaf)


# The checks can fail

# What may be anything within the format, so that no check can hold it.
FREE = {
    "field_id",
    "key_value_metadata",
    "precision",
    "scale",
    "is_sorted",
    "crc",
    "type",
    "codec",
    "created_by",
}
FREE |= {"name", "repetition_type", "num_children", "path_in_schema", "version"}
# What was used to find and decode the pages: `read_file` itself fails when it is wrong.
FREE |= {"column_index_length", "offset_index_length", "definition_levels_byte_length"}
FREE |= {"repetition_levels_byte_length", "definition_level_encoding", "repetition_level_encoding"}
FREE |= {"is_compressed"}


def _numbers(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Every number, flag and byte string under a struct: the holder, its key, and the path to it."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if key in FREE:
            continue
        if isinstance(value, (dict, list)):
            yield from _numbers(value, (*path, key))
        elif isinstance(value, (int, bytes)):
            yield node, key, (*path, key)


def _mutate(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return bytes([value[0] ^ 1, *value[1:]]) if value else b"\0"


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("pa_type", [pa.int64(), pa.list_(pa.int32())], ids=str)
def test_every_wrong_number_in_a_file_is_found(version: str, pa_type: pa.DataType) -> None:
    flat = [None, None, 9, 8, None, 7, 3, 7]
    rows = flat if pa_type == pa.int64() else [None, [], [9, None], [8], [8, 7, 7], [None], [3], [3, 9]]
    data = _write(
        pa.array(rows, pa_type),
        data_page_version=version,
        write_page_index=True,
        max_rows_per_page=2,
        store_schema=False,
    )
    file = naive.check_file(data, peer=True)
    rules = naive.Rules("PageAndColumnChunk", peer=True, page_index=True, statistics=True)
    (chunk,) = file.row_groups[0]
    structs = {"footer": file.footer, "column_index": chunk.column_index, "offset_index": chunk.offset_index}
    structs |= {f"page {i}": page.header for i, page in enumerate(chunk.all_pages)}
    missed = []
    count = 0
    for name, struct in structs.items():
        for holder, key, path in _numbers(struct):
            kept, count = holder[key], count + 1
            holder[key] = _mutate(kept)
            try:
                naive.check(file, rules)
                missed.append((name, *path))
            except (AssertionError, naive.Malformed):
                pass
            holder[key] = kept
    naive.check(file, rules)
    assert count > 60
    assert missed == []


@pytest.mark.parametrize("level", ["None", "ColumnChunk"])
def test_size_statistics_that_were_not_asked_for_are_found(level: str) -> None:
    data = _write(pa.array(["a", None]), write_page_index=True)
    naive.check_file(data, peer=True)
    with pytest.raises(AssertionError, match=r"size_statistics at level None|unencoded_byte_array_data_bytes"):
        naive.check_file(data, level, peer=True)
    with pytest.raises(AssertionError, match="OffsetIndex that was not asked for"):
        naive.check_file(data, peer=True, page_index=False)


def test_the_habits_of_a_peer_are_found_without_peer() -> None:
    data = _write(pa.array([1, None]), write_page_index=True)
    with pytest.raises(AssertionError, match="created_by"):
        naive.check_file(data)


def test_bytes_that_are_no_file_are_refused() -> None:
    data = _write(pa.array([1, None]))
    with pytest.raises(naive.Malformed, match="PAR1"):
        naive.read_file(data[:-1])
    footer_length = int.from_bytes(data[-8:-4], "little") + 1
    with pytest.raises(naive.Malformed, match="bytes between FileMetaData and its length"):
        naive.read_file(data[:-8] + b"\0" + footer_length.to_bytes(4, "little") + b"PAR1")


def test_a_checksum_guards_every_byte_of_a_page() -> None:
    data = _write(pa.array([1, None]), write_page_checksum=True, compression="none", use_dictionary=False)
    (page,) = naive.read_file(data).row_groups[0][0].pages
    for at in range(page.offset + page.header_size, page.end):
        broken = bytearray(data)
        broken[at] ^= 1
        with pytest.raises(naive.Malformed, match="checksum"):
            naive.read_file(bytes(broken))
