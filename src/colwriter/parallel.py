"""Work in threads, results in order. Kernels and codecs release the GIL, so that columns are encoded side by side.

Threads are made when they are first needed, are shared by all writers of a process, and are made anew after a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from colwriter.arena import Arena, give_arena_back, take_arena

__all__ = ["available_threads", "in_order", "side_by_side"]

S = TypeVar("S")
T = TypeVar("T")
# Results beyond those that threads work on: with these, a thread that is done does not wait for one that is not.
EARLY = 2
UNLIMITED = 1 << 62

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


def _same(_: int) -> int:
    return 1


def side_by_side(work: Callable[[S], T], items: Sequence[S], threads: int) -> list[T]:
    """``work`` of each item, all of them done when this returns or raises: they may use the arena of the caller."""
    if threads == 1 or len(items) == 1:
        return [work(item) for item in items]
    executor = pool(threads)
    futures = [executor.submit(work, item) for item in items[1:]]
    try:
        first = work(items[0])
    finally:
        for future in futures:
            future.exception()  # waits for it
    return [first, *(future.result() for future in futures)]


def in_order(
    work: Callable[[int, Arena], T],
    count: int,
    threads: int,
    cost: Callable[[int], int] = _same,
    budget: int = UNLIMITED,
) -> Iterator[T]:
    """``work(i, arena)`` for each i below ``count``, in order; what it made in its arena is valid until the next one.

    Two more results than there are threads are worked on, or wait, but no more than ``budget`` of their ``cost`` unless
    it is a single one: memory is bounded by that. The costliest of those that may be started is started first, so that
    none of the large ones is left for the end, when other threads have nothing to do. The thread that asks is one of
    them: one more would have to share their processors, and what waits for it would wait long.
    """
    if threads == 1 or count == 1:
        for i in range(count):
            arena = take_arena()
            try:
                yield work(i, arena)
            finally:
                give_arena_back(arena)
        return

    pending: list[int] = []
    futures: dict[int, Future[tuple[Arena, T]]] = {}

    def run_costliest() -> None:
        with _lock:
            if not pending:  # all was given up
                return
            i = max(pending, key=cost)
            pending.remove(i)
        future, arena = futures[i], take_arena()
        try:
            future.set_result((arena, work(i, arena)))
        except BaseException as error:
            give_arena_back(arena)
            future.set_exception(error)

    executor = pool(threads - 1)
    started = spent = 0
    try:
        for i in range(count):
            while started < count and (
                started == i or (started < i + threads + EARLY and spent + cost(started) <= budget)
            ):
                futures[started] = Future()
                with _lock:
                    pending.append(started)
                executor.submit(run_costliest)
                spent += cost(started)
                started += 1
            while pending and not futures[i].done():
                run_costliest()
            arena, result = futures[i].result()
            del futures[i]
            spent -= cost(i)
            try:
                yield result
            finally:
                del result  # not kept while the next one is made
                give_arena_back(arena)
    finally:  # after an error, those that run still hold arenas, and the arrays of the caller
        with _lock:
            for i in pending:
                del futures[i]
            pending.clear()
        for future in futures.values():
            if future.exception() is None:
                give_arena_back(future.result()[0])
