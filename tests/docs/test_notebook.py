"""The notebook runs from every folder where a reader may start it, and is kept without outputs."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT

NOTEBOOK = ROOT / "examples" / "exploring.ipynb"


@pytest.mark.parametrize("folder", [ROOT, NOTEBOOK.parent], ids=["root", "examples"])
def test_it_runs(folder: Path) -> None:
    """Every cell has an output, no cell fails, and the text agrees with the outputs."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(folder)}}
    done = NotebookClient(notebook, timeout=300, resources=resources).execute()
    texts: dict[str, str] = {}
    for cell in done.cells:
        if cell.cell_type == "code":
            assert cell.outputs, cell.source
            assert all(output.output_type != "error" for output in cell.outputs)
            data = [output.get("data", {}) for output in cell.outputs]
            texts[cell.id] = "".join(output.get("text/plain", "") for output in data)
            if cell.id in ("front", "heat"):
                assert any("vega" in json.dumps(output) for output in data)
    # The times are the sums of prices times counts.
    assert float(texts["check"]) < 1e-12
    # The chip with its own ECC is the faster one, in the last row.
    first, last = [row for row in texts["ecc"].splitlines() if "lru" in row or "clock" in row]
    assert "MT29F2G08AAC" in first
    assert "TC58BVG0S3H" in last
    assert float(first.split()[-2]) < float(last.split()[-2])


def test_it_is_kept_without_outputs() -> None:
    """A change of a number elsewhere does not change this file."""
    kept: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert kept["metadata"]["kernelspec"]["name"] == "python3"
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert code
    for cell in code:
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
