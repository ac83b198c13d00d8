"""Page compression (Parquet specification, Compression.md), by ``pyarrow.Codec``, which releases the GIL."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pyarrow as pa

from colwriter.errors import InvalidOptionError

__all__ = ["compress", "make_codec"]


@lru_cache(maxsize=64)
def make_codec(name: str, level: int | None) -> pa.Codec:
    """The codec of that pyarrow name; raises ``InvalidOptionError`` for a level that it does not have."""
    if not pa.Codec.is_available(name):
        raise InvalidOptionError(f"compression: {name} is not part of this build of pyarrow")
    if level is None:
        return pa.Codec(name)
    if not pa.Codec.supports_compression_level(name):
        raise InvalidOptionError(f"compression_level: {name} has no levels, found {level}")
    low, high = pa.Codec.minimum_compression_level(name), pa.Codec.maximum_compression_level(name)
    if not low <= level <= high:
        raise InvalidOptionError(f"compression_level: {name} has levels {low} to {high}, found {level}")
    return pa.Codec(name, compression_level=level)


def compress(codec: pa.Codec, data: Any) -> memoryview:
    """The compressed bytes of one page."""
    # A memoryview of the buffer itself has the length from before it was cut to size; a slice has the right one.
    return memoryview(codec.compress(data).slice()).cast("B")
