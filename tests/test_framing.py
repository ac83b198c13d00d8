"""Page headers: the bytes of the kernel against the Thrift encoder of ``PageHeader``; pages that are too large."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import colwriter as cw
from colwriter import framing, thrift
from colwriter.compression import make_compression
from colwriter.framing import PageFormat, checksum, frame
from colwriter.kernels.page_table import DEFINITION_BYTES, END, HEADER, MAX_HEADER, START, STORED_END
from colwriter.levels import EMPTY
from colwriter.metadata import DataPageHeader, DataPageHeaderV2, Encoding, PageHeader, PageType
from colwriter.pages import EncodedLevels, Pages


def framed(
    sizes: list[int], form: PageFormat, rng: np.random.Generator, kinds: int = 3
) -> tuple[list[bytes], list[PageHeader]]:
    """Pages with optional levels of random bytes, and the headers that they should have."""
    count = len(sizes)
    level_sizes = rng.integers(1, 50, count)
    definition = rng.integers(0, 256, level_sizes.sum()).astype(np.uint8)
    level_ends = np.cumsum(level_sizes)
    num_levels = rng.integers(1, 2**30, count)
    num_values = num_levels - rng.integers(0, num_levels)
    num_rows = num_levels - rng.integers(0, num_levels)
    fences = [np.concatenate([[0], np.cumsum(v)]) for v in (num_rows, num_levels, num_levels, num_values)]
    pages = Pages.of(*fences)
    starts = np.cumsum([MAX_HEADER + 60 + size for size in sizes]) - sizes
    data = rng.integers(0, kinds, int(starts[-1]) + sizes[-1]).astype(np.uint8)
    ends = starts + sizes
    pages.table[:-1, [START, END, DEFINITION_BYTES]] = np.stack((starts, ends, level_sizes), axis=1)
    bodies = [data[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
    levels = [definition[end - size : end].tobytes() for end, size in zip(level_ends, level_sizes, strict=True)]
    result = frame("x", pages, EncodedLevels(EMPTY, definition, len(definition)), Encoding.PLAIN, data, form)
    cuts = np.concatenate([[0], np.cumsum(pages.column(STORED_END) - pages.column(HEADER))])
    parts = result.parts
    if isinstance(parts[0], framing.PageBytes):
        assert parts[0].size == cuts[-1] == result.compressed_size
        parts = [data[a:b] for a, b in pages.table[:-1, [HEADER, STORED_END]]]
    joined = b"".join(map(bytes, parts))
    headers, total = [], 0
    for page in range(count):
        raw = levels[page] if form.version == 2 else b""
        content = bodies[page]
        if form.version == 1:
            content = len(levels[page]).to_bytes(4, "little") + levels[page] + content
        stored, is_compressed = content, False
        if form.codec is not None:
            squeezed = bytes(form.codec.compress(content))
            if form.version == 1 or len(squeezed) < len(content):
                stored, is_compressed = squeezed, True
        common = {
            "uncompressed_page_size": len(raw) + len(content),
            "compressed_page_size": len(raw) + len(stored),
            "crc": checksum(raw + stored) if form.checksums else None,
        }
        if form.version == 1:
            inner = DataPageHeader(int(num_levels[page]), Encoding.PLAIN, Encoding.RLE, Encoding.RLE)
            header = PageHeader(PageType.DATA_PAGE, **common, data_page_header=inner)
        else:
            inner_v2 = DataPageHeaderV2(
                int(num_levels[page]),
                int(num_levels[page] - num_values[page]),
                int(num_rows[page]),
                Encoding.PLAIN,
                len(levels[page]),
                0,
                is_compressed,
            )
            header = PageHeader(PageType.DATA_PAGE_V2, **common, data_page_header_v2=inner_v2)
        encoded = thrift.encode(header)
        assert joined[cuts[page] : cuts[page + 1]] == encoded + raw + stored
        total += len(encoded) + common["uncompressed_page_size"]
        headers.append(header)
    assert result.uncompressed_size == total
    return joined, headers


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=8),
    st.sampled_from([1, 2]),
    st.sampled_from([None, "snappy", "zstd"]),
    st.booleans(),
    st.sampled_from([3, 256]),
    st.integers(0, 2**32),
)
def test_headers(sizes: list[int], version: int, codec: str | None, checksums: bool, kinds: int, seed: int) -> None:
    form = PageFormat(version, None if codec is None else make_compression(codec, None), checksums)
    framed(sizes, form, np.random.default_rng(seed), kinds)


def test_compressed_pages_that_do_not_fit_where_they_were() -> None:
    """What does not compress gets larger: it must not run into the page behind it."""
    results = []
    original = framing._compress

    def spy(*arguments):
        results.append(original(*arguments))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framing, "_compress", spy)
        for seed in range(20):
            form = PageFormat(1, make_compression("snappy", None), True)
            framed([3000, 60_000, 3000], form, np.random.default_rng(seed), 256)
    assert any(results)


def test_v2_keeps_what_does_not_get_smaller() -> None:
    rng = np.random.default_rng(0)
    _, headers = framed([0, 1, 300], PageFormat(2, make_compression("snappy", None), False), rng)
    assert [h.data_page_header_v2.is_compressed for h in headers] == [False, False, True]


def test_checksum_is_signed() -> None:
    assert checksum(b"123456789") == 0xCBF43926 - 2**32
    assert checksum(b"") == 0


def test_page_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes in a page header are int32; a page beyond that must not be written with another number."""
    monkeypatch.setattr(framing, "MAX_PAGE_BYTES", 1000)
    with pytest.raises(cw.InvalidDataError, match=r"^column: .*1000 bytes, found a row of 10\d\d"):
        cw.write_column(["x" * 1000], pa.BufferOutputStream(), use_dictionary=False)
    cw.write_column(["x" * 980], pa.BufferOutputStream(), use_dictionary=False)
