"""Scratch memory: pieces do not overlap, what is kept has a limit, and goes when it is asked for."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pyarrow as pa

import colwriter
from colwriter import arena
from colwriter.arena import ALIGNMENT, FIRST_BLOCK, MAX_RETAINED, Arena


def test_pieces_are_aligned_and_apart() -> None:
    scratch = Arena()
    pieces = [scratch.take(count, np.int32) for count in (1, 17, 300, FIRST_BLOCK, 5)]
    for number, piece in enumerate(pieces):
        assert piece.ctypes.data % ALIGNMENT == 0
        piece[:] = number
    assert all((piece == number).all() for number, piece in enumerate(pieces))


def test_a_block_grows_to_what_was_needed_up_to_a_limit() -> None:
    scratch = Arena()
    for count, size in ((4 * FIRST_BLOCK, 4 * FIRST_BLOCK), (MAX_RETAINED + 1, 4 * FIRST_BLOCK)):
        scratch.take(count)
        scratch.reset()
        assert size <= len(scratch._block) <= MAX_RETAINED


def test_what_is_given_back_is_taken_again() -> None:
    """And counts for the size of the block, as it was needed."""
    scratch = Arena()
    kept = scratch.take(100)
    kept[:] = 1
    mark = scratch.mark()
    first, spilled = scratch.take(1000), scratch.take(3 * FIRST_BLOCK)
    spilled[:] = first[:] = 2
    scratch.give_back(mark)
    assert scratch.take(1000).ctypes.data == first.ctypes.data
    assert (kept == 1).all()
    scratch.reset()
    assert 3 * FIRST_BLOCK < len(scratch._block) < 5 * FIRST_BLOCK
    block = scratch._block
    scratch.take(3 * FIRST_BLOCK)
    scratch.reset()
    assert scratch._block is block


def test_release_memory_leaves_no_idle_arena() -> None:
    colwriter.write_table(pa.table({"a": [1, 2]}), pa.BufferOutputStream())
    idle = [weakref.ref(scratch) for scratch in arena._free]
    assert idle
    busy = arena.take_arena()
    piece = busy.take(10)
    piece[:] = 7
    colwriter.release_memory()
    gc.collect()
    assert arena._free == arena._free_buffers == []
    assert {reference() for reference in idle} <= {None, busy}
    assert (piece == 7).all()
    arena.give_arena_back(busy)
    colwriter.release_memory()
    colwriter.write_table(pa.table({"a": [1, 2]}), pa.BufferOutputStream())


def test_buffers_have_one_user_each() -> None:
    """Two files at once, each given up or finished twice: no buffer is in two hands."""
    colwriter.release_memory()
    schema = pa.schema([("a", pa.int64())])
    writers = [colwriter.ParquetWriter(pa.BufferOutputStream(), schema) for _ in range(2)]
    assert arena._free_buffers == []
    writers[0].close()
    writers[0].close()
    writers[1].abort()
    writers[1].abort()
    assert len(arena._free_buffers) == len({id(buffer) for buffer in arena._free_buffers}) == 2
    buffer = arena.take_buffer()
    assert len(buffer.array) == len(buffer.memory) == arena.BUFFER_SIZE
    arena.give_buffer_back(buffer)
