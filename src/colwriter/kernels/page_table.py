"""The page table: int64[pages + 1, COLUMNS], a row for each page of a column chunk, and one after the last.

Each stage fills columns of it for all pages, so that one array is all that stages tell each other of pages. Rows that
follow one another are a page table too: threads have some each, and pages of another encoding come after those of a
dictionary.
"""

# No kernel is here, so that the names of columns can be imported without Numba.

from __future__ import annotations

COLUMNS = 17
# Of ``kernels.pagination``: the first row, level, slot and value of a page; in the row after the last page, the ends.
ROW, LEVEL, SLOT, VALUE = range(4)
# Of ``kernels.rle``: bytes of the encoded levels of a page.
REPETITION_BYTES, DEFINITION_BYTES = range(4, 6)
# Of the encoders of values: where in their output the values of a page start and end; its least and greatest value, as
# keys (see ``colwriter.keys``) or as slots, both 0 or both -1 if it has no values; bytes of its byte arrays without
# their lengths, and how many of its numbers are none.
START, END = range(6, 8)
LEAST, GREATEST, VALUE_BYTES, NAN_COUNT = range(8, 12)
# Of ``colwriter.framing``, in the same output: where header and body of a page start, and where the body ends as it is
# stored; its checksum, and whether it is compressed (1 or 0).
HEADER, BODY, STORED_END, CRC, IS_COMPRESSED = range(12, 17)
# Bytes to keep free for a page header: at most ten varints of ten bytes, with their field headers and stop bytes.
MAX_HEADER = 128
# Data page V1 puts the length of its levels in front of them, in four bytes; V2 has it in the header.
LENGTH_PREFIX = 4
# Bytes that are left free before the values of a page for all but the levels themselves.
LEAD = MAX_HEADER + 2 * LENGTH_PREFIX
