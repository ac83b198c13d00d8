"""The arguments of the command line. What a command does is in the module that it imports when it runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from colwriter.errors import ColwriterError, InvalidOptionError
from colwriter.version import __version__

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich")

_OPTIONS = "Options of pyarrow.parquet.write_table"


def _option(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=_OPTIONS, show_default=False, **more)


def _each(text: str, metavar: str) -> Any:
    return _option(f"{text} May be repeated.", metavar=metavar)


@contextmanager
def _errors() -> Iterator[None]:
    """Expected errors as one line; exit status 2 for what the caller asked, 1 for what the file or the data are."""
    import pyarrow as pa

    from colwriter.display import show_error

    try:
        yield
    except (ColwriterError, OSError, pa.ArrowException) as error:
        show_error(_message(error))
        raise typer.Exit(2 if isinstance(error, InvalidOptionError) else 1) from None


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"colwriter {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Write Parquet fast, with size statistics that say how large a file is once decoded."""


@app.command()
def demo(
    output: Annotated[Path | None, typer.Option(help="Keep the files in this folder.", show_default=False)] = None,
    repeat: Annotated[
        int | None,
        typer.Option(min=1, help="How often the rows are repeated; by default so that a million files are listed.", show_default=False),
    ] = None,
) -> None:
    """Write the installed Python distributions, at each level of size statistics, and compare."""
    with _errors():
        from colwriter.demo import run

        equal = True
        with tempfile.TemporaryDirectory(prefix="colwriter-") if output is None else nullcontext(output) as folder:
            equal = run(Path(folder), repeat)
    if not equal:
        raise typer.Exit(1)


@app.command()
def write(
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="CSV, TSV, JSON lines, Arrow (IPC, Feather) or Parquet.", show_default=False)],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The Parquet file.", show_default=False)],
) -> None:
    """Write a file of another format, or of another writer, as Parquet."""
