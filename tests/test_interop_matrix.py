"""Which readers read which types, in which encodings, pages and nestings; docs/interop.md is made of it."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import colwriter as cw
from forms import Leaf, compare, json_leaves, leaves
from naive import check_file
from readers import INTEROP
from test_types import TYPES, encodings_of, make

ROWS = 50
CODECS = ("none", "snappy", "gzip", "zstd", "lz4", "brotli")
PAGES = ("1.0", "2.0")
NESTINGS = ("flat", "list", "struct")
INT96 = "use_deprecated_int96_timestamps"
INTEGERS = "store_decimal_as_integer"


class Column(NamedTuple):
    """``option``: of the file, without which the column would have another type in it."""

    array: Any
    encodings: tuple[str, ...]
    option: str = ""


def _values(arrow_type: Any) -> pa.Array:
    """Few enough values that a dictionary pays, and times that every reader's own types have room for."""
    if pa.types.is_timestamp(arrow_type) or pa.types.is_duration(arrow_type) or arrow_type == pa.date32():
        numbers = make(pa.int64(), ROWS, 8, 0.2, 3, 5).to_pylist()
        limit = {"s": 9 * 10**9, "ms": 9 * 10**12, "us": 9 * 10**15, "ns": 9 * 10**18}
        most = 100_000 if arrow_type == pa.date32() else limit[arrow_type.unit]
        scaled = [None if n is None else (abs(n) % most) * (-1 if n < 0 else 1) for n in numbers]
        return pa.array(scaled, pa.int32() if arrow_type == pa.date32() else pa.int64()).cast(arrow_type)
    return make(arrow_type, ROWS, 8, 0.2, 3, 5)


def _columns() -> dict[str, Column]:
    """By title."""
    found = {}
    for arrow_type in TYPES:
        default = ("PLAIN",) if arrow_type == pa.bool_() else ("dictionary", "PLAIN")
        found[str(arrow_type)] = Column(_values(arrow_type), (*default, *encodings_of(arrow_type)))
    for unit in ("ms", "us", "ns"):
        array = _values(pa.timestamp(unit))
        found[f"timestamp[{unit}] as INT96"] = Column(array, ("dictionary", "PLAIN"), INT96)
    for arrow_type in (pa.decimal32(9, 2), pa.decimal64(18, 3), pa.decimal128(5, 2), pa.decimal128(18, 2)):
        physical = "INT32" if arrow_type.precision <= 9 else "INT64"
        encodings = ("dictionary", "PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")
        found[f"{arrow_type} as {physical}"] = Column(_values(arrow_type), encodings, INTEGERS)
    texts = ["", "a", "né", None, "Monday" * 5, "Mondays"] * 8 + ["a", "a"]
    blobs = [None if text is None else text.encode("utf-16") for text in texts]
    of_bytes = ("dictionary", "PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
    for arrow_type in (pa.string(), pa.large_string(), pa.string_view(), pa.json_()):
        rows = texts if arrow_type != pa.json_() else [t if t is None else json.dumps({"k": t}) for t in texts]
        found["json" if arrow_type == pa.json_() else str(arrow_type)] = Column(pa.array(rows, arrow_type), of_bytes)
    for arrow_type in (pa.binary(), pa.large_binary(), pa.binary_view()):
        found[str(arrow_type)] = Column(pa.array(blobs, arrow_type), of_bytes)
    ids = [None if text is None else uuid.uuid5(uuid.NAMESPACE_DNS, text).bytes for text in texts]
    fixed = ("dictionary", "PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT")
    found["uuid"] = Column(pa.array(ids, pa.uuid()), fixed)
    spans = [None if k % 5 == 4 else (k % 7, k % 3, k % 4 * 10**6) for k in range(ROWS)]
    found["interval"] = Column(pa.array(spans, pa.month_day_nano_interval()), fixed[1:])
    numbers = [None if k % 5 == 4 else k % 7 for k in range(ROWS)]
    found["bool8"] = Column(pa.array([n and n % 2 for n in numbers], pa.int8()).cast(pa.bool8()), ("dictionary",))
    both = ("dictionary", "PLAIN")
    found["dictionary of string"] = Column(pa.array(texts).dictionary_encode(), both)
    found["dictionary of int64"] = Column(pa.array(numbers, pa.int64()).dictionary_encode(), both)
    quarters = pa.array([None if n is None else Decimal(n) / 4 for n in numbers], pa.decimal128(5, 2))
    found["dictionary of decimal128(5, 2)"] = Column(quarters.dictionary_encode(), both)
    found["run-end encoded int32"] = Column(pc.run_end_encode(pa.array(numbers, pa.int32())), both)
    lists = [None if n is None else [m if m != 2 else None for m in range(n)] for n in numbers]
    for arrow_type in (pa.list_(pa.int32()), pa.large_list(pa.int32()), pa.list_view(pa.int32())):
        title = str(arrow_type).replace("element: ", "").replace("item: ", "")
        found[title] = Column(pa.array(lists, arrow_type), both)
    pairs = [None if n is None else [n, None] for n in numbers]
    found["fixed_size_list<int32>"] = Column(pa.array(pairs, pa.list_(pa.int32(), 2)), both)
    strings = [None if row is None else [None if m is None else str(m) for m in row] for row in lists]
    found["list<string>"] = Column(pa.array(strings, pa.list_(pa.string())), both)
    structs = [None if n is None else {"a": n, "b": str(n) if n % 2 else None} for n in numbers]
    found["struct<int32, string>"] = Column(pa.array(structs, pa.struct([("a", pa.int32()), ("b", pa.string())])), both)
    maps = [None if n is None else [(str(m), m if m % 2 else None) for m in range(n % 4)] for n in numbers]
    found["map<string, int32>"] = Column(pa.array(maps, pa.map_(pa.string(), pa.int32())), both)
    found["null"] = Column(pa.nulls(ROWS), ("PLAIN",))
    return found


COLUMNS = _columns()


class File(NamedTuple):
    """What the columns of a file have in common."""

    encoding: str
    nesting: str
    page: str
    option: str = ""

    @property
    def titles(self) -> list[str]:
        return [
            title
            for title, column in COLUMNS.items()
            if self.encoding in column.encodings and self.option == column.option
        ]

    @property
    def options(self) -> dict[str, Any]:
        chosen = {} if self.encoding in ("dictionary", "PLAIN") else {"column_encoding": self.encoding}
        option = {self.option: True} if self.option else {}
        return {"data_page_version": self.page, "use_dictionary": self.encoding == "dictionary", **chosen, **option}


ENCODINGS = tuple(dict.fromkeys(encoding for column in COLUMNS.values() for encoding in column.encodings))
FILES = [
    file
    for option, encoding, nesting, page in product(("", INT96, INTEGERS), ENCODINGS, NESTINGS, PAGES)
    if (file := File(encoding, nesting, page, option)).titles
]


def nested(array: Any, nesting: str) -> pa.Array:
    if nesting == "list":
        ends = [None if k % 6 == 5 else min(k * 4 // 3, ROWS) for k in range(ROWS)]
        return pa.ListArray.from_arrays(pa.array([*ends, ROWS], pa.int32()), array)
    if nesting == "struct":
        mask = pa.array([k % 7 == 0 for k in range(ROWS)])
        return pa.StructArray.from_arrays([array, array], ["a", "b"], mask=mask)
    return array


def codec_of(file: File, title: str) -> str:
    """Codecs take turns, so that a reader meets each of them in each file."""
    return CODECS[(FILES.index(file) + list(COLUMNS).index(title)) % len(CODECS)]


def name_of(title: str) -> str:
    """In files, columns are named by number, so that no reader fails on a name."""
    return f"c{list(COLUMNS).index(title)}"


def written(file: File, titles: list[str], folder: Path) -> Path:
    """The path of a file of these columns."""
    path = folder / f"{FILES.index(file)}-{'-'.join(map(name_of, titles)) if titles != file.titles else 'all'}.parquet"
    if not path.exists():
        table = pa.table({name_of(title): nested(COLUMNS[title].array, file.nesting) for title in titles})
        codecs = {name_of(title): codec_of(file, title) for title in titles}
        cw.write_table(table, path, compression=codecs, **file.options)
    return path


@cache
def expected(title: str, nesting: str) -> list[Leaf]:
    array = COLUMNS[title].array
    # pyarrow forgets the nulls of a struct when it flattens run-end encoded children.
    return leaves(nested(pc.run_end_decode(array) if pa.types.is_run_end_encoded(array.type) else array, nesting))


def _pyarrow(path: Path) -> pa.Table:
    return pq.read_table(path)


def _arro3(path: Path) -> pa.Table:
    arro3_io = pytest.importorskip("arro3.io")
    return pa.table(arro3_io.read_parquet(str(path)).read_all())


def _polars(path: Path) -> pa.Table:
    return pytest.importorskip("polars").read_parquet(path).to_arrow()


def _duckdb(path: Path) -> pa.Table:
    return _duckdb_connection().sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table()


@cache
def _duckdb_connection() -> Any:
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("SET arrow_lossless_conversion = true")  # its own types, where Arrow has names for them
    return connection


def _fastparquet(path: Path) -> dict[str, Any]:
    frame = pytest.importorskip("fastparquet").ParquetFile(io.BytesIO(path.read_bytes())).to_pandas()
    schema = pq.read_schema(path)
    return {name: _series(frame[name], schema.field(name).type) for name in schema.names}


def _series(series: Any, arrow_type: Any) -> Any:
    if series.dtype != object:
        return pa.array(series, from_pandas=False)  # NaN stays NaN
    rows = [None if isinstance(row, float) else row for row in series]
    if "map<" in str(arrow_type) or "json" in str(arrow_type):  # dicts, which Arrow would take for structs
        return list(json_leaves(arrow_type, rows))
    return pa.array(rows)


ARROW_READERS: dict[str, Callable[[Path], Any]] = {
    "pyarrow": _pyarrow,
    "arro3": _arro3,
    "polars": _polars,
    "duckdb": _duckdb,
    "fastparquet": _fastparquet,
}
READERS = (*ARROW_READERS, "hyparquet")


@cache
def _hyparquet(folder: Path) -> dict[File, dict[str, Any]]:
    """What hyparquet finds in all the files, read by one process."""
    node = shutil.which("node")
    if node is None or not (INTEROP / "node_modules").exists():
        pytest.skip("hyparquet is not installed: `npm install` in tests/interop, with node")
    paths = [written(file, file.titles, folder) for file in FILES]
    command = [node, str(INTEROP / "columns.mjs")]
    run = subprocess.run(
        command, input="\n".join(map(str, paths)), capture_output=True, text=True, encoding="utf-8", check=True
    )
    return dict(zip(FILES, map(json.loads, run.stdout.splitlines()), strict=True))


def _in_javascript(file: File, titles: list[str], folder: Path) -> dict[str, str]:
    found = {}
    for title in titles:
        rows = _hyparquet(folder)[file][name_of(title)]
        if isinstance(rows, dict):
            found[title] = f"no: {rows['$error']}"
        else:
            arrow_type = nested(COLUMNS[title].array, file.nesting).type
            found[title] = compare(expected(title, file.nesting), list(json_leaves(arrow_type, rows)))
    return found


def outcomes(reader: str, file: File, titles: list[str], folder: Path) -> dict[str, str]:
    """What a reader makes of columns: "yes", the kinds that it gives in place of others, "wrong: ...", "no: ..."."""
    if reader == "hyparquet":
        return _in_javascript(file, titles, folder)
    try:
        return _outcomes(reader, file, titles, folder)
    except BaseException as error:
        # Panics of Rust are not Exceptions.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if len(titles) == 1:
            return {titles[0]: f"no: {type(error).__name__}: {error}"}
    # One column may keep a reader from the whole file.
    return {title: outcomes(reader, file, [title], folder)[title] for title in titles}


def _outcomes(reader: str, file: File, titles: list[str], folder: Path) -> dict[str, str]:
    table = ARROW_READERS[reader](written(file, titles, folder))
    columns = {title: table[name_of(title)] for title in titles}
    return {
        title: compare(expected(title, file.nesting), found if isinstance(found, list) else leaves(found))
        for title, found in columns.items()
    }


class Gap(NamedTuple):
    """Columns that a reader does not read, or reads otherwise: where an entry names none, all.

    ``outcome``: "no", "wrong" (other values, without an error), "skip" (not even tried), or the form of the values.
    """

    reader: str
    what: tuple[str, ...]
    outcome: str
    reason: str
    encodings: tuple[str, ...] = ENCODINGS
    nestings: tuple[str, ...] = NESTINGS
    pages: tuple[str, ...] = PAGES


def _starting(*starts: str) -> tuple[str, ...]:
    return tuple(title for title in COLUMNS if title.startswith(starts))


ALL = tuple(COLUMNS)
_FIXED = tuple(t for t in ALL if {"DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"} <= set(COLUMNS[t].encodings))
_NESTED = _starting("list", "large_list", "fixed_size_list", "struct", "map")
_TEXTS = ("string", "large_string", "string_view", "dictionary of string")
_TIMES = _starting("time32", "time64", "duration")
_DECIMALS = _starting("decimal", "dictionary of decimal")
_FINE = ("timestamp[us, tz=UTC]", "timestamp[ns, tz=Europe/Paris]", "timestamp[us] as INT96", "timestamp[ns] as INT96")
_DELTAS = ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT")

# The versions that the list is about. Where an entry is no longer true, a test fails.
VERSIONS = {
    "pyarrow": "26.0.1",
    "arro3": "0.9.1",
    "polars": "2.1.0",
    "duckdb": "2.0.1",
    "fastparquet": "2026.9.0",
    "hyparquet": "1.33.0",
}

# Of several entries for a column, the first holds.
GAPS = [
    Gap("pyarrow", ("interval",), "bytes", "INTERVAL stays the 12 bytes that it is in the file"),
    Gap("arro3", ("interval",), "no", "intervals of months, days and nanoseconds are not implemented"),
    Gap("arro3", ("dictionary of decimal128(5, 2)",), "no", "restores no dictionary of decimals; panics"),
    Gap("polars", ("interval",), "no", "cannot import the Arrow type of intervals; panics"),
    Gap("polars", ("list_view<int32>",), "no", "panics at list views in the Arrow schema"),
    Gap("polars", _starting("decimal256"), "no", "decimals have 38 digits at most"),
    Gap("polars", _FIXED, "no", "DELTA_BYTE_ARRAY is for BYTE_ARRAY only", ("DELTA_BYTE_ARRAY",)),
    Gap(
        "polars",
        tuple(title for title in _FIXED if title != "halffloat"),
        "no",
        "of FIXED_LEN_BYTE_ARRAY, BYTE_STREAM_SPLIT is for FLOAT16 only",
        ("BYTE_STREAM_SPLIT",),
    ),
    Gap("polars", ("date64[ms]",), "timestamp", "the Arrow schema says date64, which it takes for milliseconds"),
    Gap("polars", ("uuid",), "bytes", "has no type of UUIDs"),
    Gap("duckdb", _FIXED, "no", "BYTE_STREAM_SPLIT is for numbers only", ("BYTE_STREAM_SPLIT",)),
    Gap("duckdb", _starting("duration"), "int", "durations are known by the Arrow schema, which it does not read"),
    Gap("duckdb", ("bool8",), "int", "bool8 is known by the Arrow schema, which it does not read"),
    Gap("duckdb", _starting("decimal256"), "float", "decimals of more than 38 digits become doubles"),
    Gap("duckdb", ("timestamp[ns] as INT96",), "microseconds", "INT96 becomes a TIMESTAMP of microseconds"),
    Gap(
        "fastparquet",
        ALL,
        "skip",
        "ends the interpreter at integers of 64 bits",
        ("DELTA_BINARY_PACKED",),
        pages=("1.0",),
    ),
    Gap("fastparquet", ALL, "no", "has no decoder for it", _DELTAS),
    Gap("fastparquet", ALL, "no", "not implemented for nulls in V2", ("DELTA_BINARY_PACKED", "RLE"), pages=("2.0",)),
    Gap("fastparquet", ALL, "no", "has no structs: their children are columns", nestings=("struct",)),
    Gap("fastparquet", ("bool",), "wrong", "takes the length before the values for values", ("RLE",)),
    Gap(
        "fastparquet",
        ("struct<int32, string>",),
        "no",
        "has no structs: their children are columns",
        nestings=("flat",),
    ),
    Gap("fastparquet", _NESTED, "wrong", "lists of one level only; others are None", nestings=("list",)),
    Gap("fastparquet", ("halffloat",), "no", "does not know FLOAT16"),
    Gap("fastparquet", ("interval",), "no", "does not know INTERVAL", nestings=("flat",)),
    Gap("fastparquet", _TEXTS, "wrong", "text in lists is None in PLAIN", ("PLAIN",), ("list",)),
    Gap("fastparquet", ("list<string>",), "wrong", "text in lists is None in PLAIN", ("PLAIN",)),
    Gap("fastparquet", ALL, "no", "fails on lists in PLAIN and V2", ("PLAIN",), ("list",), ("2.0",)),
    Gap("fastparquet", _NESTED, "no", "fails on lists in PLAIN and V2", ("PLAIN",), pages=("2.0",)),
    Gap("fastparquet", ("map<string, int32>",), "wrong", "keys in PLAIN are lost", ("PLAIN",)),
    Gap(
        "fastparquet",
        ("uint32", "uint64", *_DECIMALS, *_starting("timestamp[ms] as", "timestamp[us] as", "timestamp[ns] as")),
        "wrong",
        "elements of lists in PLAIN are as in the file: without sign, scale, or type",
        ("PLAIN",),
        ("list",),
    ),
    Gap(
        "fastparquet",
        _starting("date", "timestamp"),
        "int",
        "elements of lists in PLAIN are as in the file",
        ("PLAIN",),
        ("list",),
    ),
    Gap("fastparquet", ("json",), "bytes", "elements of lists in PLAIN are as in the file", ("PLAIN",), ("list",)),
    Gap("fastparquet", ("interval",), "wrong", "does not know INTERVAL", nestings=("list",)),
    Gap("fastparquet", ("float", "double", *_DECIMALS), "NaN for null", "pandas has NaN for nulls", nestings=("flat",)),
    Gap("fastparquet", ("decimal128(1, 0)",), "int", "decimals of no scale become integers"),
    Gap("fastparquet", _DECIMALS, "float", "decimals become doubles"),
    Gap("fastparquet", _starting("date"), "timestamp", "pandas has no dates"),
    Gap("fastparquet", _FINE[:2], "timestamp", "time zones are known by metadata of pandas"),
    Gap("fastparquet", _TIMES, "int", "times and durations are known by metadata of pandas"),
    Gap("fastparquet", ("bool8",), "int", "bool8 is known by the Arrow schema, which it does not read"),
    Gap("fastparquet", ("json",), "parsed", "parses JSON"),
    Gap("fastparquet", ("uuid",), "bytes", "has no type of UUIDs"),
    Gap("hyparquet", ("interval",), "no", "intervals are not supported"),
    Gap("hyparquet", _FINE, "milliseconds", "JavaScript's dates have milliseconds; its own parsers may be given"),
    Gap("hyparquet", _TIMES, "int", "JavaScript has no type of times and durations"),
    Gap("hyparquet", _DECIMALS, "float", "decimals become doubles"),
    Gap("hyparquet", ("bool8",), "int", "bool8 is known by the Arrow schema, which it does not read"),
    Gap("hyparquet", ("json",), "parsed", "parses JSON"),
    Gap("hyparquet", ("uuid",), "text", "UUIDs become text"),
]


def gap_of(reader: str, title: str, encoding: str, nesting: str, page: str) -> Gap | None:
    """The entry that holds for a column, if there is one."""
    for gap in GAPS:
        is_column = gap.reader == reader and title in gap.what
        if is_column and encoding in gap.encodings and nesting in gap.nestings and page in gap.pages:
            return gap
    return None


def listed(reader: str, title: str, file: File) -> str:
    gap = gap_of(reader, title, *file[:3])
    return gap.outcome if gap else "yes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.mark.parametrize("file", FILES, ids=lambda file: " ".join(file).strip())
@pytest.mark.parametrize("reader", READERS)
def test_reads(reader: str, file: File, folder: Path) -> None:
    """What is read is what was written, but for the entries of ``GAPS``; and these are as they say."""
    wanted = {title: listed(reader, title, file) for title in file.titles}
    fine = [title for title, outcome in wanted.items() if outcome not in ("no", "skip")]
    found = outcomes(reader, file, fine, folder) if fine else {}
    for title, outcome in wanted.items():
        if outcome == "no":  # a file of its own, since a reader fails on the whole file
            found |= outcomes(reader, file, [title], folder)
    differences = {
        title: f"{outcome}, listed as {wanted[title]}"
        for title, outcome in found.items()
        if outcome.partition(":")[0] != wanted[title]
    }
    assert not differences


@pytest.mark.parametrize("file", FILES, ids=lambda file: " ".join(file).strip())
def test_files_are_what_they_are_called(file: File, folder: Path) -> None:
    data = written(file, file.titles, folder).read_bytes()
    check_file(data)
    encoding = "RLE_DICTIONARY" if file.encoding == "dictionary" else file.encoding
    titles = {name_of(title): title for title in file.titles}
    codecs = {"none": "UNCOMPRESSED", "lz4": "LZ4_RAW"}
    for chunk in cw.read_metadata(data).row_groups[0].columns:
        meta = chunk.meta_data
        assert meta is not None
        title = titles[meta.path_in_schema[0]]
        assert encoding in [found.name for found in meta.encodings], title
        assert (meta.dictionary_page_offset is not None) == (file.encoding == "dictionary"), title
        assert meta.type.name == (title.partition(" as ")[2] or meta.type.name), title
        codec = codec_of(file, title)
        assert meta.codec.name == codecs.get(codec, codec.upper()), title


@pytest.mark.parametrize("file", [FILES[0], FILES[1]], ids=lambda file: " ".join(file).strip())
@pytest.mark.parametrize("reader", READERS)
def test_a_wrong_value_is_noticed(reader: str, file: File, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the form of the values: the same ones in another order, with the nulls where they were, are wrong."""
    right = expected

    def turned(title: str, nesting: str) -> list[Leaf]:
        found = []
        for leaf in right(title, nesting):
            values = [value for value in leaf.values if value is not None]
            others = iter([*values[1:], *values[:1]])
            found.append(leaf._replace(values=[v if v is None else next(others) for v in leaf.values]))
        return found

    monkeypatch.setitem(globals(), "expected", turned)
    titles = [title for title in file.titles if listed(reader, title, file) not in ("no", "skip")]
    found = outcomes(reader, file, titles, folder)
    assert [title for title in titles if not found[title].startswith("wrong")] == []


def test_every_reader_meets_every_codec() -> None:
    for reader in READERS:
        codecs = {codec_of(file, t) for file in FILES for t in file.titles if listed(reader, t, file) == "yes"}
        assert codecs == set(CODECS)


def test_every_entry_is_needed() -> None:
    held = {gap_of(reader, title, *file[:3]) for reader, file in product(READERS, FILES) for title in file.titles}
    assert [gap for gap in GAPS if gap not in held] == []
