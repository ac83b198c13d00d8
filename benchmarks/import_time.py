"""Time to import, each in a new process; pyarrow's own import is part of both."""

from __future__ import annotations


def timeraw_import_colwriter() -> str:
    return "import colwriter"


def timeraw_import_pyarrow_parquet() -> str:
    return "import pyarrow.parquet"


def timeraw_import_pyarrow() -> str:
    return "import pyarrow"
