"""Every notebook runs from top to bottom, and is stored with the outputs of such a run."""

import itertools
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs(path, compiled, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    stored = kinds(book.cells)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures stand in the notebook
    nbclient.NotebookClient(
        book, timeout=None, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    said = [cell for cell in book.cells if cell.cell_type == "code" and cell.outputs]
    assert len(said) >= 5
    warned = [o for cell in said for o in cell.outputs if o.get("name") == "stderr"]
    assert not warned, warned
    assert kinds(book.cells) == stored


def kinds(cells):
    """Of every cell of code: what its outputs are, a text that came in pieces counted once."""
    found = [
        [sorted(out.get("data", {out["output_type"]: 0})) for out in cell["outputs"]]
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    return [[kind for kind, _ in itertools.groupby(outputs)] for outputs in found]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_has_the_outputs_of_one_run(path):
    """After a change: `python docs/gallery.py NAME`."""
    assert path.stat().st_size < 300_000
    cells = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    found = str(kinds(cells))
    assert ("text/latex" if path.stem == "equations" else "image/png") in found


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3
