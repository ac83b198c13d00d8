"""docs/interop.md says what the list of the interop matrix says, about the versions that are asked for."""

from __future__ import annotations

import json

import interop_table
from readers import INTEROP
from test_interop_matrix import READERS, VERSIONS


def test_page() -> None:
    page = interop_table.PAGE.read_text(encoding="utf-8")
    assert page == interop_table.text(), "run `python tests/interop_table.py`"


def test_versions() -> None:
    assert tuple(VERSIONS) == READERS
    package = json.loads((INTEROP / "package.json").read_text(encoding="utf-8"))
    assert package["dependencies"]["hyparquet"] == VERSIONS["hyparquet"]
