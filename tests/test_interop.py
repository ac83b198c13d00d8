"""Files of the writer in the eyes of six readers that share no code with it, nor with each other."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import colwriter as cw
import naive
from readers import READERS, hyparquet

LEVELS = ("None", "ColumnChunk", "PageAndColumnChunk")
CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
PAGES = {"default pages": {}, "tiny pages": {"data_page_size": 64, "max_rows_per_page": 17}}
NUM_ROWS = 300


def _table() -> pa.Table:
    """A column of every kind, with nulls and empty values at every depth."""
    rng = random.Random(7)

    def some(make: Callable[[], Any], null_share: float = 0.2) -> Any:
        return None if rng.random() < null_share else make()

    def rows(make: Callable[[], Any], null_share: float = 0.2) -> list[Any]:
        return [some(make, null_share) for _ in range(NUM_ROWS)]

    def integer() -> int:
        return rng.choice([0, -1, 5, rng.randrange(-(2**62), 2**62)])

    def text() -> str:
        return rng.choice(["", "a", "né", "Monday" * 5])

    def items(make: Callable[[], Any]) -> Callable[[], list[Any]]:
        return lambda: [some(make) for _ in range(rng.randrange(4))]

    def pairs() -> list[tuple[str, int | None]]:
        return [(key, some(integer)) for key in rng.sample(["k", "kk", "é"], rng.randrange(4))]

    member = pa.struct([("a", pa.int64()), pa.field("b", pa.string())])
    columns = {
        "int32": (pa.int32(), rows(lambda: rng.randrange(-(2**31), 2**31))),
        "int64": (pa.int64(), rows(integer)),
        "few_int64": (pa.int64(), rows(lambda: rng.randrange(5), 0.9)),
        "all_null": (pa.int64(), rows(integer, 1.0)),
        "string": (pa.string(), rows(text)),
        "large_string": (pa.large_string(), rows(text)),
        "binary": (pa.binary(), rows(lambda: rng.choice([b"", b"\xff\x00", rng.randbytes(5)]))),
        "list_int64": (pa.list_(pa.int64()), rows(items(integer))),
        "list_string": (pa.list_(pa.string()), rows(items(text))),
        "large_list_int64": (pa.large_list(pa.int64()), rows(items(integer))),
        "list_list_int64": (pa.list_(pa.list_(pa.int64())), rows(items(items(integer)))),
        "struct": (member, rows(lambda: {"a": some(integer), "b": some(text)})),
        "list_struct": (pa.list_(member), rows(items(lambda: {"a": some(integer), "b": some(text)}))),
        "map": (pa.map_(pa.string(), pa.int64()), rows(pairs)),
    }
    required = pa.field("required_int64", pa.int64(), nullable=False)
    schema = pa.schema([*(pa.field(name, pa_type) for name, (pa_type, _) in columns.items()), required])
    arrays = [pa.array(found, pa_type) for pa_type, found in columns.values()]
    return pa.Table.from_arrays([*arrays, pa.array(rows(integer, 0.0), pa.int64())], schema=schema)


TABLE = _table()
EXPECTED = {name: TABLE.column(name).to_pylist() for name in TABLE.column_names}


def _files() -> dict[str, dict[str, Any]]:
    """Options by name. The levels of size statistics take turns, since no value depends on them."""
    files = {}
    for i, (codec, version, pages, dictionary) in enumerate(product(CODECS, ("1.0", "2.0"), PAGES, (True, False))):
        level = LEVELS[(i + i // 4) % 3]
        name = f"{codec}, V{version[0]}, {pages}, {'dictionary' if dictionary else 'plain'}, {level}"
        files[name] = {
            "compression": codec,
            "data_page_version": version,
            "use_dictionary": dictionary,
            "size_statistics_level": level,
            "write_page_checksum": i % 2 == 0,
            **PAGES[pages],
        }
    return files


FILES = _files()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes a file of FILES when it is first asked for."""
    folder = tmp_path_factory.mktemp("interop")
    paths: dict[str, Path] = {}

    def write(name: str) -> Path:
        if name not in paths:
            paths[name] = folder / f"{len(paths)}.parquet"
            cw.write_table(TABLE, paths[name], row_group_size=NUM_ROWS - 50, **FILES[name])
        return paths[name]

    return write


def test_the_files_pair_every_level_with_every_option() -> None:
    for option in ("compression", "data_page_version", "use_dictionary", "max_rows_per_page"):
        pairs = {(options.get(option), options["size_statistics_level"]) for options in FILES.values()}
        assert len(pairs) == 3 * len({options.get(option) for options in FILES.values()})


def _reads(reader: str, options: dict[str, Any]) -> bool:
    """Whether a reader can read such files of any writer: fastparquet fails on several V2 pages with nulls."""
    return reader != "fastparquet" or options["data_page_version"] == "1.0" or "max_rows_per_page" not in options


@pytest.mark.parametrize(
    ("name", "reader"), [(name, reader) for name in FILES for reader in READERS if _reads(reader, FILES[name])]
)
def test_every_reader_reads_the_same_values(name: str, reader: str, written: Callable[[str], Path]) -> None:
    found = READERS[reader](written(name))
    flat = [field.name for field in TABLE.schema if field.type.num_fields == 0]
    assert list(found) == (flat if reader == "fastparquet" else TABLE.column_names)
    for column, rows in found.items():
        assert rows == EXPECTED[column], column


@pytest.mark.parametrize("name", FILES)
def test_the_oracle_finds_nothing_wrong(name: str, written: Callable[[str], Path]) -> None:
    file = naive.check_file(written(name).read_bytes(), FILES[name]["size_statistics_level"])
    assert len(file.row_groups) == 2
    if "max_rows_per_page" in FILES[name]:
        assert min(len(chunk.pages) for chunk in file.row_groups[0]) > 10


@pytest.mark.parametrize("name", FILES)
def test_hyparquet_sees_the_same_size_statistics(name: str, written: Callable[[str], Path]) -> None:
    path = written(name)
    seen = hyparquet(path)["chunks"]
    chunks = [chunk for group in naive.read_file(path.read_bytes()).row_groups for chunk in group]
    assert len(seen) == len(chunks)
    for found, chunk in zip(seen, chunks, strict=True):
        assert found["path"] == ".".join(chunk.column.path)
        assert found.get("size_statistics") == chunk.metadata["meta_data"].get("size_statistics")
        assert found["offset_index"] == chunk.offset_index
        assert chunk.column_index is not None
        orders = ("UNORDERED", "ASCENDING", "DESCENDING")
        expected = chunk.column_index | {"boundary_order": orders[chunk.column_index["boundary_order"]]}
        # hyparquet turns bounds into values: here only the others are compared.
        for bound in ("min_values", "max_values"):
            assert len(found["column_index"].pop(bound)) == len(expected.pop(bound))
        assert found["column_index"] == expected


SIZE_STATISTICS = {
    1: "unencoded_byte_array_data_bytes",
    2: "repetition_level_histogram",
    3: "definition_level_histogram",
}


@pytest.mark.parametrize("name", FILES)
def test_fastparquet_sees_the_same_size_statistics(name: str, written: Callable[[str], Path]) -> None:
    """Through its own Thrift reader, which keeps the fields that it does not know under their numbers.

    Not the ColumnIndex: that reader loses its way in a list of booleans.
    """
    fastparquet = pytest.importorskip("fastparquet")
    data = written(name).read_bytes()
    groups = fastparquet.ParquetFile(io.BytesIO(data)).fmd.row_groups
    for group, chunks in zip(groups, naive.read_file(data).row_groups, strict=True):
        for column, chunk in zip(group.columns, chunks, strict=True):
            stated = column.meta_data.contents.get(16)
            named = None if stated is None else {SIZE_STATISTICS[number]: found for number, found in stated.items()}
            assert named == chunk.metadata["meta_data"].get("size_statistics")
            at, size = chunk.metadata["offset_index_offset"], chunk.metadata["offset_index_length"]
            index = fastparquet.cencoding.from_buffer(data[at : at + size], "OffsetIndex").contents
            assert chunk.offset_index is not None
            assert index.get(2) == chunk.offset_index.get("unencoded_byte_array_data_bytes")
            pages = [list(location.values()) for location in chunk.offset_index["page_locations"]]
            assert [[location[1], location[2], location[3]] for location in index[1]] == pages
