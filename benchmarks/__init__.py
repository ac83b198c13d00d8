"""asv benchmarks. Each module also prints its numbers by itself: ``python -m benchmarks.size_statistics``."""
