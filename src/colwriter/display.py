"""How the command line shows things: the console, errors, progress, numbers and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

if TYPE_CHECKING:
    from colwriter.conversion import Written
    from colwriter.explanation import Explanation
    from colwriter.warmup import WarmupReport

__all__ = [
    "console",
    "count",
    "new_table",
    "printable",
    "progress",
    "show_error",
    "show_explanation",
    "show_warmup",
    "show_written",
    "size",
]

# Names of columns and values may hold what the console would take for markup.
_CONSOLE: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}


def console() -> Console:
    """The console of standard output."""
    return Console(**_CONSOLE)


def show_error(error: Exception) -> None:
    """One red line on standard error."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    Console(stderr=True, **_CONSOLE).print(printable(f"error: {text}"), style="red", soft_wrap=True)


def show_written(written: Written) -> None:
    """One line about a file that was written."""
    decoded = "decoded size not known" if written.decoded_size is None else f"{size(written.decoded_size)} decoded"
    counts = f"{plural(written.num_rows, 'row')}, {plural(written.row_groups, 'row group')}"
    line = f"{written.path}: {counts}, {size(written.file_size)}, {decoded}"
    console().print(printable(line), soft_wrap=True)


def show_explanation(explanation: Explanation) -> None:
    """A table of the encodings of each column: those that there were to choose from, and what was written."""
    texts, numbers = ("column", "encoding"), ("estimated", "nominal time", "written")
    table = new_table("Encodings", texts, numbers, ("why",))
    for column in explanation.columns:
        path, written = printable(column.path), f"{count(column.bytes_written)} bytes"
        chosen = ", ".join(encoding.name for encoding in column.encodings)
        table.add_row(path, chosen, "", "", written, column.reason, style="bold")
        for encoding, estimated, time in column.candidates:
            table.add_row("", f"  {encoding.name}", f"{count(estimated)} bytes", f"{time / 1e6:,.1f} ms", "", "")
    console().print(table)


def show_warmup(report: WarmupReport) -> None:
    """What a warmup did."""
    kept = f"cached in {report.cache}" if report.cache else "not cached: no folder for it can be written"
    if report.compiled:
        line = f"compiled {plural(report.compiled, 'kernel')} in {report.seconds:.1f} s, {kept}"
    else:
        line = (
            f"nothing to compile: {report.loaded} kernels, and what they call, loaded in {report.seconds:.1f} s, {kept}"
        )
    console().print(line, soft_wrap=True)


def printable(text: str) -> str:
    """Text of a file or an error without line breaks and other characters that could steer a terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else repr(c)[1:-1] for c in text)


def size(num_bytes: int) -> str:
    """A number of bytes, rounded."""
    return decimal(num_bytes)


def new_table(title: str, texts: Sequence[str], numbers: Sequence[str], last: Sequence[str] = ()) -> Table:
    """An empty table whose columns are texts, numbers, and texts again."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, collapse_padding=True
    )
    for header in texts:
        table.add_column(header, overflow="fold")
    for header in numbers:
        table.add_column(header, justify="right")
    for header in last:
        table.add_column(header, overflow="fold")
    return table


def count(number: int | None) -> str:
    """A number with separators between thousands; a dash where it is not known."""
    return "–" if number is None else f"{number:,}"


def plural(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}{'s' * (number != 1)}"


@contextmanager
def progress(title: str, shown: bool | None = None) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on standard error, by default only in a terminal; yields ``update(done, total, doing)``."""
    stderr = Console(stderr=True, **_CONSOLE)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    shown = stderr.is_terminal if shown is None else shown
    with Progress(*columns, console=stderr, transient=stderr.is_terminal, disable=not shown) as bar:
        task = bar.add_task(title, total=None)

        def update(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total, description=printable(f"{title} {doing}".rstrip()))

        yield update
