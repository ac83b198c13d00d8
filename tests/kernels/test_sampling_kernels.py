"""Counts of the classes of a sample, against Python's ``Counter``."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from colwriter.kernels import sampling


@given(st.lists(st.integers(-3, 40) | st.sampled_from([-(2**63), 2**63 - 1])))
def test_count_classes(values: list[int]) -> None:
    counts = Counter(Counter(values).values())
    found = sampling.count_classes(np.sort(np.array(values, np.int64)))
    assert found == (len(set(values)), counts[1], counts[2])
