"""How the command line shows things: the console, errors, progress, numbers and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

__all__ = ["console", "count", "printable", "progress", "show_error", "size"]

# Names of columns and values may hold what the console would take for markup.
_CONSOLE: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}


def console() -> Console:
    """The console of standard output."""
    return Console(**_CONSOLE)


def show_error(message: str) -> None:
    """One red line on standard error."""
    Console(stderr=True, **_CONSOLE).print(printable(f"error: {message}"), style="red", soft_wrap=True)


def printable(text: str) -> str:
    """Text of a file or an error without line breaks and other characters that could steer a terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else repr(c)[1:-1] for c in text)


def size(num_bytes: int) -> str:
    """A number of bytes, rounded."""
    return decimal(num_bytes)


def count(number: int | None) -> str:
    """A number with separators between thousands; a dash where it is not known."""
    return "–" if number is None else f"{number:,}"


@contextmanager
def progress(title: str, shown: bool | None = None) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on standard error, by default only in a terminal; yields ``update(done, total, doing)``."""
    stderr = Console(stderr=True, **_CONSOLE)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(markup=False))
    shown = stderr.is_terminal if shown is None else shown
    with Progress(*columns, console=stderr, transient=stderr.is_terminal, disable=not shown) as bar:
        task = bar.add_task(title, total=None)

        def update(done: int, total: int, doing: str = "") -> None:
            bar.update(task, completed=done, total=total, description=printable(f"{title} {doing}".rstrip()))

        yield update
