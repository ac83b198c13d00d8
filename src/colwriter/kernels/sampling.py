"""What a sample tells about the values that it is taken from."""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Int, Int64s, kernel


@kernel
def count_classes(values: Int64s) -> tuple[Int, Int, Int]:
    """(distinct, once, twice): how many values differ, and how many of those are met once and twice.

    ``values`` int64, equal ones side by side.
    """
    distinct = np.int64(0)
    once = np.int64(0)
    twice = np.int64(0)
    met = np.int64(0)
    for i in range(len(values)):
        met += 1
        if i + 1 == len(values) or values[i + 1] != values[i]:
            distinct += 1
            once += met == 1
            twice += met == 2
            met = np.int64(0)
    return distinct, once, twice
