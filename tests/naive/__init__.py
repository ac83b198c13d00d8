"""A slow, plain oracle for Parquet files, written from the specification alone.

It shares no code with the writer it judges: pure Python integers and lists, one value at a time.

- `shred` turns Python rows into the levels and values of each leaf column, `size_statistics` counts them;
- `read_file` decodes every byte of a Parquet file, page by page;
- `check_file` asserts that a file keeps the invariants of the format.
"""

from naive.bloom import bits_of, bitset_of, plain_bytes, xxh64
from naive.check import check, check_file
from naive.encodings import Decoded, Malformed, delta_binary_packed, hybrid
from naive.reader import Chunk, Column, File, Page, read_file
from naive.rules import Rules
from naive.shred import Leaf, shred, size_statistics
from naive.thrift import decode

__all__ = [
    "Chunk",
    "Column",
    "Decoded",
    "File",
    "Leaf",
    "Malformed",
    "Page",
    "Rules",
    "bits_of",
    "bitset_of",
    "check",
    "check_file",
    "decode",
    "delta_binary_packed",
    "hybrid",
    "plain_bytes",
    "read_file",
    "shred",
    "size_statistics",
    "xxh64",
]
