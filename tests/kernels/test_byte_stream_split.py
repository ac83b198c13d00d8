"""BYTE_STREAM_SPLIT against the example of Encodings.md and NumPy's transposition."""

from __future__ import annotations

import numpy as np
import pytest

from colwriter.kernels import byte_stream_split
from colwriter.kernels.page_table import END, LEAD, START
from page_tables import page_table, pages_of


def encode(raw: np.ndarray, width: int, unit: int, fences: list[int]) -> list[bytes]:
    """The pages of values of ``width`` bytes, as words of ``unit`` bytes."""
    words = raw.view(f"u{unit}")
    words.flags.writeable = False
    pages = len(fences) - 1
    table = page_table(fences, 5)
    out = np.full(len(raw) + pages * (LEAD + 5), 0xAA, np.uint8)
    block = np.zeros(byte_stream_split.BLOCK, words.dtype)
    ranges = np.stack((fences[:-1], fences[1:]), axis=1)
    last = byte_stream_split.encode(words, width // unit, ranges, block, table, out)
    assert last == table[-2, END]
    assert (table[:-1, START] == np.append(0, table[:-2, END]) + LEAD + 5).all()
    return pages_of(table, out)


def test_example_of_the_specification() -> None:
    raw = np.frombuffer(bytes.fromhex("AA BB CC DD  00 11 22 33  A3 B4 C5 D6"), np.uint8).copy()
    expected = bytes.fromhex("AA 00 A3  BB 11 B4  CC 22 C5  DD 33 D6")
    assert encode(raw, 4, 4, [0, 3]) == [expected]
    assert encode(raw, 4, 1, [0, 3]) == [expected]


@pytest.mark.parametrize(
    ("width", "unit"), [(1, 1), (2, 2), (3, 1), (4, 4), (5, 1), (6, 2), (7, 1), (8, 8), (12, 4), (16, 8)]
)
@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 1023, 1024, 1025, 2049, 5000])
def test_any_width(count: int, width: int, unit: int) -> None:
    raw = np.random.default_rng(count).integers(0, 255, count * width, np.uint8, endpoint=True)
    fences = [0, count // 3, count // 3, count]
    rows = raw.reshape(count, width)
    expected = [rows[a:b].T.tobytes() for a, b in zip(fences, fences[1:], strict=False)]
    assert encode(raw, width, unit, fences) == expected
