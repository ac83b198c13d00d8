"""Encodings of values (Parquet specification, Encodings.md), a module each.

``encode(leaf, pages, room, bounds, arena)``, or a function of another name with the same arguments, encodes the values
of all pages and returns the memory that they are in. ``room``: bytes that headers and levels of the pages need, which
are left free before the values of each. It fills in the columns of the page table that ``kernels.page_table`` says;
the least and the greatest value, and counts of NaN, only if ``bounds``.
"""
