"""Page tables for tests of single kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from colwriter.kernels.page_table import COLUMNS, END, LEVEL, REPETITION_BYTES, ROW, SLOT, START, VALUE


def page_table(fences: Sequence[int] | np.ndarray, level_bytes: int = 0) -> np.ndarray:
    """Pages whose rows, levels, slots and values all start at ``fences``, and that have so many bytes of levels."""
    table = np.zeros((len(fences), COLUMNS), np.int64)
    for column in (ROW, LEVEL, SLOT, VALUE):
        table[:, column] = fences
    table[:-1, REPETITION_BYTES] = level_bytes
    return table


def pages_of(table: np.ndarray, out: np.ndarray) -> list[bytes]:
    """The values of each page in the output of an encoder."""
    return [out[start:end].tobytes() for start, end in table[:-1, [START, END]].tolist()]
