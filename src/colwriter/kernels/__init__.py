"""Numba kernels, a file per topic. A module loads (and Numba with it) when its name is first used,
so that ``import colwriter`` and ``--help`` stay light."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

MODULES = ("bits", "dictionary", "framing", "histogram", "indexes", "lists", "pagination", "plain", "rle", "shredding")

if TYPE_CHECKING:
    from colwriter.kernels import (
        bits,
        dictionary,
        framing,
        histogram,
        indexes,
        lists,
        pagination,
        plain,
        rle,
        shredding,
    )

    __all__ = [
        "bits",
        "dictionary",
        "framing",
        "histogram",
        "indexes",
        "lists",
        "pagination",
        "plain",
        "rle",
        "shredding",
    ]


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
