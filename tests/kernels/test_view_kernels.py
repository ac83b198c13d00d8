"""Views against plain Python; also run with bounds checks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from colwriter.kernels import dictionary, views

BUFFERS = 3


def make_views(values: list[bytes], rng: np.random.Generator) -> tuple[NDArray[np.uint8], list[NDArray[np.uint8]]]:
    """16 bytes a value, and the buffers that hold the long ones, each at the very end of its buffer at times."""
    slots = np.zeros((len(values), 4), np.int32)
    held = [b""] * BUFFERS
    for slot, value in zip(slots, values, strict=True):
        slot[0] = len(value)
        if len(value) <= views.INLINE:
            slot[1:] = np.frombuffer(value.ljust(12, b"\0"), np.int32)
        else:
            number = int(rng.integers(0, BUFFERS))
            slot[1:] = np.frombuffer(value[:4], np.int32)[0], number, len(held[number])
            held[number] += value
    return slots.view(np.uint8).reshape(-1), [np.frombuffer(data or b"\0", np.uint8) for data in held]


@pytest.mark.parametrize("fill", [0, 0x55, 0xFF])
@pytest.mark.parametrize("longest", [4, 12, 13, 23, 24, 25, 33, 90])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 700])
def test_views(count: int, longest: int, fill: int) -> None:
    rng = np.random.default_rng([count, longest])
    pool = [b"alike" * 20] * 40
    pool = [(text[: rng.integers(0, 60)] + rng.bytes(longest))[-int(rng.integers(0, longest + 1)) :] for text in pool]
    values = [pool[k] for k in rng.integers(0, len(pool), count).tolist()]
    valid = rng.integers(0, 4, count) > 0
    valid[0] = True
    bitmap = np.packbits(np.concatenate([[False] * 3, valid]), bitorder="little")
    slots, buffers = make_views(values, rng)
    addresses = np.array([data.ctypes.data for data in (slots, *buffers)], np.int64)
    sizes = np.array([len(data) for data in (slots, *buffers)], np.int64)

    table = np.full(dictionary.table_size(count), fill, np.int32)
    keys = np.full(views.KEY_WORDS * count, fill, np.uint64)
    entries, codes = np.full(count, fill, np.int64), np.full(count, fill, np.int32)
    scratch = table, keys, entries, codes
    found = views.index_views(slots, bitmap, 3, addresses, sizes, 1 << 20, 1 << 20, *scratch)
    distinct = list(dict.fromkeys(value for value, is_valid in zip(values, valid, strict=True) if is_valid))
    plain = sum(4 + len(value) for value, is_valid in zip(values, valid, strict=True) if is_valid)
    page = sum(4 + len(value) for value in distinct)
    if 16 * (8 * page + int(valid.sum()) * len(distinct).bit_length()) > 15 * 8 * plain:
        assert found == 0
    else:
        assert [values[slot] for slot in entries[:found]] == distinct
        assert [distinct[code] for code in codes[valid]] == [values[slot] for slot in np.flatnonzero(valid)]
        assert views.index_views(slots, bitmap, 3, addresses, sizes, page - 1, 1 << 20, *scratch) == 0

    offsets = np.full(count + 1, fill, np.int64)
    total = views.measure_views(slots, bitmap, 3, addresses, sizes, offsets)
    out = np.full(total + views.PADDING, fill, np.uint8)
    views.copy_views(slots, addresses, sizes, offsets, out)
    assert out[:total].tobytes() == b"".join(value if v else b"" for value, v in zip(values, valid, strict=True))


def test_a_dictionary_on_probation() -> None:
    """What does not pay at first is given up, whatever comes later."""
    rng = np.random.default_rng(5)
    values = [b"%03d" % k for k in range(200)] + [b"000"] * 2000
    slots, _ = make_views(values, rng)
    addresses, sizes = np.array([slots.ctypes.data]), np.array([len(slots)])
    scratch = (
        np.zeros(dictionary.table_size(300), np.int32),
        np.zeros(views.KEY_WORDS * 300, np.uint64),
        np.zeros(300, np.int64),
        np.zeros(len(values), np.int32),
    )
    none = np.zeros(0, np.uint8)
    for probation, expected in ((128, 0), (1024, 200)):
        found = views.index_views(slots, none, 0, addresses, sizes, 1 << 20, probation, *scratch)
        assert found == expected
