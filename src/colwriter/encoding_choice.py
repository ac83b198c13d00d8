"""Encodings chosen from the data: candidates are costed on a sample of a column chunk, and one is taken for a goal.

A sample is encoded by the real encoders and compressed by the real codec, so that bytes are measured, and scaled. Only
a dictionary does not scale: how many entries it has is estimated. Time is nominal, from a table of what encoders and
codecs take: a clock would give another file each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colwriter import kernels
from colwriter.arena import Arena
from colwriter.column_writer import ENCODERS
from colwriter.compression import Compression, make_compression
from colwriter.encodings import dictionary as dictionary_encoding
from colwriter.encodings.plain import value_bits
from colwriter.kernels.page_table import END, LEAD, START
from colwriter.leaf_types import LeafType, Order, Storage
from colwriter.levels import LeafColumn
from colwriter.metadata import CompressionCodec, Encoding, Type
from colwriter.options import UNLIMITED, ColumnOptions, EncodingGoal, WriterOptions
from colwriter.pages import Pages, bit_width
from colwriter.sampling import Sample, count_values, estimate_distinct, take_sample

__all__ = ["Candidate", "Choice", "Choices", "choose"]

# Fewer values than this are written faster than they are looked at.
FEW_VALUES = 1024
# An encoding that fewer readers know must be better by so much.
MARGIN = 1.03
# Row groups that a choice is for: to choose takes some hundredths of the time that a column chunk takes.
ROW_GROUPS = 8
# Candidates besides PLAIN and a dictionary, by type, as far as Arrow, Polars and DuckDB read them: what is not here has
# no other encoding that all of them read (docs/interop.md).
OTHERS: dict[Type, tuple[Encoding, ...]] = {
    Type.BOOLEAN: (Encoding.RLE,),
    Type.INT32: (Encoding.DELTA_BINARY_PACKED, Encoding.BYTE_STREAM_SPLIT),
    Type.INT64: (Encoding.DELTA_BINARY_PACKED, Encoding.BYTE_STREAM_SPLIT),
    Type.FLOAT: (Encoding.BYTE_STREAM_SPLIT,),
    Type.DOUBLE: (Encoding.BYTE_STREAM_SPLIT,),
    Type.BYTE_ARRAY: (Encoding.DELTA_LENGTH_BYTE_ARRAY, Encoding.DELTA_BYTE_ARRAY),
}
# Nominal nanoseconds to encode a value, and for each byte that it has in PLAIN; measured, see docs/performance.md.
ENCODE_TIME: dict[tuple[Storage, Encoding], tuple[float, float]] = {
    (Storage.BITS, Encoding.PLAIN): (0.17, 0),
    (Storage.BITS, Encoding.RLE): (0.27, 0),
    (Storage.NUMBERS, Encoding.PLAIN): (0, 0.2),
    (Storage.NUMBERS, Encoding.RLE_DICTIONARY): (1.7, 0),
    (Storage.NUMBERS, Encoding.DELTA_BINARY_PACKED): (1.1, 0),
    (Storage.NUMBERS, Encoding.BYTE_STREAM_SPLIT): (0, 0.3),
    (Storage.BYTE_ARRAYS, Encoding.PLAIN): (4, 0.1),
    (Storage.BYTE_ARRAYS, Encoding.RLE_DICTIONARY): (6, 0),
    (Storage.BYTE_ARRAYS, Encoding.DELTA_LENGTH_BYTE_ARRAY): (5, 0.1),
    (Storage.BYTE_ARRAYS, Encoding.DELTA_BYTE_ARRAY): (9, 0.1),
}
# A dictionary of more entries than this leaves the cache, and floating-point numbers are read again for their bounds:
# nanoseconds a value.
LARGE_DICTIONARY, LARGE_DICTIONARY_TIME = 1 << 14, 2.5
FLOAT_DICTIONARY_TIME = 1.0
# Nominal nanoseconds to compress a byte: where matches are looked for and found; of BYTE_STREAM_SPLIT, whose bytes are
# all alike or have no order; of numbers of few bits.
COMPRESS_TIME = {
    "": (0.0, 0.0, 0.0),
    "snappy": (1.2, 0.2, 0.2),
    "lz4_raw": (1.1, 0.2, 0.45),
    "zstd": (2.0, 0.55, 1.0),
    "gzip": (150.0, 27.0, 27.0),
    "brotli": (30.0, 15.0, 15.0),
}
PACKED = {Encoding.RLE_DICTIONARY, Encoding.DELTA_BINARY_PACKED, Encoding.RLE}
# Nothing is looked for long, either, where hardly less comes out than goes in, or next to nothing.
HARD, EASY = 0.97, 0.05
# Nanoseconds to store a byte.
STORE_TIME = 1.0
# What a codec must leave at most of the bytes that it gets; it takes as long as all the rest.
COMPRESSED_SHARE = {EncodingGoal.SIZE: 1.0, EncodingGoal.BALANCED: 0.99, EncodingGoal.SPEED: 0.99}


class Candidate(NamedTuple):
    """An encoding, and what the values of a column chunk take in it: bytes in the file, without levels and headers, and
    nominal nanoseconds to encode, compress and store them.

    RLE_DICTIONARY: with the dictionary, and what that does not hold in the best of the other encodings.
    """

    encoding: Encoding
    estimated_bytes: int
    nanoseconds: int


class Choice(NamedTuple):
    """The encoding that was chosen, and that of ``rest``: the values that a dictionary does not hold, if it is one.

    ``compressed``: whether the column's codec, if it has one, is worth its time. ``num_levels``: those of the chunk
    that it was chosen for, which ``candidates`` are about.
    """

    candidates: tuple[Candidate, ...]
    encoding: Encoding
    rest: Encoding
    compressed: bool
    reason: str
    num_levels: int

    def applied(self, column: ColumnOptions) -> ColumnOptions:
        """The options of a column with these encodings."""
        has_dictionary = self.encoding is Encoding.RLE_DICTIONARY
        if not self.compressed:
            column = replace(column, codec=CompressionCodec.UNCOMPRESSED, codec_name="", compression_level=None)
        return replace(
            column,
            use_dictionary=has_dictionary,
            dictionary_pays=has_dictionary and len(self.candidates) > 0,
            encoding=self.rest,
        )


def choose(leaf: LeafColumn, options: WriterOptions, column: ColumnOptions, arena: Arena) -> Choice:
    """Choose the encodings of a column chunk, for the goal of ``column``; the same for the same leaf and options."""
    kind = leaf.descriptor.leaf
    others = OTHERS.get(kind.physical_type, ())
    if not column.codec_name:  # all that it does is to put bytes in an order that a codec likes
        others = tuple(encoding for encoding in others if encoding is not Encoding.BYTE_STREAM_SPLIT)
    if not others:
        return _unsampled(leaf, column.use_dictionary, "nothing else that all readers read can be smaller")
    num_values = count_values(leaf)
    if num_values < FEW_VALUES:
        return _unsampled(leaf, column.use_dictionary, f"fewer than {FEW_VALUES} values")
    sample = take_sample(leaf, num_values, arena)
    if sample.num_values == 0:
        return _unsampled(leaf, column.use_dictionary, "no values in the sample")
    goal = column.encoding_goal or EncodingGoal.BALANCED
    costs = _Costs(leaf, num_values, sample, _codec(column), column.codec_name, arena)
    default = plain = costs.encoded(Encoding.PLAIN)
    estimates = [plain, *map(costs.encoded, others)]
    rest = _best(estimates, default.candidate, goal)
    if column.use_dictionary and kind.storage is not Storage.BITS:
        dictionary = costs.dictionary(plain, rest.candidate, options.dictionary_pagesize_limit)
        if dictionary.raw < plain.raw:
            default = dictionary
            estimates.insert(0, dictionary)
    best = _best(estimates, default.candidate, goal)
    if best.candidate.encoding is not Encoding.RLE_DICTIONARY:
        rest = best
    reason = _reason(best.candidate, default.candidate, goal)
    compressed = best.candidate.estimated_bytes < COMPRESSED_SHARE[goal] * best.raw
    if column.codec_name and not compressed:
        reason += f"; not compressed, as {column.codec_name} makes it hardly smaller"
    candidates = tuple(estimate.candidate for estimate in estimates)
    encodings = best.candidate.encoding, rest.candidate.encoding
    return Choice(candidates, *encodings, compressed or not column.codec_name, reason, leaf.num_levels)


def _unsampled(leaf: LeafColumn, use_dictionary: bool, reason: str) -> Choice:
    """A dictionary where it pays, as without a choice."""
    encoding = Encoding.RLE_DICTIONARY if use_dictionary else Encoding.PLAIN
    return Choice((), encoding, Encoding.PLAIN, True, reason, leaf.num_levels)


def _codec(column: ColumnOptions) -> Compression | None:
    return make_compression(column.codec_name, column.compression_level) if column.codec_name else None


def _best(estimates: list[_Estimate], default: Candidate, goal: EncodingGoal) -> _Estimate:
    """The candidate that serves the goal best; ``default`` is what the column would have without a choice.

    ``size``: the fewest bytes; ``speed``: the least time; ``balanced``: the least product of both, so that what is a
    tenth smaller may take a tenth longer, among those that are no larger than the default.
    """

    def handicap(candidate: Candidate) -> float:
        return 1.0 if candidate.encoding in (default.encoding, Encoding.PLAIN) else MARGIN

    def cost(estimate: _Estimate) -> float:
        _, size, time = estimate.candidate
        return {EncodingGoal.SIZE: size, EncodingGoal.SPEED: time}.get(goal, size * time) * handicap(estimate.candidate)

    def size(estimate: _Estimate) -> float:
        return estimate.candidate.estimated_bytes * handicap(estimate.candidate)

    if goal is EncodingGoal.BALANCED:
        estimates = [each for each in estimates if size(each) <= default.estimated_bytes]
    return min(estimates, key=cost)


def _reason(best: Candidate, default: Candidate, goal: EncodingGoal) -> str:
    name = default.encoding.name
    if best is default:
        what = {EncodingGoal.SIZE: "smaller", EncodingGoal.SPEED: "faster"}.get(goal, "better")
        return f"none is {what} than {name}"
    size = best.estimated_bytes / max(default.estimated_bytes, 1) - 1
    time = best.nanoseconds / max(default.nanoseconds, 1) - 1
    return f"{_more(size, 'bytes')}, {_more(time, 'time')} than {name}"


def _more(share: float, what: str) -> str:
    word = ("fewer" if what == "bytes" else "less") if share < 0 else "more"
    return f"{abs(share):.0%} {word} {what}"


def _compress_time(codec_name: str, encoding: Encoding, ratio: float) -> float:
    """Nanoseconds a byte."""
    searched, split, packed = COMPRESS_TIME[codec_name]
    if encoding in PACKED:
        return packed
    return searched if encoding is not Encoding.BYTE_STREAM_SPLIT and EASY < ratio < HARD else split


class _Estimate(NamedTuple):
    """A candidate, the bytes of its values before they are compressed, and what a byte of them takes in the file."""

    candidate: Candidate
    raw: float
    ratio: float


class _Costs(NamedTuple):
    """Costs of the encodings of a leaf, from a sample of it."""

    leaf: LeafColumn
    num_values: int
    sample: Sample
    codec: Compression | None
    codec_name: str
    arena: Arena

    def encoded(self, encoding: Encoding) -> _Estimate:
        """The cost of an encoding of ``ENCODERS``."""
        pages = self.sample.pages
        if encoding is Encoding.PLAIN and self.codec is None:
            raw = stored = self.plain_bytes * self.sample.num_values
        else:
            data = ENCODERS[encoding][0](self.sample.leaf, pages, len(pages) * LEAD, False, self.arena)
            raw, stored = self.stored(data, pages)
        scale = self.num_values / self.sample.num_values
        ratio = stored / max(raw, 1)
        return _Estimate(self.candidate(encoding, raw * scale, stored * scale, ratio), raw * scale, ratio)

    def stored(self, data: NDArray[np.uint8], pages: Pages) -> tuple[float, float]:
        """The bytes of values, and those that they take in the file, compressed together: real pages are larger."""
        if self.codec is None:
            raw = pages.sum(END) - pages.sum(START)
            return raw, raw
        ranges = pages.table[:-1, START : END + 1].tolist()
        body = np.concatenate([data[start:end] for start, end in ranges])
        return len(body), len(self.codec.compress(body))

    def candidate(self, encoding: Encoding, raw: float, stored: float, ratio: float, extra: float = 0.0) -> Candidate:
        """``raw`` and ``stored``: bytes before and after compression; ``extra``: nanoseconds a value besides."""
        per_value, per_byte = ENCODE_TIME[self.kind.storage, encoding]
        time = self.num_values * (per_value + per_byte * self.plain_bytes + extra)
        time += raw * _compress_time(self.codec_name, encoding, ratio)
        return Candidate(encoding, round(stored), round(time + STORE_TIME * stored))

    @property
    def kind(self) -> LeafType:
        return self.leaf.descriptor.leaf

    @property
    def plain_bytes(self) -> float:
        """Bytes of a value in PLAIN."""
        size = value_bits(self.leaf) / 8
        if self.kind.storage is Storage.BYTE_ARRAYS:
            size += len(self.sample.leaf.data) / self.sample.num_values
        return size

    def dictionary(self, plain: _Estimate, rest: Candidate, limit: int) -> _Estimate:
        """The cost of a dictionary whose page takes at most ``limit`` bytes, with ``rest`` for what it does not hold.

        Runs of the sample have few of its entries; so that indices have as many bits as they will have, they are
        scattered over the entries that there are; or brought together, if the dictionary has no room for all.
        """
        sample, count = self.sample, self.sample.num_values
        built = dictionary_encoding.build(sample.leaf, UNLIMITED, self.arena)
        if built is None or built.num_values < count:  # hardly a value comes twice
            met, indices = count, np.arange(count, dtype=np.int32)
            entry_bytes, ratio = self.plain_bytes, plain.ratio
        else:
            met, indices = built.num_entries, built.indices[:count]
            page = built.page
            entry_bytes = len(page) / met
            ratio = 1.0 if self.codec is None else len(self.codec.compress(page)) / len(page)
        # Each distinct value has a run of equal neighbours at least.
        runs = (np.count_nonzero(indices[1:] != indices[:-1]) + 1) * self.num_values / count
        distinct = max(min(estimate_distinct(self.sample.spread, self.num_values, self.arena), runs), met)
        entries, covered = dictionary_encoding.covered_values(distinct, self.num_values, limit / entry_bytes)
        bits = max(bit_width(int(entries) - 1), 1)
        if bits != bit_width(met - 1):
            indices = _spread_indices(indices, met, int(entries))
        raw, stored = self.indices(indices, bits)
        scale = covered / count
        share = 1 - covered / self.num_values
        page_bytes = entries * entry_bytes
        raw, stored = raw * scale + page_bytes, stored * scale + page_bytes * ratio
        extra = LARGE_DICTIONARY_TIME * (entries > LARGE_DICTIONARY)
        extra += FLOAT_DICTIONARY_TIME * (self.kind.order is Order.FLOAT)
        own = self.candidate(Encoding.RLE_DICTIONARY, raw, stored, ratio, extra)
        total = Candidate(
            Encoding.RLE_DICTIONARY,
            own.estimated_bytes + round(share * rest.estimated_bytes),
            own.nanoseconds + round(share * rest.nanoseconds),
        )
        return _Estimate(total, raw + share * plain.raw, ratio)

    def indices(self, indices: NDArray[np.int32], bits: int) -> tuple[float, float]:
        """Bytes of dictionary indices of so many bits, before and after compression."""
        pages = self.sample.pages
        padded = np.zeros(len(indices) + kernels.rle.INDEX_PADDING, np.int32)
        padded[: len(indices)] = indices
        # Each page has a byte more, which says how many bits there are.
        size = kernels.rle.hybrid_bound(len(indices), len(pages), bits) + len(pages) * (1 + LEAD)
        out = self.arena.take(size + kernels.plain.OUT_PADDING)
        kernels.rle.encode_indices(padded, bits, pages.table, out)
        return self.stored(out, pages)


def _spread_indices(indices: NDArray[np.int32], count: int, entries: int) -> NDArray[np.int32]:
    """Indices below ``count`` as some below ``entries``: in the same order, with low bits that have none.

    Entries are in the order in which they are first met, so that those that are frequent come first, which codecs use.
    """
    starts = np.arange(count + 1) * entries // count
    widths = np.maximum(starts[1:] - starts[:-1], 1)
    places = starts[:-1] + (np.arange(count) * np.int64(0x9E3779B1) >> 16) % widths
    spread: NDArray[np.int32] = places.astype(np.int32)[indices]
    return spread


class _Made(NamedTuple):
    """A choice, and the options of the column with it."""

    choice: Choice
    column: ColumnOptions


class Choices:
    """The encodings of one file, chosen from every eighth row group for it and the next seven.

    The row group that a choice is made from may not be encoded yet. Then whoever needs the choice makes it, from there
    all the same: the bytes do not depend on threads.
    """

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._made: dict[tuple[str, ...], dict[int, _Made]] = {}
        self._locks: dict[tuple[str, ...], Lock] = {}

    def last(self, path: tuple[str, ...]) -> Choice | None:
        """The last choice for a column."""
        made = self._made.get(path)
        return made[max(made)].choice if made else None

    def applied(
        self,
        leaf: LeafColumn,
        column: ColumnOptions,
        row_group: int,
        leaf_of: Callable[[int], LeafColumn],
        arena: Arena,
    ) -> ColumnOptions:
        """The options of a leaf with the encodings that are chosen for it.

        ``row_group``: its ordinal. ``leaf_of``: the same column of a row group before it.
        """
        first = row_group - row_group % ROW_GROUPS
        path = leaf.descriptor.path
        with self._locks.setdefault(path, Lock()):
            made = self._made.setdefault(path, {})
            if first not in made:
                made[first] = self._make(leaf if first == row_group else leaf_of(first), column, arena)
            chosen = made[first]
            if not chosen.choice.candidates and first != row_group:  # of that row group nothing was to be learned
                chosen = made[row_group] = self._make(leaf, column, arena)
        return chosen.column

    def _make(self, leaf: LeafColumn, column: ColumnOptions, arena: Arena) -> _Made:
        choice = choose(leaf, self._options, column, arena)
        return _Made(choice, choice.applied(column))
