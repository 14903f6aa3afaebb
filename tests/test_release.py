"""Files released with the library: locked versions, workflows, Make targets, a notebook."""

import os
import re
import tomllib
import warnings
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import trigpoint

ROOT = Path(__file__).parents[1]


def test_the_lock_has_an_allowed_version_of_every_dependency():
    packaging = pytest.importorskip("packaging.requirements")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ("plot", "zarr", "hdf5", "dask")
    wanted = [
        *project["dependencies"],
        *(one for extra in extras for one in project["optional-dependencies"][extra]),
    ]
    locked = dict(
        re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.lock").read_text(), re.M)
    )
    for line in wanted:
        requirement = packaging.Requirement(line)
        # Names in the lock are normalized.
        name = re.sub(r"[-_.]+", "-", requirement.name.lower())
        assert requirement.specifier.contains(locked[name]), line


def test_the_workflow_tries_every_version_of_python_that_is_stated():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    tried = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = [
        name.rpartition(" ")[2]
        for name in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    assert tried == stated
    assert project["requires-python"] == f">={stated[0]}"


def test_every_workflow_has_jobs_with_steps_from_named_versions():
    yaml = pytest.importorskip("yaml")
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert [path.stem for path in workflows] == ["docs", "release", "tests"]
    for path in workflows:
        workflow = yaml.safe_load(path.read_text())
        # YAML reads the key `on` as True.
        assert workflow[True]
        # Without this line, every job could write to the repository.
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert job["runs-on"]
            for step in job["steps"]:
                assert "run" in step or re.fullmatch(r"[\w./-]+@[\w./]+", step["uses"])
            assert job.get("needs", next(iter(workflow["jobs"]))) in workflow["jobs"]
    publish = workflows[1].read_text().partition("\n  publish:\n")[2]
    assert "id-token: write" in publish
    assert "secrets." not in publish


def test_make_has_the_targets_that_pages_name():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert len(targets) <= 12
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.yml")]
    for path in [*pages, ROOT / ".ci" / "run"]:
        named = re.findall(r"(?:^|`|run: )make ([a-z-]+)", path.read_text(), re.M)
        assert set(named) <= set(targets), path


NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"


def html_of(cell):
    """Return all HTML in the outputs of a cell."""
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch):
    source = Path(trigpoint.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", str(source), prepend=os.pathsep)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with warnings.catch_warnings():
        # Ignore warnings of the libraries that communicate with the kernel.
        warnings.simplefilter("ignore")
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
        ).execute()
    shown = {cell.id: html_of(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert "neighbors preserved" in shown["quality"]
    assert "preserves neighborhoods best" in shown["compare"]
    assert "<iframe" in shown["report"]
    said = {
        cell.id: "".join(o.text for o in cell.outputs if o.get("name") == "stderr")
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    # One line for the landmarks and one for the points.
    assert said.pop("fit").count("\n") == 2
    for cell in ("quality", "report"):
        bars = [bar.rstrip() for bar in said.pop(cell).splitlines() if bar.strip()]
        assert "(100 %)" in bars[-1]
        # While loops are compiled, that is shown instead of the counts.
        shown = r"[a-z ]+: ([█░]+ )?([\d,]+ of [\d,]+ \(|compiling|[\d.]+ s)"
        assert all(re.match(shown, bar) for bar in bars)
    assert not any(said.values())


def test_the_notebook_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
