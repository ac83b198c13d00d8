"""BYTE_STREAM_SPLIT of all the pages of a column chunk (Parquet specification, Encodings.md, "Byte Stream Split").

Pages are placed in ``out`` as in ``kernels.plain``. Byte k of every value of a page comes before byte k + 1 of any.
"""

from __future__ import annotations

import numpy as np

from colwriter.kernels._jit import Array, Bytes, Int, Int64s, kernel
from colwriter.kernels.framing import values_start
from colwriter.kernels.page_table import END, LEAD, START

# Values whose bytes are told apart at a time: those of eight bytes, and a copy of them, stay in the first cache.
BLOCK = 1024


@kernel
def encode(
    words: Array,
    words_per_value: Int,
    ranges: Int64s,
    block: Array,
    pages: Int64s,
    out: Bytes,
) -> Int:
    """Values of any width, without nulls: value i is ``words_per_value`` unsigned ``words`` (of 1, 2, 4 or 8 bytes).

    The values of page i are those from ``ranges[i, 0]`` to ``ranges[i, 1]``. ``block`` has room for ``BLOCK``
    words. Returns the end of the last page.
    """
    width = words.itemsize
    position = np.int64(0)
    for page in range(len(ranges)):
        position = values_start(pages, page, LEAD, position)
        pages[page, START] = position
        count = ranges[page, 1] - ranges[page, 0]
        for done in range(np.int64(0), count, np.int64(BLOCK)):
            some = min(np.int64(BLOCK), count - done)
            first = (ranges[page, 0] + done) * words_per_value
            for word in range(words_per_value):
                source = words[first + word : first + some * words_per_value]
                of_word = block[:some]
                if words_per_value == 1:
                    for k in range(len(of_word)):
                        of_word[k] = source[k]
                else:
                    for k in range(len(of_word)):
                        of_word[k] = source[k * words_per_value]
                for byte in range(width):
                    shift = np.uint64(8 * byte)
                    to = position + (word * width + byte) * count + done
                    target = out[to : to + some]
                    for k in range(len(target)):
                        target[k] = np.uint8(of_word[k] >> shift)
        position += count * words_per_value * width
        pages[page, END] = position
    return position
