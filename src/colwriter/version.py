"""The version, and how files name their writer."""

from __future__ import annotations

__all__ = ["CREATED_BY", "__version__"]

__version__ = "0.1.0"
# Readers look for "<application> version <version> (build <hash>)" before they trust statistics (parquet.thrift).
CREATED_BY = f"colwriter version {__version__} (build {__version__})"
