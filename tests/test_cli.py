"""The command line: what it reads and writes, what it says, and how it ends."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

import colwriter as cw
from colwriter.cli import app
from colwriter.conversion import Source, convert, open_source
from colwriter.keywords import _read
from colwriter.metadata import Encoding, PageHeader, PageType
from colwriter.thrift import decode

FLAT = pa.table({"id": range(1000), "name": [f"n{i % 10}" for i in range(1000)]})
NESTED = pa.table(
    {
        "id": [1, 2, None, 4],
        "tags": [["x", None], None, [], ["yy"]],
        "who": [{"name": "a", "age": 3}, None, {"name": None, "age": 4}, {"name": "b", "age": None}],
    }
)


def _run(*arguments: object, **more: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"}, **more)


def _fails(status: int, *arguments: object) -> str:
    """The one line that a command ends with."""
    result = _run(*arguments)
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def _process(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **more)


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    """A CSV file of FLAT."""
    path = tmp_path / "flat.csv"
    pc.write_csv(FLAT, path)
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Where to write."""
    return tmp_path / "output.parquet"


# The program


def test_help_lists_the_commands_and_loads_little() -> None:
    result = _process("-m", "colwriter", "--help")
    assert result.returncode == 0
    for command in ("demo", "write", "inspect", "warmup"):
        assert f"\n  {command} " in result.stdout
    code = "import colwriter.cli, sys; print({'numba', 'pyarrow.dataset', 'pyarrow.parquet'} & set(sys.modules))"
    assert _process("-c", code).stdout == "set()\n"


def test_version() -> None:
    assert _run("--version").stdout == f"colwriter {cw.__version__}\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_packages_the_program_says_what_to_install(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.modules.setdefault('typer', None)\n"
        "from colwriter.__main__ import main; main()"
    )
    result = _process("-c", code)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == 'colwriter: the command line needs more packages: pip install "colwriter[cli]"\n'


def test_other_import_errors_are_not_hidden() -> None:
    code = "import sys; sys.modules['json'] = None\nfrom colwriter.__main__ import main; main()"
    assert "import of json halted" in _process("-c", code).stderr


def test_errors_are_one_line_on_stderr_of_the_process(tmp_path: Path) -> None:
    result = _process("-m", "colwriter", "inspect", str(tmp_path / "none.parquet"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"error: {tmp_path / 'none.parquet'}: No such file or directory\n"


# write


def _as_csv(table: pa.Table, path: Path) -> None:
    pc.write_csv(table, path)


def _as_tsv(table: pa.Table, path: Path) -> None:
    pc.write_csv(table, path, pc.WriteOptions(delimiter="\t"))


def _as_gzip(table: pa.Table, path: Path) -> None:
    sink = io.BytesIO()
    pc.write_csv(table, sink)
    path.write_bytes(gzip.compress(sink.getvalue()))


def _as_json(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def _as_arrow_file(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


def _as_arrow_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


FORMATS = {
    "in.csv": _as_csv,
    "in.CSV": _as_csv,
    "in.tsv": _as_tsv,
    "in.csv.gz": _as_gzip,
    "in.json": _as_json,
    "in.jsonl": _as_json,
    "in.ndjson": _as_json,
    "in.arrow": _as_arrow_file,
    "in.ipc": _as_arrow_file,
    "in.arrows": _as_arrow_stream,
    "stream.arrow": _as_arrow_stream,
    "in.feather": lambda table, path: feather.write_feather(table, path),
    "in.parquet": lambda table, path: pq.write_table(table, path, row_group_size=300),
    "in.pq": lambda table, path: pq.write_table(table, path),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read(name: str, tmp_path: Path, output: Path) -> None:
    source = tmp_path / name
    FORMATS[name](FLAT, source)
    result = _run("write", source, output)
    assert result.exit_code == 0, result.output
    assert pq.read_table(output).equals(FLAT)


@pytest.mark.parametrize("name", ["in.json", "in.arrow", "stream.arrow", "in.feather", "in.parquet"])
def test_nested_columns_are_read(name: str, tmp_path: Path, output: Path) -> None:
    source = tmp_path / name
    FORMATS[name](NESTED, source)
    assert _run("write", source, output).exit_code == 0
    assert pq.read_table(output).to_pylist() == NESTED.to_pylist()


def test_format_can_be_given(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "data.txt"
    _as_csv(FLAT, source)
    line = _fails(2, "write", source, output)
    assert line == "format: the suffix of 'data.txt' does not tell it; expected one of csv, tsv, json, arrow, parquet"
    assert _run("write", source, output, "--format", "csv").exit_code == 0
    assert pq.read_table(output).equals(FLAT)


def test_one_line_tells_what_was_written(flat: Path, output: Path) -> None:
    result = _run("write", flat, output, "--row-group-size", 400)
    size = output.stat().st_size
    # 8000 + 2000 bytes of values, 1001 offsets of 4 bytes, two bitmaps of 125 bytes.
    assert result.stdout == f"{output}: 1,000 rows, 3 row groups, {size / 1000:.1f} kB, 14.3 kB decoded\n"
    assert "compiling" in result.stderr or result.stderr == ""
    without = _run("write", flat, output, "--size-statistics-level", "none")
    assert without.stdout.endswith("decoded size not known\n")
    assert ": 1,000 rows, 1 row group, " in without.stdout


def _columns(path: Path) -> list[Any]:
    return [chunk.meta_data for chunk in cw.read_metadata(path).row_groups[0].columns]


def test_options_for_all_columns(flat: Path, output: Path) -> None:
    options = "--compression gzip --compression-level 9 --row-group-size 300 --data-page-version 2.0"
    options += " --max-rows-per-page 50 --no-use-dictionary --no-write-statistics --size-statistics-level ColumnChunk"
    result = _run("write", flat, output, *options.split(), "--write-page-checksum")
    assert result.exit_code == 0, result.output
    metadata = cw.read_metadata(output)
    assert [group.num_rows for group in metadata.row_groups] == [300, 300, 300, 100]
    for number, column in enumerate(_columns(output)):
        assert column.codec.name == "GZIP"
        assert column.statistics is None
        assert column.size_statistics is not None
        (pages,) = column.encoding_stats
        assert (pages.page_type, pages.encoding, pages.count) == (PageType.DATA_PAGE_V2, Encoding.PLAIN, 6)
        column_index, offset_index = cw.read_page_index(output, 0, number)
        assert column_index is None
        assert [location.first_row_index for location in offset_index.page_locations] == [0, 50, 100, 150, 200, 250]
        assert offset_index.unencoded_byte_array_data_bytes is None
        header, _ = decode(PageHeader, output.read_bytes()[column.data_page_offset :])
        assert header.crc is not None
    assert pq.read_table(output, page_checksum_verification=True).equals(FLAT)


def test_options_that_end_pages_and_dictionaries(flat: Path, output: Path) -> None:
    def encodings(*options: object) -> list[Encoding]:
        assert _run("write", flat, output, *options).exit_code == 0
        return [stats.encoding for stats in _columns(output)[1].encoding_stats if stats.page_type is PageType.DATA_PAGE]

    assert encodings("--use-dictionary") == [Encoding.RLE_DICTIONARY]
    assert encodings("--dictionary-pagesize-limit", 12, "--max-rows-per-page", 1)[-1] == Encoding.PLAIN
    assert encodings("--no-use-dictionary", "--data-page-size", 1000) == [Encoding.PLAIN]
    _, offset_index = cw.read_page_index(output, 0, 0)
    assert len(offset_index.page_locations) == 9


# Options of write_table that the command line does not have, and why.
NOT_ON_THE_COMMAND_LINE = {
    "sorting_columns": "says that rows are in an order, which the command does not put them into",
    "use_byte_stream_split": "column_encoding says it for the columns that have such a type",
    "use_threads": "max_threads 1 says it",
    "write_batch_size": "has no effect",
}


def test_every_option_is_on_the_command_line() -> None:
    help_text = " ".join(_run("write", "--help").stdout.split())
    known = set(_read.__kwdefaults__ or {})
    missing = {name for name in known if f"--{name.replace('_', '-')} " not in help_text}
    assert missing == NOT_ON_THE_COMMAND_LINE.keys()
    flags = {parameter.name for parameter in get_command(app).commands["write"].params} - {"help"}
    assert flags - known == {"source", "output", "input_format", "progress", "explain"}


def test_options_of_types(tmp_path: Path, output: Path) -> None:
    table = pa.table(
        {
            "at": pa.array([1_500_000_000], pa.timestamp("ns")),
            "time": pa.array([1], pa.time32("ms")),
            "price": pa.array(["1.50"]).cast(pa.decimal128(9, 2)),
            "a b": [[1]],
        }
    )
    source = tmp_path / "types.arrow"
    _as_arrow_file(table, source)

    def columns(*options: str) -> dict[str, Any]:
        result = _run("write", source, output, *options)
        assert result.exit_code == 0, result.output
        schema = pq.read_metadata(output).schema
        return {schema.column(k).path: schema.column(k) for k in range(len(schema))}

    found = columns("--store-decimal-as-integer", "--no-use-compliant-nested-type", "--no-store-schema")
    assert list(found) == ["at", "time", "price", "a b.list.item"]
    assert found["price"].physical_type == "INT32"
    assert b"ARROW:schema" not in (pq.read_metadata(output).metadata or {})
    assert "microseconds" in str(columns("--version", "2.4")["at"].logical_type)
    assert "milliseconds" in str(columns("--coerce-timestamps", "ms")["at"].logical_type)
    assert "isAdjustedToUTC=true" in str(columns("--write-time-adjusted-to-utc")["time"].logical_type)
    assert columns("--use-deprecated-int96-timestamps")["at"].physical_type == "INT96"
    found = columns("--flavor", "spark")
    assert (list(found)[3], found["at"].physical_type) == ("a_b.list.element", "INT96")
    options = ["--coerce-timestamps", "ms", "--allow-truncated-timestamps"]
    assert columns(*options)["at"].physical_type == "INT64"


def test_boundaries_of_pages_and_row_groups(flat: Path, output: Path) -> None:
    def pages(*options: object) -> list[list[int]]:
        assert _run("write", flat, output, *options).exit_code == 0
        indexes = [cw.read_page_index(output, 0, name)[1] for name in ("id", "name")]
        return [[place.first_row_index for place in index.page_locations] for index in indexes]

    assert pages("--page-boundaries", "10,500") == [[0, 10, 500]] * 2
    assert pages("--page-boundaries", "id=7", "--page-boundaries", "1,2") == [[0, 7], [0, 1, 2]]
    assert pages("--max-values-per-page", 400) == [[0, 400, 800]] * 2
    assert pages("--max-row-group-decoded-bytes", 6000) == [[0]] * 2
    assert len(cw.read_metadata(output).row_groups) > 2
    assert pages("--max-row-group-bytes", 3000, "--row-group-size", 100, "--max-threads", 1) == [[0]] * 2
    line = _fails(2, "write", flat, output, "--page-boundaries", "name=3,x")
    assert line == "page_boundaries: expected an integer, found 'x'"
    line = _fails(2, "write", flat, output, "--page-boundaries", "name=3,2")
    assert line.startswith("name: page_boundaries: expected rows of the file")


def test_bloom_filters(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "t.arrow"
    _as_arrow_file(pa.table({"id": range(99), "name": ["x"] * 99, "ok": [True] * 99}), source)

    def filters(*options: object) -> list[bool]:
        result = _run("write", source, output, *options)
        assert result.exit_code == 0, result.output
        return [column.bloom_filter_offset is not None for column in _columns(output)]

    assert filters("--bloom-filter-options", 0.01) == [True, True, False]
    assert filters("--bloom-filter-options", "name=0.01") == [False, True, False]
    assert filters("--bloom-filter-options", "name=0.01", "--bloom-filter-options", "0.1") == [True, True, False]
    for wrong in ("often", "name=2"):
        assert "bloom_filter_options" in _fails(2, "write", source, output, "--bloom-filter-options", wrong)


def test_lengths_and_order_of_bounds(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "t.arrow"
    _as_arrow_file(pa.table({"s": ["abcdef"], "f": [0.0]}), source)
    options = ["--statistics-truncate-length", 2, "--column-index-truncate-length", 3]
    assert _run("write", source, output, *options, "--float-column-order", "ieee_754_total_order").exit_code == 0
    text, number = (column.statistics for column in _columns(output))
    assert (text.min_value, number.min_value) == (b"ab", bytes(8))
    assert cw.read_page_index(output)[0].min_values == (b"abc",)


def test_no_page_index(flat: Path, output: Path) -> None:
    assert _run("write", flat, output, "--no-write-page-index").exit_code == 0
    assert cw.read_page_index(output, 0, 0) == (None, None)


def test_options_for_some_columns(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "nested.arrow"
    _as_arrow_file(NESTED, source)
    options = ["--compression", "who.name=zstd", "--compression", "tags=gzip", "--compression-level", "who.name=3"]
    options += ["--size-statistics-level", "None", "--size-statistics-level", "who=ColumnChunk"]
    result = _run("write", source, output, *options, "--column-encoding", "id=PLAIN")
    assert result.exit_code == 0, result.output
    columns = {".".join(column.path_in_schema): column for column in _columns(output)}
    codecs = {path: column.codec.name for path, column in columns.items()}
    assert codecs == {"id": "SNAPPY", "tags.list.element": "GZIP", "who.name": "ZSTD", "who.age": "SNAPPY"}
    assert [path for path, column in columns.items() if column.size_statistics] == ["who.name", "who.age"]


def test_default_for_other_columns_can_be_given_too(flat: Path, output: Path) -> None:
    for options in (["id=gzip", "brotli"], ["brotli", "id=gzip"]):
        arguments = [part for option in options for part in ("--compression", option)]
        assert _run("write", flat, output, *arguments).exit_code == 0
        assert [column.codec.name for column in _columns(output)] == ["GZIP", "BROTLI"]


def test_column_encoding_takes_the_dictionary_from_that_column_alone(flat: Path, output: Path) -> None:
    assert _run("write", flat, output, "--column-encoding", "name=PLAIN").exit_code == 0
    assert [stats.encoding for stats in _columns(output)[1].encoding_stats] == [Encoding.PLAIN]
    assert _run("write", flat, output, "--column-encoding", "id=PLAIN").exit_code == 0
    assert Encoding.RLE_DICTIONARY in [stats.encoding for stats in _columns(output)[1].encoding_stats]
    assert "use_dictionary" in _fails(2, "write", flat, output, "--column-encoding", "name=PLAIN", "--use-dictionary")
    assert _run("write", flat, output, "--column-encoding", "PLAIN").exit_code == 0
    assert [stats.encoding for stats in _columns(output)[1].encoding_stats] == [Encoding.PLAIN]


def test_encodings_are_chosen_and_explained(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "rising.arrow"
    table = pa.table({"a\n[b]": range(5000), "name": [f"n{i % 10}" for i in range(5000)]})
    _as_arrow_file(table, source)
    options = ["--column-encoding", "auto", "--encoding-goal", "size", "--compression", "none"]
    result = _run("write", source, output, *options, "--explain")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[1] for line in lines if line[:1] == ["name"]] == ["RLE_DICTIONARY"]
    assert [line[2] for line in lines if line[:2] == ["a", "[b]"]] == ["DELTA_BINARY_PACKED"]
    (plain,) = (line for line in lines if line[:2] == ["PLAIN", "40,000"])
    assert plain[2] == "bytes"
    assert lines[-1][0].endswith("a.parquet:") or str(output.name) in result.stdout
    assert [column.encoding_stats[-1].encoding for column in _columns(output)] == [
        Encoding.DELTA_BINARY_PACKED,
        Encoding.RLE_DICTIONARY,
    ]
    result = _run("write", source, output, "--explain")
    assert "a dictionary where it pays" in " ".join(result.stdout.split())
    assert "Encodings" not in _run("write", source, output).stdout


def test_auto_for_one_column_leaves_the_dictionary_of_others(flat: Path, output: Path) -> None:
    options = ["--column-encoding", "id=PLAIN", "--column-encoding", "name=auto", "--encoding-goal", "name=speed"]
    assert _run("write", flat, output, *options).exit_code == 0
    assert [column.encoding_stats[-1].encoding for column in _columns(output)] == [
        Encoding.PLAIN,
        Encoding.RLE_DICTIONARY,
    ]
    assert _run("write", flat, output, "--column-encoding", "auto", "--column-encoding", "id=PLAIN").exit_code == 0
    assert "encoding_goal: expected" in _fails(2, "write", flat, output, "--encoding-goal", "small")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--compression", "zip"], "compression: expected one of none, "),
        (["--compression", "nam=zstd"], "nam: compression names a column that is not in the schema; columns: id, name"),
        (["--compression-level", "high"], "compression_level: expected an integer, found 'high'"),
        (["--compression", "zstd", "--compression-level", "99"], "compression_level: zstd has levels "),
        (["--row-group-size", "0"], "row_group_size: expected an integer of at least 1, found 0"),
        (["--data-page-version", "3"], "data_page_version: expected '1.0' or '2.0', found '3'"),
        (["--size-statistics-level", "all"], "size_statistics_level: expected one of 'None', "),
    ],
)
def test_options_that_are_wrong(options: list[str], line: str, flat: Path, output: Path) -> None:
    assert _fails(2, "write", flat, output, *options).startswith(line)
    assert os.listdir(output.parent) == [flat.name]


@pytest.mark.parametrize("options", [["--row-group-size", "many"], ["--format", "xml"], ["--no-such-option"]])
def test_usage_errors(options: list[str], flat: Path, output: Path) -> None:
    result = _run("write", flat, output, *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr
    assert "Traceback" not in result.output


def test_all_columns_that_cannot_be_written_are_named(tmp_path: Path, output: Path) -> None:
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    who = pa.StructArray.from_arrays(
        [pa.array([1]), union, pa.StructArray.from_arrays([union], ["c"])], ["a", "b", "d"]
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), union)
    table = pa.table({"id": [1], "kind": union, "who": who, "many": lists})
    source = tmp_path / "types.arrow"
    _as_arrow_file(table, source)
    line = _fails(1, "write", source, output)
    for path, pa_type in (("kind", union.type), ("who.b", union.type), ("who.d.c", union.type)):
        assert f"{path} ({pa_type})" in line
    assert f"many ({lists.type})" in line
    assert "id (" not in line
    assert "who.a" not in line
    assert line.endswith(": 4 columns of a type that cannot be written yet")
    assert not output.exists()


def test_a_failed_write_leaves_no_output_and_keeps_what_was_there(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "broken.csv"
    source.write_text("a,b\n" + "1,x\n" * 2_000_000 + "1,x,3\n")
    for before in (None, b"old"):
        if before is not None:
            output.write_bytes(before)
        line = _fails(1, "write", source, output, "--row-group-size", 100_000)
        assert line == f"{source}: CSV parse error: Expected 2 columns, got 3: 1,x,3"
        assert (output.read_bytes() if output.exists() else None) == before
        assert sorted(os.listdir(tmp_path)) == ["broken.csv", *(["output.parquet"] if before else [])]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("empty.csv", b"", "Empty CSV file"),
        ("a.json", b'{"a": 1}\n{"a": [2]}\n', "JSON parse error: "),
        ("a.arrow", b"ARROW1??", ""),
        ("stream.arrow", b"", ""),
        ("v1.feather", b"FEA1....FEA1", "Feather version 1 cannot be read"),
        ("a.parquet", b"PAR1PAR1", "Parquet file size is 8 bytes"),
        ("a.csv.gz", b"not gzip at all", "zlib inflate failed"),
    ],
)
def test_input_that_cannot_be_read(name: str, content: bytes, line: str, tmp_path: Path, output: Path) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    assert _fails(1, "write", source, output).startswith(f"{source}: {line}")
    assert not output.exists()


def test_paths_that_cannot_be_used(flat: Path, output: Path) -> None:
    missing = output.parent / "missing"
    assert _fails(1, "write", missing / "a.csv", output) == f"{missing / 'a.csv'}: No such file or directory"
    assert _fails(1, "write", flat, missing / "a.parquet") == f"{missing}: No such file or directory"
    assert _fails(1, "write", flat, output.parent) == f"{output.parent}: expected a path for a file, found a directory"
    directory = output.parent / "folder.csv"
    directory.mkdir()
    assert _fails(1, "write", directory, output) == f"{directory}: Is a directory"


def test_progress_is_for_terminals_and_for_those_who_ask(flat: Path, output: Path) -> None:
    assert "100%" not in _run("write", flat, output).stderr
    asked = _run("write", flat, output, "--progress")
    assert "writing" in asked.stderr
    assert "100%" in asked.stderr
    assert "%" not in asked.stdout


@pytest.mark.parametrize("name", FORMATS)
def test_progress_goes_up_to_its_total(name: str, tmp_path: Path, output: Path) -> None:
    source = tmp_path / name
    FORMATS[name](FLAT, source)
    seen: list[int] = []
    with open_source(source) as opened:
        convert(opened, output, {}, seen.append)
        assert seen == sorted(seen)
        assert seen[-1] == opened.total


def test_input_is_not_held_in_memory(output: Path) -> None:
    rows, number = 10_000, 50
    schema = pa.schema([("a", pa.int64())])
    before = pa.total_allocated_bytes()
    peak = []

    def batches() -> Iterator[tuple[pa.RecordBatch, int]]:
        for done in range(number):
            yield pa.record_batch([pa.array(range(done, done + rows))], schema), done
            peak.append(pa.total_allocated_bytes() - before)

    written = convert(Source(schema, number, batches()), output, {"row_group_size": rows}, lambda done: None)
    assert written.num_rows == rows * number
    assert max(peak) < 5 * rows * 8


def test_names_of_columns_are_not_taken_for_markup(tmp_path: Path, output: Path) -> None:
    source = tmp_path / "markup.csv"
    source.write_text("a[red],b=x,:smile:\n1,\x1b[31mred,2\n")
    assert _run("write", source, output, "--compression", "b=x=zstd").exit_code == 0
    shown = _run("inspect", output)
    for text in ("a[red]", "b=x", ":smile:", r"min_value: \x1b[31mred"):
        assert text in shown.stdout
    assert "\x1b" not in shown.stdout


# inspect


def test_inspect_names_every_bucket(output: Path) -> None:
    cw.write_table(NESTED, output)
    text = _run("inspect", output).stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[:3] == [
        "output.parquet",
        "4 rows, format version 2",
        f"created_by: {cw.read_metadata(output).created_by}",
    ]
    start = lines.index("tags.list.element")
    assert lines[start + 1 : start + 13] == [
        "BYTE_ARRAY (STRING), codec SNAPPY, encodings PLAIN",
        "min_value: x",
        "max_value: yy",
        "unencoded_byte_array_data_bytes: 3",
        "repetition_level_histogram",
        "0 new row 4 80.0% ████████████████",
        "1 next element of tags 1 20.0% ████",
        "definition_level_histogram",
        "0 null list 1 20.0% ████",
        "1 empty list 1 20.0% ████",
        "2 null element 1 20.0% ████",
        "3 value 2 40.0% ████████",
    ]
    assert "0 null struct 'who' 1 25.0% █████" in lines
    assert "1 null field 'age' 1 25.0% █████" in lines
    assert max(map(len, text.splitlines())) <= 100


def test_inspect_adds_up_row_groups(output: Path) -> None:
    cw.write_table(FLAT, output, row_group_size=300)
    lines = [" ".join(line.split()) for line in _run("inspect", output, "--column", "name").stdout.splitlines()]
    assert "name 1,000 0 4" in " ".join(lines)
    assert "1 value 1,000 100.0% ████████████████████" in lines
    assert "unencoded_byte_array_data_bytes: 2,000" in lines
    assert not [line for line in lines if line.startswith("min_value")]
    one = [" ".join(line.split()) for line in _run("inspect", output, "--row-group", 3).stdout.splitlines()]
    assert "min_value: 900" in one
    assert "1 value 100 100.0% ████████████████████" in one


def test_inspect_shows_how_many_values_are_distinct(output: Path) -> None:
    cw.write_table(pa.table({"c": [1, 2, 3, 1] * 500}), output)
    lines = [line.strip() for line in _run("inspect", output).stdout.splitlines()]
    assert "distinct_count: 3" in lines
    document = json.loads(_run("inspect", output, "--json").stdout)
    assert document["row_groups"][0]["columns"][0]["meta_data"]["statistics"]["distinct_count"] == 3


def test_inspect_shows_pages(output: Path) -> None:
    cw.write_table(FLAT, output, max_rows_per_page=400, use_dictionary=False, compression="none")
    text = _run("inspect", output, "--pages", "--column", "name").stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    start = lines.index("row group 0, name: 3 pages, boundary_order ASCENDING")
    _, offset_index = cw.read_page_index(output, 0, 1)
    for number, location in enumerate(offset_index.page_locations):
        rows = 400 if number < 2 else 200
        size = f"{location.offset:,} {location.compressed_page_size:,}"
        assert lines[start + 3 + number] == f"{number} {location.first_row_index} {size} {2 * rows} 0 n0 n9"
        assert f"{number} – 0: 0 1: {rows}" in lines


def test_inspect_says_what_is_absent(output: Path) -> None:
    pq.write_table(FLAT.select(["id"]), output, write_statistics=False)
    text = _run("inspect", output, "--pages").stdout
    assert "absent: statistics, column_index, offset_index\n" in text
    assert "no offset_index: the file does not tell where its pages are" in text
    cw.write_table(FLAT, output, size_statistics_level="None")
    text = _run("inspect", output, "--pages").stdout
    assert text.count("absent: size_statistics\n") == 2
    assert text.count("no level histograms of pages") == 2
    cw.write_table(FLAT.slice(0, 0), output)
    assert "0 rows, " in _run("inspect", output).stdout


def test_inspect_as_json(output: Path) -> None:
    cw.write_table(NESTED, output)
    document = json.loads(_run("inspect", output, "--json", "--column", "id").stdout)
    assert document["columns"][0]["definition_levels"] == ["null", "value"]
    (chunk,) = document["row_groups"][0]["columns"]
    assert chunk["meta_data"]["size_statistics"]["definition_level_histogram"] == [1, 3]
    assert chunk["meta_data"]["statistics"]["max_value"] == 4
    assert "column_index" not in chunk
    pages = json.loads(_run("inspect", output, "--json", "--pages").stdout)
    assert pages["row_groups"][0]["columns"][0]["column_index"]["definition_level_histograms"] == [[1, 3]]


def test_inspect_of_what_is_not_there(output: Path) -> None:
    cw.write_table(FLAT, output)
    assert (
        _fails(2, "inspect", output, "--column", "x") == "column: expected a path of the schema (id, name), found 'x'"
    )
    assert _fails(2, "inspect", output, "--row-group", 1) == "row_group: the file has 1, counted from 0, found 1"


def test_corrupt_files_are_one_line(output: Path) -> None:
    cw.write_table(NESTED, output)
    whole = output.read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    broken = [b"", b"text", whole[:-1], whole[: len(whole) // 2], whole[:-4] + b"PARE", b"PAR1" + whole[-8:]]
    for at in range(len(whole) - 8 - length, len(whole) - 8, 7):
        broken.append(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    for data in broken:
        output.write_bytes(data)
        result = _run("inspect", output, "--pages")
        assert result.exit_code in (0, 1)
        if result.exit_code:
            assert result.stderr.startswith("error: ")
            assert len(result.stderr.splitlines()) == 1
            assert isinstance(result.exception, SystemExit)
    for data in broken[:6]:
        output.write_bytes(data)
        _fails(1, "inspect", output)


def test_the_output_must_not_be_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n')
    result = _run("write", path, path)
    assert result.exit_code == 2
    assert "the output is the input" in result.stderr
    assert path.read_text() == '{"a": 1}\n'


def test_inspect_names_the_file_that_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"not parquet at all")
    result = _run("inspect", path)
    assert result.exit_code == 1
    assert "a.parquet: " in " ".join(result.stderr.split())
