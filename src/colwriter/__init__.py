"""Write Parquet fast, with size statistics that say how large a file is once decoded."""

from colwriter.api import write_column, write_metadata, write_table
from colwriter.arena import release_memory
from colwriter.bloom_filter import BloomFilter
from colwriter.dataset import WrittenFile, write_to_dataset
from colwriter.errors import (
    ColwriterError,
    CorruptFileError,
    InvalidDataError,
    InvalidOptionError,
    UnsupportedTypeError,
)
from colwriter.file_writer import ParquetWriter
from colwriter.metadata import ColumnIndex, FileMetaData, OffsetIndex, SizeStatistics, SortingColumn
from colwriter.options import SizeStatisticsLevel
from colwriter.reader import read_bloom_filter, read_metadata, read_page_index
from colwriter.version import __version__

__all__ = [
    "BloomFilter",
    "ColumnIndex",
    "ColwriterError",
    "CorruptFileError",
    "FileMetaData",
    "InvalidDataError",
    "InvalidOptionError",
    "OffsetIndex",
    "ParquetWriter",
    "SizeStatistics",
    "SizeStatisticsLevel",
    "SortingColumn",
    "UnsupportedTypeError",
    "WrittenFile",
    "__version__",
    "read_bloom_filter",
    "read_metadata",
    "read_page_index",
    "release_memory",
    "write_column",
    "write_metadata",
    "write_table",
    "write_to_dataset",
]
