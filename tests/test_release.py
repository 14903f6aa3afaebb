"""What is released with the library: versions that are locked, and a workflow for other systems."""

import re
import tomllib
from pathlib import Path

import pytest

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
        # The lock has names as package indexes normalize them.
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
