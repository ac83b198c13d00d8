"""Kernels write to the scratch memory that they were given, and to no byte behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import Case, build, cases, writer_options

import colwriter as cw
from colwriter.arena import ALIGNMENT, Arena

GUARD = 64
PATTERN = 0xA5


class _Guards:
    """Each piece of an arena has memory of its own, and a guard behind it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.guards: list[tuple[int, Any]] = []
        monkeypatch.setattr(Arena, "take", lambda arena, *arguments: self.take(*arguments))

    def take(self, count: int, dtype: Any = np.uint8) -> Any:
        size = int(count) * np.dtype(dtype).itemsize
        block = np.full(size + GUARD + ALIGNMENT, PATTERN, np.uint8)
        start = -block.ctypes.data % ALIGNMENT
        self.guards.append((size, block[start + size :]))
        return block[start : start + size].view(dtype)

    def check(self) -> None:
        for size, guard in self.guards:
            assert (guard == PATTERN).all(), f"written past a piece of {size} bytes"
        self.guards.clear()


def write(column: Any, **options: Any) -> None:
    cw.write_column(column, pa.BufferOutputStream(), use_threads=False, **options)


@settings(max_examples=150, deadline=None)
@given(cases(), writer_options(), st.sampled_from([None, "auto"]))
def test_any_column(case: Case, options: dict[str, Any], encoding: str | None) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        guards = _Guards(monkeypatch)
        array = build(case.field.type, case.rows, case.layout)
        write(array, **{**options, "column_encoding": encoding})
        guards.check()


@pytest.mark.parametrize("limit", [4, 100, 5000, 1 << 20])
@pytest.mark.parametrize("distinct", [2, 300, 1 << 20])
@pytest.mark.parametrize("arrow_type", [pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.string_view()], ids=str)
def test_choices_with_dictionaries_of_all_sizes(
    arrow_type: Any, distinct: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary without room for the values of a sample took more memory than was counted for its few entries."""
    rng = np.random.default_rng(limit + distinct)
    column = pa.array(rng.integers(0, distinct, 20_000)).cast(pa.int64()).cast(pa.string())
    column = column if pa.types.is_string(arrow_type) else column.cast(arrow_type)
    guards = _Guards(monkeypatch)
    for codec in ("none", "snappy"):
        write(column, column_encoding="auto", compression=codec, dictionary_pagesize_limit=limit)
        guards.check()
