"""Writes docs/interop.md, from the list in test_interop_matrix.py: `python tests/interop_table.py`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

from test_interop_matrix import CODECS, COLUMNS, GAPS, NESTINGS, PAGES, READERS, VERSIONS, Gap, gap_of

PAGE = Path(__file__).parents[1] / "docs/interop.md"
HEAD = """\
# Who reads what

Made by `python tests/interop_table.py` from the list in `tests/test_interop_matrix.py`. That test writes every type in
every encoding that it has, in data pages V1 and V2, flat, in lists and in structs, with nulls and with each codec in
turn ({codecs}), and compares what each reader makes of it. A reader that is
worse than the list, or better, fails it.

What is said here holds for both versions of data pages, and flat, in lists and in structs, where it does not say
otherwise. *yes*: the values, in a type that says what they are. *as ...*: the values, in another form. *wrong*: other
values, and no error. *not tried*: the reader may end the process.

`column_encoding="auto"` chooses among encodings that pyarrow, arro3, Polars, DuckDB and hyparquet read for the type:
a dictionary, PLAIN, DELTA_BINARY_PACKED and BYTE_STREAM_SPLIT of INT32 and INT64, the latter of FLOAT and DOUBLE too,
DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY of BYTE_ARRAY, RLE of BOOLEAN. Fixed bytes, thus decimals in them, keep to
the first two, since Polars and DuckDB do not read them in others; so do columns that are dictionaries in Arrow, which
pyarrow cannot make from others. fastparquet reads no more than PLAIN and dictionaries, and takes booleans in RLE for
other values without an error: files for it are to be written without `"auto"`. Readers that are not in the table, such
as Spark, were not tried.

pyarrow 26 cannot read a dictionary inside of a list, a struct or a map in a file of several row groups, its own files
neither ("Nested data conversions not implemented for chunked array outputs"). With `store_schema=False` it reads the
values.
"""
OUTCOMES = {
    "skip": "not tried",
    "int": "as numbers",
    "float": "as doubles",
    "bytes": "as bytes",
    "text": "as text",
    "timestamp": "as timestamps without a zone",
    "milliseconds": "as milliseconds",
    "microseconds": "as microseconds",
    "parsed": "as what the JSON says",
    "NaN for null": "as doubles, NaN for null",
}
WHERE = {"flat": "flat", "list": "in lists", "struct": "in structs"}


def cell(reader: str, title: str, encoding: str) -> str:
    places = {at: gap_of(reader, title, encoding, *at) for at in product(NESTINGS, PAGES)}
    parts = []
    for gap in dict.fromkeys(places.values()):
        held = [at for at in places if places[at] == gap]
        outcome = f"{OUTCOMES.get(gap.outcome, gap.outcome)} [{number(gap)}](#notes)" if gap else "yes"
        parts.append(outcome + where(held))
    return "; ".join(parts)


def where(held: list[tuple[str, str]]) -> str:
    """In which nestings and pages, unless it is in all."""
    pages_of = {nesting: tuple(page for at, page in held if at == nesting) for nesting in NESTINGS}
    named = []
    for pages in dict.fromkeys(filter(None, pages_of.values())):
        nestings = [nesting for nesting in NESTINGS if pages_of[nesting] == pages]
        words = [] if len(nestings) == len(NESTINGS) else [" and ".join(WHERE[nesting] for nesting in nestings)]
        words += [] if pages == PAGES else [f"V{pages[0][0]}"]
        named.append(" ".join(words))
    return "".join(f" {words}" for words in [" and ".join(filter(None, named))] if words)


def rows() -> Iterable[list[str]]:
    """Types and encodings that fare alike share a row."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for title, column in COLUMNS.items():
        for encoding in column.encodings:
            cells = tuple(cell(reader, title, encoding) for reader in READERS)
            found.setdefault(cells, {}).setdefault(title, []).append(encoding)
    for cells, encodings_of in found.items():
        alike: dict[tuple[str, ...], list[str]] = {}
        for title, encodings in encodings_of.items():
            alike.setdefault(tuple(encodings), []).append(title)
        for together, titles in alike.items():
            yield [", ".join(titles), ", ".join(together), *cells]


# One for all entries of a reader that have the same reason.
NOTES = list(dict.fromkeys((gap.reader, gap.reason) for gap in GAPS))


def number(gap: Gap) -> int:
    return NOTES.index((gap.reader, gap.reason)) + 1


def table() -> str:
    lines = [["type", "encoding", *(f"{reader} {VERSIONS[reader]}" for reader in READERS)]]
    lines += [["---"] * len(lines[0]), *sorted(rows(), key=lambda row: list(COLUMNS).index(title_of(row)))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def title_of(row: list[str]) -> str:
    """The first type of a row (a title may have a comma in it)."""
    return next(title for title in COLUMNS if row[0] == title or row[0].startswith(f"{title}, "))


def text() -> str:
    notes = [f"{k}. {reader}: {reason}." for k, (reader, reason) in enumerate(NOTES, 1)]
    head = HEAD.format(codecs=", ".join(CODECS))
    return f"{head}\n{table()}\n\n## Notes\n" + "\n".join(notes) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
