"""The notebook among the examples runs, and its outputs are made for reading."""

import os
import re
import warnings
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import trigpoint

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"


def html_of(cell):
    """All HTML below a cell."""
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    source = Path(trigpoint.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", str(source), prepend=os.pathsep)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with warnings.catch_warnings():
        # Of the libraries that talk to the kernel.
        warnings.simplefilter("ignore")
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
        ).execute()
    shown = {cell.id: html_of(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert "neighbors kept" in shown["quality"]
    assert "keeps most" in shown["compare"]
    assert "relative trace error" in shown["curve"]
    assert "<iframe" in shown["report"]
    said = {
        cell.id: "".join(o.text for o in cell.outputs if o.get("name") == "stderr")
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    # Landmarks, and the points embedded.
    assert said.pop("fit").count("\n") == 2
    bars = said.pop("report").splitlines()
    assert all(re.match(r"[a-z ]+: +(\d+%|\d\d:\d\d)", bar) for bar in bars if bar)
    assert not any(said.values())


def test_the_notebook_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
