"""Scratch memory that outlives a column chunk.

Fresh memory costs more than most encodings: the kernel maps it a page at a time, on first touch. An arena hands
out pieces of one block, is reset when a column chunk is written, and grows to what the largest chunk needed.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "ALIGNMENT",
    "BUFFER_SIZE",
    "NO_BUFFER",
    "Arena",
    "Buffer",
    "give_arena_back",
    "give_buffer_back",
    "release_memory",
    "take_arena",
    "take_buffer",
]

ALIGNMENT = 64
FIRST_BLOCK = 1 << 20
BUFFER_SIZE = 1 << 20
# An arena that grew beyond this is given back to the system when its chunk is done.
MAX_RETAINED = 64 << 20


class Arena:
    """A bump allocator, for the threads of one column. What ``take`` gives lasts until ``reset``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._block = _aligned(FIRST_BLOCK)
        self._typed: dict[Any, NDArray[Any]] = {}  # the block as items of a type: a slice takes half as long as a view
        self._used = 0
        self._spilled = 0
        self._most = 0

    def take(self, count: int, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """``count`` items of ``dtype``, aligned to 64 bytes."""
        typed = self._typed.get(dtype)
        if typed is None:
            typed = self._typed[dtype] = self._block.view(dtype)
        itemsize = typed.itemsize
        size = count * itemsize
        with self._lock:
            start = self._used
            end = start + size
            if end <= len(self._block):
                self._used = -(-end // ALIGNMENT) * ALIGNMENT
                first = start // itemsize
                return typed[first : first + count]
            # The block stays as it is, since arrays of it are in use; the next one has room for all.
            self._spilled += size + ALIGNMENT
        return _aligned(size)[:size].view(dtype)

    def mark(self) -> tuple[int, int]:
        """Where the pieces begin that are taken from now on, for ``give_back``."""
        return self._used, self._spilled

    def give_back(self, mark: tuple[int, int]) -> None:
        """Take the pieces back that were taken since ``mark``, which no thread uses any more."""
        self._most = max(self._most, self._used + self._spilled)
        self._used, self._spilled = mark

    def reset(self) -> None:
        """Take all pieces back."""
        needed = max(self._most, self._used + self._spilled)
        if len(self._block) < needed <= MAX_RETAINED:
            self._block = _aligned(needed + needed // 4)
            self._typed = {}
        self._used = self._spilled = self._most = 0


def _aligned(size: int) -> NDArray[np.uint8]:
    """At least ``size`` bytes, a multiple of ``ALIGNMENT``."""
    size = -(-size // ALIGNMENT) * ALIGNMENT
    raw: NDArray[np.uint8] = np.empty(size + ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + size]


_lock = threading.Lock()
_free: list[Arena] = []


def _forget() -> None:
    """After a fork, another thread of the parent may hold the lock for ever."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def take_arena() -> Arena:
    """An arena that no one else uses until it is given back."""
    with _lock:
        return _free.pop() if _free else Arena()


def give_arena_back(arena: Arena) -> None:
    """What was taken from the arena is not used any more."""
    arena.reset()
    with _lock:
        _free.append(arena)


class Buffer(NamedTuple):
    """``BUFFER_SIZE`` bytes that wait to be written, for kernels and for Python."""

    array: NDArray[np.uint8]
    memory: memoryview


NO_BUFFER = Buffer(np.empty(0, np.uint8), memoryview(b""))
_free_buffers: list[Buffer] = []


def take_buffer() -> Buffer:
    """A buffer that no one else uses until it is given back."""
    with suppress(IndexError):
        return _free_buffers.pop()
    array = np.empty(BUFFER_SIZE, np.uint8)
    return Buffer(array, array.data)


def give_buffer_back(buffer: Buffer) -> None:
    """The buffer is not used any more."""
    if buffer is not NO_BUFFER:
        _free_buffers.append(buffer)


def release_memory() -> None:
    """Give the scratch memory of files that are written back to the system; what is in use stays.

    Between files the writer keeps up to 64 MiB for each column chunk that it worked on at once, of which there are two
    more than threads, and 1 MiB for each file open at once.
    """
    with _lock:
        _free.clear()
    _free_buffers.clear()
