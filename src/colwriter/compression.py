"""Page compression (Parquet specification, Compression.md), by ``pyarrow.Codec``, which releases the GIL."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from colwriter.errors import InvalidOptionError

__all__ = ["Compression", "make_compression"]

_local = threading.local()


@dataclass(frozen=True, slots=True, eq=False)
class Compression:
    """A codec of pyarrow, by its name there, and its level. Made once for each (``make_compression``)."""

    name: str
    level: int | None

    def compress(self, data: Any) -> memoryview:
        """The compressed bytes of one page."""
        # A memoryview of the buffer itself has the length from before it was cut to size; a slice has the right one.
        return memoryview(self._codec().compress(data).slice()).cast("B")

    def _codec(self) -> pa.Codec:
        """This thread's own: gzip's keeps the state of the compressor, which two threads would share."""
        codecs: dict[Compression, pa.Codec] = _local.__dict__.setdefault("codecs", {})
        codec = codecs.get(self)
        if codec is None:
            codec = codecs[self] = pa.Codec(self.name, compression_level=self.level)
        return codec


@lru_cache(maxsize=64)
def make_compression(name: str, level: int | None) -> Compression:
    """The codec of that pyarrow name; raises ``InvalidOptionError`` for a level that it does not have."""
    if not pa.Codec.is_available(name):
        raise InvalidOptionError(f"compression: {name} is not part of this build of pyarrow")
    if level is not None:
        if not pa.Codec.supports_compression_level(name):
            raise InvalidOptionError(f"compression_level: {name} has no levels, found {level}")
        low, high = pa.Codec.minimum_compression_level(name), pa.Codec.maximum_compression_level(name)
        if not low <= level <= high:
            raise InvalidOptionError(f"compression_level: {name} has levels {low} to {high}, found {level}")
    return Compression(name, level)
