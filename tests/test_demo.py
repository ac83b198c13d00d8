"""The demonstration: that it collects what is installed, measures what it says, and notices what is wrong."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import colwriter as cw
from colwriter import demo
from colwriter.cli import app

LEVELS = ["None", "ColumnChunk", "PageAndColumnChunk"]


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["demo", *map(str, arguments)], env={"COLUMNS": "100"})


def _row(output: str, writer: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.startswith(f" {writer} ")]
    return [part for part in line.split("  ") if part.strip()]


def test_rows_are_the_installed_distributions() -> None:
    table = demo.collect()
    assert table.schema == demo.SCHEMA
    found = {row["name"]: row for row in table.to_pylist()}
    row = found["pyarrow"]
    assert row["version"] == pa.__version__
    files = importlib.metadata.files("pyarrow") or []
    assert row["files"] == [str(file) for file in files]
    assert row["file_sizes"] == [file.size for file in files]
    assert found["pytest"]["requirements"] == importlib.metadata.requires("pytest")


def test_a_distribution_that_tells_nothing_has_nulls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, files in {
        "bare-1.dist-info": {"METADATA": "Metadata-Version: 2.1\nName: bare\nVersion: 1\n"},
        "odd-2.dist-info": {"METADATA": "Metadata-Version: 2.1\n", "RECORD": "a.py,,\nb.py,sha256=x,7\n"},
    }.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    for file in ("a.py", "b.py"):
        (tmp_path / file).touch()
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    bare, odd = sorted(demo.collect().to_pylist(), key=lambda row: row["name"] is None)
    assert bare == {"name": "bare", "version": "1", "requirements": None, "files": None, "file_sizes": None}
    assert odd["name"] is None
    assert (odd["files"], odd["file_sizes"]) == (["a.py", "b.py"], [None, 7])


def test_rows_are_repeated_until_they_list_a_million_files() -> None:
    def table(files: int) -> pa.Table:
        return pa.table({"files": [["x"] * files, None]})

    assert demo.repeat_for(table(10_000)) == 100
    assert demo.repeat_for(table(0)) == 1
    assert demo.repeat_for(pa.table({"files": [["x"]] * 3_000_000})) == 1


def test_files_are_kept_and_the_table_tells_the_truth_about_them(tmp_path: Path) -> None:
    result = _run("--output", tmp_path / "kept", "--repeat", 2)
    assert result.exit_code == 0, result.output
    distinct = demo.collect()
    rows, files = 2 * len(distinct), 2 * demo.file_entries(distinct)
    first = f"{len(distinct)} installed distributions, repeated 2 times: {rows:,} rows with {files:,} files.\n"
    assert result.stdout.startswith(first)
    assert "That is small data" in result.stdout
    sizes, expected = {}, pa.concat_tables([distinct] * 2)
    for writer in [*LEVELS, "pyarrow"]:
        path = tmp_path / "kept" / f"distributions.{writer}.parquet"
        sizes[writer] = path.stat().st_size
        assert pq.read_table(path).equals(expected)
        columns = [chunk.meta_data for chunk in cw.read_metadata(path).row_groups[0].columns]
        assert [column.size_statistics is None for column in columns] == [writer == "None"] * 5
        pages = sum(s.count for column in columns for s in column.encoding_stats if s.page_type.name == "DATA_PAGE")
        assert _row(result.stdout, writer)[1].strip() == str(pages)
        assert "equal" in " ".join(_row(result.stdout, writer))
    for writer in LEVELS:
        assert f" {sizes[writer] - sizes['None']:,} B, " in " ".join(_row(result.stdout, writer))
    assert sizes["None"] < sizes["ColumnChunk"] < sizes["PageAndColumnChunk"]
    assert "not known" in " ".join(_row(result.stdout, "None"))
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_decoded_size_is_that_of_the_footer_and_of_pyarrow(tmp_path: Path) -> None:
    table = pa.concat_tables([demo.collect()] * 3).combine_chunks()
    files = demo.measure(table, tmp_path, lambda done, total, doing: None)
    assert [file.writer for file in files] == [*LEVELS, "pyarrow"]
    assert files[0].footer_size is None
    assert len({file.footer_size for file in files[1:]}) == 1
    bits = sum(len(array) for array in (table["name"], table["version"], table["files"], table["file_sizes"]))
    bits += (
        demo.file_entries(table) + len(table["requirements"]) + len(table["requirements"].combine_chunks().flatten())
    )
    for file in files[1:]:
        assert file.footer_size is not None
        assert 0 <= file.footer_size - file.decoded_size <= bits // 8 + 10
        assert file.equal
        assert file.milliseconds > 0


def test_folder_is_temporary_unless_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = _run("--repeat", 1)
    assert result.exit_code == 0
    assert str(tmp_path) not in "".join(result.stdout.split())  # it is gone by now
    assert "That is small data" not in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_reads_back_different_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = demo.measure

    def broken(*arguments: Any) -> list[demo.Measured]:
        files = measure(*arguments)
        return [files[0], replace(files[1], equal=False), *files[2:]]

    monkeypatch.setattr(demo, "measure", broken)
    result = _run("--repeat", 1, "--output", tmp_path)
    assert result.exit_code == 1
    assert "DIFFERENT" in _row(result.stdout, "ColumnChunk")[-2]


def test_equality_is_that_of_the_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.Table.from_pylist([{"name": "a", "files": ["x"], "file_sizes": [1]}], demo.SCHEMA)
    other = pa.Table.from_pylist([{"name": "a", "files": ["x"], "file_sizes": [2]}], demo.SCHEMA)
    monkeypatch.setattr(
        demo, "write_table", lambda _, *arguments, **options: cw.write_table(other, *arguments, **options)
    )
    files = demo.measure(table, tmp_path, lambda done, total, doing: None)
    assert [file.equal for file in files] == [False, False, False, True]


def test_errors_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = _run("--output", tmp_path / "file", "--repeat", 1)
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path / 'file'}: File exists\n"


@pytest.mark.parametrize(
    ("decoded", "told", "words"),
    [(5, 5, "the same"), (99, 100, "1.00% less, since it leaves out validity bitmaps"), (101, 100, "1.00% more")],
)
def test_difference_is_in_words(decoded: int, told: int, words: str) -> None:
    assert demo._difference(decoded, told).startswith(words)
