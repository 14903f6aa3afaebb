"""Files to run the command on, and what it is asked to draw."""

import shutil
import time

import numpy as np
import pytest

import trigpoint as tp
from trigpoint._forecast.speed import Speed


@pytest.fixture(scope="session")
def speed():
    """How fast this machine is; measured once."""
    return Speed.measured(1)


@pytest.fixture(autouse=True)
def measured_before(monkeypatch, speed):
    """What is said to take how long is tested by forecasts; here every run would measure again."""
    monkeypatch.setattr(Speed, "measured", lambda n_threads: speed)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A few files of points, which tests take copies of."""
    files = tmp_path_factory.mktemp("files")
    X, intrinsic = tp.datasets.make_swiss_roll(2000, dtype=np.float32, random_state=0)
    np.save(files / "roll.npy", X)
    (files / "empty.npy").write_bytes(b"")
    np.save(files / "few.npy", np.arange(3))
    np.savez(files / "labelled.npz", X=X, y=(intrinsic[:, 0] > 50).astype(int))
    lines = [f"{x},{y},{z},point" for x, y, z in X.tolist()]
    (files / "roll.csv").write_text("east,north,up,name\n" + "\n".join(lines) + "\n")
    return files


@pytest.fixture
def folder(tmp_path, monkeypatch, files):
    """A folder with a few files of points, in which the command is run."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(files, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def colors(monkeypatch):
    """What a report was colored by."""
    given = {}

    def report(self, path, X=None, *, color=None, **options):
        given.update(color or {})
        time.sleep(0.2)

    monkeypatch.setattr(tp.LaplacianEigenmaps, "report", report)
    return given
