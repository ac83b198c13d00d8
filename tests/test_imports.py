"""The floors of the package: a module imports from its own floor or below, and kernels import numpy and numba alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import colwriter

ROOT = Path(colwriter.__file__).parent
FLOORS = [
    {"errors", "version", "arena", "kernels", "parallel"},
    {"thrift_types", "thrift", "parquet_types", "metadata", "leaf_types", "options", "keywords", "bloom_filter"},
    {"compression", "statistics"},
    {"schema", "codes", "stored", "keys", "buffers", "levels", "packed_lists", "shredding", "views", "pages", "framing"}
    | {"page_index", "encodings", "bloom", "footer"},
    {"column_writer", "sampling", "encoding_choice", "explanation"},
    {"sinks", "inputs", "row_groups", "file_plan", "row_group_encoder", "file_writer"}
    | {"reader", "bounds", "level_names", "inspection", "sizes"},
    {"api", "dataset", "conversion", "demo", "display", "inspection_view", "warmup", "cli", "__init__", "__main__"},
]
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
# The reader shares the format's structures with the writer, and nothing else: it can check the writer.
READ_SIDE = {"reader", "bounds", "level_names", "inspection", "sizes"}
WRITE_SIDE = {
    *("codes", "stored", "keys", "buffers", "levels", "packed_lists", "shredding", "views"),
    *("pages", "framing", "page_index"),
    *("encodings", "bloom", "footer"),
    *("column_writer", "row_groups", "file_plan", "row_group_encoder", "file_writer", "statistics"),
    *("sampling", "encoding_choice", "explanation"),
}


def _modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(ROOT).with_suffix("").parts[0], path) for path in sorted(ROOT.rglob("*.py"))]


def _imports(path: Path) -> set[str]:
    """Top-level names of the package, or other packages, that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            if module == "colwriter":
                found |= {f"colwriter.{alias.name}" for alias in node.names}
            else:
                found.add(module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_no_import_points_up() -> None:
    wrong = []
    for name, path in _modules():
        for module in _imports(path):
            package, _, rest = module.partition(".")
            if package != "colwriter" or name in ("__init__", "__main__"):
                continue
            target = rest.partition(".")[0] or "__init__"
            if FLOOR.get(target, 99) > FLOOR[name]:
                wrong.append(f"{path.name} (floor {FLOOR[name]}) imports {module}")
    assert not wrong


def test_every_module_has_a_floor() -> None:
    assert {name for name, _ in _modules()} == set(FLOOR)


def test_kernels_import_numba_and_numpy_only() -> None:
    allowed = {"numpy", "numba", "llvmlite", "colwriter", "__future__"}
    for name, path in _modules():
        if name != "kernels" or path.name in ("_jit.py", "__init__.py"):
            continue
        for module in _imports(path):
            assert module.partition(".")[0] in allowed, f"{path.name} imports {module}"
            if module.startswith("colwriter"):
                assert module.startswith("colwriter.kernels."), f"{path.name} imports {module}"


def test_reader_does_not_import_the_writer() -> None:
    for name, path in _modules():
        if name in READ_SIDE:
            imported = {module.split(".")[1] for module in _imports(path) if module.startswith("colwriter.")}
            assert not imported & WRITE_SIDE


def test_import_is_light() -> None:
    """Numba and the command line's packages load when they are needed, not on import."""
    code = "import colwriter, sys; print([m for m in ('numba', 'typer', 'rich', 'pandas') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
