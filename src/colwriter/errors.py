"""The errors that colwriter raises, by who can mend them: the caller's type, option, data, or a file.

Every message about a column starts with its dotted path and says what was expected and what was found.
"""

from __future__ import annotations

__all__ = [
    "ColwriterError",
    "CorruptFileError",
    "InvalidDataError",
    "InvalidOptionError",
    "UnsupportedTypeError",
]


class ColwriterError(Exception):
    """Base of every error that colwriter raises on purpose."""


class UnsupportedTypeError(ColwriterError, TypeError):
    """A column has an Arrow type that cannot be written."""


class InvalidOptionError(ColwriterError, ValueError):
    """An option has a value that is not allowed, or names a column that does not exist."""


class InvalidDataError(ColwriterError, ValueError):
    """The data disagree with their schema, or with what a Parquet file can hold."""


class CorruptFileError(ColwriterError, ValueError):
    """A file is not Parquet, is cut short, or contradicts itself."""
