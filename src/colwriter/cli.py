"""The arguments of the command line. What a command does is in the module that it imports when it runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from colwriter.conversion import InputFormat
from colwriter.errors import ColwriterError, CorruptFileError, InvalidOptionError
from colwriter.version import __version__

__all__ = ["app"]

# The plain help shows long names of options whole, as the one in boxes does not.
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, show_default=False, **more)


def _each(text: str, kind: str) -> Any:
    return _option(f"{text} May be repeated.", metavar=f"[COLUMN=]{kind}")


@contextmanager
def _errors() -> Iterator[None]:
    """Expected errors as one line; exit status 2 for what was asked, 1 for what the file or the data are."""
    try:
        yield
    except (ColwriterError, OSError, pa.ArrowException) as error:
        from colwriter.display import show_error

        show_error(error)
        raise typer.Exit(2 if isinstance(error, InvalidOptionError) else 1) from None


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colwriter {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Write Parquet fast, with size statistics that say how large a file is once decoded."""


@app.command()
def demo(
    output: Annotated[Path | None, _option("Keep the files in this folder.", metavar="DIR")] = None,
    repeat: Annotated[
        int | None, _option("How often to repeat the rows; by default until they list a million files.", min=1)
    ] = None,
) -> None:
    """Write the list of installed Python packages, and compare.

    The list is nested: of each package its requirements, its files and their sizes. It is written at each level of
    size statistics, and by pyarrow, read back, and measured.
    """
    with _errors():
        from colwriter.demo import run

        with tempfile.TemporaryDirectory(prefix="colwriter-") if output is None else nullcontext(output) as folder:
            equal = run(Path(folder), repeat)
    raise typer.Exit(0 if equal else 1)


_NOT_OPTIONS = ("source", "output", "input_format", "progress", "explain")


@app.command()
def write(
    context: typer.Context,
    source: Annotated[
        Path, typer.Argument(metavar="INPUT", help="CSV, TSV, JSON lines, Arrow IPC, Feather or Parquet.")
    ],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The Parquet file.")],
    input_format: Annotated[
        InputFormat | None, _option("Format of the input; by default what its suffix says.", "--format")
    ] = None,
    progress: Annotated[bool | None, _option("A progress bar on stderr; by default in a terminal.")] = None,
    compression: Annotated[
        list[str] | None, _each("none, snappy (default), gzip, brotli, lz4 or zstd.", "CODEC")
    ] = None,
    compression_level: Annotated[list[str] | None, _each("Level of the codec.", "LEVEL")] = None,
    row_group_size: Annotated[int | None, _option("Most rows of a row group; 1048576 by default.")] = None,
    max_row_group_bytes: Annotated[int | None, _option("About how many bytes a row group has at most.")] = None,
    max_row_group_decoded_bytes: Annotated[int | None, _option("Most bytes of a row group in Arrow buffers.")] = None,
    data_page_size: Annotated[int | None, _option("Bytes at which a page ends; 1048576 by default.")] = None,
    data_page_version: Annotated[str | None, _option("1.0 (default) or 2.0.")] = None,
    max_rows_per_page: Annotated[int | None, _option("Most rows of a page; 20000 by default.")] = None,
    max_values_per_page: Annotated[int | None, _option("Most values of a page, null ones too.")] = None,
    page_boundaries: Annotated[
        list[str] | None, _each("Rows of the file at which pages start, with commas between them.", "ROWS")
    ] = None,
    use_dictionary: Annotated[bool | None, _option("Encode with dictionaries where they pay; yes by default.")] = None,
    dictionary_pagesize_limit: Annotated[int | None, _option("Most bytes of a dictionary; 1048576 by default.")] = None,
    write_page_index: Annotated[bool | None, _option("Write the page index; yes by default.")] = None,
    write_page_checksum: Annotated[bool | None, _option("Write a CRC-32 of each page; no by default.")] = None,
    write_statistics: Annotated[bool | None, _option("Write bounds and null counts; yes by default.")] = None,
    statistics_truncate_length: Annotated[
        int | None, _option("Most bytes of a bound of texts and binaries in statistics; 64 by default.")
    ] = None,
    column_index_truncate_length: Annotated[int | None, _option("The same in the page index.")] = None,
    float_column_order: Annotated[
        str | None, _option("Order of floats for bounds: type_order (default) or ieee_754_total_order.")
    ] = None,
    size_statistics_level: Annotated[
        list[str] | None, _each("None, ColumnChunk or PageAndColumnChunk (default).", "LEVEL")
    ] = None,
    column_encoding: Annotated[
        list[str] | None, _each("Encoding instead of a dictionary, or auto to choose from the data.", "ENCODING")
    ] = None,
    encoding_goal: Annotated[
        list[str] | None, _each("What auto chooses for: size, balanced (default) or speed.", "GOAL")
    ] = None,
    bloom_filter_options: Annotated[
        list[str] | None, _each("Bloom filters that find so many of the absent values, such as 0.01.", "FPP")
    ] = None,
    version: Annotated[str | None, _option("Format version: 1.0, 2.4 or 2.6 (default).")] = None,
    flavor: Annotated[str | None, _option("spark, for names and timestamps that it reads.")] = None,
    coerce_timestamps: Annotated[str | None, _option("Unit that timestamps get: ms or us.")] = None,
    allow_truncated_timestamps: Annotated[
        bool | None, _option("Whether a coarser unit may cut what it cannot hold; no by default.")
    ] = None,
    use_deprecated_int96_timestamps: Annotated[bool | None, _option("Write timestamps as INT96.")] = None,
    write_time_adjusted_to_utc: Annotated[bool | None, _option("Say that times of day are UTC.")] = None,
    store_decimal_as_integer: Annotated[bool | None, _option("Store decimals of 1 to 18 digits as integers.")] = None,
    store_schema: Annotated[bool | None, _option("Store the Arrow schema; yes by default.")] = None,
    use_compliant_nested_type: Annotated[
        bool | None, _option("Call the elements of lists element, or as Arrow does; yes by default.")
    ] = None,
    max_threads: Annotated[int | None, _option("Most threads; one a core by default.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the encodings of each column, and why.")] = False,
) -> None:
    """Write CSV, JSON lines, Arrow or Parquet as Parquet.

    Options have the names and meanings of pyarrow.parquet.write_table. The input is never in memory as a whole.
    """
    options = {
        name: value
        for name, value in context.params.items()
        if name not in _NOT_OPTIONS and value not in (None, [], ())
    }
    with _errors():
        from colwriter import display
        from colwriter.conversion import convert, open_source

        if output.exists() and source.exists() and output.samefile(source):
            raise InvalidOptionError(f"{output}: the output is the input")
        with open_source(source, input_format) as batches, display.progress("writing", progress) as update:
            written = convert(batches, output, options, lambda done: update(done, batches.total, ""))
        if explain:
            display.show_explanation(written.explanation)
        display.show_written(written)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Parquet file of any writer.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document with the specification's names.")] = False,
    pages: Annotated[bool, typer.Option("--pages", help="Also the pages, from the page index.")] = False,
    column: Annotated[str | None, _option("Only the column, or columns, of this dotted path.", metavar="PATH")] = None,
    row_group: Annotated[int | None, _option("Only this row group, counted from 0.", min=0)] = None,
) -> None:
    """Show what the metadata of a Parquet file say.

    Row groups, columns, bounds, size statistics with the meaning of each level, and pages. Only metadata are read.
    """
    with _errors():
        from colwriter.inspection import inspect as inspect_file

        try:
            document = inspect_file(file, column=column, row_group=row_group, pages=pages)
        except CorruptFileError as error:
            raise CorruptFileError(f"{file}: {error}") from error
        if as_json:
            typer.echo(json.dumps(document, indent=2))
        else:
            from colwriter.display import console
            from colwriter.inspection_view import render

            console().print(*render(file.name, document), sep="\n")


@app.command()
def warmup() -> None:
    """Compile all kernels now, so that no write has to."""
    with _errors():
        from colwriter import display
        from colwriter.warmup import warmup as compile_kernels

        with display.progress("warmup") as update:
            report = compile_kernels(update)
        display.show_warmup(report)
