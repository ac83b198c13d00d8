"""Encodings of values (Parquet specification, Encodings.md): a module each, with the same two functions.

``page_bits(leaf, ...)`` says what a value needs, for pagination; ``encode(leaf, pages, lead, ...)`` encodes all pages.
"""
