"""What a check may expect of a file, and how it says that it found something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SIZE_FIELDS = ("repetition_level_histogram", "definition_level_histogram", "unencoded_byte_array_data_bytes")
LEVELS = ("None", "ColumnChunk", "PageAndColumnChunk")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def equal(found: Any, expected: Any, what: str) -> None:
    require(found == expected, f"{what}: the file says {found}, its data {expected}")


@dataclass(frozen=True, slots=True)
class Rules:
    """The options a file was written with, and whether to forgive the habits of other writers."""

    level: str
    peer: bool
    page_index: bool
    statistics: bool

    def __post_init__(self) -> None:
        require(self.level in LEVELS, f"level {self.level!r} is none of {LEVELS}")

    def same_counts(self, found: Any, expected: Any, what: str) -> None:
        """Counts are absent exactly where `expected` is None; a peer may write an empty list for that."""
        equal(None if self.peer and found == [] else found, expected, what)
