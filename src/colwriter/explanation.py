"""How the columns of a file are encoded, and why: what ``ParquetWriter.explain`` tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from colwriter.encoding_choice import Candidate, Choice
from colwriter.metadata import ColumnMetaData, Encoding, PageType
from colwriter.options import ColumnOptions
from colwriter.schema import ColumnDescriptor

__all__ = ["ColumnExplanation", "Explanation", "explain_column"]


class ColumnExplanation(NamedTuple):
    """The encodings of one leaf column, over all row groups that are written.

    ``path``: dotted. ``candidates``: what there was to choose from, their costs scaled to all row groups; empty where
    nothing was. ``encodings``: those of the data pages, in the order in which they are met. ``bytes_written``: bytes of
    the column chunks in the file, with the levels and page headers that are not part of an estimate.
    """

    path: str
    candidates: tuple[Candidate, ...]
    encodings: tuple[Encoding, ...]
    reason: str
    bytes_written: int


class Explanation(NamedTuple):
    """The encodings of a file, a column each. As a text, a line for each column, and one for each of its candidates."""

    columns: tuple[ColumnExplanation, ...]

    def __str__(self) -> str:
        return "\n".join(line for column in self.columns for line in _lines(column))


def _lines(column: ColumnExplanation) -> Iterator[str]:
    encodings = ", ".join(encoding.name for encoding in column.encodings) or "nothing"
    yield f"{column.path}: {encodings}, {column.bytes_written:,} bytes; {column.reason}"
    for encoding, size, time in column.candidates:
        mark = "*" if encoding in column.encodings else " "
        yield f"  {mark} {encoding.name:<23} {size:>15,} bytes estimated {time / 1e6:>12,.1f} ms nominal"


def explain_column(
    descriptor: ColumnDescriptor, column: ColumnOptions, choice: Choice | None, chunks: Sequence[ColumnMetaData]
) -> ColumnExplanation:
    """Explain a column of these options, from the last choice for it and the column chunks that are written."""
    encodings = dict.fromkeys(
        stats.encoding
        for chunk in chunks
        for stats in chunk.encoding_stats or ()
        if stats.page_type is not PageType.DICTIONARY_PAGE
    )
    candidates: tuple[Candidate, ...] = ()
    if choice is not None:
        scale = sum(chunk.num_values for chunk in chunks) / max(choice.num_levels, 1)
        candidates = tuple(
            Candidate(encoding, round(size * scale), round(time * scale)) for encoding, size, time in choice.candidates
        )
    reason = _given(column) if column.encoding_goal is None else _chosen(column.encoding_goal.value, choice)
    size = sum(chunk.total_compressed_size for chunk in chunks)
    return ColumnExplanation(descriptor.dotted_path, candidates, tuple(encodings), reason, size)


def _given(column: ColumnOptions) -> str:
    if column.use_dictionary:
        return f"by the options: a dictionary where it pays, else {column.encoding.name}"
    return f"by the options: {column.encoding.name}"


def _chosen(goal: str, choice: Choice | None) -> str:
    return f"{goal}: {'nothing is written' if choice is None else choice.reason}"
