"""Work in threads, results in order. Kernels and codecs release the GIL, so that columns are encoded side by side.

Threads are made when they are first needed, are shared by all writers of a process, and are made anew after a fork.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import TypeVar

from colwriter.arena import Arena, give_arena_back, take_arena

__all__ = ["available_threads", "in_order", "side_by_side"]

S = TypeVar("S")
T = TypeVar("T")

_lock = Lock()
_pools: dict[int, ThreadPoolExecutor] = {}


def _forget() -> None:
    """A child process has none of the threads of its parent, and may have a lock that one of them held."""
    global _lock
    _lock = Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def available_threads() -> int:
    """How many threads this process may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pool(threads: int) -> ThreadPoolExecutor:
    """The pool of that many threads."""
    with _lock:
        if threads not in _pools:
            _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="colwriter")
        return _pools[threads]


def side_by_side(work: Callable[[S], T], items: Sequence[S], threads: int) -> list[T]:
    """``work`` of each item, all of them done when this returns or raises: they may use the arena of the caller."""
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    executor = pool(threads)
    futures = [executor.submit(work, item) for item in items[1:]]
    try:
        first = work(items[0])
    finally:
        wait(futures)
    return [first, *(future.result() for future in futures)]


def in_order(work: Callable[[int, Arena], T], count: int, threads: int) -> Iterator[T]:
    """``work(i, arena)`` for each i below ``count``, in order; what it made in its arena is valid until the next one.

    One more result than there are threads is worked on, or waits: memory is bounded by that many.
    """
    if threads == 1 or count == 1:
        for i in range(count):
            arena = take_arena()
            try:
                yield work(i, arena)
            finally:
                give_arena_back(arena)
        return

    def task(i: int) -> tuple[Arena, T]:
        arena = take_arena()
        try:
            return arena, work(i, arena)
        except BaseException:
            give_arena_back(arena)
            raise

    waiting: deque[Future[tuple[Arena, T]]] = deque()
    executor = pool(threads)
    started = 0
    try:
        while started < count or waiting:
            while started < count and len(waiting) < threads + 1:
                waiting.append(executor.submit(task, started))
                started += 1
            arena, result = waiting.popleft().result()
            try:
                yield result
            finally:
                del result  # not kept while the next one is made
                give_arena_back(arena)
    finally:  # after an error, those that run still hold arenas, and the arrays of the caller
        for future in waiting:
            if not future.cancel() and future.exception() is None:
                give_arena_back(future.result()[0])
