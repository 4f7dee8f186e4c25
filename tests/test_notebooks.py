"""Notebooks of examples/ run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.filterwarnings("default")  # of the kernel's own libraries
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.ipynb")))
def test_a_notebook_runs_from_top_to_bottom(name: str) -> None:
    book = nbformat.read(EXAMPLES / name, as_version=4)  # type: ignore[no-untyped-call]
    assert all(not cell.get("outputs") for cell in book.cells), "outputs are not kept: clear them"
    client = NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": EXAMPLES}})
    client.execute()  # raises where a cell does
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert not [out for cell in code for out in cell.outputs if out.get("name") == "stderr"]
