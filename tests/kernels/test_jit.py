"""The decorator of all kernels: cache, bounds checks, and what a cache must not do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

import colwriter
from colwriter.kernels import rle
from colwriter.kernels._jit import kernel, load_u64
from colwriter.kernels.page_table import DEFINITION_BYTES
from page_tables import page_table

SCRIPT = """
import numpy as np
from colwriter.kernels import shredding
out = np.zeros(8 + shredding.PADDING, np.uint8)
shredding.validity_levels(np.array([0b01010101], np.uint8), 0, 8, 0, out)
print(out[:8].tolist(), sum(shredding.validity_levels.stats.cache_hits.values()))
"""


def run(folder: Path, cache: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(cache)}
    result = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_cache_sees_a_change_in_another_file(tmp_path: Path) -> None:
    """Numba alone would keep the machine code of a kernel whose callee, in another file, was changed."""
    package = tmp_path / "colwriter"
    shutil.copytree(Path(colwriter.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    assert run(tmp_path, cache) == "[1, 0, 1, 0, 1, 0, 1, 0] 0"
    assert run(tmp_path, cache) == "[1, 0, 1, 0, 1, 0, 1, 0] 1"
    source = package / "kernels" / "bits.py"
    source.write_text(source.read_text().replace("    return word >> shift", "    return np.uint64(0)"))
    assert run(tmp_path, cache) == "[0, 0, 0, 0, 0, 0, 0, 0] 0"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_no_cache_folder(tmp_path: Path) -> None:
    package = tmp_path / "colwriter"
    shutil.copytree(Path(colwriter.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o500)
    assert run(tmp_path, cache).startswith("[1, 0")


@pytest.mark.skipif(not numba.config.BOUNDSCHECK, reason="needs NUMBA_BOUNDSCHECK=1 and a NUMBA_CACHE_DIR of its own")
def test_bounds_checks_are_on() -> None:
    with pytest.raises(IndexError):
        rle.encode_constant(1, page_table([0, 500]), DEFINITION_BYTES, np.zeros(2, np.uint8))
    assert _load(np.zeros(9, np.uint8), 1) == 0
    with pytest.raises(IndexError):
        _load(np.zeros(9, np.uint8), 2)


@kernel
def _load(data: np.ndarray, index: int) -> int:
    return load_u64(data, index)


def test_notice_of_compilation(tmp_path: Path) -> None:
    """The first write on a machine says on stderr what takes so long, in one line; the second says nothing."""
    code = "import colwriter, io; colwriter.write_column([1, None], io.BytesIO())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    lines = []
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        lines.append(result.stderr.splitlines())
    assert len(lines[0]) == 1
    assert "compiling" in lines[0][0]
    assert lines[1] == []


def test_functions_of_others_compile_whatever_their_module() -> None:
    """The notice of compilation hears of every function that Numba compiles."""
    names: dict[str, object] = {}
    exec("def add(a, b):\n    return a + b", names)
    add = names["add"]
    add.__module__ = None  # type: ignore[assignment]
    assert numba.njit(add)(1, 2) == 3


def test_operations_agree_with_python() -> None:
    from colwriter.kernels import _jit

    @numba.njit
    def call(data, out, word):  # type: ignore[no-untyped-def]
        _jit.store_u64(out, 3, _jit.load_u64(data, 1))
        _jit.store_u32(out, 12, _jit.load_u32(data, 2))
        return (
            _jit.popcount(word),
            _jit.count_trailing_zeros(word),
            _jit.count_leading_zeros(word),
            _jit.byte_swap(word),
        )

    data = np.arange(1, 30, dtype=np.uint8)
    out = np.zeros(20, np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert call(data, out, np.uint64(0x0F00)) == (4, 8, 52, 0x000F000000000000)
        assert call(data, out, np.uint64(0))[1:3] == (64, 64)
    assert out[3:11].tolist() == data[1:9].tolist()
    assert out[12:16].tolist() == data[2:6].tolist()


def test_zero_words() -> None:
    from colwriter.kernels import _jit

    @numba.njit
    def count(data, index):  # type: ignore[no-untyped-def]
        return _jit.zero_words(data, index)

    for at in (*range(70), 200):
        data = np.zeros(80, np.uint8)
        data[:3] = 1
        if at < 64:
            data[3 + at] = 1 << (at & 7)
        assert count(data, 3) == min(at >> 3, 8)


@pytest.mark.parametrize("bit", [0, 1, 7, 8, 13])
@pytest.mark.parametrize(("factor", "differs"), [(1, 0b1010), (3, 0b0101)])
def test_pairs_are_stored(bit: int, factor: int, differs: int) -> None:
    from colwriter.kernels import _jit

    @numba.njit
    def store(out, bitmap, bit, factor, differs):  # type: ignore[no-untyped-def]
        _jit.store_pairs(out, 3, bitmap, bit, factor, differs)

    bitmap = np.random.default_rng(bit).integers(0, 256, 40, np.uint8)
    out = np.full(70, 0xAA, np.uint8)
    store(out, bitmap, bit, np.uint64(factor), np.uint64(differs * 0x1111111111111111))
    found = np.unpackbits(out[3:67], bitorder="little").reshape(-1, 2) @ [1, 2]
    bits = np.unpackbits(bitmap, bitorder="little")[bit : bit + 256]
    assert found.tolist() == ((bits * factor) ^ (differs & 3)).tolist()
    assert (out[:3] == 0xAA).all()
    assert (out[67:] == 0xAA).all()
