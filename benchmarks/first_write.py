"""Time of the first file in a new process, from ``import colwriter``: with kernels to compile, and with them cached.

``python -m benchmarks.first_write`` prints both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import colwriter
from benchmarks.common import QUICK

REPEATS = 1 if QUICK else 5
# pyarrow is there already where there is something to write.
SCRIPT = """
import time
import pyarrow as pa
column = pa.array(range(1000))
start = time.perf_counter()
import colwriter
colwriter.write_column(column, pa.BufferOutputStream())
print(time.perf_counter() - start)
"""


def first_write(cache: str) -> float:
    """Seconds of the first int64 column of a process whose compiled kernels are in the folder ``cache``."""
    package_folder = str(Path(colwriter.__file__).parents[1])
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": package_folder}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def cold() -> float:
    """Median seconds with an empty cache."""
    samples = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as cache:
            samples.append(first_write(cache))
    return statistics.median(samples)


def warm() -> float:
    """Median seconds with a full cache."""
    with tempfile.TemporaryDirectory() as cache:
        first_write(cache)
        return statistics.median(first_write(cache) for _ in range(REPEATS))


class FirstWrite:
    """Seconds of a first write."""

    timeout = 600
    unit = "seconds"

    def track_empty_cache(self) -> float:
        return cold()

    def track_full_cache(self) -> float:
        return warm()


if __name__ == "__main__":
    print(f"empty cache {cold():.3f} s, full cache {warm():.3f} s")
