"""Numba kernels, a file per topic. A module loads (and Numba with it) when its name is first used,
so that ``import colwriter`` and ``--help`` stay light."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

MODULES = (
    *("bits", "bloom", "bounds", "byte_stream_split", "codes", "compact", "conversion", "delta", "dictionary"),
    *(
        "extremes",
        "fixed_bytes",
        "framing",
        "histogram",
        "index_bounds",
        "lists",
        "merging",
        "page_table",
        "pagination",
        "plain",
    ),
    *("rle", "sampling", "shredding", "views"),
)

if TYPE_CHECKING:
    from colwriter.kernels import bits as bits
    from colwriter.kernels import bloom as bloom
    from colwriter.kernels import bounds as bounds
    from colwriter.kernels import byte_stream_split as byte_stream_split
    from colwriter.kernels import codes as codes
    from colwriter.kernels import compact as compact
    from colwriter.kernels import conversion as conversion
    from colwriter.kernels import delta as delta
    from colwriter.kernels import dictionary as dictionary
    from colwriter.kernels import extremes as extremes
    from colwriter.kernels import fixed_bytes as fixed_bytes
    from colwriter.kernels import framing as framing
    from colwriter.kernels import histogram as histogram
    from colwriter.kernels import index_bounds as index_bounds
    from colwriter.kernels import lists as lists
    from colwriter.kernels import merging as merging
    from colwriter.kernels import page_table as page_table
    from colwriter.kernels import pagination as pagination
    from colwriter.kernels import plain as plain
    from colwriter.kernels import rle as rle
    from colwriter.kernels import sampling as sampling
    from colwriter.kernels import shredding as shredding
    from colwriter.kernels import views as views


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
