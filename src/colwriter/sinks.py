"""Where a file goes: a path, where it appears whole or not at all, or an open binary file."""

from __future__ import annotations

import io
import os
import posixpath
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from colwriter import kernels
from colwriter.arena import BUFFER_SIZE, NO_BUFFER, give_buffer_back, take_buffer
from colwriter.errors import InvalidOptionError
from colwriter.framing import PageBytes
from colwriter.kernels.page_table import HEADER, STORED_END

__all__ = ["Sink", "as_filesystem", "open_sink"]


# Parts of fewer bytes are gathered, and written up to a buffer at a time, and so are the pages of a column chunk that
# fits into one: a system call, or memory that grows, costs more than to copy them.
SMALL = 1 << 16


# What this process is, for a child has a copy of all else.
_process = object()


def _forget() -> None:
    global _process
    _process = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class Sink:
    """Sequential output. ``close`` makes the file appear; ``abort`` leaves things as they were before."""

    def __init__(self, stream: Any, commit: Callable[[], None], rollback: Callable[[], None]) -> None:
        self._write = stream.write
        # A raw file returns None where it took nothing, because it would have to wait.
        self._is_raw = isinstance(stream, io.RawIOBase)
        self._commit = commit
        self._rollback = rollback
        self._buffer = take_buffer()
        self._waiting = 0
        self._process = _process
        self.position = 0

    @property
    def is_inherited(self) -> bool:
        """Whether this is the copy that a child process has of its parent's."""
        return self._process is not _process

    def write(self, data: Any) -> None:
        """Append bytes, or a memoryview of bytes, which may be used again afterwards."""
        size = len(data)
        self.position += size
        end = self._waiting + size
        if size < SMALL and end <= BUFFER_SIZE:
            self._buffer.memory[self._waiting : end] = data
            self._waiting = end
            return
        self._flush()
        if size < SMALL:
            self._buffer.memory[:size] = data
            self._waiting = size
        else:
            self._write_all(data)

    def write_pages(self, pages: PageBytes) -> None:
        """Append pages, which do not lie side by side."""
        data, table, count = pages.data, pages.pages.table, len(pages.pages)
        memory = data.data
        # A single page has no need of the kernel, and what is more than a buffer is only copied for small pages.
        if count == 1 or pages.size >= max(count * SMALL, BUFFER_SIZE):
            for start, end in zip(table[:-1, HEADER].tolist(), table[:-1, STORED_END].tolist(), strict=True):
                self.write(memory[start:end])
            return
        self.position += pages.size
        page = 0
        while page < count:
            page, self._waiting = kernels.framing.gather_pages(data, table, page, self._buffer.array, self._waiting)
            if self._waiting == 0:  # it is larger than the buffer
                self._write_all(memory[table.item(page, HEADER) : table.item(page, STORED_END)])
                page += 1
            elif page < count:
                self._flush()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, 0
        if waiting:
            self._write_all(self._buffer.memory[:waiting])

    def _write_all(self, data: Any) -> None:
        left = len(data)
        done = self._write(data)
        if done == left:
            return
        while left:
            if done is None and not self._is_raw:  # many file objects do not say, and take all
                return
            if not isinstance(done, int) or not 0 < done <= left:
                raise OSError(f"where: the file took {done!r} of {left} bytes; expected it to take some of them")
            left -= done
            if left:  # an unbuffered file may take less than it was given
                data = memoryview(data)[done:]
                done = self._write(data)

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        self._commit()
        self._release()

    def abort(self) -> None:
        """Give the file up. In a child process, which has a copy of this object, the file is its parent's."""
        if not self.is_inherited:
            self._rollback()
        self._release()

    def _release(self) -> None:
        """Give the buffer back, once: one that is given back twice would have two owners."""
        buffer, self._buffer = self._buffer, NO_BUFFER
        give_buffer_back(buffer)


def as_filesystem(filesystem: Any) -> pafs.FileSystem:
    """A ``pyarrow.fs.FileSystem``; one of fsspec is wrapped."""
    if isinstance(filesystem, pafs.FileSystem):
        return filesystem
    if isinstance(filesystem, str) and "://" in filesystem:
        return _from_uri(filesystem)[0]
    if callable(getattr(filesystem, "open", None)):
        return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))
    raise InvalidOptionError(
        f"filesystem: expected a pyarrow.fs.FileSystem or an fsspec file system, found {filesystem!r}"
    )


def open_sink(where: Any, filesystem: Any = None) -> Sink:
    """Open ``where``: a path, a URI that pyarrow knows, or a binary file object, which is not closed here."""
    if isinstance(where, pa.NativeFile):
        # A buffer stream has nothing to flush, and others are flushed when their owner closes them.
        return Sink(_writable(where), _nothing, _nothing)
    if isinstance(where, str | os.PathLike):
        path = os.fspath(where)
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if filesystem is not None:
            return _filesystem_sink(path, as_filesystem(filesystem))
        if not path:
            raise InvalidOptionError("where: expected a path, found an empty one")
        if "://" in path:
            resolved, path = _from_uri(path)
            return _filesystem_sink(path, resolved)
        return _local_sink(os.path.expanduser(path))
    if not callable(getattr(where, "write", None)):
        raise InvalidOptionError(f"where: expected a path or a binary file object, found {type(where).__name__}")
    if isinstance(where, io.TextIOBase):
        raise InvalidOptionError("where: expected a file opened in binary mode, found one in text mode")
    flush = where.flush if callable(getattr(where, "flush", None)) else _nothing
    return Sink(_writable(where), flush, _nothing)


def _writable(file: Any) -> Any:
    if _says(file, "readable") and not _says(file, "writable"):  # a class of one's own may say neither
        raise InvalidOptionError("where: expected a file opened for writing, found one opened for reading")
    return file


def _says(file: Any, name: str) -> bool:
    """What the method of that name answers, if there is one."""
    method = getattr(file, name, None)
    return bool(callable(method) and method())


def _nothing() -> None:
    pass


def _from_uri(uri: str) -> tuple[pafs.FileSystem, str]:
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
    except pa.ArrowInvalid as error:
        raise InvalidOptionError(f"where: {uri} is not a URI that pyarrow knows: {error}") from error
    return filesystem, path


def _temporary(path: str) -> str:
    """A name beside ``path``, no longer than others however long that is."""
    return posixpath.join(posixpath.dirname(path), f".colwriter-{secrets.token_hex(6)}.tmp")


def _local_sink(path: str) -> Sink:
    try:
        path = os.path.realpath(path)  # what a link points to is replaced, not the link
    except ValueError as error:  # null characters, or none that the file system has
        raise InvalidOptionError(f"where: expected a path, found {path!r}: {error}") from None
    mode = None
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode  # also tells that a name is too long, which that of the temporary file is not
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path}: expected a path for a file, found a directory")
    if mode is not None and not stat.S_ISREG(mode):
        stream = open(path, "wb", buffering=0)  # noqa: SIM115 - a pipe or device has no name to appear under
        return Sink(stream, stream.close, stream.close)
    temporary = os.path.join(os.path.dirname(path), os.path.basename(_temporary(path)))
    try:
        # Mode x: never another's file; permissions are what the umask gives a new file, or those of the file replaced.
        stream = open(temporary, "xb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None

    def commit() -> None:
        stream.close()
        with suppress(OSError):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)

    def rollback() -> None:
        stream.close()
        with suppress(FileNotFoundError):
            os.remove(temporary)

    return Sink(stream, commit, rollback)


def _filesystem_sink(path: str, filesystem: pafs.FileSystem) -> Sink:
    if isinstance(filesystem, pafs.LocalFileSystem):
        return _local_sink(path)
    temporary = _temporary(path)
    stream = filesystem.open_output_stream(temporary)

    def commit() -> None:
        stream.close()
        filesystem.move(temporary, path)

    def rollback() -> None:
        with suppress(OSError, pa.ArrowException):
            stream.close()
        with suppress(OSError, pa.ArrowException):
            filesystem.delete_file(temporary)

    return Sink(stream, commit, rollback)
